// SPDX-License-Identifier: MIT OR Apache-2.0
//! What happens before what: logical clocks of the threads of a grid.
//!
//! The order is that of the PTX memory model ("Memory Consistency Model", causality order): program
//! order, barriers, and release patterns that an acquire pattern has read from, each with its scope.
//! A thread's accesses carry the *stamp* of its warp; the stamp moves on at each synchronising
//! instruction, and one counter of the launch gives all stamps. What a thread *knows* of another is
//! the last stamp up to which the other's accesses happen before its own next one.
//!
//! Clocks are kept by warp as long as a warp's lanes know the same, and by lane where they differ.
//!
//! Limit: across warps, a barrier that only some lanes of a warp have reached counts for all of them.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Weak};

use margay_ir::{Scope, Sem};
use smallvec::SmallVec;

use super::handed::Handed;
use super::knowledge::{Base, Knowledge};
use super::released::{Common, Known};
use super::releases::Releases;
use super::slots::{PAST, Past};
use super::variables::Word;

/// Logical time. 0 is before the launch.
pub type Tick = u32;

const LANES: usize = 32;

/// A thread of the grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Thread {
    /// Linear index of the block.
    pub block: u32,
    pub warp: u16,
    pub lane: u8,
}

/// A fence that lanes have executed: what they knew then is released by their next strong write.
#[derive(Clone, Debug)]
struct Fenced {
    scope: Scope,
    /// It is one of sequential consistency.
    sc: bool,
    known: Known,
}

/// What was read from a synchronising variable and is not acquired yet.
#[derive(Clone, Debug)]
struct Acquiring {
    known: Knowledge,
    /// All of it was released within the reader's block.
    same_block: bool,
    /// What was read of it by accesses that are no lock's.
    followed: Knowledge,
}

/// The clock of a warp.
#[derive(Debug)]
struct Warp {
    stamp: Tick,
    /// Lanes that there are in the block's shape.
    exist: u32,
    /// Of each warp of the block.
    known: Vec<Tick>,
    /// Every lane knows every other lane of the warp up to here.
    lanes_all: Tick,
    /// Where lanes know more: `[u][v]` is what lane u knows of lane v.
    lanes: Option<Box<[[Tick; LANES]; LANES]>>,
    /// Of other blocks, and of this one by other ways than barriers.
    foreign: Knowledge,
    lane_foreign: Vec<(u8, Knowledge)>,
    fenced: Vec<(u8, Arc<Fenced>)>,
    acquiring: Vec<(u8, Acquiring)>,
    /// What its lanes fenced and read before all of them met.
    handed: Handed,
    /// Whether any has done more of either since.
    is_to_hand: bool,
    /// Lanes that have acquired what there is in it, and in [`Block::handed`].
    took: [u32; 2],
    /// Stamps with which marks were widened: of plain accesses, and of strong ones, which poll at
    /// times that nobody else knows of. See [`super::shadow`].
    used: [Stamps; 2],
    /// What its lanes have in common, after so many meetings, if anybody has it from them still: else nobody knows what they
    /// released before.
    common: (u64, Weak<Common>),
}

impl Warp {
    /// All its lanes have met: see [`super::handed`].
    fn hand_over(&mut self) {
        let mut handed = std::mem::take(&mut self.handed);
        self.took[0] = 0;
        self.add_to(&mut handed);
        self.handed = handed;
    }

    /// Adds what its lanes fenced and read.
    fn add_to(&self, handed: &mut Handed) {
        for (_, what) in &self.acquiring {
            handed.add_read(&what.known, what.same_block);
        }
        // Of lanes that fenced at once, which have it in common, all come at once.
        let all = self.fenced.iter().filter(|(_, fenced)| fenced.sc);
        let mut left: Vec<&Arc<Fenced>> = all.map(|(_, fenced)| fenced).collect();
        while let Some(&first) = left.first() {
            let is_alike = |own: &&Arc<Fenced>| {
                own.scope == first.scope && own.known.is_alike_with(&first.known)
            };
            let (alike, others) = left.into_iter().partition::<Vec<_>, _>(is_alike);
            let lanes = alike.iter().fold(0, |lanes, own| lanes | 1u32 << own.known.lane);
            handed.add_fenced(first.scope, &first.known.with_lanes(lanes, self.exist));
            left = others;
        }
    }

    fn forget_handed(&mut self) {
        self.is_to_hand = false;
        if !self.handed.is_empty() {
            self.handed = Handed::default();
        }
    }
}

