// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which bytes have been written: a bit each.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use margay_exec::mem::{AllocKind, AllocationInfo};
use margay_exec::reach::Written;
use parking_lot::RwLock;

/// Holes that are told of a range, and which part of it they are at most.
const MOST_HOLES: usize = 64;
const HOLES_PART: u64 = 16;

/// Bytes of a range, a bit each: 1 is "never written". Changed by several threads at once.
#[derive(Debug)]
pub struct Bits {
    words: Vec<AtomicU64>,
    bytes: u64,
    /// How often a bit may have been set again.
    undone: AtomicU64,
    /// What that number was when all bytes were last found written.
    whole: AtomicU64,
    /// Where a word was last found that is not written.
    hole: AtomicUsize,
}

impl Bits {
    /// `bytes` bytes, none of them written.
    pub fn unwritten(bytes: u64) -> Bits {
        let words = (0..bytes.div_ceil(64)).map(|_| AtomicU64::new(u64::MAX)).collect();
        let (undone, whole) = (AtomicU64::new(0), AtomicU64::new(u64::MAX));
        Bits { words, bytes, undone, whole, hole: AtomicUsize::new(0) }
    }

    /// None of the bytes is written.
    pub fn forget(&mut self) {
        self.words.iter_mut().for_each(|word| *word.get_mut() = u64::MAX);
        *self.undone.get_mut() += 1;
    }

    /// Bytes of the range.
    pub fn size(&self) -> u64 {
        self.bytes
    }

    /// Whether all bytes are known to be written, as they stay but for [`Bits::put`].
    #[inline]
    pub fn is_whole(&self) -> bool {
        self.whole.load(Ordering::Acquire) == self.undone.load(Ordering::Acquire)
    }

    /// Looks whether all bytes are written.
    pub fn look(&self) -> bool {
        if !self.is_whole() {
            let undone = self.undone.load(Ordering::Acquire);
            // Most often it is where it was: each launch may ask.
            let known = self.hole.load(Ordering::Relaxed) as u64 * 64;
            if !self.is_written(known, 64) {
                return false;
            }
            match self.words(0, self.bytes).position(|(w, m)| w.load(Ordering::Relaxed) & m != 0) {
                None => self.whole.store(undone, Ordering::Release),
                Some(word) => self.hole.store(word, Ordering::Relaxed),
            }
        }
        self.is_whole()
    }

    /// Where bytes were never written. False if that is much of the range, or in many places.
    pub fn holes(&self, holes: &mut Vec<Range<u64>>) -> bool {
        let (mut left, most) = (self.bytes / HOLES_PART, holes.len() + MOST_HOLES);
        for (n, word) in self.words.iter().enumerate() {
            let start = n as u64 * 64;
            let there = u64::MAX >> (64 - (self.bytes - start).min(64));
            let mut unwritten = word.load(Ordering::Relaxed) & there;
            match left.checked_sub(u64::from(unwritten.count_ones())) {
                Some(less) => left = less,
                None => return false,
            }
            while unwritten != 0 {
                let from = unwritten.trailing_zeros();
                let count = (unwritten >> from).trailing_ones();
                unwritten &= !(u64::MAX >> (64 - count) << from);
                let from = start + u64::from(from);
                let full = holes.len() == most;
                match holes.last_mut() {
                    Some(last) if last.end == from => last.end += u64::from(count),
                    Some(_) | None if full => return false,
                    Some(_) | None => holes.push(from..from + u64::from(count)),
                }
            }
        }
        true
    }

    /// Calls `each` on the bytes of `at..at + bytes` that were never written, a range for those that lie together.
    pub fn never_written(&self, at: u64, bytes: u64, mut each: impl FnMut(Range<u64>)) {
        let mut last: Option<Range<u64>> = None;
        let mut start = at;
        for (word, mask) in self.words(at, at.saturating_add(bytes).min(self.bytes)) {
            let mut unwritten = word.load(Ordering::Relaxed) & mask;
            let first = start / 64 * 64;
            start = first + 64;
            while unwritten != 0 {
                let from = unwritten.trailing_zeros();
                let count = (unwritten >> from).trailing_ones();
                unwritten &= !(u64::MAX >> (64 - count) << from);
                let from = first + u64::from(from);
                match &mut last {
                    Some(last) if last.end == from => last.end += u64::from(count),
                    last => {
                        last.replace(from..from + u64::from(count)).into_iter().for_each(&mut each);
                    }
                }
            }
        }
        last.into_iter().for_each(each);
    }

