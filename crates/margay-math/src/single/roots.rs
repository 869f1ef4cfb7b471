// SPDX-License-Identifier: MIT OR Apache-2.0
//! Roots and norms. Squares of floats are exact in double precision and cannot overflow there.

use crate::ops::Ops;
use crate::value::{F32, F64};

#[inline(always)]
pub fn sqrtf<O: Ops>(x: F32<O>) -> F32<O> {
    x.sqrt().canonical()
}

#[inline(always)]
pub fn rsqrtf<O: Ops>(x: F32<O>) -> F32<O> {
    (x.k(1.0) / x.sqrt()).canonical()
}

/// A number of magnitude in [1, 8) and the exponent, a third of that taken off: x = m * 2^3e.
#[inline(always)]
fn thirds<O: Ops>(a: F32<O>) -> (F32<O>, crate::value::I32<O>) {
    let subnormal = a.lt(f32::MIN_POSITIVE);
    let bits = subnormal.select(a * 16_777_216.0, a).bits();
    // A third of the biased exponent, by multiplication: exact for these few bits.
    let field = bits.shr_logical(23);
    let third = (field * 0x5556).shr_logical(16);
    let m = (bits - ((third * 3 - 126) << 23)).as_float();
    (m, subnormal.select(third - 50, third - 42))
}

/// m^(-1/3) for m in [1, 8): relative error about 2^-22.
#[inline(always)]
fn inverse_cube_root<O: Ops>(m: F32<O>) -> F32<O> {
    let bits = m.bits();
    // A third of the bits, in floats: the first guess is within 4 %.
    let third = (bits.shr_logical(9).to_f32() * (-1.0 / 3.0) + 12_582_912.0).bits();
    let y = ((third << 9) + 0xd4a2_1d2au32).as_float();
    let c = m * (1.0 / 3.0);
    let mut y = y;
    let mut i = 0;
    while i < 3 {
        let cube = y * y * y;
        y = y * cube.mul_add(-c, 4.0 / 3.0);
        i += 1;
    }
    y
}

#[inline(always)]
pub fn cbrtf<O: Ops>(x: F32<O>) -> F32<O> {
    let a = x.abs();
    let (m, e) = thirds(a);
    let y = inverse_cube_root(m);
    let c = m * y * y;
    // One step of Newton's, with the residual exact in two parts.
    let square = c * c;
    let low = c.mul_add(c, -square);
    let residual = (-c).mul_add(square, m) - c * low;
    let c = (residual * (1.0 / 3.0)).mul_add(y * y, c);
    let r = (c * ((e + 127) << 23).as_float()).copysign(x);
    (a.lt(f32::INFINITY) & a.gt(0.0)).select(r, x).canonical()
}

#[inline(always)]
pub fn rcbrtf<O: Ops>(x: F32<O>) -> F32<O> {
    let a = x.abs();
    let (m, e) = thirds(a);
    let y = inverse_cube_root(m);
    // 1 - m y³, with the product's parts.
    let square = y * y;
    let low = y.mul_add(y, -square);
    let p = square * y;
    let p_low = square.mul_add(y, -p) + low * y;
    let rest = (-m).mul_add(p, 1.0) - m * p_low;
    let y = (rest * (1.0 / 3.0)).mul_add(y, y);
    let r = (y * ((e.k(127) - e) << 23).as_float()).copysign(x);
    let special = a.equals(0.0).select(a.k(f32::INFINITY), a.k(0.0)).copysign(x);
    let special = x.is_nan().select(x, special);
    (a.lt(f32::INFINITY) & a.gt(0.0)).select(r, special).canonical()
}

/// The sum of squares in double precision: infinite as soon as one argument is, whatever the
/// others, then NaN as soon as one is.
#[inline(always)]
fn sum_of_squares<O: Ops, const N: usize>(x: [F32<O>; N]) -> F64<O> {
    let mut sum = x[0].wide() * x[0].wide();
    let mut infinite = x[0].abs().equals(f32::INFINITY);
    let mut i = 1;
    while i < N {
        sum = x[i].wide().mul_add(x[i].wide(), sum);
        infinite = infinite | x[i].abs().equals(f32::INFINITY);
        i += 1;
    }
    infinite.select(sum.k(f64::INFINITY), sum)
}

#[inline(always)]
fn norm<O: Ops, const N: usize>(x: [F32<O>; N]) -> F32<O> {
    sum_of_squares(x).sqrt().narrow().canonical()
}

#[inline(always)]
fn reciprocal_norm<O: Ops, const N: usize>(x: [F32<O>; N]) -> F32<O> {
    let root = sum_of_squares(x).sqrt();
    (root.k(1.0) / root).narrow().canonical()
}

#[inline(always)]
pub fn hypotf<O: Ops>(x: F32<O>, y: F32<O>) -> F32<O> {
    norm([x, y])
}
#[inline(always)]
pub fn norm3df<O: Ops>(x: F32<O>, y: F32<O>, z: F32<O>) -> F32<O> {
    norm([x, y, z])
}
#[inline(always)]
pub fn norm4df<O: Ops>(x: F32<O>, y: F32<O>, z: F32<O>, w: F32<O>) -> F32<O> {
    norm([x, y, z, w])
}
#[inline(always)]
pub fn rhypotf<O: Ops>(x: F32<O>, y: F32<O>) -> F32<O> {
    reciprocal_norm([x, y])
}
#[inline(always)]
pub fn rnorm3df<O: Ops>(x: F32<O>, y: F32<O>, z: F32<O>) -> F32<O> {
    reciprocal_norm([x, y, z])
}
#[inline(always)]
pub fn rnorm4df<O: Ops>(x: F32<O>, y: F32<O>, z: F32<O>, w: F32<O>) -> F32<O> {
    reciprocal_norm([x, y, z, w])
}
