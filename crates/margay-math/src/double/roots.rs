// SPDX-License-Identifier: MIT OR Apache-2.0
//! Roots and norms.

use crate::double::exponential::{SHIFT, power_of_two};
use crate::ops::Ops;
use crate::value::{F64, I64, Mask};

#[inline(always)]
pub fn sqrt<O: Ops>(x: F64<O>) -> F64<O> {
    x.sqrt().canonical()
}

/// 1/√(x + low), corrected by what the quotient's square lacks; for x away from the ends of the range.
#[inline(always)]
fn reciprocal_root<O: Ops>(x: F64<O>, low: F64<O>) -> F64<O> {
    let y = x.k(1.0) / x.sqrt();
    let h = x * y;
    let h_low = x.mul_add(y, -h) + low * y;
    let rest = (-h).mul_add(y, 1.0) - h_low * y;
    (y * 0.5).mul_add(rest, y)
}

#[inline(always)]
pub fn rsqrt<O: Ops>(x: F64<O>) -> F64<O> {
    // An even power of two brings small arguments to where residuals are exact.
    let small = x.lt(1e-200);
    let scaled = small.select(x * f64::from_bits((1023 + 128) << 52), x);
    let y = reciprocal_root(scaled, x.k(0.0));
    let y = small.select(y * f64::from_bits((1023 + 64) << 52), y);
    let special = x.k(1.0) / x.sqrt();
    (x.gt(0.0) & x.lt(f64::INFINITY)).select(y, special).canonical()
}

/// A number of magnitude in [1, 8) and the exponent, a third of that taken off: x = m * 2^3e.
#[inline(always)]
fn thirds<O: Ops>(a: F64<O>) -> (F64<O>, I64<O>) {
    let subnormal = a.lt(f64::MIN_POSITIVE);
    let bits = subnormal.select(a * 18_014_398_509_481_984.0, a).bits();
    // A third of the biased exponent, by multiplication: exact for these few bits.
    let field = bits.shr_logical(52i64).truncate();
    let third = (field * 0x5556).shr_logical(16);
    let taken = (third * 3 - 1023).sign_extend() << 52i64;
    let m = (bits - taken).as_float();
    (m, subnormal.select(third - 359, third - 341).sign_extend())
}

/// m^(-1/3) for m in [1, 8): relative error below 2^-50.
#[inline(always)]
fn inverse_cube_root<O: Ops>(m: F64<O>) -> F64<O> {
    // A third of the bits, by arithmetic on their upper half: the first guess is within 4 %.
    let upper = m.bits().shr_logical(32i64).truncate().to_f64();
    let third = upper.mul_add(-1.0 / 3.0, SHIFT + 1_430_187_600.0).bits();
    let mut y = (third << 32i64).as_float();
    let c = m * (1.0 / 3.0);
    let mut i = 0;
    while i < 4 {
        let cube = y * y * y;
        y = y * cube.mul_add(-c, 4.0 / 3.0);
        i += 1;
    }
    y
}

#[inline(always)]
pub fn cbrt<O: Ops>(x: F64<O>) -> F64<O> {
    let a = x.abs();
    let (m, e) = thirds(a);
    let y = inverse_cube_root(m);
    let c = m * y * y;
    // One step of Newton's, with the residual exact in two parts.
    let square = c * c;
    let low = c.mul_add(c, -square);
    let residual = (-c).mul_add(square, m) - c * low;
    let c = (residual * (1.0 / 3.0)).mul_add(y * y, c);
    let r = (c * power_of_two(e)).copysign(x);
    (a.lt(f64::INFINITY) & a.gt(0.0)).select(r, x).canonical()
}

#[inline(always)]
pub fn rcbrt<O: Ops>(x: F64<O>) -> F64<O> {
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
    let r = (y * power_of_two(e.k(0) - e)).copysign(x);
    let special = a.equals(0.0).select(a.k(f64::INFINITY), a.k(0.0)).copysign(x);
    let special = x.is_nan().select(x, special);
    (a.lt(f64::INFINITY) & a.gt(0.0)).select(r, special).canonical()
}

