// SPDX-License-Identifier: MIT OR Apache-2.0
//! PTX's approximate operations.
//!
//! Special values are those that an H200 gave; other results are within PTX's bounds.

use crate::ops::Ops;
use crate::single;
use crate::table::Checked;
use crate::value::{F32, F64, I64, Mask};

/// A subnormal becomes zero of the same sign.
#[inline(always)]
pub fn flush<O: Ops>(x: F32<O>) -> F32<O> {
    let zero = (x.bits() & 0x8000_0000u32).as_float();
    x.abs().lt(f32::MIN_POSITIVE).select(zero, x)
}

#[inline(always)]
fn flushed<O: Ops, const FTZ: bool>(x: F32<O>) -> F32<O> {
    if FTZ { flush(x) } else { x }
}

/// A product that `.ftz` makes zero if it is too small as one of unbounded exponent: rounded as a
/// subnormal it might still become the smallest normal. `a` and `b` are not both large.
#[inline(always)]
fn product<O: Ops, const FTZ: bool>(a: F32<O>, b: F32<O>) -> F32<O> {
    let p = a * b;
    if !FTZ {
        return p;
    }
    let enlarged = a * f32::from_bits((32 + 127) << 23) * b;
    let zero = (p.bits() & 0x8000_0000u32).as_float();
    enlarged.abs().lt(f32::from_bits((127 - 94) << 23)).select(zero, p)
}

/// `rcp.approx.f32`: correctly rounded.
#[inline(always)]
pub fn rcp<O: Ops, const FTZ: bool>(x: F32<O>) -> F32<O> {
    let x = flushed::<O, FTZ>(x);
    flushed::<O, FTZ>((x.k(1.0) / x).canonical())
}

/// Positive and subnormal.
#[inline(always)]
fn small<O: Ops>(x: F32<O>) -> Mask<O> {
    x.gt(0.0) & x.lt(f32::MIN_POSITIVE)
}

/// [`rcp`] without `.ftz`: where argument or result is subnormal, as a card computes it.
#[inline(always)]
pub fn rcp_checked<O: Ops>(x: F32<O>) -> Checked<F32<O>, O> {
    let size = x.abs();
    let large = size.gt(f32::from_bits((126 + 127) << 23)) & size.lt(f32::INFINITY);
    Checked { value: rcp::<O, false>(x), slow: small(size) | large }
}

/// [`rsqrt`] without `.ftz`: where the argument is subnormal, as a card computes it.
#[inline(always)]
pub fn rsqrt_checked<O: Ops>(x: F32<O>) -> Checked<F32<O>, O> {
    Checked { value: rsqrt::<O, false>(x), slow: small(x) }
}

/// [`sqrt`] without `.ftz`: where the argument is subnormal, as a card computes it.
#[inline(always)]
pub fn sqrt_checked<O: Ops>(x: F32<O>) -> Checked<F32<O>, O> {
    Checked { value: sqrt::<O, false>(x), slow: small(x) }
}

/// [`lg2`] without `.ftz`: where the argument is subnormal, as a card computes it.
#[inline(always)]
pub fn lg2_checked<O: Ops>(x: F32<O>) -> Checked<F32<O>, O> {
    Checked { value: lg2::<O, false>(x), slow: small(x) }
}

/// [`ex2`] without `.ftz`: where the result is subnormal, as a card computes it.
#[inline(always)]
pub fn ex2_checked<O: Ops>(x: F32<O>) -> Checked<F32<O>, O> {
    Checked { value: ex2::<O, false>(x), slow: x.lt(-126.0) & x.gt(-152.0) }
}

/// Whether an operand of a quotient is subnormal, or the quotient is or nearly.
#[inline(always)]
fn divides_subnormals<O: Ops>(a: F32<O>, b: F32<O>, quotient: F32<O>) -> Mask<O> {
    let near =
        quotient.abs().lt(2.0 * f32::MIN_POSITIVE) & a.abs().gt(0.0) & b.abs().lt(f32::INFINITY);
    small(a.abs()) | small(b.abs()) | near
}

