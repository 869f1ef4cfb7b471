// SPDX-License-Identifier: MIT OR Apache-2.0
//! CUDA arrays and mipmapped arrays.
//!
//! Limit: no planar, block-compressed or sparse arrays; each gives CUDA_ERROR_NOT_SUPPORTED.

use std::ffi::c_uint;
use std::sync::Arc;

use margay_runtime::array::Array;
use margay_runtime::{CudaError, Result};

use margay_exec::mem::texture::{ChannelKind, Dimensions, Format};

use super::{device, give, handle, healthy, opaque, required, rt};
use crate::sys::*;

/// The texels of a `CUarray_format`, and whether they always read as normalized floats.
pub(super) fn format_of(format: CUarray_format, channels: c_uint) -> Result<(Format, bool)> {
    let plain = |kind| Ok((kind, channels, false));
    let fixed = |kind, count| match channels == count {
        true => Ok((kind, count, true)),
        false => Err(CudaError::InvalidValue),
    };
    let (kind, channels, normalized) = match format {
        CU_AD_FORMAT_UNSIGNED_INT8 => plain(ChannelKind::U8),
        CU_AD_FORMAT_UNSIGNED_INT16 => plain(ChannelKind::U16),
        CU_AD_FORMAT_UNSIGNED_INT32 => plain(ChannelKind::U32),
        CU_AD_FORMAT_SIGNED_INT8 => plain(ChannelKind::S8),
        CU_AD_FORMAT_SIGNED_INT16 => plain(ChannelKind::S16),
        CU_AD_FORMAT_SIGNED_INT32 => plain(ChannelKind::S32),
        CU_AD_FORMAT_HALF => plain(ChannelKind::F16),
        CU_AD_FORMAT_FLOAT => plain(ChannelKind::F32),
        CU_AD_FORMAT_UNORM_INT8X1 => fixed(ChannelKind::U8, 1),
        CU_AD_FORMAT_UNORM_INT8X2 => fixed(ChannelKind::U8, 2),
        CU_AD_FORMAT_UNORM_INT8X4 => fixed(ChannelKind::U8, 4),
        CU_AD_FORMAT_UNORM_INT16X1 => fixed(ChannelKind::U16, 1),
        CU_AD_FORMAT_UNORM_INT16X2 => fixed(ChannelKind::U16, 2),
        CU_AD_FORMAT_UNORM_INT16X4 => fixed(ChannelKind::U16, 4),
        CU_AD_FORMAT_SNORM_INT8X1 => fixed(ChannelKind::S8, 1),
        CU_AD_FORMAT_SNORM_INT8X2 => fixed(ChannelKind::S8, 2),
        CU_AD_FORMAT_SNORM_INT8X4 => fixed(ChannelKind::S8, 4),
        CU_AD_FORMAT_SNORM_INT16X1 => fixed(ChannelKind::S16, 1),
        CU_AD_FORMAT_SNORM_INT16X2 => fixed(ChannelKind::S16, 2),
        CU_AD_FORMAT_SNORM_INT16X4 => fixed(ChannelKind::S16, 4),
        CU_AD_FORMAT_NV12
        | CU_AD_FORMAT_BC1_UNORM..=CU_AD_FORMAT_Y444_PLANAR10
        // The two semi-planar 4:4:4 formats, whose names are not constants by their case.
        | 180..=181
        | CU_AD_FORMAT_UNORM_INT_101010_2..=CU_AD_FORMAT_UINT16_PLANAR_444 => {
            return Err(CudaError::NotSupported);
        }
        _ => return Err(CudaError::InvalidValue),
    }?;
    let format = Format::new(kind, channels).ok_or(CudaError::InvalidValue)?;
    Ok((format, normalized))
}

/// Flags that change nothing here: every array can be a surface, be gathered from, or have colours
/// written to it by nobody.
const PLAIN_FLAGS: c_uint =
    CUDA_ARRAY3D_SURFACE_LDST | CUDA_ARRAY3D_TEXTURE_GATHER | CUDA_ARRAY3D_COLOR_ATTACHMENT;
