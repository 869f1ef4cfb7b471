// SPDX-License-Identifier: MIT OR Apache-2.0
//! Cells of bytes that warps access far apart, where each of a page has marks of its own: 4 bytes for what the last thread
//! did, by a name that the whole launch knows ([`super::ledger`]), 1 for what was written, and who else has read since.

use std::ops::Range;

use super::byte_value::Values;
use super::ledger::{Book, Both, Form, is_apart};
use super::page::BYTES;
use super::shadow::{Cell, Mark};
use super::stamped::Freed;

/// Who has read what another thread wrote: names, of few bytes as a rule, as whoever writes ends it.
#[derive(Clone, Debug)]
enum Readers {
    Few(Vec<(u8, u32)>),
    Many(Box<[u32; BYTES]>),
}

/// Bytes of a line of which it is told who read them, before there is room for all.
const FEW: usize = 16;

impl Default for Readers {
    fn default() -> Readers {
        Readers::Few(Vec::new())
    }
}

impl Readers {
    fn of(&self, n: usize) -> u32 {
        match self {
            Readers::Few(list) => list.iter().find(|(at, _)| *at as usize == n).map_or(0, |r| r.1),
            Readers::Many(all) => all[n],
        }
    }

    /// False, with nothing done, if there is no room.
    fn set(&mut self, n: usize, name: u32) -> bool {
        match self {
            Readers::Many(all) => all[n] = name,
            Readers::Few(list) => match list.iter().position(|(at, _)| *at as usize == n) {
                Some(at) if name == 0 => {
                    list.swap_remove(at);
                }
                Some(at) => list[at].1 = name,
                None if name == 0 => {}
                None if list.len() < FEW => list.push((n as u8, name)),
                None => return false,
            },
        }
        true
    }

    fn make_room(&mut self) {
        if let Readers::Few(list) = self {
            let mut all = Box::new([0; BYTES]);
            list.iter().for_each(|&(at, name)| all[at as usize] = name);
            *self = Readers::Many(all);
        }
    }
}

/// The cells of a line.
#[derive(Clone, Debug)]
pub struct Far {
    form: Form,
    names: [u32; BYTES],
    /// Of the write's mark; what else has a value has it in the ledger.
    values: Values,
    readers: Option<Box<Readers>>,
}

/// Whether so many of these are read by another thread than wrote them that each is to have room for both.
pub fn are_apart(cells: &[Cell; BYTES]) -> bool {
    cells.iter().filter(|cell| is_apart(**cell)).count() > FEW
}

/// The names of a cell, but for the value that was written.
fn names(book: Book<'_>, form: Form, cell: Cell) -> Option<Both> {
    book.bare_names(form, Cell { write: Values::bare(cell.write), ..cell })
}

impl Far {
    /// `None` if there is no room in the ledger.
    pub fn new(book: Book<'_>, cells: &[Cell; BYTES]) -> Option<Box<Far>> {
        book.enter();
        let many = are_apart(cells);
        let forms = [Form::Direct, Form::Stamped, Form::Listed];
        let with_room = forms.into_iter().filter(|form| book.has(*form));
        let mut far = None;
        for form in with_room {
            far = Far::of(book, form, many, |n| cells[n]);
            // An old book has no room where there is some.
            if far.is_some() || book.is_old() {
                break;
            }
        }
        if far.is_none() {
            book.leave();
        }
        far
    }

    fn empty(form: Form) -> Far {
        Far { form, names: [0; BYTES], values: Values::default(), readers: None }
    }

    /// Cells by names of this form; `many`: with room for all readers.
    fn of(
        book: Book<'_>,
        form: Form,
        many: bool,
        cell: impl Fn(usize) -> Cell,
    ) -> Option<Box<Far>> {
        let mut far = Box::new(Far::empty(form));
        if many {
            far.make_room();
        }
        let all = (0..BYTES).all(|n| {
            let cell = cell(n);
            names(book, form, cell).is_some_and(|both| far.set(n, both, cell.write))
        });
        all.then_some(far)
    }

    fn cell(&self, book: Book<'_>, n: usize) -> Cell {
        let reader = self.readers.as_ref().map_or(0, |readers| readers.of(n));
        let cell = book.bare_cell(self.form, Both { name: self.names[n], reader });
        Cell { write: self.values.mark(n, cell.write), ..cell }
    }

    /// The cells as they are.
    pub fn cells(&self, book: Book<'_>) -> [Cell; BYTES] {
        std::array::from_fn(|n| self.cell(book, n))
    }

    /// False, with nothing done, if there is no room for the reader.
    fn set(&mut self, n: usize, Both { name, reader }: Both, write: Mark) -> bool {
        let done = match &mut self.readers {
            Some(readers) => readers.set(n, reader),
            None if reader == 0 => true,
            none => none.get_or_insert_default().set(n, reader),
        };
        if done {
            self.names[n] = name;
            self.values.put(n, write);
        }
        done
    }

    /// Whether there is no room for more readers.
    pub fn is_full(&self) -> bool {
        let readers = self.readers.as_deref();
        readers.is_some_and(|readers| matches!(readers, Readers::Few(list) if list.len() == FEW))
    }

    /// Makes room for all readers.
    pub fn make_room(&mut self) {
        self.readers.get_or_insert_default().make_room();
    }

