// SPDX-License-Identifier: MIT OR Apache-2.0
//! A warp: its fragments, their frames, and the choice of who runs.
//!
//! A *fragment* is a set of lanes at one address with one chain of frames. The deepest call runs
//! first, then the lowest address; fragments that meet merge. With blocks laid out so that loops
//! are contiguous, that is reconvergence at the post-dominator for structured code. From compute
//! capability 7.0 on, a fragment that has used up its quantum yields to those that had less, so
//! that lanes which spin on one another all progress; below, it never does.

mod meet;

use margay_ir::Class;

use crate::barrier::{BarKindExt, BlockBarrier, ClusterBarrier, unpack};
use crate::buffer::{Buffer, Pool};
use crate::decode::CALL_OVERHEAD;
use crate::fault::{BarrierMisuse, FaultKind, Place};
use crate::handlers::address::resolve_lane;
use crate::handlers::warp_ops;
use margay_codegen::Reason;

use crate::circle::Digest;
use crate::interp::{self, Cx};
use crate::jit;
use crate::lanes::{FULL, Flow, LaneFault, WARP, active};
use crate::observe::{ArgumentEvent, BarrierEvent, Interest, WarpSyncEvent};
use crate::program::{ArgPlace, Program, Target};
use crate::syscall;

/// Index of no frame.
pub const NONE: u32 = u32::MAX;
/// Fuel of one fragment among several of its warp.
const FRAGMENT_QUANTUM: i64 = 100_000;
/// Quanta in a row that a fragment may use while it changes memory.
const BUSY_QUANTA: u32 = 10;

/// Why a fragment does not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Ready,
    /// In `nanosleep` until this time of [`Cx::nanoseconds`].
    Asleep {
        until: u64,
    },
    /// At a `.sync` op at its address, whose lanes have not all arrived.
    Await,
    /// At a `bar.warp` that needs these lanes.
    Meet {
        needs: u32,
    },
    /// At block barrier `id`; `pc` of the instruction, for its result.
    Barrier {
        id: u8,
        pc: u32,
    },
    /// At the cluster's barrier, until `round` is over.
    Cluster {
        round: u32,
    },
}

#[derive(Clone, Copy, Debug)]
pub struct Fragment {
    pub pc: u32,
    pub mask: u32,
    pub frame: u32,
    pub depth: u32,
    pub state: State,
    /// Quanta used up: fragments with fewer go first.
    rounds: u32,
    /// Quanta in a row that were used up while memory changed.
    busy: u32,
}

/// An activation of a function by the lanes that called it together.
pub struct Frame {
    regs: Buffer,
    pub function: u32,
    pub parent: u32,
    /// Where the caller goes on, and the call's site.
    pub return_pc: u32,
    site: u32,
    depth: u32,
    /// Lanes that have not returned.
    live: u32,
}

pub struct Warp {
    pub index: u32,
    /// Lanes that have not exited.
    pub alive: u32,
    pub fragments: Vec<Fragment>,
    pub frames: Vec<Option<Frame>>,
    tid: Box<[[u32; WARP]; 3]>,
    /// Its first store to global memory has waited its turn.
    pub held: bool,
    /// Its lanes were always scheduled lowest address first, none waiting for another: what compiled
    /// code rests on.
    pub orderly: bool,
    /// Lanes that the open round of each block barrier has counted.
    counted: [u32; crate::barrier::BARRIERS],
    /// One more than the cluster round in which each lane arrived last; 0 if never.
    cluster_round: [u32; WARP],
}

/// Why a warp stopped running.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// Every thread has exited.
    Done,
    /// Every fragment waits.
    Blocked,
    /// The slice is over.
    Slice,
    /// A barrier may be complete, or a thread has exited: look at the block's barriers.
    Look,
}

/// A fault and the address of its instruction.
#[derive(Debug)]
pub struct WarpFault {
    pub fault: Box<LaneFault>,
    pub pc: u32,
}

/// What of the block a running warp touches.
pub struct Shared<'a> {
    pub barriers: &'a mut [BlockBarrier; crate::barrier::BARRIERS],
    pub cluster: &'a mut ClusterBarrier,
    pub pool: &'a mut Pool,
}

/// A warp that began in compiled code.
pub struct Adopted {
    pub index: u32,
    pub block: [u32; 3],
    pub regs: Buffer,
    pub alive: u32,
    /// Addresses and lanes.
    pub fragments: Vec<(u32, u32)>,
    pub held: bool,
    pub orderly: bool,
}

impl Warp {
    /// The warp, all of whose lanes stand before a barrier of its block, waits there. The barrier's address, and the lanes.
    pub fn wait_at(&mut self, id: u8) -> (u32, u32) {
        let Some(f) = self.fragments.first_mut() else { return (0, 0) };
        let pc = f.pc;
        (f.pc, f.state) = (pc + 1, State::Barrier { id, pc });
        (pc, f.mask)
    }

    /// Thread indices of the warp `index` of a block, and which of its lanes there are.
    pub fn threads(index: u32, block: [u32; 3]) -> (Box<[[u32; WARP]; 3]>, u32) {
        let [x, y, _] = block.map(|n| n.max(1) as u64);
        let threads = block.iter().map(|&n| n as u64).product::<u64>();
        let first = index as u64 * WARP as u64;
        let mut tid = Box::new([[0; WARP]; 3]);
        let lanes = match threads.saturating_sub(first) {
            n if n < WARP as u64 => (1u32 << n) - 1,
            _ => u32::MAX,
        };
        // Counted on: a division a lane would cost a short launch more than all else that it does.
        let (mut i, mut j, mut k) = (first % x, first / x % y, first / x / y);
        for l in 0..WARP {
            (tid[0][l], tid[1][l], tid[2][l]) = (i as u32, j as u32, k as u32);
            i += 1;
            if i == x {
                (i, j) = (0, j + 1);
                if j == y {
                    (j, k) = (0, k + 1);
                }
            }
        }
        (tid, lanes)
    }

