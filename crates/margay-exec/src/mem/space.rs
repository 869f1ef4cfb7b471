// SPDX-License-Identifier: MIT OR Apache-2.0
//! The table of allocations: who may touch which bytes.
//!
//! Invariant: an address that no entry covers is not dereferenced on behalf of a guest. Kernels
//! look a range up once and keep it while [`AddressSpace::epoch`] stands still: only taking memory or access
//! away changes the epoch, since new entries cannot make a known range wrong.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::RwLock;

use super::arena::{Arena, CHUNK, HOST_PAGE, Reservation};
use super::backing::SharedFile;
use super::devices::{Access, Devices, Reach};
use super::texture::Objects;
use crate::fault::Fault;

/// What an allocation is, which decides what a kernel may do with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AllocKind {
    /// `cudaMalloc`, `__device__` variables.
    Device,
    /// `cudaMallocManaged`, `__managed__` variables.
    Managed,
    /// `cudaHostAlloc`, `cudaMallocHost`.
    HostPinned,
    /// `cudaHostRegister`: memory of the host program, made reachable.
    HostRegistered,
    /// `__constant__` variables: kernels read only.
    Constant,
    /// A launch's parameter block: kernels read only.
    Param,
    /// The device heap of `malloc`.
    Heap,
    /// `clCreateBuffer`, `clSVMAlloc`: what OpenCL kernels reach through global and constant pointers alike.
    Buffer,
    /// Reserved addresses with memory behind them (`cuMemMap`) that a kernel may read and write.
    Mapped,
    /// The same, to be read only.
    MappedReadOnly,
}

impl AllocKind {
    /// Whether a kernel may write there.
    pub const fn writable(self) -> bool {
        match self {
            AllocKind::Device
            | AllocKind::Managed
            | AllocKind::HostPinned
            | AllocKind::HostRegistered
            | AllocKind::Heap
            | AllocKind::Mapped
            | AllocKind::Buffer => true,
            AllocKind::Constant | AllocKind::Param | AllocKind::MappedReadOnly => false,
        }
    }
}

impl AllocKind {
    /// Whom it lets in, as long as nothing else is said ([`AddressSpace::allow`]).
    fn access(self, device: u32) -> Access {
        match self {
            AllocKind::Device | AllocKind::Constant => Access::home(device),
            AllocKind::Heap => Access::granted(Devices::one(device)),
            AllocKind::Managed
            | AllocKind::HostPinned
            | AllocKind::HostRegistered
            | AllocKind::Param
            | AllocKind::Buffer
            | AllocKind::Mapped
            | AllocKind::MappedReadOnly => Access::EVERYBODY,
        }
    }

    /// Whether the host program reaches it by plain loads and stores, also while kernels run.
    pub const fn host_visible(self) -> bool {
        match self {
            AllocKind::Managed | AllocKind::HostPinned | AllocKind::HostRegistered => true,
            AllocKind::Device | AllocKind::Constant | AllocKind::Param | AllocKind::Heap => false,
            AllocKind::Buffer | AllocKind::Mapped | AllocKind::MappedReadOnly => false,
        }
    }

    /// Whether neighbours of the kind are one range to those who access it.
    const fn joins(self) -> bool {
        match self {
            AllocKind::Mapped | AllocKind::MappedReadOnly => true,
            AllocKind::Device | AllocKind::Managed | AllocKind::HostPinned => false,
            AllocKind::HostRegistered | AllocKind::Constant | AllocKind::Param => false,
            AllocKind::Heap | AllocKind::Buffer => false,
        }
    }
}

