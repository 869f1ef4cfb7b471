// SPDX-License-Identifier: MIT OR Apache-2.0
//! Watches a launch for races.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use margay_exec::fault::Access;
use margay_exec::mem::AddressSpace;
use margay_exec::observe::{
    AccessEvent, BarrierEvent, BarrierRound, BlockEvent, EventPlace, Interest, NotedAccesses,
    Observer, PatternedEvent, Watch,
};
use margay_exec::reach::Written;
use margay_ir::{Attr, BarKind, BarOrder, Op, Scope, Sem, Space};
use parking_lot::{Mutex, RwLock};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::cluster::Cluster;
use super::facts::{Facts, Role};
use super::ledger::Ledger;
use super::look::{self, Look, Then, by_page, lanes_of};
use super::near::{NearPages, Own};
use super::noted::Sites;
use super::order::{Block, Strong, Thread, Tick, Time};
use super::page::Page;
use super::quick::Quick;
use super::readers::{NO_SET, Readers, Set, TOO_MANY};
use super::report::Pair;
use super::round::{Round, Steps};
use super::seen::{Changes, Seen};
use super::shadow::{self, Cell, Cells, Found, Kind, Mark, PAGE, Shadow, Spare, Width};
use super::stamped::Learns;
use super::state::{State, Used};
use super::table::Effect;
use super::unordered::Looker;
use super::variables::{Open, Variables};
use crate::sanitize::form::{Forms, extent, place};
use crate::sanitize::states::States;
use crate::sanitize::view::View;

/// What a volatile or atomic access is to programs for compute capabilities before 7.0, which have no memory model.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Volatile {
    No,
    /// An atomic: as for a volatile write, see [`Volatile::Data`].
    Atomic,
    /// One side of a flag by which threads synchronise: it races with none of its other side.
    Flag,
    /// A read of it is ordered by a flag that was read before, without a fence between: volatile reads keep their
    /// order. So is a write, if the flag is no lock: nothing is written before it is known that it will be.
    Data,
}

impl Volatile {
    /// Whether a write of it is ordered by a flag that was read before.
    fn follows(self) -> bool {
        matches!(self, Volatile::Atomic | Volatile::Data)
    }
}

/// The owner of words of global memory.
const NO_BLOCK: u32 = u32::MAX;
/// Instructions whose steps a worker finds again without a lock.
const NEAR_SITES: usize = 64;

/// Watches one launch.
pub struct RaceObserver<'a> {
    pub(super) view: View<'a>,
    facts: Arc<Facts>,
    /// From compute capability 7.0 on, lanes of a warp are not ordered by being in one.
    pub(super) independent: bool,
    time: Time,
    shadow: Shadow<'a>,
    /// There was no room for a page.
    pub(super) full: AtomicBool,
    /// When blocks began, of those that did since then.
    begun: RwLock<FxHashMap<u32, Tick>>,
    used: RwLock<FxHashMap<u32, Used>>,
    /// A block of which some thread did not know all that it did to widened marks.
    unknown: AtomicU32,
    variables: Variables,
    /// Whether there are any.
    synchronises: AtomicBool,
    clusters: Mutex<FxHashMap<u32, Cluster>>,
    /// Threads may learn of other blocks: by what they release, or as a cluster. Else nothing of two blocks is ever ordered,
    /// and nobody asks which stamps another one used.
    pub(super) learns: bool,
    /// Which blocks have read what several did, if they may learn of each other.
    readers: RwLock<Readers>,
    /// Whether all of them came before who wrote it was not known of some word.
    unsure: AtomicBool,
    pub(super) reported: Mutex<HashSet<Pair>>,
    pub(super) written: Written,
    pub(super) memory: &'a AddressSpace,
    /// By address of the code, accesses that race with nothing, as their addresses show: see [`margay_exec::alone`].
    alone: Vec<bool>,
    /// Of lines of global memory.
    pub(super) changes: Changes,
    /// A store left the memory that its pointer points into.
    pub(super) strayed: AtomicBool,
    /// How the lanes' addresses lie to each other, by the numbers of instructions of compiled code.
    pub(super) steps: RwLock<FxHashMap<u64, Arc<Steps>>>,
    /// No accesses of shared memory are kept: see [`Round`].
    pub one_by_one: bool,
}

