// SPDX-License-Identifier: MIT OR Apache-2.0
//! OpenCL on the virtual GPU: a driver that the ICD loader finds (`margay run` sets it up, or an `.icd` file
//! names this library).
//!
//! The C exports and the loader's dispatch table are generated (`build.rs`); those that [`entry`] lists call
//! the function of the same name in [`api`], all others refuse. Commands and events are in [`command`],
//! objects and their reference counts in [`object`].
//!
//! Invariant: no panic crosses the border to C, and no handle is dereferenced: the loader reads the dispatch
//! table through it, we look it up.

mod answer;
mod api;
mod command;
mod context;
mod device;
mod entry;
mod image;
mod kernel;
mod memory;
mod ndrange;
mod object;
mod program;
mod queue;
mod sampler;
mod sources;
mod transfer;

/// What every function returns inside: an OpenCL error code.
type Result<T> = std::result::Result<T, opencl_sys::cl_int>;

/// The C functions.
#[allow(
    non_snake_case,
    dead_code,
    unused_imports,
    clippy::all,
    clippy::missing_safety_doc,
    reason = "generated, with Khronos's names; their contracts are Khronos's"
)]
mod exports {
    use libc::{c_char, c_void, intptr_t, size_t};
    use opencl_sys::cl_d3d10::*;
    use opencl_sys::cl_d3d11::*;
    use opencl_sys::cl_dx9_media_sharing::*;
    use opencl_sys::cl_egl::*;
    use opencl_sys::cl_icd::cl_icd_dispatch;
    use opencl_sys::*;
    include!(concat!(env!("OUT_DIR"), "/exports.rs"));

    /// An exported function's address.
    #[derive(Clone, Copy)]
    pub struct Address(pub *const ::core::ffi::c_void);
    // SAFETY: the address of code, which nobody writes.
    unsafe impl Sync for Address {}

    include!(concat!(env!("OUT_DIR"), "/tables.rs"));
}
