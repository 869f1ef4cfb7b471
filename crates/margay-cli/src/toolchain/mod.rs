// SPDX-License-Identifier: MIT OR Apache-2.0
//! From CUDA C++ to an executable, with clang and nothing of NVIDIA's: the device pass makes PTX for each
//! architecture, our container holds it, the host pass embeds the container, and clang links.
//!
//! Invariant: clang's diagnostics reach the user as clang wrote them, once.

pub mod arch;
pub mod build;
pub mod cache;
pub mod clang;
pub mod container;
pub mod device;
mod device_launch;
pub mod device_link;
pub mod flags;
pub mod headers;
mod judge;
pub mod libraries;
#[cfg(test)]
mod nvcc_options;
pub mod options;
pub mod ptx_edit;
mod ptxas;
mod resources;
pub mod response;

pub use build::build;
pub use options::{Options, Phase};
