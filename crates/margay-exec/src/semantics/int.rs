// SPDX-License-Identifier: MIT OR Apache-2.0
//! Integer arithmetic on 16-, 32- and 64-bit lanes (PTX ISA, "Integer Arithmetic Instructions",
//! "Logic and Shift Instructions", "Comparison and Selection Instructions").
//!
//! Invariant: nothing traps. PTX leaves division by zero unspecified; [`DIV_BY_ZERO`] says what
//! margay gives, in one place.

/// What an H200 gives where PTX leaves the result of a division by zero open: all ones, as quotient
/// and as remainder, for both signs and every width. (`INT_MIN / -1` is `INT_MIN`, remainder 0.)
pub const DIV_BY_ZERO: u64 = u64::MAX;

macro_rules! int_ops {
    ($name:ident, $doc:literal, $lane:ty, $u:ty, $s:ty, $wide_u:ty, $wide_s:ty) => {
        #[doc = $doc]
        pub mod $name {
            use super::DIV_BY_ZERO;
            use margay_ir::IntCmp;

            /// Bits in a value.
            pub const BITS: u32 = <$u>::BITS;

            #[inline(always)]
            pub fn add(a: $lane, b: $lane) -> $lane {
                (a as $u).wrapping_add(b as $u) as $lane
            }
            #[inline(always)]
            pub fn sub(a: $lane, b: $lane) -> $lane {
                (a as $u).wrapping_sub(b as $u) as $lane
            }
            /// Signed sum, clamped.
            #[inline(always)]
            pub fn add_sat_s(a: $lane, b: $lane) -> $lane {
                (a as $s).saturating_add(b as $s) as $u as $lane
            }
            /// Signed difference, clamped.
            #[inline(always)]
            pub fn sub_sat_s(a: $lane, b: $lane) -> $lane {
                (a as $s).saturating_sub(b as $s) as $u as $lane
            }
            #[inline(always)]
            pub fn mul(a: $lane, b: $lane) -> $lane {
                (a as $u).wrapping_mul(b as $u) as $lane
            }
            #[inline(always)]
            pub fn mulhi_s(a: $lane, b: $lane) -> $lane {
                ((a as $s as $wide_s).wrapping_mul(b as $s as $wide_s) >> BITS) as $u as $lane
            }
            #[inline(always)]
            pub fn mulhi_u(a: $lane, b: $lane) -> $lane {
                ((a as $u as $wide_u).wrapping_mul(b as $u as $wide_u) >> BITS) as $u as $lane
            }
            #[inline(always)]
            pub fn mad(a: $lane, b: $lane, c: $lane) -> $lane {
                (a as $u).wrapping_mul(b as $u).wrapping_add(c as $u) as $lane
            }
            #[inline(always)]
            pub fn div_s(a: $lane, b: $lane) -> $lane {
                let (a, b) = (a as $s, b as $s);
                let q = a.wrapping_div(if b == 0 { 1 } else { b });
                (if b == 0 { DIV_BY_ZERO as $s } else { q }) as $u as $lane
            }
            #[inline(always)]
            pub fn div_u(a: $lane, b: $lane) -> $lane {
                let (a, b) = (a as $u, b as $u);
                let q = a / if b == 0 { 1 } else { b };
                (if b == 0 { DIV_BY_ZERO as $u } else { q }) as $lane
            }
            #[inline(always)]
            pub fn rem_s(a: $lane, b: $lane) -> $lane {
                let (a, b) = (a as $s, b as $s);
                let r = a.wrapping_rem(if b == 0 { 1 } else { b });
                (if b == 0 { DIV_BY_ZERO as $s } else { r }) as $u as $lane
            }
            #[inline(always)]
            pub fn rem_u(a: $lane, b: $lane) -> $lane {
                let (a, b) = (a as $u, b as $u);
                let r = a % if b == 0 { 1 } else { b };
                (if b == 0 { DIV_BY_ZERO as $u } else { r }) as $lane
            }
            #[inline(always)]
            pub fn neg(a: $lane) -> $lane {
                (a as $u).wrapping_neg() as $lane
            }
            /// Wraps at the minimum.
            #[inline(always)]
            pub fn abs(a: $lane) -> $lane {
                (a as $s).wrapping_abs() as $u as $lane
            }
            #[inline(always)]
            pub fn min_s(a: $lane, b: $lane) -> $lane {
                (a as $s).min(b as $s) as $u as $lane
            }
            #[inline(always)]
            pub fn min_u(a: $lane, b: $lane) -> $lane {
                (a as $u).min(b as $u) as $lane
            }
            #[inline(always)]
            pub fn max_s(a: $lane, b: $lane) -> $lane {
                (a as $s).max(b as $s) as $u as $lane
            }
            #[inline(always)]
            pub fn max_u(a: $lane, b: $lane) -> $lane {
                (a as $u).max(b as $u) as $lane
            }
            #[inline(always)]
            pub fn and(a: $lane, b: $lane) -> $lane {
                (a & b) as $u as $lane
            }
            #[inline(always)]
            pub fn or(a: $lane, b: $lane) -> $lane {
                (a | b) as $u as $lane
            }
            #[inline(always)]
            pub fn xor(a: $lane, b: $lane) -> $lane {
                (a ^ b) as $u as $lane
            }
            #[inline(always)]
            pub fn not(a: $lane) -> $lane {
                !(a as $u) as $lane
            }
            /// Amounts from the width on give 0.
            #[inline(always)]
            pub fn shl(a: $lane, n: u32) -> $lane {
                (if n < BITS { (a as $u) << (n & (BITS - 1)) } else { 0 }) as $lane
            }
            /// Amounts from the width on give 0.
            #[inline(always)]
            pub fn shr_u(a: $lane, n: u32) -> $lane {
                (if n < BITS { (a as $u) >> (n & (BITS - 1)) } else { 0 }) as $lane
            }
            /// Amounts clamp to the width less one, which leaves the sign everywhere.
            #[inline(always)]
            pub fn shr_s(a: $lane, n: u32) -> $lane {
                ((a as $s) >> n.min(BITS - 1)) as $u as $lane
            }

            #[inline(always)]
            pub fn eq(a: $lane, b: $lane) -> bool {
                a as $u == b as $u
            }
            #[inline(always)]
            pub fn ne(a: $lane, b: $lane) -> bool {
                a as $u != b as $u
            }
            #[inline(always)]
            pub fn lt_s(a: $lane, b: $lane) -> bool {
                (a as $s) < b as $s
            }
            #[inline(always)]
            pub fn le_s(a: $lane, b: $lane) -> bool {
                a as $s <= b as $s
            }
            #[inline(always)]
            pub fn gt_s(a: $lane, b: $lane) -> bool {
                a as $s > b as $s
            }
            #[inline(always)]
            pub fn ge_s(a: $lane, b: $lane) -> bool {
                a as $s >= b as $s
            }
            #[inline(always)]
            pub fn lt_u(a: $lane, b: $lane) -> bool {
                (a as $u) < b as $u
            }
            #[inline(always)]
            pub fn le_u(a: $lane, b: $lane) -> bool {
                a as $u <= b as $u
            }
            #[inline(always)]
            pub fn gt_u(a: $lane, b: $lane) -> bool {
                a as $u > b as $u
            }
            #[inline(always)]
            pub fn ge_u(a: $lane, b: $lane) -> bool {
                a as $u >= b as $u
            }
            /// The comparison's function, chosen once when an instruction is decoded.
            pub fn icmp(cmp: IntCmp) -> fn($lane, $lane) -> bool {
                match cmp {
                    IntCmp::Eq => eq,
                    IntCmp::Ne => ne,
                    IntCmp::LtS => lt_s,
                    IntCmp::LeS => le_s,
                    IntCmp::GtS => gt_s,
                    IntCmp::GeS => ge_s,
                    IntCmp::LtU => lt_u,
                    IntCmp::LeU => le_u,
                    IntCmp::GtU => gt_u,
                    IntCmp::GeU => ge_u,
                }
            }
        }
    };
}

