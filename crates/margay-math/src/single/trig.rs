// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sine, cosine and tangent: a multiple of π/2 is taken off in three steps, and polynomials do the
//! rest. Beyond [`LIMIT`] three steps are not enough: those lanes are slow ones.

use crate::ops::Ops;
use crate::reduce;
use crate::scalar::Scalar;
use crate::single::exponential::nearest;
use crate::table::Checked;
use crate::value::{F32, I32, Mask};

/// The multiples of π/2 up to here have at most 17 bits, so that the first step is exact.
const LIMIT: f32 = 100_000.0;

/// Adding this leaves the nearest integer in the low bits.
const SHIFT: f32 = 12_582_912.0;

/// The quadrant (in the low two bits) and what is left of `x`.
#[inline(always)]
fn quadrant<O: Ops>(x: F32<O>) -> (I32<O>, F32<O>) {
    let (n, quadrant) = nearest(x.mul_add(std::f32::consts::FRAC_2_PI, SHIFT));
    let r = n.mul_add(-std::f32::consts::FRAC_PI_2, x);
    let r = n.mul_add(4.371_139e-8, r);
    (quadrant, n.mul_add(1.715_124_5e-15, r))
}

/// Finite lanes that [`quadrant`] is not good enough for.
#[inline(always)]
fn slow<O: Ops>(x: F32<O>) -> Mask<O> {
    x.abs().gt(LIMIT) & x.abs().lt(f32::INFINITY)
}

/// The sine for |r| up to π/4.
#[inline(always)]
fn sin_kernel<O: Ops>(r: F32<O>) -> F32<O> {
    let s = r * r;
    (s.poly([2.800547e-06, -0.00019849911, 0.008333372, -0.16666667]) * s).mul_add(r, r)
}

/// The cosine for |r| up to π/4.
#[inline(always)]
fn cos_kernel<O: Ops>(r: F32<O>) -> F32<O> {
    let s = r * r;
    s.poly([2.4432567e-05, -0.0013887311, 0.041666646, -0.5, 1.0])
}

/// Sine and cosine from the quadrant and the rest of an angle.
#[inline(always)]
fn sincos_kernel<O: Ops>(quadrant: I32<O>, r: F32<O>) -> (F32<O>, F32<O>) {
    let (s, c) = (sin_kernel(r), cos_kernel(r));
    let swap = (quadrant & 1).equals(1);
    let (sin, cos) = (swap.select(c, s), swap.select(s, c));
    let sin = (sin.bits() ^ ((quadrant & 2) << 30)).as_float();
    let cos = (cos.bits() ^ (((quadrant + 1) & 2) << 30)).as_float();
    (sin, cos)
}

#[inline(always)]
pub fn sinf<O: Ops>(x: F32<O>) -> Checked<F32<O>, O> {
    let (quadrant, r) = quadrant(x);
    // The steps above turn -0 into +0.
    let sin = x.equals(0.0).select(x, sincos_kernel(quadrant, r).0);
    Checked { value: sin.canonical(), slow: slow(x) }
}

#[inline(always)]
pub fn cosf<O: Ops>(x: F32<O>) -> Checked<F32<O>, O> {
    let (quadrant, r) = quadrant(x);
    Checked { value: sincos_kernel(quadrant, r).1.canonical(), slow: slow(x) }
}

#[inline(always)]
pub fn sincosf<O: Ops>(x: F32<O>) -> Checked<(F32<O>, F32<O>), O> {
    let (quadrant, r) = quadrant(x);
    let (sin, cos) = sincos_kernel(quadrant, r);
    let sin = x.equals(0.0).select(x, sin);
    Checked { value: (sin.canonical(), cos.canonical()), slow: slow(x) }
}

#[inline(always)]
pub fn tanf<O: Ops>(x: F32<O>) -> Checked<F32<O>, O> {
    let (quadrant, r) = quadrant(x);
    let (sin, cos) = sincos_kernel(quadrant, r);
    let tan = x.equals(0.0).select(x, sin / cos);
    Checked { value: tan.canonical(), slow: slow(x) }
}

/// Sine and cosine of a slow lane.
#[inline(always)]
fn slow_sincos(x: f32) -> (f32, f32) {
    let (n, r, _) = reduce::quadrant(x.into());
    let (sin, cos) = sincos_kernel(I32 { o: Scalar, v: n }, F32 { o: Scalar, v: r as f32 });
    (sin.v, cos.v)
}

#[inline(always)]
pub fn slow_sinf(x: f32) -> f32 {
    slow_sincos(x).0
}

#[inline(always)]
pub fn slow_cosf(x: f32) -> f32 {
    slow_sincos(x).1
}

#[inline(always)]
pub fn slow_sincosf(x: f32) -> (f32, f32) {
    slow_sincos(x)
}

#[inline(always)]
pub fn slow_tanf(x: f32) -> f32 {
    let (sin, cos) = slow_sincos(x);
    sin / cos
}

/// π as a sum of two floats.
const PI_LOW: f32 = -8.742_278e-8;

/// Sine and cosine of πx. The quadrant and the rest are exact.
#[inline(always)]
fn sincospi_kernel<O: Ops>(x: F32<O>) -> (F32<O>, F32<O>) {
    // Beyond 2^24 all floats are even.
    let bounded = x.abs().lt(16_777_216.0).select(x, 0.0);
    let twice = bounded + bounded;
    let n = twice.rint();
    let f = n.mul_add(-0.5, bounded);
    // The quadrant as an integer: its two low bits, from the distance to a multiple of four.
    let quarter = (n * 0.25).floor();
    let quadrant = (quarter.mul_add(-4.0, n) + SHIFT).bits();
    let s = f * f;
    let p = s.poly([0.07977345, -0.59904194, 2.550156, -5.1677127]);
    let sin = f.mul_add(std::f32::consts::PI, f.mul_add(PI_LOW, p * s * f));
    // Near subnormal numbers the low part would be lost.
    let up = f * 1_099_511_627_776.0;
    let tiny = up.mul_add(std::f32::consts::PI, up * PI_LOW) * (1.0 / 1_099_511_627_776.0);
    let sin = f.abs().lt(1e-30).select(tiny, sin);
    let cos = s.poly([0.22974522, -1.3348359, 4.0586987, -4.934802, 1.0]);
    let swap = (quadrant & 1).equals(1);
    let (a, b) = (swap.select(cos, sin), swap.select(sin, cos));
    let a = (a.bits() ^ ((quadrant & 2) << 30)).as_float();
    let b = (b.bits() ^ (((quadrant + 1) & 2) << 30)).as_float();
    let infinite = x.abs().equals(f32::INFINITY) | x.is_nan();
    let nan = x.k(f32::NAN);
    (infinite.select(nan, a), infinite.select(nan, b))
}

/// Integral arguments give a zero of the argument's sign.
#[inline(always)]
fn signed_zero<O: Ops>(x: F32<O>, sin: F32<O>) -> F32<O> {
    sin.equals(0.0).select(sin.k(0.0).copysign(x), sin).canonical()
}

#[inline(always)]
pub fn sinpif<O: Ops>(x: F32<O>) -> F32<O> {
    signed_zero(x, sincospi_kernel(x).0)
}

/// Zeros are positive.
#[inline(always)]
pub fn cospif<O: Ops>(x: F32<O>) -> F32<O> {
    (sincospi_kernel(x).1 + 0.0).canonical()
}

#[inline(always)]
pub fn sincospif<O: Ops>(x: F32<O>) -> (F32<O>, F32<O>) {
    let (sin, cos) = sincospi_kernel(x);
    (signed_zero(x, sin), (cos + 0.0).canonical())
}