    /// Takes a warp over whose registers are whole.
    pub fn adopt(from: Adopted, pool: &mut Pool) -> Warp {
        let (tid, _) = Warp::threads(from.index, from.block);
        let fragment = |&(pc, mask): &(u32, u32)| Fragment {
            pc,
            mask,
            frame: 0,
            depth: 0,
            state: State::Ready,
            rounds: 0,
            busy: 0,
        };
        let fragments: Vec<Fragment> = from.fragments.iter().map(fragment).collect();
        let (regs, live) = (from.regs, from.alive);
        let frames = if live == 0 {
            pool.give(regs);
            Vec::new()
        } else {
            let (parent, return_pc, site, depth) = (NONE, 0, 0, 0);
            vec![Some(Frame { regs, function: 0, parent, return_pc, site, depth, live })]
        };
        Warp {
            index: from.index,
            alive: live,
            fragments,
            frames,
            tid,
            held: from.held,
            orderly: from.orderly,
            counted: [0; crate::barrier::BARRIERS],
            cluster_round: [0; WARP],
        }
    }

    /// The warp `index` of a block of `block` threads.
    pub fn new(cx: &Cx<'_>, index: u32, block: [u32; 3], pool: &mut Pool) -> Warp {
        let (tid, lanes) = Warp::threads(index, block);
        let entry = &cx.env.program.functions[0];
        let regs = pool.take(entry.lines as usize * 64);
        let own = cx.env.program.frame();
        // SAFETY: the two planes lie in the new frame.
        unsafe {
            let plane =
                |operand: u32| &mut *(regs.as_ptr().add(operand as usize) as *mut [u32; WARP]);
            plane(entry.local_base).fill(own.start as u32);
            plane(entry.local_top).fill(own.end as u32);
        }
        let frame =
            Frame { regs, function: 0, parent: NONE, return_pc: 0, site: 0, depth: 0, live: lanes };
        let fragment = Fragment {
            pc: entry.start,
            mask: lanes,
            frame: 0,
            depth: 0,
            state: State::Ready,
            rounds: 0,
            busy: 0,
        };
        Warp {
            index,
            alive: lanes,
            fragments: vec![fragment],
            frames: vec![Some(frame)],
            tid,
            held: false,
            orderly: true,
            counted: [0; crate::barrier::BARRIERS],
            cluster_round: [0; WARP],
        }
    }

    /// Where a lane is: the innermost call that is known to be in a file, if the function at `pc` is in none.
    pub fn place(&self, program: &Program, pc: u32, lane: usize) -> Place {
        let here = program.place(pc);
        let of_lane = self.fragments.iter().find(|f| f.mask >> lane & 1 != 0);
        let mut frame = of_lane.and_then(|f| self.frames.get(f.frame as usize)?.as_ref());
        if here.file.is_some() {
            return here;
        }
        while let Some(inner) = frame {
            let caller = self.frames.get(inner.parent as usize).and_then(Option::as_ref);
            if caller.is_some() {
                let there = program.place(inner.return_pc - 1);
                if there.file.is_some() {
                    return there;
                }
            }
            frame = caller;
        }
        here
    }

    /// Gives the frames back.
    pub fn recycle(&mut self, pool: &mut Pool) {
        for frame in self.frames.drain(..).flatten() {
            pool.give(frame.regs);
        }
    }

    pub fn tid(&self, lane: usize) -> [u32; 3] {
        [self.tid[0][lane], self.tid[1][lane], self.tid[2][lane]]
    }

    fn frame(&self, at: u32) -> &Frame {
        match self.frames.get(at as usize) {
            Some(Some(frame)) => frame,
            // Fragments hold live frames only.
            _ => unreachable!("a fragment outlived its frame"),
        }
    }

    /// The fragment that runs next.
    pub fn next(&self) -> Option<usize> {
        let key = |f: &Fragment| (f.rounds, u32::MAX - f.depth, f.pc);
        (0..self.fragments.len())
            .filter(|&n| self.fragments[n].state == State::Ready)
            .min_by_key(|&n| key(&self.fragments[n]))
    }

    /// Chooses the next fragment and merges into it those that are at the same place.
    fn pick(&mut self) -> Option<usize> {
        self.next().map(|best| self.merge(best))
    }

    /// Merges every fragment that waits, or is ready, where fragment `at` is. Returns its new index.
    fn merge(&mut self, mut at: usize) -> usize {
        let mut n = 0;
        while n < self.fragments.len() {
            let (a, b) = (self.fragments[at], self.fragments[n]);
            let meets = matches!(b.state, State::Ready | State::Await);
            if n != at && meets && a.pc == b.pc && a.frame == b.frame {
                self.fragments[at].mask |= b.mask;
                self.fragments[at].rounds = a.rounds.max(b.rounds);
                self.fragments.swap_remove(n);
                if at == self.fragments.len() {
                    at = n;
                }
                continue;
            }
            n += 1;
        }
        at
    }

