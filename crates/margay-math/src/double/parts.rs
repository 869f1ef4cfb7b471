// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rounding to integral values, parts and classes of numbers, minimum and maximum. All exact, or
//! rounded once.

use crate::double::exponential::scale;
use crate::ops::Ops;
use crate::single::parts::flag;
use crate::value::{F64, I32};

#[inline(always)]
pub fn ceil<O: Ops>(x: F64<O>) -> F64<O> {
    x.ceil().canonical()
}
#[inline(always)]
pub fn floor<O: Ops>(x: F64<O>) -> F64<O> {
    x.floor().canonical()
}
#[inline(always)]
pub fn trunc<O: Ops>(x: F64<O>) -> F64<O> {
    x.trunc().canonical()
}
#[inline(always)]
pub fn rint<O: Ops>(x: F64<O>) -> F64<O> {
    x.rint().canonical()
}

/// Halves go away from zero.
#[inline(always)]
pub fn round<O: Ops>(x: F64<O>) -> F64<O> {
    let t = x.trunc();
    let step = (x - t).abs().ge(0.5).select(x.k(1.0), 0.0);
    (t + step.copysign(x)).copysign(x).canonical()
}

#[inline(always)]
pub fn fabs<O: Ops>(x: F64<O>) -> F64<O> {
    x.abs()
}
#[inline(always)]
pub fn copysign<O: Ops>(x: F64<O>, y: F64<O>) -> F64<O> {
    x.copysign(y)
}

#[inline(always)]
pub fn signbitd<O: Ops>(x: F64<O>) -> I32<O> {
    x.bits().shr_logical(63i64).truncate()
}
#[inline(always)]
pub fn isfinited<O: Ops>(x: F64<O>) -> I32<O> {
    flag(x.abs().lt(f64::INFINITY))
}
#[inline(always)]
pub fn isinfd<O: Ops>(x: F64<O>) -> I32<O> {
    flag(x.abs().equals(f64::INFINITY))
}
#[inline(always)]
pub fn isnand<O: Ops>(x: F64<O>) -> I32<O> {
    flag(x.is_nan())
}

#[inline(always)]
pub fn fma<O: Ops>(a: F64<O>, b: F64<O>, c: F64<O>) -> F64<O> {
    a.mul_add(b, c).canonical()
}

/// As C's `fmin`: a number beats NaN, and -0 is below +0.
#[inline(always)]
pub fn fmin<O: Ops>(a: F64<O>, b: F64<O>) -> F64<O> {
    let zeros = (a.bits() | b.bits()).as_float();
    let smaller = (a.lt(b) | b.is_nan()).select(a, b);
    a.equals(b).select(zeros, smaller).canonical()
}

/// As [`fmin`].
#[inline(always)]
pub fn fmax<O: Ops>(a: F64<O>, b: F64<O>) -> F64<O> {
    let zeros = (a.bits() & b.bits()).as_float();
    let larger = (a.gt(b) | b.is_nan()).select(a, b);
    a.equals(b).select(zeros, larger).canonical()
}

/// Positive difference; NaN if either is.
#[inline(always)]
pub fn fdim<O: Ops>(a: F64<O>, b: F64<O>) -> F64<O> {
    a.le(b).select(a.k(0.0), a - b).canonical()
}

/// Mantissa in [1/2, 1) and exponent; zeros, infinities and NaN have exponent 0.
#[inline(always)]
pub fn frexp<O: Ops>(x: F64<O>) -> (F64<O>, I32<O>) {
    let a = x.abs();
    let subnormal = a.lt(f64::MIN_POSITIVE);
    let scaled = subnormal.select(x * 18_014_398_509_481_984.0, x).bits();
    let field = scaled.shr_logical(52i64).truncate() & 2047;
    let e = subnormal.select(field - 1076, field - 1022);
    let m = ((scaled & 0x800f_ffff_ffff_ffffu64) | (1022i64 << 52)).as_float();
    let number = a.lt(f64::INFINITY) & a.gt(0.0);
    (number.select(m, x).canonical(), number.select(e, 0))
}

/// Fraction and integral part, both with the sign of the argument.
#[inline(always)]
pub fn modf<O: Ops>(x: F64<O>) -> (F64<O>, F64<O>) {
    let whole = x.trunc();
    let infinite = x.abs().equals(f64::INFINITY);
    let fraction = infinite.select(x.k(0.0), x - whole).copysign(x);
    (x.is_nan().select(x, fraction).canonical(), whole.canonical())
}

/// The exponent of a number that is neither 0 nor infinite nor NaN.
#[inline(always)]
fn exponent<O: Ops>(x: F64<O>) -> I32<O> {
    let a = x.abs();
    let subnormal = a.lt(f64::MIN_POSITIVE);
    let field = subnormal.select(a * 18_014_398_509_481_984.0, a).bits();
    let field = field.shr_logical(52i64).truncate();
    subnormal.select(field - 1077, field - 1023)
}

/// CUDA gives `INT_MIN` for 0 and for NaN, `INT_MAX` for infinity.
#[inline(always)]
pub fn ilogb<O: Ops>(x: F64<O>) -> I32<O> {
    let e = exponent(x);
    let e = x.abs().equals(f64::INFINITY).select(e.k(i32::MAX), e);
    (x.is_nan() | x.equals(0.0)).select(e.k(i32::MIN), e)
}

#[inline(always)]
pub fn logb<O: Ops>(x: F64<O>) -> F64<O> {
    let e = exponent(x).to_f64();
    let e = x.equals(0.0).select(e.k(f64::NEG_INFINITY), e);
    x.abs().lt(f64::INFINITY).select(e, x.abs()).canonical()
}

/// The mantissa times a power of two in two steps, of which only the last one rounds.
#[inline(always)]
pub fn ldexp<O: Ops>(x: F64<O>, n: I32<O>) -> F64<O> {
    let a = x.abs();
    let subnormal = a.lt(f64::MIN_POSITIVE);
    let bits = subnormal.select(x * 18_014_398_509_481_984.0, x).bits();
    let field = bits.shr_logical(52i64).truncate() & 2047;
    let e = subnormal.select(field - 1077, field - 1023);
    let m = ((bits & 0x800f_ffff_ffff_ffffu64) | (1023i64 << 52)).as_float();
    let n = n.lt(-4000).select(n.k(-4000), n);
    let n = n.gt(4000).select(n.k(4000), n) + e;
    let n = n.lt(-1200).select(n.k(-1200), n);
    let n = n.gt(1200).select(n.k(1200), n);
    let r = scale(m, n.sign_extend());
    (a.lt(f64::INFINITY) & a.gt(0.0)).select(r, x).canonical()
}

#[inline(always)]
pub fn nextafter<O: Ops>(x: F64<O>, y: F64<O>) -> F64<O> {
    let bits = x.bits();
    let outward = x.lt(y).equals_mask(x.gt(0.0));
    let next = outward.select(bits + 1i64, bits - 1i64).as_float();
    let least = x.k(f64::from_bits(1)).copysign(y);
    let next = x.equals(0.0).select(least, next);
    let next = x.equals(y).select(y, next);
    (x.is_nan() | y.is_nan()).select(x.k(f64::NAN), next).canonical()
}
