// SPDX-License-Identifier: MIT OR Apache-2.0
//! Names of what is done by threads that meet at barriers ([`super::ledger`]): as direct ones, but in place of each stamp an act
//! has a number that its block gave it, so that the acts stay few.
//!
//! That is one for all that is past before anything is released, or else of a slot of the block, as long as it runs
//! ([`super::slots`]). Once it has
//! ended all that it did is past, unless threads of others may have acquired some of it: what is not past then is in a list
//! ([`super::lists`]), at the places of its slots.
//!
//! Of a *pair* the writer and the reader are two threads of one block. Its name is longer by the reader's number there.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::acts::{ACTS, Acts};
use super::direct::{Grid, NOBODY, Name};
use super::lists::{Lists, MOST};
use super::order::{Thread, Tick};
use super::shadow::{Cell, Mark, Width};
use super::slots::{Epoch, PAST, Past, Slots};

/// The number of the first slot, or of the first place of a list. Before it are those of no stamp and of [`PAST`].
const FIRST: Tick = 2;
/// The same of the list of wide marks.
const WIDE: Tick = FIRST + MOST as Tick;
/// Slots that a block has before any is used again, by how many eighths of the room for acts are taken, as long as these are
/// few: each slot may take one for each instruction.
const FEW_SLOTS: [usize; 9] = [15, 15, 15, 15, 7, 7, 3, 2, 2];

/// Whether threads may learn of other blocks, where it is told when blocks begin and end; else all is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Learns {
    Never,
    Maybe,
    #[default]
    Untold,
}

/// Blocks that slots came to be free of, by the numbers of their first threads.
#[derive(Debug)]
pub struct Freed {
    blocks: SmallVec<[u64; 4]>,
    grid: Grid,
}

impl Freed {
    /// Whether a name in 32 bits is one of theirs.
    #[inline]
    pub fn has(&self, name: u32) -> bool {
        self.has_thread(self.grid.uncut(name).thread)
    }

    /// Whether a thread is.
    #[inline]
    pub fn has_thread(&self, number: u64) -> bool {
        let threads = u64::from(self.grid.threads());
        self.blocks.iter().any(|&first| number.wrapping_sub(first) < threads)
    }
}

/// The name of what a thread did, and the number in its block of the thread that read it since, or of itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pair {
    pub name: Name,
    pub reader: u32,
}

/// The names, and the stamps of each block.
#[derive(Debug)]
pub struct Stamped {
    acts: Acts,
    grid: Grid,
    learns: Learns,
    /// Of the blocks that run.
    slots: FxHashMap<u32, Slots>,
    epoch: Epoch,
    /// Of blocks that have ended, a bit for each: some of what it did may be known to others.
    released: Vec<u64>,
    lists: Lists,
    /// Of wide marks, where their stamps matter: each is the last of what several threads did at several times.
    wide: Lists,
}

impl Stamped {
    pub fn new(grid: Grid, learns: Learns) -> Stamped {
        let (slots, released, lists, wide) = Default::default();
        Stamped { acts: Acts::new(), grid, learns, slots, epoch: 0, released, lists, wide }
    }

    /// Whether there is room for more names of 32 bits.
    pub fn has_room(&self) -> bool {
        self.acts.count() < self.grid.most_acts()
    }

    pub fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// Stamps of lists.
    #[cfg(test)]
    pub fn count(&self) -> usize {
        self.lists.count() + self.wide.count()
    }

    /// A block begins.
    pub fn begin(&mut self, block: u32, past: Arc<Past>) {
        self.slots.insert(block, Slots::new(past));
    }

    /// A block begins after another one has ended, if it is [never](Learns::Never) that threads learn of other blocks; what is
    /// past of it is told by the same.
    pub fn follow(&mut self, before: u32, block: u32, past: &Arc<Past>) {
        debug_assert!(self.learns == Learns::Never);
        let slots = self.slots.remove(&before).filter(|slots| slots.are_of(past));
        debug_assert!(slots.is_some(), "block {before} has slots");
        let mut slots = slots.unwrap_or_else(|| Slots::new(past.clone()));
        slots.renew();
        self.slots.insert(block, slots);
    }

