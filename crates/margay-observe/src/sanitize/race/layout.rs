// SPDX-License-Identifier: MIT OR Apache-2.0
//! How the cells of a run of places ([`super::leaf`]) are told, in as few bits as do for all of them.
//!
//! That is a name of the launch ([`super::ledger`]) and the value; where two threads did it, a pair's name or two of them; and
//! where threads meet so often that names run out, a name and when that was. What has no name is kept as it is.

use super::bits;
use super::byte_value::{joined, split};
use super::direct::{Grid, Name};
use super::ledger::{Book, Form};
use super::order::Tick;
use super::plain::Tight;
use super::shadow::{Cell, Mark, Width};
use super::stamped::{Freed, Pair};

/// How a cell is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// By one name.
    Named(Form),
    Pair,
    /// By a name, and that of another thread which read it since.
    Apart(Form),
    Tight,
    Whole,
}

/// From what is to be tried first. A listed name takes more than it looks.
pub const KINDS: [Kind; 11] = [
    Kind::Named(Form::Direct),
    Kind::Named(Form::Stamped),
    Kind::Pair,
    Kind::Apart(Form::Direct),
    Kind::Apart(Form::Stamped),
    Kind::Named(Form::Listed),
    Kind::Apart(Form::Listed),
    Kind::Named(Form::Timeless),
    Kind::Apart(Form::Timeless),
    Kind::Tight,
    Kind::Whole,
];

/// Bits of a value: of a byte's, and of any.
pub const VALUES: [u8; 2] = [8, 16];
/// Of a stamp beside a name.
const STAMP: u32 = Tick::BITS;
/// Words of 32 bits of a cell, at most.
const WORDS: usize = 8;
/// Of 64.
pub const CELL: usize = WORDS / 2;

/// What the bits of a cell are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Of [`KINDS`].
    pub kind: u8,
    /// Bits of the number of a thread in the grid, and in its block.
    pub thread: u8,
    pub reader: u8,
    /// If the cell has a name, bits of what was done, and of the value.
    pub act: u8,
    pub value: u8,
}

/// What is told of a cell.
#[derive(Clone, Copy, Debug)]
pub struct Told {
    names: [Name; 2],
    /// Of a pair.
    reader: u32,
    stamps: [Tick; 2],
    code: u16,
    /// A cell as it is.
    words: [u32; WORDS],
}

const NOTHING: Told = Told {
    names: [Name { thread: 0, act: 0 }; 2],
    reader: 0,
    stamps: [0; 2],
    code: 0,
    words: [0; WORDS],
};

/// The bits of a cell, which numbers are written to one after another, or read.
#[derive(Default)]
struct Pen {
    bits: [u64; CELL],
    at: u32,
}

impl Pen {
    fn write(&mut self, value: u64, width: u32) {
        bits::write(&mut self.bits, self.at as usize, width as usize, value);
        self.at += width;
    }

    fn read(&mut self, width: u32) -> u64 {
        let value = bits::read(&self.bits, self.at as usize, width as usize);
        self.at += width;
        value
    }
}

/// In place of the value of a read, which a write has that strong accesses followed, where it is kept as the cell's.
const OF_READ: u16 = 1;

/// The cell with these stamps of the marks that it has.
fn with_stamps(Cell { write, read }: Cell, stamps: [Tick; 2]) -> Cell {
    let at = |mark: Mark, stamp| if mark.is_empty() { mark } else { mark.at(stamp) };
    Cell { write: at(write, stamps[0]), read: at(read, stamps[1]) }
}

impl Layout {
    /// Of cells of a grid's threads, in the first way.
    pub fn new(grid: Grid) -> Layout {
        let (thread, reader) = (grid.thread_bits() as u8, grid.reader_bits() as u8);
        Layout { kind: 0, thread, reader, act: 0, value: VALUES[0] }
    }

    pub fn kind(self) -> Kind {
        KINDS[usize::from(self.kind)]
    }

