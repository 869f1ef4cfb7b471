// SPDX-License-Identifier: MIT OR Apache-2.0
//! Single- and double-precision arithmetic (PTX ISA, "Floating Point Instructions").
//!
//! NaN results: f32 gives the canonical NaN `0x7fffffff` whatever came in. f64 keeps the payload
//! of a NaN operand, quieted, and generates `0xfff8000000000000`; which of several operands it
//! hands on is not in the manual: see [`double::quiet`].
//! Subnormals are kept unless `FTZ`, which turns subnormal inputs and results into zeros of the
//! same sign. `SAT` clamps to [0, 1] and gives +0 for NaN.

pub mod double;
pub mod single;

#[cfg(test)]
mod tests;