/// [`div`] without `.ftz`: where something is subnormal, as a card computes it.
#[inline(always)]
pub fn div_checked<O: Ops>(a: F32<O>, b: F32<O>) -> Checked<F32<O>, O> {
    let value = div::<O, false>(a, b);
    Checked { value, slow: divides_subnormals(a, b, value) }
}

/// [`div_full`] without `.ftz`: where something is subnormal, as a card computes it.
#[inline(always)]
pub fn div_full_checked<O: Ops>(a: F32<O>, b: F32<O>) -> Checked<F32<O>, O> {
    let value = div_full::<O, false>(a, b);
    Checked { value, slow: divides_subnormals(a, b, value) }
}

/// [`rsqrt_f64`]: where the argument is subnormal, as a card computes it.
#[inline(always)]
pub fn rsqrt_f64_checked<O: Ops>(x: F64<O>) -> Checked<F64<O>, O> {
    let slow = x.gt(0.0) & x.lt(f64::MIN_POSITIVE);
    Checked { value: rsqrt_f64(x), slow }
}

/// `sqrt.approx.f32`: correctly rounded.
#[inline(always)]
pub fn sqrt<O: Ops, const FTZ: bool>(x: F32<O>) -> F32<O> {
    flushed::<O, FTZ>(x).sqrt().canonical()
}

/// `rsqrt.approx.f32`: two roundings, less than 2^-22.9 together.
#[inline(always)]
pub fn rsqrt<O: Ops, const FTZ: bool>(x: F32<O>) -> F32<O> {
    let x = flushed::<O, FTZ>(x);
    (x.k(1.0) / x.sqrt()).canonical()
}

/// `div.approx.f32`: as a card does, a product with the reciprocal, which is 0 for divisors above
/// 2^126, hence NaN if `a` is infinite then. Both sides are scaled up where the divisor is subnormal.
#[inline(always)]
pub fn div<O: Ops, const FTZ: bool>(a: F32<O>, b: F32<O>) -> F32<O> {
    let (a, b) = (flushed::<O, FTZ>(a), flushed::<O, FTZ>(b));
    let scale = b.abs().lt(f32::MIN_POSITIVE).select(b.k(16_777_216.0), b.k(1.0));
    let reciprocal = flush(b.k(1.0) / (b * scale));
    product::<O, FTZ>(a * scale, reciprocal).canonical()
}

/// `div.full.f32`: as [`div`], and both sides are scaled down where the divisor is large.
#[inline(always)]
pub fn div_full<O: Ops, const FTZ: bool>(a: F32<O>, b: F32<O>) -> F32<O> {
    let (a, b) = (flushed::<O, FTZ>(a), flushed::<O, FTZ>(b));
    let up = b.abs().lt(f32::MIN_POSITIVE).select(b.k(16_777_216.0), b.k(1.0));
    let scale = b.abs().gt(f32::from_bits((126 + 127) << 23)).select(b.k(0.25), up);
    let reciprocal = b.k(1.0) / (b * scale);
    let dividend = flushed::<O, FTZ>(a * scale);
    product::<O, FTZ>(dividend, reciprocal).canonical()
}

/// `ex2.approx.f32`.
#[inline(always)]
pub fn ex2<O: Ops, const FTZ: bool>(x: F32<O>) -> F32<O> {
    flushed::<O, FTZ>(single::exponential::exp2f(flushed::<O, FTZ>(x)))
}

/// `lg2.approx.f32`.
#[inline(always)]
pub fn lg2<O: Ops, const FTZ: bool>(x: F32<O>) -> F32<O> {
    flushed::<O, FTZ>(single::logarithm::log2f_approx(flushed::<O, FTZ>(x)))
}

