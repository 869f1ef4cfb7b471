// SPDX-License-Identifier: MIT OR Apache-2.0
//! Exponentials: 2^n times a polynomial on half an octave to both sides of 0.

use crate::ops::Ops;
use crate::value::{F32, I32};

/// Adding this leaves the nearest integer in the low bits of a float below 2^22.
const SHIFT: f32 = 12_582_912.0;

/// The integer nearest to `x`, |x| < 2^22, as a float and in the low bits of an integer.
#[inline(always)]
pub(crate) fn nearest<O: Ops>(shifted: F32<O>) -> (F32<O>, I32<O>) {
    (shifted - SHIFT, shifted.bits() - SHIFT.to_bits())
}

/// `p * 2^n` for |n| up to 252: in two steps, so that only the last one rounds.
#[inline(always)]
pub(crate) fn scale<O: Ops>(p: F32<O>, n: I32<O>) -> F32<O> {
    let half = n >> 1;
    let first = ((half + 127) << 23).as_float();
    let second = ((n - half + 127) << 23).as_float();
    p * first * second
}

/// e^r for |r| up to half of ln 2.
#[inline(always)]
pub(crate) fn exp_kernel<O: Ops>(r: F32<O>) -> F32<O> {
    r.poly([0.00137488, 0.008369089, 0.04166961, 0.16666517, 0.49999988, 1.0, 1.0])
}

/// n and r so that x = n ln 2 + r, for |x| up to 2^17.
#[inline(always)]
pub(crate) fn split_at_ln2<O: Ops>(x: F32<O>) -> (F32<O>, I32<O>) {
    let (turns, n) = nearest(x.mul_add(std::f32::consts::LOG2_E, SHIFT));
    // 15 bits times 8: the first step is exact.
    let r = turns.mul_add(-0.693_145_75, x);
    (turns.mul_add(-1.428_606_8e-6, r), n)
}

#[inline(always)]
pub fn expf<O: Ops>(x: F32<O>) -> F32<O> {
    let (r, n) = split_at_ln2(x.min(104.0).max(-104.0));
    x.is_nan().select(x, scale(exp_kernel(r), n)).canonical()
}

#[inline(always)]
pub fn exp2f<O: Ops>(x: F32<O>) -> F32<O> {
    let bounded = x.min(151.0).max(-151.0);
    let (turns, n) = nearest(bounded + SHIFT);
    let p = (bounded - turns).poly([
        0.00015241285,
        0.0013391302,
        0.009618834,
        0.05550359,
        0.24022645,
        0.693_147_2,
        1.0,
    ]);
    x.is_nan().select(x, scale(p, n)).canonical()
}

#[inline(always)]
pub fn exp10f<O: Ops>(x: F32<O>) -> F32<O> {
    let bounded = x.min(46.0).max(-46.0);
    let (turns, n) = nearest(bounded.mul_add(std::f32::consts::LOG2_10, SHIFT));
    let r = turns.mul_add(-0.301_025_4, bounded);
    let r = turns.mul_add(-4.605_039e-6, r);
    let p = r.poly([
        0.20536864,
        0.5418376,
        1.1713234,
        2.0346558,
        2.6509485,
        std::f32::consts::LN_10,
        1.0,
    ]);
    x.is_nan().select(x, scale(p, n)).canonical()
}

/// e^x - 1. The sum is kept in two parts where the power of two cancels.
#[inline(always)]
pub fn expm1f<O: Ops>(x: F32<O>) -> F32<O> {
    let x_bounded = x.min(89.0).max(-25.0);
    let (turns, n) = nearest(x_bounded.mul_add(std::f32::consts::LOG2_E, SHIFT));
    let first = turns.mul_add(-0.693_145_75, x_bounded);
    let r = turns.mul_add(-1.428_606_8e-6, first);
    let (high, low) = expm1_kernel(r, turns.mul_add(-1.428_606_8e-6, first - r));
    // Half of the power, so that 2^128 is within range.
    let half = ((n + 126) << 23).as_float();
    let one = half - 0.5;
    let part = half * high;
    let sum = one + part;
    // From 2^24 on, half of the one is lost.
    let lost = (half - one) - 0.5;
    let result = sum + ((one - sum) + part + half.mul_add(low, lost));
    let tiny = x.abs().lt(5e-8);
    (tiny | x.is_nan()).select(x, result + result).canonical()
}

/// e^(r + r_low) - 1 as a sum of two floats, for |r| up to half of ln 2.
#[inline(always)]
fn expm1_kernel<O: Ops>(r: F32<O>, r_low: F32<O>) -> (F32<O>, F32<O>) {
    let q = r.poly([0.00019743323, 0.0013933695, 0.008333567, 0.041666478, 0.16666666, 0.5]);
    let t = (q * r).mul_add(r, r_low);
    let high = r + t;
    (high, (r - high) + t)
}
