// SPDX-License-Identifier: MIT OR Apache-2.0
//! Direct names ([`super::ledger`]): the thread's number in the grid, and in the bits that are left that of what it did.

use super::acts::Acts;
use super::order::Thread;
use super::shadow::Cell;
use super::stamped::THREAD;

/// Nobody's thread, in place of what is not part of an act.
pub const NOBODY: Thread = Thread { block: 0, warp: 0, lane: 0 };

/// How names are made of a grid's threads.
#[derive(Clone, Copy, Debug, Default)]
pub struct Grid {
    /// Bits of a name that are an act's number.
    pub bits: u32,
    blocks: u64,
    /// Of a block.
    warps: u32,
}

impl Grid {
    /// Of so many blocks, each of so many warps.
    pub fn new(blocks: u64, warps: u32) -> Grid {
        let threads = blocks.saturating_mul(u64::from(warps) * 32);
        let bits = match threads {
            0 => 0,
            _ => 32u32.saturating_sub(64 - (threads - 1).leading_zeros()),
        };
        Grid { bits, blocks, warps }
    }

    /// The name of a thread that does what has this number; `None` if the grid has no such thread.
    pub fn name(self, Thread { block, warp, lane }: Thread, act: usize) -> Option<u32> {
        let is_there = u64::from(block) < self.blocks && u32::from(warp) < self.warps;
        let thread = block.wrapping_mul(self.warps).wrapping_add(u32::from(warp));
        is_there.then_some((thread << 5 | u32::from(lane)) << self.bits | act as u32)
    }

    /// Of a block, in whole warps.
    pub fn threads(self) -> u32 {
        32 * self.warps
    }

    /// A name in 24 bits, if that is enough.
    pub fn narrow(self, name: u32) -> Option<u32> {
        let act_bits = self.bits.checked_sub(8)?;
        let (thread, act) = (name >> self.bits, name & ((1u32 << self.bits) - 1));
        (act >> act_bits == 0).then_some(thread << act_bits | act)
    }

    /// The name of which [`Grid::narrow`] made this.
    pub fn widen(self, narrow: u32) -> u32 {
        let act_bits = self.bits.saturating_sub(8);
        (narrow >> act_bits) << self.bits | narrow & ((1 << act_bits) - 1)
    }

    /// The name of a pair ([`super::stamped`]) in 32 bits, if that is enough: with fewer for the reader and for the act.
    pub fn narrow_pair(self, pair: u64) -> Option<u32> {
        let reader_bits = self.reader_bits();
        let act_bits = self.bits.checked_sub(reader_bits)?;
        let (name, reader) = ((pair >> THREAD) as u32, pair as u32 & ((1 << THREAD) - 1));
        let (thread, act) = (name >> self.bits, name & ((1 << self.bits) - 1));
        let fits = act >> act_bits == 0 && reader >> reader_bits == 0;
        fits.then_some((thread << reader_bits | reader) << act_bits | act)
    }

    /// The name of which [`Grid::narrow_pair`] made this.
    pub fn widen_pair(self, narrow: u32) -> u64 {
        let reader_bits = self.reader_bits();
        let act_bits = self.bits.saturating_sub(reader_bits);
        let (both, act) = (narrow >> act_bits, narrow & ((1 << act_bits) - 1));
        let (thread, reader) = (both >> reader_bits, both & ((1 << reader_bits) - 1));
        u64::from(thread << self.bits | act) << THREAD | u64::from(reader)
    }

    /// Bits of the number of a thread in its block.
    fn reader_bits(self) -> u32 {
        32 - self.threads().saturating_sub(1).leading_zeros()
    }

    /// The thread of a name, and the number of what it did.
    pub fn thread(self, name: u32) -> (Thread, usize) {
        let (act, thread) = (name & ((1 << self.bits) - 1), name >> self.bits);
        let (warp, lane) = (thread / 32, (thread % 32) as u8);
        let block = warp / self.warps;
        (Thread { block, warp: (warp % self.warps) as u16, lane }, act as usize)
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
        Direct { acts: Acts::new(grid.bits), grid }
    }

