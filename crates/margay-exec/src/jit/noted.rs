// SPDX-License-Identifier: MIT OR Apache-2.0
//! Accesses that compiled code notes in place of reporting each: see [`Noted`]; and those of local memory
//! that it does not report at all: see [`margay_codegen::Notes::settled`].
//!
//! For a watch that wants to know of blocks and barriers, loads and stores of shared and global memory are noted; if it may turn
//! accesses away, in blocks that it agrees to, but for some places ([`super::holes`]), and no loads of global memory. For one
//! that counts, whatever the code does not count by itself.
//!
//! Invariant: what is noted is told before anything else that the watch is told of the block, and before the engine goes
//! on with other code or another block (but for the blocks that one call runs: notes say which). A warp is settled until then.

use margay_codegen::{LANES, Noted, Pattern, WatchedAccess};
use margay_ir::Space;

use super::run::Chunk;
use super::watching::{AccessSite, event, site_of, tell_addresses, tell_counted};
use crate::fault::Access;
use crate::interp::Cx;
use crate::observe::{EventPlace, Interest, PatternedEvent};

/// Accesses that are noted at most.
const ROOM: usize = 1 << 9;
/// An access may be noted with its addresses from the last place on.
const BEHIND: usize = 1 + Noted::ROOM;

/// Accesses by warps of a block, in their order. All were admitted.
pub struct NotedAccesses<'a> {
    /// The block; the warp and the instruction mean nothing.
    pub at: EventPlace,
    notes: &'a [Noted],
    watched: &'a [WatchedAccess],
    sites: &'a [Option<AccessSite>],
}

impl<'a> NotedAccesses<'a> {
    /// As the code has them: after each that [has values](Noted::VALUES) so many others are these.
    pub fn notes(&self) -> &'a [Noted] {
        self.notes
    }

    /// Which code has them: notes of other code have numbers of their own.
    pub fn code(&self) -> u64 {
        self.watched.as_ptr() as u64
    }

    /// What each number stands for, as an access by all lanes from 0 on.
    pub fn numbers(&self) -> impl Iterator<Item = Option<PatternedEvent<'a>>> + '_ {
        self.watched.iter().map(|access| {
            let site = self.sites.get(access.pc as usize).copied().flatten()?;
            let at = EventPlace { pc: access.pc, ..self.at };
            Some(event(access, site, at, u32::MAX, (0, 0), None))
        })
    }

    /// What the lanes store by the note at this place.
    #[inline]
    pub fn values(&self, n: usize) -> Option<&'a [u64; LANES]> {
        let note = self.notes.get(n).filter(|note| note.number & Noted::VALUES != 0)?;
        debug_assert!(note.number & Noted::ADDRESSES == 0);
        let values = self.notes.get(n + 1..n + 1 + Noted::ROOM)?;
        // SAFETY: that many notes are as long as the values, need as much alignment, and may be any bits.
        Some(unsafe { &*values.as_ptr().cast::<[u64; LANES]>() })
    }

    /// Where the note after the one at this place is.
    #[inline]
    pub fn after(&self, n: usize) -> usize {
        let note = self.notes.get(n).filter(|note| note.number & Noted::VALUES != 0);
        n + 1 + if note.is_some() { Noted::ROOM } else { 0 }
    }

    /// What the instruction of the note at this place accesses.
    #[inline]
    fn site(&self, n: usize) -> Option<AccessSite> {
        let access = self.watched.get((self.notes.get(n)?.number & !Noted::VALUES) as usize)?;
        self.sites.get(access.pc as usize).copied().flatten()
    }

    /// The access that the note at this place stands for.
    #[inline]
    pub fn event(&self, n: usize) -> Option<PatternedEvent<'a>> {
        let note = self.notes.get(n)?;
        let access = self.watched.get((note.number & !Noted::VALUES) as usize)?;
        let site = self.sites.get(access.pc as usize).copied().flatten()?;
        let at = EventPlace { warp: note.warp, pc: access.pc, ..self.at };
        Some(event(access, site, at, note.mask, (note.base, 0), self.values(n)))
    }

    /// Each as an event of its own.
    #[inline]
    pub fn events(&self) -> impl Iterator<Item = PatternedEvent<'a>> + '_ {
        let places = std::iter::successors(Some(0), |&n| Some(self.after(n)));
        places.take_while(|&n| n < self.notes.len()).filter_map(|n| self.event(n))
    }
}

/// What code has noted of blocks of one multiprocessor, from a place in the list on.
pub struct NotedList<'a> {
    /// The multiprocessor.
    pub smid: u32,
    notes: &'a [Noted],
    watched: &'a [WatchedAccess],
    sites: &'a [Option<AccessSite>],
    next: usize,
    /// [`Noted::blocks`] of the block.
    blocks: u32,
}

