// SPDX-License-Identifier: MIT OR Apache-2.0
//! Cells of the words of a page, or of parts of words, of which a line has so few that what lies between would take more:
//! 8 bytes each, with the page's table of marks ([`super::packed`]).

use std::ops::Range;

use smallvec::SmallVec;

use super::packed::{Marks, Uses, renumber};
use super::page::WORDS;
use super::shadow::Cell;

/// Which bytes of a word: a bit for each.
pub type Part = u8;
/// All of them.
pub const WHOLE: Part = 15;

/// Places of a line, before they have cells in a row: of words, and of parts of words.
const MOST_WORDS: usize = 7;
const MOST_PARTS: usize = 16;

/// Places that an empty list may have room for.
const KEPT: usize = 4;

/// A word of the page, and a part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place(u16);

impl Place {
    pub fn new(line: usize, word: usize, part: Part) -> Place {
        Place(((line * WORDS + word) << 4) as u16 | u16::from(part))
    }

    /// Of the line.
    pub fn word(self) -> usize {
        usize::from(self.0 >> 4) % WORDS
    }

    pub fn part(self) -> Part {
        self.0 as u8 & WHOLE
    }

    pub fn line(self) -> usize {
        usize::from(self.0 >> 4) / WORDS
    }

    /// Of the line.
    pub fn bytes(self) -> impl Iterator<Item = usize> {
        let (word, part) = (self.word(), self.part());
        (0..4).filter(move |byte| part >> byte & 1 != 0).map(move |byte| 4 * word + byte)
    }

    /// Whether both have a byte.
    fn meets(self, other: Place) -> bool {
        self.0 >> 4 == other.0 >> 4 && self.part() & other.part() != 0
    }
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    place: Place,
    /// As in [`super::packed::Packed`].
    write: u16,
    read: u16,
    value: u16,
}

/// What there is, by place.
#[derive(Debug, Default)]
pub struct Few(Vec<Entry>);

/// A cell that was here.
pub type Left = (Place, Cell);

impl Few {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn clear(&mut self) {
        self.0.clear();
    }

    fn of_line(&self, line: usize) -> Range<usize> {
        let from = |line| self.0.partition_point(|entry| entry.place < Place::new(line, 0, 0));
        from(line)..from(line + 1)
    }

    /// The only place of a line that has one; `Err` if it has more.
    pub fn only(&self, line: usize) -> Result<Option<Place>, ()> {
        match &self.0[self.of_line(line)] {
            [] => Ok(None),
            [entry] => Ok(Some(entry.place)),
            _ => Err(()),
        }
    }

    /// Where a place is, once it is here; `None` if it meets another, or its line is to have no more of them. `alone`: a
    /// line is to have one.
    #[inline]
    pub fn at(&mut self, place: Place, alone: bool) -> Option<usize> {
        match self.0.binary_search_by_key(&place, |entry| entry.place) {
            Ok(at) => Some(at),
            Err(at) => self.begin(at, place, alone),
        }
    }

    fn begin(&mut self, at: usize, place: Place, alone: bool) -> Option<usize> {
        // What meets it is less than a word's places away.
        let near = self.0[at.saturating_sub(4)..].iter().take(8);
        if near.into_iter().any(|entry| entry.place.meets(place)) {
            return None;
        }
        let most = match (alone, place.part()) {
            (true, _) => 1,
            (false, WHOLE) => MOST_WORDS,
            (false, _) => MOST_PARTS,
        };
        if self.of_line(place.line()).len() >= most {
            return None;
        }
        if self.0.len() == self.0.capacity() {
            self.0.reserve_exact((self.0.len() / 4).max(4));
        }
        self.0.insert(at, Entry { place, write: 0, read: 0, value: 0 });
        Some(at)
    }

    #[inline]
    pub fn cell(&self, marks: &Marks, at: usize) -> Cell {
        let Entry { write, read, value, .. } = self.0[at];
        marks.cell(write, read, value)
    }

    /// False, with nothing done, if there is no room in the table.
    #[inline]
    pub fn put(&mut self, marks: &mut Marks, at: usize, cell: Cell) -> bool {
        let Some((write, read)) = marks.pack_both(cell) else { return false };
        let entry = &mut self.0[at];
        (entry.write, entry.read, entry.value) = (write, read, cell.write.value());
        true
    }

    /// The cells of a line.
    pub fn left(&self, marks: &Marks, line: usize) -> SmallVec<[Left; MOST_WORDS]> {
        self.of_line(line).map(|at| (self.0[at].place, self.cell(marks, at))).collect()
    }

    /// The same, which are here no more.
    pub fn take(&mut self, marks: &Marks, line: usize) -> SmallVec<[Left; MOST_WORDS]> {
        let cells = self.left(marks, line);
        self.0.drain(self.of_line(line));
        if self.0.is_empty() && self.0.capacity() > KEPT {
            self.0 = Vec::new();
        }
        cells
    }

    /// Lines of which parts of words are here.
    pub fn lines_of_parts(&self) -> SmallVec<[usize; 32]> {
        let parts = self.0.iter().filter(|entry| entry.place.part() != WHOLE);
        let mut lines: SmallVec<[usize; 32]> = parts.map(|entry| entry.place.line()).collect();
        lines.dedup();
        lines
    }

    /// The first place here.
    pub fn first(&self) -> Option<Place> {
        self.0.first().map(|entry| entry.place)
    }

    /// Lines that have places here.
    pub fn lines(&self) -> usize {
        self.0.chunk_by(|a, b| a.place.line() == b.place.line()).count()
    }

    /// Notes the numbers that the cells have.
    pub fn note(&self, used: &mut Uses) {
        for entry in &self.0 {
            used.add(entry.write >> 5);
            used.add(entry.read >> 5);
        }
    }

    /// Gives the marks other numbers.
    pub fn renumber(&mut self, numbers: &[u16]) {
        let both = self.0.iter_mut().flat_map(|entry| [&mut entry.write, &mut entry.read]);
        both.for_each(|packed| renumber(packed, numbers));
    }
}
