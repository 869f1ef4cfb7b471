// SPDX-License-Identifier: MIT OR Apache-2.0
//! synccheck: barriers that not all reach, and member masks that do not fit.
//!
//! CUDA C++ Programming Guide, "Synchronization Functions": `__syncthreads()` may stand in
//! conditional code only if the condition is the same in the whole block; each lane of a `.sync` op
//! must be in its own member mask, and all lanes that the mask names must execute the op with that mask.

use std::collections::{BTreeMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use margay_exec::fault::{BarrierMisuse, FaultKind};
use margay_exec::launch::LaunchFailure;
use margay_exec::observe::{
    AccessEvent, BarrierEvent, BarrierRound, BlockEvent, EventPlace, Interest, MbarrierEvent,
    Observer, WarpSyncEvent, Watch,
};
use margay_exec::program::Program;
use margay_ir::{Attr, BarKind, Space};
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::finding::{Actor, Check, Finding, Severity, Source};
use super::mbarrier::{Mbarriers, is_part};
use super::view::View;
use crate::words::Words;

/// Watches one launch.
pub struct SyncObserver<'a> {
    pub(super) view: View<'a>,
    pub(super) facts: Arc<Facts>,
    /// What the program's mbarriers hold, if it has any.
    pub(super) mbarriers: Option<Mutex<Mbarriers>>,
}

/// What a program's code says of its barriers.
#[derive(Default)]
pub struct Facts {
    /// Line and column of the barriers, by their addresses in the code; of those without, the address.
    sites: FxHashMap<u32, (u32, u32)>,
    /// By address in the code, whether it is a barrier that all threads of a block reach together.
    aligned: Vec<bool>,
    /// Threads may arrive at a barrier and go on.
    arrives: bool,
    has_mbarriers: bool,
    /// Addresses in the code of accesses that operations on mbarriers are made of.
    pub(super) parts_of: HashSet<u32>,
}

impl Facts {
    pub fn of(program: &Program) -> Facts {
        let mut found = Facts::default();
        for pc in 0..program.code_len() {
            found.aligned.push(false);
            let Some(inst) = program.inst(pc) else { continue };
            match &inst.attr {
                Attr::Barrier { kind, aligned, .. } => {
                    let source = Source::from(program.place(pc));
                    let own = (u32::MAX, pc);
                    let place = if source.line == 0 { own } else { (source.line, source.column) };
                    found.sites.insert(pc, place);
                    found.aligned[pc as usize] = *aligned;
                    found.arrives |= *kind == BarKind::Arrive;
                }
                Attr::Mbarrier { .. } => found.has_mbarriers = true,
                attr if is_part(attr) => _ = found.parts_of.insert(pc),
                _ => {}
            }
        }
        found
    }
}

/// Lanes by a barrier's line and column, and the warp.
type Regulars = FxHashMap<(u32, u32, u32), u32>;

/// A round of a barrier that waits for the whole block.
struct Round {
    first: EventPlace,
    warps: BTreeMap<u32, Arrival>,
}

/// The lanes of a warp that have arrived.
struct Arrival {
    at: EventPlace,
    mask: u32,
    /// Lanes that had not exited when the first arrived,
    alive: u32,
    /// and those that touched memory since, and did not arrive before they did.
    busy: u32,
}