impl<'a> RaceObserver<'a> {
    pub fn new(
        view: View<'a>,
        (written, alone): (Written, Vec<bool>),
        memory: &'a AddressSpace,
        spare: &'a Spare,
    ) -> RaceObserver<'a> {
        let facts = view.known.race(view.program);
        let learns = view.has_clusters() || facts.releases;
        let tell = if learns { Learns::Maybe } else { Learns::Never };
        let ledger = Ledger::new(view.blocks(), view.threads().div_ceil(32), tell);
        RaceObserver {
            alone,
            changes: Changes::default(),
            learns,
            readers: RwLock::default(),
            unsure: AtomicBool::new(false),
            independent: view.sm >= 70,
            view,
            time: Time::default(),
            shadow: Shadow::new(shadow::room(), spare, ledger),
            full: AtomicBool::new(false),
            begun: RwLock::default(),
            used: RwLock::default(),
            unknown: AtomicU32::new(0),
            variables: Variables::default(),
            synchronises: AtomicBool::new(false),
            clusters: Mutex::default(),
            reported: Mutex::default(),
            written,
            memory,
            strayed: AtomicBool::new(false),
            steps: RwLock::default(),
            facts,
            one_by_one: false,
        }
    }

    /// What the barrier at `pc` orders.
    fn order(&self, pc: u32) -> BarOrder {
        self.facts.orders.get(pc as usize).copied().unwrap_or(BarOrder::All)
    }

    /// What is known of a block that begins.
    fn begun(&self, block: u32) -> Box<State> {
        let (threads, shared) = (self.view.threads(), self.view.shared_bytes);
        let bytes = u64::from(shared).next_multiple_of(4);
        let mut round = Round::new(bytes, self.facts.unit, !self.independent);
        round.begin(self.is_open());
        let (apart, learns) = (self.facts.apart, self.learns);
        let state = State::new(block, threads, (shared, round), &self.time, (apart, learns));
        self.shadow.ledger().begin(block, state.past.clone());
        Box::new(state)
    }

    /// Whether other blocks may access a block's shared memory at any time, or it is to be so.
    fn is_open(&self) -> bool {
        self.one_by_one || self.view.has_clusters()
    }

    /// What an access does to shared memory where that is all there is to it: nobody learns anything by it.
    fn effect(&self, state: &State, event: &AccessEvent<'_>) -> Option<Effect> {
        let role = self.facts.roles[event.at.pc as usize]?;
        if self.is_weak(event.at.pc) {
            return match event.access {
                Access::Read => Some(Effect::Read),
                Access::Write => Some(Effect::Write),
                Access::Atomic => None,
            };
        }
        let before_model = !self.independent && role.sem == Sem::Volatile;
        let quiet = !self.synchronises.load(Ordering::Relaxed)
            && !state.clock.any_may_release(event.at.warp as u16, role.sem);
        (event.access != Access::Read && !before_model && quiet).then_some(Effect::Strong)
    }

    /// Whether what `mark` stands for happens before what the looker does now.
    #[inline]
    pub(super) fn ordered(&self, state: &mut State, looker: &Looker, mark: Mark) -> bool {
        let (me, other, width) = (looker.me, mark.thread(), mark.width());
        if other == me && width == Width::Thread {
            return true;
        }
        let near = other.block == me.block;
        if !self.learns && (!near || width == Width::Blocks) {
            return false;
        }
        if near && width < Width::Blocks && mark.stamp <= looker.floor {
            return true;
        }
        if near && width <= Width::Lanes {
            let lockstep = !self.independent && other.warp == me.warp;
            if lockstep || mark.stamp <= state.clock.floor_of(me.warp, other.warp) {
                return true;
            }
        }
        // A lane of the warp itself may know what the others do not.
        let own_warp = near && width == Width::Lanes && other.warp == me.warp;
        let wide = width != Width::Thread && !own_warp;
        if wide
            && looker.uniform
            && state.unordered.is_current(&state.clock, me.warp)
            && state.unordered.has(mark, looker.shared)
        {
            return false;
        }
        let known = self.knows(&state.clock, looker, mark);
        if wide && looker.uniform && !known {
            state.unordered.add(&state.clock, looker, mark);
        }
        known
    }

    pub(super) fn steps_of(&self, site: u64) -> Option<Arc<Steps>> {
        self.steps.read().get(&site).cloned()
    }

    fn knows(&self, clock: &Block, looker: &Looker, mark: Mark) -> bool {
        let (me, other) = (looker.me, mark.thread());
        match mark.width() {
            Width::Thread => clock.knows(me, other, self.since(me, mark)),
            Width::Lanes if other.block == me.block => {
                clock.knows_lanes(me, other.warp, mark.stamp, mark.strong())
            }
            Width::Lanes => {
                let stamp = self.since(me, mark);
                (0..32).all(|lane| clock.knows(me, Thread { lane, ..other }, stamp))
            }
            Width::Warps if other.block == me.block => {
                clock.knows_warps(me, mark.stamp, mark.strong())
            }
            Width::Warps => {
                let used = self.used.read().get(&other.block).cloned();
                used.is_none_or(|used| knows_block(clock, me, (other.block, &used), mark))
            }
            Width::Blocks if mark.stamp <= clock.up_to(me.warp, me.lane) => true,
            Width::Blocks => match mark.set() {
                NO_SET => {
                    clock.knows_warps(me, mark.stamp, mark.strong())
                        && self.knows_others(clock, looker, mark)
                }
                TOO_MANY => self.knows_last(clock, looker, mark),
                set => self.knows_readers(clock, looker, mark, set),
            },
        }
    }

    /// Whether it is known of the blocks of a set what a mark of theirs stands for.
    fn knows_readers(&self, clock: &Block, looker: &Looker, mark: Mark, set: Set) -> bool {
        let (me, used) = (looker.me, self.used.read());
        self.readers.read().list(set).all(|(block, stamp)| match used.get(&block) {
            _ if block == me.block => clock.knows_warps(me, stamp, mark.strong()),
            Some(used) => knows_block(clock, me, (block, used), mark.at(stamp)),
            None => true,
        })
    }

    /// The same where it was not kept which blocks these are: the last of them is known. If it comes before what the looker
    /// does, the others count as doing so.
    fn knows_last(&self, clock: &Block, looker: &Looker, mark: Mark) -> bool {
        let known = self.knows(clock, looker, mark.last());
        if known && !self.unsure.swap(true, Ordering::Relaxed) {
            self.tell_unsure();
        }
        known
    }

    /// Whether it is known of all blocks but the looker's own what a mark of several stands for.
    fn knows_others(&self, clock: &Block, &Looker { me, shared, .. }: &Looker, mark: Mark) -> bool {
        let all = self.used.read();
        let is_far = |block: u32| shared && self.view.cluster(block) != self.view.cluster(me.block);
        let is_known = |block: u32, used: &Used| {
            block == me.block || is_far(block) || knows_block(clock, me, (block, used), mark)
        };
        // What was not known to the last that asked mostly is not to this one.
        let last = self.unknown.load(Ordering::Relaxed);
        if all.get(&last).is_some_and(|used| !is_known(last, used)) {
            return false;
        }
        let unknown = all.iter().find(|(block, used)| !is_known(**block, used));
        if let Some((&block, _)) = unknown {
            self.unknown.store(block, Ordering::Relaxed);
        }
        unknown.is_none()
    }

    /// A block has begun. Where all counts as known up to some time, its stamps may later say that they are from before.
    fn note_begin(&self, state: &State) {
        if self.variables.have_passed() {
            self.begun.write().insert(state.clock.id, state.clock.stamp(0));
        }
    }

    /// When that was which a mark stands for, or later: not before its block began, if that is not the looker's.
    fn since(&self, me: Thread, mark: Mark) -> Tick {
        if mark.block == me.block || !self.variables.have_passed() {
            return mark.stamp;
        }
        self.begun.read().get(&mark.block).map_or(mark.stamp, |begun| mark.stamp.max(*begun))
    }

    /// Whether what the instruction at `pc` accesses is nobody else's, as long as it stays where its pointer points.
    #[inline]
    pub(super) fn is_alone(&self, pc: u32) -> bool {
        self.alone.get(pc as usize).copied().unwrap_or(false)
    }

    /// Whether the instruction at `pc` is a plain load or store.
    #[inline]
    pub(super) fn is_weak(&self, pc: u32) -> bool {
        self.facts.roles[pc as usize].is_some_and(|r| !r.atomic && r.sem == Sem::Weak)
    }

    /// Whether the last of several atomics comes before what the looker does: it has observed the others, which so do as well
    /// (PTX ISA, "Causality order"). Of an atomic of the looker's own block that counts only if it asks for what was there:
    /// else nobody could know by it that the others are through.
    fn has_observed(&self, state: &mut State, looker: &Looker, write: Mark) -> bool {
        if write.width() == Width::Thread || write.kind() != Kind::Atomic || !write.strong() {
            return false;
        }
        let asks = || self.facts.roles[write.pc as usize].is_some_and(|role| role.asks);
        (write.block != looker.me.block || asks()) && self.ordered(state, looker, write.last())
    }

    /// Whether lanes of a warp pass on something in shared memory by volatile accesses alone, as if they ran in step.
    fn is_in_step(&self, looker: &Looker, other: Mark, mark: Mark) -> bool {
        let is_volatile = |mark: Mark| {
            let role = self.facts.roles[mark.pc as usize];
            role.is_some_and(|role| role.sem == Sem::Volatile && !role.atomic)
        };
        looker.shared
            && self.independent
            && other.kind() != mark.kind()
            && other.width() <= Width::Lanes
            && other.is_warp_of(mark)
            && is_volatile(other)
            && is_volatile(mark)
    }

    /// Looks at one cell and brings it up to date. Returns the mark that races, if one does.
    #[inline]
    pub(super) fn visit(
        &self,
        state: &mut State,
        cell: &mut Cell,
        looker: &Looker,
        mark: Mark,
        volatile: Volatile,
    ) -> Option<Mark> {
        let mut found = None;
        let kind = mark.kind();
        let (write, read) = (cell.write, cell.read);
        // What is written, before 7.0, once a flag was read comes after what the flag stands for.
        let follows = volatile.follows() && kind.writes();
        let before = |this: &Self, state: &mut State, other: Mark| {
            other.is_empty()
                || this.ordered(state, looker, other)
                || follows
                    && other.width() == Width::Thread
                    && state.clock.has_followed(looker.me, other.thread(), other.stamp)
        };
        let after_write = before(self, state, write) || self.has_observed(state, looker, write);
        let excused = match (volatile, kind) {
            (Volatile::Flag, Kind::Read) => true,
            (Volatile::Data, Kind::Read) => {
                write.width() == Width::Thread
                    && state.clock.has_read_of(looker.me, write.thread(), write.stamp)
            }
            (Volatile::Flag | Volatile::Data, Kind::Write | Kind::Atomic)
            | (Volatile::Atomic | Volatile::No, _) => false,
        };
        let apart =
            |other: Mark| !other.morally_strong(mark) || self.is_in_step(looker, other, mark);
        if !after_write && apart(write) && !excused {
            found = Some(write);
        }
        let after_read = before(self, state, read);
        // The mark may be that of a weak write that strong ones followed.
        let races = kind.writes() || read.kind().writes();
        if !after_read
            && races
            && found.is_none()
            && apart(read)
            && !excused
            && volatile != Volatile::Flag
        {
            found = Some(read);
        }
        if !kind.writes() {
            cell.read = if after_read { mark } else { self.widened(state, read, mark, 1) };
            return found;
        }
        if !mark.strong() {
            if after_read {
                cell.read = Mark::default();
            }
        } else if read.is_empty() && !write.is_empty() && !write.strong() {
            // A later strong access races with neither this one nor those that join it, but with the weak write
            // that some of them come after. (A read that is kept instead came after that write.)
            cell.read = write;
        }
        let joins = !after_write && write.morally_strong(mark);
        cell.write = if joins { self.widened(state, write, mark, 1) } else { mark };
        found
    }

    /// Both marks as one. They are of these lanes, counted from the ones that they name.
    pub(super) fn widened(&self, state: &mut State, old: Mark, new: Mark, lanes: u32) -> Mark {
        for mark in [old, new] {
            // Those that a widened mark stands for were noted when it was widened.
            if mark.width() != Width::Thread {
                continue;
            }
            let Thread { block, warp, lane } = mark.thread();
            if block != state.clock.id {
                if !self.learns {
                    continue;
                }
                // A block that has ended may have left nothing: what it did counts all the same.
                let warps = state.clock.warps();
                let known = self.used.read().get(&block).cloned();
                let used =
                    known.unwrap_or_else(|| self.used.write().entry(block).or_default().clone());
                used.write().add((warp, warps), mark.strong(), mark.stamp, lanes << lane);
            } else {
                state.note(warp, lanes << lane, mark.stamp, mark.strong());
            }
        }
        let wide = old.widen(new);
        if wide.width() != Width::Blocks || !self.learns || wide.strong() {
            return wide;
        }
        let reader = |mark: Mark| (mark.block, mark.stamp);
        let set = match old.width() {
            Width::Blocks => self.readers.write().with(old.set(), reader(new)),
            _ => self.readers.write().of(reader(old), reader(new)),
        };
        wide.with_value(set)
    }
}