/// One allocation, as messages and `cudaPointerGetAttributes` need it.
#[derive(Clone, Debug, PartialEq)]
pub struct AllocationInfo {
    pub base: u64,
    /// Bytes asked for: the bound that accesses are held to.
    pub size: u64,
    pub kind: AllocKind,
    /// Device ordinal it belongs to.
    pub device: u32,
    /// The devices that may touch it.
    pub access: Access,
    /// The variable's or the API call's name, for messages ("`d_counter`", "cudaMalloc").
    pub label: Arc<str>,
    /// Increases with each allocation of the process.
    pub id: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AllocError {
    #[error("out of memory: {asked} bytes asked for, {free} free")]
    OutOfMemory { asked: u64, free: u64 },
    #[error("the range overlaps memory that is already registered")]
    AlreadyRegistered,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FreeError {
    #[error("{0:#x} is not the start of a live allocation")]
    NotAllocated(u64),
}

/// How strictly accesses are held to the size that was asked for (`MARGAY_BOUNDS`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Bounds {
    /// The exact size.
    #[default]
    Exact,
    /// The card's pages: whatever shares a 2 MiB page with a live allocation is reachable.
    Page,
}

/// A range that a guest may touch, as kernels and compiled code keep it. Empty (`lo == hi`) means nothing.
pub use margay_codegen::Extent;

/// Bytes of the window that stands for shared memory in generic addresses (own block, then the
/// cluster's peers at `(rank + 1) << 24`).
pub const SHARED_WINDOW: u64 = 1 << 30;
/// Bytes of the window that stands for a thread's local memory in generic addresses.
pub const LOCAL_WINDOW: u64 = margay_codegen::LOCAL_WINDOW;

struct Table {
    arena: Arena,
    entries: BTreeMap<u64, AllocationInfo>,
}

/// Bytes beyond which an address has nothing to do with an allocation: more than an index of 32 bits makes.
const FAR: u64 = 1 << 36;

/// All guest-reachable memory of the process (every device: addresses are unified).
pub struct AddressSpace {
    table: RwLock<Table>,
    /// Never committed: only its addresses matter.
    windows: Reservation,
    epoch: AtomicU64,
    next_id: AtomicU64,
    page_bounds: AtomicBool,
    objects: Objects,
}

impl AddressSpace {
    /// Reserves the arenas. Fails only if the host refuses to reserve address space.
    pub fn new() -> std::io::Result<AddressSpace> {
        Ok(AddressSpace {
            table: RwLock::new(Table { arena: Arena::new()?, entries: BTreeMap::new() }),
            windows: Reservation::new(SHARED_WINDOW + LOCAL_WINDOW)?,
            epoch: AtomicU64::new(1),
            next_id: AtomicU64::new(1),
            page_bounds: AtomicBool::new(false),
            objects: Objects::default(),
        })
    }

    /// Textures, samplers and surfaces by handle.
    pub fn objects(&self) -> &Objects {
        &self.objects
    }

    /// Chooses exact or page-wide bounds; kernels that run already see it at once.
    pub fn set_bounds(&self, bounds: Bounds) {
        self.page_bounds.store(bounds == Bounds::Page, Ordering::Release);
        self.epoch.fetch_add(1, Ordering::AcqRel);
    }

    /// The bounds in force.
    pub fn bounds(&self) -> Bounds {
        if self.page_bounds.load(Ordering::Acquire) { Bounds::Page } else { Bounds::Exact }
    }

    /// Allocates zero-filled memory. `align` is a power of two (at least 256 is used).
    pub fn alloc(
        &self,
        size: u64,
        align: u64,
        kind: AllocKind,
        device: u32,
        label: &str,
    ) -> Result<u64, AllocError> {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let mut table = self.table.write();
        let Some(base) = table.arena.alloc(size, align.max(1).next_power_of_two()) else {
            return Err(AllocError::OutOfMemory { asked: size, free: table.arena.free_bytes() });
        };
        let access = kind.access(device);
        let info = AllocationInfo { base, size, kind, device, access, label: label.into(), id };
        table.entries.insert(base, info);
        Ok(base)
    }

    /// Takes addresses for [`AddressSpace::map`]: no guest may touch them yet.
    pub fn reserve(&self, size: u64, align: u64) -> Result<u64, AllocError> {
        let mut table = self.table.write();
        let Some(align) = align.max(HOST_PAGE).checked_next_power_of_two() else {
            return Err(AllocError::OutOfMemory { asked: size, free: table.arena.free_bytes() });
        };
        let base = table.arena.alloc(size, align);
        base.ok_or(AllocError::OutOfMemory { asked: size, free: table.arena.free_bytes() })
    }

