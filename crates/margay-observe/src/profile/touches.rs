// SPDX-License-Identifier: MIT OR Apache-2.0
//! The lines and sectors that an access looks up in the caches, relative to a base: accesses of one pattern touch
//! the same ones, so that a list is made once however often the pattern comes.
//!
//! Invariant: bases are multiples of 256 bytes, so that a line of the base and one of the list add up.

use margay_arch::access::{first_lanes, first_of};
use margay_arch::caches::Lookup;
use margay_arch::local::interleaved;
use margay_exec::observe::GroupedEvent;
use smallvec::SmallVec;

/// A line of global and local memory, in L1 and L2.
pub const LINE: u32 = 128;
/// What a miss brings in.
pub const SECTOR: u32 = 32;
/// A line of the constant cache.
pub const CONSTANT_LINE: u32 = 64;

/// Which caches the accesses of a site go through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route {
    /// None: shared memory has no cache, and parameters are operands.
    Nowhere,
    /// L1, if the access is `cached` there, and L2.
    Global {
        cached: bool,
    },
    /// The same, by words that are interleaved by lane; `bytes` a lane.
    Local {
        bytes: u32,
    },
    Constant,
}

/// Sectors of one line that are looked up one after the other. The line is told from that of the base; in the constant
/// cache, where a line is one sector, its sectors are the number of lookups.
pub type Touch = Lookup;

/// What an access looks up.
#[derive(Clone, Copy, Debug)]
pub struct Touched<'a> {
    pub list: &'a [Touch],
    /// How many sectors they are, if those are marked whose line is in the set of L1 of one before.
    pub marked: Option<u8>,
}

/// Marks touches whose line is in the set of one before, of so many sets. Tells how many sectors they all have; none if they
/// are too many to mark.
pub fn mark(list: &mut [Touch], sets: u32) -> Option<u8> {
    let mut used = [0u64; 8];
    let mut sectors = 0u32;
    for touch in &mut *list {
        // Of more sets than there are bits, some share one: that is no more than caution.
        let set = touch.line().rem_euclid(i64::from(sets.max(1))) as usize % (64 * used.len());
        if used[set / 64] >> (set % 64) & 1 != 0 {
            *touch = touch.sharing();
        }
        used[set / 64] |= 1 << (set % 64);
        sectors += u32::from(touch.sectors()).count_ones();
    }
    u8::try_from(sectors).ok().filter(|_| list.len() <= 64)
}

/// Adds the touches of an access to `list`, in the order of the lanes. `relative` are addresses from the base.
pub fn touches(route: Route, mask: u32, relative: &[u64; 32], list: &mut Vec<Touch>) {
    match route {
        Route::Nowhere => {}
        Route::Global { .. } => {
            let firsts = first_of(mask, relative, SECTOR.trailing_zeros());
            sectors(firsts, list, |lane| relative[lane]);
        }
        Route::Local { bytes } => {
            for word in 0..u64::from(bytes.div_ceil(4)) {
                // An offset from the base may be negative, which no interleaved one is: both ends of the sum are
                // multiples of a word's row.
                let at =
                    |lane: usize| interleaved_from(relative[lane].wrapping_add(4 * word), lane);
                sectors(first_lanes(mask, |lane| at(lane) >> SECTOR.trailing_zeros()), list, at);
            }
        }
        Route::Constant => constants(mask, relative, list),
    }
}

/// [`interleaved`] for an offset from a base that may be negative.
fn interleaved_from(offset: u64, lane: usize) -> u64 {
    let row = (offset as i64 >> 2) as u64;
    row.wrapping_mul(128).wrapping_add(interleaved(offset & 3, lane))
}

/// The different sectors of one request; `rest` are the lanes that are the first at theirs.
#[inline]
fn sectors(mut rest: u32, list: &mut Vec<Touch>, address: impl Fn(usize) -> u64) {
    let start = list.len();
    while rest != 0 {
        let sector = address(rest.trailing_zeros() as usize & 31) as i64 >> SECTOR.trailing_zeros();
        rest &= rest - 1;
        add_sector(list, start, sector);
    }
}

/// Adds a sector to a request's touches, which begin at `start`: one more of the last line, or of another.
#[inline]
fn add_sector(list: &mut Vec<Touch>, start: usize, sector: i64) {
    let line = sector >> (LINE / SECTOR).trailing_zeros();
    let bit = 1 << (sector & i64::from(LINE / SECTOR - 1));
    match list[start..].last_mut() {
        Some(touch) if touch.line() == line => *touch = touch.with(bit),
        Some(_) | None => list.push(Touch::new(line, bit)),
    }
}