/// An access that code has noted.
pub struct NotedAccess<'a> {
    pub pc: u32,
    /// The space that is named and accessed: never generic.
    pub space: Space,
    pub mask: u32,
    /// The warp in its block.
    pub warp: u32,
    pub addresses: NotedAddresses<'a>,
}

/// Where it goes.
pub enum NotedAddresses<'a> {
    /// As in a [`PatternedEvent`].
    Patterned {
        site: u64,
        base: u64,
        u: u64,
        form: &'a Pattern,
        /// Others like it might be counted in the code.
        counts: bool,
    },
    Each(&'a [u64; LANES]),
}

/// The same of one whose addresses follow from one, as far as the note itself tells.
pub struct PlainNote {
    /// As in [`NotedAddresses::Patterned`].
    pub site: u64,
    pub base: u64,
    pub u: u64,
    pub mask: u32,
}

impl<'a> NotedList<'a> {
    /// The next one, if it is of the same block and its addresses follow from one. It may be of a generic space, or of several
    /// accesses: such have sites that no other has.
    #[inline(always)]
    pub fn plain(&self) -> Option<PlainNote> {
        let note = self.notes.get(self.next).filter(|note| note.blocks == self.blocks)?;
        let Noted { base, u, number, mask, .. } = *note;
        let site = self.watched.as_ptr().wrapping_add(number as usize) as u64;
        let plain = number & (Noted::ADDRESSES | Noted::VALUES) == 0;
        plain.then_some(PlainNote { site, base, u, mask })
    }

    /// The next one, unless it is of another block, or of a generic space.
    #[inline(always)]
    pub fn peek(&self) -> Option<NotedAccess<'a>> {
        let note = self.notes.get(self.next).filter(|note| note.blocks == self.blocks)?;
        let Noted { base, u, number, mask, warp, .. } = *note;
        let each = number & Noted::ADDRESSES != 0;
        let (pc, addresses) = if each {
            let all = self.notes.get(self.next + 1..self.next + 1 + Noted::ROOM)?;
            // SAFETY: that many notes are as long as the addresses, need as much alignment, and may be any bits.
            let all = unsafe { &*all.as_ptr().cast::<[u64; LANES]>() };
            (number & !Noted::ADDRESSES, NotedAddresses::Each(all))
        } else {
            let access = self.watched.get(number as usize).filter(|a| a.members.is_empty())?;
            let (site, form, counts) = (site_of(access), &access.form, access.cells);
            (access.pc, NotedAddresses::Patterned { site, base, u, form, counts })
        };
        let space = self.sites.get(pc as usize).copied().flatten()?.space;
        (space != Space::Generic).then_some(NotedAccess { pc, space, mask, warp, addresses })
    }

    /// Goes past the one that was looked at.
    #[inline(always)]
    pub fn pass(&mut self) {
        if let Some(note) = self.notes.get(self.next) {
            self.next += 1;
            if note.number & Noted::ADDRESSES != 0 {
                self.next += Noted::ROOM;
            }
        }
    }
}

/// Whether the code notes accesses.
#[inline]
pub(super) fn is_on(cx: &Cx<'_>) -> bool {
    !cx.tallies.notes.end.is_null()
}

/// Lets the code note accesses of the block that runs from now on, if the watch agrees.
#[inline]
pub(super) fn start(cx: &mut Cx<'_>) {
    if is_on(cx) || !cx.tallies.has_notes {
        return;
    }
    let ctaid = cx.view.ctaid;
    // As the code was made for: it looks at the holes then.
    let asks = cx.tallies.asks;
    let Some(watch) = &mut cx.watch else { return };
    if asks {
        let mut holes = Vec::new();
        if !watch.admits_shared_reads(ctaid, &mut holes) || !super::holes::set(cx, holes) {
            return;
        }
    }
    open(cx);
}

/// The same where a block begins, if nobody is asked about accesses.
#[inline]
pub(super) fn start_block(cx: &mut Cx<'_>) {
    if !cx.interest.contains(Interest::ADMISSIONS) {
        start(cx);
    }
}

/// Lets the code note whatever it does not count, if nobody is asked about accesses. It is about to run.
#[inline]
pub(super) fn start_all(cx: &mut Cx<'_>) {
    if cx.tallies.has_all_notes {
        open(cx);
    }
}

fn open(cx: &mut Cx<'_>) {
    let tallies = &mut cx.tallies;
    debug_assert!(!tallies.asks || !tallies.notes.odd.is_null(), "the code looks there first");
    if tallies.noted.is_empty() {
        tallies.noted = vec![Noted::default(); ROOM + BEHIND];
    }
    let start = tallies.noted.as_mut_ptr();
    (tallies.notes.next, tallies.notes.end) = (start, start.wrapping_add(ROOM));
}

/// Tells what is noted.
#[inline]
pub(super) fn tell(cx: &mut Cx<'_>) {
    if is_on(cx) && !std::ptr::eq(cx.tallies.notes.next, cx.tallies.noted.as_ptr()) {
        tell_all(cx);
    }
}

