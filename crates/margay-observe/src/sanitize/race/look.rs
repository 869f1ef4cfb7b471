// SPDX-License-Identifier: MIT OR Apache-2.0
//! One access of a warp on its way through the shadow.

use margay_exec::observe::AccessEvent;
use smallvec::SmallVec;

use super::order::{Thread, Tick};
use super::quick::{Quick, Way};
use super::scattered::DENSE_WORDS;
use super::shadow::{Cells, Kind, Mark, PAGE};
use super::state::State;
use super::stores::Stores;
use super::unordered::Looker;
use super::watch::{RaceObserver, Volatile};

/// What there is to know of an access of the past, beside its event.
#[derive(Clone, Copy)]
pub struct Then<'k> {
    pub stamp: Tick,
    /// What each lane stored, as a [`hash`].
    pub values: Option<&'k [u16; 32]>,
}

/// One access of a warp, as it goes through the shadow lane by lane.
pub struct Look<'e, 'w, 'a> {
    pub all: &'w RaceObserver<'a>,
    pub event: &'e AccessEvent<'e>,
    pub kind: Kind,
    /// Of lane 0; without a value.
    pub mark: Mark,
    pub looker: Looker,
    pub quick: Quick,
    pub before_model: bool,
    /// An atomic, before compute capability 7.0.
    pub atomic: bool,
    /// Lanes that access a flag.
    pub flags: u32,
    /// What each lane stores, as a [`hash`].
    pub values: Option<&'e [u16; 32]>,
    /// The lane before: where, and how.
    pub last: Option<(u64, usize, Way)>,
    /// The last lane read the words of the one before, and joined its mark.
    pub joins: bool,
    pub races: SmallVec<[(usize, Mark, Mark); 2]>,
}

impl Look<'_, '_, '_> {
    /// Looks at what these lanes access of the page that they begin in. Returns whether one goes on in the next.
    #[inline]
    pub fn lanes(&mut self, state: &mut State, page: &mut impl Cells, lanes: u32) -> bool {
        let bytes = u64::from(self.event.bytes);
        let (mut crosses, mut left) = (false, lanes);
        loop {
            left = self.store_words(page, left);
            if left == 0 {
                break;
            }
            let lane = left.trailing_zeros() as usize;
            left &= left - 1;
            let at = self.event.addresses[lane] % PAGE;
            let here = bytes.min(PAGE - at);
            self.lane(state, page, at, here, lane);
            crosses |= here < bytes;
        }
        // Before another worker sees a mark that stands for these.
        self.note(state);
        crosses
    }

    /// Looks at `bytes` bytes from `at` of a page, which a lane accesses.
    pub fn lane(
        &mut self,
        state: &mut State,
        page: &mut impl Cells,
        at: u64,
        bytes: u64,
        lane: usize,
    ) {
        let mut mark = self.mark.of_lane(lane as u8);
        let address = self.event.addresses[lane];
        let whole = bytes == u64::from(self.event.bytes);
        if let Some((there, before, way)) = self.last
            && (there, Kind::Read, true) == (address, self.kind, whole)
            && self.same_words(page, at, bytes, mark, before, way)
        {
            self.joins = self.all.independent;
            return;
        }
        self.joins = false;
        if let Some(values) = self.values {
            mark = mark.with_value(values[lane]);
        }
        let volatile = match (self.before_model, self.flags >> lane & 1 != 0) {
            (false, _) if self.atomic => Volatile::Atomic,
            (false, _) => Volatile::No,
            (true, true) => Volatile::Flag,
            (true, false) => Volatile::Data,
        };
        let looker = Looker { me: Thread { lane: lane as u8, ..self.looker.me }, ..self.looker };
        let (mut raced, mut way) = (None, None);
        page.cells(at, bytes, |cell| {
            let this = self.quick.visit(cell, mark);
            if this == Way::Long {
                let found = self.all.visit(state, cell, &looker, mark, volatile);
                raced = raced.or(found);
                state.unordered.hint(&state.clock, &looker, &mut self.quick);
            }
            way = Some(if way.is_none_or(|w| w == this) { this } else { Way::Long });
        });
        self.last = way.filter(|_| whole).map(|way| (address, lane, way));
        if let Some(other) = raced
            && self.races.last().is_none_or(|&(last, ..)| last != lane)
        {
            self.races.push((lane, mark, other));
        }
    }

    /// Looks at stores by the short way for many ([`Cells::store_words`]). Returns the lanes that are left.
    #[inline]
    fn store_words(&mut self, page: &mut impl Cells, lanes: u32) -> u32 {
        if self.kind != Kind::Write || !self.quick.is_on {
            return lanes;
        }
        let stores = Stores {
            addresses: self.event.addresses,
            bytes: self.event.bytes,
            values: self.values,
            mark: self.mark,
        };
        self.last = None;
        page.store_words(lanes, &stores, &self.quick)
    }

    /// Reads the words that the lane before has read. Returns whether there is a short way.
    fn same_words(
        &mut self,
        page: &mut impl Cells,
        at: u64,
        bytes: u64,
        mark: Mark,
        before: usize,
        way: Way,
    ) -> bool {
        let lane = mark.thread().lane as usize;
        match way {
            Way::Long => return false,
            Way::Joined => self.quick.joined |= 1 << lane,
            // Lanes in step are ordered.
            Way::Replaced if !self.all.independent => {
                page.cells(at, bytes, |cell| cell.read = mark);
                self.last = Some((self.event.addresses[lane], lane, way));
            }
            Way::Replaced => {
                page.cells(at, bytes, |cell| self.quick.join(cell, mark));
                self.quick.joined |= 1 << before;
                self.last = Some((self.event.addresses[lane], lane, Way::Joined));
            }
        }
        true
    }

    /// Notes the lanes that joined others' marks.
    pub fn note(&mut self, state: &mut State) {
        let joined = std::mem::take(&mut self.quick.joined);
        if joined != 0 {
            let Looker { me, .. } = self.looker;
            // That of the access, which may be one of the past.
            state.note(me.warp, joined, self.mark.stamp, false);
        }
        self.last = None;
    }
}

