// SPDX-License-Identifier: MIT OR Apache-2.0
//! Shadow memory: for each word, who wrote it last and who has read it since.
//!
//! A cell has two marks. When a second thread reads (or atomically changes) a word before the first
//! is known to be done, the mark is *widened*: to the lanes of a warp, the warps of a block, or the
//! blocks of the grid. A widened mark keeps the greatest stamp; which stamps its threads really used
//! is in their clocks ([`super::order`]). So a cell never grows: 32 bytes for 4.
//!
//! A line of 128 bytes that whole warps access, lane after lane, has one cell. Where a program reads or writes less than
//! whole words, a line turns to a cell for each byte.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use margay_ir::Scope;
use parking_lot::Mutex;

use super::order::{Thread, Tick};

/// Bytes that a page shadows.
pub const PAGE: u64 = 4096;

/// Which threads a mark stands for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Width {
    #[default]
    Thread,
    Lanes,
    Warps,
    Blocks,
}

/// What an access does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    #[default]
    Read,
    Write,
    Atomic,
}

impl Kind {
    pub fn writes(self) -> bool {
        match self {
            Kind::Read => false,
            Kind::Write | Kind::Atomic => true,
        }
    }
}

/// An access, as a cell keeps it.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Mark {
    pub block: u32,
    /// 0: there was none.
    pub stamp: Tick,
    /// Address of the instruction in the program's code.
    pub pc: u32,
    /// Lane 0–4, warp 5–9, kind 10–11, width 12–13, strong 14, wide scope 15, value 16–31.
    bits: u32,
}

impl Mark {
    pub fn new(thread: Thread, stamp: Tick, pc: u32, kind: Kind, strong: Option<Scope>) -> Mark {
        let wide = strong.is_some_and(|scope| scope > Scope::Cta);
        let bits = thread.lane as u32
            | (thread.warp as u32) << 5
            | (kind as u32) << 10
            | (strong.is_some() as u32) << 14
            | (wide as u32) << 15;
        Mark { block: thread.block, stamp, pc, bits }
    }

    /// The same of another lane of the warp.
    pub fn of_lane(mut self, lane: u8) -> Mark {
        self.bits = self.bits & !31 | lane as u32;
        self
    }

    /// Remembers (a hash of) the value that was written; 0 stands for unknown.
    #[inline]
    pub fn with_value(mut self, hash: u16) -> Mark {
        self.bits = self.bits & 0xffff | (hash as u32) << 16;
        self
    }

    pub fn value(self) -> u16 {
        (self.bits >> 16) as u16
    }

    pub fn is_empty(self) -> bool {
        self.stamp == 0
    }

    pub fn thread(self) -> Thread {
        Thread {
            block: self.block,
            warp: (self.bits >> 5 & 31) as u16,
            lane: (self.bits & 31) as u8,
        }
    }

    /// Whether it stands for one thread, which is (the block aside) that of `other`.
    pub fn is_thread_of(self, other: Mark) -> bool {
        (self.bits ^ other.bits) & 0x3ff == 0 && self.width() == Width::Thread
    }

    /// Whether its thread, or one of its threads, is in the warp of `other`'s.
    pub fn is_warp_of(self, other: Mark) -> bool {
        self.block == other.block && (self.bits ^ other.bits) & 0x3e0 == 0
    }

    pub fn kind(self) -> Kind {
        match self.bits >> 10 & 3 {
            0 => Kind::Read,
            1 => Kind::Write,
            _ => Kind::Atomic,
        }
    }

    pub fn width(self) -> Width {
        match self.bits >> 12 & 3 {
            0 => Width::Thread,
            1 => Width::Lanes,
            2 => Width::Warps,
            _ => Width::Blocks,
        }
    }

    pub fn strong(self) -> bool {
        self.bits >> 14 & 1 != 0
    }

    /// Whether both are strong, each with a scope that has the other's thread in it: such accesses
    /// never race (PTX ISA, "Morally strong operations").
    pub fn morally_strong(self, other: Mark) -> bool {
        let wide = |m: Mark| m.bits >> 15 & 1 != 0;
        let near = self.block == other.block && self.width() < Width::Blocks;
        self.strong() && other.strong() && (near || wide(self) && wide(other))
    }

    /// Both strong, with scopes too narrow for each other.
    pub fn scopes_too_narrow(self, other: Mark) -> bool {
        self.strong() && other.strong() && !self.morally_strong(other)
    }

    /// This mark and a later one as one; the later one represents both.
    pub fn widen(self, later: Mark) -> Mark {
        let (a, b) = (self.thread(), later.thread());
        let span = if a.block != b.block {
            Width::Blocks
        } else if a.warp != b.warp {
            Width::Warps
        } else if a.lane != b.lane {
            Width::Lanes
        } else {
            Width::Thread
        };
        let width = span.max(self.width()).max(later.width());
        let both = self.bits & later.bits & 0xc000;
        let bits = later.bits & 0x0fff | (width as u32) << 12 | both;
        Mark { bits, stamp: self.stamp.max(later.stamp), ..later }
    }
}

/// The shadow of a word or a byte.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cell {
    pub write: Mark,
    /// Who has read since; after a strong write also the weak access before it.
    pub read: Mark,
}

/// Bytes of a line.
pub const LINE: u64 = 128;
const WORDS: usize = (LINE / 4) as usize;

