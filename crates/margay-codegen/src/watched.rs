// SPDX-License-Identifier: MIT OR Apache-2.0
//! What code reports to whoever watches a launch.
//!
//! Accesses are calls, made when an access has passed its check and before it is carried out, or counts in [`Cells`]; what
//! fails the check is its handler's, which reports it. How often blocks are executed and branches taken is counted in
//! the code, in [`Tally`]s.

use crate::shape::Pattern;

/// Kinds of events that are wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Watched {
    /// Accesses to memory.
    pub accesses: bool,
    /// With each store of one element to global or shared memory what it stores.
    pub values: bool,
    /// Executions of blocks, and which way branches go.
    pub counts: bool,
    pub fences: bool,
    /// Ops with member masks.
    pub warp_syncs: bool,
    /// Blocks of the grid, and barriers: code for whole blocks tells of them ([`crate::Turn`]), other code nothing.
    pub blocks: bool,
    /// An access may be turned away when it is reported: the code is left before it.
    pub admissions: bool,
    /// Accesses of parameters, too.
    pub parameters: bool,
    /// Loads and stores of shared and global memory may be [`Noted`] in place of a report, but for loads of global memory
    /// that may be turned away.
    pub notes: bool,
    /// Each access may be [`Noted`] in place of a report: nobody is asked about one, and nothing else is reported.
    pub notes_all: bool,
    /// Accesses of local memory are not reported of warps that are [settled](Notes::settled).
    pub settles: bool,
}

impl Watched {
    /// Whether anything is.
    pub fn any(&self) -> bool {
        *self != Watched::default()
    }
}

/// What is counted of a block of the function: a row of [`crate::Io::tallies`].
#[repr(usize)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tally {
    /// Executions by all 32 lanes.
    Full,
    /// Other executions, and their lanes.
    Part,
    Lanes,
    /// Of the branch at the end: how often its lanes parted, and the lanes that took it.
    Divergent,
    Taken,
}

impl Tally {
    /// Numbers in a row.
    pub const COUNT: usize = 5;
}

/// An access whose lanes' addresses follow from a scalar, or two.
#[derive(Clone, Debug, PartialEq)]
pub struct WatchedAccess {
    pub pc: u32,
    /// Address of each lane from that of lane 0, the constant of the instruction counted.
    pub form: Pattern,
    /// All lanes run, and how often it comes may be counted in the code: see [`Cells`].
    pub cells: bool,
    /// Lane 0's address is a multiple of 2 to this: see [`Cells::cell`].
    pub grain: u32,
    /// If there are any, this stands for them all, of which each comes whenever one does.
    pub members: Vec<WatchedMember>,
    /// Whether the members are reported one by one, each at its own place, where the whole is not counted: a report of the whole
    /// says that all of them were, and that more like them may be counted.
    pub apart: bool,
}

/// An access of several that are counted at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WatchedMember {
    /// Its number.
    pub number: u32,
    /// From the address of the whole to its own.
    pub more: i64,
}

impl WatchedAccess {
    /// An access that is reported whenever it is made.
    pub fn told(pc: u32, form: Pattern) -> WatchedAccess {
        WatchedAccess { pc, form, cells: false, grain: 0, members: Vec::new(), apart: false }
    }

    /// Places of 8 bytes that its [`Cells`] take, if it has any.
    pub fn cell_words(&self) -> usize {
        if self.cells { Cells::WORDS + (Cells::PERIOD >> self.grain) as usize } else { 0 }
    }

    /// The grain of accesses of `bytes` bytes a lane, which are aligned.
    pub fn grain(bytes: u64) -> u32 {
        let most = Cells::PERIOD.trailing_zeros();
        if bytes.is_power_of_two() { bytes.trailing_zeros().min(most) } else { 0 }
    }
}

/// What the code counts of an access by itself: accesses whose first address is in `lo..lo + span`,
/// by that address modulo [`Cells::PERIOD`]. Where a cell is [unknown](Cells::UNKNOWN), and for all other addresses, the access is
/// reported; so it is if the second scalar is another, or if it touches a line of global memory that is marked:
/// see [`crate::Io::marks`].
///
/// The counts follow, as many as the grain leaves: of those that nobody was told of, or [`Cells::UNKNOWN`] for a pattern that
/// did not come yet. Those of all accesses lie one behind the other, so that what the code counts in takes few pages and lines.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cells {
    pub lo: u64,
    pub span: u64,
    /// The second scalar, 0 where there is none. Of accesses that are reported [apart](WatchedAccess::apart): not 0 if they
    /// are never counted as a whole.
    pub u: u64,
}

impl Cells {
    pub const PERIOD: u64 = 256;
    /// What the code must not count: one more is 0, which an addition tells without a comparison.
    pub const UNKNOWN: u64 = u64::MAX;
    /// Places of 8 bytes before the counts.
    pub const WORDS: usize = size_of::<Cells>() / size_of::<u64>();

    /// The cell of an address, which is a multiple of 2 to the `grain`: those of words lie together.
    pub fn cell(base: u64, grain: u32) -> usize {
        ((base % Cells::PERIOD) >> grain) as usize
    }
}

/// What the code need not report. Not a part of [`crate::Io`], which nothing that the code calls may change.
#[repr(C)]
#[derive(Debug)]
pub struct Notes {
    /// Where the next access is noted, up to the end. There, each is reported. Behind the end there is room for one with its
    /// addresses, or with what it stores.
    pub next: *mut Noted,
    pub end: *mut Noted,
    /// Warps of the block of whose local memory nobody needs to know any more what they do there: a bit each.
    pub settled: u32,
    /// Where a load or a store of shared memory that might be turned away is reported all the same: of each access by its number
    /// a byte for each word of the memory, as lane 0's address, which is not 0 then. What is beyond so many words has the
    /// next one. Read only where there is room for a note.
    pub odd: *const *const u8,
    pub words: u64,
}

/// An access that the code has noted by itself, where [`Notes`] have room, to be reported later.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Noted {
    /// Address of lane 0.
    pub base: u64,
    /// The second scalar, 0 where there is none.
    pub u: u64,
    /// Its number in [`crate::Outline::watched`]; or, with [`Noted::ADDRESSES`] added, the instruction: the addresses of all 32
    /// lanes follow in place of so many notes, and the scalars mean nothing. With [`Noted::VALUES`] added, what they store does.
    pub number: u32,
    pub mask: u32,
    /// The warp in its block.
    pub warp: u32,
    /// [`crate::Io::blocks`] of then, with [`Watched::notes_all`].
    pub blocks: u32,
}

impl Noted {
    /// See [`Noted::number`].
    pub const ADDRESSES: u32 = 1 << 31;
    /// The same for what each lane stores, beside the scalars.
    pub const VALUES: u32 = 1 << 30;
    /// Notes that the addresses of 32 lanes take, and what they store.
    pub const ROOM: usize = 32 * size_of::<u64>() / size_of::<Noted>();
    /// No access has it: reported by this number, nothing is told but what is noted.
    pub const NONE: u32 = u32::MAX;
}
