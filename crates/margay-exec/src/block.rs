// SPDX-License-Identifier: MIT OR Apache-2.0
//! Blocks, and clusters of blocks, as resumable state: the unit that a worker starts, slices and
//! finishes. No thread of the host is tied to a block that waits.

use std::fmt::Write as _;

use crate::barrier::{BARRIERS, BlockBarrier, ClusterBarrier};
use crate::buffer::{Buffer, Pool};
use crate::fault::{Fault, FaultKind, Spot};
use crate::interp::Cx;
use crate::lanes::{LaneFault, WARP};
use crate::observe::{BlockEvent, Interest};
use crate::program::Program;
use crate::reach::name_meant;
use crate::sched::permute;
use crate::warp::{Digest, Shared, State, Stop, Warp, WarpFault};

/// Rounds without a write before somebody looks whether a group goes in a circle; a power of two.
const PATIENT_ROUNDS: u64 = 16;
/// Fuel of one warp before the next of its block has its turn.
pub const WARP_SLICE: i64 = 50_000;
/// Of blocks with more bytes of local memory circles are not looked for: it would take too long.
const DIGESTED_LOCAL: usize = 1 << 20;

pub struct Block {
    ctaid: [u32; 3],
    rank: u32,
    smid: u32,
    warps: Vec<Warp>,
    /// Threads that have not exited.
    alive: u32,
    barriers: [BlockBarrier; BARRIERS],
    shared: Buffer,
    local: Buffer,
}

/// The blocks of a cluster; one without clusters.
pub struct Group {
    blocks: Vec<Block>,
    peers: Vec<*mut u8>,
    cluster: ClusterBarrier,
    /// Block and warp that ran last.
    last: (usize, usize),
    watched: bool,
    circle: Circle,
    /// Turns of the first round that were had before it was taken over.
    skip: usize,
    /// [`Cx::quiet`].
    quiet: bool,
}

/// A state of a group, and how many rounds ago nothing had been written since.
#[derive(Default)]
struct Circle {
    state: Option<Digest>,
    rounds: u64,
}

/// How far a slice of a group got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    Done,
    /// It computes.
    Busy,
    /// In a whole round nothing was written, no thread exited, no barrier opened, and memory was
    /// polled: it waits for somebody else.
    Spinning,
    /// What lives sleeps, until this time of [`Cx::nanoseconds`] at least.
    Asleep(u64),
}

/// Bytes from one lane's local memory to the next one's: not a power of two, so that equal offsets
/// of 32 lanes do not share a cache set.
pub fn local_stride(local_size: u32) -> u64 {
    if local_size == 0 { 0 } else { (local_size as u64).next_multiple_of(64) | 64 }
}

/// Tells the watch that a block begins, or that it has ended.
pub fn report_block(cx: &mut Cx<'_>, ctaid: [u32; 3], smid: u32, warps: u32, begins: bool) {
    if !cx.interest.contains(Interest::BLOCKS) {
        return;
    }
    let event = BlockEvent { ctaid, smid, warps, shared_bytes: cx.env.shared_size };
    let Some(watch) = &mut cx.watch else { return };
    match begins {
        true => watch.block_begins(&event),
        false => watch.block_ends(&event),
    }
}

impl Group {
    /// Sets up the cluster whose blocks these are, in rank order.
    pub fn new(cx: &Cx<'_>, blocks: &[[u32; 3]], smid: u32, pool: &mut Pool) -> Group {
        let env = cx.env;
        let threads: u64 = env.config.block.iter().map(|&n| n as u64).product();
        let warps = threads.div_ceil(WARP as u64) as u32;
        let local = local_stride(env.local_size) * WARP as u64 * warps as u64;
        let blocks: Vec<Block> = blocks
            .iter()
            .enumerate()
            .map(|(rank, &ctaid)| Block {
                ctaid,
                rank: rank as u32,
                smid,
                warps: (0..warps).map(|w| Warp::new(cx, w, env.config.block, pool)).collect(),
                alive: threads as u32,
                barriers: [BlockBarrier::default(); BARRIERS],
                shared: pool.take(env.shared_size as usize),
                local: pool.take(local as usize),
            })
            .collect();
        Group::of(blocks)
    }

    /// Blocks that have their turns together.
    fn of(blocks: Vec<Block>) -> Group {
        Group {
            peers: blocks.iter().map(|b| b.shared.as_ptr()).collect(),
            blocks,
            cluster: ClusterBarrier::default(),
            last: (0, 0),
            watched: false,
            circle: Circle::default(),
            skip: 0,
            quiet: false,
        }
    }

