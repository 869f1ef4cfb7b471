// SPDX-License-Identifier: MIT OR Apache-2.0
//! Events and the time between them.

use std::ffi::c_uint;

use super::required;
use crate::context::ensure;
use crate::cu;
use crate::error::{Error, Result, check};
use crate::sys::*;

pub unsafe fn cudaEventCreate(to: *mut cudaEvent_t) -> Result<()> {
    cudaEventCreateWithFlags(to, cudaEventDefault)
}

pub unsafe fn cudaEventCreateWithFlags(to: *mut cudaEvent_t, flags: c_uint) -> Result<()> {
    required(to)?;
    ensure()?;
    check(cu::cuEventCreate(to.cast(), flags))
}

pub unsafe fn cudaEventDestroy(event: cudaEvent_t) -> Result<()> {
    ensure()?;
    if event.is_null() {
        return Err(Error(cudaErrorInvalidResourceHandle));
    }
    check(cu::cuEventDestroy_v2(event.cast()))
}

pub unsafe fn cudaEventRecord(event: cudaEvent_t, stream: cudaStream_t) -> Result<()> {
    ensure()?;
    check(cu::cuEventRecord(event.cast(), stream.cast()))
}

pub unsafe fn cudaEventRecordWithFlags(
    event: cudaEvent_t,
    stream: cudaStream_t,
    flags: c_uint,
) -> Result<()> {
    ensure()?;
    check(cu::cuEventRecordWithFlags(event.cast(), stream.cast(), flags))
}

pub unsafe fn cudaEventQuery(event: cudaEvent_t) -> Result<()> {
    ensure()?;
    check(cu::cuEventQuery(event.cast()))
}

pub unsafe fn cudaEventSynchronize(event: cudaEvent_t) -> Result<()> {
    ensure()?;
    check(cu::cuEventSynchronize(event.cast()))
}

pub unsafe fn cudaEventElapsedTime(
    milliseconds: *mut f32,
    start: cudaEvent_t,
    end: cudaEvent_t,
) -> Result<()> {
    required(milliseconds)?;
    ensure()?;
    check(cu::cuEventElapsedTime_v2(milliseconds, start.cast(), end.cast()))
}

#[cfg(cudart12)]
pub unsafe fn cudaEventElapsedTime_v2(
    milliseconds: *mut f32,
    start: cudaEvent_t,
    end: cudaEvent_t,
) -> Result<()> {
    cudaEventElapsedTime(milliseconds, start, end)
}
