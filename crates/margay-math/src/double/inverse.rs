// SPDX-License-Identifier: MIT OR Apache-2.0
//! Inverse trigonometric functions.

use std::f64::consts::{FRAC_PI_2, FRAC_PI_4, PI};

use crate::ops::Ops;
use crate::value::F64;

/// What the doubles nearest to π/2 and π lack.
const FRAC_PI_2_LOW: f64 = 6.123233995736766e-17;
const PI_LOW: f64 = 1.2246467991473532e-16;

/// asin(r) - r for r = √s up to 9/16.
#[inline(always)]
fn rest_of_asin<O: Ops>(r: F64<O>, s: F64<O>) -> F64<O> {
    let p = s.poly([
        0.05563120886923357,
        -0.0621294818503189,
        0.054312941289584006,
        -0.011371755125149943,
        0.015283434824174833,
        0.010490612439173628,
        0.014106522192580429,
        0.017339727942244507,
        0.022372964864507586,
        0.03038191256752395,
        0.044642857884606375,
        0.07499999999132358,
        0.1666666666667021,
    ]);
    p * s * r
}

#[inline(always)]
pub fn asin<O: Ops>(x: F64<O>) -> F64<O> {
    let a = x.abs();
    let near = a.gt(0.5625);
    let s = near.select(a.mul_add(-0.5, 0.5), a * a);
    let r = near.select(s.sqrt(), a);
    let part = r + rest_of_asin(r, s);
    let far = part.mul_add(-2.0, FRAC_PI_2_LOW) + FRAC_PI_2;
    unless_nan(x, near.select(far, part).copysign(x))
}

#[inline(always)]
pub fn acos<O: Ops>(x: F64<O>) -> F64<O> {
    let a = x.abs();
    let near = a.gt(0.5625);
    let s = near.select(a.mul_add(-0.5, 0.5), a * a);
    let r = near.select(s.sqrt(), x);
    let rest = rest_of_asin(r, s);
    let part = r + rest;
    let middle = (part.k(FRAC_PI_2) - r) - (rest - FRAC_PI_2_LOW);
    let twice = part + part;
    let left = (twice.k(PI) - twice) + PI_LOW;
    let far = x.lt(0.0).select(left, twice);
    unless_nan(x, near.select(far, middle))
}

/// The result where the argument is no NaN; NaN from elsewhere is made canonical too.
#[inline(always)]
fn unless_nan<O: Ops>(x: F64<O>, r: F64<O>) -> F64<O> {
    x.is_nan().select(x, r).canonical()
}

/// atan(b / a) for numbers that are not negative: near the axes a quotient's, else that of the
/// angle to the diagonal.
#[inline(always)]
fn first_quadrant<O: Ops>(b: F64<O>, a: F64<O>) -> F64<O> {
    // tan(π/8) and tan(3π/8).
    let middle = b.gt(a * 0.41421356237309503);
    let steep = b.gt(a * 2.414213562373095);
    let above = steep.select(-a, middle.select(b - a, b));
    let below = steep.select(b, middle.select(b + a, a));
    let t = above / below;
    let s = t * t;
    let p = s.poly([
        0.015134463816512404,
        -0.033409811875930576,
        0.045005270482376285,
        -0.052175894425238775,
        0.05876881775914969,
        -0.06666210771917412,
        0.07692281532113707,
        -0.09090908081986845,
        0.11111111086131813,
        -0.14285714285347945,
        0.1999999999999726,
        -0.33333333333333326,
    ]);
    let rest = p * s;
    let base = steep.select(t.k(FRAC_PI_2), middle.select(t.k(FRAC_PI_4), 0.0));
    let base_low = base * (FRAC_PI_2_LOW / FRAC_PI_2);
    base + rest.mul_add(t, t + base_low)
}

#[inline(always)]
pub fn atan<O: Ops>(x: F64<O>) -> F64<O> {
    // Beyond 2^60 the angle does not change, and sums would overflow.
    let a = x.abs().min(1_152_921_504_606_846_976.0);
    let r = first_quadrant(a, a.k(1.0));
    unless_nan(x, r.copysign(x))
}

#[inline(always)]
pub fn atan2<O: Ops>(y: F64<O>, x: F64<O>) -> F64<O> {
    let (b, a) = (y.abs(), x.abs());
    // Two zeros, and two infinities, are as if on an axis and a diagonal.
    let zeros = a.equals(0.0) & b.equals(0.0);
    let infinities = a.equals(f64::INFINITY) & b.equals(f64::INFINITY);
    let b = infinities.select(b.k(1.0), b);
    let a = (infinities | zeros).select(a.k(1.0), a);
    let huge = (a + b).gt(1e308);
    let (b, a) = (huge.select(b * 0.25, b), huge.select(a * 0.25, a));
    let p = first_quadrant(b, a);
    let left = (p.k(PI_LOW) - p) + PI;
    let r = x.bits().lt(0i64).select(left, p).copysign(y);
    (x.is_nan() | y.is_nan()).select(r.k(f64::NAN), r).canonical()
}
