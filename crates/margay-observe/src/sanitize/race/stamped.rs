// SPDX-License-Identifier: MIT OR Apache-2.0
//! Names of what is done by threads that meet at barriers ([`super::ledger`]): as direct ones, but in place of its stamps an act
//! has the how-manyeth of its block's each is. Those are in a list by block, so that the acts stay few.
//!
//! Of a *pair* the writer and the reader are two threads of one block. Its name is longer by the reader's number there.

use rustc_hash::FxHashMap;

use super::acts::Acts;
use super::direct::{Grid, NOBODY};
use super::order::{Thread, Tick};
use super::shadow::{Cell, Mark};

/// Bits of the number of a thread in its block, and of a pair's name.
const THREAD: u32 = 10;
pub const PAIR: u32 = 32 + THREAD;

/// Blocks whose stamps are in one list.
const BLOCKS: u32 = 128;
/// Entries that it makes room for at once.
const STEP: usize = 16;
/// What an entry has of a stamp, counted from where the list begins; this far before its first one, as workers are not at
/// the same block.
const STAMP: u32 = 16;
const BACK: u32 = 1 << (STAMP - 1);
/// Stamps of a block, at most.
const MOST: usize = 255;

/// Stamps of some blocks, by block, and as they came.
#[derive(Debug)]
enum Stamps {
    /// Those from this one on.
    Near(Tick, Vec<[u8; 3]>),
    Any(Vec<(u8, Tick)>),
}

impl Stamps {
    fn len(&self) -> usize {
        match self {
            Stamps::Near(_, list) => list.len(),
            Stamps::Any(list) => list.len(),
        }
    }

    fn block(&self, at: usize) -> u8 {
        match self {
            Stamps::Near(_, list) => list[at][0],
            Stamps::Any(list) => list[at].0,
        }
    }

    fn stamp(&self, at: usize) -> Tick {
        match self {
            Stamps::Near(from, list) => {
                from + u32::from(u16::from_le_bytes([list[at][1], list[at][2]]))
            }
            Stamps::Any(list) => list[at].1,
        }
    }

    /// Where the first is that a block has, or would be.
    fn first(&self, block: u8) -> usize {
        match self {
            Stamps::Near(_, list) => list.partition_point(|entry| entry[0] < block),
            Stamps::Any(list) => list.partition_point(|entry| entry.0 < block),
        }
    }

    fn insert(&mut self, at: usize, block: u8, stamp: Tick) {
        if let Stamps::Near(from, list) = self {
            match stamp.checked_sub(*from).and_then(|stamp| u16::try_from(stamp).ok()) {
                Some(stamp) => {
                    let [low, high] = stamp.to_le_bytes();
                    make_room(list);
                    return list.insert(at, [block, low, high]);
                }
                None => {
                    let all = (0..self.len()).map(|at| (self.block(at), self.stamp(at)));
                    *self = Stamps::Any(all.collect());
                }
            }
        }
        if let Stamps::Any(list) = self {
            make_room(list);
            list.insert(at, (block, stamp));
        }
    }
}

fn make_room<T>(list: &mut Vec<T>) {
    if list.len() == list.capacity() {
        list.reserve_exact(STEP);
    }
}

/// The names, and the stamps of each block.
#[derive(Debug)]
pub struct Stamped {
    acts: Acts,
    grid: Grid,
    lists: FxHashMap<u32, Stamps>,
    count: usize,
}

impl Stamped {
    pub fn new(grid: Grid) -> Stamped {
        Stamped { acts: Acts::new(grid.bits), grid, lists: FxHashMap::default(), count: 0 }
    }

    /// Whether there is room for more.
    pub fn has_room(&self) -> bool {
        self.acts.has_room()
    }

    /// Stamps that there are.
    #[cfg(test)]
    pub fn count(&self) -> usize {
        self.count
    }

    /// The how-manyeth of its block's a stamp is, from 1, and 0 if it is none; `None` if there is no room. The stamps may
    /// take so many bytes.
    fn place(&mut self, block: u32, stamp: Tick, bytes: usize) -> Option<Tick> {
        if stamp == 0 {
            return Some(0);
        }
        let near = || Stamps::Near(stamp.saturating_sub(BACK), Vec::new());
        let list = self.lists.entry(block / BLOCKS).or_insert_with(near);
        let block = (block % BLOCKS) as u8;
        let first = list.first(block);
        let own = (first..list.len()).take_while(|&at| list.block(at) == block);
        let mut end = first;
        for at in own {
            if list.stamp(at) == stamp {
                return Some((at - first) as Tick + 1);
            }
            end = at + 1;
        }
        if end - first >= MOST || self.count >= bytes / 3 {
            return None;
        }
        list.insert(end, block, stamp);
        self.count += 1;
        Some((end - first) as Tick + 1)
    }

