// SPDX-License-Identifier: MIT OR Apache-2.0
//! Texture and surface objects.
//!
//! What a kernel reads is built here from the three descriptors; they are kept for the getters.

use std::collections::HashMap;
use std::sync::Mutex;

use margay_exec::mem::texture::Opaque;
use margay_exec::mem::texture::{
    AddressMode, Dimensions, Filter, Format, Image, ImageError, Sampler, View,
};
use margay_runtime::{CudaError, Result};

use super::array::{self, format_of};
use super::{give, handle, healthy, required, rt};
use crate::sys::*;

/// The descriptors of live objects, by handle.
struct Descriptors {
    resource: CUDA_RESOURCE_DESC,
    /// Of textures.
    texture: Option<CUDA_TEXTURE_DESC>,
    view: Option<CUDA_RESOURCE_VIEW_DESC>,
}
// SAFETY: plain data; the handles in it are never dereferenced.
unsafe impl Send for Descriptors {}

static KNOWN: Mutex<Option<HashMap<u64, Descriptors>>> = Mutex::new(None);

fn with_known<T>(work: impl FnOnce(&mut HashMap<u64, Descriptors>) -> T) -> T {
    let mut known = KNOWN.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    work(known.get_or_insert_default())
}

pub(super) fn address_mode(mode: CUaddress_mode) -> Result<AddressMode> {
    match mode {
        CU_TR_ADDRESS_MODE_WRAP => Ok(AddressMode::Wrap),
        CU_TR_ADDRESS_MODE_CLAMP => Ok(AddressMode::Clamp),
        CU_TR_ADDRESS_MODE_MIRROR => Ok(AddressMode::Mirror),
        CU_TR_ADDRESS_MODE_BORDER => Ok(AddressMode::Border),
        _ => Err(CudaError::InvalidValue),
    }
}

pub(super) fn filter_mode(mode: CUfilter_mode) -> Result<Filter> {
    match mode {
        CU_TR_FILTER_MODE_POINT => Ok(Filter::Point),
        CU_TR_FILTER_MODE_LINEAR => Ok(Filter::Linear),
        _ => Err(CudaError::InvalidValue),
    }
}

/// Flags of a texture that are known.
pub(super) const TEXTURE_FLAGS: u32 = CU_TRSF_READ_AS_INTEGER
    | CU_TRSF_NORMALIZED_COORDINATES
    | CU_TRSF_SRGB
    | CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION
    | CU_TRSF_SEAMLESS_CUBEMAP;

fn sampler_of(d: &CUDA_TEXTURE_DESC) -> Result<Sampler> {
    if d.flags & !TEXTURE_FLAGS != 0 || d.maxAnisotropy > 16 {
        return Err(CudaError::InvalidValue);
    }
    let [x, y, z] = d.addressMode;
    Ok(Sampler {
        address: [address_mode(x)?, address_mode(y)?, address_mode(z)?],
        filter: filter_mode(d.filterMode)?,
        normalized: d.flags & CU_TRSF_NORMALIZED_COORDINATES != 0,
        mip_filter: filter_mode(d.mipmapFilterMode)?,
        bias: d.mipmapLevelBias,
        min_level: d.minMipmapLevelClamp,
        max_level: d.maxMipmapLevelClamp,
        anisotropy: d.maxAnisotropy,
        border: d.borderColor.map(f32::to_bits),
        seamless: d.flags & CU_TRSF_SEAMLESS_CUBEMAP != 0,
    })
}

fn refusal(error: ImageError) -> CudaError {
    match error {
        ImageError::Empty | ImageError::Pitch | ImageError::TooLarge => CudaError::InvalidValue,
    }
}

/// Linear memory as an image; the device's alignment rules apply.
pub(super) fn linear_image(address: CUdeviceptr, format: Format, bytes: usize) -> Result<Image> {
    let texels = bytes / format.bytes() as usize;
    // The most that cuDeviceGetTexture1DLinearMaxWidth promises.
    let width = u32::try_from(texels).ok().filter(|w| (1..=1 << 28).contains(w));
    let width = width.ok_or(CudaError::InvalidValue)?;
    if !rt()?.memory.contains(address, bytes as u64) {
        return Err(CudaError::InvalidValue);
    }
    Image::linear(address, Dimensions::plain(width, 0, 0), format, 0, 0).map_err(refusal)
}

