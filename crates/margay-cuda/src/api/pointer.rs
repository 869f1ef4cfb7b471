// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a pointer leads to.

use std::ffi::{c_int, c_uint, c_ulonglong, c_void};

use margay_runtime::memory::{Origin, Record};
use margay_runtime::{CudaError, Result};

use super::{current, give, opaque, required, rt};
use crate::sys::*;

/// Writes one attribute. `None` is a pointer that no allocation holds.
unsafe fn answer(
    data: *mut c_void,
    attribute: CUpointer_attribute,
    address: u64,
    record: Option<&Record>,
) -> Result<()> {
    let known = record.ok_or(CudaError::InvalidValue);
    let is_managed = |r: &Record| matches!(r.origin, Origin::Managed | Origin::ManagedVariable);
    unsafe {
        match attribute {
            CU_POINTER_ATTRIBUTE_CONTEXT => give(data.cast::<CUcontext>(), opaque(known?.context)),
            CU_POINTER_ATTRIBUTE_MEMORY_TYPE => {
                let host = known?.origin.is_host();
                let kind = if host { CU_MEMORYTYPE_HOST } else { CU_MEMORYTYPE_DEVICE };
                give(data.cast::<c_uint>(), kind)
            }
            CU_POINTER_ATTRIBUTE_DEVICE_POINTER => {
                known?;
                give(data.cast::<CUdeviceptr>(), address)
            }
            CU_POINTER_ATTRIBUTE_HOST_POINTER => match known?.origin.host_accessible() {
                true => give(data.cast(), super::memory::host_pointer(address)),
                false => Err(CudaError::InvalidValue),
            },
            CU_POINTER_ATTRIBUTE_SYNC_MEMOPS => {
                known?;
                give(data.cast::<c_int>(), 0)
            }
            CU_POINTER_ATTRIBUTE_BUFFER_ID => give(data.cast::<c_ulonglong>(), known?.buffer_id),
            CU_POINTER_ATTRIBUTE_IS_MANAGED => {
                give(data.cast::<c_int>(), c_int::from(record.is_some_and(is_managed)))
            }
            CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL => {
                give(data.cast::<c_int>(), known?.device as c_int)
            }
            CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE => {
                give(data.cast::<c_int>(), c_int::from(known?.origin == Origin::Alloc))
            }
            CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE
            | CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE => {
                known?;
                give(data.cast::<c_int>(), 0)
            }
            CU_POINTER_ATTRIBUTE_RANGE_START_ADDR => give(data.cast::<CUdeviceptr>(), known?.base),
            CU_POINTER_ATTRIBUTE_RANGE_SIZE => give(data.cast::<usize>(), known?.size as usize),
            CU_POINTER_ATTRIBUTE_MAPPED => {
                give(data.cast::<c_int>(), c_int::from(record.is_some()))
            }
            CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES => {
                known?;
                give(data.cast::<c_ulonglong>(), 0)
            }
            CU_POINTER_ATTRIBUTE_ACCESS_FLAGS => {
                known?;
                give(data.cast::<c_uint>(), CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE)
            }
            CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE => {
                let pool = match known?.origin {
                    Origin::Pool(pool) => pool,
                    Origin::Alloc | Origin::Managed | Origin::HostAlloc => 0,
                    Origin::HostRegister | Origin::Variable | Origin::ManagedVariable => 0,
                    Origin::Mapped | Origin::Ipc => 0,
                };
                give(data.cast::<CUmemoryPool>(), opaque(pool))
            }
            CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR => {
                let record = known?;
                let range = rt()?.virtual_memory.mapping_range(address);
                give(data.cast::<CUdeviceptr>(), range.map_or(record.base, |(base, _)| base))
            }
            CU_POINTER_ATTRIBUTE_MAPPING_SIZE => {
                let record = known?;
                let range = rt()?.virtual_memory.mapping_range(address);
                give(data.cast::<usize>(), range.map_or(record.size, |(_, size)| size) as usize)
            }
            // These belong to direct access by other devices.
            CU_POINTER_ATTRIBUTE_P2P_TOKENS | CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID => {
                Err(CudaError::NotSupported)
            }
            _ => Err(CudaError::InvalidValue),
        }
    }
}

pub unsafe fn cuPointerGetAttribute(
    data: *mut c_void,
    attribute: CUpointer_attribute,
    address: CUdeviceptr,
) -> Result<()> {
    current()?;
    required(data)?;
    let record = rt()?.allocation(address);
    unsafe { answer(data, attribute, address, record.as_ref()) }
}

/// An unknown pointer is no error here: its attributes are 0.
pub unsafe fn cuPointerGetAttributes(
    count: c_uint,
    attributes: *mut CUpointer_attribute,
    data: *mut *mut c_void,
    address: CUdeviceptr,
) -> Result<()> {
    current()?;
    required(attributes)?;
    required(data)?;
    let record = rt()?.allocation(address);
    for at in 0..count as usize {
        // SAFETY: the program's arrays have `count` elements.
        let (attribute, to) = unsafe { (attributes.add(at).read(), data.add(at).read()) };
        required(to)?;
        // SAFETY: `to` has room for the attribute's type.
        match unsafe { answer(to, attribute, address, record.as_ref()) } {
            Ok(()) => {}
            Err(CudaError::InvalidValue) => unsafe { clear(to, attribute)? },
            Err(other) => return Err(other),
        }
    }
    Ok(())
}

/// The answer for a pointer that nothing is known of.
unsafe fn clear(to: *mut c_void, attribute: CUpointer_attribute) -> Result<()> {
    unsafe {
        match attribute {
            CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL => give(to.cast::<c_int>(), -2),
            CU_POINTER_ATTRIBUTE_MEMORY_TYPE
            | CU_POINTER_ATTRIBUTE_SYNC_MEMOPS
            | CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE
            | CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE
            | CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE
            | CU_POINTER_ATTRIBUTE_ACCESS_FLAGS => give(to.cast::<c_uint>(), 0),
            CU_POINTER_ATTRIBUTE_CONTEXT
            | CU_POINTER_ATTRIBUTE_DEVICE_POINTER
            | CU_POINTER_ATTRIBUTE_HOST_POINTER
            | CU_POINTER_ATTRIBUTE_BUFFER_ID
            | CU_POINTER_ATTRIBUTE_RANGE_START_ADDR
            | CU_POINTER_ATTRIBUTE_RANGE_SIZE
            | CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES
            | CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE => give(to.cast::<u64>(), 0),
            _ => Err(CudaError::InvalidValue),
        }
    }
}

/// The one attribute that can be set, synchronous copies, is not kept.
pub unsafe fn cuPointerSetAttribute(
    value: *const c_void,
    attribute: CUpointer_attribute,
    address: CUdeviceptr,
) -> Result<()> {
    current()?;
    required(value)?;
    let record = rt()?.allocation(address).ok_or(CudaError::InvalidValue)?;
    match attribute {
        CU_POINTER_ATTRIBUTE_SYNC_MEMOPS if !record.origin.is_host() => {
            Err(CudaError::NotSupported)
        }
        _ => Err(CudaError::InvalidValue),
    }
}