    /// How many stamps a cell has beside its names.
    fn stamps(self) -> usize {
        match self.kind() {
            Kind::Named(Form::Timeless) => 1,
            Kind::Apart(Form::Timeless) => 2,
            _ => 0,
        }
    }

    /// How many names a cell has.
    fn names(self) -> usize {
        match self.kind() {
            Kind::Named(_) | Kind::Pair => 1,
            Kind::Apart(_) => 2,
            Kind::Tight | Kind::Whole => 0,
        }
    }

    /// How many words a cell has that is told as it is.
    fn words(self) -> usize {
        match self.kind() {
            Kind::Named(_) | Kind::Pair | Kind::Apart(_) => 0,
            Kind::Tight => size_of::<Tight>() / 4,
            Kind::Whole => WORDS,
        }
    }

    /// Bits of the number of a thread in a name.
    fn thread(self) -> u32 {
        match self.kind() {
            Kind::Named(Form::Listed) | Kind::Apart(Form::Listed) => 0,
            _ => u32::from(self.thread),
        }
    }

    fn reader(self) -> u32 {
        if self.kind() == Kind::Pair { u32::from(self.reader) } else { 0 }
    }

    fn value(self) -> u32 {
        if self.names() > 0 { u32::from(self.value) } else { 0 }
    }

    /// Bits of a cell.
    pub fn bits(self) -> usize {
        let name = self.thread() + u32::from(self.act);
        let [names, stamps, words] = [self.names(), self.stamps(), self.words()].map(|n| n as u32);
        (names * name + self.reader() + stamps * STAMP + self.value() + 32 * words) as usize
    }

    /// The same with room for what was done here.
    pub fn with(self, told: &Told) -> Layout {
        let bits = told.names.map(|name| 32 - name.act.leading_zeros());
        Layout { act: self.act.max(bits[0].max(bits[1]) as u8), ..self }
    }

    /// What is to have a name of a cell, and the code of the value; `None` if both its marks have one.
    fn bare(self, cell: Cell) -> Option<(Cell, u16)> {
        let Cell { write, read } = cell;
        let code = |mark: Mark| match self.value {
            8 => split(mark).map(|(bare, code)| (bare, u16::from(code))),
            _ => Some((mark.with_value(0), mark.value())),
        };
        match (write.value(), read.value()) {
            (_, 0) => code(write).map(|(write, code)| (Cell { write, read }, code)),
            (0, _) => {
                let (_, code) = code(read)?;
                Some((Cell { write, read: read.with_value(OF_READ) }, code))
            }
            _ => None,
        }
    }

    /// The cell of which [`Layout::bare`] made two.
    fn valued(self, Cell { write, read }: Cell, code: u16) -> Cell {
        let with = |mark: Mark| match self.value {
            8 => joined(mark, code as u8),
            _ => mark.with_value(code),
        };
        match (read.value(), write.is_empty()) {
            (OF_READ, _) => Cell { write, read: with(read) },
            (_, true) => Cell { write, read },
            (_, false) => Cell { write: with(write), read },
        }
    }

