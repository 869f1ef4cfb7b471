// SPDX-License-Identifier: MIT OR Apache-2.0
//! Cells as they are, in 28 bytes instead of the 32 that two marks take: of each address of code 16 bits, and 4 more in
//! the place of a block's highest bits. What does not fit, as of programs of millions of instructions, is kept beside.

use std::collections::HashMap;

use super::page::BYTES;
use super::shadow::{Cell, Mark};

/// Bits of a mark's place of the block that are the block's.
const BLOCK: u32 = 28;
/// Bits of an address of code that have a place of their own.
const PC: u32 = 16;
/// In place of a cell that is kept beside, and of no other: no access is of such a kind.
const BESIDE: Tight = Tight([u32::MAX; 7]);

/// A cell: of the write and of the read block, stamp and bits, and both addresses of code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tight([u32; 7]);

impl Tight {
    /// `None` if the cell does not fit.
    #[inline]
    pub fn of(cell: Cell) -> Option<Tight> {
        let Cell { write, read } = cell;
        let blocks = (write.block | read.block) >> BLOCK;
        let codes = (write.pc | read.pc) >> (PC + 32 - BLOCK);
        if blocks | codes != 0 {
            return None;
        }
        let block = |mark: Mark| mark.block | mark.pc >> PC << BLOCK;
        let codes = write.pc & ((1 << PC) - 1) | read.pc << PC;
        let [of_write, of_read] = [write.bits(), read.bits()];
        Some(Tight([block(write), write.stamp, of_write, block(read), read.stamp, of_read, codes]))
    }

    #[inline]
    fn is_beside(self) -> bool {
        self.0[2] == u32::MAX
    }

    pub fn words(self) -> [u32; 7] {
        self.0
    }

    pub fn from_words(words: &[u32; 7]) -> Tight {
        Tight(*words)
    }

    #[inline]
    pub fn cell(self) -> Cell {
        let [write, wrote, of_write, read, was_read, of_read, codes] = self.0;
        let mark = |block: u32, stamp, bits, code: u32| {
            let (block, high) = (block & ((1 << BLOCK) - 1), block >> BLOCK);
            Mark::from_bits(block, stamp, code | high << PC, bits)
        };
        Cell {
            write: mark(write, wrote, of_write, codes & ((1 << PC) - 1)),
            read: mark(read, was_read, of_read, codes >> PC),
        }
    }
}

/// Cells that do not fit, by number.
#[derive(Debug, Default)]
struct Beside(HashMap<u8, Cell>);

/// The cells of a line.
#[derive(Debug)]
pub struct Plain<const N: usize> {
    cells: [Tight; N],
    beside: Option<Box<Beside>>,
}

impl<const N: usize> Default for Plain<N> {
    fn default() -> Plain<N> {
        Plain { cells: [Tight::default(); N], beside: None }
    }
}

impl<const N: usize> Plain<N> {
    /// Cells by what makes each.
    pub fn of(cell: impl Fn(usize) -> Cell) -> Box<Plain<N>> {
        let mut plain = Box::<Plain<N>>::default();
        (0..N).for_each(|n| plain.put(n, cell(n)));
        plain
    }

    #[inline]
    pub fn cell(&self, n: usize) -> Cell {
        match self.cells[n].is_beside() {
            true => self.beside(n),
            false => self.cells[n].cell(),
        }
    }

    #[cold]
    fn beside(&self, n: usize) -> Cell {
        let own = self.beside.as_ref().and_then(|beside| beside.0.get(&(n as u8)));
        own.copied().unwrap_or_default()
    }

    #[inline]
    pub fn put(&mut self, n: usize, cell: Cell) {
        match Tight::of(cell) {
            Some(tight) if !self.cells[n].is_beside() => self.cells[n] = tight,
            tight => self.put_beside(n, cell, tight),
        }
    }

    #[cold]
    fn put_beside(&mut self, n: usize, cell: Cell, tight: Option<Tight>) {
        let Beside(beside) = &mut **self.beside.get_or_insert_default();
        match tight {
            Some(_) => beside.remove(&(n as u8)),
            None => beside.insert(n as u8, cell),
        };
        self.cells[n] = tight.unwrap_or(BESIDE);
    }

    /// Calls `each` on these cells, in order.
    #[inline]
    pub fn visit(&mut self, cells: std::ops::Range<usize>, each: &mut impl FnMut(&mut Cell)) {
        for n in cells {
            let mut cell = self.cell(n);
            each(&mut cell);
            self.put(n, cell);
        }
    }
}

// A cell's number is kept in 8 bits.
const _: () = assert!(BYTES <= 256);

#[cfg(test)]
mod tests {
    use margay_ir::Scope;

    use super::super::order::Thread;
    use super::super::shadow::Kind;
    use super::*;

    #[test]
    fn cells_come_back_as_they_went_in() {
        assert!(size_of::<Plain<32>>() <= 32 * 28 + 8);
        let mut line = Plain::<32>::default();
        let marks = [0, 1, (1 << 28) - 1, 1 << 28, u32::MAX].map(|block| {
            [1, 0xffff, 0x1_0000, 0xf_ffff, 0x10_0000, u32::MAX].map(|pc| {
                let thread = Thread { block, warp: 31, lane: 31 };
                let mark = Mark::new(thread, u32::MAX, pc, Kind::Atomic, Some(Scope::Sys));
                mark.with_value(u16::MAX)
            })
        });
        let marks = marks.as_flattened();
        let none = [Mark::default()];
        let mut large = 0;
        for (n, &write) in marks.iter().chain(&none).enumerate() {
            for &read in marks.iter().chain(&none) {
                let (n, cell) = (n % 32, Cell { write, read });
                line.put(n, cell);
                assert_eq!(line.cell(n), cell);
                large += line.beside.as_ref().map_or(0, |beside| beside.0.len());
                line.visit(n..n + 1, &mut |cell| *cell = Cell { write: cell.read, read: none[0] });
                assert_eq!(line.cell(n), Cell { write: read, read: none[0] });
            }
            line.put(n % 32, Cell::default());
            assert!(line.beside.as_ref().is_none_or(|beside| beside.0.is_empty()));
        }
        assert!(large > 0);
    }
}