fn tell_all(cx: &mut Cx<'_>) {
    let start = cx.tallies.noted.as_mut_ptr();
    // SAFETY: the code goes on from the list's start, and not beyond its end.
    let count = unsafe { cx.tallies.notes.next.offset_from(start) } as usize;
    cx.tallies.notes.next = start;
    if cx.tallies.has_all_notes {
        return tell_each(cx, count);
    }
    let at = cx.event_at(0);
    // SAFETY: the kernel is the one that has noted these.
    let Some(kernel) = (unsafe { cx.rooms[0].kernel().as_ref() }) else { return };
    let notes = cx.tallies.noted.get(..count).unwrap_or_default();
    let (watched, sites) = (&kernel.watched[..], &cx.tallies.accesses[..]);
    let noted = NotedAccesses { at, notes, watched, sites };
    let Some(watch) = &mut cx.watch else { return };
    if cx.interest.contains(Interest::ADMISSIONS) {
        // Who admits accesses learns of stores by being asked. To shared memory nothing is new.
        let mut n = 0;
        while n < count {
            if noted.site(n).is_some_and(|s| (s.space, s.access) == (Space::Global, Access::Write))
                && let Some(event) = noted.event(n)
            {
                let admitted = watch.admits_patterned(&event);
                debug_assert!(admitted, "a store of a warp whose values are all defined");
            }
            n = noted.after(n);
        }
    }
    watch.noted(&noted);
}

/// Tells what takes so many notes, each as if it was reported when it was noted.
fn tell_each(cx: &mut Cx<'_>, count: usize) {
    // SAFETY: the kernel is the one that has noted these.
    let Some(kernel) = (unsafe { cx.rooms[0].kernel().as_ref() }) else { return };
    let noted = std::mem::take(&mut cx.tallies.noted);
    let mut place = cx.event_at(0);
    let mut blocks = cx.io.blocks;
    let mut n = 0;
    while let Some(note) = noted.get(n).filter(|_| n < count) {
        if note.blocks != blocks {
            blocks = note.blocks;
            place = cx.whole.map_or(place, |chunk| place_of(cx, chunk, blocks));
        }
        if let Some(watch) = &mut cx.watch {
            let (watched, sites) = (&kernel.watched[..], &cx.tallies.accesses[..]);
            let (notes, smid) = (noted.get(..count).unwrap_or_default(), place.smid);
            let mut all = NotedList { smid, notes, watched, sites, next: n, blocks };
            watch.passes(&mut all);
            if all.next != n {
                n = all.next;
                continue;
            }
        }
        n += 1;
        place.warp = note.warp;
        if note.number & Noted::ADDRESSES != 0 {
            let Some(addresses) = noted.get(n..n + Noted::ROOM) else { break };
            n += Noted::ROOM;
            // SAFETY: that many notes are as long as the addresses, need as much alignment, and may be any bits.
            let addresses = unsafe { &*addresses.as_ptr().cast::<[u64; LANES]>() };
            let at = EventPlace { pc: note.number & !Noted::ADDRESSES, ..place };
            tell_addresses(cx, at, note.mask, addresses, None);
            continue;
        }
        let Some(access) = kernel.watched.get(note.number as usize) else { continue };
        let at = EventPlace { pc: access.pc, ..place };
        let (told, from) = ((&kernel.watched[..], note.number), (note.base, note.u));
        tell_counted(cx, told, access, at, note.mask, from, None);
    }
    cx.tallies.noted = noted;
}

/// The block of a chunk when so many are still to be run.
fn place_of(cx: &Cx<'_>, chunk: Chunk, blocks: u32) -> EventPlace {
    let at = chunk.first + u64::from(chunk.count.saturating_sub(blocks));
    let (ctaid, smid) = (cx.env.block_at(at), cx.env.multiprocessor_of(at));
    EventPlace { ctaid, smid, ..cx.event_at(0) }
}

/// Lets the code leave out the warp's accesses to its local memory from now on, if the watch agrees.
#[inline]
pub(super) fn settle(cx: &mut Cx<'_>) {
    let (ctaid, warp) = (cx.view.ctaid, cx.view.warp);
    if cx.tallies.settles
        && let Some(watch) = &mut cx.watch
        && watch.is_settled(ctaid, warp)
    {
        cx.tallies.notes.settled |= 1 << warp;
    }
}

/// Tells what is noted, and has the code report everything until [`start`] and [`settle`]: the block or the code is another
/// from now on.
#[inline]
pub(super) fn stop(cx: &mut Cx<'_>) {
    cx.tallies.notes.settled = 0;
    tell(cx);
    (cx.tallies.notes.next, cx.tallies.notes.end) = (std::ptr::null_mut(), std::ptr::null_mut());
}