/// Stamps that lanes of a warp used for widened marks, ascending, with the lanes.
#[derive(Clone, Debug, Default)]
pub struct Stamps(SmallVec<[(Tick, u32); 2]>);

impl Stamps {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether one more needs room, or what is alike to be forgotten.
    fn is_full(&self) -> bool {
        self.0.len() == self.0.capacity()
    }

    /// Of stamps that follow on each other and are alike to whoever asks, which have the same `alike`, the first stands for all
    /// lanes that have any. Makes room.
    fn join(&mut self, alike: impl Fn(Tick) -> Option<Tick>) {
        let mut last = None;
        self.0.dedup_by(|(stamp, lanes), before| {
            let before_is = last.take().unwrap_or_else(|| alike(before.0));
            let own = alike(*stamp);
            let same = own.is_some() && own == before_is;
            if same {
                before.1 |= *lanes;
            }
            last = Some(own);
            same
        });
        // As often as it doubles.
        self.0.reserve(self.0.len().max(2));
    }

    /// Notes a stamp of lanes. Returns whether that is new.
    pub fn add(&mut self, stamp: Tick, mask: u32) -> bool {
        // Nearly always the last.
        if let Some((tick, lanes)) = self.0.last()
            && *tick == stamp
            && mask & !*lanes == 0
        {
            return false;
        }
        let at = self.0.partition_point(|&(t, _)| t < stamp);
        match self.0.get_mut(at) {
            Some((tick, lanes)) if *tick == stamp => {
                let new = mask & !*lanes != 0;
                *lanes |= mask;
                new
            }
            Some(_) | None => {
                self.0.insert(at, (stamp, mask));
                true
            }
        }
    }

    /// Whether `known` holds for the last stamp up to `last` of every lane, if that is not known anyway: up to `floor`.
    fn all(&self, last: Tick, floor: Tick, mut known: impl FnMut(u8, Tick) -> bool) -> bool {
        let end = self.0.partition_point(|&(t, _)| t <= last);
        let mut seen = 0u32;
        for &(stamp, lanes) in self.0[..end].iter().rev() {
            if stamp <= floor {
                break;
            }
            let fresh = lanes & !seen;
            if !(0..LANES as u8).filter(|l| fresh >> l & 1 != 0).all(|l| known(l, stamp)) {
                return false;
            }
            seen |= lanes;
            if seen == u32::MAX {
                break;
            }
        }
        true
    }
}

/// Stamps of the warps of a block, of those that used any, by warp, each for plain accesses and for strong ones. Most blocks
/// have few, and each block of a launch that widened a mark is kept until the launch ends.
#[derive(Debug, Default)]
pub struct UsedStamps {
    warps: Vec<((u16, bool), Stamps)>,
    /// What is past of what the block did, if that is told: such stamps are alike.
    past: Option<Arc<Past>>,
}

impl UsedStamps {
    /// Of a block of which this is past.
    pub fn of(past: &Arc<Past>) -> UsedStamps {
        UsedStamps { warps: Vec::new(), past: Some(past.clone()) }
    }

    pub fn is_empty(&self) -> bool {
        self.warps.is_empty()
    }

    /// The block has ended: it has no more of them, but for those that others find at marks.
    pub fn end(&mut self) {
        if let Some(past) = self.past.take() {
            for (_, own) in &mut self.warps {
                own.join(|stamp| past.first(stamp));
                own.0.shrink_to_fit();
            }
        }
        self.warps.shrink_to_fit();
    }

    /// Stamps that are kept.
    #[cfg(test)]
    pub fn count(&self) -> usize {
        self.warps.iter().map(|(_, stamps)| stamps.0.len()).sum()
    }

    /// Notes a stamp of lanes of a warp, one of so many.
    pub fn add(&mut self, (warp, warps): (u16, usize), strong: bool, stamp: Tick, mask: u32) {
        if self.warps.is_empty() {
            self.warps.reserve_exact(warps);
        }
        let key = (warp, strong);
        // Warps mostly come in order.
        let at = match self.warps.last() {
            Some((last, _)) if *last < key => self.warps.len(),
            _ => self.warps.partition_point(|(k, _)| *k < key),
        };
        if self.warps.get(at).is_none_or(|(k, _)| *k != key) {
            self.warps.insert(at, (key, Stamps::default()));
        }
        let own = &mut self.warps[at].1;
        if own.is_full()
            && let Some(past) = &self.past
        {
            own.join(|stamp| past.first(stamp));
        }
        own.add(stamp, mask);
    }
}

