// SPDX-License-Identifier: MIT OR Apache-2.0
//! Stream-ordered allocation and memory pools.
//!
//! A pool that other processes open has a file; each of its allocations is a part of that.
//!
//! Limit: a pool caches nothing, so its reserved memory is what is in use, and the attributes that
//! steer reuse are only remembered.

use margay_exec::mem::Devices;
use margay_exec::mem::devices::Access;
use std::collections::HashMap;
use std::os::fd::{IntoRawFd, OwnedFd, RawFd};
use std::sync::Arc;

use margay_exec::mem::{AllocKind, SharedFile};
use parking_lot::Mutex;

use crate::activity;
use crate::context::Context;
use crate::error::{CudaError, Result};
use crate::graph::NodeWork;
use crate::handle::{self, Handle};
use crate::memory::{Origin, Record};
use crate::order;
use crate::runtime::{self, Runtime};
use crate::stream::Stream;
use crate::watch;

/// A memory pool of a device.
pub struct Pool {
    pub handle: Handle,
    pub device: u32,
    pub is_default: bool,
    /// `CUmemPool_attribute` values that were set.
    pub attributes: Mutex<HashMap<u32, u64>>,
    high: Mutex<u64>,
    /// Those that may touch its memory; peer access does not matter.
    devices: Mutex<Devices>,
    shared: Option<PoolFile>,
}

/// The file of a pool that several processes use.
struct PoolFile {
    file: SharedFile,
    /// The pool is another process's: it gives no memory here.
    imported: bool,
    /// Where the next allocation lies in the file.
    next: Mutex<u64>,
    /// Allocations that are mapped here: address to offset in the file.
    places: Mutex<HashMap<u64, u64>>,
}

/// What `CUmemPoolPtrExportData` holds.
pub type PointerBytes = [u8; 64];
const POINTER_MAGIC: u64 = 0x6d67_706f_6f6c_0001;
const PAGE: u64 = 4096;

impl Pool {
    /// Whether allocations can be made from it.
    pub fn gives(&self) -> bool {
        !self.shared.as_ref().is_some_and(|s| s.imported)
    }

    /// Whether a device's kernels may touch its memory (`cuMemPoolGetAccess`).
    pub fn lets_in(&self, device: u32) -> bool {
        self.devices.lock().meets(Devices::one(device))
    }

    /// `cuMemPoolSetAccess`: gives a device access to all memory of the pool, also what it has given already, or takes it
    /// away.
    pub fn set_access(&self, device: u32, lets_in: bool) {
        let mut devices = self.devices.lock();
        *devices = match lets_in {
            true => devices.with(Devices::one(device)),
            false => devices.without(Devices::one(device)),
        };
        drop(devices);
        runtime::get().pool_bases(self.handle).into_iter().for_each(|base| self.let_in(base));
    }

    /// Lets those in that may touch the pool's memory.
    pub(crate) fn let_in(&self, base: u64) {
        let devices = *self.devices.lock();
        runtime::get().memory.allow(base, Access::granted(devices));
    }

    fn file(&self) -> Result<&PoolFile> {
        self.shared.as_ref().ok_or(CudaError::InvalidValue)
    }

    /// Maps a part of the pool's file here.
    fn place(&self, owner: &Context, offset: u64, size: u64) -> Result<u64> {
        let (rt, shared) = (runtime::get(), self.file()?);
        let bytes = size.max(1).next_multiple_of(PAGE);
        let base = rt.memory.reserve(bytes, 1).map_err(|_| CudaError::OutOfMemory)?;
        let label = "cudaMallocAsync";
        let granted = rt.memory.map(base, bytes, &shared.file, offset).is_ok()
            && rt.memory.grant(base, size, AllocKind::Mapped, self.device, label).is_ok();
        if !granted {
            rt.memory.unreserve(base);
            return Err(CudaError::MapFailed);
        }
        shared.places.lock().insert(base, offset);
        self.let_in(base);
        let origin = Origin::Pool(self.handle);
        rt.records.insert_foreign(rt, base, size, origin, self.device, owner.handle);
        crate::watch::allocated(rt, base);
        Ok(base)
    }

    fn allocate_shared(&self, owner: &Context, size: u64) -> Result<u64> {
        owner.check()?;
        let shared = self.file()?;
        let bytes = size.checked_next_multiple_of(PAGE).ok_or(CudaError::OutOfMemory)?;
        let offset = {
            let mut next = shared.next.lock();
            let offset = *next;
            let end = offset.checked_add(bytes).ok_or(CudaError::OutOfMemory)?;
            if self.used() + size > runtime::get().device(self.device)?.free_memory() {
                return Err(CudaError::OutOfMemory);
            }
            shared.file.grow(end).map_err(|_| CudaError::OutOfMemory)?;
            *next = end;
            offset
        };
        self.place(owner, offset, size)
    }

