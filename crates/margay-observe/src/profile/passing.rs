// SPDX-License-Identifier: MIT OR Apache-2.0
//! Patterns of a site that mostly come once and never again: of such only a number is kept.
//!
//! That is for sites of which as many patterns are kept, of all launches, as are kept at all: what another one costs goes to
//! the sums, whenever that is found. What is counted does not depend on it.

use std::sync::Arc;

use super::patterns::{Index, fetch};

/// Numbers of a launch that the next one is asked for.
const SAMPLES: usize = 8;
/// Places at the start, twice as many as there are numbers at least.
const PLACES: usize = 256;

/// The patterns of a site that came in a launch without being kept.
#[derive(Default)]
#[repr(C)]
pub struct Passing {
    on: bool,
    /// Most patterns of the launch before were new.
    wanted: bool,
    /// How many patterns came that are not kept.
    len: u32,
    /// Patterns that are kept of all launches, if they are all that ever will.
    kept: Option<Arc<Index>>,
    /// A bit for each of them, by the upper bits of their hashes: of what is not kept most is told by that.
    marks: Marks,
    /// Hashes by their lower bits; 0 is empty.
    places: Vec<u64>,
    /// How many hashes there are: those of patterns that came again, and so are kept after all, are among them.
    hashes: usize,
    /// The first hashes of the launch before.
    samples: Vec<u64>,
    /// Those of this one.
    first: Vec<u64>,
}

/// Bits of [`Passing::marks`].
const MARKS: usize = 1 << 12;

struct Marks([u64; MARKS / 64]);

impl Default for Marks {
    fn default() -> Marks {
        Marks([0; MARKS / 64])
    }
}

impl Marks {
    /// Where the bit of a hash is; its upper 16 bits decide.
    #[inline(always)]
    fn place(hash: u64) -> (usize, u64) {
        let bit = hash >> (64 - MARKS.trailing_zeros());
        ((bit / 64) as usize, bit % 64)
    }

    #[inline(always)]
    fn has(&self, hash: u64) -> bool {
        let (word, bit) = Marks::place(hash);
        self.0[word] >> bit & 1 != 0
    }
}

impl Passing {
    /// How many patterns came that are not kept.
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.len as usize
    }

    /// Whether patterns pass: most that come are new.
    #[inline(always)]
    pub fn is_on(&self) -> bool {
        self.on
    }

    /// Bytes of its room.
    pub fn bytes(&self) -> usize {
        (self.places.capacity() + self.samples.capacity() + self.first.capacity())
            * size_of::<u64>()
    }

    /// Most patterns of a launch were new.
    pub fn begin(&mut self) {
        self.on = self.kept.is_some();
        self.wanted = !self.on;
    }

    /// Whether it would begin if it knew which patterns are kept.
    pub fn wants_kept(&self) -> bool {
        self.wanted
    }

    /// No more patterns are kept than these.
    pub fn kept_are(&mut self, kept: Arc<Index>) {
        self.marks = Marks::default();
        for half in kept.halves() {
            let (word, bit) = Marks::place(u64::from(half) << 48);
            self.marks.0[word] |= 1 << bit;
        }
        self.kept = Some(kept);
        self.on = std::mem::take(&mut self.wanted);
    }

    /// Makes ready for another launch. Tells whether most patterns have come in two launches, so that this ends.
    pub fn clear(&mut self) -> bool {
        if !self.on {
            return false;
        }
        let again = self.samples.iter().filter(|&&hash| self.has(hash)).count();
        let ends = again > 0 && 2 * again >= self.samples.len();
        std::mem::swap(&mut self.samples, &mut self.first);
        self.first.clear();
        self.places.fill(0);
        (self.hashes, self.len) = (0, 0);
        if ends {
            self.samples.clear();
            self.on = false;
        }
        ends
    }

    /// Whether a pattern that is not known is not worth keeping. One that comes again is.
    #[inline(always)]
    pub fn takes(&mut self, hash: u64) -> bool {
        self.on && self.is_new(hash)
    }

    /// Tells the processor where [`Passing::takes`] will look, if patterns pass.
    #[inline(always)]
    pub fn expects(&self, hash: u64) {
        if self.on {
            let mask = self.places.len().wrapping_sub(1);
            fetch::<1, u64>(&self.places, (hash >> 1) as usize & mask);
        }
    }

    #[inline]
    fn is_new(&mut self, hash: u64) -> bool {
        let is_kept = |kept: &Arc<Index>| kept.find(hash, |_| true).is_some();
        if self.marks.has(hash) && self.kept.as_ref().is_some_and(is_kept) {
            return false;
        }
        if 2 * self.hashes >= self.places.len() {
            self.grow();
        }
        let hash = hash | 1;
        let at = self.place(hash);
        if self.places[at] == hash {
            self.len -= 1;
            return false;
        }
        self.places[at] = hash;
        self.hashes += 1;
        self.len += 1;
        if self.first.len() < SAMPLES {
            self.first.push(hash);
        }
        true
    }

    fn has(&self, hash: u64) -> bool {
        !self.places.is_empty() && self.places[self.place(hash)] == hash
    }

    /// The place of a hash: where it is, or may be put.
    #[inline]
    fn place(&self, hash: u64) -> usize {
        let mask = self.places.len() - 1;
        // The lowest bit is the same in all.
        let mut at = (hash >> 1) as usize & mask;
        while self.places[at] != 0 && self.places[at] != hash {
            at = (at + 1) & mask;
        }
        at
    }

    #[cold]
    fn grow(&mut self) {
        let more = vec![0; (4 * self.hashes).next_power_of_two().max(PLACES)];
        for hash in std::mem::replace(&mut self.places, more) {
            if hash != 0 {
                let at = self.place(hash);
                self.places[at] = hash;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn on() -> Passing {
        let mut passing = Passing::default();
        assert!(!passing.wants_kept(), "as long as patterns come again");
        passing.begin();
        assert!(!passing.takes(1 << 20), "as long as more may be kept");
        let mut kept = Index::default();
        kept.push(7 << 48, |_| 0);
        assert!(passing.wants_kept());
        passing.kept_are(Arc::new(kept));
        assert!(!passing.wants_kept());
        passing
    }

    fn hashes(from: u64) -> impl Iterator<Item = u64> {
        (from..from + 400).map(|n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    #[test]
    fn what_comes_once_passes() {
        let mut passing = on();
        assert!(!passing.takes(7 << 48), "it is kept");
        assert_eq!(hashes(1).filter(|&h| passing.takes(h)).count(), 400);
        assert_eq!(passing.len(), 400);
        assert_eq!(hashes(391).filter(|&h| passing.takes(h)).count(), 390);
        assert_eq!(passing.len(), 780, "ten are not passing");
        assert!(!passing.clear());
        assert_eq!(passing.len(), 0);
        assert!(!passing.clear(), "nothing came again in a launch without accesses");
    }

    #[test]
    fn it_ends_where_launches_repeat() {
        let mut passing = on();
        for launch in 0..5 {
            assert_eq!(hashes(1 + 1000 * launch).filter(|&h| passing.takes(h)).count(), 400);
            assert!(!passing.clear());
        }
        assert_eq!(hashes(4001).filter(|&h| passing.takes(h)).count(), 400);
        assert!(passing.clear());
        assert!(!passing.takes(12345));
    }
}
