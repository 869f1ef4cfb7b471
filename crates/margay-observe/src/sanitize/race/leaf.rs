// SPDX-License-Identifier: MIT OR Apache-2.0
//! Cells of a run of places that lie far apart, by place: each with how far it is from where the run begins, and what was
//! done to it in as few bits as do for all of the run.
//!
//! That is as a rule a name of the launch and the value ([`super::layout`]). Of places, which ascend, only the lower bits are
//! kept with the cells; of the higher ones it is told how many places have each, by a one for each place behind as many zeros
//! as these amount to (Elias 1974, Fano 1971): two bits a place more, whatever part of memory the run has.

use std::cmp::Ordering;
use std::ops::Range;

use super::bits::Bits;
use super::direct::Grid;
use super::few::{Part, WHOLE};
use super::layout::{CELL, KINDS, Kind, Layout, VALUES};
use super::ledger::{Book, Ledger};
use super::shadow::Cell;
use super::slots::Epoch;

/// Places of a run, at most.
pub const MOST: usize = 1024;
/// How far a place may be from where the run begins.
pub const FAR: u64 = 1 << 24;
/// Bits of a place that are the part of a word.
pub const PART_BITS: u32 = 3;
/// Zeros that there may be without places.
const SPARE: usize = 64;

/// A run of places, by how far they are from where it begins: of the word, in units of which there are as many in each as
/// it has parts, and which part.
#[derive(Debug)]
pub struct Leaf {
    /// A one for each place, behind as many zeros as its higher bits amount to.
    highs: Bits,
    /// Of each place the lower bits, and its cell.
    entries: Bits,
    /// How many of a place's bits are lower ones.
    low: u8,
    len: u16,
    layout: Layout,
    /// Up to when names were gone through.
    seen: Epoch,
}

/// Numbers of parts of a word.
const PARTS: [Part; 7] = [WHOLE, 0b0011, 0b1100, 0b0001, 0b0010, 0b0100, 0b1000];

/// The number of a part; `None` if it is none that is kept as such.
#[inline]
pub fn part_number(part: Part) -> Option<u32> {
    PARTS.iter().position(|own| *own == part).map(|n| n as u32)
}

/// For how many more places there is made room at once.
fn spare(len: usize) -> usize {
    (len / 32).max(4)
}

/// How many bits of places, up to one, are best kept with the cells if there are so many of them.
fn low_bits(last: u32, len: usize) -> u8 {
    (last / len.max(1) as u32).checked_ilog2().unwrap_or(0) as u8
}

impl Leaf {
    /// A run of no places.
    pub fn new(grid: Grid) -> Leaf {
        let (highs, entries) = Default::default();
        Leaf { highs, entries, low: 0, len: 0, layout: Layout::new(grid), seen: 0 }
    }

    pub fn len(&self) -> usize {
        usize::from(self.len)
    }

    /// Bits of an entry.
    #[inline]
    fn width(&self) -> usize {
        usize::from(self.low) + self.layout.bits()
    }

    #[inline]
    fn lower(&self, at: usize) -> u32 {
        self.entries.get(at * self.width(), self.low.into()) as u32
    }

    /// How far a place is.
    #[inline]
    pub fn place(&self, at: usize) -> u32 {
        let high = self.highs.find(true, at).map_or(0, |bit| bit - at);
        (high as u32) << self.low | self.lower(at)
    }

    /// How far the places are.
    fn places(&self) -> Vec<u32> {
        let (mut at, mut high, mut all) = (0, 0, Vec::with_capacity(self.len()));
        for bit in 0..self.highs.len() {
            match self.highs.get(bit, 1) {
                0 => high += 1,
                _ => {
                    all.push(high << self.low | self.lower(at));
                    at += 1;
                }
            }
        }
        all
    }

    pub fn part(&self, at: usize) -> Part {
        PARTS[(self.place(at) & ((1 << PART_BITS) - 1)) as usize % PARTS.len()]
    }

