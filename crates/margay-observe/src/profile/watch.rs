// SPDX-License-Identifier: MIT OR Apache-2.0
//! What one worker thread of a launch counts. Nothing here is shared, so nothing is locked until the
//! counts are handed in.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::atomic::Ordering;

use margay_arch::{MemoryModel, Space, WarpAccess};
use margay_exec::observe::{
    AccessEvent, BranchSums, EventPlace, GroupedEvent, Interest, MarkedLines, NotedList, Observer,
    PatternedEvent, Rehearsal, TextureEvent, Watch,
};
use parking_lot::Mutex;
use smallvec::{SmallVec, smallvec};

use super::collector::Profiler;
use super::hierarchy::{L2_LINES, LaunchCaches, OwnL1};
use super::pattern::{Groups, base_of, period};
use super::patterns::{Counted, Patterns, Recent, fetch};
use super::raw::{CacheCounts, LaunchCounts, RawVariable, Sums};
use super::rehearsal::{Log, Rehearsed};
use super::room::{ENTRY_LINES, Entry, PERIOD, Room, Simple};
use super::site::{self, Site};
use super::texture::TextureCounts;
use super::touches::{Route, Touch, Touched, touches};
use super::variables::Variables;
use crate::constant_cache::Met;
use crate::tool::LaunchView;

/// Straight runs between looks at whether counts are to be handed in.
const RUNS_BETWEEN_LOOKS: u32 = 1 << 14;

/// What a launch did as a whole.
#[derive(Clone, Copy, Default)]
pub struct LaunchTotals {
    pub warp_instructions: u64,
    pub thread_instructions: u64,
    pub spaces: [LaunchCounts; 7],
}

/// Watches one launch.
pub struct LaunchObserver<'a> {
    pub profiler: &'a Profiler,
    pub view: &'a LaunchView<'a>,
    /// Index of the kernel in the profiler.
    pub kernel: usize,
    /// Key of its totals.
    pub launch: u64,
    pub variables: Mutex<Variables<'a>>,
    pub caches: LaunchCaches<'a>,
    /// Variables that it read as constants.
    pub constants: Met,
    /// What rehearsed blocks did, until it is known how many blocks they stand for.
    pub rehearsed: Mutex<Vec<Rehearsed>>,
}

impl Observer for LaunchObserver<'_> {
    fn interest(&self) -> Interest {
        Interest::ACCESSES
            | Interest::PARAMETERS
            | Interest::RUNS
            | Interest::BRANCHES
            | Interest::TEXTURES
    }

    fn takes_sums(&self) -> bool {
        true
    }

    fn worker(&self) -> Box<dyn Watch + '_> {
        let n = self.view.program.code_len() as usize;
        Box::new(self.worker_in(self.profiler.room(self.kernel, n)))
    }

    fn rehearsal(&self) -> Option<Box<dyn Rehearsal + Send + '_>> {
        let room = Room::new(self.view.program.code_len() as usize);
        Some(Box::new(Worker { log: Some(Log::default()), ..self.worker_in(room) }))
    }

    fn stands_for(&self, rehearsed: usize, blocks: u64) {
        self.count_kept(rehearsed, blocks);
    }
}

impl<'a> LaunchObserver<'a> {
    /// A worker that counts there.
    pub(super) fn worker_in(&self, room: Room) -> Worker<'_, 'a> {
        Worker {
            launch: self,
            models: self.profiler.models(self.view),
            simple: self.profiler.models(self.view).iter().all(MemoryModel::is_simple),
            room,
            log: None,
            textures: HashMap::new(),
            touched: Vec::new(),
            recent: Recent::default(),
            l1: OwnL1::default(),
            met: Vec::new(),
            wide: is_wide(),
            widest: is_wide() && is_widest(),
            runs: 0,
            epoch: self.profiler.epoch.load(Ordering::Relaxed),
        }
    }
}

pub(super) fn second(e: &PatternedEvent<'_>) -> u64 {
    e.second.map_or(0, |(_, of)| of)
}