/// The clocks of a block.
#[derive(Debug)]
pub struct Block {
    pub id: u32,
    warps: Vec<Warp>,
    arrivals: Vec<Vec<Arrival>>,
    foreign: Knowledge,
    /// Warps that have waited at the cluster's barrier, each with the round, and not learnt yet what was released there.
    waits: SmallVec<[(u16, usize); 4]>,
    /// Counts what its threads learnt: while it stands, what is not known is not known.
    version: u64,
    /// The same of what whole warps learnt.
    meetings: u64,
    /// What was last released of all warps, if anybody has it still.
    base: Weak<Base>,
    releases: Releases,
    /// [`Block::known`] of so many meetings.
    known_at: (u64, Tick),
    /// What threads fenced and read before all met, and whether any has done more of either since.
    handed: Handed,
    is_to_hand: bool,
}

#[derive(Clone, Copy, Debug)]
struct Arrival {
    warp: u16,
    mask: u32,
    /// Set for `arrive`, which does not wait.
    at: Option<Tick>,
}

/// Counts ticks.
#[derive(Debug)]
pub struct Time(AtomicU32);

impl Default for Time {
    fn default() -> Time {
        Time(AtomicU32::new(1))
    }
}

impl Time {
    pub fn now(&self) -> Tick {
        self.0.load(Ordering::Relaxed)
    }

    /// A tick later than all before.
    pub fn next(&self) -> Tick {
        self.0.fetch_add(1, Ordering::Relaxed) + 1
    }
}

/// A strong access to memory, as far as order goes.
#[derive(Clone, Copy, Debug)]
pub struct Strong {
    pub sem: Sem,
    pub scope: Scope,
    pub reads: bool,
    pub writes: bool,
    /// It may be that of a lock, behind which a fence is asked for.
    pub locks: bool,
}

fn acquires(sem: Sem) -> bool {
    match sem {
        Sem::Acquire | Sem::AcqRel | Sem::SeqCst => true,
        Sem::Weak | Sem::Volatile | Sem::Relaxed | Sem::Release | Sem::Mmio => false,
    }
}

/// Whether an access releases something by itself.
pub(super) fn releases(sem: Sem) -> bool {
    match sem {
        Sem::Release | Sem::AcqRel | Sem::SeqCst => true,
        Sem::Weak | Sem::Volatile | Sem::Relaxed | Sem::Acquire | Sem::Mmio => false,
    }
}

impl Block {
    pub fn new(id: u32, threads: u32, time: &Time) -> Block {
        let count = threads.div_ceil(LANES as u32) as usize;
        let warp = |w: usize| {
            let left = threads - (w * LANES) as u32;
            Warp {
                stamp: time.now(),
                exist: if left >= 32 { u32::MAX } else { (1 << left) - 1 },
                known: vec![0; count],
                lanes_all: 0,
                lanes: None,
                foreign: Knowledge::default(),
                lane_foreign: Vec::new(),
                fenced: Vec::new(),
                acquiring: Vec::new(),
                handed: Handed::default(),
                is_to_hand: false,
                took: [0; 2],
                used: Default::default(),
                common: Default::default(),
            }
        };
        Block {
            id,
            warps: (0..count).map(warp).collect(),
            arrivals: vec![Vec::new(); 16],
            foreign: Knowledge::default(),
            waits: SmallVec::new(),
            version: 0,
            meetings: 0,
            base: Weak::new(),
            releases: Releases::default(),
            known_at: (0, 0),
            handed: Handed::default(),
            is_to_hand: false,
        }
    }

    /// The same for another block of the launch, in the memory of one that has ended.
    pub fn renew(&mut self, id: u32, time: &Time) {
        self.id = id;
        for warp in &mut self.warps {
            (warp.stamp, warp.lanes_all, warp.lanes) = (time.now(), 0, None);
            warp.known.fill(0);
            if !warp.foreign.is_empty() {
                warp.foreign = Knowledge::default();
            }
            warp.lane_foreign.clear();
            warp.fenced.clear();
            warp.acquiring.clear();
            warp.forget_handed();
            warp.took = [0; 2];
            warp.used.iter_mut().for_each(|used| used.0.clear());
            warp.common = Default::default();
        }
        self.arrivals.iter_mut().for_each(Vec::clear);
        if !self.foreign.is_empty() {
            self.foreign = Knowledge::default();
        }
        self.waits.clear();
        self.is_to_hand = false;
        if !self.handed.is_empty() {
            self.handed = Handed::default();
        }
        // Never one that was seen before.
        self.has_met();
        self.releases.clear();
    }

    pub fn warps(&self) -> usize {
        self.warps.len()
    }

