// SPDX-License-Identifier: MIT OR Apache-2.0
//! The cells of a page, line by line, in as little memory as what was done to the line allows.
//!
//! - The first few words of a line, or parts of words, are in a list of the page ([`super::few`]): 8 bytes each.
//! - A line of 128 bytes that whole warps access, lane after lane, has one cell ([`Row`]), and one of its words, which may
//!   be accessed by itself, has another.
//! - Else there is a cell for each word (or for a part of each, where that is all that is accessed), and once that is not
//!   enough, for each byte: 6 bytes each, with the page's table of marks ([`super::packed`]), as what the lanes of a warp
//!   do at once differs little.
//! - Where too many different marks meet in a page, cells of bytes go by names of the whole launch ([`super::far`]; where
//!   one thread writes each and another reads it, [`super::paired`]), and so do those of the list.
//!   Where those are too many, too, and for words, cells are kept as they are ([`super::plain`]): 28 bytes each. Words do
//!   so first.
//!
//! Shared memory, of which a block uses most, has no list: a first word makes a row.

use std::ops::Range;
use std::sync::Arc;

use super::acts::ACTS;
use super::far::{self, Far};
use super::few::{Few, Left, Part, Place, WHOLE};
use super::ledger::{Book, Form, Ledger};
use super::lines::Lines;
use super::packed::{FAR_MARKS, FAR_MARKS_APART, MOST_MARKS, Marks, Packed, Uses};
use super::paired::Paired;
use super::plain::Plain;
use super::row::Row;
use super::shadow::{Cell, PAGE};
use super::slots::Epoch;
use super::stamped::Freed;

/// Bytes of a line.
pub const LINE: u64 = 128;
pub(super) const WORDS: usize = (LINE / 4) as usize;
pub(super) const BYTES: usize = LINE as usize;

/// How the cells of a line are kept.
#[derive(Debug, Default)]
pub(super) enum Line {
    /// In `Page::few`, or nobody has accessed it.
    #[default]
    Few,
    /// At this place of `Page::rows`.
    Row(u16),
    /// Of this part of each word; nobody has accessed the others.
    Words(Box<Packed<WORDS>>, Part),
    Bytes(Box<Packed<BYTES>>),
    FarBytes(Box<Far>),
    PairBytes(Box<Paired>),
    PlainWords(Box<Plain<WORDS>>, Part),
    PlainBytes(Box<Plain<BYTES>>),
}

impl Line {
    /// Cells of bytes by names of the launch; `None` if there is no room in the ledger.
    fn far(book: Book<'_>, cells: &[Cell; BYTES]) -> Option<Line> {
        // In very large grids names of pairs have more room.
        let paired = far::are_apart(cells) || book.grid().acts() < ACTS && !book.has(Form::Direct);
        let pairs = paired.then(|| Paired::new(book, cells)).flatten();
        let far = || Far::new(book, cells).map(Line::FarBytes);
        pairs.map(Line::PairBytes).or_else(far)
    }

    /// Gives what has a name that may mean something else by now the one that it has in a new book.
    fn turn(&mut self, books: (Book<'_>, Book<'_>), freed: &Freed) {
        let left = match self {
            Line::FarBytes(far) => (!far.turn(books, freed)).then(|| far.cells(books.0)),
            Line::PairBytes(pairs) => (!pairs.turn(books, freed)).then(|| pairs.cells(books.0)),
            Line::Few
            | Line::Row(_)
            | Line::Words(..)
            | Line::Bytes(_)
            | Line::PlainWords(..)
            | Line::PlainBytes(_) => None,
        };
        if let Some(cells) = left {
            books.0.leave();
            *self = Line::PlainBytes(Plain::of(|n| cells[n]));
        }
    }

