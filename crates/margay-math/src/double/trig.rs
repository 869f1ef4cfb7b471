// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sine, cosine and tangent: a multiple of π/2 is taken off in three steps, and polynomials do the
//! rest. Lanes beyond [`LIMIT`] are slow ones.

use crate::double::exponential::{SHIFT, nearest};
use crate::ops::Ops;
use crate::reduce;
use crate::scalar::Scalar;
use crate::table::Checked;
use crate::value::{F64, I64, Mask};

/// Up to here three doubles of π/2 leave a rest that is good to more than its 53 bits.
const LIMIT: f64 = 1e9;

/// What the double nearest to π/2 lacks, in two parts.
const HALF_PI_LOW: f64 = 6.123233995736766e-17;
const HALF_PI_LOW_LOW: f64 = -1.4973849048591698e-33;

/// The quadrant (in the low two bits) and what is left of `x`, in two parts.
#[inline(always)]
fn quadrant<O: Ops>(x: F64<O>) -> (I64<O>, F64<O>, F64<O>) {
    let (n, quadrant) = nearest(x.mul_add(std::f64::consts::FRAC_2_PI, SHIFT));
    // Exact: the last bit of the result is that of a multiple of 2^-53, and it is below 1.
    let first = n.mul_add(-std::f64::consts::FRAC_PI_2, x);
    let r = n.mul_add(-HALF_PI_LOW, first);
    let low = n.mul_add(-HALF_PI_LOW, first - r) + n * -HALF_PI_LOW_LOW;
    let sum = r + low;
    (quadrant, sum, (r - sum) + low)
}

/// Finite lanes that [`quadrant`] is not good enough for.
#[inline(always)]
pub(crate) fn slow<O: Ops>(x: F64<O>) -> Mask<O> {
    x.abs().gt(LIMIT) & x.abs().lt(f64::INFINITY)
}

/// The sine of r + low for |r| up to π/4.
#[inline(always)]
fn sin_kernel<O: Ops>(r: F64<O>, low: F64<O>) -> F64<O> {
    let s = r * r;
    let p = s.poly([
        1.5895974919310316e-10,
        -2.5050742812775746e-08,
        2.7557313585023966e-06,
        -0.0001984126982946496,
        0.008333333333321924,
        -0.1666666666666663,
    ]);
    r + (p * s).mul_add(r, (s * -0.5).mul_add(low, low))
}

/// The cosine of r + low for |r| up to π/4.
#[inline(always)]
fn cos_kernel<O: Ops>(r: F64<O>, low: F64<O>) -> F64<O> {
    let s = r * r;
    let p = s.poly([
        -1.1358764799839053e-11,
        2.087570568855178e-09,
        -2.755731421905481e-07,
        2.480158728900809e-05,
        -0.0013888888888873348,
        0.041666666666666595,
    ]);
    let half = s * 0.5;
    let high = half.k(1.0) - half;
    let rest = (half.k(1.0) - high) - half;
    high + (rest + (p * s).mul_add(s, -(r * low)))
}

/// Sine and cosine from the quadrant and the rest of an angle.
#[inline(always)]
fn sincos_kernel<O: Ops>(quadrant: I64<O>, r: F64<O>, low: F64<O>) -> (F64<O>, F64<O>) {
    rotate(quadrant, sin_kernel(r, low), cos_kernel(r, low))
}

/// Sine and cosine of an angle from those of its part in the first quadrant.
#[inline(always)]
pub(crate) fn rotate<O: Ops>(quadrant: I64<O>, s: F64<O>, c: F64<O>) -> (F64<O>, F64<O>) {
    let swap = (quadrant & 1i64).equals(1i64);
    let (sin, cos) = (swap.select(c, s), swap.select(s, c));
    let sin = (sin.bits() ^ ((quadrant & 2i64) << 62i64)).as_float();
    let cos = (cos.bits() ^ (((quadrant + 1i64) & 2i64) << 62i64)).as_float();
    (sin, cos)
}

/// Sine and cosine of lanes that are not [`slow`].
#[inline(always)]
pub(crate) fn sincos_of<O: Ops>(x: F64<O>) -> (F64<O>, F64<O>) {
    let (quadrant, r, low) = quadrant(x);
    sincos_kernel(quadrant, r, low)
}

#[inline(always)]
pub fn sin<O: Ops>(x: F64<O>) -> Checked<F64<O>, O> {
    let (quadrant, r, low) = quadrant(x);
    let sin = x.equals(0.0).select(x, sincos_kernel(quadrant, r, low).0);
    Checked { value: sin.canonical(), slow: slow(x) }
}

