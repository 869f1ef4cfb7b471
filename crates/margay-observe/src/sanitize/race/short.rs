// SPDX-License-Identifier: MIT OR Apache-2.0
//! The short ways of accesses in compiled code, whose lanes' addresses follow from one: reads of shared memory are kept for
//! later, and a line that a whole warp accesses is one place.

use margay_exec::fault::Access;
use margay_exec::observe::{AccessEvent, EventPlace, PatternedEvent};
use margay_ir::Space;

use super::look;
use super::order::{Thread, Tick};
use super::page::{LINE, Page, Row};
use super::reads::{Place, Steps};
use super::shadow::{Cell, Kind, Mark, PAGE, Width};
use super::state::State;
use super::unordered::Looker;
use super::watch::{RaceObserver, RaceWatch};
use crate::sanitize::form::Order;

/// Instructions whose steps a worker knows to be known.
pub const NEAR_SITES: usize = 64;

impl RaceObserver<'_> {
    /// As [`RaceObserver::ordered`], for all lanes of a warp that knows of others by barriers alone; `None` if it is not
    /// the same for all.
    fn row_ordered(&self, state: &mut State, looker: &Looker, mark: Mark) -> Option<bool> {
        let first = self.ordered(state, looker, mark);
        if mark.width() == Width::Thread {
            // Each lane's is of the same lane of its warp.
            return Some(first);
        }
        // A lane knows what it did itself; no two know that of each other.
        let last = Looker { me: Thread { lane: 31, ..looker.me }, ..*looker };
        (self.ordered(state, &last, mark) == first).then_some(first)
    }

    /// As [`RaceObserver::visit`], for the weak access of a whole line by a warp that knows of others by barriers alone.
    /// False, with nothing done, if something races or each lane is to be looked at.
    fn visit_row(
        &self,
        state: &mut State,
        row: &mut Row,
        looker: &Looker,
        mark: Mark,
        event: &PatternedEvent<'_>,
    ) -> bool {
        let Cell { write, read } = row.marks;
        if !write.is_empty() && self.row_ordered(state, looker, write) != Some(true) {
            return false;
        }
        let after_read = match read.is_empty() {
            true => true,
            false => match self.row_ordered(state, looker, read) {
                Some(after) => after,
                None => return false,
            },
        };
        if mark.kind().writes() {
            if !after_read {
                return false;
            }
            row.marks = Cell { write: mark, read: Mark::default() };
            row.values = match event.values {
                Some(values) => values.map(look::hash),
                None => [0; 32],
            };
        } else if after_read {
            row.marks.read = mark;
        } else if read.kind() == Kind::Read && !read.strong() {
            row.marks.read = self.widened(state, read, mark, row.lanes());
        } else {
            return false;
        }
        true
    }
}

impl RaceWatch<'_, '_> {
    /// Looks at the reads that were kept.
    #[cold]
    pub(super) fn look_back(&mut self, state: &mut State) {
        if state.reads.is_empty() {
            return;
        }
        let before = state.is_of_shared();
        let kept = std::mem::take(&mut state.reads);
        let ctaid = self.all.view.ctaid(state.clock.id);
        for read in kept.list() {
            let addresses = match read.place {
                Place::Spread(number) => kept.spread(number),
                Place::Steps { site, base, factor } => {
                    self.all.steps.read().get(&site).map(|s| s.addresses(base, factor))
                }
            };
            // Each has one.
            let Some(addresses) = &addresses else { continue };
            let (access, space, named) = (Access::Read, Space::Shared, Space::Shared);
            let at = EventPlace { ctaid, warp: read.warp, pc: read.pc, smid: 0 };
            let (bytes, mask) = (read.bytes, read.mask);
            let (values, compiled) = (None, true);
            let event =
                AccessEvent { at, space, named, access, bytes, mask, addresses, values, compiled };
            self.look(state, &event, Some(read.stamp));
        }
        state.reads = kept;
        state.reads.forget();
        state.turn_to(before);
    }

