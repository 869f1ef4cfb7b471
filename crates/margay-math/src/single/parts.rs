// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rounding to integral values, parts and classes of numbers, minimum and maximum. All exact, or
//! rounded once.

use crate::ops::Ops;
use crate::value::{F32, I32, Mask};

#[inline(always)]
pub fn ceilf<O: Ops>(x: F32<O>) -> F32<O> {
    x.ceil().canonical()
}
#[inline(always)]
pub fn floorf<O: Ops>(x: F32<O>) -> F32<O> {
    x.floor().canonical()
}
#[inline(always)]
pub fn truncf<O: Ops>(x: F32<O>) -> F32<O> {
    x.trunc().canonical()
}
#[inline(always)]
pub fn rintf<O: Ops>(x: F32<O>) -> F32<O> {
    x.rint().canonical()
}

/// Halves go away from zero.
#[inline(always)]
pub fn roundf<O: Ops>(x: F32<O>) -> F32<O> {
    let t = x.trunc();
    let step = (x - t).abs().ge(0.5).select(x.k(1.0), 0.0);
    (t + step.copysign(x)).copysign(x).canonical()
}

#[inline(always)]
pub fn fabsf<O: Ops>(x: F32<O>) -> F32<O> {
    x.abs()
}
#[inline(always)]
pub fn copysignf<O: Ops>(x: F32<O>, y: F32<O>) -> F32<O> {
    x.copysign(y)
}

/// 1 where set, else 0.
#[inline(always)]
pub(crate) fn flag<O: Ops>(m: Mask<O>) -> I32<O> {
    m.select(1i32.with_ops(m.o), 0)
}

/// A constant without a value beside it.
trait WithOps<O: Ops> {
    fn with_ops(self, o: O) -> I32<O>;
}
impl<O: Ops> WithOps<O> for i32 {
    #[inline(always)]
    fn with_ops(self, o: O) -> I32<O> {
        I32 { o, v: o.const_i32(self) }
    }
}

#[inline(always)]
pub fn signbitf<O: Ops>(x: F32<O>) -> I32<O> {
    x.bits().shr_logical(31)
}
#[inline(always)]
pub fn finitef<O: Ops>(x: F32<O>) -> I32<O> {
    flag(x.abs().lt(f32::INFINITY))
}
#[inline(always)]
pub fn isinff<O: Ops>(x: F32<O>) -> I32<O> {
    flag(x.abs().equals(f32::INFINITY))
}
#[inline(always)]
pub fn isnanf<O: Ops>(x: F32<O>) -> I32<O> {
    flag(x.is_nan())
}

#[inline(always)]
pub fn fmaf<O: Ops>(a: F32<O>, b: F32<O>, c: F32<O>) -> F32<O> {
    a.mul_add(b, c).canonical()
}

/// As C's `fmin`: a number beats NaN, and -0 is below +0.
#[inline(always)]
pub fn fminf<O: Ops>(a: F32<O>, b: F32<O>) -> F32<O> {
    let zeros = (a.bits() | b.bits()).as_float();
    let smaller = (a.lt(b) | b.is_nan()).select(a, b);
    a.equals(b).select(zeros, smaller).canonical()
}

/// As [`fminf`].
#[inline(always)]
pub fn fmaxf<O: Ops>(a: F32<O>, b: F32<O>) -> F32<O> {
    let zeros = (a.bits() & b.bits()).as_float();
    let larger = (a.gt(b) | b.is_nan()).select(a, b);
    a.equals(b).select(zeros, larger).canonical()
}

/// Positive difference; NaN if either is.
#[inline(always)]
pub fn fdimf<O: Ops>(a: F32<O>, b: F32<O>) -> F32<O> {
    a.le(b).select(a.k(0.0), a - b).canonical()
}

/// Mantissa in [1/2, 1) and exponent; zeros, infinities and NaN have exponent 0.
#[inline(always)]
pub fn frexpf<O: Ops>(x: F32<O>) -> (F32<O>, I32<O>) {
    let a = x.abs();
    let subnormal = a.lt(f32::MIN_POSITIVE);
    let scaled = subnormal.select(x * 33_554_432.0, x).bits();
    let field = scaled.shr_logical(23) & 255;
    let e = subnormal.select(field - 151, field - 126);
    let m = ((scaled & 0x807f_ffffu32) | (126 << 23)).as_float();
    let number = a.lt(f32::INFINITY) & a.gt(0.0);
    (number.select(m, x).canonical(), number.select(e, 0))
}

/// Fraction and integral part, both with the sign of the argument.
#[inline(always)]
pub fn modff<O: Ops>(x: F32<O>) -> (F32<O>, F32<O>) {
    let whole = x.trunc();
    let infinite = x.abs().equals(f32::INFINITY);
    let fraction = infinite.select(x.k(0.0), x - whole).copysign(x);
    (x.is_nan().select(x, fraction).canonical(), whole.canonical())
}

/// The exponent of a number that is neither 0 nor infinite nor NaN.
#[inline(always)]
fn exponent<O: Ops>(x: F32<O>) -> I32<O> {
    let a = x.abs();
    let subnormal = a.lt(f32::MIN_POSITIVE);
    let field = subnormal.select(a * 33_554_432.0, a).bits() >> 23;
    subnormal.select(field - 152, field - 127)
}

/// CUDA gives `INT_MIN` for 0 and for NaN, `INT_MAX` for infinity.
#[inline(always)]
pub fn ilogbf<O: Ops>(x: F32<O>) -> I32<O> {
    let e = exponent(x);
    let e = x.abs().equals(f32::INFINITY).select(e.k(i32::MAX), e);
    (x.is_nan() | x.equals(0.0)).select(e.k(i32::MIN), e)
}

#[inline(always)]
pub fn logbf<O: Ops>(x: F32<O>) -> F32<O> {
    let e = exponent(x).to_f32();
    let e = x.equals(0.0).select(e.k(f32::NEG_INFINITY), e);
    x.abs().lt(f32::INFINITY).select(e, x.abs()).canonical()
}

/// Every float times a power of two between these is exact in double precision, so the one
/// rounding is the conversion; beyond them the result is infinite or zero either way.
#[inline(always)]
pub fn ldexpf<O: Ops>(x: F32<O>, n: I32<O>) -> F32<O> {
    let n = n.lt(-400).select(n.k(-400), n);
    let n = n.gt(400).select(n.k(400), n);
    let power = ((n + 1023).sign_extend() << 52i64).as_float();
    (x.wide() * power).narrow().canonical()
}

#[inline(always)]
pub fn nextafterf<O: Ops>(x: F32<O>, y: F32<O>) -> F32<O> {
    let bits = x.bits();
    let outward = x.lt(y).equals_mask(x.gt(0.0));
    let next = outward.select(bits + 1, bits - 1).as_float();
    let least = x.k(f32::from_bits(1)).copysign(y);
    let next = x.equals(0.0).select(least, next);
    let next = x.equals(y).select(y, next);
    (x.is_nan() | y.is_nan()).select(x.k(f32::NAN), next).canonical()
}

impl<O: Ops> Mask<O> {
    /// Set where both are, and where neither is.
    #[inline(always)]
    pub(crate) fn equals_mask(self, other: Self) -> Self {
        (self & other) | !(self | other)
    }
}
