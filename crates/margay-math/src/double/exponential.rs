// SPDX-License-Identifier: MIT OR Apache-2.0
//! Exponentials: 2^n times a polynomial on half an octave to both sides of 0.

use crate::ops::Ops;
use crate::value::{F64, I64};

/// Adding this leaves the nearest integer in the low bits of a double below 2^51.
pub(crate) const SHIFT: f64 = 6_755_399_441_055_744.0;

/// ln 2 in 42 bits, so that small multiples are exact, and the rest.
pub(crate) const LN_2_HIGH: f64 = 0.6931471805598903;
pub(crate) const LN_2_LOW: f64 = 5.497923018708371e-14;

/// The integer that was added to [`SHIFT`], as a double and as an integer.
#[inline(always)]
pub(crate) fn nearest<O: Ops>(shifted: F64<O>) -> (F64<O>, I64<O>) {
    (shifted - SHIFT, shifted.bits() - SHIFT.to_bits())
}

/// 2^n for n in [-1022, 1023].
#[inline(always)]
pub(crate) fn power_of_two<O: Ops>(n: I64<O>) -> F64<O> {
    ((n + 1023i64) << 52i64).as_float()
}

/// `p * 2^n` for |n| up to 2040: in two steps, so that only the last one rounds.
#[inline(always)]
pub(crate) fn scale<O: Ops>(p: F64<O>, n: I64<O>) -> F64<O> {
    // A logical shift of what is positive: vectors may lack the arithmetic one.
    let half = (n + 4096i64).shr_logical(1i64) - 2048i64;
    p * power_of_two(half) * power_of_two(n - half)
}

/// e^r - 1 for |r| up to half of ln 2, as a polynomial without its lowest term.
#[inline(always)]
fn exp_rest<O: Ops>(r: F64<O>) -> F64<O> {
    r.poly([
        2.5033977048412906e-08,
        2.7631429598891645e-07,
        2.755747813197153e-06,
        2.4801489430517177e-05,
        0.0001984126962932008,
        0.0013888888947647545,
        0.008333333333436813,
        0.04166666666651215,
        0.16666666666666505,
        0.5000000000000013,
    ])
}

/// e^r for |r| up to half of ln 2.
#[inline(always)]
pub(crate) fn exp_kernel<O: Ops>(r: F64<O>) -> F64<O> {
    exp_rest(r).mul_add(r, 1.0).mul_add(r, 1.0)
}

/// e^(r + low) as a sum of two doubles.
#[inline(always)]
pub(crate) fn exp_kernel_in_two<O: Ops>(r: F64<O>, low: F64<O>) -> (F64<O>, F64<O>) {
    let t = (exp_rest(r) * r).mul_add(r, low) + r;
    let high = t + 1.0;
    (high, (t.k(1.0) - high) + t)
}

/// n and r so that x = n ln 2 + r, for |x| up to 2000.
#[inline(always)]
pub(crate) fn split_at_ln2<O: Ops>(x: F64<O>) -> (F64<O>, I64<O>) {
    let (turns, n) = nearest(x.mul_add(std::f64::consts::LOG2_E, SHIFT));
    let r = turns.mul_add(-LN_2_HIGH, x);
    (turns.mul_add(-LN_2_LOW, r), n)
}

/// [`split_at_ln2`] with what the rest lacks.
#[inline(always)]
pub(crate) fn split_at_ln2_in_two<O: Ops>(x: F64<O>) -> (F64<O>, F64<O>, I64<O>) {
    let (turns, n) = nearest(x.mul_add(std::f64::consts::LOG2_E, SHIFT));
    let first = turns.mul_add(-LN_2_HIGH, x);
    let r = turns.mul_add(-LN_2_LOW, first);
    (r, turns.mul_add(-LN_2_LOW, first - r), n)
}

#[inline(always)]
pub fn exp<O: Ops>(x: F64<O>) -> F64<O> {
    let (r, n) = split_at_ln2(x.min(746.0).max(-746.0));
    x.is_nan().select(x, scale(exp_kernel(r), n)).canonical()
}

#[inline(always)]
pub fn exp2<O: Ops>(x: F64<O>) -> F64<O> {
    let bounded = x.min(1077.0).max(-1077.0);
    let (turns, n) = nearest(bounded + SHIFT);
    let p = (bounded - turns).poly([
        4.451517988095656e-10,
        7.073894181148886e-09,
        1.0178076598316852e-07,
        1.321543456316358e-06,
        1.5252733828893387e-05,
        0.00015403530458754546,
        0.0013333558146358634,
        0.009618129107592587,
        0.05550410866482233,
        0.24022650695910136,
        0.6931471805599453,
        1.0,
    ]);
    x.is_nan().select(x, scale(p, n)).canonical()
}

#[inline(always)]
pub fn exp10<O: Ops>(x: F64<O>) -> F64<O> {
    let bounded = x.min(325.0).max(-325.0);
    let (turns, n) = nearest(bounded.mul_add(std::f64::consts::LOG2_10, SHIFT));
    // log10(2) in 42 bits, and the rest.
    let r = turns.mul_add(-0.30102999566395283, bounded);
    let r = turns.mul_add(-2.8363394551044964e-14, r);
    let p = r.poly([
        0.000239959674663883,
        0.0011575681543066776,
        0.005014059555668991,
        0.01959761944485049,
        0.06808936183349332,
        0.20699584952773292,
        0.5393829292304085,
        1.1712551489083052,
        2.0346785922933193,
        2.650949055239205,
        2.302585092994046,
        1.0,
    ]);
    x.is_nan().select(x, scale(p, n)).canonical()
}

/// e^x - 1. The sum is kept in two parts where the power of two cancels.
#[inline(always)]
pub fn expm1<O: Ops>(x: F64<O>) -> F64<O> {
    let (r, r_low, n) = split_at_ln2_in_two(x.min(710.0).max(-60.0));
    let q = r.poly([
        2.0883217964868728e-09,
        2.510915253411961e-08,
        2.755737358453971e-07,
        2.7557243850992193e-06,
        2.4801587213094012e-05,
        0.00019841269886519222,
        0.0013888888888935911,
        0.008333333333321454,
        0.04166666666666659,
        0.16666666666666677,
        0.5,
    ]);
    let t = (q * r).mul_add(r, r_low);
    let high = r + t;
    let low = (r - high) + t;
    // Half of the power, so that 2^1024 is within range.
    let half = power_of_two(n - 1i64);
    let one = half - 0.5;
    let part = half * high;
    let sum = one + part;
    // From 2^53 on, half of the one is lost.
    let lost = (half - one) - 0.5;
    let result = sum + ((one - sum) + part + half.mul_add(low, lost));
    let tiny = x.abs().lt(1e-17);
    (tiny | x.is_nan()).select(x, result + result).canonical()
}
