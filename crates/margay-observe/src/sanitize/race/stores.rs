// SPDX-License-Identifier: MIT OR Apache-2.0
//! The shortest way of stores that lanes of a warp scatter over words: nearly every word is nobody's, or was left by what
//! surely came before, and the lanes' marks have one number in the page's table.
//!
//! Invariant: words end as [`Page::cells`] with [`Quick::visit`] would leave them, in the lanes' order.

use super::few::WHOLE;
use super::look::lanes_of;
use super::page::{LINE, Line, Page};
use super::quick::Quick;
use super::shadow::{Mark, PAGE};

/// What lanes store, and where.
pub struct Stores<'e> {
    pub addresses: &'e [u64; 32],
    /// Of each lane.
    pub bytes: u32,
    /// Hashes of what each stores.
    pub values: Option<&'e [u16; 32]>,
    /// Of lane 0; without a value.
    pub mark: Mark,
}

impl Page {
    /// Goes through these lanes' stores, up to the first that is not to be looked at here. Returns it, and those after it.
    #[inline]
    pub fn store_words(&mut self, lanes: u32, stores: &Stores<'_>, quick: &Quick) -> u32 {
        let &Stores { addresses, bytes, values, mark } = stores;
        let (mut left, mut number) = (lanes, None);
        // Aligned, these lie in one line.
        if !matches!(bytes, 4 | 8 | 16) {
            return left;
        }
        while left != 0 {
            let lane = left.trailing_zeros();
            let at = addresses[lane as usize] % PAGE;
            if at & u64::from(bytes - 1) != 0 {
                return left;
            }
            let (line, first) = ((at / LINE) as usize, (at % LINE / 4) as usize);
            let Some(Line::Words(words, WHOLE)) = self.lines.get_mut(line) else {
                if !self.gets_words(line, left, stores) {
                    return left;
                }
                // Marks may have other numbers now.
                number = None;
                continue;
            };
            let own = mark.of_lane(lane as u8);
            let words_here = first..first + bytes as usize / 4;
            let passes = |word: usize| {
                let (write, read) = words.both(word);
                let before = |packed| quick.is_before(self.marks.mark(packed), own);
                write | read == 0 || before(write) && before(read)
            };
            if !words_here.clone().all(passes) {
                return left;
            }
            let Some(number) = number.or_else(|| self.marks.pack(mark.of_lane(0), 0)) else {
                return left;
            };
            let value = values.map_or(0, |values| values[lane as usize]);
            for word in words_here {
                words.written(word, number | lane as u16, value);
            }
            left &= left - 1;
        }
        left
    }