    /// Runs until the slice's fuel is used up or nothing of the warp can run.
    pub fn run(
        &mut self,
        cx: &mut Cx<'_>,
        block: &mut Shared<'_>,
        slice: i64,
    ) -> Result<Stop, WarpFault> {
        let independent = cx.env.machine.sm >= 70;
        let mut left = slice;
        // The next instruction is not for compiled code.
        let mut interpret = false;
        cx.view.tid = [&self.tid[0], &self.tid[1], &self.tid[2]];
        cx.view.warp = self.index;
        loop {
            let Some(at) = self.pick() else {
                return Ok(if self.fragments.is_empty() { Stop::Done } else { Stop::Blocked });
            };
            let f = self.fragments[at];
            let others = self.fragments.len() > 1;
            cx.bases[0] = self.frame(f.frame).regs.as_ptr();
            cx.exec = f.mask;
            cx.view.alive = self.alive;
            cx.switch_pc = match others {
                false => NONE,
                true => self.next_stop(at),
            };
            let quantum = if others { left.min(FRAGMENT_QUANTUM) } else { left };
            let changes = cx.changes;
            cx.fuel = quantum;
            let stand = jit::Stand {
                pc: f.pc,
                mask: f.mask,
                function: self.frame(f.frame).function,
                others,
            };
            if self.orderly
                && (!others || self.is_innermost(at))
                && !cx.interpreting
                && !std::mem::take(&mut interpret)
                && !is_followed(cx, self.index)
                && let Some(entry) = jit::entry(cx, stand)
            {
                // SAFETY: `cx` was just pointed at the fragment's frame, whose planes are whole.
                let arrived = unsafe { jit::enter(cx, entry, f.mask, quantum) };
                left -= quantum - cx.fuel;
                match arrived {
                    Err(pc) => return Err(take_fault(cx, pc)),
                    Ok(None) => {
                        self.exit(cx, at, block);
                        return Ok(if self.fragments.is_empty() { Stop::Done } else { Stop::Look });
                    }
                    Ok(Some(arrived)) => {
                        self.arrive(cx, at, &arrived, block);
                        // Else the instruction that it stopped at is the interpreter's.
                        interpret = arrived.reason != Reason::Fuel;
                        if arrived.alive != f.mask {
                            return Ok(Stop::Look);
                        }
                        if cx.fuel <= 0 && others && independent {
                            self.end_quantum(cx, at, changes);
                        }
                        if left <= 0 {
                            return Ok(Stop::Slice);
                        }
                        continue;
                    }
                }
            }
            interpret = false;
            // SAFETY: `cx` was just pointed at the fragment's frame.
            let (flow, pc) = unsafe { interp::run(cx, f.pc) };
            left -= quantum - cx.fuel;
            let spent = cx.fuel <= 0 && others && independent;
            self.fragments[at].pc = pc;
            match flow {
                Flow::Jump => {}
                Flow::Split => {
                    self.fragments[at].mask = cx.taken;
                    self.fragments[at].pc = cx.next;
                    let rest = cx.exec & !cx.taken;
                    self.fragments.push(Fragment { mask: rest, pc: cx.other, ..f });
                }
                Flow::Pause => {
                    // Whoever sleeps lets the other fragments, then the other warps go first.
                    if others && independent {
                        self.orderly = false;
                        self.fragments[at].rounds += 1;
                    }
                    // A reproducible run has no real time.
                    if cx.sleep != 0 && cx.env.config.seed.is_none() {
                        let until = cx.nanoseconds() + cx.sleep;
                        self.fragments[at].state = State::Asleep { until };
                    }
                    left = left.min(0);
                }
                Flow::Table => self.table(cx, at)?,
                Flow::Call => self.call(cx, at, block)?,
                Flow::Ret => self.ret(cx, at, block)?,
                Flow::Exit => {
                    self.exit(cx, at, block);
                    if self.fragments.is_empty() {
                        return Ok(Stop::Done);
                    }
                    return Ok(Stop::Look);
                }
                Flow::Hold => {
                    self.held = true;
                    return Ok(Stop::Slice);
                }
                Flow::Await | Flow::Meet => self.wait_for_lanes(cx, at, flow, independent),
                Flow::Barrier => {
                    self.barrier(cx, at, block)?;
                    return Ok(Stop::Look);
                }
                Flow::Syscall => {
                    let inst = cx.env.program.code[pc as usize];
                    // The last instruction's mask is still in place.
                    if let Err(fault) = syscall::run(cx, inst.aux as usize) {
                        return Err(WarpFault { fault, pc });
                    }
                    self.fragments[at].pc = pc + 1;
                }
                Flow::Fault | Flow::Next => return Err(take_fault(cx, pc)),
            }
            // However it spins, by jumps or through calls, a fragment's quantum ends.
            let goes_on = match flow {
                Flow::Jump | Flow::Split | Flow::Table | Flow::Call | Flow::Ret => true,
                Flow::Pause
                | Flow::Exit
                | Flow::Hold
                | Flow::Await
                | Flow::Meet
                | Flow::Barrier
                | Flow::Syscall
                | Flow::Fault
                | Flow::Next => false,
            };
            if spent && goes_on {
                self.end_quantum(cx, at, changes);
            }
            if left <= 0 {
                return Ok(Stop::Slice);
            }
        }
    }

    /// A fragment has used up its quantum, since whose beginning `changes` were counted.
    fn end_quantum(&mut self, cx: &mut Cx<'_>, at: usize, changes: u64) {
        let Some(f) = self.fragments.get_mut(at) else { return };
        f.busy = if cx.changes != changes { f.busy + 1 } else { BUSY_QUANTA };
        if f.busy >= BUSY_QUANTA {
            cx.yielded = true;
            f.busy = 0;
            f.rounds += 1;
            self.orderly = false;
        }
    }

