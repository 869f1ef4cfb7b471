// SPDX-License-Identifier: MIT OR Apache-2.0
//! The table of allocations: who may touch which bytes.

use std::sync::Arc;

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

/// All guest-reachable memory of the process (every device: addresses are unified).
pub struct AddressSpace {
    _private: (),
}

impl AddressSpace {
    /// Reserves the arenas. Fails only if the host refuses to reserve address space.
    pub fn new() -> std::io::Result<AddressSpace> {
        todo!()
    }

    /// Allocates zero-filled memory. `align` is a power of two (at least 256 is used).
    pub fn alloc(
        &self,
        _size: u64,
        _align: u64,
        _kind: AllocKind,
        _device: u32,
        _label: &str,
    ) -> Result<u64, AllocError> {
        todo!()
    }

    /// Frees what `alloc` gave.
    pub fn free(&self, _base: u64) -> Result<AllocationInfo, FreeError> {
        todo!()
    }

    /// Makes a range of the host program's memory reachable (`cudaHostRegister`), or a read-only view of it.
    ///
    /// # Safety
    /// The range must stay mapped and writable until unregistered.
    pub unsafe fn register(
        &self,
        _base: u64,
        _size: u64,
        _device: u32,
        _label: &str,
    ) -> Result<(), AllocError> {
        todo!()
    }

    pub fn unregister(&self, _base: u64) -> Result<(), FreeError> {
        todo!()
    }

    /// The allocation that holds `address`, if any.
    pub fn find(&self, _address: u64) -> Option<AllocationInfo> {
        todo!()
    }

    /// The allocation that holds or most closely precedes `address` (for messages).
    pub fn nearest(&self, _address: u64) -> Option<AllocationInfo> {
        todo!()
    }

    /// Live allocations, by address.
    pub fn allocations(&self) -> Vec<AllocationInfo> {
        todo!()
    }

    /// Whether `bytes` bytes from `address` lie within one live allocation.
    pub fn contains(&self, _address: u64, _bytes: u64) -> bool {
        todo!()
    }
}

/// Result of a checked access.
pub type Checked<T> = Result<T, Box<Fault>>;
