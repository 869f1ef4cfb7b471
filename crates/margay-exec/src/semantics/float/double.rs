// SPDX-License-Identifier: MIT OR Apache-2.0
//! f64 operations on bit patterns.
//!
//! To nearest they are the host's own. The other directions are exact arithmetic: slow, and rarely used
//! outside interval arithmetic. (Compiled code has formulas for them: `margay_math::rounded`.)

use margay_math::rounded::{Toward, exact};

use crate::semantics::rounding::{RM, RN, RP};

/// The NaN that an invalid operation generates, as recorded on an H200.
pub const GENERATED_NAN: u64 = 0xfff8_0000_0000_0000;
/// The upper word of this is what the coarse approximations give for NaN.
pub const CANONICAL_NAN: u64 = 0x7fff_ffff_ffff_ffff;
const QUIET: u64 = 0x0008_0000_0000_0000;
const SIGN: u64 = 1 << 63;
const INFINITY: u64 = 0x7ff0_0000_0000_0000;

#[inline(always)]
fn is_nan(a: u64) -> bool {
    a & !SIGN > INFINITY
}

/// A NaN result's bits: the first NaN among the operands in this order, quieted; without one the
/// generated NaN. An H200 prefers the second operand of a sum, product, minimum or maximum, and the
/// first of a quotient; of `fma` the second factor, then the addend, then the first factor.
#[inline(always)]
pub fn quiet(operands: [u64; 3]) -> u64 {
    let [a, b, c] = operands;
    let third = if is_nan(c) { c | QUIET } else { GENERATED_NAN };
    let second = if is_nan(b) { b | QUIET } else { third };
    if is_nan(a) { a | QUIET } else { second }
}

#[inline(always)]
fn output(r: f64, operands: [u64; 3]) -> u64 {
    if r.is_nan() { quiet(operands) } else { r.to_bits() }
}

/// Any direction but to nearest, which callers do themselves. Not inlined, as what follows is rare and large.
#[cold]
#[inline(never)]
fn directed(operation: fn(f64, f64, Toward) -> f64, a: u64, b: u64, r: u8) -> f64 {
    operation(f64::from_bits(a), f64::from_bits(b), toward(r))
}

fn toward(r: u8) -> Toward {
    match r {
        RM => Toward::Negative,
        RP => Toward::Positive,
        _ => Toward::Zero,
    }
}

#[inline(always)]
pub fn add<const R: u8>(a: u64, b: u64) -> u64 {
    let r =
        if R == RN { f64::from_bits(a) + f64::from_bits(b) } else { directed(exact::add, a, b, R) };
    output(r, [b, a, 0])
}

#[inline(always)]
pub fn sub<const R: u8>(a: u64, b: u64) -> u64 {
    let negated = b ^ SIGN;
    let r = if R == RN {
        f64::from_bits(a) - f64::from_bits(b)
    } else {
        directed(exact::add, a, negated, R)
    };
    output(r, [b, a, 0])
}

#[inline(always)]
pub fn mul<const R: u8>(a: u64, b: u64) -> u64 {
    let r =
        if R == RN { f64::from_bits(a) * f64::from_bits(b) } else { directed(exact::mul, a, b, R) };
    output(r, [b, a, 0])
}

#[inline(always)]
pub fn fma<const R: u8>(a: u64, b: u64, c: u64) -> u64 {
    let r = if R == RN {
        f64::from_bits(a).mul_add(f64::from_bits(b), f64::from_bits(c))
    } else {
        exact::fma(f64::from_bits(a), f64::from_bits(b), f64::from_bits(c), toward(R))
    };
    output(r, [b, c, a])
}

#[inline(always)]
pub fn div<const R: u8>(a: u64, b: u64) -> u64 {
    let r =
        if R == RN { f64::from_bits(a) / f64::from_bits(b) } else { directed(exact::div, a, b, R) };
    output(r, [a, b, 0])
}

#[inline(always)]
pub fn rcp<const R: u8>(a: u64) -> u64 {
    let r =
        if R == RN { 1.0 / f64::from_bits(a) } else { directed(exact::div, 1f64.to_bits(), a, R) };
    output(r, [a, 0, 0])
}

#[inline(always)]
pub fn sqrt<const R: u8>(a: u64) -> u64 {
    let r =
        if R == RN { f64::from_bits(a).sqrt() } else { exact::sqrt(f64::from_bits(a), toward(R)) };
    output(r, [a, 0, 0])
}

/// The sign is flipped; a NaN is quieted and keeps its sign.
#[inline(always)]
pub fn neg(a: u64) -> u64 {
    if is_nan(a) { a | QUIET } else { a ^ SIGN }
}

/// The sign is cleared; a NaN is quieted and keeps its sign.
#[inline(always)]
pub fn abs(a: u64) -> u64 {
    if is_nan(a) { a | QUIET } else { a & !SIGN }
}

/// Magnitude of `b`, sign of `a`.
#[inline(always)]
pub fn copysign(a: u64, b: u64) -> u64 {
    (a & SIGN) | (b & !SIGN)
}

/// As [`super::single::minmax`].
#[inline(always)]
pub fn minmax<const MAX: bool, const NAN_WINS: bool, const XORSIGN: bool>(a: u64, b: u64) -> u64 {
    let (x, y) = if XORSIGN { (a & !SIGN, b & !SIGN) } else { (a, b) };
    let (fx, fy) = (f64::from_bits(x), f64::from_bits(y));
    let better = if MAX { fx > fy } else { fx < fy };
    let mut r = if better | fy.is_nan() { x } else { y };
    if fx == fy {
        r = if MAX { x & y } else { x | y };
    }
    if XORSIGN {
        r |= (a ^ b) & SIGN;
    }
    let nan = if NAN_WINS { fx.is_nan() | fy.is_nan() } else { fx.is_nan() & fy.is_nan() };
    if nan { quiet([b, a, 0]) } else { r }
}

/// Clamps to [0, 1]; NaN and -0 become +0.
#[inline(always)]
pub fn saturate(a: u64) -> u64 {
    let x = f64::from_bits(a);
    let low = if x > 0.0 { a } else { 0 };
    if x > 1.0 { 1f64.to_bits() } else { low }
}