    /// Where the first place is that is no nearer.
    pub fn first(&self, place: u64) -> usize {
        let (high, low) = ((place >> self.low) as usize, (place & ((1 << self.low) - 1)) as u32);
        // Behind the zero before those of the same higher bits.
        let from = high.checked_sub(1).map_or(Some(0), |n| Some(self.highs.find(false, n)? + 1));
        let Some(from) = from else { return self.len() };
        let (mut bit, mut at) = (from, from - high);
        while bit < self.highs.len() && self.highs.get(bit, 1) != 0 && self.lower(at) < low {
            (bit, at) = (bit + 1, at + 1);
        }
        at
    }

    /// The places from one to before another.
    pub fn range(&self, places: Range<u64>) -> Range<usize> {
        self.first(places.start)..self.first(places.end)
    }

    pub fn cell(&self, ledger: &Ledger, at: usize) -> Cell {
        self.read(ledger.book(self.seen), at)
    }

    fn bits(&self, at: usize) -> [u64; CELL] {
        let from = at * self.width() + usize::from(self.low);
        let all = self.layout.bits();
        let mut bits = [0; CELL];
        for (n, own) in bits.iter_mut().enumerate().take_while(|(n, _)| 64 * n < all) {
            *own = self.entries.get(from + 64 * n, (all - 64 * n).min(64));
        }
        bits
    }

    fn read(&self, book: Book<'_>, at: usize) -> Cell {
        self.layout.cell(book, &self.layout.decode(self.bits(at)))
    }

    pub fn put(&mut self, ledger: &Ledger, at: usize, cell: Cell) {
        loop {
            let book = ledger.book(self.seen);
            let told = self.layout.tell(book, cell);
            let encoded = told.and_then(|told| self.layout.encode(&told));
            match encoded.or_else(|| self.change(book, cell)) {
                Some(encoded) => return self.set(at, &encoded),
                None => self.turn(book),
            }
        }
    }

    fn set(&mut self, at: usize, encoded: &[u64; CELL]) {
        let from = at * self.width() + usize::from(self.low);
        let all = self.layout.bits();
        for (n, own) in encoded.iter().enumerate().take_while(|(n, _)| 64 * n < all) {
            self.entries.set(from + 64 * n, (all - 64 * n).min(64), *own);
        }
    }

    /// Tells all cells in a way in which this one can be told, too. Returns how that is; `None`, with nothing done, if the
    /// book is old.
    #[cold]
    fn change(&mut self, book: Book<'_>, cell: Cell) -> Option<[u64; CELL]> {
        let own = self.layout;
        let kinds = usize::from(own.kind)..KINDS.len();
        let layouts = kinds.flat_map(|kind| {
            let values = VALUES.into_iter().filter(|value| *value >= own.value);
            values.map(move |value| Layout { kind: kind as u8, value, act: 0, ..own })
        });
        for layout in layouts {
            if book.is_old() {
                return None;
            }
            if let Some(told) = layout.tell(book, cell)
                && self.retell(book, layout.with(&told))
            {
                return self.layout.encode(&told);
            }
        }
        // Any cell can be told as it is, but by an old book.
        None
    }

    /// Tells all cells in this way, with as many bits of acts as they need. False, with nothing done, if some cannot be told so.
    fn retell(&mut self, book: Book<'_>, layout: Layout) -> bool {
        let tell = |own: &Leaf, at: usize| layout.tell(book, own.read(book, at));
        let fits = (0..self.len()).try_fold(layout, |fits, at| Some(fits.with(&tell(self, at)?)));
        let Some(fits) = fits else { return false };
        let encode = |own: &Leaf, at: usize| fits.encode(&tell(own, at)?);
        self.build(&self.places(), fits, encode).is_some()
    }

    /// Becomes a run of these places, with cells in this way, each of which is told of the run as it was. `None`, with nothing
    /// done, if one is not.
    fn build(
        &mut self,
        places: &[u32],
        layout: Layout,
        cell: impl Fn(&Leaf, usize) -> Option<[u64; CELL]>,
    ) -> Option<()> {
        *self = self.built(places, layout, cell)?;
        Some(())
    }

