// SPDX-License-Identifier: MIT OR Apache-2.0
//! Stream-ordered allocation and memory pools.

use std::collections::HashMap;
use std::ffi::{c_int, c_ulonglong, c_void};
use std::sync::{Arc, Mutex};

use margay_runtime::pool::{POOL_MAX_SIZE, Pool};
use margay_runtime::{CudaError, Handle, Result};

use super::{device, give, handle, healthy, opaque, required, rt, stream_of};
use crate::sys::*;

/// Pools that replace a device's default, by device.
static CURRENT: Mutex<Option<HashMap<u32, Handle>>> = Mutex::new(None);

fn find(pool: CUmemoryPool) -> Result<Arc<Pool>> {
    rt()?.pools.get(handle(pool)).ok_or(CudaError::InvalidValue)
}

fn current_pool(ordinal: u32) -> Result<Arc<Pool>> {
    let chosen = {
        let current = CURRENT.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        current.as_ref().and_then(|map| map.get(&ordinal).copied())
    };
    match chosen.and_then(|pool| rt().ok()?.pools.get(pool)) {
        Some(pool) => Ok(pool),
        None => rt()?.default_pool(ordinal),
    }
}

pub unsafe fn cuMemAllocAsync(to: *mut CUdeviceptr, bytes: usize, stream: CUstream) -> Result<()> {
    let context = healthy()?;
    required(to)?;
    let stream = stream_of(&context, stream)?;
    let owner = stream.owner()?;
    let pool = current_pool(owner.device)?;
    unsafe { give(to, owner.alloc_async(bytes as u64, &pool, &stream)?) }
}

pub unsafe fn cuMemAllocFromPoolAsync(
    to: *mut CUdeviceptr,
    bytes: usize,
    pool: CUmemoryPool,
    stream: CUstream,
) -> Result<()> {
    let context = healthy()?;
    required(to)?;
    let pool = find(pool)?;
    let stream = stream_of(&context, stream)?;
    let owner = stream.owner()?;
    unsafe { give(to, owner.alloc_async(bytes as u64, &pool, &stream)?) }
}

pub unsafe fn cuMemFreeAsync(address: CUdeviceptr, stream: CUstream) -> Result<()> {
    let context = healthy()?;
    let stream = stream_of(&context, stream)?;
    match address {
        0 => Ok(()),
        address => stream.owner()?.free_async(address, &stream),
    }
}

pub unsafe fn cuMemPoolCreate(to: *mut CUmemoryPool, props: *const CUmemPoolProps) -> Result<()> {
    let rt = rt()?;
    required(to)?;
    required(props)?;
    // SAFETY: not null, and the program's to read.
    let props = unsafe { props.read_unaligned() };
    if props.allocType != CU_MEM_ALLOCATION_TYPE_PINNED {
        return Err(CudaError::InvalidValue);
    }
    let shared = match props.handleTypes {
        CU_MEM_HANDLE_TYPE_NONE => false,
        CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR => true,
        // Those of other systems and of cards' own networks.
        _ => return Err(CudaError::NotSupported),
    };
    let dev = super::memory::location_device(&props.location)?;
    let dev = u32::try_from(dev).map_err(|_| CudaError::NotSupported)?;
    let pool = match shared {
        true => rt.create_shared_pool(dev)?,
        false => rt.create_pool(dev, false)?,
    };
    if props.maxSize > 0 {
        pool.attributes.lock().insert(POOL_MAX_SIZE, props.maxSize as u64);
    }
    unsafe { give(to, opaque(pool.handle)) }
}

pub unsafe fn cuMemPoolDestroy(pool: CUmemoryPool) -> Result<()> {
    rt()?.destroy_pool(handle(pool))
}

/// A pool keeps nothing that could be given back.
pub unsafe fn cuMemPoolTrimTo(pool: CUmemoryPool, _keep: usize) -> Result<()> {
    find(pool).map(drop)
}

