// SPDX-License-Identifier: MIT OR Apache-2.0
//! Allocation of device, host and managed memory, what is known of a pointer, prefetch and advice.

use std::ffi::{c_int, c_uint, c_void};
use std::ptr::null_mut;

use super::{device_address, give, pointer, required};
use crate::context::{self, ensure};
use crate::cu;
use crate::error::{Error, Result, check};
use crate::sys::*;

pub unsafe fn cudaMalloc(to: *mut *mut c_void, size: usize) -> Result<()> {
    required(to)?;
    ensure()?;
    if size == 0 {
        // No bytes have no address; the driver would call it an error.
        return give(to, null_mut());
    }
    let mut address = 0;
    check(cu::cuMemAlloc_v2(&mut address, size))?;
    give(to, pointer(address))
}

pub unsafe fn cudaMallocManaged(to: *mut *mut c_void, size: usize, flags: c_uint) -> Result<()> {
    required(to)?;
    ensure()?;
    if size == 0 && [cudaMemAttachGlobal, cudaMemAttachHost].contains(&flags) {
        return give(to, null_mut());
    }
    let mut address = 0;
    check(cu::cuMemAllocManaged(&mut address, size, flags))?;
    give(to, pointer(address))
}

pub unsafe fn cudaMallocHost(to: *mut *mut c_void, size: usize) -> Result<()> {
    cudaHostAlloc(to, size, cudaHostAllocDefault)
}

pub unsafe fn cudaHostAlloc(to: *mut *mut c_void, size: usize, flags: c_uint) -> Result<()> {
    required(to)?;
    let known = cudaHostAllocPortable | cudaHostAllocMapped | cudaHostAllocWriteCombined;
    if flags & !known != 0 {
        return Err(Error::INVALID_VALUE);
    }
    ensure()?;
    if size == 0 {
        return give(to, null_mut());
    }
    // With unified addressing all pinned memory is mapped and portable; the flags have the same values.
    check(cu::cuMemHostAlloc(to, size, flags))
}

pub unsafe fn cudaHostRegister(at: *mut c_void, size: usize, flags: c_uint) -> Result<()> {
    required(at)?;
    ensure()?;
    check(cu::cuMemHostRegister_v2(at, size, flags))
}

pub unsafe fn cudaHostUnregister(at: *mut c_void) -> Result<()> {
    ensure()?;
    check(cu::cuMemHostUnregister(at))
}

pub unsafe fn cudaHostGetDevicePointer(
    to: *mut *mut c_void,
    host: *mut c_void,
    flags: c_uint,
) -> Result<()> {
    required(to)?;
    ensure()?;
    let mut address = 0;
    check(cu::cuMemHostGetDevicePointer_v2(&mut address, host, flags))?;
    give(to, pointer(address))
}

pub unsafe fn cudaHostGetFlags(flags: *mut c_uint, host: *mut c_void) -> Result<()> {
    required(flags)?;
    ensure()?;
    check(cu::cuMemHostGetFlags(flags, host))
}

pub unsafe fn cudaMallocPitch(
    to: *mut *mut c_void,
    pitch: *mut usize,
    width: usize,
    height: usize,
) -> Result<()> {
    required(to)?;
    required(pitch)?;
    ensure()?;
    if width == 0 || height == 0 {
        give(to, null_mut())?;
        return give(pitch, 0);
    }
    let mut address = 0;
    // Elements of 4 bytes ask for the least alignment of a row that the driver knows.
    check(cu::cuMemAllocPitch_v2(&mut address, pitch, width, height, 4))?;
    give(to, pointer(address))
}

pub unsafe fn cudaMalloc3D(to: *mut cudaPitchedPtr, extent: cudaExtent) -> Result<()> {
    required(to)?;
    let rows = extent.height.checked_mul(extent.depth).ok_or(Error(cudaErrorMemoryAllocation))?;
    let (mut at, mut pitch) = (null_mut(), 0);
    cudaMallocPitch(&mut at, &mut pitch, extent.width, rows)?;
    give(to, cudaPitchedPtr { ptr: at, pitch, xsize: extent.width, ysize: extent.height })
}

