// SPDX-License-Identifier: MIT OR Apache-2.0
//! Blocks over workers.
//!
//! The caller's thread is the first worker. Helpers are started only when the grid turns out to be
//! worth it, so a tiny launch costs no thread. A worker takes the next unstarted group (a cluster,
//! or a block) when it has none, or when all it has spin: as many groups are begun as the card
//! would hold resident, and those that a worker began take turns, so that resident blocks which
//! wait for one another all progress. When every group only spins, [`crate::stall`] looks whether that can end.

use std::cell::OnceCell;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use margay_ir::{Attr, Sem};
use parking_lot::Mutex;

use crate::block::{Group, Progress};
use crate::buffer::Pool;
use crate::fault::{Fault, FaultKind, Spot};
use crate::interp::{COUNTERS, Cx, Env};
use crate::jit::{Chunk, ChunkEnd, Done, Fast, consider};
use crate::launch::LaunchFailure;
use crate::mem::Extent;
use crate::observe::Interest;
use crate::program::Program;
use crate::stall::{Closed, Reads, Stall};
use crate::waits::Waits;
use crate::workers;

/// Warp instructions of a group between looks at the others of its worker.
const GROUP_SLICE: u64 = 4_000_000;
/// The same of one that may wait for another, though it stores meanwhile.
const POLLING_SLICE: u64 = 100_000;
/// The same while it is not known whether helpers are worth starting.
const FIRST_SLICE: u64 = 20_000;
/// Slices after which a group that is still busy no longer keeps its worker from beginning another:
/// it may wait, in ways that do not look like polling, for a block that has not started.
const PATIENCE: u32 = 4;
/// A grid that is not done after this gets helpers.
const HELP_AFTER: Duration = Duration::from_micros(25);
/// What calling one costs the grid, about.
const HELP_COST: Duration = Duration::from_micros(10);
/// What calling one costs that looks for work.
const LOOKING_COST: Duration = Duration::from_micros(2);
/// What the first chunk of blocks takes at most, if it is known how long a block does.
const FIRST_CHUNK: Duration = Duration::from_micros(20);
/// What each of the last takes at least.
const LAST_CHUNK: Duration = Duration::from_micros(2);
/// A chunk of blocks that compiled code runs by one call may be larger if the last took less.
const CHUNK: Duration = Duration::from_micros(100);
/// Blocks of a chunk, at most.
const MOST_BLOCKS: u64 = 1 << 16;
/// Groups of a grid that has run for so long are watched for circles.
const LONG: Duration = Duration::from_secs(1);

/// Bytes of the memory in which the grid's barrier is.
pub const WORKSPACE: u64 = 64;

/// Why a grid ends early.
enum End {
    Fault(Box<Fault>),
    /// The time is up.
    Timeout(Duration),
    Cancelled,
}

/// Whether blocks run in the order of their numbers.
fn in_order(env: &Env<'_>) -> bool {
    env.config.seed.is_none()
}

/// What all workers of a launch share.
pub struct Grid<'a> {
    pub env: &'a Env<'a>,
    cancel: &'a AtomicBool,
    groups: u64,
    next: AtomicU64,
    /// Groups that a worker took and gave back unstarted: first, and one past the last. The number
    /// of such ranges is beside them.
    returned: Mutex<Vec<(u64, u64)>>,
    returns: AtomicU64,
    finished: AtomicU64,
    threads: u64,
    pub resident: AtomicU64,
    pub limit: u64,
    /// Counts slices in which something happened.
    pub progress: AtomicU64,
    stop: AtomicBool,
    end: Mutex<Option<End>>,
    /// Where some thread was when the grid was stopped.
    spot: Mutex<Option<Spot>>,
    /// Who waited where then.
    waits: Mutex<Waits>,
    /// Groups that only wait for others.
    pub closed: Mutex<Closed>,
    /// The runtime knows that the launch only waits.
    pub told: AtomicBool,
    totals: Mutex<Totals>,
    deadline: Option<(Instant, Duration)>,
    /// What a group took when the kernel ran before, in compiled code.
    pace: Option<Pace>,
}

