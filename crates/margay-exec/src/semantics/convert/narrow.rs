// SPDX-License-Identifier: MIT OR Apache-2.0
//! tf32, and the two 8-bit formats.
//!
//! e4m3 has no infinity: its largest value is 448 (`0x7e`), its NaN `0x7f`. e5m2 is a short f16,
//! largest 57344 (`0x7b`). Conversions to both are always `.satfinite`: what is too large, infinity
//! included, becomes the largest value of that sign, and NaN `0x7f`.

use super::Format;
use crate::semantics::float::single;
use crate::semantics::half_float::{NAN, f16_to_f32, f32_to_f16};
use crate::semantics::rounding::{RN, RNA, narrow_unbounded};

/// The NaN of tf32: all ones, in the bits that the format has.
const TF32_NAN: u32 = single::NAN & !0x1fff;

/// f32 to tf32, whose ten fraction bits sit where an f32 has its top ten; the rest is 0.
/// `R` is `RNA`, `RN` or `RZ`. To nearest, ties away, is integer arithmetic on a card and cuts a
/// NaN's payload as anything else; the other two give [`TF32_NAN`]. (As recorded on an H200.)
#[inline(always)]
pub fn ftotf32<const R: u8, const RELU: bool>(a: u32) -> u32 {
    let up = match R {
        RNA => 0x1000,
        RN => 0x0fff + ((a >> 13) & 1),
        _ => 0,
    };
    let nan = f32::from_bits(a).is_nan();
    let rounded = a.wrapping_add(if nan { 0 } else { up }) & !0x1fff;
    let clamped = if RELU && a >> 31 != 0 { 0 } else { rounded };
    if nan && R != RNA { TF32_NAN } else { clamped }
}

#[inline(always)]
fn to_byte<A: Format, const EXP: u32, const MAN: u32, const LARGEST: u64, const RELU: bool>(
    a: A::Bits,
) -> u32 {
    let x = A::widen::<false>(a);
    let magnitude =
        if x.is_infinite() { LARGEST } else { narrow_unbounded::<EXP, MAN, RN>(x).min(LARGEST) }
            as u32;
    let negative = x.is_sign_negative();
    let value = if negative { magnitude | 0x80 } else { magnitude };
    let clamped = if RELU && negative { 0 } else { value };
    if x.is_nan() { 0x7f } else { clamped }
}

/// To e4m3 in the low byte, to nearest even.
#[inline(always)]
pub fn ftoe4m3<A: Format, const RELU: bool>(a: A::Bits) -> u32 {
    to_byte::<A, 4, 3, 0x7e, RELU>(a)
}
/// To e5m2 in the low byte, to nearest even.
#[inline(always)]
pub fn ftoe5m2<A: Format, const RELU: bool>(a: A::Bits) -> u32 {
    to_byte::<A, 5, 2, 0x7b, RELU>(a)
}

/// e4m3 in the low byte to f16, exact.
#[inline(always)]
pub fn e4m3tof<const RELU: bool>(a: u32) -> u32 {
    let (magnitude, sign) = (a & 0x7f, (a & 0x80) << 8);
    // Read as an f16 the exponent is off by 8.
    let value = f32_to_f16(f16_to_f32(magnitude << 7) * 256.0) | sign;
    let clamped = if RELU && sign != 0 { 0 } else { value };
    if magnitude == 0x7f { NAN } else { clamped }
}
/// e5m2 in the low byte to f16, exact.
#[inline(always)]
pub fn e5m2tof<const RELU: bool>(a: u32) -> u32 {
    let value = (a & 0xff) << 8;
    let clamped = if RELU && value & 0x8000 != 0 { 0 } else { value };
    if value & 0x7fff > 0x7c00 { NAN } else { clamped }
}
