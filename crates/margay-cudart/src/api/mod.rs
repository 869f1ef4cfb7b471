// SPDX-License-Identifier: MIT OR Apache-2.0
//! The runtime API's functions, one file a noun. Each checks what libcuda does not know of, calls libcuda,
//! and returns.
//!
//! Invariant: names and signatures are NVIDIA's; rustc compares them with the generated exports. All are
//! `unsafe`, since they trust the caller's pointers as the C contract says.
#![allow(non_snake_case, non_upper_case_globals, reason = "NVIDIA's names")]
#![allow(unsafe_op_in_unsafe_fn, reason = "each function is one call with the caller's pointers")]

pub mod array;
pub mod copy;
pub mod device;
pub mod error;
pub mod event;
pub mod fill;
pub mod function;
pub mod graph;
pub mod ipc;
pub mod launch;
pub mod library;
pub mod logs;
pub mod memory;
pub mod node;
pub mod occupancy;
pub mod pool;
pub mod profiler;
pub mod properties;
pub mod stream;
pub mod symbol;
pub mod texture;

use crate::cu;
use crate::entry;
use crate::error::{Error, Result};
use crate::sys;

/// An output that must not be null.
fn required<T>(pointer: *const T) -> Result<()> {
    if pointer.is_null() { Err(Error::INVALID_VALUE) } else { Ok(()) }
}

/// Writes an output that must not be null.
///
/// # Safety
/// The pointer is null or may be written.
unsafe fn give<T>(to: *mut T, value: T) -> Result<()> {
    required(to)?;
    // SAFETY: not null, and as the caller says.
    unsafe { to.write(value) };
    Ok(())
}

/// The address of device memory in libcuda's type.
fn device_address<T>(pointer: *const T) -> cu::CUdeviceptr {
    pointer.expose_provenance() as cu::CUdeviceptr
}

/// The pointer that the program sees for an address in device memory.
fn pointer<T>(address: cu::CUdeviceptr) -> *mut T {
    std::ptr::with_exposed_provenance_mut(address as usize)
}

/// The stream that functions without a stream parameter work in.
fn default_stream() -> cu::CUstream {
    let number = if entry::default_is_per_thread() { entry::PER_THREAD } else { 0 };
    std::ptr::without_provenance_mut(number)
}

/// Whether a call comes from inside the `_ptds` or `_ptsz` variant, for a stream from elsewhere.
fn elsewhere(stream: sys::cudaStream_t) -> cu::CUstream {
    if entry::default_is_per_thread() && stream.is_null() {
        default_stream()
    } else {
        stream.cast()
    }
}