/// Address in the lowest lane that takes part.
#[inline(always)]
pub(super) fn lead(e: &PatternedEvent<'_>) -> u64 {
    address(e, (e.mask.trailing_zeros() & 31) as usize)
}

/// Address in a lane.
#[inline(always)]
fn address(e: &PatternedEvent<'_>, lane: usize) -> u64 {
    let more = e.second.map_or(0, |(factors, of)| (factors[lane] as u64).wrapping_mul(of));
    e.base.wrapping_add_signed(e.pattern[lane]).wrapping_add(more)
}

/// Accesses of one instruction to one texture.
pub struct TextureEntry {
    pub variable: RawVariable,
    pub counts: TextureCounts,
}

/// The counts of one worker.
pub struct Worker<'w, 'a> {
    pub(super) launch: &'w LaunchObserver<'a>,
    pub(super) models: &'w [MemoryModel],
    /// Whether [`Simple`](super::room::Simple) tells what accesses cost.
    pub(super) simple: bool,
    pub room: Room,
    /// Of a block that is rehearsed: what it would look up. Caches do not see it.
    pub(super) log: Option<Log>,
    /// By instruction and object.
    pub textures: HashMap<(u32, u64), TextureEntry>,
    /// What an access whose pattern is not kept touches.
    touched: Vec<Touch>,
    recent: Recent,
    pub(super) l1: OwnL1,
    /// Variables that it has met: their spaces, addresses and numbers.
    met: Vec<(Space, Range<u64>, u32)>,
    pub(super) wide: bool,
    widest: bool,
    runs: u32,
    epoch: u64,
}

impl Worker<'_, '_> {
    /// Makes room for accesses to a variable that this instruction has not reached yet.
    #[cold]
    fn meet(&mut self, e: &AccessEvent<'_>, space: Space, lead: u64) -> usize {
        let met = self.met.iter().find(|(of, at, _)| *of == space && at.contains(&lead));
        let (variable, lo, hi) = match met {
            Some((_, at, variable)) => (*variable, at.start, at.end),
            None => {
                let (variable, lo, hi) = self.launch.profiler.variable(self.launch, space, lead);
                self.met.push((space, lo..hi, variable));
                (variable, lo, hi)
            }
        };
        let entries = &mut self.room.sites[e.at.pc as usize];
        let profiler = self.launch.profiler;
        let row = match space {
            Space::Constant => profiler.constant_row(self.launch, lead),
            Space::Global | Space::Local | Space::Shared | Space::Parameter => 0,
        };
        if let Some(at) = entries.iter().position(|n| n.space == space && n.variable == variable) {
            let entry = &mut entries[at];
            (entry.lo, entry.hi, entry.row) = (lo, hi, row);
            if entry.patterns.wants_kept()
                && let Some(kept) = profiler.kept(self.launch.kernel, (e.at.pc, space, variable))
            {
                entry.patterns.kept_are(kept);
            }
            return at;
        }
        let site = Site::of(self.launch.view.program, e.at.pc, e.access);
        let (kind, cache, width) = (site.kind, site.cache, e.bytes);
        let access = WarpAccess { space, kind, width, mask: e.mask, addresses: e.addresses, cache };
        let own = self.models.first();
        entries.push(Entry {
            space,
            variable,
            row,
            site,
            width,
            lo,
            hi,
            period: period(space, site.is_atomic()),
            route: match own {
                Some(own) if self.log.is_none() => self.launch.caches.route(own, &access),
                _ => Route::Nowhere,
            },
            lanes: 0,
            executions: 0,
            patterns: Patterns::default(),
            unkept: 0,
            unkept_counts: smallvec![Sums::default(); self.models.len()],
            simple: Simple::default(),
            taken_as: None,
            caches: CacheCounts::default(),
        });
        entries.len() - 1
    }