/// Whether a thread knows all that a block did to marks like this one.
fn knows_block(clock: &Block, me: Thread, (block, used): (u32, &Used), mark: Mark) -> bool {
    clock.knows_block(me, block, &used.read(), mark.stamp, mark.strong())
}

impl Observer for RaceObserver<'_> {
    fn interest(&self) -> Interest {
        Interest::ACCESSES
            | Interest::BARRIERS
            | Interest::FENCES
            | Interest::BLOCKS
            | Interest::VALUES
            | Interest::WARP_SYNCS
    }

    /// Reads race with nothing that nobody writes.
    fn is_quiet(&self, memory: Range<u64>) -> bool {
        !self.written.touches(&memory)
    }

    fn worker(&self) -> Box<dyn Watch + '_> {
        Box::new(RaceWatch {
            all: self,
            states: States::default(),
            pages: NearPages::default(),
            forms: Forms::default(),
            steps: vec![(0, None); NEAR_SITES],
            noted_sites: None,
            seen: Seen::default(),
            written: 0..0,
        })
    }
}

/// Watches a worker.
pub(super) struct RaceWatch<'w, 'a> {
    pub(super) all: &'w RaceObserver<'a>,
    states: States<State>,
    pub(super) pages: NearPages,
    pub(super) forms: Forms,
    /// Steps of instructions that were executed lately, each at its number's place.
    steps: Vec<(u64, Option<Arc<Steps>>)>,
    /// Of the code that noted accesses last.
    pub(super) noted_sites: Option<Arc<Sites>>,
    /// Reads that change nothing any more.
    pub(super) seen: Seen,
    /// An allocation that the launch may write.
    pub(super) written: Range<u64>,
}

