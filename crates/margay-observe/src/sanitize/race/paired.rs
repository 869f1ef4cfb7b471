// SPDX-License-Identifier: MIT OR Apache-2.0
//! Cells of bytes that one thread of a block writes and another one reads: 5.25 bytes for both, by a name that the whole launch
//! knows ([`super::stamped`]), and 1 for what was written.

use std::ops::Range;

use super::byte_value::Values;
use super::ledger::Book;
use super::page::BYTES;
use super::shadow::Cell;
use super::stamped::{Freed, PAIR, THREAD};

/// The cells of a line: of each name the lowest bits, the next, and those that are left, of four names in a byte.
#[derive(Debug)]
pub struct Paired {
    low: [u32; BYTES],
    next: [u8; BYTES],
    high: [u8; BYTES / 4],
    /// Of the write's mark; what else has a value has it in the ledger.
    values: Values,
}

const _: () = assert!(PAIR <= 32 + 8 + 2);

impl Paired {
    /// `None` if there is no room in the ledger.
    pub fn new(book: Book<'_>, cells: &[Cell; BYTES]) -> Option<Box<Paired>> {
        book.enter();
        let (low, next, high) = ([0; BYTES], [0; BYTES], [0; BYTES / 4]);
        let mut pairs = Box::new(Paired { low, next, high, values: Values::default() });
        let done = (0..BYTES).all(|n| pairs.put(book, n, cells[n]));
        if !done {
            book.leave();
        }
        done.then_some(pairs)
    }

    fn pair(&self, n: usize) -> u64 {
        let high = u64::from(self.high[n / 4] >> (n % 4 * 2) & 3);
        high << 40 | u64::from(self.next[n]) << 32 | u64::from(self.low[n])
    }

    fn cell(&self, book: Book<'_>, n: usize) -> Cell {
        let cell = book.bare_cell_of_pair(self.pair(n));
        Cell { write: self.values.mark(n, cell.write), ..cell }
    }

    /// The cells as they are.
    pub fn cells(&self, book: Book<'_>) -> [Cell; BYTES] {
        std::array::from_fn(|n| self.cell(book, n))
    }

    /// As [`super::far::Far::turn`].
    pub fn turn(&mut self, (old, new): (Book<'_>, Book<'_>), freed: &Freed) -> bool {
        (0..BYTES).all(|n| {
            !freed.has((self.pair(n) >> THREAD) as u32) || self.put(new, n, self.cell(old, n))
        })
    }

    /// False, with nothing done, if there is no room in the ledger, or if the book is old.
    pub fn put(&mut self, book: Book<'_>, n: usize, cell: Cell) -> bool {
        let bare = Cell { write: Values::bare(cell.write), ..cell };
        let Some(pair) = book.bare_pair(bare) else { return false };
        (self.low[n], self.next[n]) = (pair as u32, (pair >> 32) as u8);
        self.values.put(n, cell.write);
        let high = &mut self.high[n / 4];
        *high = *high & !(3 << (n % 4 * 2)) | ((pair >> 40) as u8) << (n % 4 * 2);
        true
    }

    /// As [`super::far::Far::visit`].
    pub fn visit(
        &mut self,
        book: Book<'_>,
        cells: Range<usize>,
        each: &mut impl FnMut(&mut Cell),
    ) -> Option<(usize, Cell)> {
        for n in cells {
            let old = self.cell(book, n);
            let mut cell = old;
            each(&mut cell);
            if cell != old && !self.put(book, n, cell) {
                return Some((n, cell));
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::super::ledger::Ledger;
    use super::super::order::Thread;
    use super::super::shadow::{Kind, Mark};
    use super::super::stamped::Learns;
    use super::*;

    #[test]
    fn cells_come_back_as_they_went_in() {
        let mark = |n: usize, stamp, kind| {
            let thread = Thread { block: n as u32 / 16, warp: n as u16 % 4, lane: n as u8 % 32 };
            Mark::new(thread, stamp, 7, kind, None)
        };
        let cells = std::array::from_fn(|n| {
            let write = mark(n, 3, Kind::Write).with_value(n as u16 * 500 + 1);
            let read = mark(n ^ 3, 4 + n as u32 / 16, Kind::Read);
            match n % 5 {
                0 => Cell::default(),
                1 => Cell { write, ..Cell::default() },
                2 => Cell { read, ..Cell::default() },
                _ => Cell { write, read },
            }
        });
        let ledger = Ledger::new(128, 4, Learns::Untold);
        let book = ledger.book(0);
        let mut pairs = Paired::new(book, &cells).unwrap();
        assert_eq!(pairs.cells(book), cells);
        for n in 0..BYTES {
            let other = cells[BYTES - 1 - n];
            assert!(pairs.visit(book, n..n + 1, &mut |cell: &mut Cell| *cell = other).is_none());
        }
        assert!((0..BYTES).all(|n| pairs.cell(book, n) == cells[BYTES - 1 - n]));
        // Of two blocks.
        let two = Cell { write: mark(1, 3, Kind::Write), read: mark(17, 3, Kind::Read) };
        let left = pairs.visit(book, 9..11, &mut |cell: &mut Cell| *cell = two);
        assert_eq!(left, Some((9, two)));
        assert!(Paired::new(book, &[two; BYTES]).is_none());
    }
}
