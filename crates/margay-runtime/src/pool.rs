// SPDX-License-Identifier: MIT OR Apache-2.0
//! Stream-ordered allocation and memory pools.
//!
//! Limit: a pool caches nothing, so its reserved memory is what is in use, and the attributes that
//! steer reuse are only remembered.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::context::Context;
use crate::error::{CudaError, Result};
use crate::graph::NodeWork;
use crate::handle::{self, Handle};
use crate::runtime::{self, Runtime};
use crate::stream::Stream;

/// A memory pool of a device.
pub struct Pool {
    pub handle: Handle,
    pub device: u32,
    pub is_default: bool,
    /// `CUmemPool_attribute` values that were set.
    pub attributes: Mutex<HashMap<u32, u64>>,
    high: Mutex<u64>,
}

impl Pool {
    /// Bytes in use now.
    pub fn used(&self) -> u64 {
        runtime::get().pool_bytes(self.handle)
    }

    /// Most bytes ever in use since the last reset.
    pub fn high_water(&self) -> u64 {
        *self.high.lock()
    }

    pub fn reset_high_water(&self) {
        *self.high.lock() = self.used();
    }
}

impl Runtime {
    /// `cuMemPoolCreate`.
    pub fn create_pool(&self, device: u32, is_default: bool) -> Result<Arc<Pool>> {
        self.device(device)?;
        let pool = Arc::new(Pool {
            handle: handle::fresh(),
            device,
            is_default,
            attributes: Mutex::default(),
            high: Mutex::new(0),
        });
        self.pools.insert(pool.handle, pool.clone());
        Ok(pool)
    }

    /// The device's default pool, made at first use.
    pub fn default_pool(&self, device: u32) -> Result<Arc<Pool>> {
        static MAKING: Mutex<()> = Mutex::new(());
        let _one_at_a_time = MAKING.lock();
        let mut found = self.pools.all_where(|p| p.device == device && p.is_default);
        match found.pop() {
            Some(pool) => Ok(pool),
            None => self.create_pool(device, true),
        }
    }

    /// `cuMemPoolDestroy`; what was allocated stays until it is freed.
    pub fn destroy_pool(&self, handle: Handle) -> Result<()> {
        let pool = self.pools.get(handle).ok_or(CudaError::InvalidValue)?;
        if pool.is_default {
            return Err(CudaError::InvalidValue);
        }
        self.pools.remove(handle).map(drop).ok_or(CudaError::InvalidValue)
    }
}

impl Context {
    /// `cuMemAllocFromPoolAsync`.
    pub fn alloc_async(&self, size: u64, pool: &Pool, stream: &Stream) -> Result<u64> {
        if stream.part().is_some() {
            let memory = self.graph_memory(size)?;
            stream.intercept(|| NodeWork::Alloc(memory.clone()))?;
            return Ok(memory.address);
        }
        if let Some(&limit) = pool.attributes.lock().get(&POOL_MAX_SIZE)
            && limit > 0
            && pool.used() + size > limit
        {
            return Err(CudaError::OutOfMemory);
        }
        let address = self.mem_alloc_pool(size, pool.handle)?;
        let mut high = pool.high.lock();
        *high = (*high).max(pool.used());
        Ok(address)
    }

    /// `cuMemFreeAsync`: freed when the stream gets there.
    pub fn free_async(&self, address: u64, stream: &Stream) -> Result<()> {
        self.check()?;
        let rt = runtime::get();
        if stream.part().is_some() {
            let memory = rt.memory_of_graph(address)?;
            return stream.intercept(|| NodeWork::Free(memory)).map(drop);
        }
        if let Some(freed) = rt.free_graph_memory(address) {
            return freed;
        }
        let record = runtime::get().begin_free_async(address)?;
        let work = move || runtime::get().end_free_async(record.base);
        self.push(stream, None, Box::new(work));
        Ok(())
    }
}

/// Key under which a created pool's maximum size is kept among its attributes.
pub const POOL_MAX_SIZE: u32 = u32::MAX;