impl<'a> SyncObserver<'a> {
    pub fn new(view: View<'a>) -> SyncObserver<'a> {
        let facts = view.known.sync(view.program);
        SyncObserver { mbarriers: facts.has_mbarriers.then(Mutex::default), facts, view }
    }

    pub(super) fn actor(&self, action: &str, at: EventPlace, lane: u32) -> Actor {
        Actor {
            action: action.to_owned(),
            block: at.ctaid,
            thread: Some(self.view.tid(at.warp as u16, lane as u8)),
            host: false,
            source: self.view.source(at.pc),
        }
    }

    pub(super) fn report(&self, code: &str, message: String, cure: &str, actors: Vec<Actor>) {
        self.tell(Severity::Error, code, message, cure, actors);
    }

    fn tell(
        &self,
        severity: Severity,
        code: &str,
        message: String,
        cure: &str,
        actors: Vec<Actor>,
    ) {
        let finding = Finding {
            check: Check::Sync,
            severity,
            code: code.to_owned(),
            kernel: self.view.kernel().to_owned(),
            message,
            cure: cure.to_owned(),
            space: None,
            address: None,
            bytes: None,
            object: None,
            words: self.view.words,
            actors,
            count: 1,
        };
        self.view.sink.add(finding, None);
    }

    /// Whether a barrier is one at which all threads of the block are to meet.
    fn is_for_all(&self, pc: u32) -> bool {
        self.facts.aligned.get(pc as usize).copied().unwrap_or(false)
    }

    /// Whether two barriers are one in the source: the compiler may have copied it.
    fn same_barrier(&self, a: EventPlace, b: EventPlace) -> bool {
        if a.pc == b.pc {
            return true;
        }
        let (x, y) = (self.view.source(a.pc), self.view.source(b.pc));
        x.line != 0 && (x.line, x.column, &x.file) == (y.line, y.column, &y.file)
    }

    fn divergent(&self, arrival: &Arrival, passed: u32) {
        let (name, words) = (self.barrier_name(), self.view.words);
        let message = format!(
            "{} of a {}'s {} running {} reach {name}, while {} others go past it",
            arrival.mask.count_ones(),
            words.say("warp", "sub-group"),
            arrival.alive.count_ones(),
            words.say("threads", "work-items"),
            passed.count_ones(),
        );
        let cure = words.say(
            "move the barrier out of the condition, or make the condition the same for the whole block",
            "move the barrier out of the condition, or make the condition the same for the whole work-group",
        );
        let here = self.actor("barrier", arrival.at, lowest(arrival.mask));
        self.report("sync/divergent-barrier", message, cure, vec![here]);
    }

    fn barrier_name(&self) -> &'static str {
        self.view.words.say("__syncthreads()", "barrier()")
    }
}

impl Observer for SyncObserver<'_> {
    fn interest(&self) -> Interest {
        let events = Interest::BARRIERS | Interest::WARP_SYNCS | Interest::BLOCKS;
        events | Interest::ACCESSES | Interest::DEADLOCKS
    }

    /// Code runs no lanes while others of their warp wait at a barrier, unless they only arrive there.
    fn compiled(&self) -> Interest {
        match self.facts.arrives || self.mbarriers.is_some() {
            true => self.interest() - Interest::DEADLOCKS,
            false => self.interest() - Interest::DEADLOCKS - Interest::ACCESSES,
        }
    }

    /// mbarriers are in shared memory.
    fn is_quiet(&self, _memory: Range<u64>) -> bool {
        !self.facts.arrives
    }

    fn worker(&self) -> Box<dyn Watch + '_> {
        let (rounds, regulars, parts, arrived, awaited, whole) = Default::default();
        Box::new(SyncWatch { all: self, rounds, regulars, parts, arrived, awaited, whole })
    }
}

/// Watches a worker. A block is one worker's.
struct SyncWatch<'w, 'a> {
    all: &'w SyncObserver<'a>,
    /// Open rounds of the barriers, by block and number.
    rounds: FxHashMap<u32, FxHashMap<u32, Round>>,
    /// Lanes that waited at a barrier of the source before, by block, its line and column, and warp.
    regulars: FxHashMap<u32, Regulars>,
    /// Some warp has arrived at a barrier in parts.
    parts: bool,
    /// Lanes of each warp of a block that have arrived at the cluster's barrier and not waited there since.
    arrived: FxHashMap<(u32, u32), u32>,
    /// By block, warp, and op with a member mask: lanes that others have waited for there.
    awaited: FxHashMap<(u32, u32, u32), Awaited>,
    whole: Whole,
}

/// Lanes that others wait for at an op with a member mask.
#[derive(Default)]
struct Awaited {
    lanes: u32,
    /// Those of them that have executed another such op since.
    strayed: u32,
}

