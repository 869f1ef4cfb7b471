// SPDX-License-Identifier: MIT OR Apache-2.0
//! Allocations as the API sees them: who owns which, and how each may be freed.
//!
//! Invariant: every allocation that a kernel can reach through a pointer of the program's, except
//! device-heap blocks, has a record here. Records and the engine's table change together.

use std::collections::{BTreeMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use margay_exec::mem::{AllocError, AllocKind};
use margay_observe::tool::{Promise, Wanted};
use parking_lot::{Mutex, RwLock};

use crate::context::Context;
use crate::error::{CudaError, Result};
use crate::handle::Handle;
use crate::held;
use crate::runtime::{self, Runtime};
use crate::watch;

/// How a piece of memory came to be, which says how it goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// `cuMemAlloc`, `cuMemAllocPitch`.
    Alloc,
    /// `cuMemAllocManaged`.
    Managed,
    /// `cuMemAllocAsync` and pools.
    Pool(Handle),
    /// `cuMemHostAlloc`, `cuMemAllocHost`.
    HostAlloc,
    /// `cuMemHostRegister`.
    HostRegister,
    /// A module's `__device__` or `__constant__` variable.
    Variable,
    /// A module's `__managed__` variable.
    ManagedVariable,
    /// `cuMemMap` with access granted.
    Mapped,
    /// `cuIpcOpenMemHandle`.
    Ipc,
}

impl Origin {
    /// Whether the host may use the address directly.
    pub fn host_accessible(self) -> bool {
        match self {
            Origin::Managed | Origin::ManagedVariable => true,
            Origin::HostAlloc | Origin::HostRegister => true,
            Origin::Alloc | Origin::Pool(_) | Origin::Variable => false,
            Origin::Mapped | Origin::Ipc => false,
        }
    }

    /// Whether it is host memory, for `cuPointerGetAttribute`'s memory type.
    pub fn is_host(self) -> bool {
        match self {
            Origin::HostAlloc | Origin::HostRegister => true,
            Origin::Alloc | Origin::Managed | Origin::Pool(_) => false,
            Origin::Variable | Origin::ManagedVariable => false,
            Origin::Mapped | Origin::Ipc => false,
        }
    }
}

/// One allocation.
#[derive(Clone, Debug)]
pub struct Record {
    pub base: u64,
    /// Bytes asked for.
    pub size: u64,
    pub origin: Origin,
    pub context: Handle,
    pub device: u32,
    /// `CU_MEMHOSTALLOC_*` or `CU_MEMHOSTREGISTER_*` or `CU_MEM_ATTACH_*`.
    pub flags: u32,
    /// Never repeats in the process.
    pub buffer_id: u64,
    /// Charged to the card's memory.
    charged: u64,
    /// `cuMemFreeAsync` is under way.
    dying: bool,
}

impl Record {
    fn contains(&self, address: u64, bytes: u64) -> bool {
        let offset = address - self.base;
        offset <= self.size && bytes <= self.size - offset
    }
}

/// All records, by base address.
#[derive(Default)]
pub struct Records {
    map: RwLock<BTreeMap<u64, Record>>,
    hints: Mutex<HashSet<u64>>,
}

/// What the host maps at once.
const HOST_PAGE: u64 = 4096;
/// Card memory is handed out in pieces of this size.
const GRANULE: u64 = 512;

impl Context {
    fn allocate(&self, size: u64, origin: Origin, flags: u32, label: &str) -> Result<u64> {
        // Memory that may be shared with another process has its pages for itself.
        let align = if origin == Origin::Alloc { HOST_PAGE } else { 256 };
        self.allocate_aligned(size, align, origin, flags, label)
    }

    /// Allocates and records memory of this context.
    pub(crate) fn allocate_aligned(
        &self,
        size: u64,
        align: u64,
        origin: Origin,
        flags: u32,
        label: &str,
    ) -> Result<u64> {
        let rt = runtime::get();
        let kind = match origin {
            Origin::Alloc | Origin::Pool(_) | Origin::Variable => AllocKind::Device,
            // These are granted, not allocated.
            Origin::Mapped | Origin::Ipc => return Err(CudaError::Unknown),
            Origin::Managed | Origin::ManagedVariable => AllocKind::Managed,
            Origin::HostAlloc | Origin::HostRegister => AllocKind::HostPinned,
        };
        self.allocate_kind(rt, size, align, (origin, kind), flags, label)
    }