    /// See [`Leaf::build`].
    fn built(
        &self,
        places: &[u32],
        layout: Layout,
        cell: impl Fn(&Leaf, usize) -> Option<[u64; CELL]>,
    ) -> Option<Leaf> {
        let (last, len) = (places.last().copied().unwrap_or(0), places.len());
        let low = low_bits(last, len);
        let (highs, entries) = Default::default();
        let mut new = Leaf { highs, entries, low, len: len as u16, layout, seen: self.seen };
        // As much more as is asked for at once.
        let (zeros, width, spare) = ((last >> low) as usize, new.width(), spare(len));
        new.highs.reserve(zeros + len + spare);
        new.highs.insert(0, zeros + len);
        new.entries.reserve((len + spare) * width);
        new.entries.insert(0, len * width);
        for (at, place) in places.iter().enumerate() {
            new.highs.set((place >> low) as usize + at, 1, 1);
            new.set_lower(at, *place);
            new.set(at, &cell(self, at)?);
        }
        Some(new)
    }

    fn set_lower(&mut self, at: usize, place: u32) {
        let lower = u64::from(place) & ((1 << self.low) - 1);
        self.entries.set(at * self.width(), self.low.into(), lower);
    }

    /// Goes through all names, where some may mean something else by now.
    #[cold]
    fn turn(&mut self, book: Book<'_>) {
        let Some((freed, new)) = book.turn() else { return };
        // A new name may be another to the old book.
        let before = self.entries.clone();
        let done = (0..self.len()).all(|at| {
            let told = self.layout.decode(self.bits(at));
            if !self.layout.is_freed(&told, &freed) {
                return true;
            }
            let told = self.layout.tell(new, self.layout.cell(book, &told));
            let encoded = told.and_then(|told| self.layout.encode(&told));
            encoded.inspect(|encoded| self.set(at, encoded)).is_some()
        });
        if !done {
            self.entries = before;
            // What there is no room for has a place as it is.
            let kinds = [Kind::Tight, Kind::Whole];
            let kinds = kinds.map(|kind| KINDS.iter().position(|own| *own == kind).unwrap_or(0));
            let layout = |kind: usize| Layout { kind: kind as u8, act: 0, ..self.layout };
            let layouts = kinds.map(layout);
            layouts.into_iter().any(|layout| self.retell(book, layout));
        }
        self.seen = new.seen();
    }

    /// Puts in a place, with a cell that nobody has accessed.
    pub fn insert(&mut self, at: usize, place: u32) {
        let (len, high) = (self.len(), (place >> self.low) as usize);
        let zeros = self.highs.len() - len;
        if high.max(zeros) > 2 * (len + 1) + SPARE || self.low > 0 && zeros * 2 + SPARE < len {
            self.insert_anew(at, place);
            return;
        }
        let width = self.width();
        let bit = high + at;
        let behind = bit.saturating_sub(self.highs.len());
        for (bits, more, each) in
            [(&mut self.highs, behind + 1, 1), (&mut self.entries, width, width)]
        {
            if bits.len() + more > bits.capacity() {
                bits.reserve(more + spare(len) * each);
            }
        }
        self.highs.insert(self.highs.len(), behind);
        self.highs.insert(bit, 1);
        self.highs.set(bit, 1, 1);
        self.entries.insert(at * width, width);
        self.len += 1;
        self.set_lower(at, place);
    }

    /// The same where places are to have more lower bits, or fewer.
    #[cold]
    fn insert_anew(&mut self, at: usize, place: u32) {
        let mut places = self.places();
        places.insert(at, place);
        self.build(&places, self.layout, |own, n| match n.cmp(&at) {
            Ordering::Less => Some(own.bits(n)),
            Ordering::Equal => Some([0; CELL]),
            Ordering::Greater => Some(own.bits(n - 1)),
        });
    }

    /// Lets the run begin so much earlier, or later by what is below 0.
    pub fn begin_before(&mut self, before: i64) {
        let moved = |place: u32| (i64::from(place) + before) as u32;
        let places: Vec<u32> = self.places().into_iter().map(moved).collect();
        self.build(&places, self.layout, |own, at| Some(own.bits(at)));
    }

    /// Whether it is to be two runs.
    pub fn is_full(&self) -> bool {
        self.len() >= MOST
    }

