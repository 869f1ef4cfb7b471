// SPDX-License-Identifier: MIT OR Apache-2.0
//! The subcommands: each reads its arguments, asks the toolchain or the libraries, and prints.

pub mod cc;
pub mod check;
mod child;
pub mod compiler;
pub mod diff;
mod embedded;
pub mod explain;
pub mod gpu_name;
pub mod gpus;
pub mod launch;
pub mod lsp;
pub mod opencl;
pub mod profile;
pub mod ptx;
pub mod run;
mod sanitize;
pub mod toolkit;