    /// Whole warps learnt something.
    fn has_met(&mut self) {
        self.version += 1;
        self.meetings += 1;
    }

    /// Changes whenever a thread of the block learns something.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// Whether all lanes of a warp know the same, but for what each did itself.
    pub fn is_uniform(&self, warp: u16) -> bool {
        let own = &self.warps[warp as usize];
        own.lanes.is_none() && own.lane_foreign.is_empty()
    }

    /// Every lane of the warp knows whatever its block did up to here.
    pub fn floor(&self, warp: u16) -> Tick {
        let own = &self.warps[warp as usize];
        if own.lanes_all == 0 {
            return 0;
        }
        let others = own.known.iter().enumerate().filter(|(w, _)| *w != warp as usize);
        others.map(|(_, &tick)| tick).min().unwrap_or(Tick::MAX).min(own.lanes_all)
    }

    /// What others may have learnt of what the block did.
    pub fn releases(&self) -> &Releases {
        &self.releases
    }

    /// Forgets what nobody knows any more of what was released. Whether there is anything else: who asks releases nothing
    /// from then on.
    pub fn is_known_by_others(&mut self) -> bool {
        self.releases.forget();
        !self.releases.is_empty()
    }

    /// Every thread of the block knows whatever its block did up to here.
    fn known(&self) -> Tick {
        (0..self.warps.len()).map(|w| self.floor(w as u16)).min().unwrap_or(0)
    }

    /// Whether another block may have acquired anything of this one.
    #[cfg(test)]
    pub fn has_released(&self) -> bool {
        !self.releases.is_empty()
    }

    /// Every lane of `warp` knows whatever the warp `other` did up to here.
    pub fn floor_of(&self, warp: u16, other: u16) -> Tick {
        let own = &self.warps[warp as usize];
        if warp == other { own.lanes_all } else { own.known[other as usize] }
    }

    /// Whether threads know of each other by barriers alone.
    pub fn is_simple(&self) -> bool {
        self.foreign.is_empty()
            && self.warps.iter().all(|w| w.foreign.is_empty() && w.lane_foreign.is_empty())
    }

    /// Whether every thread of the block waits at barrier `id`, so that each comes after all others once it opens.
    pub fn joins_all(&self, id: usize) -> bool {
        let Some(arrivals) = self.arrivals.get(id) else { return false };
        (0..self.warps.len()).all(|w| {
            let own = arrivals.iter().filter(|a| a.warp as usize == w && a.at.is_none());
            own.fold(0, |mask, a| mask | a.mask) & self.warps[w].exist == self.warps[w].exist
        })
    }

    /// Whether a warp learns something by a fence: it has read from what released it.
    pub fn learns_by_fence(&self, warp: u16) -> bool {
        let own = &self.warps[warp as usize];
        let handed = [&own.handed, &self.handed];
        !own.acquiring.is_empty() || handed.iter().any(|handed| !handed.acquires_nothing())
    }

    /// The stamp of what a warp does now.
    pub fn stamp(&self, warp: u16) -> Tick {
        self.warps[warp as usize].stamp
    }

    /// Notes that marks of lanes were widened. Returns whether that is new.
    pub fn use_stamp(&mut self, warp: u16, mask: u32, stamp: Tick, strong: bool) -> bool {
        if self.warps[warp as usize].used[usize::from(strong)].is_full() {
            let known = self.known();
            let used = &mut self.warps[warp as usize].used[usize::from(strong)];
            used.join(|stamp| (stamp <= known).then_some(PAST));
        }
        self.warps[warp as usize].used[usize::from(strong)].add(stamp, mask)
    }

    /// Whether the access of `other` with this stamp happens before what `me` does now.
    pub fn knows(&self, me: Thread, other: Thread, stamp: Tick) -> bool {
        let warp = &self.warps[me.warp as usize];
        if other.block == self.id {
            if other.warp != me.warp {
                if stamp <= warp.known[other.warp as usize] {
                    return true;
                }
            } else if other.lane == me.lane || stamp <= warp.lanes_all {
                return true;
            } else if let Some(lanes) = &warp.lanes
                && stamp <= lanes[me.lane as usize][other.lane as usize]
            {
                return true;
            }
        }
        self.foreign.covers(other, stamp)
            || warp.foreign.covers(other, stamp)
            || warp.lane_foreign.iter().any(|(l, k)| *l == me.lane && k.covers(other, stamp))
    }

    /// Whether `me` would know it after a fence: it has read from what released it.
    pub fn has_read_of(&self, me: Thread, other: Thread, stamp: Tick) -> bool {
        let acquiring = &self.warps[me.warp as usize].acquiring;
        acquiring.iter().any(|(l, what)| *l == me.lane && what.known.covers(other, stamp))
    }

