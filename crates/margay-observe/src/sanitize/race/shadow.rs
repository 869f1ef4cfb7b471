// SPDX-License-Identifier: MIT OR Apache-2.0
//! Shadow memory: for each word, who wrote it last and who has read it since.
//!
//! A cell has two marks. When a second thread reads (or atomically changes) a word before the first
//! is known to be done, the mark is *widened*: to the lanes of a warp, the warps of a block, or the
//! blocks of the grid. A widened mark keeps the greatest stamp; which stamps its threads really used
//! is in their clocks ([`super::order`]). So a cell never grows. How a page keeps its cells is in [`super::page`],
//! and of pages of which little is accessed in [`super::scattered`].

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use margay_ir::Scope;
use parking_lot::{Mutex, MutexGuard};
use rustc_hash::FxHashMap;

use super::ledger::Ledger;
use super::order::{Thread, Tick};
use super::page::{self, Page};
use super::quick::Quick;
use super::readers::{NO_SET, Set};
use super::scattered::{LEAF_BYTES, Scattered};
use super::stores::Stores;

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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Mark {
    pub block: u32,
    /// 0: there was none.
    pub stamp: Tick,
    /// Address of the instruction in the program's code.
    pub pc: u32,
    /// Lane 0–4, warp 5–9, kind 10–11, width 12–13, strong 14, wide scope 15, value or [set](Mark::set) 16–31.
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

    /// What is left of a mark beside block, stamp and address.
    #[inline]
    pub fn bits(self) -> u32 {
        self.bits
    }

    /// A mark of what [`Mark::bits`] gave.
    #[inline]
    pub fn from_bits(block: u32, stamp: Tick, pc: u32, bits: u32) -> Mark {
        Mark { block, stamp, pc, bits }
    }

    /// A number that tells most marks from each other.
    pub fn hash(self) -> u32 {
        let low = u64::from(self.block) << 32 | u64::from(self.stamp);
        let high = u64::from(self.pc) << 32 | u64::from(self.bits);
        let mixed =
            low.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ high.wrapping_mul(0xc2b2_ae3d_27d4_eb4f);
        (mixed >> 32) as u32 ^ mixed as u32
    }

    /// The same of another lane of the warp.
    #[inline]
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

    /// Of which blocks it is, if it is of several: in the place of a value, of which wide marks have none.
    pub fn set(self) -> Set {
        if self.width() == Width::Blocks { self.value() } else { NO_SET }
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

    /// Whether both name the same thread.
    pub fn names_thread_of(self, other: Mark) -> bool {
        self.block == other.block && (self.bits ^ other.bits) & 0x3ff == 0
    }

    /// The same with another number in place of the block's.
    pub fn of_block(self, block: u32) -> Mark {
        Mark { block, ..self }
    }

    /// The same of another thread.
    #[inline]
    pub fn of(mut self, thread: Thread) -> Mark {
        self.bits = self.bits & !0x3ff | thread.lane as u32 | (thread.warp as u32) << 5;
        self.block = thread.block;
        self
    }

    /// The same at another time.
    pub fn at(self, stamp: Tick) -> Mark {
        Mark { stamp, ..self }
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

    /// Of those that it stands for the last alone.
    pub fn last(mut self) -> Mark {
        self.bits &= if self.width() == Width::Blocks { 0xcfff } else { !0x3000 };
        self
    }

    /// Both strong, with scopes too narrow for each other.
    pub fn scopes_too_narrow(self, other: Mark) -> bool {
        self.strong() && other.strong() && !self.morally_strong(other)
    }

    /// This mark and a later one as one; the later one represents both. The set is that of this one.
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
        let bits = later.bits & 0x0fff | (width as u32) << 12 | both | u32::from(self.set()) << 16;
        Mark { bits, stamp: self.stamp.max(later.stamp), ..later }
    }
}

/// The shadow of a word or a byte.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cell {
    pub write: Mark,
    /// Who has read since; after a strong write also the weak access before it.
    pub read: Mark,
}

impl Cell {
    /// Who wrote it, or else who read it.
    #[inline]
    pub fn thread(self) -> Thread {
        if self.write.is_empty() { self.read.thread() } else { self.write.thread() }
    }

