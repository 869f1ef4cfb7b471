// SPDX-License-Identifier: MIT OR Apache-2.0
//! Cells of the words of a page, or of parts of words, of which a line has so few that what lies between would take more:
//! 6 bytes each, or 8 once one of them is read, with the page's table of marks ([`super::packed`]); or, where hardly two of
//! them share a mark, 8 by names of the whole launch ([`super::ledger`]), and 4 more once another thread reads one of them.

use std::ops::Range;

use smallvec::SmallVec;

use super::ledger::{Book, Both, Form};
use super::packed::{Marks, Uses, renumber};
use super::page::WORDS;
use super::shadow::Cell;
use super::stamped::Freed;

/// Which bytes of a word: a bit for each.
pub type Part = u8;
/// All of them.
pub const WHOLE: Part = 15;

/// Places of a line, before they have cells in a row: of words, and of parts of words.
const MOST_WORDS: usize = 7;
const MOST_PARTS: usize = 16;
/// The same of what has names, which take less than marks would in a row of cells, too.
const MOST_NAMED_WORDS: usize = 16;
const MOST_NAMED_PARTS: usize = 32;
/// Marks that have to be there before there are names, and cells that share one on average, at most.
const FEW_MARKS: usize = 8;
const SHARED: usize = 3;

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
    /// As in [`super::packed::Packed`], or the lower half of a name.
    write: u16,
    value: u16,
}

/// What there is, by place.
#[derive(Clone, Debug, Default)]
pub struct Few {
    list: Vec<Entry>,
    /// Of each entry the read, or the upper half of the name; none at all before there is one.
    reads: Vec<u16>,
    /// What names are, if cells have names.
    form: Option<Form>,
    /// Names of other threads that read what is there; none at all before there is one.
    readers: Vec<u32>,
}

/// Sets one of a list that has as many as there is room for, or none as long as all would be 0.
fn set<T: Copy + Default + PartialEq>(
    list: &mut Vec<T>,
    at: usize,
    value: T,
    (len, room): (usize, usize),
) {
    if value != T::default() && list.is_empty() {
        list.reserve_exact(room);
        list.resize(len, T::default());
    }
    if let Some(own) = list.get_mut(at) {
        *own = value;
    }
}

/// Makes room for one more in a list that is as long as another, or empty.
fn insert<T: Default>(list: &mut Vec<T>, at: usize, room: usize) {
    if !list.is_empty() {
        list.reserve_exact(room - list.len());
        list.insert(at, T::default());
    }
}

/// Takes these out of a list that may be empty.
fn remove<T>(list: &mut Vec<T>, range: Range<usize>) {
    if !list.is_empty() {
        list.drain(range);
    }
    if list.len() > KEPT && list.len() < list.capacity() / 2
        || list.is_empty() && list.capacity() > KEPT
    {
        list.shrink_to_fit();
    }
}

/// A cell that was here.
pub type Left = (Place, Cell);

impl Few {
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    pub fn clear(&mut self) {
        self.list.clear();
        self.reads.clear();
        (self.form, self.readers) = (None, Vec::new());
    }

    /// Words that a line may have here.
    pub fn most_words(&self) -> usize {
        if self.is_named() { MOST_NAMED_WORDS } else { MOST_WORDS }
    }

    /// Whether cells have names, and none a mark.
    pub fn is_named(&self) -> bool {
        self.form.is_some()
    }

    fn of_line(&self, line: usize) -> Range<usize> {
        let from = |line| self.list.partition_point(|entry| entry.place < Place::new(line, 0, 0));
        from(line)..from(line + 1)
    }

    /// The only place of a line that has one; `Err` if it has more.
    pub fn only(&self, line: usize) -> Result<Option<Place>, ()> {
        match &self.list[self.of_line(line)] {
            [] => Ok(None),
            [entry] => Ok(Some(entry.place)),
            _ => Err(()),
        }
    }

