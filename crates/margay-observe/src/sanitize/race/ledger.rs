// SPDX-License-Identifier: MIT OR Apache-2.0
//! Names of 32 bits, of a whole launch, for what a thread did to a byte: that it wrote it, or read it since, or both.
//!
//! - A *direct* name is the thread's number in the grid, and in the bits that are left a number in a table of what threads
//!   did: by which instructions, with which stamps. The table is short as long as threads do not synchronise, however few
//!   of a warp take part in an access.
//! - A *listed* name is a number in a list of marks, and the lane. The lanes of one access share a number, so the list takes
//!   a 32nd of what the marks would, as long as most lanes take part. It only grows, and what has not come for a while gets
//!   another number; where it would outgrow the cells, there are no more names.

use parking_lot::{Mutex, MutexGuard};

use super::order::Thread;
use super::page::BYTES;
use super::shadow::{Cell, Mark};

/// Bytes of the list for each byte that is named, at most, and how many it may have anyway.
const SHARE: usize = 2;
const START: usize = 1 << 16;
/// What a mark takes in it.
const ENTRY: usize = size_of::<Mark>();
/// 5 of 32 bits are the lane.
const NUMBERS: usize = 1 << 27;
/// Entries of the table of direct names, at most.
const ACTS: usize = 511;

/// How a name is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    Direct,
    Listed,
}

/// The names of a launch. 0 is that of a cell that nobody has accessed.
#[derive(Debug, Default)]
pub struct Ledger(Mutex<Names>);

#[derive(Debug, Default)]
pub struct Names {
    acts: Acts,
    list: List,
    /// Lines that have names.
    lines: usize,
}

impl Ledger {
    /// For a grid of so many blocks, each of so many warps.
    pub fn new(blocks: u64, warps: u32) -> Ledger {
        Ledger(Mutex::new(Names { acts: Acts::new(blocks, warps), ..Names::default() }))
    }

    pub fn open(&self) -> MutexGuard<'_, Names> {
        self.0.lock()
    }
}

impl Names {
    /// One more line has names, of this form.
    pub fn enter(&mut self) -> Form {
        self.lines += 1;
        if self.acts.list.len() < self.acts.most { Form::Direct } else { Form::Listed }
    }

    /// A line has none any more.
    pub fn leave(&mut self) {
        self.lines -= 1;
    }

    pub fn cell(&self, form: Form, name: u32) -> Cell {
        match (name, form) {
            (0, _) => Cell::default(),
            (_, Form::Direct) => self.acts.cell(name),
            (_, Form::Listed) => self.list.cell(name),
        }
    }

    /// The name of a cell whose write, which has no value, and read are the same thread's, if there are both. `None` if
    /// there is no room.
    pub fn name(&mut self, form: Form, cell: Cell) -> Option<u32> {
        if cell == Cell::default() {
            return Some(0);
        }
        match form {
            Form::Direct => self.acts.name(cell),
            Form::Listed => self.list.name(cell, (SHARE * BYTES * self.lines + START) / ENTRY),
        }
    }
}

/// What threads did, but for which thread it was.
#[derive(Debug, Default)]
struct Acts {
    /// From 1.
    list: Vec<Cell>,
    /// Numbers by hash: a power of two of them, more than there are entries.
    slots: Vec<u16>,
    /// What there is room for.
    most: usize,
    /// Bits of a name that are a number.
    bits: u32,
    /// Of the grid.
    blocks: u64,
    /// Of a block.
    warps: u32,
    last: u16,
}

impl Acts {
    fn new(blocks: u64, warps: u32) -> Acts {
        let threads = blocks.saturating_mul(u64::from(warps) * 32);
        let bits = 32u32.saturating_sub(64 - threads.saturating_sub(1).leading_zeros());
        let most = ((1usize << bits) - 1).min(ACTS);
        Acts { most, bits, blocks, warps, ..Acts::default() }
    }

