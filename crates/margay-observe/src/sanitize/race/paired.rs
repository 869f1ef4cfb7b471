// SPDX-License-Identifier: MIT OR Apache-2.0
//! Cells of bytes that one thread of a block writes and another one reads: 5.25 bytes for both, or 6.5 in very large grids, by a
//! name that the whole launch knows ([`super::stamped`]), and 1 for what was written.

use std::ops::Range;

use super::acts::ACT_BITS;
use super::bits::Bits;
use super::byte_value::Values;
use super::direct::Name;
use super::ledger::Book;
use super::page::BYTES;
use super::shadow::Cell;
use super::stamped::{Freed, Pair};

/// Bits of a name, if these do, and else.
const NARROW: u32 = 42;
const WIDE: u32 = 52;

/// The cells of a line: of each the writer's number, the reader's, and what they did.
#[derive(Debug)]
pub struct Paired {
    names: Bits,
    /// Of the write's mark; what else has a value has it in the ledger.
    values: Values,
}

/// Bits of a name in a grid; `None` if they are too many.
fn width(book: Book<'_>) -> Option<u32> {
    let own = book.grid().thread_bits() + book.grid().reader_bits() + ACT_BITS;
    [NARROW, WIDE].into_iter().find(|width| own <= *width)
}

impl Paired {
    /// `None` if there is no room in the ledger.
    pub fn new(book: Book<'_>, cells: &[Cell; BYTES]) -> Option<Box<Paired>> {
        let names = Bits::zeros(BYTES * width(book)? as usize);
        book.enter();
        let mut pairs = Box::new(Paired { names, values: Values::default() });
        let done = (0..BYTES).all(|n| pairs.put(book, n, cells[n]));
        if !done {
            book.leave();
        }
        done.then_some(pairs)
    }

    fn pair(&self, book: Book<'_>, n: usize) -> Pair {
        let width = self.names.len() / BYTES;
        let own = self.names.get(n * width, width);
        let (reader_bits, low) = (book.grid().reader_bits(), |bits: u32| own & ((1 << bits) - 1));
        let act = low(ACT_BITS) as u32;
        let reader = (low(ACT_BITS + reader_bits) >> ACT_BITS) as u32;
        Pair { name: Name { thread: own >> (ACT_BITS + reader_bits), act }, reader }
    }

    fn cell(&self, book: Book<'_>, n: usize) -> Cell {
        let cell = book.bare_cell_of_pair(self.pair(book, n));
        Cell { write: self.values.mark(n, cell.write), ..cell }
    }

    /// The cells as they are.
    pub fn cells(&self, book: Book<'_>) -> [Cell; BYTES] {
        std::array::from_fn(|n| self.cell(book, n))
    }

    /// As [`super::far::Far::turn`].
    pub fn turn(&mut self, (old, new): (Book<'_>, Book<'_>), freed: &Freed) -> bool {
        let is_freed = |own: &Paired, n| freed.has_thread(own.pair(old, n).name.thread);
        if !(0..BYTES).any(|n| is_freed(self, n)) {
            return true;
        }
        let before = self.names.clone();
        let done = (0..BYTES).all(|n| !is_freed(self, n) || self.put(new, n, self.cell(old, n)));
        if !done {
            self.names = before;
        }
        done
    }

    /// False, with nothing done, if there is no room in the ledger, or if the book is old.
    pub fn put(&mut self, book: Book<'_>, n: usize, cell: Cell) -> bool {
        let bare = Cell { write: Values::bare(cell.write), ..cell };
        let Some(Pair { name, reader }) = book.bare_pair(bare) else { return false };
        if name.act >> ACT_BITS != 0 {
            return false;
        }
        let both = name.thread << book.grid().reader_bits() | u64::from(reader);
        let width = self.names.len() / BYTES;
        self.names.set(n * width, width, both << ACT_BITS | u64::from(name.act));
        self.values.put(n, cell.write);
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
        let (huge, far) = ([(1 << 24, 32), (1 << 30, 4)], (1 << 32, 32));
        for (blocks, warps) in huge {
            let ledger = Ledger::new(blocks, warps, Learns::Untold);
            let pairs = Paired::new(ledger.book(0), &cells).unwrap();
            assert_eq!(pairs.cells(ledger.book(0)), cells);
            assert_eq!(pairs.names.len(), BYTES * WIDE as usize);
        }
        assert!(Paired::new(Ledger::new(far.0, far.1, Learns::Untold).book(0), &cells).is_none());
        let ledger = Ledger::new(128, 4, Learns::Untold);
        let book = ledger.book(0);
        let mut pairs = Paired::new(book, &cells).unwrap();
        assert_eq!(pairs.cells(book), cells);
        assert_eq!(pairs.names.len(), BYTES * NARROW as usize);
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
