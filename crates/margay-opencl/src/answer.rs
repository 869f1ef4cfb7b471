// SPDX-License-Identifier: MIT OR Apache-2.0
//! Answers of the `clGet…Info` functions: a value of some bytes into the caller's buffer.
//!
//! Invariant: CL_INVALID_VALUE if the buffer is there and too small; otherwise size and value are written
//! where the caller wants them. Writes may be unaligned.

use std::ffi::c_void;

use opencl_sys::{CL_INVALID_VALUE, cl_bool};

use crate::Result;

/// The three parameters that every query ends with.
#[derive(Clone, Copy)]
pub struct Answer {
    pub size: usize,
    pub value: *mut c_void,
    pub size_ret: *mut usize,
}

impl Answer {
    /// Any plain bytes.
    pub fn bytes(self, bytes: &[u8]) -> Result<()> {
        if !self.value.is_null() {
            if self.size < bytes.len() {
                return Err(CL_INVALID_VALUE);
            }
            // SAFETY: the caller of the C function promises that the buffer has `size` bytes.
            unsafe {
                std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.value.cast::<u8>(), bytes.len());
            }
        }
        if !self.size_ret.is_null() {
            // SAFETY: not null, and the caller of the C function promises the rest.
            unsafe { self.size_ret.write_unaligned(bytes.len()) };
        }
        Ok(())
    }

    /// Plain values, without padding between their fields.
    pub fn slice<T: Copy>(self, values: &[T]) -> Result<()> {
        let bytes = size_of_val(values);
        // SAFETY: the API's integers, pointers and structures of them have no padding.
        self.bytes(unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), bytes) })
    }

    pub fn value<T: Copy>(self, value: T) -> Result<()> {
        self.slice(&[value])
    }

    pub fn flag(self, value: bool) -> Result<()> {
        self.value(cl_bool::from(value))
    }

    /// With its terminator.
    pub fn text(self, text: &str) -> Result<()> {
        let mut bytes = text.replace('\0', "").into_bytes();
        bytes.push(0);
        self.bytes(&bytes)
    }
}

/// A list of a C caller.
///
/// # Safety
/// `list` is null or has `count` elements.
pub unsafe fn list<'a, T>(list: *const T, count: usize) -> Option<&'a [T]> {
    // SAFETY: the caller promises it.
    (!list.is_null()).then(|| unsafe { std::slice::from_raw_parts(list, count) })
}

/// Writes a result that the program may not want.
///
/// # Safety
/// Null, or writable.
pub unsafe fn offer<T>(to: *mut T, value: T) {
    if !to.is_null() {
        // SAFETY: not null, and the caller promises the rest.
        unsafe { to.write_unaligned(value) };
    }
}