    /// The same of another thread, which did all that was done.
    #[inline]
    pub fn of(self, thread: Thread) -> Cell {
        let of = |mark: Mark| if mark.is_empty() { mark } else { mark.of(thread) };
        Cell { write: of(self.write), read: of(self.read) }
    }
}

/// What cells of bytes may be visited of.
pub trait Cells {
    /// Calls `each` on the cells of the bytes `from..from + bytes`.
    fn cells(&mut self, from: u64, bytes: u64, each: impl FnMut(&mut Cell));
    /// Goes through these lanes' stores by a way that is shorter than their cells are, up to the first that has none. Returns
    /// it, and those after it.
    #[inline]
    fn store_words(&mut self, lanes: u32, _: &Stores<'_>, _: &Quick) -> u32 {
        lanes
    }
}

impl Cells for Page {
    #[inline]
    fn cells(&mut self, from: u64, bytes: u64, each: impl FnMut(&mut Cell)) {
        Page::cells(self, from, bytes, each);
    }
    #[inline]
    fn store_words(&mut self, lanes: u32, stores: &Stores<'_>, quick: &Quick) -> u32 {
        Page::store_words(self, lanes, stores, quick)
    }
}

const SHARDS: u64 = 64;
/// Pages that are kept for other launches at most: so many of one program mostly touch the same.
const SPARE: usize = 1 << 14;

/// Pages that no launch has, to be used again.
#[derive(Default)]
pub struct Spare(Mutex<Vec<Arc<Mutex<Page>>>>);

/// Pages, each with a number of as many as there are shards.
#[derive(Default)]
struct Shard {
    pages: FxHashMap<u64, Arc<Mutex<Page>>>,
    /// What there is of others.
    scattered: Scattered,
}

/// The shadow of global memory, shared by the workers of a launch.
pub struct Shadow<'a> {
    shards: Vec<Mutex<Shard>>,
    /// Bytes that may still be taken.
    left: AtomicU64,
    room: Room,
    ledger: Arc<Ledger>,
    spare: &'a Spare,
}

impl Drop for Shadow<'_> {
    fn drop(&mut self) {
        let mut spare = self.spare.0.lock();
        let room = SPARE.saturating_sub(spare.len());
        let pages = self.shards.iter_mut().flat_map(|shard| shard.get_mut().pages.drain());
        let own = pages.filter(|(_, page)| Arc::strong_count(page) == 1).take(room);
        spare.extend(own.map(|(_, page)| {
            page.lock().forget();
            page
        }));
    }
}

/// Where the cells of a page are.
pub enum Found<'s, P = Arc<Mutex<Page>>> {
    /// In a page of its own.
    Page(P),
    /// With those of others.
    Scattered(ScatteredPage<'s>),
}

impl Shadow<'_> {
    /// A shadow that takes about so many bytes at most.
    pub fn new(room: Room, spare: &Spare, ledger: Ledger) -> Shadow<'_> {
        Shadow {
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
            left: AtomicU64::new(room.of_pages()),
            room,
            ledger: Arc::new(ledger),
            spare,
        }
    }

    /// The names that cells have.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    fn shard(&self, number: u64) -> MutexGuard<'_, Shard> {
        self.shards[(number % SHARDS) as usize].lock()
    }

    /// The shadow of a page as one of its own, and whether it is new; `None` if there is no room for it.
    pub fn page(&self, number: u64) -> Option<(Arc<Mutex<Page>>, bool)> {
        let mut shard = self.shard(number);
        match shard.pages.get(&number) {
            Some(page) => Some((page.clone(), false)),
            None => Some((self.own_page(&mut shard, number)?, true)),
        }
    }

    /// The shadow of a page that may be with others'; `None` if there is no room for it.
    pub fn find(&self, number: u64) -> Option<Found<'_>> {
        let shard = self.shard(number);
        if let Some(page) = shard.pages.get(&number) {
            return Some(Found::Page(page.clone()));
        }
        if self.left.load(Ordering::Relaxed) < LEAF_BYTES {
            return None;
        }
        Some(Found::Scattered(ScatteredPage { shard, shadow: self, number, new: 0 }))
    }

    /// Bytes that so many words of synchronisation may take.
    pub fn room_of_words(&self, words: u64) -> u64 {
        let most = self.room.bytes - self.room.of_pages();
        if self.room.is_told {
            return most;
        }
        let pages = self.room.of_pages() - self.left.load(Ordering::Relaxed);
        let blocks = self.ledger.grid().blocks().saturating_mul(BLOCK_WORDS);
        let anyway = (ANYWAY + pages / PAGES_SHARE).saturating_add(blocks);
        most.min(anyway.max(words.saturating_mul(WORD_BYTES)))
    }

    fn own_page(&self, shard: &mut Shard, number: u64) -> Option<Arc<Mutex<Page>>> {
        take(&self.left, page::USUAL_BYTES).then_some(())?;
        let new = || Arc::new(Mutex::new(Page::new(PAGE, false)));
        let page = self.spare.0.lock().pop().unwrap_or_else(new);
        let mut own = page.lock();
        own.join(&self.ledger);
        shard.scattered.move_to(&self.ledger, number / SHARDS, &mut own);
        drop(own);
        shard.pages.insert(number, page.clone());
        Some(page)
    }
}

