// SPDX-License-Identifier: MIT OR Apache-2.0
//! Devices: names, sizes, peers and primary contexts.

use std::ffi::{c_char, c_int, c_uint};

use margay_runtime::{CudaError, Result};

use super::{device, give, opaque, required, rt, rt_outside_callback, text};
use crate::sys::*;

pub unsafe fn cuDeviceGet(to: *mut CUdevice, ordinal: c_int) -> Result<()> {
    rt()?;
    required(to)?;
    device(ordinal)?;
    unsafe { give(to, ordinal) }
}

pub unsafe fn cuDeviceGetCount(count: *mut c_int) -> Result<()> {
    unsafe { give(count, rt()?.devices.len() as c_int) }
}

/// Copies text and its NUL into a buffer of the program, cut to fit.
unsafe fn copy_text(to: *mut c_char, len: c_int, text: &str) -> Result<()> {
    required(to)?;
    let room = usize::try_from(len).ok().filter(|n| *n > 0).ok_or(CudaError::InvalidValue)?;
    let kept = &text.as_bytes()[..text.len().min(room - 1)];
    // SAFETY: `room` bytes are the program's to write, and `kept` leaves one for the NUL.
    unsafe {
        std::ptr::copy_nonoverlapping(kept.as_ptr(), to.cast(), kept.len());
        to.add(kept.len()).write(0);
    }
    Ok(())
}

pub unsafe fn cuDeviceGetName(name: *mut c_char, len: c_int, dev: CUdevice) -> Result<()> {
    unsafe { copy_text(name, len, device(dev)?.gpu.card.name) }
}

pub unsafe fn cuDeviceGetUuid(uuid: *mut CUuuid, dev: CUdevice) -> Result<()> {
    let bytes = device(dev)?.uuid.map(|b| b as c_char);
    unsafe { give(uuid, CUuuid_st { bytes }) }
}

pub unsafe fn cuDeviceGetUuid_v2(uuid: *mut CUuuid, dev: CUdevice) -> Result<()> {
    unsafe { cuDeviceGetUuid(uuid, dev) }
}

pub unsafe fn cuDeviceTotalMem_v2(bytes: *mut usize, dev: CUdevice) -> Result<()> {
    unsafe { give(bytes, device(dev)?.total_memory() as usize) }
}

pub unsafe fn cuDeviceComputeCapability(
    major: *mut c_int,
    minor: *mut c_int,
    dev: CUdevice,
) -> Result<()> {
    let cc = device(dev)?.gpu.cc();
    required(minor)?;
    unsafe {
        give(major, cc.major as c_int)?;
        give(minor, cc.minor as c_int)
    }
}

pub unsafe fn cuDeviceGetProperties(prop: *mut CUdevprop, dev: CUdevice) -> Result<()> {
    let device = device(dev)?;
    let ints = |d: [u32; 3]| d.map(|n| n as c_int);
    let get = |attribute| super::attribute::value(device, attribute);
    let (limits, card) = (device.gpu.limits, device.gpu.card);
    let properties = CUdevprop_st {
        maxThreadsPerBlock: limits.max_threads_per_block.value as c_int,
        maxThreadsDim: ints(limits.max_block.value),
        maxGridSize: ints(limits.max_grid.value),
        sharedMemPerBlock: limits.shared_per_block.value as c_int,
        totalConstantMemory: limits.constant_memory.value as c_int,
        SIMDWidth: get(CU_DEVICE_ATTRIBUTE_WARP_SIZE)?,
        memPitch: get(CU_DEVICE_ATTRIBUTE_MAX_PITCH)?,
        regsPerBlock: limits.max_registers_per_block.value as c_int,
        clockRate: card.clock_khz.value as c_int,
        textureAlign: get(CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT)?,
    };
    unsafe { give(prop, properties) }
}

/// The bus address of a virtual device: one bus, a slot for each.
fn bus_id(dev: CUdevice) -> String {
    format!("0000:00:{:02X}.0", dev + super::attribute::FIRST_SLOT)
}

