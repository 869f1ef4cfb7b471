// SPDX-License-Identifier: MIT OR Apache-2.0
//! Cells of pages of which so little is accessed that a page of its own would take more than they do: those of many pages
//! together, in runs ([`super::leaf`]), by place.
//!
//! A page of its own is made once it takes less: [`Dues`] counts what the cells of a page are worth. What came lately is not in
//! a run yet ([`super::recent`]).

use std::ops::Range;

use super::direct::Grid;
use super::few::Part;
use super::leaf::{FAR, Leaf, PART_BITS, part_number};
use super::ledger::Ledger;
use super::packed::Packed;
use super::page::{BYTES, LINE, LINES_BYTES, Page, WORDS};
use super::recent::{Place, Recent};
use super::shadow::{Cell, PAGE};

/// What a run takes, about, with names.
pub const LEAF_BYTES: u64 = 6144;

const PAGE_WORDS: u64 = PAGE / 4;
const WORD: u64 = 1 << PART_BITS;

/// Bytes of shadow that a touched byte may take.
const MOST: usize = 8;
/// What a page takes by itself, and for a place of its list; a line of words, and one of bytes.
const PAGE_BYTES: usize = 340;
const LISTED: usize = 9;
const LINE_OF_WORDS: usize = 6 * WORDS;
const LINE_OF_BYTES: usize = size_of::<Packed<BYTES>>();

/// As many words of a page as make one of its own take less.
pub const DENSE_WORDS: u32 = (PAGE_BYTES / (4 * MOST - LISTED)) as u32 + 1;

/// What is told of a line's places.
#[derive(Clone, Copy, Default)]
struct LineDue {
    places: usize,
    bytes: usize,
}

/// What cells would take in a page of its own, and what they may.
#[derive(Default)]
struct Dues {
    lines: [LineDue; (PAGE / LINE) as usize],
}

impl Dues {
    fn add(&mut self, line: usize, bytes: usize) {
        let own = &mut self.lines[line];
        (own.places, own.bytes) = (own.places + 1, own.bytes + bytes);
    }

    /// Whether a page of its own takes no more than it may.
    fn are_met(&self) -> bool {
        let (mut takes, mut may, mut rows) = (PAGE_BYTES, 0, 0);
        for line in &self.lines {
            let row = if line.bytes == 4 * line.places { LINE_OF_WORDS } else { LINE_OF_BYTES };
            let listed = LISTED * line.places;
            rows += usize::from(row < listed);
            takes += listed.min(row);
            may += MOST * line.bytes;
        }
        // One comes alone.
        takes + if rows > 1 { LINES_BYTES } else { 0 } <= may
    }
}

/// Runs, by where they begin.
#[derive(Debug, Default)]
struct Runs(Vec<(u64, Leaf)>);

impl Runs {
    /// How many begin before.
    fn before(&self, place: u64) -> usize {
        self.0.partition_point(|(begin, _)| *begin < place)
    }

    fn insert(&mut self, at: usize, begin: u64, leaf: Leaf) {
        if self.0.len() == self.0.capacity() {
            self.0.reserve_exact((self.0.len() / 8).max(2));
        }
        self.0.insert(at, (begin, leaf));
    }
}

/// The cells of some pages.
#[derive(Debug, Default)]
pub struct Scattered {
    /// Of words of which nothing is in a run.
    recent: Recent,
    runs: Runs,
    /// Runs that there have been.
    made: u64,
}

/// Which run, and which of its places are meant.
type Places = (usize, Range<usize>);

impl Scattered {
    /// Runs that were made since this was asked last.
    pub fn take_made(&mut self) -> u64 {
        std::mem::take(&mut self.made)
    }

