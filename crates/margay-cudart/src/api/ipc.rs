// SPDX-License-Identifier: MIT OR Apache-2.0
//! Memory and events of other processes.

use std::ffi::{c_uint, c_void};

use super::{device_address, give, pointer, required};
use crate::context::ensure;
use crate::cu;
use crate::error::{Result, check};
use crate::sys::*;

// The handles of the two libraries are the same; a difference must stop the build.
const _: () = {
    assert!(size_of::<cudaIpcMemHandle_t>() == size_of::<cu::CUipcMemHandle>());
    assert!(size_of::<cudaIpcEventHandle_t>() == size_of::<cu::CUipcEventHandle>());
    assert!(size_of::<cudaMemPoolPtrExportData>() == size_of::<cu::CUmemPoolPtrExportData>());
};

pub unsafe fn cudaIpcGetMemHandle(to: *mut cudaIpcMemHandle_t, at: *mut c_void) -> Result<()> {
    required(to)?;
    ensure()?;
    check(cu::cuIpcGetMemHandle(to.cast(), device_address(at)))
}

pub unsafe fn cudaIpcOpenMemHandle(
    to: *mut *mut c_void,
    handle: cudaIpcMemHandle_t,
    flags: c_uint,
) -> Result<()> {
    required(to)?;
    ensure()?;
    let handle = cu::CUipcMemHandle { reserved: handle.reserved };
    let mut address = 0;
    check(cu::cuIpcOpenMemHandle_v2(&mut address, handle, flags))?;
    give(to, pointer(address))
}

pub unsafe fn cudaIpcCloseMemHandle(at: *mut c_void) -> Result<()> {
    ensure()?;
    check(cu::cuIpcCloseMemHandle(device_address(at)))
}

pub unsafe fn cudaIpcGetEventHandle(
    to: *mut cudaIpcEventHandle_t,
    event: cudaEvent_t,
) -> Result<()> {
    required(to)?;
    ensure()?;
    check(cu::cuIpcGetEventHandle(to.cast(), event.cast()))
}

pub unsafe fn cudaIpcOpenEventHandle(
    to: *mut cudaEvent_t,
    handle: cudaIpcEventHandle_t,
) -> Result<()> {
    required(to)?;
    ensure()?;
    let handle = cu::CUipcEventHandle { reserved: handle.reserved };
    check(cu::cuIpcOpenEventHandle(to.cast(), handle))
}

pub unsafe fn cudaMemPoolExportToShareableHandle(
    to: *mut c_void,
    pool: cudaMemPool_t,
    kind: cudaMemAllocationHandleType,
    flags: c_uint,
) -> Result<()> {
    required(to)?;
    ensure()?;
    check(cu::cuMemPoolExportToShareableHandle(to, pool.cast(), kind, flags.into()))
}

pub unsafe fn cudaMemPoolImportFromShareableHandle(
    to: *mut cudaMemPool_t,
    os_handle: *mut c_void,
    kind: cudaMemAllocationHandleType,
    flags: c_uint,
) -> Result<()> {
    required(to)?;
    ensure()?;
    let flags = flags.into();
    check(cu::cuMemPoolImportFromShareableHandle(to.cast(), os_handle, kind, flags))
}

pub unsafe fn cudaMemPoolExportPointer(
    to: *mut cudaMemPoolPtrExportData,
    at: *mut c_void,
) -> Result<()> {
    required(to)?;
    ensure()?;
    check(cu::cuMemPoolExportPointer(to.cast(), device_address(at)))
}

pub unsafe fn cudaMemPoolImportPointer(
    to: *mut *mut c_void,
    pool: cudaMemPool_t,
    data: *mut cudaMemPoolPtrExportData,
) -> Result<()> {
    required(to)?;
    required(data)?;
    ensure()?;
    let mut address = 0;
    check(cu::cuMemPoolImportPointer(&mut address, pool.cast(), data.cast()))?;
    give(to, pointer(address))
}
