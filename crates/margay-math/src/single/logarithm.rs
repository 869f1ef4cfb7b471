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

/// (ln(1 + f) - f + f²/2) / f³ for f in [-1/3, 1/3].
#[inline(always)]
fn higher_powers<O: Ops>(f: F32<O>) -> F32<O> {
    f.poly([
        -0.12893032,
        0.13986897,
        -0.121839724,
        0.14005306,
        -0.16680506,
        0.20010446,
        -0.24999797,
        0.33333215,
    ])
}

/// ln(1 + f) - f for f in [-1/3, 1/3].
#[inline(always)]
fn rest_of_ln1p<O: Ops>(f: F32<O>) -> F32<O> {
    higher_powers(f).mul_add(f, -0.5) * f * f
}

/// Logarithms of what is not positive and finite.
#[inline(always)]
fn special<O: Ops>(x: F32<O>, log: F32<O>) -> F32<O> {
    let log = x.lt(f32::INFINITY).select(log, x);
    let log = x.equals(0.0).select(x.k(f32::NEG_INFINITY), log);
    x.lt(0.0).select(x.k(f32::NAN), log).canonical()
}

#[inline(always)]
pub fn logf<O: Ops>(x: F32<O>) -> F32<O> {
    let (e, f) = split(x);
    let low = e.mul_add(-1.904_654_2e-9, rest_of_ln1p(f)) + f;
    special(x, e.mul_add(std::f32::consts::LN_2, low))
}

#[inline(always)]
pub fn log2f<O: Ops>(x: F32<O>) -> F32<O> {
    let (e, f) = split(x);
    // ln(1 + f) in two parts: f - f²/2, and what that loses with the higher powers.
    let square = f * f * -0.5;
    let lost = (f * -0.5).mul_add(f, -square);
    let high = f + square;
    let low = (f - high) + square + (higher_powers(f) * f).mul_add(square * -2.0, lost);
    // Times log2(e), in two parts again. The exponent may cancel the leading bits, so what the sum
    // loses counts.
    let part = high * std::f32::consts::LOG2_E;
    let low = high.mul_add(1.925_963e-8, low * std::f32::consts::LOG2_E)
        + high.mul_add(std::f32::consts::LOG2_E, -part);
    let sum = e + part;
    special(x, sum + ((e - sum) + part + low))
}

#[inline(always)]
pub fn log10f<O: Ops>(x: F32<O>) -> F32<O> {
    let (e, f) = split(x);
    let rest = rest_of_ln1p(f) * std::f32::consts::LOG10_E;
    let low = f.mul_add(std::f32::consts::LOG10_E, f.mul_add(-1.010_305e-8, rest));
    let low = e.mul_add(-1.432_098_9e-8, low);
    special(x, e.mul_add(std::f32::consts::LOG10_2, low))
}

/// ln with an error of little more than half a unit, for functions that are made of it.
#[inline(always)]
pub(crate) fn logf_in_two<O: Ops>(x: F32<O>) -> F32<O> {
    let (e, f) = split(x);
    let square = f * f * -0.5;
    let lost = (f * -0.5).mul_add(f, -square);
    let high = f + square;
    let low = (f - high) + square + (higher_powers(f) * f).mul_add(square * -2.0, lost);
    // 15 bits of ln 2 times 8: exact.
    let whole = e * 0.693_145_75;
    let sum = whole + high;
    special(x, sum + e.mul_add(1.428_606_8e-6, (whole - sum) + high + low))
}

/// log2 with an absolute error below 2^-22 where the exponent cancels leading bits.
#[inline(always)]
pub(crate) fn log2f_approx<O: Ops>(x: F32<O>) -> F32<O> {
    let (e, f) = split(x);
    special(x, e + (f + rest_of_ln1p(f)) * std::f32::consts::LOG2_E)
}

/// ln(1 + x) for x above -1.
#[inline(always)]
pub(crate) fn ln1p_finite<O: Ops>(x: F32<O>) -> F32<O> {
    let u = x + 1.0;
    let e = (u.bits() - (2f32 / 3.0).to_bits()) >> 23;
    // 2^-e; the argument scaled is exact, and 2^-e - 1 is for all exponents that matter.
    let scale = (e.k(127 << 23) - (e << 23)).as_float();
    let part = x * scale;
    let one = scale - 1.0;
    let near = part + one;
    let lost = (one - near) + part;
    // There the one makes no difference, and 2^-e may be out of range.
    let far = (u.bits() - (e << 23)).as_float() - 1.0;
    let big = x.ge(33_554_432.0);
    let f = big.select(far, near);
    let lost = big.select(lost.k(0.0), lost);
    let e = e.to_f32();
    let rest = rest_of_ln1p(f) + (-lost).mul_add(f, lost);
    let low = e.mul_add(-1.904_654_2e-9, rest) + f;
    e.mul_add(std::f32::consts::LN_2, low)
}

#[inline(always)]
pub fn log1pf<O: Ops>(x: F32<O>) -> F32<O> {
    let log = ln1p_finite(x);
    let log = (x.lt(f32::INFINITY) & !x.equals(0.0)).select(log, x);
    let log = x.equals(-1.0).select(x.k(f32::NEG_INFINITY), log);
    x.lt(-1.0).select(x.k(f32::NAN), log).canonical()
}