    /// As [`Context::allocate_aligned`], for a variable in constant memory.
    pub(crate) fn allocate_constant(&self, size: u64, align: u64, label: &str) -> Result<u64> {
        let kinds = (Origin::Variable, AllocKind::Constant);
        self.allocate_kind(runtime::get(), size, align, kinds, 0, label)
    }

    /// Memory of an OpenCL buffer or SVM pointer: kernels reach it through global and constant pointers.
    pub fn buffer(&self, size: u64, align: u64, label: &str) -> Result<u64> {
        let kinds = (Origin::Alloc, AllocKind::Buffer);
        self.allocate_kind(runtime::get(), size.max(1), align, kinds, 0, label)
    }

    /// Tells the checks what kernels may do with the buffer at `base`.
    pub fn promise(&self, base: u64, promise: Promise) {
        watch::promised(runtime::get(), base, promise);
    }

    fn allocate_kind(
        &self,
        rt: &Runtime,
        size: u64,
        align: u64,
        (origin, kind): (Origin, AllocKind),
        flags: u32,
        label: &str,
    ) -> Result<u64> {
        let device = rt.device(self.device)?;
        let charged = match origin {
            // Managed memory may exceed the card's; host memory is not the card's.
            Origin::Managed | Origin::HostAlloc | Origin::HostRegister => 0,
            Origin::Mapped | Origin::Ipc => 0,
            Origin::Alloc | Origin::Pool(_) | Origin::Variable | Origin::ManagedVariable => {
                size.checked_next_multiple_of(GRANULE).ok_or(CudaError::OutOfMemory)?
            }
        };
        device.reserve(charged)?;
        let base = match rt.memory.alloc(size, align, kind, self.device, label) {
            Ok(base) => base,
            Err(AllocError::OutOfMemory { .. } | AllocError::AlreadyRegistered) => {
                device.give_back(charged);
                return Err(CudaError::OutOfMemory);
            }
        };
        rt.records.insert(rt, self, base, size, origin, flags, charged);
        watch::allocated(rt, base);
        Ok(base)
    }

    /// `cuMemAlloc`.
    pub fn mem_alloc(&self, size: u64) -> Result<u64> {
        self.check()?;
        crate::capture::check_unsafe_call()?;
        match size {
            0 => Err(CudaError::InvalidValue),
            size => self.allocate(size, Origin::Alloc, 0, "cudaMalloc"),
        }
    }

    /// Memory for a node of a graph.
    pub(crate) fn allocate_for_graph(&self, size: u64) -> Result<u64> {
        self.allocate(size, Origin::Pool(0), 0, "memory node of a graph")
    }

    /// `cuMemAllocPitch`: address and pitch.
    pub fn mem_alloc_pitch(&self, width: u64, height: u64, element: u32) -> Result<(u64, u64)> {
        self.check()?;
        if width == 0 || height == 0 || !matches!(element, 4 | 8 | 16) {
            return Err(CudaError::InvalidValue);
        }
        let pitch = width.checked_next_multiple_of(512).ok_or(CudaError::OutOfMemory)?;
        let size = pitch.checked_mul(height).ok_or(CudaError::OutOfMemory)?;
        Ok((self.allocate(size, Origin::Alloc, 0, "cudaMallocPitch")?, pitch))
    }

    /// `cuMemAllocManaged`; `flags` is `CU_MEM_ATTACH_GLOBAL` (1) or `HOST` (2).
    pub fn mem_alloc_managed(&self, size: u64, flags: u32) -> Result<u64> {
        self.check()?;
        if size == 0 || !matches!(flags, 1 | 2) {
            return Err(CudaError::InvalidValue);
        }
        let gpu = runtime::get().device(self.device)?.gpu;
        if !gpu.limits.managed_memory.value {
            return Err(CudaError::NotSupported);
        }
        self.allocate(size, Origin::Managed, flags, "cudaMallocManaged")
    }

    /// `cuMemHostAlloc`; flags: portable 1, device map 2, write combined 4. No bytes are null.
    pub fn mem_host_alloc(&self, size: u64, flags: u32) -> Result<u64> {
        self.check()?;
        if flags & !7 != 0 {
            return Err(CudaError::InvalidValue);
        }
        if size == 0 {
            return Ok(0);
        }
        self.allocate(size, Origin::HostAlloc, flags, "cudaHostAlloc")
    }

