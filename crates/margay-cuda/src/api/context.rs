// SPDX-License-Identifier: MIT OR Apache-2.0
//! Contexts: creation, the thread's stack, limits and settings.

use std::ffi::{c_int, c_uint, c_ulonglong};
use std::sync::atomic::Ordering;

use margay_runtime::{CudaError, Result, stream, thread};

use super::{
    current, device, give, handle, healthy, offer, opaque, required, rt, rt_outside_callback,
};
use crate::sys::*;

/// Flags that a context may have: one scheduling flag at most.
pub fn check_flags(flags: c_uint) -> Result<()> {
    let scheduling = flags & CU_CTX_SCHED_MASK;
    let known = flags & !CU_CTX_FLAGS_MASK == 0;
    match known && (scheduling == 0 || scheduling.is_power_of_two()) {
        true => Ok(()),
        false => Err(CudaError::InvalidValue),
    }
}

pub unsafe fn cuCtxCreate_v2(to: *mut CUcontext, flags: c_uint, dev: CUdevice) -> Result<()> {
    let ordinal = device(dev)?.ordinal;
    required(to)?;
    check_flags(flags)?;
    let context = rt_outside_callback()?.create_context(ordinal, flags)?;
    unsafe { give(to, opaque(context.handle)) }
}

pub unsafe fn cuCtxCreate_v3(
    to: *mut CUcontext,
    affinity: *mut CUexecAffinityParam,
    count: c_int,
    flags: c_uint,
    dev: CUdevice,
) -> Result<()> {
    if count < 0 || (count > 0 && affinity.is_null()) {
        return Err(CudaError::InvalidValue);
    }
    if count > 0 {
        return Err(CudaError::UnsupportedExecAffinity);
    }
    unsafe { cuCtxCreate_v2(to, flags, dev) }
}

pub unsafe fn cuCtxCreate_v4(
    to: *mut CUcontext,
    params: *mut CUctxCreateParams,
    flags: c_uint,
    dev: CUdevice,
) -> Result<()> {
    if !params.is_null() {
        // SAFETY: not null, and the program's to read.
        let params = unsafe { params.read_unaligned() };
        if params.numExecAffinityParams > 0 {
            return Err(CudaError::UnsupportedExecAffinity);
        }
        if !params.cigParams.is_null() {
            return Err(CudaError::NotSupported);
        }
    }
    unsafe { cuCtxCreate_v2(to, flags, dev) }
}

pub unsafe fn cuCtxDestroy_v2(ctx: CUcontext) -> Result<()> {
    let rt = rt_outside_callback()?;
    required(ctx)?;
    rt.destroy_context(handle(ctx))
}

pub unsafe fn cuCtxPushCurrent_v2(ctx: CUcontext) -> Result<()> {
    let context = rt()?.context(handle(ctx))?;
    thread::push(context.handle)
}

pub unsafe fn cuCtxPopCurrent_v2(to: *mut CUcontext) -> Result<()> {
    rt()?;
    let top = thread::pop().ok_or(CudaError::InvalidContext)?;
    unsafe { offer(to, opaque(top)) };
    Ok(())
}

pub unsafe fn cuCtxSetCurrent(ctx: CUcontext) -> Result<()> {
    let rt = rt()?;
    match handle(ctx) {
        0 => thread::set(None),
        wanted => thread::set(Some(rt.context(wanted)?.handle)),
    }
}

pub unsafe fn cuCtxGetCurrent(to: *mut CUcontext) -> Result<()> {
    rt()?;
    unsafe { give(to, opaque(thread::current().unwrap_or(0))) }
}

pub unsafe fn cuCtxGetDevice(to: *mut CUdevice) -> Result<()> {
    let context = current()?;
    unsafe { give(to, context.device as c_int) }
}

pub unsafe fn cuCtxGetDevice_v2(to: *mut CUdevice, ctx: CUcontext) -> Result<()> {
    let context = this_or_current(ctx)?;
    unsafe { give(to, context.device as c_int) }
}

/// Null stands for the current context.
fn this_or_current(ctx: CUcontext) -> Result<std::sync::Arc<margay_runtime::Context>> {
    match handle(ctx) {
        0 => current(),
        other => rt()?.context(other),
    }
}

pub unsafe fn cuCtxSynchronize() -> Result<()> {
    current()?.synchronize()
}

pub unsafe fn cuCtxSynchronize_v2(ctx: CUcontext) -> Result<()> {
    rt_outside_callback()?;
    this_or_current(ctx)?.synchronize()
}

pub unsafe fn cuCtxGetFlags(flags: *mut c_uint) -> Result<()> {
    let context = current()?;
    unsafe { give(flags, context.flags.load(Ordering::Relaxed)) }
}

pub unsafe fn cuCtxSetFlags(flags: c_uint) -> Result<()> {
    let context = current()?;
    check_flags(flags)?;
    context.flags.store(flags, Ordering::Relaxed);
    Ok(())
}

pub unsafe fn cuCtxGetId(ctx: CUcontext, id: *mut c_ulonglong) -> Result<()> {
    let context = this_or_current(ctx)?;
    unsafe { give(id, context.id) }
}

pub unsafe fn cuCtxGetApiVersion(ctx: CUcontext, version: *mut c_uint) -> Result<()> {
    this_or_current(ctx)?;
    // The version of the context interface, which has been this since CUDA 3.2.
    unsafe { give(version, 3020) }
}

