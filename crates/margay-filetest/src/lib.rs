// SPDX-License-Identifier: MIT OR Apache-2.0
//! The filetest harness: a file of PTX says in its comments how it is launched and what must come
//! of it. `tests/filetests/README.md` is the manual.
//!
//! Invariant: a file without an expectation is an error, and so is a directory without files.

pub mod annotation;
pub mod compile;
pub mod device;
pub mod directive;
pub mod element;
pub mod fuzz;
pub mod suite;