    /// A block has ended; `released`: others may have acquired something of it.
    pub fn end(&mut self, block: u32, released: bool) {
        let Some(mut slots) = self.slots.remove(&block) else { return };
        if self.learns == Learns::Never || !released {
            return;
        }
        let at = block as usize / 64;
        self.released.resize(self.released.len().max(at + 1), 0);
        self.released[at] |= 1 << (block % 64);
        if slots.freed != 0 {
            // Names have slots from before that they were used again.
            slots.end();
            self.slots.insert(block, slots);
            return;
        }
        for stamp in slots.all() {
            self.lists.place(block, stamp, usize::MAX);
        }
    }

    fn has_released(&self, block: u32) -> bool {
        let own = self.released.get(block as usize / 64);
        own.is_some_and(|own| own >> (block % 64) & 1 != 0)
    }

    /// Of which names some may mean what is past now, for who has gone through its own up to `seen`, and up to when that
    /// is then.
    pub fn freed(&self, seen: Epoch) -> (Freed, Epoch) {
        let freed = self.slots.iter().filter(|(_, slots)| slots.freed > seen);
        let first = freed.filter_map(|(&block, _)| self.grid.number(Thread { block, ..NOBODY }));
        (Freed { blocks: first.collect(), grid: self.grid }, self.epoch)
    }

    /// The number of a mark's stamp; `None` if there is no room, also of so many bytes for lists, or if who asks has to look
    /// for names that have it from before.
    fn place(&mut self, mark: Mark, (bytes, seen): (usize, Epoch)) -> Option<Tick> {
        let Mark { block, stamp, .. } = mark;
        if stamp <= PAST {
            return Some(stamp);
        }
        if self.learns != Learns::Never && mark.width() != Width::Thread {
            return self.wide.place(block, stamp, bytes).map(|place| WIDE + place as Tick);
        }
        if self.slots.contains_key(&block) {
            return self.slot(block, stamp, seen);
        }
        if self.learns != Learns::Untold && !self.has_released(block) {
            return Some(PAST);
        }
        self.lists.place(block, stamp, bytes).map(|place| FIRST + place as Tick)
    }

    /// The same of a block that has slots.
    fn slot(&mut self, block: u32, stamp: Tick, seen: Epoch) -> Option<Tick> {
        let slots = self.slots.get_mut(&block)?;
        let stamp = slots.alike(stamp);
        if stamp == PAST {
            return Some(PAST);
        }
        if slots.find(stamp).is_none() {
            let taken = (8 * self.acts.count()).checked_div(self.grid.acts());
            if !slots.has_room(FEW_SLOTS[taken.unwrap_or(8).min(8)]) {
                slots.forget(&mut self.epoch);
            }
            if !slots.has_room(MOST) {
                return None;
            }
            slots.add(stamp);
        }
        let (n, since) = slots.find(stamp)?;
        (since <= seen).then_some(FIRST + n as Tick)
    }

    /// The stamp of a number of a block's, for who has gone through its names up to `seen`.
    fn stamp(&self, block: u32, place: Tick, seen: Epoch) -> Tick {
        let Some(n) = place.checked_sub(FIRST) else { return place };
        if let Some(n) = place.checked_sub(WIDE) {
            return self.wide.stamp(block, n as usize).unwrap_or(PAST);
        }
        match self.slots.get(&block) {
            Some(slots) => slots.stamp(n as usize, seen),
            None => self.lists.stamp(block, n as usize).unwrap_or(PAST),
        }
    }

    fn act(&mut self, cell: Cell, room: (usize, Epoch)) -> Option<usize> {
        let bare = |mark: Mark, place| if place == 0 { mark } else { mark.of(NOBODY).at(place) };
        let wrote = self.place(cell.write, room)?;
        let read = self.place(cell.read, room)?;
        let act = Cell { write: bare(cell.write, wrote), read: bare(cell.read, read) };
        // A word by which many count has another wide mark whenever it is named, and what was written before it was counted
        // has any value: such are not to take the room of all others, nor much of the table.
        let most = match (wrote.max(read) < WIDE, cell.read.value()) {
            (true, 0) => self.grid.most_acts().max(ACTS),
            (true, _) => ACTS,
            (false, _) => self.grid.acts() / 4,
        };
        self.acts.number_among(act, most)
    }