    /// Hands in if that is asked for, which is looked at now and then.
    fn look_around(&mut self, runs: u32) {
        if self.log.is_some() {
            return;
        }
        self.runs = self.runs.saturating_add(runs);
        if self.runs >= RUNS_BETWEEN_LOOKS {
            self.runs = 0;
            let epoch = self.launch.profiler.epoch.load(Ordering::Relaxed);
            if epoch != self.epoch {
                self.epoch = epoch;
                self.hand_in();
            }
        }
    }

    fn hand_in(&mut self) {
        let launch = self.launch;
        self.room.settle();
        launch.profiler.take(launch, self);
        self.room.clear();
        self.textures.clear();
    }
}

/// What an access costs. `sectors`: how many different ones it touches, if that is known; else 0.
pub fn count(
    model: &MemoryModel,
    site: &Site,
    (space, width): (Space, u32),
    (mask, addresses): (u32, &[u64; 32]),
    sectors: u32,
) -> margay_arch::Counts {
    let (kind, cache) = (site.kind, site.cache);
    let access = WarpAccess { space, kind, width, mask, addresses, cache };
    match sectors {
        0 => model.count(&access),
        _ => model.count_of_sectors(&access, sectors),
    }
}

impl Worker<'_, '_> {
    /// Counts an access that came `times` times, and looks it up in the caches unless it is told too `late` for that. Tells
    /// its entry, if its pattern is kept: that it is, if it `keeps`, unless there are too many.
    #[inline(always)]
    fn counted(
        &mut self,
        e: &AccessEvent<'_>,
        (times, late): (u64, bool),
        keeps: bool,
    ) -> Option<usize> {
        let lead = e.addresses[(e.mask.trailing_zeros() & 31) as usize];
        let space = site::space(e.space);
        let entries = &self.room.sites[e.at.pc as usize];
        fetch::<ENTRY_LINES, Entry>(entries, 0);
        let found = entries.iter().position(|entry| entry.holds(space, lead));
        let at = match found {
            Some(at) => at,
            None => self.meet(e, space, lead),
        };
        let entry = &mut self.room.sites[e.at.pc as usize][at];
        entry.executions += times;
        entry.lanes += times * u64::from(e.mask.count_ones());
        let base = base_of(e.mask, e.addresses, entry.period);
        let (route, caches, recent) = (entry.route, &self.launch.caches, &mut self.recent);
        let way = (route, entry.site.kind);
        let place = (e.at.smid, e.at.warp);
        let (l1, found, lanes) = (&mut self.l1, &mut entry.caches, (e.mask, e.addresses));
        let counted = entry.patterns.count(recent, lanes, (base, entry.period), keeps);
        if let Counted::Of(n) = counted {
            let seen = &mut entry.patterns.seen[n];
            let fresh = seen.is_fresh();
            seen.count += times - 1;
            match route {
                Route::Nowhere => {}
                _ if late => {}
                // Most patterns that data decide come once: no list is made before they come again.
                Route::Global { cached } if fresh => {
                    let firsts = recent.firsts(e.mask, e.addresses, base);
                    seen.sectors = firsts.count_ones() as u8;
                    let lanes = (e.addresses, firsts);
                    caches.look_at_lanes(l1, (way.1, cached), lanes, place.0, found);
                }
                Route::Global { .. } | Route::Local { .. } | Route::Constant => {
                    let touched = entry.patterns.touched(n, route, caches.sets());
                    caches.look(l1, way, (base, touched), place, found);
                }
            }
            return Some(at);
        }
        let mut sectors = 0;
        match route {
            Route::Nowhere => {}
            _ if late => {}
            Route::Global { .. } if !caches.models(e.at.smid) => {
                caches.look_by_lane(e.mask, e.addresses);
            }
            Route::Global { cached } => {
                let firsts = recent.firsts(e.mask, e.addresses, base);
                sectors = firsts.count_ones();
                let lanes = (e.addresses, firsts);
                caches.look_at_lanes(l1, (way.1, cached), lanes, place.0, found);
            }
            Route::Local { .. } | Route::Constant if !caches.models(e.at.smid) => {}
            Route::Local { .. } | Route::Constant => {
                let list = &mut self.touched;
                let relative = e.addresses.map(|a| a.wrapping_sub(base));
                list.clear();
                touches(route, e.mask, &relative, list);
                let touched = Touched { list, marked: None };
                caches.look(l1, way, (base, touched), place, found);
            }
        }
        entry.unkept += times;
        let costs_of = (space, entry.width);
        let plain = space == Space::Shared
            && !entry.site.is_atomic()
            && self.models.iter().all(|model| model.stores_like_loads(entry.width));
        if plain && let Some(costs) = recent.costs(costs_of, lanes, base) {
            for (cost, sums) in costs.iter().zip(&mut entry.unkept_counts) {
                sums.add(cost, times);
            }
            return None;
        }
        let mut costs = SmallVec::new();
        for (model, sums) in self.models.iter().zip(&mut entry.unkept_counts) {
            let cost = count(model, &entry.site, costs_of, lanes, sectors);
            sums.add(&cost, times);
            if plain {
                costs.push(cost);
            }
        }
        if plain {
            recent.set_costs(costs_of, costs);
        }
        None
    }

