// SPDX-License-Identifier: MIT OR Apache-2.0
//! The log of errors and warnings, which is the driver's.
#![cfg(cudart13)]

use std::ffi::{c_char, c_uint, c_void};

use crate::cu;
use crate::driver;
use crate::error::{Result, check};
use crate::sys::*;

pub unsafe fn cudaLogsRegisterCallback(
    callback: cudaLogsCallback_t,
    data: *mut c_void,
    to: *mut cudaLogsCallbackHandle,
) -> Result<()> {
    driver::init()?;
    check(cu::cuLogsRegisterCallback(callback, data, to.cast()))
}

pub unsafe fn cudaLogsUnregisterCallback(callback: cudaLogsCallbackHandle) -> Result<()> {
    driver::init()?;
    check(cu::cuLogsUnregisterCallback(callback.cast()))
}

pub unsafe fn cudaLogsCurrent(to: *mut cudaLogIterator, flags: c_uint) -> Result<()> {
    driver::init()?;
    check(cu::cuLogsCurrent(to, flags))
}

pub unsafe fn cudaLogsDumpToFile(
    iterator: *mut cudaLogIterator,
    path: *const c_char,
    flags: c_uint,
) -> Result<()> {
    driver::init()?;
    check(cu::cuLogsDumpToFile(iterator, path, flags))
}

pub unsafe fn cudaLogsDumpToMemory(
    iterator: *mut cudaLogIterator,
    buffer: *mut c_char,
    size: *mut usize,
    flags: c_uint,
) -> Result<()> {
    driver::init()?;
    check(cu::cuLogsDumpToMemory(iterator, buffer, size, flags))
}
