// SPDX-License-Identifier: MIT OR Apache-2.0
//! A block that the interpreter runs without leaving a trace, to see what it does.

use margay_ir::Space;
use parking_lot::Mutex;
use smallvec::SmallVec;

use super::Plan;
use super::kind::{Moves, STILL};
use super::lines::Lines;
use super::steps::{Bound, Multiple, Record, Span};
use crate::block::{Group, Progress};
use crate::buffer::Pool;
use crate::interp::{COUNTERS, Cx, Env};
use crate::lanes::{WARP, active};
use crate::observe::{AccessEvent, EventPlace, GroupedEvent, Interest, Observer, Rehearsal, Watch};

/// Warp instructions of a block that is rehearsed, at most.
const MOST: u64 = 4_000_000;
/// Of these between two looks at that.
const SLICE: u64 = 500_000;

/// What a block did, and what others must be to do the same.
pub struct Rehearsed<'a> {
    pub watch: Box<dyn Rehearsal + Send + 'a>,
    pub bounds: Vec<Bound>,
    pub multiples: Vec<Multiple>,
    pub lines: Vec<Lines>,
    pub counters: [u64; COUNTERS],
    /// Warp instructions that it took.
    pub spent: u64,
    /// Accesses that it tells of others.
    pub told: u64,
}

/// What has been seen so far.
struct Seen<'a> {
    watch: Box<dyn Rehearsal + Send + 'a>,
    /// By step of the plan.
    records: Vec<Record>,
    /// By instruction: what an access touches of global memory.
    places: Vec<Touched>,
    lines: Vec<Lines>,
    /// The observer's.
    period: i64,
    is_free: bool,
    /// An access goes another way than its block's number tells.
    odd: bool,
    told: u64,
}

/// What the accesses of an instruction touch.
#[derive(Clone)]
struct Touched {
    bytes: Span,
    /// Addresses of accesses by lanes at one address, each once, and that there were others.
    points: Vec<u64>,
    apart: bool,
}

/// Bytes that caches know of as one.
const SECTOR: u64 = 32;
/// Different addresses of an instruction that are kept, at most.
const POINTS: usize = 64;

impl Touched {
    const NOTHING: Touched = Touched { bytes: Span::NONE, points: Vec::new(), apart: false };
}

/// Sees what the block does and tells the launch's observer.
struct Stage<'s, 'a> {
    plan: &'s Plan,
    observer: &'a dyn Observer,
    seen: Mutex<Seen<'a>>,
}

struct Seat<'w, 's, 'a>(&'w Stage<'s, 'a>);

impl Observer for Stage<'_, '_> {
    fn interest(&self) -> Interest {
        // Choices come with runs.
        self.observer.interest() | Interest::RUNS | Interest::CHOICES | Interest::OPERANDS
    }

    fn choices(&self) -> &[bool] {
        &self.plan.asked
    }

    fn worker(&self) -> Box<dyn Watch + '_> {
        Box::new(Seat(self))
    }
}

impl Seen<'_> {
    /// Notes what lanes of an instruction touch: bytes from addresses on.
    fn touch(&mut self, moves: Moves, pc: u32, space: Space, all: &[(u64, u32)]) {
        self.told += 1;
        match space {
            Space::Global => {}
            _ if moves == STILL => return,
            // By a generic address.
            _ => return self.odd = true,
        }
        let place = &mut self.places[pc as usize];
        let ends = all.iter().fold((u64::MAX, 0), |(low, high), &(at, bytes)| {
            (at.min(low), at.saturating_add(u64::from(bytes) - 1).max(high))
        });
        place.bytes.add(i128::from(ends.0));
        place.bytes.add(i128::from(ends.1));
        let same = all.iter().all(|one| *one == all[0]) && ends.0 / SECTOR == ends.1 / SECTOR;
        // What lanes do together at one address costs the same wherever it is.
        let together = together(moves, self.period);
        let free = same && self.is_free && !together && !place.apart;
        if free && place.points.last() == Some(&ends.0) {
            return;
        }
        if free && place.points.len() < POINTS {
            return place.points.push(ends.0);
        }
        let lines = lines_of(&mut self.lines, moves);
        if !together && !place.apart {
            place.apart = true;
            place.points.drain(..).for_each(|address| lines.add(address, 1));
        }
        all.iter().for_each(|&(address, bytes)| lines.add(address, bytes));
    }
}

/// Whether what moves so stays at its place in what costs depend on.
fn together(moves: Moves, period: i64) -> bool {
    moves.iter().all(|n| n % period == 0)
}

/// The lines that move so.
fn lines_of(all: &mut Vec<Lines>, moves: Moves) -> &mut Lines {
    let at = all.iter().position(|of| of.moves == moves).unwrap_or_else(|| {
        all.push(Lines::new(moves));
        all.len() - 1
    });
    &mut all[at]
}

