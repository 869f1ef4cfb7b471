// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which blocks read a word that several blocks read: what a mark of several blocks has a number for.
//!
//! Who writes such a word must come after the reads of these blocks, and of no others: groups of blocks that synchronise by
//! words of their own know nothing of each other. Words that the same blocks read, at the same times and one after the other,
//! have one number; so the launch has few of them, and a cell never grows.

use rustc_hash::FxHashMap;

use super::order::Tick;

/// The number of a set; what [`NO_SET`] stands for is not known, and what [`TOO_MANY`] does was not kept.
pub type Set = u16;
pub const NO_SET: Set = 0;
pub const TOO_MANY: Set = Set::MAX;

/// What was found out of sets that grow, at most: as many as take some MB.
const MOST_KNOWN: usize = 1 << 17;
/// How far back an earlier time of a block is looked for, to take its place.
const NEAR: usize = 8;

/// A block that reads, and its stamp then.
pub type Reader = (u32, Tick);

/// A set: another one, and one reader more.
#[derive(Debug)]
struct More {
    rest: Set,
    reader: Reader,
    /// The last block of the grid that is in it: most come in order, and so are surely not in it.
    last: u32,
}

/// The sets of a launch.
#[derive(Debug, Default)]
pub struct Readers {
    /// From 1.
    sets: Vec<More>,
    /// Which set another one and a reader are.
    known: FxHashMap<(Set, Reader), Set>,
}

impl Readers {
    /// The set of two readers of different blocks.
    pub fn of(&mut self, first: Reader, second: Reader) -> Set {
        let first = self.made(NO_SET, first);
        self.with(first, second)
    }

    /// A set with a reader more.
    pub fn with(&mut self, set: Set, reader: Reader) -> Set {
        if matches!(set, NO_SET | TOO_MANY) {
            return set;
        }
        if let Some(&known) = self.known.get(&(set, reader)) {
            return known;
        }
        if self.known.len() >= MOST_KNOWN {
            self.known.clear();
        }
        let found = self.grown(set, reader);
        self.known.insert((set, reader), found);
        found
    }

    /// The same of what is not known yet.
    fn grown(&mut self, set: Set, reader: Reader) -> Set {
        let is_new = self.more(set).is_none_or(|more| more.last < reader.0);
        let earlier = |own: &(Set, Reader)| own.1.0 == reader.0;
        let found =
            if is_new { None } else { self.rests(set).enumerate().find(|(_, own)| earlier(own)) };
        // A later time stands for earlier ones of the block, which it comes after.
        match found {
            Some((_, (_, (_, stamp)))) if stamp >= reader.1 => set,
            Some((at, (rest, _))) if at < NEAR => {
                let mut later: Vec<Reader> = self.list(set).take(at).collect();
                later.reverse();
                let others = later.into_iter().fold(rest, |rest, own| self.made(rest, own));
                self.made(others, reader)
            }
            Some(_) | None => self.made(set, reader),
        }
    }

    /// The set of another one and a reader, whatever that is.
    fn made(&mut self, rest: Set, reader: Reader) -> Set {
        if rest == TOO_MANY {
            return TOO_MANY;
        }
        // What it grew to may be another one.
        if let Some(&known) = self.known.get(&(rest, reader))
            && self.more(known).is_some_and(|more| (more.rest, more.reader) == (rest, reader))
        {
            return known;
        }
        let Some(number) = Set::try_from(self.sets.len() + 1).ok().filter(|n| *n != TOO_MANY)
        else {
            return TOO_MANY;
        };
        let last = self.more(rest).map_or(0, |more| more.last).max(reader.0);
        self.sets.push(More { rest, reader, last });
        self.known.insert((rest, reader), number);
        number
    }

    fn more(&self, set: Set) -> Option<&More> {
        self.sets.get(usize::from(set.checked_sub(1)?))
    }

    /// The readers of a set, each with the set of the others that follow.
    fn rests(&self, set: Set) -> impl Iterator<Item = (Set, Reader)> + '_ {
        let mut left = set;
        std::iter::from_fn(move || {
            let more = self.more(left)?;
            left = more.rest;
            Some((left, more.reader))
        })
    }

    /// The readers of a set: of a block that comes more than once the first counts, which is the latest.
    pub fn list(&self, set: Set) -> impl Iterator<Item = Reader> + '_ {
        self.rests(set).map(|(_, reader)| reader)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(readers: &Readers, set: Set) -> Vec<Reader> {
        readers.list(set).collect()
    }

    #[test]
    fn words_that_the_same_blocks_read_have_one_set() {
        let mut readers = Readers::default();
        let one = readers.of((3, 10), (4, 11));
        assert_eq!(readers.of((3, 10), (4, 11)), one);
        assert_eq!(all(&readers, one), [(4, 11), (3, 10)]);
        let more = readers.with(one, (9, 12));
        assert_eq!(readers.with(one, (9, 12)), more);
        assert_eq!(readers.with(more, (3, 9)), more, "which is known by then");
        assert_eq!(readers.with(more, (9, 12)), more);
        assert_ne!(readers.of((3, 10), (9, 12)), more);
        assert_eq!(readers.with(NO_SET, (1, 1)), NO_SET);
    }

    #[test]
    fn a_later_time_takes_the_place_of_earlier_ones() {
        let mut readers = Readers::default();
        let mut set = readers.of((1, 1), (2, 2));
        for time in 3..300 {
            set = readers.with(set, (1 + time % 2, time));
        }
        assert_eq!(all(&readers, set), [(2, 299), (1, 298)]);
    }

    #[test]
    fn what_has_no_number_stands_for_anybody() {
        let mut readers = Readers::default();
        let mut set = readers.of((0, 1), (1, 1));
        for block in 2..70_000 {
            set = readers.with(set, (block, 1));
        }
        assert_eq!(set, TOO_MANY);
        assert_eq!(readers.with(set, (7, 7)), TOO_MANY);
        assert!(all(&readers, set).is_empty());
        // Others are as they were.
        let first = readers.of((0, 1), (1, 1));
        assert_eq!(all(&readers, first), [(1, 1), (0, 1)]);
    }
}
