// SPDX-License-Identifier: MIT OR Apache-2.0
//! The short ways through a cell, for what nearly every access is: weak, and after whatever was done to the word
//! before, or one more read among many.
//!
//! Invariant: a cell that goes a short way ends as [`super::watch`]'s long way would leave it, but that one of
//! several readers may stand for the others instead of the last. What is not surely so goes the long way.

use super::order::Tick;
use super::readers::NO_SET;
use super::shadow::{Cell, Kind, Mark, Width};

/// How a lane's access went through its cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// It is the only reader, or the last writer.
    Replaced,
    /// It is one of many readers.
    Joined,
    /// Not by a short way, or by several.
    Long,
}

/// What the lanes of a warp have in common while one access is looked at.
pub struct Quick {
    /// Whether there is a short way for the access.
    pub is_on: bool,
    pub block: u32,
    /// The warp's.
    pub stamp: Tick,
    /// Lanes are not ordered by being in one warp.
    pub independent: bool,
    /// See [`super::order::Block::floor`].
    pub floor: Tick,
    /// From which stamps on the weak marks of several warps of the block, and of several blocks, are surely not
    /// ordered before the access.
    pub warps_from: Tick,
    pub blocks_from: Tick,
    /// Lanes that joined a mark, to be noted.
    pub joined: u32,
}

impl Quick {
    /// For an access with this stamp, as long as nothing is known of marks of several warps or blocks.
    pub fn new(block: u32, stamp: Tick, floor: Tick, independent: bool) -> Quick {
        let (warps_from, blocks_from) = (Tick::MAX, Tick::MAX);
        let (is_on, joined) = (true, 0);
        Quick { is_on, block, stamp, independent, floor, warps_from, blocks_from, joined }
    }

    /// Whether what a mark stands for, if it is one, is surely ordered before the access of another.
    #[inline]
    pub fn is_before(&self, old: Mark, new: Mark) -> bool {
        old.is_empty()
            || old.block == self.block
                && (old.stamp <= self.floor && old.width() < Width::Blocks || old.is_thread_of(new))
    }

    /// Tries the short ways.
    #[inline]
    pub fn visit(&mut self, cell: &mut Cell, mark: Mark) -> Way {
        if !self.is_on || !self.is_before(cell.write, mark) {
            return Way::Long;
        }
        let read = cell.read;
        if mark.kind() == Kind::Write {
            if !self.is_before(read, mark) {
                return Way::Long;
            }
            *cell = Cell { write: mark, read: Mark::default() };
            return Way::Replaced;
        }
        if self.is_before(read, mark) {
            cell.read = mark;
            return Way::Replaced;
        }
        let from = match read.width() {
            // Which blocks they are is to be known.
            Width::Blocks if read.set() != NO_SET => return Way::Long,
            Width::Blocks => self.blocks_from,
            Width::Warps if read.block == self.block => self.warps_from,
            // Other lanes of the warp, since it last synchronised.
            Width::Lanes | Width::Thread
                if self.independent && read.stamp == self.stamp && read.is_warp_of(mark) =>
            {
                self.stamp
            }
            Width::Warps | Width::Lanes | Width::Thread => return Way::Long,
        };
        if read.stamp < from || read.strong() || read.kind() != Kind::Read {
            return Way::Long;
        }
        if read.width() == Width::Thread {
            self.joined |= 1 << read.thread().lane;
        }
        self.join(cell, mark);
        Way::Joined
    }

    /// Tries the short ways for a read by all lanes of a warp, which are not ordered by being in it; `mark` is that of
    /// lane 0. False, with nothing done, if there is none.
    pub fn visit_alike(&mut self, cell: &mut Cell, mark: Mark) -> bool {
        if Quick::is_own(cell, mark) {
            return false;
        }
        let way = self.visit(cell, mark);
        if way == Way::Replaced {
            self.join(cell, mark.of_lane(1));
        }
        self.joined = u32::MAX;
        way != Way::Long
    }

    /// Whether the thread of a mark, but for its block, was at the cell before: what one lane did the others may not know of.
    pub fn is_own(cell: &Cell, mark: Mark) -> bool {
        let own = |old: Mark| !old.is_empty() && old.is_thread_of(mark);
        own(cell.write) || own(cell.read)
    }

    /// The mark is one more of those that the cell's reader stands for.
    pub fn join(&mut self, cell: &mut Cell, mark: Mark) {
        if cell.read.stamp < mark.stamp || cell.read.width() == Width::Thread {
            cell.read = cell.read.widen(mark);
        }
        self.joined |= 1 << mark.thread().lane;
    }
}
