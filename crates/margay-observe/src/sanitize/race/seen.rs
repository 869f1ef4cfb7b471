// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reads of global memory that change nothing any more: of what blocks read that learn nothing of each other, until somebody
//! writes to the line. One that is like another, by any warp, need not be looked at.
//!
//! Invariant: who writes counts before it looks, so a read that was passed over either comes before the write, which then finds
//! the mark that stands for all readers, or is looked at. A write that began before anything was counted finds that mark, too:
//! a race of the line is found, if perhaps not with each instruction that read it.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use margay_exec::observe::AccessEvent;

use super::look::lanes_of;
use super::near::place;
use super::page::LINE;

const PLACES: usize = 1 << 12;

/// How often lines were written, some of them together; counted from the first read on that changes nothing any more.
#[derive(Default)]
pub struct Changes(OnceLock<Box<[AtomicU32]>>);

impl Changes {
    /// Bytes from an address on are about to be written.
    pub fn add(&self, low: u64, bytes: u64) {
        let Some(counts) = self.0.get() else { return };
        for line in low / LINE..=low.saturating_add(bytes.saturating_sub(1)) / LINE {
            counts[place(line, PLACES)].fetch_add(1, Ordering::SeqCst);
        }
    }

    /// The same of what each lane accesses.
    pub fn add_each(&self, event: &AccessEvent<'_>) {
        if self.0.get().is_some() {
            lanes_of(event.mask).for_each(|l| self.add(event.addresses[l], event.bytes.into()));
        }
    }

    fn begin(&self) {
        self.0.get_or_init(|| (0..PLACES).map(|_| AtomicU32::new(0)).collect());
    }

    fn of(&self, low: u64) -> Option<u32> {
        self.0.get().map(|counts| counts[place(low / LINE, PLACES)].load(Ordering::SeqCst))
    }
}

/// A read by lanes of a warp whose addresses follow from one, which lie in one line.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Read {
    pub low: u64,
    pub span: u32,
    pub mask: u32,
    pub pc: u32,
}

impl Read {
    /// None if it goes beyond a line.
    pub fn new(low: u64, span: u64, mask: u32, pc: u32) -> Option<Read> {
        let one = span > 0 && low % LINE + span <= LINE;
        one.then_some(Read { low, span: span as u32, mask, pc })
    }
}

/// Reads that a worker has seen lately, and how often their lines had been written before.
#[derive(Default)]
pub struct Seen(Vec<(Read, u32)>);

impl Seen {
    fn at(read: &Read) -> usize {
        place(read.low ^ u64::from(read.pc) << 40, PLACES)
    }

    /// Whether the same was seen and its line was not written since; else what [`Seen::add`] wants to know.
    #[inline]
    pub fn has(&self, read: &Read, changes: &Changes) -> Result<(), Option<u32>> {
        let now = changes.of(read.low);
        match self.0.get(Seen::at(read)) {
            Some((seen, count)) if seen == read && Some(*count) == now => Ok(()),
            _ => Err(now),
        }
    }

    /// Keeps one that changes nothing any more, if writes were counted before it was looked at; they are from now on.
    pub fn add(&mut self, read: Read, count: Option<u32>, changes: &Changes) {
        let Some(count) = count else { return changes.begin() };
        if self.0.is_empty() {
            self.0 = vec![Default::default(); PLACES];
        }
        self.0[Seen::at(&read)] = (read, count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_to_the_line_ends_it() {
        let (mut seen, changes) = (Seen::default(), Changes::default());
        let read = Read::new(0x1000, 128, u32::MAX, 7).unwrap();
        // Nothing is counted yet.
        assert_eq!(seen.has(&read, &changes), Err(None));
        seen.add(read, None, &changes);
        let count = seen.has(&read, &changes).unwrap_err();
        seen.add(read, count, &changes);
        assert_eq!(seen.has(&read, &changes), Ok(()));
        assert!(seen.has(&Read { mask: 1, ..read }, &changes).is_err());
        assert!(seen.has(&Read { pc: 8, ..read }, &changes).is_err());
        changes.add(0x1080, 4);
        assert_eq!(seen.has(&read, &changes), Ok(()));
        changes.add(0xffc, 8);
        assert!(seen.has(&read, &changes).is_err());
        assert!(Read::new(0x1004, 128, 1, 7).is_none());
    }
}
