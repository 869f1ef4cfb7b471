// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bit counting, bit fields, funnel shifts and byte permutation (PTX ISA, `popc`, `clz`, `brev`,
//! `bfind`, `fns`, `bfe`, `bfi`, `shf`, `prmt`).
//!
//! Field positions and lengths of 32-bit values use the low eight bits of their operands, as PTX
//! says. Of 64-bit values they use all 32 bits, against the manual's words: no card has these
//! instructions, and what stands for them clamps, as recorded on an H200. Fields that reach beyond
//! the value are cut, not errors.

macro_rules! bit_ops {
    ($name:ident, $doc:literal, $lane:ty, $s:ty, $field:expr) => {
        #[doc = $doc]
        pub mod $name {
            const BITS: u32 = <$lane>::BITS;

            #[inline(always)]
            pub fn popc(a: $lane) -> u32 {
                a.count_ones()
            }
            /// The width for 0.
            #[inline(always)]
            pub fn clz(a: $lane) -> u32 {
                a.leading_zeros()
            }
            #[inline(always)]
            pub fn brev(a: $lane) -> $lane {
                a.reverse_bits()
            }
            /// Position of the highest set bit, all ones for 0.
            #[inline(always)]
            pub fn bfind_u(a: $lane) -> u32 {
                (BITS - 1).wrapping_sub(a.leading_zeros())
            }
            /// Position of the highest bit that differs from the sign, all ones for 0 and -1.
            #[inline(always)]
            pub fn bfind_s(a: $lane) -> u32 {
                bfind_u(a ^ ((a as $s) >> (BITS - 1)) as $lane)
            }
            /// A position or length: a count beyond twice the width says no more than that.
            #[inline(always)]
            fn field(operand: u32) -> u32 {
                (operand & $field).min(0xff)
            }
            /// The low `len` bits set, `len` clamped to the width.
            #[inline(always)]
            fn ones(len: u32) -> $lane {
                if len < BITS { ((1 as $lane) << (len & (BITS - 1))) - 1 } else { <$lane>::MAX }
            }
            /// Logical right shift; amounts from the width on give 0.
            #[inline(always)]
            fn shr(a: $lane, n: u32) -> $lane {
                if n < BITS { a >> (n & (BITS - 1)) } else { 0 }
            }
            #[inline(always)]
            pub fn bfe_u(a: $lane, pos: u32, len: u32) -> $lane {
                shr(a, field(pos)) & ones(field(len))
            }
            /// The bits above the field are the field's top bit, or the value's where the field
            /// reaches beyond it; an empty field is 0.
            #[inline(always)]
            pub fn bfe_s(a: $lane, pos: u32, len: u32) -> $lane {
                let (pos, len) = (field(pos), field(len));
                let sign_at = (pos + len).wrapping_sub(1).min(BITS - 1);
                let sign = if len == 0 { 0 } else { ((a >> sign_at) & 1).wrapping_neg() };
                let taken = ones(len) & shr(<$lane>::MAX, pos);
                (shr(a, pos) & taken) | (sign & !taken)
            }
            #[inline(always)]
            pub fn bfi(a: $lane, b: $lane, pos: u32, len: u32) -> $lane {
                let (pos, len) = (field(pos), field(len));
                let shift = pos & (BITS - 1);
                let taken = if pos < BITS { ones(len) << shift } else { 0 };
                (b & !taken) | ((a << shift) & taken)
            }
        }
    };
}

bit_ops!(w32, "32-bit values.", u32, i32, 0xff);
bit_ops!(w64, "64-bit values.", u64, i64, u32::MAX);

#[inline(always)]
fn funnel_amount<const CLAMP: bool>(c: u32) -> u32 {
    if CLAMP { c.min(32) } else { c & 31 }
}
/// High word of `{b:a} << c`; `CLAMP` caps the amount at 32, else it counts modulo 32.
#[inline(always)]
pub fn shf_l<const CLAMP: bool>(a: u32, b: u32, c: u32) -> u32 {
    ((((b as u64) << 32 | a as u64) << funnel_amount::<CLAMP>(c)) >> 32) as u32
}
/// Low word of `{b:a} >> c`; `CLAMP` caps the amount at 32, else it counts modulo 32.
#[inline(always)]
pub fn shf_r<const CLAMP: bool>(a: u32, b: u32, c: u32) -> u32 {
    (((b as u64) << 32 | a as u64) >> funnel_amount::<CLAMP>(c)) as u32
}

/// Byte permute of `{b:a}`, default mode: each nibble of `c` names a byte, its top bit asks for
/// that byte's sign eight times over.
#[inline(always)]
pub fn prmt(a: u32, b: u32, c: u32) -> u32 {
    let bytes = (b as u64) << 32 | a as u64;
    let pick = |i: u32| {
        let selector = c >> (4 * i);
        let byte = (bytes >> (8 * (selector & 7))) as u8;
        let sign = (byte as i8 >> 7) as u8;
        (if selector & 8 == 0 { byte } else { sign } as u32) << (8 * i)
    };
    pick(0) | pick(1) | pick(2) | pick(3)
}

/// Find the n-th set bit of `mask`, counted from `base` upwards for a positive `offset`, downwards
/// for a negative one; 0 asks whether the bit at `base` itself is set. All ones if there is none. The
/// one offset that has no negative, -2^31, gives 0 on an H200, whatever the other two are.
#[inline(always)]
pub fn fns(mask: u32, base: u32, offset: u32) -> u32 {
    let offset = offset as i32;
    if offset == i32::MIN {
        return 0;
    }
    if base > 31 {
        return u32::MAX;
    }
    // Downwards is upwards in the reversed word.
    let (word, start) = if offset < 0 { (mask.reverse_bits(), 31 - base) } else { (mask, base) };
    let mut rest = word & (u32::MAX << start);
    let wanted = offset.unsigned_abs().max(1);
    if offset == 0 {
        rest &= 1 << start;
    }
    if wanted > rest.count_ones() {
        return u32::MAX;
    }
    for _ in 1..wanted {
        rest &= rest - 1;
    }
    let at = rest.trailing_zeros();
    if offset < 0 { 31 - at } else { at }
}

#[cfg(test)]
mod tests;
