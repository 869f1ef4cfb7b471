// SPDX-License-Identifier: MIT OR Apache-2.0
//! The shortest way of stores that lanes of a warp scatter over words: nearly every word is nobody's, or was left by what
//! surely came before, and the lanes' marks have one number in the page's table.
//!
//! Invariant: words end as [`Page::cells`] with [`Quick::visit`] would leave them, in the lanes' order.

use super::few::{MOST_WORDS, WHOLE};
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
        if words.count_ones() as usize <= MOST_WORDS {
            return false;
        }
        self.divide(line, WHOLE);
        matches!(self.lines.get(line), Some(Line::Words(_, WHOLE)))
    }
}
