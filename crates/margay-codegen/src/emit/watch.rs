// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reports of what the code does, where a launch is watched.
//!
//! Invariant: a report comes after the check of an access, and before the access. So nothing is reported twice: what
//! fails its check is reported by its handler.

use std::mem::offset_of;

use margay_ir::{Class, Space};

use super::memory::Access;
use super::value::Val;
use super::{Gen, io};
use crate::shape::Pattern;
use crate::{Cells, Noted, Notes, Reason, Room, Tally, Watched, WatchedAccess};

/// Bytes of a line that may be marked.
const LINE: i64 = 128;
/// Most places of an access whose lines are looked at in the code.
const MOST_PLACES: usize = 4;

/// A place of an access: the base, a constant, and so often the second scalar.
#[derive(Clone, Copy)]
pub(super) struct Place {
    step: i64,
    factor: i64,
}

/// Places in all lines that a warp's accesses of `bytes` bytes touch; `None` if they would be many. A lane's bytes are in one
/// line: accesses are aligned, which their checks see to.
fn lines(form: &Pattern, bytes: i64) -> Option<Vec<Place>> {
    let mut runs: Vec<(i64, i64, i64)> = Vec::new();
    for lane in 0..crate::LANES {
        let (from, factor) = (form.pat[lane], form.q.as_ref().map_or(0, |q| q[lane]));
        match runs.iter_mut().find(|r| r.0 == factor) {
            Some(run) => (run.1, run.2) = (run.1.min(from), run.2.max(from)),
            None => runs.push((factor, from, from)),
        }
    }
    // What is longer than a line is not aligned to it.
    if !(bytes as u64).is_power_of_two() || bytes > LINE {
        return None;
    }
    let mut places = Vec::new();
    for (factor, from, last) in runs {
        add_places(&mut places, (from, last), factor)?;
    }
    (places.len() <= MOST_PLACES).then_some(places)
}

/// Adds places in all lines from one to another.
fn add_places(places: &mut Vec<Place>, (from, last): (i64, i64), factor: i64) -> Option<()> {
    let mut step = from;
    while step < last && places.len() <= MOST_PLACES {
        places.push(Place { step, factor });
        step = step.checked_add(LINE)?;
    }
    places.push(Place { step: last, factor });
    Some(())
}

/// Places in all lines from one to another, if they are few.
pub(super) fn places_between(from: i64, last: i64) -> Option<Vec<Place>> {
    let mut places = Vec::new();
    add_places(&mut places, (from, last), 0)?;
    (places.len() <= MOST_PLACES).then_some(places)
}

/// Loads and stores, and atomics.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Plain,
    Atomic,
}

