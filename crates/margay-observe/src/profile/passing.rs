// SPDX-License-Identifier: MIT OR Apache-2.0
//! Patterns of a site that mostly come once and never again: of such only a number is kept.
//!
//! That is for sites of which as many patterns are kept, of all launches, as are kept at all: what another one costs goes to
//! the sums, whenever that is found. What is counted does not depend on it.

use std::sync::Arc;

use super::patterns::{Index, fetch};

/// Numbers of a launch that the next one is asked for.
const SAMPLES: usize = 8;
/// Places at the start, twice as many as there are numbers at least. Most sites meet few patterns in a launch, and what each of
/// them touches is to stay in the processor's cache.
const PLACES: usize = 32;
/// Marks of patterns that are not kept of all launches, before they are made anew.
const MOST_MARKED: u16 = 128;

/// The patterns of a site that came in a launch without being kept. In this order all but the marks is in the line of the
/// processor's cache that [`super::patterns::Patterns`] has it begin in.
#[derive(Default)]
#[repr(C)]
pub struct Passing {
    on: bool,
    /// Most patterns of the launch before were new.
    wanted: bool,
    /// How many hashes there are: those of patterns that came again, and so are kept after all, are among them.
    hashes: u16,
    /// How many patterns came that are not kept.
    len: u32,
    /// Patterns that are kept of all launches, if they are all that ever will.
    kept: Option<Arc<Index>>,
    /// Hashes by their lower bits; 0 is empty.
    places: Vec<u64>,
    /// A bit for each pattern that is kept or known, by the upper bits of their hashes: of what is neither most is told by that.
    marks: Marks,
    /// Marks of patterns that are known, and perhaps not kept.
    marked: u16,
    /// Some hashes of the launch before.
    samples: Vec<u64>,
}

/// What became of a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// It passes.
    Passing,
    /// It is kept of all launches, most likely as the one of this number.
    Kept(u16),
    /// It is to be kept.
    Not,
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

    fn set(&mut self, hash: u64) {
        let (word, bit) = Marks::place(hash);
        self.0[word] |= 1 << bit;
    }

    /// Of these patterns.
    fn of(kept: &Index) -> Marks {
        let mut marks = Marks::default();
        kept.halves().for_each(|half| marks.set(u64::from(half) << 48));
        marks
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
        (self.places.capacity() + self.samples.capacity()) * size_of::<u64>()
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
        (self.marks, self.marked) = (Marks::of(&kept), 0);
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
        let came = self.places.iter().copied().filter(|&hash| hash != 0);
        self.samples.clear();
        self.samples.extend(came.take(SAMPLES));
        self.places.fill(0);
        (self.hashes, self.len) = (0, 0);
        if ends {
            self.samples.clear();
            self.on = false;
        }
        ends
    }

    /// The patterns that were known are not any more: only those that are kept.
    pub fn forget(&mut self) {
        if self.marked > MOST_MARKED
            && let Some(kept) = &self.kept
        {
            (self.marks, self.marked) = (Marks::of(kept), 0);
        }
    }

    /// A pattern is known from now on.
    pub fn knows(&mut self, hash: u64) {
        if self.on && !self.marks.has(hash) {
            self.marks.set(hash);
            self.marked = self.marked.saturating_add(1);
        }
    }

    /// Whether a pattern can neither be kept nor known, as far as this tells while patterns pass.
    #[inline(always)]
    pub fn is_unknown(&self, hash: u64) -> bool {
        self.on && !self.marks.has(hash)
    }

    /// Whether a pattern that is not known is not worth keeping. One that comes again is.
    #[inline(always)]
    pub fn takes(&mut self, hash: u64) -> Taken {
        if self.on { self.take(hash) } else { Taken::Not }
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
    fn take(&mut self, hash: u64) -> Taken {
        let number_of = |kept: &Arc<Index>| kept.find(hash, |_| true);
        if self.marks.has(hash)
            && let Some(number) = self.kept.as_ref().and_then(number_of)
        {
            return Taken::Kept(number as u16);
        }
        if 2 * usize::from(self.hashes) >= self.places.len() {
            self.grow();
        }
        let hash = hash | 1;
        let at = self.place(hash);
        if self.places[at] == hash {
            self.len -= 1;
            return Taken::Not;
        }
        self.places[at] = hash;
        self.hashes += 1;
        self.len += 1;
        Taken::Passing
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
        let more = vec![0; (4 * usize::from(self.hashes)).next_power_of_two().max(PLACES)];
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
        assert_eq!(passing.takes(1 << 20), Taken::Not, "as long as more may be kept");
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
        assert_eq!(passing.takes(7 << 48), Taken::Kept(0));
        assert_eq!(hashes(1).filter(|&h| passing.takes(h) == Taken::Passing).count(), 400);
        assert_eq!(passing.len(), 400);
        assert_eq!(hashes(391).filter(|&h| passing.takes(h) == Taken::Passing).count(), 390);
        assert_eq!(passing.len(), 780, "ten are not passing");
        assert!(!passing.clear());
        assert_eq!(passing.len(), 0);
        assert!(!passing.clear(), "nothing came again in a launch without accesses");
    }

    #[test]
    fn it_ends_where_launches_repeat() {
        let mut passing = on();
        for launch in 0..5 {
            assert_eq!(
                hashes(1 + 1000 * launch).filter(|&h| passing.takes(h) == Taken::Passing).count(),
                400
            );
            assert!(!passing.clear());
        }
        assert_eq!(hashes(4001).filter(|&h| passing.takes(h) == Taken::Passing).count(), 400);
        assert!(passing.clear());
        assert_eq!(passing.takes(12345), Taken::Not);
    }
}
