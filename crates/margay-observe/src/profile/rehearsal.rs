// SPDX-License-Identifier: MIT OR Apache-2.0
//! Blocks that are watched once for many: see [`margay_exec::observe::Rehearsal`].
//!
//! What such a block did is counted in a room of its own, and counts as often as blocks did so.

use std::ops::Range;
use std::sync::Arc;

use margay_arch::{Kind, MemoryModel, Space, WarpAccess};
use margay_exec::observe::{AccessEvent, EventPlace, GroupedEvent, Kept, Rehearsal};

use super::pattern::base_of;
use super::raw::{CacheCounts, Sums};
use super::room::{Entry, PERIOD, Room};
use super::site::{self, Site};
use super::touches::{LINE, Route, SECTOR, Touch, Touched, touches, touches_of_groups};
use super::watch::{LaunchObserver, Worker};

impl Rehearsal for Worker<'_, '_> {
    fn variable(&mut self, address: u64) -> Range<u64> {
        let (_, lo, hi) = self.launch.profiler.variable(self.launch, Space::Global, address);
        lo..hi
    }

    fn period(&self) -> u64 {
        // What sectors and lines alone decide is the same in each line.
        if self.simple { 128 } else { PERIOD }
    }

    fn is_free(&self) -> bool {
        !self.models.iter().any(MemoryModel::minds_places)
    }

    fn keep(mut self: Box<Self>) -> Kept {
        self.room.settle();
        let mut kept = self.launch.rehearsed.lock();
        let room = Some(std::mem::replace(&mut self.room, Room::new(0)));
        let log = self.log.take().filter(|log| !log.is_full());
        let repeats = log.is_some();
        kept.push(Rehearsed { room, log: log.map(Arc::new) });
        Kept { number: kept.len() - 1, repeats }
    }
}

/// What a rehearsed block did, until it is known for how many it stands.
pub struct Rehearsed {
    room: Option<Room>,
    log: Option<Arc<Log>>,
}

/// What a block looks up in caches, in its order.
#[derive(Default)]
pub struct Log {
    accesses: Vec<Logged>,
    touches: Vec<Touch>,
    ways: Vec<Way>,
}

/// An access of a [`Log`].
struct Logged {
    /// Its [`Way`].
    way: u32,
    warp: u32,
    /// Its touches, which are from `base` on.
    from: u32,
    touches: u32,
    base: u64,
    /// Address in its first lane.
    lead: u64,
}

/// Accesses of one entry.
struct Way {
    pc: u32,
    entry: usize,
    route: Route,
    kind: Kind,
}

/// Accesses of a block that are kept, at most, and touches of all.
const MOST: usize = 1 << 17;

impl Log {
    fn is_full(&self) -> bool {
        self.accesses.len() >= MOST || self.touches.len() >= MOST
    }
}

impl Worker<'_, '_> {
    /// Notes what an access looks up, in a block that is rehearsed. It was counted.
    pub(super) fn log(&mut self, e: &AccessEvent<'_>) {
        let lead = e.addresses[e.mask.trailing_zeros() as usize & 31];
        let base = base_of(e.mask, e.addresses, PERIOD);
        self.log_from(e.at, (e.space, e.bytes), (lead, base), |route, list| {
            let relative = e.addresses.map(|a| a.wrapping_sub(base));
            touches(route, e.mask, &relative, list);
        });
    }

    /// The same of an access by groups.
    pub(super) fn log_groups(&mut self, e: &GroupedEvent) {
        let starts = e.starts;
        let least = starts.iter().fold(u64::MAX, |least, start| least.min(*start));
        let (lead, base) = (starts[0], least & !(PERIOD - 1));
        self.log_from(e.at, (e.space, e.bytes), (lead, base), |route, list| match route {
            Route::Global { .. } => touches_of_groups(e, base, list),
            _ => touches(route, u32::MAX, &e.addresses().map(|a| a.wrapping_sub(base)), list),
        });
    }