    /// The same, by an access that is no lock's.
    pub fn has_followed(&self, me: Thread, other: Thread, stamp: Tick) -> bool {
        let acquiring = &self.warps[me.warp as usize].acquiring;
        acquiring.iter().any(|(l, what)| *l == me.lane && what.followed.covers(other, stamp))
    }

    /// As [`Block::knows`], for all lanes of a warp of this block and what they used up to `last`.
    pub fn knows_lanes(&self, me: Thread, warp: u16, last: Tick, strong: bool) -> bool {
        let floor = self.floor_of(me.warp, warp);
        self.warps[warp as usize].used[usize::from(strong)].all(last, floor, |lane, stamp| {
            self.knows(me, Thread { block: self.id, warp, lane }, stamp)
        })
    }

    /// As [`Block::knows_lanes`], for all warps of this block.
    pub fn knows_warps(&self, me: Thread, last: Tick, strong: bool) -> bool {
        (0..self.warps.len()).all(|w| self.knows_lanes(me, w as u16, last, strong))
    }

    /// As [`Block::knows_warps`], for another block, whose warps used these stamps.
    pub fn knows_block(
        &self,
        me: Thread,
        block: u32,
        used: &UsedStamps,
        last: Tick,
        strong: bool,
    ) -> bool {
        let mut alike = used.warps.iter().filter(|((_, s), _)| *s == strong);
        let floor = self.up_to(me.warp, me.lane);
        alike.all(|&((warp, _), ref used)| {
            used.all(last, floor, |lane, stamp| self.knows(me, Thread { block, warp, lane }, stamp))
        })
    }

    /// What all lanes of `warp` know now: others may come to know that, and what the lanes did so far.
    fn common(&mut self, warp: u16) -> Arc<Common> {
        if self.known_at.0 != self.meetings || self.releases.is_empty() {
            self.known_at = (self.meetings, self.known());
        }
        let own = &self.warps[warp as usize];
        let all = own.known.iter().enumerate().map(|(w, &known)| match w == warp as usize {
            true => own.lanes_all,
            false => known,
        });
        let last = all.clone().fold(own.stamp, Tick::max);
        let hold = self.releases.note((self.known_at.1, last));
        if own.common.0 == self.meetings
            && let Some(common) = own.common.1.upgrade()
            && common.base.is_of(&hold)
        {
            return common;
        }
        let mut foreign = self.foreign.clone();
        foreign.join(&own.foreign);
        let new = Base::new(all, hold);
        // Before they have met, all warps know the same of each other.
        let base = match self.base.upgrade() {
            Some(base) if base.is_same(&new) => base,
            Some(_) | None => Arc::new(new),
        };
        self.base = Arc::downgrade(&base);
        let common = Arc::new(Common::new(self.id, warp, base, foreign));
        self.warps[warp as usize].common = (self.meetings, Arc::downgrade(&common));
        common
    }

    /// What lane `lane` of `warp` knows now, with its own accesses so far: others may come to know that.
    fn known_now(&mut self, warp: u16, lane: u8) -> Known {
        let common = self.common(warp);
        let own = &self.warps[warp as usize];
        let mut more = Knowledge::default();
        own.lane_foreign.iter().filter(|(l, _)| *l == lane).for_each(|(_, k)| more.join(k));
        let mut lanes: SmallVec<[(u8, Tick); 1]> = SmallVec::new();
        if let Some(matrix) = &own.lanes {
            for (other, &tick) in matrix[lane as usize].iter().enumerate() {
                if tick > own.lanes_all && other != lane as usize {
                    lanes.push((other as u8, tick));
                }
            }
        }
        Known { common, lane, tick: own.stamp, lanes, more }
    }

    /// Lanes of a warp meet at `bar.warp.sync`.
    pub fn warp_barrier(&mut self, warp: u16, mask: u32, time: &Time) {
        self.meet_lanes(warp, mask);
        let own = &mut self.warps[warp as usize];
        own.stamp = time.next();
        if mask & own.exist == own.exist && std::mem::take(&mut own.is_to_hand) {
            own.hand_over();
        }
    }