    /// Counts an access of compiled code whose pattern was not met yet, and remembers it.
    #[inline(always)]
    fn meet_patterned(&mut self, e: &PatternedEvent<'_>) -> Option<Range<u64>> {
        if self.met_by_form(e) {
            return None;
        }
        let at = e.at;
        // Where some lanes take part it is mostly data that chose them.
        let keeps = e.mask == u32::MAX;
        let found = e.with_addresses(|event| self.counted(event, (e.times, e.late), keeps))?;
        let entry = &self.room.sites[at.pc as usize][found];
        let range = entry.lo..entry.hi;
        if entry.period == PERIOD {
            self.remember(e, found);
        }
        let entry = &self.room.sites[at.pc as usize][found];
        (entry.period == PERIOD && self.sums(entry.route, at.smid)).then_some(range)
    }

    /// Whether accesses by this way may be told together and late.
    #[inline]
    pub(super) fn sums(&self, route: Route, smid: u32) -> bool {
        match route {
            Route::Nowhere => true,
            Route::Global { .. } | Route::Local { .. } | Route::Constant => {
                !self.launch.caches.models(smid)
            }
        }
    }

    /// Counts an access of all lanes by its groups, if its pattern has come by them before.
    #[inline(always)]
    fn counted_groups(&mut self, e: &GroupedEvent) {
        let lead = e.starts[0];
        let space = site::space(e.space);
        let entries = &mut self.room.sites[e.at.pc as usize];
        if let Some(entry) = entries.iter_mut().find(|entry| entry.holds(space, lead)) {
            let base = lead & !(entry.period - 1);
            if let Some(groups) = Groups::of(e, entry.period)
                && let Some(number) = entry.patterns.count_groups(&groups, base)
            {
                entry.executions += 1;
                entry.lanes += 32;
                if entry.route != Route::Nowhere {
                    let way = (entry.route, entry.site.kind);
                    let caches = &self.launch.caches;
                    let touched = entry.patterns.touched(number, entry.route, caches.sets());
                    let place = (e.at.smid, e.at.warp);
                    let (l1, found) = (&mut self.l1, &mut entry.caches);
                    caches.look(l1, way, (base, touched), place, found);
                }
                return;
            }
        }
        self.meet_groups(e);
    }

    /// Counts an access by its lanes' addresses, and remembers its groups.
    #[cold]
    fn meet_groups(&mut self, e: &GroupedEvent) {
        if let Some(at) = e.with_addresses(|event| self.counted_once(event, true)) {
            let entry = &mut self.room.sites[e.at.pc as usize][at];
            if let Some(groups) = Groups::of(e, entry.period) {
                entry.patterns.name_last(&groups);
            }
        }
    }