    fn log_from(
        &mut self,
        at: EventPlace,
        (space, width): (margay_ir::Space, u32),
        (lead, base): (u64, u64),
        touches: impl FnOnce(Route, &mut Vec<Touch>),
    ) {
        let (Some(log), Some(own)) = (&mut self.log, self.models.first()) else { return };
        let space = site::space(space);
        let entries = &self.room.sites[at.pc as usize];
        let Some(entry) = entries.iter().position(|entry| entry.holds(space, lead)) else { return };
        if log.is_full() {
            return;
        }
        let is = |way: &Way| (way.pc, way.entry) == (at.pc, entry);
        let last = log.accesses.last().map(|last| last.way as usize);
        let known = last.filter(|last| is(&log.ways[*last]));
        let way = known.or_else(|| log.ways.iter().position(is)).unwrap_or_else(|| {
            let Site { kind, cache, .. } = entries[entry].site;
            let (mask, addresses) = (u32::MAX, &[lead; 32]);
            let access = WarpAccess { space, kind, width, mask, addresses, cache };
            let route = self.launch.caches.route(own, &access);
            log.ways.push(Way { pc: at.pc, entry, route, kind });
            log.ways.len() - 1
        });
        let route = log.ways[way].route;
        if route == Route::Nowhere {
            return;
        }
        let from = log.touches.len();
        touches(route, &mut log.touches);
        let touches = (log.touches.len() - from) as u32;
        let (way, warp, from) = (way as u32, at.warp, from as u32);
        log.accesses.push(Logged { way, warp, from, touches, base, lead });
    }

    /// Looks up what a block did that was kept by this number, with addresses that are others by so much.
    pub(super) fn look_again(&mut self, number: usize, smid: u32, by: &[i64]) {
        let launch = self.launch;
        let log = launch.rehearsed.lock().get(number).and_then(|kept| kept.log.clone());
        let Some(log) = log else { return };
        let mut counts = vec![CacheCounts::default(); log.ways.len()];
        #[cfg(target_arch = "x86_64")]
        if self.wide {
            // SAFETY: `wide` says that the features are there.
            unsafe { self.look_all_wide(&log, smid, by, &mut counts) };
        }
        if !self.wide {
            self.look_all(&log, smid, by, &mut counts);
        }
        let mut kept = launch.rehearsed.lock();
        let Some(room) = kept.get_mut(number).and_then(|kept| kept.room.as_mut()) else { return };
        for (way, counts) in log.ways.iter().zip(&counts) {
            room.sites[way.pc as usize][way.entry].caches.merge(counts);
        }
    }

    /// [`Worker::look_all`], compiled for wider vectors.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
    fn look_all_wide(&mut self, log: &Log, smid: u32, by: &[i64], counts: &mut [CacheCounts]) {
        self.look_all(log, smid, by, counts);
    }

    /// Looks up all accesses of a log, and counts what was found by its ways.
    #[inline(always)]
    fn look_all(&mut self, log: &Log, smid: u32, by: &[i64], counts: &mut [CacheCounts]) {
        let caches = &self.launch.caches;
        for access in &log.accesses {
            let Way { pc, route, kind, .. } = log.ways[access.way as usize];
            let by = by.get(pc as usize).copied().unwrap_or(0);
            let list = &log.touches[access.from as usize..][..access.touches as usize];
            let mut at = (access.base.wrapping_add_signed(by), Touched { list, marked: None });
            // What moves by less than a line is of one sector.
            let sector;
            if by % i64::from(LINE) != 0 {
                let lead = access.lead.wrapping_add_signed(by);
                sector =
                    [Touch::new(0, 1 << (lead / u64::from(SECTOR) % u64::from(LINE / SECTOR)))];
                at = (lead & !u64::from(LINE - 1), Touched { list: &sector, marked: None });
            }
            let place = (smid, access.warp);
            let found = &mut counts[access.way as usize];
            caches.look(&mut self.l1, (route, kind), at, place, found);
        }
    }
}

impl LaunchObserver<'_> {
    /// Counts what a block did that was kept by this number, so often.
    pub(super) fn count_kept(&self, number: usize, blocks: u64) {
        let kept = self.rehearsed.lock().get_mut(number).and_then(|kept| kept.room.take());
        let Some(mut room) = kept.filter(|_| blocks > 0) else { return };
        room.repeat(blocks);
        self.profiler.take(self, &mut self.worker_in(room));
    }
}

impl Room {
    /// Counts all that was counted so often.
    fn repeat(&mut self, times: u64) {
        let differences = self.warps.iter_mut().chain(&mut self.threads);
        differences.for_each(|n| *n = n.wrapping_mul(times as i64));
        for branch in self.branches.iter_mut().flatten() {
            let all = [
                &mut branch.executions,
                &mut branch.divergent,
                &mut branch.lanes,
                &mut branch.taken,
            ];
            all.into_iter().for_each(|n| *n *= times);
        }
        self.sites.iter_mut().flatten().for_each(|entry| entry.repeat(times));
    }
}

impl Entry {
    fn repeat(&mut self, times: u64) {
        self.executions *= times;
        self.lanes *= times;
        self.unkept *= times;
        let each = |sums: &mut Sums| *sums = sums.times(times);
        self.unkept_counts.iter_mut().for_each(each);
        self.patterns.seen.iter_mut().for_each(|seen| seen.count *= times);
    }
}