    pub fn cell(&self, name: u32) -> Cell {
        let (thread, act) = self.grid.thread(name);
        self.acts.get(act).of(thread)
    }

    /// The name of a cell that is not empty; `None` if there is no room.
    pub fn name(&self, cell: Cell) -> Option<u32> {
        self.grid.name(cell.thread(), self.acts.number(cell.of(NOBODY))?)
    }
}

#[cfg(test)]
mod tests {
    use super::super::acts::ACTS;
    use super::super::shadow::{Kind, Mark};
    use super::*;

    #[test]
    fn names_of_small_grids_are_narrow() {
        for (blocks, warps, some) in [(1, 1, true), (1 << 10, 32, true), (1 << 20, 32, false)] {
            let grid = Grid::new(blocks, warps);
            let last = Thread { block: blocks as u32 - 1, warp: warps as u16 - 1, lane: 31 };
            let mut narrow = 0;
            for act in 1..=ACTS.min((1 << grid.bits) - 1) {
                let name = grid.name(last, act).unwrap();
                if let Some(own) = grid.narrow(name) {
                    assert!(own < 1 << 24 && grid.widen(own) == name);
                    narrow += 1;
                }
            }
            assert_eq!(narrow > 0, some);
        }
    }

    #[test]
    fn pairs_of_small_grids_are_narrow() {
        for (blocks, warps, acts) in
            [(1u64, 1, 255), (1 << 12, 4, 63), (1 << 10, 32, 3), (1 << 15, 32, 0), (1 << 18, 32, 0)]
        {
            let grid = Grid::new(blocks, warps);
            let last = Thread { block: blocks as u32 - 1, warp: warps as u16 - 1, lane: 31 };
            let mut narrow = 0;
            for act in 1..(1usize << grid.bits).min(5000) {
                let name = u64::from(grid.name(last, act).unwrap());
                for reader in [0, 1, 32 * warps - 1] {
                    let pair = name << THREAD | u64::from(reader);
                    let own = grid.narrow_pair(pair);
                    assert!(own.is_none_or(|own| grid.widen_pair(own) == pair));
                    narrow += usize::from(own.is_some());
                }
            }
            assert!(narrow >= 3 * acts && (acts > 0 || narrow == 0), "{blocks} {warps}: {narrow}");
            assert_eq!(
                (grid.narrow_pair(0), grid.widen_pair(0)),
                (grid.bits.checked_sub(grid.reader_bits()).map(|_| 0), 0)
            );
        }
    }

    #[test]
    fn there_are_as_many_direct_names_as_bits_are_left() {
        for (blocks, warps, most) in
            [(1, 1, ACTS), (1 << 20, 8, 15), (1 << 27, 1, 0), (u64::MAX, 32, 0)]
        {
            let direct = Direct::new(Grid::new(blocks, warps));
            assert_eq!(direct.acts.has_room(), most > 0);
            let thread = Thread { block: 0, warp: 0, lane: 7 };
            let of = |stamp| Cell {
                write: Mark::new(thread, stamp, 3, Kind::Write, None),
                read: Mark::default(),
            };
            let named = (1..).take_while(|&n| direct.name(of(n)).is_some()).count();
            assert_eq!(named, most);
            assert!(!direct.acts.has_room());
            if most > 0 {
                // Nor for threads that the grid does not have.
                let far = Thread { block: blocks as u32, ..thread };
                assert!(direct.name(of(1).of(far)).is_none());
                let last = Thread { block: blocks as u32 - 1, warp: warps as u16 - 1, lane: 31 };
                for n in 1..=most as u32 {
                    let cell = of(n).of(last);
                    assert_eq!(direct.cell(direct.name(cell).unwrap()), cell);
                }
            }
        }
    }
}