    /// Gives addresses back that [`AddressSpace::reserve`] took. Nothing may be granted there.
    pub fn unreserve(&self, base: u64) {
        self.table.write().arena.release(base);
    }

    /// Puts a part of a file behind reserved addresses. All are multiples of the host's page.
    pub fn map(&self, at: u64, bytes: u64, file: &SharedFile, offset: u64) -> io::Result<()> {
        self.table.write().arena.back(at, bytes, file, offset)
    }

    /// Takes the memory away that [`AddressSpace::map`] put there.
    pub fn unmap(&self, at: u64, bytes: u64) -> io::Result<()> {
        self.table.write().arena.unback(at, bytes)
    }

    /// Lets guests touch a mapped range, which is `Mapped`, `MappedReadOnly` or `Device` to them.
    pub fn grant(
        &self,
        base: u64,
        size: u64,
        kind: AllocKind,
        device: u32,
        label: &str,
    ) -> Result<(), AllocError> {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let mut table = self.table.write();
        let before = table.entries.range(..base + size).next_back();
        if before.is_some_and(|(&b, e)| b + e.size > base) {
            return Err(AllocError::AlreadyRegistered);
        }
        let access = kind.access(device);
        let info = AllocationInfo { base, size, kind, device, access, label: label.into(), id };
        table.entries.insert(base, info);
        Ok(())
    }

    /// Ends [`AddressSpace::grant`]: from now on a guest's access is a fault.
    pub fn revoke(&self, base: u64) {
        let mut table = self.table.write();
        if table.entries.remove(&base).is_some() {
            self.epoch.fetch_add(1, Ordering::AcqRel);
        }
    }

    /// Moves an allocation, made with the alignment of a page, into a file that other processes can map.
    /// Its bytes and its address stay. Nothing may write to it meanwhile.
    pub fn share(&self, base: u64) -> io::Result<Arc<SharedFile>> {
        let mut table = self.table.write();
        let size = match table.entries.get(&base) {
            Some(info) if info.kind == AllocKind::Device => info.size,
            Some(_) | None => return Err(io::Error::from(io::ErrorKind::InvalidInput)),
        };
        table.arena.share(base, size)
    }

    /// Says which devices may touch an allocation or a granted range from now on.
    pub fn allow(&self, base: u64, access: Access) {
        let mut table = self.table.write();
        if let Some(info) = table.entries.get_mut(&base)
            && info.access != access
        {
            info.access = access;
            self.epoch.fetch_add(1, Ordering::AcqRel);
        }
    }

    /// Frees what `alloc` gave.
    pub fn free(&self, base: u64) -> Result<AllocationInfo, FreeError> {
        let mut table = self.table.write();
        match table.entries.get(&base) {
            Some(info) if info.kind != AllocKind::HostRegistered && !info.kind.joins() => {}
            _ => return Err(FreeError::NotAllocated(base)),
        }
        let info = table.entries.remove(&base).ok_or(FreeError::NotAllocated(base))?;
        self.epoch.fetch_add(1, Ordering::AcqRel);
        table.arena.free(base);
        Ok(info)
    }

    /// Makes a range of the host program's memory reachable (`cudaHostRegister`), or a read-only view of it.
    ///
    /// # Safety
    /// The range must stay mapped and writable until unregistered.
    pub unsafe fn register(
        &self,
        base: u64,
        size: u64,
        device: u32,
        label: &str,
    ) -> Result<(), AllocError> {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let mut table = self.table.write();
        let end = base.checked_add(size).ok_or(AllocError::AlreadyRegistered)?;
        let clash = table
            .entries
            .range(..end)
            .next_back()
            .is_some_and(|(&b, e)| b + e.size > base || b == base);
        if clash || size == 0 {
            return Err(AllocError::AlreadyRegistered);
        }
        let kind = AllocKind::HostRegistered;
        let access = kind.access(device);
        table.entries.insert(
            base,
            AllocationInfo { base, size, kind, device, access, label: label.into(), id },
        );
        Ok(())
    }