    /// Gives a line cells in a row if the first of these lanes and those that follow it there store to more of its words than
    /// the list takes, where the line would end so. Whether it has.
    fn gets_words(&mut self, line: usize, lanes: u32, stores: &Stores<'_>) -> bool {
        if !matches!(self.lines.get(line), Some(Line::Few) | None) {
            return false;
        }
        let (mut words, mut here) = (0u32, None);
        for lane in lanes_of(lanes) {
            let address = stores.addresses[lane];
            if *here.get_or_insert(address / LINE) != address / LINE {
                break;
            }
            words |= ((1 << (stores.bytes / 4)) - 1) << (address % LINE / 4);
        }
        if words.count_ones() as usize <= self.few.most_words() {
            return false;
        }
        self.fill();
        self.divide(line, WHOLE);
        matches!(self.lines.get(line), Some(Line::Words(_, WHOLE)))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::ledger::Ledger;
    use super::super::order::Thread;
    use super::super::quick::Way;
    use super::super::shadow::{Cell, Kind};
    use super::super::stamped::Learns;
    use super::*;
    use crate::sanitize::random::random;

    /// Goes through a lane's store cell by cell; what no short way leads to is told, and ends as some long way leaves it.
    fn by_cells(
        page: &mut Page,
        lane: usize,
        stores: &Stores<'_>,
        quick: &mut Quick,
        long: &mut Vec<(usize, Cell)>,
    ) {
        let mut mark = stores.mark.of_lane(lane as u8);
        if let Some(values) = stores.values {
            mark = mark.with_value(values[lane]);
        }
        let at = stores.addresses[lane] % PAGE;
        page.cells(at, u64::from(stores.bytes).min(PAGE - at), |cell| {
            if quick.visit(cell, mark) == Way::Long {
                long.push((lane, *cell));
                cell.write = mark;
            }
        });
    }

    /// What lanes of a warp may do.
    fn addresses(next: &mut impl FnMut(u64) -> u64, bytes: u64) -> [u64; 32] {
        let (form, base) = (next(8), next(PAGE / bytes) * bytes);
        let (near, step) = (base / LINE * LINE, bytes * (1 + next(5)));
        std::array::from_fn(|lane| {
            let lane = lane as u64;
            let at = match form {
                // In a row; in a row of another order; apart; anywhere; anywhere in a line, as some meet.
                0 | 1 => base + lane * bytes,
                2 => base + (lane * 7 % 32) * bytes,
                3 => base + lane * step,
                4 => next(PAGE / bytes) * bytes,
                5 | 6 => near + next(LINE / bytes) * bytes,
                // Odd ones, too.
                _ => next(PAGE),
            };
            at % PAGE
        })
    }

    /// Steps after which a page is forgotten.
    const EPOCH: u64 = 250;

    /// Lanes that go through a page at once leave it as they do one by one, and the same cells go a long way.
    #[test]
    fn stores_are_as_cells_stored_one_by_one() {
        for (seed, blocks, plain, named) in [
            (1, 1, false, false),
            (2, 3, false, false),
            (3, 3, true, false),
            (4, 40, false, true),
            // More marks than a page has numbers for.
            (5, 4000, false, true),
        ] {
            let mut next = random(seed);
            let ledger = Arc::new(Ledger::new(blocks, 4, Learns::Untold));
            let mut pages = [(); 2].map(|()| {
                let mut page = Page::new(PAGE, plain);
                if named {
                    page.join(&ledger);
                }
                page
            });
            let (mut at_once, mut long_ways) = (0, 0);
            for step in 0..12_000u64 {
                if step % EPOCH == 0 {
                    pages.iter_mut().for_each(|page| {
                        page.forget();
                        if named {
                            page.join(&ledger);
                        }
                    });
                }
                let block = next(blocks) as u32;
                let me = Thread { block, warp: next(4) as u16, lane: 0 };
                let time = 1 + (step % EPOCH) as u32 / 4;
                let stamp = time - next(2).min(u64::from(time) - 1) as u32;
                let (pc, independent) = (next(6) as u32, seed % 2 == 0);
                // One by one first, so that the list has names.
                let begins = named && step % EPOCH < 120;
                let bytes = if begins { 4 } else { [4, 4, 4, 4, 8, 16, 1, 2][next(8) as usize] };
                let addresses = addresses(&mut next, u64::from(bytes));
                let mask = match next(2) {
                    _ if begins => 1 << next(32),
                    0 => u32::MAX,
                    _ => next(1 << 32) as u32,
                };
                let values: [u16; 32] = std::array::from_fn(|_| 1 + next(9) as u16);
                let values = (next(3) != 0).then_some(&values);
                let floor = stamp - next(3).min(u64::from(stamp)) as u32;
                let quick = || Quick::new(block, stamp, floor, independent);
                let (mut long, [one, other]) = ([vec![], vec![]], &mut pages);
                if next(3) == 0 && !begins {
                    // Reads between them.
                    let mark = Mark::new(me, stamp, pc, Kind::Read, None);
                    for lane in lanes_of(mask).take(9) {
                        let (at, mark) = (addresses[lane], mark.of_lane(lane as u8));
                        let here = u64::from(bytes).min(PAGE - at);
                        for page in [&mut *one, &mut *other] {
                            page.cells(at, here, |cell| cell.read = mark);
                        }
                    }
                    continue;
                }
                let mark = Mark::new(me, stamp, pc, Kind::Write, None);
                let stores = Stores { addresses: &addresses, bytes, values, mark };
                let (mut left, mut way) = (mask, quick());
                loop {
                    let rest = one.store_words(left, &stores, &way);
                    at_once += (left & !rest).count_ones();
                    assert_eq!(left & rest, rest, "lanes go in their order");
                    left = rest;
                    if left == 0 {
                        break;
                    }
                    let lane = left.trailing_zeros() as usize;
                    by_cells(one, lane, &stores, &mut way, &mut long[0]);
                    left &= left - 1;
                }
                let mut way = quick();
                for lane in lanes_of(mask) {
                    by_cells(other, lane, &stores, &mut way, &mut long[1]);
                }
                long_ways += long[0].len();
                assert_eq!(long[0].is_empty(), long[1].is_empty(), "{step}");
                // A cell may be that of a word in the one page, and of its bytes in the other.
                long.iter_mut().for_each(|long| long.dedup());
                assert_eq!(long[0], long[1], "{step}");
                // A look at each byte divides all lines: it is the last before they are forgotten.
                if step % EPOCH == EPOCH - 1 {
                    let cells = |page: &mut Page| {
                        let mut all = vec![];
                        (0..PAGE).for_each(|at| page.cells(at, 1, |cell| all.push(*cell)));
                        all
                    };
                    assert!(cells(one) == cells(other), "{step}");
                }
            }
            assert!(at_once > 1000 || plain, "only {at_once} lanes went through at once");
            assert!(long_ways > 1000, "only {long_ways} cells went a long way");
        }
    }

    /// The second of two lanes that store to one word is looked at by the long way: nothing orders them.
    #[test]
    fn the_second_lane_of_a_word_is_left() {
        let mut addresses: [u64; 32] = std::array::from_fn(|lane| 4 * lane as u64);
        addresses[20] = 4 * 3;
        let me = Thread { block: 5, warp: 2, lane: 0 };
        let mark = Mark::new(me, 9, 17, Kind::Write, None);
        let values = [3; 32];
        let stores = Stores { addresses: &addresses, bytes: 4, values: Some(&values), mark };
        // Nothing of the block's since the barrier at stamp 8 comes before.
        let quick = Quick::new(5, 9, 8, true);
        let mut page = Page::new(PAGE, false);
        page.cells(0, LINE, |cell| cell.write = mark.at(3).of_lane(1));
        // So that the mark has a number.
        page.cells(0, 4, |cell| cell.write = mark.of_lane(0));
        let left = page.store_words(u32::MAX, &stores, &quick);
        assert_eq!(left, u32::MAX << 20);
        page.cells(4 * 3, 4, |cell| {
            assert_eq!(cell.write, mark.of_lane(3).with_value(3));
        });
        // Lanes after it go on.
        assert_eq!(page.store_words(left & (left - 1), &stores, &quick), 0);
        // Lanes in step are ordered by the barrier, or by nothing else.
        let later = Quick::new(5, 9, 9, false);
        assert_eq!(page.store_words(u32::MAX, &stores, &later), 0);
    }
}