    /// Bits of up to eight bytes from `at`: bit n is set if byte n was never written. Bytes beyond
    /// the range count as written.
    pub fn get(&self, at: u64, bytes: u32) -> u8 {
        let wanted = (((1u32 << bytes.min(8)) - 1) & 0xff) as u8;
        let left = self.bytes.saturating_sub(at).min(8);
        let wanted = wanted & (((1u32 << left) - 1) & 0xff) as u8;
        let (word, bit) = ((at / 64) as usize, at % 64);
        let Some(low) = self.words.get(word) else { return 0 };
        let mut found = low.load(Ordering::Relaxed) >> bit;
        if bit > 56
            && let Some(high) = self.words.get(word + 1)
        {
            found |= high.load(Ordering::Relaxed) << (64 - bit);
        }
        found as u8 & wanted
    }

    /// Sets the bits of up to eight bytes from `at`.
    pub fn put(&self, at: u64, bytes: u32, unwritten: u8) {
        let bytes = bytes.min(8);
        if unwritten == 0 {
            return self.write(at, bytes.into());
        }
        for n in 0..u64::from(bytes) {
            let (byte, set) = (at + n, unwritten >> n & 1 != 0);
            let Some(word) = self.words.get((byte / 64) as usize) else { return };
            let bit = 1 << (byte % 64);
            match set {
                true => word.fetch_or(bit, Ordering::Relaxed),
                false => word.fetch_and(!bit, Ordering::Relaxed),
            };
        }
        self.undone.fetch_add(1, Ordering::AcqRel);
    }

    /// The words that `at..end` touches, each with the mask of its bytes.
    fn words(&self, at: u64, end: u64) -> impl Iterator<Item = (&AtomicU64, u64)> {
        let mut at = at;
        std::iter::from_fn(move || {
            if at >= end {
                return None;
            }
            let word = self.words.get((at / 64) as usize)?;
            let bits = (end - at).min(64 - at % 64);
            let mask = (u64::MAX >> (64 - bits)) << (at % 64);
            at += bits;
            Some((word, mask))
        })
    }

    /// Whether all bytes of `at..at + bytes` were written; those beyond the range count as written.
    pub fn is_written(&self, at: u64, bytes: u64) -> bool {
        let end = at.saturating_add(bytes).min(self.bytes);
        self.words(at, end).all(|(word, mask)| word.load(Ordering::Relaxed) & mask == 0)
    }

    /// The word that has the bits of `at..at + bytes`, and their mask in it, if one has them all.
    #[inline]
    fn word(&self, at: u64, bytes: u64) -> Option<(&AtomicU64, u64)> {
        let bit = at % 64;
        let one = bytes > 0 && bit + bytes <= 64 && at + bytes <= self.bytes;
        let word = self.words.get((at / 64) as usize).filter(|_| one)?;
        Some((word, u64::MAX >> (64 - bytes) << bit))
    }

    /// Whether each lane of the mask has at its address, less `base`, what is aligned and was surely written. Most often it
    /// is so, and this is a look without branches.
    #[inline]
    fn are_surely_written(&self, addresses: &[u64; 32], mask: u32, base: u64, bytes: u64) -> bool {
        if !bytes.is_power_of_two() || bytes > 64 {
            return false;
        }
        let (mut odd, mut missing) = (0, 0);
        let mut look = |lane: usize| {
            let at = addresses[lane].wrapping_sub(base);
            odd |= at;
            // What lies beyond the range is looked at otherwise.
            let word = self.words.get((at / 64) as usize);
            missing |= word.map_or(u64::MAX, |word| word.load(Ordering::Relaxed)) >> (at % 64);
        };
        match mask {
            u32::MAX => (0..32).for_each(&mut look),
            _ => {
                let mut left = mask;
                while left != 0 {
                    look(left.trailing_zeros() as usize);
                    left &= left - 1;
                }
            }
        }
        odd & (bytes - 1) == 0 && missing & (u64::MAX >> (64 - bytes)) == 0
    }

    /// Whether what each lane of the mask has at its address, less `base`, was written.
    pub fn are_written(&self, addresses: &[u64; 32], mask: u32, base: u64, bytes: u64) -> bool {
        if self.are_surely_written(addresses, mask, base, bytes) {
            return true;
        }
        let (mut left, mut missing) = (mask, 0);
        while left != 0 {
            let at = addresses[left.trailing_zeros() as usize] - base;
            left &= left - 1;
            missing |= match self.word(at, bytes) {
                Some((word, mask)) => word.load(Ordering::Relaxed) & mask,
                None => u64::from(!self.is_written(at, bytes)),
            };
        }
        missing == 0
    }