#[inline(always)]
pub fn cos<O: Ops>(x: F64<O>) -> Checked<F64<O>, O> {
    let (quadrant, r, low) = quadrant(x);
    Checked { value: sincos_kernel(quadrant, r, low).1.canonical(), slow: slow(x) }
}

#[inline(always)]
pub fn sincos<O: Ops>(x: F64<O>) -> Checked<(F64<O>, F64<O>), O> {
    let (quadrant, r, low) = quadrant(x);
    let (sin, cos) = sincos_kernel(quadrant, r, low);
    let sin = x.equals(0.0).select(x, sin);
    Checked { value: (sin.canonical(), cos.canonical()), slow: slow(x) }
}

#[inline(always)]
pub fn tan<O: Ops>(x: F64<O>) -> Checked<F64<O>, O> {
    let (quadrant, r, low) = quadrant(x);
    let (sin, cos) = sincos_kernel(quadrant, r, low);
    let tan = x.equals(0.0).select(x, sin / cos);
    Checked { value: tan.canonical(), slow: slow(x) }
}

/// Sine and cosine of a slow lane.
#[inline(always)]
pub fn slow_sincos(x: f64) -> (f64, f64) {
    let (n, r, low) = reduce::quadrant(x);
    let value = |v| F64 { o: Scalar, v };
    let (sin, cos) = sincos_kernel(I64 { o: Scalar, v: n.into() }, value(r), value(low));
    (sin.v, cos.v)
}

#[inline(always)]
pub fn slow_sin(x: f64) -> f64 {
    slow_sincos(x).0
}

#[inline(always)]
pub fn slow_cos(x: f64) -> f64 {
    slow_sincos(x).1
}

#[inline(always)]
pub fn slow_tan(x: f64) -> f64 {
    let (sin, cos) = slow_sincos(x);
    sin / cos
}

/// What the double nearest to π lacks.
const PI_LOW: f64 = 1.2246467991473532e-16;

/// Sine and cosine of πx. The quadrant and the rest are exact.
#[inline(always)]
fn sincospi_kernel<O: Ops>(x: F64<O>) -> (F64<O>, F64<O>) {
    // Beyond 2^53 all doubles are even.
    let bounded = x.abs().lt(9_007_199_254_740_992.0).select(x, 0.0);
    let n = (bounded + bounded).rint();
    let f = n.mul_add(-0.5, bounded);
    let quarter = (n * 0.25).floor();
    let quadrant = (quarter.mul_add(-4.0, n) + SHIFT).bits();
    let s = f * f;
    let p = s.poly([
        -2.1944185753682264e-05,
        0.0004663346244870412,
        -0.007370434591056567,
        0.08214588679407021,
        -0.5992645293253609,
        2.5501640398773993,
        -5.16771278004997,
    ]);
    let sin = f.mul_add(std::f64::consts::PI, f.mul_add(PI_LOW, p * s * f));
    // Near subnormal numbers the low part would be lost.
    let up = f * 18_014_398_509_481_984.0;
    let tiny = up.mul_add(std::f64::consts::PI, up * PI_LOW) * (1.0 / 18_014_398_509_481_984.0);
    let sin = f.abs().lt(1e-290).select(tiny, sin);
    let cos = s.poly([
        -0.00010333140030773748,
        0.0019294114787397508,
        -0.025806880706983455,
        0.23533062996476511,
        -1.3352627688465395,
        4.058712126416686,
        -4.934802200544679,
        1.0,
    ]);
    let (a, b) = rotate(quadrant, sin, cos);
    let infinite = !x.abs().lt(f64::INFINITY);
    let nan = x.k(f64::NAN);
    (infinite.select(nan, a), infinite.select(nan, b))
}

/// Integral arguments give a zero of the argument's sign.
#[inline(always)]
fn signed_zero<O: Ops>(x: F64<O>, sin: F64<O>) -> F64<O> {
    sin.equals(0.0).select(sin.k(0.0).copysign(x), sin).canonical()
}

#[inline(always)]
pub fn sinpi<O: Ops>(x: F64<O>) -> F64<O> {
    signed_zero(x, sincospi_kernel(x).0)
}

/// Zeros are positive.
#[inline(always)]
pub fn cospi<O: Ops>(x: F64<O>) -> F64<O> {
    (sincospi_kernel(x).1 + 0.0).canonical()
}

#[inline(always)]
pub fn sincospi<O: Ops>(x: F64<O>) -> (F64<O>, F64<O>) {
    let (sin, cos) = sincospi_kernel(x);
    (signed_zero(x, sin), (cos + 0.0).canonical())
}
