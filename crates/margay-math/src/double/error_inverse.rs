// SPDX-License-Identifier: MIT OR Apache-2.0
//! Inverses of the error functions and of the normal distribution.

use std::f64::consts::SQRT_2;

use crate::double::error::erfcx_kernel;
use crate::double::exponential::{exp_kernel, scale, split_at_ln2};
use crate::double::logarithm::log;
use crate::ops::Ops;
use crate::value::F64;

/// ½√π, as a sum of two doubles.
const HALF_SQRT_PI: f64 = 0.886226925452758;
const HALF_SQRT_PI_LOW: f64 = -3.8332932499128993e-17;

/// erfinv(x) for |x| up to ½: ½√π x and a polynomial in x² times x³.
#[inline(always)]
fn near_0<O: Ops>(x: F64<O>) -> F64<O> {
    let s = x * x;
    let p = s.poly([
        0.10550662128286221,
        -0.07149491865336939,
        0.0681737260217977,
        0.0070964318540861155,
        0.02840398253213265,
        0.027471565564078152,
        0.03174242865628419,
        0.03646205072856073,
        0.04283691074721263,
        0.05173127597421693,
        0.06495961785882823,
        0.08655212924043351,
        0.12755617530560226,
        0.2320136665346545,
    ]);
    // The sum of two products turns -0 into +0.
    let r = x.mul_add(HALF_SQRT_PI, x * s.mul_add(p, HALF_SQRT_PI_LOW));
    x.equals(0.0).select(x, r)
}

/// erfcinv(p) to some 30 bits, where p (2 - p) is e^-s² and p is at most ½.
#[inline(always)]
fn first_guess<O: Ops>(s: F64<O>) -> F64<O> {
    let near = (s - 1.25).poly([
        5.693456358940384e-06,
        3.85727172243292e-06,
        -4.298050935753502e-05,
        -5.2571031574264276e-05,
        0.0001706913995230245,
        0.00044559275190925727,
        -0.00040608363911248614,
        -0.0037470807246450057,
        0.002404431680449851,
        0.030416842501153063,
        -0.0697389084172473,
        -0.12295367211904214,
    ]);
    let inverse = s.k(1.0) / s;
    let middle = (inverse - 0.3).poly([
        1738.1898479445238,
        -623.4532495429761,
        -130.52717534872372,
        52.509865577094104,
        11.63214281359804,
        -3.1702878334531336,
        -0.23079615287624286,
        -0.788383631550275,
        0.39220260485390923,
        0.1509469661315146,
        -0.18643673618907358,
        -0.049699372051663235,
    ]);
    let far = (inverse - 0.1).poly([
        2005486.5147256844,
        -302903.3156801855,
        15995.677822474636,
        -2099.1384834946293,
        482.10781813173884,
        -85.22688269644927,
        16.29784846855561,
        -4.201269358923372,
        1.638009044976133,
        -0.34980924106937766,
        -0.16908702167393413,
        -0.010939086703788294,
    ]);
    let share = s.lt(6.05).select(middle, far);
    s + s.lt(2.25).select(near, s * share)
}

/// erfcinv(p) for p up to ½, subnormal ones too: a guess, and one step of Halley's iteration on
/// erfcx(x) - p e^x², of which nothing is too small for a double.
#[inline(always)]
fn tail<O: Ops>(p: F64<O>) -> F64<O> {
    /// Exponent of the power that small arguments are multiplied by, and a bound of them.
    const UP: i64 = 600;
    const SMALL: f64 = f64::from_bits((1023 - 700) << 52);
    let small = p.lt(SMALL);
    let q = small.select(p * f64::from_bits(((1023 + UP) as u64) << 52), p);
    let w = -log(q * (p.k(2.0) - p));
    let w = small.select(w + UP as f64 * std::f64::consts::LN_2, w);
    let x = first_guess(w.sqrt());
    let square = x * x;
    let (r, n) = split_at_ln2(square);
    let n = small.select(n - UP, n);
    let there = scale(exp_kernel(r + x.mul_add(x, -square)) * q, n);
    let step = (erfcx_kernel(x) - there) * HALF_SQRT_PI;
    x + (x * step).mul_add(step, step)
}

#[inline(always)]
pub fn erfinv<O: Ops>(x: F64<O>) -> F64<O> {
    let a = x.abs();
    let far = tail(a.k(1.0) - a).copysign(x);
    let r = a.le(0.5).select(near_0(x), far);
    let r = a.equals(1.0).select(x.k(f64::INFINITY).copysign(x), r);
    a.le(1.0).select(r, x.k(f64::NAN)).canonical()
}

/// The upper half is the lower one mirrored, exactly.
#[inline(always)]
pub fn erfcinv<O: Ops>(p: F64<O>) -> F64<O> {
    let (from_1, rest) = (p.k(1.0) - p, p.k(2.0) - p);
    let far = tail(p.min(rest)).copysign(from_1);
    let r = from_1.abs().le(0.5).select(near_0(from_1), far);
    let r = p.equals(0.0).select(p.k(f64::INFINITY), r);
    let r = rest.equals(0.0).select(p.k(f64::NEG_INFINITY), r);
    (p.ge(0.0) & rest.ge(0.0)).select(r, p.k(f64::NAN)).canonical()
}

/// -√2 erfcinv(2p); doubling is exact.
#[inline(always)]
pub fn normcdfinv<O: Ops>(p: F64<O>) -> F64<O> {
    (p.k(0.0) - erfcinv(p + p) * SQRT_2).canonical()
}