impl RaceWatch<'_, '_> {
    /// Does something with what is known of a block.
    #[inline]
    fn with_state<R>(&mut self, block: u32, change: impl FnOnce(&mut Self, &mut State) -> R) -> R {
        let mut state = self.states.take(block).unwrap_or_else(|| self.all.begun(block));
        let done = change(self, &mut state);
        self.states.put(block, state);
        done
    }

    /// How the lanes' addresses lie to each other.
    #[inline]
    pub(super) fn steps(&mut self, event: &PatternedEvent<'_>) -> &Arc<Steps> {
        let (site, all) = (event.site, self.all);
        let (of, near) = &mut self.steps[place(site, NEAR_SITES)];
        if *of != site {
            (*of, *near) = (site, None);
        }
        near.get_or_insert_with(|| {
            let mut steps = all.steps.write();
            steps.entry(site).or_insert_with(|| Arc::new(Steps::of(event))).clone()
        })
    }

    /// The shadow of a page, if there is room for it.
    #[inline]
    pub(super) fn page(&mut self, number: u64) -> Option<Own<'_>> {
        if !self.pages.has(number) {
            let Some((page, new)) = self.all.shadow.page(number) else {
                self.all.tell_full();
                return None;
            };
            self.pages.put(number, page, new);
        }
        self.pages.get(number)
    }

    /// Where the cells of a page are that was not looked at lately, if there is room for them; `alone`: it is to be one of its
    /// own.
    #[cold]
    pub(super) fn find(&mut self, number: u64, alone: bool) -> Option<Found<'_, Own<'_>>> {
        if !alone {
            match self.all.shadow.find(number) {
                Some(Found::Scattered(page)) => return Some(Found::Scattered(page)),
                Some(Found::Page(_)) => {}
                None => {
                    self.all.tell_full();
                    return None;
                }
            }
        }
        self.page(number).map(Found::Page)
    }

    /// Lets strong accesses of lanes acquire and release. Returns the lanes by whose variables something is released.
    fn synchronise(
        &mut self,
        state: &mut State,
        event: &AccessEvent<'_>,
        role: Role,
        lanes: u32,
    ) -> u32 {
        let (block, warp) = (state.clock.id, event.at.warp as u16);
        let access = Strong {
            sem: role.sem,
            scope: role.scope,
            reads: event.access != Access::Write,
            writes: event.access != Access::Read,
            locks: role.compares || role.exchanges,
        };
        let order = u64::from(state.is_of_shared()) << 63;
        let mut keys = [(0, 0, 0); 32];
        for lane in lanes_of(lanes) {
            let (owner, at) = match event.space {
                Space::Shared => self.all.view.shared_owner(block, event.addresses[lane]),
                _ => (NO_BLOCK, event.addresses[lane]),
            };
            let at = at | order;
            keys[lane] = (owner, at, Variables::shard_of(owner, at));
        }
        let (mut left, mut released, mut any) = (lanes, 0, false);
        while left != 0 {
            let (.., shard) = keys[left.trailing_zeros() as usize];
            let mut words = self.all.variables.shard(shard).lock();
            let mut open = Open::default();
            // A lane knows nothing of what others do to other words: all of a shard come at once, those of a word in order.
            for lane in lanes_of(left) {
                let (owner, at, own) = keys[lane];
                if own != shard {
                    continue;
                }
                left &= !(1 << lane);
                let releases = access.writes && state.clock.may_release(warp, lane as u8, role.sem);
                let mut word = words.word((owner, at), &mut open);
                if !releases && !word.is_released() {
                    continue;
                }
                // Before anybody else can read what is released.
                if !any {
                    self.all.synchronises.store(true, Ordering::Relaxed);
                }
                any = true;
                state.synchronises_by_shared |= owner != NO_BLOCK;
                state.clock.synchronise(warp, lane as u8, access, &mut word);
                released |= u32::from(word.is_released()) << lane;
            }
            let [count, bytes] = self.all.variables.settle(&mut words);
            drop(words);
            if bytes > self.all.shadow.room_of_words(count)
                && self.all.variables.pass(&self.all.time)
            {
                self.all.tell_passed();
            }
        }
        if access.writes && any {
            state.clock.has_released_by(warp, role.sem, &self.all.time);
        }
        released
    }

    fn cluster(&mut self, state: &mut State, warp: u16) {
        if let Some(round) = state.clock.cluster_due(warp) {
            self.look_back(state);
            let cluster = self.all.view.cluster(state.clock.id);
            let known = self.all.clusters.lock().get(&cluster).map(|c| c.released(round));
            let known = known.unwrap_or_default();
            state.each_clock(|clock| clock.cluster_joins(warp, &known));
        }
    }
}

