// SPDX-License-Identifier: MIT OR Apache-2.0
//! Virtual memory management: addresses, memory and access apart (CUDA driver API, "Virtual Memory
//! Management").
//!
//! Invariant: a kernel reaches a mapped range only after `cuMemSetAccess` has granted it, and no longer
//! than until it is unmapped; all else in a reservation is an illegal address. Memory lives as long as a
//! handle or a mapping holds it.
//! Limit: a device that was granted reading may write as well if another was granted writing.

use margay_exec::mem::{Devices, devices};
use std::collections::BTreeMap;
use std::os::fd::{IntoRawFd, OwnedFd, RawFd};
use std::sync::Arc;

use margay_exec::mem::{AllocKind, SharedFile};
use parking_lot::Mutex;

use crate::activity;
use crate::error::{CudaError, Result};
use crate::handle::{self, Handle, Table};
use crate::memory::Origin;
use crate::runtime::{self, Runtime};

/// Bytes that all sizes, addresses and offsets are multiples of: a card's large page.
pub const GRANULARITY: u64 = 2 << 20;

/// What a piece of memory is (`CUmemAllocationProp`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Properties {
    pub device: u32,
    /// `CUmemAllocationHandleType` bits that it can be exported as.
    pub handle_types: u32,
    /// `CUmemAllocationProp::allocFlags`, kept for the getter.
    pub rdma: bool,
}

/// Memory without an address (`cuMemCreate`).
pub struct Physical {
    pub size: u64,
    pub properties: Properties,
    file: SharedFile,
    /// Imported memory is its maker's.
    charged: u64,
}

impl Drop for Physical {
    fn drop(&mut self) {
        if let Ok(device) = runtime::get().device(self.properties.device) {
            device.give_back(self.charged);
        }
    }
}

/// What devices may do (`CUmemAccess_flags`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Access {
    None,
    Read,
    ReadWrite,
}

struct Mapping {
    size: u64,
    memory: Arc<Physical>,
    /// The handle that it was mapped by.
    handle: Handle,
    access: BTreeMap<u32, Access>,
}

impl Mapping {
    /// The devices that may touch it.
    fn lets_in(&self) -> devices::Access {
        let granted = self.access.iter().filter(|(_, access)| **access != Access::None);
        let all = granted.map(|(device, _)| Devices::one(*device));
        devices::Access::granted(all.fold(Devices::NONE, Devices::with))
    }

    /// What guests may do: the most that any device may.
    fn granted(&self) -> Access {
        self.access.values().copied().max().unwrap_or(Access::None)
    }
}

struct Reservation {
    size: u64,
    mappings: BTreeMap<u64, Mapping>,
}

/// All reservations and memory of the process.
#[derive(Default)]
pub struct VirtualMemory {
    reservations: Mutex<BTreeMap<u64, Reservation>>,
    memory: Table<(Arc<Physical>, Mutex<u64>)>,
}

fn aligned(value: u64) -> Result<()> {
    match value.is_multiple_of(GRANULARITY) {
        true => Ok(()),
        false => Err(CudaError::InvalidValue),
    }
}

impl VirtualMemory {
    /// `cuMemAddressReserve`. The wanted address is a hint, which is not taken.
    pub fn reserve(&self, rt: &Runtime, size: u64, alignment: u64) -> Result<u64> {
        aligned(size)?;
        if size == 0 || (alignment != 0 && !alignment.is_power_of_two()) {
            return Err(CudaError::InvalidValue);
        }
        let align = alignment.max(GRANULARITY);
        let base = rt.memory.reserve(size, align).map_err(|_| CudaError::OutOfMemory)?;
        let reservation = Reservation { size, mappings: BTreeMap::new() };
        self.reservations.lock().insert(base, reservation);
        Ok(base)
    }

    /// `cuMemAddressFree`: of a whole reservation in which nothing is mapped.
    pub fn free(&self, rt: &Runtime, base: u64, size: u64) -> Result<()> {
        let mut all = self.reservations.lock();
        match all.get(&base) {
            Some(r) if r.size == size && r.mappings.is_empty() => {}
            Some(_) | None => return Err(CudaError::InvalidValue),
        }
        all.remove(&base);
        rt.memory.unreserve(base);
        Ok(())
    }

