// SPDX-License-Identifier: MIT OR Apache-2.0
//! Who accessed each unit of a block's shared memory since all of its threads met last: enough to say that an access
//! surely races with nothing of that time, not what it races with.

use std::ops::Range;

#[cfg(target_arch = "x86_64")]
use super::gathered::{self, Entry, Lanes};
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
const MANY: u32 = u16::MAX as u32;
/// It was accessed strongly.
const STRONG: u32 = MANY - 1;

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
    /// Of each unit who wrote it, in the lower half, and who read it: a thread's number and 1; 0 for nobody. What one lane of a
    /// warp in lockstep does, the warp does.
    units: Vec<u32>,
    /// Units that were accessed.
    used: Range<usize>,
}

/// What a unit is after an access, without branches; and what others left there that it may race with, or 0.
#[inline(always)]
pub fn enter(unit: u32, me: u32, effect: Effect) -> (u32, u32) {
    let others = |who: u32, me: u32| who & 0u32.wrapping_sub(u32::from(who != me));
    let (w, r) = (unit & MANY, unit >> 16);
    match effect {
        Effect::Read => {
            let many = MANY & 0u32.wrapping_sub(u32::from(others(r, me) != 0));
            (w | (me | many) << 16, others(w, me))
        }
        Effect::Write => (me | r << 16, others(w, me) | others(r, me)),
        Effect::Strong => (STRONG | r << 16, others(w, STRONG) | r),
    }
}

impl Table {
    /// A table of `bytes` bytes, no part of which smaller than `1 << unit` bytes is accessed.
    pub fn new(bytes: u64, unit: u32, lockstep: bool) -> Table {
        let units = (bytes as usize).div_ceil(1 << unit);
        Table { unit, lockstep, units: vec![0; units], used: 0..0 }
    }

    /// Forgets all accesses.
    pub fn clear(&mut self) {
        let used = std::mem::take(&mut self.used);
        self.units[used].fill(0);
    }

    /// The number of a thread, and the step from that of one lane to the next.
    fn number(&self, warp: u16, lane: u8) -> (u32, u32) {
        match self.lockstep {
            true => (u32::from(warp) + 1, 0),
            false => (u32::from(warp) * 32 + u32::from(lane) + 1, 1),
        }
    }

    /// The units of `bytes` bytes from an address on, if that is what they are.
    #[inline]
    fn units(&mut self, at: u64, bytes: u64) -> Option<Range<usize>> {
        let within = (1 << self.unit) - 1;
        let (from, end) =
            ((at >> self.unit) as usize, (at.checked_add(bytes)? >> self.unit) as usize);
        if (at | bytes) & within != 0 || end > self.units.len() {
            return None;
        }
        self.use_units(from..end);
        Some(from..end)
    }