    /// The same, before the warp has another stamp.
    fn meet_lanes(&mut self, warp: u16, mask: u32) {
        self.has_met();
        let own = &mut self.warps[warp as usize];
        let now = own.stamp;
        if mask & own.exist == own.exist {
            own.lanes_all = now;
            own.lanes = None;
        } else {
            let all = own.lanes_all;
            let matrix = own.lanes.get_or_insert_with(|| Box::new([[all; LANES]; LANES]));
            let mut joined = [0; LANES];
            for l in (0..LANES).filter(|l| mask >> l & 1 != 0) {
                for (j, &t) in joined.iter_mut().zip(&matrix[l]) {
                    *j = t.max(*j);
                }
            }
            for l in (0..LANES).filter(|l| mask >> l & 1 != 0) {
                joined[l] = now;
            }
            for l in (0..LANES).filter(|l| mask >> l & 1 != 0) {
                matrix[l] = joined;
            }
        }
        let mut shared = Knowledge::default();
        for (lane, known) in &own.lane_foreign {
            if mask >> lane & 1 != 0 {
                shared.join(known);
            }
        }
        if !shared.is_empty() {
            if mask & own.exist == own.exist {
                own.foreign.join(&shared);
                own.lane_foreign.clear();
            } else {
                own.lane_foreign.retain(|(lane, _)| mask >> lane & 1 == 0);
                let lanes = (0..LANES as u8).filter(|l| mask >> l & 1 != 0);
                own.lane_foreign.extend(lanes.map(|lane| (lane, shared.clone())));
            }
        }
    }

    /// Lanes of a warp arrive at barrier `id`. `waits` is false for `bar.arrive`.
    pub fn arrive(&mut self, id: usize, warp: u16, mask: u32, waits: bool, time: &Time) {
        let at = (!waits).then(|| time.now());
        if !waits {
            self.warps[warp as usize].stamp = time.next();
        }
        if let Some(arrivals) = self.arrivals.get_mut(id) {
            arrivals.push(Arrival { warp, mask, at });
        }
    }

    /// Whether [`Block::meet`] is all that a barrier does: no warp knows of other blocks, has arrived at another, or hands over
    /// anything.
    pub fn can_meet(&self) -> bool {
        let plain = |w: &Warp| w.foreign.is_empty() && w.lane_foreign.is_empty();
        self.warps.iter().all(plain) && self.arrivals.iter().all(Vec::is_empty) && !self.is_to_hand
    }

    /// As if every lane of every warp arrived at a barrier, and it opened.
    pub fn meet(&mut self, time: &Time) {
        debug_assert!(self.can_meet());
        self.has_met();
        let (now, stamp) = (time.now(), time.next());
        for warp in &mut self.warps {
            (warp.lanes_all, warp.lanes, warp.stamp) = (warp.stamp, None, stamp);
            warp.known.fill(now);
        }
    }

    /// Barrier `id` is complete.
    pub fn open(&mut self, id: usize, time: &Time) {
        let Some(arrivals) = self.arrivals.get_mut(id) else { return };
        let arrivals = std::mem::take(arrivals);
        self.has_met();
        let now = time.now();
        let count = self.warps.len();
        let (mut base, mut masks) = (vec![0; count], vec![0u32; count]);
        let mut waiting = vec![false; count];
        let mut foreign = Knowledge::default();
        for arrival in &arrivals {
            let w = arrival.warp as usize;
            let warp = &self.warps[w];
            masks[w] |= arrival.mask;
            waiting[w] |= arrival.at.is_none();
            for (b, &k) in base.iter_mut().zip(&warp.known) {
                *b = k.max(*b);
            }
            foreign.join(&warp.foreign);
            for (lane, known) in &warp.lane_foreign {
                if arrival.mask >> lane & 1 != 0 {
                    foreign.join(known);
                }
            }
        }
        for arrival in &arrivals {
            let w = arrival.warp as usize;
            base[w] = arrival.at.unwrap_or(now).max(base[w]);
        }
        let everyone = waiting.iter().all(|&w| w);
        (0..count).filter(|&w| waiting[w]).for_each(|w| self.meet_lanes(w as u16, masks[w]));
        // One for all: what is kept of stamps is kept by block.
        let stamp = time.next();
        for w in (0..count).filter(|&w| waiting[w]) {
            let warp = &mut self.warps[w];
            for (k, &b) in warp.known.iter_mut().zip(&base) {
                *k = b.max(*k);
            }
            warp.stamp = stamp;
            if !everyone && !foreign.is_empty() {
                warp.foreign.join(&foreign);
            }
        }
        if everyone && !foreign.is_empty() {
            self.foreign.join(&foreign);
            for warp in &mut self.warps {
                warp.foreign = Knowledge::default();
            }
        }
        if everyone && std::mem::take(&mut self.is_to_hand) {
            self.hand_over();
        }
    }

