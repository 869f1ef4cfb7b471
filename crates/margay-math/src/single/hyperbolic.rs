// SPDX-License-Identifier: MIT OR Apache-2.0
//! Hyperbolic functions and their inverses: odd polynomials near 0, exponentials and logarithms
//! elsewhere.

use crate::ops::Ops;
use crate::single::exponential::{exp_kernel, split_at_ln2};
use crate::single::logarithm::ln1p_finite;
use crate::value::F32;

/// A quarter of e^x, for x in [-86, 89.6]: within range where e^x is not.
#[inline(always)]
fn quarter_exp<O: Ops>(x: F32<O>) -> F32<O> {
    let (r, n) = split_at_ln2(x);
    exp_kernel(r) * ((n + 125) << 23).as_float()
}

#[inline(always)]
pub fn sinhf<O: Ops>(x: F32<O>) -> F32<O> {
    let a = x.abs();
    let s = x * x;
    let p = s.poly([2.789984e-06, 0.00019841666, 0.008333315, 0.16666667]);
    let small = (p * s).mul_add(a, a);
    let e = quarter_exp(a.min(89.6));
    let large = (e + e) - e.k(0.125) / e;
    let r = a.lt(1.0).select(small, large).copysign(x);
    x.is_nan().select(x, r).canonical()
}

#[inline(always)]
pub fn coshf<O: Ops>(x: F32<O>) -> F32<O> {
    let a = x.abs();
    let e = quarter_exp(a.min(89.6));
    let r = (e + e) + e.k(0.125) / e;
    x.is_nan().select(x, r).canonical()
}

#[inline(always)]
pub fn tanhf<O: Ops>(x: F32<O>) -> F32<O> {
    let a = x.abs();
    let s = x * x;
    let p = s.poly([-0.006263359, 0.021063004, -0.05384986, 0.13332558, -0.33333316]);
    let small = (p * s).mul_add(a, a);
    let bounded = a.min(10.0);
    // Of e^2a: 1 - 2 / (e^2a + 1).
    let e = quarter_exp(bounded + bounded);
    let large = e.k(1.0) - e.k(0.5) / (e + 0.25);
    let r = a.lt(0.55).select(small, large).copysign(x);
    x.is_nan().select(x, r).canonical()
}

#[inline(always)]
pub fn asinhf<O: Ops>(x: F32<O>) -> F32<O> {
    let a = x.abs();
    // Beyond 2^26 the square root is the argument itself, and twice that may overflow.
    let large = a.gt(67_108_864.0);
    let s = a * a;
    let t = a + s / ((s + 1.0).sqrt() + 1.0);
    let log = ln1p_finite(large.select(a, t));
    let log = large.select(log + std::f32::consts::LN_2, log);
    let tiny = a.lt(1e-4);
    let r = tiny.select((s * a).mul_add(-1.0 / 6.0, a), log).copysign(x);
    a.lt(f32::INFINITY).select(r, x).canonical()
}

#[inline(always)]
pub fn acoshf<O: Ops>(x: F32<O>) -> F32<O> {
    let large = x.gt(67_108_864.0);
    let t = x - 1.0;
    let s = t + t.mul_add(t, t + t).sqrt();
    let log = ln1p_finite(large.select(x, s));
    let log = large.select(log + std::f32::consts::LN_2, log);
    let r = x.lt(f32::INFINITY).select(log, x);
    x.lt(1.0).select(x.k(f32::NAN), r).canonical()
}

#[inline(always)]
pub fn atanhf<O: Ops>(x: F32<O>) -> F32<O> {
    let a = x.abs();
    let log = ln1p_finite((a + a) / (a.k(1.0) - a)) * 0.5;
    let r = a.lt(1e-4).select((a * a * a).mul_add(1.0 / 3.0, a), log);
    let r = a.equals(1.0).select(a.k(f32::INFINITY), r).copysign(x);
    let r = a.gt(1.0).select(a.k(f32::NAN), r);
    x.is_nan().select(x, r).canonical()
}
