// SPDX-License-Identifier: MIT OR Apache-2.0
//! Patterns of addresses, recognised when they come again.
//!
//! Invariant: two accesses of one pattern cost the same on every GPU. Banks repeat every 256 bytes,
//! the largest segment has 128, the lock of a shared atomic is chosen by bits 2 to 9, and the tag bank of a
//! global one by bits up to 16, hence the alignment of the base.

use std::collections::HashMap;

use margay_arch::Space;

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
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Pattern {
    pub mask: u32,
    /// Relative to the lowest active lane's address rounded down to the period; that lane's own value in
    /// inactive lanes.
    pub relative: [u64; 32],
}

impl Pattern {
    /// The pattern of an access, and the base that it is relative to.
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
    #[inline]
    fn fits(&self, mask: u32, addresses: &[u64; 32], period: u64) -> bool {
        if mask != self.mask {
            return false;
        }
        let lead = addresses[(mask.trailing_zeros() & 31) as usize];
        let base = lead & !(period - 1);
        let mut differs = 0;
        if mask == u32::MAX {
            for (a, r) in addresses.iter().zip(&self.relative) {
                differs |= a.wrapping_sub(base) ^ r;
            }
        } else {
            for (l, (a, r)) in addresses.iter().zip(&self.relative).enumerate() {
                let lane = ((mask >> l & 1) as u64).wrapping_neg();
                differs |= (a.wrapping_sub(base) ^ r) & lane;
            }
        }
        differs == 0
    }
}

/// A pattern, how often it came, and where first.
pub struct Seen {
    pub pattern: Pattern,
    pub count: u64,
    /// Address of the base when it came first.
    pub base: u64,
    /// The pattern that came after it last time.
    next: u32,
}

/// The patterns of one site.
#[derive(Default)]
pub struct Patterns {
    pub seen: Vec<Seen>,
    index: HashMap<Pattern, u32>,
    last: u32,
}

impl Patterns {
    /// Counts an access. Gives it back if there are too many patterns to keep it.
    #[inline]
    pub fn count(
        &mut self,
        mask: u32,
        addresses: &[u64; 32],
        period: u64,
    ) -> Option<(Pattern, u64)> {
        // In a loop the patterns mostly come in the same order again.
        if let Some(last) = self.seen.get(self.last as usize) {
            let next = last.next;
            if let Some(seen) = self.seen.get_mut(next as usize)
                && seen.pattern.fits(mask, addresses, period)
            {
                seen.count += 1;
                self.last = next;
                return None;
            }
        }
        self.find(mask, addresses, period)
    }

    #[inline(never)]
    fn find(&mut self, mask: u32, addresses: &[u64; 32], period: u64) -> Option<(Pattern, u64)> {
        let (pattern, base) = Pattern::of(mask, addresses, period);
        let at = match self.index.get(&pattern) {
            Some(&at) => {
                self.seen[at as usize].count += 1;
                at
            }
            None if self.seen.len() >= MOST => return Some((pattern, base)),
            None => {
                let at = self.seen.len() as u32;
                self.index.insert(pattern.clone(), at);
                self.seen.push(Seen { pattern, count: 1, base, next: at });
                at
            }
        };
        if let Some(last) = self.seen.get_mut(self.last as usize) {
            last.next = at;
        }
        self.last = at;
        None
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
                assert!(patterns.count(!0, &at, 256).is_none());
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
            assert!(patterns.count(0xf, &at, 256).is_none());
        }
        assert_eq!((patterns.seen.len(), patterns.seen[0].count), (1, 3));
    }

    #[test]
    fn beyond_the_bound_accesses_come_back() {
        let mut patterns = Patterns::default();
        let back = (0..600).filter(|n| patterns.count(!0, &lanes(|l| l * l * n), 256).is_some());
        assert_eq!(back.count(), 600 - MOST);
    }
}
