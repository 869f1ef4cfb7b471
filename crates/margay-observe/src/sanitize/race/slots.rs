// SPDX-License-Identifier: MIT OR Apache-2.0
//! Stamps of a block that runs, each in a slot of which there are few, as what is past needs none.
//!
//! *Past* is what all threads of its block come after, and what the block did before it released anything. For what order is
//! ever asked of, all of that is alike, at whatever time it was: the threads of the block know all of it, for ever; and those
//! of another block know none of it, or all, once they have acquired anything of this one. So all of it may have one stamp,
//! the first that there is ([`PAST`]). Where no thread ever learns of another block, all that a block did is past once it has
//! ended, too.
//!
//! A slot whose stamp is past is used again. Names that have had it since before stand for what is past: whatever keeps names
//! knows up to which [`Epoch`] they were gone through for such ones, and a slot since which it has not had another stamp.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use super::order::Tick;

/// The stamp of what is past: no other is earlier.
pub const PAST: Tick = 1;

/// Counts how often slots of a launch came to be free.
pub type Epoch = u32;

/// Up to which stamp all is past that a block did; 0 as long as nothing is.
#[derive(Debug, Default)]
pub struct Past(AtomicU32);

impl Past {
    /// All up to here is past, and will be.
    pub fn reaches(&self, stamp: Tick) {
        self.0.store(stamp, Ordering::Relaxed);
    }

    pub fn has(&self, stamp: Tick) -> bool {
        stamp <= self.0.load(Ordering::Relaxed)
    }
}

#[derive(Debug)]
struct Slot {
    /// 0 if it is free.
    stamp: Tick,
    since: Epoch,
}

/// The stamps of a block.
#[derive(Debug)]
pub struct Slots {
    past: Arc<Past>,
    slots: Vec<Slot>,
    /// When slots came to be free the last time; 0 if none ever did.
    pub freed: Epoch,
}

impl Slots {
    pub fn new(past: Arc<Past>) -> Slots {
        Slots { past, slots: Vec::new(), freed: 0 }
    }

    pub fn is_past(&self, stamp: Tick) -> bool {
        self.past.has(stamp)
    }

    /// What names mean that have this slot, and were gone through up to `seen`.
    pub fn stamp(&self, n: usize, seen: Epoch) -> Tick {
        let own = self.slots.get(n).filter(|slot| slot.stamp != 0 && slot.since <= seen);
        own.map_or(PAST, |slot| slot.stamp)
    }

    /// The slot of a stamp, and since when it has been that.
    pub fn find(&self, stamp: Tick) -> Option<(usize, Epoch)> {
        let n = self.slots.iter().position(|slot| slot.stamp == stamp)?;
        Some((n, self.slots[n].since))
    }

    /// Whether there is a slot for one more stamp, of so many.
    pub fn has_room(&self, most: usize) -> bool {
        self.slots.len() < most || self.slots.iter().any(|slot| slot.stamp == 0)
    }

    /// Gives a stamp that has none a slot: the first that is free.
    pub fn add(&mut self, stamp: Tick) -> (usize, Epoch) {
        let n = self.slots.iter().position(|slot| slot.stamp == 0).unwrap_or(self.slots.len());
        let since = self.slots.get(n).map_or(0, |slot| slot.since);
        let own = Slot { stamp, since };
        match self.slots.get_mut(n) {
            Some(slot) => *slot = own,
            None => self.slots.push(own),
        }
        (n, since)
    }

    /// Frees the slots of what is past, if these are not too few to be worth that names are gone through.
    pub fn forget(&mut self, time: &mut Epoch) {
        let past = &self.past;
        let can_go = |slot: &&mut Slot| slot.stamp != 0 && past.has(slot.stamp);
        if self.slots.iter_mut().filter(can_go).count() * 4 < self.slots.len() {
            return;
        }
        *time += 1;
        self.freed = *time;
        self.slots.iter_mut().filter(can_go).for_each(|slot| (slot.stamp, slot.since) = (0, *time));
    }

    /// The stamps, by slot, if none ever came to be free.
    pub fn all(&self) -> impl Iterator<Item = Tick> {
        self.slots.iter().map(|slot| slot.stamp)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_is_used_again_once_its_stamp_is_past() {
        let (past, mut time) = (Arc::new(Past::default()), 0);
        let mut slots = Slots::new(past.clone());
        assert!((10..14).all(|stamp| slots.add(stamp) == (stamp as usize - 10, 0)));
        assert!(!slots.has_room(4) && slots.has_room(5));
        slots.forget(&mut time);
        assert_eq!((time, slots.freed, slots.is_past(10)), (0, 0, false));
        past.reaches(12);
        slots.forget(&mut time);
        assert_eq!((time, slots.freed, slots.has_room(4)), (1, 1, true));
        assert!(slots.is_past(12) && !slots.is_past(13));
        // The one that is not past.
        assert_eq!([10, 12, 13].map(|stamp| slots.find(stamp)), [None, None, Some((3, 0))]);
        assert_eq!(slots.add(20), (0, 1));
        // To whom has not looked since, and to whom has.
        assert_eq!([0, 1].map(|seen| slots.stamp(0, seen)), [PAST, 20]);
        assert_eq!([1, 2, 3, 4].map(|n| slots.stamp(n, 1)), [PAST, PAST, 13, PAST]);
        // One of five is few.
        past.reaches(15);
        assert_eq!([21, 22, 23].map(|stamp| slots.add(stamp)), [(1, 1), (2, 1), (4, 0)]);
        slots.forget(&mut time);
        assert_eq!((time, slots.find(13)), (1, Some((3, 0))));
    }
}
