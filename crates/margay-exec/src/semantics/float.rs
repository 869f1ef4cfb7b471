// SPDX-License-Identifier: MIT OR Apache-2.0
//! Single- and double-precision arithmetic (PTX ISA, "Floating Point Instructions").
//!
//! NaN results: f32 gives the canonical NaN `0x7fffffff` whatever came in. f64 keeps the payload
//! of its first NaN operand, quieted, and generates `0xfff8000000000000`.
//! Subnormals are kept unless `FTZ`, which turns subnormal inputs and results into zeros of the
//! same sign. `SAT` clamps to [0, 1] and gives +0 for NaN.
//!
//! Limit: which of several NaN operands an f64 operation hands on is not in the manual; see
//! [`double::quiet`].

pub mod double;
pub mod single;

#[cfg(test)]
mod tests;
