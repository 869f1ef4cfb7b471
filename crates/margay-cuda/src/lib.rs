// SPDX-License-Identifier: MIT OR Apache-2.0
//! `libcuda.so.1`: NVIDIA's driver API on the virtual GPU.
//!
//! The C exports are generated (`build.rs`) from the bindings' facts: those that [`entry`] lists call
//! the function of the same name in [`api`], all others return CUDA_ERROR_NOT_SUPPORTED and say so once.
//!
//! Invariant: no panic crosses the border to C, no handle is dereferenced, and enumerations are integers.

mod api;
mod entry;

/// The C types.
#[allow(
    non_camel_case_types,
    non_upper_case_globals,
    non_snake_case,
    dead_code,
    clippy::all,
    reason = "generated, with NVIDIA's names"
)]
mod sys {
    include!(concat!(env!("OUT_DIR"), "/types.rs"));
}

/// The C functions.
#[allow(
    non_snake_case,
    dead_code,
    unused_imports,
    clippy::all,
    clippy::missing_safety_doc,
    reason = "generated, with NVIDIA's names; their contracts are NVIDIA's"
)]
mod exports {
    use crate::sys::*;
    include!(concat!(env!("OUT_DIR"), "/exports.rs"));

    /// An exported function's address.
    #[derive(Clone, Copy)]
    pub struct Address(pub *const ::core::ffi::c_void);
    // SAFETY: the address of code, which nobody writes.
    unsafe impl Sync for Address {}

    include!(concat!(env!("OUT_DIR"), "/tables.rs"));
}
