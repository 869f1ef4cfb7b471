// SPDX-License-Identifier: MIT OR Apache-2.0
//! Error functions, the normal distribution and their inverses.

use std::f32::consts::{FRAC_1_SQRT_2, SQRT_2};

use crate::ops::Ops;
use crate::single::exponential::{exp_kernel, scale, split_at_ln2};
use crate::single::logarithm::logf_in_two;
use crate::value::F32;

/// erf(x) for |x| up to 0.95.
#[inline(always)]
fn erf_near_0<O: Ops>(x: F32<O>) -> F32<O> {
    let s = x * x;
    let p = s.poly([-0.0005812413, 0.0049550277, -0.026737427, 0.1128086, -0.3761237, 0.128_379_1]);
    p.mul_add(x, x)
}

#[inline(always)]
pub fn erff<O: Ops>(x: F32<O>) -> F32<O> {
    let a = x.abs();
    let small = erf_near_0(a);
    // 1 - e^-q(a), where q is -ln(erfc(a)).
    let t = a.min(4.0);
    let q = t.poly([
        -1.6027146e-06,
        4.535926e-05,
        -0.0005907569,
        0.0047304886,
        -0.026336163,
        0.10992635,
        0.631994,
        1.1301323,
        -0.00029449016,
    ]);
    let (r, n) = split_at_ln2(-q);
    let large = (exp_kernel(r) * ((n + 127) << 23).as_float()).mul_add(-1.0, 1.0);
    let r = a.lt(0.92).select(small, large).copysign(x);
    x.is_nan().select(x, r).canonical()
}

/// erfcx(a) for a of 0 and above: (½ + a) erfcx(a) is a polynomial in (a - 2) / (a + 2).
#[inline(always)]
fn erfcx_kernel<O: Ops>(a: F32<O>) -> F32<O> {
    let bounded = a.min(1e30);
    let t = (bounded - 2.0) / (bounded + 2.0);
    let p = t.poly([
        -1.1360024e-05,
        3.1548076e-05,
        0.000114856695,
        -0.00017857467,
        -0.0007372042,
        0.0006083084,
        0.0043654465,
        -0.004009302,
        -0.027111057,
        0.08202469,
        -0.08301508,
        -0.04638188,
        0.6384892,
    ]);
    p / (a + 0.5)
}

/// `factor` e^-(h + l) for h up to 110 and small l: one rounding where the result is subnormal.
#[inline(always)]
fn times_exp<O: Ops>(factor: F32<O>, h: F32<O>, l: F32<O>) -> F32<O> {
    let (r, n) = split_at_ln2(-h);
    scale(exp_kernel(r - l) * factor, n)
}

#[inline(always)]
pub fn erfcf<O: Ops>(x: F32<O>) -> F32<O> {
    let a = x.abs().min(10.5);
    let square = a * a;
    let tail = times_exp(erfcx_kernel(a), square, a.mul_add(a, -square));
    // Near 0 the difference is more accurate than the product.
    let near = x.k(1.0) - erf_near_0(x);
    let r = x.lt(0.0).select(tail.k(2.0) - tail, tail);
    let r = a.lt(0.5).select(near, r);
    x.is_nan().select(x, r).canonical()
}

#[inline(always)]
pub fn erfcxf<O: Ops>(x: F32<O>) -> F32<O> {
    let positive = erfcx_kernel(x.abs());
    let a = x.abs().min(10.5);
    let square = a * a;
    let twice = times_exp(a.k(2.0), -square, -a.mul_add(a, -square));
    let r = x.lt(0.0).select(twice - positive, positive);
    let near = x.poly([
        -0.0075412034,
        0.0326554,
        -0.08181833,
        0.1655063,
        -0.3007068,
        0.4999815,
        -0.75225186,
        1.0,
        -1.1283792,
        1.0,
    ]);
    let r = (x.ge(0.0) & x.lt(0.5)).select(near, r);
    x.is_nan().select(x, r).canonical()
}