    /// What each lane of the mask has at its address, less `base`, is written.
    pub fn write_each(&self, addresses: &[u64; 32], mask: u32, base: u64, bytes: u64) {
        if self.are_surely_written(addresses, mask, base, bytes) {
            return;
        }
        let mut left = mask;
        while left != 0 {
            let at = addresses[left.trailing_zeros() as usize] - base;
            left &= left - 1;
            match self.word(at, bytes) {
                Some((word, mask)) if word.load(Ordering::Relaxed) & mask == 0 => {}
                _ => self.write(at, bytes),
            }
        }
    }

    /// All bytes of `at..at + bytes` are written.
    pub fn write(&self, at: u64, bytes: u64) {
        let end = at.saturating_add(bytes).min(self.bytes);
        for (word, mask) in self.words(at, end) {
            // Most often it was written before, and reading is cheaper.
            if word.load(Ordering::Relaxed) & mask != 0 {
                word.fetch_and(!mask, Ordering::Relaxed);
            }
        }
    }
}

/// Memory that API calls allocate and nothing fills. What the host can write by itself (managed and
/// pinned memory) counts as written, as does everything that is not here.
#[derive(Default)]
pub struct Globals {
    ranges: RwLock<BTreeMap<u64, (u64, Arc<Bits>)>>,
}

impl Globals {
    pub fn allocated(&self, allocation: &AllocationInfo) {
        let unwritten = match allocation.kind {
            AllocKind::Device => allocation.label.starts_with("cu"),
            AllocKind::Buffer => true,
            // Another process may have written there.
            AllocKind::Mapped | AllocKind::MappedReadOnly => false,
            AllocKind::Managed
            | AllocKind::HostPinned
            | AllocKind::HostRegistered
            | AllocKind::Constant
            | AllocKind::Param
            | AllocKind::Heap => false,
        };
        if unwritten {
            let bits = Arc::new(Bits::unwritten(allocation.size));
            self.ranges.write().insert(allocation.base, (allocation.size, bits));
        }
    }

    pub fn freed(&self, base: u64) {
        self.ranges.write().remove(&base);
    }

    /// The range that an address is in, and where it starts.
    pub fn find(&self, address: u64) -> Option<(u64, Arc<Bits>)> {
        let ranges = self.ranges.read();
        let (&base, (size, bits)) = ranges.range(..=address).next_back()?;
        (address - base < *size).then(|| (base, bits.clone()))
    }

    /// The memory round an address that is not watched.
    pub fn gap(&self, address: u64) -> Range<u64> {
        let ranges = self.ranges.read();
        let before = ranges.range(..=address).next_back();
        let after = ranges.range(address..).next();
        before.map_or(0, |(base, (size, _))| base + size)..after.map_or(u64::MAX, |(&base, _)| base)
    }

    /// Whether all that is watched of this memory is written.
    pub fn are_written(&self, memory: &Range<u64>) -> bool {
        let ranges = self.ranges.read();
        let before = ranges.range(..memory.end).rev();
        let mut inside = before.take_while(|(base, (size, _))| *base + *size > memory.start);
        inside.all(|(_, (_, bits))| bits.look())
    }

    /// What is not watched may have written any of this.
    pub fn may_be_written(&self, memory: &Written) {
        for (&base, (size, bits)) in &*self.ranges.read() {
            if memory.touches(&(base..base + *size)) {
                bits.write(0, *size);
            }
        }
    }

