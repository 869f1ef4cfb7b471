// SPDX-License-Identifier: MIT OR Apache-2.0
//! Accesses of compiled code that are told in lists: most are of a pattern that has come before, or of a site that keeps no more
//! patterns. Those are counted here, one behind the other, with as little as can be; the others are told as events.
//!
//! Invariant: what is counted is what it would be if each was told as an event.

use margay_arch::access::{fewest_places, first_of, passes};
use margay_arch::{Kind, Space};
use margay_exec::fault::Access;
use margay_exec::observe::{
    AccessEvent, EventPlace, NotedAccess, NotedAddresses, NotedList, PatternedEvent, PlainNote,
};
use margay_ir as ir;

use super::room::{FEW, Known, PERIOD, Room};
use super::site;
use super::spread::{Spread, Spreads};
use super::touches::{Route, SECTOR, Touch, Touched};
use super::watch::{Worker, count, lead, second};

/// An access by a form: a number of it, the base, and the second scalar.
#[derive(Clone, Copy)]
struct Form<'a> {
    site: u64,
    base: u64,
    u: u64,
    steps: &'a [i64; 32],
}

/// How many accesses before are looked at.
const BEFORE: usize = 4;

/// What was found of the last accesses by addresses: what a statement loads it mostly stores, and arrays of one index are accessed
/// one after the other.
struct Before<'a> {
    all: [Found<'a>; BEFORE],
    next: usize,
}

#[derive(Clone, Copy)]
struct Found<'a> {
    mask: u32,
    addresses: &'a [u64; 32],
    what: What,
    value: u32,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum What {
    Nothing,
    /// The lanes that are the first at their sectors.
    Firsts,
    /// Passes through the banks.
    Passes(Kind),
}

impl<'a> Before<'a> {
    fn new() -> Before<'a> {
        let nothing = Found { mask: 0, addresses: &[0; 32], what: What::Nothing, value: 0 };
        Before { all: [nothing; BEFORE], next: 0 }
    }

    /// The same of an access like this one, or what `find` finds. It may be sectors away: neither these nor banks tell.
    #[inline(always)]
    fn or_find(
        &mut self,
        what: What,
        (mask, addresses): (u32, &'a [u64; 32]),
        find: impl FnOnce() -> Option<u32>,
    ) -> Option<u32> {
        let lead = mask.trailing_zeros() as usize & 31;
        let last = mask.checked_ilog2().unwrap_or(0) as usize;
        for found in &self.all {
            let away = addresses[lead].wrapping_sub(found.addresses[lead]);
            let like = |any, (a, b): (&u64, &u64)| any | (a.wrapping_add(away) ^ b);
            if found.mask == mask
                && away.is_multiple_of(SECTOR.into())
                && addresses[last].wrapping_sub(found.addresses[last]) == away
                && found.what == what
                && found.addresses.iter().zip(addresses).fold(0, like) == 0
            {
                return Some(found.value);
            }
        }
        let value = find()?;
        self.all[self.next] = Found { mask, addresses, what, value };
        self.next = (self.next + 1) % BEFORE;
        Some(value)
    }
}

