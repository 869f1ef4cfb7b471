// SPDX-License-Identifier: MIT OR Apache-2.0
//! Cells of bytes that warps access far apart, where each of a page has marks of its own: 4 bytes for who wrote, which
//! number a mark in a ledger of the whole launch, 2 for what was written, and what reads take since.
//!
//! The lanes of one access share a number, so the ledger takes a 32nd of what the marks would, as long as most lanes
//! take part. It only grows, and what has not come for a while gets another number; where it would outgrow the cells, they
//! are kept as they are.

use std::ops::Range;

use parking_lot::{Mutex, MutexGuard};

use super::page::BYTES;
use super::shadow::{Cell, Mark};

/// Bytes of the ledger for each byte that has a far cell, at most, and how many it may have anyway.
const SHARE: usize = 2;
const START: usize = 1 << 16;
/// What a mark takes in it.
const ENTRY: usize = size_of::<Mark>();
/// 5 of 32 bits are the lane.
const NUMBERS: usize = 1 << 27;

/// The marks of a launch, with lane 0, by number; 0 is none.
#[derive(Debug, Default)]
pub struct Ledger(Mutex<Entries>);

#[derive(Debug, Default)]
struct Entries {
    /// From 1, and not one list, which would be twice as long at times.
    chunks: Vec<Vec<Mark>>,
    count: usize,
    /// Numbers of marks that came lately, by hash.
    recent: Vec<u32>,
    /// Lines that have far cells.
    lines: usize,
    /// Of the write and the read that came last, as the next byte's nearly always are.
    last: [u32; 2],
}

const CHUNK: usize = 512;
const RECENT: usize = 4096;

impl Entries {
    fn common(&self, number: u32) -> Mark {
        let at = number as usize - 1;
        self.chunks[at / CHUNK][at % CHUNK]
    }

    fn mark(&self, packed: u32) -> Mark {
        match packed >> 5 {
            0 => Mark::default(),
            number => self.common(number).of_lane((packed & 31) as u8),
        }
    }

    /// The number of a mark, and its lane; `None` if there is no room.
    fn pack(&mut self, mark: Mark, last: usize) -> Option<u32> {
        if mark.is_empty() {
            return Some(0);
        }
        let (common, lane) = (mark.of_lane(0), u32::from(mark.thread().lane));
        let near = self.last[last];
        if near != 0 && self.common(near) == common {
            return Some(near << 5 | lane);
        }
        let at = common.hash() as usize % RECENT;
        self.recent.resize(RECENT, 0);
        let number = match self.recent[at] {
            number if number != 0 && self.common(number) == common => number,
            _ => {
                let room = (SHARE * BYTES * self.lines + START) / ENTRY;
                if self.count >= room.min(NUMBERS - 1) {
                    return None;
                }
                if self.count.is_multiple_of(CHUNK) {
                    self.chunks.push(Vec::with_capacity(CHUNK));
                }
                self.chunks[self.count / CHUNK].push(common);
                self.count += 1;
                self.recent[at] = self.count as u32;
                self.count as u32
            }
        };
        self.last[last] = number;
        Some(number << 5 | lane)
    }
}

impl Ledger {
    fn open(&self) -> MutexGuard<'_, Entries> {
        self.0.lock()
    }
}

/// Who has read since: of few bytes as a rule, as whoever writes ends it.
#[derive(Debug)]
enum Reads {
    Few(Vec<(u8, u32)>),
    Many(Box<[u32; BYTES]>),
}

/// Bytes of a line of which it is told who read them, before there is room for all.
const FEW: usize = 32;

impl Default for Reads {
    fn default() -> Reads {
        Reads::Few(Vec::new())
    }
}

impl Reads {
    fn of(&self, n: usize) -> u32 {
        match self {
            Reads::Few(list) => list.iter().find(|(at, _)| *at as usize == n).map_or(0, |r| r.1),
            Reads::Many(all) => all[n],
        }
    }

    fn set(&mut self, n: usize, packed: u32) {
        match self {
            Reads::Many(all) => all[n] = packed,
            Reads::Few(list) => match list.iter().position(|(at, _)| *at as usize == n) {
                Some(at) if packed == 0 => {
                    list.swap_remove(at);
                }
                Some(at) => list[at].1 = packed,
                None if packed == 0 => {}
                None if list.len() < FEW => list.push((n as u8, packed)),
                None => {
                    let mut all = Box::new([0; BYTES]);
                    list.iter().for_each(|&(at, packed)| all[at as usize] = packed);
                    all[n] = packed;
                    *self = Reads::Many(all);
                }
            },
        }
    }
}

/// The cells of a line.
#[derive(Debug)]
pub struct Far {
    write: [u32; BYTES],
    /// Of the write's mark; what else has a value has it in the ledger.
    value: [u16; BYTES],
    read: Option<Box<Reads>>,
}

