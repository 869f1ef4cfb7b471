// SPDX-License-Identifier: MIT OR Apache-2.0
//! Cells of a run of places that lie far apart, by place: each with how far it is from where the run begins, and what was
//! done to it in as few bytes as do for all of the run.
//!
//! That is as a rule a name of the launch and the value ([`super::layout`]): 7 bytes with the place if bytes are stored, and one
//! less in small grids; and where two threads did it, 7 in grids that are not too large.

use std::cmp::Ordering;
use std::ops::Range;

use super::few::{Part, WHOLE};
use super::layout::{CELL, KINDS, Kind, Layout, NARROW};
use super::ledger::{Book, Ledger};
use super::shadow::Cell;
use super::slots::Epoch;

/// Places of a run, at most.
pub const MOST: usize = 512;
/// The same of one whose halves may do with less for each place.
const MOST_WIDE: usize = 192;
/// How far a place may be from where the run begins, and as far as that is told in two bytes.
pub const FAR: u64 = 1 << 24;
const NEAR: u32 = 1 << 16;
/// Bits of a place that are the part of a word.
pub const PART_BITS: u32 = 3;

/// A run of places, by how far they are from where it begins: of the word, in units of which there are as many in each as
/// it has parts, and which part.
#[derive(Debug)]
pub struct Leaf {
    entries: Vec<u8>,
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

impl Leaf {
    /// A run of no places.
    pub fn new() -> Leaf {
        let layout = Layout { kind: 0, place: 2, name: 3, value: 1 };
        Leaf { entries: Vec::new(), layout, seen: 0 }
    }

    pub fn len(&self) -> usize {
        self.entries.len() / self.layout.bytes()
    }

    #[inline]
    fn entry(&self, at: usize) -> &[u8] {
        let bytes = self.layout.bytes();
        &self.entries[at * bytes..][..bytes]
    }

    /// How far a place is.
    #[inline]
    pub fn place(&self, at: usize) -> u32 {
        let bytes = &self.entries[at * self.layout.bytes()..];
        let high = if self.layout.place == 2 { 0 } else { bytes[2] };
        u32::from_le_bytes([bytes[0], bytes[1], high, 0])
    }

    pub fn part(&self, at: usize) -> Part {
        PARTS[(self.place(at) & ((1 << PART_BITS) - 1)) as usize % PARTS.len()]
    }

    /// Where the first place is that is no nearer.
    pub fn first(&self, place: u64) -> usize {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = (low + high) / 2;
            match u64::from(self.place(middle)).cmp(&place) {
                Ordering::Less => low = middle + 1,
                Ordering::Equal | Ordering::Greater => high = middle,
            }
        }
        low
    }

    /// The places from one to before another.
    pub fn range(&self, places: Range<u64>) -> Range<usize> {
        self.first(places.start)..self.first(places.end)
    }

    pub fn cell(&self, ledger: &Ledger, at: usize) -> Cell {
        self.read(ledger.book(self.seen), at)
    }

    fn read(&self, book: Book<'_>, at: usize) -> Cell {
        self.layout.decode(book, &self.entry(at)[usize::from(self.layout.place)..])
    }

    pub fn put(&mut self, ledger: &Ledger, at: usize, cell: Cell) {
        let encoded = loop {
            let book = ledger.book(self.seen);
            let encoded = self.layout.encode(book, cell).or_else(|| self.change(book, cell));
            match encoded {
                Some(encoded) => break encoded,
                None => self.turn(book),
            }
        };
        self.set(at, &encoded);
    }

    fn set(&mut self, at: usize, encoded: &[u8; CELL]) {
        let (bytes, place) = (self.layout.bytes(), usize::from(self.layout.place));
        let own = &mut self.entries[at * bytes..][place..bytes];
        own.copy_from_slice(&encoded[..self.layout.cell_bytes()]);
    }

