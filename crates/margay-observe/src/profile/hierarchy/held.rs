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
