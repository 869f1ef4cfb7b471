// SPDX-License-Identifier: MIT OR Apache-2.0
//! Allocation in stream order, from memory pools.

use std::ffi::{c_int, c_void};
use std::ptr::null_mut;

use super::{device_address, give, pointer, required};
use crate::context::{device, ensure};
use crate::cu;
use crate::error::{Result, check};
use crate::sys::*;

// The structures of the two libraries are the same; a difference must stop the build.
const _: () = {
    assert!(size_of::<cudaMemPoolProps>() == size_of::<cu::CUmemPoolProps>());
    assert!(size_of::<cudaMemAccessDesc>() == size_of::<cu::CUmemAccessDesc>());
    assert!(size_of::<cudaMemLocation>() == size_of::<cu::CUmemLocation>());
};

pub unsafe fn cudaMallocAsync(
    to: *mut *mut c_void,
    size: usize,
    stream: cudaStream_t,
) -> Result<()> {
    required(to)?;
    ensure()?;
    if size == 0 {
        return give(to, null_mut());
    }
    let mut address = 0;
    check(cu::cuMemAllocAsync(&mut address, size, stream.cast()))?;
    give(to, pointer(address))
}

pub unsafe fn cudaMallocFromPoolAsync(
    to: *mut *mut c_void,
    size: usize,
    pool: cudaMemPool_t,
    stream: cudaStream_t,
) -> Result<()> {
    required(to)?;
    ensure()?;
    if size == 0 {
        return give(to, null_mut());
    }
    let mut address = 0;
    check(cu::cuMemAllocFromPoolAsync(&mut address, size, pool.cast(), stream.cast()))?;
    give(to, pointer(address))
}

pub unsafe fn cudaFreeAsync(at: *mut c_void, stream: cudaStream_t) -> Result<()> {
    ensure()?;
    if at.is_null() {
        return Ok(());
    }
    check(cu::cuMemFreeAsync(device_address(at), stream.cast()))
}

pub unsafe fn cudaMemPoolCreate(
    to: *mut cudaMemPool_t,
    properties: *const cudaMemPoolProps,
) -> Result<()> {
    required(to)?;
    required(properties)?;
    ensure()?;
    check(cu::cuMemPoolCreate(to.cast(), properties.cast()))
}

pub unsafe fn cudaMemPoolDestroy(pool: cudaMemPool_t) -> Result<()> {
    ensure()?;
    check(cu::cuMemPoolDestroy(pool.cast()))
}

pub unsafe fn cudaMemPoolTrimTo(pool: cudaMemPool_t, bytes_to_keep: usize) -> Result<()> {
    ensure()?;
    check(cu::cuMemPoolTrimTo(pool.cast(), bytes_to_keep))
}

pub unsafe fn cudaMemPoolGetAttribute(
    pool: cudaMemPool_t,
    attribute: cudaMemPoolAttr,
    value: *mut c_void,
) -> Result<()> {
    required(value)?;
    ensure()?;
    check(cu::cuMemPoolGetAttribute(pool.cast(), attribute, value))
}

pub unsafe fn cudaMemPoolSetAttribute(
    pool: cudaMemPool_t,
    attribute: cudaMemPoolAttr,
    value: *mut c_void,
) -> Result<()> {
    required(value)?;
    ensure()?;
    check(cu::cuMemPoolSetAttribute(pool.cast(), attribute, value))
}

pub unsafe fn cudaMemPoolSetAccess(
    pool: cudaMemPool_t,
    descriptors: *const cudaMemAccessDesc,
    count: usize,
) -> Result<()> {
    ensure()?;
    check(cu::cuMemPoolSetAccess(pool.cast(), descriptors.cast(), count))
}

pub unsafe fn cudaMemPoolGetAccess(
    flags: *mut cudaMemAccessFlags,
    pool: cudaMemPool_t,
    location: *mut cudaMemLocation,
) -> Result<()> {
    required(flags)?;
    required(location)?;
    ensure()?;
    check(cu::cuMemPoolGetAccess(flags, pool.cast(), location.cast()))
}

pub unsafe fn cudaDeviceGetDefaultMemPool(to: *mut cudaMemPool_t, ordinal: c_int) -> Result<()> {
    required(to)?;
    check(cu::cuDeviceGetDefaultMemPool(to.cast(), device(ordinal)?))
}

pub unsafe fn cudaDeviceGetMemPool(to: *mut cudaMemPool_t, ordinal: c_int) -> Result<()> {
    required(to)?;
    check(cu::cuDeviceGetMemPool(to.cast(), device(ordinal)?))
}

pub unsafe fn cudaDeviceSetMemPool(ordinal: c_int, pool: cudaMemPool_t) -> Result<()> {
    check(cu::cuDeviceSetMemPool(device(ordinal)?, pool.cast()))
}