/// Pitched memory as an image: the address is a multiple of 512 bytes, the pitch of 32.
pub(super) fn pitched_image(
    address: CUdeviceptr,
    format: Format,
    (width, height): (usize, usize),
    pitch: usize,
) -> Result<Image> {
    let size = |v: usize| u32::try_from(v).ok().filter(|v| (1..=131_072).contains(v));
    let width = size(width).ok_or(CudaError::InvalidValue)?;
    let height = size(height).filter(|h| *h <= 65000).ok_or(CudaError::InvalidValue)?;
    if !address.is_multiple_of(512) || !pitch.is_multiple_of(32) {
        return Err(CudaError::InvalidValue);
    }
    let shape = Dimensions::plain(width, height, 0);
    let image = Image::linear(address, shape, format, pitch as u64, 0).map_err(refusal)?;
    match image.range() {
        Some((address, bytes)) if rt()?.memory.contains(address, bytes) => Ok(image),
        Some(_) | None => Err(CudaError::InvalidValue),
    }
}

/// The image of a resource, whether its texels always read normalized, and whether it is an array.
fn image_of(d: &CUDA_RESOURCE_DESC) -> Result<(Image, bool, bool)> {
    if d.flags != 0 {
        return Err(CudaError::InvalidValue);
    }
    // SAFETY: the resource's type says which field is set; any bits are integers or handles.
    unsafe {
        match d.resType {
            CU_RESOURCE_TYPE_ARRAY => {
                let array = rt()?.arrays.get(handle(d.res.array.hArray));
                let array = array.ok_or(CudaError::InvalidValue)?;
                let (_, fixed) = format_of(array.api_format, array.image.format.channels())?;
                Ok((array.image.clone(), fixed, true))
            }
            CU_RESOURCE_TYPE_MIPMAPPED_ARRAY => {
                let array = handle(d.res.mipmap.hMipmappedArray);
                let array = rt()?.mipmapped_arrays.get(array).ok_or(CudaError::InvalidValue)?;
                let (_, fixed) = format_of(array.api_format, array.image.format.channels())?;
                Ok((array.image.clone(), fixed, true))
            }
            CU_RESOURCE_TYPE_LINEAR => {
                let l = d.res.linear;
                let (format, fixed) = format_of(l.format, l.numChannels)?;
                Ok((linear_image(l.devPtr, format, l.sizeInBytes)?, fixed, false))
            }
            CU_RESOURCE_TYPE_PITCH2D => {
                let p = d.res.pitch2D;
                let (format, fixed) = format_of(p.format, p.numChannels)?;
                let size = (p.width, p.height);
                Ok((pitched_image(p.devPtr, format, size, p.pitchInBytes)?, fixed, false))
            }
            _ => Err(CudaError::InvalidValue),
        }
    }
}

/// The format that a resource view asks for; `None` keeps the resource's.
fn view_format(format: CUresourceViewFormat) -> Result<Option<Format>> {
    use margay_exec::mem::texture::ChannelKind::*;
    if format == CU_RES_VIEW_FORMAT_NONE {
        return Ok(None);
    }
    if format > CU_RES_VIEW_FORMAT_FLOAT_4X32 {
        return Err(CudaError::NotSupported);
    }
    // Three widths in a row for each kind.
    let at = format - CU_RES_VIEW_FORMAT_UINT_1X8;
    let kind = [U8, S8, U16, S16, U32, S32, F16, F32][(at / 3) as usize];
    let channels = [1, 2, 4][(at % 3) as usize];
    Format::new(kind, channels).map(Some).ok_or(CudaError::InvalidValue)
}

/// Applies a resource view: another format of the same size, and a part of the levels.
fn view_of(image: Image, d: &CUDA_RESOURCE_VIEW_DESC) -> Result<Image> {
    let image = match view_format(d.format)? {
        Some(format) => image.with_format(format).ok_or(CudaError::InvalidValue)?,
        None => image,
    };
    let size = image.dimensions;
    let same = |asked: usize, has: u32| asked == 0 || asked == has as usize;
    let depth = size.depth.max(size.layers);
    if !same(d.width, size.width) || !same(d.height, size.height) || !same(d.depth, depth) {
        return Err(CudaError::InvalidValue);
    }
    if d.firstLayer != 0 || (d.lastLayer != 0 && d.lastLayer + 1 != size.layers) {
        return Err(CudaError::NotSupported);
    }
    let levels = image.levels().len() as u32;
    match (d.firstMipmapLevel, d.lastMipmapLevel) {
        (0, 0) => Ok(image),
        (first, last) if first > last || last >= levels => Err(CudaError::InvalidValue),
        (0, last) if last + 1 == levels => Ok(image),
        (first, last) => image.levels_view(first, last).ok_or(CudaError::InvalidValue),
    }
}

