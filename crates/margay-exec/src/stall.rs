// SPDX-License-Identifier: MIT OR Apache-2.0
//! Grids in which nothing happens any more.
//!
//! When all groups of a worker have only waited for a while, it is looked whether they can do anything else. First each is run
//! in the interpreter until it is proved that it [goes in a circle](crate::circle), with what it reads on the way. If that is no
//! memory but its own, it waits for ever. If all groups of the grid go in circles, and none is left to begin, somebody else must
//! write what they read: another launch, a copy, the host program. Whether there is anybody who could is the runtime's to say
//! ([`Others`](crate::launch::Others)). What cannot be proved runs on.
//!
//! Invariant: a launch ends only if all groups were proved to go in circles after it was known that nobody is left, if nobody is
//! there after that either, and neither [`Grid::progress`] nor [`Host::activity`] has changed in between.

use std::collections::VecDeque;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use crate::fault::Fault;
use crate::interp::{Cx, Env};
use crate::launch::Host;
use crate::mem::{AddressSpace, AllocKind, Extent};
use crate::observe::Interest;
use crate::sched::{Begun, Grid, WORKSPACE};
use crate::waits::Waits;

/// A grid in which for so long nothing but waiting happened is looked at.
const STALL: Duration = Duration::from_secs(3);
/// Memory that nobody has changed for so long will not change, where somebody wants to know of deadlocks. The host program may
/// still be about to do something, which cannot be known.
const PATIENCE: Duration = Duration::from_secs(30);
/// Between questions who else is there.
const ASK_EVERY: Duration = Duration::from_millis(50);
/// How long a worker rests after each round of groups that are known to wait.
const REST: Duration = Duration::from_micros(500);

/// What threads read that others than their own blocks may write.
#[derive(Clone, Debug, Default)]
pub struct Reads {
    /// A clock: time passes by itself.
    pub time: bool,
    /// The memory of the grid's barrier.
    grid: bool,
    /// Other memory of the device.
    device: bool,
    /// Memory that the host program reaches as well.
    host: bool,
    /// Where the first few allocations begin, of any kind.
    bases: Vec<u64>,
    /// Memory that came from the host program, which may share it with other processes: an address in each of the first few.
    registered: Vec<u64>,
    /// There is more of it.
    more: bool,
}

/// Adds a value to a short list of different ones; whether there was room.
fn keep(values: &mut Vec<u64>, value: u64) -> bool {
    let is_new = !values.contains(&value);
    let fits = values.len() < Reads::MOST;
    if is_new && fits {
        values.push(value);
    }
    !is_new || fits
}

impl Reads {
    /// Allocations that are named.
    const MOST: usize = 3;

    /// Notes that an address was read in memory that lies so, and makes that what belongs to one allocation.
    pub fn note(&mut self, address: u64, found: &mut Extent, env: &Env<'_>) {
        let workspace = env.config.grid_workspace;
        if workspace != 0 && address.wrapping_sub(workspace) < WORKSPACE {
            self.grid = true;
            (found.lo, found.hi) = (workspace, workspace + WORKSPACE);
            return;
        }
        let Some(allocation) = env.memory.find(address) else {
            // Parameters, and what lies between a bank's constants, do not change.
            self.device |= !found.constant;
            return;
        };
        found.lo = found.lo.max(allocation.base);
        found.hi = found.hi.min(allocation.base + allocation.size);
        if allocation.kind == AllocKind::Constant {
            return;
        }
        // Not OpenCL's buffers: what the host program writes to a mapped one is there once it has unmapped it.
        match allocation.kind.host_visible() {
            true => self.host = true,
            false => self.device = true,
        }
        if allocation.kind == AllocKind::HostRegistered {
            self.more |= !keep(&mut self.registered, allocation.base);
        }
        keep(&mut self.bases, allocation.base);
    }

    /// Notes that something was read of which nothing else is known.
    pub fn note_some(&mut self) {
        (self.device, self.host) = (true, true);
    }

    pub fn add(&mut self, other: &Reads) {
        self.time |= other.time;
        self.grid |= other.grid;
        self.device |= other.device;
        self.host |= other.host;
        self.more |= other.more;
        for &base in &other.registered {
            self.more |= !keep(&mut self.registered, base);
        }
        for &base in &other.bases {
            keep(&mut self.bases, base);
        }
    }

    /// Whether nobody but the grid itself can change anything of it.
    fn are_the_grids(&self) -> bool {
        !(self.time || self.device || self.host)
    }

    /// Whether nobody but the block, or the cluster, itself can.
    fn are_the_blocks(&self) -> bool {
        self.are_the_grids() && !self.grid
    }

    /// Whether other processes may change some of it, as far as the host program may have shared it.
    fn may_be_shared(&self, host: &dyn Host) -> bool {
        self.more || self.registered.iter().any(|&base| host.is_shared(base))
    }

