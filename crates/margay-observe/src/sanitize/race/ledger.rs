// SPDX-License-Identifier: MIT OR Apache-2.0
//! Names, of a whole launch, for what a thread did to a byte: that it wrote it, or read it since, or both.
//!
//! - A *direct* name is the thread's number in the grid, and a number in a table of what threads did: by which instructions,
//!   with which stamps ([`super::direct`]). The table is short as long as threads do not synchronise, however few of a warp
//!   take part in an access.
//! - Of a *stamped* name the stamps have numbers of each block: for threads that meet at barriers ([`super::stamped`]). These
//!   come to mean others in time, so whatever has such names goes through them then: it reads and makes all names by
//!   a [`Book`], which says when that was.
//! - A *listed* name is a number in a list of marks, and the lane. The lanes of one access share a number, so the list takes
//!   a 32nd of what the marks would, as long as most lanes take part. It only grows, and what has not come for a while gets
//!   another number; where it would outgrow the cells, there are no more names.
//!
//! All but those of threads in very large grids can be cut to 32 bits.

use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use parking_lot::Mutex;

use super::direct::{Direct, Grid, Name};
use super::listed::{ENTRY, List};
use super::page::BYTES;
use super::shadow::{Cell, Mark};
use super::slots::{Epoch, Past};
use super::stamped::{Freed, Learns, Pair, Stamped};

/// Bytes of the list for each byte that is named, at most, and how many it may have anyway; and the same of stamps.
const SHARE: usize = 2;
const STAMPS_SHARE: usize = 4;
const START: usize = 1 << 16;

/// How a name is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    Direct,
    Stamped,
    Listed,
    /// As direct ones, without stamps, which are kept beside the name: of these there are enough however often threads meet.
    Timeless,
}

impl Form {
    /// What may do where there is no name of this form.
    pub fn next(self) -> Option<Form> {
        match self {
            Form::Direct => Some(Form::Stamped),
            Form::Stamped => Some(Form::Listed),
            Form::Listed | Form::Timeless => None,
        }
    }
}

/// Names in 32 bits of what was done to a place: by whoever wrote it, and by another thread that read it since. 0 if nobody
/// did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Both {
    pub name: u32,
    pub reader: u32,
}

/// The names of a launch. 0 is that of a cell that nobody has accessed.
#[derive(Debug)]
pub struct Ledger {
    direct: Direct,
    timeless: Direct,
    grid: Grid,
    names: Mutex<Names>,
    /// Bytes that have names.
    named: AtomicUsize,
    /// That of the stamped names.
    epoch: AtomicU32,
}

#[derive(Debug)]
struct Names {
    stamped: Stamped,
    list: List,
}

impl Ledger {
    /// For a grid of so many blocks, each of so many warps.
    pub fn new(blocks: u64, warps: u32, learns: Learns) -> Ledger {
        let grid = Grid::new(blocks, warps);
        let names = Names { stamped: Stamped::new(grid, learns), list: List::default() };
        let (named, epoch) = (AtomicUsize::new(0), AtomicU32::new(0));
        let [direct, timeless] = [Direct::new(grid), Direct::new(grid)];
        Ledger { direct, timeless, grid, names: Mutex::new(names), named, epoch }
    }

    /// A block begins, of which this says what is past.
    pub fn begin(&self, block: u32, past: Arc<Past>) {
        self.names.lock().stamped.begin(block, past);
    }

    /// See [`Stamped::follow`].
    pub fn follow(&self, before: u32, block: u32, past: &Arc<Past>) {
        self.names.lock().stamped.follow(before, block, past);
    }

    /// A block has ended; `released`: others may have acquired something of it.
    pub fn end(&self, block: u32, released: bool) {
        self.names.lock().stamped.end(block, released);
    }

    /// How often stamped names came to mean something else.
    #[cfg(test)]
    pub fn epoch(&self) -> Epoch {
        self.epoch.load(Ordering::Relaxed)
    }

