// SPDX-License-Identifier: MIT OR Apache-2.0
//! Cells of bytes that warps access far apart, where each of a page has marks of its own: 4 bytes for what the last thread
//! did, by a name that the whole launch knows ([`super::ledger`]), 2 for what was written, and who else has read since.

use std::ops::Range;

use super::ledger::{Form, Ledger, Names};
use super::page::BYTES;
use super::plain::Plain;
use super::shadow::{Cell, Mark};

/// Who has read what another thread wrote: names, of few bytes as a rule, as whoever writes ends it.
#[derive(Debug)]
enum Readers {
    Few(Vec<(u8, u32)>),
    Many(Box<[u32; BYTES]>),
}

/// Bytes of a line of which it is told who read them, before there is room for all.
const FEW: usize = 32;

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

    fn set(&mut self, n: usize, name: u32) {
        match self {
            Readers::Many(all) => all[n] = name,
            Readers::Few(list) => match list.iter().position(|(at, _)| *at as usize == n) {
                Some(at) if name == 0 => {
                    list.swap_remove(at);
                }
                Some(at) => list[at].1 = name,
                None if name == 0 => {}
                None if list.len() < FEW => list.push((n as u8, name)),
                None => {
                    let mut all = Box::new([0; BYTES]);
                    list.iter().for_each(|&(at, name)| all[at as usize] = name);
                    all[n] = name;
                    *self = Readers::Many(all);
                }
            },
        }
    }
}

/// The cells of a line.
#[derive(Debug)]
pub struct Far {
    form: Form,
    names: [u32; BYTES],
    /// Of the write's mark; what else has a value has it in the ledger.
    value: [u16; BYTES],
    readers: Option<Box<Readers>>,
}

impl Far {
    /// `None` if there is no room in the ledger.
    pub fn new(ledger: &Ledger, cells: &[Cell; BYTES]) -> Option<Box<Far>> {
        let mut names = ledger.open();
        let form = names.enter();
        let mut far = Box::new(Far::empty(form));
        let done = (0..BYTES).all(|n| far.put_in(&mut names, n, cells[n]));
        if !done {
            names.leave();
        }
        done.then_some(far)
    }

    fn empty(form: Form) -> Far {
        Far { form, names: [0; BYTES], value: [0; BYTES], readers: None }
    }

    fn cell(&self, names: &Names, n: usize) -> Cell {
        let Cell { write, read } = names.cell(self.form, self.names[n]);
        let write = if write.is_empty() { write } else { write.with_value(self.value[n]) };
        match self.readers.as_ref().map_or(0, |readers| readers.of(n)) {
            0 => Cell { write, read },
            name => Cell { write, read: names.cell(self.form, name).read },
        }
    }

    /// Does nothing and returns false if there is no room in the ledger.
    fn put_in(&mut self, names: &mut Names, n: usize, cell: Cell) -> bool {
        while !self.put_as_is(names, n, cell) {
            if self.form == Form::Listed {
                return false;
            }
            let mut listed = Far::empty(Form::Listed);
            if !(0..BYTES).all(|n| listed.put_as_is(names, n, self.cell(names, n))) {
                return false;
            }
            *self = listed;
        }
        true
    }

    /// [`Far::put_in`] by names of the form that the line has.
    fn put_as_is(&mut self, names: &mut Names, n: usize, cell: Cell) -> bool {
        let (write, none) = (cell.write.with_value(0), Mark::default());
        let apart = !write.is_empty() && !cell.read.is_empty() && !write.names_thread_of(cell.read);
        let own = Cell { write, read: if apart { none } else { cell.read } };
        let other = Cell { write: none, read: if apart { cell.read } else { none } };
        let Some(name) = names.name(self.form, own) else { return false };
        let Some(reader) = names.name(self.form, other) else { return false };
        (self.names[n], self.value[n]) = (name, cell.write.value());
        match &mut self.readers {
            Some(readers) => readers.set(n, reader),
            None if reader == 0 => {}
            none => none.get_or_insert_default().set(n, reader),
        }
        true
    }