    /// Counts an access of compiled code, by what is remembered of one like it.
    #[inline(always)]
    fn counted_patterned(&mut self, e: &PatternedEvent<'_>) -> Option<Range<u64>> {
        let PatternedEvent { at, mask, site, .. } = *e;
        let generation = self.room.generation;
        if let Some(memo) = &self.room.memos[at.pc as usize]
            && let Some(place) = memo.find(generation, site, mask, (e.base, second(e)))
            && let known = &memo.known[place]
            && let number = known.seen as usize
            && let lead = e.base.wrapping_add_signed(known.lead)
            && let Some(entry) = self.room.sites[at.pc as usize].get_mut(known.entry as usize)
            && (entry.lo..entry.hi).contains(&lead)
            && let Some(seen) = entry.patterns.seen.get_mut(number)
        {
            entry.executions += e.times;
            entry.lanes += e.times * u64::from(mask.count_ones());
            seen.count += e.times;
            let (route, range) = (entry.route, entry.lo..entry.hi);
            if !e.late && route != Route::Nowhere {
                let caches = &self.launch.caches;
                let touched = entry.patterns.touched(number, route, caches.sets());
                let way = (route, entry.site.kind);
                let place = (at.smid, at.warp);
                let base = lead & !(PERIOD - 1);
                let (l1, found) = (&mut self.l1, &mut entry.caches);
                caches.look(l1, way, (base, touched), place, found);
            }
            return self.sums(route, at.smid).then_some(range);
        }
        self.meet_patterned(e)
    }

    /// [`Worker::counted_patterned`], compiled for wider vectors.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
    fn counted_patterned_wide(&mut self, e: &PatternedEvent<'_>) -> Option<Range<u64>> {
        self.counted_patterned(e)
    }

    /// [`Worker::counted`] for an access told at once.
    pub(super) fn counted_once(&mut self, e: &AccessEvent<'_>, keeps: bool) -> Option<usize> {
        #[cfg(target_arch = "x86_64")]
        if self.wide {
            // SAFETY: `is_wide` found the features.
            return unsafe { self.counted_wide(e, keeps) };
        }
        self.counted(e, (1, false), keeps)
    }

    /// [`Worker::counted_once`], compiled for wider vectors.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
    fn counted_wide(&mut self, e: &AccessEvent<'_>, keeps: bool) -> Option<usize> {
        self.counted(e, (1, false), keeps)
    }

    /// [`Worker::counted_groups`], likewise.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
    fn counted_groups_wide(&mut self, e: &GroupedEvent) {
        self.counted_groups(e);
    }
}

/// Whether the processor has what [`Worker::counted_wide`] is compiled for.
fn is_wide() -> bool {
    #[cfg(target_arch = "x86_64")]
    return is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
        && is_x86_feature_detected!("lzcnt")
        && is_x86_feature_detected!("popcnt");
    #[cfg(not(target_arch = "x86_64"))]
    false
}

/// Whether it has what [`Worker::pass_widest`] is compiled for besides.
fn is_widest() -> bool {
    #[cfg(target_arch = "x86_64")]
    return is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vl");
    #[cfg(not(target_arch = "x86_64"))]
    false
}

impl Watch for Worker<'_, '_> {
    fn access(&mut self, e: &AccessEvent<'_>) {
        match self.log {
            None => {
                self.counted_once(e, false);
            }
            Some(_) => {
                self.counted_once(e, e.mask == u32::MAX);
                self.log(e);
            }
        }
    }

    fn grouped(&mut self, e: &GroupedEvent) {
        if self.log.is_some() {
            self.counted_groups(e);
            return self.log_groups(e);
        }
        #[cfg(target_arch = "x86_64")]
        if self.wide {
            // SAFETY: `is_wide` found the features.
            return unsafe { self.counted_groups_wide(e) };
        }
        self.counted_groups(e);
    }

    fn patterned(&mut self, e: &PatternedEvent<'_>) -> Option<Range<u64>> {
        #[cfg(target_arch = "x86_64")]
        if self.wide {
            // SAFETY: `is_wide` found the features.
            return unsafe { self.counted_patterned_wide(e) };
        }
        self.counted_patterned(e)
    }

