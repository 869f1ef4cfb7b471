// SPDX-License-Identifier: MIT OR Apache-2.0
//! Patterns of addresses, recognised when they come again.
//!
//! Invariant: two accesses of one pattern cost the same on every GPU. Banks repeat every 256 bytes,
//! the largest segment has 128, the lock of a shared atomic is chosen by bits 2 to 9, and the tag bank of a
//! global one by bits up to 16, hence the alignment of the base.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hash, Hasher};

use margay_arch::Space;

use super::touches::Touch;

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
        let mut differs = 0;
        for (a, r) in addresses.iter().zip(&self.relative) {
            differs |= a.wrapping_sub(base) ^ r;
        }
        if differs == 0 || mask == u32::MAX {
            return differs == 0;
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

impl Hash for Pattern {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(Pattern::hash(self));
    }
}

/// By pattern.
pub type ByPattern<T> = HashMap<Pattern, T, BuildHasherDefault<AsIs>>;

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

/// For keys that are hashes already.
#[derive(Default)]
pub struct AsIs(u64);

impl Hasher for AsIs {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|b| self.0 = self.0 << 8 ^ u64::from(*b));
    }
    fn write_u64(&mut self, key: u64) {
        self.0 = key;
    }
}

/// A pattern, how often it came, and where first. In this order what an access needs lies together.
#[repr(C, align(64))]
pub struct Seen {
    pub count: u64,
    /// The pattern that came after it last time.
    next: u32,
    pub pattern: Pattern,
    /// What it looks up in caches, once that was asked for.
    pub touches: Option<Box<[Touch]>>,
    /// Address of the base when it came first.
    pub base: u64,
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
    /// By hash. Of two patterns with one hash, the second is not kept.
    index: HashMap<u64, u32, BuildHasherDefault<AsIs>>,
    /// Bits of [`bit_of`] that patterns have, once no more are kept.
    filter: Vec<u64>,
    last: u32,
    /// The pattern that is to be expected: the last one's next.
    expected: u32,
}

impl Patterns {
    /// The number of the pattern that came last, of those that are kept.
    pub fn last(&self) -> usize {
        self.last as usize
    }

    /// Counts an access, and gives its base. The pattern itself comes back if there are too many to keep it.
    #[inline(always)]
    pub fn count(
        &mut self,
        mask: u32,
        addresses: &[u64; 32],
        period: u64,
    ) -> (u64, Result<&mut Seen, Pattern>) {
        if self.seen.len() >= MOST {
            let bit = bit_of(mask, addresses, period);
            if self.filter.is_empty() {
                self.make_filter(period);
            }
            if self.filter[bit / 64] >> (bit % 64) & 1 == 0 {
                let (pattern, base) = Pattern::of(mask, addresses, period);
                return (base, Err(pattern));
            }
        }
        // In a loop the patterns mostly come in the same order again.
        let expected = self.expected as usize;
        if let Some(seen) = self.seen.get(expected)
            && seen.pattern.fits(mask, addresses, period)
        {
            let seen = &mut self.seen[expected];
            seen.count += 1;
            (self.last, self.expected) = (expected as u32, seen.next);
            let lead = addresses[(mask.trailing_zeros() & 31) as usize];
            return (lead & !(period - 1), Ok(seen));
        }
        self.find(mask, addresses, period)
    }

    #[cold]
    fn make_filter(&mut self, period: u64) {
        self.filter = vec![0; FILTER / 64];
        for seen in &self.seen {
            let bit = bit_of(seen.pattern.mask, &seen.pattern.relative, period);
            self.filter[bit / 64] |= 1 << (bit % 64);
        }
    }

    #[inline(always)]
    fn find(
        &mut self,
        mask: u32,
        addresses: &[u64; 32],
        period: u64,
    ) -> (u64, Result<&mut Seen, Pattern>) {
        let (pattern, base) = Pattern::of(mask, addresses, period);
        let hash = Pattern::hash(&pattern);
        let at = match self.index.get(&hash) {
            Some(&at) if self.seen[at as usize].pattern == pattern => {
                self.seen[at as usize].count += 1;
                at
            }
            Some(_) => return (base, Err(pattern)),
            None if self.seen.len() >= MOST => return (base, Err(pattern)),
            None => {
                let at = self.seen.len() as u32;
                self.index.insert(hash, at);
                self.seen.push(Seen { pattern, count: 1, base, touches: None, next: at });
                at
            }
        };
        if let Some(last) = self.seen.get_mut(self.last as usize) {
            last.next = at;
        }
        let seen = &mut self.seen[at as usize];
        (self.last, self.expected) = (at, seen.next);
        (base, Ok(seen))
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
                assert_eq!(patterns.count(!0, &at, 256).0, 0x1000 + n * 256);
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
            assert!(patterns.count(0xf, &at, 256).1.is_ok());
        }
        assert_eq!((patterns.seen.len(), patterns.seen[0].count), (1, 3));
    }

    #[test]
    fn beyond_the_bound_accesses_come_back() {
        let mut patterns = Patterns::default();
        let back = (0..600).filter(|n| patterns.count(!0, &lanes(|l| l * l * n), 256).1.is_err());
        assert_eq!(back.count(), 600 - MOST);
    }
}
