// SPDX-License-Identifier: MIT OR Apache-2.0
//! Numbers of any width, one after another: bits in words of memory, between which others can be put in.

const WORD: usize = u64::BITS as usize;

/// A list of bits.
#[derive(Clone, Debug, Default)]
pub struct Bits {
    words: Vec<u64>,
    len: usize,
}

/// The lowest bits, of which there are at most 64.
#[inline]
const fn lowest(bits: usize) -> u64 {
    if bits >= WORD { u64::MAX } else { (1 << bits) - 1 }
}

/// Where the one of this number is, from 0; there is to be one.
#[inline]
fn select(mut word: u64, mut number: usize) -> usize {
    let mut at = 0;
    for half in [32, 16, 8, 4, 2, 1] {
        let here = (word & lowest(half)).count_ones() as usize;
        if number >= here {
            number -= here;
            word >>= half;
            at += half;
        }
    }
    at
}

/// A word, or 0 if there is none.
#[inline]
fn word(words: &[u64], n: usize) -> u64 {
    words.get(n).copied().unwrap_or(0)
}

/// The number of so many bits, at most 64, of words from a bit on. What is behind the last is anything.
#[inline]
pub fn read(words: &[u64], at: usize, width: usize) -> u64 {
    let (n, bit) = (at / WORD, at % WORD);
    let from = match bit {
        0 => word(words, n),
        _ => word(words, n) >> bit | word(words, n + 1) << (WORD - bit),
    };
    from & lowest(width)
}

/// Puts a number in place of so many bits.
#[inline]
pub fn write(words: &mut [u64], at: usize, width: usize, value: u64) {
    debug_assert!(value & !lowest(width) == 0);
    let (n, bit) = (at / WORD, at % WORD);
    if width == 0 {
        return;
    }
    words[n] = words[n] & !(lowest(width) << bit) | value << bit;
    if bit + width > WORD {
        let done = WORD - bit;
        let high = &mut words[n + 1];
        *high = *high & !lowest(width - done) | value >> done;
    }
}

impl Bits {
    /// So many bits, all of them zero.
    pub fn zeros(len: usize) -> Bits {
        Bits { words: vec![0; len.div_ceil(WORD)], len }
    }

    pub fn len(&self) -> usize {
        self.len
    }

    /// Bits that there may be before memory is asked for.
    pub fn capacity(&self) -> usize {
        self.words.capacity() * WORD
    }

    /// Has room for so many more, and for no more than that if there was none.
    pub fn reserve(&mut self, bits: usize) {
        let words = (self.len + bits).div_ceil(WORD);
        self.words.reserve_exact(words - self.words.len());
    }

    /// The 64 bits from one on. What is behind the last is anything.
    #[inline]
    fn from(&self, at: usize) -> u64 {
        read(&self.words, at, WORD)
    }

    /// The number of so many bits, at most 64, from one on.
    #[inline]
    pub fn get(&self, at: usize, width: usize) -> u64 {
        debug_assert!(at + width <= self.len && width <= WORD);
        read(&self.words, at, width)
    }

    #[inline]
    pub fn set(&mut self, at: usize, width: usize, value: u64) {
        debug_assert!(at + width <= self.len);
        write(&mut self.words, at, width, value);
    }

    /// Puts in so many zeros.
    pub fn insert(&mut self, at: usize, width: usize) {
        debug_assert!(at <= self.len);
        if width == 0 {
            return;
        }
        self.len += width;
        self.words.resize(self.len.div_ceil(WORD), 0);
        let first = at + width;
        // From the last word on.
        for n in (first / WORD..self.words.len()).rev() {
            let to = n * WORD;
            let moved = match to.checked_sub(width) {
                Some(from) => self.from(from),
                None => word(&self.words, 0) << (width - to),
            };
            let kept = if to < first { lowest(first - to) } else { 0 };
            self.words[n] = self.words[n] & kept | moved & !kept;
        }
        let mut from = at;
        while from < first {
            let here = (WORD - from % WORD).min(first - from);
            self.set(from, here, 0);
            from += here;
        }
    }

    /// Where the one, or the zero, of this number is, from 0; `None` if there are not so many.
    pub fn find(&self, one: bool, mut number: usize) -> Option<usize> {
        let flip = if one { 0 } else { u64::MAX };
        for (n, word) in self.words.iter().enumerate() {
            let word = (word ^ flip) & lowest(self.len - n * WORD);
            let here = word.count_ones() as usize;
            if number < here {
                return Some(n * WORD + select(word, number));
            }
            number -= here;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sanitize::random::random;

    /// Whatever is done, it is what a list of bits has.
    #[test]
    fn bits_are_those_of_a_list() {
        let mut random = random(7);
        let mut next = |below: usize| random(below as u64) as usize;
        let (mut bits, mut list) = (Bits::default(), Vec::<bool>::new());
        for step in 0..20_000 {
            if list.len() > 3000 {
                (bits, list) = (Bits::zeros(100), vec![false; 100]);
            }
            let width = next(65);
            if next(3) > 0 && width <= list.len() {
                let at = next(list.len() - width + 1);
                let value = (next(1 << 31) as u64) << 33 | (next(1 << 31) as u64) << 8;
                let value = value & lowest(width);
                bits.set(at, width, value);
                (0..width).for_each(|n| list[at + n] = value >> n & 1 != 0);
                assert_eq!(bits.get(at, width), value);
            } else {
                let (at, width) = (next(list.len() + 1), next(150));
                bits.insert(at, width);
                list.splice(at..at, std::iter::repeat_n(false, width));
            }
            assert_eq!(bits.len(), list.len());
            if step % 64 == 0 {
                (0..list.len()).for_each(|n| assert_eq!(bits.get(n, 1) != 0, list[n], "{n}"));
                for one in [true, false] {
                    let places: Vec<usize> = (0..list.len()).filter(|n| list[*n] == one).collect();
                    let found = places.iter().enumerate();
                    assert!(found.clone().all(|(number, at)| bits.find(one, number) == Some(*at)));
                    assert_eq!(bits.find(one, places.len()), None);
                }
            }
        }
    }
}
