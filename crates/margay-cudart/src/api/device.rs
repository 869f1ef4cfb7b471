// SPDX-License-Identifier: MIT OR Apache-2.0
//! Devices: choosing, asking, limits, peers, synchronising, resetting; the old `cudaThread` names.

use std::ffi::{c_char, c_int, c_uint};

use super::{give, required};
use crate::context::{self, device, ensure};
use crate::cu;
use crate::error::{Error, Result, check};
use crate::sys::*;

pub unsafe fn cudaGetDeviceCount(count: *mut c_int) -> Result<()> {
    required(count)?;
    give(count, 0)?;
    give(count, context::device_count()?)
}

pub unsafe fn cudaGetDevice(to: *mut c_int) -> Result<()> {
    required(to)?;
    give(to, context::current_device()?)
}

pub unsafe fn cudaSetDevice(ordinal: c_int) -> Result<()> {
    context::set_device(ordinal)
}

pub unsafe fn cudaInitDevice(ordinal: c_int, deviceFlags: c_uint, flags: c_uint) -> Result<()> {
    let device = device(ordinal)?;
    match flags {
        0 => {}
        cudaInitDeviceFlagsAreValid => {
            check_flags(deviceFlags)?;
            check(cu::cuDevicePrimaryCtxSetFlags_v2(device, driver_flags(deviceFlags)))?;
        }
        _ => return Err(Error::INVALID_VALUE),
    }
    context::primary(ordinal).map(drop)
}

/// The first device of the list becomes the thread's.
pub unsafe fn cudaSetValidDevices(devices: *mut c_int, len: c_int) -> Result<()> {
    if len == 0 {
        return Ok(());
    }
    required(devices)?;
    let count = usize::try_from(len).map_err(|_| Error::INVALID_VALUE)?;
    for at in 0..count {
        device(devices.add(at).read())?;
    }
    context::set_device(devices.read())
}

/// The device with the most of the properties asked for; unset ones are zero.
pub unsafe fn cudaChooseDevice(to: *mut c_int, wanted: *const cudaDeviceProp) -> Result<()> {
    required(to)?;
    required(wanted)?;
    let wanted = &*wanted;
    let mut best = (0, -1);
    for ordinal in 0..context::device_count()? {
        let has = super::properties::read(ordinal)?;
        let marks = [
            wanted.major == 0 || (has.major, has.minor) >= (wanted.major, wanted.minor),
            has.totalGlobalMem >= wanted.totalGlobalMem,
            has.sharedMemPerBlock >= wanted.sharedMemPerBlock,
            has.maxThreadsPerBlock >= wanted.maxThreadsPerBlock,
            has.multiProcessorCount >= wanted.multiProcessorCount,
            wanted.warpSize == 0 || has.warpSize == wanted.warpSize,
        ];
        let score = marks.iter().filter(|mark| **mark).count() as c_int;
        if score > best.1 {
            best = (ordinal, score);
        }
    }
    give(to, best.0)
}

pub unsafe fn cudaDeviceGetAttribute(
    value: *mut c_int,
    attribute: cudaDeviceAttr,
    ordinal: c_int,
) -> Result<()> {
    required(value)?;
    let device = device(ordinal)?;
    // The two enumerations have the same numbers.
    check(cu::cuDeviceGetAttribute(value, attribute, device))
}

pub unsafe fn cudaDeviceReset() -> Result<()> {
    context::reset()
}

pub unsafe fn cudaDeviceSynchronize() -> Result<()> {
    ensure()?;
    check(cu::cuCtxSynchronize())
}

pub unsafe fn cudaDeviceGetLimit(value: *mut usize, limit: cudaLimit) -> Result<()> {
    required(value)?;
    ensure()?;
    check(cu::cuCtxGetLimit(value, limit)).map_err(as_value)
}

pub unsafe fn cudaDeviceSetLimit(limit: cudaLimit, value: usize) -> Result<()> {
    ensure()?;
    check(cu::cuCtxSetLimit(limit, value))
}

