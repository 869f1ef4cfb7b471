// SPDX-License-Identifier: MIT OR Apache-2.0
//! `libcudart.so.12` and `libcudart.so.13`: NVIDIA's runtime API, made of calls of libcuda's public functions.
//!
//! The C exports are generated (`build.rs`) from the bindings' facts: those that [`entry`] lists call
//! the function of the same name in [`api`], all others return cudaErrorNotSupported and say so once.
//! What nvcc and clang call on their own account (`__cuda...`) is in [`compiler`].
//!
//! Invariant: no panic crosses the border to C, enumerations are integers, and the only state kept here
//! is what the runtime adds to the driver: registered code, a thread's device and its last error.

mod api;
mod compiler;
mod context;
mod driver;
mod entry;
mod error;
mod registry;

/// The C types of the runtime API.
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

/// The driver API's types, and functions that call libcuda.
#[allow(
    non_camel_case_types,
    non_upper_case_globals,
    non_snake_case,
    dead_code,
    clippy::all,
    reason = "generated, with NVIDIA's names"
)]
mod cu {
    include!(concat!(env!("OUT_DIR"), "/driver_types.rs"));
    include!(concat!(env!("OUT_DIR"), "/driver_client.rs"));
}

/// The C functions.
#[allow(
    non_snake_case,
    clippy::all,
    clippy::missing_safety_doc,
    reason = "generated, with NVIDIA's names; their contracts are NVIDIA's"
)]
mod exports {
    use crate::sys::*;
    include!(concat!(env!("OUT_DIR"), "/exports.rs"));
}
