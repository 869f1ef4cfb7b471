// SPDX-License-Identifier: MIT OR Apache-2.0
//! Texture and surface objects: the runtime's descriptors as the driver's, and back.

use super::array::{descriptor_of, format_of};
use super::{device_address, give, pointer, required};
use crate::context::ensure;
use crate::cu;
use crate::error::{Error, Result, check};
use crate::sys::*;

unsafe fn resource(d: *const cudaResourceDesc) -> Result<cu::CUDA_RESOURCE_DESC> {
    required(d)?;
    let d = &*d;
    // SAFETY: the structure is of integers and pointers.
    let mut out: cu::CUDA_RESOURCE_DESC = std::mem::zeroed();
    // The types have the same numbers.
    out.resType = d.resType;
    match d.resType {
        cudaResourceTypeArray => out.res.array.hArray = d.res.array.array.cast(),
        cudaResourceTypeMipmappedArray => {
            out.res.mipmap.hMipmappedArray = d.res.mipmap.mipmap.cast();
        }
        cudaResourceTypeLinear => {
            let l = d.res.linear;
            let (format, channels) = format_of(&l.desc)?;
            out.res.linear.devPtr = device_address(l.devPtr);
            out.res.linear.format = format;
            out.res.linear.numChannels = channels;
            out.res.linear.sizeInBytes = l.sizeInBytes;
        }
        cudaResourceTypePitch2D => {
            let p = d.res.pitch2D;
            let (format, channels) = format_of(&p.desc)?;
            out.res.pitch2D.devPtr = device_address(p.devPtr);
            out.res.pitch2D.format = format;
            out.res.pitch2D.numChannels = channels;
            out.res.pitch2D.width = p.width;
            out.res.pitch2D.height = p.height;
            out.res.pitch2D.pitchInBytes = p.pitchInBytes;
        }
        _ => return Err(Error::INVALID_VALUE),
    }
    Ok(out)
}

unsafe fn resource_back(d: &cu::CUDA_RESOURCE_DESC) -> Result<cudaResourceDesc> {
    // SAFETY: the structure is of integers and pointers.
    let mut out: cudaResourceDesc = std::mem::zeroed();
    out.resType = d.resType;
    match d.resType {
        cu::CU_RESOURCE_TYPE_ARRAY => out.res.array.array = d.res.array.hArray.cast(),
        cu::CU_RESOURCE_TYPE_MIPMAPPED_ARRAY => {
            out.res.mipmap.mipmap = d.res.mipmap.hMipmappedArray.cast();
        }
        cu::CU_RESOURCE_TYPE_LINEAR => {
            let l = d.res.linear;
            out.res.linear.devPtr = pointer(l.devPtr);
            out.res.linear.desc = descriptor_of(l.format, l.numChannels)?;
            out.res.linear.sizeInBytes = l.sizeInBytes;
        }
        cu::CU_RESOURCE_TYPE_PITCH2D => {
            let p = d.res.pitch2D;
            out.res.pitch2D.devPtr = pointer(p.devPtr);
            out.res.pitch2D.desc = descriptor_of(p.format, p.numChannels)?;
            out.res.pitch2D.width = p.width;
            out.res.pitch2D.height = p.height;
            out.res.pitch2D.pitchInBytes = p.pitchInBytes;
        }
        _ => return Err(Error(cudaErrorUnknown)),
    }
    Ok(out)
}

fn texture(d: &cudaTextureDesc) -> Result<cu::CUDA_TEXTURE_DESC> {
    let flag = |on: bool, flag: u32| if on { flag } else { 0 };
    let as_integer = match d.readMode {
        cudaReadModeElementType => true,
        cudaReadModeNormalizedFloat => false,
        _ => return Err(Error::INVALID_VALUE),
    };
    Ok(cu::CUDA_TEXTURE_DESC {
        addressMode: d.addressMode,
        filterMode: d.filterMode,
        flags: flag(as_integer, cu::CU_TRSF_READ_AS_INTEGER)
            | flag(d.normalizedCoords != 0, cu::CU_TRSF_NORMALIZED_COORDINATES)
            | flag(d.sRGB != 0, cu::CU_TRSF_SRGB)
            | flag(d.disableTrilinearOptimization != 0, cu::CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION)
            | flag(d.seamlessCubemap != 0, cu::CU_TRSF_SEAMLESS_CUBEMAP),
        maxAnisotropy: d.maxAnisotropy,
        mipmapFilterMode: d.mipmapFilterMode,
        mipmapLevelBias: d.mipmapLevelBias,
        minMipmapLevelClamp: d.minMipmapLevelClamp,
        maxMipmapLevelClamp: d.maxMipmapLevelClamp,
        borderColor: d.borderColor,
        reserved: [0; 12],
    })
}