    /// Leaves half of the places in another run; how far that begins. `None` if all are of one word.
    pub fn split(&mut self) -> Option<(u32, Leaf)> {
        let word = |place: u32| place >> PART_BITS;
        let mut places = self.places();
        let mut half = places.len() / 2;
        // Parts of a word stay together.
        while half < places.len() && half > 0 && word(places[half]) == word(places[half - 1]) {
            half += 1;
        }
        let begin = word(*places.get(half)?) << PART_BITS;
        let others: Vec<u32> = places.drain(half..).map(|place| place - begin).collect();
        let other = self.built(&others, self.layout, |own, at| Some(own.bits(half + at)))?;
        self.build(&places, self.layout, |own, at| Some(own.bits(at)));
        Some((begin, other))
    }

    /// Takes these places out.
    pub fn remove(&mut self, places: Range<usize>) {
        let mut left = self.places();
        left.drain(places.clone());
        self.build(&left, self.layout, |own, at| {
            Some(own.bits(if at < places.start { at } else { at + places.len() }))
        });
    }
}

#[cfg(test)]
mod tests {
    use super::super::ledger::Form;
    use super::super::order::Thread;
    use super::super::shadow::{Kind as Act, Mark};
    use super::super::stamped::Learns;
    use super::*;
    use crate::sanitize::random::random;

    fn mark(block: u32, lane: u8, stamp: u32, kind: Act) -> Mark {
        Mark::new(Thread { block, warp: 1, lane }, stamp, 17, kind, None)
    }

    /// Each cell that comes makes a run tell its cells in another way.
    #[test]
    fn cells_come_back_in_whatever_way_they_are_told() {
        let none = Mark::default();
        let write = |block, stamp| mark(block, 3, stamp, Act::Write);
        let of = |write, read| Cell { write, read };
        let ledger = Ledger::new(1 << 14, 2, Learns::Untold);
        ledger.add(MOST);
        let (mut leaf, mut cells) = (Leaf::new(ledger.grid()), Vec::new());
        let way = |leaf: &Leaf| (leaf.layout.kind(), leaf.layout.value);
        let mut kinds = vec![way(&leaf)];
        let mut add = |leaf: &mut Leaf, cells: &mut Vec<Cell>, cell: Cell| {
            let at = cells.len();
            leaf.insert(at, at as u32 * 100);
            leaf.put(&ledger, at, cell);
            cells.push(cell);
            for (at, cell) in cells.iter().enumerate() {
                assert_eq!((leaf.place(at), leaf.cell(&ledger, at)), (at as u32 * 100, *cell));
            }
            if kinds.last() != Some(&way(leaf)) {
                kinds.push(way(leaf));
            }
        };
        add(&mut leaf, &mut cells, Cell::default());
        add(&mut leaf, &mut cells, of(write(7, 9).with_value(super::super::look::hash(200)), none));
        add(&mut leaf, &mut cells, of(write(8, 9).with_value(12345), mark(8, 3, 9, Act::Read)));
        let strong = mark(8, 3, 9, Act::Atomic);
        add(&mut leaf, &mut cells, of(strong, write(8, 9).with_value(12345)));
        add(&mut leaf, &mut cells, of(strong, write(8, 9).with_value(1)));
        // More than there are direct names for.
        (0..300).for_each(|n| add(&mut leaf, &mut cells, of(write(n, 9 + n), none)));
        add(&mut leaf, &mut cells, of(write(8, 9), mark(8, 4, 9, Act::Read)));
        add(&mut leaf, &mut cells, of(write(8, 9), mark(9, 4, 9, Act::Read)));
        // No thread of the grid's, of which there are marks in a list at most.
        add(&mut leaf, &mut cells, of(write(1 << 20, 9), mark(9, 4, 9, Act::Read)));
        for n in 0..10_000 {
            ledger.book(0).bare_names(Form::Listed, of(write(1 << 21, n + 10), none));
        }
        // Ever later.
        leaf = Leaf::new(ledger.grid());
        cells.clear();
        for n in 0..700 {
            add(&mut leaf, &mut cells, of(write(9, 1000 + n), none));
        }
        add(&mut leaf, &mut cells, of(write(9, 77), mark(9, 3, 78, Act::Read)));
        add(&mut leaf, &mut cells, of(write((1 << 20) + 1, 9), none));
        add(&mut leaf, &mut cells, of(write(3, 9).with_value(5), write(4, 9).with_value(6)));
        add(
            &mut leaf,
            &mut cells,
            of(Mark::from_bits(1 << 28, 9, 1 << 20, write(0, 9).bits()), none),
        );
        assert_eq!(
            kinds,
            [
                (Kind::Named(Form::Direct), 8),
                (Kind::Named(Form::Direct), 16),
                (Kind::Named(Form::Stamped), 16),
                (Kind::Pair, 16),
                (Kind::Apart(Form::Stamped), 16),
                (Kind::Apart(Form::Listed), 16),
                // Another run.
                (Kind::Named(Form::Stamped), 8),
                (Kind::Named(Form::Timeless), 8),
                (Kind::Apart(Form::Timeless), 8),
                (Kind::Tight, 8),
                (Kind::Whole, 8),
            ]
        );
    }

