// SPDX-License-Identifier: MIT OR Apache-2.0
//! Copies of one, two and three dimensions. Those that only arrays have are in [`super::array`].

use std::ffi::{c_int, c_void};

use super::array::{End, copy_3d};
use super::{default_stream, device_address, required};
use crate::context::{self, ensure};
use crate::cu;
use crate::entry;
use crate::error::{Error, Result, check};
use crate::sys::*;

/// Where the two sides of a copy are. `Any` is found out from the pointer.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Host,
    Device,
    Any,
}

impl Side {
    pub(super) fn memory_type(self) -> cu::CUmemorytype {
        match self {
            Side::Host => cu::CU_MEMORYTYPE_HOST,
            Side::Device => cu::CU_MEMORYTYPE_DEVICE,
            Side::Any => cu::CU_MEMORYTYPE_UNIFIED,
        }
    }
}

/// Destination and source of a kind of copy.
pub(super) fn sides(kind: cudaMemcpyKind) -> Result<(Side, Side)> {
    match kind {
        cudaMemcpyHostToHost => Ok((Side::Host, Side::Host)),
        cudaMemcpyHostToDevice => Ok((Side::Device, Side::Host)),
        cudaMemcpyDeviceToHost => Ok((Side::Host, Side::Device)),
        cudaMemcpyDeviceToDevice => Ok((Side::Device, Side::Device)),
        cudaMemcpyDefault => Ok((Side::Any, Side::Any)),
        _ => Err(Error(cudaErrorInvalidMemcpyDirection)),
    }
}

/// The attributes have the driver's layout and numbers.
#[cfg(cudart12)]
#[expect(clippy::too_many_arguments, reason = "the C function's")]
pub unsafe fn cudaMemcpyBatchAsync(
    to: *mut *mut c_void,
    from: *mut *mut c_void,
    sizes: *mut usize,
    count: usize,
    attributes: *mut cudaMemcpyAttributes,
    first_uses: *mut usize,
    attribute_count: usize,
    fail_index: *mut usize,
    stream: cudaStream_t,
) -> Result<()> {
    ensure()?;
    let (to, from, attributes) = (to.cast(), from.cast(), attributes.cast());
    check(cu::cuMemcpyBatchAsync(
        to,
        from,
        sizes,
        count,
        attributes,
        first_uses,
        attribute_count,
        fail_index,
        stream.cast(),
    ))
}

/// The attributes have the driver's layout and numbers.
#[cfg(cudart13)]
#[expect(clippy::too_many_arguments, reason = "the C function's")]
pub unsafe fn cudaMemcpyBatchAsync(
    to: *const *mut c_void,
    from: *const *const c_void,
    sizes: *const usize,
    count: usize,
    attributes: *mut cudaMemcpyAttributes,
    first_uses: *mut usize,
    attribute_count: usize,
    stream: cudaStream_t,
) -> Result<()> {
    ensure()?;
    let (to, from, sizes) = (to.cast_mut().cast(), from.cast_mut().cast(), sizes.cast_mut());
    let (attributes, stream) = (attributes.cast(), stream.cast());
    check(cu::cuMemcpyBatchAsync_v2(
        to,
        from,
        sizes,
        count,
        attributes,
        first_uses,
        attribute_count,
        stream,
    ))
}

pub unsafe fn cudaMemcpy(
    to: *mut c_void,
    from: *const c_void,
    count: usize,
    kind: cudaMemcpyKind,
) -> Result<()> {
    let sides = sides(kind)?;
    ensure()?;
    if count == 0 {
        return Ok(());
    }
    let (to_address, from_address) = (device_address(to), device_address(from));
    check(match (sides, entry::default_is_per_thread()) {
        ((Side::Device, Side::Host), false) => cu::cuMemcpyHtoD_v2(to_address, from, count),
        ((Side::Device, Side::Host), true) => cu::cuMemcpyHtoD_v2_ptds(to_address, from, count),
        ((Side::Host, Side::Device), false) => cu::cuMemcpyDtoH_v2(to, from_address, count),
        ((Side::Host, Side::Device), true) => cu::cuMemcpyDtoH_v2_ptds(to, from_address, count),
        ((Side::Device, Side::Device), false) => {
            cu::cuMemcpyDtoD_v2(to_address, from_address, count)
        }
        ((Side::Device, Side::Device), true) => {
            cu::cuMemcpyDtoD_v2_ptds(to_address, from_address, count)
        }
        ((Side::Host, Side::Host) | (Side::Any, _) | (_, Side::Any), false) => {
            cu::cuMemcpy(to_address, from_address, count)
        }
        ((Side::Host, Side::Host) | (Side::Any, _) | (_, Side::Any), true) => {
            cu::cuMemcpy_ptds(to_address, from_address, count)
        }
    })
}

