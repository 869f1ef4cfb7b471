// SPDX-License-Identifier: MIT OR Apache-2.0
//! The intrinsics `__sinf`, `__powf` and their like. Those without a faster way here are their
//! accurate twins.

use crate::approx;
use crate::ops::Ops;
use crate::single::exponential::exp2f;
use crate::single::logarithm::log2f_approx;
use crate::value::F32;

/// By way of the logarithm, so a negative base gives NaN as on a card.
#[inline(always)]
pub fn fast_powf<O: Ops>(x: F32<O>, y: F32<O>) -> F32<O> {
    exp2f(y * log2f_approx(x))
}

#[inline(always)]
pub fn fast_tanf<O: Ops>(x: F32<O>) -> F32<O> {
    (approx::sin(x) / approx::cos(x)).canonical()
}

#[inline(always)]
pub fn fast_sincosf<O: Ops>(x: F32<O>) -> (F32<O>, F32<O>) {
    (approx::sin(x), approx::cos(x))
}

/// Clamps to [0, 1]; NaN and -0 become +0.
#[inline(always)]
pub fn saturatef<O: Ops>(x: F32<O>) -> F32<O> {
    x.gt(0.0).select(x.min(1.0), 0.0)
}
