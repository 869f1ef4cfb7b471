// SPDX-License-Identifier: MIT OR Apache-2.0
//! Cells of 6 bytes: of each mark a number in a table of the page, and the lane, by which the marks of a warp's one access
//! differ; and what was written.

use std::ops::Range;

use super::few::Part;
use super::shadow::{Cell, Mark};

/// Marks that a page has numbers for, at most: with more of them, cells as they are take less.
pub const MOST_MARKS: usize = 1088;
/// The same of pages with cells of bytes, which marks of the launch do for.
pub const FAR_MARKS: usize = 256;
/// The same where these hardly share any: less than so many cells each.
pub const FAR_MARKS_APART: usize = STEP;
const SHARED: usize = 8;
/// Of those that have a number at all, as 5 of 16 bits are the lane.
const NUMBERS: usize = 1 << 11;
/// Marks that a table makes room for at once.
const STEP: usize = 64;
/// The same of the first.
const FIRST: usize = 4;

/// The marks of a page, with lane 0, by number; 0 is none.
#[derive(Debug, Default)]
pub struct Marks {
    /// From 1.
    list: Vec<Mark>,
    room: u16,
    /// Numbers by hash: more than there are marks.
    slots: Box<[u16]>,
    /// Of the write and the read that came last, as the next byte's nearly always are.
    last: [u16; 2],
}

impl Marks {
    pub fn clear(&mut self) {
        *self = Marks::default();
    }

    #[inline]
    pub fn mark(&self, packed: u16) -> Mark {
        match (packed >> 5).checked_sub(1) {
            Some(n) => self.list[n as usize].of_lane((packed & 31) as u8),
            None => Mark::default(),
        }
    }

    /// The cell of what [`Marks::pack_both`] gave, and a value.
    #[inline]
    pub fn cell(&self, write: u16, read: u16, value: u16) -> Cell {
        Cell { write: self.mark(write).with_value(value), read: self.mark(read) }
    }

    /// The numbers and lanes of both marks; `None` if there is no room.
    #[inline]
    pub fn pack_both(&mut self, cell: Cell) -> Option<(u16, u16)> {
        let write = self.pack(cell.write.with_value(0), 0)?;
        Some((write, self.pack(cell.read, 1)?))
    }

    /// The number of a mark, and its lane; `None` if there is no room.
    #[inline]
    pub fn pack(&mut self, mark: Mark, last: usize) -> Option<u16> {
        if mark.is_empty() {
            return Some(0);
        }
        let (common, lane) = (mark.of_lane(0), u16::from(mark.thread().lane));
        let near = self.last[last];
        if near != 0 && self.list[near as usize - 1] == common {
            return Some(near << 5 | lane);
        }
        let number = self.number(common)?;
        self.last[last] = number;
        Some(number << 5 | lane)
    }

    fn number(&mut self, common: Mark) -> Option<u16> {
        let at = self.slot(common)?;
        if self.slots[at] == 0 {
            if self.list.len() == usize::from(self.room) {
                return None;
            }
            self.list.push(common);
            self.slots[at] = self.list.len() as u16;
        }
        Some(self.slots[at])
    }

    /// The slot of a mark, or the one that it would have; `None` if there are none at all.
    fn slot(&self, common: Mark) -> Option<usize> {
        let count = self.slots.len();
        if count == 0 {
            return None;
        }
        let mut at = ((u64::from(common.hash()) * count as u64) >> 32) as usize;
        // There are more slots than marks.
        while self.slots[at] != 0 && self.list[self.slots[at] as usize - 1] != common {
            at = if at + 1 == count { 0 } else { at + 1 };
        }
        Some(at)
    }