    /// Whether nobody writes what is read here: see [`Observer::is_quiet`]. Says so if somebody does all the same.
    pub(super) fn is_quiet(&self, access: Access, low: u64, span: u64) -> bool {
        let memory = low..low.saturating_add(span);
        match access {
            Access::Read => !self.all.written.touches(&memory),
            Access::Write | Access::Atomic => {
                // What is in no allocation faults.
                if !self.all.written.holds(&memory) && self.all.memory.find(low).is_some() {
                    self.all.tell_strayed();
                }
                false
            }
        }
    }

    /// Looks at a weak read of one place by a whole warp, whose lanes are not ordered by being in one.
    fn look_alike(&mut self, state: &mut State, event: &AccessEvent<'_>, stamp: Tick) {
        const FIRST: u32 = 0b11;
        if event.space == Space::Shared {
            self.look_back(state);
        }
        let joins = self.look(state, &AccessEvent { mask: FIRST, ..*event }, None);
        match joins {
            true => state.note(event.at.warp as u16, u32::MAX, stamp, false),
            false => {
                self.look(state, &AccessEvent { mask: !FIRST, ..*event }, None);
            }
        }
    }

    /// A short way for accesses of whole warps whose addresses follow from one. False if there is none.
    #[inline]
    pub(super) fn form(&mut self, state: &mut State, event: &PatternedEvent<'_>) -> bool {
        let all = self.all;
        let warp = event.at.warp as u16;
        if !all.is_weak(event.at.pc)
            || event.access == Access::Atomic
            || state.clock.cluster_due(warp).is_some()
        {
            return false;
        }
        state.turn_to(event.space == Space::Shared);
        let (floor, uniform, simple) = state.floor(warp);
        let stamp = state.clock.stamp(warp);
        let reads = event.access == Access::Read;
        let shared = event.space == Space::Shared;
        if shared && reads && event.base < 1 << 24 && !state.wrote {
            let near = &mut self.sites[(event.site >> 4 ^ event.site >> 10) as usize % NEAR_SITES];
            if *near != event.site {
                all.steps.write().entry(event.site).or_insert_with(|| Steps::of(event));
                *near = event.site;
            }
            if !state.reads.keep(event, stamp) {
                self.look_back(state);
                state.reads.keep(event, stamp);
            }
            return true;
        }
        let Some((low, form)) = self.forms.find(event) else { return false };
        if !shared && self.is_quiet(event.access, low, form.span) {
            return true;
        }
        let shift = match event.bytes {
            4 => 0,
            8 => 1,
            16 => 2,
            _ => return false,
        };
        if form.order == Order::Same && reads && all.independent {
            event.with_addresses(|event| self.look_alike(state, event, stamp));
            return true;
        }
        let whole = form.order == Order::Row && low.is_multiple_of(LINE) && simple && uniform;
        if !whole || shared && (low + form.span > PAGE * 64 || !state.reads.is_empty()) {
            return false;
        }
        let block = state.clock.id;
        let me = Thread { block, warp, lane: 0 };
        let kind = if reads { Kind::Read } else { Kind::Write };
        let mark = Mark::new(me, stamp, event.at.pc, kind, None);
        let looker = Looker { me, floor, uniform };
        let lanes = 32u8 >> shift;
        for n in 0..1u8 << shift {
            let at = low + u64::from(n) * LINE;
            let first = n * lanes;
            let done = if shared {
                let mut own = std::mem::replace(&mut state.shared, Page::none());
                let row = own.row(at, first, shift);
                let done = row.is_some_and(|row| all.visit_row(state, row, &looker, mark, event));
                state.shared = own;
                done
            } else {
                let Some(page) = self.page(at / PAGE) else { continue };
                let mut page = page.lock();
                let row = page.row(at % PAGE, first, shift);
                row.is_some_and(|row| all.visit_row(state, row, &looker, mark, event))
            };
            if !done {
                // Those before are looked at again, which changes nothing.
                return false;
            }
        }
        if shared && !reads {
            state.wrote = true;
        }
        true
    }
}