    /// These are accessed.
    #[inline]
    fn use_units(&mut self, here: Range<usize>) {
        self.used = match self.used.is_empty() {
            true => here,
            false => self.used.start.min(here.start)..self.used.end.max(here.end),
        };
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
        let units = &mut self.units[units];
        let (effect, each_units) = (party.effect, party.bytes >> self.unit);
        if !each_units.is_power_of_two() {
            return false;
        }
        if each_units != 1 {
            let shift = each_units.trailing_zeros();
            return each(units, effect, |i| {
                let lane = i as u32 >> shift;
                (me + lane * step, on >> lane & 1 != 0)
            });
        }
        match <&mut [u32; 32]>::try_from(&mut *units) {
            Ok(units) => row(units, on, effect, (me, step)),
            Err(_) => each(units, effect, |i| (me + i as u32 * step, on >> i & 1 != 0)),
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
        each(&mut self.units[units], party.effect, |_| (me, true))
    }

    /// Each lane of the mask accesses the bytes at its address. False if that may race.
    pub fn spread(&mut self, at: &Spread<'_>, party: &Party) -> bool {
        if party.mask == 0 {
            return true;
        }
        if party.bytes == 1 << self.unit {
            return match party.effect {
                Effect::Read => self.units_of(at, party, Effect::Read),
                Effect::Write => self.units_of(at, party, Effect::Write),
                Effect::Strong => self.units_of(at, party, Effect::Strong),
            };
        }
        let mut raced = 0;
        for lane in lanes_of(party.mask) {
            let Some(units) = self.units(at.address(lane), u64::from(party.bytes)) else {
                return false;
            };
            let (me, _) = self.number(party.warp, lane as u8);
            for unit in &mut self.units[units] {
                let (new, others) = enter(*unit, me, party.effect);
                (*unit, raced) = (new, raced | others);
            }
        }
        raced == 0
    }

    /// [`Table::spread`] where each lane accesses one unit, as most do: always inlined, for each effect on its own.
    #[inline(always)]
    fn units_of(&mut self, at: &Spread<'_>, party: &Party, effect: Effect) -> bool {
        let (first, step) = self.number(party.warp, 0);
        #[cfg(target_arch = "x86_64")]
        if gathered::is_there() {
            let (mask, &Spread { addresses, base, apart }) = (party.mask, at);
            // Where all leave the same it matters to none whether they are.
            let apart = apart || step == 0 || effect == Effect::Strong;
            let lanes = Lanes { addresses, base, mask, first, step, apart };
            // SAFETY: the processor has what the function is compiled for.
            match unsafe { gathered::enter_each(&mut self.units, self.unit, lanes, effect) } {
                Entry::Done(here, others) => {
                    self.use_units(here);
                    return others == 0;
                }
                Entry::Odd => return false,
                Entry::Meet => {}
            }
        }
        self.units_one_by_one(at, party, effect)
    }

    /// The same, lane by lane.
    #[inline(always)]
    fn units_one_by_one(&mut self, at: &Spread<'_>, party: &Party, effect: Effect) -> bool {
        let (first, step) = self.number(party.warp, 0);
        let numbers = Numbers::of(at, party.mask, self.unit);
        let here = numbers.low as usize..numbers.end as usize;
        if numbers.odd || here.end > self.units.len() {
            return false;
        }
        self.use_units(here);
        // What others left, or 0.
        let mut all = 0;
        // Loops of their own, without calls: a closure would have all this by references.
        macro_rules! each {
            ($lanes:expr) => {
                for lane in $lanes {
                    if let Some(unit) = self.units.get_mut(numbers.units[lane] as usize) {
                        let (new, others) = enter(*unit, first + step * lane as u32, effect);
                        (*unit, all) = (new, all | others);
                    }
                }
            };
        }
        match party.mask {
            u32::MAX => each!(0..32),
            mask => each!(lanes_of(mask)),
        }
        all == 0
    }
}

/// Where lanes access that are no run.
pub struct Spread<'a> {
    /// Each, less the base.
    pub addresses: &'a [u64; 32],
    pub base: u64,
    /// No two lanes begin at one address.
    pub apart: bool,
}

impl<'a> Spread<'a> {
    /// At any addresses.
    pub fn at(addresses: &'a [u64; 32]) -> Spread<'a> {
        Spread { addresses, base: 0, apart: false }
    }

    #[inline]
    fn address(&self, lane: usize) -> u64 {
        self.base.wrapping_add(self.addresses[lane])
    }
}

/// Applies an access by these lanes to a unit each. False if that may race.
#[inline]
fn row(units: &mut [u32; 32], on: u32, effect: Effect, by: (u32, u32)) -> bool {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512bw") {
        // SAFETY: the processor has what the function is compiled for.
        return unsafe { row_by_vectors(units, on, effect, by) };
    }
    row_of_each(units, on, effect, by)
}

/// The same with lanes in vectors.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw")]
fn row_by_vectors(units: &mut [u32; 32], on: u32, effect: Effect, by: (u32, u32)) -> bool {
    row_of_each(units, on, effect, by)
}

#[inline(always)]
fn row_of_each(units: &mut [u32; 32], on: u32, effect: Effect, (me, step): (u32, u32)) -> bool {
    each(units, effect, |i| (me + i as u32 * step, on >> i & 1 != 0))
}

/// Units that lanes access, one each.
struct Numbers {
    /// Of each lane. Those of lanes that are not there mean nothing.
    units: [u32; 32],
    /// The lowest of those that are there, and the end of the highest.
    low: u32,
    end: u32,
    /// An address is none of a unit, or far beyond all.
    odd: bool,
}

impl Numbers {
    fn of(at: &Spread<'_>, mask: u32, unit: u32) -> Numbers {
        let within = (1u64 << unit) - 1;
        let (mut units, mut odd) = ([0; 32], 0);
        let (mut low, mut last) = (u32::MAX, 0);
        for (lane, own) in units.iter_mut().enumerate() {
            let address = at.address(lane);
            let there = mask >> lane & 1;
            let (number, on) = (address >> unit, 0u32.wrapping_sub(there));
            odd |= (address & within | number >> 32) & 0u64.wrapping_sub(u64::from(there));
            *own = number as u32;
            (low, last) = (low.min(number as u32 | !on), last.max(number as u32 & on));
        }
        Numbers { units, low, end: last.saturating_add(1), odd: odd != 0 }
    }
}