impl Worker<'_, '_> {
    /// Passes the accesses that it counts; `quickly` is [`Worker::pass_quickly`], compiled by itself: what is left for the rest takes
    /// longer with that in it.
    #[inline(always)]
    pub(super) fn pass(
        &mut self,
        accesses: &mut NotedList<'_>,
        quickly: impl Fn(&mut Self, &mut NotedList<'_>) -> bool,
    ) {
        let smid = accesses.smid;
        let modelled = self.launch.caches.models(smid);
        let mut before = Before::new();
        while let Some(access) = accesses.peek() {
            let counted = match access.addresses {
                NotedAddresses::Patterned { site, base, u, form, counts } => {
                    let note = PlainNote { site, base, u, mask: access.mask };
                    // Where masks are many most are new, and what is remembered need not be fetched.
                    let parts =
                        access.mask != u32::MAX && self.room.spreads[access.pc as usize].is_some();
                    let Room { quick, generation, .. } = &self.room;
                    if (modelled || !parts)
                        && quick.knows(&note, modelled, *generation)
                        && quickly(self, accesses)
                    {
                        continue;
                    }
                    let steps = &form.pat;
                    let of = Form { site, base, u, steps };
                    let looked_up = modelled && access.space != ir::Space::Param;
                    parts && !looked_up && self.by_form(access.pc, access.mask, access.space, of)
                        || self.again(&access, of, (smid, modelled), counts)
                }
                NotedAddresses::Each(addresses) => {
                    self.scattered(&access, addresses, smid, &mut before)
                }
            };
            if !counted {
                return;
            }
            accesses.pass();
        }
    }

    /// [`Worker::pass`], compiled for wider vectors.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
    pub(super) fn pass_wide(&mut self, accesses: &mut NotedList<'_>) {
        self.pass(accesses, |worker, accesses| worker.pass_quickly_wide(accesses));
    }

    /// [`Worker::pass`], compiled for the widest.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt,avx512f,avx512bw,avx512dq,avx512vl")]
    pub(super) fn pass_widest(&mut self, accesses: &mut NotedList<'_>) {
        self.pass(accesses, |worker, accesses| worker.pass_quickly_wide(accesses));
    }

    /// Counts an access by a form that is remembered. Not one of which others might be counted in the code.
    #[inline(always)]
    fn again(
        &mut self,
        access: &NotedAccess<'_>,
        Form { site, base, u, .. }: Form<'_>,
        (smid, modelled): (u32, bool),
        counts: bool,
    ) -> bool {
        let NotedAccess { pc, mask, warp, .. } = *access;
        let generation = self.room.generation;
        let Some(memo) = &mut self.room.memos[pc as usize] else { return false };
        let Some(place) = memo.find(generation, site, mask, (base, u)) else { return false };
        let known = &mut memo.known[place];
        if known.times == u32::MAX {
            return false;
        }
        let lead = base.wrapping_add_signed(known.lead);
        let entries = &mut self.room.sites[pc as usize];
        let Some(entry) = entries.get_mut(usize::from(known.entry)) else { return false };
        if !(entry.lo..entry.hi).contains(&lead) {
            return false;
        }
        let (caches, from) = (&self.launch.caches, lead & !(PERIOD - 1));
        let few = known.few.get(..known.touches.into());
        match entry.route {
            Route::Nowhere if counts => return false,
            Route::Nowhere => {}
            Route::Local { .. } | Route::Constant if !modelled && counts => return false,
            Route::Local { .. } | Route::Constant if !modelled => {}
            route @ Route::Global { cached } => match few {
                Some(few) if modelled => {
                    let way = (entry.site.kind, cached);
                    caches.look_few(&mut self.l1, way, (from, few), smid, &mut entry.caches);
                }
                _ => {
                    let (sets, number) = (caches.sets(), known.seen as usize);
                    let all = match few {
                        Some(list) => Touched { list, marked: None },
                        None => entry.patterns.touched(number, route, sets),
                    };
                    if modelled {
                        let (way, place) = ((route, entry.site.kind), (smid, warp));
                        caches.look(&mut self.l1, way, (from, all), place, &mut entry.caches);
                    } else if !caches.below(from, all.list) && counts {
                        return false;
                    }
                }
            },
            route @ (Route::Local { .. } | Route::Constant) => {
                let touched = match few {
                    Some(list) => Touched { list, marked: None },
                    None => entry.patterns.touched(known.seen as usize, route, caches.sets()),
                };
                let (way, place) = ((route, entry.site.kind), (smid, warp));
                caches.look(&mut self.l1, way, (from, touched), place, &mut entry.caches);
            }
        }
        known.times += 1;
        entry.executions += 1;
        entry.lanes += u64::from(mask.count_ones());
        let note = PlainNote { site, base, u, mask };
        let parted = !modelled && mask != u32::MAX && self.room.spreads[pc as usize].is_some();
        if !parted && self.room.quick.wants(&note, modelled, (known.times, generation)) {
            let known = *known;
            self.expect_again(&note, (pc, &known), (modelled, counts));
        }
        true
    }

    /// Remembers an access whose pattern is the one that its entry counted last.
    pub(super) fn remember(&mut self, e: &PatternedEvent<'_>, found: usize) {
        let generation = self.room.generation;
        let entries = &mut self.room.sites[e.at.pc as usize];
        let entry = &mut entries[found];
        let number = entry.patterns.last();
        let (mut few, mut touches) = ([Touch::new(0, 0); FEW], 0);
        if entry.route != Route::Nowhere {
            let list = entry.patterns.touched(number, entry.route, self.launch.caches.sets()).list;
            touches = list.len().min(FEW + 1) as u8;
            few.iter_mut().zip(list).for_each(|(few, touch)| *few = *touch);
        }
        let Ok(at) = u16::try_from(found) else { return };
        let memo = self.room.memos[e.at.pc as usize].get_or_insert_default();
        let known = Known {
            site: e.site,
            u: second(e),
            generation,
            mask: e.mask,
            lead: lead(e).wrapping_sub(e.base) as i64,
            few,
            touches,
            low: (e.base % PERIOD) as u8,
            entry: at,
            seen: number as u32,
            times: 0,
        };
        memo.renew(known, entries);
    }

    /// [`Worker::by_form`] for an event.
    #[inline(always)]
    pub(super) fn met_by_form(&mut self, e: &PatternedEvent<'_>) -> bool {
        let PatternedEvent { at, mask, base, site, pattern: steps, .. } = *e;
        let looked_up = match e.space {
            ir::Space::Param => false,
            ir::Space::Global => self.launch.caches.models(at.smid),
            ir::Space::Shared | ir::Space::Local | ir::Space::Const | ir::Space::Generic => true,
        };
        !looked_up
            && (e.times, e.late) == (1, false)
            && e.second.is_none()
            && self.by_form(at.pc, mask, e.space, Form { site, base, u: 0, steps })
    }

    /// Counts a load or store of global memory in compiled code, on a multiprocessor without an L1, or of a parameter, if its form
    /// tells what it costs, and the entry has met too many patterns to keep more. Whether it did.
    #[inline(always)]
    fn by_form(
        &mut self,
        pc: u32,
        mask: u32,
        space: ir::Space,
        Form { site, base, steps, .. }: Form<'_>,
    ) -> bool {
        let caches = &self.launch.caches;
        let space = site::space(space);
        let of = |lane: u32| base.wrapping_add_signed(steps[lane as usize & 31]);
        let ends = (of(mask.trailing_zeros()), of(mask.checked_ilog2().unwrap_or(0)));
        let entries = &mut self.room.sites[pc as usize];
        let Some(entry) = entries.iter_mut().find(|entry| entry.holds(space, ends.0)) else {
            return false;
        };
        if !self.simple || entry.period != PERIOD || !entry.patterns.is_beyond(mask, ends, PERIOD) {
            return false;
        }
        let spreads = self.room.spreads[pc as usize]
            .get_or_insert_with(|| Box::new(Spreads { site, all: vec![None; PERIOD as usize] }));
        if spreads.site != site {
            return false;
        }
        let low = base % PERIOD;
        let known = spreads.all[low as usize].get_or_insert_with(|| {
            let relative = steps.map(|step| step.wrapping_add_unsigned(low));
            Spread::of(&relative)
        });
        let Some(spread) = known else { return false };
        if space == Space::Parameter {
            let same = spread.places(!0) == 1;
            if same {
                entry.simple.add_same(mask.count_ones());
            }
            return same;
        }
        let (lanes, sectors) = (mask.count_ones(), spread.sectors(mask));
        entry.simple.add_sectors(entry.width, (lanes, spread.places(mask)), sectors);
        let first = (base - low) >> SECTOR.trailing_zeros();
        // Hardly any line is of the sample: that is asked before what data decide.
        for (at, of) in spread.all() {
            caches.look_below(first.wrapping_add_signed(at.into()), || of & mask != 0);
        }
        true
    }

    /// Counts an access by the lanes' addresses, if its entry is known. Whether it did.
    #[inline(always)]
    fn scattered<'n>(
        &mut self,
        access: &NotedAccess<'_>,
        addresses: &'n [u64; 32],
        smid: u32,
        before: &mut Before<'n>,
    ) -> bool {
        let NotedAccess { pc, mask, .. } = *access;
        let space = site::space(access.space);
        let of = |lane: u32| addresses[lane as usize & 31];
        let ends = (of(mask.trailing_zeros()), of(mask.checked_ilog2().unwrap_or(0)));
        let entries = &mut self.room.sites[pc as usize];
        let Some(entry) = entries.iter_mut().find(|entry| entry.holds(space, ends.0)) else {
            return false;
        };
        if !entry.patterns.is_beyond(mask, ends, entry.period) {
            let (named, bytes) = (access.space, entry.width);
            let kind = match entry.site.kind {
                Kind::Load => Access::Read,
                Kind::Store => Access::Write,
                Kind::Atomic(_) | Kind::Reduction(_) => Access::Atomic,
            };
            self.counted_once(
                &AccessEvent {
                    at: EventPlace { ctaid: [0; 3], warp: access.warp, pc, smid },
                    space: named,
                    named,
                    access: kind,
                    bytes,
                    mask,
                    addresses,
                    values: None,
                    compiled: true,
                },
                false,
            );
            return true;
        }
        let lanes = mask.count_ones();
        match (entry.route, space) {
            (Route::Nowhere, Space::Shared) => {
                let (kind, width) = (entry.site.kind, entry.width);
                // A load takes as many passes as a store.
                let what = What::Passes(if entry.site.is_atomic() { kind } else { Kind::Load });
                let find = || passes(kind, width, mask, addresses);
                if self.simple
                    && width <= 4
                    && let Some(passes) = before.or_find(what, (mask, addresses), find)
                {
                    entry.simple.add_wavefronts(lanes, passes);
                    return true;
                }
            }
            (Route::Global { cached }, Space::Global) if !entry.site.is_atomic() => {
                let find = || Some(first_of(mask, addresses, SECTOR.trailing_zeros()));
                let found = before.or_find(What::Firsts, (mask, addresses), find);
                let Some(firsts) = found else { return false };
                let way = (entry.site.kind, cached);
                let (caches, touched) = (&self.launch.caches, (addresses, firsts));
                caches.look_at_lanes(&mut self.l1, way, touched, smid, &mut entry.caches);
                if self.simple {
                    let sectors = firsts.count_ones();
                    let width = entry.width;
                    let places = fewest_places(width, (mask, addresses), sectors);
                    entry.simple.add_sectors(width, (lanes, places), sectors);
                    return true;
                }
            }
            _ => return false,
        }
        for (model, sums) in self.models.iter().zip(&mut entry.unkept_counts) {
            let of = (space, entry.width);
            sums.add(&count(model, &entry.site, of, (mask, addresses), 0), 1);
        }
        entry.executions += 1;
        entry.lanes += u64::from(lanes);
        entry.unkept += 1;
        true
    }
}
