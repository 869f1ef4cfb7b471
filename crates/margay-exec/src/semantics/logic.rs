// SPDX-License-Identifier: MIT OR Apache-2.0
//! Selection and bitwise logic beyond two operands (PTX ISA, "Logic and Shift Instructions").

/// `p ? a : b`.
#[inline(always)]
pub fn select32(a: u32, b: u32, p: bool) -> u32 {
    if p { a } else { b }
}
/// `p ? a : b`.
#[inline(always)]
pub fn select64(a: u64, b: u64, p: bool) -> u64 {
    if p { a } else { b }
}

/// A `lop3` truth table spread to full words, so that the lane loop has no branch: word `i` is all
/// ones if bit `i` of the table is set. Bit `4a + 2b + c` belongs to the inputs a, b, c.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lut([u32; 8]);

impl Lut {
    pub const fn new(table: u8) -> Lut {
        let mut words = [0; 8];
        let mut i = 0;
        while i < 8 {
            words[i] = 0u32.wrapping_sub((table as u32 >> i) & 1);
            i += 1;
        }
        Lut(words)
    }
}

#[inline(always)]
fn mux(s: u32, one: u32, zero: u32) -> u32 {
    (s & one) | (!s & zero)
}

/// Three-input logic by truth table.
#[inline(always)]
pub fn lop3(a: u32, b: u32, c: u32, lut: Lut) -> u32 {
    let t = lut.0;
    let low = mux(b, mux(c, t[3], t[2]), mux(c, t[1], t[0]));
    let high = mux(b, mux(c, t[7], t[6]), mux(c, t[5], t[4]));
    mux(a, high, low)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lop3_is_its_truth_table() {
        // Each of the eight input combinations occurs in some bit of these words.
        let (a, b, c) = (0xf0f0_f0f0, 0xcccc_cccc, 0xaaaa_aaaa);
        for table in 0..=255u8 {
            let expected = 0x0101_0101 * table as u32;
            assert_eq!(lop3(a, b, c, Lut::new(table)), expected, "{table:#x}");
        }
        // The expressions of the manual's own example.
        assert_eq!(lop3(0x1234, 0xff00, 0x0ff0, Lut::new(0x80)), 0x1234 & 0xff00 & 0x0ff0);
        assert_eq!(lop3(0x1234, 0xff00, 0x0ff0, Lut::new(0x96)), 0x1234 ^ 0xff00 ^ 0x0ff0);
    }

    #[test]
    fn select_takes_the_first_when_true() {
        assert_eq!((select32(1, 2, true), select32(1, 2, false)), (1, 2));
        assert_eq!((select64(1, 2, true), select64(1, 2, false)), (1, 2));
    }
}
