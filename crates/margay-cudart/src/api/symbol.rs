// SPDX-License-Identifier: MIT OR Apache-2.0
//! Device variables by the host variable that stands for them.

use std::ffi::c_void;

use super::copy::{cudaMemcpy, cudaMemcpyAsync};
use super::{give, pointer, required};
use crate::error::{Error, Result};
use crate::registry;
use crate::sys::*;

pub unsafe fn cudaGetSymbolAddress(to: *mut *mut c_void, symbol: *const c_void) -> Result<()> {
    required(to)?;
    give(to, pointer(registry::variable(symbol)?.0))
}

pub unsafe fn cudaGetSymbolSize(size: *mut usize, symbol: *const c_void) -> Result<()> {
    required(size)?;
    give(size, registry::variable(symbol)?.1)
}

/// The address of the part of a variable that is to be copied.
pub(super) fn part(symbol: *const c_void, count: usize, offset: usize) -> Result<*mut c_void> {
    let (address, size) = registry::variable(symbol)?;
    let end = offset.checked_add(count).ok_or(Error::INVALID_VALUE)?;
    if end > size {
        return Err(Error::INVALID_VALUE);
    }
    Ok(pointer(address.wrapping_add(offset as u64)))
}

/// Copies a part of a variable. Where that goes past the end, libcuda is asked all the same: it refuses, and those who
/// watch the program learn of it.
fn copied(
    symbol: *const c_void,
    count: usize,
    offset: usize,
    copy: impl FnOnce(*mut c_void, usize) -> Result<()>,
) -> Result<()> {
    let (address, size) = registry::variable(symbol)?;
    let end = offset.saturating_add(count);
    let at = |offset: usize| pointer(address.wrapping_add(offset as u64));
    if end <= size {
        return copy(at(offset), count);
    }
    // What begins behind the variable may be another's: there it is told as from the variable's beginning.
    let _ = if offset < size { copy(at(offset), count) } else { copy(at(0), end) };
    Err(Error::INVALID_VALUE)
}

/// The variable is the device's side of the copy.
fn check_kind(kind: cudaMemcpyKind, host_kind: cudaMemcpyKind) -> Result<()> {
    if [host_kind, cudaMemcpyDeviceToDevice, cudaMemcpyDefault].contains(&kind) {
        Ok(())
    } else {
        Err(Error(cudaErrorInvalidMemcpyDirection))
    }
}

pub unsafe fn cudaMemcpyToSymbol(
    symbol: *const c_void,
    from: *const c_void,
    count: usize,
    offset: usize,
    kind: cudaMemcpyKind,
) -> Result<()> {
    check_kind(kind, cudaMemcpyHostToDevice)?;
    copied(symbol, count, offset, |to, count| cudaMemcpy(to, from, count, kind))
}

pub unsafe fn cudaMemcpyToSymbolAsync(
    symbol: *const c_void,
    from: *const c_void,
    count: usize,
    offset: usize,
    kind: cudaMemcpyKind,
    stream: cudaStream_t,
) -> Result<()> {
    check_kind(kind, cudaMemcpyHostToDevice)?;
    copied(symbol, count, offset, |to, count| cudaMemcpyAsync(to, from, count, kind, stream))
}

pub unsafe fn cudaMemcpyFromSymbol(
    to: *mut c_void,
    symbol: *const c_void,
    count: usize,
    offset: usize,
    kind: cudaMemcpyKind,
) -> Result<()> {
    check_kind(kind, cudaMemcpyDeviceToHost)?;
    copied(symbol, count, offset, |from, count| cudaMemcpy(to, from, count, kind))
}

pub unsafe fn cudaMemcpyFromSymbolAsync(
    to: *mut c_void,
    symbol: *const c_void,
    count: usize,
    offset: usize,
    kind: cudaMemcpyKind,
    stream: cudaStream_t,
) -> Result<()> {
    check_kind(kind, cudaMemcpyDeviceToHost)?;
    copied(symbol, count, offset, |from, count| cudaMemcpyAsync(to, from, count, kind, stream))
}
