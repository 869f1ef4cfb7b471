// SPDX-License-Identifier: MIT OR Apache-2.0
//! Blocks of a watched launch in compiled code, warp by warp in the scheduler's order: see [`crate::block::Group::run`].
//!
//! Invariant: events come in the order in which the interpreter has them. A warp runs until it waits; who completes a
//! barrier goes on at once; the first store of a warp waits until the others had a turn. Arrivals at a barrier are told
//! when it opens, or the block is handed over. Code for whole blocks keeps to that by itself, and tells of its blocks
//! and barriers by [`turn`].

use std::sync::Arc;

use margay_codegen::{AT_BARRIER, FIRST_EXIT, Reason, Turn as Told};
use margay_ir::BarKind;

use super::kernel::Kernel;
use super::run::{At, Chunk, ChunkEnd, Fast, LaunchCode, Left, PATIENCE, call, find_warp};
use crate::alike::Alike;
use crate::block::{Group, Progress, WARP_SLICE, report_block};
use crate::buffer::Pool;
use crate::fault::Fault;
use crate::interp::Cx;
use crate::lanes::FULL;
use crate::observe::{BarrierEvent, BarrierRound, EventPlace, Interest, circle};
use crate::sched::permute;

/// Why a warp's turn ends.
enum Turn {
    /// It waits, or has ended.
    Over,
    /// The warp at this exit is for the interpreter, and with it the block.
    Leaves(Option<usize>),
}

/// How a block runs.
#[derive(Clone, Copy, PartialEq)]
enum Way {
    /// The watch follows it.
    Followed,
    Watched,
    /// It is like one that was rehearsed, by which nothing or some is left to tell.
    Unwatched,
    Partly,
}

/// Warp instructions of a block that left its code between looks at whether the grid stops.
const UNWATCHED_SLICE: u64 = 1_000_000;

