// SPDX-License-Identifier: MIT OR Apache-2.0
//! CUDA arrays, mipmapped arrays, and copies from and to them.

use std::ffi::{c_int, c_uint, c_void};

use super::copy::{Side, sides};
use super::{device_address, give, required};
use crate::context::ensure;
use crate::cu;
use crate::entry;
use crate::error::{Error, Result, check};
use crate::sys::*;

/// The driver's format and number of channels for a channel descriptor.
pub(super) fn format_of(d: &cudaChannelFormatDesc) -> Result<(cu::CUarray_format, c_uint)> {
    let bad = Error(cudaErrorInvalidChannelDescriptor);
    let bits = [d.x, d.y, d.z, d.w];
    let channels = bits.iter().take_while(|b| **b > 0).count();
    let equal =
        bits[..channels].iter().all(|b| *b == d.x) && bits[channels..].iter().all(|b| *b == 0);
    let fixed = |format: cu::CUarray_format, count: usize| match equal && channels == count {
        true => Ok((format, count as c_uint)),
        false => Err(bad),
    };
    let format = match (d.f, d.x) {
        (cudaChannelFormatKindSigned, 8) => cu::CU_AD_FORMAT_SIGNED_INT8,
        (cudaChannelFormatKindSigned, 16) => cu::CU_AD_FORMAT_SIGNED_INT16,
        (cudaChannelFormatKindSigned, 32) => cu::CU_AD_FORMAT_SIGNED_INT32,
        (cudaChannelFormatKindUnsigned, 8) => cu::CU_AD_FORMAT_UNSIGNED_INT8,
        (cudaChannelFormatKindUnsigned, 16) => cu::CU_AD_FORMAT_UNSIGNED_INT16,
        (cudaChannelFormatKindUnsigned, 32) => cu::CU_AD_FORMAT_UNSIGNED_INT32,
        (cudaChannelFormatKindFloat, 16) => cu::CU_AD_FORMAT_HALF,
        (cudaChannelFormatKindFloat, 32) => cu::CU_AD_FORMAT_FLOAT,
        // Both enumerations go through 8 and 16 bits of 1, 2 and 4 channels, unsigned and signed.
        (
            cudaChannelFormatKindUnsignedNormalized8X1..=cudaChannelFormatKindSignedNormalized16X4,
            _,
        ) => {
            let at = d.f - cudaChannelFormatKindUnsignedNormalized8X1;
            return fixed(cu::CU_AD_FORMAT_UNORM_INT8X1 + at, [1, 2, 4][at as usize % 3]);
        }
        (cudaChannelFormatKindNV12, _)
        | (
            cudaChannelFormatKindUnsignedBlockCompressed1
                ..=cudaChannelFormatKindUnsignedBlockCompressed7SRGB,
            _,
        ) => return Err(Error(cudaErrorNotSupported)),
        _ => return Err(bad),
    };
    match equal && matches!(channels, 1 | 2 | 4) {
        true => Ok((format, channels as c_uint)),
        false => Err(bad),
    }
}

/// The channel descriptor of the driver's format.
pub(super) fn descriptor_of(
    format: cu::CUarray_format,
    channels: c_uint,
) -> Result<cudaChannelFormatDesc> {
    let (bits, f) = match format {
        cu::CU_AD_FORMAT_SIGNED_INT8 => (8, cudaChannelFormatKindSigned),
        cu::CU_AD_FORMAT_SIGNED_INT16 => (16, cudaChannelFormatKindSigned),
        cu::CU_AD_FORMAT_SIGNED_INT32 => (32, cudaChannelFormatKindSigned),
        cu::CU_AD_FORMAT_UNSIGNED_INT8 => (8, cudaChannelFormatKindUnsigned),
        cu::CU_AD_FORMAT_UNSIGNED_INT16 => (16, cudaChannelFormatKindUnsigned),
        cu::CU_AD_FORMAT_UNSIGNED_INT32 => (32, cudaChannelFormatKindUnsigned),
        cu::CU_AD_FORMAT_HALF => (16, cudaChannelFormatKindFloat),
        cu::CU_AD_FORMAT_FLOAT => (32, cudaChannelFormatKindFloat),
        cu::CU_AD_FORMAT_UNORM_INT8X1..=cu::CU_AD_FORMAT_SNORM_INT16X4 => {
            let at = format - cu::CU_AD_FORMAT_UNORM_INT8X1;
            let bits = if (at / 3).is_multiple_of(2) { 8 } else { 16 };
            (bits, cudaChannelFormatKindUnsignedNormalized8X1 + at)
        }
        _ => return Err(Error(cudaErrorInvalidChannelDescriptor)),
    };
    let has = |n: c_uint| if channels > n { bits } else { 0 };
    Ok(cudaChannelFormatDesc { x: has(0), y: has(1), z: has(2), w: has(3), f })
}