pub unsafe fn cuCtxGetLimit(value: *mut usize, limit: CUlimit) -> Result<()> {
    let limits = healthy()?.limits();
    let found = match limit {
        CU_LIMIT_STACK_SIZE => limits.stack,
        CU_LIMIT_PRINTF_FIFO_SIZE => limits.print_fifo,
        CU_LIMIT_MALLOC_HEAP_SIZE => limits.heap,
        CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH
            if device(current()?.device as c_int)?.gpu.cc().sm() >= 90 =>
        {
            return Err(CudaError::UnsupportedLimit);
        }
        CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH => limits.launch_depth,
        CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT => limits.pending_launches,
        CU_LIMIT_MAX_L2_FETCH_GRANULARITY => limits.l2_fetch,
        CU_LIMIT_PERSISTING_L2_CACHE_SIZE => limits.persisting_l2,
        CU_LIMIT_SHMEM_SIZE | CU_LIMIT_CIG_ENABLED | CU_LIMIT_CIG_SHMEM_FALLBACK_ENABLED => {
            return Err(CudaError::UnsupportedLimit);
        }
        _ => return Err(CudaError::InvalidValue),
    };
    unsafe { give(value, found as usize) }
}

pub unsafe fn cuCtxSetLimit(limit: CUlimit, value: usize) -> Result<()> {
    let context = healthy()?;
    let value = value as u64;
    let capability = device(context.device as c_int)?.gpu.cc();
    match limit {
        CU_LIMIT_STACK_SIZE => context.set_limits(|l| l.stack = value.next_multiple_of(16)),
        CU_LIMIT_PRINTF_FIFO_SIZE => context.set_limits(|l| l.print_fifo = value),
        CU_LIMIT_MALLOC_HEAP_SIZE => context.set_limits(|l| l.heap = value),
        // Device-side synchronisation went away with 9.0 (CUDA dynamic parallelism 2).
        CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH if capability.sm() >= 90 => {
            Err(CudaError::UnsupportedLimit)
        }
        CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH if value > 24 => Err(CudaError::InvalidValue),
        CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH => context.set_limits(|l| l.launch_depth = value),
        CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT => {
            context.set_limits(|l| l.pending_launches = value)
        }
        CU_LIMIT_MAX_L2_FETCH_GRANULARITY if value > 128 => Err(CudaError::InvalidValue),
        CU_LIMIT_MAX_L2_FETCH_GRANULARITY => context.set_limits(|l| l.l2_fetch = value),
        CU_LIMIT_PERSISTING_L2_CACHE_SIZE => {
            let device = device(context.device as c_int)?;
            let most =
                super::attribute::value(device, CU_DEVICE_ATTRIBUTE_MAX_PERSISTING_L2_CACHE_SIZE)?;
            match most {
                0 => Err(CudaError::UnsupportedLimit),
                most if value > most as u64 => Err(CudaError::InvalidValue),
                _ => context.set_limits(|l| l.persisting_l2 = value),
            }
        }
        CU_LIMIT_SHMEM_SIZE | CU_LIMIT_CIG_ENABLED | CU_LIMIT_CIG_SHMEM_FALLBACK_ENABLED => {
            Err(CudaError::UnsupportedLimit)
        }
        _ => Err(CudaError::InvalidValue),
    }
}

pub unsafe fn cuCtxGetCacheConfig(config: *mut CUfunc_cache) -> Result<()> {
    let context = healthy()?;
    unsafe { give(config, context.cache_config.load(Ordering::Relaxed)) }
}

pub unsafe fn cuCtxSetCacheConfig(config: CUfunc_cache) -> Result<()> {
    let context = healthy()?;
    if config > CU_FUNC_CACHE_PREFER_EQUAL {
        return Err(CudaError::InvalidValue);
    }
    context.cache_config.store(config, Ordering::Relaxed);
    Ok(())
}

pub unsafe fn cuCtxGetSharedMemConfig(config: *mut CUsharedconfig) -> Result<()> {
    let context = healthy()?;
    unsafe { give(config, context.shared_config.load(Ordering::Relaxed)) }
}

pub unsafe fn cuCtxSetSharedMemConfig(config: CUsharedconfig) -> Result<()> {
    let context = healthy()?;
    if config > CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE {
        return Err(CudaError::InvalidValue);
    }
    // Only 3.x has a choice; elsewhere the banks stay four bytes wide.
    if device(context.device as c_int)?.gpu.cc().major == 3 {
        context.shared_config.store(config, Ordering::Relaxed);
    }
    Ok(())
}

pub unsafe fn cuCtxGetStreamPriorityRange(least: *mut c_int, greatest: *mut c_int) -> Result<()> {
    healthy()?;
    unsafe {
        offer(least, stream::PRIORITY_RANGE.0);
        offer(greatest, stream::PRIORITY_RANGE.1);
    }
    Ok(())
}

pub unsafe fn cuCtxResetPersistingL2Cache() -> Result<()> {
    healthy().map(drop)
}

pub unsafe fn cuCtxEnablePeerAccess(peer: CUcontext, flags: c_uint) -> Result<()> {
    let context = healthy()?;
    if flags != 0 {
        return Err(CudaError::InvalidValue);
    }
    let peer = rt()?.context(handle(peer))?;
    context.enable_peer(&peer)
}

pub unsafe fn cuCtxDisablePeerAccess(peer: CUcontext) -> Result<()> {
    let context = healthy()?;
    let peer = rt()?.context(handle(peer))?;
    context.disable_peer(&peer)
}