pub unsafe fn cudaMemcpyAsync(
    to: *mut c_void,
    from: *const c_void,
    count: usize,
    kind: cudaMemcpyKind,
    stream: cudaStream_t,
) -> Result<()> {
    let sides = sides(kind)?;
    ensure()?;
    let stream = stream.cast();
    if count == 0 {
        // The stream is checked all the same.
        return check(not_ready_is_fine(cu::cuStreamQuery(stream)));
    }
    let (to_address, from_address) = (device_address(to), device_address(from));
    check(match sides {
        (Side::Device, Side::Host) => cu::cuMemcpyHtoDAsync_v2(to_address, from, count, stream),
        (Side::Host, Side::Device) => cu::cuMemcpyDtoHAsync_v2(to, from_address, count, stream),
        (Side::Device, Side::Device) => {
            cu::cuMemcpyDtoDAsync_v2(to_address, from_address, count, stream)
        }
        (Side::Host, Side::Host) | (Side::Any, _) | (_, Side::Any) => {
            cu::cuMemcpyAsync(to_address, from_address, count, stream)
        }
    })
}

fn not_ready_is_fine(code: u32) -> u32 {
    if code == cudaErrorNotReady { cudaSuccess } else { code }
}

pub unsafe fn cudaMemcpyPeer(
    to: *mut c_void,
    to_device: c_int,
    from: *const c_void,
    from_device: c_int,
    count: usize,
) -> Result<()> {
    ensure()?;
    let (to_context, from_context) = (context::primary(to_device)?, context::primary(from_device)?);
    if count == 0 {
        return Ok(());
    }
    let (to, from) = (device_address(to), device_address(from));
    check(cu::cuMemcpyPeer(to, to_context, from, from_context, count))
}

pub unsafe fn cudaMemcpyPeerAsync(
    to: *mut c_void,
    to_device: c_int,
    from: *const c_void,
    from_device: c_int,
    count: usize,
    stream: cudaStream_t,
) -> Result<()> {
    ensure()?;
    let (to_context, from_context) = (context::primary(to_device)?, context::primary(from_device)?);
    if count == 0 {
        return Ok(());
    }
    let (to, from, stream) = (device_address(to), device_address(from), stream.cast());
    check(cu::cuMemcpyPeerAsync(to, to_context, from, from_context, count, stream))
}

/// A rectangle: `width` in bytes, `height` in rows.
struct Rectangle {
    to: *mut c_void,
    to_pitch: usize,
    from: *const c_void,
    from_pitch: usize,
    width: usize,
    height: usize,
    kind: cudaMemcpyKind,
}

impl Rectangle {
    fn descriptor(&self) -> Result<cu::CUDA_MEMCPY2D> {
        let (to, from) = sides(self.kind)?;
        if self.width > self.to_pitch || self.width > self.from_pitch {
            return Err(Error(cudaErrorInvalidPitchValue));
        }
        // SAFETY: the structure is of integers and pointers.
        let mut copy: cu::CUDA_MEMCPY2D = unsafe { std::mem::zeroed() };
        copy.srcMemoryType = from.memory_type();
        copy.srcHost = self.from;
        copy.srcDevice = device_address(self.from);
        copy.srcPitch = self.from_pitch;
        copy.dstMemoryType = to.memory_type();
        copy.dstHost = self.to;
        copy.dstDevice = device_address(self.to);
        copy.dstPitch = self.to_pitch;
        copy.WidthInBytes = self.width;
        copy.Height = self.height;
        Ok(copy)
    }
}

pub unsafe fn cudaMemcpy2D(
    to: *mut c_void,
    to_pitch: usize,
    from: *const c_void,
    from_pitch: usize,
    width: usize,
    height: usize,
    kind: cudaMemcpyKind,
) -> Result<()> {
    let rectangle = Rectangle { to, to_pitch, from, from_pitch, width, height, kind };
    let copy = rectangle.descriptor()?;
    ensure()?;
    if width == 0 || height == 0 {
        return Ok(());
    }
    check(match entry::default_is_per_thread() {
        false => cu::cuMemcpy2DUnaligned_v2(&copy),
        true => cu::cuMemcpy2DUnaligned_v2_ptds(&copy),
    })
}

#[expect(clippy::too_many_arguments, reason = "cuda_runtime_api.h")]
pub unsafe fn cudaMemcpy2DAsync(
    to: *mut c_void,
    to_pitch: usize,
    from: *const c_void,
    from_pitch: usize,
    width: usize,
    height: usize,
    kind: cudaMemcpyKind,
    stream: cudaStream_t,
) -> Result<()> {
    let rectangle = Rectangle { to, to_pitch, from, from_pitch, width, height, kind };
    let copy = rectangle.descriptor()?;
    ensure()?;
    if width == 0 || height == 0 {
        return Ok(());
    }
    check(cu::cuMemcpy2DAsync_v2(&copy, stream.cast()))
}

