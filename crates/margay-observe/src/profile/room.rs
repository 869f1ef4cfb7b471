// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where a worker counts. It is kept for later launches of the kernel, which mostly make the same accesses.

use margay_arch::Space;
use smallvec::SmallVec;

use super::patterns::Patterns;
use super::raw::{CacheCounts, RawBranch, Sums};
use super::site::Site;
use super::spread::Spreads;
use super::touches::Route;

/// The counts of one worker in one launch.
pub struct Room {
    /// By instruction, differences to the one before: a straight run is two additions.
    pub warps: Vec<i64>,
    pub threads: Vec<i64>,
    pub branches: Vec<Option<RawBranch>>,
    /// By instruction. Of those that are from earlier launches and not met again nothing came.
    pub sites: Vec<Vec<Entry>>,
    /// By instruction.
    pub memos: Vec<Option<Box<Memo>>>,
    /// By instruction.
    pub spreads: Vec<Option<Box<Spreads>>>,
}

impl Room {
    /// For so many instructions.
    pub fn new(n: usize) -> Room {
        Room {
            warps: vec![0; n + 1],
            threads: vec![0; n + 1],
            branches: vec![None; n],
            sites: (0..n).map(|_| Vec::new()).collect(),
            memos: (0..n).map(|_| None).collect(),
            spreads: (0..n).map(|_| None).collect(),
        }
    }

    /// Forgets what was counted.
    pub fn clear(&mut self) {
        self.warps.fill(0);
        self.threads.fill(0);
        self.branches.fill(None);
        self.memos.fill_with(|| None);
        self.spreads.fill_with(|| None);
        let met = |entry: &&mut Entry| entry.executions != 0;
        self.sites.iter_mut().flatten().filter(met).for_each(Entry::clear);
    }

    /// Bytes of what is known of patterns.
    pub fn bytes(&self) -> usize {
        self.sites.iter().flatten().map(|entry| entry.patterns.bytes()).sum()
    }
}

/// Accesses of one instruction to one variable. In this order what every access needs lies together, and begins with what tells
/// whether this is the entry.
#[repr(C, align(64))]
pub struct Entry {
    /// Addresses of the variable.
    pub lo: u64,
    pub hi: u64,
    pub lanes: u64,
    pub executions: u64,
    pub period: u64,
    /// Accesses whose patterns were too many to keep.
    pub unkept: u64,
    pub width: u32,
    pub route: Route,
    pub space: Space,
    pub site: Site,
    pub caches: CacheCounts,
    /// What those cost, by model.
    pub unkept_counts: SmallVec<[Sums; 1]>,
    pub patterns: Patterns,
    pub variable: u32,
    /// Where the profiler counts what this is handed in as, if it was before.
    pub taken_as: Option<u32>,
    /// Row of the constant cache's report, in constant memory.
    pub row: usize,
}

/// Lines of the processor's cache in which what every access needs of an entry lies.
pub const ENTRY_LINES: usize = 6;

const _: () = assert!(std::mem::offset_of!(Entry, patterns) == 64 * (ENTRY_LINES - 2));

impl Entry {
    /// Whether accesses to an address of a space are counted here.
    #[inline(always)]
    pub fn holds(&self, space: Space, at: u64) -> bool {
        self.space == space && self.lo <= at && at < self.hi
    }

    /// Forgets what was counted, and where the variable is.
    fn clear(&mut self) {
        (self.lo, self.hi, self.lanes, self.executions, self.unkept) = (0, 0, 0, 0, 0);
        self.unkept_counts.fill(Sums::default());
        self.caches = CacheCounts::default();
        self.patterns.clear();
    }
}

/// The period of all but atomics.
pub const PERIOD: u64 = 256;

/// Where accesses of one instruction of compiled code are counted, each by its form, its lanes, its second scalar, and its base
/// modulo [`PERIOD`]: these decide its pattern.
pub struct Memo(pub [Known; MEMO]);

/// Accesses that a [`Memo`] remembers.
pub const MEMO: usize = 256;

/// A form that was met.
#[derive(Clone, Copy, Default)]
#[repr(C, align(32))]
pub struct Known {
    pub site: u64,
    /// The second scalar.
    pub u: u64,
    pub mask: u32,
    /// The entry, and one more than the number of its pattern; 0 if there is none.
    pub entry: u32,
    pub seen: u32,
    /// The base modulo the period.
    pub low: u32,
}

impl Default for Memo {
    fn default() -> Memo {
        Memo([Known::default(); MEMO])
    }
}

impl Memo {
    /// The place of accesses like this one.
    #[inline(always)]
    pub fn place(base: u64, mask: u32) -> usize {
        let low = base % PERIOD;
        // Most bases are multiples of four.
        let mixed = low >> 2 | low << 6;
        (mixed ^ u64::from(mask.wrapping_mul(0x9e37_79b9) >> 24)) as usize % MEMO
    }
}
