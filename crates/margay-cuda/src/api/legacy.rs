// SPDX-License-Identifier: MIT OR Apache-2.0
//! The calls of CUDA's first versions, which `cuda.h` still declares: launches whose shape and
//! parameters are set on the function beforehand, and counted uses of contexts.
//!
//! What is set stays with the function until it is set again, as the manual has it: two threads that
//! use one function must agree.

use std::ffi::{c_int, c_uint, c_void};
use std::sync::atomic::Ordering;

use margay_runtime::function::OldLaunch;
use margay_runtime::launch::LaunchRequest;
use margay_runtime::{CudaError, Result, thread};

use super::function::find;
use super::{current, handle, healthy, opaque, required, rt, rt_outside_callback, stream_of};
use crate::sys::*;

/// `CU_PARAM_TR_DEFAULT`: the unit that a module gave the texture.
const DEFAULT_UNIT: c_int = -1;

/// The most bytes of parameters that any kernel takes (PTX ISA, "Parameter State Space").
const MOST_PARAMETERS: usize = 32764;

pub unsafe fn cuFuncSetBlockShape(
    function: CUfunction,
    x: c_int,
    y: c_int,
    z: c_int,
) -> Result<()> {
    let function = find(function)?;
    let mut block = [0; 3];
    for (to, size) in block.iter_mut().zip([x, y, z]) {
        *to = u32::try_from(size).map_err(|_| CudaError::InvalidValue)?;
    }
    let threads = block.iter().try_fold(1u32, |all, n| all.checked_mul(*n));
    let fits = |n: u32| n > 0 && function.max_threads().is_ok_and(|most| n <= most);
    if !threads.is_some_and(fits) {
        return Err(CudaError::InvalidValue);
    }
    function.old_launch.lock().block = Some(block);
    Ok(())
}

pub unsafe fn cuFuncSetSharedSize(function: CUfunction, bytes: c_uint) -> Result<()> {
    let function = find(function)?;
    if bytes > function.dynamic_shared_limit()? {
        return Err(CudaError::InvalidValue);
    }
    function.old_launch.lock().shared = bytes;
    Ok(())
}

pub unsafe fn cuParamSetSize(function: CUfunction, bytes: c_uint) -> Result<()> {
    let function = find(function)?;
    let bytes = bytes as usize;
    if bytes > MOST_PARAMETERS {
        return Err(CudaError::InvalidValue);
    }
    let mut old = function.old_launch.lock();
    old.size = bytes;
    Ok(())
}

fn set(function: CUfunction, offset: c_int, bytes: &[u8]) -> Result<()> {
    let function = find(function)?;
    let from = usize::try_from(offset).map_err(|_| CudaError::InvalidValue)?;
    let to = from.checked_add(bytes.len()).filter(|to| *to <= MOST_PARAMETERS);
    let to = to.ok_or(CudaError::InvalidValue)?;
    let mut old = function.old_launch.lock();
    if old.params.len() < to {
        old.params.resize(to, 0);
    }
    old.params[from..to].copy_from_slice(bytes);
    Ok(())
}

pub unsafe fn cuParamSeti(function: CUfunction, offset: c_int, value: c_uint) -> Result<()> {
    set(function, offset, &value.to_ne_bytes())
}

pub unsafe fn cuParamSetf(function: CUfunction, offset: c_int, value: f32) -> Result<()> {
    set(function, offset, &value.to_ne_bytes())
}

pub unsafe fn cuParamSetv(
    function: CUfunction,
    offset: c_int,
    from: *mut c_void,
    bytes: c_uint,
) -> Result<()> {
    required(from)?;
    if bytes as usize > MOST_PARAMETERS {
        return Err(CudaError::InvalidValue);
    }
    // SAFETY: not null, and the program says that it has so many bytes.
    let value = unsafe { std::slice::from_raw_parts(from.cast::<u8>(), bytes as usize) };
    set(function, offset, value)
}

/// A reference of a module is bound already where it is declared; nothing else has a unit.
pub unsafe fn cuParamSetTexRef(function: CUfunction, unit: c_int, texture: CUtexref) -> Result<()> {
    find(function)?;
    super::texref::check(texture)?;
    if unit != DEFAULT_UNIT {
        return Err(CudaError::InvalidValue);
    }
    Ok(())
}

fn launch(function: CUfunction, width: c_int, height: c_int, stream: CUstream) -> Result<()> {
    let context = healthy()?;
    let function = rt()?.launchable(handle(function), &context)?;
    let size = |n: c_int| u32::try_from(n).ok().filter(|n| *n > 0).ok_or(CudaError::InvalidValue);
    let grid = [size(width)?, size(height)?, 1];
    let OldLaunch { block, shared, size, mut params } = function.old_launch.lock().clone();
    // Measured: without a shape a block is one thread. With fewer parameters there is nothing to pass.
    let block = block.unwrap_or([1; 3]);
    let needed = function.code().param_size as usize;
    if size < needed {
        return Err(CudaError::InvalidValue);
    }
    params.resize(needed, 0);
    let stream = stream_of(&context, stream)?;
    let request = LaunchRequest {
        grid,
        block,
        cluster: None,
        dynamic_shared: shared,
        cooperative: false,
        params,
        shared_arguments: Vec::new(),
    };
    context.launch(&function, &stream, request)
}

pub unsafe fn cuLaunch(function: CUfunction) -> Result<()> {
    launch(function, 1, 1, std::ptr::null_mut())
}

pub unsafe fn cuLaunchGrid(function: CUfunction, width: c_int, height: c_int) -> Result<()> {
    launch(function, width, height, std::ptr::null_mut())
}

pub unsafe fn cuLaunchGridAsync(
    function: CUfunction,
    width: c_int,
    height: c_int,
    stream: CUstream,
) -> Result<()> {
    launch(function, width, height, stream)
}

/// One more use of the current context, which `cuCtxDetach` takes back.
pub unsafe fn cuCtxAttach(to: *mut CUcontext, flags: c_uint) -> Result<()> {
    required(to)?;
    if flags != 0 {
        return Err(CudaError::InvalidValue);
    }
    let context = current()?;
    context.uses.fetch_add(1, Ordering::Relaxed);
    // SAFETY: not null, and the program's to write.
    unsafe { to.write_unaligned(opaque(context.handle)) };
    Ok(())
}

/// With its last use the context ends. It has to be the current one.
pub unsafe fn cuCtxDetach(ctx: CUcontext) -> Result<()> {
    let rt = rt_outside_callback()?;
    let context = rt.context(handle(ctx))?;
    if thread::current() != Some(context.handle) {
        return Err(CudaError::InvalidContext);
    }
    let keep_one = |uses: u32| uses.checked_sub(1).filter(|left| *left > 0);
    match context.uses.fetch_update(Ordering::Relaxed, Ordering::Relaxed, keep_one) {
        Ok(_) => Ok(()),
        // A primary context lives by the counts of its own functions.
        Err(_) if context.is_primary => Err(CudaError::InvalidContext),
        Err(_) => rt.destroy_context(context.handle),
    }
}