    /// The cell of a name, whose reader may be another thread of the block.
    fn made(&self, name: Name, reader: Option<u32>, seen: Epoch) -> Cell {
        let writer = self.grid.thread(name.thread);
        let reader = reader.map_or(writer, |reader| Thread {
            warp: reader as u16 / 32,
            lane: reader as u8 % 32,
            ..writer
        });
        let of = |mark: Mark, thread| match mark.is_empty() {
            true => mark,
            false => mark.of(thread).at(self.stamp(writer.block, mark.stamp, seen)),
        };
        let Cell { write, read } = self.acts.get(name.act as usize);
        Cell { write: of(write, writer), read: of(read, reader) }
    }

    pub fn cell(&self, name: Name, seen: Epoch) -> Cell {
        self.made(name, None, seen)
    }

    pub fn cell_of_pair(&self, Pair { name, reader }: Pair, seen: Epoch) -> Cell {
        self.made(name, Some(reader), seen)
    }

    /// The name of a cell that is not empty, and of one thread; `None` if there is no room, also of so many bytes for lists, or
    /// if who asks has gone through its names up to too early a time for it.
    pub fn name(&mut self, cell: Cell, room: (usize, Epoch)) -> Option<Name> {
        // Without what no name could be made of, stamps of blocks that there are not would be kept.
        let thread = self.grid.number(cell.thread())?;
        Some(Name { thread, act: self.act(cell, room)? as u32 })
    }

    /// The same of a cell that may be of two threads; `None` also if these are of two blocks.
    pub fn pair(&mut self, cell: Cell, room: (usize, Epoch)) -> Option<Pair> {
        let writer = cell.thread();
        let reader = if cell.read.is_empty() { writer } else { cell.read.thread() };
        if reader.block != writer.block {
            return None;
        }
        let name = self.name(cell, room)?;
        Some(Pair { name, reader: u32::from(reader.warp) << 5 | u32::from(reader.lane) })
    }
}

#[cfg(test)]
mod tests {
    use super::super::releases::Releases;
    use super::super::shadow::Kind;
    use super::*;

    const ROOM: (usize, Epoch) = (1 << 30, 0);

    fn mark(block: u32, thread: u32, stamp: Tick, kind: Kind) -> Mark {
        let thread = Thread { block, warp: (thread / 32) as u16, lane: thread as u8 % 32 };
        Mark::new(thread, stamp, 17 + stamp % 3, kind, None)
    }

    #[test]
    fn a_name_stands_for_its_cell() {
        for warps in [1, 3, 32] {
            let mut names = Stamped::new(Grid::new(1000, warps), Learns::Untold);
            let none = Mark::default();
            let mut named = Vec::new();
            // Blocks and stamps near each other, and far.
            for block in [5, 6, 900, 0, 127, 128, 7] {
                for (wrote, read) in [(1, 2), (9, 900), (9, 70_000), (u32::MAX, 3), (9, 9)] {
                    for (writer, reader) in [(0, 0), (31, 31), (32 * warps - 1, 0), (3, 7)] {
                        let write = mark(block, writer, wrote, Kind::Write);
                        let read = mark(block, reader, read, Kind::Read);
                        for cell in [
                            Cell { write, read },
                            Cell { write, read: none },
                            Cell { write: none, read },
                        ] {
                            let alone = writer == reader || write.is_empty() || read.is_empty();
                            let name = alone.then(|| names.name(cell, ROOM).unwrap());
                            named.push((name, names.pair(cell, ROOM).unwrap(), cell));
                        }
                    }
                }
            }
            for (name, pair, cell) in named {
                assert!(name.is_none_or(|name| name.act != 0 && names.cell(name, 0) == cell));
                assert!(pair.reader < 32 * warps && names.cell_of_pair(pair, 0) == cell);
            }
            // Of each block those that there were, once, but for the first of all.
            assert_eq!(names.count(), 7 * 6);
        }
    }

