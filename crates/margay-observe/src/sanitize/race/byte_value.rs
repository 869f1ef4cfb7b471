// SPDX-License-Identifier: MIT OR Apache-2.0
//! What was written to a byte in 8 bits, in place of the 16 of [`Mark::value`]: stores of single bytes have 256 values.
//!
//! Whether a value is known at all has no room there; a mark that has a code of a value says so in place of it ([`KNOWN`]).

use super::look::hash;
use super::page::BYTES;
use super::shadow::Mark;

/// In place of a value that is kept as a code, and of one that is no byte's.
const KNOWN: u16 = 1;
const WIDE: u16 = 2;

/// Hashes of bytes lie so far apart that no two of them are alike but for so many lowest bits.
const NEAR: u32 = 6;

const fn hashes() -> [u16; 256] {
    let (mut all, mut byte) = ([0; 256], 0);
    while byte < 256 {
        all[byte] = hash(byte as u64);
        byte += 1;
    }
    all
}

const HASHES: [u16; 256] = hashes();

const fn codes() -> [u8; 1 << (16 - NEAR)] {
    let (mut all, mut byte) = ([0; 1 << (16 - NEAR)], 0);
    while byte < 256 {
        all[(HASHES[byte] >> NEAR) as usize] = byte as u8;
        byte += 1;
    }
    all
}

const CODES: [u8; 1 << (16 - NEAR)] = codes();

/// The mark with [`KNOWN`] or nothing in place of its value, and the value's code; `None` if it is not that of a byte.
#[inline]
pub fn split(mark: Mark) -> Option<(Mark, u8)> {
    let value = mark.value();
    if value == 0 {
        return Some((mark, 0));
    }
    let code = CODES[usize::from(value >> NEAR)];
    (HASHES[usize::from(code)] == value).then(|| (mark.with_value(KNOWN), code))
}

/// What [`split`] made two of.
#[inline]
pub fn joined(mark: Mark, code: u8) -> Mark {
    if mark.value() == 0 { mark } else { mark.with_value(HASHES[usize::from(code)]) }
}

/// The values of the bytes of a line.
#[derive(Clone, Debug)]
pub struct Values {
    codes: [u8; BYTES],
    /// Of values of more than a byte; none at all before there is one.
    high: Option<Box<[u8; BYTES]>>,
}

impl Default for Values {
    fn default() -> Values {
        Values { codes: [0; BYTES], high: None }
    }
}

impl Values {
    /// What is to be kept of a mark beside its value.
    pub fn bare(mark: Mark) -> Mark {
        split(mark).map_or_else(|| mark.with_value(WIDE), |(bare, _)| bare)
    }

    /// Keeps the value of a mark.
    pub fn put(&mut self, n: usize, mark: Mark) {
        match split(mark) {
            Some((_, code)) => self.codes[n] = code,
            None => {
                let [low, high] = mark.value().to_le_bytes();
                self.codes[n] = low;
                self.high.get_or_insert_with(|| Box::new([0; BYTES]))[n] = high;
            }
        }
    }

    /// The mark of which [`Values::bare`] was kept.
    pub fn mark(&self, n: usize, bare: Mark) -> Mark {
        match (bare.value(), &self.high) {
            (WIDE, Some(high)) => bare.with_value(u16::from_le_bytes([self.codes[n], high[n]])),
            _ => joined(bare, self.codes[n]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::order::Thread;
    use super::super::shadow::Kind;
    use super::*;

    #[test]
    fn each_byte_has_a_code() {
        let mark = Mark::new(Thread { block: 3, warp: 1, lane: 9 }, 5, 7, Kind::Write, None);
        for byte in 0..256 {
            let own = mark.with_value(hash(byte));
            let (bare, code) = split(own).unwrap();
            assert_eq!((u64::from(code), bare.value(), joined(bare, code)), (byte, KNOWN, own));
        }
        assert_eq!(split(mark), Some((mark, 0)));
        assert_eq!(joined(mark, 0), mark);
        let others = (1..=u16::MAX).filter(|&value| split(mark.with_value(value)).is_none());
        assert_eq!(others.count(), (1 << 16) - 1 - 256);
        let mut values = Values::default();
        for value in 0..=u16::MAX {
            let (n, own) = (usize::from(value) % BYTES, mark.with_value(value));
            values.put(n, own);
            assert!(Values::bare(own).value() <= WIDE);
            assert_eq!(values.mark(n, Values::bare(own)), own);
        }
    }
}