    /// The run that has a place, or is to have it.
    fn run(&mut self, grid: Grid, place: u64) -> usize {
        let chunk = place & !(FAR - 1);
        let next = self.runs.before(place + 1);
        if let Some(at) = next.checked_sub(1)
            && self.runs.0[at].0 >= chunk
        {
            return at;
        }
        // The first of its part of memory begins no earlier than it has to.
        let begin = place & !(WORD * PAGE_WORDS - 1);
        match self.runs.0.get_mut(next).filter(|(own, _)| *own < chunk + FAR) {
            Some((own, leaf)) => {
                leaf.begin_before((*own - begin) as i64);
                *own = begin;
            }
            None => {
                self.made += 1;
                self.runs.insert(next, begin, Leaf::new(grid));
            }
        }
        next
    }

    /// Puts in a part of a word, which nobody has accessed. Returns where it is, and its run.
    fn insert(&mut self, grid: Grid, place: u64) -> (usize, &mut Leaf) {
        let mut run = self.run(grid, place & !(WORD - 1));
        let (begin, leaf) = &mut self.runs.0[run];
        if leaf.is_full()
            && let Some((far, other)) = leaf.split()
        {
            let next = *begin + u64::from(far);
            self.made += 1;
            self.runs.insert(run + 1, next, other);
            run += usize::from(place >= next);
        }
        let (begin, leaf) = &mut self.runs.0[run];
        let place = place - *begin;
        let at = leaf.first(place);
        leaf.insert(at, place as u32);
        (at, leaf)
    }

    /// Calls `each` on the cell of a part of a word, or on those of its bytes, if parts are known that are not the same.
    /// Returns how many bytes were not known before.
    fn visit(
        &mut self,
        ledger: &Ledger,
        word: u64,
        part: Part,
        each: &mut impl FnMut(&mut Cell),
    ) -> usize {
        if let Some(cell) = self.recent.cell((word, part)) {
            each(cell);
            return 0;
        }
        // Another part of the word.
        if let Some((place, cell)) = self.recent.take_word(word) {
            self.enter(ledger, place, cell);
        } else if !self.recent.is_vain() && part_number(part).is_some() && !self.has_word(word) {
            let mut cell = Cell::default();
            each(&mut cell);
            if let Some((place, cell)) = self.recent.push((word, part), cell) {
                self.enter(ledger, place, cell);
                if self.recent.is_vain() {
                    let all = self.recent.take_all();
                    all.for_each(|(place, cell)| self.enter(ledger, place, cell));
                }
            }
            return part.count_ones() as usize;
        }
        self.visit_runs(ledger, word, part, each)
    }

    /// Whether there is any part of a word in a run.
    fn has_word(&self, word: u64) -> bool {
        let first = word * WORD;
        let run = self.runs.before(first + 1).checked_sub(1).and_then(|n| self.runs.0.get(n));
        let near = run.filter(|(begin, _)| *begin >= first & !(FAR - 1));
        near.is_some_and(|(begin, leaf)| {
            !leaf.range(first - *begin..first - *begin + WORD).is_empty()
        })
    }

    /// Puts what came lately into a run.
    fn enter(&mut self, ledger: &Ledger, (word, part): Place, cell: Cell) {
        self.visit_runs(ledger, word, part, &mut |own| *own = cell);
    }

    /// As [`Scattered::visit`], where nothing of the word came lately.
    fn visit_runs(
        &mut self,
        ledger: &Ledger,
        word: u64,
        part: Part,
        each: &mut impl FnMut(&mut Cell),
    ) -> usize {
        let first = word * WORD;
        let run = self.run(ledger.grid(), first);
        let (begin, leaf) = &mut self.runs.0[run];
        let here = leaf.range(first - *begin..first - *begin + WORD);
        let meets = |own: Part| own & part != 0;
        let mut met = here.clone().filter(|&at| meets(leaf.part(at)));
        let found = match (met.next(), part_number(part)) {
            (None, Some(number)) => {
                let (at, leaf) = self.insert(ledger.grid(), first + u64::from(number));
                let mut cell = Cell::default();
                each(&mut cell);
                leaf.put(ledger, at, cell);
                let bytes = part.count_ones() as usize;
                ledger.add(bytes);
                return bytes;
            }
            (Some(at), _) if leaf.part(at) == part => Some(at),
            _ => None,
        };
        if let Some(at) = found {
            let old = leaf.cell(ledger, at);
            let mut cell = old;
            each(&mut cell);
            if cell != old {
                leaf.put(ledger, at, cell);
            }
            return 0;
        }
        self.divide(ledger, word, part);
        let bytes = (0..4).map(|byte| 1 << byte).filter(|byte| part & byte != 0);
        bytes.map(|byte| self.visit_runs(ledger, word, byte, each)).sum()
    }