    /// The ledger for whoever has gone through its names up to `seen`.
    pub fn book(&self, seen: Epoch) -> Book<'_> {
        Book { ledger: self, seen }
    }

    /// One more line has names.
    pub fn enter(&self) {
        self.add(BYTES);
    }

    /// A line has none any more.
    pub fn leave(&self) {
        self.sub(BYTES);
    }

    /// So many more bytes have names.
    pub fn add(&self, bytes: usize) {
        self.named.fetch_add(bytes, Ordering::Relaxed);
    }

    /// So many have none any more.
    pub fn sub(&self, bytes: usize) {
        self.named.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Bytes that something may take of which each byte that is named has this share.
    fn room(&self, share: usize) -> usize {
        share * self.named.load(Ordering::Relaxed) + START
    }

    /// Whether there is room for more names of a form in 32 bits, as far as that is known.
    pub fn has(&self, form: Form) -> bool {
        match form {
            Form::Direct => self.direct.acts.count() < self.grid.acts(),
            Form::Stamped => self.names.lock().stamped.has_room(),
            Form::Listed => true,
            Form::Timeless => self.timeless.acts.count() < self.grid.acts(),
        }
    }

    pub fn grid(&self) -> Grid {
        self.grid
    }

    /// A name in 32 bits, if that is enough.
    #[inline]
    fn cut(&self, form: Form, name: Name) -> Option<u32> {
        if form == Form::Listed { Some(name.act) } else { self.grid.cut(name) }
    }

    #[inline]
    fn uncut(&self, form: Form, name: u32) -> Name {
        if form == Form::Listed { Name { thread: 0, act: name } } else { self.grid.uncut(name) }
    }
}

/// The ledger, as whoever keeps names reads it that has gone through them up to some time.
#[derive(Clone, Copy, Debug)]
pub struct Book<'l> {
    ledger: &'l Ledger,
    seen: Epoch,
}

impl Deref for Book<'_> {
    type Target = Ledger;

    fn deref(&self) -> &Ledger {
        self.ledger
    }
}

impl<'l> Book<'l> {
    /// Whether names may mean something else by now, and have to be gone through before there are others.
    pub fn is_old(self) -> bool {
        self.epoch.load(Ordering::Relaxed) != self.seen
    }

    /// If so, which those are, and the book that tells what they mean once each of them was read by this one, and made by that
    /// one.
    pub fn turn(self) -> Option<(Freed, Book<'l>)> {
        if !self.is_old() {
            return None;
        }
        let (freed, seen) = self.names.lock().stamped.freed(self.seen);
        Some((freed, Book { seen, ..self }))
    }

    pub fn seen(self) -> Epoch {
        self.seen
    }

    /// Makes a stamped name.
    fn stamped<T>(self, make: impl FnOnce(&mut Stamped, (usize, Epoch)) -> T) -> T {
        let mut names = self.names.lock();
        let made = make(&mut names.stamped, (self.room(STAMPS_SHARE), self.seen));
        self.epoch.store(names.stamped.epoch(), Ordering::Relaxed);
        made
    }

    fn one(self, form: Form, name: Name) -> Cell {
        match (name.act, form) {
            (0, _) => Cell::default(),
            (_, Form::Direct) => self.direct.cell(name),
            (_, Form::Stamped) => self.names.lock().stamped.cell(name, self.seen),
            (number, Form::Listed) => self.names.lock().list.cell(number),
            (_, Form::Timeless) => self.timeless.cell(name),
        }
    }

    /// The cell of what [`Book::names`] gave, and a value.
    pub fn cell(self, form: Form, both: Both, value: u16) -> Cell {
        let Cell { write, read } = self.bare_cell(form, both);
        Cell { write: if write.is_empty() { write } else { write.with_value(value) }, read }
    }

    /// The cell of what [`Book::bare_names`] gave.
    pub fn bare_cell(self, form: Form, Both { name, reader }: Both) -> Cell {
        self.long_cell(form, [self.uncut(form, name), self.uncut(form, reader)])
    }

    /// The cell of what [`Book::long_names`] gave.
    pub fn long_cell(self, form: Form, [name, reader]: [Name; 2]) -> Cell {
        let Cell { write, read } = self.one(form, name);
        Cell { write, read: if reader.act == 0 { read } else { self.one(form, reader).read } }
    }

    /// The name of a cell whose write and read are the same thread's, if there are both. `None` if
    /// there is no room.
    fn name(self, form: Form, cell: Cell) -> Option<Name> {
        if cell == Cell::default() {
            return Some(Name::default());
        }
        match form {
            Form::Direct => self.direct.name(cell),
            Form::Timeless => self.timeless.name(cell),
            Form::Stamped => self.stamped(|names, room| names.name(cell, room)),
            Form::Listed => {
                let number = self.names.lock().list.name(cell, self.room(SHARE) / ENTRY)?;
                Some(Name { thread: 0, act: number })
            }
        }
    }

