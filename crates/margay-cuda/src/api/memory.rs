// SPDX-License-Identifier: MIT OR Apache-2.0
//! Allocation of device, host and managed memory, and advice about it.

use std::ffi::{c_int, c_uint, c_void};

use margay_runtime::{CudaError, Result};

use super::{current, device, give, healthy, offer, required, rt, stream_of};
use crate::sys::*;

pub unsafe fn cuMemGetInfo_v2(free: *mut usize, total: *mut usize) -> Result<()> {
    let device = device(healthy()?.device as c_int)?;
    required(free)?;
    unsafe {
        give(total, device.total_memory() as usize)?;
        give(free, device.free_memory() as usize)
    }
}

pub unsafe fn cuMemAlloc_v2(to: *mut CUdeviceptr, bytes: usize) -> Result<()> {
    let context = healthy()?;
    required(to)?;
    unsafe { give(to, context.mem_alloc(bytes as u64)?) }
}

pub unsafe fn cuMemAllocPitch_v2(
    to: *mut CUdeviceptr,
    pitch: *mut usize,
    width: usize,
    height: usize,
    element: c_uint,
) -> Result<()> {
    let context = healthy()?;
    required(to)?;
    required(pitch)?;
    let (address, bytes) = context.mem_alloc_pitch(width as u64, height as u64, element)?;
    unsafe {
        give(to, address)?;
        give(pitch, bytes as usize)
    }
}

/// Null is freed without effect.
pub unsafe fn cuMemFree_v2(address: CUdeviceptr) -> Result<()> {
    match address {
        0 => rt()?.check_current(),
        address => rt()?.mem_free(address),
    }
}

pub unsafe fn cuMemGetAddressRange_v2(
    base: *mut CUdeviceptr,
    size: *mut usize,
    address: CUdeviceptr,
) -> Result<()> {
    healthy()?;
    let record = rt()?.allocation(address).ok_or(CudaError::NotFound)?;
    unsafe {
        offer(base, record.base);
        offer(size, record.size as usize);
    }
    Ok(())
}

pub unsafe fn cuMemAllocHost_v2(to: *mut *mut c_void, bytes: usize) -> Result<()> {
    unsafe { cuMemHostAlloc(to, bytes, 0) }
}

pub unsafe fn cuMemHostAlloc(to: *mut *mut c_void, bytes: usize, flags: c_uint) -> Result<()> {
    let context = healthy()?;
    required(to)?;
    let address = context.mem_host_alloc(bytes as u64, flags)?;
    unsafe { give(to, host_pointer(address)) }
}

/// An address of memory that the host may use.
pub fn host_pointer(address: u64) -> *mut c_void {
    std::ptr::with_exposed_provenance_mut(address as usize)
}

fn address_of(pointer: *mut c_void) -> u64 {
    pointer.expose_provenance() as u64
}

pub unsafe fn cuMemFreeHost(pointer: *mut c_void) -> Result<()> {
    healthy()?;
    match pointer.is_null() {
        true => Ok(()),
        false => rt()?.mem_free_host(address_of(pointer)),
    }
}

pub unsafe fn cuMemHostGetDevicePointer_v2(
    to: *mut CUdeviceptr,
    pointer: *mut c_void,
    flags: c_uint,
) -> Result<()> {
    healthy()?;
    required(to)?;
    if flags != 0 {
        return Err(CudaError::InvalidValue);
    }
    unsafe { give(to, rt()?.host_device_pointer(address_of(pointer))?) }
}

pub unsafe fn cuMemHostGetFlags(flags: *mut c_uint, pointer: *mut c_void) -> Result<()> {
    healthy()?;
    required(flags)?;
    let record = rt()?.allocation(address_of(pointer)).ok_or(CudaError::InvalidValue)?;
    if !record.origin.is_host() {
        return Err(CudaError::InvalidValue);
    }
    // With unified addressing all pinned memory is mapped.
    unsafe { give(flags, record.flags | CU_MEMHOSTALLOC_DEVICEMAP) }
}

pub unsafe fn cuMemHostRegister_v2(
    pointer: *mut c_void,
    bytes: usize,
    flags: c_uint,
) -> Result<()> {
    let context = healthy()?;
    // SAFETY: the program keeps the memory until it unregisters it, as the manual says.
    unsafe { context.mem_host_register(address_of(pointer), bytes as u64, flags) }
}

pub unsafe fn cuMemHostUnregister(pointer: *mut c_void) -> Result<()> {
    healthy()?;
    required(pointer)?;
    rt()?.mem_host_unregister(address_of(pointer))
}

pub unsafe fn cuMemAllocManaged(to: *mut CUdeviceptr, bytes: usize, flags: c_uint) -> Result<()> {
    let context = healthy()?;
    required(to)?;
    unsafe { give(to, context.mem_alloc_managed(bytes as u64, flags)?) }
}

