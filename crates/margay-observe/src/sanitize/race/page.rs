// SPDX-License-Identifier: MIT OR Apache-2.0
//! The cells of a page, line by line, in as little memory as what was done to the line allows.
//!
//! - A line of 128 bytes that whole warps access, lane after lane, has one cell ([`Row`]), and one of its words, which may
//!   be accessed by itself, has another.
//! - Else there is a cell for each word, and once less than a word is accessed, for each byte: 6 bytes each, with the
//!   page's table of marks ([`super::packed`]), as what the lanes of a warp do at once differs little.
//! - Where too many different marks meet in a page, cells of bytes go by names of the whole launch ([`super::far`]).
//!   Where those are too many, too, and for words, cells are kept as they are: 32 bytes each. Words do so first.

use std::sync::Arc;

use super::far::Far;
use super::ledger::Ledger;
use super::packed::{FAR_MARKS, FAR_MARKS_APART, MOST_MARKS, Marks, Packed, Uses};
use super::shadow::{Cell, Mark, PAGE};

/// Bytes of a line.
pub const LINE: u64 = 128;
const WORDS: usize = (LINE / 4) as usize;

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
}

/// No word.
const NONE: u8 = u8::MAX;

impl Row {
    /// Whether nobody has accessed it.
    fn is_empty(&self) -> bool {
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
    fn own(&mut self, word: usize) -> Option<&mut Cell> {
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

    fn lane(&self, word: usize) -> u8 {
        self.first + (word >> self.shift) as u8
    }

    fn cell(&self, word: usize) -> Cell {
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
        Row { marks, wrote: 0, read: 0, first: 0, shift: 0, values, odd: NONE, own }
    }
}

/// How the cells of a line are kept.
#[derive(Debug)]
enum Line {
    /// In `Page::rows`, or nobody has accessed it.
    Row,
    Words(Box<Packed<WORDS>>),
    Bytes(Box<Packed<BYTES>>),
    FarBytes(Box<Far>),
    PlainWords(Box<[Cell; WORDS]>),
    PlainBytes(Box<[Cell; BYTES]>),
}

pub(super) const BYTES: usize = LINE as usize;

/// What a page takes if its words are accessed in ever other ways.
pub const USUAL_BYTES: u64 =
    PAGE / 4 * size_of::<Cell>() as u64 + PAGE / LINE * size_of::<Line>() as u64;

/// See the module's header.
#[derive(Debug)]
pub struct Page {
    lines: Vec<Line>,
    /// Of every line, once one is accessed as a row.
    rows: Vec<Row>,
    marks: Marks,
    /// Words are kept as they are: they have met too many different marks, or that was asked for.
    plain_words: bool,
    starts_plain: bool,
    /// Bytes are kept by the names of the launch's ledger.
    far: bool,
    bytes: u64,
    /// Of the launch; none of shared memory.
    ledger: Option<Arc<Ledger>>,
}

impl Page {
    /// `plain_words`: cells of words are kept as they are, which is faster.
    pub fn new(bytes: u64, plain_words: bool) -> Page {
        let lines = (0..bytes.div_ceil(LINE)).map(|_| Line::Row).collect();
        let (rows, marks, starts_plain) = (Vec::new(), Marks::default(), plain_words);
        let (far, ledger) = (false, None);
        Page { lines, rows, marks, plain_words, starts_plain, far, bytes, ledger }
    }

    /// The page is one of this launch's.
    pub fn join(&mut self, ledger: &Arc<Ledger>) {
        self.ledger = Some(ledger.clone());
    }

    /// A page of nothing, to stand in for one that is away.
    pub fn none() -> Page {
        Page::new(0, true)
    }

    /// Forgets all accesses.
    pub fn forget(&mut self) {
        for line in &mut self.lines {
            match line {
                Line::Row => {}
                Line::Words(_)
                | Line::Bytes(_)
                | Line::FarBytes(_)
                | Line::PlainWords(_)
                | Line::PlainBytes(_) => {
                    *line = Line::Row;
                }
            }
        }
        for row in self.rows.iter_mut().filter(|row| !row.is_empty()) {
            *row = Row::default();
        }
        self.marks.clear();
        (self.far, self.ledger) = (false, None);
        self.plain_words = self.starts_plain;
    }

    /// The line from `at` on, if it is accessed as a row; one that nobody has accessed becomes a row of this form.
    #[inline]
    pub fn row(&mut self, at: u64, first: u8, shift: u8) -> Option<&mut Row> {
        // Words beyond the end are nobody's.
        if at + LINE > self.bytes {
            return None;
        }
        let line = (at / LINE) as usize;
        let Line::Row = self.lines.get(line)? else { return None };
        if self.rows.is_empty() {
            self.rows = vec![Row::default(); self.lines.len()];
        }
        let row = &mut self.rows[line];
        if row.is_empty() {
            (row.first, row.shift) = (first, shift);
        }
        ((row.first, row.shift) == (first, shift)).then_some(row)
    }

    /// The cell of a word of a line that is or may be a row, if it may be the one that is kept by itself.
    #[inline]
    fn own(&mut self, line: usize, word: usize) -> Option<&mut Cell> {
        if self.rows.is_empty() {
            self.rows = vec![Row::default(); self.lines.len()];
        }
        let row = self.rows.get_mut(line)?;
        if row.is_empty() {
            (row.first, row.shift) = (0, 0);
        }
        row.own(word)
    }

    /// Calls `each` on the cells of the bytes `from..from + bytes` of the page.
    #[inline]
    pub fn cells(&mut self, from: u64, bytes: u64, mut each: impl FnMut(&mut Cell)) {
        let end = (from + bytes).min(self.bytes);
        let mut at = from;
        while at < end {
            let (line, within) = ((at / LINE) as usize, (at % LINE) as usize);
            let here = (end - at).min(LINE - at % LINE) as usize;
            at += here as u64;
            let whole = within.is_multiple_of(4) && here.is_multiple_of(4);
            let (words, bytes) = (within / 4..(within + here) / 4, within..within + here);
            match self.lines.get_mut(line) {
                Some(Line::PlainWords(cells)) if whole => {
                    cells[words].iter_mut().for_each(&mut each);
                    continue;
                }
                Some(Line::PlainBytes(cells)) => {
                    cells[bytes].iter_mut().for_each(&mut each);
                    continue;
                }
                Some(Line::Words(_)) if whole => {}
                Some(Line::Bytes(_) | Line::FarBytes(_)) => {}
                Some(Line::Row) if whole && words.len() == 1 => {
                    if let Some(cell) = self.own(line, words.start) {
                        each(cell);
                        continue;
                    }
                    self.divide(line, whole);
                }
                Some(_) => self.divide(line, whole),
                None => return,
            }
            let mut from = 0;
            // Again from where a line stopped being packed.
            loop {
                let left = match &mut self.lines[line] {
                    Line::Words(packed) => {
                        packed.visit(&mut self.marks, words.start + from..words.end, &mut each)
                    }
                    Line::Bytes(packed) => {
                        packed.visit(&mut self.marks, bytes.start + from..bytes.end, &mut each)
                    }
                    Line::FarBytes(far) => self.ledger.as_ref().and_then(|ledger| {
                        far.visit(ledger, bytes.start + from..bytes.end, &mut each)
                    }),
                    Line::PlainWords(cells) => {
                        cells[words.start + from..words.end].iter_mut().for_each(&mut each);
                        None
                    }
                    Line::PlainBytes(cells) => {
                        cells[bytes.start + from..bytes.end].iter_mut().for_each(&mut each);
                        None
                    }
                    Line::Row => None,
                };
                let Some((n, cell)) = left else { break };
                self.put(line, n, cell);
                let first = match self.lines[line] {
                    Line::Row | Line::Words(_) | Line::PlainWords(_) => words.start,
                    Line::Bytes(_) | Line::FarBytes(_) | Line::PlainBytes(_) => bytes.start,
                };
                from = n + 1 - first;
            }
        }
    }

    /// Gives a line a cell for each word, if that is enough, or else for each byte.
    #[cold]
    fn divide(&mut self, line: usize, whole: bool) {
        match std::mem::replace(&mut self.lines[line], Line::Row) {
            Line::Row => {
                let row = self.rows.get(line).copied().unwrap_or_default();
                self.lines[line] = match (whole, self.plain_words) {
                    (true, true) => Line::PlainWords(Box::new([Cell::default(); WORDS])),
                    (true, false) => Line::Words(Box::default()),
                    (false, _) => self.bytes(),
                };
                let (cells, each) = if whole { (WORDS, 1) } else { (BYTES, 4) };
                if !row.is_empty() {
                    for n in 0..cells {
                        let cell = row.cell(n / each);
                        if cell != Cell::default() {
                            self.put(line, n, cell);
                        }
                    }
                    self.rows[line] = Row::default();
                }
                self.drop_rows();
            }
            Line::Words(words) => self.lines[line] = Line::Bytes(Box::new(words.divided())),
            Line::PlainWords(words) => {
                self.lines[line] = self.bytes();
                (0..BYTES).for_each(|n| self.put(line, n, words[n / 4]));
            }
            bytes @ (Line::Bytes(_) | Line::FarBytes(_) | Line::PlainBytes(_)) => {
                self.lines[line] = bytes;
            }
        }
    }

    /// A line of bytes that nobody has accessed.
    fn bytes(&self) -> Line {
        let ledger = self.ledger.as_ref().filter(|_| self.far);
        match ledger.and_then(|ledger| Far::new(ledger, &[Cell::default(); BYTES])) {
            Some(far) => Line::FarBytes(far),
            None => Line::Bytes(Box::default()),
        }
    }

    /// Rows that nothing is kept in any more take no memory. Of shared memory they come again with the next block.
    fn drop_rows(&mut self) {
        let of_global = self.bytes == PAGE;
        if of_global && self.rows.iter().all(Row::is_empty) {
            self.rows = Vec::new();
        }
    }

    fn put(&mut self, line: usize, n: usize, cell: Cell) {
        loop {
            let done = match &mut self.lines[line] {
                Line::Row => true,
                Line::Words(words) => words.put(&mut self.marks, n, cell),
                Line::Bytes(bytes) => bytes.put(&mut self.marks, n, cell),
                Line::FarBytes(far) => {
                    self.ledger.as_ref().is_none_or(|ledger| far.put(ledger, n, cell))
                }
                Line::PlainWords(words) => {
                    words[n] = cell;
                    true
                }
                Line::PlainBytes(bytes) => {
                    bytes[n] = cell;
                    true
                }
            };
            if done {
                return;
            }
            self.make_room(line);
        }
    }

    /// Forgets marks that no cell has any more, and keeps cells plain where too many are left.
    #[cold]
    fn make_room(&mut self, line: usize) {
        if let (Line::FarBytes(far), Some(ledger)) = (&self.lines[line], &self.ledger) {
            self.lines[line] = Line::PlainBytes(far.leave(ledger));
            return;
        }
        let used = loop {
            let mut used = Uses::default();
            for line in &self.lines {
                match line {
                    Line::Words(words) => words.note(&mut used),
                    Line::Bytes(bytes) => bytes.note(&mut used),
                    Line::Row | Line::FarBytes(_) | Line::PlainWords(_) | Line::PlainBytes(_) => {}
                }
            }
            let count = used.count();
            let most = if used.are_apart() { FAR_MARKS_APART } else { FAR_MARKS };
            if count >= most && self.go_far() {
                continue;
            }
            if count <= MOST_MARKS || !self.unpack(line) {
                break used;
            }
        };
        let packed = |line: &Line| matches!(line, Line::Words(_) | Line::Bytes(_));
        if !self.lines.iter().any(packed) {
            return self.marks.clear();
        }
        let numbers = self.marks.keep(&used);
        for line in &mut self.lines {
            match line {
                Line::Words(words) => words.renumber(&numbers),
                Line::Bytes(bytes) => bytes.renumber(&numbers),
                Line::Row | Line::FarBytes(_) | Line::PlainWords(_) | Line::PlainBytes(_) => {}
            }
        }
    }

    /// Keeps bytes by the launch's ledger from now on. False if there are none that are not, or it has no room.
    fn go_far(&mut self) -> bool {
        let Some(ledger) = &self.ledger else { return false };
        let (marks, mut done) = (&self.marks, false);
        for own in &mut self.lines {
            if let Line::Bytes(bytes) = own {
                let cells = std::array::from_fn(|n| bytes.cell(marks, n));
                let Some(far) = Far::new(ledger, &cells) else { break };
                *own = Line::FarBytes(far);
                done = true;
            }
        }
        self.far |= done;
        done
    }

    /// Keeps words plain from now on; if there are none that are packed, then this line. False if it is, too.
    fn unpack(&mut self, line: usize) -> bool {
        let (marks, mut done) = (&self.marks, false);
        for own in &mut self.lines {
            if let Line::Words(words) = own {
                let cells = std::array::from_fn(|n| words.cell(marks, n));
                *own = Line::PlainWords(Box::new(cells));
                (self.plain_words, done) = (true, true);
            }
        }
        if !done && let Line::Bytes(bytes) = &self.lines[line] {
            let cells = std::array::from_fn(|n| bytes.cell(marks, n));
            self.lines[line] = Line::PlainBytes(Box::new(cells));
            done = true;
        }
        done
    }
}

#[cfg(test)]
mod tests {
    use super::super::order::Thread;
    use super::super::shadow::Kind;
    use super::*;

    /// Any access of any thread.
    fn mark(n: u64) -> Mark {
        let n = n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
        let me = Thread { block: n as u32 >> 7, warp: (n >> 5 & 3) as u16, lane: (n & 31) as u8 };
        let kind = [Kind::Read, Kind::Write, Kind::Atomic][(n >> 9) as usize % 3];
        Mark::new(me, 1 + (n >> 12 & 7) as u32, (n >> 3) as u32 & 15, kind, None)
    }

    /// However a page keeps its cells, they are those of a list of bytes.
    #[test]
    fn a_page_is_its_bytes() {
        let listed = || Some(Arc::default());
        for (kinds, plain, ledger) in [
            (8, true, listed()),
            (8, false, listed()),
            (100, false, listed()),
            // Too many for a page of bytes.
            (300, false, listed()),
            // Some threads have direct names, or all.
            (300, false, Some(Arc::new(Ledger::new(1 << 24, 4)))),
            (300, false, Some(Arc::new(Ledger::new(1 << 25, 4)))),
            // For the ledger, too.
            (1 << 20, false, listed()),
            (1 << 20, false, None),
        ] {
            let mut page = Page::new(PAGE, plain);
            if let Some(ledger) = &ledger {
                page.join(ledger);
            }
            let mut bytes = vec![Cell::default(); PAGE as usize];
            let mut seed = 7u64;
            let mut next = |below: u64| {
                seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                (seed >> 33) % below
            };
            for step in 0..40_000 {
                let words = step < 10_000 && kinds != 300;
                let sizes: &[u64] = if words { &[4, 8, 16] } else { &[1, 1, 1, 1, 2, 4] };
                let size = sizes[next(sizes.len() as u64) as usize];
                let at = next(PAGE / size) * size;
                let (new, writes) = (mark(next(kinds)), next(2) == 0);
                let new = if writes { new.with_value(next(1 << 16) as u16) } else { new };
                let change = |cell: &mut Cell| match writes {
                    true => *cell = Cell { write: new, read: Mark::default() },
                    false => cell.read = new,
                };
                let mut seen = Vec::new();
                page.cells(at, size, |cell| {
                    seen.push(*cell);
                    change(cell);
                });
                let own = &mut bytes[at as usize..(at + size) as usize];
                let step = own.len() / seen.len();
                assert!(step == 1 || step == 4, "cells of {step} bytes");
                for (n, cell) in own.iter_mut().enumerate() {
                    assert_eq!(*cell, seen[n / step]);
                    change(cell);
                }
            }
            let count = |of: fn(&Line) -> bool| page.lines.iter().filter(|line| of(line)).count();
            let far = count(|line| matches!(line, Line::FarBytes(_)));
            let unpacked = count(|line| matches!(line, Line::PlainBytes(_)));
            assert_eq!(unpacked > 0, kinds == 1 << 20, "{kinds} kinds, {unpacked} unpacked");
            assert_eq!(far > 0, kinds == 300, "{kinds} kinds, {far} far");
        }
    }

    #[test]
    fn a_row_is_divided_with_its_lanes_and_values() {
        for (size, first, shift) in [(4, 0, 0), (1, 0, 0), (4, 16, 1)] {
            let mut page = Page::new(PAGE, false);
            let row = page.row(128, first, shift).unwrap();
            (row.marks.write, row.wrote) = (mark(3).of_lane(0), u32::MAX);
            row.values = std::array::from_fn(|lane| lane as u16 + 1);
            assert!(page.row(128, first, shift).is_some());
            let mut cells = Vec::new();
            page.cells(128, 128 / size * size, |cell| cells.push(*cell));
            page.cells(128, size, |_| {});
            assert!(page.row(128, first, shift).is_none() && page.rows.is_empty());
            for (word, cell) in cells.iter().enumerate() {
                let lane = first + (word >> shift) as u8;
                assert_eq!(cell.write, mark(3).of_lane(lane).with_value(u16::from(lane) + 1));
            }
        }
    }
}