pub unsafe fn cudaFree(at: *mut c_void) -> Result<()> {
    ensure()?;
    if at.is_null() {
        return Ok(());
    }
    check(cu::cuMemFree_v2(device_address(at)))
}

pub unsafe fn cudaFreeHost(at: *mut c_void) -> Result<()> {
    ensure()?;
    if at.is_null() {
        return Ok(());
    }
    check(cu::cuMemFreeHost(at))
}

pub unsafe fn cudaMemGetInfo(free: *mut usize, total: *mut usize) -> Result<()> {
    required(free)?;
    required(total)?;
    ensure()?;
    check(cu::cuMemGetInfo_v2(free, total))
}

pub unsafe fn cudaPointerGetAttributes(
    to: *mut cudaPointerAttributes,
    at: *const c_void,
) -> Result<()> {
    required(to)?;
    ensure()?;
    let (mut kind, mut managed, mut ordinal) = (0u32, 0i32, 0i32);
    let (mut device, mut host) = (null_mut::<c_void>(), null_mut::<c_void>());
    let mut attributes = [
        cu::CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
        cu::CU_POINTER_ATTRIBUTE_IS_MANAGED,
        cu::CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
        cu::CU_POINTER_ATTRIBUTE_DEVICE_POINTER,
        cu::CU_POINTER_ATTRIBUTE_HOST_POINTER,
    ];
    let mut values: [*mut c_void; 5] = [
        (&raw mut kind).cast(),
        (&raw mut managed).cast(),
        (&raw mut ordinal).cast(),
        (&raw mut device).cast(),
        (&raw mut host).cast(),
    ];
    // This call answers with zeros for a pointer that it does not know.
    check(cu::cuPointerGetAttributes(
        attributes.len() as c_uint,
        attributes.as_mut_ptr(),
        values.as_mut_ptr(),
        device_address(at),
    ))?;
    let type_ = match kind {
        _ if managed != 0 => cudaMemoryTypeManaged,
        cu::CU_MEMORYTYPE_HOST => cudaMemoryTypeHost,
        cu::CU_MEMORYTYPE_DEVICE => cudaMemoryTypeDevice,
        _ => cudaMemoryTypeUnregistered,
    };
    // SAFETY: the structure is of integers and pointers.
    let mut answer: cudaPointerAttributes = std::mem::zeroed();
    answer.type_ = type_;
    answer.device = ordinal;
    answer.devicePointer = device;
    answer.hostPointer = host;
    if type_ == cudaMemoryTypeUnregistered {
        answer.device = cudaInvalidDeviceId;
        answer.devicePointer = null_mut();
        answer.hostPointer = at.cast_mut();
    }
    give(to, answer)
}

/// `cudaInvalidDeviceId`, a macro.
const cudaInvalidDeviceId: c_int = -2;
/// `cudaCpuDeviceId`, a macro.
#[cfg(cudart12)]
const cudaCpuDeviceId: c_int = -1;

/// A place that an ordinal names, where -1 is the host.
#[cfg(cudart12)]
fn location(ordinal: c_int) -> Result<cu::CUmemLocation> {
    if ordinal == cudaCpuDeviceId {
        return Ok(cu_location(cu::CU_MEM_LOCATION_TYPE_HOST, 0));
    }
    let device = context::device(ordinal)?;
    Ok(cu_location(cu::CU_MEM_LOCATION_TYPE_DEVICE, device))
}

fn cu_location(kind: cu::CUmemLocationType, id: c_int) -> cu::CUmemLocation {
    // SAFETY: the structure is of integers.
    let mut location: cu::CUmemLocation = unsafe { std::mem::zeroed() };
    location.type_ = kind;
    // SAFETY: the two have the same layout: type, then id.
    unsafe { (&raw mut location).cast::<c_int>().add(1).write(id) };
    location
}