/// Warps of the block that began last that came whole to its barriers, with all others that came: addresses, and warps.
/// Nothing is wrong with that. Whoever tells of rounds tells of a block's to its end, or not any more: then all this is noted.
#[derive(Default)]
struct Whole {
    block: u32,
    list: SmallVec<[(u32, u32); 4]>,
}

impl Whole {
    fn add(&mut self, pc: u32, there: u32) {
        match self.list.iter_mut().find(|(site, _)| *site == pc) {
            Some((_, warps)) => *warps |= there,
            None => self.list.push((pc, there)),
        }
    }
}

impl SyncWatch<'_, '_> {
    /// Notes what came whole: from now on barriers of the block are told one by one, or it is another's turn.
    fn note_whole(&mut self) {
        if self.whole.list.is_empty() {
            return;
        }
        let own = self.regulars.entry(self.whole.block).or_default();
        for (pc, warps) in self.whole.list.drain(..) {
            let Some(&(line, column)) = self.all.facts.sites.get(&pc) else { continue };
            for warp in (0..32).filter(|warp| warps >> warp & 1 != 0) {
                *own.entry((line, column, warp)).or_default() = u32::MAX;
            }
        }
    }

    /// Some lanes have ended that waited at this barrier in an earlier round: before the others of their warp came
    /// to it again, or while those waited. Who ends before the first barrier is another matter, and usual.
    fn left(&mut self, block: u32, arrival: &Arrival) {
        let all = self.all;
        let Some(&(line, column)) = all.facts.sites.get(&arrival.at.pc) else { return };
        let key = (line, column, arrival.at.warp);
        let before = self.regulars.entry(block).or_default().entry(key).or_default();
        // The barrier is open: those that have not arrived have gone past it, or ended.
        let gone = *before & !arrival.mask & !(arrival.alive & arrival.busy);
        *before |= arrival.mask;
        if gone != 0 {
            let (name, words) = (all.barrier_name(), all.view.words);
            let message = format!(
                "{} {} have ended that waited at this {name} before, while {} wait at it again",
                gone.count_ones(),
                words.say("threads of a warp", "work-items of a sub-group"),
                arrival.mask.count_ones(),
            );
            let cure = words.say(
                "let all threads of the block take part in every round of the barrier",
                "let all work-items of the work-group take part in every round of the barrier",
            );
            let here = all.actor("barrier", arrival.at, lowest(arrival.mask));
            all.report("sync/divergent-barrier", message, cure, vec![here]);
        }
    }

    /// Every thread arrives at a cluster's barrier and then waits there, in turns (PTX ISA, "barrier.cluster").
    fn cluster_barrier(&mut self, event: &BarrierEvent) {
        let all = self.all;
        let key = (all.view.linear(event.at.ctaid), event.at.warp);
        let own = self.arrived.entry(key).or_default();
        let (arrives, waits) = match event.kind {
            BarKind::Arrive => (true, false),
            BarKind::Wait => (false, true),
            BarKind::Sync | BarKind::RedPopc | BarKind::RedAnd | BarKind::RedOr => (true, true),
        };
        let wrong = match arrives {
            true => event.mask & *own,
            false => event.mask & !*own,
        };
        *own = if waits { *own & !event.mask } else { *own | event.mask };
        if wrong == 0 {
            return;
        }
        let (message, cure) = match arrives {
            true => (
                "a thread arrives at the cluster's barrier again, and has not waited there since it did",
                "wait (barrier_wait, barrier.cluster.wait) before the next arrival",
            ),
            false => (
                "a thread waits at the cluster's barrier, and has not arrived there",
                "arrive (barrier_arrive, barrier.cluster.arrive) before the wait, in every thread that waits",
            ),
        };
        let here = all.actor("barrier", event.at, lowest(wrong));
        all.report("sync/cluster-barrier", message.to_owned(), cure, vec![here]);
    }

