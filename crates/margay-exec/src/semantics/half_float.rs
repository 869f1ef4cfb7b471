// SPDX-License-Identifier: MIT OR Apache-2.0
//! f16 and bf16 arithmetic (PTX ISA, "Half Precision Floating Point Instructions").
//!
//! Every operation is computed in f32 or f64 rounded to odd and then narrowed once, to nearest
//! even: the only direction that PTX has for these types. Operands sit in the low half of a word
//! and results leave the high half 0. NaN results are `0x7fff` in both formats.

use super::rounding::{RN, add_to_odd, narrow, narrow_f32_to_odd};

/// The NaN of both formats.
pub const NAN: u32 = 0x7fff;
const SIGN: u32 = 0x8000;

/// An f16's value.
#[inline(always)]
pub fn f16_to_f32(a: u32) -> f32 {
    let magnitude = a & 0x7fff;
    // The exponent is rebiased by a multiplication, which also normalises subnormals.
    let scaled = f32::from_bits(magnitude << 13) * f32::from_bits((127 + 112) << 23);
    let special = (magnitude << 13) | 0x7f80_0000;
    let bits = if magnitude >= 0x7c00 { special } else { scaled.to_bits() };
    f32::from_bits(bits | (a & SIGN) << 16)
}

/// To nearest even; NaN gives [`NAN`].
#[inline(always)]
pub fn f32_to_f16(x: f32) -> u32 {
    let bits = x.to_bits();
    let magnitude = bits & 0x7fff_ffff;
    // Adding 0.5 puts an f16 subnormal's last bit at the sum's last bit: the host rounds it.
    let tiny = (f32::from_bits(magnitude) + 0.5).to_bits().wrapping_sub(0x3f00_0000);
    let odd = (magnitude >> 13) & 1;
    let normal = magnitude.wrapping_add(0xc800_0fff).wrapping_add(odd) >> 13;
    let finite = if magnitude < 0x3880_0000 { tiny } else { normal };
    // From 65520 on.
    let bounded = if magnitude >= 0x477f_f000 { 0x7c00 } else { finite };
    if magnitude > 0x7f80_0000 { NAN } else { bounded | (bits >> 16) & SIGN }
}

/// A bf16's value.
#[inline(always)]
pub fn bf16_to_f32(a: u32) -> f32 {
    f32::from_bits(a << 16)
}

/// To nearest even; NaN gives [`NAN`].
#[inline(always)]
pub fn f32_to_bf16(x: f32) -> u32 {
    let bits = x.to_bits();
    let odd = (bits >> 16) & 1;
    let rounded = bits.wrapping_add(0x7fff).wrapping_add(odd) >> 16;
    if x.is_nan() { NAN } else { rounded }
}

