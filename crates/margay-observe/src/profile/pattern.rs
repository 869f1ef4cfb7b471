// SPDX-License-Identifier: MIT OR Apache-2.0
//! Patterns of addresses, recognised when they come again.
//!
//! Invariant: two accesses of one pattern cost the same on every GPU. Banks repeat every 256 bytes,
//! the largest segment has 128, the lock of a shared atomic is chosen by bits 2 to 9, and the tag bank of a
//! global one by bits up to 16, hence the alignment of the base.

use margay_arch::Space;
use margay_exec::observe::GroupedEvent;

use super::touches::{Route, Touch, touches};

/// A multiple of the base that two accesses of one pattern may be apart.
pub fn period(space: Space, is_atomic: bool) -> u64 {
    match (space, is_atomic) {
        (Space::Shared, true) => 1024,
        (Space::Global, true) => 128 << 10,
        (Space::Global | Space::Shared, false) => 256,
        (Space::Local | Space::Constant | Space::Parameter, _) => 256,
    }
}

/// Most patterns that a worker keeps of one site before it counts each access by itself.
const MOST: usize = 512;

/// Lanes and where they went.
#[derive(Clone, PartialEq, Eq)]
#[repr(C)]
pub struct Pattern {
    pub mask: u32,
    /// Relative to the lowest active lane's address rounded down to the period; that lane's own value in
    /// inactive lanes.
    pub relative: [u64; 32],
}

impl Pattern {
    /// A number for finding it.
    #[inline(always)]
    fn hash(&self) -> u64 {
        // NH: sums of products of halves, which are vector code.
        let mut sum = 0u64;
        for (r, k) in self.relative.iter().zip(&KEYS) {
            let low = (*r as u32).wrapping_add(*k as u32);
            let high = ((*r >> 32) as u32).wrapping_add((*k >> 32) as u32);
            sum = sum.wrapping_add(u64::from(low) * u64::from(high));
        }
        let mixed = (sum ^ u64::from(self.mask)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        mixed ^ mixed >> 32
    }

    /// The pattern of an access, and the base that it is relative to.
    #[inline(always)]
    pub fn of(mask: u32, addresses: &[u64; 32], period: u64) -> (Pattern, u64) {
        let lead = addresses[(mask.trailing_zeros() & 31) as usize];
        let base = lead & !(period - 1);
        let mut relative = [0; 32];
        for (l, r) in relative.iter_mut().enumerate() {
            let address = if mask >> l & 1 != 0 { addresses[l] } else { lead };
            *r = address.wrapping_sub(base);
        }
        (Pattern { mask, relative }, base)
    }

    /// Whether an access is of this pattern.
    #[inline(always)]
    fn fits(&self, mask: u32, addresses: &[u64; 32], period: u64) -> bool {
        if mask != self.mask {
            return false;
        }
        let lead = addresses[(mask.trailing_zeros() & 31) as usize];
        let base = lead & !(period - 1);
        let alike = are(base, addresses, &self.relative);
        if alike || mask == u32::MAX {
            return alike;
        }
        // Inactive lanes mostly have the lead's address, as the pattern has, but need not.
        let mut differs = 0;
        for (l, (a, r)) in addresses.iter().zip(&self.relative).enumerate() {
            let lane = ((mask >> l & 1) as u64).wrapping_neg();
            differs |= (a.wrapping_sub(base) ^ r) & lane;
        }
        differs == 0
    }
}

/// Whether addresses are so far from a base.
#[inline(always)]
fn are(base: u64, addresses: &[u64; 32], relative: &[u64; 32]) -> bool {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has AVX2.
        return unsafe { wide::are(base, addresses, relative) };
    }
    let differs =
        addresses.iter().zip(relative).fold(0, |all, (a, r)| all | (a.wrapping_sub(base) ^ r));
    differs == 0
}

#[cfg(target_arch = "x86_64")]
mod wide {
    use std::arch::x86_64::*;