impl RaceWatch<'_, '_> {
    /// Looks at an access, lane by lane; at one of the past as it was then. Whether the last lane only joined
    /// the one before it, as any other that reads the same does.
    pub(super) fn look(
        &mut self,
        state: &mut State,
        event: &AccessEvent<'_>,
        then: Option<Then<'_>>,
    ) -> bool {
        let shared = event.space == Space::Shared;
        let all = self.all;
        state.turn_to(shared);
        let block = state.clock.id;
        let warp = event.at.warp as u16;
        let role = all.facts.roles[event.at.pc as usize];
        let kind = match event.access {
            Access::Read => Kind::Read,
            Access::Write => Kind::Write,
            Access::Atomic => Kind::Atomic,
        };
        let strong = role.filter(|r| r.atomic || r.sem != Sem::Weak);
        // Before 7.0 there is no memory model that makes volatile writes atomic; as flags they are used all the
        // same, and as such known by the fence before them.
        let before_model = !all.independent && role.is_some_and(|r| r.sem == Sem::Volatile);
        let scope = strong
            .filter(|_| !(before_model && kind == Kind::Write))
            .map(|r| if r.sem == Sem::Volatile { Scope::Sys } else { r.scope });
        let stored = event.values.map(look::hashes);
        let (mut flags, mut behind) = (0u32, 0);
        if let Some(role) = strong
            && !all.independent
            && then.is_none()
        {
            behind = state.sections.note(event, role);
        }
        let lanes = (0..32usize).filter(|l| event.mask >> l & 1 != 0);
        if shared && then.is_none() {
            state.round.pass(kind.writes());
        }
        // Reading lanes acquire before the access counts; a release stands before it too, as the
        // strong write itself is not released. By those of the past nobody learnt anything.
        if let Some(role) = strong
            && then.is_none()
            && (all.synchronises.load(Ordering::Relaxed)
                || event.access != Access::Read && state.clock.any_may_release(warp, role.sem))
        {
            let own = event.mask & !behind;
            let released = self.synchronise(state, event, role, own);
            if before_model {
                flags = released;
            }
            // In both orders.
            if state.is_apart() {
                state.turn_to(!shared);
                self.synchronise(state, event, role, own);
                state.turn_to(shared);
            }
        }
        let stamp = then.map_or_else(|| state.clock.stamp(warp), |then| then.stamp);
        let me = Thread { block, warp, lane: 0 };
        let (floor, uniform, _) = state.floor(warp);
        let mut look = Look {
            all,
            event,
            kind,
            mark: Mark::new(me, stamp, event.at.pc, kind, scope),
            looker: Looker { me, floor, uniform, shared },
            quick: Quick {
                is_on: scope.is_none() && !before_model,
                ..Quick::new(block, stamp, floor, all.independent)
            },
            before_model,
            atomic: !all.independent && kind == Kind::Atomic,
            flags,
            values: stored.as_ref().or(then.and_then(|then| then.values)),
            last: None,
            joins: false,
            races: SmallVec::new(),
        };
        state.unordered.hint(&state.clock, &look.looker, &mut look.quick);
        let bytes = u64::from(event.bytes);
        if shared {
            let mut own = std::mem::replace(&mut state.shared, Page::none());
            let mut others: SmallVec<[(usize, u32, u64); 32]> = SmallVec::new();
            for lane in lanes {
                let (owner, at) = all.view.shared_owner(block, event.addresses[lane]);
                match owner == block {
                    true => look.lane(state, &mut own, at, bytes, lane),
                    false => others.push((lane, owner, at)),
                }
            }
            state.shared = own;
            look.note(state);
            for (lane, owner, at) in others {
                let Some(peer) = self.states.peer_mut(owner) else { continue };
                look.lane(state, &mut peer.shared, at, bytes, lane);
                look.note(state);
            }
        } else {
            for (number, own) in by_page(event) {
                // All lanes whose accesses lie in the page, which is found once for them.
                let crosses = if let Some(mut page) = self.pages.get(number) {
                    look.lanes(state, &mut *page, own)
                } else {
                    match self.find(number, look::fill_a_page(event, own)) {
                        Some(Found::Page(mut page)) => look.lanes(state, &mut *page, own),
                        Some(Found::Scattered(mut page)) => {
                            let crosses = look.lanes(state, &mut page, own);
                            page.settle();
                            crosses
                        }
                        None => continue,
                    }
                };
                if crosses && let Some(mut next) = self.page(number.wrapping_add(1)) {
                    for lane in lanes_of(own) {
                        let here = PAGE - event.addresses[lane] % PAGE;
                        if here < bytes {
                            look.lane(state, &mut *next, 0, bytes - here, lane);
                        }
                    }
                    look.note(state);
                }
            }
        }
        for (lane, mark, other) in look.races {
            let same = kind == Kind::Write
                && other.kind() == Kind::Write
                && other.width() != Width::Blocks
                && mark.value() != 0
                && mark.value() == other.value();
            all.report(event, lane, mark, other, same);
        }
        look.joins
    }