/// Checks a managed range and where it is to go. Host and devices share memory here, so that
/// nothing has to move.
fn check_prefetch(address: u64, bytes: usize, dev: c_int, stream: CUstream) -> Result<()> {
    let context = healthy()?;
    stream_of(&context, stream)?;
    if dev != CPU {
        device(dev)?;
    }
    rt()?.managed_range(address, bytes as u64).map(drop)
}

/// `CU_DEVICE_CPU`.
const CPU: c_int = -1;

pub unsafe fn cuMemPrefetchAsync(
    address: CUdeviceptr,
    bytes: usize,
    dev: CUdevice,
    stream: CUstream,
) -> Result<()> {
    check_prefetch(address, bytes, dev, stream)
}

/// The device that a location names; the host's nodes are one.
pub fn location_device(location: &CUmemLocation) -> Result<c_int> {
    match location.type_ {
        CU_MEM_LOCATION_TYPE_DEVICE => {
            // SAFETY: any bits are an integer.
            let id = unsafe { location.__bindgen_anon_1.id };
            Ok(device(id)?.ordinal as c_int)
        }
        CU_MEM_LOCATION_TYPE_HOST
        | CU_MEM_LOCATION_TYPE_HOST_NUMA
        | CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT => Ok(CPU),
        _ => Err(CudaError::InvalidValue),
    }
}

pub unsafe fn cuMemPrefetchAsync_v2(
    address: CUdeviceptr,
    bytes: usize,
    location: CUmemLocation,
    flags: c_uint,
    stream: CUstream,
) -> Result<()> {
    if flags != 0 {
        return Err(CudaError::InvalidValue);
    }
    check_prefetch(address, bytes, location_device(&location)?, stream)
}

pub unsafe fn cuMemAdvise(
    address: CUdeviceptr,
    bytes: usize,
    advice: CUmem_advise,
    dev: CUdevice,
) -> Result<()> {
    healthy()?;
    let rt = rt()?;
    let record = rt.managed_range(address, bytes as u64)?;
    match advice {
        CU_MEM_ADVISE_SET_READ_MOSTLY => rt.set_read_mostly(record.base, true),
        CU_MEM_ADVISE_UNSET_READ_MOSTLY => rt.set_read_mostly(record.base, false),
        CU_MEM_ADVISE_SET_PREFERRED_LOCATION
        | CU_MEM_ADVISE_SET_ACCESSED_BY
        | CU_MEM_ADVISE_UNSET_ACCESSED_BY => {
            if dev != CPU {
                device(dev)?;
            }
        }
        CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION => {}
        _ => return Err(CudaError::InvalidValue),
    }
    Ok(())
}

pub unsafe fn cuMemAdvise_v2(
    address: CUdeviceptr,
    bytes: usize,
    advice: CUmem_advise,
    location: CUmemLocation,
) -> Result<()> {
    let dev = match advice {
        // These take no location.
        CU_MEM_ADVISE_SET_READ_MOSTLY
        | CU_MEM_ADVISE_UNSET_READ_MOSTLY
        | CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION => CPU,
        _ => location_device(&location)?,
    };
    unsafe { cuMemAdvise(address, bytes, advice, dev) }
}

pub unsafe fn cuMemRangeGetAttribute(
    data: *mut c_void,
    size: usize,
    attribute: CUmem_range_attribute,
    address: CUdeviceptr,
    bytes: usize,
) -> Result<()> {
    current()?;
    required(data)?;
    let rt = rt()?;
    let record = rt.managed_range(address, bytes as u64)?;
    let answer = match attribute {
        CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY => c_int::from(rt.is_read_mostly(record.base)),
        CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION
        | CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY
        | CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION
        | CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE
        | CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID
        | CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE
        | CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID => {
            // Locations are not kept, and an answer that forgets them would mislead.
            crate::entry::not_supported("cuMemRangeGetAttribute for locations");
            return Err(CudaError::NotSupported);
        }
        _ => return Err(CudaError::InvalidValue),
    };
    if size != size_of::<c_int>() {
        return Err(CudaError::InvalidValue);
    }
    unsafe { give(data.cast(), answer) }
}

pub unsafe fn cuMemRangeGetAttributes(
    data: *mut *mut c_void,
    sizes: *mut usize,
    attributes: *mut CUmem_range_attribute,
    count: usize,
    address: CUdeviceptr,
    bytes: usize,
) -> Result<()> {
    required(data)?;
    required(sizes)?;
    required(attributes)?;
    for at in 0..count {
        // SAFETY: the program's arrays have `count` elements.
        unsafe {
            let (to, size) = (data.add(at).read(), sizes.add(at).read());
            cuMemRangeGetAttribute(to, size, attributes.add(at).read(), address, bytes)?;
        }
    }
    Ok(())
}
