// SPDX-License-Identifier: MIT OR Apache-2.0
//! Units of a table ([`super::table`]) that lanes access each for itself, by vectors: on processors that gather and scatter.
//!
//! From addresses to units all is in registers: what is stored by parts and loaded as a whole has to wait.

use std::arch::x86_64::{
    __m512i, _mm_cvtsi64_si128, _mm512_add_epi64, _mm512_and_si512, _mm512_castsi256_si512,
    _mm512_conflict_epi32, _mm512_cvtepi64_epi32, _mm512_inserti64x4, _mm512_loadu_si512,
    _mm512_mask_i32gather_epi32, _mm512_mask_i32scatter_epi32, _mm512_mask_max_epu32,
    _mm512_mask_min_epu32, _mm512_mask_or_epi64, _mm512_mask_test_epi32_mask, _mm512_or_si512,
    _mm512_reduce_max_epu32, _mm512_reduce_min_epu32, _mm512_set1_epi32, _mm512_set1_epi64,
    _mm512_setzero_si512, _mm512_srl_epi64, _mm512_srli_epi64, _mm512_storeu_si512,
    _mm512_test_epi64_mask,
};
use std::ops::Range;

use super::table::{Effect, enter};

/// Lanes of a vector of numbers of 32 bits, and of 64.
const HALF: usize = 16;
const QUARTER: usize = 8;

/// Whether [`enter_each`] may be called.
#[inline]
pub fn is_there() -> bool {
    is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512cd")
        && is_x86_feature_detected!("avx512bw")
}

/// Lanes that access a unit each.
#[derive(Clone, Copy)]
pub struct Lanes<'a> {
    /// Where each does, less `base`.
    pub addresses: &'a [u64; 32],
    pub base: u64,
    /// At least one.
    pub mask: u32,
    /// The number that lane 0 has, or would have, and what each other's is more than that of the one before.
    pub first: u32,
    pub step: u32,
    /// No two of them access the same, or those that do leave the same there.
    pub apart: bool,
}

/// How lanes entered.
#[derive(Debug, PartialEq, Eq)]
pub enum Entry {
    /// All did, some of these units; and what others left there that they may race with, or 0.
    Done(Range<usize>, u32),
    /// None, as an address is none of a unit.
    Odd,
    /// None, as two access the same unit.
    Meet,
}

/// Enters an access by lanes to units of so many bytes, as a shift. There are at most 2^31 units.
#[target_feature(enable = "avx512f,avx512cd,avx512bw")]
pub fn enter_each(units: &mut [u32], unit: u32, lanes: Lanes<'_>, effect: Effect) -> Entry {
    let Lanes { addresses, base, mask, first, step, apart } = lanes;
    let (base, shift) = (_mm512_set1_epi64(base as i64), _mm_cvtsi64_si128(unit.into()));
    let within = _mm512_set1_epi64((1i64 << unit) - 1);
    let mut odd = _mm512_setzero_si512();
    let mut quarter = |n: usize| {
        // SAFETY: it is one of four quarters.
        let at = unsafe { _mm512_loadu_si512(addresses.as_ptr().add(n * QUARTER).cast()) };
        let at = _mm512_add_epi64(at, base);
        let number = _mm512_srl_epi64(at, shift);
        let own = _mm512_or_si512(_mm512_and_si512(at, within), _mm512_srli_epi64::<32>(number));
        odd = _mm512_mask_or_epi64(odd, (mask >> (n * QUARTER)) as u8, odd, own);
        _mm512_cvtepi64_epi32(number)
    };
    let mut half = |n: usize| {
        let low = _mm512_castsi256_si512(quarter(2 * n));
        _mm512_inserti64x4::<1>(low, quarter(2 * n + 1))
    };
    let halves = [half(0), half(1)];
    let on = [mask as u16, (mask >> HALF) as u16];
    let (mut low, mut high) = (_mm512_set1_epi32(-1), _mm512_setzero_si512());
    for (at, on) in halves.into_iter().zip(on) {
        low = _mm512_mask_min_epu32(low, on, low, at);
        high = _mm512_mask_max_epu32(high, on, high, at);
    }
    let (low, high) =
        (_mm512_reduce_min_epu32(low) as usize, _mm512_reduce_max_epu32(high) as usize);
    if _mm512_test_epi64_mask(odd, odd) != 0 || high >= units.len() || units.len() > 1 << 31 {
        return Entry::Odd;
    }
    for (at, on) in halves.into_iter().zip(on).filter(|_| !apart) {
        // Of each lane those before it that have the same number. Halves come one after the other.
        let before = _mm512_conflict_epi32(at);
        if _mm512_mask_test_epi32_mask(on, before, _mm512_set1_epi32(on.into())) != 0 {
            return Entry::Meet;
        }
    }
    let memory = units.as_mut_ptr().cast::<i32>();
    let mut raced = [0; HALF];
    for (half, (at, on)) in halves.into_iter().zip(on).enumerate() {
        let none = _mm512_setzero_si512();
        // SAFETY: no lane that is on has a number beyond `high`, which is that of a unit.
        let known = unsafe { _mm512_mask_i32gather_epi32::<4>(none, on, at, memory) };
        let (known, mut new) = (lanes_of(known), [0; HALF]);
        for lane in 0..HALF {
            let me = first + step * (half * HALF + lane) as u32;
            let (unit, others) = enter(known[lane], me, effect);
            new[lane] = unit;
            raced[lane] |= others & 0u32.wrapping_sub(u32::from(on >> lane & 1));
        }
        // SAFETY: as above.
        unsafe { _mm512_mask_i32scatter_epi32::<4>(memory, on, at, vector_of(&new)) };
    }
    Entry::Done(low..high + 1, raced.iter().fold(0, |all, own| all | own))
}