/// How long a thread takes for a group of blocks, about.
#[derive(Clone, Copy)]
struct Pace(f64);

impl Pace {
    fn nanoseconds(self, groups: u64) -> f64 {
        self.0 * groups as f64
    }

    /// Groups that take so long, one at least.
    fn groups_in(self, time: Duration) -> u64 {
        ((time.as_nanos() as f64 / self.0.max(1e-3)) as u64).clamp(1, MOST_BLOCKS)
    }
}

/// Sums over workers.
#[derive(Clone, Copy, Default)]
pub struct Totals {
    pub warp_instructions: u64,
    pub thread_instructions: u64,
    pub counters: [u64; COUNTERS],
}

impl Grid<'_> {
    fn finish_early(&self, end: End) {
        let mut slot = self.end.lock();
        if slot.is_none() {
            *slot = Some(end);
        }
        self.stop.store(true, Ordering::Release);
    }

    /// Whether workers should stop; notices the timeout.
    fn should_stop(&self) -> bool {
        if self.stop.load(Ordering::Relaxed) {
            return true;
        }
        if self.cancel.load(Ordering::Relaxed) {
            self.finish_early(End::Cancelled);
            return true;
        }
        if let Some((at, after)) = self.deadline
            && Instant::now() >= at
        {
            self.finish_early(End::Timeout(after));
            return true;
        }
        false
    }

    fn fault(&self, kind: FaultKind, spot: Option<Spot>) -> Box<Fault> {
        let kernel = self.env.program.name().to_owned();
        let Spot { block, thread, place } = spot.unwrap_or_default();
        Box::new(Fault { kind, kernel, block, thread, place })
    }

    /// Takes the next group, with up to `most - 1` that follow, if the card has room for one: its
    /// number, and how many they are.
    fn take(&self, most: u64) -> Option<(u64, u64)> {
        let room = self.resident.fetch_update(Ordering::AcqRel, Ordering::Acquire, |n| {
            (n < self.limit).then_some(n + 1)
        });
        if room.is_err() {
            return None;
        }
        if self.returns.load(Ordering::Acquire) != 0 {
            let mut returned = self.returned.lock();
            if let Some(range) = returned.last_mut() {
                let (first, count) = (range.0, most.min(range.1 - range.0));
                range.0 += count;
                if range.0 == range.1 {
                    returned.pop();
                    self.returns.fetch_sub(1, Ordering::AcqRel);
                }
                return Some((first, count));
            }
        }
        // The last groups go by a few microseconds each, so that workers end together.
        let left = self.groups.saturating_sub(self.next.load(Ordering::Acquire));
        let share = match self.threads {
            1 => left,
            threads => left / (2 * threads),
        };
        let least = self.pace.map_or(1, |pace| pace.groups_in(LAST_CHUNK));
        let count = most.min(share.max(least)).max(1);
        let first = self.next.fetch_add(count, Ordering::AcqRel);
        if first >= self.groups {
            self.resident.fetch_sub(1, Ordering::AcqRel);
            return None;
        }
        Some((first, count.min(self.groups - first)))
    }

    /// What of the grid is done.
    fn done(&self) -> Done {
        let groups = self.finished.load(Ordering::Relaxed);
        Done { groups, of: self.groups, threads: self.threads }
    }

    /// Gives groups back that were taken and not begun.
    fn give_back(&self, first: u64, end: u64) {
        if first < end {
            self.returned.lock().push((first, end));
            self.returns.fetch_add(1, Ordering::AcqRel);
        }
    }

    /// Whether groups are left that nobody has taken.
    pub fn unstarted(&self) -> bool {
        self.next.load(Ordering::Acquire) < self.groups || self.returns.load(Ordering::Acquire) != 0
    }

    /// Why a grid that does not fit on the card cannot go on.
    pub fn no_room(&self) -> String {
        let cluster = cluster_size(self.env);
        format!(
            "all {} resident blocks only wait for memory to change, and {} more cannot start before one of them ends: a \
             barrier over the whole grid needs every block resident",
            self.resident.load(Ordering::Acquire) * cluster,
            self.groups.saturating_sub(self.next.load(Ordering::Acquire)) * cluster,
        )
    }

    /// Whether a group waits to begin that the card has room for.
    fn may_begin(&self) -> bool {
        self.unstarted() && self.resident.load(Ordering::Acquire) < self.limit
    }

    /// The only block of a group without clusters.
    fn block_at(&self, group: u64) -> [u32; 3] {
        let config = self.env.config;
        let at = match config.seed {
            Some(seed) => permute(group, self.groups, seed),
            None => group,
        };
        self.env.block_at(at)
    }

    /// The blocks of a group, in rank order.
    fn blocks_of(&self, group: u64) -> Vec<[u32; 3]> {
        let config = self.env.config;
        let group = match config.seed {
            Some(seed) => permute(group, self.groups, seed),
            None => group,
        };
        let cluster = config.cluster.map(|n| n.max(1));
        let clusters: Vec<u64> =
            (0..3).map(|d| (config.grid[d] / cluster[d]).max(1) as u64).collect();
        let origin = [
            group % clusters[0] * cluster[0] as u64,
            group / clusters[0] % clusters[1] * cluster[1] as u64,
            group / clusters[0] / clusters[1] * cluster[2] as u64,
        ];
        let mut blocks = Vec::new();
        for z in 0..cluster[2] {
            for y in 0..cluster[1] {
                for x in 0..cluster[0] {
                    blocks.push([origin[0] as u32 + x, origin[1] as u32 + y, origin[2] as u32 + z]);
                }
            }
        }
        blocks
    }
}

