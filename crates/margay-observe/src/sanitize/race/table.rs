// SPDX-License-Identifier: MIT OR Apache-2.0
//! Who accessed each unit of a block's shared memory since all of its threads met last: enough to say that an access
//! surely races with nothing of that time, not what it races with.

use std::ops::Range;

use super::look::lanes_of;

/// What an access does to a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    Read,
    Write,
    /// A strong write, or an atomic: none races with another.
    Strong,
}

/// Several threads read it.
const MANY: u16 = u16::MAX;
/// It was accessed strongly.
const STRONG: u16 = u16::MAX - 1;

/// Lanes of a warp whose addresses follow from lane to lane.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    pub first: u8,
    pub lanes: u8,
}

/// Who accesses, and how.
#[derive(Clone, Copy, Debug)]
pub struct Party {
    pub warp: u16,
    pub mask: u32,
    /// Bytes a lane.
    pub bytes: u32,
    pub effect: Effect,
}

/// See the module's header.
#[derive(Debug)]
pub struct Table {
    /// Bytes of a unit, as a shift: no access of the kernel is smaller.
    unit: u32,
    /// Lanes of a warp are ordered by being in one.
    lockstep: bool,
    /// A thread's number and 1; 0 for nobody. What one lane of a warp in lockstep does, the warp does.
    writers: Vec<u16>,
    readers: Vec<u16>,
    /// Units that were accessed.
    used: Range<usize>,
}

/// Applies an access to a unit. Whether it may race.
#[inline(always)]
fn visit(writer: &mut u16, reader: &mut u16, me: u16, effect: Effect) -> bool {
    let (w, r) = (*writer, *reader);
    let others_wrote = (w != 0) & (w != me);
    match effect {
        Effect::Read => {
            *reader = if (r == 0) | (r == me) { me } else { MANY };
            others_wrote
        }
        Effect::Write => {
            *writer = me;
            others_wrote | (r != 0) & (r != me)
        }
        Effect::Strong => {
            *writer = STRONG;
            (w != 0) & (w != STRONG) | (r != 0)
        }
    }
}

impl Table {
    /// A table of `bytes` bytes, no part of which smaller than `1 << unit` bytes is accessed.
    pub fn new(bytes: u64, unit: u32, lockstep: bool) -> Table {
        let units = (bytes as usize).div_ceil(1 << unit);
        Table { unit, lockstep, writers: vec![0; units], readers: vec![0; units], used: 0..0 }
    }

    /// Forgets all accesses.
    pub fn clear(&mut self) {
        let used = std::mem::take(&mut self.used);
        self.writers[used.clone()].fill(0);
        self.readers[used].fill(0);
    }

    /// The number of a thread, and the step from that of one lane to the next.
    fn number(&self, warp: u16, lane: u8) -> (u16, u16) {
        match self.lockstep {
            true => (warp + 1, 0),
            false => (warp * 32 + u16::from(lane) + 1, 1),
        }
    }

    /// The units of `bytes` bytes from an address on, if that is what they are.
    #[inline]
    fn units(&mut self, at: u64, bytes: u64) -> Option<Range<usize>> {
        let within = (1 << self.unit) - 1;
        let (from, end) =
            ((at >> self.unit) as usize, (at.checked_add(bytes)? >> self.unit) as usize);
        if (at | bytes) & within != 0 || end > self.writers.len() {
            return None;
        }
        self.used = match self.used.is_empty() {
            true => from..end,
            false => self.used.start.min(from)..self.used.end.max(end),
        };
        Some(from..end)
    }

    /// Lanes, the first of which has its bytes at `at`, access what lies in a row. False if that may race.
    #[inline]
    pub fn run(&mut self, at: u64, run: Run, party: &Party) -> bool {
        let Run { first, lanes } = run;
        let here = u32::MAX >> (32 - u32::from(lanes));
        let on = party.mask >> first & here;
        let Some(units) = self.units(at, u64::from(lanes) * u64::from(party.bytes)) else {
            return false;
        };
        let (me, step) = self.number(party.warp, first);
        let (writers, readers) = (&mut self.writers[units.clone()], &mut self.readers[units]);
        let (effect, each_units) = (party.effect, party.bytes >> self.unit);
        if !each_units.is_power_of_two() {
            return false;
        }
        if each_units != 1 {
            let shift = each_units.trailing_zeros();
            return each(writers, readers, effect, |i| {
                let lane = i as u16 >> shift;
                (me + lane * step, on >> lane & 1 != 0)
            });
        }
        match (<&mut [u16; 32]>::try_from(&mut *writers), <&mut [u16; 32]>::try_from(&mut *readers))
        {
            (Ok(writers), Ok(readers)) if on == u32::MAX => {
                row(writers, readers, effect, (me, step))
            }
            (Ok(writers), Ok(readers)) => {
                let on: [u16; 32] = std::array::from_fn(|i| (on >> i & 1) as u16);
                each(writers, readers, effect, |i| (me + i as u16 * step, on[i] != 0))
            }
            _ => each(writers, readers, effect, |i| (me + i as u16 * step, on >> i & 1 != 0)),
        }
    }

