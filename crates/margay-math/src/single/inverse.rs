// SPDX-License-Identifier: MIT OR Apache-2.0
//! Inverse trigonometric functions.

use std::f32::consts::{FRAC_PI_2, PI};

use crate::ops::Ops;
use crate::value::F32;

/// What the floats nearest to π/2 and π lack.
const FRAC_PI_2_LOW: f32 = -4.371_139e-8;
const PI_LOW: f32 = -8.742_278e-8;

/// asin(r) - r for r = √s up to 9/16.
#[inline(always)]
fn rest_of_asin<O: Ops>(r: F32<O>, s: F32<O>) -> F32<O> {
    s.poly([0.047493175, 0.006735486, 0.03401266, 0.04423199, 0.075020984, 0.16666631]) * s * r
}

#[inline(always)]
pub fn asinf<O: Ops>(x: F32<O>) -> F32<O> {
    let a = x.abs();
    let near = a.gt(0.5625);
    let s = near.select(a.mul_add(-0.5, 0.5), a * a);
    let r = near.select(s.sqrt(), a);
    let rest = rest_of_asin(r, s);
    let part = r + rest;
    let far = part.mul_add(-2.0, FRAC_PI_2_LOW) + FRAC_PI_2;
    near.select(far, part).copysign(x).select_unless_nan(x)
}

#[inline(always)]
pub fn acosf<O: Ops>(x: F32<O>) -> F32<O> {
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
    near.select(far, middle).select_unless_nan(x)
}

impl<O: Ops> F32<O> {
    /// This value where the argument is no NaN; NaN from elsewhere is made canonical too.
    #[inline(always)]
    fn select_unless_nan(self, x: F32<O>) -> F32<O> {
        x.is_nan().select(x, self).canonical()
    }
}

/// atan(t) for t in [0, 1].
#[inline(always)]
fn atan_kernel<O: Ops>(t: F32<O>) -> F32<O> {
    let s = t * t;
    let p = s.poly([
        0.0029202034,
        -0.016366003,
        0.04320876,
        -0.07551952,
        0.1066588,
        -0.14211023,
        0.19993769,
        -0.33333153,
    ]);
    (p * s).mul_add(t, t)
}

#[inline(always)]
pub fn atanf<O: Ops>(x: F32<O>) -> F32<O> {
    let a = x.abs();
    let large = a.gt(1.0);
    let t = large.select(a.k(1.0) / a, a);
    let p = atan_kernel(t);
    let r = large.select((p.k(FRAC_PI_2_LOW) - p) + FRAC_PI_2, p);
    r.copysign(x).select_unless_nan(x)
}

#[inline(always)]
pub fn atan2f<O: Ops>(y: F32<O>, x: F32<O>) -> F32<O> {
    let (b, a) = (y.abs(), x.abs());
    let steep = b.gt(a);
    let (low, high) = (steep.select(a, b), steep.select(b, a));
    let quotient = low / high;
    // Two zeros, and two infinities, are as if on an axis and a diagonal.
    let quotient = high.equals(0.0).select(high, quotient);
    let quotient = low.equals(f32::INFINITY).select(low.k(1.0), quotient);
    let p = atan_kernel(quotient);
    let p = steep.select((p.k(FRAC_PI_2_LOW) - p) + FRAC_PI_2, p);
    let left = (p.k(PI_LOW) - p) + PI;
    let r = x.bits().lt(0).select(left, p).copysign(y);
    (x.is_nan() | y.is_nan()).select(r.k(f32::NAN), r).canonical()
}