int_ops!(
    w8,
    "8-bit values (comparisons and width changes only are reachable).",
    u32,
    u8,
    i8,
    u16,
    i16
);
int_ops!(w16, "16-bit values in the low half of a word.", u32, u16, i16, u32, i32);
int_ops!(w32, "32-bit values.", u32, u32, i32, u64, i64);
int_ops!(w64, "64-bit values.", u64, u64, i64, u128, i128);

/// 64-bit product of signed 32-bit factors.
#[inline(always)]
pub fn mulwide_s(a: u32, b: u32) -> u64 {
    (a as i32 as i64).wrapping_mul(b as i32 as i64) as u64
}
/// 64-bit product of unsigned 32-bit factors.
#[inline(always)]
pub fn mulwide_u(a: u32, b: u32) -> u64 {
    (a as u64).wrapping_mul(b as u64)
}
#[inline(always)]
pub fn madwide_s(a: u32, b: u32, c: u64) -> u64 {
    mulwide_s(a, b).wrapping_add(c)
}
#[inline(always)]
pub fn madwide_u(a: u32, b: u32, c: u64) -> u64 {
    mulwide_u(a, b).wrapping_add(c)
}

/// Sign- and zero-extension and truncation between integer widths. `FROM` and `TO` are in bits,
/// 8 to 64; results are zero-extended in their class.
pub mod width {
    const fn mask(bits: u32) -> u64 {
        u64::MAX >> (64 - bits)
    }
    #[inline(always)]
    fn sext<const FROM: u32, const TO: u32>(a: u64) -> u64 {
        let up = 64 - FROM;
        (((a << up) as i64 >> up) as u64) & const { mask(TO) }
    }
    #[inline(always)]
    fn low<const FROM: u32, const TO: u32>(a: u64) -> u64 {
        a & const { mask(FROM) & mask(TO) }
    }
    /// Class W to class W.
    #[inline(always)]
    pub fn sext_w_w<const FROM: u32, const TO: u32>(a: u32) -> u32 {
        let up = 32 - FROM;
        (((a << up) as i32 >> up) as u32) & const { mask(TO) as u32 }
    }
    /// Class W to class D.
    #[inline(always)]
    pub fn sext_w_d<const FROM: u32>(a: u32) -> u64 {
        sext::<FROM, 64>(a as u64)
    }
    /// Class W to class W. Also truncates: the narrower of the two widths is kept.
    #[inline(always)]
    pub fn zext_w_w<const FROM: u32, const TO: u32>(a: u32) -> u32 {
        low::<FROM, TO>(a as u64) as u32
    }
    /// Class W to class D.
    #[inline(always)]
    pub fn zext_w_d<const FROM: u32>(a: u32) -> u64 {
        low::<FROM, 64>(a as u64)
    }
    /// Class D to class W.
    #[inline(always)]
    pub fn trunc_d_w<const TO: u32>(a: u64) -> u32 {
        low::<64, TO>(a) as u32
    }
}

#[cfg(test)]
mod tests;