/// A limit that does not exist is an invalid value to the runtime.
fn as_value(error: Error) -> Error {
    if error == Error(cudaErrorUnsupportedLimit) { Error::INVALID_VALUE } else { error }
}

pub unsafe fn cudaDeviceGetCacheConfig(config: *mut cudaFuncCache) -> Result<()> {
    required(config)?;
    ensure()?;
    check(cu::cuCtxGetCacheConfig(config))
}

pub unsafe fn cudaDeviceSetCacheConfig(config: cudaFuncCache) -> Result<()> {
    ensure()?;
    check(cu::cuCtxSetCacheConfig(config))
}

pub unsafe fn cudaDeviceGetSharedMemConfig(config: *mut cudaSharedMemConfig) -> Result<()> {
    required(config)?;
    ensure()?;
    check(cu::cuCtxGetSharedMemConfig(config))
}

pub unsafe fn cudaDeviceSetSharedMemConfig(config: cudaSharedMemConfig) -> Result<()> {
    ensure()?;
    check(cu::cuCtxSetSharedMemConfig(config))
}

pub unsafe fn cudaDeviceGetStreamPriorityRange(
    least: *mut c_int,
    greatest: *mut c_int,
) -> Result<()> {
    ensure()?;
    check(cu::cuCtxGetStreamPriorityRange(least, greatest))
}

pub unsafe fn cudaDeviceGetPCIBusId(to: *mut c_char, len: c_int, ordinal: c_int) -> Result<()> {
    required(to)?;
    check(cu::cuDeviceGetPCIBusId(to, len, device(ordinal)?))
}

pub unsafe fn cudaDeviceGetByPCIBusId(to: *mut c_int, id: *const c_char) -> Result<()> {
    required(to)?;
    required(id)?;
    context::device_count()?;
    check(cu::cuDeviceGetByPCIBusId(to, id))
}

pub unsafe fn cudaDeviceCanAccessPeer(can: *mut c_int, from: c_int, to: c_int) -> Result<()> {
    required(can)?;
    check(cu::cuDeviceCanAccessPeer(can, device(from)?, device(to)?))
}

pub unsafe fn cudaDeviceEnablePeerAccess(peer: c_int, flags: c_uint) -> Result<()> {
    ensure()?;
    check(cu::cuCtxEnablePeerAccess(context::primary(peer)?, flags))
}

pub unsafe fn cudaDeviceDisablePeerAccess(peer: c_int) -> Result<()> {
    ensure()?;
    check(cu::cuCtxDisablePeerAccess(context::primary(peer)?))
}

pub unsafe fn cudaDeviceGetP2PAttribute(
    value: *mut c_int,
    attribute: cudaDeviceP2PAttr,
    from: c_int,
    to: c_int,
) -> Result<()> {
    required(value)?;
    check(cu::cuDeviceGetP2PAttribute(value, attribute, device(from)?, device(to)?))
}

pub unsafe fn cudaGetDeviceFlags(flags: *mut c_uint) -> Result<()> {
    required(flags)?;
    let ordinal = context::current_device()?;
    if context::is_active(ordinal)? {
        ensure()?;
        return check(cu::cuCtxGetFlags(flags));
    }
    let mut active = 0;
    check(cu::cuDevicePrimaryCtxGetState(device(ordinal)?, flags, &mut active))
}

fn check_flags(flags: c_uint) -> Result<()> {
    let schedule = flags & cudaDeviceScheduleMask;
    let one_of = [
        cudaDeviceScheduleAuto,
        cudaDeviceScheduleSpin,
        cudaDeviceScheduleYield,
        cudaDeviceScheduleBlockingSync,
    ];
    if flags & !cudaDeviceMask != 0 || !one_of.contains(&schedule) {
        return Err(Error::INVALID_VALUE);
    }
    Ok(())
}

/// Mapped host memory is always on; to libcuda the flag is not one of a primary context's.
fn driver_flags(flags: c_uint) -> c_uint {
    flags & !cudaDeviceMapHost
}