    fn own(&self, memory: Physical) -> Handle {
        let handle = handle::fresh();
        self.memory.insert(handle, Arc::new((Arc::new(memory), Mutex::new(1))));
        handle
    }

    /// `cuMemCreate`.
    pub fn create(&self, rt: &Runtime, size: u64, properties: Properties) -> Result<Handle> {
        aligned(size)?;
        if size == 0 {
            return Err(CudaError::InvalidValue);
        }
        rt.device(properties.device)?.reserve(size)?;
        match SharedFile::create(size) {
            Ok(file) => Ok(self.own(Physical { size, properties, file, charged: size })),
            Err(_) => {
                rt.device(properties.device)?.give_back(size);
                Err(CudaError::OutOfMemory)
            }
        }
    }

    /// The memory that a handle stands for.
    pub fn find(&self, handle: Handle) -> Result<Arc<Physical>> {
        Ok(self.memory.get(handle).ok_or(CudaError::InvalidValue)?.0.clone())
    }

    /// `cuMemRelease`: the handle ends; mappings keep the memory.
    pub fn release(&self, handle: Handle) -> Result<()> {
        let entry = self.memory.get(handle).ok_or(CudaError::InvalidValue)?;
        let mut references = entry.1.lock();
        *references -= 1;
        if *references == 0 {
            self.memory.remove(handle);
        }
        Ok(())
    }

    /// `cuMemRetainAllocationHandle`: the handle of what is mapped at an address.
    pub fn retain(&self, address: u64) -> Result<Handle> {
        let all = self.reservations.lock();
        let (_, mapping) = mapping_at(&all, address).ok_or(CudaError::InvalidValue)?;
        match self.memory.get(mapping.handle) {
            Some(entry) => {
                *entry.1.lock() += 1;
                Ok(mapping.handle)
            }
            None => {
                // It was released: the same handle comes to life again.
                let entry = (mapping.memory.clone(), Mutex::new(1));
                self.memory.insert(mapping.handle, Arc::new(entry));
                Ok(mapping.handle)
            }
        }
    }

    /// `cuMemExportToShareableHandle` as a file descriptor, which the caller closes.
    pub fn export(&self, handle: Handle) -> Result<RawFd> {
        activity::share();
        let memory = self.find(handle)?;
        let fd = memory.file.duplicate().map_err(|_| CudaError::OperatingSystem)?;
        Ok(fd.into_raw_fd())
    }

    /// `cuMemImportFromShareableHandle` of another process's memory.
    pub fn import(&self, fd: OwnedFd, device: u32, handle_types: u32) -> Result<Handle> {
        activity::share();
        let file = SharedFile::from_fd(fd);
        let size = file.bytes().map_err(|_| CudaError::InvalidValue)?;
        aligned(size)?;
        if size == 0 {
            return Err(CudaError::InvalidValue);
        }
        let properties = Properties { device, handle_types, rdma: false };
        Ok(self.own(Physical { size, properties, file, charged: 0 }))
    }

    /// `cuMemMap`.
    pub fn map(&self, rt: &Runtime, at: u64, size: u64, offset: u64, handle: Handle) -> Result<()> {
        [at, size, offset].into_iter().try_for_each(aligned)?;
        let memory = self.find(handle)?;
        if size == 0 {
            return Err(CudaError::InvalidValue);
        }
        // Measured: a driver maps memory whole or not at all.
        if offset != 0 || size != memory.size {
            return Err(CudaError::NotSupported);
        }
        let mut all = self.reservations.lock();
        let end = at.checked_add(size).ok_or(CudaError::InvalidValue)?;
        let (base, reservation) =
            all.range_mut(..=at).next_back().ok_or(CudaError::InvalidValue)?;
        let taken = reservation.mappings.range(..end).next_back();
        if end > base + reservation.size || taken.is_some_and(|(&b, m)| b + m.size > at) {
            return Err(CudaError::InvalidValue);
        }
        rt.memory.map(at, size, &memory.file, offset).map_err(|_| CudaError::MapFailed)?;
        let mapping = Mapping { size, memory, handle, access: BTreeMap::new() };
        reservation.mappings.insert(at, mapping);
        Ok(())
    }

