// SPDX-License-Identifier: MIT OR Apache-2.0
//! Stamps of a block that runs, each in a slot of which there are few, as what is past needs hardly any.
//!
//! *Past* is what all threads of its block come after, but for what the block did while it released something. For what order
//! is ever asked of, all of it that was done between two releases is alike, at whatever time it was: the threads of the block
//! know all of it, for ever; and those of another block know none of it, or all, once they have acquired what was released
//! later. So all of it may have one stamp, the first that there is: [`PAST`], or the one after a release. A release that nobody
//! knows any more is none ([`super::releases`]). Where no thread ever learns of another block, all that a block did is past
//! once it has ended, too.
//!
//! A slot whose stamp is past is used again. Names that have had it since before stand for what is past: whatever keeps names
//! knows up to which [`Epoch`] they were gone through for such ones, and a slot what it stood for until when.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use parking_lot::Mutex;
use smallvec::SmallVec;

use super::order::Tick;
use super::releases::{Release, Releases};

/// The stamp of what is past: no other is earlier.
pub const PAST: Tick = 1;

/// Counts how often slots of a launch came to be free.
pub type Epoch = u32;

/// What is past of what a block did.
#[derive(Debug, Default)]
pub struct Past {
    /// Up to which stamp all has been done before anything was released; 0 as long as nothing is past.
    first: AtomicU32,
    /// Whether anything was released.
    released: AtomicBool,
    later: Mutex<Later>,
}

/// What is past of what came later.
#[derive(Debug, Default)]
struct Later {
    releases: Vec<Release>,
    /// [`Releases::forgotten`] then.
    forgotten: u32,
    /// All threads of the block come after what was done up to here.
    known: Tick,
}

impl Past {
    /// All threads of the block come after what was done up to here, and will, and what of it others may know.
    pub fn reaches(&self, known: Tick, releases: &Releases) {
        let list = releases.list();
        let first = list.first().map_or(known, |(all, _)| known.min(*all));
        if !list.is_empty() {
            let later = &mut *self.later.lock();
            // The last may have become longer.
            let same = match later.forgotten == releases.forgotten() {
                true => later.releases.len().saturating_sub(1),
                false => 0,
            };
            later.releases.truncate(same);
            later.releases.extend_from_slice(&list[same..]);
            (later.known, later.forgotten) = (known, releases.forgotten());
            self.released.store(true, Ordering::Relaxed);
        }
        self.first.store(first, Ordering::Relaxed);
    }

    /// From now on of another block, of which nothing is. Neither has released anything.
    pub fn renew(&self) {
        debug_assert!(!self.released.load(Ordering::Relaxed));
        self.first.store(0, Ordering::Relaxed);
    }

    /// The first of the stamps that what is past has; `None` if it is not.
    pub fn first(&self, stamp: Tick) -> Option<Tick> {
        if stamp <= self.first.load(Ordering::Relaxed) {
            return Some(PAST);
        }
        if !self.released.load(Ordering::Relaxed) {
            return None;
        }
        let Later { releases, known, .. } = &*self.later.lock();
        let next = releases.partition_point(|(_, last)| *last < stamp);
        let before = releases[..next].last()?.1;
        let end = releases.get(next).map_or(*known, |(all, _)| (*known).min(*all));
        (stamp <= end).then_some(before + 1)
    }
}

#[derive(Debug)]
struct Slot {
    /// 0 if it is free.
    stamp: Tick,
    since: Epoch,
    /// What it stood for, each time before it came to be free, as far as that is not alike.
    stood: SmallVec<[(Epoch, Tick); 1]>,
}

/// The stamps of a block.
#[derive(Debug)]
pub struct Slots {
    /// `None` once the block has ended: nothing is forgotten any more.
    past: Option<Arc<Past>>,
    slots: Vec<Slot>,
    /// When slots came to be free the last time; 0 if none ever did.
    pub freed: Epoch,
}

impl Slots {
    pub fn new(past: Arc<Past>) -> Slots {
        Slots { past: Some(past), slots: Vec::new(), freed: 0 }
    }

    /// Whether this tells what is past.
    pub fn are_of(&self, past: &Arc<Past>) -> bool {
        self.past.as_ref().is_some_and(|own| Arc::ptr_eq(own, past))
    }

    /// For another block, of which the same [`Past`] tells.
    pub fn renew(&mut self) {
        self.slots.clear();
        self.freed = 0;
    }

    /// The stamp that may stand for another: that one, unless it is past.
    pub fn alike(&self, stamp: Tick) -> Tick {
        self.past.as_ref().and_then(|past| past.first(stamp)).unwrap_or(stamp)
    }

    /// What names mean that have this slot, and were gone through up to `seen`.
    pub fn stamp(&self, n: usize, seen: Epoch) -> Tick {
        let Some(slot) = self.slots.get(n) else { return PAST };
        match slot.stood.iter().find(|(until, _)| *until > seen) {
            Some((_, stamp)) => *stamp,
            None if slot.stamp == 0 => PAST,
            None => slot.stamp,
        }
    }

    /// The slot of a stamp, and since when it has been that.
    pub fn find(&self, stamp: Tick) -> Option<(usize, Epoch)> {
        // Most are late ones.
        let n = self.slots.iter().rposition(|slot| slot.stamp == stamp)?;
        Some((n, self.slots[n].since))
    }

    /// Whether there is a slot for one more stamp, of so many.
    pub fn has_room(&self, most: usize) -> bool {
        self.slots.len() < most || self.slots.iter().any(|slot| slot.stamp == 0)
    }