/// A permutation of `0..n` that the seed chooses: an affine step with a factor prime to `n`.
pub fn permute(i: u64, n: u64, seed: u64) -> u64 {
    if n < 2 {
        return i;
    }
    let gcd = |mut a: u64, mut b: u64| {
        while b != 0 {
            (a, b) = (b, a % b);
        }
        a
    };
    let mixed = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut factor = (mixed >> 20) % n;
    while gcd(factor, n) != 1 {
        factor = (factor + 1) % n;
    }
    let shift = mixed % n;
    ((i as u128 * factor as u128 + shift as u128) % n as u128) as u64
}

/// A group that a worker began, which is that worker's to its end: watches rely on it ([`crate::observe`]).
pub struct Begun {
    pub group: Group,
    spinning: bool,
    /// When the first of its threads wakes, if all that live sleep; else 0.
    asleep: u64,
    /// Whole slices that it was busy for.
    slices: u32,
    /// What it has read since there is something to be proved of it, and whether it polled memory then.
    pub reads: Reads,
    pub polled: bool,
}

impl Begun {
    fn new(group: Group) -> Begun {
        let reads = Reads::default();
        Begun { group, spinning: false, asleep: 0, slices: 0, reads, polled: false }
    }
}

/// Runs groups until none is left for this worker. `help` is asked for as many helpers as the grid has
/// proved to be worth.
fn work(grid: &Grid<'_>, mut help: Option<&mut workers::Help<'_>>) {
    let env = grid.env;
    let mut cx = Cx::new(env);
    if grid.threads == 1
        && let Some(watch) = &mut cx.watch
    {
        watch.alone();
    }
    let mut pool = Pool::default();
    let mut fast = Fast::new(&cx, &mut pool);
    let mut begun: VecDeque<Begun> = VecDeque::new();
    let mut stall = Stall::new(grid);
    let started = Instant::now();
    // Of groups that are interpreted.
    let polls = OnceCell::new();
    // Blocks that compiled code runs by one call.
    let whole = fast.as_ref().is_some_and(|fast| fast.runs_whole(&cx)) && in_order(env);
    let mut chunk = grid.pace.filter(|_| whole).map_or(1, |pace| pace.groups_in(FIRST_CHUNK));
    call_at_once(grid, &mut help);
    // Looking at the clock costs as much as some instructions do.
    let asked = std::cell::Cell::new(0u32);
    let stop = || {
        asked.set(asked.get().wrapping_add(1));
        if asked.get().is_multiple_of(32) {
            grid.should_stop()
        } else {
            grid.stop.load(Ordering::Relaxed) || grid.cancel.load(Ordering::Relaxed)
        }
    };
    while !grid.should_stop() {
        if begun.iter().all(|b| b.spinning || b.asleep != 0 || b.slices >= PATIENCE)
            && let Some((at, count)) = grid.take(chunk)
        {
            if fast.is_none() {
                consider(env, grid.done());
                fast = Fast::new(&cx, &mut pool);
            }
            if let Some(fast) = &mut fast {
                let ctaid = grid.block_at(at);
                let begin = Instant::now();
                let blocks = Chunk { first: at, count: count as u32 };
                match fast.run_chunk(&mut cx, &mut pool, blocks, ctaid, &stop) {
                    Ok(ChunkEnd::Done) => {
                        grid.resident.fetch_sub(1, Ordering::AcqRel);
                        grid.finished.fetch_add(count, Ordering::AcqRel);
                        grid.progress.fetch_add(1, Ordering::AcqRel);
                        // Long enough that taking costs nothing, short enough to be stopped.
                        if begin.elapsed() < CHUNK && in_order(env) && fast.runs_whole(&cx) {
                            chunk = (chunk * 2).min(MOST_BLOCKS);
                        }
                    }
                    Ok(ChunkEnd::Handed { group, at: n }) => {
                        grid.finished.fetch_add(n as u64, Ordering::AcqRel);
                        grid.give_back(at + n as u64 + 1, at + count);
                        chunk = 1;
                        begun.push_front(Begun::new(*group));
                    }
                    Err(fault) => grid.finish_early(End::Fault(fault)),
                }
                call_helpers(grid, &mut help, started);
                continue;
            }
            debug_assert_eq!(count, 1);
            let blocks = grid.blocks_of(at);
            let group = Group::new(&cx, &blocks, env.multiprocessor_of(at), &mut pool);
            group.report(&mut cx, true);
            begun.push_front(Begun::new(group));
        }
        let Some(mut current) = begun.pop_front() else {
            if !grid.unstarted() {
                break;
            }
            // The card is full with the groups of other workers.
            std::thread::sleep(Duration::from_micros(50));
            continue;
        };
        let fuel = match help.is_some() {
            true => FIRST_SLICE,
            false if *polls.get_or_init(|| may_poll(env.program)) => POLLING_SLICE,
            false => GROUP_SLICE,
        };
        current.group.watch_for_circles(grid.unstarted() || started.elapsed() > LONG);
        current.asleep = 0;
        let polls_before = cx.polls;
        if stall.proves() {
            // What this group reads is told apart from what others did.
            cx.extents.fill(Extent::default());
            cx.reads = Reads::default();
        }
        match current.group.run(&mut cx, &mut pool, fuel, &stop) {
            Ok(Progress::Done) => {
                current.group.report(&mut cx, false);
                current.group.recycle(&mut pool);
                grid.resident.fetch_sub(1, Ordering::AcqRel);
                grid.finished.fetch_add(1, Ordering::AcqRel);
                grid.progress.fetch_add(1, Ordering::AcqRel);
                stall.is_over(grid, &mut cx, &mut begun);
            }
            Ok(Progress::Busy) => {
                current.spinning = false;
                current.slices = current.slices.saturating_add(1);
                if fast.is_none() {
                    consider(env, grid.done());
                }
                grid.progress.fetch_add(1, Ordering::AcqRel);
                begun.push_back(current);
                stall.is_over(grid, &mut cx, &mut begun);
            }
            // Neither progress nor its lack: who spins with pauses is found to spin when it wakes.
            Ok(Progress::Asleep(until)) => {
                current.asleep = until;
                begun.push_back(current);
                let first = begun.iter().map(|b| b.asleep).min().unwrap_or(0);
                let left = first.saturating_sub(cx.nanoseconds());
                // Blocks that wait to begin go first.
                if left > 0 && !grid.may_begin() {
                    std::thread::sleep(Duration::from_nanos(left));
                }
            }
            Ok(Progress::Spinning) => {
                current.spinning = true;
                if stall.proves() {
                    current.reads.add(&cx.reads);
                    current.polled |= cx.polls != polls_before;
                }
                match stall.stays_with(&current) {
                    true => begun.push_front(current),
                    false => begun.push_back(current),
                }
                if begun.iter().all(|b| b.spinning) {
                    if let Some(fault) = stall.look(grid, &mut cx, &mut begun) {
                        grid.finish_early(End::Fault(fault));
                    }
                    std::thread::yield_now();
                }
            }
            Err(fault) => {
                grid.finish_early(End::Fault(fault));
                current.group.recycle(&mut pool);
            }
        }
        call_helpers(grid, &mut help, started);
    }
    if grid.stop.load(Ordering::Acquire) {
        // The group that ran last is at the back.
        let mut spot = grid.spot.lock();
        if spot.is_none() {
            *spot = begun.iter().rev().find_map(|b| b.group.spot(env.program));
        }
        let mut waits = grid.waits.lock();
        begun.iter().for_each(|b| b.group.add_waits(env, &mut waits));
    }
    crate::jit::tell(&mut cx);
    if let Some(watch) = &mut cx.watch {
        watch.finish();
    }
    let mut totals = grid.totals.lock();
    totals.warp_instructions += cx.warp_instructions;
    totals.thread_instructions += cx.thread_instructions;
    for (sum, n) in totals.counters.iter_mut().zip(cx.counters) {
        *sum += n;
    }
}