pub unsafe fn cudaCreateTextureObject(
    to: *mut cudaTextureObject_t,
    from: *const cudaResourceDesc,
    how: *const cudaTextureDesc,
    view: *const cudaResourceViewDesc,
) -> Result<()> {
    required(to)?;
    required(how)?;
    let resource = resource(from)?;
    let texture = texture(&*how)?;
    ensure()?;
    let view = (!view.is_null()).then(|| {
        let v = &*view;
        // The formats have the same numbers.
        cu::CUDA_RESOURCE_VIEW_DESC {
            format: v.format,
            width: v.width,
            height: v.height,
            depth: v.depth,
            firstMipmapLevel: v.firstMipmapLevel,
            lastMipmapLevel: v.lastMipmapLevel,
            firstLayer: v.firstLayer,
            lastLayer: v.lastLayer,
            reserved: [0; 16],
        }
    });
    let view = view.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    check(cu::cuTexObjectCreate(to, &resource, &texture, view))
}

pub unsafe fn cudaDestroyTextureObject(object: cudaTextureObject_t) -> Result<()> {
    ensure()?;
    // No object is nothing to destroy.
    if object == 0 {
        return Ok(());
    }
    check(cu::cuTexObjectDestroy(object))
}

pub unsafe fn cudaGetTextureObjectResourceDesc(
    to: *mut cudaResourceDesc,
    object: cudaTextureObject_t,
) -> Result<()> {
    required(to)?;
    ensure()?;
    // SAFETY: the structure is of integers and pointers.
    let mut d: cu::CUDA_RESOURCE_DESC = std::mem::zeroed();
    check(cu::cuTexObjectGetResourceDesc(&mut d, object))?;
    give(to, resource_back(&d)?)
}

pub unsafe fn cudaGetTextureObjectTextureDesc(
    to: *mut cudaTextureDesc,
    object: cudaTextureObject_t,
) -> Result<()> {
    required(to)?;
    ensure()?;
    // SAFETY: the structures are of integers and floats.
    let (mut d, mut out): (cu::CUDA_TEXTURE_DESC, cudaTextureDesc) =
        (std::mem::zeroed(), std::mem::zeroed());
    check(cu::cuTexObjectGetTextureDesc(&mut d, object))?;
    let flag = |flag: u32| i32::from(d.flags & flag != 0);
    out.addressMode = d.addressMode;
    out.filterMode = d.filterMode;
    out.readMode = match d.flags & cu::CU_TRSF_READ_AS_INTEGER {
        0 => cudaReadModeNormalizedFloat,
        _ => cudaReadModeElementType,
    };
    out.sRGB = flag(cu::CU_TRSF_SRGB);
    out.borderColor = d.borderColor;
    out.normalizedCoords = flag(cu::CU_TRSF_NORMALIZED_COORDINATES);
    out.maxAnisotropy = d.maxAnisotropy;
    out.mipmapFilterMode = d.mipmapFilterMode;
    out.mipmapLevelBias = d.mipmapLevelBias;
    out.minMipmapLevelClamp = d.minMipmapLevelClamp;
    out.maxMipmapLevelClamp = d.maxMipmapLevelClamp;
    out.disableTrilinearOptimization = flag(cu::CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION);
    out.seamlessCubemap = flag(cu::CU_TRSF_SEAMLESS_CUBEMAP);
    give(to, out)
}

pub unsafe fn cudaGetTextureObjectResourceViewDesc(
    to: *mut cudaResourceViewDesc,
    object: cudaTextureObject_t,
) -> Result<()> {
    required(to)?;
    ensure()?;
    // SAFETY: the structures are of integers.
    let (mut v, mut out): (cu::CUDA_RESOURCE_VIEW_DESC, cudaResourceViewDesc) =
        (std::mem::zeroed(), std::mem::zeroed());
    check(cu::cuTexObjectGetResourceViewDesc(&mut v, object))?;
    out.format = v.format;
    (out.width, out.height, out.depth) = (v.width, v.height, v.depth);
    (out.firstMipmapLevel, out.lastMipmapLevel) = (v.firstMipmapLevel, v.lastMipmapLevel);
    (out.firstLayer, out.lastLayer) = (v.firstLayer, v.lastLayer);
    give(to, out)
}

pub unsafe fn cudaCreateSurfaceObject(
    to: *mut cudaSurfaceObject_t,
    from: *const cudaResourceDesc,
) -> Result<()> {
    required(to)?;
    let resource = resource(from)?;
    ensure()?;
    check(cu::cuSurfObjectCreate(to, &resource))
}

pub unsafe fn cudaDestroySurfaceObject(object: cudaSurfaceObject_t) -> Result<()> {
    ensure()?;
    if object == 0 {
        return Ok(());
    }
    check(cu::cuSurfObjectDestroy(object))
}

pub unsafe fn cudaGetSurfaceObjectResourceDesc(
    to: *mut cudaResourceDesc,
    object: cudaSurfaceObject_t,
) -> Result<()> {
    required(to)?;
    ensure()?;
    // SAFETY: the structure is of integers and pointers.
    let mut d: cu::CUDA_RESOURCE_DESC = std::mem::zeroed();
    check(cu::cuSurfObjectGetResourceDesc(&mut d, object))?;
    give(to, resource_back(&d)?)
}