    /// [`super::are`]. Compilers make shuffles of its loop.
    #[inline]
    #[target_feature(enable = "avx2")]
    pub fn are(base: u64, addresses: &[u64; 32], relative: &[u64; 32]) -> bool {
        let base = _mm256_set1_epi64x(base as i64);
        let mut differs = [_mm256_setzero_si256(); 2];
        for four in 0..8 {
            // SAFETY: four values from there on are within the 32.
            let (a, r) = unsafe {
                let at = |list: &[u64; 32]| list.as_ptr().add(4 * four).cast();
                (_mm256_loadu_si256(at(addresses)), _mm256_loadu_si256(at(relative)))
            };
            let differ = _mm256_xor_si256(_mm256_sub_epi64(a, base), r);
            differs[four % 2] = _mm256_or_si256(differs[four % 2], differ);
        }
        let differs = _mm256_or_si256(differs[0], differs[1]);
        _mm256_testz_si256(differs, differs) != 0
    }
}

/// Where all lanes went, by groups of eight neighbours ([`GroupedEvent`]): a shorter name of a pattern.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Groups {
    /// Of the first lane of each, from the pattern's base.
    starts: [u64; 4],
    /// A bit for each group of consecutive elements.
    consecutive: u32,
}

impl Groups {
    /// Of no pattern.
    const NONE: Groups = Groups { starts: [0; 4], consecutive: u32::MAX };

    /// The groups of an access.
    #[inline]
    pub fn of(event: &GroupedEvent, period: u64) -> Groups {
        let base = event.starts[0] & !(period - 1);
        Groups {
            starts: event.starts.map(|start| start.wrapping_sub(base)),
            consecutive: event.consecutive,
        }
    }

    /// A place in [`Patterns::by_groups`].
    #[inline]
    fn place(&self) -> usize {
        let sum = self
            .starts
            .iter()
            .zip(&KEYS)
            .fold(0u64, |sum, (s, k)| sum.wrapping_add(s.wrapping_mul(*k)));
        let mixed = (sum ^ u64::from(self.consecutive)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed >> (64 - PLACES.trailing_zeros())) as usize
    }
}

/// Places for numbers of patterns by their groups.
const PLACES: usize = 128;

/// Odd numbers without a pattern.
const KEYS: [u64; 32] = {
    let mut keys = [0; 32];
    let (mut n, mut state) = (0, 0x2545_f491_4f6c_dd1d_u64);
    while n < 32 {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        keys[n] = (state ^ state >> 29) | 1 << 32 | 1;
        n += 1;
    }
    keys
};

/// A pattern, how often it came, and where first. In this order what an access needs lies together.
#[repr(C, align(64))]
pub struct Seen {
    pub count: u64,
    /// Another name of the pattern, if it has come by that.
    groups: Groups,
    /// The pattern that came after it last time.
    next: u32,
    /// Its part of [`Patterns::touches`]: from where, and how many; none as long as nobody asked.
    listed: Option<(u32, u16)>,
    pub pattern: Pattern,
    /// How many different 32-byte sectors it touches; 0 if nobody asked yet.
    pub sectors: u32,
    /// Address of the base when it came first.
    pub base: u64,
    pub hash: u64,
}

/// Numbers by hash.
#[derive(Default)]
pub struct Index {
    /// Twice as many as there are numbers at least, and a power of two: half of a hash, and a number plus one. 0 is empty.
    slots: Vec<u32>,
    len: usize,
}

impl Index {
    /// The number that has this hash, of those that `is` says yes to. Below 2^16.
    #[inline]
    pub fn find(&self, hash: u64, is: impl Fn(usize) -> bool) -> Option<usize> {
        let mask = self.slots.len().wrapping_sub(1);
        let mut at = hash as usize & mask;
        while let Some(&slot) = self.slots.get(at)
            && slot != 0
        {
            let number = (slot & 0xffff) as usize - 1;
            if slot >> 16 == (hash >> 48) as u32 && is(number) {
                return Some(number);
            }
            at = (at + 1) & mask;
        }
        None
    }