/// [`touches`] of global memory by an access of all lanes by groups.
pub fn touches_of_groups(e: &GroupedEvent, base: u64, list: &mut Vec<Touch>) {
    let start = list.len();
    // Sectors by groups: of groups that go on where others ended mostly the last is there already.
    let mut met: SmallVec<[i64; 40]> = SmallVec::new();
    for (group, at) in e.starts.into_iter().enumerate() {
        let bytes = if e.consecutive >> group & 1 != 0 { 8 * e.bytes } else { e.bytes };
        let first = at.wrapping_sub(base);
        let last = first.wrapping_add(u64::from(bytes) - 1);
        let [first, last] = [first, last].map(|at| at as i64 >> SECTOR.trailing_zeros());
        for sector in first..=last {
            if !met.contains(&sector) {
                met.push(sector);
                add_sector(list, start, sector);
            }
        }
    }
}

fn constants(mask: u32, relative: &[u64; 32], list: &mut Vec<Touch>) {
    let (start, mut last) = (list.len(), None);
    for lane in (0..32).filter(|l| mask >> l & 1 != 0) {
        let address = relative[lane];
        if last == Some(address) {
            continue;
        }
        last = Some(address);
        let line = address as i64 >> CONSTANT_LINE.trailing_zeros();
        match list[start..].last_mut() {
            Some(touch) if touch.line() == line => *touch = Touch::new(line, touch.sectors() + 1),
            Some(_) | None => list.push(Touch::new(line, 1)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(route: Route, mask: u32, address: impl Fn(u64) -> u64) -> Vec<(i64, u8)> {
        let mut list = vec![Touch::new(7, 7)];
        let relative = std::array::from_fn(|l| address(l as u64));
        touches(route, mask, &relative, &mut list);
        list[1..].iter().map(|t| (t.line(), t.sectors())).collect()
    }

    const GLOBAL: Route = Route::Global { cached: true };

    #[test]
    fn a_sector_is_looked_up_once() {
        assert_eq!(of(GLOBAL, !0, |l| 4 * l), [(0, 0b1111)]);
        assert_eq!(of(GLOBAL, !0, |l| 4 * l + 16), [(0, 0b1111), (1, 1)]);
        assert_eq!(of(GLOBAL, 0b101, |l| 64 * l), [(0, 1), (1, 1)]);
        // Back and forth: a sector that was there stays; another one of an earlier line is a lookup of its own.
        assert_eq!(
            of(GLOBAL, 0b1111, |l| [0, 128, 4, 32][l as usize % 4]),
            [(0, 1), (1, 1), (0, 2)]
        );
        assert_eq!(of(GLOBAL, 3, |l| 0u64.wrapping_sub(l)), [(0, 1), (-1, 8)]);
        assert_eq!(of(Route::Nowhere, !0, |l| l), []);
    }

    #[test]
    fn lines_of_one_set_are_marked() {
        let marked = |lines: &[i64], sets: u32| {
            let mut list: Vec<Touch> = lines.iter().map(|&line| Touch::new(line, 0b101)).collect();
            let sectors = mark(&mut list, sets);
            assert!(list.iter().zip(lines).all(|(t, line)| (t.line(), t.sectors()) == (*line, 5)));
            (sectors, list.iter().map(|t| t.shares()).collect::<Vec<bool>>())
        };
        assert_eq!(marked(&[0, 1, -1, 510], 512), (Some(8), vec![false; 4]));
        assert_eq!(marked(&[0, 1, -1, 511], 512), (Some(8), vec![false, false, false, true]));
        assert_eq!(marked(&[0, 7, 0], 7), (Some(6), vec![false, true, true]));
        assert_eq!(marked(&[0, 512], 1024).1, [false, true], "which it cannot tell");
        assert_eq!(marked(&(0..65).collect::<Vec<_>>(), 512).0, None);
    }

    #[test]
    fn local_words_are_requests_of_their_own() {
        let local = |bytes| Route::Local { bytes };
        assert_eq!(of(local(4), !0, |_| 8), [(2, 0b1111)]);
        assert_eq!(of(local(8), !0, |_| 8), [(2, 0b1111), (3, 0b1111)]);
        assert_eq!(
            of(local(4), 3, |l| if l == 0 { 0 } else { 0u64.wrapping_sub(4) }),
            [(0, 1), (-1, 1)]
        );
    }

    #[test]
    fn constants_are_looked_up_where_lanes_differ() {
        assert_eq!(of(Route::Constant, !0, |_| 4), [(0, 1)]);
        assert_eq!(of(Route::Constant, 0b111, |l| 32 * l), [(0, 2), (1, 1)]);
    }
}