pub unsafe fn cuDeviceGetPCIBusId(to: *mut c_char, len: c_int, dev: CUdevice) -> Result<()> {
    device(dev)?;
    unsafe { copy_text(to, len, &bus_id(dev)) }
}

pub unsafe fn cuDeviceGetByPCIBusId(to: *mut CUdevice, id: *const c_char) -> Result<()> {
    let rt = rt()?;
    required(to)?;
    let wanted = unsafe { text(id)? };
    // Domain and function may be left out.
    let matches = |dev: &c_int| {
        let full = bus_id(*dev);
        let forms = [&full[..], &full[5..], &full[..10], &full[5..10]];
        forms.iter().any(|form| form.eq_ignore_ascii_case(wanted))
    };
    let found = (0..rt.devices.len() as c_int).find(matches);
    unsafe { give(to, found.ok_or(CudaError::InvalidDevice)?) }
}

pub unsafe fn cuDeviceCanAccessPeer(can: *mut c_int, dev: CUdevice, peer: CUdevice) -> Result<()> {
    device(dev)?;
    device(peer)?;
    unsafe { give(can, c_int::from(dev != peer)) }
}

pub unsafe fn cuDeviceGetP2PAttribute(
    value: *mut c_int,
    attribute: CUdevice_P2PAttribute,
    source: CUdevice,
    target: CUdevice,
) -> Result<()> {
    device(source)?;
    device(target)?;
    if source == target {
        return Err(CudaError::InvalidDevice);
    }
    let answer = match attribute {
        CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK => 0,
        CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED => 1,
        CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED => 1,
        // Arrays do not exist yet.
        CU_DEVICE_P2P_ATTRIBUTE_ACCESS_ACCESS_SUPPORTED => 0,
        _ => return Err(CudaError::InvalidValue),
    };
    unsafe { give(value, answer) }
}

pub unsafe fn cuDevicePrimaryCtxRetain(to: *mut CUcontext, dev: CUdevice) -> Result<()> {
    rt_outside_callback()?;
    let device = device(dev)?;
    required(to)?;
    unsafe { give(to, opaque(device.retain_primary().handle)) }
}

pub unsafe fn cuDevicePrimaryCtxRelease_v2(dev: CUdevice) -> Result<()> {
    rt_outside_callback()?;
    device(dev)?.release_primary()
}

pub unsafe fn cuDevicePrimaryCtxReset_v2(dev: CUdevice) -> Result<()> {
    rt_outside_callback()?;
    device(dev)?.reset_primary();
    Ok(())
}

pub unsafe fn cuDevicePrimaryCtxGetState(
    dev: CUdevice,
    flags: *mut c_uint,
    active: *mut c_int,
) -> Result<()> {
    let (held, is_active) = device(dev)?.primary_state();
    required(active)?;
    unsafe {
        give(flags, held)?;
        give(active, c_int::from(is_active))
    }
}

pub unsafe fn cuDevicePrimaryCtxSetFlags_v2(dev: CUdevice, flags: c_uint) -> Result<()> {
    let device = device(dev)?;
    super::context::check_flags(flags)?;
    device.set_primary_flags(flags);
    Ok(())
}

pub unsafe fn cuDeviceGetExecAffinitySupport(
    supported: *mut c_int,
    kind: CUexecAffinityType,
    dev: CUdevice,
) -> Result<()> {
    device(dev)?;
    if kind >= CU_EXEC_AFFINITY_TYPE_MAX {
        return Err(CudaError::InvalidValue);
    }
    unsafe { give(supported, 0) }
}

pub unsafe fn cuDeviceGetTexture1DLinearMaxWidth(
    width: *mut usize,
    _format: CUarray_format,
    channels: c_uint,
    dev: CUdevice,
) -> Result<()> {
    let device = device(dev)?;
    if !matches!(channels, 1 | 2 | 4) {
        return Err(CudaError::InvalidValue);
    }
    let most = super::attribute::value(device, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LINEAR_WIDTH)?;
    unsafe { give(width, most as usize) }
}