    /// Whether all others of the warp stand in what has called the fragment's function: none of them comes where it is before it
    /// returns.
    fn is_innermost(&self, at: usize) -> bool {
        let depth = self.fragments[at].depth;
        self.fragments.iter().enumerate().all(|(n, f)| n == at || f.depth < depth)
    }

    /// Adds all that decides what the warp will do, but memory, to a digest.
    pub fn digest(&self, program: &Program, digest: &mut Digest) {
        // Who comes first is decided by how many more quanta the others have used up.
        let takes_turns = |f: &&Fragment| matches!(f.state, State::Ready | State::Asleep { .. });
        let first = self.fragments.iter().filter(takes_turns).map(|f| f.rounds).min();
        for f in &self.fragments {
            digest.add(u64::from(f.pc) << 32 | u64::from(f.mask));
            digest.add(u64::from(f.frame) << 32 | u64::from(f.depth));
            digest.add(match f.state {
                // When it wakes decides nothing but when.
                State::Ready | State::Asleep { .. } => u64::from(f.rounds - first.unwrap_or(0)),
                State::Await => 1 << 32,
                State::Meet { needs } => 2 << 32 | u64::from(needs),
                State::Barrier { id, .. } => 3 << 32 | u64::from(id),
                // The round is another after each meeting.
                State::Cluster { .. } => 4 << 32,
            });
        }
        let mut frames = self.frames.iter().flatten();
        if let (Some(kernel), None) = (frames.next(), frames.next())
            && kernel.function == 0
        {
            // No call goes on, so whoever comes back to where he is has not left the loop that he is in.
            let loops = program.idle().loops(program, self.fragments.iter().map(|f| f.pc));
            let planes = program.idle().planes(program, &loops);
            planes.for_each(|(offset, bytes)| digest.add_words(&kernel.regs, offset, bytes));
            return;
        }
        for frame in self.frames.iter().flatten() {
            digest.add(u64::from(frame.function) << 32 | u64::from(frame.return_pc));
            digest.add_buffer(&frame.regs);
        }
    }

    /// Whether some of its lanes sleep.
    pub fn sleeps(&self) -> bool {
        self.fragments.iter().any(|f| matches!(f.state, State::Asleep { .. }))
    }

    /// Splits a fragment as compiled code left it.
    fn arrive(
        &mut self,
        cx: &mut Cx<'_>,
        at: usize,
        arrived: &jit::Arrived,
        block: &mut Shared<'_>,
    ) {
        let f = self.fragments[at];
        self.orderly &= arrived.reason != Reason::Never;
        self.fragments[at].pc = arrived.pc;
        self.fragments[at].mask = arrived.mask;
        for &(pc, mask) in &arrived.others {
            self.fragments.push(Fragment { pc, mask, ..f });
        }
        let gone = f.mask & !arrived.alive;
        if gone != 0 {
            self.fragments.push(Fragment { mask: gone, ..f });
            self.exit(cx, self.fragments.len() - 1, block);
        }
    }

    /// The lowest address at which another fragment of the same depth waits to run: the fragment
    /// `at` must not jump to it or beyond without asking.
    fn next_stop(&self, at: usize) -> u32 {
        let me = &self.fragments[at];
        self.fragments
            .iter()
            .enumerate()
            .filter(|&(n, f)| {
                n != at
                    && f.depth == me.depth
                    && f.pc >= me.pc
                    && matches!(f.state, State::Ready | State::Await)
            })
            .map(|(_, f)| f.pc)
            .min()
            .unwrap_or(NONE)
    }

    /// Lets the lanes of a fragment outside `mask` go on after the instruction at `pc`; the
    /// fragment keeps the others.
    fn split_off(&mut self, at: usize, mask: u32, pc: u32) {
        let f = self.fragments[at];
        if f.mask != mask {
            self.fragments[at].mask = mask;
            self.fragments.push(Fragment { mask: f.mask & !mask, pc: pc + 1, ..f });
        }
    }

    fn table(&mut self, cx: &mut Cx<'_>, at: usize) -> Result<(), WarpFault> {
        let f = self.fragments[at];
        let inst = cx.env.program.code[f.pc as usize];
        let table = &cx.env.program.tables[inst.aux as usize];
        let mut first = true;
        let mut left = f.mask;
        while left != 0 {
            let leader = left.trailing_zeros() as usize;
            // SAFETY: `a` is a W plane of the running frame.
            let index = unsafe { cx.word(inst.a, leader) };
            let Some(&pc) = table.get(index as usize) else {
                cx.fail(leader, FaultKind::InvalidPc { target: index as u64 });
                return Err(take_fault(cx, f.pc));
            };
            let same = active(left)
                // SAFETY: as above.
                .filter(|&l| unsafe { cx.word(inst.a, l) } == index)
                .fold(0, |m, l| m | 1 << l);
            if first {
                self.fragments[at].mask = same;
                self.fragments[at].pc = pc;
                first = false;
            } else {
                self.fragments.push(Fragment { mask: same, pc, ..f });
            }
            left &= !same;
        }
        Ok(())
    }

    fn wait_for_lanes(&mut self, cx: &mut Cx<'_>, at: usize, flow: Flow, independent: bool) {
        let f = self.fragments[at];
        self.orderly = false;
        // A guard may exclude some lanes, which go on.
        self.split_off(at, cx.mask, f.pc);
        if flow == Flow::Await {
            self.fragments[at].state = State::Await;
            let before = self.fragments.len();
            let at = self.merge(at);
            if self.fragments.len() != before {
                self.fragments[at].state = State::Ready;
            } else {
                self.join(cx, at);
            }
            return;
        }
        debug_assert!(independent);
        let inst = &cx.env.program.code[f.pc as usize];
        // SAFETY: `cx` is still set up for the fragment.
        let needs = unsafe { warp_ops::bar_warp_needs(cx, inst) };
        self.fragments[at].state = State::Meet { needs };
        self.meet(cx);
    }