impl Gen<'_> {
    /// Counts an execution of a block by the lanes that run.
    pub(super) fn count_block(&mut self, b: usize) {
        if !self.options.watched.counts {
            return;
        }
        if self.all() {
            self.tally(b, Tally::Full, "1");
            return;
        }
        self.tally(b, Tally::Part, "1");
        let lanes = self.lane_count(&self.mask.clone());
        self.tally(b, Tally::Lanes, &lanes);
    }

    /// How many lanes a mask has, as an `i64`.
    pub(super) fn lane_count(&mut self, mask: &str) -> String {
        match mask {
            "-1" => return "32".to_owned(),
            "0" => return "0".to_owned(),
            _ => {}
        }
        self.declare("declare i32 @llvm.ctpop.i32(i32)");
        let n = self.ins(format!("call i32 @llvm.ctpop.i32(i32 {mask})"));
        self.ins(format!("zext i32 {n} to i64"))
    }

    /// Adds to a count of a block.
    pub(super) fn tally(&mut self, b: usize, what: Tally, more: &str) {
        let tallies = self.io_load("ptr", io!(tallies));
        let at = (b * Tally::COUNT + what as usize) * 8;
        let p = self.ins(format!("getelementptr i8, ptr {tallies}, i64 {at}"));
        let n = self.ins(format!("load i64, ptr {p}, {}", super::blocks::ENGINE));
        let n = self.ins(format!("add i64 {n}, {more}"));
        self.line(format!("store i64 {n}, ptr {p}, {}", super::blocks::ENGINE));
    }

    /// Counts the lanes of a mask that take the block's branch.
    pub(super) fn count_taken(&mut self, mask: &str) {
        if self.options.watched.counts && mask != "0" {
            let lanes = self.lane_count(mask);
            self.tally(self.block, Tally::Taken, &lanes);
        }
    }

    /// Counts a branch at which the lanes part.
    pub(super) fn count_divergent(&mut self, more: &str) {
        if self.options.watched.counts {
            self.tally(self.block, Tally::Divergent, more);
        }
    }

    /// Whether an access is not reported: see [`Options::silent`](crate::Options::silent).
    pub(super) fn is_silent(&self, n: usize) -> bool {
        self.options.silent.binary_search(&self.pc(n)).is_ok()
    }

    /// Reports an access of instruction `n` at these addresses; what a store of one element stores is given.
    pub(super) fn watch_access(
        &mut self,
        n: usize,
        a: &Access,
        address: &Val,
        kind: Kind,
        stored: Option<(&Val, Class)>,
    ) {
        let room = self.room.take();
        if !self.options.watched.accesses || self.told.contains(&n) || self.is_silent(n) {
            return;
        }
        if kind == Kind::Plain && self.tell_apart(n, a, address) {
            return;
        }
        // Whoever counts wants to know of all.
        let room = room.filter(|_| !a.write && !self.options.watched.counts);
        let told = match room {
            Some(room) => {
                let quiet = self.room_field(room, offset_of!(Room, quiet));
                let loud = self.ins(format!("icmp eq i64 {quiet}, 0"));
                let (tell, told) = (self.label(), self.label());
                self.line(format!("br i1 {loud}, label %{tell}, label %{told}"));
                self.begin(&tell);
                Some(told)
            }
            None if self.options.watched.settles && a.space == Space::Local => {
                let settled = self.is_settled();
                let (tell, told) = (self.label(), self.label());
                self.line(format!("br i1 {settled}, label %{told}, label %{tell}, !prof !0"));
                self.begin(&tell);
                Some(told)
            }
            None => None,
        };
        if let (Kind::Plain, Val::Lin { base, u: None, lin }) = (kind, address)
            && self.may_be_noted(a)
        {
            self.note(n, a, base, lin.form.clone(), stored);
        } else {
            let stays = self.report_access(n, a, address, kind, stored);
            if let Some(stays) = stays.filter(|_| self.options.watched.admissions) {
                let exit = self.exit(Reason::Interpret, n, None);
                self.expect(&stays, &exit);
            }
        }
        if let Some(told) = told {
            self.line(format!("br label %{told}"));
            self.begin(&told);
        }
    }

    /// Whether accesses of the warp to its local memory need no report: see [`Notes::settled`].
    fn is_settled(&mut self) -> String {
        let scope = super::blocks::ENGINE;
        let notes = self.io_load("ptr", io!(notes));
        let at = offset_of!(Notes, settled);
        let p = self.ins(format!("getelementptr i8, ptr {notes}, i64 {at}"));
        let settled = self.ins(format!("load i32, ptr {p}, {scope}"));
        let own = self.io(io!(warp));
        let warp = self.ins(format!("load i32, ptr {own}, {scope}"));
        let bit = self.ins(format!("lshr i32 {settled}, {warp}"));
        self.ins(format!("trunc i32 {bit} to i1"))
    }

    /// Whether an access, if its addresses follow from one, is noted where there is room. A load of global memory may have
    /// to be admitted first.
    fn may_be_noted(&self, a: &Access) -> bool {
        let Watched { notes, admissions, .. } = self.options.watched;
        notes
            && match a.space {
                Space::Shared => true,
                Space::Global => a.write || !admissions,
                Space::Local | Space::Const | Space::Param | Space::Generic => false,
            }
    }

    /// Notes an access, or reports it where there is no room.
    fn note(
        &mut self,
        n: usize,
        a: &Access,
        base: &str,
        form: Pattern,
        stored: Option<(&Val, Class)>,
    ) {
        let scope = super::blocks::ENGINE;
        let base = self.ins(format!("add i64 {base}, {}", a.offset));
        let site = self.watched_site(WatchedAccess::told(self.pc(n), form));
        let mask = self.mask.clone();
        let values = self.stored_lanes(a, stored);
        let notes = self.io_load("ptr", io!(notes));
        let mut field = |offset: usize| {
            let p = self.ins(format!("getelementptr i8, ptr {notes}, i64 {offset}"));
            (self.ins(format!("load ptr, ptr {p}, {scope}")), p)
        };
        let (next, own) = field(offset_of!(Notes, next));
        let (end, _) = field(offset_of!(Notes, end));
        let warp = {
            let p = self.io(io!(warp));
            self.ins(format!("load i32, ptr {p}, {scope}"))
        };
        let room = self.ins(format!("icmp ult ptr {next}, {end}"));
        let (slow, join) = (self.label(), self.label());
        self.expect(&room, &slow);
        if a.space == Space::Shared && self.options.watched.admissions {
            let plain = self.is_not_odd(&notes, site, &base);
            self.expect(&plain, &slow);
        }
        let with_values = if values.is_some() { Noted::VALUES } else { 0 };
        let number = (site as u32 | with_values) as i32;
        for (offset, value) in [
            (offset_of!(Noted, base), format!("i64 {base}")),
            (offset_of!(Noted, number), format!("i32 {number}")),
            (offset_of!(Noted, mask), format!("i32 {mask}")),
            (offset_of!(Noted, warp), format!("i32 {warp}")),
        ] {
            let p = self.ins(format!("getelementptr i8, ptr {next}, i64 {offset}"));
            self.line(format!("store {value}, ptr {p}, {scope}"));
        }
        let mut bytes = size_of::<Noted>();
        if let Some(all) = &values {
            let p = self.ins(format!("getelementptr i8, ptr {next}, i64 {bytes}"));
            self.line(format!("store <32 x i64> {all}, ptr {p}, align 8, {scope}"));
            bytes += size_of::<Noted>() * Noted::ROOM;
        }
        let more = self.ins(format!("getelementptr i8, ptr {next}, i64 {bytes}"));
        self.line(format!("store ptr {more}, ptr {own}, {scope}"));
        self.line(format!("br label %{join}"));
        let exit = self.options.watched.admissions.then(|| self.exit(Reason::Interpret, n, None));
        let target = join.clone();
        self.aside(|g| {
            g.begin(&slow);
            let answer = match &values {
                Some(all) => {
                    g.line(format!("store <32 x i64> {all}, ptr %stored, align 64"));
                    g.call_linear(site, &base, "0", "%stored")
                }
                None => g.call_keeping(site as u32, &mask, (&base, "0"), "null"),
            };
            match exit {
                Some(exit) => {
                    let stays = g.ins(format!("icmp eq i32 {answer}, 0"));
                    g.line(format!("br i1 {stays}, label %{target}, label %{exit}, !prof !0"));
                }
                None => g.line(format!("br label %{target}")),
            }
        });
        self.begin(&join);
    }

    /// Whether an access of shared memory goes nowhere that needs a report: see [`Notes::odd`].
    fn is_not_odd(&mut self, notes: &str, site: usize, base: &str) -> String {
        let scope = super::blocks::ENGINE;
        let mut field = |ty: &str, offset: usize| {
            let p = self.ins(format!("getelementptr i8, ptr {notes}, i64 {offset}"));
            self.ins(format!("load {ty}, ptr {p}, {scope}"))
        };
        let (rows, words) =
            (field("ptr", offset_of!(Notes, odd)), field("i64", offset_of!(Notes, words)));
        let row = self.ins(format!("getelementptr ptr, ptr {rows}, i64 {site}"));
        let row = self.ins(format!("load ptr, ptr {row}, {scope}"));
        let word = self.ins(format!("lshr i64 {base}, 2"));
        self.declare("declare i64 @llvm.umin.i64(i64, i64)");
        let word = self.ins(format!("call i64 @llvm.umin.i64(i64 {word}, i64 {words})"));
        let odd = self.ins(format!("getelementptr i8, ptr {row}, i64 {word}"));
        let odd = self.ins(format!("load i8, ptr {odd}, {scope}"));
        self.ins(format!("icmp eq i8 {odd}, 0"))
    }

    /// Calls the report of an access by a scalar.
    fn call_linear(&mut self, site: usize, base: &str, u: &str, values: &str) -> String {
        let (context, mask) = (self.io_load("ptr", io!(context)), self.mask.clone());
        let hook = self.io_load("ptr", io!(watch_linear));
        self.ins(format!(
            "call i32 {hook}(ptr {context}, i32 {site}, i32 {mask}, i64 {base}, i64 {u}, ptr {values})"
        ))
    }

    /// Calls the report that keeps registers, which the code around it counts on. It notes the access if it may: see
    /// [`crate::Io::watch_keeping`].
    pub(super) fn call_keeping(
        &mut self,
        site: u32,
        mask: &str,
        (base, u): (&str, &str),
        notes: &str,
    ) -> String {
        let hook = self.io_load("ptr", io!(watch_keeping));
        self.ins(format!(
            "call i32 asm sideeffect \"callq *$1\", \"={{eax}},r,{{rdi}},{{esi}},{{edx}},{{rcx}},{{r8}},\
             {{r9}},~{{memory}},~{{dirflag}},~{{fpsr}},~{{flags}}\"(ptr {hook}, ptr %io, i32 {}, \
             i32 {mask}, i64 {base}, i64 {u}, ptr {notes})",
            site as i32
        ))
    }

    /// Notes an access at these addresses.
    fn note_addresses(&mut self, pc: u32, all: &str) {
        let scope = super::blocks::ENGINE;
        let mask = self.mask.clone();
        let notes = self.io_load("ptr", io!(notes));
        let mut field = |offset: usize| {
            let p = self.ins(format!("getelementptr i8, ptr {notes}, i64 {offset}"));
            (self.ins(format!("load ptr, ptr {p}, {scope}")), p)
        };
        let (first, own) = field(offset_of!(Notes, next));
        let (end, _) = field(offset_of!(Notes, end));
        let room = self.ins(format!("icmp ult ptr {first}, {end}"));
        let (slow, join) = (self.label(), self.label());
        let from = self.here();
        self.line(format!("br i1 {room}, label %{join}, label %{slow}, !prof !0"));
        let (target, place) = (join.clone(), own.clone());
        let mut again = String::new();
        self.aside(|g| {
            g.begin(&slow);
            g.call_keeping(Noted::NONE, "0", ("0", "0"), "null");
            again = g.ins(format!("load ptr, ptr {place}, {scope}"));
            g.line(format!("br label %{target}"));
        });
        self.begin(&join);
        let next = self.ins(format!("phi ptr [ {first}, %{from} ], [ {again}, %{slow} ]"));
        let number = (Noted::ADDRESSES | pc) as i32;
        for (offset, value) in [
            (offset_of!(Noted, number), format!("i32 {number}")),
            (offset_of!(Noted, mask), format!("i32 {mask}")),
        ] {
            let p = self.ins(format!("getelementptr i8, ptr {next}, i64 {offset}"));
            self.line(format!("store {value}, ptr {p}, {scope}"));
        }
        for (offset, from) in
            [(offset_of!(Noted, warp), io!(warp)), (offset_of!(Noted, blocks), io!(blocks))]
        {
            let from = self.io(from);
            let value = self.ins(format!("load i32, ptr {from}, {scope}"));
            let p = self.ins(format!("getelementptr i8, ptr {next}, i64 {offset}"));
            self.line(format!("store i32 {value}, ptr {p}, {scope}"));
        }
        let p = self.ins(format!("getelementptr i8, ptr {next}, i64 {}", size_of::<Noted>()));
        self.line(format!("store <32 x i64> {all}, ptr {p}, align 8, {scope}"));
        let bytes = size_of::<Noted>() * (1 + Noted::ROOM);
        let more = self.ins(format!("getelementptr i8, ptr {next}, i64 {bytes}"));
        self.line(format!("store ptr {more}, ptr {own}, {scope}"));
    }

    /// What a store stores, as whoever watches is told, if that is wanted.
    fn stored_lanes(&mut self, a: &Access, stored: Option<(&Val, Class)>) -> Option<String> {
        let wanted = self.options.watched.values && a.count == 1 && a.space != Space::Local;
        let (v, class) = stored.filter(|_| wanted)?;
        let mut all = self.spread(v, class);
        if class == Class::W {
            all = self.ins(format!("zext <32 x i32> {all} to <32 x i64>"));
        }
        if a.size < 8 {
            let keep = u64::MAX >> (64 - 8 * a.size);
            all = self.ins(format!("and <32 x i64> {all}, splat (i64 {keep})"));
        }
        Some(all)
    }

    /// The same as a pointer.
    fn values(&mut self, a: &Access, stored: Option<(&Val, Class)>) -> String {
        let Some(all) = self.stored_lanes(a, stored) else { return "null".to_owned() };
        self.line(format!("store <32 x i64> {all}, ptr %stored, align 64"));
        "%stored".to_owned()
    }

    /// The report itself, and whether the code goes on, where that is asked.
    fn report_access(
        &mut self,
        n: usize,
        a: &Access,
        address: &Val,
        kind: Kind,
        stored: Option<(&Val, Class)>,
    ) -> Option<String> {
        let pc = self.pc(n);
        match address {
            Val::Lin { base, u, lin } => {
                let base = self.ins(format!("add i64 {base}, {}", a.offset));
                let values = self.values(a, stored);
                let lines = match (a.space, kind) {
                    (Space::Shared | Space::Local | Space::Const, Kind::Plain) if u.is_none() => {
                        Some(Vec::new())
                    }
                    (Space::Global, Kind::Plain) => lines(&lin.form, a.bytes() as i64),
                    _ => None,
                };
                let grain = WatchedAccess::grain(a.bytes());
                let form = (lin.form.clone(), grain);
                self.watch_linear(pc, &base, u.as_deref(), form, lines, &values)
            }
            v @ Val::Vec { .. } => {
                let (context, mask) = (self.io_load("ptr", io!(context)), self.mask.clone());
                let mut all = self.spread(v, Class::D);
                if a.offset != 0 {
                    all = self.ins(format!("add <32 x i64> {all}, splat (i64 {})", a.offset));
                }
                if self.options.watched.notes_all {
                    self.note_addresses(pc, &all);
                    return None;
                }
                self.line(format!("store <32 x i64> {all}, ptr %watched, align 64"));
                let values = self.values(a, stored);
                let hook = self.io_load("ptr", io!(watch));
                let answer = self.ins(format!(
                    "call i32 {hook}(ptr {context}, i32 {pc}, i32 {mask}, ptr %watched, ptr {values})"
                ));
                Some(self.ins(format!("icmp eq i32 {answer}, 0")))
            }
        }
    }

    /// Reports a read of a parameter.
    pub(super) fn watch_param(&mut self, n: usize, start: u64) {
        let Watched { accesses, parameters, .. } = self.options.watched;
        if accesses && parameters && !self.is_silent(n) {
            if self.tell_param_apart(n) {
                return;
            }
            let form = Pattern { pat: [0; crate::LANES], q: None };
            let (start, form) = (start.to_string(), (form, 0));
            self.watch_linear(self.pc(n), &start, None, form, Some(Vec::new()), "null");
        }
    }

    /// Reports an access by a scalar. It may be counted here where that is enough if there are `lines`: places that are in
    /// all the lines of global memory which it touches. Whether the code goes on, where that is asked.
    fn watch_linear(
        &mut self,
        pc: u32,
        base: &str,
        u: Option<&str>,
        (form, grain): (Pattern, u32),
        lines: Option<Vec<Place>>,
        values: &str,
    ) -> Option<String> {
        let Watched { counts, admissions, values: stored, .. } = self.options.watched;
        let lines = lines.filter(|_| self.all() && counts && !admissions && !stored);
        let cells = lines.is_some();
        let access = WatchedAccess::told(pc, form);
        let site = self.watched_site(WatchedAccess { cells, grain, ..access });
        let mask = self.mask.clone();
        let u = u.unwrap_or("0");
        let noted = self.options.watched.notes_all;
        let notes = if noted { self.io_load("ptr", io!(notes)) } else { "null".to_owned() };
        if !cells && noted {
            self.call_keeping(site as u32, &mask, (base, u), &notes);
            return None;
        }
        if !cells {
            let answer = self.call_linear(site, base, u, values);
            return Some(self.ins(format!("icmp eq i32 {answer}, 0")));
        }
        self.count_in_cells(site, base, u, grain, lines.as_deref().unwrap_or_default());
        None
    }

    /// Counts an access by all lanes in its cells, or reports it.
    pub(super) fn count_in_cells(
        &mut self,
        site: usize,
        base: &str,
        u: &str,
        grain: u32,
        lines: &[Place],
    ) {
        let scope = super::blocks::ENGINE;
        let noted = self.options.watched.notes_all;
        let notes = if noted { self.io_load("ptr", io!(notes)) } else { "null".to_owned() };
        let mask = self.mask.clone();
        let all = self.io_load("ptr", io!(cells));
        let own = self.cells_at(site);
        let mut field = |offset: usize| {
            let p = self.ins(format!("getelementptr i8, ptr {all}, i64 {}", own + offset));
            self.ins(format!("load i64, ptr {p}, {scope}"))
        };
        let (lo, span) = (field(offset_of!(Cells, lo)), field(offset_of!(Cells, span)));
        let second = lines.iter().any(|p| p.factor != 0);
        let known_u = second.then(|| field(offset_of!(Cells, u)));
        let from = self.ins(format!("sub i64 {base}, {lo}"));
        let inside = self.ins(format!("icmp ult i64 {from}, {span}"));
        let mut ok = inside;
        if let Some(known) = known_u {
            let same = self.ins(format!("icmp eq i64 {u}, {known}"));
            ok = self.ins(format!("and i1 {ok}, {same}"));
        }
        if !lines.is_empty() {
            let plain = self.unmarked(base, u, lines);
            ok = self.ins(format!("and i1 {ok}, {plain}"));
        }
        let (slow, undo, join) = (self.label(), self.label(), self.label());
        self.expect(&ok, &slow);
        // Counted before it is known whether it may be: that is one instruction, and one branch on what it leaves.
        let (cell, count) = self.cell_of(site, base, grain);
        let more = self.ins(format!("add i64 {count}, 1"));
        self.line(format!("store i64 {more}, ptr {cell}, {scope}"));
        let known = self.ins(format!("icmp ne i64 {more}, {}", Cells::UNKNOWN.wrapping_add(1)));
        self.expect(&known, &undo);
        self.line(format!("br label %{join}"));
        let (base, u, target) = (base.to_owned(), u.to_owned(), join.clone());
        self.aside(|g| {
            g.begin(&undo);
            g.line(format!("store i64 {}, ptr {cell}, {scope}", Cells::UNKNOWN as i64));
            g.line(format!("br label %{slow}"));
            g.begin(&slow);
            g.call_keeping(site as u32, &mask, (&base, &u), &notes);
            g.line(format!("br label %{target}"));
        });
        self.begin(&join);
    }

    /// Where the cells of an access begin: behind those of all that have a lower number.
    pub(super) fn cells_at(&self, site: usize) -> usize {
        self.watched[..site].iter().map(WatchedAccess::cell_words).sum::<usize>() * size_of::<u64>()
    }

    /// The cell of an address, and what it counts.
    pub(super) fn cell_of(&mut self, site: usize, base: &str, grain: u32) -> (String, String) {
        let all = self.io_load("ptr", io!(cells));
        let key = self.ins(format!("lshr i64 {base}, {grain}"));
        let key = self.ins(format!("and i64 {key}, {}", (Cells::PERIOD - 1) >> grain));
        let at = self.cells_at(site) + size_of::<Cells>();
        let counts = self.ins(format!("getelementptr i8, ptr {all}, i64 {at}"));
        let cell = self.ins(format!("getelementptr i64, ptr {counts}, i64 {key}"));
        let count = self.ins(format!("load i64, ptr {cell}, {}", super::blocks::ENGINE));
        (cell, count)
    }

    /// Whether none of the lines at these places is marked.
    pub(super) fn unmarked(&mut self, base: &str, u: &str, places: &[Place]) -> String {
        let marks = io!(marks);
        let factor = {
            let p = self.io(marks);
            self.ins(format!("load i64, ptr {p}, {}", super::blocks::FIXED))
        };
        let bound = {
            let p = self.io(marks + 8);
            self.ins(format!("load i64, ptr {p}, {}", super::blocks::FIXED))
        };
        let mut all: Option<String> = None;
        for place in places {
            let mut at = base.to_owned();
            if place.factor != 0 {
                let more = self.ins(format!("mul i64 {u}, {}", place.factor));
                at = self.ins(format!("add i64 {at}, {more}"));
            }
            if place.step != 0 {
                at = self.ins(format!("add i64 {at}, {}", place.step));
            }
            let line = self.ins(format!("lshr i64 {at}, {}", LINE.trailing_zeros()));
            let hash = self.ins(format!("mul i64 {line}, {factor}"));
            let plain = self.ins(format!("icmp uge i64 {hash}, {bound}"));
            all = Some(match all {
                Some(all) => self.ins(format!("and i1 {all}, {plain}")),
                None => plain,
            });
        }
        all.unwrap_or_else(|| "true".to_owned())
    }

    /// The number of an access; a block's two copies have the same.
    pub(super) fn watched_site(&mut self, access: WatchedAccess) -> usize {
        let known = self.watched.iter().position(|w| *w == access);
        known.unwrap_or_else(|| {
            self.watched.push(access);
            self.watched.len() - 1
        })
    }
}