    /// All lanes access the same bytes. False if that may race.
    pub fn same(&mut self, at: u64, party: &Party) -> bool {
        let lane = party.mask.trailing_zeros() as u8;
        let alone = self.lockstep || party.mask.is_power_of_two();
        let Some(units) = self.units(at, u64::from(party.bytes)) else { return false };
        let (me, _) = self.number(party.warp, lane);
        // Several lanes read as one that is none of them, and do not write alike.
        let me = match (alone, party.effect) {
            (true, _) | (_, Effect::Strong) => me,
            (false, Effect::Read) => MANY,
            (false, Effect::Write) => return false,
        };
        let (writers, readers) = (&mut self.writers[units.clone()], &mut self.readers[units]);
        each(writers, readers, party.effect, |_| (me, true))
    }

    /// Each lane of the mask accesses the bytes at its address. False if that may race.
    pub fn spread(&mut self, addresses: &[u64; 32], party: &Party) -> bool {
        if party.bytes == 1 << self.unit {
            return match party.effect {
                Effect::Read => self.units_of(addresses, party, Effect::Read),
                Effect::Write => self.units_of(addresses, party, Effect::Write),
                Effect::Strong => self.units_of(addresses, party, Effect::Strong),
            };
        }
        let mut left = party.mask;
        let mut raced = false;
        while left != 0 {
            let lane = left.trailing_zeros();
            left &= left - 1;
            let Some(units) = self.units(addresses[lane as usize], u64::from(party.bytes)) else {
                return false;
            };
            let (me, _) = self.number(party.warp, lane as u8);
            for unit in units {
                let (writer, reader) = (&mut self.writers[unit], &mut self.readers[unit]);
                raced |= visit(writer, reader, me, party.effect);
            }
        }
        !raced
    }

    /// [`Table::spread`] where each lane accesses one unit, as most do: always inlined, for each effect a loop of its own.
    #[inline(always)]
    fn units_of(&mut self, addresses: &[u64; 32], party: &Party, effect: Effect) -> bool {
        let at = At::of(addresses, party.mask, self.unit);
        let count = self.writers.len().min(self.readers.len());
        let here = at.low as usize..at.end as usize;
        if party.mask == 0 {
            return true;
        }
        if at.odd || here.end > count {
            return false;
        }
        self.used = match self.used.is_empty() {
            true => here,
            false => self.used.start.min(here.start)..self.used.end.max(here.end),
        };
        let (first, step) = self.number(party.warp, 0);
        // Of one length, so that they are compared with once.
        let (writers, readers) = (&mut self.writers[..count], &mut self.readers[..count]);
        // What others left, or 0.
        let mut others = 0;
        // Loops of their own, without calls: a closure would have all this by references.
        macro_rules! each {
            ($lanes:expr) => {
                for lane in $lanes {
                    let unit = at.units[lane] as usize;
                    if let (Some(writer), Some(reader)) =
                        (writers.get_mut(unit), readers.get_mut(unit))
                    {
                        let me = first.wrapping_add(step.wrapping_mul(lane as u16));
                        others |= enter(writer, reader, me, effect);
                    }
                }
            };
        }
        match party.mask {
            u32::MAX => each!(0..32),
            mask => each!(lanes_of(mask)),
        }
        others == 0
    }
}

/// Applies an access by all lanes to a unit each. False if that may race.
#[inline]
fn row(writers: &mut [u16; 32], readers: &mut [u16; 32], effect: Effect, by: (u16, u16)) -> bool {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx512bw") && is_x86_feature_detected!("avx512dq") {
        // SAFETY: the processor has what the function is compiled for.
        return unsafe { row_by_vectors(writers, readers, effect, by) };
    }
    row_of_each(writers, readers, effect, by)
}

/// The same with all lanes in a vector.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq")]
fn row_by_vectors(
    writers: &mut [u16; 32],
    readers: &mut [u16; 32],
    effect: Effect,
    by: (u16, u16),
) -> bool {
    row_of_each(writers, readers, effect, by)
}