    /// Keeps cells that have names of the launch in a way that has more room. False if they have none.
    fn make_room(&mut self, book: Book<'_>) -> bool {
        let (cells, paired) = match self {
            Line::FarBytes(far) if far.is_full() => {
                let cells = far.cells(book);
                let Some(pairs) = Paired::new(book, &cells) else {
                    // An old book has no room where there is some.
                    if !book.is_old() {
                        far.make_room();
                    }
                    return true;
                };
                *self = Line::PairBytes(pairs);
                book.leave();
                return true;
            }
            Line::FarBytes(far) => (far.cells(book), false),
            Line::PairBytes(pairs) => (pairs.cells(book), true),
            Line::Few
            | Line::Row(_)
            | Line::Words(..)
            | Line::Bytes(_)
            | Line::PlainWords(..)
            | Line::PlainBytes(_) => return false,
        };
        let listed = paired.then(|| Far::new(book, &cells)).flatten();
        if listed.is_none() && book.is_old() {
            return true;
        }
        book.leave();
        *self = match listed {
            Some(mut far) => {
                // Else one more reader would make pairs of them again, and so on.
                if far.is_full() {
                    far.make_room();
                }
                Line::FarBytes(far)
            }
            None => Line::PlainBytes(Plain::of(|n| cells[n])),
        };
        true
    }
}

/// What a page takes if its words are accessed in ever other ways.
pub const USUAL_BYTES: u64 =
    PAGE / LINE * (size_of::<Plain<WORDS>>() as u64 + size_of::<Line>() as u64);

/// What the lines of a page take by themselves.
pub(super) const LINES_BYTES: usize = (PAGE / LINE) as usize * size_of::<Line>();

/// See the module's header.
#[derive(Debug)]
pub struct Page {
    /// None before one is kept in another way than in the list.
    pub(super) lines: Lines<Line>,
    rows: Vec<Row>,
    pub(super) few: Few,
    pub(super) marks: Marks,
    /// Words are kept as they are: they have met too many different marks, or that was asked for.
    plain_words: bool,
    starts_plain: bool,
    /// Bytes are kept by the names of the launch's ledger.
    far: bool,
    /// The list is to have no names: there were none for what it had.
    unnamed: bool,
    /// Lines that had too many words for the list; and whether the next are not to begin there.
    filled: u8,
    fills: bool,
    bytes: u64,
    /// Of the launch; none of shared memory.
    ledger: Option<Arc<Ledger>>,
    /// Up to when names were gone through.
    seen: Epoch,
}

/// The launch's ledger, as a page reads it that has gone through its names up to `seen`.
#[inline]
fn book(ledger: &Option<Arc<Ledger>>, seen: Epoch) -> Option<Book<'_>> {
    ledger.as_ref().map(|ledger| ledger.book(seen))
}

/// The words that bytes of a line are in, and which part of each they are; 0 if that is not the same of all.
#[inline]
fn parts(within: usize, bytes: usize) -> (Range<usize>, Part) {
    let words = within / 4..(within + bytes).div_ceil(4);
    let part = match words.len() {
        _ if within.is_multiple_of(4) && bytes.is_multiple_of(4) => WHOLE,
        1 => ((1 << bytes) - 1) << (within % 4),
        _ => 0,
    };
    (words, part)
}

impl Page {
    /// `plain_words`: cells of words are kept as they are from the first, which is faster.
    pub fn new(bytes: u64, plain_words: bool) -> Page {
        let (lines, rows, few, marks) = Default::default();
        let (far, unnamed, filled, fills, ledger) = (false, false, 0, false, None);
        let starts_plain = plain_words;
        Page {
            lines,
            rows,
            few,
            marks,
            plain_words,
            starts_plain,
            far,
            unnamed,
            filled,
            fills,
            bytes,
            ledger,
            seen: 0,
        }
    }

    /// The page is one of this launch's.
    pub fn join(&mut self, ledger: &Arc<Ledger>) {
        (self.ledger, self.seen) = (Some(ledger.clone()), 0);
    }

    /// A page of nothing, to stand in for one that is away.
    pub fn none() -> Page {
        Page::new(0, true)
    }

    /// Forgets all accesses.
    pub fn forget(&mut self) {
        for line in self.lines.iter_mut() {
            match line {
                Line::Few => {}
                Line::Row(_)
                | Line::Words(..)
                | Line::Bytes(_)
                | Line::FarBytes(_)
                | Line::PairBytes(_)
                | Line::PlainWords(..)
                | Line::PlainBytes(_) => {
                    *line = Line::Few;
                }
            }
        }
        self.rows.clear();
        self.few.clear();
        self.marks.clear();
        (self.far, self.unnamed, self.ledger) = (false, false, None);
        (self.filled, self.fills) = (0, false);
        self.plain_words = self.starts_plain;
    }

