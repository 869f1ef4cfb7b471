// SPDX-License-Identifier: MIT OR Apache-2.0
//! How the cells of a run of places ([`super::leaf`]) are told, in as few bytes as do for all of them.
//!
//! That is a name of the launch ([`super::ledger`]) and the value; where two threads did it, a pair's name or two of them; and
//! where threads meet so often that names run out, a name and when that was. What has no name is kept as it is.

use super::byte_value::{joined, split};
use super::ledger::{Book, Both, Form};
use super::order::Tick;
use super::plain::Tight;
use super::shadow::{Cell, Mark};
use super::stamped::{Freed, THREAD as PAIRED};

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

/// In place of the bytes of a pair's name: both threads have numbers as short as they may be.
pub const NARROW: u8 = 2;

/// Bytes of a stamp beside a name.
const STAMP: usize = 4;

/// Bytes of a cell, at most.
pub const CELL: usize = 32;

/// What the bytes of an entry are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Of [`KINDS`].
    pub kind: u8,
    /// Bytes of the place, and if the cell has a name, of that and of the value.
    pub place: u8,
    pub name: u8,
    pub value: u8,
}

/// In place of the value of a read, which a write has that strong accesses followed, where it is kept as the cell's.
const OF_READ: u16 = 1;

/// The cell with these stamps of the marks that it has.
fn with_stamps(Cell { write, read }: Cell, stamps: [Tick; 2]) -> Cell {
    let at = |mark: Mark, stamp| if mark.is_empty() { mark } else { mark.at(stamp) };
    Cell { write: at(write, stamps[0]), read: at(read, stamps[1]) }
}

impl Layout {
    pub fn kind(self) -> Kind {
        KINDS[usize::from(self.kind)]
    }

    /// Bytes of the stamps beside the names of a cell.
    fn stamps_bytes(self) -> usize {
        match self.kind() {
            Kind::Named(Form::Timeless) => STAMP,
            Kind::Apart(Form::Timeless) => 2 * STAMP,
            _ => 0,
        }
    }

    /// Bytes of the names of a cell.
    fn names_bytes(self) -> usize {
        let name = usize::from(self.name);
        match self.kind() {
            Kind::Named(_) => name,
            // A pair's is longer by a thread of a block, but for [`NARROW`].
            Kind::Pair => name + 2,
            Kind::Apart(_) => 2 * name,
            Kind::Tight | Kind::Whole => 0,
        }
    }

    pub fn cell_bytes(self) -> usize {
        match self.kind() {
            Kind::Named(_) | Kind::Pair | Kind::Apart(_) => {
                self.names_bytes() + self.stamps_bytes() + usize::from(self.value)
            }
            Kind::Tight => size_of::<Tight>(),
            Kind::Whole => CELL,
        }
    }

    pub fn bytes(self) -> usize {
        usize::from(self.place) + self.cell_bytes()
    }

    /// What is to have a name of a cell, and the code of the value; `None` if both its marks have one.
    fn bare(self, cell: Cell) -> Option<(Cell, u16)> {
        let Cell { write, read } = cell;
        let code = |mark: Mark| match self.value {
            1 => split(mark).map(|(bare, code)| (bare, u16::from(code))),
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
            1 => joined(mark, code as u8),
            _ => mark.with_value(code),
        };
        match (read.value(), write.is_empty()) {
            (OF_READ, _) => Cell { write, read: with(read) },
            (_, true) => Cell { write, read },
            (_, false) => Cell { write: with(write), read },
        }
    }

    /// A name in as many bytes as there are for one.
    fn cut(self, book: Book<'_>, form: Form, name: u32) -> Option<u32> {
        if self.name == 4 { Some(name) } else { book.narrow(form, name) }
    }

    fn uncut(self, book: Book<'_>, form: Form, name: u32) -> u32 {
        if self.name == 4 { name } else { book.widen(form, name) }
    }

    /// The same of a pair.
    fn cut_pair(self, book: Book<'_>, pair: u64) -> Option<u64> {
        if self.name == NARROW {
            return book.narrow_pair(pair).map(u64::from);
        }
        let first = self.cut(book, Form::Stamped, (pair >> PAIRED) as u32)?;
        Some(u64::from(first) << PAIRED | pair & ((1 << PAIRED) - 1))
    }

    fn uncut_pair(self, book: Book<'_>, names: u64) -> u64 {
        if self.name == NARROW {
            return book.widen_pair(names as u32);
        }
        let first = self.uncut(book, Form::Stamped, (names >> PAIRED) as u32);
        u64::from(first) << PAIRED | names & ((1 << PAIRED) - 1)
    }

