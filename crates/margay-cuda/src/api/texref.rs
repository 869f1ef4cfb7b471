// SPDX-License-Identifier: MIT OR Apache-2.0
//! Texture and surface references: a module's `.texref` and `.surfref` variables, bound from the host.
//!
//! NVIDIA deprecates these in favour of objects; drivers still have them, and programs in PTX use them.

use std::ffi::{c_char, c_int, c_uint};
use std::sync::Arc;

use margay_exec::mem::texture::Filter;
use margay_exec::mem::texture::Opaque;
use margay_runtime::texture::{Binding, Reference, ReferenceState};
use margay_runtime::{CudaError, Result};

use super::array::format_of;
use super::texture::{TEXTURE_FLAGS, address_mode, filter_mode, linear_image, pitched_image};
use super::{give, handle, healthy, offer, opaque, required, rt, text};
use crate::sys::*;

fn find<T>(reference: *mut T, kind: Opaque) -> Result<Arc<Reference>> {
    let found = rt()?.texture_references.get(handle(reference));
    found.filter(|r| r.kind == kind).ok_or(CudaError::InvalidHandle)
}

fn texture(reference: CUtexref) -> Result<Arc<Reference>> {
    healthy()?;
    find(reference, Opaque::Texture)
}

/// Whether integers read as floats.
fn normalized(state: &ReferenceState) -> bool {
    let fixed = state.image.as_ref().is_some_and(|image| {
        format_of(state.format.0, image.format.channels()).is_ok_and(|(_, fixed)| fixed)
    });
    fixed || state.flags & CU_TRSF_READ_AS_INTEGER == 0
}

/// A handle that is of a texture reference.
pub fn check(reference: CUtexref) -> Result<()> {
    texture(reference).map(|_| ())
}

fn change(
    reference: CUtexref,
    change: impl FnOnce(&mut ReferenceState) -> Result<()>,
) -> Result<()> {
    texture(reference)?.update(change, normalized)
}

fn reading<T>(reference: CUtexref, read: impl FnOnce(&ReferenceState) -> T) -> Result<T> {
    Ok(read(&texture(reference)?.state.lock()))
}

unsafe fn of_module(module: CUmodule, name: *const c_char, kind: Opaque) -> Result<u64> {
    healthy()?;
    let name = unsafe { text(name)? };
    let module = rt()?.modules.get(handle(module)).ok_or(CudaError::InvalidHandle)?;
    Ok(module.reference(name, kind)?.handle)
}

pub unsafe fn cuModuleGetTexRef(
    to: *mut CUtexref,
    module: CUmodule,
    name: *const c_char,
) -> Result<()> {
    required(to)?;
    unsafe { give(to, opaque(of_module(module, name, Opaque::Texture)?)) }
}

pub unsafe fn cuModuleGetSurfRef(
    to: *mut CUsurfref,
    module: CUmodule,
    name: *const c_char,
) -> Result<()> {
    required(to)?;
    unsafe { give(to, opaque(of_module(module, name, Opaque::Surface)?)) }
}

pub unsafe fn cuTexRefCreate(to: *mut CUtexref) -> Result<()> {
    let context = healthy()?;
    required(to)?;
    unsafe { give(to, opaque(context.create_reference().handle)) }
}

pub unsafe fn cuTexRefDestroy(reference: CUtexref) -> Result<()> {
    let found = texture(reference)?;
    // A module's reference goes with the module.
    if found.address != 0 {
        return Err(CudaError::InvalidValue);
    }
    rt()?.texture_references.remove(found.handle);
    Ok(())
}

/// The only flag that binding an array takes: take the format from the array, which is done anyway.
fn override_format(flags: c_uint) -> Result<()> {
    match flags & !CU_TRSA_OVERRIDE_FORMAT {
        0 => Ok(()),
        _ => Err(CudaError::InvalidValue),
    }
}

pub unsafe fn cuTexRefSetArray(reference: CUtexref, array: CUarray, flags: c_uint) -> Result<()> {
    override_format(flags)?;
    let array = super::array::find(array)?;
    change(reference, |state| {
        state.binding = Binding::Array(array.handle);
        state.format = (array.api_format, array.image.format.channels());
        state.image = Some(array.image.clone());
        Ok(())
    })
}

pub unsafe fn cuTexRefSetMipmappedArray(
    reference: CUtexref,
    array: CUmipmappedArray,
    flags: c_uint,
) -> Result<()> {
    override_format(flags)?;
    let array = rt()?.mipmapped_arrays.get(handle(array)).ok_or(CudaError::InvalidHandle)?;
    change(reference, |state| {
        state.binding = Binding::Mipmapped(array.handle);
        state.format = (array.api_format, array.image.format.channels());
        state.image = Some(array.image.clone());
        Ok(())
    })
}

