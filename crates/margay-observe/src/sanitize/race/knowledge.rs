// SPDX-License-Identifier: MIT OR Apache-2.0
//! What threads know of what blocks did, as it goes from hand to hand.

use std::sync::Arc;

use imbl::OrdMap;
use smallvec::{SmallVec, smallvec};

use super::order::{Thread, Tick};
use super::releases::Hold;

/// What is known of a warp's accesses.
#[derive(Clone, Debug, Default)]
pub struct Known {
    /// Of every lane up to here,
    pub all: Tick,
    /// and of these lanes up to there, which is later.
    pub lanes: SmallVec<[(u8, Tick); 1]>,
}

impl Known {
    /// The same of every lane.
    pub fn of_all(all: Tick) -> Known {
        Known { all, lanes: SmallVec::new() }
    }

    fn covers(&self, lane: u8, stamp: Tick) -> bool {
        stamp <= self.all || self.lanes.iter().any(|&(l, t)| l == lane && stamp <= t)
    }

    /// Up to when anything is known.
    pub fn last(&self) -> Tick {
        self.lanes.iter().map(|&(_, tick)| tick).max().unwrap_or(0).max(self.all)
    }

    /// Whether `other` has all of this.
    fn is_within(&self, other: &Known) -> bool {
        self.all <= other.all && self.lanes.iter().all(|&(lane, tick)| other.covers(lane, tick))
    }

    fn join(&mut self, other: &Known) {
        self.all = self.all.max(other.all);
        for &(lane, tick) in &other.lanes {
            match self.lanes.iter_mut().find(|(l, _)| *l == lane) {
                Some((_, own)) => *own = tick.max(*own),
                None => self.lanes.push((lane, tick)),
            }
        }
        let all = self.all;
        self.lanes.retain(|&mut (_, tick)| tick > all);
    }
}

/// What is known of a block.
#[derive(Debug)]
pub struct Entry {
    warps: Box<[Known]>,
    /// Of the releases by which it came to be known.
    holds: SmallVec<[Hold; 1]>,
}

impl Entry {
    /// What was released once.
    pub fn new(warps: Box<[Known]>, hold: Hold) -> Entry {
        Entry { warps, holds: smallvec![hold] }
    }

    fn is_within(&self, other: &Entry) -> bool {
        self.warps.iter().zip(&other.warps).all(|(own, other)| own.is_within(other))
    }

    fn joined(&self, other: &Entry) -> Entry {
        let mut warps = self.warps.clone();
        warps.iter_mut().zip(&other.warps).for_each(|(own, other)| own.join(other));
        let mut holds = self.holds.clone();
        for hold in &other.holds {
            if !holds.iter().any(|own| Arc::ptr_eq(own, hold)) {
                holds.push(hold.clone());
            }
        }
        Entry { warps, holds }
    }
}

/// Knowledge of blocks, warp by warp. Cheap to copy and to add to.
#[derive(Clone, Debug, Default)]
pub struct Knowledge(OrdMap<u32, Arc<Entry>>);

impl Knowledge {
    pub fn covers(&self, thread: Thread, stamp: Tick) -> bool {
        let warps = self.of(thread.block);
        warps.is_some_and(|w| {
            w.get(thread.warp as usize).is_some_and(|k| k.covers(thread.lane, stamp))
        })
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What is known of a block's warps.
    pub fn of(&self, block: u32) -> Option<&[Known]> {
        self.0.get(&block).map(|entry| &*entry.warps)
    }

    /// Adds what is known of a block. Of two of which one has all of the other that one stays, so that what nobody knows any
    /// more is not held.
    pub fn add(&mut self, block: u32, entry: &Arc<Entry>) {
        let new = match self.0.get(&block) {
            Some(own) if Arc::ptr_eq(own, entry) || entry.is_within(own) => return,
            Some(own) if !own.is_within(entry) => Arc::new(own.joined(entry)),
            Some(_) | None => entry.clone(),
        };
        self.0.insert(block, new);
    }

    /// Adds what `other` knows.
    pub fn join(&mut self, other: &Knowledge) {
        if self.is_empty() {
            *self = other.clone();
            return;
        }
        if self.0.len() < other.0.len() {
            let mut larger = other.clone();
            for (&block, entry) in &self.0 {
                larger.add(block, entry);
            }
            *self = larger;
            return;
        }
        for (&block, entry) in &other.0 {
            self.add(block, entry);
        }
    }
}
