// SPDX-License-Identifier: MIT OR Apache-2.0
//! Cells that were accessed first only lately, as they are: of most pages more is accessed soon, and then they come into a page of
//! its own. Making names of them in between would cost many times what the accesses do. Where it is not so, which is soon known,
//! none are kept: they would take more than they may.

use super::few::Part;
use super::scattered::DENSE_WORDS;
use super::shadow::Cell;

/// As many as let a page have one of its own, and one more.
const MOST: usize = DENSE_WORDS as usize + 1;

/// Cells that have to go before it is known whether that is in vain.
const PROOF: u32 = 64;

/// A part of a word, and where it is.
pub type Place = (u64, Part);

/// Cells of words, or of a part of each, in the order in which they came.
#[derive(Debug, Default)]
pub struct Recent {
    places: Vec<Place>,
    cells: Vec<Cell>,
    /// How many have gone as there was no room, and how many came into a page.
    gone: u32,
    taken: u32,
}

impl Recent {
    #[cfg(test)]
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// The cell of just this part of a word.
    #[inline]
    pub fn cell(&mut self, place: Place) -> Option<&mut Cell> {
        let at = self.places.iter().position(|own| *own == place)?;
        self.cells.get_mut(at)
    }

    /// Takes out the cell of any part of a word.
    #[inline]
    pub fn take_word(&mut self, word: u64) -> Option<(Place, Cell)> {
        let at = self.places.iter().position(|(own, _)| *own == word)?;
        Some((self.places.remove(at), self.cells.remove(at)))
    }

    /// Whether cells mostly go for others, so that no more are to be kept.
    #[inline]
    pub fn is_vain(&self) -> bool {
        self.gone >= PROOF && self.gone > self.taken
    }

    /// All of them, and their memory.
    pub fn take_all(&mut self) -> impl Iterator<Item = (Place, Cell)> + use<> {
        let (places, cells) = (std::mem::take(&mut self.places), std::mem::take(&mut self.cells));
        places.into_iter().zip(cells)
    }

    /// Takes one more. Returns the first if there is no room for it.
    pub fn push(&mut self, place: Place, cell: Cell) -> Option<(Place, Cell)> {
        let first =
            (self.places.len() == MOST).then(|| (self.places.remove(0), self.cells.remove(0)));
        self.gone += u32::from(first.is_some());
        if self.places.capacity() == 0 {
            self.places.reserve_exact(MOST);
            self.cells.reserve_exact(MOST);
        }
        self.places.push(place);
        self.cells.push(cell);
        first
    }

    /// Those of words from one on and before another.
    pub fn of(&self, first: u64, end: u64) -> impl Iterator<Item = Place> + Clone {
        self.places.iter().copied().filter(move |(word, _)| (first..end).contains(word))
    }

    /// Takes out those of words from one on and before another, for a page of their own. Calls `each` on them.
    pub fn take_page(&mut self, first: u64, end: u64, mut each: impl FnMut(Place, Cell)) {
        let mut left = 0;
        for n in 0..self.places.len() {
            let (place, cell) = (self.places[n], self.cells[n]);
            if (first..end).contains(&place.0) {
                each(place, cell);
            } else {
                (self.places[left], self.cells[left]) = (place, cell);
                left += 1;
            }
        }
        self.taken += (self.places.len() - left) as u32;
        self.places.truncate(left);
        self.cells.truncate(left);
    }
}

#[cfg(test)]
mod tests {
    use super::super::order::Thread;
    use super::super::shadow::{Kind, Mark};
    use super::*;

    fn cell(n: u32) -> Cell {
        let me = Thread { block: n, warp: 0, lane: 0 };
        Cell { write: Mark::new(me, 1, 2, Kind::Write, None), ..Cell::default() }
    }

    #[test]
    fn the_first_goes_when_there_is_no_room() {
        let mut recent = Recent::default();
        for n in 0..MOST as u32 {
            assert_eq!(recent.push((n.into(), 15), cell(n)), None);
        }
        assert_eq!(recent.push((100, 1), cell(100)), Some(((0, 15), cell(0))));
        assert!(recent.cell((0, 15)).is_none() && recent.take_word(0).is_none());
        assert!(recent.cell((100, 2)).is_none());
        assert_eq!(recent.cell((100, 1)), Some(&mut cell(100)));
        assert_eq!(recent.of(3, 6).collect::<Vec<_>>(), [(3, 15), (4, 15), (5, 15)]);
        let mut taken = Vec::new();
        recent.take_page(4, 101, |(word, _), own| taken.push((word, own)));
        let words = (4..MOST as u64).chain([100]);
        assert_eq!(taken, words.map(|n| (n, cell(n as u32))).collect::<Vec<_>>());
        assert_eq!(recent.of(0, 200).map(|(word, _)| word).collect::<Vec<_>>(), [1, 2, 3]);
        assert_eq!(recent.cell((3, 15)), Some(&mut cell(3)));
        assert_eq!(recent.take_word(2), Some(((2, 15), cell(2))));
        recent.take_page(0, 200, |_, _| {});
        assert!(recent.is_empty());
    }

    #[test]
    fn no_more_are_kept_where_most_go() {
        for taken in [0, 2 * MOST as u64] {
            let mut recent = Recent::default();
            for n in 0..400 {
                if recent.is_vain() {
                    break;
                }
                recent.push((n, 15), cell(n as u32));
                recent.take_page(n.saturating_sub(taken / 2), n * u64::from(taken > 0), |_, _| {});
            }
            assert_eq!(recent.is_vain(), taken == 0);
            let left: Vec<_> = recent.take_all().map(|((word, _), _)| word).collect();
            assert_eq!(left.last(), Some(&if taken == 0 { 79 } else { 399 }));
            assert!(recent.is_empty() && recent.places.capacity() == 0);
        }
    }
}