/// The lanes of a mask.
pub(super) fn lanes_of(mask: u32) -> impl Iterator<Item = usize> {
    let mut left = mask;
    std::iter::from_fn(move || {
        let lane = left.trailing_zeros() as usize;
        let there = left != 0;
        left &= left.wrapping_sub(1);
        there.then_some(lane)
    })
}

/// The pages that the lanes of an access begin in, in the order of their first lanes, with their lanes.
#[inline]
pub(super) fn by_page<'e>(event: &AccessEvent<'e>) -> impl Iterator<Item = (u64, u32)> + use<'e> {
    let (addresses, mut left) = (event.addresses, event.mask);
    std::iter::from_fn(move || {
        let number = addresses.get(left.trailing_zeros() as usize)? / PAGE;
        let lanes = left & lanes_in(addresses, number);
        left &= !lanes;
        Some((number, lanes))
    })
}

/// The lanes that access this page first.
#[inline]
fn lanes_in(addresses: &[u64; 32], page: u64) -> u32 {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx512f") {
        // SAFETY: the processor has what the function is compiled for.
        return unsafe { lanes_in_by_vectors(addresses, page) };
    }
    lanes_in_each(addresses, page)
}

/// The same by comparisons that give a bit a lane.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn lanes_in_by_vectors(addresses: &[u64; 32], page: u64) -> u32 {
    lanes_in_each(addresses, page)
}

#[inline(always)]
fn lanes_in_each(addresses: &[u64; 32], page: u64) -> u32 {
    let bit = |(lane, at): (usize, &u64)| u32::from(*at / PAGE == page) << lane;
    addresses.iter().enumerate().fold(0, |lanes, own| lanes | bit(own))
}

/// Whether these lanes access so many words of their page that it is to be one of its own.
pub(super) fn fill_a_page(event: &AccessEvent<'_>, lanes: u32) -> bool {
    let words = event.bytes / 4;
    if lanes.count_ones() * words < DENSE_WORDS {
        return false;
    }
    let mut known = [0u64; PAGE as usize / 4 / 64];
    for lane in lanes_of(lanes) {
        let first = (event.addresses[lane] % PAGE / 4) as usize;
        for word in first..(first + words as usize).min(64 * known.len()) {
            known[word / 64] |= 1 << (word % 64);
        }
    }
    known.iter().map(|words| words.count_ones()).sum::<u32>() >= DENSE_WORDS
}

/// 16 bits of a value, never 0.
#[inline(always)]
pub(super) const fn hash(value: u64) -> u16 {
    let mixed = (value.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 48) as u16;
    if mixed == 0 { 1 } else { mixed }
}

#[inline(always)]
fn hash_each(values: &[u64; 32]) -> [u16; 32] {
    let mut all = [0; 32];
    all.iter_mut().zip(values).for_each(|(own, &value)| *own = hash(value));
    all
}

/// The hash of what each lane stores.
#[inline]
pub(super) fn hashes(values: &[u64; 32]) -> [u16; 32] {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx512dq") && is_x86_feature_detected!("avx512bw") {
        // SAFETY: the processor has what the function is compiled for.
        return unsafe { hashes_by_vectors(values) };
    }
    hash_each(values)
}

/// The same with products of 64 bits in vectors, which x86-64 has not as such.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq")]
fn hashes_by_vectors(values: &[u64; 32]) -> [u16; 32] {
    hash_each(values)
}

#[cfg(test)]
mod tests {
    use margay_exec::fault::Access;
    use margay_exec::observe::EventPlace;
    use margay_ir::Space;

    use super::*;

    #[test]
    fn pages_come_in_the_order_of_their_first_lanes() {
        let numbers = [7, 3, 7, 7 + 64, 7, 7 + 64, 3];
        let mut addresses = [u64::MAX; 32];
        numbers.iter().enumerate().for_each(|(l, n)| addresses[4 * l] = n * PAGE + 8 * l as u64);
        let event = AccessEvent {
            at: EventPlace { ctaid: [0; 3], warp: 0, pc: 0, smid: 0 },
            space: Space::Global,
            named: Space::Global,
            access: Access::Read,
            bytes: 4,
            mask: (0..numbers.len()).fold(0, |mask, l| mask | 1 << (4 * l)),
            addresses: &addresses,
            values: None,
            compiled: true,
        };
        let mask = |lanes: &[usize]| lanes.iter().fold(0, |mask, l| mask | 1u32 << (4 * l));
        let pages: Vec<_> = by_page(&event).collect();
        let known = [(7, mask(&[0, 2, 4])), (3, mask(&[1, 6])), (7 + 64, mask(&[3, 5]))];
        assert_eq!(pages, known);
        assert_eq!(lanes_of(1 << 31 | 5).collect::<Vec<_>>(), [0, 2, 31]);
    }

    #[test]
    fn hashes_of_lanes_are_those_of_each() {
        let values: [u64; 32] = std::array::from_fn(|l| (l as u64) << (2 * l) | l as u64);
        assert_eq!(hashes(&values), values.map(hash));
        assert_eq!(hashes(&[0; 32]), [1; 32]);
    }
}