    /// Tells all cells in a way in which this one can be told, too. Returns how that is; `None`, with nothing done, if the
    /// book is old.
    #[cold]
    fn change(&mut self, book: Book<'_>, cell: Cell) -> Option<[u8; CELL]> {
        let own = self.layout;
        let kinds = usize::from(own.kind)..KINDS.len();
        let layouts = kinds.flat_map(|kind| {
            let sizes = [(NARROW, 1), (NARROW, 2), (3, 1), (3, 2), (4, 1), (4, 2)];
            let may = move |(name, value)| {
                value >= own.value && (name != NARROW || KINDS[kind] == Kind::Pair)
            };
            let sizes = sizes.into_iter().filter(move |&size| may(size));
            sizes.map(move |(name, value)| Layout { kind: kind as u8, name, value, ..own })
        });
        for layout in layouts.filter(|layout| *layout != own) {
            if book.is_old() {
                return None;
            }
            if let Some(encoded) = layout.encode(book, cell)
                && self.tell(book, layout)
            {
                return Some(encoded);
            }
        }
        // Any cell can be told as it is, but by an old book.
        None
    }

    /// Tells all cells in this way. False, with nothing done, if some cannot be told so.
    fn tell(&mut self, book: Book<'_>, layout: Layout) -> bool {
        let mut entries = Vec::new();
        let room = self.entries.capacity() / self.layout.bytes();
        entries.reserve_exact(room * layout.bytes());
        let done = (0..self.len()).all(|at| {
            let encoded = layout.encode(book, self.read(book, at));
            entries.extend_from_slice(&self.entry(at)[..usize::from(self.layout.place)]);
            encoded.inspect(|own| entries.extend_from_slice(&own[..layout.cell_bytes()])).is_some()
        });
        if done {
            (self.entries, self.layout) = (entries, layout);
        }
        done
    }

    /// Goes through all names, where some may mean something else by now.
    #[cold]
    fn turn(&mut self, book: Book<'_>) {
        let Some((freed, new)) = book.turn() else { return };
        let done = (0..self.len()).all(|at| {
            let bytes = &self.entry(at)[usize::from(self.layout.place)..];
            if !self.layout.is_freed(book, bytes, &freed) {
                return true;
            }
            let encoded = self.layout.encode(new, self.read(book, at));
            encoded.inspect(|encoded| self.set(at, encoded)).is_some()
        });
        if !done {
            // What there is no room for has a place as it is.
            let kinds = [Kind::Tight, Kind::Whole];
            let kinds = kinds.map(|kind| KINDS.iter().position(|own| *own == kind).unwrap_or(0));
            kinds.iter().any(|&kind| self.tell(book, Layout { kind: kind as u8, ..self.layout }));
        }
        self.seen = new.seen();
    }

    /// Puts in a place, with a cell that nobody has accessed.
    pub fn insert(&mut self, at: usize, place: u32) {
        if place >= NEAR && self.layout.place == 2 {
            self.replace(3, 0);
        }
        let (len, bytes) = (self.len(), self.layout.bytes());
        if self.entries.len() + bytes > self.entries.capacity() {
            self.entries.reserve_exact((len / 32).max(4) * bytes);
        }
        let (from, end) = (at * bytes, self.entries.len());
        self.entries.resize(end + bytes, 0);
        self.entries.copy_within(from..end, from + bytes);
        let own = &mut self.entries[from..from + bytes];
        own.fill(0);
        let place_bytes = usize::from(self.layout.place);
        own[..place_bytes].copy_from_slice(&place.to_le_bytes()[..place_bytes]);
    }

    /// Gives places so many bytes, and counts them from so much before.
    fn replace(&mut self, bytes: u8, before: i64) {
        let layout = Layout { place: bytes, ..self.layout };
        let mut entries = Vec::new();
        entries.reserve_exact(self.entries.capacity() / self.layout.bytes() * layout.bytes());
        for at in 0..self.len() {
            let place = (i64::from(self.place(at)) + before) as u32;
            entries.extend_from_slice(&place.to_le_bytes()[..usize::from(bytes)]);
            entries.extend_from_slice(&self.entry(at)[usize::from(self.layout.place)..]);
        }
        (self.entries, self.layout) = (entries, layout);
    }

    fn last(&self) -> u32 {
        self.len().checked_sub(1).map_or(0, |at| self.place(at))
    }

    /// Lets the run begin so much earlier, or later by what is below 0.
    pub fn begin_before(&mut self, before: i64) {
        let near = i64::from(self.last()) + before < i64::from(NEAR);
        self.replace(if near { 2 } else { 3 }, before);
    }

    /// Whether it is to be two runs.
    pub fn is_full(&self) -> bool {
        let len = self.len();
        len >= MOST || self.layout.place == 3 && len >= MOST_WIDE && self.last() < 2 * NEAR
    }