/// Applies an access to units: by whom each, and whether at all. False if that may race.
#[inline(always)]
fn each(units: &mut [u32], effect: Effect, who: impl Fn(usize) -> (u32, bool)) -> bool {
    // A loop for each effect, without branches.
    macro_rules! all {
        ($effect:expr) => {{
            let mut raced = 0;
            for (i, unit) in units.iter_mut().enumerate() {
                let (me, on) = who(i);
                let (new, others) = enter(*unit, me, $effect);
                *unit = if on { new } else { *unit };
                raced |= if on { others } else { 0 };
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
                    _ => table.spread(&Spread::at(&addresses), &party),
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

    /// What a unit is after an access, and whether that may race, as it is told.
    #[test]
    fn a_unit_has_who_wrote_and_read_it() {
        let known = [0, 1, 2, 33, STRONG, MANY];
        for (w, r) in known.iter().flat_map(|&w| known.map(|r| (w, r))) {
            for me in [1, 2, 33, STRONG - 1] {
                let (wrote, read) = (w != 0 && w != me, r != 0 && r != me);
                for (effect, unit, races) in [
                    (Effect::Read, (w, if read { MANY } else { me }), wrote),
                    (Effect::Write, (me, r), wrote || read),
                    (Effect::Strong, (STRONG, r), w != 0 && w != STRONG || r != 0),
                ] {
                    let (new, others) = enter(w | r << 16, me, effect);
                    let told = ((new & MANY, new >> 16), others != 0);
                    assert_eq!(told, (unit, races), "{effect:?} {w} {r} by {me}");
                }
            }
        }
    }

    /// Whether by vectors, where there are any, or one by one.
    #[test]
    fn lanes_enter_alike_in_both_ways() {
        let (mut next, mut told) = (random(9), [0; 2]);
        for round in 0..2000 {
            let (unit, lockstep) = (round % 3, round % 4 == 0);
            let mut tables = [(); 2].map(|()| Table::new(512 << unit, unit, lockstep));
            for _ in 0..1 + next(5) {
                let effect = [Effect::Read, Effect::Write, Effect::Strong][next(3) as usize];
                let mask = next(1 << 32) as u32 | 1 << next(32);
                let party = Party { warp: next(2) as u16, mask, bytes: 1 << unit, effect };
                let mut addresses: [u64; 32] = match next(2) {
                    0 => std::array::from_fn(|lane| (lane as u64 * 8 + next(8)) << unit),
                    _ => std::array::from_fn(|_| next(512) << unit),
                };
                match next(12) {
                    0 => addresses[next(32) as usize] += 1,
                    1 => addresses[next(32) as usize] = (512 + next(2)) << unit,
                    2 => addresses[next(32) as usize] = 1 << (35 + unit),
                    _ => {}
                }
                let at = Spread::at(&addresses);
                let [one, other] = &mut tables;
                let entered =
                    [one.spread(&at, &party), other.units_one_by_one(&at, &party, effect)];
                assert_eq!(entered[0], entered[1], "{party:?} {addresses:?}");
                assert_eq!((&one.units, &one.used), (&other.units, &other.used));
                told[usize::from(entered[0])] += 1;
            }
        }
        assert!(told.iter().all(|&told| told > 500), "{told:?}");
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
            assert!(table.spread(&Spread::at(&at(&[])), &party(0, 0)) && table.used.is_empty());
            assert!(
                table.spread(
                    &Spread::at(&at(&[(3, 9), (31, end - 1)])),
                    &party(0, 1 << 3 | 1 << 31)
                )
            );
            assert_eq!(table.used, 9..end as usize);
            for beyond in [end, end + 5, 1 << 32, (1 << 32) + 9] {
                assert!(
                    !table.spread(&Spread::at(&at(&[(3, beyond)])), &party(0, 1 << 3)),
                    "{beyond}"
                );
            }
            let odd = at(&[(3, 9)]).map(|address| address.wrapping_add(1));
            assert!(!table.spread(&Spread::at(&odd), &party(0, 1 << 3)));
            assert!(
                !table.spread(&Spread::at(&at(&[(4, 9)])), &party(0, 1 << 4)),
                "lane 3 was there"
            );
            table.clear();
            assert!(table.spread(&Spread::at(&at(&[(4, 9)])), &party(0, 1 << 4)));
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