    /// Adds the next number. `hash` gives that of each.
    #[inline]
    pub fn push(&mut self, hash: impl Fn(usize) -> u64) {
        self.len += 1;
        if 2 * self.len > self.slots.len() {
            self.slots.clear();
            self.slots.resize((4 * self.len).next_power_of_two(), 0);
            (0..self.len - 1).for_each(|number| self.put(number, hash(number)));
        }
        self.put(self.len - 1, hash(self.len - 1));
    }

    fn put(&mut self, number: usize, hash: u64) {
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        while self.slots[at] != 0 {
            at = (at + 1) & mask;
        }
        self.slots[at] = (hash >> 48 << 16) as u32 | (number as u32 + 1);
    }

    fn clear(&mut self) {
        self.slots.fill(0);
        self.len = 0;
    }
}

/// Bits of a filter.
const FILTER: usize = 1 << 13;

/// A bit that is the same for all accesses of a pattern, from its first and its last lane.
#[inline(always)]
fn bit_of(mask: u32, addresses: &[u64; 32], period: u64) -> usize {
    let first = addresses[(mask.trailing_zeros() & 31) as usize];
    let last = addresses[mask.checked_ilog2().unwrap_or(0) as usize];
    let place = (first & (period - 1)) ^ u64::from(mask) << 32;
    let mixed = place.wrapping_mul(KEYS[0] | 1).wrapping_add(last.wrapping_sub(first));
    (mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - FILTER.trailing_zeros())) as usize
}

/// The patterns of one site.
#[derive(Default)]
pub struct Patterns {
    pub seen: Vec<Seen>,
    /// Of two patterns with one hash, the second is not kept.
    index: Index,
    /// What patterns look up in caches, one after the other.
    touches: Vec<Touch>,
    /// Bits of [`bit_of`] that patterns have, once no more are kept.
    filter: Vec<u64>,
    /// One more than the number of a pattern whose groups have this place; 0 for none.
    by_groups: Vec<u16>,
    last: u32,
    /// The pattern that is to be expected: the last one's next.
    expected: u32,
}

impl Patterns {
    /// The number of the pattern that came last, of those that are kept.
    pub fn last(&self) -> usize {
        self.last as usize
    }

    /// Forgets all patterns, but keeps the room for others.
    pub fn clear(&mut self) {
        self.seen.clear();
        self.index.clear();
        self.touches.clear();
        self.filter.clear();
        self.by_groups.clear();
        (self.last, self.expected) = (0, 0);
    }

    /// What a pattern looks up in caches, if that was listed.
    #[inline]
    pub fn listed(&self, number: usize) -> Option<&[Touch]> {
        let (from, len) = self.seen.get(number)?.listed?;
        self.touches.get(from as usize..from as usize + usize::from(len))
    }

    /// What a pattern looks up in caches.
    #[inline]
    pub fn touched(&mut self, number: usize, route: Route) -> &[Touch] {
        if self.seen[number].listed.is_none() {
            self.list(number, route);
        }
        self.listed(number).unwrap_or_default()
    }

    #[cold]
    fn list(&mut self, number: usize, route: Route) {
        let Seen { pattern, listed, .. } = &mut self.seen[number];
        let from = self.touches.len();
        touches(route, pattern.mask, &pattern.relative, &mut self.touches);
        *listed = Some((from as u32, (self.touches.len() - from) as u16));
    }

    /// Counts an access, and gives the number of its pattern; none if there are too many to keep it.
    #[inline(always)]
    pub fn count(&mut self, mask: u32, addresses: &[u64; 32], period: u64) -> Option<usize> {
        if self.seen.len() >= MOST {
            let bit = bit_of(mask, addresses, period);
            if self.filter.is_empty() {
                self.make_filter(period);
            }
            if self.filter[bit / 64] >> (bit % 64) & 1 == 0 {
                return None;
            }
        }
        // In a loop the patterns mostly come in the same order again.
        let expected = self.expected as usize;
        if let Some(seen) = self.seen.get_mut(expected)
            && seen.pattern.fits(mask, addresses, period)
        {
            seen.count += 1;
            (self.last, self.expected) = (expected as u32, seen.next);
            return Some(expected);
        }
        self.find(mask, addresses, period)
    }

