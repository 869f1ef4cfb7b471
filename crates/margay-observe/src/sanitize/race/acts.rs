// SPDX-License-Identifier: MIT OR Apache-2.0
//! What threads did, by number, but for which thread it was. It only grows, so that it is read without a lock.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;

use super::shadow::Cell;

/// Entries of the table, at most.
pub const MOST: usize = (1 << 12) - 1;
/// The same where others do as well, and bits of their numbers.
pub const ACTS: usize = (1 << ACT_BITS) - 1;
pub const ACT_BITS: u32 = 8;
/// Entries that there is made room for at once.
const CHUNK: usize = 16;
/// Entries that are looked through before one is looked up by hash.
const NEAR: usize = 8;

type Chunk = Box<[OnceLock<Cell>; CHUNK]>;

/// Cells without their threads, from 1.
#[derive(Debug)]
pub struct Acts {
    chunks: [OnceLock<Chunk>; (ACTS + 1) / CHUNK],
    /// Those of numbers above [`ACTS`], if there are any.
    more: OnceLock<Box<[OnceLock<Chunk>; (MOST - ACTS) / CHUNK]>>,
    /// Entries that there are; whoever sees the count sees them.
    count: AtomicUsize,
    /// Numbers by hash: a power of two of them, more than there are entries.
    slots: Mutex<Vec<u16>>,
}

fn hash(act: Cell) -> usize {
    (act.write.hash() ^ act.read.hash().rotate_left(16)) as usize
}

impl Acts {
    pub fn new() -> Acts {
        let chunks = [const { OnceLock::new() }; (ACTS + 1) / CHUNK];
        Acts { chunks, more: OnceLock::new(), count: AtomicUsize::new(0), slots: Mutex::default() }
    }

    pub fn count(&self) -> usize {
        self.count.load(Ordering::Acquire)
    }

    /// Where an entry is, counted from 0; `None` if nobody has made room for so many.
    #[inline]
    fn chunk(&self, at: usize) -> Option<&OnceLock<Chunk>> {
        let n = at / CHUNK;
        let more = |n: usize| self.more.get().map(|more| &more[n]);
        self.chunks.get(n).or_else(|| more(n - self.chunks.len()))
    }

    #[inline]
    pub fn get(&self, number: usize) -> Cell {
        let at = number - 1;
        let chunk = self.chunk(at).and_then(OnceLock::get);
        chunk.and_then(|chunk| chunk[at % CHUNK].get()).copied().unwrap_or_default()
    }

    /// The number of an act, of at most [`ACTS`]; `None` if there is no room.
    #[inline]
    pub fn number(&self, act: Cell) -> Option<usize> {
        self.number_among(act, ACTS)
    }

    /// The same; of an act that has none yet only as long as fewer than so many have one.
    #[inline]
    pub fn number_among(&self, act: Cell, most: usize) -> Option<usize> {
        let near = self.count().min(NEAR);
        let found = (1..=near).find(|&n| self.get(n) == act);
        found.or_else(|| self.look_up(act, most))
    }

    fn look_up(&self, act: Cell, most: usize) -> Option<usize> {
        let slots = &mut *self.slots.lock();
        let count = self.count();
        if slots.len() <= count * 2 {
            *slots = vec![0; (count * 4).max(16)];
            for n in 1..=count {
                let at = self.slot(slots, self.get(n));
                slots[at] = n as u16;
            }
        }
        let at = self.slot(slots, act);
        if slots[at] == 0 {
            if count >= most {
                return None;
            }
            if count / CHUNK >= self.chunks.len() {
                self.more.get_or_init(|| Box::new([const { OnceLock::new() }; _]));
            }
            let chunk = self.chunk(count)?.get_or_init(Box::default);
            chunk[count % CHUNK].get_or_init(|| act);
            slots[at] = count as u16 + 1;
            self.count.store(count + 1, Ordering::Release);
        }
        Some(usize::from(slots[at]))
    }

    /// The slot of an entry, or the one that it would have.
    fn slot(&self, slots: &[u16], act: Cell) -> usize {
        let mask = slots.len() - 1;
        let mut at = hash(act) & mask;
        while slots[at] != 0 && self.get(usize::from(slots[at])) != act {
            at = (at + 1) & mask;
        }
        at
    }
}