    pub fn unregister(&self, base: u64) -> Result<(), FreeError> {
        let mut table = self.table.write();
        match table.entries.get(&base) {
            Some(info) if info.kind == AllocKind::HostRegistered => {
                table.entries.remove(&base);
                self.epoch.fetch_add(1, Ordering::AcqRel);
                Ok(())
            }
            _ => Err(FreeError::NotAllocated(base)),
        }
    }

    /// The allocation that holds `address`, if any.
    pub fn find(&self, address: u64) -> Option<AllocationInfo> {
        let table = self.table.read();
        let before = table.entries.range(..=address).next_back().map(|(_, info)| info);
        before.filter(|info| address - info.base < info.size).cloned()
    }

    /// The allocation that holds `address`, or is nearest to it, before it or behind, if one is near at all (for messages).
    pub fn nearest(&self, address: u64) -> Option<AllocationInfo> {
        let table = self.table.read();
        let before = table.entries.range(..=address).next_back().map(|(_, info)| info);
        let after = table.entries.range(address..).next().map(|(_, info)| info);
        let away = |info: &&AllocationInfo| match info.base.checked_sub(address) {
            Some(before) => before,
            None => (address - info.base).saturating_sub(info.size.saturating_sub(1)),
        };
        let nearest = before.into_iter().chain(after).min_by_key(away);
        nearest.filter(|info| away(info) <= FAR).cloned()
    }

    /// Live allocations, by address.
    pub fn allocations(&self) -> Vec<AllocationInfo> {
        self.table.read().entries.values().cloned().collect()
    }

    /// Whether `bytes` bytes from `address` lie within one live allocation.
    pub fn contains(&self, address: u64, bytes: u64) -> bool {
        self.find(address).is_some_and(|info| bytes <= info.size - (address - info.base))
    }

    /// Whether the address lies where allocations are made, live or not: nothing else of the host
    /// program is there.
    pub fn in_arena(&self, address: u64) -> bool {
        self.table.read().arena.covers(address)
    }

    /// Changes whenever some memory stops being reachable.
    #[inline]
    pub fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::Acquire)
    }

    /// Start of the window of generic addresses that stands for shared memory.
    pub fn shared_window(&self) -> u64 {
        self.windows.base()
    }

    /// Start of the window of generic addresses that stands for local memory.
    pub fn local_window(&self) -> u64 {
        self.windows.base() + SHARED_WINDOW
    }

    /// What guests may touch round `address`, on whatever device; an empty extent if nothing.
    pub fn extent(&self, address: u64) -> Extent {
        self.extent_for(address, Reach::EVERYTHING)
    }

    /// What a guest with this reach may touch round `address`; an empty extent if nothing.
    pub fn extent_for(&self, address: u64, reach: Reach) -> Extent {
        let table = self.table.read();
        let page = self.page_bounds.load(Ordering::Acquire);
        let before = table.entries.range(..=address).next_back().map(|(_, info)| info);
        if let Some(info) = before
            && address - info.base < info.size
        {
            if !info.access.lets_in(reach) {
                return Extent::default();
            }
            let mut extent = extent_of(info, page);
            if info.kind.joins() {
                let same = |e: &AllocationInfo| e.kind == info.kind && e.access.lets_in(reach);
                for (&b, e) in table.entries.range(info.base + 1..) {
                    if b != extent.hi || !same(e) {
                        break;
                    }
                    extent.hi = b + e.size;
                }
                for (&b, e) in table.entries.range(..info.base).rev() {
                    if b + e.size != extent.lo || !same(e) {
                        break;
                    }
                    extent.lo = b;
                }
            }
            return extent;
        }
        if !page {
            return Extent::default();
        }
        // No exact owner: whoever shares the card's page lends it.
        let after = table.entries.range(address..).next().map(|(_, info)| info);
        [before, after]
            .into_iter()
            .flatten()
            .filter(|info| info.access.lets_in(reach))
            .map(|info| extent_of(info, true))
            .find(|e| e.lo <= address && address < e.hi)
            .unwrap_or_default()
    }
}