    /// Keeps only the marks that are used, and makes room for more; `few`: few cells have them. Returns their new numbers
    /// by the old ones, if they have new ones.
    #[must_use]
    pub fn keep(&mut self, used: &Uses, few: bool) -> Option<Vec<u16>> {
        let live = used.count();
        // A table that was full comes to be so by and by. Where marks come and go, it is to be looked through rarely.
        let all = live == self.list.len();
        let step = match (all, few) {
            (true, _) => live.clamp(FIRST, STEP),
            (false, true) => live.clamp(2 * FIRST, STEP),
            (false, false) => STEP,
        };
        let room = (live + step.max(live / 8)).min(NUMBERS - 1);
        let numbers = (!all).then(|| {
            let mut list = Vec::with_capacity(room);
            let mut numbers = vec![0; self.list.len() + 1];
            for (n, mark) in self.list.iter().enumerate() {
                if used.has(n as u16 + 1) {
                    list.push(*mark);
                    numbers[n + 1] = list.len() as u16;
                }
            }
            (self.list, self.last) = (list, [0; 2]);
            numbers
        });
        self.list.reserve_exact(room - self.list.len());
        self.room = room as u16;
        self.slots = vec![0; room + room / 4 + 1].into();
        for n in 0..self.list.len() {
            if let Some(at) = self.slot(self.list[n]) {
                self.slots[at] = n as u16 + 1;
            }
        }
        numbers
    }
}

/// Which numbers are used.
#[derive(Debug)]
pub struct Uses {
    numbers: [u64; NUMBERS / 64],
    /// How often, all together.
    times: usize,
}

impl Default for Uses {
    fn default() -> Uses {
        Uses { numbers: [0; NUMBERS / 64], times: 0 }
    }
}

impl Uses {
    /// Adds numbers. Those next to each other are often the same, or none: 0.
    pub fn add_all(&mut self, numbers: impl Iterator<Item = u16>) {
        let (mut last, mut times) = (0, 0);
        for number in numbers {
            if number != last {
                self.numbers[number as usize / 64] |= 1 << (number % 64);
                last = number;
            }
            times += usize::from(number != 0);
        }
        self.times += times;
    }

    fn has(&self, number: u16) -> bool {
        self.numbers[number as usize / 64] >> (number % 64) & 1 != 0
    }

    /// Whether hardly two cells share a mark.
    pub fn are_apart(&self) -> bool {
        self.times < self.count() * SHARED
    }

    /// Marks that are used.
    pub fn count(&self) -> usize {
        // Number 0 is no mark.
        let first = (self.numbers[0] & !1).count_ones();
        (first + self.numbers[1..].iter().map(|word| word.count_ones()).sum::<u32>()) as usize
    }
}

/// Gives a mark that [`Marks::pack_both`] gave the number that [`Marks::keep`] has for it.
pub fn renumber(packed: &mut u16, numbers: &[u16]) {
    *packed = numbers[(*packed >> 5) as usize] << 5 | *packed & 31;
}

/// The cells of a line.
#[derive(Debug)]
pub struct Packed<const N: usize> {
    write: [u16; N],
    read: [u16; N],
    /// Of the write's mark; what else has a value has it in the table.
    value: [u16; N],
}

impl<const N: usize> Default for Packed<N> {
    fn default() -> Packed<N> {
        Packed { write: [0; N], read: [0; N], value: [0; N] }
    }
}

impl<const N: usize> Packed<N> {
    #[inline]
    pub fn cell(&self, marks: &Marks, n: usize) -> Cell {
        marks.cell(self.write[n], self.read[n], self.value[n])
    }

    /// False, with nothing done, if there is no room in the table.
    #[inline]
    pub fn put(&mut self, marks: &mut Marks, n: usize, cell: Cell) -> bool {
        let Some((write, read)) = marks.pack_both(cell) else { return false };
        (self.write[n], self.read[n], self.value[n]) = (write, read, cell.write.value());
        true
    }

    /// Calls `each` on these cells, in order. If there is no room in the table for what it makes of one, that one comes
    /// out, and the rest is not looked at.
    #[inline]
    pub fn visit(
        &mut self,
        marks: &mut Marks,
        cells: Range<usize>,
        each: &mut impl FnMut(&mut Cell),
    ) -> Option<(usize, Cell)> {
        for n in cells {
            let old = self.cell(marks, n);
            let mut cell = old;
            each(&mut cell);
            // Most often it is one of the two that changes.
            if cell.write != old.write {
                let Some(write) = marks.pack(cell.write.with_value(0), 0) else {
                    return Some((n, cell));
                };
                (self.write[n], self.value[n]) = (write, cell.write.value());
            }
            if cell.read != old.read {
                let Some(read) = marks.pack(cell.read, 1) else { return Some((n, cell)) };
                self.read[n] = read;
            }
        }
        None
    }