    /// Gives a stamp that has none a slot: the first that is free.
    pub fn add(&mut self, stamp: Tick) -> (usize, Epoch) {
        let n = self.slots.iter().position(|slot| slot.stamp == 0).unwrap_or(self.slots.len());
        if n == self.slots.len() {
            self.slots.push(Slot { stamp, since: 0, stood: SmallVec::new() });
        }
        self.slots[n].stamp = stamp;
        (n, self.slots[n].since)
    }

    /// Frees the slots of what is past, if these are not too few to be worth that names are gone through.
    pub fn forget(&mut self, time: &mut Epoch) {
        let Some(past) = &self.past else { return };
        let gone = |slot: &Slot| {
            let alike = past.first(slot.stamp).filter(|_| slot.stamp != 0)?;
            (alike != slot.stamp).then_some(alike)
        };
        if self.slots.iter().filter(|slot| gone(slot).is_some()).count() * 4 < self.slots.len() {
            return;
        }
        *time += 1;
        self.freed = *time;
        for slot in &mut self.slots {
            if let Some(alike) = gone(slot) {
                (slot.stamp, slot.since) = (0, *time);
                slot.stood.push((*time, alike));
            }
            slot.stood
                .iter_mut()
                .for_each(|(_, stamp)| *stamp = past.first(*stamp).unwrap_or(*stamp));
            // Of those that are alike by now the last.
            slot.stood.dedup_by(|(until, stamp), before| {
                let alike = *stamp == before.1;
                if alike {
                    before.0 = *until;
                }
                alike
            });
        }
    }

    /// The block has ended, and names with its slots stay.
    pub fn end(&mut self) {
        self.past = None;
        self.slots.shrink_to_fit();
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
        assert_eq!((time, slots.freed, slots.alike(10)), (0, 0, 10));
        past.reaches(12, &Releases::default());
        slots.forget(&mut time);
        assert_eq!((time, slots.freed, slots.has_room(4)), (1, 1, true));
        assert_eq!([12, 13].map(|stamp| slots.alike(stamp)), [PAST, 13]);
        // The one that is not past.
        assert_eq!([10, 12, 13].map(|stamp| slots.find(stamp)), [None, None, Some((3, 0))]);
        assert_eq!(slots.add(20), (0, 1));
        // To whom has not looked since, and to whom has.
        assert_eq!([0, 1].map(|seen| slots.stamp(0, seen)), [PAST, 20]);
        assert_eq!([1, 2, 3, 4].map(|n| slots.stamp(n, 1)), [PAST, PAST, 13, PAST]);
        // One of five is few.
        past.reaches(15, &Releases::default());
        assert_eq!([21, 22, 23].map(|stamp| slots.add(stamp)), [(1, 1), (2, 1), (4, 0)]);
        slots.forget(&mut time);
        assert_eq!((time, slots.find(13)), (1, Some((3, 0))));
    }

    #[test]
    fn what_lies_between_releases_is_alike() {
        let past = Past::default();
        let firsts = |stamps: &[Tick]| stamps.iter().map(|s| past.first(*s)).collect::<Vec<_>>();
        past.reaches(12, &Releases::of(&[(10, 15)], 0));
        assert_eq!(firsts(&[10, 11, 15, 16]), [Some(PAST), None, None, None]);
        past.reaches(20, &Releases::of(&[(10, 15)], 0));
        assert_eq!(firsts(&[15, 16, 20, 21]), [None, Some(16), Some(16), None]);
        // Others are released, one of them while some are.
        past.reaches(20, &Releases::of(&[(10, 15), (20, 25)], 0));
        past.reaches(40, &Releases::of(&[(10, 15), (20, 27), (30, 33)], 0));
        let all = [9, 16, 20, 21, 27, 28, 30, 31, 33, 34, 40, 41];
        let one = |n| Some(n);
        let known = [one(1), one(16), one(16), None, None, one(28), one(28), None, None];
        assert_eq!(firsts(&all), [&known[..], &[one(34), one(34), None]].concat());
        // Nobody knows the second any more, then nobody the first.
        past.reaches(40, &Releases::of(&[(10, 15), (30, 33)], 1));
        let between = [one(1), one(16), one(16), one(16), one(16), one(16), one(16), None, None];
        assert_eq!(firsts(&all), [&between[..], &[one(34), one(34), None]].concat());
        past.reaches(40, &Releases::of(&[(30, 33)], 2));
        assert_eq!(
            firsts(&all),
            [&[one(1); 7][..], &[None, None, one(34), one(34), None]].concat()
        );
    }

    #[test]
    fn a_slot_knows_what_it_stood_for() {
        let (past, mut time) = (Arc::new(Past::default()), 0);
        let mut slots = Slots::new(past.clone());
        for (known, releases, stamp) in [
            (12, &[][..], 10),
            (30, &[(12, 15)], 20),
            (40, &[(12, 15)], 31),
            (60, &[(12, 15), (40, 42)], 50),
        ] {
            assert_eq!(slots.add(stamp).0, 0);
            past.reaches(known, &Releases::of(releases, 0));
            slots.forget(&mut time);
        }
        assert_eq!((time, slots.find(0).map(|own| own.0)), (4, Some(0)));
        let stood = [0, 1, 2, 3, 4].map(|seen| slots.stamp(0, seen));
        assert_eq!(stood, [PAST, 16, 16, 43, PAST]);
        // The one that stands for others stays.
        assert_eq!(slots.add(43), (0, 4));
        slots.forget(&mut time);
        assert_eq!((time, slots.stamp(0, 4)), (4, 43));
    }
}
