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
pub const THREAD: u32 = 10;
pub const PAIR: u32 = 32 + THREAD;

/// Blocks whose stamps are in one list.
const BLOCKS: u32 = 256;
/// Entries that it makes room for at once.
const STEP: usize = 16;
/// What an entry has of a stamp, counted from where the list begins; this far before its first one, as workers are not at
/// the same block.
const STAMP: u32 = 16;
const BACK: u32 = 1 << (STAMP - 1);
/// Stamps of a block, at most.
const MOST: usize = 255;

/// Parts of a step from one block's stamp to the next one's.
const PARTS: i64 = 1 << 16;

/// The one stamp of each of some blocks, which grow from block to block as one would expect, or nearly so.
#[derive(Debug)]
struct Steady {
    /// What is expected: that of block 0, and how much more each has, in parts of which there are [`PARTS`].
    from: i64,
    step: i64,
    /// By block, in so many bytes how much more it is than that, from 1; 0 of those that have none.
    more: Vec<u8>,
    bytes: usize,
}

impl Steady {
    fn expected(&self, block: u8) -> i64 {
        self.from + (self.step * i64::from(block)).div_euclid(PARTS)
    }

    fn stamp(&self, block: u8) -> Option<Tick> {
        let own = self.more.get(usize::from(block) * self.bytes..)?.get(..self.bytes)?;
        let more = own.iter().rev().fold(0, |more, byte| more << 8 | i64::from(*byte));
        (more != 0).then(|| (self.expected(block) + more) as Tick)
    }

    /// All that there are.
    fn all(&self) -> impl Iterator<Item = (u8, Tick)> {
        let blocks = (0..self.more.len() / self.bytes).map(|block| block as u8);
        blocks.filter_map(|block| self.stamp(block).map(|stamp| (block, stamp)))
    }

    /// False, with nothing done, if the block's is too far from what is expected.
    fn put(&mut self, block: u8, stamp: Tick) -> bool {
        let more = i64::from(stamp) - self.expected(block);
        if !(1..1 << (8 * self.bytes)).contains(&more) {
            return false;
        }
        let at = usize::from(block) * self.bytes;
        let end = at + self.bytes;
        if end > self.more.len() {
            if end > self.more.capacity() {
                let room = end.next_multiple_of(STEP * self.bytes) - self.more.len();
                self.more.reserve_exact(room);
            }
            self.more.resize(end, 0);
        }
        self.more[at..end].copy_from_slice(&more.to_le_bytes()[..self.bytes]);
        true
    }

    /// The same and one more, with another expectation or more bytes; `None` if there is none for all.
    fn other(&self, block: u8, stamp: Tick) -> Option<Steady> {
        let all = || self.all().chain([(block, stamp)]);
        let (first, last) = (all().min()?, all().max()?);
        let blocks = i64::from(last.0) - i64::from(first.0);
        let step = (PARTS * (i64::from(last.1) - i64::from(first.1))).checked_div(blocks);
        let steady = |bytes: usize| {
            // Where blocks are in no order, they are in none that is to be expected.
            let step = if bytes == 1 { step.unwrap_or(0) } else { 0 };
            let mut other = Steady { from: 0, step, more: Vec::new(), bytes };
            // In the middle of what there is room for.
            other.from = i64::from(first.1) - other.expected(first.0) - (1 << (8 * bytes - 1));
            all().all(|(block, stamp)| other.put(block, stamp)).then_some(other)
        };
        (self.bytes..=3).find_map(steady)
    }
}

/// Stamps of some blocks, by block, and as they came.
#[derive(Debug)]
enum Stamps {
    Steady(Steady),
    /// Those from this one on.
    Near(Tick, Vec<[u8; 3]>),
    Any(Vec<[u8; 5]>),
}

impl Stamps {
    fn new() -> Stamps {
        Stamps::Steady(Steady { from: 0, step: 0, more: Vec::new(), bytes: 1 })
    }

    /// The stamps of a block: which entries those are, of a list.
    fn entries(&self, block: u8) -> std::ops::Range<usize> {
        match self {
            Stamps::Steady(_) => 0..0,
            Stamps::Near(_, list) => {
                let first = list.partition_point(|entry| entry[0] < block);
                first..first + list[first..].iter().take_while(|entry| entry[0] == block).count()
            }
            Stamps::Any(list) => {
                let first = list.partition_point(|entry| entry[0] < block);
                first..first + list[first..].iter().take_while(|entry| entry[0] == block).count()
            }
        }
    }

    fn entry(&self, at: usize) -> Tick {
        match self {
            Stamps::Steady(_) => 0,
            Stamps::Near(from, list) => {
                from + u32::from(u16::from_le_bytes([list[at][1], list[at][2]]))
            }
            Stamps::Any(list) => Tick::from_le_bytes(std::array::from_fn(|n| list[at][n + 1])),
        }
    }

    /// The stamp of a block that is the how-manyeth, from 0.
    fn stamp(&self, block: u8, place: usize) -> Tick {
        match self {
            Stamps::Steady(steady) => steady.stamp(block).unwrap_or(0),
            Stamps::Near(..) | Stamps::Any(_) => self.entry(self.entries(block).start + place),
        }
    }