/// Bytes of a texel of an array.
pub(super) unsafe fn texel_bytes(array: cudaArray_const_t) -> Result<usize> {
    let d = describe(array)?;
    let desc = descriptor_of(d.Format, d.NumChannels)?;
    Ok((desc.x + desc.y + desc.z + desc.w) as usize / 8)
}

unsafe fn describe(array: cudaArray_const_t) -> Result<cu::CUDA_ARRAY3D_DESCRIPTOR> {
    // SAFETY: the structure is of integers.
    let mut d: cu::CUDA_ARRAY3D_DESCRIPTOR = std::mem::zeroed();
    check(cu::cuArray3DGetDescriptor_v2(&mut d, array.cast_mut().cast()))?;
    Ok(d)
}

unsafe fn description(
    desc: *const cudaChannelFormatDesc,
    extent: cudaExtent,
    flags: c_uint,
) -> Result<cu::CUDA_ARRAY3D_DESCRIPTOR> {
    required(desc)?;
    let (format, channels) = format_of(&*desc)?;
    Ok(cu::CUDA_ARRAY3D_DESCRIPTOR {
        Width: extent.width,
        Height: extent.height,
        Depth: extent.depth,
        Format: format,
        NumChannels: channels,
        Flags: flags,
    })
}

pub unsafe fn cudaMallocArray(
    to: *mut cudaArray_t,
    desc: *const cudaChannelFormatDesc,
    width: usize,
    height: usize,
    flags: c_uint,
) -> Result<()> {
    let known = cudaArraySurfaceLoadStore
        | cudaArrayTextureGather
        | cudaArraySparse
        | cudaArrayDeferredMapping
        | cudaArrayColorAttachment;
    if flags & !known != 0 {
        return Err(Error::INVALID_VALUE);
    }
    cudaMalloc3DArray(to, desc, cudaExtent { width, height, depth: 0 }, flags)
}

pub unsafe fn cudaMalloc3DArray(
    to: *mut cudaArray_t,
    desc: *const cudaChannelFormatDesc,
    extent: cudaExtent,
    flags: c_uint,
) -> Result<()> {
    required(to)?;
    let d = description(desc, extent, flags)?;
    ensure()?;
    check(cu::cuArray3DCreate_v2(to.cast(), &d))
}

pub unsafe fn cudaMallocMipmappedArray(
    to: *mut cudaMipmappedArray_t,
    desc: *const cudaChannelFormatDesc,
    extent: cudaExtent,
    levels: c_uint,
    flags: c_uint,
) -> Result<()> {
    required(to)?;
    let d = description(desc, extent, flags)?;
    ensure()?;
    check(cu::cuMipmappedArrayCreate(to.cast(), &d, levels))
}

pub unsafe fn cudaGetMipmappedArrayLevel(
    to: *mut cudaArray_t,
    array: cudaMipmappedArray_const_t,
    level: c_uint,
) -> Result<()> {
    required(to)?;
    ensure()?;
    check(cu::cuMipmappedArrayGetLevel(to.cast(), array.cast_mut().cast(), level))
}

pub unsafe fn cudaFreeArray(array: cudaArray_t) -> Result<()> {
    ensure()?;
    if array.is_null() {
        return Ok(());
    }
    check(cu::cuArrayDestroy(array.cast()))
}

pub unsafe fn cudaFreeMipmappedArray(array: cudaMipmappedArray_t) -> Result<()> {
    ensure()?;
    if array.is_null() {
        return Ok(());
    }
    check(cu::cuMipmappedArrayDestroy(array.cast()))
}

pub unsafe fn cudaArrayGetInfo(
    desc: *mut cudaChannelFormatDesc,
    extent: *mut cudaExtent,
    flags: *mut c_uint,
    array: cudaArray_t,
) -> Result<()> {
    ensure()?;
    let d = describe(array)?;
    if !desc.is_null() {
        desc.write(descriptor_of(d.Format, d.NumChannels)?);
    }
    if !extent.is_null() {
        extent.write(cudaExtent { width: d.Width, height: d.Height, depth: d.Depth });
    }
    if !flags.is_null() {
        flags.write(d.Flags);
    }
    Ok(())
}

pub unsafe fn cudaGetChannelDesc(
    desc: *mut cudaChannelFormatDesc,
    array: cudaArray_const_t,
) -> Result<()> {
    required(desc)?;
    ensure()?;
    let d = describe(array)?;
    give(desc, descriptor_of(d.Format, d.NumChannels)?)
}

