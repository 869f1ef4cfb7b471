// SPDX-License-Identifier: MIT OR Apache-2.0
//! The approximate operations (PTX ISA, `rcp.approx`, `sqrt.approx`, `rsqrt.approx`, `div.approx`,
//! `div.full`, `ex2`, `lg2`, `sin`, `cos`, `tanh`).
//!
//! PTX bounds their errors and fixes their special values; the bits in between are the hardware's.
//! Here each is computed in f64 or rounded correctly, so well inside the bounds, and without
//! branches. Special values are those that an H200 gave (tests/vectors/h200/approx_math.txt).
//!
//! Limit: last bits differ from a card's, as they differ between cards.

use super::float::{double, single};
use super::half_float::{bf16, f16};
use super::rounding::{RN, RZ, narrow_f32};

/// Correctly rounded.
#[inline(always)]
pub fn rcp<const FTZ: bool>(a: u32) -> u32 {
    single::rcp::<RN, FTZ>(a)
}
/// Correctly rounded.
#[inline(always)]
pub fn sqrt<const FTZ: bool>(a: u32) -> u32 {
    single::sqrt::<RN, FTZ>(a)
}
#[inline(always)]
pub fn rsqrt<const FTZ: bool>(a: u32) -> u32 {
    let x = single::input::<FTZ>(a) as f64;
    single::output::<FTZ, false>((1.0 / x.sqrt()) as f32)
}
/// `a / b` where a card multiplies by a reciprocal: 0 for divisors above 2^126, NaN if `a` is
/// infinite then.
#[inline(always)]
pub fn div<const FTZ: bool>(a: u32, b: u32) -> u32 {
    let (x, y) = (single::input::<FTZ>(a), single::input::<FTZ>(b));
    let huge = y.abs() > f32::from_bits((126 + 127) << 23) && y.is_finite();
    let divisor = if huge { f32::INFINITY.copysign(y) } else { y };
    single::output::<FTZ, false>(x / divisor)
}
/// Correctly rounded over the full range.
#[inline(always)]
pub fn div_full<const FTZ: bool>(a: u32, b: u32) -> u32 {
    single::div::<RN, FTZ, false>(a, b)
}

/// 2^x in f64 for x in [-200, 200]: relative error below 1e-10.
#[inline(always)]
fn exp2_core(x: f64) -> f64 {
    // Adding 1.5 * 2^52 leaves the nearest integer in the low bits.
    const SHIFT: f64 = 6755399441055744.0;
    let shifted = x + SHIFT;
    let n = shifted.to_bits() << 52;
    let f = (x - (shifted - SHIFT)) * std::f64::consts::LN_2;
    // exp(f), |f| <= 0.347: Taylor to the ninth power.
    let mut p = 1.0 / 362880.0;
    for c in [
        1.0 / 40320.0,
        1.0 / 5040.0,
        1.0 / 720.0,
        1.0 / 120.0,
        1.0 / 24.0,
        1.0 / 6.0,
        1.0 / 2.0,
        1.0,
        1.0,
    ] {
        p = p * f + c;
    }
    f64::from_bits(p.to_bits().wrapping_add(n))
}
#[inline(always)]
fn exp2_f32(x: f32) -> f32 {
    let bounded = x.clamp(-200.0, 200.0);
    let r = exp2_core(if x.is_nan() { 0.0 } else { bounded as f64 }) as f32;
    if x.is_nan() { x } else { r }
}
#[inline(always)]
pub fn ex2<const FTZ: bool>(a: u32) -> u32 {
    single::output::<FTZ, false>(exp2_f32(single::input::<FTZ>(a)))
}

/// log2 of an f32: absolute error below 1e-10 over the whole range, subnormals included.
#[inline(always)]
fn log2_f32(x: f32) -> f32 {
    let bits = (x as f64).to_bits();
    // The mantissa goes to [sqrt(1/2), sqrt(2)), so that log2 is near 0 where x is near 1.
    const SQRT_HALF: u64 = 0x3fe6_a09e_667f_3bcd;
    let above = bits.wrapping_sub(SQRT_HALF);
    let exponent = above as i64 >> 52;
    let m = f64::from_bits(bits.wrapping_sub((exponent as u64) << 52));
    let s = (m - 1.0) / (m + 1.0);
    let s2 = s * s;
    let mut p = 1.0 / 13.0;
    for c in [1.0 / 11.0, 1.0 / 9.0, 1.0 / 7.0, 1.0 / 5.0, 1.0 / 3.0, 1.0] {
        p = p * s2 + c;
    }
    let r = (exponent as f64 + 2.0 * std::f64::consts::LOG2_E * s * p) as f32;
    let r = if x == f32::INFINITY { x } else { r };
    let r = if x == 0.0 { f32::NEG_INFINITY } else { r };
    if x < 0.0 || x.is_nan() { f32::NAN } else { r }
}
#[inline(always)]
pub fn lg2<const FTZ: bool>(a: u32) -> u32 {
    single::output::<FTZ, false>(log2_f32(single::input::<FTZ>(a)))
}

