// SPDX-License-Identifier: MIT OR Apache-2.0
//! The short ways of accesses in compiled code, whose lanes' addresses follow from one: reads of shared memory are kept for
//! later, and a line that a whole warp accesses is one place.

use margay_exec::fault::Access;
use std::sync::Arc;

use margay_exec::observe::{AccessEvent, EventPlace, NotedAccesses, PatternedEvent};
use margay_ir::Space;

use super::look::{self, Then};
use super::noted::{self, Sites};
use super::order::{Thread, Tick};
use super::page::{LINE, Page};
use super::quick::{Quick, Way};
use super::round::Place;
use super::row::Row;
use super::seen::Read;
use super::shadow::{Cell, Cells, Found, Kind, Mark, PAGE, Width};
use super::state::State;
use super::table::Effect;
use super::unordered::Looker;
use super::watch::{RaceObserver, RaceWatch, Volatile};
use crate::sanitize::form::{Form, Order};

impl RaceObserver<'_> {
    /// As [`RaceObserver::ordered`], for all lanes of a warp that knows of others by barriers alone; `None` if it is not
    /// the same for all.
    fn row_ordered(&self, state: &mut State, looker: &Looker, mark: Mark) -> Option<bool> {
        if mark.block != looker.me.block || mark.width() == Width::Blocks {
            // Barriers tell nothing of other blocks.
            return Some(false);
        }
        let first = self.ordered(state, looker, mark);
        if mark.width() == Width::Thread {
            // Each lane's is of the same lane of its warp.
            return Some(first);
        }
        // A lane knows what it did itself; no two know that of each other.
        let last = Looker { me: Thread { lane: 31, ..looker.me }, ..*looker };
        (self.ordered(state, &last, mark) == first).then_some(first)
    }

    /// As [`RaceObserver::visit`], for the weak access of a line by lanes of a warp that knows of others by barriers
    /// alone. False, with nothing done, if something races or each lane is to be looked at.
    fn visit_row(
        &self,
        state: &mut State,
        row: &mut Row,
        looker: &Looker,
        mark: Mark,
        (mask, stored): (u32, Option<&[u64; 32]>),
    ) -> bool {
        let mut lanes = row.lanes() & mask;
        let mut own = row.own;
        if row.odd_lane() & lanes != 0 {
            let lane = row.odd_lane().trailing_zeros();
            let mark = mark.of_lane(lane as u8);
            let mark = match stored {
                Some(values) => mark.with_value(look::hashes(values)[lane as usize]),
                None => mark,
            };
            if !self.visit_odd(state, &mut own, looker, mark) {
                return false;
            }
            lanes &= !row.odd_lane();
        }
        if lanes == 0 {
            row.own = own;
            return true;
        }
        let Cell { write, read } = row.marks;
        if row.wrote & lanes != 0 && self.row_ordered(state, looker, write) != Some(true) {
            return false;
        }
        let after_read = match row.read & lanes {
            0 => true,
            _ => match self.row_ordered(state, looker, read) {
                Some(after) => after,
                None => return false,
            },
        };
        // Lanes that are not looked at keep their mark, which must be this one.
        let joins = |old: Mark, others: u32| others & !lanes == 0 || old == mark;
        if mark.kind().writes() {
            if !after_read || !joins(write, row.wrote) {
                return false;
            }
            row.wrote = if write == mark { row.wrote | lanes } else { lanes };
            row.marks.write = mark;
            row.read &= !lanes;
            if row.read == 0 {
                row.marks.read = Mark::default();
            }
            let values = stored.map_or([0; 32], look::hashes);
            match lanes {
                u32::MAX => row.values = values,
                _ => {
                    row.values.iter_mut().zip(values).enumerate().for_each(|(lane, (own, new))| {
                        *own = if lanes >> lane & 1 != 0 { new } else { *own };
                    })
                }
            }
        } else if after_read {
            if !joins(read, row.read) {
                return false;
            }
            row.read = if read == mark { row.read | lanes } else { lanes };
            row.marks.read = mark;
        } else if read.kind() == Kind::Read && !read.strong() && row.read == lanes {
            row.marks.read = self.widened(state, read, mark, lanes);
        } else {
            return false;
        }
        row.own = own;
        true
    }

    /// The same for one lane's access of the word of a row that is kept by itself. False if it races: the cell means
    /// nothing then.
    fn visit_odd(&self, state: &mut State, cell: &mut Cell, looker: &Looker, mark: Mark) -> bool {
        let looker = Looker { me: mark.thread(), ..*looker };
        let mut quick = Quick::new(looker.me.block, mark.stamp, looker.floor, self.independent);
        state.unordered.hint(&state.clock, &looker, &mut quick);
        quick.blocks_from = 0;
        match quick.visit(cell, mark) {
            Way::Replaced => {}
            Way::Joined => state.note(looker.me.warp, quick.joined, mark.stamp, false),
            Way::Long => return self.visit(state, cell, &looker, mark, Volatile::No).is_none(),
        }
        true
    }
}