impl Far {
    /// `None` if there is no room in the ledger.
    pub fn new(ledger: &Ledger, cells: &[Cell; BYTES]) -> Option<Box<Far>> {
        let mut entries = ledger.open();
        let (write, value) = ([0; BYTES], [0; BYTES]);
        let mut far = Box::new(Far { write, value, read: None });
        entries.lines += 1;
        let done = (0..BYTES).all(|n| far.put_in(&mut entries, n, cells[n]));
        if !done {
            entries.lines -= 1;
        }
        done.then_some(far)
    }

    fn cell(&self, entries: &Entries, n: usize) -> Cell {
        let write = entries.mark(self.write[n]).with_value(self.value[n]);
        let read = self.read.as_ref().map_or(0, |reads| reads.of(n));
        Cell { write, read: entries.mark(read) }
    }

    fn put_in(&mut self, entries: &mut Entries, n: usize, cell: Cell) -> bool {
        let Some(write) = entries.pack(cell.write.with_value(0), 0) else { return false };
        let Some(read) = entries.pack(cell.read, 1) else { return false };
        (self.write[n], self.value[n]) = (write, cell.write.value());
        match &mut self.read {
            Some(reads) => reads.set(n, read),
            None if read == 0 => {}
            none => none.get_or_insert_default().set(n, read),
        }
        true
    }

    /// False, with nothing done, if there is no room in the ledger.
    pub fn put(&mut self, ledger: &Ledger, n: usize, cell: Cell) -> bool {
        self.put_in(&mut ledger.open(), n, cell)
    }

    /// The cells as they are, to be kept so.
    pub fn leave(&self, ledger: &Ledger) -> Box<[Cell; BYTES]> {
        let mut entries = ledger.open();
        entries.lines -= 1;
        Box::new(std::array::from_fn(|n| self.cell(&entries, n)))
    }

    /// Calls `each` on these cells, in order. If there is no room in the ledger for what it makes of one, that one comes
    /// out, and the rest is not looked at.
    pub fn visit(
        &mut self,
        ledger: &Ledger,
        cells: Range<usize>,
        each: &mut impl FnMut(&mut Cell),
    ) -> Option<(usize, Cell)> {
        for n in cells {
            let old = self.cell(&ledger.open(), n);
            let mut cell = old;
            each(&mut cell);
            if cell != old && !self.put(ledger, n, cell) {
                return Some((n, cell));
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::super::order::Thread;
    use super::super::shadow::Kind;
    use super::*;

    fn mark(block: u32, lane: u8, kind: Kind) -> Mark {
        Mark::new(Thread { block, warp: 3, lane }, 9, 17, kind, None)
    }

    #[test]
    fn cells_come_back_as_they_went_in() {
        let ledger = Ledger::default();
        for readers in [0, 20, 128] {
            let cells = std::array::from_fn(|n| Cell {
                write: mark(n as u32 / 4, n as u8 % 32, Kind::Write).with_value(n as u16 + 1),
                read: match n < readers {
                    true => mark(n as u32, 31 - n as u8 % 32, Kind::Read),
                    false => Mark::default(),
                },
            });
            let mut far = Far::new(&ledger, &cells).unwrap();
            assert!((0..BYTES).all(|n| far.cell(&ledger.open(), n) == cells[n]));
            let clear = |cell: &mut Cell| cell.read = Mark::default();
            assert!(far.visit(&ledger, 0..BYTES, &mut { clear }).is_none());
            let cleared = cells.map(|cell| Cell { read: Mark::default(), ..cell });
            assert_eq!(*far.leave(&ledger), cleared);
            assert_eq!(ledger.open().lines, 0);
        }
        let count = ledger.open().count;
        assert!(
            (32 + 128..32 + 256).contains(&count),
            "lanes and values are none of the ledger's: {count}"
        );
    }

    #[test]
    fn the_ledger_does_not_outgrow_the_cells() {
        let ledger = Ledger::default();
        let mut far = Far::new(&ledger, &[Cell::default(); BYTES]).unwrap();
        let cell = |block| Cell { write: mark(block, 5, Kind::Write), read: Mark::default() };
        let full = (0..).find(|&block| !far.put(&ledger, 0, cell(block))).unwrap();
        assert_eq!(full as usize, (START + SHARE * BYTES) / ENTRY);
        let left = far.visit(&ledger, 0..2, &mut |c: &mut Cell| *c = cell(full));
        assert_eq!(left, Some((0, cell(full))));
        assert_eq!(far.leave(&ledger)[0], cell(full - 1));
        let other = [cell(full); BYTES];
        assert!(Far::new(&ledger, &other).is_none() && ledger.open().lines == 0);
    }
}