    /// `cuMemAllocAsync`: the address at once; its life begins for the program in stream order.
    pub(crate) fn mem_alloc_pool(&self, size: u64, pool: Handle) -> Result<u64> {
        self.check()?;
        match size {
            0 => Ok(0),
            size => {
                let base = self.allocate(size, Origin::Pool(pool), 0, "cudaMallocAsync")?;
                if let Some(pool) = runtime::get().pools.get(pool) {
                    pool.let_in(base);
                }
                Ok(base)
            }
        }
    }

    /// `cuMemHostRegister`.
    ///
    /// # Safety
    /// The program promises, by the API's contract, that the range stays mapped until it is
    /// unregistered.
    pub unsafe fn mem_host_register(&self, base: u64, size: u64, flags: u32) -> Result<()> {
        self.check()?;
        if base == 0 || size == 0 || flags & !15 != 0 || base.checked_add(size).is_none() {
            return Err(CudaError::InvalidValue);
        }
        let rt = runtime::get();
        let mut records = rt.records.map.write();
        let before = records.range(..base + size).next_back();
        if before.is_some_and(|(_, r)| r.base + r.size > base) {
            return Err(CudaError::HostMemoryAlreadyRegistered);
        }
        // The arenas are the devices' own: freed parts of them stay mapped for a while.
        let ours = rt.memory.in_arena(base) || rt.memory.in_arena(base + size - 1);
        if ours || !is_mapped(base, size) {
            return Err(CudaError::InvalidValue);
        }
        // SAFETY: mapped now, and the caller promises the rest.
        match unsafe { rt.memory.register(base, size, self.device, "cudaHostRegister") } {
            Ok(()) => {}
            Err(AllocError::AlreadyRegistered) => {
                return Err(CudaError::HostMemoryAlreadyRegistered);
            }
            Err(AllocError::OutOfMemory { .. }) => return Err(CudaError::OutOfMemory),
        }
        let origin = Origin::HostRegister;
        let (context, device) = (self.handle, self.device);
        let buffer_id = rt.memory.find(base).map_or(base, |info| info.id);
        let (charged, dying) = (0, false);
        let record =
            Record { base, size, origin, context, device, flags, buffer_id, charged, dying };
        records.insert(base, record);
        Ok(())
    }
}

/// What the process has mapped, in the order of addresses: each range with its rights, `rwxs`, where a `-` stands for one that it
/// has not, and a `p` for memory that is no other process's. Empty if that is not known.
pub(crate) fn mappings() -> Vec<(Range<u64>, [u8; 4])> {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let mapping = |line: &str| {
        let (range, rest) = line.split_once(' ')?;
        let (lo, hi) = range.split_once('-')?;
        let [lo, hi] = [lo, hi].map(|hex| u64::from_str_radix(hex, 16).ok());
        Some((lo?..hi?, *rest.as_bytes().first_chunk()?))
    };
    maps.lines().filter_map(mapping).collect()
}

/// Whether every byte of the range is mapped by the host program, readable and writable.
fn is_mapped(base: u64, size: u64) -> bool {
    let Some(end) = base.checked_add(size) else { return false };
    let mut reached = base;
    for (range, rights) in mappings() {
        if range.end <= reached {
            continue;
        }
        if range.start > reached || !rights.starts_with(b"rw") {
            return false;
        }
        reached = range.end;
        if reached >= end {
            return true;
        }
    }
    false
}

impl Records {
    #[expect(clippy::too_many_arguments, reason = "one row of the table, written in one place")]
    fn insert(
        &self,
        rt: &Runtime,
        owner: &Context,
        base: u64,
        size: u64,
        origin: Origin,
        flags: u32,
        charged: u64,
    ) {
        let record = Record {
            base,
            size,
            origin,
            context: owner.handle,
            device: owner.device,
            flags,
            buffer_id: rt.memory.find(base).map_or(base, |info| info.id),
            charged,
            dying: false,
        };
        self.map.write().insert(base, record);
    }

    /// The record that holds `address`.
    pub fn find(&self, address: u64) -> Option<Record> {
        let map = self.map.read();
        let (_, record) = map.range(..=address).next_back()?;
        // One past the end belongs to no allocation, except that empty ones have no inside.
        record.contains(address, 1).then(|| record.clone())
    }