    /// Releases the fragments at `bar.warp`s whose lanes are all at one.
    fn meet(&mut self, cx: &mut Cx<'_>) {
        let here = |f: &Fragment| match f.state {
            State::Meet { .. } => f.mask,
            State::Ready
            | State::Asleep { .. }
            | State::Await
            | State::Barrier { .. }
            | State::Cluster { .. } => 0,
        };
        let arrived = self.fragments.iter().fold(0, |m, f| m | here(f));
        let (mut met, mut place) = (0, None);
        let (mut named, mut places, mut several) = ([0; WARP], [0; WARP], false);
        for f in &mut self.fragments {
            if let State::Meet { needs } = f.state
                && needs & self.alive & !arrived == 0
            {
                several |= met != 0;
                active(f.mask).for_each(|l| (named[l], places[l]) = (needs, f.pc));
                (met, place) = (met | f.mask, Some(f.pc));
                f.state = State::Ready;
                f.pc += 1;
            }
        }
        if let Some(pc) = place {
            if several {
                self.report_places(cx, (pc, met), &named, &places);
            }
            // Several groups may have waited for who has exited.
            while met != 0 {
                let of = named[met.trailing_zeros() as usize & (WARP - 1)];
                let group = active(met).filter(|&l| named[l] == of).fold(0, |m, l| m | 1 << l);
                cx.report_warp_barrier(cx.event_at(pc), group);
                met &= !group;
            }
        }
    }

    /// Tells that lanes execute equal ops with member masks together, each at a place of its own.
    fn report_places(
        &self,
        cx: &mut Cx<'_>,
        (pc, mask): (u32, u32),
        named: &[u32; WARP],
        places: &[u32; WARP],
    ) {
        let (at, alive, places) = (cx.event_at(pc), self.alive, Some(places));
        if cx.interest.contains(Interest::WARP_SYNCS)
            && let Some(watch) = &mut cx.watch
        {
            watch.warp_sync(&WarpSyncEvent { at, mask, alive, named, places });
        }
    }

    fn exit(&mut self, cx: &mut Cx<'_>, at: usize, block: &mut Shared<'_>) {
        let f = self.fragments.swap_remove(at);
        self.alive &= !f.mask;
        // The cluster's barrier waits for threads that live: an arrival ends with its thread.
        let open = block.cluster.round + 1;
        let gone = active(f.mask).filter(|&l| self.cluster_round[l] == open).count() as u32;
        block.cluster.arrived = block.cluster.arrived.saturating_sub(gone);
        let mut frame = f.frame;
        while frame != NONE {
            let parent = self.frame(frame).parent;
            self.leave(frame, f.mask, block.pool);
            frame = parent;
        }
        // Who waited for these lanes need not any more.
        for f in &mut self.fragments {
            if f.state == State::Await {
                f.state = State::Ready;
            }
        }
        self.meet(cx);
    }

    /// Takes lanes off a frame, which ends with its last.
    fn leave(&mut self, at: u32, mask: u32, pool: &mut Pool) {
        if let Some(slot) = self.frames.get_mut(at as usize)
            && let Some(frame) = slot
        {
            frame.live &= !mask;
            if frame.live == 0
                && let Some(frame) = slot.take()
            {
                pool.give(frame.regs);
            }
        }
    }