    /// False, with nothing done, if there is no room in the ledger.
    pub fn put(&mut self, ledger: &Ledger, n: usize, cell: Cell) -> bool {
        self.put_in(&mut ledger.open(), n, cell)
    }

    /// The cells as they are, to be kept so.
    pub fn leave(&self, ledger: &Ledger) -> Box<Plain<BYTES>> {
        let mut names = ledger.open();
        names.leave();
        Plain::of(|n| self.cell(&names, n))
    }

    /// Calls `each` on these cells, in order. If there is no room in the ledger for what it makes of one, that one comes
    /// out, and the rest is not looked at.
    pub fn visit(
        &mut self,
        ledger: &Ledger,
        cells: Range<usize>,
        each: &mut impl FnMut(&mut Cell),
    ) -> Option<(usize, Cell)> {
        for n in cells {
            let old = self.cell(&ledger.open(), n);
            let mut cell = old;
            each(&mut cell);
            if cell != old && !self.put(ledger, n, cell) {
                return Some((n, cell));
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::super::order::Thread;
    use super::super::shadow::Kind;
    use super::*;

    fn mark(block: u32, lane: u8, kind: Kind) -> Mark {
        Mark::new(Thread { block, warp: 3, lane }, 9, 17, kind, None)
    }

    #[test]
    fn cells_come_back_as_they_went_in() {
        for (ledger, form) in
            [(Ledger::new(128, 4), Form::Direct), (Ledger::default(), Form::Listed)]
        {
            for (readers, own) in [(0, false), (20, false), (128, false), (128, true)] {
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
                let mut far = Far::new(&ledger, &cells).unwrap();
                assert_eq!(far.form, form);
                assert_eq!(far.readers.is_some(), readers > 0 && !own);
                assert!((0..BYTES).all(|n| far.cell(&ledger.open(), n) == cells[n]));
                let clear = |cell: &mut Cell| cell.read = Mark::default();
                assert!(far.visit(&ledger, 0..BYTES, &mut { clear }).is_none());
                let cleared = cells.map(|cell| Cell { read: Mark::default(), ..cell });
                let plain = far.leave(&ledger);
                assert!((0..BYTES).all(|n| plain.cell(n) == cleared[n]));
            }
        }
    }

    #[test]
    fn what_has_no_direct_name_is_listed() {
        let ledger = Ledger::new(2, 4);
        let cell = |block| Cell { write: mark(block, 5, Kind::Write), read: Mark::default() };
        let mut far = Far::new(&ledger, &[cell(1); BYTES]).unwrap();
        assert_eq!(far.form, Form::Direct);
        assert!(far.put(&ledger, 7, cell(2)));
        assert_eq!(far.form, Form::Listed);
        let cells = far.leave(&ledger);
        assert!((0..BYTES).all(|n| cells.cell(n) == if n == 7 { cell(2) } else { cell(1) }));
    }

    #[test]
    fn the_ledger_does_not_outgrow_the_cells() {
        let ledger = Ledger::default();
        let mut far = Far::new(&ledger, &[Cell::default(); BYTES]).unwrap();
        let cell = |block| Cell { write: mark(block, 5, Kind::Write), read: Mark::default() };
        let full = (0..).find(|&block| !far.put(&ledger, 0, cell(block))).unwrap();
        assert_eq!(full as usize, ((1 << 16) + 2 * BYTES) / size_of::<Mark>());
        let left = far.visit(&ledger, 0..2, &mut |c: &mut Cell| *c = cell(full));
        assert_eq!(left, Some((0, cell(full))));
        assert_eq!(far.leave(&ledger).cell(0), cell(full - 1));
        let other = [cell(full); BYTES];
        assert!(Far::new(&ledger, &other).is_none());
        assert!(far.put(&ledger, 1, cell(full - 1)), "what has a number has room");
    }
}
