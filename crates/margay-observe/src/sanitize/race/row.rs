// SPDX-License-Identifier: MIT OR Apache-2.0
//! A line of 128 bytes that whole warps access, lane after lane, as one place.

use super::page::WORDS;
use super::shadow::{Cell, Kind, Mark, Width};

/// A line that lanes of a warp access, each the same words as those of others before. Marks name lane 0 and stand for the
/// lane of each word.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    pub marks: Cell,
    /// The lanes whose words have these marks; others have none.
    pub wrote: u32,
    pub read: u32,
    /// The lane of the first word, and how many words each has: a power of two.
    pub first: u8,
    pub shift: u8,
    /// What each lane wrote, as [`Mark::value`].
    pub values: [u16; WORDS],
    /// The word that is accessed by itself, if there is one, and its cell. Each lane has one word then, and this one's
    /// counts for nothing above.
    odd: u8,
    pub own: Cell,
    /// Which line of the page it is.
    pub line: u16,
}

/// No word.
const NONE: u8 = u8::MAX;

impl Row {
    /// A line that nobody has accessed, but for a word by itself.
    pub fn of_word(line: usize, word: Option<(usize, Cell)>) -> Row {
        let mut row = Row { line: line as u16, ..Row::default() };
        if let Some((word, cell)) = word {
            (row.odd, row.own) = (word as u8, cell);
        }
        row
    }

    /// Whether nobody has accessed it.
    pub fn is_empty(&self) -> bool {
        self.is_without_lanes() && self.odd == NONE
    }

    fn is_without_lanes(&self) -> bool {
        self.marks.write.is_empty() && self.marks.read.is_empty()
    }

    /// The lane whose word is kept by itself, as a mask.
    #[inline]
    pub fn odd_lane(&self) -> u32 {
        if self.odd == NONE { 0 } else { 1 << self.odd }
    }

    /// The cell of a word, to be kept by itself; `None` if another is, or lanes have more than a word.
    pub fn own(&mut self, word: usize) -> Option<&mut Cell> {
        if self.odd == NONE && self.shift == 0 {
            self.own = self.cell(word);
            self.odd = word as u8;
            let others = !(1u32 << word);
            (self.wrote, self.read) = (self.wrote & others, self.read & others);
            let keep = |mark: &mut Mark, lanes: u32| {
                if lanes == 0 {
                    *mark = Mark::default();
                }
            };
            keep(&mut self.marks.write, self.wrote);
            keep(&mut self.marks.read, self.read);
        }
        (usize::from(self.odd) == word).then_some(&mut self.own)
    }

    /// Lanes that have words here.
    pub fn lanes(&self) -> u32 {
        let lanes = WORDS as u32 >> self.shift;
        (u32::MAX >> (32 - lanes)) << self.first
    }

    /// Whether blocks of which none comes before another have read what these lanes have here, and nobody has written it.
    pub fn is_read_by_blocks(&self, mask: u32) -> bool {
        let only_read = |cell: &Cell| {
            let read = cell.read.width() == Width::Blocks && cell.read.kind() == Kind::Read;
            read && cell.write.is_empty()
        };
        let (lanes, odd) = (self.lanes() & mask, self.odd_lane());
        let rest = lanes & !odd;
        let many = self.read & rest == rest && self.wrote & rest == 0;
        // The mark of a write may be that of other lanes.
        let marks = Cell { write: Mark::default(), ..self.marks };
        let rest_is = rest == 0 || many && only_read(&marks);
        lanes != 0 && rest_is && (lanes & odd == 0 || only_read(&self.own))
    }

    fn lane(&self, word: usize) -> u8 {
        self.first + (word >> self.shift) as u8
    }

    pub fn cell(&self, word: usize) -> Cell {
        if usize::from(self.odd) == word {
            return self.own;
        }
        let lane = self.lane(word);
        let of = |mark: Mark, lanes: u32| match lanes >> lane & 1 != 0 {
            true => mark.of_lane(lane),
            false => Mark::default(),
        };
        let (write, read) = (of(self.marks.write, self.wrote), of(self.marks.read, self.read));
        let write = match write.is_empty() {
            true => write,
            false => write.with_value(self.values[lane as usize]),
        };
        Cell { write, read }
    }
}

impl Default for Row {
    fn default() -> Row {
        let (marks, own) = (Cell::default(), Cell::default());
        let values = [0; WORDS];
        Row { marks, wrote: 0, read: 0, first: 0, shift: 0, values, odd: NONE, own, line: 0 }
    }
}