    /// Gives each byte a cell of those parts of a word that meet this one.
    #[cold]
    fn divide(&mut self, ledger: &Ledger, word: u64, part: Part) {
        let first = word * WORD;
        let run = self.run(ledger.grid(), first);
        let (begin, leaf) = &mut self.runs.0[run];
        let mut left = Vec::new();
        for at in leaf.range(first - *begin..first - *begin + WORD).rev() {
            let own = leaf.part(at);
            if own & part != 0 && own.count_ones() > 1 {
                left.push((own, leaf.cell(ledger, at)));
                leaf.remove(at..at + 1);
            }
        }
        for (own, cell) in left {
            for byte in (0..4).map(|byte| 1 << byte).filter(|byte| own & byte != 0) {
                let number = part_number(byte).unwrap_or_default();
                let (at, leaf) = self.insert(ledger.grid(), first + u64::from(number));
                leaf.put(ledger, at, cell);
            }
        }
    }

    /// Calls `each` on the cells of these bytes of a page. Returns how many of them were not known before.
    pub fn cells(
        &mut self,
        ledger: &Ledger,
        page: u64,
        bytes: Range<u64>,
        each: &mut impl FnMut(&mut Cell),
    ) -> usize {
        let (mut at, end, mut new) = (bytes.start, bytes.end.min(PAGE), 0);
        while at < end {
            let within = at % 4;
            let here = (4 - within).min(end - at);
            let part = ((1 << here) - 1) << within;
            let word = page * PAGE_WORDS + at / 4;
            new += self.visit(ledger, word, part, each);
            at += here;
        }
        new
    }

    /// The places of a page.
    fn of_page(&self, page: u64) -> Vec<Places> {
        let first = page * PAGE_WORDS * WORD;
        let end = first + PAGE_WORDS * WORD;
        let mut found = Vec::new();
        for run in (0..self.runs.before(end)).rev() {
            let (begin, leaf) = &self.runs.0[run];
            let places = leaf.range(first.saturating_sub(*begin)..end - *begin);
            if !places.is_empty() {
                found.push((run, places));
            }
            if *begin <= first {
                break;
            }
        }
        found
    }

    /// Whether a page of its own takes less for what there is of a page, of which so many bytes are new.
    pub fn are_many(&self, page: u64, new: usize) -> bool {
        let places = self.of_page(page);
        let first = page * PAGE_WORDS;
        let recent = self.recent.of(first, first + PAGE_WORDS);
        let in_runs: usize = places.iter().map(|(_, places)| places.len()).sum();
        let count = in_runs + recent.clone().count();
        // Not each time.
        let step = if count < 64 { 8 } else { 64 };
        if count < DENSE_WORDS as usize || count / step == count.saturating_sub(new) / step {
            return false;
        }
        let mut dues = Dues::default();
        for (word, part) in recent {
            dues.add((word - first) as usize / WORDS, part.count_ones() as usize);
        }
        for (run, places) in places {
            let (begin, leaf) = &self.runs.0[run];
            for at in places {
                let word = (*begin + u64::from(leaf.place(at))) / WORD % PAGE_WORDS;
                dues.add(word as usize / WORDS, leaf.part(at).count_ones() as usize);
            }
        }
        dues.are_met()
    }