    /// Counts an access, and gives the number of its pattern, if that has come by its groups before.
    #[inline(always)]
    pub fn count_groups(&mut self, groups: &Groups) -> Option<usize> {
        let expected = self.expected as usize;
        let at = match self.seen.get(expected) {
            Some(seen) if seen.groups == *groups => expected,
            Some(_) | None => {
                let at = usize::from(*self.by_groups.get(groups.place())?).checked_sub(1)?;
                if self.seen[at].groups != *groups {
                    return None;
                }
                self.seen[self.last as usize].next = at as u32;
                at
            }
        };
        let seen = &mut self.seen[at];
        seen.count += 1;
        (self.last, self.expected) = (at as u32, seen.next);
        Some(at)
    }

    /// These are the groups of the pattern that came last.
    pub fn name_last(&mut self, groups: &Groups) {
        self.by_groups.resize(PLACES, 0);
        self.by_groups[groups.place()] = self.last as u16 + 1;
        self.seen[self.last as usize].groups = *groups;
    }

    #[cold]
    fn make_filter(&mut self, period: u64) {
        self.filter.resize(FILTER / 64, 0);
        for seen in &self.seen {
            let bit = bit_of(seen.pattern.mask, &seen.pattern.relative, period);
            self.filter[bit / 64] |= 1 << (bit % 64);
        }
    }

    #[inline(always)]
    fn find(&mut self, mask: u32, addresses: &[u64; 32], period: u64) -> Option<usize> {
        let (pattern, base) = Pattern::of(mask, addresses, period);
        let hash = Pattern::hash(&pattern);
        let at = match self.index.find(hash, |n| self.seen[n].hash == hash) {
            Some(at) if self.seen[at].pattern == pattern => {
                self.seen[at].count += 1;
                at
            }
            Some(_) => return None,
            None if self.seen.len() >= MOST => return None,
            None => {
                let at = self.seen.len();
                let (groups, next, sectors, listed) = (Groups::NONE, at as u32, 0, None);
                self.seen.push(Seen {
                    count: 1,
                    groups,
                    next,
                    listed,
                    pattern,
                    sectors,
                    base,
                    hash,
                });
                self.index.push(|n| self.seen[n].hash);
                at
            }
        };
        if let Some(last) = self.seen.get_mut(self.last as usize) {
            last.next = at as u32;
        }
        (self.last, self.expected) = (at as u32, self.seen[at].next);
        Some(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lanes(f: impl Fn(u64) -> u64) -> [u64; 32] {
        std::array::from_fn(|l| f(l as u64))
    }

    #[test]
    fn shifted_by_the_period_it_is_the_same() {
        let mut patterns = Patterns::default();
        for n in 0..100 {
            for step in [4, 128, 8] {
                let at = lanes(|l| 0x1000 + n * 256 + l * step);
                assert_eq!(
                    patterns.count(!0, &at, 256),
                    Some([4, 128, 8].iter().position(|s| *s == step).unwrap())
                );
            }
        }
        let counts: Vec<u64> = patterns.seen.iter().map(|s| s.count).collect();
        assert_eq!(counts, [100, 100, 100]);
    }

    #[test]
    fn inactive_lanes_do_not_matter() {
        let mut patterns = Patterns::default();
        for junk in [0, 5, 1 << 40] {
            let at = lanes(|l| if l < 4 { 64 + l * 4 } else { junk * l });
            assert_eq!(patterns.count(0xf, &at, 256), Some(0));
        }
        assert_eq!((patterns.seen.len(), patterns.seen[0].count), (1, 3));
    }

    #[test]
    fn beyond_the_bound_accesses_come_back() {
        let mut patterns = Patterns::default();
        let back = (0..600).filter(|n| patterns.count(!0, &lanes(|l| l * l * n), 256).is_none());
        assert_eq!(back.count(), 600 - MOST);
    }
}
