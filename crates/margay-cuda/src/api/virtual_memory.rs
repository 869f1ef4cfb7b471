// SPDX-License-Identifier: MIT OR Apache-2.0
//! Virtual memory management: addresses, memory and access apart.

use std::ffi::{c_int, c_ulonglong, c_void};
use std::os::fd::{FromRawFd, OwnedFd};

use margay_runtime::virtual_memory::{Access, GRANULARITY, Properties};
use margay_runtime::{CudaError, Result};

use super::{give, healthy, required, rt};
use crate::sys::*;

/// What margay can make: pinned memory of a device, shared by file descriptors or not at all.
unsafe fn properties(prop: *const CUmemAllocationProp) -> Result<Properties> {
    required(prop)?;
    // SAFETY: not null, and the program's.
    let p = unsafe { prop.read_unaligned() };
    match p.type_ {
        CU_MEM_ALLOCATION_TYPE_PINNED => {}
        CU_MEM_ALLOCATION_TYPE_MANAGED => return Err(CudaError::NotSupported),
        _ => return Err(CudaError::InvalidValue),
    }
    if p.requestedHandleTypes & !CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR != 0 {
        return Err(CudaError::NotSupported);
    }
    // Memory of the host's nodes is not offered, as the device's attributes say.
    let device = super::memory::location_device(&p.location)?;
    let device = u32::try_from(device).map_err(|_| CudaError::NotSupported)?;
    if p.allocFlags.compressionType != 0 {
        return Err(CudaError::NotSupported);
    }
    let rdma = p.allocFlags.gpuDirectRDMACapable != 0;
    Ok(Properties { device, handle_types: p.requestedHandleTypes, rdma })
}

/// No call of this family has flags yet.
fn no_flags(flags: c_ulonglong) -> Result<()> {
    if flags == 0 { Ok(()) } else { Err(CudaError::InvalidValue) }
}

pub unsafe fn cuMemGetAllocationGranularity(
    granularity: *mut usize,
    prop: *const CUmemAllocationProp,
    option: CUmemAllocationGranularity_flags,
) -> Result<()> {
    rt()?;
    unsafe { properties(prop)? };
    match option {
        CU_MEM_ALLOC_GRANULARITY_MINIMUM | CU_MEM_ALLOC_GRANULARITY_RECOMMENDED => unsafe {
            give(granularity, GRANULARITY as usize)
        },
        _ => Err(CudaError::InvalidValue),
    }
}

/// The wanted address is a hint, which the manual lets a driver ignore.
pub unsafe fn cuMemAddressReserve(
    to: *mut CUdeviceptr,
    size: usize,
    alignment: usize,
    _wanted: CUdeviceptr,
    flags: c_ulonglong,
) -> Result<()> {
    required(to)?;
    no_flags(flags)?;
    let rt = rt()?;
    let base = rt.virtual_memory.reserve(rt, size as u64, alignment as u64)?;
    unsafe { give(to, base) }
}

pub unsafe fn cuMemAddressFree(at: CUdeviceptr, size: usize) -> Result<()> {
    let rt = rt()?;
    rt.virtual_memory.free(rt, at, size as u64)
}

pub unsafe fn cuMemCreate(
    to: *mut CUmemGenericAllocationHandle,
    size: usize,
    prop: *const CUmemAllocationProp,
    flags: c_ulonglong,
) -> Result<()> {
    required(to)?;
    no_flags(flags)?;
    let rt = rt()?;
    let properties = unsafe { properties(prop)? };
    let handle = rt.virtual_memory.create(rt, size as u64, properties)?;
    unsafe { give(to, handle) }
}

pub unsafe fn cuMemRelease(handle: CUmemGenericAllocationHandle) -> Result<()> {
    rt()?.virtual_memory.release(handle)
}

pub unsafe fn cuMemRetainAllocationHandle(
    to: *mut CUmemGenericAllocationHandle,
    address: *mut c_void,
) -> Result<()> {
    required(to)?;
    let handle = rt()?.virtual_memory.retain(address.addr() as u64)?;
    unsafe { give(to, handle) }
}

pub unsafe fn cuMemGetAllocationPropertiesFromHandle(
    to: *mut CUmemAllocationProp,
    handle: CUmemGenericAllocationHandle,
) -> Result<()> {
    required(to)?;
    let memory = rt()?.virtual_memory.find(handle)?;
    // SAFETY: all zeros is a value of this plain structure.
    let mut prop: CUmemAllocationProp = unsafe { std::mem::zeroed() };
    prop.type_ = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.requestedHandleTypes = memory.properties.handle_types;
    prop.location.type_ = CU_MEM_LOCATION_TYPE_DEVICE;
    prop.location.__bindgen_anon_1.id = memory.properties.device as c_int;
    prop.allocFlags.gpuDirectRDMACapable = u8::from(memory.properties.rdma);
    unsafe { give(to, prop) }
}

