// SPDX-License-Identifier: MIT OR Apache-2.0
//! Listed names ([`super::ledger`]): a number in a list of marks, and the lane. The list only grows.

use super::shadow::{Cell, Mark};

/// What a mark takes in the list.
pub const ENTRY: usize = size_of::<Mark>();
/// 5 of 32 bits are the lane.
const NUMBERS: usize = 1 << 27;

/// Marks by number. In place of the lane they have what the number stands for.
#[derive(Debug, Default)]
pub struct List {
    /// From 1, and not one list, which would be twice as long at times.
    chunks: Vec<Vec<Mark>>,
    pub count: usize,
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

    pub fn cell(&self, name: u32) -> Cell {
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

    pub fn name(&mut self, cell: Cell, room: usize) -> Option<u32> {
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
