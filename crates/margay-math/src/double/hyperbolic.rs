// SPDX-License-Identifier: MIT OR Apache-2.0
//! Hyperbolic functions and their inverses: odd polynomials near 0, exponentials and logarithms
//! elsewhere.

use crate::double::exponential::{exp_kernel_in_two, power_of_two, split_at_ln2_in_two};
use crate::double::logarithm::ln1p_finite;
use crate::ops::Ops;
use crate::value::F64;

/// A quarter of e^x, for x in [-700, 710.5], as a sum of two doubles: within range where e^x is not.
#[inline(always)]
fn quarter_exp<O: Ops>(x: F64<O>) -> (F64<O>, F64<O>) {
    let (r, r_low, n) = split_at_ln2_in_two(x);
    let (high, low) = exp_kernel_in_two(r, r_low);
    let power = power_of_two(n - 2i64);
    (high * power, low * power)
}

#[inline(always)]
pub fn sinh<O: Ops>(x: F64<O>) -> F64<O> {
    let a = x.abs();
    let s = x * x;
    let p = s.poly([
        4.448995073979301e-15,
        7.580157504091655e-13,
        1.6060174315015305e-10,
        2.5052098350165263e-08,
        2.755731927390287e-06,
        0.00019841269841133232,
        0.008333333333333519,
        0.16666666666666666,
    ]);
    let small = (p * s).mul_add(a, a);
    let (e, e_low) = quarter_exp(a.min(710.5));
    let large = (e + e) + ((e_low + e_low) - e.k(0.125) / e);
    let r = a.lt(1.0).select(small, large).copysign(x);
    x.is_nan().select(x, r).canonical()
}

#[inline(always)]
pub fn cosh<O: Ops>(x: F64<O>) -> F64<O> {
    let (e, e_low) = quarter_exp(x.abs().min(710.5));
    let r = (e + e) + ((e_low + e_low) + e.k(0.125) / e);
    x.is_nan().select(x, r).canonical()
}

#[inline(always)]
pub fn tanh<O: Ops>(x: F64<O>) -> F64<O> {
    let a = x.abs();
    let s = x * x;
    let p = s.poly([
        -1.949299143196534e-05,
        8.331352861971628e-05,
        -0.00023337938667078708,
        0.0005884435623637411,
        -0.0014555426009102905,
        0.00359209198841609,
        -0.008863232596763335,
        0.021869488385527106,
        -0.05396825396374694,
        0.1333333333332659,
        -0.333333333333333,
    ]);
    let small = (p * s).mul_add(a, a);
    let bounded = a.min(20.0);
    // Of e^2a: 1 - 2 / (e^2a + 1), the quotient as a sum of two.
    let (e, e_low) = quarter_exp(bounded + bounded);
    let d = e + 0.25;
    let d_low = ((e - d) + 0.25) + e_low;
    let q = d.k(0.5) / d;
    let rest = (-q).mul_add(d, 0.5) - q * d_low;
    let q_low = rest * (q + q);
    let one = q.k(1.0) - q;
    let large = one + (((q.k(1.0) - one) - q) - q_low);
    let r = a.lt(0.55).select(small, large).copysign(x);
    x.is_nan().select(x, r).canonical()
}

#[inline(always)]
pub fn asinh<O: Ops>(x: F64<O>) -> F64<O> {
    let a = x.abs();
    // Beyond 2^54 the square root is the argument itself, and twice that may overflow.
    let large = a.gt(18_014_398_509_481_984.0);
    let s = a * a;
    let t = a + s / ((s + 1.0).sqrt() + 1.0);
    let log = ln1p_finite(large.select(a, t));
    let log = large.select(log + std::f64::consts::LN_2, log);
    let r = a.lt(1e-8).select((s * a).mul_add(-1.0 / 6.0, a), log).copysign(x);
    a.lt(f64::INFINITY).select(r, x).canonical()
}

#[inline(always)]
pub fn acosh<O: Ops>(x: F64<O>) -> F64<O> {
    let large = x.gt(18_014_398_509_481_984.0);
    let t = x - 1.0;
    let s = t + t.mul_add(t, t + t).sqrt();
    let log = ln1p_finite(large.select(x, s));
    let log = large.select(log + std::f64::consts::LN_2, log);
    let r = x.lt(f64::INFINITY).select(log, x);
    x.lt(1.0).select(x.k(f64::NAN), r).canonical()
}

#[inline(always)]
pub fn atanh<O: Ops>(x: F64<O>) -> F64<O> {
    let a = x.abs();
    let log = ln1p_finite((a + a) / (a.k(1.0) - a)) * 0.5;
    let r = a.lt(1e-8).select((a * a * a).mul_add(1.0 / 3.0, a), log);
    let r = a.equals(1.0).select(a.k(f64::INFINITY), r).copysign(x);
    let r = a.gt(1.0).select(a.k(f64::NAN), r);
    x.is_nan().select(x, r).canonical()
}
