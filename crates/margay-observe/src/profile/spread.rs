// SPDX-License-Identifier: MIT OR Apache-2.0
//! Accesses of global memory by lanes whose addresses ascend, or are one, of which other lanes take part each time: text that is
//! compared, elements that are kept. Their patterns are as many as there are masks, and so mostly none that is kept; what they touch is
//! told by the mask.

/// Sectors that all lanes touch together, at most.
const MOST: usize = 8;

/// Where the lanes of a form go, from a base modulo the period. It takes one line of the processor's cache.
#[derive(Clone, Copy, Default)]
#[repr(align(64))]
pub struct Spread {
    /// The lanes of each sector; they ascend.
    lanes: [u32; MOST],
    /// Of each the distance from that of the base rounded down to the period.
    sectors: [i16; MOST],
    len: u8,
    /// All lanes are at one address.
    same: bool,
}

impl Spread {
    /// Of addresses relative to the base rounded down; `None` if they neither ascend nor are one, or if they are far apart.
    pub fn of(relative: &[i64; 32]) -> Option<Spread> {
        let same = relative.iter().all(|at| *at == relative[0]);
        let mut spread = Spread { same, ..Spread::default() };
        for (lane, at) in relative.iter().enumerate() {
            if lane != 0 && !same && *at <= relative[lane - 1] {
                return None;
            }
            let sector = i16::try_from(at >> 5).ok()?;
            let last = usize::from(spread.len).wrapping_sub(1);
            match spread.sectors.get(last) {
                Some(own) if *own == sector => spread.lanes[last] |= 1 << lane,
                Some(_) | None => {
                    let next = usize::from(spread.len);
                    *spread.sectors.get_mut(next)? = sector;
                    spread.lanes[next] = 1 << lane;
                    spread.len += 1;
                }
            }
        }
        Some(spread)
    }

    /// How many addresses lanes of a mask are at.
    #[inline(always)]
    pub fn places(&self, mask: u32) -> u32 {
        if self.same { 1 } else { mask.count_ones() }
    }

    /// How many sectors lanes of a mask touch.
    #[inline(always)]
    pub fn sectors(&self, mask: u32) -> u32 {
        self.lanes.iter().map(|lanes| u32::from(lanes & mask != 0)).sum()
    }

    /// Each sector, with its lanes, in the order of the lanes.
    #[inline(always)]
    pub fn all(&self) -> impl Iterator<Item = (i16, u32)> {
        self.sectors.iter().copied().zip(self.lanes.iter().copied()).take(self.len.into())
    }
}

/// The forms of one instruction, by the base modulo the period.
#[derive(Clone)]
pub struct Spreads {
    pub site: u64,
    /// Nothing is known yet; or that there is none.
    pub all: Vec<Option<Option<Spread>>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mask_tells_what_is_touched() {
        let touched = |spread: &Spread, mask| -> Vec<i16> {
            let touched = spread.all().filter(|(_, lanes)| lanes & mask != 0);
            let touched: Vec<i16> = touched.map(|(sector, _)| sector).collect();
            assert_eq!(spread.sectors(mask) as usize, touched.len());
            touched
        };
        let bytes = Spread::of(&std::array::from_fn(|l| 250 + l as i64)).unwrap();
        assert_eq!(touched(&bytes, !0), [7, 8]);
        assert_eq!(touched(&bytes, 0x3f), [7]);
        assert_eq!(touched(&bytes, 1 << 31), [8]);
        let words = Spread::of(&std::array::from_fn(|l| 4 * l as i64 - 32)).unwrap();
        assert_eq!(touched(&words, 0xff00_00ff), [-1, 2]);
        assert!(Spread::of(&std::array::from_fn(|l| 32 * l as i64)).is_none(), "too many");
        assert_eq!((bytes.places(7), words.places(!0)), (3, 32));
        let same = Spread::of(&[-1; 32]).unwrap();
        assert_eq!((same.places(6), touched(&same, 6)), (1, vec![-1]));
        assert!(Spread::of(&std::array::from_fn(|l| i64::from(l > 3))).is_none(), "some at one");
        assert!(Spread::of(&std::array::from_fn(|l| -(l as i64))).is_none());
        assert!(Spread::of(&std::array::from_fn(|l| (l as i64) << 40)).is_none());
    }
}