    /// Where a place is, once it is here; `None` if it meets another, or its line is to have no more of them. `alone`: a
    /// line is to have one.
    #[inline]
    pub fn at(&mut self, place: Place, alone: bool) -> Option<usize> {
        match self.list.binary_search_by_key(&place, |entry| entry.place) {
            Ok(at) => Some(at),
            Err(at) => self.begin(at, place, alone),
        }
    }

    /// Where a place is, if it is here.
    pub fn has(&self, place: Place) -> Option<usize> {
        self.list.binary_search_by_key(&place, |entry| entry.place).ok()
    }

    fn begin(&mut self, at: usize, place: Place, alone: bool) -> Option<usize> {
        // What meets it is less than a word's places away.
        let near = self.list[at.saturating_sub(4)..].iter().take(8);
        if near.into_iter().any(|entry| entry.place.meets(place)) {
            return None;
        }
        let most = match (alone, place.part(), self.form) {
            (true, ..) => 1,
            (false, WHOLE, None) => MOST_WORDS,
            (false, WHOLE, Some(_)) => MOST_NAMED_WORDS,
            (false, _, None) => MOST_PARTS,
            (false, _, Some(_)) => MOST_NAMED_PARTS,
        };
        if self.of_line(place.line()).len() >= most {
            return None;
        }
        if self.list.len() == self.list.capacity() {
            self.list.reserve_exact((self.list.len() / 4).max(4));
        }
        self.list.insert(at, Entry { place, write: 0, value: 0 });
        let room = self.list.capacity();
        insert(&mut self.reads, at, room);
        insert(&mut self.readers, at, room);
        Some(at)
    }

    #[inline]
    pub fn cell(&self, marks: &Marks, book: Option<Book<'_>>, at: usize) -> Cell {
        let Entry { write, value, .. } = self.list[at];
        let read = self.reads.get(at).copied().unwrap_or(0);
        match (self.form, book) {
            (Some(form), Some(book)) => {
                let name = u32::from(read) << 16 | u32::from(write);
                let reader = self.readers.get(at).copied().unwrap_or(0);
                book.cell(form, Both { name, reader }, value)
            }
            _ => marks.cell(write, read, value),
        }
    }

    /// False, with nothing done, if there is no room in the table, or in the ledger.
    #[inline]
    pub fn put(
        &mut self,
        marks: &mut Marks,
        book: Option<Book<'_>>,
        at: usize,
        cell: Cell,
    ) -> bool {
        if let (Some(form), Some(book)) = (self.form, book) {
            return self.put_name(book, form, at, cell);
        }
        let Some((write, read)) = marks.pack_both(cell) else { return false };
        self.set(at, write, read, cell.write.value());
        true
    }

    #[inline]
    fn set(&mut self, at: usize, write: u16, read: u16, value: u16) {
        let entry = &mut self.list[at];
        (entry.write, entry.value) = (write, value);
        let size = (self.list.len(), self.list.capacity());
        set(&mut self.reads, at, read, size);
    }

    fn put_name(&mut self, book: Book<'_>, form: Form, at: usize, cell: Cell) -> bool {
        let Some(Both { name, reader }) = book.names(form, cell) else { return false };
        self.set(at, name as u16, (name >> 16) as u16, cell.write.value());
        let size = (self.list.len(), self.list.capacity());
        set(&mut self.readers, at, reader, size);
        true
    }

    /// Whether marks take more than names would.
    pub fn is_apart(&self) -> bool {
        let mut used = Uses::default();
        self.note(&mut used);
        used.count() >= FEW_MARKS && used.count() * SHARED > self.list.len()
    }

