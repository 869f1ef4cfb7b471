// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reads of shared memory that compiled code notes in place of reporting each: see [`Noted`]; and accesses of local memory
//! that it does not report at all: see [`margay_codegen::Notes::settled`].
//!
//! Invariant: what is noted is told before anything else that the watch is told of the block, and before the engine goes
//! on with other code or another block. A warp is settled until then.

use margay_codegen::{Noted, WatchedAccess};

use super::watching::{AccessSite, event};
use crate::interp::Cx;
use crate::observe::{EventPlace, Interest, PatternedEvent};

/// Reads that are noted at most.
const ROOM: usize = 1 << 9;

/// Reads of a block's shared memory by its warps, in their order. All were admitted.
pub struct NotedReads<'a> {
    /// The block; the warp and the instruction mean nothing.
    pub at: EventPlace,
    reads: &'a [Noted],
    watched: &'a [WatchedAccess],
    sites: &'a [Option<AccessSite>],
}

impl<'a> NotedReads<'a> {
    /// Each as an event of its own.
    #[inline]
    pub fn events(&self) -> impl Iterator<Item = PatternedEvent<'a>> + '_ {
        self.reads.iter().filter_map(|read| {
            let access = self.watched.get(read.number as usize)?;
            let site = self.sites.get(access.pc as usize).copied().flatten()?;
            let at = EventPlace { warp: read.warp, pc: access.pc, ..self.at };
            Some(event(access, site, at, read.mask, (read.base, 0), None))
        })
    }
}

/// Whether the code notes reads.
#[inline]
pub(super) fn is_on(cx: &Cx<'_>) -> bool {
    !cx.tallies.notes.end.is_null()
}

/// Lets the code note reads of the block that runs from now on, if the watch agrees.
#[inline]
pub(super) fn start(cx: &mut Cx<'_>) {
    if is_on(cx) || !cx.tallies.has_notes {
        return;
    }
    let ctaid = cx.view.ctaid;
    let asks = cx.interest.contains(Interest::ADMISSIONS);
    let Some(watch) = &mut cx.watch else { return };
    if asks && !watch.admits_shared_reads(ctaid) {
        return;
    }
    let tallies = &mut cx.tallies;
    if tallies.noted.is_empty() {
        tallies.noted = vec![Noted::default(); ROOM];
    }
    let room = tallies.noted.as_mut_ptr_range();
    (tallies.notes.next, tallies.notes.end) = (room.start, room.end);
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
    let at = cx.event_at(0);
    // SAFETY: the kernel is the one that has noted these.
    let Some(kernel) = (unsafe { cx.rooms[0].kernel().as_ref() }) else { return };
    let reads = cx.tallies.noted.get(..count).unwrap_or_default();
    let (watched, sites) = (&kernel.watched[..], &cx.tallies.accesses[..]);
    if let Some(watch) = &mut cx.watch {
        watch.noted(&NotedReads { at, reads, watched, sites });
    }
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