    fn call(
        &mut self,
        cx: &mut Cx<'_>,
        at: usize,
        block: &mut Shared<'_>,
    ) -> Result<(), WarpFault> {
        let pc = self.fragments[at].pc;
        let inst = cx.env.program.code[pc as usize];
        let site = &cx.env.program.calls[inst.aux as usize];
        self.split_off(at, cx.mask, pc);
        let (mask, target) = match site.target {
            Target::Function(f) => (cx.mask, f),
            Target::Handles(plane) => {
                let leader = cx.leader();
                // SAFETY: a D plane of the running frame.
                let handle = unsafe { cx.double(plane, leader) };
                let Some(&f) = cx.env.program.handles.get(&handle) else {
                    cx.fail(leader, FaultKind::InvalidPc { target: handle });
                    return Err(take_fault(cx, pc));
                };
                let same = active(cx.mask)
                    // SAFETY: as above.
                    .filter(|&l| unsafe { cx.double(plane, l) } == handle)
                    .fold(0, |m, l| m | 1 << l);
                (same, f)
            }
        };
        let f = self.fragments[at];
        if f.mask != mask {
            // Lanes with other targets try again at the same call.
            self.fragments[at].mask = mask;
            self.fragments.push(Fragment { mask: f.mask & !mask, ..f });
        }
        let callee = &cx.env.program.functions[target as usize];
        if site.args.len() != callee.params.len() {
            let why = format!("`{}` is called with the wrong number of arguments", callee.name);
            cx.fail(mask.trailing_zeros() as usize, FaultKind::IllegalInstruction { why });
            return Err(take_fault(cx, pc));
        }
        let bytes = callee.lines as usize * 64;
        let regs = if cx.env.config.seed.is_some() {
            // What a lane reads of one that does not run is the same, too.
            block.pool.take(bytes)
        } else {
            let regs = block.pool.take_as_left(bytes);
            for &(plane, bytes) in &callee.unset {
                // SAFETY: the plane lies in the new frame.
                unsafe { regs.as_ptr().add(plane as usize).write_bytes(0, bytes as usize) };
            }
            regs
        };
        let caller_regs = cx.bases[0];
        let limit = cx.env.local_size as u64;
        for l in active(mask) {
            // SAFETY: the top of the caller's stack, and two planes of the new frame.
            unsafe {
                let top = cx.word(site.caller_top, l).wrapping_add_signed(site.from_top);
                let base = (u64::from(top) + u64::from(CALL_OVERHEAD))
                    .next_multiple_of(callee.frame_align as u64);
                let needed = base + callee.frame_size as u64;
                // Of what needs no stack the body may have been put in, and nobody looks.
                if needed > limit && !callee.stackless {
                    cx.fail(l, FaultKind::StackOverflow { needed, limit });
                    return Err(take_fault(cx, pc));
                }
                let plane = |operand: u32| (regs.as_ptr().add(operand as usize) as *mut u32).add(l);
                *plane(callee.local_base) = base as u32;
                *plane(callee.local_top) = needed as u32;
            }
        }
        let caller = &cx.env.program.functions[self.frame(f.frame).function as usize];
        let (from, to) = (
            Side { regs: caller_regs, local_base: caller.local_base },
            Side { regs: regs.as_ptr(), local_base: callee.local_base },
        );
        let passed = Passed { at: pc, call: pc, callee: callee.id, returns: false, mask };
        for (n, (&source, &target)) in site.args.iter().zip(&callee.params).enumerate() {
            if let Err(fault) = copy_argument(cx, (passed, n), from, source, to, target) {
                return Err(WarpFault { fault, pc });
            }
        }
        let frame = Frame {
            regs,
            function: target,
            parent: f.frame,
            return_pc: pc + 1,
            site: inst.aux,
            depth: f.depth + 1,
            live: mask,
        };
        let index = match self.frames.iter().position(Option::is_none) {
            Some(free) => {
                self.frames[free] = Some(frame);
                free
            }
            None => {
                self.frames.push(Some(frame));
                self.frames.len() - 1
            }
        };
        let f = &mut self.fragments[at];
        f.pc = callee.start;
        f.frame = index as u32;
        f.depth += 1;
        Ok(())
    }

    fn ret(&mut self, cx: &mut Cx<'_>, at: usize, block: &mut Shared<'_>) -> Result<(), WarpFault> {
        let f = self.fragments[at];
        let frame = self.frame(f.frame);
        let (parent, return_pc, depth) = (frame.parent, frame.return_pc, frame.depth);
        let site = &cx.env.program.calls[frame.site as usize];
        let callee = &cx.env.program.functions[frame.function as usize];
        let caller_frame = self.frame(parent);
        let caller = &cx.env.program.functions[caller_frame.function as usize];
        let from = Side { regs: frame.regs.as_ptr(), local_base: callee.local_base };
        let to = Side { regs: caller_frame.regs.as_ptr(), local_base: caller.local_base };
        let call = return_pc.wrapping_sub(1);
        let passed = Passed { at: f.pc, call, callee: callee.id, returns: true, mask: f.mask };
        for (n, (&source, &target)) in callee.rets.iter().zip(&site.rets).enumerate() {
            if let Err(fault) = copy_argument(cx, (passed, n), from, source, to, target) {
                return Err(WarpFault { fault, pc: f.pc });
            }
        }
        self.leave(f.frame, f.mask, block.pool);
        let f = &mut self.fragments[at];
        f.pc = return_pc;
        f.frame = parent;
        f.depth = depth - 1;
        Ok(())
    }

    fn barrier(
        &mut self,
        cx: &mut Cx<'_>,
        at: usize,
        block: &mut Shared<'_>,
    ) -> Result<(), WarpFault> {
        let pc = self.fragments[at].pc;
        let inst = cx.env.program.code[pc as usize];
        let shape = unpack(inst.imm);
        self.split_off(at, cx.mask, pc);
        self.orderly &= self.fragments.len() == 1;
        if shape.cluster {
            self.cluster_barrier(cx, at, block, shape.kind);
            return Ok(());
        }
        let leader = cx.leader();
        // SAFETY: planes of the running frame; `b` is one only if there is a count.
        let (id, count, pred) = unsafe {
            let count = shape.counted.then(|| cx.word(inst.b, leader));
            (cx.word(inst.a, leader), count, cx.pred(inst.c))
        };
        // Lanes that name another barrier, or another count, come again by themselves. Constants,
        // which are the rule, are equal in all lanes.
        let same = if inst.a & 1 != 0 && (count.is_none() || inst.b & 1 != 0) {
            cx.mask
        } else {
            active(cx.mask)
                // SAFETY: as above.
                .filter(|&l| unsafe {
                    cx.word(inst.a, l) == id && count.is_none_or(|n| cx.word(inst.b, l) == n)
                })
                .fold(0, |m, l| m | 1 << l)
        };
        let f = self.fragments[at];
        if same != f.mask {
            self.fragments[at].mask = same;
            self.fragments.push(Fragment { mask: f.mask & !same, ..f });
        }
        if id as usize >= crate::barrier::BARRIERS {
            cx.fail(leader, FaultKind::Barrier(BarrierMisuse::Number(id)));
            return Err(take_fault(cx, pc));
        }
        if cx.interest.contains(Interest::BARRIERS) {
            let at = cx.event_at(pc);
            let event = BarrierEvent {
                at,
                id: Some(id),
                count,
                kind: shape.kind,
                mask: same,
                alive: self.alive,
            };
            if let Some(watch) = &mut cx.watch {
                watch.barrier(&event);
            }
        }
        let weight = if cx.env.machine.sm < 70 {
            WARP as u32
        } else if count.is_some() {
            // Lanes that are not there count with the first that is, unless they arrived in this
            // round before they left.
            let counted = &mut self.counted[id as usize];
            let first = same >> self.alive.trailing_zeros() & 1 != 0;
            let absent = if first { FULL & !self.alive & !*counted } else { 0 };
            *counted |= same | absent;
            (same | absent).count_ones()
        } else {
            same.count_ones()
        };
        let (holds, fails) = ((same & pred).count_ones(), (same & !pred).count_ones());
        let barrier = &mut block.barriers[id as usize];
        if let Err(misuse) = barrier.arrive(weight, count, holds, fails) {
            cx.fail(leader, FaultKind::Barrier(misuse));
            return Err(take_fault(cx, pc));
        }
        let f = &mut self.fragments[at];
        f.pc = pc + 1;
        if shape.kind.waits() {
            f.state = State::Barrier { id: id as u8, pc };
        }
        Ok(())
    }