    /// Gives the cells names, or others than they had. False, with nothing done, if there are none for them.
    pub fn rename(&mut self, marks: &Marks, book: Book<'_>) -> bool {
        let cells: Vec<Cell> =
            (0..self.list.len()).map(|at| self.cell(marks, Some(book), at)).collect();
        let mut next = self.form.map_or(Some(Form::Direct), Form::next);
        // Listed ones would be too many.
        while let Some(form) = next.filter(|form| *form != Form::Listed) {
            let list = self.list.clone();
            let mut other = Few { list, form: Some(form), ..Few::default() };
            if book.has(form)
                && (0..cells.len()).all(|at| other.put_name(book, form, at, cells[at]))
            {
                *self = other;
                return true;
            }
            next = form.next();
        }
        false
    }

    /// As [`super::far::Far::turn`].
    pub fn turn(&mut self, (old, new): (Book<'_>, Book<'_>), freed: &Freed) -> bool {
        if self.form != Some(Form::Stamped) {
            return true;
        }
        let is_freed = |own: &Few, at: usize| {
            let high = own.reads.get(at).copied().unwrap_or(0);
            let name = u32::from(high) << 16 | u32::from(own.list[at].write);
            freed.has(name) || freed.has(own.readers.get(at).copied().unwrap_or(0))
        };
        if !(0..self.list.len()).any(|at| is_freed(self, at)) {
            return true;
        }
        let before = self.clone();
        let done = (0..self.list.len()).all(|at| {
            if !is_freed(self, at) {
                return true;
            }
            let cell = self.cell(&Marks::default(), Some(old), at);
            self.put_name(new, Form::Stamped, at, cell)
        });
        if !done {
            *self = before;
        }
        done
    }

    /// The places, with no marks and no names, and the cells that they had.
    pub fn unname(&mut self, marks: &Marks, book: Option<Book<'_>>) -> Vec<Left> {
        let cells =
            (0..self.list.len()).map(|at| (self.list[at].place, self.cell(marks, book, at)));
        let cells = cells.collect();
        self.list.iter_mut().for_each(|entry| (entry.write, entry.value) = (0, 0));
        (self.reads, self.readers, self.form) = (Vec::new(), Vec::new(), None);
        cells
    }

    /// The cells of a line.
    pub fn left(
        &self,
        marks: &Marks,
        book: Option<Book<'_>>,
        line: usize,
    ) -> SmallVec<[Left; MOST_WORDS]> {
        let cell = |at: usize| (self.list[at].place, self.cell(marks, book, at));
        self.of_line(line).map(cell).collect()
    }

    /// The same, which are here no more.
    pub fn take(
        &mut self,
        marks: &Marks,
        book: Option<Book<'_>>,
        line: usize,
    ) -> SmallVec<[Left; MOST_WORDS]> {
        let cells = self.left(marks, book, line);
        let here = self.of_line(line);
        remove(&mut self.reads, here.clone());
        remove(&mut self.readers, here.clone());
        remove(&mut self.list, here);
        cells
    }

    /// Lines of which parts of words are here.
    pub fn lines_of_parts(&self) -> SmallVec<[usize; 32]> {
        let parts = self.list.iter().filter(|entry| entry.place.part() != WHOLE);
        let mut lines: SmallVec<[usize; 32]> = parts.map(|entry| entry.place.line()).collect();
        lines.dedup();
        lines
    }

    /// The first place here.
    pub fn first(&self) -> Option<Place> {
        self.list.first().map(|entry| entry.place)
    }

    /// Lines that have places here.
    pub fn lines(&self) -> usize {
        self.list.chunk_by(|a, b| a.place.line() == b.place.line()).count()
    }

    /// Notes the numbers that the cells have.
    pub fn note(&self, used: &mut Uses) {
        if self.is_named() {
            return;
        }
        let marks = self.list.iter().map(|entry| entry.write).chain(self.reads.iter().copied());
        used.add_all(marks.map(|packed| packed >> 5));
    }

    /// Gives the marks other numbers.
    pub fn renumber(&mut self, numbers: &[u16]) {
        if self.is_named() {
            return;
        }
        let both = self.list.iter_mut().map(|entry| &mut entry.write).chain(&mut self.reads);
        both.for_each(|packed| renumber(packed, numbers));
    }
}