    /// The numbers and lanes of a cell's write and read.
    #[inline]
    pub fn both(&self, n: usize) -> (u16, u16) {
        (self.write[n], self.read[n])
    }

    /// A cell was written, with this number and lane and value, and was not read since.
    #[inline]
    pub fn written(&mut self, n: usize, write: u16, value: u16) {
        (self.write[n], self.read[n], self.value[n]) = (write, 0, value);
    }

    /// Notes the numbers that the cells have.
    pub fn note(&self, used: &mut Uses) {
        used.add_all(self.write.iter().map(|packed| packed >> 5));
        used.add_all(self.read.iter().map(|packed| packed >> 5));
    }

    /// Gives the marks other numbers.
    pub fn renumber(&mut self, numbers: &[u16]) {
        self.write.iter_mut().chain(&mut self.read).for_each(|packed| renumber(packed, numbers));
    }
}

impl Packed<32> {
    /// The same with a cell for each byte, where the cells are those of a part of each word.
    pub fn divided(&self, part: Part) -> Packed<128> {
        let of = |word: u16, n: usize| if part >> (n % 4) & 1 != 0 { word } else { 0 };
        let bytes = |words: &[u16; 32]| std::array::from_fn(|n| of(words[n / 4], n));
        Packed { write: bytes(&self.write), read: bytes(&self.read), value: bytes(&self.value) }
    }
}

#[cfg(test)]
mod tests {
    use margay_ir::Scope;

    use super::super::few::WHOLE;
    use super::super::order::Thread;
    use super::super::shadow::Kind;
    use super::*;

    fn mark(block: u32, lane: u8, kind: Kind) -> Mark {
        Mark::new(Thread { block, warp: 3, lane }, 9, 17, kind, Some(Scope::Gpu))
    }

    #[test]
    fn cells_come_back_as_they_went_in() {
        let (mut marks, mut line) = (Marks::default(), Packed::<32>::default());
        let cell = |n: usize| Cell {
            write: mark(n as u32 / 4, n as u8, Kind::Write).with_value(n as u16 + 1),
            read: match n % 3 {
                0 => Mark::default(),
                _ => mark(7, 31 - n as u8, Kind::Read),
            },
        };
        assert!(!line.put(&mut marks, 0, cell(0)), "a new table has no room");
        for n in 0..32 {
            if !line.put(&mut marks, n, cell(n)) {
                let mut used = Uses::default();
                line.note(&mut used);
                assert!(marks.keep(&used, false).is_none(), "each is used");
                assert!(line.put(&mut marks, n, cell(n)));
            }
        }
        assert!((0..32).all(|n| line.cell(&marks, n) == cell(n)));
        assert_eq!(marks.list.len(), 9, "lanes and values are none of the table's");
        let bytes = line.divided(WHOLE);
        assert!((0..128).all(|n| bytes.cell(&marks, n) == cell(n / 4)));
        let bytes = line.divided(0b0110);
        let of = |n: usize| if [1, 2].contains(&(n % 4)) { cell(n / 4) } else { Cell::default() };
        assert!((0..128).all(|n| bytes.cell(&marks, n) == of(n)));
    }

    #[test]
    fn marks_that_nothing_has_are_forgotten() {
        let (mut marks, mut line) = (Marks::default(), Packed::<32>::default());
        assert!(marks.keep(&Uses::default(), false).is_none());
        let cell = |block| Cell { write: mark(block, 5, Kind::Write), read: Mark::default() };
        let full = (0..).find(|&block| !line.put(&mut marks, 0, cell(block)));
        assert_eq!(full, Some(FIRST as u32));
        assert!(line.put(&mut marks, 1, cell(2)));
        let mut used = Uses::default();
        line.note(&mut used);
        assert_eq!(used.count(), 2);
        let numbers = marks.keep(&used, false).expect("two are left");
        line.renumber(&numbers);
        assert_eq!((line.cell(&marks, 0), line.cell(&marks, 1)), (cell(FIRST as u32 - 1), cell(2)));
        assert!(line.put(&mut marks, 2, cell(FIRST as u32)));
        assert_eq!(
            usize::from(marks.room),
            2 + STEP,
            "marks that come and go are looked for rarely"
        );
    }
}