/// Bytes of a bank of constants, of which a chunk holds a whole number.
const BANK: u64 = 64 << 10;

fn extent_of(info: &AllocationInfo, page: bool) -> Extent {
    let writable = info.kind.writable();
    let constant = matches!(info.kind, AllocKind::Constant | AllocKind::Buffer);
    let (lo, hi) = (info.base, info.base + info.size);
    // A card's bank of constants is one piece, in which variables lie side by side.
    if page && info.kind == AllocKind::Constant {
        let (lo, hi) = (lo / BANK * BANK, hi.next_multiple_of(BANK));
        return Extent { lo, hi, writable, constant };
    }
    // Mapped memory ends where its mapping ends.
    if !page || !writable || info.kind.joins() {
        return Extent { lo, hi, writable, constant };
    }
    // Host memory is only known to be mapped to the end of its host page.
    let unit = if info.kind == AllocKind::HostRegistered { 4096 } else { CHUNK };
    Extent { lo: lo / unit * unit, hi: hi.next_multiple_of(unit), writable, constant }
}

/// Result of a checked access.
pub type Checked<T> = Result<T, Box<Fault>>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_exact_unless_told() {
        let space = AddressSpace::new().unwrap();
        let a = space.alloc(100, 1, AllocKind::Device, 0, "a").unwrap();
        let b = space.alloc(100, 1, AllocKind::Constant, 0, "b").unwrap();
        assert!(space.contains(a, 100) && !space.contains(a, 101));
        assert!(space.contains(a + 99, 1) && !space.contains(a + 100, 1));
        assert_eq!(
            space.extent(a + 5),
            Extent { lo: a, hi: a + 100, writable: true, constant: false }
        );
        assert_eq!(space.extent(a + 100), Extent::default());
        assert!(!space.extent(b).writable);
        space.set_bounds(Bounds::Page);
        assert!(space.extent(a + 100).hi > a + 100);
        let constants = space.extent(b + 100);
        assert!(constants.constant && !constants.writable, "constants stay read-only");
        assert_eq!((constants.lo % BANK, constants.hi % BANK), (0, 0));
    }

    #[test]
    fn the_nearest_is_before_or_behind() {
        let space = AddressSpace::new().unwrap();
        let place = space.reserve(4 * CHUNK, CHUNK).unwrap();
        let file = SharedFile::create(CHUNK).unwrap();
        for (part, name) in [(0, "a"), (2, "b")] {
            let at = place + part * CHUNK;
            space.map(at, CHUNK, &file, 0).unwrap();
            space.grant(at, CHUNK, AllocKind::Mapped, 0, name).unwrap();
        }
        let near = |address: u64| space.nearest(address).map(|info| info.label.to_string());
        let named = |address| near(address).unwrap_or_default();
        assert_eq!(named(place + 5), "a");
        assert_eq!(named(place + CHUNK + 4), "a");
        assert_eq!(named(place + 2 * CHUNK - 4), "b");
        assert_eq!(named(place + 3 * CHUNK), "b");
        assert_eq!((near(0), near(place + (1 << 40))), (None, None));
    }

    #[test]
    fn mapped_neighbours_are_one_range_until_one_goes() {
        let space = AddressSpace::new().unwrap();
        let base = space.reserve(3 * CHUNK, CHUNK).unwrap();
        let file = SharedFile::create(CHUNK).unwrap();
        let kind = AllocKind::Mapped;
        for part in 0..3 {
            space.map(base + part * CHUNK, CHUNK, &file, 0).unwrap();
            space.grant(base + part * CHUNK, CHUNK, kind, 0, "part").unwrap();
        }
        assert_eq!(space.extent(base + CHUNK).lo, base);
        assert_eq!(space.extent(base + CHUNK).hi, base + 3 * CHUNK);
        // One file behind three ranges: a byte of one is a byte of all.
        // SAFETY: mapped above.
        unsafe {
            (base as *mut u8).write_volatile(7);
            assert_eq!(((base + 2 * CHUNK) as *const u8).read_volatile(), 7);
        }
        assert!(space.grant(base, CHUNK, kind, 0, "again").is_err());
        assert!(space.map(base + 2 * CHUNK, 2 * CHUNK, &file, 0).is_err(), "beyond the end");
        let epoch = space.epoch();
        space.revoke(base + CHUNK);
        space.unmap(base + CHUNK, CHUNK).unwrap();
        assert_ne!(space.epoch(), epoch);
        assert_eq!(space.extent(base + CHUNK), Extent::default());
        assert_eq!(space.extent(base).hi, base + CHUNK);
        assert_eq!(space.free(base), Err(FreeError::NotAllocated(base)), "not an allocation");
    }

    #[test]
    fn a_shared_allocation_keeps_its_bytes() {
        let space = AddressSpace::new().unwrap();
        let a = space.alloc(5000, HOST_PAGE, AllocKind::Device, 0, "a").unwrap();
        let b = space.alloc(100, 1, AllocKind::Device, 0, "b").unwrap();
        assert!(b / HOST_PAGE > (a + 4999) / HOST_PAGE, "no page in common");
        // SAFETY: allocated above.
        unsafe { ((a + 4999) as *mut u8).write_volatile(9) };
        let file = space.share(a).unwrap();
        assert!(Arc::ptr_eq(&file, &space.share(a).unwrap()));
        let there = space.reserve(8192, 1).unwrap();
        space.map(there, 8192, &file, 0).unwrap();
        // SAFETY: mapped above.
        unsafe { assert_eq!(((there + 4999) as *const u8).read_volatile(), 9) };
        space.free(a).unwrap();
        let again = space.alloc(5000, HOST_PAGE, AllocKind::Device, 0, "again").unwrap();
        assert_eq!(again, a, "the first hole");
        // SAFETY: allocated above; the other mapping keeps what the file holds.
        unsafe {
            assert_eq!(((a + 4999) as *const u8).read_volatile(), 0);
            assert_eq!(((there + 4999) as *const u8).read_volatile(), 9);
        }
    }

    #[test]
    fn freeing_is_exact_and_final() {
        let space = AddressSpace::new().unwrap();
        let a = space.alloc(100, 1, AllocKind::Device, 3, "a").unwrap();
        assert_eq!(space.free(a + 1), Err(FreeError::NotAllocated(a + 1)));
        let epoch = space.epoch();
        assert_eq!(space.free(a).unwrap().device, 3);
        assert_ne!(space.epoch(), epoch);
        assert_eq!(space.free(a), Err(FreeError::NotAllocated(a)));
        assert_eq!(space.find(a), None);
    }

    #[test]
    fn host_memory_registers_once() {
        let space = AddressSpace::new().unwrap();
        let mut host = vec![0u8; 4096];
        let base = host.as_mut_ptr() as u64;
        // SAFETY: `host` outlives the registration.
        unsafe {
            space.register(base, 4096, 0, "host").unwrap();
            assert_eq!(space.register(base + 8, 8, 0, "again"), Err(AllocError::AlreadyRegistered));
        }
        assert_eq!(space.free(base), Err(FreeError::NotAllocated(base)));
        space.unregister(base).unwrap();
        assert_eq!(space.unregister(base), Err(FreeError::NotAllocated(base)));
    }

    #[test]
    fn zero_bytes_can_be_allocated_and_freed() {
        let space = AddressSpace::new().unwrap();
        let a = space.alloc(0, 1, AllocKind::Device, 0, "empty").unwrap();
        assert!(!space.contains(a, 1));
        space.free(a).unwrap();
    }
}
