// SPDX-License-Identifier: MIT OR Apache-2.0
//! Lines of global memory that a block touches, and from which those of another that is like it follow.

use super::kind::Moves;
use crate::observe::MarkedLines;

/// Bytes of a line, and of its sectors.
const LINE: u64 = 128;
const SECTOR: u64 = 32;
/// Lines of a block that are kept, at most.
const MOST: usize = 1 << 17;

/// The lines whose addresses move alike.
pub struct Lines {
    pub moves: Moves,
    /// Lines by their numbers, and the sectors of each, a bit each.
    touched: Vec<(u64, u8)>,
    /// Of how many of them it is known that they are in order, and each there once.
    settled: usize,
    /// The upper halves of their numbers times the factor of a hash.
    hashes: Vec<u32>,
    /// Addresses of accesses of one sector each, that move by less than a line.
    points: Vec<u64>,
}

impl Lines {
    pub fn new(moves: Moves) -> Lines {
        Lines { moves, touched: Vec::new(), settled: 0, hashes: Vec::new(), points: Vec::new() }
    }

    /// Adds bytes from an address on.
    pub fn add(&mut self, address: u64, bytes: u32) {
        let (mut sector, last) =
            (address / SECTOR, address.saturating_add(u64::from(bytes.max(1)) - 1) / SECTOR);
        while sector <= last {
            let (line, own) = (sector * SECTOR / LINE, 1u8 << (sector % (LINE / SECTOR)));
            match self.touched.last_mut() {
                Some((of, sectors)) if *of == line => *sectors |= own,
                _ => self.touched.push((line, own)),
            }
            sector += 1;
        }
        if self.touched.len() > 2 * self.settled + (1 << 12) && self.touched.len() <= 2 * MOST {
            self.sort();
        }
    }

    /// Adds an access of one sector, which may move as it likes.
    pub fn add_point(&mut self, address: u64) {
        self.points.push(address);
    }

    fn sort(&mut self) {
        self.touched.sort_unstable();
        self.touched.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            if same {
                kept.1 |= next.1;
            }
            same
        });
        self.settled = self.touched.len();
    }

    /// Nothing more is added. Whether they are few enough.
    pub fn settle(&mut self) -> bool {
        self.sort();
        self.touched.shrink_to_fit();
        self.touched.len() <= MOST
    }

    /// Prepares for a hash.
    pub fn hash(&mut self, marks: MarkedLines) {
        let hash = |(line, _): &(u64, u8)| (line.wrapping_mul(marks.factor) >> 32) as u32;
        self.hashes = self.touched.iter().map(hash).collect();
    }

    /// Calls `each` on those of a block that are marked, whose addresses are `by` bytes from these: a multiple of a line's, where
    /// there are others than points.
    #[inline]
    pub fn marked(&self, marks: MarkedLines, by: i64, mut each: impl FnMut(u64, u8)) {
        for point in &self.points {
            let at = point.wrapping_add_signed(by);
            if marks.has(at / LINE) {
                each(at / LINE, 1 << (at / SECTOR % (LINE / SECTOR)));
            }
        }
        let by = (by / LINE as i64) as u64;
        let further = (by.wrapping_mul(marks.factor) >> 32) as u32;
        let bound = (marks.bound >> 32) as u32;
        const PART: usize = 64;
        for (n, part) in self.hashes.chunks(PART).enumerate() {
            // Mostly none is.
            if !any_below(part, further, bound) {
                continue;
            }
            for (line, sectors) in self.touched.iter().skip(n * PART).take(part.len()) {
                let line = line.wrapping_add(by);
                if marks.has(line) {
                    each(line, *sectors);
                }
            }
        }
    }
}

/// Whether any of these upper halves may be below a bound once that of another number is added: the lower halves, which are not
/// looked at, may bring one more.
#[inline]
fn any_below(numbers: &[u32], further: u32, bound: u32) -> bool {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has it.
        return unsafe { any_below_wide(numbers, further, bound) };
    }
    any(numbers, further, bound)
}

/// [`any_below`], compiled for wider vectors.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn any_below_wide(numbers: &[u32], further: u32, bound: u32) -> bool {
    any(numbers, further, bound)
}

#[inline(always)]
fn any(numbers: &[u32], further: u32, bound: u32) -> bool {
    let further = further.wrapping_add(1);
    numbers.iter().fold(false, |any, n| any | (n.wrapping_add(further) <= bound.saturating_add(1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_another_block_are_those_of_the_first_moved() {
        let marks = MarkedLines { factor: 0x9e37_79b9_7f4a_7c15, bound: (1 << 60) + 1 };
        let mut lines = Lines::new([0; 3]);
        let addresses = (0..300u64).map(|n| 4096 + n * n % 977 * 40);
        for address in addresses.clone() {
            lines.add(address, 8);
        }
        assert!(lines.settle());
        lines.hash(marks);
        for by in [0, 256, -512, 1 << 20] {
            let mut found = Vec::new();
            lines.marked(marks, by, |line, sectors| found.push((line, sectors)));
            let mut all = std::collections::BTreeMap::new();
            for at in addresses.clone().flat_map(|a| [a, a + 7]) {
                let at = at.wrapping_add_signed(by);
                *all.entry(at / LINE).or_insert(0u8) |= 1 << (at / SECTOR % 4);
            }
            all.retain(|line, _| marks.has(*line));
            assert!(!all.is_empty());
            assert_eq!(found, all.into_iter().collect::<Vec<_>>(), "{by}");
        }
    }
}