    /// All threads of the block have met: see [`super::handed`].
    fn hand_over(&mut self) {
        for warp in &mut self.warps {
            warp.took = [0; 2];
            warp.add_to(&mut self.handed);
            // The block has that, too.
            warp.forget_handed();
        }
    }

    /// Lanes of a warp execute a fence of acquiring and releasing.
    #[cfg(test)]
    pub fn fence(&mut self, warp: u16, mask: u32, scope: Scope, time: &Time) {
        self.fence_with(warp, mask, (scope, false), time);
    }

    /// Lanes of a warp execute a fence, of sequential consistency or not.
    pub fn fence_with(&mut self, warp: u16, mask: u32, (scope, sc): (Scope, bool), time: &Time) {
        let mut acquired = Vec::new();
        let own = &mut self.warps[warp as usize];
        if sc {
            (self.is_to_hand, own.is_to_hand) = (true, true);
            for (handed, took) in [&own.handed, &self.handed].into_iter().zip(&mut own.took) {
                let lanes = mask & !*took;
                if lanes == 0 || handed.acquires_nothing() {
                    continue;
                }
                // A narrower one leaves the rest for one that is wider.
                *took |= if scope == Scope::Cta { 0 } else { lanes };
                let known = handed.acquired_by(scope);
                let lanes = (0..LANES as u8).filter(|lane| lanes >> lane & 1 != 0);
                acquired.extend(lanes.map(|lane| (lane, known.clone())));
            }
        }
        own.acquiring.retain(|(lane, what)| {
            let takes = mask >> lane & 1 != 0 && (scope != Scope::Cta || what.same_block);
            if takes {
                acquired.push((*lane, what.known.clone()));
            }
            !takes
        });
        for (lane, known) in acquired {
            self.learn(warp, lane, &known);
        }
        for lane in (0..LANES as u8).filter(|l| mask >> l & 1 != 0) {
            let known = self.known_now(warp, lane);
            let own = &mut self.warps[warp as usize];
            let fenced = Arc::new(Fenced { scope, sc, known });
            // A wider fence before this one still stands for what came before it.
            own.fenced.retain(|(l, f)| *l != lane || f.scope > scope);
            own.fenced.push((lane, fenced));
        }
        self.warps[warp as usize].stamp = time.next();
    }

    fn learn(&mut self, warp: u16, lane: u8, known: &Knowledge) {
        self.version += 1;
        let own = &mut self.warps[warp as usize];
        match own.lane_foreign.iter_mut().find(|(l, _)| *l == lane) {
            Some((_, k)) => k.join(known),
            None => own.lane_foreign.push((lane, known.clone())),
        }
    }

    /// Up to when a lane knows all that anybody did.
    pub fn up_to(&self, warp: u16, lane: u8) -> Tick {
        let own = &self.warps[warp as usize];
        let lanes = own.lane_foreign.iter().filter(|(l, _)| *l == lane).map(|(_, known)| known);
        let all = lanes.chain([&own.foreign, &self.foreign]).map(Knowledge::up_to);
        all.max().unwrap_or(0)
    }

    /// Whether lane `lane` of `warp` has anything that a strong write would release.
    pub fn may_release(&self, warp: u16, lane: u8, sem: Sem) -> bool {
        releases(sem)
            || self.warps[warp as usize].fenced.iter().any(|(l, _)| *l == lane)
            || self.handed_to(warp).next().is_some()
    }

    /// [`Block::may_release`] of any lane of `warp`.
    pub fn any_may_release(&self, warp: u16, sem: Sem) -> bool {
        releases(sem)
            || !self.warps[warp as usize].fenced.is_empty()
            || self.handed_to(warp).next().is_some()
    }

    /// What fences of others stand for, which a strong write of any lane of `warp` releases.
    fn handed_to(&self, warp: u16) -> impl Iterator<Item = &(Scope, Knowledge)> {
        [&self.warps[warp as usize].handed, &self.handed].into_iter().flat_map(Handed::fenced)
    }

