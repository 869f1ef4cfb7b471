// SPDX-License-Identifier: MIT OR Apache-2.0
//! Occupancy: how many blocks or clusters of a kernel fit.

use std::ffi::{c_int, c_uint};

use margay_runtime::function::Function;
use margay_runtime::{CudaError, Result};

use super::function::find;
use super::launch::{cluster_of, shape_of};
use super::{give, offer, required, rt};
use crate::sys::*;

fn blocks(function: &Function, block_size: c_int, dynamic: usize) -> Result<c_int> {
    let threads = u32::try_from(block_size).map_err(|_| CudaError::InvalidValue)?;
    let dynamic = u32::try_from(dynamic).map_err(|_| CudaError::InvalidValue)?;
    if threads == 0 {
        return Err(CudaError::InvalidValue);
    }
    if threads > function.max_threads()? || dynamic > function.dynamic_shared_limit()? {
        return Ok(0);
    }
    Ok(function.blocks_per_sm(threads, dynamic)? as c_int)
}

pub unsafe fn cuOccupancyMaxActiveBlocksPerMultiprocessor(
    count: *mut c_int,
    function: CUfunction,
    block_size: c_int,
    dynamic: usize,
) -> Result<()> {
    required(count)?;
    unsafe { give(count, blocks(&*find(function)?, block_size, dynamic)?) }
}

/// The flag turns a cache off that no longer limits occupancy on any capability that has the call.
fn check_flags(flags: c_uint) -> Result<()> {
    match flags & !CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE {
        0 => Ok(()),
        _ => Err(CudaError::InvalidValue),
    }
}

pub unsafe fn cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    count: *mut c_int,
    function: CUfunction,
    block_size: c_int,
    dynamic: usize,
    flags: c_uint,
) -> Result<()> {
    check_flags(flags)?;
    unsafe { cuOccupancyMaxActiveBlocksPerMultiprocessor(count, function, block_size, dynamic) }
}

pub unsafe fn cuOccupancyMaxPotentialBlockSize(
    grid: *mut c_int,
    block: *mut c_int,
    function: CUfunction,
    dynamic_of: CUoccupancyB2DSize,
    dynamic: usize,
    limit: c_int,
) -> Result<()> {
    required(grid)?;
    required(block)?;
    let limit = u32::try_from(limit).map_err(|_| CudaError::InvalidValue)?;
    let function = find(function)?;
    let bytes = |threads: u32| match dynamic_of {
        // SAFETY: the program's function, called as the manual says.
        Some(call) => (unsafe { call(threads as c_int) }) as u64,
        None => dynamic as u64,
    };
    let (blocks, threads) = function.best_block_size(bytes, limit)?;
    unsafe {
        give(grid, blocks as c_int)?;
        give(block, threads as c_int)
    }
}

pub unsafe fn cuOccupancyMaxPotentialBlockSizeWithFlags(
    grid: *mut c_int,
    block: *mut c_int,
    function: CUfunction,
    dynamic_of: CUoccupancyB2DSize,
    dynamic: usize,
    limit: c_int,
    flags: c_uint,
) -> Result<()> {
    check_flags(flags)?;
    unsafe { cuOccupancyMaxPotentialBlockSize(grid, block, function, dynamic_of, dynamic, limit) }
}

pub unsafe fn cuOccupancyAvailableDynamicSMemPerBlock(
    bytes: *mut usize,
    function: CUfunction,
    wanted: c_int,
    block_size: c_int,
) -> Result<()> {
    required(bytes)?;
    let function = find(function)?;
    let most = function.dynamic_shared_limit()?;
    if wanted <= 0 || block_size <= 0 {
        return Err(CudaError::InvalidValue);
    }
    let fits = |dynamic: u32| -> Result<bool> {
        Ok(blocks(&function, block_size, dynamic as usize)? >= wanted)
    };
    if !fits(0)? {
        return Err(CudaError::InvalidValue);
    }
    // The largest size that still fits: occupancy falls as the size grows.
    let (mut low, mut high) = (0, most);
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        if fits(middle)? {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    unsafe { give(bytes, low as usize) }
}

/// Multiprocessors of a cluster's home: a GPC of Hopper has 16 or 18, of which 16 are certain.
const CLUSTER_HOME: u32 = 16;

pub unsafe fn cuOccupancyMaxPotentialClusterSize(
    size: *mut c_int,
    function: CUfunction,
    config: *const CUlaunchConfig,
) -> Result<()> {
    required(size)?;
    required(config)?;
    let function = find(function)?;
    let limits = rt()?.devices[function.module.device as usize].gpu.limits;
    if limits.max_cluster.value == 0 {
        return Err(CudaError::NotSupported);
    }
    // SAFETY: not null, and the program's to read.
    let config = unsafe { config.read_unaligned() };
    let (_, block) = shape_of(&config);
    let threads = block.iter().product::<u32>();
    let per_sm = blocks(&function, threads as c_int, config.sharedMemBytes as usize)?;
    let most = match function.settings.lock().non_portable_cluster {
        true => 16,
        false => limits.max_cluster.value,
    };
    let fits = if per_sm == 0 { 0 } else { most.min(CLUSTER_HOME * per_sm as u32) };
    unsafe { give(size, fits as c_int) }
}

pub unsafe fn cuOccupancyMaxActiveClusters(
    count: *mut c_int,
    function: CUfunction,
    config: *const CUlaunchConfig,
) -> Result<()> {
    required(count)?;
    required(config)?;
    let function = find(function)?;
    let device = &rt()?.devices[function.module.device as usize];
    if device.gpu.limits.max_cluster.value == 0 {
        return Err(CudaError::NotSupported);
    }
    // SAFETY: not null, and the program's to read.
    let config = unsafe { config.read_unaligned() };
    let cluster = unsafe { cluster_of(&config)? }
        .or(function.code().limits.reqnctapercluster)
        .ok_or(CudaError::InvalidValue)?;
    let size = cluster.iter().product::<u32>().max(1);
    let (_, block) = shape_of(&config);
    let threads = block.iter().product::<u32>();
    let per_sm = blocks(&function, threads as c_int, config.sharedMemBytes as usize)? as u32;
    let homes = device.gpu.card.sm_count.value / CLUSTER_HOME;
    unsafe { offer(count, (homes * (CLUSTER_HOME * per_sm / size)) as c_int) };
    Ok(())
}