    fn cluster_barrier(
        &mut self,
        cx: &mut Cx<'_>,
        at: usize,
        block: &mut Shared<'_>,
        kind: margay_ir::BarKind,
    ) {
        let f = &mut self.fragments[at];
        if cx.interest.contains(Interest::BARRIERS) {
            let at = cx.event_at(f.pc);
            let event =
                BarrierEvent { at, id: None, count: None, kind, mask: cx.mask, alive: self.alive };
            if let Some(watch) = &mut cx.watch {
                watch.barrier(&event);
            }
        }
        f.pc += 1;
        if kind.arrives() {
            for l in active(cx.mask) {
                self.cluster_round[l] = block.cluster.round + 1;
            }
            block.cluster.arrived += cx.mask.count_ones();
        }
        if kind.waits() {
            let arrived = active(cx.mask).map(|l| self.cluster_round[l]).max().unwrap_or(0);
            let round = arrived.saturating_sub(1);
            f.state = State::Cluster { round };
        }
    }

    /// Wakes the fragments at a barrier and gives them its result.
    pub fn release(&mut self, cx: &Cx<'_>, id: usize, barrier: &BlockBarrier) {
        self.counted[id] = 0;
        for f in &mut self.fragments {
            let State::Barrier { id: at, pc } = f.state else { continue };
            if at as usize != id {
                continue;
            }
            f.state = State::Ready;
            let inst = &cx.env.program.code[pc as usize];
            let kind = unpack(inst.imm).kind;
            if !kind.reduces() {
                continue;
            }
            let value = barrier.result(kind);
            let Some(Some(frame)) = self.frames.get(f.frame as usize) else { continue };
            // SAFETY: `d` is a W plane for a count and a P plane for a predicate.
            unsafe {
                let d = frame.regs.as_ptr().add(inst.d as usize) as *mut u32;
                if kind == margay_ir::BarKind::RedPopc {
                    for l in active(f.mask) {
                        *d.add(l) = value;
                    }
                } else {
                    let bits = if value != 0 { f.mask } else { 0 };
                    *d = (*d & !f.mask) | bits;
                }
            }
        }
    }

    /// Wakes the fragments that wait for a round of the cluster's barrier that is over.
    pub fn release_cluster(&mut self, completed: u32) -> bool {
        let mut opened = false;
        for f in &mut self.fragments {
            if let State::Cluster { round } = f.state
                && round < completed
            {
                f.state = State::Ready;
                opened = true;
            }
        }
        opened
    }

    /// Whether some fragment can run.
    pub fn runnable(&mut self, cx: &Cx<'_>) -> bool {
        for f in &mut self.fragments {
            if let State::Asleep { until } = f.state
                && cx.nanoseconds() >= until
            {
                f.state = State::Ready;
            }
        }
        self.fragments.iter().any(|f| f.state == State::Ready)
    }

    /// When the first of its sleeping lanes wakes.
    pub fn wakes(&self) -> Option<u64> {
        let until = |f: &Fragment| match f.state {
            State::Asleep { until } => Some(until),
            State::Ready
            | State::Await
            | State::Meet { .. }
            | State::Barrier { .. }
            | State::Cluster { .. } => None,
        };
        self.fragments.iter().filter_map(until).min()
    }
}

/// Whether the watch has the interpreter run a warp.
fn is_followed(cx: &mut Cx<'_>, warp: u32) -> bool {
    let ctaid = cx.view.ctaid;
    cx.interest.contains(Interest::ADMISSIONS)
        && cx.watch.as_mut().is_some_and(|watch| watch.interprets(ctaid, warp))
}

pub(crate) fn take_fault(cx: &mut Cx<'_>, pc: u32) -> WarpFault {
    let fault = cx.fault.take().unwrap_or_else(|| {
        let why = "the engine lost the reason of a fault".to_owned();
        Box::new(LaneFault { lane: 0, kind: FaultKind::IllegalInstruction { why } })
    });
    WarpFault { fault, pc }
}

/// One side of a call: its registers, and the plane that says where its local frame begins.
#[derive(Clone, Copy)]
struct Side {
    regs: *mut u8,
    local_base: u32,
}

/// A call or a return under way.
#[derive(Clone, Copy)]
struct Passed {
    at: u32,
    call: u32,
    callee: margay_ir::FuncId,
    returns: bool,
    mask: u32,
}