impl RaceWatch<'_, '_> {
    /// Looks at what was kept of the round.
    #[cold]
    pub(super) fn look_back(&mut self, state: &mut State) {
        let past = state.round.take();
        if past.is_empty() {
            return state.round.give_back(past);
        }
        let before = state.is_of_shared();
        for kept in past.accesses() {
            let addresses = match kept.place() {
                Place::Spread(number) => past.spread(number),
                Place::Steps { site, base } => self.all.steps_of(site).map(|s| s.addresses(base)),
            };
            // Each has one.
            let Some(addresses) = &addresses else { continue };
            let (ctaid, warp) = (self.all.view.ctaid(state.clock.id), u32::from(kept.warp));
            let event = AccessEvent {
                at: EventPlace { ctaid, warp, pc: kept.pc, smid: 0 },
                space: Space::Shared,
                named: Space::Shared,
                access: kept.access,
                bytes: kept.bytes,
                mask: kept.mask,
                addresses,
                values: None,
                compiled: true,
            };
            let then = Then { stamp: kept.stamp, values: past.values(&kept) };
            self.look(state, &event, Some(then));
        }
        state.round.give_back(past);
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

    /// A short way for a weak read of one word of global memory by a whole warp. False, with nothing done, if there is none;
    /// and whether another one that is like it would change nothing.
    fn read_alike(
        &mut self,
        state: &mut State,
        at: u64,
        (floor, simple): (Tick, bool),
        (warp, pc): (u16, u32),
    ) -> (bool, bool) {
        let (all, block) = (self.all, state.clock.id);
        let (me, stamp) = (Thread { block, warp, lane: 0 }, state.clock.stamp(warp));
        let mark = Mark::new(me, stamp, pc, Kind::Read, None);
        let mut quick = Quick::new(block, stamp, floor, true);
        let looker = Looker { me, floor, uniform: true, shared: false };
        state.unordered.hint(&state.clock, &looker, &mut quick);
        if simple {
            // Barriers tell nothing of other blocks.
            quick.blocks_from = 0;
        }
        let word = AlikeWord { all, at: at % PAGE, looker, mark };
        if let Some(mut page) = self.pages.get(at / PAGE) {
            return word.read(state, &mut *page, quick);
        }
        match self.find(at / PAGE, false) {
            Some(Found::Page(mut page)) => word.read(state, &mut *page, quick),
            Some(Found::Scattered(mut page)) => {
                let done = word.read(state, &mut page, quick);
                page.settle();
                done
            }
            None => (true, false),
        }
    }

    /// What the numbers of notes stand for: to be put back, as counting references costs as much as a note.
    fn take_sites(&mut self, noted: &NotedAccesses<'_>) -> Arc<Sites> {
        if let Some(sites) = self.noted_sites.take().filter(|sites| sites.are_of(noted)) {
            return sites;
        }
        let all = self.all;
        let steps = |event: &PatternedEvent<'_>| {
            let form = self.forms.of(event).filter(|_| all.is_weak(event.at.pc))?;
            Some((self.steps(event).clone(), form))
        };
        Arc::new(Sites::of(noted, |pc| all.is_alone(pc), steps))
    }

    /// Goes through noted accesses by the short ways, from this one on. Returns the first for which there is none.
    pub(super) fn short_ways(
        &mut self,
        state: &mut State,
        noted: &NotedAccesses<'_>,
        mut at: usize,
    ) -> usize {
        let (all, sites) = (self.all, self.take_sites(noted));
        let notes = noted.notes();
        while let Some(note) = notes.get(at) {
            let site = sites.site(note).filter(|_| !state.clock.is_cluster_due());
            let done = match site.map(|site| site.way) {
                Some(noted::Way::Read) => {
                    state.turn_to(true);
                    let reads = state.round.keep_reads(&notes[at..], &sites, &state.clock);
                    if reads > 0 {
                        at += reads;
                        continue;
                    }
                    // It is not to be tried again: the table has it.
                    self.look_back(state);
                    false
                }
                Some(noted::Way::Store) => {
                    state.turn_to(true);
                    let stamp = state.clock.stamp(note.warp as u16);
                    let known = |site| all.steps_of(site);
                    let stored = (note, noted.values(at));
                    let kept = state.round.keep_store(stored, &sites, stamp, known);
                    if !kept {
                        self.look_back(state);
                    }
                    kept
                }
                Some(noted::Way::Global(access, form)) => {
                    state.turn_to(false);
                    let (pc, bytes) = site.map_or((0, 0), |site| (site.pc, site.bytes));
                    let (warp, mask, base) = (note.warp as u16, note.mask, note.base);
                    let values = noted.values(at);
                    let plain = Plain { pc, warp, mask, base, access, bytes, form, values };
                    self.by_form(state, false, &plain) == ByForm::Done
                }
                Some(noted::Way::Alone) => true,
                None => false,
            };
            if !done && noted.event(at).is_some_and(|event| !self.form(state, &event)) {
                break;
            }
            at = noted.after(at);
        }
        self.noted_sites = Some(sites);
        at
    }

