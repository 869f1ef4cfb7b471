// SPDX-License-Identifier: MIT OR Apache-2.0
//! A differential fuzzer: random kernels in PTX that must leave the same bits, and the same fault, in
//! the interpreter and in compiled code.
//!
//! Instructions come from the table of PTX's forms itself ([`palette`]), statements and control flow
//! from [`generate`], and what fails is cut down by [`minimise`] and printed as a filetest.
//!
//! Limit: kernels are deterministic by construction. Schedules, spin-waits and grid-wide barriers are
//! for `margay-exec`'s own tests.

mod access;
pub mod compare;
pub mod generate;
pub mod kernel;
mod leave;
pub mod minimise;
pub mod palette;
pub mod random;