    /// Forgets what was done to bytes of a page of global memory.
    fn forget(&mut self, at: u64, bytes: u64) {
        let (number, within) = (at / PAGE, at % PAGE);
        let forget = |cell: &mut Cell| *cell = Cell::default();
        if let Some(mut page) = self.pages.get(number) {
            return page.cells(within, bytes, forget);
        }
        match self.find(number, false) {
            Some(Found::Page(mut page)) => page.cells(within, bytes, forget),
            Some(Found::Scattered(mut page)) => {
                page.cells(within, bytes, forget);
                page.settle();
            }
            None => {}
        }
    }

    /// Lanes of a warp arrive at a barrier.
    fn arrives(&mut self, state: &mut State, event: &BarrierEvent) {
        let block = state.clock.id;
        let warp = event.at.warp as u16;
        let (arrives, waits) = match event.kind {
            BarKind::Arrive => (true, false),
            BarKind::Wait => (false, true),
            BarKind::Sync | BarKind::RedPopc | BarKind::RedAnd | BarKind::RedOr => (true, true),
        };
        match event.id {
            Some(id) => {
                let (id, time) = (id as usize, &self.all.time);
                let arrive = |clock: &mut Block| clock.arrive(id, warp, event.mask, waits, time);
                match self.all.order(event.at.pc) {
                    BarOrder::Shared => arrive(state.clock_of(true)),
                    BarOrder::Global => arrive(state.clock_of(false)),
                    BarOrder::All | BarOrder::Nothing => state.each_clock(arrive),
                }
            }
            None => {
                self.cluster(state, warp);
                let mut clusters = self.all.clusters.lock();
                let cluster = clusters.entry(self.all.view.cluster(block)).or_default();
                if arrives {
                    let releases = self.all.order(event.at.pc) == BarOrder::All;
                    for (round, lanes) in cluster.arrive(block, warp, event.mask) {
                        let known = match releases {
                            true => state.clock.cluster_arrive(warp, lanes, &self.all.time),
                            false => state.clock.cluster_fenced(warp, lanes),
                        };
                        cluster.release(round, &known);
                    }
                }
                if waits && let Some(round) = cluster.last(block, warp, event.mask) {
                    state.clock.cluster_wait(warp, round);
                }
            }
        }
    }