    /// Takes a block over that began in compiled code.
    pub fn adopt(
        ctaid: [u32; 3],
        smid: u32,
        warps: Vec<Warp>,
        shared: Buffer,
        local: Buffer,
    ) -> Group {
        let alive = warps.iter().map(|w| w.alive.count_ones()).sum();
        let barriers = [BlockBarrier::default(); BARRIERS];
        Group::of(vec![Block { ctaid, rank: 0, smid, warps, alive, barriers, shared, local }])
    }

    /// A warp that stands before a barrier of the block has arrived there. Returns the barrier's address.
    pub fn wait_at(&mut self, cx: &Cx<'_>, warp: usize, id: u8) -> u32 {
        let block = &mut self.blocks[0];
        let lanes = block.warps[warp].wait_at(id);
        let weight = if cx.env.machine.sm >= 70 { lanes.1.count_ones() } else { WARP as u32 };
        // It names no count, which is all that could be wrong.
        let _ = block.barriers[id as usize].arrive(weight, None, 0, lanes.1.count_ones());
        lanes.0
    }

    /// The first `turns` of a round had their turns.
    pub fn skip(&mut self, turns: usize) {
        self.skip = turns;
    }

    /// Some of its accesses are not told any more: another block tells of them.
    pub fn be_quiet(&mut self) {
        self.quiet = true;
    }

    /// Tells the watch that the blocks begin, or that they have ended.
    pub fn report(&self, cx: &mut Cx<'_>, begins: bool) {
        for block in &self.blocks {
            report_block(cx, block.ctaid, block.smid, block.warps.len() as u32, begins);
        }
    }

    /// From now on, or no longer, find out whether the group goes in a circle: it may wait for memory
    /// without polling it, by plain loads between barriers, say.
    pub fn watch_for_circles(&mut self, on: bool) {
        self.watched = on;
        if !on {
            self.circle = Circle::default();
        }
    }

    /// Whether the state after this round is one that was there before, with nothing written since: then
    /// only others can end the circle. The state compared with is replaced after 1, 2, 4, 8, … rounds
    /// (Brent's method), from [`PATIENT_ROUNDS`] on, so a circle of any length is found.
    fn comes_back(&mut self, wrote: bool) -> bool {
        if wrote {
            self.circle = Circle::default();
            return false;
        }
        self.circle.rounds += 1;
        let large = self.blocks.iter().any(|block| block.local.bytes() > DIGESTED_LOCAL);
        // Who only computes for a while is not worth the look at all of his memory.
        if large || self.circle.rounds < PATIENT_ROUNDS {
            return false;
        }
        let mut digest = Digest::new();
        for block in &self.blocks {
            block.warps.iter().for_each(|warp| warp.digest(&mut digest));
            digest.add_buffer(&block.local);
        }
        if self.circle.state == Some(digest) {
            return true;
        }
        if self.circle.rounds.is_power_of_two() {
            self.circle.state = Some(digest);
        }
        false
    }

    /// Gives its memory back.
    pub fn recycle(self, pool: &mut Pool) {
        for mut block in self.blocks {
            for warp in &mut block.warps {
                warp.recycle(pool);
            }
            pool.give(block.shared);
            pool.give(block.local);
        }
    }

    /// A thread that runs, of the warp that ran last if one there can; else any that waits.
    pub fn spot(&self, program: &Program) -> Option<Spot> {
        let (b, w) = self.last;
        let last = self.blocks.get(b).and_then(|b| Some((b, b.warps.get(w)?)));
        let all = self.blocks.iter().flat_map(|b| b.warps.iter().map(move |w| (b, w)));
        let all = last.into_iter().chain(all);
        let mut fragments =
            all.flat_map(|(block, warp)| warp.fragments.iter().map(move |f| (block, warp, f)));
        let running = fragments.clone().find(|(_, _, f)| f.state == State::Ready);
        let (block, warp, f) = running.or_else(|| fragments.next())?;
        let lane = (f.mask.trailing_zeros() & 31) as usize;
        let place = program.place_near(f.pc);
        Some(Spot { block: block.ctaid, thread: warp.tid(lane), place })
    }

    /// Runs for about `fuel` warp instructions. `stop` is asked between slices of warps.
    pub fn run(
        &mut self,
        cx: &mut Cx<'_>,
        pool: &mut Pool,
        fuel: u64,
        stop: &dyn Fn() -> bool,
    ) -> Result<Progress, Box<Fault>> {
        cx.quiet = self.quiet;
        let progress = self.run_slice(cx, pool, fuel, stop);
        cx.quiet = false;
        progress
    }

