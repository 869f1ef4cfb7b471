// SPDX-License-Identifier: MIT OR Apache-2.0
//! How many blocks fit on a multiprocessor, and how many clusters on a device.

use std::ffi::{c_int, c_uint, c_void};

use super::required;
use crate::cu;
use crate::error::{Error, Result, check};
use crate::registry;
use crate::sys::*;

pub unsafe fn cudaOccupancyMaxActiveBlocksPerMultiprocessor(
    blocks: *mut c_int,
    func: *const c_void,
    block_size: c_int,
    shared: usize,
) -> Result<()> {
    cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, func, block_size, shared, 0)
}

pub unsafe fn cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    blocks: *mut c_int,
    func: *const c_void,
    block_size: c_int,
    shared: usize,
    flags: c_uint,
) -> Result<()> {
    required(blocks)?;
    let function = registry::function(func)?;
    check(cu::cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        blocks, function, block_size, shared, flags,
    ))
}

pub unsafe fn cudaOccupancyAvailableDynamicSMemPerBlock(
    shared: *mut usize,
    func: *const c_void,
    blocks: c_int,
    block_size: c_int,
) -> Result<()> {
    required(shared)?;
    let function = registry::function(func)?;
    check(cu::cuOccupancyAvailableDynamicSMemPerBlock(shared, function, blocks, block_size))
}

unsafe fn driver_config(config: *const cudaLaunchConfig_t) -> Result<cu::CUlaunchConfig> {
    required(config)?;
    let config = &*config;
    // SAFETY: the structure is of integers and pointers.
    let mut launch: cu::CUlaunchConfig = std::mem::zeroed();
    (launch.gridDimX, launch.gridDimY, launch.gridDimZ) =
        (config.gridDim.x, config.gridDim.y, config.gridDim.z);
    (launch.blockDimX, launch.blockDimY, launch.blockDimZ) =
        (config.blockDim.x, config.blockDim.y, config.blockDim.z);
    launch.sharedMemBytes =
        u32::try_from(config.dynamicSmemBytes).map_err(|_| Error::INVALID_VALUE)?;
    launch.hStream = config.stream.cast();
    launch.attrs = config.attrs.cast();
    launch.numAttrs = config.numAttrs;
    Ok(launch)
}

pub unsafe fn cudaOccupancyMaxPotentialClusterSize(
    size: *mut c_int,
    func: *const c_void,
    config: *const cudaLaunchConfig_t,
) -> Result<()> {
    required(size)?;
    let launch = driver_config(config)?;
    check(cu::cuOccupancyMaxPotentialClusterSize(size, registry::function(func)?, &launch))
}

pub unsafe fn cudaOccupancyMaxActiveClusters(
    clusters: *mut c_int,
    func: *const c_void,
    config: *const cudaLaunchConfig_t,
) -> Result<()> {
    required(clusters)?;
    let launch = driver_config(config)?;
    check(cu::cuOccupancyMaxActiveClusters(clusters, registry::function(func)?, &launch))
}
