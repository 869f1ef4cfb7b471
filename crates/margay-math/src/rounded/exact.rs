// SPDX-License-Identifier: MIT OR Apache-2.0
//! One lane's directed arithmetic in double precision by `rustc_apfloat`, a port of LLVM's exact arithmetic:
//! right everywhere, and slow.

use rustc_apfloat::ieee::Double;
use rustc_apfloat::{Float, Round};

use super::{Direction, Toward};

impl From<Toward> for Round {
    fn from(toward: Toward) -> Round {
        match toward {
            Toward::Zero => Round::TowardZero,
            Toward::Negative => Round::TowardNegative,
            Toward::Positive => Round::TowardPositive,
        }
    }
}

fn exact(a: f64) -> Double {
    Double::from_bits(a.to_bits().into())
}

/// A NaN is the one that an invalid operation generates.
fn rounded(r: Double) -> f64 {
    let r = f64::from_bits(r.to_bits() as u64);
    if r.is_nan() { f64::from_bits(0xfff8_0000_0000_0000) } else { r }
}

/// `a + b`.
pub fn add(a: f64, b: f64, toward: Toward) -> f64 {
    rounded(exact(a).add_r(exact(b), toward.into()).value)
}

/// `a * b`.
pub fn mul(a: f64, b: f64, toward: Toward) -> f64 {
    rounded(exact(a).mul_r(exact(b), toward.into()).value)
}

/// `a * b + c`.
pub fn fma(a: f64, b: f64, c: f64, toward: Toward) -> f64 {
    rounded(exact(a).mul_add_r(exact(b), exact(c), toward.into()).value)
}

/// `a / b`.
pub fn div(a: f64, b: f64, toward: Toward) -> f64 {
    rounded(exact(a).div_r(exact(b), toward.into()).value)
}

/// √a. A root is never subnormal and never overflows; only the remainder could, for which the operand is
/// scaled by an even power of two.
pub fn sqrt(a: f64, toward: Toward) -> f64 {
    let near = a.sqrt();
    if near.is_nan() {
        return f64::from_bits(0xfff8_0000_0000_0000);
    }
    if near == 0.0 || near.is_infinite() {
        return near;
    }
    // 2^600 and 2^300
    let up = |exponent: u64| f64::from_bits((1023 + exponent) << 52);
    let (scale, root) = if a < 1e-150 { (up(600), near * up(300)) } else { (1.0, near) };
    let rest = (-root).mul_add(root, a * scale);
    match toward {
        Toward::Zero | Toward::Negative if rest < 0.0 => near.next_down(),
        Toward::Positive if rest > 0.0 => near.next_up(),
        _ => near,
    }
}

/// For slow lanes, as functions of a tuple.
pub(crate) fn slow_add<D: Direction>((a, b): (f64, f64)) -> f64 {
    add(a, b, D::TOWARD)
}
pub(crate) fn slow_sub<D: Direction>((a, b): (f64, f64)) -> f64 {
    add(a, -b, D::TOWARD)
}
pub(crate) fn slow_mul<D: Direction>((a, b): (f64, f64)) -> f64 {
    mul(a, b, D::TOWARD)
}
pub(crate) fn slow_div<D: Direction>((a, b): (f64, f64)) -> f64 {
    div(a, b, D::TOWARD)
}
pub(crate) fn slow_rcp<D: Direction>(a: f64) -> f64 {
    div(1.0, a, D::TOWARD)
}
pub(crate) fn slow_sqrt<D: Direction>(a: f64) -> f64 {
    sqrt(a, D::TOWARD)
}
pub(crate) fn slow_fma<D: Direction>((a, b, c): (f64, f64, f64)) -> f64 {
    fma(a, b, c, D::TOWARD)
}