    /// A call wrote `bytes` bytes, copied from `from` if that is the device's own memory.
    pub fn copied(&self, to: u64, from: Option<u64>, bytes: u64) {
        let Some((base, bits)) = self.find(to) else { return };
        match from.and_then(|from| Some((from, self.find(from)?))) {
            Some((from, (source, other))) => {
                let mut done = 0;
                while done < bytes {
                    let part = (bytes - done).min(8) as u32;
                    bits.put(to - base + done, part, other.get(from - source + done, part));
                    done += u64::from(part);
                }
            }
            None => bits.write(to - base, bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sanitize::random::random;

    #[test]
    fn bits_cross_words_and_end_with_the_range() {
        let bits = Bits::unwritten(70);
        assert_eq!(bits.get(60, 8), 0xff);
        bits.put(60, 8, 0b1010_0000);
        assert_eq!(bits.get(60, 8), 0b1010_0000);
        assert_eq!(bits.get(66, 8), 0x0f & bits.get(66, 4));
        assert_eq!(bits.get(68, 8), 0b11);
        assert!(!bits.look());
        bits.write(0, 70);
        assert!(!bits.is_whole() && bits.look() && bits.is_whole());
        bits.put(9, 2, 0b10);
        assert!(!bits.is_whole() && !bits.look());
        bits.write(10, 1);
        assert!(bits.look());
        assert_eq!(bits.get(60, 8), 0);
        assert_eq!(bits.get(1000, 8), 0);
    }

    /// Bytes of a range that are unwritten, as a list says.
    fn unwritten(bits: &Bits) -> Vec<u64> {
        (0..bits.size()).filter(|&at| bits.get(at, 1) != 0).collect()
    }

    #[test]
    fn what_was_never_written_of_a_part_is_told() {
        let mut next = random(11);
        for _ in 0..500 {
            let size = 1 + next(400);
            let bits = Bits::unwritten(size);
            for _ in 0..next(20) {
                bits.write(next(size), next(60));
            }
            let (at, bytes) = (next(size), next(500));
            let mut ranges: Vec<Range<u64>> = Vec::new();
            bits.never_written(at, bytes, |range| ranges.push(range));
            assert!(ranges.windows(2).all(|two| two[0].end < two[1].start), "{ranges:?}");
            let told: Vec<u64> = ranges.into_iter().flatten().collect();
            let part = at..at + bytes;
            let known: Vec<u64> =
                unwritten(&bits).into_iter().filter(|n| part.contains(n)).collect();
            assert_eq!(told, known, "{part:?} of {size}");
        }
    }

    #[test]
    fn holes_are_what_was_never_written() {
        let mut next = random(7);
        let (mut told, mut refused) = (0, 0);
        for _ in 0..2000 {
            let size = 1 + next(5000);
            let bits = Bits::unwritten(size);
            bits.write(0, size);
            for _ in 0..next(90) {
                let at = next(size);
                let bytes = (1 + next(8)).min(size - at);
                bits.put(at, bytes as u32, next(256) as u8);
            }
            // What is there already is another's.
            let other = 0..1;
            let mut holes = vec![other];
            let known = unwritten(&bits);
            match bits.holes(&mut holes) {
                true => {
                    let all: Vec<u64> = holes.into_iter().flatten().collect();
                    // A hole at byte 1 goes on with the one that was there.
                    assert_eq!(all[1..], known);
                    told += u32::from(!known.is_empty());
                }
                false => {
                    let ranges = known.chunk_by(|a, b| a + 1 == *b).count();
                    let few = ranges <= MOST_HOLES && known.len() as u64 <= size / HOLES_PART;
                    assert!(!few, "{ranges} ranges, {} of {size} bytes", known.len());
                    refused += 1;
                }
            }
        }
        assert!(told > 200 && refused > 200, "{told} {refused}");
    }

    /// However lanes lie, all at once are as one after the other.
    #[test]
    fn lanes_are_looked_at_as_one_by_one() {
        let mut next = random(7);
        let mut count = [0; 2];
        for _ in 0..4000 {
            let size = 64 + next(1000);
            let (bits, base) = (Bits::unwritten(size), next(1 << 20) * 64);
            bits.write(0, size);
            if next(2) == 0 {
                bits.put(next(size), 1, 1);
            }
            let bytes = [1, 2, 4, 8, 12, 16][next(6) as usize];
            let mask = if next(2) == 0 { u32::MAX } else { next(1 << 32) as u32 };
            let step = if next(4) == 0 { 1 } else { bytes };
            let addresses: [u64; 32] = std::array::from_fn(|lane| match mask >> lane & 1 {
                // Lanes that are not there have any.
                0 => next(1 << 40),
                _ => base + next((size - bytes) / step) * step,
            });
            let lanes = || (0..32).filter(|lane| mask >> lane & 1 != 0);
            let is_written = |lane: usize| {
                let at = addresses[lane] - base;
                (at..at + bytes).all(|byte| bits.get(byte, 1) == 0)
            };
            let written = lanes().all(is_written);
            assert_eq!(bits.are_written(&addresses, mask, base, bytes), written);
            let surely = bits.are_surely_written(&addresses, mask, base, bytes);
            assert!(written || !surely);
            count[usize::from(surely)] += 1;
            bits.write_each(&addresses, mask, base, bytes);
            assert!(lanes().all(is_written));
        }
        assert!(count.iter().all(|&n| n > 400), "{count:?}");
    }

    #[test]
    fn what_is_not_there_is_not_surely_written() {
        let bits = Bits::unwritten(64);
        bits.write(0, 64);
        let mut at = [0; 32];
        assert!(bits.are_surely_written(&at, u32::MAX, 0, 4));
        for odd in [62, 64, u64::MAX - 3] {
            at[7] = odd;
            assert!(!bits.are_surely_written(&at, u32::MAX, 0, 4), "{odd}");
            assert!(bits.are_surely_written(&at, !(1 << 7), 0, 4), "{odd}");
        }
    }
}
