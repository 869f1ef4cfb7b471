// SPDX-License-Identifier: MIT OR Apache-2.0
//! Stamps of blocks by number, in lists of many blocks each, of 1 to 5 bytes a stamp: a stamp is the how-manyeth of its
//! block's that came ([`super::stamped`]). They only grow.

use rustc_hash::FxHashMap;

use super::order::Tick;

/// Blocks whose stamps are in one list.
const BLOCKS: u32 = 256;
/// Entries that it makes room for at once.
const STEP: usize = 16;
/// What an entry has of a stamp, counted from where the list begins; this far before its first one, as workers are not at
/// the same block.
const STAMP: u32 = 16;
const BACK: u32 = 1 << (STAMP - 1);
/// Stamps of a block, at most.
pub const MOST: usize = 600;

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

    /// The stamp of a block that is the how-manyeth, from 0, if it has so many.
    fn stamp(&self, block: u8, place: usize) -> Option<Tick> {
        match self {
            Stamps::Steady(steady) => steady.stamp(block).filter(|_| place == 0),
            Stamps::Near(..) | Stamps::Any(_) => {
                self.entries(block).nth(place).map(|at| self.entry(at))
            }
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

/// The stamps of all blocks that have any here.
#[derive(Debug, Default)]
pub struct Lists {
    /// By the number of their blocks.
    lists: FxHashMap<u32, Box<Stamps>>,
    count: usize,
}

impl Lists {
    /// Stamps that there are.
    #[cfg(test)]
    pub fn count(&self) -> usize {
        self.count
    }

    /// The how-manyeth of its block's a stamp is, from 0; `None` if there is no room. All may take so many bytes.
    pub fn place(&mut self, block: u32, stamp: Tick, bytes: usize) -> Option<usize> {
        let list = self.lists.entry(block / BLOCKS).or_insert_with(|| Box::new(Stamps::new()));
        let block = (block % BLOCKS) as u8;
        match list.place(block, stamp) {
            Ok(place) => Some(place),
            Err(count) if count >= MOST || self.count >= bytes / 3 => None,
            Err(count) => {
                list.add(block, stamp);
                self.count += 1;
                Some(count)
            }
        }
    }

    /// The stamp of a place, if the block has so many.
    pub fn stamp(&self, block: u32, place: usize) -> Option<Tick> {
        self.lists.get(&(block / BLOCKS))?.stamp((block % BLOCKS) as u8, place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOM: usize = 1 << 30;

    /// Blocks that run one after the other have stamps that do, too: a byte is enough for each.
    #[test]
    fn one_stamp_of_each_block_takes_little() {
        let mut lists = Lists::default();
        let stamp = |block: u32| 7 + 3 * block + block % 5 * 7;
        // Several workers, each with every eighth block.
        let blocks = (0..8).flat_map(|worker| (0..512).map(move |n| 8 * n + worker));
        for block in blocks {
            assert_eq!(lists.place(block, stamp(block), ROOM), Some(0));
        }
        let steady = |lists: &Lists, most: usize| {
            let few = |list: &Stamps| matches!(list, Stamps::Steady(own) if own.bytes <= most);
            lists.lists.values().filter(|list| few(list)).count()
        };
        assert_eq!((steady(&lists, 1), lists.count()), (1 << 12 >> 8, 1 << 12));
        // A second one of a block, and one that is far from others.
        assert_eq!(lists.place(700, 5, ROOM), Some(1));
        assert_eq!(lists.place(0, 1 << 30, ROOM), Some(1));
        assert_eq!(steady(&lists, 3), (1 << 12 >> 8) - 2);
        for block in 0..1 << 12 {
            assert_eq!(lists.stamp(block, 0), Some(stamp(block)));
            assert_eq!(lists.place(block, stamp(block), 0), Some(0));
        }
        assert_eq!((lists.stamp(700, 1), lists.stamp(0, 1)), (Some(5), Some(1 << 30)));
        assert_eq!([lists.stamp(700, 2), lists.stamp(3, 1), lists.stamp(1 << 12, 0)], [None; 3]);
        // In no order.
        for (far, bytes) in [(1 << 15, 2), (1 << 23, 3)] {
            let mut lists = Lists::default();
            let stamp = |block: u32| 1 + block.wrapping_mul(2654435761) % far;
            for block in 0..1 << 12 {
                assert_eq!(lists.place(block, stamp(block), ROOM), Some(0));
            }
            assert_eq!((steady(&lists, bytes), steady(&lists, bytes - 1)), (1 << 12 >> 8, 0));
            assert!((0..1 << 12).all(|block| lists.stamp(block, 0) == Some(stamp(block))));
        }
    }

    #[test]
    fn there_is_no_room_for_more() {
        let mut lists = Lists::default();
        assert_eq!(lists.place(3, 9, 2), None);
        assert_eq!(lists.count(), 0);
        let most = (1..).take_while(|&stamp| lists.place(3, stamp * 3, ROOM).is_some()).count();
        assert_eq!(most, MOST);
        assert_eq!(lists.place(3, 3 * MOST as Tick, 0), Some(MOST - 1));
    }
}