    /// Gives what has a name that may mean something else by now the one that it has in a new book. False if some have none:
    /// the cells are still those that the old one tells.
    pub fn turn(&mut self, (old, new): (Book<'_>, Book<'_>), freed: &Freed) -> bool {
        if self.form != Form::Stamped {
            return true;
        }
        let all = |readers: &Readers| match readers {
            Readers::Few(list) => list.iter().any(|own| freed.has(own.1)),
            Readers::Many(all) => all.iter().any(|own| freed.has(*own)),
        };
        let reads = self.readers.as_deref().is_some_and(all);
        if !reads && !self.names.iter().fold(false, |any, name| any | freed.has(*name)) {
            return true;
        }
        // A new name may be another to the old book.
        let before = self.clone();
        let done = (0..BYTES).all(|n| {
            let reader = self.readers.as_ref().map_or(0, |readers| readers.of(n));
            if !freed.has(self.names[n]) && !freed.has(reader) {
                return true;
            }
            let cell = self.cell(old, n);
            names(new, self.form, cell).is_some_and(|both| self.set(n, both, cell.write))
        });
        if !done {
            *self = before;
        }
        done
    }

    /// False, with nothing done, if there is no room in the ledger, or for a reader, or if the book is old.
    pub fn put(&mut self, book: Book<'_>, n: usize, cell: Cell) -> bool {
        if let Some(both) = names(book, self.form, cell) {
            return self.set(n, both, cell.write);
        }
        let many = self.readers.as_deref().is_some_and(|own| matches!(own, Readers::Many(_)));
        let mut next = self.form.next();
        while let Some(form) = next {
            if book.is_old() {
                return false;
            }
            if let Some(both) = names(book, form, cell)
                && let Some(other) = Far::of(book, form, many, |n| self.cell(book, n))
            {
                *self = *other;
                return self.set(n, both, cell.write);
            }
            next = form.next();
        }
        false
    }

    /// Calls `each` on these cells, in order. If there is no room for what it makes of one, that one comes out, and the rest
    /// is not looked at.
    pub fn visit(
        &mut self,
        book: Book<'_>,
        cells: Range<usize>,
        each: &mut impl FnMut(&mut Cell),
    ) -> Option<(usize, Cell)> {
        for n in cells {
            let old = self.cell(book, n);
            let mut cell = old;
            each(&mut cell);
            if cell != old && !self.put(book, n, cell) {
                return Some((n, cell));
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::super::ledger::Ledger;
    use super::super::order::Thread;
    use super::super::shadow::Kind;
    use super::super::stamped::Learns;
    use super::*;

    fn mark(block: u32, lane: u8, kind: Kind) -> Mark {
        Mark::new(Thread { block, warp: 3, lane }, 9, 17, kind, None)
    }

    #[test]
    fn cells_come_back_as_they_went_in() {
        for (ledger, form) in
            [(Ledger::new(128, 4, Learns::Untold), Form::Direct), (Ledger::default(), Form::Listed)]
        {
            for (readers, own) in [(0, false), (12, false), (128, false), (128, true)] {
                let cells = std::array::from_fn(|n| {
                    let lane = n as u8 % 32;
                    let read = match (n < readers, own) {
                        (true, true) => mark(n as u32 / 4, lane, Kind::Read),
                        (true, false) => mark(n as u32, 31 - lane, Kind::Read),
                        (false, _) => Mark::default(),
                    };
                    let write = mark(n as u32 / 4, lane, Kind::Write).with_value(n as u16 + 1);
                    Cell { write, read }
                });
                let mut far = Far::new(ledger.book(0), &cells).unwrap();
                assert_eq!(far.form, form);
                assert_eq!(far.readers.is_some(), readers > 0 && !own);
                assert_eq!(far.cells(ledger.book(0)), cells);
                let clear = |cell: &mut Cell| cell.read = Mark::default();
                assert!(far.visit(ledger.book(0), 0..BYTES, &mut { clear }).is_none());
                let cleared = cells.map(|cell| Cell { read: Mark::default(), ..cell });
                assert_eq!(far.cells(ledger.book(0)), cleared);
            }
        }
    }

    #[test]
    fn what_has_no_direct_name_has_another() {
        let ledger = Ledger::new(2, 4, Learns::Untold);
        let cell = |block, stamp| {
            let write = mark(block, 5, Kind::Write).at(stamp);
            Cell { write, read: Mark::default() }
        };
        let mut far = Far::new(ledger.book(0), &[cell(1, 9); BYTES]).unwrap();
        assert_eq!(far.form, Form::Direct);
        // Ever later.
        let mut stamps = 10..;
        while far.form == Form::Direct {
            assert!(far.put(ledger.book(0), 8, cell(1, stamps.next().unwrap())));
        }
        assert_eq!(far.form, Form::Stamped);
        // There is no such block.
        assert!(far.put(ledger.book(0), 7, cell(2, 9)));
        assert_eq!(far.form, Form::Listed);
        let cells = far.cells(ledger.book(0));
        let last = cell(1, stamps.start - 1);
        let of = |n| if n == 7 { cell(2, 9) } else { cell(1, 9) };
        assert!((0..BYTES).all(|n| cells[n] == if n == 8 { last } else { of(n) }));
    }

    #[test]
    fn the_ledger_does_not_outgrow_the_cells() {
        let ledger = Ledger::default();
        let mut far = Far::new(ledger.book(0), &[Cell::default(); BYTES]).unwrap();
        let cell = |block| Cell { write: mark(block, 5, Kind::Write), read: Mark::default() };
        let full = (0..).find(|&block| !far.put(ledger.book(0), 0, cell(block))).unwrap();
        assert_eq!(full as usize, ((1 << 16) + 2 * BYTES) / size_of::<Mark>());
        let left = far.visit(ledger.book(0), 0..2, &mut |c: &mut Cell| *c = cell(full));
        assert_eq!(left, Some((0, cell(full))));
        assert_eq!(far.cells(ledger.book(0))[0], cell(full - 1));
        ledger.leave();
        let other = [cell(full); BYTES];
        assert!(Far::new(ledger.book(0), &other).is_none());
        assert!(far.put(ledger.book(0), 1, cell(full - 1)), "what has a number has room");
    }
}
