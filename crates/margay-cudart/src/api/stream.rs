// SPDX-License-Identifier: MIT OR Apache-2.0
//! Streams, and host functions in them.

use std::ffi::{c_int, c_uint, c_ulonglong, c_void};

use super::{device_address, give, required};
use crate::context::ensure;
use crate::cu;
use crate::error::{Error, Result, check};
use crate::sys::*;

pub unsafe fn cudaStreamCreate(to: *mut cudaStream_t) -> Result<()> {
    cudaStreamCreateWithFlags(to, cudaStreamDefault)
}

pub unsafe fn cudaStreamCreateWithFlags(to: *mut cudaStream_t, flags: c_uint) -> Result<()> {
    required(to)?;
    ensure()?;
    check(cu::cuStreamCreate(to.cast(), flags))
}

pub unsafe fn cudaStreamCreateWithPriority(
    to: *mut cudaStream_t,
    flags: c_uint,
    priority: c_int,
) -> Result<()> {
    required(to)?;
    ensure()?;
    check(cu::cuStreamCreateWithPriority(to.cast(), flags, priority))
}

pub unsafe fn cudaStreamDestroy(stream: cudaStream_t) -> Result<()> {
    ensure()?;
    if stream.is_null() {
        return Err(Error(cudaErrorInvalidResourceHandle));
    }
    check(cu::cuStreamDestroy_v2(stream.cast()))
}

pub unsafe fn cudaStreamQuery(stream: cudaStream_t) -> Result<()> {
    ensure()?;
    check(cu::cuStreamQuery(stream.cast()))
}

pub unsafe fn cudaStreamSynchronize(stream: cudaStream_t) -> Result<()> {
    ensure()?;
    check(cu::cuStreamSynchronize(stream.cast()))
}

pub unsafe fn cudaStreamWaitEvent(
    stream: cudaStream_t,
    event: cudaEvent_t,
    flags: c_uint,
) -> Result<()> {
    ensure()?;
    check(cu::cuStreamWaitEvent(stream.cast(), event.cast(), flags))
}

/// A program's callback, until it is called.
struct Callback {
    function: unsafe extern "C" fn(cudaStream_t, cudaError_t, *mut c_void),
    data: *mut c_void,
}

/// The driver's form of the callback: the two differ in the type of the status only.
unsafe extern "C" fn call(stream: cu::CUstream, status: cu::CUresult, data: *mut c_void) {
    // SAFETY: libcuda passes what cudaStreamAddCallback gave it, once.
    let callback = Box::from_raw(data.cast::<Callback>());
    // SAFETY: the program gave this function for this purpose.
    (callback.function)(stream.cast(), status, callback.data);
}

pub unsafe fn cudaStreamAddCallback(
    stream: cudaStream_t,
    callback: cudaStreamCallback_t,
    data: *mut c_void,
    flags: c_uint,
) -> Result<()> {
    let function = callback.ok_or(Error::INVALID_VALUE)?;
    ensure()?;
    let ours = Box::into_raw(Box::new(Callback { function, data }));
    let outcome = check(cu::cuStreamAddCallback(stream.cast(), Some(call), ours.cast(), flags));
    if outcome.is_err() {
        // SAFETY: libcuda refused it, so it is still ours.
        drop(Box::from_raw(ours));
    }
    outcome
}

pub unsafe fn cudaLaunchHostFunc(
    stream: cudaStream_t,
    function: cudaHostFn_t,
    data: *mut c_void,
) -> Result<()> {
    if function.is_none() {
        return Err(Error::INVALID_VALUE);
    }
    ensure()?;
    check(cu::cuLaunchHostFunc(stream.cast(), function, data))
}

pub unsafe fn cudaStreamGetFlags(stream: cudaStream_t, flags: *mut c_uint) -> Result<()> {
    required(flags)?;
    ensure()?;
    check(cu::cuStreamGetFlags(stream.cast(), flags))
}

pub unsafe fn cudaStreamGetPriority(stream: cudaStream_t, priority: *mut c_int) -> Result<()> {
    required(priority)?;
    ensure()?;
    check(cu::cuStreamGetPriority(stream.cast(), priority))
}

pub unsafe fn cudaStreamGetId(stream: cudaStream_t, id: *mut c_ulonglong) -> Result<()> {
    required(id)?;
    ensure()?;
    check(cu::cuStreamGetId(stream.cast(), id))
}

pub unsafe fn cudaStreamGetDevice(stream: cudaStream_t, to: *mut c_int) -> Result<()> {
    required(to)?;
    ensure()?;
    let mut device = 0;
    check(cu::cuStreamGetDevice(stream.cast(), &mut device))?;
    give(to, device)
}

pub unsafe fn cudaStreamAttachMemAsync(
    stream: cudaStream_t,
    at: *mut c_void,
    length: usize,
    flags: c_uint,
) -> Result<()> {
    ensure()?;
    check(cu::cuStreamAttachMemAsync(stream.cast(), device_address(at), length, flags))
}

pub unsafe fn cudaStreamIsCapturing(
    stream: cudaStream_t,
    status: *mut cudaStreamCaptureStatus,
) -> Result<()> {
    required(status)?;
    ensure()?;
    check(cu::cuStreamIsCapturing(stream.cast(), status))
}

pub unsafe fn cudaStreamCopyAttributes(to: cudaStream_t, from: cudaStream_t) -> Result<()> {
    ensure()?;
    check(cu::cuStreamCopyAttributes(to.cast(), from.cast()))
}

pub unsafe fn cudaStreamGetAttribute(
    stream: cudaStream_t,
    attribute: cudaLaunchAttributeID,
    to: *mut cudaLaunchAttributeValue,
) -> Result<()> {
    required(to)?;
    ensure()?;
    check(cu::cuStreamGetAttribute(stream.cast(), attribute, to.cast()))
}

pub unsafe fn cudaStreamSetAttribute(
    stream: cudaStream_t,
    attribute: cudaLaunchAttributeID,
    value: *const cudaLaunchAttributeValue,
) -> Result<()> {
    required(value)?;
    ensure()?;
    check(cu::cuStreamSetAttribute(stream.cast(), attribute, value.cast()))
}
