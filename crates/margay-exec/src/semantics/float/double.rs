// SPDX-License-Identifier: MIT OR Apache-2.0
//! f64 operations on bit patterns.
//!
//! To nearest they are the host's own. The other directions go through `rustc_apfloat`, a port of
//! LLVM's exact arithmetic: slow, and rarely used outside interval arithmetic.

use rustc_apfloat::ieee::Double;
use rustc_apfloat::{Float, Round as ApRound};

use crate::semantics::rounding::{RM, RN, RP, RZ};

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

fn direction(r: u8) -> ApRound {
    match r {
        RZ => ApRound::TowardZero,
        RM => ApRound::TowardNegative,
        RP => ApRound::TowardPositive,
        _ => ApRound::NearestTiesToEven,
    }
}

fn exact(a: u64) -> Double {
    Double::from_bits(a as u128)
}

/// Not inlined: a call here is rare, and its code is large.
#[cold]
#[inline(never)]
fn directed_add(a: u64, b: u64, r: u8) -> f64 {
    f64::from_bits(exact(a).add_r(exact(b), direction(r)).value.to_bits() as u64)
}
#[cold]
#[inline(never)]
fn directed_mul(a: u64, b: u64, r: u8) -> f64 {
    f64::from_bits(exact(a).mul_r(exact(b), direction(r)).value.to_bits() as u64)
}
#[cold]
#[inline(never)]
fn directed_fma(a: u64, b: u64, c: u64, r: u8) -> f64 {
    f64::from_bits(exact(a).mul_add_r(exact(b), exact(c), direction(r)).value.to_bits() as u64)
}
#[cold]
#[inline(never)]
fn directed_div(a: u64, b: u64, r: u8) -> f64 {
    f64::from_bits(exact(a).div_r(exact(b), direction(r)).value.to_bits() as u64)
}
/// A square root is never subnormal and never overflows; only the remainder could, for which the
/// operand is scaled by an even power of two.
#[cold]
#[inline(never)]
fn directed_sqrt(a: u64, r: u8) -> f64 {
    let x = f64::from_bits(a);
    let near = x.sqrt();
    // Also for NaN: there is nothing to adjust.
    if near.is_nan() || near == 0.0 || near.is_infinite() {
        return near;
    }
    let small = x < f64::from_bits(0x2000_0000_0000_0000);
    let (up, half_up) = if small {
        // 2^600 and 2^300
        (f64::from_bits((1023 + 600) << 52), f64::from_bits((1023 + 300) << 52))
    } else {
        (1.0, 1.0)
    };
    let s = near * half_up;
    let rest = (-s).mul_add(s, x * up);
    let bits = near.to_bits();
    f64::from_bits(match r {
        RZ | RM if rest < 0.0 => bits - 1,
        RP if rest > 0.0 => bits + 1,
        _ => bits,
    })
}

#[inline(always)]
pub fn add<const R: u8>(a: u64, b: u64) -> u64 {
    let r = if R == RN { f64::from_bits(a) + f64::from_bits(b) } else { directed_add(a, b, R) };
    output(r, [b, a, 0])
}

#[inline(always)]
pub fn sub<const R: u8>(a: u64, b: u64) -> u64 {
    let negated = b ^ SIGN;
    let r =
        if R == RN { f64::from_bits(a) - f64::from_bits(b) } else { directed_add(a, negated, R) };
    output(r, [b, a, 0])
}

#[inline(always)]
pub fn mul<const R: u8>(a: u64, b: u64) -> u64 {
    let r = if R == RN { f64::from_bits(a) * f64::from_bits(b) } else { directed_mul(a, b, R) };
    output(r, [b, a, 0])
}

#[inline(always)]
pub fn fma<const R: u8>(a: u64, b: u64, c: u64) -> u64 {
    let r = if R == RN {
        f64::from_bits(a).mul_add(f64::from_bits(b), f64::from_bits(c))
    } else {
        directed_fma(a, b, c, R)
    };
    output(r, [b, c, a])
}

#[inline(always)]
pub fn div<const R: u8>(a: u64, b: u64) -> u64 {
    let r = if R == RN { f64::from_bits(a) / f64::from_bits(b) } else { directed_div(a, b, R) };
    output(r, [a, b, 0])
}

#[inline(always)]
pub fn rcp<const R: u8>(a: u64) -> u64 {
    let r = if R == RN { 1.0 / f64::from_bits(a) } else { directed_div(1f64.to_bits(), a, R) };
    output(r, [a, 0, 0])
}

#[inline(always)]
pub fn sqrt<const R: u8>(a: u64) -> u64 {
    let r = if R == RN { f64::from_bits(a).sqrt() } else { directed_sqrt(a, R) };
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