    fn run_slice(
        &mut self,
        cx: &mut Cx<'_>,
        pool: &mut Pool,
        fuel: u64,
        stop: &dyn Fn() -> bool,
    ) -> Result<Progress, Box<Fault>> {
        let end = cx.warp_instructions + fuel;
        cx.peers = &raw const *self.peers;
        loop {
            let (changes, polls) = (cx.changes, cx.polls);
            let (mut events, mut ran, mut alive) = (false, false, false);
            // Some warp used its slice up without looking at memory: it computes.
            let mut computing = false;
            for b in 0..self.blocks.len() {
                let warps = self.blocks[b].warps.len();
                let had = std::mem::take(&mut self.skip);
                // Those that had their turns may be the ones that go on.
                ran |= had != 0;
                for turn_of in 0..warps {
                    // Another seed lets another warp come first, to a lock or to a result.
                    let w = match cx.env.config.seed {
                        Some(seed) => permute(turn_of as u64, warps as u64, seed) as usize,
                        None => turn_of,
                    };
                    let turn = cx.warp_instructions + WARP_SLICE as u64;
                    alive |= turn_of < had;
                    while turn_of >= had && self.blocks[b].warps[w].runnable(cx) {
                        ran = true;
                        let polled = cx.polls;
                        let stopped = self.run_warp(cx, pool, b, w)?;
                        match stopped {
                            Stop::Look | Stop::Done => {
                                events |= self.open_barriers(cx, b);
                                events |= stopped == Stop::Done;
                            }
                            Stop::Blocked => {}
                            Stop::Slice => {
                                computing |= cx.polls == polled;
                                break;
                            }
                        }
                        if stop() {
                            return Ok(Progress::Busy);
                        }
                        // A warp that opens its own barriers must not keep the others waiting.
                        if cx.warp_instructions >= turn {
                            break;
                        }
                    }
                    alive |= !self.blocks[b].warps[w].fragments.is_empty();
                }
            }
            events |= self.open_cluster();
            if !alive {
                return Ok(Progress::Done);
            }
            if !ran && !events {
                let warps = self.blocks.iter().flat_map(|b| &b.warps);
                let first = warps.filter_map(Warp::wakes).min();
                return first.map(Progress::Asleep).ok_or_else(|| self.deadlock(cx));
            }
            if stop() {
                return Ok(Progress::Busy);
            }
            if !events && !computing && cx.changes == changes && cx.polls != polls {
                return Ok(Progress::Spinning);
            }
            if self.watched && self.comes_back(cx.changes != changes) {
                return Ok(Progress::Spinning);
            }
            if cx.warp_instructions >= end {
                return Ok(Progress::Busy);
            }
        }
    }

    fn run_warp(
        &mut self,
        cx: &mut Cx<'_>,
        pool: &mut Pool,
        b: usize,
        w: usize,
    ) -> Result<Stop, Box<Fault>> {
        self.last = (b, w);
        let block = &mut self.blocks[b];
        cx.view.ctaid = block.ctaid;
        cx.view.cluster_rank = block.rank;
        cx.view.smid = block.smid;
        cx.view.warps = block.warps.len() as u32;
        cx.shared = block.shared.as_ptr();
        cx.shared_size = cx.env.shared_size as u64;
        cx.local_stride = local_stride(cx.env.local_size);
        // SAFETY: the buffer holds the local memory of all the block's warps.
        cx.local = unsafe { block.local.as_ptr().add(w * WARP * cx.local_stride as usize) };
        let mut shared = Shared { barriers: &mut block.barriers, cluster: &mut self.cluster, pool };
        cx.hold = block.warps.len() > 1 && !block.warps[w].held && cx.env.holds();
        let warp = &mut block.warps[w];
        let before = warp.alive;
        let stopped = warp.run(cx, &mut shared, WARP_SLICE);
        block.alive -= (before & !warp.alive).count_ones();
        stopped.map_err(|WarpFault { fault, pc }| {
            let lane = (fault.lane as usize).min(WARP - 1);
            let LaneFault { mut kind, .. } = *fault;
            name_meant(cx.env, pc, &mut kind);
            Box::new(Fault {
                kind,
                kernel: cx.env.program.name().to_owned(),
                block: block.ctaid,
                thread: warp.tid(lane),
                place: warp.place(cx.env.program, pc, lane),
            })
        })
    }