/// Takes so many bytes off, if they are there.
fn take(left: &AtomicU64, bytes: u64) -> bool {
    let fewer = |left: u64| left.checked_sub(bytes);
    left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fewer).is_ok()
}

/// What there is of a page with those of others.
pub struct ScatteredPage<'s> {
    shard: MutexGuard<'s, Shard>,
    shadow: &'s Shadow<'s>,
    number: u64,
    /// Bytes that nobody had accessed before.
    new: usize,
}

impl Cells for ScatteredPage<'_> {
    fn cells(&mut self, from: u64, bytes: u64, mut each: impl FnMut(&mut Cell)) {
        let (ledger, page) = (&self.shadow.ledger, self.number / SHARDS);
        self.new += self.shard.scattered.cells(ledger, page, from..from + bytes, &mut each);
    }
}

impl ScatteredPage<'_> {
    /// Makes a page of its own if that takes less.
    pub fn settle(mut self) {
        if self.new == 0 {
            return;
        }
        let made = self.shard.scattered.take_made() * LEAF_BYTES;
        let fewer = |left: u64| Some(left.saturating_sub(made));
        // It is never refused.
        let _ = self.shadow.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fewer);
        if self.shard.scattered.are_many(self.number / SHARDS, self.new) {
            // Without room it stays where it is.
            self.shadow.own_page(&mut self.shard, self.number);
        }
    }
}

/// Bytes that shadows may take, and whether that was told.
#[derive(Clone, Copy, Debug)]
pub struct Room {
    pub bytes: u64,
    pub is_told: bool,
}

/// The part of that which is kept for words of synchronisation.
const WORDS_SHARE: u64 = 8;
/// What is not told lets words of a launch take so many bytes anyway, and so many for each block; this part of what pages
/// take; or so many bytes for each word, which with what a page has of it is about 8 a byte.
const ANYWAY: u64 = 4 << 20;
const BLOCK_WORDS: u64 = 64;
const PAGES_SHARE: u64 = 16;
const WORD_BYTES: u64 = 12;

impl Room {
    fn of_pages(self) -> u64 {
        self.bytes - self.bytes / WORDS_SHARE
    }
}

/// `MARGAY_CHECK_MEMORY` in MiB, or three quarters of what the system has to give.
pub fn room() -> Room {
    let wish = std::env::var("MARGAY_CHECK_MEMORY").ok().and_then(|v| v.parse::<u64>().ok());
    if let Some(mib) = wish {
        return Room { bytes: mib << 20, is_told: true };
    }
    static KNOWN: Mutex<Option<(Instant, u64)>> = Mutex::new(None);
    let mut known = KNOWN.lock();
    // What the system has does not change much from launch to launch.
    if let Some((at, bytes)) = *known
        && at.elapsed() < AGE
    {
        return Room { bytes, is_told: false };
    }
    let info = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = info.lines().find_map(|l| l.strip_prefix("MemAvailable:"));
    let kib = line.and_then(|l| l.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
    let bytes = kib.map_or(u64::MAX, |kib| kib * 1024 / 4 * 3);
    *known = Some((Instant::now(), bytes));
    Room { bytes, is_told: false }
}

/// How old what is known of the system's memory may be.
const AGE: Duration = Duration::from_millis(200);

/// The shadow of a block's shared memory.
pub fn of_shared(bytes: u32) -> Page {
    Page::new(u64::from(bytes).next_multiple_of(4), true)
}