    /// Whether a cell with these bytes has a name that may mean something else by now.
    pub fn is_freed(self, book: Book<'_>, bytes: &[u8], freed: &Freed) -> bool {
        let bits = 8 * u32::from(self.name);
        let low = |names: u64, bits: u32| (names & ((1 << bits) - 1)) as u32;
        let names = self.names(bytes);
        let has = |name| freed.has(self.uncut(book, Form::Stamped, name));
        match self.kind() {
            Kind::Named(Form::Stamped) => has(low(names, bits)),
            Kind::Apart(Form::Stamped) => has(low(names, bits)) || has((names >> bits) as u32),
            Kind::Pair => freed.has((self.uncut_pair(book, names) >> PAIRED) as u32),
            Kind::Named(_) | Kind::Apart(_) | Kind::Tight | Kind::Whole => false,
        }
    }

    /// The bytes of a cell's names.
    fn names(self, bytes: &[u8]) -> u64 {
        let mut names = [0; 8];
        let own = self.names_bytes();
        names[..own].copy_from_slice(&bytes[..own]);
        u64::from_le_bytes(names)
    }

    /// The bytes of a cell; `None` if it has none of this kind.
    pub fn encode(self, book: Book<'_>, cell: Cell) -> Option<[u8; CELL]> {
        let mut all = [0; CELL];
        let (mut own, code) = match self.kind() {
            Kind::Tight => {
                all[..size_of::<Tight>()].copy_from_slice(&Tight::of(cell)?.to_bytes());
                return Some(all);
            }
            Kind::Whole => {
                let Cell { write, read } = cell;
                let words = [write, read].map(|m| [m.block, m.stamp, m.pc, m.bits()]);
                for (own, word) in all.chunks_exact_mut(4).zip(words.as_flattened()) {
                    own.copy_from_slice(&word.to_le_bytes());
                }
                return Some(all);
            }
            Kind::Named(_) | Kind::Pair | Kind::Apart(_) => self.bare(cell)?,
        };
        let (name, value) = (usize::from(self.name), usize::from(self.value));
        let stamps = [own.write.stamp, own.read.stamp];
        match self.stamps_bytes() {
            0 => {}
            // One for both.
            STAMP if !stamps.contains(&0) && stamps[0] != stamps[1] => return None,
            _ => own = with_stamps(own, [1, 1]),
        }
        let names = match self.kind() {
            Kind::Pair => self.cut_pair(book, book.bare_pair(own)?)?,
            Kind::Named(form) | Kind::Apart(form) => {
                let Both { name: first, reader } = book.bare_names(form, own)?;
                if reader != 0 && matches!(self.kind(), Kind::Named(_)) {
                    return None;
                }
                let cut = |name| self.cut(book, form, name).map(u64::from);
                cut(first)? | cut(reader)? << (8 * name)
            }
            Kind::Tight | Kind::Whole => 0,
        };
        all[..8].copy_from_slice(&names.to_le_bytes());
        let mut end = self.names_bytes();
        match self.stamps_bytes() {
            0 => {}
            STAMP => all[end..end + STAMP].copy_from_slice(&stamps[0].max(stamps[1]).to_le_bytes()),
            _ => all[end..end + 2 * STAMP]
                .copy_from_slice(stamps.map(u32::to_le_bytes).as_flattened()),
        }
        end += self.stamps_bytes();
        all[end..end + 2].copy_from_slice(&code.to_le_bytes());
        all[end + value..].fill(0);
        Some(all)
    }

    pub fn decode(self, book: Book<'_>, bytes: &[u8]) -> Cell {
        let byte = |at: usize| bytes.get(at).copied().unwrap_or(0);
        let word = |at: usize| u32::from_le_bytes(std::array::from_fn(|n| byte(at + n)));
        let end = self.names_bytes();
        let names = self.names(bytes);
        let bits = 8 * u32::from(self.name);
        let cell = match self.kind() {
            Kind::Named(form) | Kind::Apart(form) => {
                let uncut = |name: u64| self.uncut(book, form, name as u32);
                let name = uncut(names & ((1 << bits) - 1));
                book.bare_cell(form, Both { name, reader: uncut(names >> bits) })
            }
            Kind::Pair => book.bare_cell_of_pair(self.uncut_pair(book, names)),
            Kind::Tight => return Tight::from_bytes(bytes).cell(),
            Kind::Whole => {
                let mark =
                    |at| Mark::from_bits(word(at), word(at + 4), word(at + 8), word(at + 12));
                return Cell { write: mark(0), read: mark(16) };
            }
        };
        let (stamps, end) = (end, end + self.stamps_bytes());
        let cell = match end - stamps {
            0 => cell,
            STAMP => with_stamps(cell, [word(stamps); 2]),
            _ => with_stamps(cell, [word(stamps), word(stamps + STAMP)]),
        };
        let code = u16::from_le_bytes([byte(end), if self.value == 1 { 0 } else { byte(end + 1) }]);
        self.valued(cell, code)
    }
}
