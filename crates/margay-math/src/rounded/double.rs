// SPDX-License-Identifier: MIT OR Apache-2.0
//! Double precision. Lanes whose result is NaN are slow, too, as a card keeps an operand's bits there.

use super::{Direction, step_f64, sum, two_sum, zero_of_sum};
use crate::ops::Ops;
use crate::table::Checked;
use crate::value::{F64, I64, Mask};

/// 2^-960: what a product or quotient from here on lacks is a double.
const SMALL: f64 = f64::from_bits((1023 - 960) << 52);
/// 2^1020: below, no sum of two overflows.
const LARGE: f64 = f64::from_bits((1023 + 1020) << 52);

#[inline(always)]
fn checked<O: Ops>(value: F64<O>, slow: Mask<O>) -> Checked<F64<O>, O> {
    Checked { value, slow: slow | value.is_nan() }
}

/// Whether a product of these is so small that its rest may be rounded.
#[inline(always)]
fn is_small<O: Ops>(product: F64<O>, a: F64<O>, b: F64<O>) -> Mask<O> {
    product.abs().lt(SMALL) & !(a.equals(0.0) | b.equals(0.0))
}

/// No lane but NaN is slow: a sum is never rounded where it is small.
#[inline(always)]
pub fn add<O: Ops, D: Direction>(a: F64<O>, b: F64<O>) -> Checked<F64<O>, O> {
    let sum = sum::<O, D>(a, b);
    Checked { value: sum, slow: sum.is_nan() }
}

#[inline(always)]
pub fn sub<O: Ops, D: Direction>(a: F64<O>, b: F64<O>) -> Checked<F64<O>, O> {
    add::<O, D>(a, -b)
}

#[inline(always)]
pub fn mul<O: Ops, D: Direction>(a: F64<O>, b: F64<O>) -> Checked<F64<O>, O> {
    let product = a * b;
    let rest = a.mul_add(b, -product);
    checked(step_f64::<O, D>(product, rest), is_small(product, a, b))
}

#[inline(always)]
pub fn div<O: Ops, D: Direction>(a: F64<O>, b: F64<O>) -> Checked<F64<O>, O> {
    let quotient = a / b;
    let rest = (-quotient).mul_add(b, a) * b.k(1.0).copysign(b);
    let small = a.abs().lt(SMALL) | quotient.abs().lt(SMALL);
    let slow = small & !a.equals(0.0) & b.abs().lt(f64::INFINITY);
    checked(step_f64::<O, D>(quotient, rest), slow)
}

#[inline(always)]
pub fn rcp<O: Ops, D: Direction>(a: F64<O>) -> Checked<F64<O>, O> {
    div::<O, D>(a.k(1.0), a)
}

#[inline(always)]
pub fn sqrt<O: Ops, D: Direction>(a: F64<O>) -> Checked<F64<O>, O> {
    let root = a.sqrt();
    let rest = (-root).mul_add(root, a);
    checked(step_f64::<O, D>(root, rest), a.gt(0.0) & a.lt(SMALL))
}

/// What the result to nearest lacks is a sum of two doubles; after Boldo and Muller, "Exact and approximated
/// error of the FMA" (IEEE Transactions on Computers 60, 2011).
#[inline(always)]
pub fn fma<O: Ops, D: Direction>(a: F64<O>, b: F64<O>, c: F64<O>) -> Checked<F64<O>, O> {
    let nearest = a.mul_add(b, c);
    let product = a * b;
    let lacks = a.mul_add(b, -product);
    let (low, least) = two_sum(c, lacks);
    let (high, middle) = two_sum(product, low);
    let rest = ((high - nearest) + middle) + least;
    let value = zero_of_sum::<O, D>(step_f64::<O, D>(nearest, rest), product, c);
    let in_range = nearest.abs().lt(LARGE) & product.abs().lt(LARGE);
    checked(value, is_small(product, a, b) | !in_range)
}

/// The upper and the lower word are exact, so it is a sum of two.
#[inline(always)]
pub fn of_long<O: Ops, D: Direction>(n: I64<O>) -> F64<O> {
    halves::<O, D>(n >> 32i64, n)
}

#[inline(always)]
pub fn of_ulong<O: Ops, D: Direction>(n: I64<O>) -> F64<O> {
    halves::<O, D>(n.shr_logical(32i64), n)
}

/// A number whose upper word is `high`. Zero is positive, whatever the direction.
#[inline(always)]
fn halves<O: Ops, D: Direction>(high: I64<O>, n: I64<O>) -> F64<O> {
    const WORD: f64 = 4_294_967_296.0;
    sum::<O, D>(high.to_f64() * WORD, (n & 0xffff_ffffu64).to_f64())
}