    /// A lane, and one that it names, execute an op together by different masks.
    fn other_mask(&self, event: &WarpSyncEvent<'_>, (lane, other): (u32, u32)) {
        let all = self.all;
        let [own, others] = [lane, other].map(|l| event.named[l as usize & 31]);
        let message = format!(
            "the mask {own:#010x} names lane {other}, which executes the operation with another mask, {others:#010x}"
        );
        let cure = "let all threads that a mask names pass the same: compute it by __ballot_sync, or by \
                    __match_any_sync for groups";
        let actors = [lane, other].map(|l| all.actor("sync", event.place(l), l));
        all.report("sync/mask", message, cure, actors.to_vec());
    }

    /// Lanes that a mask names and that are not there come yet, or exit: such an op waits only for those that have not exited (PTX
    /// ISA, "shfl.sync", "vote.sync", "match.sync"). Who is waited for, executes another one, and then exits, would have been too late
    /// by the guide, which has all that are named execute it: a warning, as it may be meant so, and as it depends on who comes first.
    fn absent(&mut self, event: &WarpSyncEvent<'_>) {
        let all = self.all;
        let lane = lowest(event.mask);
        let block = all.view.linear(event.at.ctaid);
        let key = (block, event.at.warp, event.at.pc);
        for (&(of, warp, pc), awaited) in &mut self.awaited {
            if (of, warp) == (block, event.at.warp) && pc != event.at.pc {
                awaited.strayed |= awaited.lanes & event.mask;
            }
        }
        let named = event.named[lane as usize];
        let missing = named & event.alive & !event.mask;
        if missing != 0 {
            self.awaited.entry(key).or_default().lanes |= missing;
            return;
        }
        let Some(awaited) = self.awaited.remove(&key) else { return };
        let passed = named & awaited.strayed & !event.alive;
        if passed == 0 {
            return;
        }
        let message = format!(
            "the mask {named:#010x} names lanes {passed:#010x}, whose threads executed another operation instead, and \
             exited"
        );
        let cure = "let the threads execute the operation, with the same mask, before they exit, or leave \
                    them out of the mask";
        let actors = vec![all.actor("sync", event.at, lane)];
        all.tell(Severity::Warning, "sync/exited", message, cure, actors);
    }
}

/// The lowest lane of a mask.
fn lowest(mask: u32) -> u32 {
    mask.trailing_zeros() & 31
}

impl Watch for SyncWatch<'_, '_> {
    fn is_settled(&mut self, _ctaid: [u32; 3], _warp: u32) -> bool {
        !self.all.facts.arrives
    }

    /// Lanes that do something else while others of their warp wait are no early leavers.
    fn access(&mut self, event: &AccessEvent<'_>) {
        if event.space == Space::Shared {
            self.all.mbarrier_access(event);
        }
        if !self.parts {
            return;
        }
        let block = self.all.view.linear(event.at.ctaid);
        let Some(open) = self.rounds.get_mut(&block) else { return };
        for round in open.values_mut() {
            if let Some(arrival) = round.warps.get_mut(&event.at.warp) {
                arrival.busy |= event.mask & !arrival.mask;
            }
        }
    }

    fn barrier(&mut self, event: &BarrierEvent) {
        let all = self.all;
        let Some(id) = event.id else { return self.cluster_barrier(event) };
        if !all.is_for_all(event.at.pc) || event.count.is_some() {
            return;
        }
        let block = all.view.linear(event.at.ctaid);
        if block == self.whole.block {
            self.note_whole();
        }
        let new = || Round { first: event.at, warps: BTreeMap::new() };
        let round = self.rounds.entry(block).or_default().entry(id).or_insert_with(new);
        let first = round.first;
        let new = || Arrival { at: event.at, mask: 0, alive: event.alive, busy: 0 };
        let arrival = round.warps.entry(event.at.warp).or_insert_with(new);
        arrival.mask |= event.mask;
        if arrival.mask != arrival.alive {
            self.parts = true;
        }
        if !all.same_barrier(first, event.at) {
            let name = all.barrier_name();
            let words = all.view.words;
            let message = format!(
                "{} wait at two different {name}s together",
                words.say("threads of a block", "work-items of a work-group")
            );
            let cure = words.say(
                "let all threads of the block reach the same barrier",
                "let all work-items of the work-group reach the same barrier",
            );
            let here = all.actor("barrier", event.at, lowest(event.mask));
            let actors = vec![here, all.actor("barrier", first, 0)];
            all.report("sync/different-barriers", message, cure, actors);
        }
    }