/// The positions and sizes of a copy between pitched memory, in bytes, rows and slices.
fn box_descriptor(
    from: &cudaPitchedPtr,
    from_at: &cudaPos,
    to: &cudaPitchedPtr,
    to_at: &cudaPos,
    extent: &cudaExtent,
    (to_side, from_side): (Side, Side),
) -> Result<cu::CUDA_MEMCPY3D> {
    if from.ptr.is_null() || to.ptr.is_null() {
        return Err(Error::INVALID_VALUE);
    }
    if extent.width > from.pitch || extent.width > to.pitch {
        return Err(Error(cudaErrorInvalidPitchValue));
    }
    // SAFETY: the structure is of integers and pointers.
    let mut copy: cu::CUDA_MEMCPY3D = unsafe { std::mem::zeroed() };
    copy.srcXInBytes = from_at.x;
    copy.srcY = from_at.y;
    copy.srcZ = from_at.z;
    copy.srcMemoryType = from_side.memory_type();
    copy.srcHost = from.ptr;
    copy.srcDevice = device_address(from.ptr);
    copy.srcPitch = from.pitch;
    copy.srcHeight = from.ysize;
    copy.dstXInBytes = to_at.x;
    copy.dstY = to_at.y;
    copy.dstZ = to_at.z;
    copy.dstMemoryType = to_side.memory_type();
    copy.dstHost = to.ptr;
    copy.dstDevice = device_address(to.ptr);
    copy.dstPitch = to.pitch;
    copy.dstHeight = to.ysize;
    copy.WidthInBytes = extent.width;
    copy.Height = extent.height;
    copy.Depth = extent.depth;
    Ok(copy)
}

fn is_empty(extent: &cudaExtent) -> bool {
    extent.width == 0 || extent.height == 0 || extent.depth == 0
}

pub(super) unsafe fn of_3d(p: *const cudaMemcpy3DParms) -> Result<cu::CUDA_MEMCPY3D> {
    required(p)?;
    let p = &*p;
    if !p.srcArray.is_null() || !p.dstArray.is_null() {
        ensure()?;
        let (to, from) = sides(p.kind)?;
        let to = End { array: p.dstArray, at: p.dstPos, memory: p.dstPtr, side: to };
        let from = End { array: p.srcArray, at: p.srcPos, memory: p.srcPtr, side: from };
        return copy_3d(&to, &from, &p.extent);
    }
    box_descriptor(&p.srcPtr, &p.srcPos, &p.dstPtr, &p.dstPos, &p.extent, sides(p.kind)?)
}

pub unsafe fn cudaMemcpy3D(p: *const cudaMemcpy3DParms) -> Result<()> {
    let copy = of_3d(p)?;
    ensure()?;
    if is_empty(&(*p).extent) {
        return Ok(());
    }
    check(match entry::default_is_per_thread() {
        false => cu::cuMemcpy3D_v2(&copy),
        true => cu::cuMemcpy3D_v2_ptds(&copy),
    })
}

pub unsafe fn cudaMemcpy3DAsync(p: *const cudaMemcpy3DParms, stream: cudaStream_t) -> Result<()> {
    let copy = of_3d(p)?;
    ensure()?;
    if is_empty(&(*p).extent) {
        return Ok(());
    }
    check(cu::cuMemcpy3DAsync_v2(&copy, stream.cast()))
}

/// With unified addressing a pointer says which device it is on; the ordinals are only checked.
unsafe fn of_3d_peer(p: *const cudaMemcpy3DPeerParms) -> Result<cu::CUDA_MEMCPY3D> {
    required(p)?;
    let p = &*p;
    context::primary(p.srcDevice)?;
    context::primary(p.dstDevice)?;
    if !p.srcArray.is_null() || !p.dstArray.is_null() {
        let side = Side::Any;
        let to = End { array: p.dstArray, at: p.dstPos, memory: p.dstPtr, side };
        let from = End { array: p.srcArray, at: p.srcPos, memory: p.srcPtr, side };
        return copy_3d(&to, &from, &p.extent);
    }
    let sides = (Side::Any, Side::Any);
    box_descriptor(&p.srcPtr, &p.srcPos, &p.dstPtr, &p.dstPos, &p.extent, sides)
}

pub unsafe fn cudaMemcpy3DPeer(p: *const cudaMemcpy3DPeerParms) -> Result<()> {
    ensure()?;
    let copy = of_3d_peer(p)?;
    if is_empty(&(*p).extent) {
        return Ok(());
    }
    check(cu::cuMemcpy3DAsync_v2(&copy, default_stream()))?;
    check(cu::cuStreamSynchronize(default_stream()))
}

pub unsafe fn cudaMemcpy3DPeerAsync(
    p: *const cudaMemcpy3DPeerParms,
    stream: cudaStream_t,
) -> Result<()> {
    ensure()?;
    let copy = of_3d_peer(p)?;
    if is_empty(&(*p).extent) {
        return Ok(());
    }
    check(cu::cuMemcpy3DAsync_v2(&copy, stream.cast()))
}