/// A card first multiplies by 1/(2π) in single precision, rounding toward zero, and then looks up
/// the fraction of a turn; so does this, or large arguments would give different values altogether.
#[inline(always)]
fn turns<O: Ops>(x: F32<O>) -> F32<O> {
    const INVERSE: f32 = f32::from_bits(0x3e22_f983);
    let nearest = x * INVERSE;
    let rest = x.mul_add(INVERSE, -nearest);
    let outward = (rest.lt(0.0) & nearest.gt(0.0)) | (rest.gt(0.0) & nearest.lt(0.0));
    let turns = outward.select(nearest.bits() - 1, nearest.bits()).as_float();
    turns - turns.rint()
}

/// sin(2πt) for t in [-1/4, 1/4].
#[inline(always)]
fn sin_turns<O: Ops>(t: F32<O>) -> F32<O> {
    (t * t).poly([40.059372, -76.625015, 81.60464, -41.34172, 6.2831855]) * t
}

/// Past a quarter of a turn, what is left to the next zero crossing; the card keeps no more than 24
/// bits of a turn, so that it is 0 at the floats nearest to π and π/2.
#[inline(always)]
fn to_crossing<O: Ops>(t: F32<O>) -> F32<O> {
    t.abs().lt(f32::from_bits((127 - 24) << 23)).select(t.k(0.0), t)
}

/// `sin.approx.f32`. Subnormals are flushed with or without `.ftz`, as an H200 did, arguments and
/// turns alike; a zero has the argument's sign.
#[inline(always)]
pub fn sin<O: Ops>(x: F32<O>) -> F32<O> {
    let x = flush(x);
    let t = flush(turns(x));
    let left = to_crossing(t.k(0.5) - t.abs()).copysign(t);
    let r = flush(sin_turns(t.abs().gt(0.25).select(left, t)));
    r.equals(0.0).select(r.copysign(x), r).canonical()
}

/// `cos.approx.f32`, as [`sin`].
#[inline(always)]
pub fn cos<O: Ops>(x: F32<O>) -> F32<O> {
    let t = turns(flush(x));
    sin_turns(to_crossing(t.k(0.25) - t.abs())).canonical()
}

/// `tanh.approx.f32`. Never flushes: PTX has no `.ftz` here, and subnormals are their own tangents.
#[inline(always)]
pub fn tanh<O: Ops>(x: F32<O>) -> F32<O> {
    single::hyperbolic::tanhf(x)
}

const HIGH_WORD: u64 = 0xffff_ffff_0000_0000;
const SIGN: u64 = 1 << 63;

#[inline(always)]
fn flush_f64<O: Ops>(x: I64<O>) -> I64<O> {
    let subnormal = (x & !SIGN).below(0x0010_0000_0000_0000u64);
    subnormal.select(x & SIGN, x)
}

/// Only the upper word is written.
#[inline(always)]
fn coarse<O: Ops>(r: F64<O>) -> F64<O> {
    let high = flush_f64(r.bits() & HIGH_WORD);
    r.is_nan().select(high.k(0x7fff_ffff_0000_0000), high).as_float()
}

/// `rcp.approx.ftz.f64`: only the upper word is read and written, subnormals are flushed.
#[inline(always)]
pub fn rcp_f64<O: Ops>(x: F64<O>) -> F64<O> {
    let x = flush_f64(x.bits() & HIGH_WORD).as_float();
    coarse(x.k(1.0) / x)
}

/// `rsqrt.approx.ftz.f64`: only the upper word is read and written, subnormals are flushed.
#[inline(always)]
pub fn rsqrt_f64_ftz<O: Ops>(x: F64<O>) -> F64<O> {
    let x = flush_f64(x.bits() & HIGH_WORD).as_float();
    coarse(x.k(1.0) / x.sqrt())
}

/// `rsqrt.approx.f64`. A NaN argument is made quiet and kept.
#[inline(always)]
pub fn rsqrt_f64<O: Ops>(x: F64<O>) -> F64<O> {
    let r = (x.k(1.0) / x.sqrt()).canonical();
    let quiet = (x.bits() | 0x0008_0000_0000_0000u64).as_float();
    x.is_nan().select(quiet, r)
}
