// SPDX-License-Identifier: MIT OR Apache-2.0
//! OpenCL C to PTX.
//!
//! A program is compiled to LLVM IR (an [`Object`], which carries what kernels and their arguments are), and
//! objects are linked with the built-in functions into PTX (an [`Executable`]). Both steps are clang's; the
//! built-in functions are this crate's (`library/`) and libclc's.
//!
//! Invariant: logs are clang's own words, and what clang overlooks (`recursion.rs`) reads like them. Limit: clang 17 or newer and libclc of the same version are needed
//! at run time.

mod cache;
mod called_kernels;
#[cfg(test)]
mod census;
mod clang;
mod compile;
mod library;
mod metadata;
mod options;
mod range;
mod recursion;
mod stored;
mod undefined;

pub use compile::{Executable, Object, SOURCE_NAME, available, compile, link, warm};
pub use metadata::{Argument, Kernel, Space};
pub use options::{BadOption, Options, Standard};
pub use range::Range;
pub use stored::build;

/// What can go wrong in a build.
#[derive(Clone, Debug, thiserror::Error)]
pub enum BuildError {
    /// The program is wrong; the log is clang's.
    #[error("{0}")]
    Program(String),
    /// No compiler, or no place to work in; the text says what to do.
    #[error("{0}")]
    Setup(String),
}