/// A card first multiplies by 1/(2 pi) in single precision, rounding toward zero, and then looks up
/// the fraction of a turn; so does this, or large arguments would give different values altogether.
#[inline(always)]
fn turns(x: f32) -> f64 {
    let turns = narrow_f32::<RZ>(x as f64 * f32::from_bits(0x3e22_f983) as f64);
    (turns - turns.round_ties_even()) as f64
}
/// sin(2 pi t) for t in [-1/2, 1/2].
#[inline(always)]
fn sin_turns(t: f64) -> f64 {
    // Fold to [-1/4, 1/4]; the series has terms to the nineteenth power.
    let folded = if t.abs() > 0.25 { 0.5f64.copysign(t) - t } else { t };
    let y = folded * std::f64::consts::TAU;
    let y2 = y * y;
    let mut p = -1.0 / 1.21645100408832e17;
    for c in [
        1.0 / 355687428096000.0,
        -1.0 / 1307674368000.0,
        1.0 / 6227020800.0,
        -1.0 / 39916800.0,
        1.0 / 362880.0,
        -1.0 / 5040.0,
        1.0 / 120.0,
        -1.0 / 6.0,
        1.0,
    ] {
        p = p * y2 + c;
    }
    p * y
}
/// Subnormals are flushed with or without `.ftz`, as an H200 did.
#[inline(always)]
pub fn sin(a: u32) -> u32 {
    let x = single::input::<true>(a);
    let r = sin_turns(turns(x)) as f32;
    single::output::<true, false>(if x == 0.0 { x } else { r })
}
/// As [`sin`].
#[inline(always)]
pub fn cos(a: u32) -> u32 {
    let t = turns(single::input::<true>(a));
    single::output::<true, false>(sin_turns(0.25 - t.abs()) as f32)
}

#[inline(always)]
fn tanh_f32(x: f32) -> f32 {
    let magnitude = (x as f64).abs();
    let e = exp2_core(-2.0 * std::f64::consts::LOG2_E * magnitude.min(60.0));
    let large = (1.0 - e) / (1.0 + e);
    // Near zero the difference above cancels: the series to the seventh power instead.
    let m2 = magnitude * magnitude;
    let small = magnitude * (1.0 + m2 * (-1.0 / 3.0 + m2 * (2.0 / 15.0 - m2 * (17.0 / 315.0))));
    let r = if magnitude < 0.0625 { small } else { large };
    let r = (r as f32).copysign(x);
    if x.is_nan() { x } else { r }
}
/// Never flushes: PTX has no `.ftz` here, and subnormals are their own tangents.
#[inline(always)]
pub fn tanh(a: u32) -> u32 {
    single::output::<false, false>(tanh_f32(f32::from_bits(a)))
}

#[inline(always)]
pub fn ex2_f16<const FTZ: bool>(a: u32) -> u32 {
    f16::output::<FTZ, false>(exp2_f32(f16::input::<FTZ>(a)))
}
/// `ex2.approx.ftz.bf16`: PTX has it with `.ftz` only.
#[inline(always)]
pub fn ex2_bf16<const FTZ: bool>(a: u32) -> u32 {
    bf16::output::<FTZ, false>(exp2_f32(bf16::input::<FTZ>(a)))
}
#[inline(always)]
pub fn tanh_f16(a: u32) -> u32 {
    f16::output::<false, false>(tanh_f32(f16::input::<false>(a)))
}
#[inline(always)]
pub fn tanh_bf16(a: u32) -> u32 {
    bf16::output::<false, false>(tanh_f32(bf16::input::<false>(a)))
}

const LOW_WORD: u64 = 0xffff_ffff;
const SIGN64: u64 = 1 << 63;

#[inline(always)]
fn flush64(a: u64) -> u64 {
    if a & !SIGN64 < 0x0010_0000_0000_0000 { a & SIGN64 } else { a }
}
#[inline(always)]
fn coarse(r: f64) -> u64 {
    // The upper word of NaN, as measured: the lower one is never written.
    if r.is_nan() { double::CANONICAL_NAN & !LOW_WORD } else { flush64(r.to_bits() & !LOW_WORD) }
}
/// `rcp.approx.ftz.f64`: only the upper word is read and written, subnormals are flushed.
#[inline(always)]
pub fn rcp_f64(a: u64) -> u64 {
    coarse(1.0 / f64::from_bits(flush64(a & !LOW_WORD)))
}
/// `rsqrt.approx.ftz.f64`: only the upper word is read and written, subnormals are flushed.
#[inline(always)]
pub fn rsqrt_f64_ftz(a: u64) -> u64 {
    coarse(1.0 / f64::from_bits(flush64(a & !LOW_WORD)).sqrt())
}
/// `rsqrt.approx.f64`.
#[inline(always)]
pub fn rsqrt_f64(a: u64) -> u64 {
    let r = 1.0 / f64::from_bits(a).sqrt();
    if r.is_nan() { double::quiet([a, 0, 0]) } else { r.to_bits() }
}

#[cfg(test)]
mod tests;
