// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rounding directions as const parameters, and the exact steps that directed rounding is made of.
//!
//! The host rounds to nearest, always. Another direction is reached from an f64 that was *rounded
//! to odd*: its last bit is set whenever anything was lost, so rounding it once more, to a format
//! with at least two bits less, gives what one rounding of the exact value would have given
//! (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums").

use margay_ir::Round;

/// To nearest, ties to even.
pub const RN: u8 = 0;
/// Toward zero.
pub const RZ: u8 = 1;
/// Toward minus infinity.
pub const RM: u8 = 2;
/// Toward plus infinity.
pub const RP: u8 = 3;
/// To nearest, ties away from zero.
pub const RNA: u8 = 4;

/// The const parameter that stands for a direction.
pub const fn code(round: Round) -> u8 {
    match round {
        Round::Nearest => RN,
        Round::Zero => RZ,
        Round::Down => RM,
        Round::Up => RP,
        Round::NearestAway => RNA,
    }
}

/// `s`, a sum or quotient rounded to nearest, becomes the round-to-odd result, given the sign of
/// what was lost (`exact - s`). A NaN `lost` (infinities, division by zero) means nothing was.
#[inline(always)]
pub fn to_odd(s: f64, lost: f64) -> f64 {
    let bits = s.to_bits();
    let inexact = lost.abs() > 0.0;
    let outward = (lost > 0.0) == (s > 0.0);
    let step = if outward { 1 } else { u64::MAX };
    f64::from_bits(if inexact && bits & 1 == 0 { bits.wrapping_add(step) } else { bits })
}

/// `a + b` rounded to odd, for values that came from f32 or narrower formats or are products of
/// two such: nothing overflows then.
#[inline(always)]
pub fn add_to_odd(a: f64, b: f64) -> f64 {
    let s = a + b;
    // Knuth's two-sum: exact without knowing which is larger.
    let b_part = s - a;
    let lost = (a - (s - b_part)) + (b - b_part);
    to_odd(s, lost)
}

/// One rounding of an f64 to f32. Not for `RNA`.
#[inline(always)]
pub fn narrow_f32<const R: u8>(x: f64) -> f32 {
    let near = x as f32;
    let back = near as f64;
    let bits = near.to_bits();
    let sign = bits >> 31 != 0;
    let toward_zero = bits.wrapping_sub(1);
    let away = bits.wrapping_add(1);
    let adjusted = match R {
        RZ => {
            if back.abs() > x.abs() {
                toward_zero
            } else {
                bits
            }
        }
        RM => {
            if back > x {
                if sign { away } else { toward_zero }
            } else {
                bits
            }
        }
        RP => {
            if back < x {
                if sign { toward_zero } else { away }
            } else {
                bits
            }
        }
        _ => bits,
    };
    f32::from_bits(adjusted)
}

/// The round-to-odd f32 of an f64.
#[inline(always)]
pub fn narrow_f32_to_odd(x: f64) -> f32 {
    let truncated = narrow_f32::<RZ>(x);
    let lost = truncated as f64 != x;
    let bits = truncated.to_bits();
    f32::from_bits(if lost && !x.is_nan() { bits | 1 } else { bits })
}

/// Rounds the magnitude `significand * 2^(exponent - 63)` (top bit of `significand` set) to
/// `EXP` exponent and `MAN` fraction bits, as if the exponent had no upper end. `MAN` is at most
/// 52; a caller whose value has more than 64 bits makes the last one sticky.
#[inline(always)]
pub fn round_magnitude<const EXP: u32, const MAN: u32, const R: u8>(
    negative: bool,
    exponent: i32,
    significand: u64,
) -> u64 {
    let emin = 2 - (1i32 << (EXP - 1));
    // Two bits of headroom let one shift reach below the smallest subnormal's half.
    let sig = (significand >> 2) | (significand & 3 != 0) as u64;
    let drop = (61 - MAN as i32 + (emin - exponent).max(0)).min(63) as u32;
    let kept = sig >> drop;
    let rest = sig & ((1u64 << drop) - 1);
    let half = 1u64 << (drop - 1);
    let up = match R {
        RN => rest > half || (rest == half && kept & 1 == 1),
        RNA => rest >= half,
        RM => negative && rest != 0,
        RP => !negative && rest != 0,
        _ => false,
    };
    // The fraction's carry runs into the exponent, and the implicit bit adds one to it.
    (((exponent - emin).max(0) as u64) << MAN) + kept + up as u64
}

/// What an overflow gives: infinity, or the largest finite value where the direction says so.
#[inline(always)]
fn clamp_magnitude<const EXP: u32, const MAN: u32, const R: u8>(negative: bool, bits: u64) -> u64 {
    let infinity = ((1u64 << EXP) - 1) << MAN;
    let largest = infinity - 1;
    let overflow = match R {
        RZ => largest,
        RM => {
            if negative {
                infinity
            } else {
                largest
            }
        }
        RP => {
            if negative {
                largest
            } else {
                infinity
            }
        }
        _ => infinity,
    };
    if bits >= infinity { overflow } else { bits }
}

/// An f64 that is a number, or infinite, in an IEEE format of `EXP` exponent and `MAN` fraction
/// bits: one rounding. `MAN` is at most 50.
#[inline(always)]
pub fn narrow<const EXP: u32, const MAN: u32, const R: u8>(x: f64) -> u64 {
    let sign_bit = 1u64 << (EXP + MAN);
    let negative = x.is_sign_negative();
    let magnitude = narrow_unbounded::<EXP, MAN, R>(x);
    let infinite = x.is_infinite();
    let clamped = clamp_magnitude::<EXP, MAN, R>(negative, magnitude);
    let infinity = ((1u64 << EXP) - 1) << MAN;
    (if infinite { infinity } else { clamped }) | if negative { sign_bit } else { 0 }
}

/// The magnitude of an f64 in a format without an upper end to its exponent: for formats that
/// treat an overflow in their own way.
#[inline(always)]
pub fn narrow_unbounded<const EXP: u32, const MAN: u32, const R: u8>(x: f64) -> u64 {
    let bits = x.to_bits();
    let field = (bits >> 52) as i32 & 0x7ff;
    let fraction = bits & ((1 << 52) - 1);
    // A subnormal f64 is far below every narrower format: only that it is not 0 matters.
    let significand = (1 << 63) | (fraction << 11);
    let rounded = round_magnitude::<EXP, MAN, R>(x < 0.0, field - 1023, significand);
    if x == 0.0 { 0 } else { rounded }
}

/// An integer, as sign and magnitude, in an IEEE format: one rounding. `MAN` is at most 52.
#[inline(always)]
pub fn from_integer<const EXP: u32, const MAN: u32, const R: u8>(
    negative: bool,
    magnitude: u64,
) -> u64 {
    let shift = magnitude.leading_zeros();
    let significand = magnitude << (shift & 63);
    let rounded = round_magnitude::<EXP, MAN, R>(negative, 63 - shift as i32, significand);
    let clamped = clamp_magnitude::<EXP, MAN, R>(negative, rounded);
    let sign_bit = 1u64 << (EXP + MAN);
    if magnitude == 0 { 0 } else { clamped | if negative { sign_bit } else { 0 } }
}

#[cfg(test)]
mod tests;
