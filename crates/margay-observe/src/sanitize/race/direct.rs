// SPDX-License-Identifier: MIT OR Apache-2.0
//! Direct names ([`super::ledger`]): the thread's number in the grid, and that of what it did.

use super::acts::{self, ACTS, Acts};
use super::order::Thread;
use super::shadow::Cell;

/// Nobody's thread, in place of what is not part of an act.
pub const NOBODY: Thread = Thread { block: 0, warp: 0, lane: 0 };

/// The name of what a thread did. That of nobody has no act.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Name {
    /// Its number in the grid.
    pub thread: u64,
    /// The number of what it did, from 1.
    pub act: u32,
}

/// Names of a grid's threads.
#[derive(Clone, Copy, Debug, Default)]
pub struct Grid {
    /// Bits of a name of 32 that are an act's number.
    bits: u32,
    blocks: u64,
    /// Of a block.
    warps: u32,
}

impl Grid {
    /// Of so many blocks, each of so many warps.
    pub fn new(blocks: u64, warps: u32) -> Grid {
        let grid = Grid { bits: 0, blocks, warps };
        match grid.thread_bits() {
            0 => grid,
            own => Grid { bits: 32u32.saturating_sub(own), ..grid },
        }
    }

    pub fn blocks(self) -> u64 {
        self.blocks
    }

    /// Bits of the number of a thread.
    pub fn thread_bits(self) -> u32 {
        let threads = self.blocks.saturating_mul(u64::from(self.threads()));
        64 - threads.saturating_sub(1).leading_zeros()
    }

    /// Bits of the number of a thread in its block.
    pub fn reader_bits(self) -> u32 {
        32 - self.threads().saturating_sub(1).leading_zeros()
    }

    /// Acts that names of 32 bits have room for.
    pub fn acts(self) -> usize {
        self.most_acts().min(ACTS)
    }

    /// The same where nothing else takes as little as so many.
    pub fn most_acts(self) -> usize {
        ((1usize << self.bits) - 1).min(acts::MOST)
    }

    /// The number of a thread; `None` if the grid has no such one.
    pub fn number(self, Thread { block, warp, lane }: Thread) -> Option<u64> {
        let is_there = u64::from(block) < self.blocks && u32::from(warp) < self.warps;
        let warp = u64::from(block) * u64::from(self.warps) + u64::from(warp);
        is_there.then_some(warp << 5 | u64::from(lane))
    }

    /// Of a block, in whole warps.
    pub fn threads(self) -> u32 {
        32 * self.warps
    }

    /// The thread of a number.
    pub fn thread(self, number: u64) -> Thread {
        let (warp, warps) = (number / 32, u64::from(self.warps));
        let block = (warp / warps) as u32;
        Thread { block, warp: (warp % warps) as u16, lane: (number % 32) as u8 }
    }

    /// A name in 32 bits, if that is enough: nobody's as 0.
    #[inline]
    pub fn cut(self, Name { thread, act }: Name) -> Option<u32> {
        let fits = act >> self.bits == 0 && (thread << self.bits) >> 32 == 0;
        fits.then_some((thread << self.bits) as u32 | act)
    }

    /// The name of which [`Grid::cut`] made this.
    #[inline]
    pub fn uncut(self, name: u32) -> Name {
        let act = name & ((1 << self.bits) - 1);
        Name { thread: u64::from(name >> self.bits), act }
    }
}

/// Names of what is done by threads that do not synchronise: stamps are part of the acts.
#[derive(Debug)]
pub struct Direct {
    pub acts: Acts,
    grid: Grid,
}

impl Direct {
    pub fn new(grid: Grid) -> Direct {
        Direct { acts: Acts::new(), grid }
    }

    pub fn cell(&self, name: Name) -> Cell {
        self.acts.get(name.act as usize).of(self.grid.thread(name.thread))
    }

    /// The name of a cell that is not empty; `None` if there is no room.
    pub fn name(&self, cell: Cell) -> Option<Name> {
        let thread = self.grid.number(cell.thread())?;
        Some(Name { thread, act: self.acts.number(cell.of(NOBODY))? as u32 })
    }
}

#[cfg(test)]
mod tests {
    use super::super::shadow::{Kind, Mark};
    use super::*;

    /// Short names have as many acts as bits are left, and names of any grid have all.
    #[test]
    fn there_are_as_many_names_as_bits_are_left() {
        for (blocks, warps, most) in
            [(1, 1, ACTS), (1 << 20, 8, 15), (1 << 27, 1, 0), (1 << 32, 32, 0)]
        {
            let grid = Grid::new(blocks, warps);
            let direct = Direct::new(grid);
            let thread = Thread { block: 0, warp: 0, lane: 7 };
            let of = |stamp| Cell {
                write: Mark::new(thread, stamp, 3, Kind::Write, None),
                read: Mark::default(),
            };
            assert_eq!(grid.acts(), most);
            assert_eq!(grid.most_acts(), if most == ACTS { acts::MOST } else { most });
            let named: Vec<Name> = (1..).map_while(|n| direct.name(of(n))).collect();
            assert_eq!(named.len(), ACTS);
            assert_eq!(named.iter().filter(|name| grid.cut(**name).is_some()).count(), most);
            if let Ok(far) = u32::try_from(blocks) {
                // Nor for threads that the grid does not have.
                assert!(direct.name(of(1).of(Thread { block: far, ..thread })).is_none());
            }
            let last = (blocks - 1) as u32;
            let last = Thread { block: last, warp: warps as u16 - 1, lane: 31 };
            for n in 1..=ACTS as u32 {
                let cell = of(n).of(last);
                let name = direct.name(cell).unwrap();
                assert!(name.thread >> grid.thread_bits() == 0);
                assert_eq!(direct.cell(name), cell);
                assert_eq!(grid.cut(name).is_some(), n as usize <= most);
                assert!(grid.cut(name).is_none_or(|short| grid.uncut(short) == name));
            }
        }
    }
}
