// SPDX-License-Identifier: MIT OR Apache-2.0
//! The patterns of one site, each with how often it came.

use super::pattern::{Groups, KEYS, Pattern};
use super::touches::{Route, Touch, touches};

/// Most patterns that a worker keeps of one site before it counts each access by itself.
const MOST: usize = 512;

/// Places for numbers of patterns by their groups.
const PLACES: usize = 128;

/// A pattern, how often it came, and where first. In this order it takes three lines of the processor's cache.
#[repr(C, align(64))]
pub struct Seen {
    pub count: u64,
    /// Another name of the pattern, if it has come by that.
    groups: Groups,
    /// How many different 32-byte sectors it touches; 0 if nobody asked yet.
    pub sectors: u8,
    /// How many of [`Patterns::touches`] are its own, from where on; [`UNLISTED`] as long as nobody asked.
    touches: u16,
    from: u32,
    /// The pattern that came after it last time.
    next: u16,
    /// Address of the base when it came first.
    pub base: u64,
    pub pattern: Pattern,
}

const _: () = assert!(size_of::<Seen>() == 192);

/// More than any pattern touches: a line for each lane and word.
const UNLISTED: u16 = u16::MAX;

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

    /// Adds the next number, which has this hash. `others` gives that of each before.
    #[inline]
    pub fn push(&mut self, hash: u64, others: impl Fn(usize) -> u64) {
        self.len += 1;
        if 2 * self.len > self.slots.len() {
            self.slots.clear();
            self.slots.resize((4 * self.len).next_power_of_two(), 0);
            (0..self.len - 1).for_each(|number| self.put(number, others(number)));
        }
        self.put(self.len - 1, hash);
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

/// A place in [`Patterns::by_groups`].
#[inline(always)]
fn place(groups: &Groups) -> usize {
    (groups.hash() >> (64 - PLACES.trailing_zeros())) as usize
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
    index: Index,
    /// What patterns look up in caches, one after the other.
    touches: Vec<Touch>,
    /// Bits of [`bit_of`] that patterns have, once no more are kept.
    filter: Vec<u64>,
    /// One more than the number of a pattern whose groups have this place; 0 for none.
    by_groups: Vec<u16>,
    last: u16,
    /// The pattern that is to be expected: the last one's next.
    expected: u16,
}

impl Patterns {
    /// The number of the pattern that came last, of those that are kept.
    pub fn last(&self) -> usize {
        self.last.into()
    }

    /// Bytes of its room.
    pub fn bytes(&self) -> usize {
        self.seen.capacity() * size_of::<Seen>()
            + self.touches.capacity() * size_of::<Touch>()
            + self.index.slots.capacity() * size_of::<u32>()
            + self.filter.capacity() * size_of::<u64>()
            + self.by_groups.capacity() * size_of::<u16>()
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

    /// What a pattern looks up in caches.
    #[inline(always)]
    pub fn touched(&mut self, number: usize, route: Route) -> &[Touch] {
        if self.seen[number].touches == UNLISTED {
            self.list(number, route);
        }
        let Seen { from, touches, .. } = &self.seen[number];
        &self.touches[*from as usize..*from as usize + usize::from(*touches)]
    }

    #[cold]
    fn list(&mut self, number: usize, route: Route) {
        let seen = &mut self.seen[number];
        let from = self.touches.len();
        touches(route, seen.pattern.mask, &seen.pattern.relative(), &mut self.touches);
        seen.from = from as u32;
        seen.touches = (self.touches.len() - from) as u16;
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
        let expected = usize::from(self.expected);
        let (pattern, base) = Pattern::of(mask, addresses, period);
        if let Some(seen) = self.seen.get_mut(expected)
            && seen.pattern == pattern
        {
            seen.count += 1;
            (self.last, self.expected) = (expected as u16, seen.next);
            return Some(expected);
        }
        self.find(pattern, base)
    }

    /// Counts an access, and gives the number of its pattern, if that has come by its groups before.
    #[inline(always)]
    pub fn count_groups(&mut self, groups: &Groups) -> Option<usize> {
        let expected = usize::from(self.expected);
        let at = match self.seen.get(expected) {
            Some(seen) if seen.groups == *groups => expected,
            Some(_) | None => {
                let at = usize::from(*self.by_groups.get(place(groups))?).checked_sub(1)?;
                if self.seen[at].groups != *groups {
                    return None;
                }
                self.seen[usize::from(self.last)].next = at as u16;
                at
            }
        };
        let seen = &mut self.seen[at];
        seen.count += 1;
        (self.last, self.expected) = (at as u16, seen.next);
        Some(at)
    }

    /// These are the groups of the pattern that came last.
    pub fn name_last(&mut self, groups: &Groups) {
        self.by_groups.resize(PLACES, 0);
        self.by_groups[place(groups)] = self.last + 1;
        self.seen[usize::from(self.last)].groups = *groups;
    }

    #[cold]
    fn make_filter(&mut self, period: u64) {
        self.filter.resize(FILTER / 64, 0);
        for seen in &self.seen {
            let bit = bit_of(seen.pattern.mask, &seen.pattern.relative(), period);
            self.filter[bit / 64] |= 1 << (bit % 64);
        }
    }

    #[inline(always)]
    fn find(&mut self, pattern: Pattern, base: u64) -> Option<usize> {
        let hash = pattern.hash();
        let at = match self.index.find(hash, |n| self.seen[n].pattern == pattern) {
            Some(at) => {
                self.seen[at].count += 1;
                at
            }
            None if self.seen.len() >= MOST => return None,
            None => {
                let at = self.seen.len();
                self.seen.push(Seen {
                    count: 1,
                    groups: Groups::NONE,
                    sectors: 0,
                    touches: UNLISTED,
                    from: 0,
                    next: at as u16,
                    base,
                    pattern,
                });
                self.index.push(hash, |n| self.seen[n].pattern.hash());
                at
            }
        };
        if let Some(last) = self.seen.get_mut(usize::from(self.last)) {
            last.next = at as u16;
        }
        (self.last, self.expected) = (at as u16, self.seen[at].next);
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
