// SPDX-License-Identifier: MIT OR Apache-2.0
//! Memory that a guest can reach.
//!
//! Generic addresses of global, constant, parameter, managed and mapped host memory are real host
//! addresses (unified virtual addressing holds by construction). Shared and local memory lie in
//! two reserved windows of the address space that no allocation ever overlaps.

mod arena;
mod backing;
pub mod devices;
mod recent;
pub mod space;
pub mod texture;

pub use backing::SharedFile;
pub use devices::{Devices, Reach};
pub(crate) use recent::Recent;
pub use space::{
    AddressSpace, AllocError, AllocKind, AllocationInfo, Bounds, Extent, FreeError, LOCAL_WINDOW,
    SHARED_WINDOW,
};