const SHAPE_FLAGS: c_uint = CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP;
const UNSUPPORTED_FLAGS: c_uint = CUDA_ARRAY3D_DEPTH_TEXTURE
    | CUDA_ARRAY3D_SPARSE
    | CUDA_ARRAY3D_DEFERRED_MAPPING
    | CUDA_ARRAY3D_VIDEO_ENCODE_DECODE;

/// What the manual allows of width, height, depth and flags (cuArray3DCreate), within the device's limits.
fn dimensions_of(d: &CUDA_ARRAY3D_DESCRIPTOR, levels: c_uint) -> Result<Dimensions> {
    if d.Flags & UNSUPPORTED_FLAGS != 0 {
        return Err(CudaError::NotSupported);
    }
    if d.Flags & !(PLAIN_FLAGS | SHAPE_FLAGS) != 0 {
        return Err(CudaError::InvalidValue);
    }
    let size = |value: usize| u32::try_from(value).map_err(|_| CudaError::InvalidValue);
    let (width, height, depth) = (size(d.Width)?, size(d.Height)?, size(d.Depth)?);
    let layered = d.Flags & CUDA_ARRAY3D_LAYERED != 0;
    let cube = d.Flags & CUDA_ARRAY3D_CUBEMAP != 0;
    let fits = match (cube, layered) {
        (true, _) => {
            let faces = if layered { depth > 0 && depth % 6 == 0 } else { depth == 6 };
            width == height && width <= 32768 && faces && depth <= 2046
        }
        (false, true) if height == 0 => width <= 32768 && (1..=2048).contains(&depth),
        (false, true) => width <= 32768 && height <= 32768 && (1..=2048).contains(&depth),
        (false, false) if height == 0 => width <= 131_072 && depth == 0,
        (false, false) if depth == 0 => width <= 131_072 && height <= 65536,
        (false, false) => width <= 16384 && height <= 16384 && depth <= 16384,
    };
    if width == 0 || !fits {
        return Err(CudaError::InvalidValue);
    }
    let layers = if layered || cube { depth } else { 0 };
    let depth = if layered || cube { 0 } else { depth };
    Ok(Dimensions { width, height, depth, layers, cube, levels })
}

pub(super) fn find(array: CUarray) -> Result<Arc<Array>> {
    rt()?.array(handle(array))
}

unsafe fn create(to: *mut CUarray, d: CUDA_ARRAY3D_DESCRIPTOR) -> Result<()> {
    let context = healthy()?;
    required(to)?;
    let (format, _) = format_of(d.Format, d.NumChannels)?;
    let dimensions = dimensions_of(&d, 1)?;
    let array = context.create_array(dimensions, format, d.Format, d.Flags)?;
    unsafe { give(to, opaque(array.handle)) }
}

pub unsafe fn cuArrayCreate_v2(
    to: *mut CUarray,
    description: *const CUDA_ARRAY_DESCRIPTOR,
) -> Result<()> {
    required(description)?;
    // SAFETY: not null, and the program's to read.
    let d = unsafe { description.read_unaligned() };
    let d = CUDA_ARRAY3D_DESCRIPTOR {
        Width: d.Width,
        Height: d.Height,
        Depth: 0,
        Format: d.Format,
        NumChannels: d.NumChannels,
        Flags: 0,
    };
    unsafe { create(to, d) }
}

pub unsafe fn cuArray3DCreate_v2(
    to: *mut CUarray,
    description: *const CUDA_ARRAY3D_DESCRIPTOR,
) -> Result<()> {
    required(description)?;
    // SAFETY: not null, and the program's to read.
    unsafe { create(to, description.read_unaligned()) }
}

pub unsafe fn cuArrayDestroy(array: CUarray) -> Result<()> {
    healthy()?;
    rt()?.destroy_array(handle(array))
}

/// The description that would create this array again.
fn description(array: &Array) -> CUDA_ARRAY3D_DESCRIPTOR {
    let d = array.image.dimensions;
    CUDA_ARRAY3D_DESCRIPTOR {
        Width: d.width as usize,
        Height: d.height as usize,
        Depth: d.depth.max(d.layers) as usize,
        Format: array.api_format,
        NumChannels: array.image.format.channels(),
        Flags: array.flags,
    }
}