/// Tells the watch what code for whole blocks does with them: see [`Told`].
pub(super) unsafe extern "C" fn turn(context: *mut u8, what: u32) {
    // SAFETY: the context is the worker's own, which waits for the compiled code to return.
    let cx = unsafe { &mut *context.cast::<Cx<'_>>() };
    find_warp(cx);
    let Some(told) = Told::of(what) else { return };
    if let Told::Opens = told {
        super::noted::tell(cx);
        return tell_opening(cx);
    }
    super::noted::stop(cx);
    let (ctaid, smid, warps) = (cx.view.ctaid, cx.view.smid, cx.view.warps);
    let begins = matches!(told, Told::Begins);
    report_block(cx, ctaid, smid, warps, begins);
    if begins {
        super::noted::start_block(cx);
    }
}

/// Tells of the warps that code for whole blocks has at the barrier, and that it opens.
fn tell_opening(cx: &mut Cx<'_>) {
    if !cx.interest.contains(Interest::BARRIERS) {
        return;
    }
    let (place, warps) = (cx.event_at(0), cx.view.warps);
    // SAFETY: the kernel is the one that runs; it keeps where each of the block's warps stands.
    let (kernel, stands) = unsafe {
        let Some(kernel) = cx.rooms[0].kernel().as_ref() else { return };
        (kernel, std::slice::from_raw_parts(cx.io.at, warps as usize))
    };
    let Some(watch) = &mut cx.watch else { return };
    let last = cx.io.warp;
    let exits = circle(last, warps).filter_map(|warp| {
        let stands = stands[warp as usize];
        let n = (stands & !AT_BARRIER).checked_sub(FIRST_EXIT)?;
        let exit = kernel.exits.get(n as usize).filter(|_| stands & AT_BARRIER != 0)?;
        let Reason::Barrier { id } = exit.reason else { return None };
        Some((warp, exit.pc, u32::from(id)))
    });
    let Some((_, pc, id)) = exits.clone().next() else { return };
    if exits.clone().all(|(_, other, _)| other == pc) {
        let there = exits.fold(0, |all, (warp, ..)| all | 1 << warp);
        let at = EventPlace { warp: last, pc, ..place };
        return watch.barrier_round(&BarrierRound { at, id, warps, there });
    }
    for (warp, pc, id) in exits {
        let at = EventPlace { warp, pc, ..place };
        let (kind, mask, alive, id) = (BarKind::Sync, FULL, FULL, Some(id));
        watch.barrier(&BarrierEvent { at, id, count: None, kind, mask, alive });
    }
    watch.barrier_opens(place.ctaid, id);
}

impl Fast {
    /// Runs blocks by code for whole ones, from where the watch follows to where it does not, and back; those that need not be
    /// watched by code of their own.
    pub(super) fn run_followed(
        &mut self,
        cx: &mut Cx<'_>,
        pool: &mut Pool,
        (code, kernel): (&LaunchCode, &Arc<Kernel>),
        chunk: Chunk,
        stop: &dyn Fn() -> bool,
    ) -> Result<ChunkEnd, Box<Fault>> {
        let env = cx.env;
        let alike = env.alike.found().zip(code.plain());
        let way = |cx: &Cx<'_>, n: u32| {
            let n = chunk.first + u64::from(n);
            if let Some((alike, _)) = alike.filter(|(alike, _)| alike.has(n)) {
                return if alike.whole { Way::Unwatched } else { Way::Partly };
            }
            let smid = env.multiprocessor_of(n);
            match cx.watch.as_ref().is_some_and(|watch| watch.follows(smid)) {
                true => Way::Followed,
                false => Way::Watched,
            }
        };
        let mut begin = 0;
        while begin < chunk.count {
            let like = way(cx, begin);
            let mut end = begin + 1;
            while end < chunk.count && way(cx, end) == like {
                end += 1;
            }
            let first = chunk.first + u64::from(begin);
            // Blocks are in the order of their numbers.
            if begin != 0 {
                self.set_up(cx, env.block_at(first), env.multiprocessor_of(first));
            }
            let part = Chunk { first, count: end - begin };
            let end_of = match (like, alike) {
                (Way::Unwatched, Some((alike, plain))) => {
                    self.run_unwatched(cx, pool, (alike, plain), part, stop)?
                }
                (Way::Partly, Some((alike, (_, kernel)))) => {
                    self.run_partly(cx, pool, (alike, kernel), part, stop)?
                }
                _ => self.run_whole(cx, pool, kernel, part, stop)?,
            };
            match end_of {
                ChunkEnd::Done => begin = end,
                ChunkEnd::Handed { group, at } => {
                    return Ok(ChunkEnd::Handed { group, at: begin + at });
                }
            }
        }
        Ok(ChunkEnd::Done)
    }

    /// Runs blocks of which some need not be told. Those that leave their code are quiet about the same further on.
    fn run_partly(
        &mut self,
        cx: &mut Cx<'_>,
        pool: &mut Pool,
        (alike, kernel): (&Alike, &Arc<Kernel>),
        chunk: Chunk,
        stop: &dyn Fn() -> bool,
    ) -> Result<ChunkEnd, Box<Fault>> {
        cx.quiet = true;
        let end = self.run_whole(cx, pool, kernel, chunk, stop);
        cx.quiet = false;
        let (begun, end) = match end {
            Ok(ChunkEnd::Done) => (chunk.count, Ok(ChunkEnd::Done)),
            Ok(ChunkEnd::Handed { mut group, at }) => {
                group.be_quiet();
                (at + 1, Ok(ChunkEnd::Handed { group, at }))
            }
            // The launch fails: of the block at fault it is not known how far it came.
            Err(fault) => (chunk.count.saturating_sub(cx.io.blocks), Err(fault)),
        };
        if let Some(watch) = &mut cx.watch {
            alike.ran(cx.env, chunk.first..chunk.first + u64::from(begun), &mut **watch);
        }
        end
    }

    /// Runs blocks that need not be watched. Those that leave their code are interpreted at once, unwatched as well.
    fn run_unwatched(
        &mut self,
        cx: &mut Cx<'_>,
        pool: &mut Pool,
        (alike, plain): (&Alike, (&LaunchCode, &Arc<Kernel>)),
        chunk: Chunk,
        stop: &dyn Fn() -> bool,
    ) -> Result<ChunkEnd, Box<Fault>> {
        let env = cx.env;
        let watch = cx.watch.take();
        let interest = std::mem::take(&mut cx.interest);
        let observing = std::mem::take(&mut cx.observing);
        // These are counted by what was rehearsed.
        let counters = cx.counters;
        // What is interpreted must not enter code that counts.
        let interpreting = std::mem::replace(&mut cx.interpreting, true);
        let mut begin = 0;
        let end = loop {
            let first = chunk.first + u64::from(begin);
            if begin > 0 {
                self.set_up(cx, env.block_at(first), env.multiprocessor_of(first));
            }
            let rest = Chunk { first, count: chunk.count - begin };
            let (mut group, at) = match self.run_stretches(cx, pool, plain, rest, stop) {
                Ok(ChunkEnd::Handed { group, at }) => (group, at),
                Ok(ChunkEnd::Done) => {
                    begin = chunk.count;
                    break Ok(ChunkEnd::Done);
                }
                // The launch fails, and what it did is counted as far as that is known.
                Err(fault) => break Err(fault),
            };
            begin += at;
            let ended = loop {
                match group.run(cx, pool, UNWATCHED_SLICE, stop) {
                    Ok(Progress::Done) => break Ok(true),
                    Ok(_) if stop() => break Ok(false),
                    Ok(_) => {}
                    Err(fault) => break Err(fault),
                }
            };
            match ended {
                Ok(true) => group.recycle(pool),
                Ok(false) => break Ok(ChunkEnd::Handed { group, at: begin }),
                Err(fault) => break Err(fault),
            }
            begin += 1;
            if begin >= chunk.count {
                break Ok(ChunkEnd::Done);
            }
        };
        (cx.watch, cx.interest, cx.observing) = (watch, interest, observing);
        (cx.interpreting, cx.counters) = (interpreting, counters);
        if let Some(watch) = &mut cx.watch {
            alike.ran(env, chunk.first..chunk.first + u64::from(begin), &mut **watch);
        }
        end
    }

    /// Lists the warps, all but `own`, that wait at a barrier with all their lanes, in the order in which they came if
    /// `last` ran last.
    pub(super) fn find_arrived(&mut self, kernel: &Kernel, last: u32, own: Option<usize>) {
        let waits = |w: usize| match self.at[w] {
            At::Barrier(n) => !kernel.exits[n as usize].apart && Some(w) != own,
            At::Start | At::Exit(_) | At::Done => false,
        };
        let all = circle(last, self.at.len() as u32);
        self.arrived = all.filter(|&w| waits(w as usize)).collect();
    }

    /// Takes what was counted for warps beyond the barriers that they stand at, all but `own`.
    pub(super) fn settle(&self, cx: &mut Cx<'_>, kernel: &Kernel, own: Option<usize>) {
        for (w, at) in self.at.iter().enumerate().filter(|(w, _)| Some(*w) != own) {
            let (n, opened) = match *at {
                At::Exit(n) => (n, true),
                At::Barrier(n) => (n, false),
                At::Start | At::Done => continue,
            };
            let exit = &kernel.exits[n as usize];
            let behind = u32::from(opened && matches!(exit.reason, Reason::Barrier { .. }));
            let parted = self.parted.get(w).filter(|_| exit.apart);
            cx.tallies.leave(exit.pc + behind, parted.map_or(self.masks[w], |p| p.mask));
        }
    }

    /// Runs a block to its end, or as far as compiled code goes.
    pub(super) fn run_watched(
        &mut self,
        cx: &mut Cx<'_>,
        pool: &mut Pool,
        code: &LaunchCode,
        ctaid: [u32; 3],
        smid: u32,
        stop: &dyn Fn() -> bool,
    ) -> Result<ChunkEnd, Box<Fault>> {
        let warps = self.masks.len();
        let Some((full, part)) = code.single() else { return Ok(ChunkEnd::Done) };
        self.at.fill(At::Start);
        self.arrived.clear();
        cx.io.parted = self.parted.as_mut_ptr();
        report_block(cx, ctaid, smid, warps as u32, true);
        let mut held = 0;
        let (began, polls) = (cx.warp_instructions, cx.polls);
        loop {
            for turn in 0..warps {
                let w = match cx.env.config.seed {
                    Some(seed) => permute(turn as u64, warps as u64, seed) as usize,
                    None => turn,
                };
                let hold = code.options.hold;
                let mut end = self.turn(cx, w, (&full, &part), hold, &mut held, ctaid)?;
                let spent = cx.warp_instructions.wrapping_sub(began);
                // Who polls may wait for a block that has not begun, and so may who never ends.
                if let Turn::Over = end
                    && (cx.polls != polls && spent > WARP_SLICE as u64
                        || spent > PATIENCE
                        || stop())
                    && self.at.iter().any(|at| *at != At::Done)
                {
                    end = Turn::Leaves(None);
                }
                if let Turn::Leaves(exit) = end {
                    let last = exit.map(|n| (w, n));
                    let mut group =
                        self.hand_over(cx, pool, (&full, &part), ctaid, smid, last, held);
                    // Whoever left has its turn still.
                    group.skip(if exit.is_some() { turn } else { turn + 1 });
                    return Ok(ChunkEnd::Handed { group, at: 0 });
                }
            }
            if self.at.iter().all(|at| *at == At::Done) {
                report_block(cx, ctaid, smid, warps as u32, false);
                return Ok(ChunkEnd::Done);
            }
        }
    }

    /// A turn of a warp.
    fn turn(
        &mut self,
        cx: &mut Cx<'_>,
        w: usize,
        (full, part): (&Kernel, &Kernel),
        hold: bool,
        held: &mut u32,
        ctaid: [u32; 3],
    ) -> Result<Turn, Box<Fault>> {
        let own = self.masks[w];
        let kernel = if own == FULL { full } else { part };
        let end = cx.warp_instructions.wrapping_add(WARP_SLICE as u64);
        loop {
            let (entry, mask) = match self.at[w] {
                At::Start => (0, own),
                At::Exit(n) => {
                    let exit = &kernel.exits[n as usize];
                    let lanes = if exit.apart { self.parted[w].mask } else { own };
                    (exit.resume.unwrap_or(0), lanes)
                }
                At::Barrier(_) | At::Done => return Ok(Turn::Over),
            };
            self.set_warp(cx, w);
            cx.io.hold = u32::from(hold && *held >> w & 1 == 0);
            // SAFETY: the frame is the function's, and what is live at the entry is in it.
            let left = unsafe { call(cx, kernel, entry, mask, WARP_SLICE) };
            let mut over = false;
            match left {
                Left::Done | Left::Again => self.at[w] = At::Done,
                Left::Fault => return Err(self.fault(cx, w, ctaid)),
                Left::Exit(n) => {
                    let exit = &kernel.exits[n];
                    let together = exit.pending.is_empty() && cx.io.alive == own;
                    match exit.reason {
                        Reason::Barrier { .. } if together => {
                            self.at[w] = At::Barrier(n as u32);
                            self.arrived.push(w as u32);
                        }
                        Reason::Hold => {
                            *held |= 1 << w;
                            self.at[w] = At::Exit(n as u32);
                            over = true;
                        }
                        Reason::Fuel if together && exit.resume.is_some() => {
                            self.at[w] = At::Exit(n as u32);
                            over = true;
                        }
                        Reason::Barrier { .. }
                        | Reason::Interpret
                        | Reason::Never
                        | Reason::Fuel => return Ok(Turn::Leaves(Some(n))),
                    }
                }
            }
            if !over && !self.open(cx, full, part) {
                return Ok(Turn::Leaves(None));
            }
            if over || cx.warp_instructions >= end {
                return Ok(Turn::Over);
            }
        }
    }

    /// Opens the barrier at which all warps are that have not ended, if it is so. False if they are at several.
    fn open(&mut self, cx: &mut Cx<'_>, full: &Kernel, part: &Kernel) -> bool {
        let mut id = None;
        for (at, &mask) in self.at.iter().zip(&self.masks) {
            let n = match *at {
                At::Barrier(n) => n,
                At::Done => continue,
                At::Start | At::Exit(_) => return true,
            };
            let kernel = if mask == FULL { full } else { part };
            let Reason::Barrier { id: own } = kernel.exits[n as usize].reason else { return true };
            if id.is_some_and(|id| id != own) {
                return false;
            }
            id = Some(own);
        }
        if let Some(id) = id {
            self.tell_arrivals(cx, (full, part));
            let ctaid = cx.view.ctaid;
            if cx.interest.contains(Interest::BARRIERS)
                && let Some(watch) = &mut cx.watch
            {
                watch.barrier_opens(ctaid, u32::from(id));
            }
        }
        for (at, &mask) in self.at.iter_mut().zip(&self.masks) {
            if let At::Barrier(n) = *at {
                let kernel = if mask == FULL { full } else { part };
                cx.tallies.step(kernel.exits[n as usize].pc, mask);
                *at = At::Exit(n);
            }
        }
        true
    }

    /// Tells who has arrived at barriers that have not opened: warps and barriers, in their order.
    fn tell_arrivals(
        &mut self,
        cx: &mut Cx<'_>,
        (full, part): (&Kernel, &Kernel),
    ) -> Vec<(u32, u8)> {
        let place = cx.event_at(0);
        let mut arrived = Vec::with_capacity(self.arrived.len());
        for warp in self.arrived.drain(..) {
            let mask = self.masks[warp as usize];
            let kernel = if mask == FULL { full } else { part };
            let At::Barrier(n) = self.at[warp as usize] else { continue };
            let exit = &kernel.exits[n as usize];
            let Reason::Barrier { id } = exit.reason else { continue };
            arrived.push((warp, id));
            if cx.interest.contains(Interest::BARRIERS)
                && let Some(watch) = &mut cx.watch
            {
                let at = EventPlace { warp, pc: exit.pc, ..place };
                let (kind, alive, id) = (BarKind::Sync, mask, Some(u32::from(id)));
                watch.barrier(&BarrierEvent { at, id, count: None, kind, mask, alive });
            }
        }
        arrived
    }

    /// The block for the scheduler, with its warps as they stand.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn hand_over(
        &mut self,
        cx: &mut Cx<'_>,
        pool: &mut Pool,
        (full, part): (&Kernel, &Kernel),
        ctaid: [u32; 3],
        smid: u32,
        last: Option<(usize, usize)>,
        held: u32,
    ) -> Box<Group> {
        let mut group = self.give_mixed(cx, pool, full, part, ctaid, smid, last, held);
        for (warp, id) in self.tell_arrivals(cx, (full, part)) {
            // It waits there already: who comes last opens the barrier, and goes on first.
            let pc = group.wait_at(cx, warp as usize, id);
            cx.tallies.step(pc, self.masks[warp as usize]);
        }
        group
    }
}
