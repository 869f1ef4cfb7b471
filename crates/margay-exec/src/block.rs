// SPDX-License-Identifier: MIT OR Apache-2.0
//! Blocks, and clusters of blocks, as resumable state: the unit that a worker starts, slices and
//! finishes. No thread of the host is tied to a block that waits.

use crate::barrier::{BARRIERS, BlockBarrier, ClusterBarrier};
use crate::buffer::{Buffer, Pool};
use crate::circle::{Circle, Digest};
use crate::fault::{Fault, Spot};
use crate::interp::{Cx, Env};
use crate::lanes::{LaneFault, WARP};
use crate::observe::{BlockEvent, Interest};
use crate::program::Program;
use crate::reach::name_meant;
use crate::sched::permute;
use crate::waits::Waits;
use crate::warp::{Shared, State, Stop, Warp, WarpFault};

/// Rounds without a write before somebody looks whether a group goes in a circle; a power of two.
const PATIENT_ROUNDS: u64 = 256;
/// The same where that is to be proved, which takes turns that are short.
const FIRST_PROOF: u64 = 2;
/// Fuel of one warp before the next of its block has its turn.
pub const WARP_SLICE: i64 = 50_000;
/// The same while it is to be proved that the group goes in a circle.
const PROOF_SLICE: i64 = 2_000;
/// Rounds of such a proof after which it is given up.
const PROOF_ROUNDS: u64 = 100;
/// Of blocks with more bytes of local memory circles are not looked for: it would take too long.
const DIGESTED_LOCAL: usize = 1 << 20;
/// The same where that is to be proved of them.
const PROVED_LOCAL: usize = 1 << 26;

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
    /// Nothing else is asked of its rounds than whether they are a circle.
    proving: bool,
    circle: Circle,
    /// Turns of the first round that were had before it was taken over.
    skip: usize,
    /// [`Cx::quiet`].
    quiet: bool,
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
            proving: false,
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
        if !on && !self.proving {
            self.circle = Circle::default();
        }
    }

    /// From now on, or no longer, each round is [`Progress::Spinning`] in which nothing was written, and what is asked is whether
    /// the group [goes in a circle](Group::goes_in_a_circle).
    pub fn prove(&mut self, on: bool) {
        self.proving = on;
        self.circle = Circle::default();
    }

    /// Whether it is proved that nothing but what others write can make the group do anything else than it did.
    pub fn goes_in_a_circle(&self) -> bool {
        self.proving && self.circle.has_closed()
    }

    /// Whether it is no use to look on for a proof.
    pub fn defies_proof(&self) -> bool {
        self.circle.is_lost(PROOF_ROUNDS) || self.is_large()
    }

    /// Whether there is too much local memory to be looked at again and again.
    fn is_large(&self) -> bool {
        let most = if self.proving { PROVED_LOCAL } else { DIGESTED_LOCAL };
        self.blocks.iter().any(|block| block.local.bytes() > most)
    }

    /// Whether the state after this round is one that was there before, with nothing written since: then
    /// only others can end the circle.
    fn comes_back(&mut self, program: &Program, wrote: bool, patience: u64) -> bool {
        if wrote {
            self.circle = Circle::default();
            return false;
        }
        // Who only computes for a while is not worth the look at all of his memory.
        if !self.circle.turns(patience) || self.is_large() {
            return false;
        }
        let mut digest = Digest::new();
        let mut sleeps = false;
        for block in &self.blocks {
            for warp in &block.warps {
                warp.digest(program, &mut digest);
                sleeps |= warp.sleeps();
            }
            digest.add_buffer(&block.local);
        }
        self.circle.state(digest, sleeps)
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
        let slice = if self.proving { PROOF_SLICE } else { WARP_SLICE };
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
                    let turn = cx.warp_instructions + slice as u64;
                    alive |= turn_of < had;
                    while turn_of >= had && self.blocks[b].warps[w].runnable(cx) {
                        ran = true;
                        let polled = cx.polls;
                        let stopped = self.run_warp(cx, pool, (b, w), slice)?;
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
            let wrote = cx.changes != changes;
            if self.proving {
                self.comes_back(cx.env.program, wrote, FIRST_PROOF);
                return Ok(if wrote { Progress::Busy } else { Progress::Spinning });
            }
            if !events && !computing && !wrote && cx.polls != polls {
                return Ok(Progress::Spinning);
            }
            if self.watched && self.comes_back(cx.env.program, wrote, PATIENT_ROUNDS) {
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
        (b, w): (usize, usize),
        slice: i64,
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
        let stopped = warp.run(cx, &mut shared, slice);
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

    /// The fault of a group that nothing can end, and who waits where in it.
    pub fn stuck(&self, cx: &Cx<'_>, lead: &str) -> Box<Fault> {
        let mut waits = Waits::default();
        self.add_waits(cx.env, &mut waits);
        waits.deadlock(cx.env.program, lead)
    }

    /// Adds who waits where, as far as there is room.
    pub fn add_waits(&self, env: &Env<'_>, waits: &mut Waits) {
        let program = env.program;
        for block in &self.blocks {
            for warp in &block.warps {
                let next = warp.next();
                for (n, f) in warp.fragments.iter().enumerate() {
                    let (what, pc) = match f.state {
                        // In lockstep those go first that are in front, however often they come back there.
                        State::Ready if env.machine.sm < 70 && next != Some(n) => {
                            (Some("kept back by lanes of its warp".to_owned()), f.pc)
                        }
                        State::Ready | State::Asleep { .. } => (None, f.pc),
                        State::Await => (Some("for lanes of its warp".to_owned()), f.pc),
                        State::Meet { needs } => {
                            (Some(format!("for lanes {needs:#x} of its warp")), f.pc)
                        }
                        State::Barrier { id, pc } => {
                            let bar = &block.barriers[id as usize & (BARRIERS - 1)];
                            let needs = match bar.expected {
                                Some(n) => format!(" of {n}"),
                                None => String::new(),
                            };
                            (Some(format!("at barrier {id} ({} arrived{needs})", bar.arrived)), pc)
                        }
                        State::Cluster { .. } => {
                            (Some("at the cluster's barrier".to_owned()), f.pc.saturating_sub(1))
                        }
                    };
                    let lane = (f.mask.trailing_zeros() & 31) as usize;
                    let place = program.place_near(pc);
                    let spot = Spot { block: block.ctaid, thread: warp.tid(lane), place };
                    waits.add((warp.index, f.mask), what, spot);
                }
            }
        }
    }
}
