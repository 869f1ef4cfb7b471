// SPDX-License-Identifier: MIT OR Apache-2.0
//! Filling memory with a byte, in one, two and three dimensions.

use std::ffi::{c_int, c_uchar, c_void};

use super::{default_stream, device_address};
use crate::context::ensure;
use crate::cu;
use crate::entry;
use crate::error::{Error, Result, check};
use crate::sys::*;

/// The value's low byte is what memory is filled with.
fn byte(value: c_int) -> c_uchar {
    value.to_le_bytes()[0]
}

pub unsafe fn cudaMemset(at: *mut c_void, value: c_int, count: usize) -> Result<()> {
    ensure()?;
    if count == 0 {
        return Ok(());
    }
    check(match entry::default_is_per_thread() {
        false => cu::cuMemsetD8_v2(device_address(at), byte(value), count),
        true => cu::cuMemsetD8_v2_ptds(device_address(at), byte(value), count),
    })
}

pub unsafe fn cudaMemsetAsync(
    at: *mut c_void,
    value: c_int,
    count: usize,
    stream: cudaStream_t,
) -> Result<()> {
    ensure()?;
    if count == 0 {
        return Ok(());
    }
    check(cu::cuMemsetD8Async(device_address(at), byte(value), count, stream.cast()))
}

pub unsafe fn cudaMemset2D(
    at: *mut c_void,
    pitch: usize,
    value: c_int,
    width: usize,
    height: usize,
) -> Result<()> {
    ensure()?;
    if width == 0 || height == 0 {
        return Ok(());
    }
    let (at, value) = (device_address(at), byte(value));
    check(match entry::default_is_per_thread() {
        false => cu::cuMemsetD2D8_v2(at, pitch, value, width, height),
        true => cu::cuMemsetD2D8_v2_ptds(at, pitch, value, width, height),
    })
}

pub unsafe fn cudaMemset2DAsync(
    at: *mut c_void,
    pitch: usize,
    value: c_int,
    width: usize,
    height: usize,
    stream: cudaStream_t,
) -> Result<()> {
    ensure()?;
    if width == 0 || height == 0 {
        return Ok(());
    }
    let at = device_address(at);
    check(cu::cuMemsetD2D8Async(at, pitch, byte(value), width, height, stream.cast()))
}

/// Slices of `ysize` rows follow each other; of each, the first `height` rows are filled.
unsafe fn fill_box(
    to: &cudaPitchedPtr,
    value: c_int,
    extent: &cudaExtent,
    stream: cu::CUstream,
) -> Result<()> {
    if extent.width == 0 || extent.height == 0 || extent.depth == 0 {
        return Ok(());
    }
    if extent.width > to.pitch || (extent.depth > 1 && extent.height > to.ysize) {
        return Err(Error::INVALID_VALUE);
    }
    let slice = to.pitch.checked_mul(to.ysize).ok_or(Error::INVALID_VALUE)?;
    let (width, height, value) = (extent.width, extent.height, byte(value));
    if extent.depth == 1 || height == to.ysize {
        let rows = height.checked_mul(extent.depth).ok_or(Error::INVALID_VALUE)?;
        let at = device_address(to.ptr);
        return check(cu::cuMemsetD2D8Async(at, to.pitch, value, width, rows, stream));
    }
    for z in 0..extent.depth {
        let offset = slice.checked_mul(z).ok_or(Error::INVALID_VALUE)?;
        let at = device_address(to.ptr).wrapping_add(offset as u64);
        check(cu::cuMemsetD2D8Async(at, to.pitch, value, width, height, stream))?;
    }
    Ok(())
}

pub unsafe fn cudaMemset3D(to: cudaPitchedPtr, value: c_int, extent: cudaExtent) -> Result<()> {
    ensure()?;
    fill_box(&to, value, &extent, default_stream())
}

pub unsafe fn cudaMemset3DAsync(
    to: cudaPitchedPtr,
    value: c_int,
    extent: cudaExtent,
    stream: cudaStream_t,
) -> Result<()> {
    ensure()?;
    fill_box(&to, value, &extent, stream.cast())
}