    /// The memory, in words.
    fn names(&self, memory: &AddressSpace) -> String {
        let name = |base: &u64| {
            let found = memory.find(*base)?;
            let (label, size) = (&found.label, found.size);
            let bytes = if size == 1 { "byte" } else { "bytes" };
            Some(format!("{label}, {size} {bytes} at {base:#x}"))
        };
        let names: Vec<String> = self.bases.iter().filter_map(name).collect();
        match names.is_empty() {
            true => String::new(),
            false => format!(" ({})", names.join("; ")),
        }
    }
}

/// What a worker does with groups that all wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// It looks on.
    Watching,
    /// It tries to prove that they go in circles, one after the other.
    Proving,
    /// They do.
    Proved,
}

/// A worker's view of a grid in which nothing happens.
pub struct Stall {
    /// The grid's progress, and the activity around it, which have not changed since.
    seen: (u64, u64),
    since: Instant,
    /// How long it is looked on before the next proof.
    patience: Duration,
    phase: Phase,
    /// The round of proofs that this worker has told of, or works at.
    round: u64,
    /// When the last circle was looked at anew.
    again: Instant,
    /// Turns of groups since it rested.
    turns: usize,
}

impl Stall {
    pub fn new(grid: &Grid<'_>) -> Stall {
        let now = Instant::now();
        Stall {
            seen: grid.state(),
            since: now,
            patience: STALL,
            phase: Phase::Watching,
            round: 0,
            again: now,
            turns: 0,
        }
    }

    /// Whether the next turns are for a proof.
    pub fn proves(&self) -> bool {
        self.phase != Phase::Watching
    }

    /// Whether a group that has just had its turn has the next one, too: until something is proved of it.
    pub fn stays_with(&self, group: &Begun) -> bool {
        self.phase == Phase::Proving && !group.group.goes_in_a_circle()
    }

    /// Something has happened, and what groups waited for may have come: nothing is to be proved of them any more.
    pub fn is_over(&mut self, grid: &Grid<'_>, cx: &mut Cx<'_>, begun: &mut VecDeque<Begun>) {
        if self.proves() {
            self.phase = Phase::Watching;
            cx.interpreting = false;
            begun.iter_mut().for_each(|b| b.group.prove(false));
        }
        grid.reopen();
    }

    fn begin_proof(&mut self, cx: &mut Cx<'_>, begun: &mut VecDeque<Begun>) {
        self.phase = Phase::Proving;
        cx.interpreting = true;
        for b in begun {
            b.group.prove(true);
            (b.reads, b.polled) = (Reads::default(), false);
        }
    }

    /// All of a worker's groups wait, one of which has just had its turn: the fault, if that is for ever.
    pub fn look(
        &mut self,
        grid: &Grid<'_>,
        cx: &mut Cx<'_>,
        begun: &mut VecDeque<Begun>,
    ) -> Option<Box<Fault>> {
        let now = grid.state();
        if now != self.seen {
            (self.seen, self.since, self.patience) = (now, Instant::now(), STALL);
            self.is_over(grid, cx, begun);
            return None;
        }
        let stalled = self.since.elapsed();
        match self.phase {
            Phase::Watching => {
                if stalled > self.patience {
                    self.begin_proof(cx, begun);
                }
            }
            Phase::Proving => {
                let lost = |b: &Begun| b.reads.time || b.group.defies_proof();
                if begun.iter().any(lost) {
                    self.is_over(grid, cx, begun);
                    self.patience = stalled * 2;
                    return None;
                }
                let closed = |b: &&Begun| b.group.goes_in_a_circle();
                if let Some(dead) = begun.iter().filter(closed).find(|b| b.reads.are_the_blocks()) {
                    let lead = match dead.polled {
                        true => {
                            "every thread waits, some for shared memory that nobody is left to change"
                        }
                        false => {
                            "nothing can change any more for the threads that are left, and none of them ends"
                        }
                    };
                    return Some(dead.group.stuck(cx, lead));
                }
                if begun.iter().all(|b| closed(&b)) {
                    self.phase = Phase::Proved;
                    self.round = grid.close(self.seen, self.round, begun);
                }
            }
            Phase::Proved => {
                // Somebody whom the runtime does not know may have written: the host program, by plain stores.
                if begun.iter().any(|b| b.group.defies_proof()) {
                    grid.progress.fetch_add(1, Ordering::AcqRel);
                    return None;
                }
                let patient = cx.interest.contains(Interest::DEADLOCKS) && stalled > PATIENCE;
                match grid.verdict(self.round, patient.then_some(stalled)) {
                    Verdict::Dead(fault) => return Some(fault),
                    Verdict::Again(round) => {
                        self.round = round;
                        self.begin_proof(cx, begun);
                        return None;
                    }
                    Verdict::Unknown => {}
                }
                let closed = begun.iter().all(|b| b.group.goes_in_a_circle());
                if closed && self.again.elapsed() >= ASK_EVERY {
                    self.again = Instant::now();
                    begun.iter_mut().for_each(|b| b.group.prove(true));
                }
                self.turns += 1;
                if self.turns >= begun.len() {
                    self.turns = 0;
                    std::thread::sleep(REST);
                }
            }
        }
        None
    }
}