    fn cell(&self, name: u32) -> Cell {
        let (number, thread) = (name & ((1 << self.bits) - 1), name >> self.bits);
        let (warp, lane) = (thread / 32, (thread % 32) as u8);
        let block = warp / self.warps;
        let thread = Thread { block, warp: (warp % self.warps) as u16, lane };
        let of = |mark: Mark| if mark.is_empty() { mark } else { mark.of(thread) };
        let Cell { write, read } = self.list[number as usize - 1];
        Cell { write: of(write), read: of(read) }
    }

    fn name(&mut self, cell: Cell) -> Option<u32> {
        let Thread { block, warp, lane } = match cell.write.is_empty() {
            true => cell.read.thread(),
            false => cell.write.thread(),
        };
        if u64::from(block) >= self.blocks || u32::from(warp) >= self.warps {
            return None;
        }
        let number = u32::from(self.number(cell)?);
        let thread = (block * self.warps + u32::from(warp)) * 32 + u32::from(lane);
        Some(thread << self.bits | number)
    }

    fn number(&mut self, cell: Cell) -> Option<u16> {
        let nobody = Thread { block: 0, warp: 0, lane: 0 };
        let act = Cell { write: cell.write.of(nobody), read: cell.read.of(nobody) };
        if self.last != 0 && self.list[self.last as usize - 1] == act {
            return Some(self.last);
        }
        if self.slots.len() <= self.list.len() * 2 {
            self.slots = vec![0; (self.list.len() * 4).max(16)];
            for n in 0..self.list.len() {
                let at = self.slot(self.list[n]);
                self.slots[at] = n as u16 + 1;
            }
        }
        let at = self.slot(act);
        if self.slots[at] == 0 {
            if self.list.len() == self.most {
                return None;
            }
            self.list.push(act);
            self.slots[at] = self.list.len() as u16;
        }
        self.last = self.slots[at];
        Some(self.last)
    }

    /// The slot of an entry, or the one that it would have.
    fn slot(&self, act: Cell) -> usize {
        let mask = self.slots.len() - 1;
        let mut at = (act.write.hash() ^ act.read.hash().rotate_left(16)) as usize & mask;
        while self.slots[at] != 0 && self.list[self.slots[at] as usize - 1] != act {
            at = (at + 1) & mask;
        }
        at
    }
}

/// Marks by number. In place of the lane they have what the number stands for.
#[derive(Debug, Default)]
struct List {
    /// From 1, and not one list, which would be twice as long at times.
    chunks: Vec<Vec<Mark>>,
    count: usize,
    /// Numbers of marks that came lately, by hash.
    recent: Vec<u32>,
    /// Of each kind the one that came last, as the next byte's nearly always is.
    last: [u32; 3],
}

const CHUNK: usize = 512;
const RECENT: usize = 4096;

/// What a number stands for: a write, a read, or a read beside a write of the same thread, whose number is in place of the
/// block.
const WRITE: u8 = 0;
const READ: u8 = 1;
const BOTH: u8 = 2;

impl List {
    fn entry(&self, number: u32) -> Mark {
        let at = number as usize - 1;
        self.chunks[at / CHUNK][at % CHUNK]
    }

    fn cell(&self, name: u32) -> Cell {
        let (entry, lane) = (self.entry(name >> 5), (name & 31) as u8);
        let (mark, none) = (entry.of_lane(lane), Mark::default());
        match entry.thread().lane {
            WRITE => Cell { write: mark, read: none },
            READ => Cell { write: none, read: mark },
            _ => {
                let write = self.entry(entry.block).of_lane(lane);
                Cell { write, read: mark.of_block(write.block) }
            }
        }
    }

    fn name(&mut self, cell: Cell, room: usize) -> Option<u32> {
        let Cell { write, read } = cell;
        let of = |mark: Mark, kind: u8| mark.of_lane(kind);
        let (number, lane) = match (write.is_empty(), read.is_empty()) {
            (_, true) => (self.number(of(write, WRITE), room)?, write.thread().lane),
            (true, false) => (self.number(of(read, READ), room)?, read.thread().lane),
            (false, false) => {
                let block = self.number(of(write, WRITE), room)?;
                let both = of(read, BOTH).of_block(block);
                (self.number(both, room)?, write.thread().lane)
            }
        };
        Some(number << 5 | u32::from(lane))
    }