pub unsafe fn cuMemPoolGetAttribute(
    pool: CUmemoryPool,
    attribute: CUmemPool_attribute,
    value: *mut c_void,
) -> Result<()> {
    let pool = find(pool)?;
    required(value)?;
    let set = pool.attributes.lock().get(&attribute).copied();
    unsafe {
        match attribute {
            CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES
            | CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC
            | CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES => {
                give(value.cast(), set.unwrap_or(1) as c_int)
            }
            CU_MEMPOOL_ATTR_RELEASE_THRESHOLD => give(value.cast(), set.unwrap_or(0)),
            CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT | CU_MEMPOOL_ATTR_USED_MEM_CURRENT => {
                give(value.cast(), pool.used())
            }
            CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH | CU_MEMPOOL_ATTR_USED_MEM_HIGH => {
                give(value.cast(), pool.high_water())
            }
            _ => Err(CudaError::InvalidValue),
        }
    }
}

pub unsafe fn cuMemPoolSetAttribute(
    pool: CUmemoryPool,
    attribute: CUmemPool_attribute,
    value: *mut c_void,
) -> Result<()> {
    let pool = find(pool)?;
    required(value)?;
    match attribute {
        CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES
        | CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC
        | CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES => {
            // SAFETY: the manual has an int here.
            let on = unsafe { value.cast::<c_int>().read_unaligned() } != 0;
            pool.attributes.lock().insert(attribute, u64::from(on));
        }
        CU_MEMPOOL_ATTR_RELEASE_THRESHOLD => {
            // SAFETY: the manual has a 64-bit integer here.
            let bytes = unsafe { value.cast::<u64>().read_unaligned() };
            pool.attributes.lock().insert(attribute, bytes);
        }
        CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH | CU_MEMPOOL_ATTR_USED_MEM_HIGH => {
            // SAFETY: the manual has a 64-bit integer here, and only allows 0.
            if unsafe { value.cast::<u64>().read_unaligned() } != 0 {
                return Err(CudaError::InvalidValue);
            }
            pool.reset_high_water();
        }
        _ => return Err(CudaError::InvalidValue),
    }
    Ok(())
}

/// Access is given or taken as a whole: reading alone is not offered.
pub unsafe fn cuMemPoolSetAccess(
    pool: CUmemoryPool,
    map: *const CUmemAccessDesc,
    count: usize,
) -> Result<()> {
    let pool = find(pool)?;
    required(map)?;
    for at in 0..count {
        // SAFETY: the program's array has `count` elements.
        let access = unsafe { map.add(at).read_unaligned() };
        let dev = super::memory::location_device(&access.location)?;
        match access.flags {
            // A device keeps access to its own pool.
            CU_MEM_ACCESS_FLAGS_PROT_NONE if dev == pool.device as c_int => {
                return Err(CudaError::InvalidDevice);
            }
            CU_MEM_ACCESS_FLAGS_PROT_READWRITE => pool.set_access(dev as u32, true),
            CU_MEM_ACCESS_FLAGS_PROT_NONE => pool.set_access(dev as u32, false),
            CU_MEM_ACCESS_FLAGS_PROT_READ => return Err(CudaError::NotSupported),
            _ => return Err(CudaError::InvalidValue),
        }
    }
    Ok(())
}

pub unsafe fn cuMemPoolGetAccess(
    flags: *mut CUmemAccess_flags,
    pool: CUmemoryPool,
    location: *mut CUmemLocation,
) -> Result<()> {
    let pool = find(pool)?;
    required(flags)?;
    required(location)?;
    // SAFETY: not null, and the program's to read.
    let dev = super::memory::location_device(&unsafe { location.read_unaligned() })?;
    let access = match pool.lets_in(dev as u32) {
        true => CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
        false => CU_MEM_ACCESS_FLAGS_PROT_NONE,
    };
    unsafe { give(flags, access) }
}

pub unsafe fn cuDeviceGetDefaultMemPool(to: *mut CUmemoryPool, dev: CUdevice) -> Result<()> {
    let ordinal = device(dev)?.ordinal;
    required(to)?;
    unsafe { give(to, opaque(rt()?.default_pool(ordinal)?.handle)) }
}