/// Linear memory begins where a texture may: the offset to add, in bytes, goes to the program.
pub unsafe fn cuTexRefSetAddress_v2(
    offset: *mut usize,
    reference: CUtexref,
    address: CUdeviceptr,
    bytes: usize,
) -> Result<()> {
    // cudaDeviceProp::textureAlignment.
    let within = (address % 512) as usize;
    // Without a place to tell the offset, the address must need none.
    if within != 0 && offset.is_null() {
        return Err(CudaError::InvalidValue);
    }
    change(reference, |state| {
        if address == 0 {
            (state.binding, state.image) = (Binding::None, None);
            return Ok(());
        }
        let (format, _) = format_of(state.format.0, state.format.1)?;
        let record = rt()?.allocation(address).ok_or(CudaError::InvalidValue)?;
        let start = (address - within as u64).max(record.base);
        if address - start != within as u64 {
            return Err(CudaError::InvalidValue);
        }
        state.binding = Binding::Memory(address);
        state.image = Some(linear_image(start, format, bytes + within)?);
        Ok(())
    })?;
    unsafe { offer(offset, within) };
    Ok(())
}

pub unsafe fn cuTexRefSetAddress2D_v3(
    reference: CUtexref,
    description: *const CUDA_ARRAY_DESCRIPTOR,
    address: CUdeviceptr,
    pitch: usize,
) -> Result<()> {
    required(description)?;
    // SAFETY: not null, and the program's to read.
    let d = unsafe { description.read_unaligned() };
    let (format, _) = format_of(d.Format, d.NumChannels)?;
    let image = pitched_image(address, format, (d.Width, d.Height), pitch)?;
    change(reference, |state| {
        state.format = (d.Format, d.NumChannels);
        state.binding = Binding::Memory(address);
        state.image = Some(image);
        Ok(())
    })
}

pub unsafe fn cuTexRefSetFormat(
    reference: CUtexref,
    format: CUarray_format,
    channels: c_int,
) -> Result<()> {
    let channels = c_uint::try_from(channels).map_err(|_| CudaError::InvalidValue)?;
    format_of(format, channels)?;
    change(reference, |state| {
        state.format = (format, channels);
        Ok(())
    })
}

pub unsafe fn cuTexRefSetAddressMode(
    reference: CUtexref,
    dimension: c_int,
    mode: CUaddress_mode,
) -> Result<()> {
    let at = usize::try_from(dimension).ok().filter(|d| *d < 3);
    let at = at.ok_or(CudaError::InvalidValue)?;
    let mode = address_mode(mode)?;
    change(reference, |state| {
        state.sampler.address[at] = mode;
        Ok(())
    })
}

pub unsafe fn cuTexRefSetFilterMode(reference: CUtexref, mode: CUfilter_mode) -> Result<()> {
    let mode = filter_mode(mode)?;
    change(reference, |state| {
        state.sampler.filter = mode;
        Ok(())
    })
}

pub unsafe fn cuTexRefSetMipmapFilterMode(reference: CUtexref, mode: CUfilter_mode) -> Result<()> {
    let mode = filter_mode(mode)?;
    change(reference, |state| {
        state.sampler.mip_filter = mode;
        Ok(())
    })
}

pub unsafe fn cuTexRefSetMipmapLevelBias(reference: CUtexref, bias: f32) -> Result<()> {
    change(reference, |state| {
        state.sampler.bias = bias;
        Ok(())
    })
}

pub unsafe fn cuTexRefSetMipmapLevelClamp(
    reference: CUtexref,
    least: f32,
    most: f32,
) -> Result<()> {
    change(reference, |state| {
        (state.sampler.min_level, state.sampler.max_level) = (least, most);
        Ok(())
    })
}

pub unsafe fn cuTexRefSetMaxAnisotropy(reference: CUtexref, most: c_uint) -> Result<()> {
    if most > 16 {
        return Err(CudaError::InvalidValue);
    }
    change(reference, |state| {
        state.sampler.anisotropy = most;
        Ok(())
    })
}

pub unsafe fn cuTexRefSetBorderColor(reference: CUtexref, color: *mut f32) -> Result<()> {
    required(color)?;
    // SAFETY: the manual has four floats here.
    let color = unsafe { color.cast::<[f32; 4]>().read_unaligned() };
    change(reference, |state| {
        state.sampler.border = color.map(f32::to_bits);
        Ok(())
    })
}

pub unsafe fn cuTexRefSetFlags(reference: CUtexref, flags: c_uint) -> Result<()> {
    if flags & !TEXTURE_FLAGS != 0 {
        return Err(CudaError::InvalidValue);
    }
    change(reference, |state| {
        state.flags = flags;
        state.sampler.normalized = flags & CU_TRSF_NORMALIZED_COORDINATES != 0;
        state.sampler.seamless = flags & CU_TRSF_SEAMLESS_CUBEMAP != 0;
        Ok(())
    })
}

pub unsafe fn cuTexRefGetArray(to: *mut CUarray, reference: CUtexref) -> Result<()> {
    match reading(reference, |s| s.binding)? {
        Binding::Array(array) => unsafe { give(to, opaque(array)) },
        Binding::None | Binding::Mipmapped(_) | Binding::Memory(_) => Err(CudaError::InvalidValue),
    }
}

