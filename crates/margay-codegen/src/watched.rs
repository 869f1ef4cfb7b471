// SPDX-License-Identifier: MIT OR Apache-2.0
//! What code reports to whoever watches a launch.
//!
//! Accesses are calls, made when an access has passed its check and before it is carried out; what fails the
//! check is its handler's, which reports it. How often blocks are executed and branches taken is counted in
//! the code, in [`Tally`]s.

use crate::shape::Pattern;

/// Kinds of events that are wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Watched {
    /// Accesses to memory.
    pub accesses: bool,
    /// With each store of one element what it stores.
    pub values: bool,
    /// Executions of blocks, and which way branches go.
    pub counts: bool,
    pub fences: bool,
    /// Ops with member masks.
    pub warp_syncs: bool,
    /// Blocks of the grid, and barriers: the code itself reports nothing of them.
    pub blocks: bool,
}

impl Watched {
    /// Whether anything is.
    pub fn any(&self) -> bool {
        *self != Watched::default()
    }
}

/// What is counted of a block of the function: a row of [`crate::Io::tallies`].
#[repr(usize)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tally {
    /// Executions by all 32 lanes.
    Full,
    /// Other executions, and their lanes.
    Part,
    Lanes,
    /// Of the branch at the end: how often its lanes parted, and the lanes that took it.
    Divergent,
    Taken,
}

impl Tally {
    /// Numbers in a row.
    pub const COUNT: usize = 5;
}

/// An access whose lanes' addresses follow from a scalar, or two.
#[derive(Clone, Debug, PartialEq)]
pub struct WatchedAccess {
    pub pc: u32,
    /// Address of each lane from that of lane 0, the constant of the instruction counted.
    pub form: Pattern,
}