    #[test]
    fn what_has_no_name() {
        let mut names = Stamped::new(Grid::new(1000, 2), Learns::Untold);
        let (write, none) = (mark(3, 5, 9, Kind::Write), Mark::default());
        let of = |write, read| Cell { write, read };
        assert!(names.pair(of(write, mark(4, 5, 9, Kind::Read)), ROOM).is_none(), "two blocks");
        assert!(names.name(of(mark(3, 64, 9, Kind::Write), none), ROOM).is_none(), "no thread");
        assert!(names.name(of(write, none), (2, 0)).is_none(), "no room");
        assert_eq!(names.count(), 0);
    }

    fn write(block: u32, stamp: Tick) -> Cell {
        let thread = Thread { block, warp: 1, lane: 5 };
        Cell { write: Mark::new(thread, stamp, 17, Kind::Write, None), read: Mark::default() }
    }

    /// However often threads meet, their blocks have few stamps, and those that have ended none.
    #[test]
    fn what_is_past_is_alike() {
        for learns in [Learns::Never, Learns::Maybe] {
            let mut names = Stamped::new(Grid::new(1 << 12, 2), learns);
            let (mut seen, mut swept) = (0, 0);
            for block in 0..8 {
                let past = Arc::new(Past::default());
                names.begin(block, past.clone());
                for stamp in 1000 * block + 10..1000 * block + 900 {
                    past.reaches(stamp - 2, &Releases::default());
                    // Three of them are not past.
                    for stamp in stamp - 2..=stamp {
                        let (name, before) = match names.name(write(block, stamp), (0, seen)) {
                            Some(name) => (name, seen),
                            None => {
                                let (freed, now) = names.freed(seen);
                                (seen, swept) = (now, swept + 1);
                                let name = names.name(write(block, stamp), (0, seen)).unwrap();
                                let other = names.grid.number(write(block + 1, 1).thread());
                                assert!(freed.has_thread(name.thread));
                                assert!(!freed.has_thread(other.unwrap()));
                                (name, seen)
                            }
                        };
                        let own = past.first(stamp).unwrap_or(stamp);
                        assert_eq!(names.cell(name, before), write(block, own));
                    }
                }
                let last = names.name(write(block, 1000 * block + 899), (0, seen)).unwrap();
                let released = learns == Learns::Maybe && block % 2 == 1;
                names.end(block, released);
                let own = if released { 1000 * block + 899 } else { PAST };
                assert_eq!(names.cell(last, seen), write(block, own));
                assert_eq!(names.slots.contains_key(&block), released);
            }
            assert!((8 * 890 / 15..8 * 890 / 10).contains(&swept), "{swept}");
            assert!(names.acts.count() < ACTS && names.count() == 0);
        }
    }

    /// What others may have acquired of a block is kept, at the places that it had, and stamps of wide marks are anyway.
    #[test]
    fn what_is_released_stays() {
        let mut names = Stamped::new(Grid::new(1 << 12, 2), Learns::Maybe);
        let past = Arc::new(Past::default());
        past.reaches(10, &Releases::default());
        (0..2).for_each(|block| names.begin(block, past.clone()));
        let wide = |block, stamp| {
            let Cell { write, read } = write(block, stamp);
            let other = write.of(Thread { block, warp: 0, lane: 1 });
            Cell { write: other.widen(write), read }
        };
        let cells = [write(0, 20), wide(0, 9), write(0, 30), wide(1, 8), write(1, 20), write(1, 5)];
        let named = cells.map(|cell| names.name(cell, ROOM).unwrap());
        let is = |names: &Stamped, cells: [Cell; 6]| {
            assert_eq!(named.map(|name| names.cell(name, 0)), cells);
        };
        let known = [cells[0], cells[1], cells[2], cells[3], cells[4], write(1, PAST)];
        is(&names, known);
        names.end(0, true);
        names.end(1, false);
        is(&names, [known[0], known[1], known[2], known[3], known[5], known[5]]);
        assert_eq!((names.slots.len(), names.count()), (0, 4));
        // One that is not known any more is past, where nobody knows of it.
        let later = [write(0, 40), write(1, 40)].map(|cell| names.name(cell, ROOM).unwrap());
        assert_eq!(later.map(|name| names.cell(name, 0)), [write(0, 40), write(1, PAST)]);
    }
}