impl Watch for Seat<'_, '_, '_> {
    fn access(&mut self, e: &AccessEvent<'_>) {
        let Some(moves) = self.0.plan.places[e.at.pc as usize] else { return };
        let seen = &mut *self.0.seen.lock();
        let lanes = active(e.mask).map(|lane| (e.addresses[lane], e.bytes));
        let all: SmallVec<[(u64, u32); WARP]> = lanes.collect();
        seen.touch(moves, e.at.pc, e.space, &all);
        seen.watch.access(e);
    }

    fn grouped(&mut self, e: &GroupedEvent) {
        let Some(moves) = self.0.plan.places[e.at.pc as usize] else { return };
        let seen = &mut *self.0.seen.lock();
        let all: [(u64, u32); 4] = std::array::from_fn(|group| {
            let lanes = if e.consecutive >> group & 1 != 0 { 8 } else { 1 };
            (e.starts[group], lanes * e.bytes)
        });
        seen.touch(moves, e.at.pc, e.space, &all);
        seen.watch.grouped(e);
    }

    fn run(&mut self, at: EventPlace, end: u32, mask: u32) {
        // Else the code of each block counts these, and branches.
        if self.0.plan.whole {
            self.0.seen.lock().watch.run(at, end, mask);
        }
    }

    fn branch(&mut self, at: EventPlace, active: u32, taken: u32) {
        if self.0.plan.whole {
            self.0.seen.lock().watch.branch(at, active, taken);
        }
    }

    fn operands(&mut self, pc: u32, mask: u32, operands: &[[u64; WARP]; 3]) {
        let plan = self.0.plan;
        let Some(step) = plan.step_at(pc) else { return };
        self.0.seen.lock().records[step].note(&plan.steps[step].1, mask, operands);
    }
}

/// Runs a block of the launch. If no other can be told by it: why.
pub fn rehearse<'a>(
    env: &Env<'a>,
    plan: &Plan,
    observer: &'a dyn Observer,
    block: [u32; 3],
) -> Result<Rehearsed<'a>, &'static str> {
    let watch = observer.rehearsal().ok_or("it is not to be rehearsed")?;
    let (period, is_free) = (watch.period() as i64, watch.is_free());
    let seen = Seen {
        watch,
        period,
        is_free,
        records: vec![Record::NONE; plan.steps.len()],
        places: vec![Touched::NOTHING; env.program.code.len()],
        lines: Vec::new(),
        odd: false,
        told: 0,
    };
    let stage = Stage { plan, observer, seen: Mutex::new(seen) };
    let (counters, spent) = run(env, &stage, block)?;
    let Seen { mut watch, records, mut places, mut lines, odd, told, .. } = stage.seen.into_inner();
    if odd {
        return Err("a generic address that moves is not in global memory");
    }
    let mut asks = (Vec::new(), Vec::new());
    for (record, (_, what)) in records.iter().zip(&plan.steps) {
        record.asks(what, &mut asks).ok_or("a number wraps")?;
    }
    let (mut bounds, mut multiples) = asks;
    for (place, moves) in places.iter_mut().zip(&plan.places) {
        let (bytes, moves) = (place.bytes, moves.unwrap_or(STILL));
        if moves == STILL || bytes.least > bytes.most {
            continue;
        }
        let first = u64::try_from(bytes.least).unwrap_or(0);
        let variable = watch.variable(first);
        let (least, end) = (i128::from(variable.start), i128::from(variable.end));
        if bytes.most >= end {
            return Err("an instruction accesses several variables");
        }
        bounds.push(bytes.within(moves, (least, end - 1)));
        let points = lines_of(&mut lines, moves);
        place.points.drain(..).for_each(|address| points.add_point(address));
        if place.apart || together(moves, period) {
            multiples.push(Multiple { moves, of: period });
        }
    }
    bounds.sort_unstable_by_key(|b| (b.moves, b.least, b.most));
    bounds.dedup();
    multiples.sort_unstable_by_key(|m| (m.moves, m.of));
    multiples.dedup();
    if !lines.iter_mut().all(Lines::settle) {
        return Err("it touches too many lines");
    }
    Ok(Rehearsed { watch, bounds, multiples, lines, counters, spent, told })
}

/// Runs it under the observer's eyes; how often each kind of access was made, and how many warp instructions it took.
fn run(
    env: &Env<'_>,
    stage: &Stage<'_, '_>,
    block: [u32; 3],
) -> Result<([u64; COUNTERS], u64), &'static str> {
    let env = env.under(stage);
    let mut cx = Cx::new(&env);
    cx.rehearses = true;
    let mut pool = Pool::default();
    let mut group = Group::new(&cx, &[block], 0, &mut pool);
    loop {
        match group.run(&mut cx, &mut pool, SLICE, &|| false) {
            // What comes then depends on how long data let lanes take.
            Ok(Progress::Done) if cx.yielded && !stage.plan.whole => {
                return Err("lanes do not wait for each other");
            }
            Ok(Progress::Done) => return Ok((cx.counters, cx.warp_instructions)),
            Ok(Progress::Busy) if cx.warp_instructions < MOST => {}
            Ok(Progress::Busy) => return Err("it takes too long"),
            Ok(Progress::Spinning | Progress::Asleep(_)) => return Err("it waits"),
            Err(_) => return Err("it fails"),
        }
    }
}