pub unsafe fn cudaSetDeviceFlags(flags: c_uint) -> Result<()> {
    check_flags(flags)?;
    let device = device(context::current_device()?)?;
    check(cu::cuDevicePrimaryCtxSetFlags_v2(device, driver_flags(flags)))
}

pub unsafe fn cudaDriverGetVersion(version: *mut c_int) -> Result<()> {
    required(version)?;
    check(cu::cuDriverGetVersion(version))
}

pub unsafe fn cudaRuntimeGetVersion(version: *mut c_int) -> Result<()> {
    // Of the headers that margay installs for this library's major version.
    give(version, if cfg!(cudart12) { 12090 } else { 13000 })
}

pub unsafe fn cudaDeviceGetTexture1DLinearMaxWidth(
    width: *mut usize,
    format: *const cudaChannelFormatDesc,
    ordinal: c_int,
) -> Result<()> {
    required(width)?;
    required(format)?;
    let format = &*format;
    let channels =
        [format.x, format.y, format.z, format.w].iter().filter(|bits| **bits > 0).count();
    let of_driver = match (format.f, format.x) {
        (cudaChannelFormatKindUnsigned, 8) => cu::CU_AD_FORMAT_UNSIGNED_INT8,
        (cudaChannelFormatKindUnsigned, 16) => cu::CU_AD_FORMAT_UNSIGNED_INT16,
        (cudaChannelFormatKindUnsigned, 32) => cu::CU_AD_FORMAT_UNSIGNED_INT32,
        (cudaChannelFormatKindSigned, 8) => cu::CU_AD_FORMAT_SIGNED_INT8,
        (cudaChannelFormatKindSigned, 16) => cu::CU_AD_FORMAT_SIGNED_INT16,
        (cudaChannelFormatKindSigned, 32) => cu::CU_AD_FORMAT_SIGNED_INT32,
        (cudaChannelFormatKindFloat, 16) => cu::CU_AD_FORMAT_HALF,
        (cudaChannelFormatKindFloat, 32) => cu::CU_AD_FORMAT_FLOAT,
        _ => return Err(Error(cudaErrorInvalidChannelDescriptor)),
    };
    let device = device(ordinal)?;
    let count = channels as c_uint;
    check(cu::cuDeviceGetTexture1DLinearMaxWidth(width, of_driver, count, device))
}

pub unsafe fn cudaCtxResetPersistingL2Cache() -> Result<()> {
    ensure()?;
    check(cu::cuCtxResetPersistingL2Cache())
}

pub unsafe fn cudaDeviceFlushGPUDirectRDMAWrites(
    target: cudaFlushGPUDirectRDMAWritesTarget,
    scope: cudaFlushGPUDirectRDMAWritesScope,
) -> Result<()> {
    ensure()?;
    check(cu::cuFlushGPUDirectRDMAWrites(target, scope))
}

/// Names from before CUDA 4, gone since CUDA 13.
#[cfg(cudart12)]
mod thread {
    use super::*;

    pub unsafe fn cudaThreadExit() -> Result<()> {
        cudaDeviceReset()
    }

    pub unsafe fn cudaThreadSynchronize() -> Result<()> {
        cudaDeviceSynchronize()
    }

    pub unsafe fn cudaThreadGetLimit(value: *mut usize, limit: cudaLimit) -> Result<()> {
        cudaDeviceGetLimit(value, limit)
    }

    pub unsafe fn cudaThreadSetLimit(limit: cudaLimit, value: usize) -> Result<()> {
        cudaDeviceSetLimit(limit, value)
    }

    pub unsafe fn cudaThreadGetCacheConfig(config: *mut cudaFuncCache) -> Result<()> {
        cudaDeviceGetCacheConfig(config)
    }

    pub unsafe fn cudaThreadSetCacheConfig(config: cudaFuncCache) -> Result<()> {
        cudaDeviceSetCacheConfig(config)
    }
}
#[cfg(cudart12)]
pub use thread::*;