/// A line that a warp accesses whole, and before it others did, each lane the same words. Marks name lane 0 and stand
/// for the lane of each word.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    pub marks: Cell,
    /// The lane of the first word, and how many words each has: a power of two.
    pub first: u8,
    pub shift: u8,
    /// What each lane wrote, as [`Mark::value`].
    pub values: [u16; WORDS],
}

impl Row {
    /// Lanes that have words here.
    pub fn lanes(&self) -> u32 {
        let lanes = WORDS as u32 >> self.shift;
        (u32::MAX >> (32 - lanes)) << self.first
    }

    fn lane(&self, word: usize) -> u8 {
        self.first + (word >> self.shift) as u8
    }

    fn cell(&self, word: usize) -> Cell {
        let lane = self.lane(word);
        let of = |mark: Mark| if mark.is_empty() { mark } else { mark.of_lane(lane) };
        let Cell { write, read } = self.marks;
        Cell { write: of(write).with_value(self.values[lane as usize]), read: of(read) }
    }
}

impl Default for Row {
    fn default() -> Row {
        Row { marks: Cell::default(), first: 0, shift: 0, values: [0; WORDS] }
    }
}

#[derive(Debug)]
enum Line {
    Row(Row),
    Words(Box<[Cell; WORDS]>),
    Bytes(Box<[Cell; LINE as usize]>),
}

/// The cells of a page, line by line: one for all words as long as they are accessed as a [`Row`], by words until a
/// narrow access comes, then by bytes.
#[derive(Debug)]
pub struct Page {
    lines: Vec<Line>,
    bytes: u64,
}

impl Page {
    fn new(bytes: u64) -> Page {
        let lines = (0..bytes.div_ceil(LINE)).map(|_| Line::Row(Row::default())).collect();
        Page { lines, bytes }
    }

    /// Forgets all accesses.
    pub fn forget(&mut self) {
        for line in &mut self.lines {
            match line {
                // Most of what is not accessed stays like that.
                Line::Row(row) if row.marks.write.is_empty() && row.marks.read.is_empty() => {}
                Line::Row(_) | Line::Words(_) | Line::Bytes(_) => *line = Line::Row(Row::default()),
            }
        }
    }

    /// A page of nothing, to stand in for one that is away.
    pub fn none() -> Page {
        Page { lines: Vec::new(), bytes: 0 }
    }

    /// The line from `at` on, if it is accessed as a row; one that nobody has accessed becomes a row of this form.
    #[inline]
    pub fn row(&mut self, at: u64, first: u8, shift: u8) -> Option<&mut Row> {
        // Words beyond the end are nobody's.
        if at + LINE > self.bytes {
            return None;
        }
        let Some(Line::Row(row)) = self.lines.get_mut((at / LINE) as usize) else { return None };
        if row.marks.write.is_empty() && row.marks.read.is_empty() {
            (row.first, row.shift) = (first, shift);
        }
        ((row.first, row.shift) == (first, shift)).then_some(row)
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
            let Some(line) = self.lines.get_mut(line) else { return };
            if let Line::Row(row) = line {
                *line = Line::Words(Box::new(std::array::from_fn(|word| row.cell(word))));
            }
            if let Line::Words(cells) = line {
                if within.is_multiple_of(4) && here.is_multiple_of(4) {
                    cells[within / 4..(within + here) / 4].iter_mut().for_each(&mut each);
                    continue;
                }
                *line = Line::Bytes(Box::new(std::array::from_fn(|byte| cells[byte / 4])));
            }
            if let Line::Bytes(cells) = line {
                cells[within..within + here].iter_mut().for_each(&mut each);
            }
        }
    }
}

const SHARDS: usize = 64;

/// The shadow of global memory, shared by the workers of a launch.
pub struct Shadow {
    shards: Vec<Mutex<HashMap<u64, Arc<Mutex<Page>>>>>,
    /// Pages that may still be made.
    left: AtomicU64,
}

impl Shadow {
    /// A shadow that takes about `limit` bytes at most, as long as words are accessed whole.
    pub fn new(limit: u64) -> Shadow {
        let bytes = PAGE / 4 * size_of::<Cell>() as u64 + PAGE / LINE * size_of::<Line>() as u64;
        Shadow {
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
            left: AtomicU64::new(limit / bytes),
        }
    }

    /// The shadow of a page; `None` if there is no room for it.
    pub fn page(&self, number: u64) -> Option<Arc<Mutex<Page>>> {
        let mut shard = self.shards[number as usize % SHARDS].lock();
        if let Some(page) = shard.get(&number) {
            return Some(page.clone());
        }
        let fewer = |left: u64| left.checked_sub(1);
        self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fewer).ok()?;
        let page = Arc::new(Mutex::new(Page::new(PAGE)));
        shard.insert(number, page.clone());
        Some(page)
    }
}

/// Bytes that shadows may take: `MARGAY_CHECK_MEMORY` in MiB, or three quarters of what the system has to give.
pub fn room() -> u64 {
    let wish = std::env::var("MARGAY_CHECK_MEMORY").ok().and_then(|v| v.parse::<u64>().ok());
    if let Some(mib) = wish {
        return mib << 20;
    }
    let info = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = info.lines().find_map(|l| l.strip_prefix("MemAvailable:"));
    let kib = line.and_then(|l| l.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
    kib.map_or(u64::MAX, |kib| kib * 1024 / 4 * 3)
}

/// The shadow of a block's shared memory.
pub fn of_shared(bytes: u32) -> Page {
    Page::new(u64::from(bytes).next_multiple_of(4))
}