    /// The names of a cell, but for the value that was written; `None` if there is no room.
    pub fn names(self, form: Form, cell: Cell) -> Option<Both> {
        self.bare_names(form, Cell { write: cell.write.with_value(0), ..cell })
    }

    /// The names of a cell with the value that its write has: there are to be few. `None` if there is no room.
    pub fn bare_names(self, form: Form, cell: Cell) -> Option<Both> {
        let [name, reader] = self.long_names(form, cell)?;
        Some(Both { name: self.cut(form, name)?, reader: self.cut(form, reader)? })
    }

    /// The same, however long names are.
    pub fn long_names(self, form: Form, cell: Cell) -> Option<[Name; 2]> {
        let (Cell { write, read }, none) = (cell, Mark::default());
        if is_apart(cell) {
            let name = self.name(form, Cell { write, read: none })?;
            return Some([name, self.name(form, Cell { write: none, read })?]);
        }
        Some([self.name(form, cell)?, Name::default()])
    }

    /// A name of the write and the read together, which may be two threads', with the value that the write has, as
    /// [`Book::bare_names`]. `None` if there is no room.
    pub fn bare_pair(self, cell: Cell) -> Option<Pair> {
        if cell == Cell::default() {
            return Some(Pair::default());
        }
        self.stamped(|names, room| names.pair(cell, room))
    }

    /// The cell of what [`Book::bare_pair`] gave.
    pub fn bare_cell_of_pair(self, pair: Pair) -> Cell {
        match pair.name.act {
            0 => Cell::default(),
            _ => self.names.lock().stamped.cell_of_pair(pair, self.seen),
        }
    }
}

impl Default for Ledger {
    /// Of listed names alone.
    fn default() -> Ledger {
        Ledger::new(0, 0, Learns::default())
    }
}

/// Whether one thread wrote a cell, and another has read it since.
pub fn is_apart(Cell { write, read }: Cell) -> bool {
    !write.is_empty() && !read.is_empty() && !write.names_thread_of(read)
}

#[cfg(test)]
mod tests {
    use super::super::order::Thread;
    use super::super::shadow::Kind;
    use super::*;

    fn cell(block: u32, writes: bool, reads: bool) -> Cell {
        let thread = Thread { block, warp: 2, lane: block as u8 % 32 };
        let mark = |pc, kind, there| match there {
            true => Mark::new(thread, 9, pc, kind, None),
            false => Mark::default(),
        };
        Cell { write: mark(17, Kind::Write, writes), read: mark(19, Kind::Read, reads) }
    }

    #[test]
    fn a_name_stands_for_its_cell() {
        for (ledger, form) in [
            (Ledger::new(1 << 20, 3, Learns::Untold), Form::Direct),
            (Ledger::new(1 << 20, 3, Learns::Untold), Form::Stamped),
            (Ledger::default(), Form::Listed),
            (Ledger::new(1 << 20, 3, Learns::Untold), Form::Timeless),
        ] {
            ledger.enter();
            assert!(ledger.has(form));
            for (writes, reads) in [(false, false), (true, false), (false, true), (true, true)] {
                for block in [0, 1, 77, (1 << 20) - 1] {
                    let own = cell(block, writes, reads);
                    let both = ledger.book(0).names(form, own).unwrap();
                    assert_eq!(both == Both::default(), own == Cell::default());
                    assert_eq!(ledger.book(0).cell(form, both, 0), own);
                    // Another thread reads it.
                    let thread = Thread { block, warp: 1, lane: 9 };
                    let read = cell(block, false, true).read.of(thread);
                    let other = Cell { read, ..own };
                    let both = ledger.book(0).names(form, other).unwrap();
                    assert_eq!(both.reader != 0, writes);
                    assert_eq!(ledger.book(0).cell(form, both, 0), other);
                    let valued = Cell { write: own.write.with_value(5), ..own };
                    if writes {
                        let both = ledger.book(0).names(form, valued).unwrap();
                        assert_eq!(ledger.book(0).cell(form, both, 5), valued);
                    }
                }
            }
            let names = ledger.names.lock();
            let counts = (ledger.direct.acts.count(), names.stamped.count(), names.list.count);
            match form {
                Form::Direct => assert_eq!(counts, (3, 0, 0)),
                Form::Stamped => assert_eq!(counts, (0, 4, 0)),
                // The write has its number already, and so have the other thread's reads.
                Form::Listed => assert_eq!(counts, (0, 0, 4 * 4)),
                Form::Timeless => assert_eq!(counts, (0, 0, 0)),
            }
        }
    }
}
