// SPDX-License-Identifier: MIT OR Apache-2.0
//! What one lane computes: pure functions from operand bits to result bits, one for each op row
//! that touches neither memory nor other lanes.
//!
//! - Operands and results are *bit patterns*: `u32` for class W (narrow values zero-extended, and
//!   narrow operands may have garbage above their width), `u64` for class D, `bool` for class P.
//! - Modules named `w16`, `w32`, `w64` (integers) and `f16`, `bf16`, `f32`, `f64` (floats) hold one
//!   function a row, named as the row's mnemonic.
//! - What an attribute decides (rounding, ftz, sat) is a const parameter, so that an engine picks
//!   one monomorphic function when it decodes and the lane loop stays free of branches.
//!
//! Invariant: total functions; no input panics, no host floating-point state is read or changed.
//! Results do not depend on the host: fused operations round once on every CPU.

pub mod approx;
pub mod bits;
pub mod compare;
pub mod convert;
pub mod eval;
pub mod float;
pub mod half_float;
pub mod int;
pub mod libdevice;
pub mod logic;
pub mod rounding;