macro_rules! half_ops {
    ($name:ident, $doc:literal, $to_f32:ident, $from_f32:ident, $min_normal:literal, $tiny:literal, $one:literal, $fma:expr) => {
        #[doc = $doc]
        pub mod $name {
            use super::*;

            const MIN_NORMAL: u32 = $min_normal;
            const ONE: u32 = $one;

            /// A subnormal becomes zero of the same sign.
            #[inline(always)]
            pub fn flush(a: u32) -> u32 {
                if a & 0x7fff < MIN_NORMAL { a & SIGN } else { a & 0xffff }
            }
            /// An operand's value.
            #[inline(always)]
            pub fn input<const FTZ: bool>(a: u32) -> f32 {
                $to_f32(if FTZ { flush(a) } else { a })
            }
            /// Whether the bits are a NaN.
            #[inline(always)]
            pub fn is_nan(a: u32) -> bool {
                $to_f32(a).is_nan()
            }
            /// Where a result stops to round, in the format's precision and without a lower end to
            /// the exponent, to the smallest normal: below, `.ftz` makes it zero, although as a
            /// subnormal it may still round up to that. (As recorded on an H200, for f16.)
            const TINY: f32 = f32::from_bits($tiny);

            /// Flushing and clamping of result bits.
            #[inline(always)]
            pub fn finish<const FTZ: bool, const SAT: bool>(bits: u32) -> u32 {
                let bits = if FTZ { flush(bits) } else { bits };
                if SAT { saturate(bits) } else { bits }
            }
            /// Rounds and finishes an f32, exact or rounded to odd.
            #[inline(always)]
            pub fn output<const FTZ: bool, const SAT: bool>(r: f32) -> u32 {
                let bits = $from_f32(r);
                finish::<FTZ, SAT>(if FTZ && r.abs() < TINY { bits & SIGN } else { bits })
            }
            /// Clamps to [0, 1]; NaN and -0 become +0.
            #[inline(always)]
            pub fn saturate(a: u32) -> u32 {
                let x = $to_f32(a);
                let low = if x > 0.0 { a } else { 0 };
                if x > 1.0 { ONE } else { low }
            }
            /// Negative values and -0 become +0; NaN is canonical.
            #[inline(always)]
            pub fn relu(a: u32) -> u32 {
                let clamped = if a & SIGN != 0 { 0 } else { a & 0xffff };
                if is_nan(a) { NAN } else { clamped }
            }
            #[inline(always)]
            pub fn add<const FTZ: bool, const SAT: bool>(a: u32, b: u32) -> u32 {
                output::<FTZ, SAT>(input::<FTZ>(a) + input::<FTZ>(b))
            }
            #[inline(always)]
            pub fn sub<const FTZ: bool, const SAT: bool>(a: u32, b: u32) -> u32 {
                output::<FTZ, SAT>(input::<FTZ>(a) - input::<FTZ>(b))
            }
            #[inline(always)]
            pub fn mul<const FTZ: bool, const SAT: bool>(a: u32, b: u32) -> u32 {
                output::<FTZ, SAT>(input::<FTZ>(a) * input::<FTZ>(b))
            }
            #[inline(always)]
            pub fn fma<const FTZ: bool, const SAT: bool, const RELU: bool>(
                a: u32,
                b: u32,
                c: u32,
            ) -> u32 {
                let odd = $fma(input::<FTZ>(a), input::<FTZ>(b), input::<FTZ>(c));
                let r = output::<FTZ, SAT>(odd);
                if RELU { relu(r) } else { r }
            }
            /// The sign is flipped; NaN gives the canonical NaN.
            #[inline(always)]
            pub fn neg<const FTZ: bool>(a: u32) -> u32 {
                let r = finish::<FTZ, false>((a ^ SIGN) & 0xffff);
                if is_nan(a) { NAN } else { r }
            }
            /// The sign is cleared; NaN gives the canonical NaN.
            #[inline(always)]
            pub fn abs<const FTZ: bool>(a: u32) -> u32 {
                let r = finish::<FTZ, false>(a & 0x7fff);
                if is_nan(a) { NAN } else { r }
            }
            /// As [`crate::semantics::float::single::minmax`].
            #[inline(always)]
            pub fn minmax<
                const MAX: bool,
                const FTZ: bool,
                const NAN_WINS: bool,
                const XORSIGN: bool,
            >(
                a: u32,
                b: u32,
            ) -> u32 {
                let (a, b) = if FTZ { (flush(a), flush(b)) } else { (a & 0xffff, b & 0xffff) };
                let (x, y) = if XORSIGN { (a & 0x7fff, b & 0x7fff) } else { (a, b) };
                let (fx, fy) = ($to_f32(x), $to_f32(y));
                let better = if MAX { fx > fy } else { fx < fy };
                let mut r = if better | fy.is_nan() { x } else { y };
                if fx == fy {
                    r = if MAX { x & y } else { x | y };
                }
                if XORSIGN {
                    r |= (a ^ b) & SIGN;
                }
                let nan =
                    if NAN_WINS { fx.is_nan() | fy.is_nan() } else { fx.is_nan() & fy.is_nan() };
                if nan { NAN } else { r }
            }
        }
    };
}

/// The product of two f16 is exact in f32 (22 bits, at least 2^-48), and so is what their sum with
/// a third loses (at least 2^-48 again): two-sum and rounding to odd can stay in f32.
#[inline(always)]
fn fma_odd_f16(x: f32, y: f32, z: f32) -> f32 {
    let p = x * y;
    let s = p + z;
    let z_part = s - p;
    let lost = (p - (s - z_part)) + (z - z_part);
    let bits = s.to_bits();
    let step = if (lost > 0.0) == (s > 0.0) { 1 } else { u32::MAX };
    f32::from_bits(if lost.abs() > 0.0 && bits & 1 == 0 { bits.wrapping_add(step) } else { bits })
}

/// A bf16 product can lie below f32's range, so this one goes through f64.
#[inline(always)]
fn fma_odd_bf16(x: f32, y: f32, z: f32) -> f32 {
    narrow_f32_to_odd(add_to_odd(x as f64 * y as f64, z as f64))
}

half_ops!(f16, "IEEE binary16.", f16_to_f32, f32_to_f16, 0x0400, 0x387f_f000, 0x3c00, fma_odd_f16);
half_ops!(
    bf16,
    "bfloat16: the upper half of an f32.",
    bf16_to_f32,
    f32_to_bf16,
    0x0080,
    0x007f_c000,
    0x3f80,
    fma_odd_bf16
);

/// An f64 as f16 bits, one rounding in any direction; NaN gives [`NAN`].
#[inline(always)]
pub fn f64_to_f16<const R: u8>(x: f64) -> u32 {
    if x.is_nan() { NAN } else { narrow::<5, 10, R>(x) as u32 }
}
/// An f64 as bf16 bits, one rounding in any direction; NaN gives [`NAN`].
#[inline(always)]
pub fn f64_to_bf16<const R: u8>(x: f64) -> u32 {
    if x.is_nan() { NAN } else { narrow::<8, 7, R>(x) as u32 }
}

const _: () = assert!(RN == 0, "the narrowing above is to nearest");

#[cfg(test)]
mod tests;
