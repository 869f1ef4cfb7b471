// SPDX-License-Identifier: MIT OR Apache-2.0
//! Initialisation, the version, and the profiler's switches.

use std::ffi::{c_char, c_int, c_uint};

use margay_runtime::{CudaError, Result};

use super::{give, rt};
use crate::sys::*;

/// The CUDA version that the driver says it is made for.
pub const VERSION: c_int = 13000;

pub unsafe fn cuInit(flags: c_uint) -> Result<()> {
    if flags != 0 {
        return Err(CudaError::InvalidValue);
    }
    // Device code asks the device run time for what the driver API answers.
    margay_runtime::device_runtime::set_driver(VERSION, super::attribute::value);
    margay_runtime::init().map(drop)
}

pub unsafe fn cuDriverGetVersion(version: *mut c_int) -> Result<()> {
    unsafe { give(version, VERSION) }
}

/// Removed from the driver API's manual; the old answer.
pub unsafe fn cuProfilerInitialize(
    _config: *const c_char,
    _output: *const c_char,
    _mode: CUoutput_mode,
) -> Result<()> {
    Err(CudaError::NotSupported)
}

/// Without a profiler attached, a card's driver does nothing either.
pub unsafe fn cuProfilerStart() -> Result<()> {
    rt()?.current().map(drop)
}

pub unsafe fn cuProfilerStop() -> Result<()> {
    rt()?.current().map(drop)
}