    /// A short way for accesses of whole warps whose addresses follow from one. False if there is none.
    #[inline]
    pub(super) fn form(&mut self, state: &mut State, event: &PatternedEvent<'_>) -> bool {
        let all = self.all;
        let warp = event.at.warp as u16;
        if event.space == Space::Shared && all.is_alone(event.at.pc) {
            return true;
        }
        if !all.is_weak(event.at.pc)
            || event.access == Access::Atomic
            || state.clock.cluster_due(warp).is_some()
        {
            return false;
        }
        state.turn_to(event.space == Space::Shared);
        let stamp = state.clock.stamp(warp);
        let reads = event.access == Access::Read;
        let shared = event.space == Space::Shared;
        if shared && event.base < 1 << 24 && event.second.is_none() {
            let effect = if reads { Effect::Read } else { Effect::Write };
            if state.round.keep(event, effect, stamp, self.steps(event), |site| all.steps_of(site))
            {
                return true;
            }
            self.look_back(state);
        }
        let Some(form) = self.forms.of(event) else { return false };
        let &PatternedEvent { base, mask, access, bytes, values, .. } = event;
        let plain = Plain { pc: event.at.pc, warp, mask, base, access, bytes, form, values };
        match self.by_form(state, shared, &plain) {
            ByForm::Done => true,
            ByForm::No => false,
            ByForm::Alike => {
                event.with_addresses(|event| self.look_alike(state, event, stamp));
                true
            }
        }
    }

    /// A short way for a weak access whose form is known. If there is none, nothing is done.
    #[inline]
    fn by_form(&mut self, state: &mut State, shared: bool, plain: &Plain<'_>) -> ByForm {
        let all = self.all;
        let &Plain { pc, mask, access, .. } = plain;
        let Some((low, span)) = plain.extent() else { return ByForm::No };
        if !shared && self.is_surely_quiet(access, low, span) || all.is_alone(pc) {
            return ByForm::Done;
        }
        let mut seen = None;
        if !shared && access != Access::Read {
            all.changes.add(low, span);
        } else if !shared
            && !all.learns
            && !all.one_by_one
            && let Some(read) = Read::new(low, span, mask, pc)
        {
            match self.seen.has(&read, &all.changes) {
                Ok(()) => return ByForm::Done,
                Err(count) => seen = Some((read, count)),
            }
        }
        self.by_lines(state, shared, plain, seen)
    }

    /// The same where it is to be looked at; `seen`: a read that may change nothing any more, and when that is so.
    fn by_lines(
        &mut self,
        state: &mut State,
        shared: bool,
        plain: &Plain<'_>,
        seen: Option<(Read, Option<u32>)>,
    ) -> ByForm {
        let all = self.all;
        let &Plain { pc, warp, mask, base, access, bytes, form, values } = plain;
        let reads = access == Access::Read;
        let low = base.wrapping_add_signed(form.low);
        let (floor, uniform, simple) = state.floor(warp);
        let shift = match bytes {
            4 => 0,
            8 => 1,
            16 => 2,
            _ => return ByForm::No,
        };
        if form.order == Order::Same && reads && all.independent {
            let short = !shared && shift == 0 && uniform;
            let (done, last) = match short {
                true => self.read_alike(state, low, (floor, simple), (warp, pc)),
                false => (false, false),
            };
            if let (true, Some((read, count))) = (last, seen) {
                self.seen.add(read, count, &all.changes);
            }
            return if done { ByForm::Done } else { ByForm::Alike };
        }
        let whole = form.order == Order::Row && low.is_multiple_of(LINE) && simple && uniform;
        if !whole || shared && (low + form.span > PAGE * 64 || !state.round.is_empty()) {
            return ByForm::No;
        }
        let (block, stamp) = (state.clock.id, state.clock.stamp(warp));
        let me = Thread { block, warp, lane: 0 };
        let kind = if reads { Kind::Read } else { Kind::Write };
        let mark = Mark::new(me, stamp, pc, kind, None);
        let looker = Looker { me, floor, uniform, shared };
        let lanes = 32u8 >> shift;
        // Whether all lines with lanes are read by blocks, if there is one.
        let mut last = None;
        for n in 0..1u8 << shift {
            let at = low + u64::from(n) * LINE;
            let first = n * lanes;
            let done = if shared {
                let mut own = std::mem::replace(&mut state.shared, Page::none());
                let row = own.row(at, first, shift);
                let done =
                    row.is_some_and(|row| all.visit_row(state, row, &looker, mark, (mask, values)));
                state.shared = own;
                done
            } else {
                let Some(mut page) = self.page(at / PAGE) else { continue };
                let row = page.row(at % PAGE, first, shift);
                row.is_some_and(|row| {
                    let done = all.visit_row(state, row, &looker, mark, (mask, values));
                    if row.lanes() & mask != 0 {
                        last = Some(last.unwrap_or(true) && row.is_read_by_blocks(mask));
                    }
                    done
                })
            };
            if !done {
                // Those before are looked at again, which changes nothing.
                return ByForm::No;
            }
        }
        if let (Some(true), Some((read, count))) = (last, seen) {
            self.seen.add(read, count, &all.changes);
        }
        if shared {
            state.round.pass(!reads);
        }
        ByForm::Done
    }