pub unsafe fn cudaArrayGetPlane(
    to: *mut cudaArray_t,
    array: cudaArray_t,
    plane: c_uint,
) -> Result<()> {
    required(to)?;
    ensure()?;
    check(cu::cuArrayGetPlane(to.cast(), array.cast(), plane))
}

/// An end of a rectangle's copy.
enum Place {
    Array(cudaArray_const_t, usize, usize),
    Memory(*const c_void, usize, Side),
}

/// A copy of `height` rows of `width` bytes.
unsafe fn rectangle(
    to: Place,
    from: Place,
    (width, height): (usize, usize),
    stream: Option<cu::CUstream>,
) -> Result<()> {
    ensure()?;
    // SAFETY: the structure is of integers and pointers.
    let mut copy: cu::CUDA_MEMCPY2D = std::mem::zeroed();
    match from {
        Place::Array(array, x, y) => {
            copy.srcMemoryType = cu::CU_MEMORYTYPE_ARRAY;
            copy.srcArray = array.cast_mut().cast();
            (copy.srcXInBytes, copy.srcY) = (x, y);
        }
        Place::Memory(at, pitch, side) => {
            if pitch < width {
                return Err(Error(cudaErrorInvalidPitchValue));
            }
            copy.srcMemoryType = side.memory_type();
            (copy.srcHost, copy.srcDevice, copy.srcPitch) = (at, device_address(at), pitch);
        }
    }
    match to {
        Place::Array(array, x, y) => {
            copy.dstMemoryType = cu::CU_MEMORYTYPE_ARRAY;
            copy.dstArray = array.cast_mut().cast();
            (copy.dstXInBytes, copy.dstY) = (x, y);
        }
        Place::Memory(at, pitch, side) => {
            if pitch < width {
                return Err(Error(cudaErrorInvalidPitchValue));
            }
            copy.dstMemoryType = side.memory_type();
            let at = at.cast_mut();
            (copy.dstHost, copy.dstDevice, copy.dstPitch) = (at, device_address(at), pitch);
        }
    }
    (copy.WidthInBytes, copy.Height) = (width, height);
    if width == 0 || height == 0 {
        return Ok(());
    }
    check(match (stream, entry::default_is_per_thread()) {
        (Some(stream), _) => cu::cuMemcpy2DAsync_v2(&copy, stream),
        (None, false) => cu::cuMemcpy2DUnaligned_v2(&copy),
        (None, true) => cu::cuMemcpy2DUnaligned_v2_ptds(&copy),
    })
}

#[expect(clippy::too_many_arguments, reason = "cuda_runtime_api.h")]
pub unsafe fn cudaMemcpy2DToArray(
    to: cudaArray_t,
    x: usize,
    y: usize,
    from: *const c_void,
    pitch: usize,
    width: usize,
    height: usize,
    kind: cudaMemcpyKind,
) -> Result<()> {
    let (_, side) = sides(kind)?;
    let from = Place::Memory(from, pitch, side);
    rectangle(Place::Array(to, x, y), from, (width, height), None)
}

#[expect(clippy::too_many_arguments, reason = "cuda_runtime_api.h")]
pub unsafe fn cudaMemcpy2DToArrayAsync(
    to: cudaArray_t,
    x: usize,
    y: usize,
    from: *const c_void,
    pitch: usize,
    width: usize,
    height: usize,
    kind: cudaMemcpyKind,
    stream: cudaStream_t,
) -> Result<()> {
    let (_, side) = sides(kind)?;
    let from = Place::Memory(from, pitch, side);
    rectangle(Place::Array(to, x, y), from, (width, height), Some(stream.cast()))
}

#[expect(clippy::too_many_arguments, reason = "cuda_runtime_api.h")]
pub unsafe fn cudaMemcpy2DFromArray(
    to: *mut c_void,
    pitch: usize,
    from: cudaArray_const_t,
    x: usize,
    y: usize,
    width: usize,
    height: usize,
    kind: cudaMemcpyKind,
) -> Result<()> {
    let (side, _) = sides(kind)?;
    rectangle(Place::Memory(to, pitch, side), Place::Array(from, x, y), (width, height), None)
}

#[expect(clippy::too_many_arguments, reason = "cuda_runtime_api.h")]
pub unsafe fn cudaMemcpy2DFromArrayAsync(
    to: *mut c_void,
    pitch: usize,
    from: cudaArray_const_t,
    x: usize,
    y: usize,
    width: usize,
    height: usize,
    kind: cudaMemcpyKind,
    stream: cudaStream_t,
) -> Result<()> {
    let (side, _) = sides(kind)?;
    let to = Place::Memory(to, pitch, side);
    rectangle(to, Place::Array(from, x, y), (width, height), Some(stream.cast()))
}