    /// Whether the range lies in one allocation, or in mappings without a hole between them.
    pub fn holds(&self, address: u64, bytes: u64) -> bool {
        let (mut at, mut left) = (address, bytes);
        loop {
            let Some(record) = self.find(at) else { return false };
            if record.contains(at, left) {
                return true;
            }
            if record.origin != Origin::Mapped {
                return false;
            }
            let end = record.base + record.size;
            left -= end - at;
            at = end;
        }
    }

    /// Records memory that was granted, not allocated: of a mapping or of another process.
    pub(crate) fn insert_foreign(
        &self,
        rt: &Runtime,
        base: u64,
        size: u64,
        origin: Origin,
        device: u32,
        context: Handle,
    ) {
        let buffer_id = rt.memory.find(base).map_or(base, |info| info.id);
        let (flags, charged, dying) = (0, 0, false);
        let record =
            Record { base, size, origin, context, device, flags, buffer_id, charged, dying };
        self.map.write().insert(base, record);
    }

    /// Forgets it; tells whether it was there.
    pub(crate) fn remove_foreign(&self, base: u64, origin: Origin) -> bool {
        let mut map = self.map.write();
        let there = map.get(&base).is_some_and(|r| r.origin == origin);
        there && map.remove(&base).is_some()
    }
}

impl Runtime {
    /// The allocation that holds `address`, if the program made one there.
    pub fn allocation(&self, address: u64) -> Option<Record> {
        self.records.find(address)
    }

    fn take(&self, base: u64, may: impl Fn(&Record) -> bool) -> Result<Record> {
        let mut map = self.records.map.write();
        match map.get(&base) {
            Some(record) if may(record) => map.remove(&base).ok_or(CudaError::InvalidValue),
            Some(_) | None => Err(CudaError::InvalidValue),
        }
    }

    /// The error of a free that the program may not do; the tools are told of it.
    pub(crate) fn refuse_free(&self, base: u64, error: CudaError) -> CudaError {
        // A stream frees it already, be it there or not.
        let again = self.allocation(base).is_some_and(|r| r.base == base && r.dying);
        let wanted = if again { Wanted::FreeAgain } else { Wanted::Free };
        watch::refused(self, wanted, base, 0);
        error
    }

    fn release(&self, record: &Record) {
        watch::freed(self, record.base);
        self.give_back(record);
    }

    /// Frees memory that the tools know is gone.
    fn give_back(&self, record: &Record) {
        let result = match record.origin {
            Origin::HostRegister => self.memory.unregister(record.base),
            // Of a pool with a file.
            Origin::Pool(_) if self.release_pooled(record) => Ok(()),
            Origin::Mapped | Origin::Ipc => Ok(()),
            Origin::Alloc | Origin::Managed | Origin::Pool(_) | Origin::HostAlloc => {
                self.memory.free(record.base).map(drop)
            }
            Origin::Variable | Origin::ManagedVariable => self.memory.free(record.base).map(drop),
        };
        if let Err(error) = result {
            eprintln!("margay: internal error: the engine's table lost an allocation: {error}");
        }
        if let Ok(device) = self.device(record.device) {
            device.give_back(record.charged);
        }
    }

    /// Waits for all work that may use an allocation: its own context's, that of the other contexts of its
    /// device and of those with peer access to it, and everybody's if the host has it too.
    pub(crate) fn wait_for_users(&self, record: &Record) {
        let of_all = match record.origin {
            Origin::Managed | Origin::ManagedVariable => true,
            Origin::HostAlloc | Origin::HostRegister => true,
            Origin::Alloc | Origin::Pool(_) | Origin::Variable => false,
            Origin::Mapped | Origin::Ipc => true,
        };
        let reaches = |context: &Context| {
            of_all || context.device == record.device || context.reaches(record.context)
        };
        self.contexts.all_where(reaches).iter().for_each(|context| context.drain());
    }

