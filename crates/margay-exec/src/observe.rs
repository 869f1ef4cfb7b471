// SPDX-License-Identifier: MIT OR Apache-2.0
//! The border towards everything that watches a kernel run.
//!
//! Observers see warp-wide events and cannot steer: results with and without one are bit-identical.
//! Without an observer an access pays for one test of a flag.

use margay_ir::Space;

use crate::fault::Access;

/// Where an event happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventPlace {
    pub ctaid: [u32; 3],
    /// Warp in the block.
    pub warp: u32,
    /// Index of the decoded instruction, for [`crate::program::Program::place`].
    pub pc: u32,
}

/// One warp-wide memory access, before it is carried out.
#[derive(Clone, Copy, Debug)]
pub struct AccessEvent<'a> {
    pub at: EventPlace,
    /// The space that the instruction names.
    pub space: Space,
    pub access: Access,
    /// Bytes a lane.
    pub bytes: u32,
    pub mask: u32,
    /// Address in each lane; those outside `mask` mean nothing. Shared and local ones are offsets.
    pub addresses: &'a [u64; 32],
}

/// Watches a launch. Called from worker threads, in program order for each warp.
pub trait Observer: Sync {
    /// A load, store or atomic of a warp.
    fn access(&self, _event: &AccessEvent<'_>) {}
    /// Lanes `mask` arrived at block barrier `id`.
    fn barrier(&self, _at: EventPlace, _id: u32, _mask: u32) {}
    /// A conditional branch: `taken` of the lanes `active` take it.
    fn branch(&self, _at: EventPlace, _active: u32, _taken: u32) {}
}