    /// Leaves half of the places in another run; how far that begins.
    pub fn split(&mut self) -> (u32, Leaf) {
        let word = |place: u32| place >> PART_BITS;
        let mut half = self.len() / 2;
        // Parts of a word stay together.
        while half < self.len() && word(self.place(half)) == word(self.place(half - 1)) {
            half += 1;
        }
        let begin = if half < self.len() { word(self.place(half)) << PART_BITS } else { 0 };
        let entries = self.entries.split_off(half * self.layout.bytes());
        let mut other = Leaf { entries, ..*self };
        other.begin_before(-i64::from(begin));
        self.entries.shrink_to_fit();
        self.begin_before(0);
        (begin, other)
    }

    /// Takes these places out.
    pub fn remove(&mut self, places: Range<usize>) {
        let bytes = self.layout.bytes();
        self.entries.drain(places.start * bytes..places.end * bytes);
        if self.entries.len() < self.entries.capacity() / 2 {
            self.entries.shrink_to_fit();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::ledger::Form;
    use super::super::order::Thread;
    use super::super::shadow::{Kind as Act, Mark};
    use super::super::stamped::Learns;
    use super::*;

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
        let (mut leaf, mut cells) = (Leaf::new(), Vec::new());
        let mut kinds = vec![leaf.layout];
        let mut add = |leaf: &mut Leaf, cells: &mut Vec<Cell>, cell: Cell| {
            let at = cells.len();
            leaf.insert(at, at as u32 * 100);
            leaf.put(&ledger, at, cell);
            cells.push(cell);
            for (at, cell) in cells.iter().enumerate() {
                assert_eq!((leaf.place(at), leaf.cell(&ledger, at)), (at as u32 * 100, *cell));
            }
            if kinds.last() != Some(&leaf.layout) {
                kinds.push(leaf.layout);
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
        leaf = Leaf::new();
        cells.clear();
        for n in 0..300 {
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
        let kinds: Vec<_> = kinds.iter().map(|l| (l.kind(), l.name, l.value)).collect();
        assert_eq!(
            kinds,
            [
                (Kind::Named(Form::Direct), 3, 1),
                (Kind::Named(Form::Direct), 3, 2),
                (Kind::Named(Form::Direct), 4, 2),
                (Kind::Named(Form::Stamped), 3, 2),
                (Kind::Pair, 2, 2),
                (Kind::Apart(Form::Stamped), 3, 2),
                (Kind::Apart(Form::Listed), 3, 2),
                // Another run.
                (Kind::Named(Form::Stamped), 3, 1),
                (Kind::Named(Form::Stamped), 4, 1),
                (Kind::Named(Form::Timeless), 3, 1),
                (Kind::Apart(Form::Timeless), 3, 1),
                (Kind::Tight, 3, 1),
                (Kind::Whole, 3, 1),
            ]
        );
    }

    #[test]
    fn a_run_is_divided_where_words_are() {
        let ledger = Ledger::default();
        let mut leaf = Leaf::new();
        // Four bytes of each word.
        let place = |n: usize| (n as u32 / 4 * 8 + n as u32 % 4 + 3) * 20;
        let place = |n: usize| place(n) & !7 | (n as u32 % 4 + 3);
        (0..100).for_each(|n| leaf.insert(n, place(n)));
        leaf.put(&ledger, 77, Cell { write: mark(5, 5, 5, Act::Write), ..Cell::default() });
        assert!(!leaf.is_full());
        let (begin, mut other) = leaf.split();
        assert_eq!((begin % 8, leaf.len() + other.len()), (0, 100));
        assert!(leaf.last() >> 3 < begin >> 3 && other.place(0) < 8);
        let at = 77 - leaf.len();
        assert_eq!(other.cell(&ledger, at).write, mark(5, 5, 5, Act::Write));
        assert_eq!(begin + other.place(at), place(77));
        other.begin_before(1 << 17);
        assert_eq!((other.layout.place, begin + other.place(at)), (3, place(77) + (1 << 17)));
        other.begin_before(-(1 << 17));
        assert_eq!(other.layout.place, 2);
        assert_eq!(other.range(u64::from(other.place(3))..FAR), 3..other.len());
        other.remove(0..other.len());
        assert_eq!(other.len(), 0);
    }
}