#[inline(always)]
fn row_of_each(
    writers: &mut [u16; 32],
    readers: &mut [u16; 32],
    effect: Effect,
    (me, step): (u16, u16),
) -> bool {
    each(writers, readers, effect, |i| (me + i as u16 * step, true))
}

/// As [`visit`], without branches. Returns what others left there that it may race with, or 0.
#[inline(always)]
fn enter(writer: &mut u16, reader: &mut u16, me: u16, effect: Effect) -> u16 {
    let others = |who: u16, me: u16| who & 0u16.wrapping_sub(u16::from(who != me));
    let (w, r) = (*writer, *reader);
    match effect {
        Effect::Read => {
            *reader = me | 0u16.wrapping_sub(u16::from(others(r, me) != 0));
            others(w, me)
        }
        Effect::Write => {
            *writer = me;
            others(w, me) | others(r, me)
        }
        Effect::Strong => {
            *writer = STRONG;
            others(w, STRONG) | r
        }
    }
}

/// Where lanes access a unit each.
struct At {
    /// Of each lane. Those of lanes that are not there mean nothing.
    units: [u32; 32],
    /// The lowest of those that are there, and the end of the highest.
    low: u32,
    end: u32,
    /// An address is none of a unit, or far beyond all.
    odd: bool,
}

impl At {
    #[inline]
    fn of(addresses: &[u64; 32], mask: u32, unit: u32) -> At {
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx512dq") && is_x86_feature_detected!("avx512bw") {
            // SAFETY: the processor has what the function is compiled for.
            return unsafe { At::by_vectors(addresses, mask, unit) };
        }
        At::of_each(addresses, mask, unit)
    }

    /// The same with the lanes in vectors.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq")]
    fn by_vectors(addresses: &[u64; 32], mask: u32, unit: u32) -> At {
        At::of_each(addresses, mask, unit)
    }

    #[inline(always)]
    fn of_each(addresses: &[u64; 32], mask: u32, unit: u32) -> At {
        let within = (1u64 << unit) - 1;
        let (mut units, mut odd) = ([0; 32], 0);
        let (mut low, mut last) = (u32::MAX, 0);
        for (lane, &address) in addresses.iter().enumerate() {
            let there = mask >> lane & 1;
            let (at, on) = (address >> unit, 0u32.wrapping_sub(there));
            odd |= (address & within | at >> 32) & 0u64.wrapping_sub(u64::from(there));
            units[lane] = at as u32;
            (low, last) = (low.min(at as u32 | !on), last.max(at as u32 & on));
        }
        At { units, low, end: last.saturating_add(1), odd: odd != 0 }
    }
}