pub unsafe fn cuArrayGetDescriptor_v2(
    to: *mut CUDA_ARRAY_DESCRIPTOR,
    array: CUarray,
) -> Result<()> {
    let d = description(&*find(array)?);
    let (Width, Height) = (d.Width, d.Height);
    let (Format, NumChannels) = (d.Format, d.NumChannels);
    unsafe { give(to, CUDA_ARRAY_DESCRIPTOR { Width, Height, Format, NumChannels }) }
}

pub unsafe fn cuArray3DGetDescriptor_v2(
    to: *mut CUDA_ARRAY3D_DESCRIPTOR,
    array: CUarray,
) -> Result<()> {
    let array = find(array)?;
    unsafe { give(to, description(&array)) }
}

/// Only planar formats have planes.
pub unsafe fn cuArrayGetPlane(to: *mut CUarray, array: CUarray, _plane: c_uint) -> Result<()> {
    required(to)?;
    find(array)?;
    Err(CudaError::InvalidValue)
}

/// Requirements are of arrays with deferred mapping, and properties of sparse ones: there are none.
pub unsafe fn cuArrayGetMemoryRequirements(
    to: *mut CUDA_ARRAY_MEMORY_REQUIREMENTS,
    array: CUarray,
    dev: CUdevice,
) -> Result<()> {
    required(to)?;
    device(dev)?;
    find(array)?;
    Err(CudaError::InvalidValue)
}

pub unsafe fn cuArrayGetSparseProperties(
    to: *mut CUDA_ARRAY_SPARSE_PROPERTIES,
    array: CUarray,
) -> Result<()> {
    required(to)?;
    find(array)?;
    Err(CudaError::InvalidValue)
}

pub unsafe fn cuMipmappedArrayCreate(
    to: *mut CUmipmappedArray,
    description: *const CUDA_ARRAY3D_DESCRIPTOR,
    levels: c_uint,
) -> Result<()> {
    let context = healthy()?;
    required(to)?;
    required(description)?;
    // SAFETY: not null, and the program's to read.
    let d = unsafe { description.read_unaligned() };
    let (format, _) = format_of(d.Format, d.NumChannels)?;
    let dimensions = dimensions_of(&d, 1)?;
    // More levels than the largest size has are cut to those that there are.
    let longest = dimensions.width.max(dimensions.height).max(dimensions.depth);
    let levels = levels.clamp(1, 32 - longest.leading_zeros());
    let dimensions = Dimensions { levels, ..dimensions };
    let array = context.create_mipmapped(dimensions, format, d.Format, d.Flags)?;
    unsafe { give(to, opaque(array.handle)) }
}

pub unsafe fn cuMipmappedArrayDestroy(array: CUmipmappedArray) -> Result<()> {
    healthy()?;
    rt()?.destroy_mipmapped(handle(array))
}

pub unsafe fn cuMipmappedArrayGetLevel(
    to: *mut CUarray,
    array: CUmipmappedArray,
    level: c_uint,
) -> Result<()> {
    healthy()?;
    required(to)?;
    let whole = rt()?.mipmapped_arrays.get(handle(array)).ok_or(CudaError::InvalidHandle)?;
    unsafe { give(to, opaque(whole.level(level)?.handle)) }
}

pub unsafe fn cuMipmappedArrayGetMemoryRequirements(
    to: *mut CUDA_ARRAY_MEMORY_REQUIREMENTS,
    array: CUmipmappedArray,
    dev: CUdevice,
) -> Result<()> {
    required(to)?;
    device(dev)?;
    rt()?.mipmapped_arrays.get(handle(array)).ok_or(CudaError::InvalidHandle)?;
    Err(CudaError::InvalidValue)
}

pub unsafe fn cuMipmappedArrayGetSparseProperties(
    to: *mut CUDA_ARRAY_SPARSE_PROPERTIES,
    array: CUmipmappedArray,
) -> Result<()> {
    required(to)?;
    rt()?.mipmapped_arrays.get(handle(array)).ok_or(CudaError::InvalidHandle)?;
    Err(CudaError::InvalidValue)
}
