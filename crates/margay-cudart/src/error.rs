// SPDX-License-Identifier: MIT OR Apache-2.0
//! The runtime's errors, and each thread's last one.
//!
//! Invariant: a code from libcuda is the runtime's code of the same number; the two enumerations have been
//! aligned since CUDA 10.1, and a number that the runtime lacks becomes cudaErrorUnknown.

use std::cell::Cell;

use crate::sys;

/// A `cudaError_t` other than success.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Error(pub u32);

pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    pub const INVALID_VALUE: Error = Error(sys::cudaErrorInvalidValue);
}

thread_local! {
    static LAST: Cell<u32> = const { Cell::new(0) };
}

/// Makes this the thread's last error.
pub fn record(code: u32) {
    if code != sys::cudaSuccess {
        LAST.with(|last| last.set(code));
    }
}

/// The thread's last error.
pub fn peek() -> u32 {
    LAST.with(Cell::get)
}

/// The thread's last error, which is success from now on.
pub fn take() -> u32 {
    LAST.with(|last| last.replace(sys::cudaSuccess))
}

/// What libcuda answered, as the runtime says it.
pub fn check(code: u32) -> Result<()> {
    match code {
        0 => Ok(()),
        code if name(code).is_some() => Err(Error(code)),
        _ => Err(Error(sys::cudaErrorUnknown)),
    }
}

/// The enumerator of a code.
pub fn name(code: u32) -> Option<&'static std::ffi::CStr> {
    sys::ERROR_NAMES.iter().find(|(value, _)| *value == code).map(|(_, name)| *name)
}