    /// The stamp of a place.
    fn stamp(&self, block: u32, place: Tick) -> Tick {
        match self.lists.get(&(block / BLOCKS)) {
            Some(list) if place != 0 => {
                list.stamp(list.first((block % BLOCKS) as u8) + place as usize - 1)
            }
            _ => 0,
        }
    }

    fn act(&mut self, cell: Cell, bytes: usize) -> Option<usize> {
        let bare = |mark: Mark, place| if place == 0 { mark } else { mark.of(NOBODY).at(place) };
        let block = cell.thread().block;
        let wrote = self.place(block, cell.write.stamp, bytes)?;
        let read = self.place(block, cell.read.stamp, bytes)?;
        let act = Cell { write: bare(cell.write, wrote), read: bare(cell.read, read) };
        self.acts.number(act)
    }

    /// The cell of a name, whose reader may be another thread of the block.
    fn made(&self, name: u32, reader: Option<u32>) -> Cell {
        let (writer, act) = self.grid.thread(name);
        let reader = reader.map_or(writer, |reader| Thread {
            warp: reader as u16 / 32,
            lane: reader as u8 % 32,
            ..writer
        });
        let of = |mark: Mark, thread| match mark.is_empty() {
            true => mark,
            false => mark.of(thread).at(self.stamp(writer.block, mark.stamp)),
        };
        let Cell { write, read } = self.acts.get(act);
        Cell { write: of(write, writer), read: of(read, reader) }
    }

    pub fn cell(&self, name: u32) -> Cell {
        self.made(name, None)
    }

    pub fn cell_of_pair(&self, pair: u64) -> Cell {
        self.made((pair >> THREAD) as u32, Some(pair as u32 % (1 << THREAD)))
    }

    /// The name of a cell that is not empty, and of one thread; `None` if there is no room, also of so many bytes for
    /// stamps.
    pub fn name(&mut self, cell: Cell, bytes: usize) -> Option<u32> {
        // Without what no name could be made of, stamps of blocks that there are not would be kept.
        self.grid.name(cell.thread(), 0)?;
        let act = self.act(cell, bytes)?;
        self.grid.name(cell.thread(), act)
    }

    /// The same of a cell that may be of two threads; `None` also if these are of two blocks.
    pub fn pair(&mut self, cell: Cell, bytes: usize) -> Option<u64> {
        let writer = cell.thread();
        let reader = if cell.read.is_empty() { writer } else { cell.read.thread() };
        if reader.block != writer.block {
            return None;
        }
        let name = u64::from(self.name(cell, bytes)?);
        Some(name << THREAD | u64::from(reader.warp) << 5 | u64::from(reader.lane))
    }
}

#[cfg(test)]
mod tests {
    use super::super::shadow::Kind;
    use super::*;

    const ROOM: usize = 1 << 30;

    fn mark(block: u32, thread: u32, stamp: Tick, kind: Kind) -> Mark {
        let thread = Thread { block, warp: (thread / 32) as u16, lane: thread as u8 % 32 };
        Mark::new(thread, stamp, 17 + stamp % 3, kind, None)
    }

    #[test]
    fn a_name_stands_for_its_cell() {
        for warps in [1, 3, 32] {
            let mut names = Stamped::new(Grid::new(1000, warps));
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
                assert!(name.is_none_or(|name| name != 0 && names.cell(name) == cell));
                assert!(pair < 1 << PAIR && names.cell_of_pair(pair) == cell);
            }
            // Of each block those that there were, once.
            assert_eq!(names.count(), 7 * 7);
        }
    }

    #[test]
    fn what_has_no_name() {
        let mut names = Stamped::new(Grid::new(1000, 2));
        let (write, none) = (mark(3, 5, 9, Kind::Write), Mark::default());
        let of = |write, read| Cell { write, read };
        assert!(names.pair(of(write, mark(4, 5, 9, Kind::Read)), ROOM).is_none(), "two blocks");
        assert!(names.name(of(mark(3, 64, 9, Kind::Write), none), ROOM).is_none(), "no thread");
        assert!(names.name(of(write, none), 2).is_none(), "no room");
        assert_eq!(names.count(), 0);
        let at = |stamp| of(mark(3, 5, stamp * 3, Kind::Write), none);
        let most = (1..).take_while(|&stamp| names.name(at(stamp), ROOM).is_some()).count();
        assert_eq!(most, MOST);
        let last = names.name(at(most as u32), 0).unwrap();
        assert_eq!(names.cell(last), at(most as u32));
    }
}