    /// `cuMemPoolExportToShareableHandle` as a file descriptor, which the caller closes.
    pub fn export(&self) -> Result<RawFd> {
        activity::share();
        let fd = self.file()?.file.duplicate().map_err(|_| CudaError::OperatingSystem)?;
        Ok(fd.into_raw_fd())
    }

    /// `cuMemPoolImportPointer`.
    pub fn import_pointer(&self, owner: &Context, data: &PointerBytes) -> Result<u64> {
        let word = |at: usize| u64::from_le_bytes(std::array::from_fn(|i| data[at * 8 + i]));
        let (offset, size) = (word(1), word(2));
        let shared = self.file()?;
        let inside = offset.checked_add(size).is_some_and(|end| {
            shared.file.bytes().is_ok_and(|bytes| end <= bytes) && offset.is_multiple_of(PAGE)
        });
        if word(0) != POINTER_MAGIC || !inside || size == 0 || !shared.imported {
            return Err(CudaError::InvalidValue);
        }
        self.place(owner, offset, size)
    }

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
        self.make_pool(device, is_default, None)
    }

    /// A pool that other processes can open.
    pub fn create_shared_pool(&self, device: u32) -> Result<Arc<Pool>> {
        let file = SharedFile::create(0).map_err(|_| CudaError::OutOfMemory)?;
        self.make_pool(device, false, Some((file, false)))
    }

    /// `cuMemPoolImportFromShareableHandle` of another process's pool.
    pub fn import_pool(&self, fd: OwnedFd, device: u32) -> Result<Arc<Pool>> {
        activity::share();
        self.make_pool(device, false, Some((SharedFile::from_fd(fd), true)))
    }

    /// `cuMemPoolExportPointer`.
    pub fn export_pooled(&self, address: u64) -> Result<PointerBytes> {
        let record = self.allocation(address).ok_or(CudaError::InvalidValue)?;
        let Origin::Pool(pool) = record.origin else { return Err(CudaError::InvalidValue) };
        let pool = self.pools.get(pool).ok_or(CudaError::InvalidValue)?;
        let places = pool.file()?.places.lock();
        let offset = *places.get(&record.base).ok_or(CudaError::InvalidValue)?;
        let mut data = [0; 64];
        for (at, word) in [POINTER_MAGIC, offset, record.size].iter().enumerate() {
            data[at * 8..at * 8 + 8].copy_from_slice(&word.to_le_bytes());
        }
        Ok(data)
    }

    /// Ends an allocation of a pool with a file; false for any other.
    pub(crate) fn release_pooled(&self, record: &Record) -> bool {
        if self.memory.find(record.base).is_none_or(|info| info.kind != AllocKind::Mapped) {
            return false;
        }
        self.memory.revoke(record.base);
        self.memory.unreserve(record.base);
        // A destroyed pool's file goes with its last allocation.
        let Origin::Pool(pool) = record.origin else { return true };
        if let Some(pool) = self.pools.get(pool)
            && let Some(shared) = &pool.shared
            && let Some(offset) = shared.places.lock().remove(&record.base)
            && !shared.imported
        {
            shared.file.punch(offset, record.size.next_multiple_of(PAGE));
        }
        true
    }

    fn make_pool(
        &self,
        device: u32,
        is_default: bool,
        file: Option<(SharedFile, bool)>,
    ) -> Result<Arc<Pool>> {
        self.device(device)?;
        let shared = file.map(|(file, imported)| {
            let (next, places) = Default::default();
            PoolFile { file, imported, next, places }
        });
        let pool = Arc::new(Pool {
            handle: handle::fresh(),
            device,
            is_default,
            attributes: Mutex::default(),
            devices: Mutex::new(Devices::one(device)),
            high: Mutex::new(0),
            shared,
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
        if !pool.gives() {
            return Err(CudaError::InvalidValue);
        }
        let address = match pool.shared.is_some() && size > 0 {
            true => pool.allocate_shared(self, size)?,
            false => self.mem_alloc_pool(size, pool.handle)?,
        };
        let mut high = pool.high.lock();
        *high = (*high).max(pool.used());
        drop(high);
        if order::is_kept() {
            // Whoever uses it is to come after this place of the stream.
            let handle = stream.shown();
            let tell = move || watch::stream_ordered(runtime::get(), address, false, handle);
            self.push(stream, None, Box::new(tell));
        }
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
        let record = rt.begin_free_async(address).map_err(|e| rt.refuse_free(address, e))?;
        let handle = stream.shown();
        let work = move || {
            watch::stream_ordered(runtime::get(), record.base, true, handle);
            runtime::get().end_free_async(record.base);
        };
        self.push(stream, None, Box::new(work));
        Ok(())
    }
}

/// Key under which a created pool's maximum size is kept among its attributes.
pub const POOL_MAX_SIZE: u32 = u32::MAX;