#[inline]
#[target_feature(enable = "avx512f")]
fn lanes_of(vector: __m512i) -> [u32; HALF] {
    let mut lanes = [0; HALF];
    // SAFETY: that is as long.
    unsafe { _mm512_storeu_si512(lanes.as_mut_ptr().cast(), vector) };
    lanes
}

#[inline]
#[target_feature(enable = "avx512f")]
fn vector_of(lanes: &[u32; HALF]) -> __m512i {
    // SAFETY: that is as long.
    unsafe { _mm512_loadu_si512(lanes.as_ptr().cast()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sanitize::random::random;

    #[test]
    fn lanes_enter_as_one_by_one() {
        if !is_there() {
            return println!("skipped: the processor has no such vectors");
        }
        let (mut random, mut counts) = (random(3), [0; 3]);
        for round in 0..20_000 {
            let count = 64 + random(100) as usize;
            let mut one: Vec<u32> = (0..count).map(|_| random(3) as u32 * 7).collect();
            let mut other = one.clone();
            let (unit, base) = (random(4) as u32, random(1 << 40) << random(25));
            // Lanes that are not there may have any address.
            let mask = if round % 3 == 0 { u32::MAX } else { random(1 << 32) as u32 | 1 << 7 };
            let spread = random(2) == 0;
            let mut numbers: [u64; 32] = std::array::from_fn(|lane| match mask >> lane & 1 {
                0 => random(1 << 40),
                _ if spread => lane as u64 * 2 + random(2),
                _ => random(count as u64),
            });
            // What is beyond, however far, and what is between two units.
            let lane = random(32) as usize;
            let there = mask >> lane & 1 != 0;
            let (mut odd, mut between) = (false, 0);
            match random(20) {
                0 => (numbers[lane], odd) = (count as u64 + random(2), there),
                1 => (numbers[lane], odd) = ((1 << 32) + 5, there),
                2 if unit > 0 => (between, odd) = (1, there),
                _ => {}
            }
            let at = |l: usize| (numbers[l] << unit) + if l == lane { between } else { 0 };
            let addresses: [u64; 32] = std::array::from_fn(|l| at(l).wrapping_sub(base));
            let effect = [Effect::Read, Effect::Write, Effect::Strong][random(3) as usize];
            let (first, step) = (1 + random(9) as u32, random(2) as u32);
            let alike = step == 0 || effect == Effect::Strong;
            let apart = (spread || alike) && !odd && round % 2 == 0;
            let lanes = Lanes { addresses: &addresses, base, mask, first, step, apart };
            // SAFETY: the processor can do it.
            let entry = unsafe { enter_each(&mut one, unit, lanes, effect) };
            let mut there: Vec<_> = (0..32).filter(|l| mask >> l & 1 != 0).collect();
            if odd || entry == Entry::Meet {
                assert!(if odd { entry == Entry::Odd } else { !spread });
                counts[if odd { 1 } else { 2 }] += 1;
                assert_eq!(one, other);
                continue;
            }
            counts[0] += 1;
            let mut raced = 0;
            for &lane in &there {
                let unit = &mut other[numbers[lane] as usize];
                let (new, others) = enter(*unit, first + step * lane as u32, effect);
                (*unit, raced) = (new, raced | others);
            }
            there.sort_by_key(|&lane| numbers[lane]);
            let range = numbers[there[0]] as usize..numbers[there[there.len() - 1]] as usize + 1;
            let Entry::Done(told, others) = entry else { panic!("{entry:?}") };
            assert_eq!((told, others != 0, &one), (range, raced != 0, &other));
        }
        assert!(counts.iter().all(|count| *count > 1000), "{counts:?}");
    }
}
