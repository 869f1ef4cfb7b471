// SPDX-License-Identifier: MIT OR Apache-2.0
//! The approximate operations (PTX ISA, `rcp.approx`, `sqrt.approx`, `rsqrt.approx`, `div.approx`,
//! `div.full`, `ex2`, `lg2`, `sin`, `cos`, `tanh`).
//!
//! PTX bounds their errors and fixes their special values; the bits in between are the hardware's.
//! Here each is a formula of `margay-math`. Special values are those that an H200 gave
//! (tests/vectors/h200/approx_specials.txt.zst), and so are results of and from subnormals.
//!
//! Limit: last bits of other results differ from a card's, as they differ between cards.

use margay_math::value::{F32, F64};
use margay_math::{Scalar, approx, single as formulas, units};

use super::half_float::{NAN, bf16, f16};

#[inline(always)]
fn lane(a: u32) -> F32<Scalar> {
    F32 { o: Scalar, v: f32::from_bits(a) }
}

macro_rules! operations {
    ($($(#[$doc:meta])* $name:ident;)*) => { $(
        $(#[$doc])*
        #[inline(always)]
        pub fn $name(a: u32) -> u32 {
            approx::$name(lane(a)).v.to_bits()
        }
    )* };
}

/// Operations without `.ftz` that have a card's own bits where something is subnormal.
macro_rules! checked {
    ($($(#[$doc:meta])* $name:ident ($($arg:ident),+), $checked:ident, $slow:ident;)*) => { $(
        $(#[$doc])*
        #[inline(always)]
        pub fn $name<const FTZ: bool>($($arg: u32),+) -> u32 {
            if FTZ {
                return approx::$name::<Scalar, true>($(lane($arg)),+).v.to_bits();
            }
            let checked = approx::$checked($(lane($arg)),+);
            match checked.slow.v {
                true => units::$slow(($(f32::from_bits($arg)),+)).to_bits(),
                false => checked.value.v.to_bits(),
            }
        }
    )* };
}

checked! {
    /// `rcp.approx.f32`.
    rcp(a), rcp_checked, reciprocal;
    /// `sqrt.approx.f32`.
    sqrt(a), sqrt_checked, root;
    /// `rsqrt.approx.f32`.
    rsqrt(a), rsqrt_checked, inverse_root;
    /// `ex2.approx.f32`.
    ex2(a), ex2_checked, power;
    /// `lg2.approx.f32`.
    lg2(a), lg2_checked, logarithm;
    /// `div.approx.f32`.
    div(a, b), div_checked, quotient;
    /// `div.full.f32`.
    div_full(a, b), div_full_checked, full_quotient;
}

operations! {
    sin;
    cos;
    tanh;
}

#[inline(always)]
fn exp2(x: f32) -> f32 {
    formulas::exponential::exp2f(F32 { o: Scalar, v: x }).v
}
#[inline(always)]
fn tanh_f32(x: f32) -> f32 {
    approx::tanh(F32 { o: Scalar, v: x }).v
}
/// For halves: what lies below 2^-23 is lost first.
#[inline(always)]
fn exp2_of_half(x: f32) -> f32 {
    exp2(if x.abs() < 2f32.powi(-23) { 0.0 } else { x })
}
/// As an H200 did for every argument, the power is truncated, not rounded.
#[inline(always)]
pub fn ex2_f16<const FTZ: bool>(a: u32) -> u32 {
    let power = exp2_of_half(f16::input::<FTZ>(a));
    let nearest = f16::output::<false, false>(power);
    // From 2^16 on it is infinite; below, no power of an f16 rounds to infinity.
    let above = power.is_finite() && f16::input::<false>(nearest) > power && nearest < 0x7c00;
    f16::finish::<FTZ, false>(nearest - u32::from(above))
}
/// `ex2.approx.ftz.bf16`: PTX has it with `.ftz` only. Truncated as [`ex2_f16`] is.
#[inline(always)]
pub fn ex2_bf16<const FTZ: bool>(a: u32) -> u32 {
    let power = exp2_of_half(bf16::input::<FTZ>(a));
    if power.is_nan() { NAN } else { bf16::finish::<FTZ, false>(power.to_bits() >> 16) }
}
#[inline(always)]
pub fn tanh_f16(a: u32) -> u32 {
    f16::output::<false, false>(tanh_f32(f16::input::<false>(a)))
}
#[inline(always)]
pub fn tanh_bf16(a: u32) -> u32 {
    bf16::output::<false, false>(tanh_f32(bf16::input::<false>(a)))
}

#[inline(always)]
fn lane_f64(a: u64) -> F64<Scalar> {
    F64 { o: Scalar, v: f64::from_bits(a) }
}
/// `rcp.approx.ftz.f64`.
#[inline(always)]
pub fn rcp_f64(a: u64) -> u64 {
    approx::rcp_f64(lane_f64(a)).v.to_bits()
}
/// `rsqrt.approx.ftz.f64`.
#[inline(always)]
pub fn rsqrt_f64_ftz(a: u64) -> u64 {
    approx::rsqrt_f64_ftz(lane_f64(a)).v.to_bits()
}
/// `rsqrt.approx.f64`.
#[inline(always)]
pub fn rsqrt_f64(a: u64) -> u64 {
    let checked = approx::rsqrt_f64_checked(lane_f64(a));
    match checked.slow.v {
        true => units::inverse_root_f64(f64::from_bits(a)).to_bits(),
        false => checked.value.v.to_bits(),
    }
}

#[cfg(test)]
mod tests;