    /// Who was on the way has arrived now, or has left.
    fn barrier_opens(&mut self, ctaid: [u32; 3], id: u32) {
        let all = self.all;
        let block = all.view.linear(ctaid);
        let open = self.rounds.get_mut(&block);
        let Some(round) = open.and_then(|open| open.remove(&id)) else { return };
        for arrival in round.warps.values() {
            self.left(block, arrival);
            let passed = arrival.alive & !arrival.mask & arrival.busy;
            if passed != 0 {
                all.divergent(arrival, passed);
            }
        }
    }

    fn barrier_round(&mut self, round: &BarrierRound) {
        if self.whole.block == self.all.view.linear(round.at.ctaid) {
            if self.all.is_for_all(round.at.pc) {
                self.whole.add(round.at.pc, round.there);
            }
            return;
        }
        round.arrivals().for_each(|arrival| self.barrier(&arrival));
        self.barrier_opens(round.at.ctaid, round.id);
    }

    fn block_begins(&mut self, block: &BlockEvent) {
        self.note_whole();
        self.whole.block = self.all.view.linear(block.ctaid);
    }

    fn block_ends(&mut self, block: &BlockEvent) {
        let id = self.all.view.linear(block.ctaid);
        if id == self.whole.block {
            self.whole.list.clear();
        }
        self.rounds.remove(&id);
        self.regulars.remove(&id);
        if let Some(mbarriers) = &self.all.mbarriers {
            mbarriers.lock().block_ends(id);
        }
        self.arrived.retain(|(of, _), _| *of != id);
        self.awaited.retain(|(of, ..), _| *of != id);
    }

    fn mbarrier(&mut self, event: &MbarrierEvent<'_>) {
        self.all.mbarrier(event);
    }

    fn warp_sync(&mut self, event: &WarpSyncEvent<'_>) {
        let all = self.all;
        for lane in lanes(event.mask) {
            let named = event.named[lane as usize];
            if named >> lane & 1 == 0 {
                let message = format!(
                    "thread executes a warp-wide operation with the mask {named:#010x}, which does not \
                     have its own lane {lane}"
                );
                let cure = "compute the mask before the condition, by __ballot_sync, or use \
                            __activemask()'s lanes on purpose";
                all.report(
                    "sync/mask",
                    message,
                    cure,
                    vec![all.actor("sync", event.place(lane), lane)],
                );
                return;
            }
        }
        // Before, masks only say who is there.
        if all.view.sm < 70 {
            return;
        }
        match other_mask(event) {
            Some(pair) => self.other_mask(event, pair),
            // Where lanes come from several places each was told of when it came, and nobody waits for it any more.
            None if event.places.is_some() => {
                let (block, warp) = (all.view.linear(event.at.ctaid), event.at.warp);
                for lane in lanes(event.mask) {
                    self.awaited.remove(&(block, warp, event.place(lane).pc));
                }
            }
            None => self.absent(event),
        }
    }
}

/// Lanes of a mask, lowest first.
pub(super) fn lanes(mask: u32) -> impl Iterator<Item = u32> {
    (0..32).filter(move |lane| mask >> lane & 1 != 0)
}

/// A lane, and one that its mask names and that executes the op together with it by another mask. What the masks say of threads
/// that have exited, or never were, does not matter.
fn other_mask(event: &WarpSyncEvent<'_>) -> Option<(u32, u32)> {
    let named = |lane: u32| event.named[lane as usize & 31] & event.alive;
    let first = named(lowest(event.mask));
    if lanes(event.mask).all(|lane| named(lane) == first) {
        return None;
    }
    lanes(event.mask).find_map(|lane| {
        let own = named(lane);
        lanes(event.mask & own).find(|other| named(*other) != own).map(|other| (lane, other))
    })
}

