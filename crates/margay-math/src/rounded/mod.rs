// SPDX-License-Identifier: MIT OR Apache-2.0
//! Arithmetic in a given rounding direction, on operations that only round to nearest.
//!
//! What a result to nearest lacks of the exact one is known exactly (for a sum by subtracting its terms
//! again, for a product, quotient or root by `fma`), so its sign says on which side of the result the
//! exact one lies, and whether the direction asks for the neighbour on that side. In single precision the
//! operation is done in double first, and then rounded again: of two roundings in one direction the second has
//! the last word, as the coarser numbers are also finer ones.
//!
//! Where what is lacking would itself be rounded, next to the smallest numbers, and in `fma` next to
//! the largest, lanes are slow: [`exact`] computes them.

pub mod double;
pub mod exact;
pub mod single;

use crate::ops::Ops;
use crate::value::{F32, F64};

/// Where a result that is not exact goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Toward {
    Zero,
    Negative,
    Positive,
}

/// A direction as a type, so that formulas have it at compile time.
pub trait Direction {
    const TOWARD: Toward;
    /// Whether floats become zeros that are less than the least normal number, were there no least exponent (`.ftz`).
    const FLUSHES: bool = false;
}

/// `.rz`.
pub enum Zero {}
/// `.rm`; `rd` in the device library's names.
pub enum Down {}
/// `.rp`; `ru` in the device library's names.
pub enum Up {}

/// `.rm.ftz`.
pub enum DownFlushing {}
/// `.rp.ftz`.
pub enum UpFlushing {}

impl Direction for Zero {
    const TOWARD: Toward = Toward::Zero;
}
impl Direction for Down {
    const TOWARD: Toward = Toward::Negative;
}
impl Direction for Up {
    const TOWARD: Toward = Toward::Positive;
}
impl Direction for DownFlushing {
    const TOWARD: Toward = Toward::Negative;
    const FLUSHES: bool = true;
}
impl Direction for UpFlushing {
    const TOWARD: Toward = Toward::Positive;
    const FLUSHES: bool = true;
}

/// Up to here a result in double, rounded in some direction, is less than 2^-126 in single precision, were there no least
/// exponent; above it, away from zero is 2^-126.
const TINY: f64 = (1.0 - f32::EPSILON as f64 / 2.0) * f32::MIN_POSITIVE as f64;

macro_rules! step {
    ($name:ident $float:ident $least:expr, $least_below:expr) => {
        /// The number next to `nearest` that the direction asks for, if the exact result is `nearest` and
        /// something of `rest`'s sign. Nothing is done where `rest` is NaN: of infinite operands.
        #[inline(always)]
        fn $name<O: Ops, D: Direction>(nearest: $float<O>, rest: F64<O>) -> $float<O> {
            let bits = nearest.bits();
            let (more, less) = ((bits + bits.k(1)).as_float(), (bits - bits.k(1)).as_float());
            let (below, above) = (nearest.lt(0.0), nearest.gt(0.0));
            match D::TOWARD {
                Toward::Zero => {
                    let past = (below & rest.gt(0.0)) | (above & rest.lt(0.0));
                    past.select(less, nearest)
                }
                Toward::Negative => {
                    let next = below.select(more, above.select(less, nearest.k($least_below)));
                    rest.lt(0.0).select(next, nearest)
                }
                Toward::Positive => {
                    let next = above.select(more, below.select(less, nearest.k($least)));
                    rest.gt(0.0).select(next, nearest)
                }
            }
        }
    };
}

step! { step_f32 F32 f32::from_bits(1), -f32::from_bits(1) }
step! { step_f64 F64 f64::from_bits(1), -f64::from_bits(1) }

/// A double in single precision.
#[inline(always)]
fn narrow<O: Ops, D: Direction>(x: F64<O>) -> F32<O> {
    let nearest = x.narrow();
    let rounded = step_f32::<O, D>(nearest, x - nearest.wide());
    match D::FLUSHES {
        true => x.abs().le(TINY).select(x.k(0.0).copysign(x).narrow(), rounded),
        false => rounded,
    }
}

/// The sum to nearest and what it lacks, exactly; NaN in place of that if a term is infinite, and an
/// infinity of the other sign if the sum is not finite although its terms are.
#[inline(always)]
fn two_sum<O: Ops>(a: F64<O>, b: F64<O>) -> (F64<O>, F64<O>) {
    let sum = a + b;
    let larger = a.abs().lt(b.abs());
    let (large, small) = (larger.select(b, a), larger.select(a, b));
    (sum, small - (sum - large))
}

/// The zero that a sum of two unlike zeros, or opposite numbers, gives: it is negative if that is the direction.
#[inline(always)]
fn zero_of_sum<O: Ops, D: Direction>(sum: F64<O>, a: F64<O>, b: F64<O>) -> F64<O> {
    match D::TOWARD {
        Toward::Negative => (sum.equals(0.0) & a.sign_differs(b)).select(sum.k(-0.0), sum),
        Toward::Zero | Toward::Positive => sum,
    }
}

/// A sum of two doubles.
#[inline(always)]
fn sum<O: Ops, D: Direction>(a: F64<O>, b: F64<O>) -> F64<O> {
    let (nearest, rest) = two_sum(a, b);
    zero_of_sum::<O, D>(step_f64::<O, D>(nearest, rest), a, b)
}