    /// Takes what there is of a page into one of its own.
    pub fn move_to(&mut self, ledger: &Ledger, number: u64, page: &mut Page) {
        let put = |page: &mut Page, word: u64, part: Part, cell: Cell| {
            let from = 4 * word + u64::from(part.trailing_zeros());
            page.cells(from, part.count_ones().into(), |own| *own = cell);
        };
        let first = number * PAGE_WORDS;
        self.recent.take_page(first, first + PAGE_WORDS, |(word, part), cell| {
            put(page, word - first, part, cell);
        });
        // From the last on.
        for (run, places) in self.of_page(number) {
            let (begin, leaf) = &mut self.runs.0[run];
            let mut bytes = 0;
            for at in places.clone() {
                let word = (*begin + u64::from(leaf.place(at))) / WORD % PAGE_WORDS;
                let (part, cell) = (leaf.part(at), leaf.cell(ledger, at));
                put(page, word, part, cell);
                bytes += part.count_ones() as usize;
            }
            leaf.remove(places);
            ledger.sub(bytes);
            if leaf.len() == 0 {
                self.runs.0.remove(run);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, HashMap};

    use super::super::order::Thread;
    use super::super::shadow::{Cells, Found, Kind, Mark, Room, Shadow, Spare};
    use super::super::stamped::Learns;
    use super::*;
    use crate::sanitize::random::random;

    /// However cells are kept, with those of other pages, in pages of their own or first in the one and then in the other way,
    /// they are those of a list of bytes.
    #[test]
    fn cells_are_those_of_bytes() {
        for (pages, apart, places, sizes, threads) in [
            // A word of each page, of each 512 bytes, and of fewer, which fill some pages at last.
            (4096, 4096, 1, &[4u64][..], 1u64 << 12),
            (1024, 512, 1, &[4, 4, 4, 1][..], 1 << 20),
            (64, 4, 1024, &[4], 1 << 12),
            (256, 1, 4096, &[1], 1 << 7),
            (256, 1, 4096, &[1], 1 << 26),
            (16, 1, 4096, &[1], 1 << 12),
            (3, 1, 4096, &[1, 1, 2, 4], 1 << 12),
            (100_000, 1, 4096, &[4, 1, 2], 1 << 12),
            // Ever later.
            (500, 256, 16, &[4, 1], 1 << 13),
            // More threads than names.
            (64, 16, 4096, &[2, 4], 1 << 33),
            // More than names have room for in 32 bits.
            (64, 16, 4096, &[1, 2, 4], 1 << 34),
            (3, 1, 4096, &[1], 1 << 34),
        ] {
            let (spare, mut next) = (Spare::default(), random(7));
            let blocks = if threads == 1 << 34 { 1 << 27 } else { 1 << 15 };
            let shadow = Shadow::new(
                Room { bytes: 1 << 40, is_told: true },
                &spare,
                Ledger::new(blocks, 4, Learns::Untold),
            );
            let mut known = HashMap::<u64, Cell>::new();
            for step in 0..60_000u64 {
                let size = sizes[next(sizes.len() as u64) as usize];
                let number = (next(pages) * 7 + 12345) % (pages * 5);
                let place = next(places) * apart;
                let at = place % PAGE / size * size;
                let number = number + place / PAGE;
                let thread = next(threads);
                let (block, warp) = ((thread >> 7) as u32, (thread >> 5 & 3) as u16);
                let me = Thread { block, warp, lane: (thread & 31) as u8 };
                let late = match threads {
                    0x2000 => step / 10,
                    0x10_0000 => next(1 + step / 1000),
                    _ => 0,
                };
                let stamp = 1 + (u64::from(block) + late) as u32 % 5000;
                let kind = [Kind::Read, Kind::Write, Kind::Atomic][next(3) as usize];
                let mark = Mark::new(me, stamp, next(3) as u32, kind, None);
                let value = match (kind, size) {
                    (Kind::Write, 1) => super::super::look::hash(next(256)),
                    (Kind::Write, _) => super::super::look::hash(next(1 << 40)),
                    _ => 0,
                };
                let change = |cell: &mut Cell| match kind {
                    Kind::Read => cell.read = mark,
                    Kind::Write | Kind::Atomic => {
                        *cell = Cell { write: mark.with_value(value), read: Mark::default() };
                    }
                };
                let mut seen = Vec::new();
                let mut visit = |cell: &mut Cell| {
                    seen.push(*cell);
                    change(cell);
                };
                // A row is always one of a page.
                match (next(1000) == 0).then(|| shadow.page(number)).flatten() {
                    Some((page, _)) => page.lock().cells(at, size, visit),
                    None => match shadow.find(number).unwrap() {
                        Found::Page(page) => page.lock().cells(at, size, visit),
                        Found::Scattered(mut page) => {
                            page.cells(at, size, &mut visit);
                            page.settle();
                        }
                    },
                }
                let bytes = size as usize / seen.len();
                for n in 0..size {
                    let own = known.entry(number * PAGE + at + n).or_default();
                    assert_eq!(*own, seen[n as usize / bytes], "{pages} {apart} {step}");
                    change(own);
                }
            }
            for (at, cell) in known {
                let check = |own: &mut Cell| assert_eq!(*own, cell);
                match shadow.find(at / PAGE).unwrap() {
                    Found::Page(page) => page.lock().cells(at % PAGE, 1, check),
                    Found::Scattered(mut page) => page.cells(at % PAGE, 1, check),
                }
            }
        }
    }

    /// What is moved into a page leaves nothing.
    #[test]
    fn a_page_takes_all_that_there_is_of_it() {
        let (ledger, mut next) = (Ledger::new(1 << 10, 4, Learns::Untold), random(7));
        let mut scattered = Scattered::default();
        let mark = |n: u64| {
            let thread = Thread { block: n as u32 % 1000, warp: 1, lane: n as u8 % 32 };
            Mark::new(thread, 3, 7, Kind::Write, None)
        };
        let mut known = BTreeMap::new();
        for n in 0..20_000 {
            let at = next(64 * PAGE);
            let cell = Cell { write: mark(n), read: Mark::default() };
            scattered.cells(&ledger, at / PAGE, at % PAGE..at % PAGE + 1, &mut |c| *c = cell);
            known.insert(at, cell);
        }
        assert!(scattered.runs.0.len() > 20);
        for number in (0..64).rev() {
            let mut page = Page::new(PAGE, false);
            scattered.move_to(&ledger, number, &mut page);
            assert!(scattered.of_page(number).is_empty());
            assert!(number > 0 || scattered.recent.is_empty());
            for (at, cell) in known.range(number * PAGE..(number + 1) * PAGE) {
                page.cells(at % PAGE, 1, |own| assert_eq!(own, cell));
            }
        }
        assert!(scattered.runs.0.is_empty());
    }

    #[test]
    fn a_page_of_its_own_is_for_what_is_dense() {
        let many = |places: &[(usize, usize)]| {
            let mut dues = Dues::default();
            places.iter().for_each(|&(line, bytes)| dues.add(line, bytes));
            dues.are_met()
        };
        let each = |lines: usize, count: usize, bytes: usize| {
            (0..lines * count).map(|n| (n / count, bytes)).collect::<Vec<_>>()
        };
        assert!(many(&each(DENSE_WORDS as usize, 1, 4)));
        assert!(!many(&each(DENSE_WORDS as usize - 1, 1, 4)));
        assert!(many(&each(1, 32, 4)), "a line of words");
        assert!(!many(&each(32, 96, 1)) && many(&each(32, 100, 1)), "bytes");
        assert!(!many(&each(3, 128, 1)) && many(&each(4, 128, 1)), "lines of bytes");
    }
}
