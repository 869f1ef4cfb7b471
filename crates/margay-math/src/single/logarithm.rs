// SPDX-License-Identifier: MIT OR Apache-2.0
//! Logarithms: the exponent, and a polynomial on [2/3, 4/3].

use crate::ops::Ops;
use crate::value::F32;

/// A positive finite number as 2^e (1 + f), with f in [-1/3, 1/3].
#[inline(always)]
fn split<O: Ops>(x: F32<O>) -> (F32<O>, F32<O>) {
    let subnormal = x.lt(f32::MIN_POSITIVE);
    let bits = subnormal.select(x * 8_388_608.0, x).bits();
    // The exponent counts from 2/3 rather than from 1.
    let e = (bits - (2f32 / 3.0).to_bits()) >> 23;
    let f = (bits - (e << 23)).as_float() - 1.0;
    let e = e.to_f32();
    (subnormal.select(e - 23.0, e), f)
}

/// ln(1 + f) - f for f in [-1/3, 1/3].
#[inline(always)]
fn rest_of_ln1p<O: Ops>(f: F32<O>) -> F32<O> {
    let p = f.poly([
        -0.12893032,
        0.13986897,
        -0.121839724,
        0.14005306,
        -0.16680506,
        0.20010446,
        -0.24999797,
        0.33333215,
        -0.5,
    ]);
    p * f * f
}

/// Logarithms of what is not positive and finite.
#[inline(always)]
fn special<O: Ops>(x: F32<O>, log: F32<O>) -> F32<O> {
    let log = x.lt(f32::INFINITY).select(log, x);
    let log = x.equals(0.0).select(x.k(f32::NEG_INFINITY), log);
    x.lt(0.0).select(x.k(f32::NAN), log).canonical()
}

pub fn logf<O: Ops>(x: F32<O>) -> F32<O> {
    let (e, f) = split(x);
    let low = e.mul_add(-1.904_654_2e-9, rest_of_ln1p(f)) + f;
    special(x, e.mul_add(std::f32::consts::LN_2, low))
}

pub fn log2f<O: Ops>(x: F32<O>) -> F32<O> {
    let (e, f) = split(x);
    let rest = rest_of_ln1p(f) * std::f32::consts::LOG2_E;
    let high = f * std::f32::consts::LOG2_E;
    let low = f.mul_add(std::f32::consts::LOG2_E, -high) + f.mul_add(1.925_963e-8, rest);
    // The exponent may cancel the leading bits: what the sum loses counts.
    let sum = e + high;
    special(x, sum + ((e - sum) + high + low))
}

pub fn log10f<O: Ops>(x: F32<O>) -> F32<O> {
    let (e, f) = split(x);
    let rest = rest_of_ln1p(f) * std::f32::consts::LOG10_E;
    let low = f.mul_add(std::f32::consts::LOG10_E, f.mul_add(-1.010_305e-8, rest));
    let low = e.mul_add(-1.432_098_9e-8, low);
    special(x, e.mul_add(std::f32::consts::LOG10_2, low))
}
