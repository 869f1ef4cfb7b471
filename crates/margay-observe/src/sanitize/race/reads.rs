// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reads of shared memory that are kept, to be looked at only if somebody writes before the block's threads are ordered.
//!
//! Invariant: while reads are kept, no clock of the block learns anything, and no write comes that is not surely before
//! them. So a look at them later finds what a look at once would have found; and once every thread of the block comes
//! after all of them, they race with nothing.

use margay_exec::observe::{AccessEvent, PatternedEvent};

use super::order::Tick;

/// Reads that are kept of a block, and those of them that have no pattern.
const MOST: usize = 1 << 14;
const MOST_SPREAD: usize = 1 << 11;

/// Where the lanes read.
#[derive(Clone, Copy, Debug)]
pub enum Place {
    /// From a base on, after the steps of an instruction of compiled code, whose number this is.
    Steps { site: u64, base: u64, factor: u64 },
    /// At these addresses.
    Spread(u32),
}

/// One warp's read.
#[derive(Clone, Copy, Debug)]
pub struct Read {
    pub place: Place,
    pub pc: u32,
    pub mask: u32,
    pub bytes: u32,
    pub warp: u32,
    pub stamp: Tick,
}

#[derive(Debug, Default)]
pub struct Reads {
    list: Vec<Read>,
    spread: Vec<[u64; 32]>,
}

impl Reads {
    /// Keeps a read. False if there is no room.
    #[inline]
    pub fn keep(&mut self, event: &PatternedEvent<'_>, stamp: Tick) -> bool {
        if self.list.len() >= MOST {
            return false;
        }
        let PatternedEvent { at, site, base, bytes, mask, second, .. } = *event;
        let (pc, warp, factor) = (at.pc, at.warp, second.map_or(0, |(_, of)| of));
        let place = Place::Steps { site, base, factor };
        self.list.push(Read { place, pc, mask, bytes, warp, stamp });
        true
    }

    /// The same where addresses follow from nothing.
    pub fn keep_spread(&mut self, event: &AccessEvent<'_>, stamp: Tick) -> bool {
        if self.list.len() >= MOST || self.spread.len() >= MOST_SPREAD {
            return false;
        }
        let AccessEvent { at, bytes, mask, .. } = *event;
        let (pc, warp, place) = (at.pc, at.warp, Place::Spread(self.spread.len() as u32));
        self.spread.push(*event.addresses);
        self.list.push(Read { place, pc, mask, bytes, warp, stamp });
        true
    }

    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    pub fn list(&self) -> &[Read] {
        &self.list
    }

    /// Where each lane read, if that was not by steps.
    pub fn spread(&self, number: u32) -> Option<[u64; 32]> {
        self.spread.get(number as usize).copied()
    }

    /// Every thread comes after them, or they were looked at.
    pub fn forget(&mut self) {
        self.list.clear();
        self.spread.clear();
    }
}

/// The patterns of a launch's instructions, by their numbers.
#[derive(Clone, Debug)]
pub struct Steps {
    pattern: [i64; 32],
    second: Option<[i64; 32]>,
}

impl Steps {
    pub fn of(event: &PatternedEvent<'_>) -> Steps {
        Steps { pattern: *event.pattern, second: event.second.map(|(factors, _)| *factors) }
    }

    /// Where each lane read.
    pub fn addresses(&self, base: u64, factor: u64) -> [u64; 32] {
        std::array::from_fn(|l| {
            let second = self.second.map_or(0, |f| (f[l] as u64).wrapping_mul(factor));
            base.wrapping_add_signed(self.pattern[l]).wrapping_add(second)
        })
    }
}