/// ½ erfc(-x/√2): the square of x, and so the exponential, is of x itself.
#[inline(always)]
pub fn normcdff<O: Ops>(x: F32<O>) -> F32<O> {
    let a = x.abs().min(14.5);
    let square = a * a;
    let low = a.mul_add(a, -square) * 0.5;
    let tail = times_exp(erfcx_kernel(a * FRAC_1_SQRT_2) * 0.5, square * 0.5, low);
    let r = x.gt(0.0).select(tail.k(1.0) - tail, tail);
    x.is_nan().select(x, r).canonical()
}

/// erfinv(x) / x as a sum of two floats, where 1 - x² is e^-w: up to w = 3.5 a polynomial in w, from
/// there on two in √w.
#[inline(always)]
fn inverse_kernel<O: Ops>(w: F32<O>) -> (F32<O>, F32<O>) {
    // ½√π, and what the float lacks.
    let start = w.k(0.88622695);
    let near = w.poly([
        6.719517e-11,
        -1.0611804e-08,
        2.42153e-07,
        -2.1132635e-06,
        4.5238776e-06,
        4.3227734e-05,
        -0.00012543982,
        -0.0023361165,
        0.011549495,
        0.23201366,
        -2.66232e-08,
    ]);
    // The square root itself is most of it.
    let s = w.sqrt();
    let middle = (s - 2.8).poly([
        -3.9040027e-05,
        9.3847506e-05,
        0.00013275216,
        -0.0006977265,
        0.0006804928,
        0.0012279013,
        -0.005313186,
        0.010135378,
        -0.013851767,
        0.015716964,
        -0.003233616,
        -0.16690895,
    ]);
    let far = (s - 6.0).poly([
        -1.9951452e-09,
        3.313771e-08,
        -2.4412768e-07,
        1.2041099e-06,
        -5.3164604e-06,
        2.1255542e-05,
        -4.2844025e-05,
        -0.00047252406,
        0.009605041,
        -0.1400869,
    ]);
    // Its rounding would be two units of a result below 2.
    let lacks = (-s).mul_add(s, w) * (s.k(0.5) / s);
    let small = w.lt(3.5);
    (small.select(start, s), small.select(near, w.lt(16.0).select(middle, far) + lacks))
}

#[inline(always)]
pub fn erfinvf<O: Ops>(x: F32<O>) -> F32<O> {
    let w = -logf_in_two((-x).mul_add(x, 1.0));
    let (high, low) = inverse_kernel(w);
    let r = high.mul_add(x, low * x);
    // The sum of two products turns -0 into +0.
    let r = x.equals(0.0).select(x, r);
    let one = x.abs().equals(1.0);
    let r = one.select(x.k(f32::INFINITY).copysign(x), r);
    x.abs().gt(1.0).select(x.k(f32::NAN), r).canonical()
}

#[inline(always)]
pub fn erfcinvf<O: Ops>(y: F32<O>) -> F32<O> {
    let rest = y.k(2.0) - y;
    let (high, low) = inverse_kernel(-logf_in_two(y * rest));
    let x = y.k(1.0) - y;
    let r = high.mul_add(x, low * x);
    let r = y.equals(0.0).select(y.k(f32::INFINITY), r);
    let r = rest.equals(0.0).select(y.k(f32::NEG_INFINITY), r);
    (y.lt(0.0) | rest.lt(0.0)).select(y.k(f32::NAN), r).canonical()
}

/// -√2 erfcinv(2p).
#[inline(always)]
pub fn normcdfinvf<O: Ops>(p: F32<O>) -> F32<O> {
    let rest = p.k(1.0) - p;
    let x = p.mul_add(-2.0, 1.0) * -SQRT_2;
    let w = -logf_in_two(p * 4.0 * rest);
    let (high, low) = inverse_kernel(w);
    let r = high.mul_add(x, low * x) + 0.0;
    let r = p.equals(0.0).select(p.k(f32::NEG_INFINITY), r);
    let r = rest.equals(0.0).select(p.k(f32::INFINITY), r);
    (p.lt(0.0) | rest.lt(0.0)).select(p.k(f32::NAN), r).canonical()
}
