// SPDX-License-Identifier: MIT OR Apache-2.0
//! The driver API's functions, by noun. Each validates, makes one runtime call, and returns.
//!
//! Every function here is called by the generated export of the same name. What they share is in
//! this file: arguments from C.
//!
//! The functions are `unsafe` with one contract, NVIDIA's: pointers are null or lead to what the
//! driver API's manual says. Null is checked, everything that can be checked is.

#![allow(non_snake_case, reason = "NVIDIA's names")]
#![allow(clippy::missing_safety_doc, reason = "the contract is the module's header")]

pub mod array;
pub mod attribute;
pub mod batch;
pub mod capture;
pub mod context;
pub mod copy;
pub mod device;
pub mod error;
pub mod event;
pub mod fill;
pub mod function;
pub mod graph;
pub mod init;
pub mod ipc;
pub mod jit;
pub mod launch;
pub mod legacy;
pub mod library;
pub mod link;
pub mod logs;
pub mod memory;
pub mod memory_op;
pub mod module;
pub mod node;
pub mod occupancy;
pub mod pointer;
pub mod pool;
pub mod proc_address;
pub mod stream;
pub mod texref;
pub mod texture;
pub mod virtual_memory;

use std::ffi::{CStr, c_char};
use std::sync::Arc;

use margay_runtime::device::Device;
use margay_runtime::runtime::Runtime;
use margay_runtime::stream::Stream;
use margay_runtime::{Context, CudaError, Handle, Result, initialized};

use crate::entry::default_stream;

/// The initialised runtime.
pub(crate) fn rt() -> Result<&'static Runtime> {
    initialized()
}

/// The initialised runtime, for calls that make, end or wait for contexts: from a host function of a
/// stream, which runs in that stream's order, they would wait for themselves.
pub(crate) fn rt_outside_callback() -> Result<&'static Runtime> {
    match margay_runtime::thread::in_callback() {
        true => Err(CudaError::NotPermitted),
        false => rt(),
    }
}

/// The current context.
pub(crate) fn current() -> Result<Arc<Context>> {
    rt()?.current()
}

/// The current context, if no kernel has faulted in it.
pub(crate) fn healthy() -> Result<Arc<Context>> {
    let context = current()?;
    context.check()?;
    Ok(context)
}

/// A device by its number from C.
pub(crate) fn device(dev: i32) -> Result<&'static Device> {
    let rt = rt()?;
    rt.device(u32::try_from(dev).map_err(|_| CudaError::InvalidDevice)?)
}

/// An object's handle, as it crosses the border in a pointer.
pub(crate) fn handle<T>(pointer: *mut T) -> Handle {
    pointer.addr() as Handle
}

/// A handle as a pointer, which is never dereferenced.
pub(crate) fn opaque<T>(handle: Handle) -> *mut T {
    std::ptr::without_provenance_mut(handle as usize)
}

/// The stream that the program means.
pub(crate) fn stream_of<T>(context: &Context, stream: *mut T) -> Result<Arc<Stream>> {
    context.stream(handle(stream), default_stream())
}

/// The default stream of this call.
pub(crate) fn own_stream(context: &Context) -> Result<Arc<Stream>> {
    context.stream(0, default_stream())
}

/// Writes a result. Null is CUDA_ERROR_INVALID_VALUE.
///
/// # Safety
/// Null, or writable.
pub(crate) unsafe fn give<T>(to: *mut T, value: T) -> Result<()> {
    if to.is_null() {
        return Err(CudaError::InvalidValue);
    }
    // SAFETY: not null, and the caller promises the rest.
    unsafe { to.write_unaligned(value) };
    Ok(())
}

/// Writes a result that the program may not want.
///
/// # Safety
/// Null, or writable.
pub(crate) unsafe fn offer<T>(to: *mut T, value: T) {
    if !to.is_null() {
        // SAFETY: not null, and the caller promises the rest.
        unsafe { to.write_unaligned(value) };
    }
}

/// CUDA_ERROR_INVALID_VALUE for null, before anything is done.
pub(crate) fn required<T>(pointer: *const T) -> Result<()> {
    if pointer.is_null() { Err(CudaError::InvalidValue) } else { Ok(()) }
}

/// A name.
///
/// # Safety
/// Null, or NUL-terminated.
pub(crate) unsafe fn text<'a>(name: *const c_char) -> Result<&'a str> {
    required(name)?;
    // SAFETY: not null, and the caller promises the rest.
    let name = unsafe { CStr::from_ptr(name) };
    name.to_str().map_err(|_| CudaError::InvalidValue)
}