    fn number(&mut self, entry: Mark, room: usize) -> Option<u32> {
        let kind = usize::from(entry.thread().lane);
        let near = self.last[kind];
        if near != 0 && self.entry(near) == entry {
            return Some(near);
        }
        let at = entry.hash() as usize % RECENT;
        self.recent.resize(RECENT, 0);
        let is_there = |at: &usize| self.recent[*at] != 0 && self.entry(self.recent[*at]) == entry;
        let number = match [at, at ^ 1].into_iter().find(is_there) {
            Some(at) => self.recent[at],
            None => {
                if self.count >= room.min(NUMBERS - 1) {
                    return None;
                }
                if self.count.is_multiple_of(CHUNK) {
                    self.chunks.push(Vec::with_capacity(CHUNK));
                }
                self.chunks[self.count / CHUNK].push(entry);
                self.count += 1;
                self.recent[at ^ 1] = self.recent[at];
                self.recent[at] = self.count as u32;
                self.count as u32
            }
        };
        self.last[kind] = number;
        Some(number)
    }
}

#[cfg(test)]
mod tests {
    use super::super::shadow::Kind;
    use super::*;

    fn cell(block: u32, writes: bool, reads: bool) -> Cell {
        let thread = Thread { block, warp: 2, lane: block as u8 % 32 };
        let mark = |pc, kind, there| match there {
            true => Mark::new(thread, 9, pc, kind, None),
            false => Mark::default(),
        };
        Cell { write: mark(17, Kind::Write, writes), read: mark(19, Kind::Read, reads) }
    }

    #[test]
    fn a_name_stands_for_its_cell() {
        for (ledger, form) in
            [(Ledger::new(1 << 20, 3), Form::Direct), (Ledger::default(), Form::Listed)]
        {
            let mut names = ledger.open();
            assert_eq!(names.enter(), form);
            for (writes, reads) in [(false, false), (true, false), (false, true), (true, true)] {
                for block in [0, 1, 77, (1 << 20) - 1] {
                    let cell = cell(block, writes, reads);
                    let name = names.name(form, cell).unwrap();
                    assert_eq!(name == 0, cell == Cell::default());
                    assert_eq!(names.cell(form, name), cell);
                }
            }
            let (acts, entries) = (names.acts.list.len(), names.list.count);
            match form {
                Form::Direct => assert_eq!((acts, entries), (3, 0)),
                // The write has its number already.
                Form::Listed => assert_eq!((acts, entries), (0, 4 * 3)),
            }
        }
    }

    #[test]
    fn there_are_as_many_direct_names_as_bits_are_left() {
        for (blocks, warps, most) in
            [(1, 1, ACTS), (1 << 20, 8, 15), (1 << 27, 1, 0), (u64::MAX, 32, 0)]
        {
            let mut names = Names { acts: Acts::new(blocks, warps), ..Names::default() };
            let form = if most == 0 { Form::Listed } else { Form::Direct };
            assert_eq!(names.enter(), form);
            let thread = Thread { block: 0, warp: 0, lane: 7 };
            let of = |stamp| Cell {
                write: Mark::new(thread, stamp, 3, Kind::Write, None),
                read: Mark::default(),
            };
            let named = (1..).take_while(|&n| names.name(Form::Direct, of(n)).is_some()).count();
            assert_eq!(named, most);
            assert_eq!(names.enter(), Form::Listed);
            if most > 0 {
                // Nor for threads that the grid does not have.
                let far = Thread { block: blocks as u32, ..thread };
                let cell = Cell { write: of(1).write.of(far), read: Mark::default() };
                assert!(names.name(Form::Direct, cell).is_none());
                assert!(names.name(Form::Direct, of(1)).is_some());
            }
        }
    }
}