    /// A line, to be kept in another way.
    fn line(&mut self, line: usize) -> &mut Line {
        self.lines.make(line, self.bytes.div_ceil(LINE) as usize)
    }

    /// The line from `at` on, if it is accessed as a row; one of which at most a word was accessed becomes a row of this
    /// form.
    #[inline]
    pub fn row(&mut self, at: u64, first: u8, shift: u8) -> Option<&mut Row> {
        // Words beyond the end are nobody's.
        if at + LINE > self.bytes {
            return None;
        }
        let line = (at / LINE) as usize;
        let n = match self.lines.get(line) {
            Some(Line::Row(n)) => usize::from(*n),
            Some(Line::Few) | None => self.begin_row(line, (first, shift) == (0, 0))?,
            Some(_) => return None,
        };
        let row = self.rows.get_mut(n)?;
        if row.is_empty() {
            (row.first, row.shift) = (first, shift);
        }
        ((row.first, row.shift) == (first, shift)).then_some(row)
    }

    /// A row for what was accessed of a line, if that was one word at most; `of_words`: or else nothing.
    fn begin_row(&mut self, line: usize, of_words: bool) -> Option<usize> {
        let only = if self.few.is_empty() { Ok(None) } else { self.few.only(line) };
        let word = match only {
            Ok(None) => None,
            Ok(Some(place)) if of_words && place.part() == WHOLE => {
                let taken = self.few.take(&self.marks, book(&self.ledger, self.seen), line);
                taken.first().map(|&(place, cell)| (place.word(), cell))
            }
            Ok(Some(_)) | Err(()) => return None,
        };
        let n = self.rows.len();
        if n == self.rows.capacity() {
            self.rows.reserve_exact(n.max(1));
        }
        self.rows.push(Row::of_word(line, word));
        *self.line(line) = Line::Row(n as u16);
        Some(n)
    }

