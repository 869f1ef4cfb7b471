// SPDX-License-Identifier: MIT OR Apache-2.0
//! Powers: the logarithm as a sum of two doubles, good to some 66 bits, times the exponent.

use crate::double::exponential::{LN_2_HIGH, LN_2_LOW, SHIFT, exp_kernel, nearest, scale};
use crate::double::logarithm::split;
use crate::ops::Ops;
use crate::value::{F64, I32};

/// ln of a positive finite number as a sum of two doubles.
#[inline(always)]
pub(crate) fn log_in_two<O: Ops>(x: F64<O>) -> (F64<O>, F64<O>) {
    let (e, f) = split(x);
    // s = f / (2 + f), in two parts.
    let d = f + 2.0;
    let d_low = f - (d - 2.0);
    let inverse = d.k(1.0) / d;
    let s = f * inverse;
    let s_low = ((-s).mul_add(d, f) - s * d_low) * inverse;
    let z = s * s;
    let z_low = s.mul_add(s, -z) + (s + s) * s_low;
    // ln((1 + s) / (1 - s)) = 2s + s z (2/3 + z Q(z)).
    let q = z.poly([
        0.11584965212634185,
        0.117214853766193,
        0.13334131799920174,
        0.15384610081657768,
        0.1818181815350125,
        0.22222222222778878,
        0.2857142857142631,
        0.4,
    ]) * z;
    const TWO_THIRDS_LOW: f64 = 3.700743415417188e-17;
    let u = q + 2.0 / 3.0;
    let u_low = (u.k(2.0 / 3.0) - u) + q + TWO_THIRDS_LOW;
    let v = z * u;
    let v_low = z.mul_add(u, -v) + z.mul_add(u_low, z_low * u);
    let w = s * v;
    let w_low = s.mul_add(v, -w) + s.mul_add(v_low, s_low * v);
    // The largest parts first; each sum keeps what it loses.
    let whole = e * LN_2_HIGH;
    let twice = s + s;
    let a = whole + twice;
    let a_low = (whole - a) + twice;
    let b = a + w;
    let b_low = (a - b) + w;
    let low = e.mul_add(LN_2_LOW_LOW, w_low) + (s_low + s_low) + b_low + a_low;
    // ln 2's second part is still large: its product is exact to double precision only.
    let second = e * LN_2_LOW;
    let second_low = e.mul_add(LN_2_LOW, -second);
    let c = b + second;
    let c_low = (b - c) + second;
    let low = low + second_low + c_low;
    let high = c + low;
    (high, (c - high) + low)
}

/// What [`LN_2_HIGH`] and [`LN_2_LOW`] lack.
const LN_2_LOW_LOW: f64 = 1.94704509238075e-31;

/// x^y with the results of C99 F.9.4.4 for special values.
#[inline(always)]
pub fn pow<O: Ops>(x: F64<O>, y: F64<O>) -> F64<O> {
    let magnitude = x.abs();
    let (log, log_low) = log_in_two(magnitude);
    let log = magnitude.equals(0.0).select(log.k(f64::NEG_INFINITY), log);
    let log = magnitude.lt(f64::INFINITY).select(log, magnitude);
    let t = y * log;
    let t_low = y.mul_add(log, -t) + y * log_low;
    let bounded = t.min(760.0).max(-760.0);
    let t_low = bounded.equals(t).select(t_low, 0.0);
    let (turns, n) = nearest(bounded.mul_add(std::f64::consts::LOG2_E, SHIFT));
    let r = turns.mul_add(-LN_2_HIGH, bounded) + turns.mul_add(-LN_2_LOW, t_low);
    let power = t.is_nan().select(t, scale(exp_kernel(r), n));
    let integer = y.rint().equals(y);
    let half = y * 0.5;
    let odd = integer & !half.rint().equals(half);
    let negative = x.bits().lt(0i64);
    let power = (odd & negative).select(-power, power);
    let invalid = x.lt(0.0) & x.gt(f64::NEG_INFINITY) & !integer;
    let power = invalid.select(power.k(f64::NAN), power);
    let one = x.equals(1.0) | y.equals(0.0) | (x.equals(-1.0) & y.abs().equals(f64::INFINITY));
    one.select(power.k(1.0), power).canonical()
}

#[inline(always)]
pub fn powi<O: Ops>(x: F64<O>, n: I32<O>) -> F64<O> {
    pow(x, n.to_f64())
}