/// Calls as many helpers as are worth it; once all are called, `help` is none.
///
/// Work that takes one thread `t` takes `n` helpers `t / (n + 1)` and calling them: the sum is least where
/// `n + 1` is the root of what is left over what calling one costs.
fn call_helpers(grid: &Grid<'_>, help: &mut Option<&mut workers::Help<'_>>, started: Instant) {
    let Some(helpers) = help else { return };
    let elapsed = started.elapsed();
    if elapsed <= HELP_AFTER || !grid.unstarted() {
        return;
    }
    let finished = grid.finished.load(Ordering::Relaxed);
    let wanted = match finished {
        // Nothing tells how long a group takes.
        0 => usize::MAX,
        _ => {
            let left = grid.groups.saturating_sub(grid.next.load(Ordering::Relaxed)) as f64;
            let spent = elapsed.as_secs_f64() * (helpers.called() + 1) as f64;
            let rest = left * spent / finished as f64;
            // One thread is there.
            ((rest / HELP_COST.as_secs_f64()).sqrt() as usize).saturating_sub(1)
        }
    };
    helpers.call(wanted);
    if helpers.all_called() {
        *help = None;
    }
}

/// Calls helpers before anything is run, where the launch before tells that they are worth it. Threads that look for work cost
/// next to nothing.
fn call_at_once(grid: &Grid<'_>, help: &mut Option<&mut workers::Help<'_>>) {
    let (Some(helpers), Some(pace)) = (&mut *help, grid.pace) else { return };
    let time = pace.nanoseconds(grid.groups);
    let worth = |cost: Duration| (time / cost.as_nanos() as f64).sqrt() as usize;
    let asleep = match time > HELP_AFTER.as_nanos() as f64 {
        true => worth(HELP_COST),
        false => 0,
    };
    let awake = worth(LOOKING_COST).min(workers::looking() + 1);
    helpers.call(asleep.max(awake).saturating_sub(1));
    if helpers.all_called() {
        *help = None;
    }
}