pub unsafe fn cuMemMap(
    at: CUdeviceptr,
    size: usize,
    offset: usize,
    handle: CUmemGenericAllocationHandle,
    flags: c_ulonglong,
) -> Result<()> {
    no_flags(flags)?;
    let rt = rt()?;
    rt.virtual_memory.map(rt, at, size as u64, offset as u64, handle)
}

pub unsafe fn cuMemUnmap(at: CUdeviceptr, size: usize) -> Result<()> {
    let rt = rt()?;
    rt.virtual_memory.unmap(rt, at, size as u64)
}

fn access(flags: CUmemAccess_flags) -> Result<Access> {
    match flags {
        CU_MEM_ACCESS_FLAGS_PROT_NONE => Ok(Access::None),
        CU_MEM_ACCESS_FLAGS_PROT_READ => Ok(Access::Read),
        CU_MEM_ACCESS_FLAGS_PROT_READWRITE => Ok(Access::ReadWrite),
        _ => Err(CudaError::InvalidValue),
    }
}

pub unsafe fn cuMemSetAccess(
    at: CUdeviceptr,
    size: usize,
    list: *const CUmemAccessDesc,
    count: usize,
) -> Result<()> {
    required(list)?;
    let rt = rt()?;
    if count == 0 {
        return Err(CudaError::InvalidValue);
    }
    let mut grants = Vec::with_capacity(count);
    for index in 0..count {
        // SAFETY: the program's array has `count` elements.
        let one = unsafe { list.add(index).read_unaligned() };
        let device = super::memory::location_device(&one.location)?;
        // Access by the host is not offered: the memory is a device's.
        let device = u32::try_from(device).map_err(|_| CudaError::NotSupported)?;
        grants.push((device, access(one.flags)?));
    }
    rt.virtual_memory.set_access(rt, at, size as u64, &grants)
}

pub unsafe fn cuMemGetAccess(
    flags: *mut c_ulonglong,
    location: *const CUmemLocation,
    at: CUdeviceptr,
) -> Result<()> {
    required(flags)?;
    required(location)?;
    // SAFETY: not null, and the program's.
    let location = unsafe { location.read_unaligned() };
    let device = super::memory::location_device(&location)?;
    let device = u32::try_from(device).map_err(|_| CudaError::InvalidValue)?;
    let answer = match rt()?.virtual_memory.access(at, device)? {
        Access::None => CU_MEM_ACCESS_FLAGS_PROT_NONE,
        Access::Read => CU_MEM_ACCESS_FLAGS_PROT_READ,
        Access::ReadWrite => CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
    };
    unsafe { give(flags, answer.into()) }
}

/// Only file descriptors go from process to process here.
pub fn posix_fd(kind: CUmemAllocationHandleType) -> Result<()> {
    match kind {
        CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR => Ok(()),
        CU_MEM_HANDLE_TYPE_WIN32 | CU_MEM_HANDLE_TYPE_WIN32_KMT | CU_MEM_HANDLE_TYPE_FABRIC => {
            Err(CudaError::NotSupported)
        }
        _ => Err(CudaError::InvalidValue),
    }
}

/// A copy of the descriptor that the program hands over, which stays the program's.
pub fn own_fd(pointer: *mut c_void) -> Result<OwnedFd> {
    let fd = pointer.addr() as c_int;
    // SAFETY: duplicating any number is harmless; a wrong one is an error.
    let copy = unsafe { libc::fcntl(fd, libc::F_DUPFD_CLOEXEC, 0) };
    if copy < 0 {
        return Err(CudaError::InvalidValue);
    }
    // SAFETY: the copy was just made and is nobody else's.
    Ok(unsafe { OwnedFd::from_raw_fd(copy) })
}

pub unsafe fn cuMemExportToShareableHandle(
    to: *mut c_void,
    handle: CUmemGenericAllocationHandle,
    kind: CUmemAllocationHandleType,
    flags: c_ulonglong,
) -> Result<()> {
    required(to)?;
    no_flags(flags)?;
    posix_fd(kind)?;
    let rt = rt()?;
    if rt.virtual_memory.find(handle)?.properties.handle_types & kind == 0 {
        return Err(CudaError::InvalidValue);
    }
    unsafe { give(to.cast::<c_int>(), rt.virtual_memory.export(handle)?) }
}

pub unsafe fn cuMemImportFromShareableHandle(
    to: *mut CUmemGenericAllocationHandle,
    os_handle: *mut c_void,
    kind: CUmemAllocationHandleType,
) -> Result<()> {
    required(to)?;
    posix_fd(kind)?;
    let device = healthy()?.device;
    let handle = rt()?.virtual_memory.import(own_fd(os_handle)?, device, kind)?;
    unsafe { give(to, handle) }
}
