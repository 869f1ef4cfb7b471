// SPDX-License-Identifier: MIT OR Apache-2.0
//! PTX's approximate operations in single precision.
//!
//! Special values are those that an H200 gave; other results are within PTX's bounds.

use crate::ops::Ops;
use crate::single;
use crate::value::F32;

/// A subnormal becomes zero of the same sign.
#[inline(always)]
pub fn flush<O: Ops>(x: F32<O>) -> F32<O> {
    let zero = (x.bits() & 0x8000_0000u32).as_float();
    x.abs().lt(f32::MIN_POSITIVE).select(zero, x)
}

#[inline(always)]
fn flushed<O: Ops, const FTZ: bool>(x: F32<O>) -> F32<O> {
    if FTZ { flush(x) } else { x }
}

/// Correctly rounded.
#[inline(always)]
pub fn rcp<O: Ops, const FTZ: bool>(x: F32<O>) -> F32<O> {
    let x = flushed::<O, FTZ>(x);
    flushed::<O, FTZ>((x.k(1.0) / x).canonical())
}

/// Correctly rounded.
#[inline(always)]
pub fn sqrt<O: Ops, const FTZ: bool>(x: F32<O>) -> F32<O> {
    flushed::<O, FTZ>(x).sqrt().canonical()
}

#[inline(always)]
pub fn ex2<O: Ops, const FTZ: bool>(x: F32<O>) -> F32<O> {
    flushed::<O, FTZ>(single::exponential::exp2f(flushed::<O, FTZ>(x)))
}

#[inline(always)]
pub fn lg2<O: Ops, const FTZ: bool>(x: F32<O>) -> F32<O> {
    flushed::<O, FTZ>(single::logarithm::log2f(flushed::<O, FTZ>(x)))
}