/// Blocks of a cluster.
fn cluster_size(env: &Env<'_>) -> u64 {
    env.config.cluster.iter().map(|&n| n.max(1) as u64).product()
}

/// Whether an observer follows in which order threads synchronise, and they do: then the order of its events must be
/// that of the accesses, which it is on one worker only, as an event comes before its access.
fn order_is_watched(env: &Env<'_>) -> bool {
    let Some(observer) = env.observer else { return false };
    if !observer.interest().contains(Interest::FENCES) {
        return false;
    }
    may_poll(env.program)
}

/// Whether threads may look at what others do.
fn may_poll(program: &Program) -> bool {
    program.insts().any(|i| match &i.attr {
        Attr::Mem(mem) => mem.sem != Sem::Weak,
        Attr::Atom { .. } => true,
        _ => false,
    })
}

/// Runs a grid to its end.
pub fn run(env: &Env<'_>, cancel: &AtomicBool) -> Result<Totals, LaunchFailure> {
    let config = env.config;
    let cluster = cluster_size(env);
    let blocks: u64 = config.grid.iter().map(|&n| n as u64).product();
    let resident = env.machine.sm_count.max(1) as u64 * env.machine.blocks_per_sm.max(1) as u64;
    let threads = match (config.seed, config.threads) {
        (Some(_), _) => 1,
        _ if order_is_watched(env) => 1,
        (None, 0) => workers::cores(),
        (None, n) => n,
    };
    let grid = Grid {
        env,
        cancel,
        groups: blocks / cluster,
        next: AtomicU64::new(0),
        returned: Mutex::new(Vec::new()),
        returns: AtomicU64::new(0),
        threads: threads as u64,
        finished: AtomicU64::new(0),
        resident: AtomicU64::new(0),
        limit: (resident / cluster).max(1),
        progress: AtomicU64::new(0),
        stop: AtomicBool::new(false),
        end: Mutex::new(None),
        spot: Mutex::new(None),
        waits: Mutex::default(),
        closed: Mutex::default(),
        told: AtomicBool::new(false),
        totals: Mutex::new(Totals::default()),
        // What the compiler took is no time of the kernel's.
        deadline: config.timeout.map(|t| (Instant::now() + t, t)),
        pace: env.program.kernels.pace().filter(|_| env.jit.get().is_some()).map(Pace),
    };
    let started = Instant::now();
    let task = || {
        if grid.unstarted() && !grid.stop.load(Ordering::Acquire) {
            work(&grid, None);
        }
    };
    let most = threads.saturating_sub(1);
    let mut helped = 0;
    workers::with_help(most, &task, |help| {
        work(&grid, (most > 0).then_some(&mut *help));
        helped = help.called();
    });
    let (end, spot) = (grid.end.lock().take(), grid.spot.lock().take());
    match end {
        Some(End::Fault(fault)) => Err(LaunchFailure::Fault(fault)),
        Some(End::Timeout(after)) => {
            let who = grid.waits.lock().who();
            Err(LaunchFailure::Fault(grid.fault(FaultKind::Timeout { after, who }, spot)))
        }
        Some(End::Cancelled) => {
            let kernel = env.program.name().to_owned();
            Err(LaunchFailure::Cancelled { kernel, spot: spot.map(Box::new) })
        }
        None => {
            if env.jit.get().is_some() {
                let spent = started.elapsed().as_nanos() as f64 * (helped + 1) as f64;
                env.program.kernels.keep_pace(spent / grid.groups.max(1) as f64);
            }
            Ok(*grid.totals.lock())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::permute;

    #[test]
    fn a_seed_permutes_every_block_once() {
        for n in [1u64, 2, 7, 12, 1000] {
            for seed in 0..20 {
                let mut seen: Vec<u64> = (0..n).map(|i| permute(i, n, seed)).collect();
                seen.sort_unstable();
                assert_eq!(seen, (0..n).collect::<Vec<_>>());
            }
        }
    }
}