/// The finding for a launch that ended by an error of synchronisation.
pub fn failure(failure: &LaunchFailure, words: Words) -> Option<Finding> {
    let LaunchFailure::Fault(fault) = failure else { return None };
    let (code, action, message, cure) = match &fault.kind {
        FaultKind::Deadlock { who, spins: true } => (
            "sync/deadlock",
            "wait",
            format!("deadlock: {who}"),
            words.say(
                "let somebody write what they wait for who is sure to come there: resident, not waiting for them, and before 7.0 \
                 not of their own warp",
                "let somebody write what they wait for who is sure to come there: a work-group that runs with theirs, and does not \
                 wait for them",
            ),
        ),
        FaultKind::Deadlock { who, spins: false } => (
            "sync/deadlock",
            "barrier",
            format!("deadlock: {who}"),
            words.say(
                "let every thread that a barrier counts reach it, and no block wait for one that is not resident",
                "let every work-item of a work-group reach its barriers, and no work-group wait for one that is not \
                 resident",
            ),
        ),
        FaultKind::Timeout { .. } => (
            "sync/timeout",
            "still here",
            fault.kind.to_string(),
            "look at what they wait for: who should write it, or come to the barrier? If they only compute, raise --timeout",
        ),
        FaultKind::Barrier(misuse) => {
            let cure = match misuse {
                BarrierMisuse::Number(_) => "name one of the barriers 0 to 15",
                BarrierMisuse::Count(_) => "count whole warps: a multiple of 32 threads",
                BarrierMisuse::Counts { .. } => {
                    "give every thread that comes to the barrier the same number of threads"
                }
            };
            ("sync/barrier-count", "barrier", misuse.to_string(), cure)
        }
        FaultKind::IllegalAddress { .. }
        | FaultKind::InvalidFree { .. }
        | FaultKind::Misaligned { .. }
        | FaultKind::InvalidAddressSpace { .. }
        | FaultKind::InvalidPc { .. }
        | FaultKind::IllegalInstruction { .. }
        | FaultKind::Trap
        | FaultKind::Assert { .. }
        | FaultKind::StackOverflow { .. } => return None,
    };
    Some(Finding {
        check: Check::Sync,
        severity: Severity::Error,
        code: code.to_owned(),
        kernel: fault.kernel.clone(),
        message,
        cure: cure.to_owned(),
        space: None,
        address: None,
        bytes: None,
        object: None,
        words,
        actors: vec![Actor {
            action: action.to_owned(),
            block: fault.block,
            thread: Some(fault.thread),
            host: false,
            source: fault.place.clone().into(),
        }],
        count: 1,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is wrong where lanes with these masks, in ranges of lanes, execute an op together.
    fn wrong(masks: &[(Range<u32>, u32)], alive: u32) -> Option<(u32, u32)> {
        let mut named = [0; 32];
        let mut mask = 0;
        for (range, of) in masks {
            for lane in range.clone() {
                named[lane as usize] = *of;
                mask |= 1 << lane;
            }
        }
        let at = EventPlace { ctaid: [0; 3], warp: 0, pc: 0, smid: 0 };
        let mask = mask & alive;
        other_mask(&WarpSyncEvent { at, mask, alive, named: &named, places: None })
    }

    #[test]
    fn lanes_that_name_each_other_name_the_same() {
        let (low, high, all) = (0xffff, 0xffff_0000, u32::MAX);
        assert_eq!(wrong(&[(0..32, all)], all), None);
        assert_eq!(wrong(&[(0..16, all), (16..32, high)], all), Some((0, 16)));
        // Groups of their own.
        assert_eq!(wrong(&[(0..16, low), (16..32, high)], all), None);
        // Threads that have exited may be named by some.
        assert_eq!(wrong(&[(0..8, all), (8..16, low)], low), None);
        // Others that are not there yet may not.
        assert_eq!(wrong(&[(0..8, all), (8..16, low)], all), Some((0, 8)));
    }
}