/// A place as the runtime names it; the enumerations have the same numbers.
fn of_runtime(location: &cudaMemLocation) -> Result<cu::CUmemLocation> {
    // SAFETY: the structure is a type and an id, in a union of integers or plainly.
    let id = unsafe { (&raw const *location).cast::<c_int>().add(1).read() };
    if location.type_ == cudaMemLocationTypeDevice {
        context::device(id)?;
    }
    Ok(cu_location(location.type_, id))
}

unsafe fn prefetch(
    at: *const c_void,
    count: usize,
    to: cu::CUmemLocation,
    flags: c_uint,
    stream: cudaStream_t,
) -> Result<()> {
    ensure()?;
    check(cu::cuMemPrefetchAsync_v2(device_address(at), count, to, flags, stream.cast()))
}

unsafe fn advise(
    at: *const c_void,
    count: usize,
    advice: cudaMemoryAdvise,
    place: cu::CUmemLocation,
) -> Result<()> {
    ensure()?;
    check(cu::cuMemAdvise_v2(device_address(at), count, advice, place))
}

#[cfg(cudart12)]
pub unsafe fn cudaMemPrefetchAsync(
    at: *const c_void,
    count: usize,
    ordinal: c_int,
    stream: cudaStream_t,
) -> Result<()> {
    prefetch(at, count, location(ordinal)?, 0, stream)
}

#[cfg(cudart12)]
pub unsafe fn cudaMemPrefetchAsync_v2(
    at: *const c_void,
    count: usize,
    place: cudaMemLocation,
    flags: c_uint,
    stream: cudaStream_t,
) -> Result<()> {
    prefetch(at, count, of_runtime(&place)?, flags, stream)
}

#[cfg(cudart13)]
pub unsafe fn cudaMemPrefetchAsync(
    at: *const c_void,
    count: usize,
    place: cudaMemLocation,
    flags: c_uint,
    stream: cudaStream_t,
) -> Result<()> {
    prefetch(at, count, of_runtime(&place)?, flags, stream)
}

#[cfg(cudart12)]
pub unsafe fn cudaMemAdvise(
    at: *const c_void,
    count: usize,
    advice: cudaMemoryAdvise,
    ordinal: c_int,
) -> Result<()> {
    advise(at, count, advice, location(ordinal)?)
}

#[cfg(cudart12)]
pub unsafe fn cudaMemAdvise_v2(
    at: *const c_void,
    count: usize,
    advice: cudaMemoryAdvise,
    place: cudaMemLocation,
) -> Result<()> {
    advise(at, count, advice, of_runtime(&place)?)
}

#[cfg(cudart13)]
pub unsafe fn cudaMemAdvise(
    at: *const c_void,
    count: usize,
    advice: cudaMemoryAdvise,
    place: cudaMemLocation,
) -> Result<()> {
    advise(at, count, advice, of_runtime(&place)?)
}

pub unsafe fn cudaMemRangeGetAttribute(
    data: *mut c_void,
    size: usize,
    attribute: cudaMemRangeAttribute,
    at: *const c_void,
    count: usize,
) -> Result<()> {
    ensure()?;
    check(cu::cuMemRangeGetAttribute(data, size, attribute, device_address(at), count))
}

pub unsafe fn cudaMemRangeGetAttributes(
    data: *mut *mut c_void,
    sizes: *mut usize,
    attributes: *mut cudaMemRangeAttribute,
    number: usize,
    at: *const c_void,
    count: usize,
) -> Result<()> {
    ensure()?;
    let at = device_address(at);
    check(cu::cuMemRangeGetAttributes(data, sizes, attributes, number, at, count))
}

pub unsafe fn cudaCreateChannelDesc(
    x: c_int,
    y: c_int,
    z: c_int,
    w: c_int,
    f: cudaChannelFormatKind,
) -> cudaChannelFormatDesc {
    cudaChannelFormatDesc { x, y, z, w, f }
}