#[expect(clippy::too_many_arguments, reason = "cuda_runtime_api.h")]
pub unsafe fn cudaMemcpy2DArrayToArray(
    to: cudaArray_t,
    to_x: usize,
    to_y: usize,
    from: cudaArray_const_t,
    from_x: usize,
    from_y: usize,
    width: usize,
    height: usize,
    kind: cudaMemcpyKind,
) -> Result<()> {
    sides(kind)?;
    let (to, from) = (Place::Array(to, to_x, to_y), Place::Array(from, from_x, from_y));
    rectangle(to, from, (width, height), None)
}

/// Splits a run of bytes over an array's rows: the part of the first row, whole rows, the rest.
unsafe fn by_rows(
    array: cudaArray_const_t,
    (x, y): (usize, usize),
    count: usize,
    mut copy: impl FnMut((usize, usize), usize, (usize, usize)) -> Result<()>,
) -> Result<()> {
    ensure()?;
    let row = describe(array)?.Width * texel_bytes(array)?;
    if x >= row {
        return Err(Error::INVALID_VALUE);
    }
    let (mut x, mut y, mut done) = (x, y, 0);
    while done < count {
        let left = count - done;
        let part = match x == 0 && left >= row {
            true => (row, left / row),
            false => (left.min(row - x), 1),
        };
        copy((x, y), done, part)?;
        done += part.0 * part.1;
        (x, y) = (0, y + part.1);
    }
    Ok(())
}

pub unsafe fn cudaMemcpyToArray(
    to: cudaArray_t,
    x: usize,
    y: usize,
    from: *const c_void,
    count: usize,
    kind: cudaMemcpyKind,
) -> Result<()> {
    let (_, side) = sides(kind)?;
    by_rows(to, (x, y), count, |(x, y), done, part| {
        let from = Place::Memory(from.wrapping_byte_add(done), part.0, side);
        rectangle(Place::Array(to, x, y), from, part, None)
    })
}

pub unsafe fn cudaMemcpyToArrayAsync(
    to: cudaArray_t,
    x: usize,
    y: usize,
    from: *const c_void,
    count: usize,
    kind: cudaMemcpyKind,
    stream: cudaStream_t,
) -> Result<()> {
    let (_, side) = sides(kind)?;
    by_rows(to, (x, y), count, |(x, y), done, part| {
        let from = Place::Memory(from.wrapping_byte_add(done), part.0, side);
        rectangle(Place::Array(to, x, y), from, part, Some(stream.cast()))
    })
}

pub unsafe fn cudaMemcpyFromArray(
    to: *mut c_void,
    from: cudaArray_const_t,
    x: usize,
    y: usize,
    count: usize,
    kind: cudaMemcpyKind,
) -> Result<()> {
    let (side, _) = sides(kind)?;
    by_rows(from, (x, y), count, |(x, y), done, part| {
        let to = Place::Memory(to.wrapping_byte_add(done), part.0, side);
        rectangle(to, Place::Array(from, x, y), part, None)
    })
}

pub unsafe fn cudaMemcpyFromArrayAsync(
    to: *mut c_void,
    from: cudaArray_const_t,
    x: usize,
    y: usize,
    count: usize,
    kind: cudaMemcpyKind,
    stream: cudaStream_t,
) -> Result<()> {
    let (side, _) = sides(kind)?;
    by_rows(from, (x, y), count, |(x, y), done, part| {
        let to = Place::Memory(to.wrapping_byte_add(done), part.0, side);
        rectangle(to, Place::Array(from, x, y), part, Some(stream.cast()))
    })
}

#[expect(clippy::too_many_arguments, reason = "cuda_runtime_api.h")]
pub unsafe fn cudaMemcpyArrayToArray(
    to: cudaArray_t,
    to_x: usize,
    to_y: usize,
    from: cudaArray_const_t,
    from_x: usize,
    from_y: usize,
    count: usize,
    kind: cudaMemcpyKind,
) -> Result<()> {
    sides(kind)?;
    let row = describe(to)?.Width * texel_bytes(to)?;
    let from_row = describe(from)?.Width * texel_bytes(from)?;
    if to_x >= row || from_x >= from_row {
        return Err(Error::INVALID_VALUE);
    }
    let (mut t, mut f) = (to_y * row + to_x, from_y * from_row + from_x);
    let end = t + count;
    while t < end {
        let part = (end - t).min(row - t % row).min(from_row - f % from_row);
        let to = Place::Array(to, t % row, t / row);
        let from = Place::Array(from, f % from_row, f / from_row);
        rectangle(to, from, (part, 1), None)?;
        (t, f) = (t + part, f + part);
    }
    Ok(())
}