    /// As [`RaceWatch::is_quiet`], where that is known of the allocation that was looked at last.
    #[inline]
    fn is_surely_quiet(&mut self, access: Access, low: u64, span: u64) -> bool {
        // What may be written is not quiet, and no store strays that stays there.
        if self.is_near_written(low, span) {
            return false;
        }
        let quiet = self.is_quiet(access, low, span);
        if !quiet {
            self.come_near_written(low, span);
        }
        quiet
    }

    /// Whether memory lies in the allocation that may be written and was looked at last.
    #[inline]
    pub(super) fn is_near_written(&self, low: u64, span: u64) -> bool {
        self.written.start <= low && low.saturating_add(span) <= self.written.end
    }

    /// Remembers the allocation that memory lies in, if it may be written.
    #[inline]
    pub(super) fn come_near_written(&mut self, low: u64, span: u64) {
        if let Some(around) = self.all.written.around(&(low..low.saturating_add(span))) {
            self.written = around;
        }
    }
}

/// A word of a page that a whole warp reads.
struct AlikeWord<'r, 'a> {
    all: &'r RaceObserver<'a>,
    at: u64,
    looker: Looker,
    /// Of lane 0.
    mark: Mark,
}

impl AlikeWord<'_, '_> {
    /// See [`RaceWatch::read_alike`].
    #[inline]
    fn read(&self, state: &mut State, page: &mut impl Cells, mut quick: Quick) -> (bool, bool) {
        let &AlikeWord { all, at, looker, mark } = self;
        // Of each of the cells, of which a word may have four.
        let (mut any, mut done, mut wide, mut only_read) = (false, true, true, true);
        page.cells(at, 4, |cell| {
            any = true;
            done &= quick.visit_alike(cell, mark)
                || !Quick::is_own(cell, mark) && {
                    let mut new = *cell;
                    // Where lanes know alike, what holds for one holds for all.
                    let races = all.visit(state, &mut new, &looker, mark, Volatile::No).is_some();
                    if !races {
                        quick.join(&mut new, mark.of_lane(1));
                        *cell = new;
                    }
                    !races
                };
            wide &= cell.read.width() == Width::Blocks;
            only_read &= cell.write.is_empty() && cell.read.kind() == Kind::Read;
        });
        done &= any;
        // Of blocks that learn nothing of each other nobody asks for stamps.
        if done && (all.learns || !wide) {
            // Before another worker sees a mark that stands for these.
            state.note(looker.me.warp, u32::MAX, mark.stamp, false);
        }
        (done, done && wide && only_read)
    }
}

/// A weak access by lanes of a warp whose addresses follow from one.
struct Plain<'e> {
    pc: u32,
    warp: u16,
    mask: u32,
    base: u64,
    access: Access,
    bytes: u32,
    form: Form,
    values: Option<&'e [u64; 32]>,
}

impl Plain<'_> {
    /// What lies between the first lane that is there and the last: from where on, and how long it is.
    #[inline]
    fn extent(&self) -> Option<(u64, u64)> {
        let &Plain { mask, base, bytes, form, .. } = self;
        let low = base.wrapping_add_signed(form.low);
        match (mask, form.order) {
            (u32::MAX, _) => Some((low, form.span)),
            (mask, Order::Row) => {
                let (first, end) = (mask.trailing_zeros(), 32 - mask.leading_zeros());
                let span = u64::from((end - first) * bytes);
                Some((low.wrapping_add(u64::from(first * bytes)), span))
            }
            (_, Order::Same | Order::Other) => None,
        }
    }
}

/// How an access went by its form.
#[derive(PartialEq, Eq)]
enum ByForm {
    Done,
    No,
    /// All lanes read the same, which [`RaceWatch::look_alike`] is for.
    Alike,
}
