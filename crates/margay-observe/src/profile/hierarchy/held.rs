// SPDX-License-Identifier: MIT OR Apache-2.0
//! The caches that accesses of one multiprocessor go through, as long as they come one behind the other: found once for them all.
//!
//! Limit: accesses of global memory that touch few lines, near their base.

use margay_arch::caches::Cache;
use parking_lot::MutexGuard;

use super::super::raw::CacheCounts;
use super::super::touches::{LINE, Touch};
use super::{LaunchCaches, OwnL1, Slot, sampled};

/// Lines that a [`Near`] has room for.
const MOST: usize = 4;

/// A few lines near a base, each with a bit for each sector, in little room.
#[derive(Clone, Copy, Default)]
pub struct Near {
    lines: [i16; MOST],
    sectors: [u8; MOST],
    len: u8,
}

impl Near {
    /// Touches of a pattern, told from a base that lies `more` bytes behind theirs; `None` if they are many or far away. Both
    /// bases are multiples of a line.
    pub fn of(list: &[Touch], more: i64) -> Option<Near> {
        let mut near = Near { len: u8::try_from(list.len()).ok()?, ..Near::default() };
        for (n, touch) in list.iter().enumerate() {
            let line = touch.line().wrapping_sub(more / i64::from(LINE));
            *near.lines.get_mut(n)? = i16::try_from(line).ok()?;
            near.sectors[n] = touch.sectors();
        }
        Some(near)
    }

    /// How many sectors they are.
    pub fn sectors(&self) -> u32 {
        self.sectors.iter().map(|sectors| sectors.count_ones()).sum()
    }

    #[inline(always)]
    fn each(&self, base: u64) -> impl Iterator<Item = (u64, u32)> {
        let first = base / u64::from(LINE);
        let all = self.lines.iter().zip(&self.sectors).take(self.len.into());
        all.map(move |(line, sectors)| {
            (first.wrapping_add_signed((*line).into()), u32::from(*sectors))
        })
    }
}

/// See the module. As long as this lives, the multiprocessor's L1 is locked, if it must be.
pub struct Held<'s, 'l> {
    caches: &'s LaunchCaches<'s>,
    l1: Option<&'l mut Cache>,
    l2: Option<MutexGuard<'s, Cache>>,
    /// No other worker wants L2 meanwhile.
    alone: bool,
}