pub unsafe fn cuDeviceGetMemPool(to: *mut CUmemoryPool, dev: CUdevice) -> Result<()> {
    let ordinal = device(dev)?.ordinal;
    required(to)?;
    unsafe { give(to, opaque(current_pool(ordinal)?.handle)) }
}

pub unsafe fn cuDeviceSetMemPool(dev: CUdevice, pool: CUmemoryPool) -> Result<()> {
    let ordinal = device(dev)?.ordinal;
    let pool = find(pool)?;
    if pool.device != ordinal || !pool.gives() {
        return Err(CudaError::InvalidValue);
    }
    let mut current = CURRENT.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    current.get_or_insert_default().insert(ordinal, pool.handle);
    Ok(())
}

/// The device of a location that pools can be on: those of the host are not offered.
unsafe fn pool_device(location: *mut CUmemLocation, kind: CUmemAllocationType) -> Result<CUdevice> {
    required(location)?;
    match kind {
        CU_MEM_ALLOCATION_TYPE_PINNED => {}
        CU_MEM_ALLOCATION_TYPE_MANAGED => return Err(CudaError::NotSupported),
        _ => return Err(CudaError::InvalidValue),
    }
    // SAFETY: not null, and the program's.
    let device = super::memory::location_device(&unsafe { location.read_unaligned() })?;
    if device < 0 { Err(CudaError::NotSupported) } else { Ok(device) }
}

pub unsafe fn cuMemGetDefaultMemPool(
    to: *mut CUmemoryPool,
    location: *mut CUmemLocation,
    kind: CUmemAllocationType,
) -> Result<()> {
    unsafe { cuDeviceGetDefaultMemPool(to, pool_device(location, kind)?) }
}

pub unsafe fn cuMemGetMemPool(
    to: *mut CUmemoryPool,
    location: *mut CUmemLocation,
    kind: CUmemAllocationType,
) -> Result<()> {
    unsafe { cuDeviceGetMemPool(to, pool_device(location, kind)?) }
}

pub unsafe fn cuMemSetMemPool(
    location: *mut CUmemLocation,
    kind: CUmemAllocationType,
    pool: CUmemoryPool,
) -> Result<()> {
    unsafe { cuDeviceSetMemPool(pool_device(location, kind)?, pool) }
}

pub unsafe fn cuMemPoolExportToShareableHandle(
    to: *mut c_void,
    pool: CUmemoryPool,
    kind: CUmemAllocationHandleType,
    flags: c_ulonglong,
) -> Result<()> {
    required(to)?;
    super::virtual_memory::posix_fd(kind)?;
    if flags != 0 {
        return Err(CudaError::InvalidValue);
    }
    unsafe { give(to.cast::<c_int>(), find(pool)?.export()?) }
}

pub unsafe fn cuMemPoolImportFromShareableHandle(
    to: *mut CUmemoryPool,
    os_handle: *mut c_void,
    kind: CUmemAllocationHandleType,
    flags: c_ulonglong,
) -> Result<()> {
    required(to)?;
    super::virtual_memory::posix_fd(kind)?;
    if flags != 0 {
        return Err(CudaError::InvalidValue);
    }
    let device = healthy()?.device;
    let fd = super::virtual_memory::own_fd(os_handle)?;
    unsafe { give(to, opaque(rt()?.import_pool(fd, device)?.handle)) }
}

pub unsafe fn cuMemPoolExportPointer(
    to: *mut CUmemPoolPtrExportData,
    address: CUdeviceptr,
) -> Result<()> {
    required(to)?;
    let reserved = rt()?.export_pooled(address)?;
    unsafe { give(to, CUmemPoolPtrExportData { reserved }) }
}

pub unsafe fn cuMemPoolImportPointer(
    to: *mut CUdeviceptr,
    pool: CUmemoryPool,
    data: *mut CUmemPoolPtrExportData,
) -> Result<()> {
    required(to)?;
    required(data)?;
    let context = healthy()?;
    // SAFETY: not null, and the program's.
    let data = unsafe { data.read_unaligned() };
    unsafe { give(to, find(pool)?.import_pointer(&context, &data.reserved)?) }
}
