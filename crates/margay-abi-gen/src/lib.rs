// SPDX-License-Identifier: MIT OR Apache-2.0
//! margay's CUDA ABI, generated when margay is built: Rust types and exports for the shared libraries, and
//! C headers for programs. The facts come from the `sys` modules of the `cudarc` crate, which cover every
//! CUDA version from 11.4 on; nothing that is written here is committed anywhere.
//!
//! Use from a `build.rs`:
//!
//! ```no_run
//! use margay_abi_gen::{Library, rust};
//! let model = Library::Driver.source().unwrap().union(12000..).unwrap();
//! std::fs::write("types.rs", rust::types(&model)).unwrap();
//! ```
//!
//! Invariant: a declaration that the generator does not understand stops the build; none is left out.

pub mod c;
pub mod condition;
pub mod model;
pub mod names;
pub mod opencl;
pub mod rust;
pub mod source;

pub use c::c_headers;
pub use condition::Version;
pub use source::{Source, SourceError};
use std::path::{Path, PathBuf};

/// The library whose ABI is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Library {
    /// `libcuda.so.1`.
    Driver,
    /// `libcudart.so.12` and `.13`.
    Runtime,
}

impl Library {
    /// The file that the facts come from; a `build.rs` may name it in `rerun-if-changed`.
    pub fn path(self) -> PathBuf {
        let api = match self {
            Library::Driver => "driver",
            Library::Runtime => "runtime",
        };
        Path::new(env!("MARGAY_CUDARC_ROOT")).join("src").join(api).join("sys/mod.rs")
    }

    /// Reads the bindings.
    pub fn source(self) -> Result<Source, SourceError> {
        Source::read(&self.path())
    }
}
