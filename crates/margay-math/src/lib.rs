// SPDX-License-Identifier: MIT OR Apache-2.0
//! The device library's functions and PTX's `.approx` operations, each written once.
//!
//! A function is a formula over [`Ops`]: branch-free operations that are specified to the bit. An
//! engine that implements them computes the same bits as every other one. [`Scalar`] is one lane on
//! the host; [`planes`] loops over it for a warp, compiled for the processor's vectors.
//!
//! # For a compiler
//!
//! 1. Implement [`Ops`] for a handle of the instruction builder, with a vector of lanes as each
//!    type.
//! 2. Find the function: [`Function::by_name`] knows `__nv_expf` and the like, and PTX's mnemonics
//!    (`ex2.approx.ftz.f32`). [`Function::ALL`] lists them all, with [`Function::args`] and
//!    [`Function::rets`].
//! 3. [`emit`] writes the code. Where [`Emitted::slow`] is a mask, lanes that have it set (and are
//!    active) hold nothing of use: code that is rarely reached tests whether there are any, and has
//!    [`planes::slow`] compute them from the arguments.
//!
//! `Function::by_name` is `None` for functions that have no formula here: integer functions that are an
//! operation or a few, and those computed lane by lane on the host.
//!
//! # What results are
//!
//! Within the errors of the CUDA C++ Programming Guide's appendix on mathematical functions, and
//! PTX's for `.approx`; `docs/math-accuracy.md` has the measured ones. A NaN result is `7fffffff` in
//! single precision and `fff8000000000000` in double, unless PTX has it otherwise. Subnormals are
//! not flushed, except by `.ftz`.
//!
//! # Limits
//!
//! Coefficients are polynomials of our own (`coefficients.py`: minimax ones by Sollya's `fpminimax`, or
//! through Chebyshev's nodes). Last bits differ from a card's.

// Fitted coefficients lie near mathematical constants and are not those.
#![allow(clippy::approx_constant)]

pub mod approx;
pub mod double;
pub mod ops;
pub mod planes;
mod reduce;
pub mod remainder;
pub mod rounded;
mod scalar;
pub mod simd;
pub mod single;
mod table;
pub mod units;
pub mod value;

pub use ops::Ops;
pub use scalar::Scalar;
pub use table::{Checked, Emitted, Function, Type, Value, emit};
