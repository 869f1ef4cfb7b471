// SPDX-License-Identifier: MIT OR Apache-2.0
//! The gamma function and its logarithm, in double precision with short polynomials.

use crate::double::gamma::log_gamma;
use crate::double::logarithm::log;
use crate::ops::Ops;
use crate::single::power::{exp2_wide, log2_wide};
use crate::value::{F32, F64};

/// sin(πf) for |f| up to ½: relative error below 2^-35.
#[inline(always)]
fn sin_of_half_turn<O: Ops>(f: F64<O>) -> F64<O> {
    let p = (f * f).poly([
        -0.007022163449571248,
        0.08204647878195852,
        -0.5992513300956269,
        2.5501632403165964,
        -5.167712762115755,
        3.1415926535233454,
    ]);
    p * f
}

/// As in double precision, for w = x + 5: Γ(x) is w^(x - ½) e^-w P(x) / (x Q(x)).
#[inline(always)]
pub fn tgammaf<O: Ops>(x: F32<O>) -> F32<O> {
    let x = x.wide();
    let negative = x.lt(0.0);
    // Beyond these all results overflow or vanish.
    let a = x.abs().min(60.0);
    let p = a.poly([
        2.506628274645093,
        62.874592550168856,
        630.8434862459527,
        3164.7420263531717,
        7938.241198365857,
        7964.685900315137,
    ]);
    let q = a.poly([1.0, 10.0, 35.0, 50.0, 24.0]);
    let w = a + 5.0;
    let t = (a - 0.5).mul_add(log2_wide(w), w * -std::f64::consts::LOG2_E);
    let power = exp2_wide(negative.select(-t, t));
    let n = x.abs().rint();
    let f = x.abs() - n;
    let half = n * 0.5;
    let sine = sin_of_half_turn(f);
    let sine = half.rint().equals(half).select(sine, -sine);
    let above = negative.select(power * q * -std::f64::consts::PI, power * p);
    let below = negative.select(p * sine, x * q);
    let gamma = above / below;
    let gamma = x.equals(f64::INFINITY).select(x, gamma);
    let pole = negative & f.equals(0.0);
    let invalid = pole | x.equals(f64::NEG_INFINITY);
    let gamma = invalid.select(x.k(f64::NAN), gamma);
    x.is_nan().select(x, gamma).narrow().canonical()
}

/// ln |Γ(x)|: as in double precision, since terms cancel about the zeros below -2, but logarithms
/// have one part.
#[inline(always)]
pub fn lgammaf<O: Ops>(x: F32<O>) -> F32<O> {
    log_gamma(x.wide(), |v| (log(v), v.k(0.0))).narrow().canonical()
}
