// SPDX-License-Identifier: MIT OR Apache-2.0
//! Pseudo-random choices that a seed repeats.

/// Xorshift with a scrambled seed, so that neighbouring seeds have nothing in common.
#[derive(Clone)]
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        // SplitMix64's finish; it maps one seed only to 0, which xorshift must not have.
        let mut x = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        Random((x ^ x >> 31).max(1))
    }

    pub fn bits(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number below `n`; 0 if `n` is 0.
    pub fn below(&mut self, n: usize) -> usize {
        ((self.bits() >> 33) % n.max(1) as u64) as usize
    }

    /// True `percent` times in a hundred.
    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// One of some.
    ///
    /// # Panics
    /// If there is none.
    pub fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }

    /// A 64-bit pattern of the kind at which arithmetic goes wrong, about half of the time.
    pub fn pattern(&mut self) -> u64 {
        let small = self.below(40) as u64;
        match self.below(12) {
            0 => 0,
            1 => small,
            2 => small.wrapping_neg(),
            3 => 1 << self.below(64),
            4 => (1u64 << self.below(64)).wrapping_sub(1),
            5 => self.single() as u64 | (self.single() as u64) << 32,
            6 => f64::from(f32::from_bits(self.single())).to_bits(),
            7 => (small as f64 / 4.0 - 3.0).to_bits(),
            8 => {
                let x = (small as f32 / 4.0 - 3.0).to_bits() as u64;
                x | x << 32
            }
            9 => *self.pick(&[
                0x7ff0_0000_0000_0000,
                0x7ff8_0000_0000_0001,
                0xfff0_0000_0000_0000,
                0x8000_0000_0000_0000,
                0x000f_ffff_ffff_ffff,
                0x7fff_ffff_7fff_ffff,
                0x8000_0000_8000_0000,
            ]),
            _ => self.bits(),
        }
    }

    /// Bits of an `f32` that is often special.
    fn single(&mut self) -> u32 {
        match self.below(8) {
            0 => *self.pick(&[
                0,
                0x8000_0000,
                1,
                0x007f_ffff,
                0x0080_0000,
                0x3f80_0000,
                0x7f7f_ffff,
                0x7f80_0000,
                0xff80_0000,
                0x7fc0_0000,
                0xffa0_0001,
                0x4f00_0000,
                0xcf00_0000,
            ]),
            1 => self.bits() as u32 & 0x807f_ffff,
            2 | 3 => (self.below(2000) as f32 / 8.0 - 100.0).to_bits(),
            _ => self.bits() as u32,
        }
    }
}
