// SPDX-License-Identifier: MIT OR Apache-2.0
//! Single precision: in double first. No operation on floats overflows or underflows there, so no lane is
//! slow.

use super::{Direction, narrow, step_f64, sum};
use crate::ops::Ops;
use crate::table::Checked;
use crate::value::{F32, F64, I32, I64};

#[inline(always)]
pub fn add<O: Ops, D: Direction>(a: F32<O>, b: F32<O>) -> F32<O> {
    narrow::<O, D>(sum::<O, D>(a.wide(), b.wide())).canonical()
}

#[inline(always)]
pub fn sub<O: Ops, D: Direction>(a: F32<O>, b: F32<O>) -> F32<O> {
    add::<O, D>(a, -b)
}

/// The product in double is exact.
#[inline(always)]
pub fn mul<O: Ops, D: Direction>(a: F32<O>, b: F32<O>) -> F32<O> {
    narrow::<O, D>(a.wide() * b.wide()).canonical()
}

#[inline(always)]
pub fn fma<O: Ops, D: Direction>(a: F32<O>, b: F32<O>, c: F32<O>) -> F32<O> {
    narrow::<O, D>(sum::<O, D>(a.wide() * b.wide(), c.wide())).canonical()
}

#[inline(always)]
pub fn div<O: Ops, D: Direction>(a: F32<O>, b: F32<O>) -> F32<O> {
    let (a, b) = (a.wide(), b.wide());
    let quotient = a / b;
    // Of the sign of what the quotient lacks.
    let rest = (-quotient).mul_add(b, a) * b.k(1.0).copysign(b);
    narrow::<O, D>(step_f64::<O, D>(quotient, rest)).canonical()
}

#[inline(always)]
pub fn rcp<O: Ops, D: Direction>(a: F32<O>) -> F32<O> {
    div::<O, D>(a.k(1.0), a)
}

#[inline(always)]
pub fn sqrt<O: Ops, D: Direction>(a: F32<O>) -> F32<O> {
    let a = a.wide();
    let root = a.sqrt();
    narrow::<O, D>(step_f64::<O, D>(root, (-root).mul_add(root, a))).canonical()
}

/// 1 / √a to nearest: the root in double, a correction, and what is left decides which way a tie goes.
#[inline(always)]
pub fn rsqrt_to_nearest<O: Ops>(a: F32<O>) -> F32<O> {
    let x = a.wide();
    let r = x.k(1.0) / x.sqrt();
    // 1 - r² x, of which r² is a sum of two doubles.
    let square = r * r;
    let lacks = r.mul_add(r, -square);
    let product = square * x;
    let rest = (product.k(1.0) - product) - square.mul_add(x, -product) - lacks * x;
    let correction = r * 0.5 * rest;
    let high = r + correction;
    let low = (r - high) + correction;
    // To odd: an even last bit moves toward the rest, so that the next rounding sees it.
    let bits = high.bits();
    let even = (bits & 1i64).equals(0i64);
    let moved = low.gt(0.0).select(bits + 1i64, low.lt(0.0).select(bits - 1i64, bits));
    let odd = even.select(moved, bits).as_float();
    let finite = x.gt(0.0) & x.lt(f64::INFINITY);
    finite.select(odd, r).narrow().canonical()
}

/// A double as a float. NaN is slow, as a conversion keeps what fits of its bits and a function does not.
#[inline(always)]
pub fn of_double<O: Ops, D: Direction>(x: F64<O>) -> Checked<F32<O>, O> {
    Checked { value: narrow::<O, D>(x), slow: x.is_nan() }
}

/// The NaN that functions give.
pub(crate) fn slow_of_double(_nan: f64) -> f32 {
    f32::from_bits(0x7fff_ffff)
}

#[inline(always)]
pub fn of_int<O: Ops, D: Direction>(n: I32<O>) -> F32<O> {
    narrow::<O, D>(n.to_f64())
}

#[inline(always)]
pub fn of_uint<O: Ops, D: Direction>(n: I32<O>) -> F32<O> {
    narrow::<O, D>(n.zero_extend().to_f64())
}

#[inline(always)]
pub fn of_long<O: Ops, D: Direction>(n: I64<O>) -> F32<O> {
    narrow::<O, D>(super::double::of_long::<O, D>(n))
}

#[inline(always)]
pub fn of_ulong<O: Ops, D: Direction>(n: I64<O>) -> F32<O> {
    narrow::<O, D>(super::double::of_ulong::<O, D>(n))
}