    /// `cuMemUnmap` of whole mappings, after the work that may use them.
    pub fn unmap(&self, rt: &Runtime, at: u64, size: u64) -> Result<()> {
        rt.contexts.all_where(|_| true).iter().for_each(|context| context.drain());
        let mut all = self.reservations.lock();
        let places = whole_mappings(&mut all, at, size)?;
        let (_, reservation) = all.range_mut(..=at).next_back().ok_or(CudaError::InvalidValue)?;
        for place in places {
            if let Some(mapping) = reservation.mappings.remove(&place) {
                rt.ungrant_mapped(place);
                rt.memory.unmap(place, mapping.size).map_err(|_| CudaError::UnmapFailed)?;
            }
        }
        Ok(())
    }

    /// `cuMemSetAccess` of a device to whole mappings.
    pub fn set_access(
        &self,
        rt: &Runtime,
        at: u64,
        size: u64,
        grants: &[(u32, Access)],
    ) -> Result<()> {
        for (device, _) in grants {
            rt.device(*device)?;
        }
        let mut all = self.reservations.lock();
        let places = whole_mappings(&mut all, at, size)?;
        let (_, reservation) = all.range_mut(..=at).next_back().ok_or(CudaError::InvalidValue)?;
        for place in places {
            let Some(mapping) = reservation.mappings.get_mut(&place) else { continue };
            let before = mapping.granted();
            mapping.access.extend(grants.iter().copied());
            let now = mapping.granted();
            if now == before {
                rt.memory.allow(place, mapping.lets_in());
                continue;
            }
            rt.ungrant_mapped(place);
            let device = mapping.memory.properties.device;
            match now {
                Access::None => {}
                Access::Read => {
                    rt.grant_mapped(place, mapping.size, AllocKind::MappedReadOnly, device)?;
                }
                Access::ReadWrite => {
                    rt.grant_mapped(place, mapping.size, AllocKind::Mapped, device)?;
                }
            }
            rt.memory.allow(place, mapping.lets_in());
        }
        Ok(())
    }

    /// `cuMemGetAccess`: what a device may do at an address.
    pub fn access(&self, at: u64, device: u32) -> Result<Access> {
        let all = self.reservations.lock();
        let (_, mapping) = mapping_at(&all, at).ok_or(CudaError::InvalidValue)?;
        Ok(mapping.access.get(&device).copied().unwrap_or(Access::None))
    }

    /// Start and size of the mapping that holds an address.
    pub fn mapping_range(&self, at: u64) -> Option<(u64, u64)> {
        let all = self.reservations.lock();
        mapping_at(&all, at).map(|(base, mapping)| (base, mapping.size))
    }
}

fn mapping_at(all: &BTreeMap<u64, Reservation>, at: u64) -> Option<(u64, &Mapping)> {
    let (_, reservation) = all.range(..=at).next_back()?;
    let (&base, mapping) = reservation.mappings.range(..=at).next_back()?;
    (at - base < mapping.size).then_some((base, mapping))
}

/// The mappings that fill the range, none of them in part and with no hole between them.
fn whole_mappings(all: &mut BTreeMap<u64, Reservation>, at: u64, size: u64) -> Result<Vec<u64>> {
    aligned(at)?;
    aligned(size)?;
    let end = at.checked_add(size).filter(|_| size > 0).ok_or(CudaError::InvalidValue)?;
    let (_, reservation) = all.range(..=at).next_back().ok_or(CudaError::InvalidValue)?;
    let mut reached = at;
    let mut places = Vec::new();
    for (&base, mapping) in reservation.mappings.range(at..end) {
        if base != reached {
            return Err(CudaError::InvalidValue);
        }
        reached = base + mapping.size;
        places.push(base);
    }
    if reached == end { Ok(places) } else { Err(CudaError::InvalidValue) }
}

impl Runtime {
    fn grant_mapped(&self, base: u64, size: u64, kind: AllocKind, device: u32) -> Result<()> {
        let label = "cuMemMap";
        let granted = self.memory.grant(base, size, kind, device, label);
        granted.map_err(|_| CudaError::InvalidValue)?;
        self.records.insert_foreign(self, base, size, Origin::Mapped, device, 0);
        crate::watch::allocated(self, base);
        Ok(())
    }

    fn ungrant_mapped(&self, base: u64) {
        if self.records.remove_foreign(base, Origin::Mapped) {
            crate::watch::freed(self, base);
            self.memory.revoke(base);
        }
    }
}