/// One end of a 3D copy: an array, in texels, or pitched memory, in bytes.
pub(super) struct End {
    pub array: cudaArray_t,
    pub at: cudaPos,
    pub memory: cudaPitchedPtr,
    pub side: Side,
}

/// The driver's descriptor of a 3D copy in which an array takes part; the extent counts texels.
pub(super) unsafe fn copy_3d(
    to: &End,
    from: &End,
    extent: &cudaExtent,
) -> Result<cu::CUDA_MEMCPY3D> {
    let bytes = |end: &End| if end.array.is_null() { Ok(1) } else { texel_bytes(end.array) };
    let (to_bytes, from_bytes) = (bytes(to)?, bytes(from)?);
    if !to.array.is_null() && !from.array.is_null() && to_bytes != from_bytes {
        return Err(Error::INVALID_VALUE);
    }
    let width = extent.width.checked_mul(to_bytes.max(from_bytes)).ok_or(Error::INVALID_VALUE)?;
    // SAFETY: the structure is of integers and pointers.
    let mut copy: cu::CUDA_MEMCPY3D = std::mem::zeroed();
    if !to.array.is_null() {
        copy.dstMemoryType = cu::CU_MEMORYTYPE_ARRAY;
        copy.dstArray = to.array.cast();
    } else {
        required(to.memory.ptr)?;
        if to.memory.pitch < width {
            return Err(Error(cudaErrorInvalidPitchValue));
        }
        copy.dstMemoryType = to.side.memory_type();
        copy.dstHost = to.memory.ptr;
        copy.dstDevice = device_address(to.memory.ptr);
        (copy.dstPitch, copy.dstHeight) = (to.memory.pitch, to.memory.ysize);
    }
    if !from.array.is_null() {
        copy.srcMemoryType = cu::CU_MEMORYTYPE_ARRAY;
        copy.srcArray = from.array.cast();
    } else {
        required(from.memory.ptr)?;
        if from.memory.pitch < width {
            return Err(Error(cudaErrorInvalidPitchValue));
        }
        copy.srcMemoryType = from.side.memory_type();
        copy.srcHost = from.memory.ptr;
        copy.srcDevice = device_address(from.memory.ptr);
        (copy.srcPitch, copy.srcHeight) = (from.memory.pitch, from.memory.ysize);
    }
    copy.dstXInBytes = to.at.x.checked_mul(to_bytes).ok_or(Error::INVALID_VALUE)?;
    copy.srcXInBytes = from.at.x.checked_mul(from_bytes).ok_or(Error::INVALID_VALUE)?;
    (copy.dstY, copy.dstZ) = (to.at.y, to.at.z);
    (copy.srcY, copy.srcZ) = (from.at.y, from.at.z);
    (copy.WidthInBytes, copy.Height, copy.Depth) = (width, extent.height, extent.depth);
    Ok(copy)
}

/// Requirements and properties are of arrays that margay does not make: see `cuArrayCreate`'s flags.
pub unsafe fn cudaArrayGetMemoryRequirements(
    to: *mut cudaArrayMemoryRequirements,
    array: cudaArray_t,
    device: c_int,
) -> Result<()> {
    required(to)?;
    ensure()?;
    check(cu::cuArrayGetMemoryRequirements(to.cast(), array.cast(), device))
}

pub unsafe fn cudaMipmappedArrayGetMemoryRequirements(
    to: *mut cudaArrayMemoryRequirements,
    array: cudaMipmappedArray_t,
    device: c_int,
) -> Result<()> {
    required(to)?;
    ensure()?;
    check(cu::cuMipmappedArrayGetMemoryRequirements(to.cast(), array.cast(), device))
}

pub unsafe fn cudaArrayGetSparseProperties(
    to: *mut cudaArraySparseProperties,
    array: cudaArray_t,
) -> Result<()> {
    required(to)?;
    ensure()?;
    check(cu::cuArrayGetSparseProperties(to.cast(), array.cast()))
}

pub unsafe fn cudaMipmappedArrayGetSparseProperties(
    to: *mut cudaArraySparseProperties,
    array: cudaMipmappedArray_t,
) -> Result<()> {
    required(to)?;
    ensure()?;
    check(cu::cuMipmappedArrayGetSparseProperties(to.cast(), array.cast()))
}