    /// What is told of a cell, however many bits of acts that has; `None` if there is no telling it in this way, or if the book
    /// is old.
    pub fn tell(self, book: Book<'_>, cell: Cell) -> Option<Told> {
        match self.kind() {
            Kind::Tight => {
                let mut words = [0; WORDS];
                words[..self.words()].copy_from_slice(&Tight::of(cell)?.words());
                return Some(Told { words, ..NOTHING });
            }
            Kind::Whole => {
                let Cell { write, read } = cell;
                let words = [write, read].map(|m| [m.block, m.stamp, m.pc, m.bits()]);
                let words = words.as_flattened().try_into().unwrap_or_default();
                return Some(Told { words, ..NOTHING });
            }
            // A word by which many count has another mark each time: a list, which only grows, would take ever more.
            Kind::Named(Form::Listed) | Kind::Apart(Form::Listed)
                if [cell.write, cell.read].iter().any(|mark| mark.width() != Width::Thread) =>
            {
                return None;
            }
            Kind::Named(_) | Kind::Pair | Kind::Apart(_) => {}
        }
        let (mut own, code) = self.bare(cell)?;
        let mut stamps = [own.write.stamp, own.read.stamp];
        match self.stamps() {
            0 => stamps = [0; 2],
            // One for both.
            1 if !stamps.contains(&0) && stamps[0] != stamps[1] => return None,
            1 => stamps = [stamps[0].max(stamps[1]); 2],
            _ => {}
        }
        if self.stamps() > 0 {
            own = with_stamps(own, [1, 1]);
        }
        let (names, reader) = match self.kind() {
            Kind::Named(form) | Kind::Apart(form) => (book.long_names(form, own)?, 0),
            _ => {
                let Pair { name, reader } = book.bare_pair(own)?;
                ([name, Name::default()], reader)
            }
        };
        let fits = names[1].act == 0 || self.names() > 1;
        fits.then_some(Told { names, reader, stamps, code, ..NOTHING })
    }

    /// The cell of what was told.
    pub fn cell(self, book: Book<'_>, told: &Told) -> Cell {
        let Told { names, reader, stamps, code, words } = *told;
        let cell = match self.kind() {
            Kind::Named(form) | Kind::Apart(form) => book.long_cell(form, names),
            Kind::Pair => book.bare_cell_of_pair(Pair { name: names[0], reader }),
            Kind::Tight => return Tight::from_words(words.first_chunk().unwrap_or(&[0; 7])).cell(),
            Kind::Whole => {
                let [block, stamp, pc, bits, ref read @ ..] = words;
                let write = Mark::from_bits(block, stamp, pc, bits);
                return Cell { write, read: Mark::from_bits(read[0], read[1], read[2], read[3]) };
            }
        };
        let cell = if self.stamps() > 0 { with_stamps(cell, stamps) } else { cell };
        self.valued(cell, code)
    }

    /// The bits of what was told, if there is room for that.
    pub fn encode(self, told: &Told) -> Option<[u64; CELL]> {
        let (mut pen, act) = (Pen::default(), u32::from(self.act));
        for Name { thread, act: number } in &told.names[..self.names()] {
            if u64::from(*number) >> act != 0 {
                return None;
            }
            pen.write(*thread, self.thread());
            pen.write(u64::from(*number), act);
        }
        pen.write(u64::from(told.reader), self.reader());
        told.stamps[..self.stamps()].iter().for_each(|stamp| pen.write((*stamp).into(), STAMP));
        pen.write(told.code.into(), self.value());
        told.words[..self.words()].iter().for_each(|word| pen.write((*word).into(), 32));
        Some(pen.bits)
    }

    pub fn decode(self, bits: [u64; CELL]) -> Told {
        let (mut pen, mut told) = (Pen { bits, at: 0 }, NOTHING);
        for name in &mut told.names[..self.names()] {
            let thread = pen.read(self.thread());
            *name = Name { thread, act: pen.read(self.act.into()) as u32 };
        }
        told.reader = pen.read(self.reader()) as u32;
        told.stamps[..self.stamps()].fill_with(|| pen.read(STAMP) as Tick);
        if self.stamps() == 1 {
            told.stamps[1] = told.stamps[0];
        }
        told.code = pen.read(self.value()) as u16;
        told.words[..self.words()].fill_with(|| pen.read(32) as u32);
        told
    }

    /// Whether a cell has a name that may mean something else by now.
    pub fn is_freed(self, told: &Told, freed: &Freed) -> bool {
        let stamped = matches!(
            self.kind(),
            Kind::Named(Form::Stamped) | Kind::Apart(Form::Stamped) | Kind::Pair
        );
        stamped && told.names.iter().any(|name| name.act != 0 && freed.has_thread(name.thread))
    }
}
