// SPDX-License-Identifier: MIT OR Apache-2.0
//! One access of a warp on its way through the shadow.

use margay_exec::observe::AccessEvent;
use smallvec::SmallVec;

use super::order::{Thread, Tick};
use super::page::Page;
use super::quick::{Quick, Way};
use super::shadow::{Kind, Mark};
use super::state::State;
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
    /// Lanes that access a flag.
    pub flags: u32,
    /// Of an access of the past: see [`Then`].
    pub values: Option<&'e [u16; 32]>,
    /// The lane before: where, and how.
    pub last: Option<(u64, usize, Way)>,
    /// The last lane read the words of the one before, and joined its mark.
    pub joins: bool,
    pub races: SmallVec<[(usize, Mark, Mark); 2]>,
}

impl Look<'_, '_, '_> {
    /// Looks at `bytes` bytes from `at` of a page, which a lane accesses.
    pub fn lane(&mut self, state: &mut State, page: &mut Page, at: u64, bytes: u64, lane: usize) {
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
        let now = self.event.values.map(|values| hash(values[lane]));
        if let Some(value) = now.or(self.values.map(|values| values[lane])) {
            mark = mark.with_value(value);
        }
        let volatile = match (self.before_model, self.flags >> lane & 1 != 0) {
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

    /// Reads the words that the lane before has read. Returns whether there is a short way.
    fn same_words(
        &mut self,
        page: &mut Page,
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

/// 16 bits of a value, never 0.
pub(super) fn hash(value: u64) -> u16 {
    let mixed = value.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 48;
    (mixed as u16).max(1)
}
