// SPDX-License-Identifier: MIT OR Apache-2.0
//! Error functions and the normal distribution.

use std::f64::consts::FRAC_1_SQRT_2;

use crate::double::exponential::{exp_kernel, scale, split_at_ln2};
use crate::ops::Ops;
use crate::value::F64;

/// erf(x) for |x| up to 0.85.
#[inline(always)]
fn erf_near_0<O: Ops>(x: F64<O>) -> F64<O> {
    let s = x * x;
    let p = s.poly([
        1.0660833810852714e-08,
        -1.5691687037041188e-07,
        1.6398278627561124e-06,
        -1.4921848685105689e-05,
        0.00012055186512170118,
        -0.0008548323381844567,
        0.0052239775687657,
        -0.026866170639962227,
        0.11283791670930787,
        -0.376126389031833,
        0.1283791670955126,
    ]);
    p.mul_add(x, x)
}

/// erfcx(a) for a of 0 and above: up to 50 a polynomial in (a - 4) / (a + 4) over ½ + a, from
/// there on the asymptotic series.
#[inline(always)]
pub(crate) fn erfcx_kernel<O: Ops>(a: F64<O>) -> F64<O> {
    let bounded = a.min(50.0);
    let t = (bounded - 4.0) / (bounded + 4.0);
    let p = t.poly([
        -2.3575414091480463e-11,
        5.68191497446037e-10,
        1.0222967042853891e-09,
        -6.6785326017218274e-09,
        -9.00380779814397e-09,
        5.425203623671276e-08,
        3.705281087728895e-08,
        -4.118717186812669e-07,
        1.4741112896197538e-07,
        2.854321009646532e-06,
        -5.6114534903829225e-06,
        -1.2199384395735458e-05,
        7.531105877387574e-05,
        -9.962840513720974e-05,
        -0.00037888671292914925,
        0.0025159849983104297,
        -0.008098867015710222,
        0.01858375776785614,
        -0.033165182907619564,
        0.04686641749922004,
        -0.050519533018057526,
        0.03404852712734529,
        0.007689826051307162,
        -0.06981055842028125,
        0.6164975593127763,
    ]);
    let near = p / (bounded + 0.5);
    let inverse = a.k(1.0) / a;
    const FRAC_1_SQRT_PI: f64 = 0.5641895835477563;
    let series = (inverse * inverse).poly([-29.53125, 6.5625, -1.875, 0.75, -0.5, 1.0]);
    let far = inverse * FRAC_1_SQRT_PI * series;
    a.gt(50.0).select(far, near)
}

/// `factor` e^-(h + l) for h up to 750 and small l: one rounding where the result is subnormal.
#[inline(always)]
fn times_exp<O: Ops>(factor: F64<O>, h: F64<O>, l: F64<O>) -> F64<O> {
    let (r, n) = split_at_ln2(-h);
    scale(exp_kernel(r - l) * factor, n)
}

#[inline(always)]
pub fn erf<O: Ops>(x: F64<O>) -> F64<O> {
    let a = x.abs().min(6.5);
    let square = a * a;
    let tail = times_exp(erfcx_kernel(a), square, a.mul_add(a, -square));
    let r = a.lt(0.85).select(erf_near_0(a), tail.k(1.0) - tail).copysign(x);
    x.is_nan().select(x, r).canonical()
}

#[inline(always)]
pub fn erfc<O: Ops>(x: F64<O>) -> F64<O> {
    let a = x.abs().min(27.3);
    let square = a * a;
    let tail = times_exp(erfcx_kernel(a), square, a.mul_add(a, -square));
    // Near 0 the difference is more accurate than the product.
    let near = x.k(1.0) - erf_near_0(x);
    let r = x.lt(0.0).select(tail.k(2.0) - tail, tail);
    let r = a.lt(0.5).select(near, r);
    x.is_nan().select(x, r).canonical()
}

#[inline(always)]
pub fn erfcx<O: Ops>(x: F64<O>) -> F64<O> {
    let positive = erfcx_kernel(x.abs());
    let a = x.abs().min(27.3);
    let square = a * a;
    let twice = times_exp(a.k(2.0), -square, -a.mul_add(a, -square));
    let r = x.lt(0.0).select(twice - positive, positive);
    x.is_nan().select(x, r).canonical()
}

/// ½ erfc(-x/√2): the square of x, and so the exponential, is of x itself.
#[inline(always)]
pub fn normcdf<O: Ops>(x: F64<O>) -> F64<O> {
    let a = x.abs().min(38.6);
    let square = a * a;
    let low = a.mul_add(a, -square) * 0.5;
    let tail = times_exp(erfcx_kernel(a * FRAC_1_SQRT_2) * 0.5, square * 0.5, low);
    let r = x.gt(0.0).select(tail.k(1.0) - tail, tail);
    x.is_nan().select(x, r).canonical()
}
