// SPDX-License-Identifier: MIT OR Apache-2.0
//! Launches of kernels.

use std::ffi::c_void;
use std::ptr::null_mut;

use super::{elsewhere, required};
use crate::context::{self, ensure};
use crate::cu;
use crate::error::{Error, Result, check};
use crate::registry;
use crate::sys::*;

pub unsafe fn cudaLaunchKernel(
    func: *const c_void,
    grid: dim3,
    block: dim3,
    arguments: *mut *mut c_void,
    shared: usize,
    stream: cudaStream_t,
) -> Result<()> {
    let kernel = registry::kernel(func)?;
    start(kernel, grid, block, arguments, shared, stream)
}

/// Launches a kernel of a library: libcuda takes its handle where a function's stands.
pub unsafe fn start(
    kernel: cu::CUkernel,
    grid: dim3,
    block: dim3,
    arguments: *mut *mut c_void,
    shared: usize,
    stream: cudaStream_t,
) -> Result<()> {
    let shared = u32::try_from(shared).map_err(|_| Error::INVALID_VALUE)?;
    let code = cu::cuLaunchKernel(
        kernel.cast(),
        grid.x,
        grid.y,
        grid.z,
        block.x,
        block.y,
        block.z,
        shared,
        stream.cast(),
        arguments,
        null_mut(),
    );
    check(code).map_err(|error| explained(error, &grid, &block))
}

pub unsafe fn cudaLaunchCooperativeKernel(
    func: *const c_void,
    grid: dim3,
    block: dim3,
    arguments: *mut *mut c_void,
    shared: usize,
    stream: cudaStream_t,
) -> Result<()> {
    let kernel = registry::kernel(func)?;
    let shared = u32::try_from(shared).map_err(|_| Error::INVALID_VALUE)?;
    let code = cu::cuLaunchCooperativeKernel(
        kernel.cast(),
        grid.x,
        grid.y,
        grid.z,
        block.x,
        block.y,
        block.z,
        shared,
        stream.cast(),
        arguments,
    );
    check(code).map_err(|error| explained(error, &grid, &block))
}

pub unsafe fn cudaLaunchKernelExC(
    config: *const cudaLaunchConfig_t,
    func: *const c_void,
    arguments: *mut *mut c_void,
) -> Result<()> {
    required(config)?;
    let config = &*config;
    let kernel = registry::kernel(func)?;
    let shared = u32::try_from(config.dynamicSmemBytes).map_err(|_| Error::INVALID_VALUE)?;
    if config.numAttrs > 0 {
        required(config.attrs)?;
    }
    // SAFETY: the structure is of integers and pointers.
    let mut launch: cu::CUlaunchConfig = std::mem::zeroed();
    (launch.gridDimX, launch.gridDimY, launch.gridDimZ) =
        (config.gridDim.x, config.gridDim.y, config.gridDim.z);
    (launch.blockDimX, launch.blockDimY, launch.blockDimZ) =
        (config.blockDim.x, config.blockDim.y, config.blockDim.z);
    launch.sharedMemBytes = shared;
    launch.hStream = elsewhere(config.stream);
    // The two libraries' attributes have the same numbers and the same layout (checked below).
    launch.attrs = config.attrs.cast();
    launch.numAttrs = config.numAttrs;
    let code = cu::cuLaunchKernelEx(&launch, kernel.cast(), arguments, null_mut());
    check(code).map_err(|error| explained(error, &config.gridDim, &config.blockDim))
}

const _: () = {
    assert!(size_of::<cudaLaunchAttribute>() == size_of::<cu::CUlaunchAttribute>());
    assert!(cudaLaunchAttributeClusterDimension == cu::CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
    assert!(cudaLaunchAttributeCooperative == cu::CU_LAUNCH_ATTRIBUTE_COOPERATIVE);
    assert!(cudaLaunchAttributePriority == cu::CU_LAUNCH_ATTRIBUTE_PRIORITY);
};

/// Until CUDA 12 the runtime had an error of its own for dimensions that the device does not have.
fn explained(error: Error, grid: &dim3, block: &dim3) -> Error {
    if cfg!(cudart13) || error != Error::INVALID_VALUE {
        return error;
    }
    match dimensions_fit(grid, block) {
        Ok(false) => Error(cudaErrorInvalidConfiguration),
        Ok(true) | Err(_) => error,
    }
}

fn dimensions_fit(grid: &dim3, block: &dim3) -> Result<bool> {
    ensure()?;
    let device = context::device(context::current_device()?)?;
    let limits = [
        (cu::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, u64::from(grid.x)),
        (cu::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, u64::from(grid.y)),
        (cu::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, u64::from(grid.z)),
        (cu::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, u64::from(block.x)),
        (cu::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, u64::from(block.y)),
        (cu::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, u64::from(block.z)),
        (
            cu::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK,
            u64::from(block.x).saturating_mul(block.y.into()).saturating_mul(block.z.into()),
        ),
    ];
    for (attribute, asked) in limits {
        let mut most = 0;
        // SAFETY: the output may be written.
        check(unsafe { cu::cuDeviceGetAttribute(&mut most, attribute, device) })?;
        if asked == 0 || asked > u64::try_from(most).unwrap_or(0) {
            return Ok(false);
        }
    }
    Ok(true)
}