/// Applies an access to units: by whom each, and whether at all. False if that may race.
#[inline(always)]
fn each(
    writers: &mut [u16],
    readers: &mut [u16],
    effect: Effect,
    who: impl Fn(usize) -> (u16, bool),
) -> bool {
    // A loop for each effect, without branches.
    macro_rules! all {
        ($effect:expr) => {{
            let mut raced = 0u16;
            for (i, (writer, reader)) in writers.iter_mut().zip(readers).enumerate() {
                let (me, on) = who(i);
                let (mut w, mut r) = (*writer, *reader);
                let races = visit(&mut w, &mut r, me, $effect);
                *writer = if on { w } else { *writer };
                *reader = if on { r } else { *reader };
                raced |= u16::from(races & on);
            }
            raced == 0
        }};
    }
    match effect {
        Effect::Read => all!(Effect::Read),
        Effect::Write => all!(Effect::Write),
        Effect::Strong => all!(Effect::Strong),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sanitize::random::random;

    /// What a table must say, unit by unit: of every access so far, who and how.
    fn races(units: &[Vec<(u16, Effect)>], unit: usize, me: u16, effect: Effect) -> bool {
        units[unit].iter().any(|&(other, before)| {
            let strong = (before, effect) == (Effect::Strong, Effect::Strong);
            let reads = (before, effect) == (Effect::Read, Effect::Read);
            other != me && !strong && !reads
        })
    }

    #[test]
    fn a_table_never_misses_a_race() {
        let mut next = random(5);
        let (mut missed, mut said, mut all) = (0, 0, 0);
        for round in 0..4000 {
            let lockstep = round % 4 == 0;
            let mut table = Table::new(1024, 2, lockstep);
            let mut units = vec![Vec::new(); 256];
            for _ in 0..1 + next(6) {
                let effect = [Effect::Read, Effect::Write, Effect::Strong][next(3) as usize];
                let mask = if next(2) == 0 { u32::MAX } else { (next(1 << 31) << 1) as u32 | 1 };
                let party = Party { warp: next(2) as u16, mask, bytes: 4, effect };
                let (shape, base) = (next(4), next(190) * 4);
                let addresses: [u64; 32] = std::array::from_fn(|l| match shape {
                    0 | 1 => base + 4 * l as u64,
                    2 => base,
                    _ => next(250) * 4,
                });
                let kept = match shape {
                    0 => table.run(base, Run { first: 0, lanes: 32 }, &party),
                    1 => {
                        let halves = [(0, base), (16, base + 64)];
                        let run = |(first, at)| table.run(at, Run { first, lanes: 16 }, &party);
                        halves.map(run).iter().all(|kept| *kept)
                    }
                    2 => table.same(base, &party),
                    _ => table.spread(&addresses, &party),
                };
                let mut raced = false;
                for lane in (0..32u16).filter(|l| mask >> l & 1 != 0) {
                    let me = if lockstep { party.warp } else { party.warp * 32 + lane };
                    let unit = addresses[lane as usize] as usize / 4;
                    raced |= races(&units, unit, me, effect);
                    units[unit].push((me, effect));
                }
                (missed, said, all) =
                    (missed + u32::from(raced && kept), said + u32::from(kept), all + 1);
                if !kept {
                    break;
                }
            }
        }
        assert_eq!(missed, 0, "{said} of {all} accesses race with nothing");
        assert!(said > all / 4 && said < all, "{said} of {all}");
    }

    /// Without branches it is the same.
    #[test]
    fn lanes_enter_as_they_visit() {
        let known = [0, 1, 2, 33, STRONG, MANY];
        for effect in [Effect::Read, Effect::Write, Effect::Strong] {
            for (w, r) in known.iter().flat_map(|&w| known.map(|r| (w, r))) {
                for me in [1, 2, 33, STRONG - 1] {
                    let (mut one, mut other) = ((w, r), (w, r));
                    let raced = visit(&mut one.0, &mut one.1, me, effect);
                    let others = enter(&mut other.0, &mut other.1, me, effect);
                    assert_eq!((one, raced), (other, others != 0), "{effect:?} {w} {r} by {me}");
                }
            }
        }
    }

    /// What no lane does, and what lies beyond, is nothing that a table may be asked of.
    #[test]
    fn lanes_that_are_not_there_mean_nothing() {
        for bytes in [1u64 << 34, 4096] {
            let unit = if bytes > 4096 { 28 } else { 2 };
            let mut table = Table::new(bytes, unit, false);
            let wide = 1u32 << unit;
            let party = |warp, mask| Party { warp, mask, bytes: wide, effect: Effect::Write };
            let at = |lanes: &[(usize, u64)]| {
                let mut all = [u64::MAX; 32];
                lanes.iter().for_each(|&(lane, units)| all[lane] = units << unit);
                all
            };
            let end = bytes >> unit;
            assert!(table.spread(&at(&[]), &party(0, 0)) && table.used.is_empty());
            assert!(table.spread(&at(&[(3, 9), (31, end - 1)]), &party(0, 1 << 3 | 1 << 31)));
            assert_eq!(table.used, 9..end as usize);
            for beyond in [end, end + 5, 1 << 32, (1 << 32) + 9] {
                assert!(!table.spread(&at(&[(3, beyond)]), &party(0, 1 << 3)), "{beyond}");
            }
            let odd = at(&[(3, 9)]).map(|address| address.wrapping_add(1));
            assert!(!table.spread(&odd, &party(0, 1 << 3)));
            assert!(!table.spread(&at(&[(4, 9)]), &party(0, 1 << 4)), "lane 3 was there");
            table.clear();
            assert!(table.spread(&at(&[(4, 9)]), &party(0, 1 << 4)));
        }
    }

    #[test]
    fn wide_lanes_and_cleared_units() {
        let mut table = Table::new(4096, 2, false);
        let row = Run { first: 0, lanes: 32 };
        let wide = Party { warp: 0, mask: u32::MAX, bytes: 16, effect: Effect::Write };
        assert!(table.run(512, row, &wide) && table.run(512, row, &wide));
        let narrow = Party { warp: 0, mask: 0b1111, bytes: 4, effect: Effect::Read };
        // Lane 1 reads what lane 0 wrote.
        assert!(!table.run(512, row, &narrow));
        table.clear();
        assert!(table.run(512, row, &Party { warp: 3, ..narrow }));
        // Beyond the end, and not a unit.
        assert!(!table.run(4096 - 64, row, &narrow) && !table.run(2, row, &narrow));
    }
}