pub unsafe fn cuTexObjectCreate(
    to: *mut CUtexObject,
    resource: *const CUDA_RESOURCE_DESC,
    texture: *const CUDA_TEXTURE_DESC,
    view: *const CUDA_RESOURCE_VIEW_DESC,
) -> Result<()> {
    let context = healthy()?;
    required(to)?;
    required(resource)?;
    required(texture)?;
    // SAFETY: not null, and the program's to read.
    let (resource, texture) = unsafe { (resource.read_unaligned(), texture.read_unaligned()) };
    // SAFETY: not null, and the program's to read.
    let view = (!view.is_null()).then(|| unsafe { view.read_unaligned() });
    let (image, fixed, is_array) = image_of(&resource)?;
    let image = match &view {
        // Only arrays can be viewed as something else.
        Some(_) if !is_array => return Err(CudaError::InvalidValue),
        Some(view) => view_of(image, view)?,
        None => image,
    };
    let sampler = sampler_of(&texture)?;
    let normalized = fixed || texture.flags & CU_TRSF_READ_AS_INTEGER == 0;
    let mut image = image;
    if texture.flags & CU_TRSF_SRGB != 0 {
        let format = Format { srgb: true, ..image.format };
        let bytes = margay_exec::mem::texture::ChannelKind::U8;
        if normalized && format.kind == bytes {
            image = image.with_format(format).ok_or(CudaError::InvalidValue)?;
        }
    }
    let view_kind = View { image, normalized };
    // Integers cannot be weighed.
    if sampler.filter == Filter::Linear && !view_kind.reads_float() {
        return Err(CudaError::InvalidValue);
    }
    let object = context.create_texture(view_kind, sampler)?;
    let kept = Descriptors { resource, texture: Some(texture), view };
    with_known(|known| known.insert(object, kept));
    unsafe { give(to, object) }
}

pub unsafe fn cuTexObjectDestroy(object: CUtexObject) -> Result<()> {
    healthy()?;
    rt()?.destroy_object(object, Opaque::Texture).map_err(|_| CudaError::InvalidValue)?;
    with_known(|known| known.remove(&object));
    Ok(())
}

fn kept<T>(object: u64, kind: Opaque, pick: impl FnOnce(&Descriptors) -> Option<T>) -> Result<T> {
    if !rt()?.is_object(object, kind) {
        return Err(CudaError::InvalidValue);
    }
    with_known(|known| known.get(&object).and_then(pick)).ok_or(CudaError::InvalidValue)
}

pub unsafe fn cuTexObjectGetResourceDesc(
    to: *mut CUDA_RESOURCE_DESC,
    object: CUtexObject,
) -> Result<()> {
    unsafe { give(to, kept(object, Opaque::Texture, |d| Some(d.resource))?) }
}

pub unsafe fn cuTexObjectGetTextureDesc(
    to: *mut CUDA_TEXTURE_DESC,
    object: CUtexObject,
) -> Result<()> {
    unsafe { give(to, kept(object, Opaque::Texture, |d| d.texture)?) }
}

pub unsafe fn cuTexObjectGetResourceViewDesc(
    to: *mut CUDA_RESOURCE_VIEW_DESC,
    object: CUtexObject,
) -> Result<()> {
    unsafe { give(to, kept(object, Opaque::Texture, |d| d.view)?) }
}

pub unsafe fn cuSurfObjectCreate(
    to: *mut CUsurfObject,
    resource: *const CUDA_RESOURCE_DESC,
) -> Result<()> {
    let context = healthy()?;
    required(to)?;
    required(resource)?;
    // SAFETY: not null, and the program's to read.
    let resource = unsafe { resource.read_unaligned() };
    if resource.resType != CU_RESOURCE_TYPE_ARRAY {
        return Err(CudaError::InvalidValue);
    }
    // SAFETY: the type says that this field is set.
    let array = array::find(unsafe { resource.res.array.hArray })?;
    // The array must have been made for it.
    if array.flags & CUDA_ARRAY3D_SURFACE_LDST == 0 || resource.flags != 0 {
        return Err(CudaError::InvalidValue);
    }
    let object = context.create_surface(array.image.clone())?;
    let kept = Descriptors { resource, texture: None, view: None };
    with_known(|known| known.insert(object, kept));
    unsafe { give(to, object) }
}

pub unsafe fn cuSurfObjectDestroy(object: CUsurfObject) -> Result<()> {
    healthy()?;
    rt()?.destroy_object(object, Opaque::Surface).map_err(|_| CudaError::InvalidValue)?;
    with_known(|known| known.remove(&object));
    Ok(())
}

pub unsafe fn cuSurfObjectGetResourceDesc(
    to: *mut CUDA_RESOURCE_DESC,
    object: CUsurfObject,
) -> Result<()> {
    unsafe { give(to, kept(object, Opaque::Surface, |d| Some(d.resource))?) }
}