    /// Single bytes of large grids' threads, as far from each other as in a run of places at random.
    #[test]
    fn a_place_takes_at_most_eight_bytes() {
        for (blocks, warps, apart, pairs) in [
            (1u64 << 14, 4, 1024, false),
            (1 << 24, 4, 1024, false),
            (1 << 26, 4, 256, false),
            (1 << 21, 4, 8, true),
            (1 << 16, 32, 8, true),
            (1 << 23, 4, 8, true),
        ] {
            let ledger = Ledger::new(blocks, warps, Learns::Untold);
            let mut leaf = Leaf::new(ledger.grid());
            let mut random = random(5);
            // As full as runs are at least, which were divided.
            while leaf.len() < MOST / 2 {
                // Two parts of a word are a place each.
                let byte = random(apart * MOST as u64 / 2);
                let place = ((byte / 4) << PART_BITS) | (3 + byte % 4);
                let at = leaf.first(place);
                if at < leaf.len() && u64::from(leaf.place(at)) == place {
                    continue;
                }
                leaf.insert(at, place as u32);
                let mut thread = || Thread {
                    block: 0,
                    warp: random(u64::from(warps)) as u16,
                    lane: random(32) as u8,
                };
                let (writer, reader) = (thread(), thread());
                let block = random(blocks) as u32;
                let of = |thread, kind| Mark::new(Thread { block, ..thread }, 2, 7, kind, None);
                let write = of(writer, Act::Write).with_value(super::super::look::hash(17));
                let read = if pairs { of(reader, Act::Read) } else { Mark::default() };
                leaf.put(&ledger, at, Cell { write, read });
            }
            let bits = leaf.highs.capacity() + leaf.entries.capacity();
            let bytes = bits / 8 + size_of::<(u64, Leaf)>() + 2 * size_of::<usize>();
            let each = bytes as f64 / leaf.len() as f64;
            println!("{blocks} blocks of {warps} warps, a byte of {apart}, {pairs}: {each:.2}");
            assert!(each <= 8.0);
        }
    }

    #[test]
    fn a_run_is_divided_where_words_are() {
        let ledger = Ledger::default();
        let mut leaf = Leaf::new(ledger.grid());
        // Four bytes of each word.
        let place = |n: usize| (n as u32 / 4 * 8 + n as u32 % 4 + 3) * 20;
        let place = |n: usize| place(n) & !7 | (n as u32 % 4 + 3);
        (0..100).for_each(|n| leaf.insert(n, place(n)));
        leaf.put(&ledger, 77, Cell { write: mark(5, 5, 5, Act::Write), ..Cell::default() });
        assert!(!leaf.is_full());
        let (begin, mut other) = leaf.split().unwrap();
        assert_eq!((begin % 8, leaf.len() + other.len()), (0, 100));
        assert!(leaf.place(leaf.len() - 1) >> 3 < begin >> 3 && other.place(0) < 8);
        let at = 77 - leaf.len();
        assert_eq!(other.cell(&ledger, at).write, mark(5, 5, 5, Act::Write));
        assert_eq!(begin + other.place(at), place(77));
        other.begin_before(1 << 17);
        assert_eq!(begin + other.place(at), place(77) + (1 << 17));
        other.begin_before(-(1 << 17));
        assert_eq!(other.range(u64::from(other.place(3))..FAR), 3..other.len());
        other.remove(0..other.len());
        assert_eq!(other.len(), 0);
    }
}