    /// The how-manyeth of its block's a stamp is, from 0; `Err` with how many there are if it is none of them.
    fn place(&self, block: u8, stamp: Tick) -> Result<usize, usize> {
        if let Stamps::Steady(steady) = self {
            return match steady.stamp(block) {
                Some(own) if own == stamp => Ok(0),
                own => Err(usize::from(own.is_some())),
            };
        }
        let entries = self.entries(block);
        let count = entries.len();
        entries.into_iter().position(|at| self.entry(at) == stamp).ok_or(count)
    }

    /// A list of those that there are.
    fn listed(&self) -> Stamps {
        match self {
            Stamps::Steady(steady) => {
                let first = steady.all().map(|(_, stamp)| stamp).min().unwrap_or(0);
                let mut list = Stamps::Near(first.saturating_sub(BACK), Vec::new());
                steady.all().for_each(|(block, stamp)| list.add(block, stamp));
                list
            }
            Stamps::Near(from, list) => {
                let stamp = |[block, low, high]: [u8; 3]| {
                    any(block, from + u32::from(u16::from_le_bytes([low, high])))
                };
                Stamps::Any(list.iter().map(|entry| stamp(*entry)).collect())
            }
            Stamps::Any(list) => Stamps::Any(list.clone()),
        }
    }

    /// One more of a block.
    fn add(&mut self, block: u8, stamp: Tick) {
        match self {
            Stamps::Steady(steady) => {
                if steady.stamp(block).is_none() {
                    if steady.put(block, stamp) {
                        return;
                    }
                    if let Some(other) = steady.other(block, stamp) {
                        *steady = other;
                        return;
                    }
                }
            }
            Stamps::Near(from, list) => {
                let near = stamp.checked_sub(*from).and_then(|stamp| u16::try_from(stamp).ok());
                if let Some(near) = near {
                    let [low, high] = near.to_le_bytes();
                    make_room(list);
                    let at = list.partition_point(|entry| entry[0] <= block);
                    return list.insert(at, [block, low, high]);
                }
            }
            Stamps::Any(list) => {
                make_room(list);
                let at = list.partition_point(|entry| entry[0] <= block);
                return list.insert(at, any(block, stamp));
            }
        }
        *self = self.listed();
        self.add(block, stamp);
    }
}

/// An entry of [`Stamps::Any`].
fn any(block: u8, stamp: Tick) -> [u8; 5] {
    let [a, b, c, d] = stamp.to_le_bytes();
    [block, a, b, c, d]
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
    /// By the number of their blocks.
    lists: FxHashMap<u32, Box<Stamps>>,
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
        let list = self.lists.entry(block / BLOCKS).or_insert_with(|| Box::new(Stamps::new()));
        let block = (block % BLOCKS) as u8;
        match list.place(block, stamp) {
            Ok(place) => Some(place as Tick + 1),
            Err(count) if count >= MOST || self.count >= bytes / 3 => None,
            Err(count) => {
                list.add(block, stamp);
                self.count += 1;
                Some(count as Tick + 1)
            }
        }
    }

    /// The stamp of a place.
    fn stamp(&self, block: u32, place: Tick) -> Tick {
        match self.lists.get(&(block / BLOCKS)) {
            Some(list) if place != 0 => list.stamp((block % BLOCKS) as u8, place as usize - 1),
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

    /// Blocks that run one after the other have stamps that do, too: a byte is enough for each.
    #[test]
    fn one_stamp_of_each_block_takes_little() {
        let one = |block: u32, stamp| Cell {
            write: mark(block, 5, stamp, Kind::Write),
            read: Mark::default(),
        };
        let mut names = Stamped::new(Grid::new(1 << 12, 2));
        let stamp = |block: u32| 7 + 3 * block + block % 5 * 7;
        // Several workers, each with every eighth block.
        let blocks = (0..8).flat_map(|worker| (0..512).map(move |n| 8 * n + worker));
        let named: Vec<_> = blocks
            .map(|block| (block, names.name(one(block, stamp(block)), ROOM).unwrap()))
            .collect();
        let steady = |names: &Stamped, most: usize| {
            let few = |list: &Stamps| matches!(list, Stamps::Steady(own) if own.bytes <= most);
            names.lists.values().filter(|list| few(list)).count()
        };
        assert_eq!((steady(&names, 1), names.count()), (1 << 12 >> 8, 1 << 12));
        // A second one of a block, and one that is far from others.
        let second = names.name(one(700, 5), ROOM).unwrap();
        let far = names.name(one(0, 1 << 30), ROOM).unwrap();
        assert_eq!(steady(&names, 3), (1 << 12 >> 8) - 2);
        for (block, name) in named {
            assert_eq!(names.cell(name), one(block, stamp(block)));
            assert_eq!(names.name(one(block, stamp(block)), 0), Some(name));
        }
        assert_eq!((names.cell(second), names.cell(far)), (one(700, 5), one(0, 1 << 30)));
        // In no order.
        for (far, bytes) in [(1 << 15, 2), (1 << 23, 3)] {
            let mut names = Stamped::new(Grid::new(1 << 12, 2));
            let stamp = |block: u32| 1 + block.wrapping_mul(2654435761) % far;
            let named: Vec<_> = (0..1 << 12)
                .map(|block| (block, names.name(one(block, stamp(block)), ROOM).unwrap()))
                .collect();
            assert_eq!((steady(&names, bytes), steady(&names, bytes - 1)), (1 << 12 >> 8, 0));
            for (block, name) in named {
                assert_eq!(names.cell(name), one(block, stamp(block)));
            }
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
