// SPDX-License-Identifier: MIT OR Apache-2.0
//! Words that threads synchronise by and of which it is not kept any more what was released, as that takes too much: whoever
//! reads one counts as coming after all that was done up to then. So a race may be missed, and nobody is accused who should
//! not be.

use super::order::Tick;

/// Bits for each word, at first, and how many words' bits may be set before any word counts as one of them.
const BITS: usize = 8;
const MOST: usize = 2;
/// Words that there is room for at least, and at most: so that all take little of what words may.
const FEW: usize = 128;
const MANY: usize = 1 << 14;

/// Which words those are.
#[derive(Debug)]
enum Words {
    /// A bit for each by hash, of a power of two, and for how many. Others may have the same.
    Some(Box<[u64]>, usize),
    Any,
}

impl Default for Words {
    fn default() -> Words {
        Words::Some(Box::default(), 0)
    }
}

/// Some words, each by an owner and an address, and up to when anything may have been released by them.
#[derive(Debug, Default)]
pub struct Passed {
    up_to: Tick,
    words: Words,
}

/// The number of a word's bit, of a power of two.
fn bit((owner, at): (u32, u64), bits: usize) -> usize {
    let both = at.rotate_left(24) ^ u64::from(owner);
    // The upper bits of the product depend on all of the address.
    (both.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - bits.trailing_zeros())) as usize
}

impl Passed {
    /// So many more, and all that were before, up to now.
    pub fn add(&mut self, more: impl Iterator<Item = (u32, u64)>, count: usize, now: Tick) {
        self.up_to = now;
        let Words::Some(set, all) = &mut self.words else { return };
        if set.is_empty() {
            let bits = (BITS * count.clamp(FEW, MANY)).next_power_of_two();
            *set = vec![0; bits / 64].into();
        }
        *all += count;
        let bits = 64 * set.len();
        if *all * MOST > bits {
            self.words = Words::Any;
            return;
        }
        for word in more {
            let n = bit(word, bits);
            set[n / 64] |= 1 << (n % 64);
        }
    }

    /// Up to when anything may have been released by a word; `None` if that is kept.
    #[inline]
    pub fn up_to(&self, word: (u32, u64)) -> Option<Tick> {
        let has = match &self.words {
            Words::Some(set, _) if set.is_empty() => false,
            Words::Some(set, _) => {
                let n = bit(word, 64 * set.len());
                set[n / 64] >> (n % 64) & 1 != 0
            }
            Words::Any => true,
        };
        has.then_some(self.up_to)
    }

    /// Bytes that it takes beside itself.
    pub fn beside(&self) -> u64 {
        match &self.words {
            Words::Some(set, _) => 8 * set.len() as u64,
            Words::Any => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_are_passed_over_are_known_and_hardly_others() {
        let mut passed = Passed::default();
        let word = |n: u64| (7, 0x7f00_0000_0000 + 4 * n);
        assert_eq!(passed.up_to(word(0)), None);
        passed.add((0..1000).map(word), 1000, 50);
        assert!((0..1000).all(|n| passed.up_to(word(n)) == Some(50)));
        let others = |passed: &Passed| {
            let all = (1000..11_000).map(word).chain((0..10_000).map(|n| (8, word(n).1)));
            all.filter(|word| passed.up_to(*word).is_some()).count()
        };
        let few = others(&passed);
        assert!(few < 20_000 / 6, "{few}");
        assert!(passed.beside() <= 2 * 1000);
        // Where they are many it is any.
        passed.add((0..100).map(word), 100, 60);
        assert_eq!((passed.up_to(word(999)), others(&passed)), (Some(60), few));
        passed.add((2000..10_000).map(word), 8000, 70);
        assert_eq!((passed.up_to((1, 0)), passed.beside()), (Some(70), 0));
        // So it is at once, if they are very many.
        let mut passed = Passed::default();
        passed.add((0..1 << 17).map(word), 1 << 17, 80);
        assert_eq!((passed.up_to((1, 0)), passed.beside()), (Some(80), 0));
    }
}
