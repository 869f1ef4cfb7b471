// SPDX-License-Identifier: MIT OR Apache-2.0
//! From source text to a tree: libclang parses, we copy what the rules need.

pub(crate) mod cx;
pub mod diagnostics;
pub mod invocation;
pub mod library;
pub mod precompiled;
pub mod unit;

pub use diagnostics::{Category, Diagnostic, Level};
pub use invocation::{Environment, Language, Pass};
pub use unit::Unit;