/// Groups that go in circles until memory changes that is not their own. If all that live do, and none is left to begin, only others
/// can end that.
#[derive(Default)]
pub struct Closed {
    /// The state since which they do.
    since: (u64, u64),
    /// Proofs of all groups so far. One counts that was begun after nobody was found who could write what they read: somebody who
    /// is not there any more may have written after the one before.
    round: u64,
    is_last: bool,
    /// [`Others::threads`](crate::launch::Others::threads) when that round began.
    threads: u64,
    groups: u64,
    waits: Waits,
    reads: Reads,
    /// When it was asked who is there, and not before when that is done again.
    next: Option<Instant>,
}

/// What is known of a grid whose groups a worker has found to go in circles.
enum Verdict {
    Dead(Box<Fault>),
    /// They must be found to do so in this round, too.
    Again(u64),
    Unknown,
}

impl Grid<'_> {
    /// What changes when something happens, here or around.
    fn state(&self) -> (u64, u64) {
        (self.progress.load(Ordering::Acquire), self.env.host.activity())
    }

    /// Something has happened, or the launch has ended: it does not wait any more.
    pub fn reopen(&self) {
        if self.told.load(Ordering::Relaxed) && self.told.swap(false, Ordering::AcqRel) {
            self.env.host.waits(false);
        }
    }

    /// Notes that all of a worker's groups go in circles since the grid was in this state, unless that is past. The round that they
    /// are counted in, which is another if theirs has ended meanwhile.
    fn close(&self, since: (u64, u64), round: u64, begun: &VecDeque<Begun>) -> u64 {
        let mut closed = self.closed.lock();
        if since != self.state() {
            return round;
        }
        if closed.since != since {
            *closed = Closed { since, round: closed.round + 1, ..Closed::default() };
        } else if closed.is_last && closed.round != round {
            // It was proved before anybody knew that nobody is left.
            return round;
        }
        for b in begun {
            closed.groups += 1;
            closed.reads.add(&b.reads);
            b.group.add_waits(self.env, &mut closed.waits);
        }
        closed.round
    }

    /// What becomes of a grid if all that live are [closed](Grid::close), and nobody else is there to change that, or has been for
    /// so long.
    fn verdict(&self, round: u64, patient: Option<Duration>) -> Verdict {
        let mut closed = self.closed.lock();
        if closed.since != self.state() {
            return Verdict::Unknown;
        }
        if closed.round != round {
            return Verdict::Again(closed.round);
        }
        let resident = self.resident.load(Ordering::Acquire);
        let waits_for_room = self.unstarted() && resident < self.limit;
        let now = Instant::now();
        if closed.groups < resident || waits_for_room || closed.next.is_some_and(|at| now < at) {
            return Verdict::Unknown;
        }
        if !self.told.swap(true, Ordering::AcqRel) {
            self.env.host.waits(true);
        }
        let (lead, threads) = self.lead(&closed.reads, patient);
        // Where many threads are looked at that takes a while.
        closed.next = Some(now + ASK_EVERY.max(20 * now.elapsed()));
        // Nothing has happened meanwhile.
        let (Some(lead), true) = (lead, closed.since == self.state()) else {
            closed.is_last = false;
            return Verdict::Unknown;
        };
        if closed.is_last && closed.threads == threads {
            return Verdict::Dead(closed.waits.deadlock(self.env.program, &lead));
        }
        let (since, round) = (closed.since, closed.round + 1);
        *closed = Closed { since, round, is_last: true, threads, ..Closed::default() };
        Verdict::Again(round)
    }

    /// What is to be said of groups that read this memory, if nobody is there to change it; and
    /// [`Others::threads`](crate::launch::Others::threads).
    fn lead(&self, reads: &Reads, patient: Option<Duration>) -> (Option<String>, u64) {
        let host = self.env.host;
        let memory = || format!("global memory{}", reads.names(self.env.memory));
        if reads.are_the_grids() && !self.unstarted() {
            let lead = "every thread of the grid that lives waits, some at the grid's barrier, which the others have not reached";
            return (Some(lead.to_owned()), 0);
        }
        let others = host.others();
        let shared = || others.processes || reads.may_be_shared(host);
        let runs = others.host || reads.host && others.signals;
        if others.busy || runs && (reads.host || patient.is_none()) || shared() {
            return (None, 0);
        }
        let lead = match (self.unstarted(), runs) {
            (true, _) => self.no_room(),
            (false, false) => {
                format!("every thread waits, some for {} that nobody is left to change", memory())
            }
            (false, true) => {
                let seconds = patient.unwrap_or(PATIENCE).as_secs();
                format!(
                    "every thread waits, some for {} that nobody has changed for {seconds} s",
                    memory()
                )
            }
        };
        (Some(lead), others.threads)
    }
}

impl Drop for Grid<'_> {
    fn drop(&mut self) {
        self.reopen();
    }
}