impl<'s: 'l, 'l> Held<'s, 'l> {
    /// Of a multiprocessor; `lock` is where its lock is kept.
    #[inline(always)]
    pub fn new(
        caches: &'s LaunchCaches<'s>,
        own: &'l mut OwnL1,
        smid: u32,
        lock: &'l mut Option<MutexGuard<'s, Slot>>,
    ) -> Held<'s, 'l> {
        let alone = !own.0.is_empty();
        let there = caches.shape.bytes > 0 && (smid as usize) < caches.l1.len();
        let l1 = (there && caches.models(smid)).then(|| caches.l1(own, smid, lock));
        Held { caches, l1, l2: None, alone }
    }

    /// Looks loads up, which go through L1 if they are `cached` there, and counts what is found; but if all sectors are at hand there,
    /// so that nothing changes. Whether they are.
    #[inline(always)]
    pub fn load(
        &mut self,
        cached: bool,
        (base, near): (u64, &Near),
        counts: &mut CacheCounts,
    ) -> bool {
        let Some(l1) = self.l1.as_deref_mut().filter(|_| cached) else {
            for (line, sectors) in near.each(base) {
                self.miss(line, sectors, counts);
            }
            return false;
        };
        let mut at_hand = true;
        for (line, sectors) in near.each(base) {
            at_hand &= l1.is_at_hand(line, sectors);
        }
        if at_hand {
            return true;
        }
        self.through(base, near, counts);
        false
    }

    /// Loads of which not all are at hand.
    #[inline(always)]
    fn through(&mut self, base: u64, near: &Near, counts: &mut CacheCounts) {
        for (line, sectors) in near.each(base) {
            let Some(l1) = self.l1.as_deref_mut() else { return };
            let mut absent = 0;
            let one = std::iter::once((line, sectors));
            let (hits, misses) = l1.read_lines(one, |_, missed| absent = missed);
            counts.l1_hits += u64::from(hits);
            counts.l1_misses += u64::from(misses);
            if absent != 0 {
                self.miss(line, absent, counts);
            }
        }
    }

    /// Loads that L1 has not.
    #[inline(always)]
    fn miss(&mut self, line: u64, sectors: u32, counts: &mut CacheCounts) {
        if sampled(line) {
            let hits = self.l2(line, sectors);
            counts.l2_hits += u64::from(hits.count_ones());
            counts.l2_misses += u64::from((sectors & !hits).count_ones());
        }
    }

    /// Looks stores up.
    #[inline(always)]
    pub fn store(&mut self, (base, near): (u64, &Near)) {
        for (line, sectors) in near.each(base) {
            if let Some(l1) = &mut self.l1 {
                l1.write_line(line, sectors);
            }
            if sampled(line) {
                self.l2(line, sectors);
            }
        }
    }

    /// What a multiprocessor without an L1 brings into L2, which is not counted. Whether any was of the sample.
    #[inline(always)]
    pub fn below(&mut self, (base, near): (u64, &Near)) -> bool {
        let mut any = false;
        for (line, sectors) in near.each(base) {
            if sampled(line) {
                any = true;
                self.l2(line, sectors);
            }
        }
        any
    }

    #[inline(always)]
    fn l2(&mut self, line: u64, sectors: u32) -> u32 {
        let l2 = self.l2.get_or_insert_with(|| self.caches.hierarchy.l2.lock());
        let hits = l2.read_line(line, sectors);
        if !self.alone {
            self.l2 = None;
        }
        hits
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use margay_arch::Kind;
    use margay_arch::caches::SplitPreference;

    use super::super::super::touches::{Route, Touched};
    use super::super::Hierarchy;
    use super::*;
    use crate::constant_cache::ConstantCache;

    /// Loads and stores of up to four lines, in an L1 that holds less than half of what they touch: on a multiprocessor that has
    /// one, and on one that has none.
    #[test]
    fn it_finds_what_one_lookup_after_the_other_finds() {
        let gpu = margay_arch::find("h200").unwrap();
        let hierarchies: [Hierarchy; 2] = std::array::from_fn(|_| {
            Hierarchy::new(gpu, Arc::new(ConstantCache::start(&[gpu], None)))
        });
        let [plain, held] = hierarchies
            .each_ref()
            .map(|of| of.launch(0, 0, (1 << 20, 1), SplitPreference::Default));
        let modelled = (0..132).find(|&smid| plain.models(smid)).unwrap();
        let other = (0..132).find(|&smid| !plain.models(smid)).unwrap();
        let (mut expected, mut found) = (CacheCounts::default(), CacheCounts::default());
        let (mut state, mut at_hand, mut marked) = (1u64, 0, 0);
        let mut next = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            state >> 33
        };
        let (mut one, mut two) = (plain.alone(), held.alone());
        for n in 0..60_000 {
            // Some come again at once.
            let base = 256 * if n % 3 == 0 { n / 30 % 64 } else { next() % 4096 };
            let list: Vec<Touch> = (0..1 + next() % 4)
                .map(|n| Touch::new(3 * n as i64 - 4, 1 << (next() % 4)))
                .collect();
            let smid = if n % 4 == 3 { other } else { modelled };
            let (kind, cached) = match next() % 8 {
                0 => (Kind::Store, true),
                1 => (Kind::Load, false),
                _ => (Kind::Load, true),
            };
            let touched = Touched { list: &list, marked: None };
            let way = (Route::Global { cached }, kind);
            let base = base + 1024;
            plain.look(&mut one, way, (base, touched), (smid, 0), &mut expected);
            let near = Near::of(&list, -512).unwrap();
            let from = (base - 512, &near);
            let mut lock = None;
            let mut all = Held::new(&held, &mut two, smid, &mut lock);
            match kind {
                _ if smid == other => {
                    marked += u32::from(all.below(from));
                }
                Kind::Load => {
                    if all.load(cached, from, &mut found) {
                        at_hand += 1;
                        found.l1_hits += u64::from(near.sectors());
                    }
                }
                _ => all.store(from),
            }
        }
        assert_eq!(found, expected);
        assert!(at_hand > 100 && marked > 100, "{at_hand} {marked}");
        let far = Touch::new(1 << 20, 1);
        assert!(Near::of(&[far], 0).is_none() && Near::of(&[Touch::new(0, 1); 5], 0).is_none());
    }
}