pub unsafe fn cuTexRefGetMipmappedArray(
    to: *mut CUmipmappedArray,
    reference: CUtexref,
) -> Result<()> {
    match reading(reference, |s| s.binding)? {
        Binding::Mipmapped(array) => unsafe { give(to, opaque(array)) },
        Binding::None | Binding::Array(_) | Binding::Memory(_) => Err(CudaError::InvalidValue),
    }
}

pub unsafe fn cuTexRefGetAddress_v2(to: *mut CUdeviceptr, reference: CUtexref) -> Result<()> {
    match reading(reference, |s| s.binding)? {
        Binding::Memory(address) => unsafe { give(to, address) },
        Binding::None | Binding::Array(_) | Binding::Mipmapped(_) => Err(CudaError::InvalidValue),
    }
}

pub unsafe fn cuTexRefGetAddressMode(
    to: *mut CUaddress_mode,
    reference: CUtexref,
    dimension: c_int,
) -> Result<()> {
    use margay_exec::mem::texture::AddressMode;
    let at = usize::try_from(dimension).ok().filter(|d| *d < 3);
    let at = at.ok_or(CudaError::InvalidValue)?;
    let mode = match reading(reference, |s| s.sampler.address[at])? {
        AddressMode::Wrap => CU_TR_ADDRESS_MODE_WRAP,
        AddressMode::Clamp => CU_TR_ADDRESS_MODE_CLAMP,
        AddressMode::Mirror => CU_TR_ADDRESS_MODE_MIRROR,
        AddressMode::Border => CU_TR_ADDRESS_MODE_BORDER,
    };
    unsafe { give(to, mode) }
}

fn filter_code(filter: Filter) -> CUfilter_mode {
    match filter {
        Filter::Point => CU_TR_FILTER_MODE_POINT,
        Filter::Linear => CU_TR_FILTER_MODE_LINEAR,
    }
}

pub unsafe fn cuTexRefGetFilterMode(to: *mut CUfilter_mode, reference: CUtexref) -> Result<()> {
    unsafe { give(to, filter_code(reading(reference, |s| s.sampler.filter)?)) }
}

pub unsafe fn cuTexRefGetMipmapFilterMode(
    to: *mut CUfilter_mode,
    reference: CUtexref,
) -> Result<()> {
    unsafe { give(to, filter_code(reading(reference, |s| s.sampler.mip_filter)?)) }
}

pub unsafe fn cuTexRefGetMipmapLevelBias(to: *mut f32, reference: CUtexref) -> Result<()> {
    unsafe { give(to, reading(reference, |s| s.sampler.bias)?) }
}

pub unsafe fn cuTexRefGetMipmapLevelClamp(
    least: *mut f32,
    most: *mut f32,
    reference: CUtexref,
) -> Result<()> {
    let (low, high) = reading(reference, |s| (s.sampler.min_level, s.sampler.max_level))?;
    unsafe {
        give(least, low)?;
        give(most, high)
    }
}

pub unsafe fn cuTexRefGetMaxAnisotropy(to: *mut c_int, reference: CUtexref) -> Result<()> {
    unsafe { give(to, reading(reference, |s| s.sampler.anisotropy)? as c_int) }
}

pub unsafe fn cuTexRefGetBorderColor(to: *mut f32, reference: CUtexref) -> Result<()> {
    let color = reading(reference, |s| s.sampler.border.map(f32::from_bits))?;
    unsafe { give(to.cast(), color) }
}

pub unsafe fn cuTexRefGetFlags(to: *mut c_uint, reference: CUtexref) -> Result<()> {
    unsafe { give(to, reading(reference, |s| s.flags)?) }
}

pub unsafe fn cuTexRefGetFormat(
    format: *mut CUarray_format,
    channels: *mut c_int,
    reference: CUtexref,
) -> Result<()> {
    let (has, count) = reading(reference, |s| s.format)?;
    unsafe {
        give(format, has)?;
        give(channels, count as c_int)
    }
}

pub unsafe fn cuSurfRefSetArray(reference: CUsurfref, array: CUarray, flags: c_uint) -> Result<()> {
    healthy()?;
    let array = super::array::find(array)?;
    if flags != 0 || array.flags & CUDA_ARRAY3D_SURFACE_LDST == 0 {
        return Err(CudaError::InvalidValue);
    }
    let bind = |state: &mut ReferenceState| {
        state.binding = Binding::Array(array.handle);
        state.image = Some(array.image.clone());
        Ok(())
    };
    find(reference, Opaque::Surface)?.update(bind, |_| false)
}

pub unsafe fn cuSurfRefGetArray(to: *mut CUarray, reference: CUsurfref) -> Result<()> {
    healthy()?;
    let binding = find(reference, Opaque::Surface)?.state.lock().binding;
    match binding {
        Binding::Array(array) => unsafe { give(to, opaque(array)) },
        Binding::None | Binding::Mipmapped(_) | Binding::Memory(_) => Err(CudaError::InvalidValue),
    }
}
