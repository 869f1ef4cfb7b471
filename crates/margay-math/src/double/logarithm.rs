// SPDX-License-Identifier: MIT OR Apache-2.0
//! Logarithms: the exponent, and ln((1 + s) / (1 - s)) for the mantissa, s = f / (2 + f).

use crate::double::exponential::{LN_2_HIGH, LN_2_LOW};
use crate::ops::Ops;
use crate::value::{F64, I64};

const SQRT_HALF: u64 = 0x3fe6_a09e_667f_3bcd;

/// The exponent of a double's bits, counted from √½ rather than from 1: in the high bits, and as a
/// number.
#[inline(always)]
fn exponent<O: Ops>(bits: I64<O>) -> (I64<O>, F64<O>) {
    // The exponent plus 2048, in the low bits: as the last bits of a double they become a number.
    let biased = (bits + (1u64 << 63).wrapping_sub(SQRT_HALF)).shr_logical(52i64);
    let number =
        (biased | 0x4330_0000_0000_0000u64).as_float() - (4_503_599_627_370_496.0 + 2048.0);
    ((biased - 2048i64) << 52i64, number)
}

/// A positive finite number as 2^e (1 + f), with f in [√½ - 1, √2 - 1].
#[inline(always)]
pub(crate) fn split<O: Ops>(x: F64<O>) -> (F64<O>, F64<O>) {
    let subnormal = x.lt(f64::MIN_POSITIVE);
    let bits = subnormal.select(x * 18_014_398_509_481_984.0, x).bits();
    let (high, e) = exponent(bits);
    (subnormal.select(e - 54.0, e), (bits - high).as_float() - 1.0)
}

/// s and R so that ln(1 + f) = f - f²/2 + s (f²/2 + R).
#[inline(always)]
fn kernel<O: Ops>(f: F64<O>) -> (F64<O>, F64<O>) {
    let s = f / (f + 2.0);
    let z = s * s;
    let p = z.poly([
        0.13288083278806564,
        0.13246550326506362,
        0.15387220145498626,
        0.18181773615115976,
        0.22222222656631338,
        0.28571428569168367,
        0.40000000000005326,
        0.6666666666666666,
    ]);
    (s, p * z)
}

/// ln(1 + f) as a sum of two doubles.
#[inline(always)]
fn ln1p_in_two<O: Ops>(f: F64<O>) -> (F64<O>, F64<O>) {
    let (s, r) = kernel(f);
    let half = f * 0.5;
    let square = half * f;
    let lost = half.mul_add(f, -square);
    let high = f - square;
    ((high), ((f - high) - square) + (s.mul_add(square + r, -lost)))
}

/// e ln 2 + ln(1 + f + lost), for a `lost` far below f.
#[inline(always)]
fn sum<O: Ops>(e: F64<O>, f: F64<O>, lost: F64<O>) -> F64<O> {
    let (s, r) = kernel(f);
    let square = f * 0.5 * f;
    let low = e.mul_add(LN_2_LOW, lost) + s * (square + r);
    e.mul_add(LN_2_HIGH, f - (square - low))
}

/// Logarithms of what is not positive and finite.
#[inline(always)]
fn special<O: Ops>(x: F64<O>, log: F64<O>) -> F64<O> {
    let log = x.lt(f64::INFINITY).select(log, x);
    let log = x.equals(0.0).select(x.k(f64::NEG_INFINITY), log);
    x.lt(0.0).select(x.k(f64::NAN), log).canonical()
}

#[inline(always)]
pub fn log<O: Ops>(x: F64<O>) -> F64<O> {
    let (e, f) = split(x);
    special(x, sum(e, f, e.k(0.0)))
}

/// `e * unit + ln(1 + f) * factor`, factors as sums of two doubles; the product with the unit's
/// higher part is exact.
#[inline(always)]
fn scaled_log<O: Ops>(x: F64<O>, unit: (f64, f64), factor: (f64, f64)) -> F64<O> {
    let (e, f) = split(x);
    let (high, low) = ln1p_in_two(f);
    let part = high * factor.0;
    let rest = high.mul_add(factor.0, -part) + high.mul_add(factor.1, low * factor.0);
    let whole = e * unit.0;
    let sum = whole + part;
    let rest = e.mul_add(unit.1, (whole - sum) + part + rest);
    special(x, sum + rest)
}

#[inline(always)]
pub fn log2<O: Ops>(x: F64<O>) -> F64<O> {
    scaled_log(x, (1.0, 0.0), (std::f64::consts::LOG2_E, 2.0355273740931033e-17))
}

#[inline(always)]
pub fn log10<O: Ops>(x: F64<O>) -> F64<O> {
    scaled_log(
        x,
        (0.30102999566395283, 2.8363394551044964e-14),
        (std::f64::consts::LOG10_E, 1.098319650216765e-17),
    )
}

/// ln(1 + x) for x above -1.
#[inline(always)]
pub(crate) fn ln1p_finite<O: Ops>(x: F64<O>) -> F64<O> {
    let u = x + 1.0;
    let (high, e) = exponent(u.bits());
    // 2^-e; the argument scaled is exact, and 2^-e - 1 is for all exponents that matter.
    let scale = (high.k(1023 << 52) - high).as_float();
    let part = x * scale;
    let one = scale - 1.0;
    let near = part + one;
    let lost = (one - near) + part;
    // There the one makes no difference, and 2^-e may be out of range.
    let far = (u.bits() - high).as_float() - 1.0;
    let big = x.ge(18_014_398_509_481_984.0);
    let f = big.select(far, near);
    let lost = big.select(lost.k(0.0), lost);
    sum(e, f, (-lost).mul_add(f, lost))
}

#[inline(always)]
pub fn log1p<O: Ops>(x: F64<O>) -> F64<O> {
    let log = ln1p_finite(x);
    let log = (x.lt(f64::INFINITY) & !x.equals(0.0)).select(log, x);
    let log = x.equals(-1.0).select(x.k(f64::NEG_INFINITY), log);
    x.lt(-1.0).select(x.k(f64::NAN), log).canonical()
}