    /// The cell of a word of a line that is a row, or may be one, if it may be the one that is kept by itself.
    #[inline]
    fn own(&mut self, line: usize, word: usize) -> Option<&mut Cell> {
        let n = match self.lines.get(line) {
            Some(Line::Row(n)) => usize::from(*n),
            Some(_) | None => self.begin_row(line, true)?,
        };
        let row = self.rows.get_mut(n)?;
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
            let (words, part) = parts(within, here);
            let bytes = within..within + here;
            match self.lines.get_mut(line) {
                Some(Line::PlainWords(cells, own)) if *own == part => {
                    cells.visit(words, &mut each);
                    at += here as u64;
                    continue;
                }
                Some(Line::PlainBytes(cells)) => {
                    cells.visit(bytes, &mut each);
                    at += here as u64;
                    continue;
                }
                Some(Line::Words(_, own)) if *own == part => {}
                Some(Line::Bytes(_) | Line::FarBytes(_) | Line::PairBytes(_)) => {}
                Some(Line::Few) | None if !self.starts_plain => {
                    let done = self.visit_few(line, words.clone(), part, &mut each);
                    if done > 0 {
                        at += if done == words.len() { here as u64 } else { 4 * done as u64 };
                        continue;
                    }
                    self.divide(line, part);
                }
                Some(Line::Row(_) | Line::Few) | None if part == WHOLE && words.len() == 1 => {
                    if let Some(cell) = self.own(line, words.start) {
                        each(cell);
                        at += here as u64;
                        continue;
                    }
                    self.divide(line, part);
                }
                Some(_) | None => self.divide(line, part),
            }
            at += here as u64;
            let mut from = 0;
            // Again from where a line stopped being packed.
            loop {
                let left = match &mut self.lines[line] {
                    Line::Words(packed, _) => {
                        packed.visit(&mut self.marks, words.start + from..words.end, &mut each)
                    }
                    Line::Bytes(packed) => {
                        packed.visit(&mut self.marks, bytes.start + from..bytes.end, &mut each)
                    }
                    Line::FarBytes(far) => book(&self.ledger, self.seen)
                        .and_then(|book| far.visit(book, bytes.start + from..bytes.end, &mut each)),
                    Line::PairBytes(pairs) => book(&self.ledger, self.seen).and_then(|book| {
                        pairs.visit(book, bytes.start + from..bytes.end, &mut each)
                    }),
                    Line::PlainWords(cells, _) => {
                        cells.visit(words.start + from..words.end, &mut each);
                        None
                    }
                    Line::PlainBytes(cells) => {
                        cells.visit(bytes.start + from..bytes.end, &mut each);
                        None
                    }
                    Line::Few | Line::Row(_) => None,
                };
                let Some((n, cell)) = left else { break };
                self.put(line, n, cell);
                let first = match self.lines[line] {
                    Line::Few | Line::Row(_) | Line::Words(..) | Line::PlainWords(..) => {
                        words.start
                    }
                    Line::Bytes(_)
                    | Line::FarBytes(_)
                    | Line::PairBytes(_)
                    | Line::PlainBytes(_) => bytes.start,
                };
                from = n + 1 - first;
            }
        }
    }

    /// Calls `each` on the cells of these words, or parts of words, in the list. Returns how many of them that were: none
    /// if the line is to have cells in a row.
    fn visit_few(
        &mut self,
        line: usize,
        words: Range<usize>,
        part: Part,
        each: &mut impl FnMut(&mut Cell),
    ) -> usize {
        if part == 0 || self.far && part != WHOLE {
            return 0;
        }
        let all = words.len();
        for (done, word) in words.enumerate() {
            let place = Place::new(line, word, part);
            let Some(mut at) = self.few.at(place, self.fills) else {
                self.fill();
                return done;
            };
            let old = self.few.cell(&self.marks, book(&self.ledger, self.seen), at);
            let mut cell = old;
            each(&mut cell);
            while cell != old
                && !self.few.put(&mut self.marks, book(&self.ledger, self.seen), at, cell)
            {
                match self.few.is_named() {
                    true => self.rename(),
                    false => self.make_room(line),
                }
                match self.few.has(place) {
                    Some(now) => at = now,
                    None => {
                        self.put_part(line, (place, cell));
                        return done + 1;
                    }
                }
            }
        }
        all
    }

    /// A line has too many words for the list: if that goes for many of those that are accessed, it goes for the next.
    #[cold]
    pub(super) fn fill(&mut self) {
        self.filled = self.filled.saturating_add(1);
        self.fills |= usize::from(self.filled) * 3 >= self.few.lines();
    }

    /// Gives a line a cell for this part of each word, if that is enough, or else for each byte.
    #[cold]
    pub(super) fn divide(&mut self, line: usize, part: Part) {
        match std::mem::take(self.line(line)) {
            Line::Few => {
                let kept = self.few.take(&self.marks, book(&self.ledger, self.seen), line);
                let alike = kept.iter().all(|(place, _)| place.part() == part);
                *self.line(line) = if alike { self.parts(part) } else { self.bytes() };
                kept.into_iter().for_each(|left| self.put_part(line, left));
            }
            Line::Row(n) => {
                let row = self.take_row(n);
                let part = if part == WHOLE { WHOLE } else { 0 };
                *self.line(line) = self.parts(part);
                for word in 0..WORDS {
                    let cell = row.cell(word);
                    if cell != Cell::default() {
                        self.put_part(line, (Place::new(line, word, WHOLE), cell));
                    }
                }
            }
            Line::Words(words, own) => {
                self.lines[line] = Line::Bytes(Box::new(words.divided(own)));
            }
            Line::PlainWords(words, own) => {
                self.lines[line] = self.bytes();
                for word in 0..WORDS {
                    self.put_part(line, (Place::new(line, word, own), words.cell(word)));
                }
            }
            bytes @ (Line::Bytes(_)
            | Line::FarBytes(_)
            | Line::PairBytes(_)
            | Line::PlainBytes(_)) => {
                self.lines[line] = bytes;
            }
        }
    }

    /// A line with a cell for this part of each word, or for each byte if that is 0, that nobody has accessed.
    fn parts(&self, part: Part) -> Line {
        match (part, self.plain_words) {
            (0, _) => self.bytes(),
            (_, true) => Line::PlainWords(Box::default(), part),
            (_, false) => Line::Words(Box::default(), part),
        }
    }

    /// A line of bytes that nobody has accessed.
    fn bytes(&self) -> Line {
        let book = book(&self.ledger, self.seen).filter(|_| self.far);
        let far = book.and_then(|book| Line::far(book, &[Cell::default(); BYTES]));
        far.unwrap_or_else(|| Line::Bytes(Box::default()))
    }

    /// A row, which is none any more. The memory of the last goes, but for shared memory: there they come again with the
    /// next block.
    fn take_row(&mut self, n: u16) -> Row {
        let row = self.rows.swap_remove(usize::from(n));
        if let Some(moved) = self.rows.get(usize::from(n)) {
            self.lines[usize::from(moved.line)] = Line::Row(n);
        }
        if self.rows.is_empty() && !self.starts_plain {
            self.rows = Vec::new();
        }
        row
    }

    /// Puts the cell of a word, or of a part of one, where the line, which is not in the list, has it.
    fn put_part(&mut self, line: usize, (place, cell): Left) {
        match self.lines[line] {
            Line::Words(..) | Line::PlainWords(..) => self.put(line, place.word(), cell),
            _ => place.bytes().for_each(|byte| self.put(line, byte, cell)),
        }
    }

    fn put(&mut self, line: usize, n: usize, cell: Cell) {
        loop {
            let done = match &mut self.lines[line] {
                Line::Few | Line::Row(_) => true,
                Line::Words(words, _) => words.put(&mut self.marks, n, cell),
                Line::Bytes(bytes) => bytes.put(&mut self.marks, n, cell),
                Line::FarBytes(far) => {
                    book(&self.ledger, self.seen).is_none_or(|book| far.put(book, n, cell))
                }
                Line::PairBytes(pairs) => {
                    book(&self.ledger, self.seen).is_none_or(|book| pairs.put(book, n, cell))
                }
                Line::PlainWords(words, _) => {
                    words.put(n, cell);
                    true
                }
                Line::PlainBytes(bytes) => {
                    bytes.put(n, cell);
                    true
                }
            };
            if done {
                return;
            }
            self.make_room(line);
        }
    }

    /// Goes through all names, where some may mean something else by now. False if none may.
    fn turn(&mut self) -> bool {
        let Some(ledger) = self.ledger.clone() else { return false };
        let old = ledger.book(self.seen);
        let Some((freed, new)) = old.turn() else { return false };
        self.lines.iter_mut().for_each(|line| line.turn((old, new), &freed));
        let listed = self.few.turn((old, new), &freed);
        self.seen = new.seen();
        if !listed {
            self.unname(old);
        }
        true
    }

    /// Gives the list other names, or marks.
    #[cold]
    fn rename(&mut self) {
        let Some(ledger) = self.ledger.clone() else { return };
        let book = ledger.book(self.seen);
        if !(self.turn() || self.few.rename(&self.marks, book) || self.turn()) {
            self.unname(book);
        }
    }

    /// Gives the list marks, where there are no names.
    fn unname(&mut self, book: Book<'_>) {
        book.leave();
        self.unnamed = true;
        for (place, cell) in self.few.unname(&self.marks, Some(book)) {
            // Where marks are too many, what is left of the list goes into lines.
            while let Some(at) = self.few.has(place)
                && !self.few.put(&mut self.marks, None, at, cell)
            {
                self.make_room(place.line());
            }
            if self.few.has(place).is_none() {
                self.put_part(place.line(), (place, cell));
            }
        }
    }

    /// Forgets marks that no cell has any more, and keeps cells plain where too many are left.
    #[cold]
    fn make_room(&mut self, line: usize) {
        if self.turn() {
            return;
        }
        if let Some(book) = book(&self.ledger, self.seen)
            && let Some(own) = self.lines.get_mut(line)
            && own.make_room(book)
        {
            return;
        }
        if !self.unnamed
            && let Some(book) = book(&self.ledger, self.seen)
            && self.few.is_apart()
        {
            let named = self.few.rename(&self.marks, book);
            if named {
                book.enter();
            } else if self.turn() {
                return;
            }
            self.unnamed = !named;
        }
        let used = loop {
            let mut used = Uses::default();
            self.few.note(&mut used);
            for line in self.lines.iter() {
                match line {
                    Line::Words(words, _) => words.note(&mut used),
                    Line::Bytes(bytes) => bytes.note(&mut used),
                    Line::Few
                    | Line::Row(_)
                    | Line::FarBytes(_)
                    | Line::PairBytes(_)
                    | Line::PlainWords(..)
                    | Line::PlainBytes(_) => {}
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
        let packed = |line: &Line| matches!(line, Line::Words(..) | Line::Bytes(_));
        let none = !self.lines.iter().any(packed);
        if none && (self.few.is_empty() || self.few.is_named()) {
            return self.marks.clear();
        }
        let Some(numbers) = self.marks.keep(&used, none) else { return };
        self.few.renumber(&numbers);
        for line in self.lines.iter_mut() {
            match line {
                Line::Words(words, _) => words.renumber(&numbers),
                Line::Bytes(bytes) => bytes.renumber(&numbers),
                Line::Few
                | Line::Row(_)
                | Line::FarBytes(_)
                | Line::PairBytes(_)
                | Line::PlainWords(..)
                | Line::PlainBytes(_) => {}
            }
        }
    }

    /// Keeps bytes by the launch's ledger from now on. False if there are none that are not, or it has no room.
    fn go_far(&mut self) -> bool {
        let mut done = self.lines_go_far();
        // An old book has no room where there is some.
        while self.turn() {
            done |= self.lines_go_far();
        }
        done
    }

    fn lines_go_far(&mut self) -> bool {
        let Some(ledger) = self.ledger.clone() else { return false };
        let (book, marks, mut done) = (ledger.book(self.seen), &self.marks, false);
        for own in self.lines.iter_mut() {
            if let Line::Bytes(bytes) = own {
                let cells = std::array::from_fn(|n| bytes.cell(marks, n));
                let Some(far) = Line::far(book, &cells) else { break };
                *own = far;
                done = true;
            }
        }
        for line in self.few.lines_of_parts() {
            let mut cells = [Cell::default(); BYTES];
            for (place, cell) in self.few.left(&self.marks, Some(book), line) {
                place.bytes().for_each(|byte| cells[byte] = cell);
            }
            let Some(far) = Line::far(book, &cells) else { break };
            self.few.take(&self.marks, Some(book), line);
            *self.line(line) = far;
            done = true;
        }
        self.far |= done;
        done
    }

    /// Keeps words plain from now on; if there are none that are packed, then those of the list, or else this line. False
    /// if it is, too.
    fn unpack(&mut self, line: usize) -> bool {
        let (marks, mut done) = (&self.marks, false);
        for own in self.lines.iter_mut() {
            if let Line::Words(words, part) = own {
                *own = Line::PlainWords(Plain::of(|n| words.cell(marks, n)), *part);
                (self.plain_words, done) = (true, true);
            }
        }
        if !done && !self.few.is_empty() && !self.few.is_named() {
            (self.plain_words, self.fills, done) = (true, true, true);
            while let Some(first) = self.few.first() {
                let (line, part) = (first.line(), first.part());
                let kept = self.few.take(&self.marks, book(&self.ledger, self.seen), line);
                *self.line(line) = match kept.iter().all(|(place, _)| place.part() == part) {
                    true => Line::PlainWords(Box::default(), part),
                    false => Line::PlainBytes(Box::default()),
                };
                kept.into_iter().for_each(|left| self.put_part(line, left));
            }
        }
        let marks = &self.marks;
        if !done && let Some(Line::Bytes(bytes)) = self.lines.get(line) {
            self.lines[line] = Line::PlainBytes(Plain::of(|n| bytes.cell(marks, n)));
            done = true;
        }
        done
    }
}

#[cfg(test)]
mod tests {
    use super::super::order::Thread;
    use super::super::shadow::{Kind, Mark};
    use super::super::stamped::Learns;
    use super::*;
    use crate::sanitize::random::random;

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
        let direct = |blocks| Some(Arc::new(Ledger::new(blocks, 4, Learns::Untold)));
        for (kinds, plain, ledger, apart) in [
            (8, true, listed(), 4),
            (8, false, listed(), 4),
            (100, false, listed(), 4),
            // Too many for a page of bytes.
            (300, false, listed(), 4),
            // Some threads have direct names, or all.
            (300, false, direct(1 << 24), 4),
            (300, false, direct(1 << 25), 4),
            // For the ledger, too.
            (1 << 20, false, listed(), 4),
            (1 << 20, false, None, 4),
            // Few words of a line, and these in part at last.
            (8, false, listed(), 16),
            (300, false, listed(), 32),
            (1 << 20, false, listed(), 128),
        ] {
            let mut page = Page::new(PAGE, plain);
            if let Some(ledger) = &ledger {
                page.join(ledger);
            }
            let mut bytes = vec![Cell::default(); PAGE as usize];
            let mut next = random(7);
            for step in 0..40_000 {
                let words = step < 10_000 && kinds != 300;
                let sizes: &[u64] = if words { &[4, 8, 16] } else { &[1, 1, 1, 1, 2, 4] };
                let size = sizes[next(sizes.len() as u64) as usize];
                let at = next(PAGE / size) * size;
                let at = at / apart * apart + if size < 4 { at % 4 } else { 0 };
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
                assert!(step == 1 || step == 4 || own.len() == step, "cells of {step} bytes");
                for (n, cell) in own.iter_mut().enumerate() {
                    assert_eq!(*cell, seen[n / step]);
                    change(cell);
                }
            }
            let count = |of: fn(&Line) -> bool| page.lines.iter().filter(|line| of(line)).count();
            let far = count(|line| matches!(line, Line::FarBytes(_)));
            let unpacked = count(|line| matches!(line, Line::PlainBytes(_)));
            if apart == 4 {
                assert_eq!(unpacked > 0, kinds == 1 << 20, "{kinds} kinds, {unpacked} unpacked");
                assert_eq!(far > 0, kinds == 300, "{kinds} kinds, {far} far");
            }
        }
    }

    /// So it is where names of the launch stand for cells, with stamps of each block, and then with too many of them.
    #[test]
    fn a_page_of_names_is_its_bytes() {
        for (size, apart, barriers) in
            [(4, 16, 1), (4, 16, 3), (4, 32, 500), (1, 16, 1), (1, 1, 3), (1, 1, 500)]
        {
            let ledger = Arc::new(Ledger::new(64, 4, Learns::Untold));
            let mut page = Page::new(PAGE, false);
            page.join(&ledger);
            let mut cells = vec![Cell::default(); PAGE as usize];
            let mut next = random(7);
            let (mut named, mut paired) = (false, 0);
            for step in 0..60_000u64 {
                let at = next(PAGE / apart / size) * apart * size;
                let old = cells[at as usize];
                // Most readers are of the writer's block.
                let block = match old.write.is_empty() || next(200) == 0 {
                    true => next(64) as u32,
                    false => old.write.block,
                };
                let me = Thread { block, warp: next(4) as u16, lane: next(32) as u8 };
                let stamp =
                    1 + block * barriers + next(u64::from(barriers).min(1 + step / 100)) as u32;
                let writes = next(3) == 0;
                let kind = if writes { Kind::Write } else { Kind::Read };
                let mark = Mark::new(me, stamp, next(3) as u32, kind, None);
                let new = match writes {
                    true => {
                        Cell { write: mark.with_value(next(1 << 16) as u16), ..Cell::default() }
                    }
                    false => Cell { read: mark, ..old },
                };
                page.cells(at, size, |cell| {
                    assert_eq!(*cell, old);
                    *cell = new;
                });
                cells[at as usize] = new;
                named |= page.few.is_named();
                if step % 1000 == 0 {
                    let pairs = page.lines.iter().filter(|l| matches!(l, Line::PairBytes(_)));
                    paired = paired.max(pairs.count());
                }
            }
            for at in (0..PAGE).step_by((size * apart) as usize) {
                page.cells(at, size, |cell| assert_eq!(*cell, cells[at as usize]));
            }
            assert!(named || apart == 1, "{size}, {apart}, {barriers}");
            assert_eq!(paired > 0, (apart, barriers) == (1, 3), "{size}, {apart}, {barriers}");
        }
    }

    /// A line with as many other readers as there is a list for, and then one that has no name as a pair.
    #[test]
    fn one_reader_more_than_a_list_has_room_for() {
        let ledger = Arc::new(Ledger::new(64, 4, Learns::Untold));
        let mut page = Page::new(PAGE, false);
        page.join(&ledger);
        page.far = true;
        let mark = |block, lane, kind| Mark::new(Thread { block, warp: 1, lane }, 3, 5, kind, None);
        let write = Cell { write: mark(7, 2, Kind::Write), read: Mark::default() };
        // Not a part of each word.
        page.cells(1, 4, |cell| *cell = write);
        (0..LINE).for_each(|at| page.cells(at, 1, |cell| *cell = write));
        let mut cells = [write; BYTES];
        for n in 0..40 {
            // Of the writer's block at first.
            cells[3 * n].read = mark(if n < 16 { 7 } else { 8 + n as u32 }, 9, Kind::Read);
            page.cells(3 * n as u64, 1, |cell| *cell = cells[3 * n]);
            assert!(matches!(page.lines[0], Line::FarBytes(_)));
        }
        let mut at = 0..;
        page.cells(0, LINE, |cell| assert_eq!(*cell, cells[at.next().unwrap()]));
    }

    /// The list has what is apart, and nothing of a line that has cells in a row.
    #[test]
    fn few_words_of_a_line_are_listed() {
        let cell = |n: u64| Cell { write: mark(n).with_value(n as u16), read: Mark::default() };
        for (words, part, few) in
            [(4, 0, true), (7, 0, true), (8, 0, false), (16, 3, true), (17, 1, false)]
        {
            let mut page = Page::new(PAGE, false);
            let (size, within) = if part == 0 { (4, 0) } else { (1, part) };
            let at = |n: u64| n / words * LINE + n % words * (32 / words) * 4 + within;
            (0..32 * words).for_each(|n| page.cells(at(n), size, |c| *c = cell(n)));
            assert_eq!(page.few.lines(), if few { 32 } else { 0 }, "{words}");
            let kept = |line: &Line| matches!(line, Line::Words(_, own) if *own == 1 << within || *own == WHOLE);
            assert_eq!(
                page.lines.iter().filter(|line| kept(line)).count(),
                if few { 0 } else { 32 }
            );
            for n in 0..32 * words {
                page.cells(at(n), size, |c| assert_eq!(*c, cell(n)));
            }
            // The rest of the words is nobody's.
            let mut seen = Vec::new();
            page.cells(0, 4, |c| seen.push(*c));
            let first =
                |n: usize| if size == 4 || n as u64 == within { cell(0) } else { Cell::default() };
            assert!((0..seen.len()).all(|n| seen[n] == first(n)), "{seen:?}");
        }
        // A page that fills has no list for its next lines.
        let mut page = Page::new(PAGE, false);
        (0..WORDS as u64).for_each(|n| page.cells(n * 4, 4, |c| *c = cell(n)));
        assert!(page.fills);
        (0..2).for_each(|n| page.cells(LINE + n * 4, 4, |c| *c = cell(n)));
        assert!(page.few.is_empty() && matches!(page.lines[1], Line::Words(_, WHOLE)));
        page.forget();
        assert!(!page.fills);
    }

    /// A word that is accessed before its row is kept by itself there.
    #[test]
    fn a_word_of_the_list_becomes_one_of_a_row() {
        let mut page = Page::new(PAGE, false);
        let cell = Cell { write: mark(5).with_value(7), read: mark(6) };
        for line in 0..3 {
            page.cells(line * LINE + 8, 4, |c| *c = cell);
        }
        page.cells(LINE + 12, 4, |c| *c = cell);
        assert!(page.row(LINE, 0, 0).is_none(), "two words are too many");
        assert!(page.row(0, 16, 1).is_none(), "lanes have one word each beside it");
        for line in [0, 2] {
            let row = page.row(line * LINE, 0, 0).unwrap();
            assert_eq!((row.odd_lane(), row.own), (1 << 2, cell));
            row.wrote = u32::MAX;
            row.marks.write = mark(3).of_lane(0);
        }
        assert_eq!(page.few.lines(), 1);
        // The first goes, and the other is found all the same.
        page.cells(0, 8, |_| {});
        let row = page.row(2 * LINE, 0, 0).unwrap();
        assert_eq!((row.odd_lane(), row.own), (1 << 2, cell));
        page.cells(8, 4, |c| assert_eq!(*c, cell));
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