    /// Barrier `id` of the block is complete.
    fn opens(&mut self, state: &mut State, id: u32) {
        match state.clock_of(true).joins_all(id as usize) {
            true => self.all_met(state),
            false => self.look_back(state),
        }
        state.each_clock(|clock| clock.open(id as usize, &self.all.time));
    }

    /// Warps of the block come to a barrier at once.
    fn meets(&mut self, state: &mut State, round: &BarrierRound) {
        let whole = round.there.count_ones() as usize == state.clock.warps();
        let order = self.all.order(round.at.pc);
        let mut meets = whole && matches!(order, BarOrder::All | BarOrder::Shared);
        match order {
            BarOrder::All => state.each_clock(|clock| meets &= clock.can_meet()),
            _ => meets &= state.clock_of(true).can_meet(),
        }
        if !meets {
            round.arrivals().for_each(|arrival| self.arrives(state, &arrival));
            return self.opens(state, round.id);
        }
        match order {
            BarOrder::All => state.each_clock(|clock| clock.meet(&self.all.time)),
            _ => state.clock_of(true).meet(&self.all.time),
        }
        self.all_met(state);
    }

    /// Every thread of the block comes after all that was done to its shared memory.
    fn all_met(&self, state: &mut State) {
        state.round.begin(self.all.is_open());
    }
}

impl Watch for RaceWatch<'_, '_> {
    fn access(&mut self, event: &AccessEvent<'_>) {
        let shared = match event.space {
            Space::Shared => true,
            Space::Global => false,
            Space::Const | Space::Local | Space::Param | Space::Generic => return,
        };
        if !shared && !self.all.written.is_all() {
            let (low, high) = extent(event.addresses, event.mask);
            let bytes = u64::from(event.bytes);
            let span = high.wrapping_sub(low).saturating_add(bytes);
            // What lies in an allocation that may be written is neither quiet nor strays.
            if !self.is_near_written(low, span) {
                let lanes = (0..32usize).filter(|l| event.mask >> l & 1 != 0);
                let quiet = |l: usize| self.is_quiet(event.access, event.addresses[l], bytes);
                // Each is asked: it may be the one that strays.
                if lanes.filter(|&l| !quiet(l)).count() == 0 {
                    return;
                }
                self.come_near_written(low, span);
            }
        }
        if self.all.is_alone(event.at.pc) {
            return;
        }
        if !shared && event.access != Access::Read {
            self.all.changes.add_each(event);
        }
        let block = self.all.view.linear(event.at.ctaid);
        self.with_state(block, |this, state| {
            this.cluster(state, event.at.warp as u16);
            state.turn_to(shared);
            let (warp, all) = (event.at.warp as u16, this.all);
            if shared && let Some(effect) = all.effect(state, event) {
                let (stamp, known) = (state.clock.stamp(warp), |site| all.steps_of(site));
                if state.round.keep_spread(event, effect, stamp, known) {
                    return;
                }
            }
            // By strong accesses threads learn of each other.
            if shared || !all.is_weak(event.at.pc) {
                this.look_back(state);
            }
            this.look(state, event, None);
        });
    }