    /// Opens the barriers of a block that are complete.
    fn open_barriers(&mut self, cx: &mut Cx<'_>, b: usize) -> bool {
        let block = &mut self.blocks[b];
        let mut opened = false;
        for id in 0..BARRIERS {
            if block.barriers[id].arrived == 0 {
                continue;
            }
            let all = if cx.env.machine.sm >= 70 {
                block.alive
            } else {
                block.warps.iter().filter(|w| w.alive != 0).count() as u32 * WARP as u32
            };
            if block.barriers[id].complete(all) {
                let barrier = std::mem::take(&mut block.barriers[id]);
                for warp in &mut block.warps {
                    warp.release(cx, id, &barrier);
                }
                if cx.interest.contains(Interest::BARRIERS)
                    && let Some(watch) = &mut cx.watch
                {
                    watch.barrier_opens(block.ctaid, id as u32);
                }
                opened = true;
            }
        }
        opened
    }

    fn open_cluster(&mut self) -> bool {
        let warps = || self.blocks.iter().flat_map(|b| &b.warps);
        let alive: u32 = warps().map(|w| w.alive.count_ones()).sum();
        if self.cluster.arrived != 0 && self.cluster.arrived >= alive {
            self.cluster.arrived = 0;
            self.cluster.round += 1;
        }
        let round = self.cluster.round;
        let mut opened = false;
        for warp in self.blocks.iter_mut().flat_map(|b| &mut b.warps) {
            opened |= warp.release_cluster(round);
        }
        opened
    }

    /// Nothing of the group can ever run again.
    fn deadlock(&self, cx: &Cx<'_>) -> Box<Fault> {
        self.stuck(cx, "every thread waits")
    }

    /// All that lives waits for shared memory, which nobody is left to change.
    pub fn spins(&self, cx: &Cx<'_>) -> Box<Fault> {
        self.stuck(cx, "every thread waits, some for shared memory that nobody is left to change")
    }

    /// The fault of a group that nothing can end, and who waits where in it.
    fn stuck(&self, cx: &Cx<'_>, lead: &str) -> Box<Fault> {
        let mut waits = Waits::default();
        self.add_waits(cx.env.program, &mut waits);
        waits.deadlock(cx.env.program, lead)
    }

    /// Adds who waits where, as far as there is room.
    pub fn add_waits(&self, program: &Program, waits: &mut Waits) {
        for block in &self.blocks {
            for warp in &block.warps {
                for f in &warp.fragments {
                    let (what, pc) = match f.state {
                        State::Ready | State::Asleep { .. } => ("spins".to_owned(), f.pc),
                        State::Await => ("for lanes of its warp".to_owned(), f.pc),
                        State::Meet { needs } => {
                            (format!("for lanes {needs:#x} of its warp"), f.pc)
                        }
                        State::Barrier { id, pc } => {
                            let bar = &block.barriers[id as usize & (BARRIERS - 1)];
                            let needs = match bar.expected {
                                Some(n) => format!(" of {n}"),
                                None => String::new(),
                            };
                            (format!("at barrier {id} ({} arrived{needs})", bar.arrived), pc)
                        }
                        State::Cluster { .. } => {
                            ("at the cluster's barrier".to_owned(), f.pc.saturating_sub(1))
                        }
                    };
                    let lane = (f.mask.trailing_zeros() & 31) as usize;
                    let place = program.place_near(pc);
                    let spot = Spot { block: block.ctaid, thread: warp.tid(lane), place };
                    waits.add((warp.index, f.mask), &what, spot);
                }
            }
        }
    }
}

/// Who waits where, in words: of the first few.
#[derive(Debug, Default)]
pub struct Waits {
    who: String,
    told: usize,
    first: Option<Spot>,
}

impl Waits {
    /// Most that are told.
    const MOST: usize = 8;

    fn add(&mut self, (warp, lanes): (u32, u32), what: &str, spot: Spot) {
        if self.told < Waits::MOST {
            let [x, y, z] = spot.block;
            let _ = write!(
                self.who,
                "{}block ({x},{y},{z}) warp {warp} lanes {lanes:#010x} {what}",
                if self.told == 0 { "" } else { "; " },
            );
            let place = &spot.place;
            if let Some(file) = &place.file {
                let _ = write!(self.who, " ({file}:{})", place.line);
            } else if place.ptx_line != 0 {
                let _ = write!(self.who, " (PTX line {})", place.ptx_line);
            }
        } else if self.told == Waits::MOST {
            self.who.push_str("; and more");
        }
        self.told += 1;
        self.first.get_or_insert(spot);
    }

    /// The list.
    pub fn who(&self) -> &str {
        &self.who
    }

    /// The fault of those, which nothing can end.
    pub fn deadlock(&self, program: &Program, lead: &str) -> Box<Fault> {
        let Spot { block, thread, place } = self.first.clone().unwrap_or_default();
        let (kernel, who) = (program.name().to_owned(), format!("{lead}: {}", self.who));
        Box::new(Fault { kind: FaultKind::Deadlock { who }, kernel, block, thread, place })
    }
}