    /// `cuMemFree`: waits for the work that may use the memory, then frees.
    pub fn mem_free(&self, base: u64) -> Result<()> {
        self.check_current()?;
        if let Some(freed) = self.free_graph_memory(base) {
            return freed;
        }
        let freeable = |r: &Record| match r.origin {
            Origin::Alloc | Origin::Managed | Origin::Pool(_) => !r.dying,
            Origin::HostAlloc | Origin::HostRegister => false,
            Origin::Variable | Origin::ManagedVariable => false,
            Origin::Mapped | Origin::Ipc => false,
        };
        let record = self.allocation(base).filter(|r| r.base == base && freeable(r));
        let record = record.ok_or_else(|| self.refuse_free(base, CudaError::InvalidValue))?;
        self.wait_for_users(&record);
        let record = self.take(base, freeable)?;
        self.release(&record);
        Ok(())
    }

    /// That no kernel has faulted in the current context, if there is one: memory is freed without one, too
    /// (measured: addresses are unified).
    pub fn check_current(&self) -> Result<()> {
        match self.current() {
            Ok(context) => context.check(),
            Err(CudaError::InvalidContext) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Frees a [`Context::buffer`] that no work uses any more.
    pub fn release_buffer(&self, base: u64) -> Result<()> {
        let record = self.take(base, |r| r.origin == Origin::Alloc && !r.dying)?;
        self.release(&record);
        Ok(())
    }

    /// `cuMemFreeHost`.
    pub fn mem_free_host(&self, base: u64) -> Result<()> {
        self.free_host_kind(base, Origin::HostAlloc, CudaError::InvalidValue)
    }

    /// `cuMemHostUnregister`.
    pub fn mem_host_unregister(&self, base: u64) -> Result<()> {
        self.free_host_kind(base, Origin::HostRegister, CudaError::HostMemoryNotRegistered)
    }

    fn free_host_kind(&self, base: u64, origin: Origin, otherwise: CudaError) -> Result<()> {
        self.current()?.check()?;
        let record = self.allocation(base).filter(|r| r.base == base && r.origin == origin);
        let record = record.ok_or_else(|| self.refuse_free(base, otherwise))?;
        self.wait_for_users(&record);
        let record = self.take(base, |r| r.origin == origin).map_err(|_| otherwise)?;
        self.release(&record);
        Ok(())
    }

    /// Marks for `cuMemFreeAsync`: from now on a second free is an error.
    pub(crate) fn begin_free_async(&self, base: u64) -> Result<Record> {
        let mut map = self.records.map.write();
        let record = map.get_mut(&base).ok_or(CudaError::InvalidValue)?;
        match record.origin {
            Origin::Pool(_) | Origin::Alloc if !record.dying => {}
            Origin::Pool(_) | Origin::Alloc | Origin::Managed => {
                return Err(CudaError::InvalidValue);
            }
            Origin::HostAlloc | Origin::HostRegister => return Err(CudaError::InvalidValue),
            Origin::Variable | Origin::ManagedVariable => return Err(CudaError::InvalidValue),
            Origin::Mapped | Origin::Ipc => return Err(CudaError::InvalidValue),
        }
        record.dying = true;
        Ok(record.clone())
    }

    /// Frees what a graph that is gone had.
    pub(crate) fn release_graph_memory(&self, base: u64) {
        if let Ok(record) = self.take(base, |r| r.origin == Origin::Pool(0)) {
            self.release(&record);
        }
    }

    /// Frees in stream order what [`Runtime::begin_free_async`] marked.
    pub(crate) fn end_free_async(&self, base: u64) {
        // Told before the record goes: who frees it once more at this moment hears that it was freed.
        watch::freed(self, base);
        if let Ok(record) = self.take(base, |r| r.dying) {
            self.give_back(&record);
        }
    }

    /// Frees a module's variable.
    pub(crate) fn free_variable(&self, base: u64) {
        // A host variable is of no context, and not the module's to free.
        let variable = |r: &Record| match r.origin {
            Origin::Variable | Origin::ManagedVariable => r.context != 0,
            Origin::Alloc | Origin::Managed | Origin::Pool(_) => false,
            Origin::HostAlloc | Origin::HostRegister => false,
            Origin::Mapped | Origin::Ipc => false,
        };
        if let Ok(record) = self.take(base, variable) {
            self.release(&record);
        }
    }

    /// Makes a host variable the storage of a managed one; tells whether it was not that before. `own_pages`: it shares
    /// none with anything else.
    pub(crate) fn bind_host_variable(
        &self,
        base: u64,
        size: u64,
        device: u32,
        (label, own_pages): (&str, bool),
    ) -> Result<bool> {
        if base == 0 || size == 0 || base.checked_add(size).is_none() {
            return Err(CudaError::InvalidValue);
        }
        let mut records = self.records.map.write();
        if let Some((_, before)) = records.range(..base + size).next_back()
            && before.base + before.size > base
        {
            let bound = before.base == base && before.size == size && before.context == 0;
            return match bound && before.origin == Origin::ManagedVariable {
                true => Ok(false),
                false => Err(CudaError::HostMemoryAlreadyRegistered),
            };
        }
        if !is_mapped(base, size) {
            return Err(CudaError::InvalidValue);
        }
        // SAFETY: mapped now, and a variable stays where it is until its library is unloaded,
        // which ends the binding.
        match unsafe { self.memory.register(base, size, device, label) } {
            Ok(()) => {}
            Err(AllocError::AlreadyRegistered) => {
                return Err(CudaError::HostMemoryAlreadyRegistered);
            }
            Err(AllocError::OutOfMemory { .. }) => return Err(CudaError::OutOfMemory),
        }
        let buffer_id = self.memory.find(base).map_or(base, |info| info.id);
        let (origin, context, flags) = (Origin::ManagedVariable, 0, 0);
        let (charged, dying) = (0, false);
        let record =
            Record { base, size, origin, context, device, flags, buffer_id, charged, dying };
        records.insert(base, record);
        if own_pages {
            held::own(base, size);
        }
        Ok(true)
    }

    /// Ends [`Runtime::bind_host_variable`].
    pub(crate) fn unbind_host_variable(&self, base: u64) {
        held::disown(base);
        let mut records = self.records.map.write();
        let bound =
            |r: &Record| r.base == base && r.origin == Origin::ManagedVariable && r.context == 0;
        if records.get(&base).is_some_and(bound) {
            records.remove(&base);
            // It was registered when it was bound.
            let _ = self.memory.unregister(base);
        }
    }

    /// Frees all that a context still owns.
    pub(crate) fn release_context_memory(&self, context: Handle) {
        self.close_memory_of(context);
        let mine: Vec<Record> = {
            let mut map = self.records.map.write();
            let bases: Vec<u64> =
                map.values().filter(|r| r.context == context).map(|r| r.base).collect();
            bases.iter().filter_map(|base| map.remove(base)).collect()
        };
        for record in &mine {
            self.wait_for_users(record);
            self.release(record);
        }
    }

    /// `cuMemHostGetDevicePointer`.
    pub fn host_device_pointer(&self, address: u64) -> Result<u64> {
        let record = self.allocation(address).ok_or(CudaError::InvalidValue)?;
        match record.origin.is_host() {
            true => Ok(address),
            false => Err(CudaError::InvalidValue),
        }
    }

    /// Addresses of what lives in a pool.
    pub(crate) fn pool_bases(&self, pool: Handle) -> Vec<u64> {
        let map = self.records.map.read();
        map.values().filter(|r| r.origin == Origin::Pool(pool)).map(|r| r.base).collect()
    }

    /// Bytes live in a pool.
    pub(crate) fn pool_bytes(&self, pool: Handle) -> u64 {
        let map = self.records.map.read();
        map.values().filter(|r| r.origin == Origin::Pool(pool)).map(|r| r.size).sum()
    }

    /// Remembers `cuMemAdvise`'s read-mostly hint, which only the getter sees.
    pub fn set_read_mostly(&self, base: u64, on: bool) {
        let mut hints = self.records.hints.lock();
        match on {
            true => hints.insert(base),
            false => hints.remove(&base),
        };
    }

    pub fn is_read_mostly(&self, base: u64) -> bool {
        self.records.hints.lock().contains(&base)
    }

    /// A managed allocation that holds the whole range, for prefetch and advice.
    pub fn managed_range(&self, address: u64, bytes: u64) -> Result<Record> {
        let record = self.allocation(address).ok_or(CudaError::InvalidValue)?;
        let managed = matches!(record.origin, Origin::Managed | Origin::ManagedVariable);
        match managed && bytes > 0 && record.contains(address, bytes) {
            true => Ok(record),
            false => Err(CudaError::InvalidValue),
        }
    }

    /// Records that are live now, for tests and leak reports.
    pub fn live_allocations(&self) -> Vec<Arc<Record>> {
        self.records.map.read().values().cloned().map(Arc::new).collect()
    }
}