    fn patterned(&mut self, event: &PatternedEvent<'_>) -> Option<Range<u64>> {
        if !matches!(event.space, Space::Shared | Space::Global) {
            return None;
        }
        let block = self.all.view.linear(event.at.ctaid);
        if !self.with_state(block, |this, state| this.form(state, event)) {
            event.with_addresses(|event| self.access(event));
        }
        None
    }

    fn alone(&mut self) {
        self.pages.alone();
    }

    /// Local memory is nobody else's.
    fn is_settled(&mut self, _ctaid: [u32; 3], _warp: u32) -> bool {
        true
    }

    fn noted(&mut self, noted: &NotedAccesses<'_>) {
        let block = self.all.view.linear(noted.at.ctaid);
        let mut at = 0;
        loop {
            at = self.with_state(block, |this, state| this.short_ways(state, noted, at));
            let Some(event) = noted.event(at) else { break };
            event.with_addresses(|event| self.access(event));
            at = noted.after(at);
        }
    }

    fn barrier(&mut self, event: &BarrierEvent) {
        let block = self.all.view.linear(event.at.ctaid);
        self.with_state(block, |this, state| this.arrives(state, event));
    }

    fn barrier_opens(&mut self, ctaid: [u32; 3], id: u32) {
        let block = self.all.view.linear(ctaid);
        self.with_state(block, |this, state| this.opens(state, id));
    }

    fn barrier_round(&mut self, round: &BarrierRound) {
        let block = self.all.view.linear(round.at.ctaid);
        self.with_state(block, |this, state| this.meets(state, round));
    }

    fn warp_barrier(&mut self, at: EventPlace, mask: u32) {
        self.with_state(self.all.view.linear(at.ctaid), |this, state| {
            this.look_back(state);
            state.each_clock(|clock| clock.warp_barrier(at.warp as u16, mask, &this.all.time));
        });
    }

    fn fence(&mut self, at: EventPlace, mask: u32) {
        let Some(inst) = self.all.view.program.inst(at.pc) else { return };
        if inst.op != Op::Fence {
            return;
        }
        let Attr::Fence { scope, sem } = inst.attr else { return };
        let what = (scope, sem == Sem::SeqCst);
        self.with_state(self.all.view.linear(at.ctaid), |this, state| {
            state.sections.fenced(at.warp as u16, mask);
            // Barriers of OpenCL C are fences too, by which nobody learns anything.
            if state.clock_of(true).learns_by_fence(at.warp as u16) {
                this.look_back(state);
            }
            state.each_clock(|clock| clock.fence_with(at.warp as u16, mask, what, &this.all.time));
        });
    }

    fn allocated(&mut self, memory: Range<u64>) {
        let mut at = memory.start;
        while at < memory.end {
            let here = memory.end.min((at / PAGE + 1) * PAGE) - at;
            self.forget(at, here);
            at += here;
        }
    }

    fn block_begins(&mut self, block: &BlockEvent) {
        let (id, all) = (self.all.view.linear(block.ctaid), self.all);
        let mut state = match self.states.take_spare() {
            Some(mut state) => {
                let (before, ledger) = (state.clock.id, all.shadow.ledger());
                state.renew(id, &all.time, all.is_open());
                match all.learns {
                    true => ledger.begin(id, state.past.clone()),
                    false => ledger.follow(before, id, &state.past),
                }
                state
            }
            None => all.begun(id),
        };
        if all.learns {
            all.used.write().insert(id, state.used_of_global());
            all.note_begin(&state);
        }
        self.states.put(id, state);
    }

    fn block_ends(&mut self, block: &BlockEvent) {
        let id = self.all.view.linear(block.ctaid);
        let Some(mut state) = self.states.take(id) else { return };
        // In a cluster it may be that others alone did by its memory.
        let clusters = self.all.view.has_clusters();
        if std::mem::take(&mut state.synchronises_by_shared) || clusters {
            self.all.variables.forget(id);
        }
        let released = state.clock_of(false).is_known_by_others();
        self.states.keep(state);
        if !self.all.learns {
            // What it did is past, or will be when the next one begins.
            return;
        }
        self.all.shadow.ledger().end(id, released);
        // Most blocks never widened a mark: nothing is kept of them.
        let mut used = self.all.used.write();
        let ends = |own: &Used| {
            let mut own = own.write();
            own.end();
            own.is_empty()
        };
        if used.get(&id).is_some_and(ends) {
            used.remove(&id);
        }
    }
}