/// A sum of squares after scaling by a power of two, as a sum of two doubles, and the powers that
/// scale a norm and its reciprocal back.
struct Squares<O: Ops> {
    high: F64<O>,
    low: F64<O>,
    back: F64<O>,
    reciprocal_back: F64<O>,
    /// An argument is infinite.
    infinite: Mask<O>,
    /// All arguments are zero.
    zero: Mask<O>,
}

/// Infinite as soon as one argument is, whatever the others; then NaN as soon as one is.
#[inline(always)]
fn sum_of_squares<O: Ops, const N: usize>(x: [F64<O>; N]) -> Squares<O> {
    let mut largest = x[0].abs();
    let mut infinite = largest.equals(f64::INFINITY);
    let mut zero = largest.equals(0.0);
    let mut i = 1;
    while i < N {
        let a = x[i].abs();
        infinite = infinite | a.equals(f64::INFINITY);
        // Whatever becomes of NaN here, the sum of squares has it.
        largest = largest.max(a);
        zero = zero & a.equals(0.0);
        i += 1;
    }
    const BIG: f64 = f64::from_bits((1023 + 600) << 52);
    const SMALL: f64 = f64::from_bits((1023 - 600) << 52);
    let big = largest.gt(1e150);
    let small = largest.lt(1e-120);
    let factor = big.select(largest.k(SMALL), small.select(largest.k(BIG), 1.0));
    let back = big.select(largest.k(BIG), small.select(largest.k(SMALL), 1.0));
    let first = x[0] * factor;
    let mut high = first * first;
    let mut low = first.mul_add(first, -high);
    let mut i = 1;
    while i < N {
        let v = x[i] * factor;
        let square = v * v;
        let rest = v.mul_add(v, -square);
        // Knuth's two-sum: exact without knowing which is larger.
        let sum = high + square;
        let part = sum - high;
        low = low + rest + ((high - (sum - part)) + (square - part));
        high = sum;
        i += 1;
    }
    let sum = high + low;
    Squares { high: sum, low: (high - sum) + low, back, reciprocal_back: factor, infinite, zero }
}

#[inline(always)]
fn norm<O: Ops, const N: usize>(x: [F64<O>; N]) -> F64<O> {
    let s = sum_of_squares(x);
    let ordinary = s.high.sqrt() * s.back;
    s.infinite.select(s.high.k(f64::INFINITY), ordinary).canonical()
}

#[inline(always)]
fn reciprocal_norm<O: Ops, const N: usize>(x: [F64<O>; N]) -> F64<O> {
    let s = sum_of_squares(x);
    let ordinary = reciprocal_root(s.high, s.low) * s.reciprocal_back;
    let r = s.infinite.select(s.high.k(0.0), ordinary);
    s.zero.select(r.k(f64::INFINITY), r).canonical()
}

#[inline(always)]
pub fn hypot<O: Ops>(x: F64<O>, y: F64<O>) -> F64<O> {
    norm([x, y])
}
#[inline(always)]
pub fn norm3d<O: Ops>(x: F64<O>, y: F64<O>, z: F64<O>) -> F64<O> {
    norm([x, y, z])
}
#[inline(always)]
pub fn norm4d<O: Ops>(x: F64<O>, y: F64<O>, z: F64<O>, w: F64<O>) -> F64<O> {
    norm([x, y, z, w])
}
#[inline(always)]
pub fn rhypot<O: Ops>(x: F64<O>, y: F64<O>) -> F64<O> {
    reciprocal_norm([x, y])
}
#[inline(always)]
pub fn rnorm3d<O: Ops>(x: F64<O>, y: F64<O>, z: F64<O>) -> F64<O> {
    reciprocal_norm([x, y, z])
}
#[inline(always)]
pub fn rnorm4d<O: Ops>(x: F64<O>, y: F64<O>, z: F64<O>, w: F64<O>) -> F64<O> {
    reciprocal_norm([x, y, z, w])
}