    fn counts_more(&self, e: &PatternedEvent<'_>) -> Option<Range<u64>> {
        let PatternedEvent { at, mask, base, site, .. } = *e;
        let memo = self.room.memos[at.pc as usize].as_ref()?;
        let known = &memo.known[memo.find(self.room.generation, site, mask, (base, second(e)))?];
        let entry = self.room.sites[at.pc as usize].get(usize::from(known.entry))?;
        let lead = base.wrapping_add_signed(known.lead);
        let held = (entry.lo..entry.hi).contains(&lead) && self.sums(entry.route, at.smid);
        held.then_some(entry.lo..entry.hi)
    }

    fn passes(&mut self, accesses: &mut NotedList<'_>) {
        #[cfg(target_arch = "x86_64")]
        if self.widest {
            // SAFETY: `is_widest` found the features.
            return unsafe { self.pass_widest(accesses) };
        } else if self.wide {
            // SAFETY: `is_wide` found the features.
            return unsafe { self.pass_wide(accesses) };
        }
        self.pass(accesses, Worker::pass_quickly);
    }

    fn alone(&mut self) {
        self.l1 = self.launch.caches.alone();
    }

    fn follows(&self, smid: u32) -> bool {
        self.launch.caches.models(smid)
    }

    fn marked_lines(&self) -> MarkedLines {
        L2_LINES
    }

    fn repeated(&mut self, rehearsed: usize, smid: u32, by: &[i64]) {
        self.look_again(rehearsed, smid, by);
    }

    fn touched(&mut self, line: u64, sectors: u8) {
        self.launch.caches.touch_below(line, sectors.into());
    }

    fn texture(&mut self, e: &TextureEvent<'_>) {
        let launch = self.launch;
        let entry = self.textures.entry((e.at.pc, e.handle)).or_insert_with(|| TextureEntry {
            variable: launch.variables.lock().texture(e.handle, e.image.bytes()),
            counts: TextureCounts::default(),
        });
        entry.counts.add(e, &launch.caches, &mut self.l1);
    }

    fn run(&mut self, at: EventPlace, end: u32, mask: u32) {
        let lanes = i64::from(mask.count_ones());
        self.room.warps[at.pc as usize] += 1;
        self.room.warps[end as usize] -= 1;
        self.room.threads[at.pc as usize] += lanes;
        self.room.threads[end as usize] -= lanes;
        self.look_around(1);
    }

    fn runs(&mut self, from: u32, end: u32, executions: i64, lanes: i64) {
        self.room.warps[from as usize] += executions;
        self.room.warps[end as usize] -= executions;
        self.room.threads[from as usize] += lanes;
        self.room.threads[end as usize] -= lanes;
    }

    fn branches(&mut self, pc: u32, sums: &BranchSums) {
        let branch = self.room.branches[pc as usize].get_or_insert_default();
        branch.executions = branch.executions.wrapping_add(sums.executions);
        branch.divergent += sums.divergent;
        branch.lanes = branch.lanes.wrapping_add(sums.lanes);
        branch.taken += sums.taken;
    }

    fn branch(&mut self, at: EventPlace, active: u32, taken: u32) {
        let branch = self.room.branches[at.pc as usize].get_or_insert_default();
        branch.executions += 1;
        branch.divergent += u64::from(taken != 0 && taken != active);
        branch.lanes += u64::from(active.count_ones());
        branch.taken += u64::from(taken.count_ones());
    }

    fn sums_told(&mut self) {
        self.look_around(RUNS_BETWEEN_LOOKS);
    }

    fn finish(&mut self) {
        self.hand_in();
        let room = std::mem::replace(&mut self.room, Room::new(0));
        self.launch.profiler.reuse(self.launch.kernel, room);
        self.launch.caches.give_back(std::mem::take(&mut self.l1));
    }
}
