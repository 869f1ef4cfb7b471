// SPDX-License-Identifier: MIT OR Apache-2.0
//! Powers, by way of logarithm and exponential in double precision.

use crate::ops::Ops;
use crate::value::{F32, F64, I32};

/// log2 of a positive finite double that is no subnormal: relative error below 2^-37.
#[inline(always)]
pub(crate) fn log2_wide<O: Ops>(x: F64<O>) -> F64<O> {
    let bits = x.bits();
    let e = ((bits.shr_logical(32i64)).truncate() - 0x3fe6_a09e) >> 20;
    let m = (bits - (e.sign_extend() << 52i64)).as_float();
    let s = (m - 1.0) / (m + 1.0);
    let p = (s * s).poly([
        0.34072996781168985,
        0.4116727259183875,
        0.5770835848624926,
        0.9617966733422393,
        2.885390081790086,
    ]);
    s.mul_add(p, e.to_f64())
}

/// 2^t for |t| up to 1000: relative error below 2^-28.
#[inline(always)]
pub(crate) fn exp2_wide<O: Ops>(t: F64<O>) -> F64<O> {
    // Adding 1.5 * 2^52 leaves the nearest integer in the low bits.
    const SHIFT: f64 = 6_755_399_441_055_744.0;
    let shifted = t + SHIFT;
    let p = (t - (shifted - SHIFT)).poly([
        0.00015353362576515673,
        0.0013398874399855954,
        0.009618437355330633,
        0.055503324711746314,
        0.2402264791364581,
        0.6931472028550357,
        1.0,
    ]);
    (p.bits() + (shifted.bits() << 52i64)).as_float()
}

/// x^y for a `y` in double precision, with the results of C99 F.9.4.4 for special values.
#[inline(always)]
fn power<O: Ops>(x: F32<O>, y: F64<O>) -> F32<O> {
    let magnitude = x.abs().wide();
    let log = log2_wide(magnitude);
    let log = magnitude.equals(0.0).select(log.k(f64::NEG_INFINITY), log);
    let log = magnitude.lt(f64::INFINITY).select(log, magnitude);
    let t = y * log;
    let bounded = t.min(200.0).max(-200.0);
    let power = t.is_nan().select(t, exp2_wide(bounded)).narrow();
    let integer = y.rint().equals(y);
    let half = y * 0.5;
    let odd = integer & !half.rint().equals(half);
    let negative = x.bits().lt(0);
    let power = (odd & negative).select(-power, power);
    let invalid = x.lt(0.0) & x.gt(f32::NEG_INFINITY) & !integer;
    let power = invalid.select(power.k(f32::NAN), power);
    let one = x.equals(1.0) | y.equals(0.0) | (x.equals(-1.0) & y.abs().equals(f64::INFINITY));
    one.select(power.k(1.0), power).canonical()
}

#[inline(always)]
pub fn powf<O: Ops>(x: F32<O>, y: F32<O>) -> F32<O> {
    power(x, y.wide())
}

#[inline(always)]
pub fn powif<O: Ops>(x: F32<O>, n: I32<O>) -> F32<O> {
    power(x, n.to_f64())
}