    /// A strong access of one lane to a word by which threads synchronise. What the lanes of a warp release by it is released at
    /// one time: [`Block::has_released_by`] is due after them.
    pub fn synchronise(&mut self, warp: u16, lane: u8, access: Strong, word: &mut Word<'_>) {
        let id = self.id;
        let mut knows = false;
        // Whatever it takes to acquire that, and from whom.
        if access.reads
            && let Some(up_to) = word.passed()
            && self.up_to(warp, lane) < up_to
        {
            self.learn(warp, lane, &Knowledge::of_all(up_to));
        }
        if access.reads && word.is_released() {
            let known = word.known(id, access.scope);
            if !known.is_empty() {
                if acquires(access.sem) {
                    self.learn(warp, lane, &known);
                    knows = word.is_known(id, access.scope);
                }
                let same_block = word.is_only_of(id);
                let own = &mut self.warps[warp as usize];
                let followed = if access.locks { Knowledge::default() } else { known.clone() };
                match own.acquiring.iter_mut().find(|(l, _)| *l == lane) {
                    Some((_, what)) => {
                        what.known.join(&known);
                        what.same_block &= same_block;
                        what.followed.join(&followed);
                    }
                    None => own.acquiring.push((lane, Acquiring { known, same_block, followed })),
                }
                (self.is_to_hand, own.is_to_hand) = (true, true);
            }
        }
        if !access.writes {
            return;
        }
        // A plain store, however strong, begins a new sequence; a read-modify-write goes on.
        if !access.reads {
            word.clear();
        }
        for (l, fenced) in &self.warps[warp as usize].fenced {
            let scope = fenced.scope.min(access.scope);
            // What the access itself releases has what is released for as many.
            let again =
                releases(access.sem) && (scope == Scope::Cta) == (access.scope == Scope::Cta);
            if *l == lane && !again {
                word.release(scope, &fenced.known, false);
                // That was not there when it learnt what was.
                knows = false;
            }
        }
        for (scope, known) in self.handed_to(warp) {
            word.release_for(id, (*scope).min(access.scope), known);
            knows = false;
        }
        if releases(access.sem) {
            let known = self.known_now(warp, lane);
            word.release(access.scope, &known, knows);
        }
    }

    /// What a strong access releases, one after the other, each with its scope.
    #[cfg(test)]
    pub fn released_by(
        &mut self,
        (warp, lane): (u16, u8),
        access: Strong,
    ) -> Vec<(Scope, Knowledge)> {
        let fenced = self.warps[warp as usize].fenced.iter().filter(|(l, _)| *l == lane);
        let mut all: Vec<(Scope, Knowledge)> =
            fenced.map(|(_, own)| (own.scope.min(access.scope), own.known.knowledge())).collect();
        all.extend(
            self.handed_to(warp).map(|(scope, known)| ((*scope).min(access.scope), known.clone())),
        );
        if releases(access.sem) {
            all.push((access.scope, self.known_now(warp, lane).knowledge()));
        }
        all
    }

    /// Lanes of a warp have released something by an instruction: what they do from now on is not part of that.
    pub fn has_released_by(&mut self, warp: u16, sem: Sem, time: &Time) {
        if releases(sem) {
            self.warps[warp as usize].stamp = time.next();
        }
    }

    /// What a warp gives to its cluster when it arrives at the cluster's barrier.
    pub fn cluster_arrive(&mut self, warp: u16, mask: u32, time: &Time) -> Knowledge {
        let mut known = Knowledge::default();
        for lane in (0..LANES as u8).filter(|l| mask >> l & 1 != 0) {
            known.join(&self.known_now(warp, lane).knowledge());
        }
        self.warps[warp as usize].stamp = time.next();
        known
    }

    /// The same for an arrival that releases nothing by itself: what fences before it stand for.
    pub fn cluster_fenced(&self, warp: u16, mask: u32) -> Knowledge {
        let mut known = Knowledge::default();
        for (lane, fenced) in &self.warps[warp as usize].fenced {
            if mask >> lane & 1 != 0 && fenced.scope != Scope::Cta {
                known.join(&fenced.known.knowledge());
            }
        }
        known
    }

    /// A warp waits at the cluster's barrier in a round: [`Block::cluster_joins`] is due before it goes on.
    pub fn cluster_wait(&mut self, warp: u16, round: usize) {
        self.waits.push((warp, round));
    }

    /// The round in which the warp has waited, if it has not learnt yet.
    pub fn cluster_due(&self, warp: u16) -> Option<usize> {
        self.waits.iter().filter(|(w, _)| *w == warp).map(|(_, round)| *round).max()
    }

    /// Whether any warp has not learnt what it waited for.
    pub fn is_cluster_due(&self) -> bool {
        !self.waits.is_empty()
    }

    pub fn cluster_joins(&mut self, warp: u16, known: &Knowledge) {
        self.waits.retain(|(w, _)| *w != warp);
        self.has_met();
        let own = &mut self.warps[warp as usize];
        own.foreign.join(known);
        if let Some(entry) = known.of(self.id) {
            for (k, last) in own.known.iter_mut().zip(entry.lasts()) {
                *k = (*k).max(last);
            }
        }
    }
}