/// Copies the lanes of a mask from one plane to another.
///
/// # Safety
/// Both have an element for each lane.
unsafe fn copy_lanes<T: Copy>(from: *const T, to: *mut T, mask: u32) {
    if mask == FULL {
        // SAFETY: by the contract; a register may be handed to itself.
        return unsafe { std::ptr::copy(from, to, WARP) };
    }
    for l in 0..WARP {
        // SAFETY: by the contract.
        unsafe { *to.add(l) = if mask >> l & 1 != 0 { *from.add(l) } else { *to.add(l) } };
    }
}

/// Copies one argument or result, with its number.
fn copy_argument(
    cx: &mut Cx<'_>,
    (passed, index): (Passed, usize),
    from: Side,
    source: ArgPlace,
    to: Side,
    target: ArgPlace,
) -> Result<(), Box<LaneFault>> {
    use crate::fault::Access;
    use margay_ir::Space;

    let mask = passed.mask;
    let consts = cx.bases[1];
    // SAFETY (of every use): operands belong to the side's frame or to the constants.
    let plane = |side: Side, operand: u32| unsafe {
        let base = if operand & 1 == 0 { side.regs } else { consts };
        base.add((operand & !1) as usize)
    };
    let by_lane = match (source, target) {
        (
            ArgPlace::Plane { operand: a, class: ca, .. },
            ArgPlace::Plane { operand: d, class: cd, .. },
        ) if ca == cd && ca != Class::P => {
            let (a, d) = (plane(from, a), plane(to, d));
            // SAFETY: planes of the class that was decoded, of two frames or of one's own.
            match ca {
                Class::D => unsafe { copy_lanes::<u64>(a.cast(), d.cast(), mask) },
                Class::P | Class::W => unsafe { copy_lanes::<u32>(a.cast(), d.cast(), mask) },
            }
            0
        }
        _ => mask,
    };
    let slot = cx.extents.len() - 1;
    for l in active(by_lane) {
        let mut local = |side: Side, offset: u32, size: u32, access| {
            // SAFETY: the plane of frame bases holds 32 words.
            let base = unsafe { *(plane(side, side.local_base) as *const u32).add(l) };
            let address = base as u64 + offset as u64;
            // Sizes need not be powers of two; alignment is the lowering's business here.
            let last = resolve_lane(
                cx,
                slot,
                l,
                Space::Local,
                access,
                address + size.max(1) as u64 - 1,
                1,
            );
            last.map(|p| p + 1 - size.max(1) as u64)
                .map_err(|kind| Box::new(LaneFault { lane: l as u32, kind: *kind }))
        };
        // SAFETY: planes are of the class that was decoded; local bytes were just resolved.
        unsafe {
            let read = |operand: u32, class: Class| {
                let p = plane(from, operand);
                match class {
                    Class::P => (*(p as *const u32) >> l & 1) as u64,
                    Class::W => *(p as *const u32).add(l) as u64,
                    Class::D => *(p as *const u64).add(l),
                }
            };
            let write = |operand: u32, class: Class, v: u64| {
                let p = plane(to, operand);
                match class {
                    Class::P => {
                        let d = p as *mut u32;
                        *d = (*d & !(1 << l)) | ((v as u32 & 1) << l);
                    }
                    Class::W => *(p as *mut u32).add(l) = v as u32,
                    Class::D => *(p as *mut u64).add(l) = v,
                }
            };
            match (source, target) {
                (
                    ArgPlace::Plane { operand: a, class: ca, .. },
                    ArgPlace::Plane { operand: d, class: cd, .. },
                ) => write(d, cd, read(a, ca)),
                (ArgPlace::Plane { operand, class, bytes }, ArgPlace::Frame { offset, size }) => {
                    let v = read(operand, class).to_le_bytes();
                    let n = bytes.min(size);
                    let p = local(to, offset, n, Access::Write)?;
                    std::ptr::copy_nonoverlapping(v.as_ptr(), p as *mut u8, n as usize);
                }
                (ArgPlace::Frame { offset, size }, ArgPlace::Plane { operand, class, bytes }) => {
                    let mut v = [0u8; 8];
                    let n = bytes.min(size).min(8);
                    let p = local(from, offset, n, Access::Read)?;
                    std::ptr::copy_nonoverlapping(p as *const u8, v.as_mut_ptr(), n as usize);
                    write(operand, class, u64::from_le_bytes(v));
                }
                (
                    ArgPlace::Frame { offset: a, size },
                    ArgPlace::Frame { offset: d, size: room },
                ) => {
                    let n = size.min(room);
                    let s = local(from, a, n, Access::Read)?;
                    let d = local(to, d, n, Access::Write)?;
                    std::ptr::copy(s as *const u8, d as *mut u8, n as usize);
                }
            }
        }
    }
    if cx.interest.contains(Interest::ARGUMENTS)
        && let Some(mut watch) = cx.watch.take()
    {
        let addresses = |side: Side, place: ArgPlace| match place {
            ArgPlace::Plane { .. } => None,
            ArgPlace::Frame { offset, .. } => Some(std::array::from_fn(|l| {
                // SAFETY: as above.
                let base = unsafe { *(plane(side, side.local_base) as *const u32).add(l) };
                u64::from(base) + u64::from(offset)
            })),
        };
        let size = |place| match place {
            ArgPlace::Plane { bytes, .. } => bytes,
            ArgPlace::Frame { size, .. } => size,
        };
        let Passed { at, call, callee, returns, mask } = passed;
        watch.argument(&ArgumentEvent {
            at: cx.event_at(at),
            call,
            callee,
            index,
            returns,
            mask,
            bytes: size(source).min(size(target)),
            from: addresses(from, source),
            to: addresses(to, target),
        });
        cx.watch = Some(watch);
    }
    Ok(())
}
