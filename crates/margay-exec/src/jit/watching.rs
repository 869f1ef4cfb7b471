// SPDX-License-Identifier: MIT OR Apache-2.0
//! Watched launches in compiled code: which kinds of events code can report, and what it reports.
//!
//! Accesses are calls to [`watch`] and [`watch_linear`]. Executions are counted in the code, block by block of the
//! function ([`margay_codegen::Tally`]), when a block begins. So where code is left or entered inside of a block,
//! what follows is taken off or added here. The watch is told the sums when [`Tallies::tell`] is called: at any such
//! moment they are exact, for no code runs.

use std::ops::Range;

use margay_codegen::{Cells, LANES, Noted, Notes, PENDING, Parted, Tally, Watched, WatchedAccess};
use margay_ir::{Attr, Op, Space, Term};

use super::holes::Holes;
use super::kernel::Kernel;
use crate::fault::Access;
use crate::handlers::address::observe_compiled;
use crate::interp::{Cx, Env};
use crate::observe::{BranchSums, EventPlace, Interest, Observer, PatternedEvent, Watch};
use crate::program::Program;

/// Calls of compiled code between two reports.
const CALLS_BETWEEN_REPORTS: u32 = 1 << 14;
/// Instructions of compiled code between two reports.
const FUEL_BETWEEN_REPORTS: i64 = 1 << 22;

/// What code must report of a launch; `None` if only the interpreter can.
pub fn watched(observer: Option<&dyn Observer>) -> Option<Watched> {
    let Some(observer) = observer else { return Some(Watched::default()) };
    let interest = observer.compiled();
    let counts = interest.intersects(Interest::RUNS | Interest::BRANCHES);
    if counts && !observer.takes_sums() {
        return None;
    }
    Some(Watched {
        accesses: interest.intersects(Interest::ACCESSES | Interest::ADMISSIONS),
        values: interest.contains(Interest::VALUES),
        counts,
        fences: interest.contains(Interest::FENCES),
        warp_syncs: interest.contains(Interest::WARP_SYNCS),
        blocks: interest.intersects(Interest::BLOCKS | Interest::BARRIERS),
        admissions: interest.contains(Interest::ADMISSIONS),
        parameters: interest.contains(Interest::PARAMETERS),
        // Whoever counts has cells; and the watch must know what it is told late from other blocks, or rounds.
        notes: !counts
            && interest.contains(Interest::ACCESSES | Interest::BLOCKS | Interest::BARRIERS),
        // Who may be told late of what is counted may be so of the rest, if that is all there is.
        notes_all: counts
            && interest.contains(Interest::ACCESSES)
            && !interest.intersects(
                Interest::ADMISSIONS
                    | Interest::VALUES
                    | Interest::FENCES
                    | Interest::WARP_SYNCS
                    | Interest::BLOCKS
                    | Interest::BARRIERS,
            ),
        settles: !counts && interest.contains(Interest::BLOCKS),
    })
}

/// What an instruction accesses, as its event says it.
#[derive(Clone, Copy)]
pub struct AccessSite {
    pub space: Space,
    pub access: Access,
    pub bytes: u32,
}

fn access_site(program: &Program, pc: u32) -> Option<AccessSite> {
    let inst = program.inst(pc)?;
    let size = inst.ty.bits() / 8;
    let (space, access, elements) = match (inst.op, &inst.attr) {
        (Op::Ld, Attr::Mem(mem)) => (mem.space, Access::Read, inst.dsts.len()),
        (Op::St, Attr::Mem(mem)) => (mem.space, Access::Write, inst.srcs.len().saturating_sub(1)),
        (Op::Atom, Attr::Atom { mem, .. }) => (mem.space, Access::Atomic, 1),
        _ => return None,
    };
    Some(AccessSite { space, access, bytes: size * elements as u32 })
}

/// A block of the kernel's own function.
struct Span {
    start: u32,
    end: u32,
    /// Address of the conditional branch at its end.
    branch: Option<u32>,
}

/// Accesses that the code of a kernel counts by itself: in blocks that nobody follows, and in those that somebody does.
struct Table {
    of: *const Kernel,
    counts: [Counts; 2],
}

/// What code counts by itself.
struct Counts {
    /// [`Cells`] and their counts, in the order of the accesses: see [`WatchedAccess::cell_words`].
    words: Vec<u64>,
    /// An address of each pattern that was counted, in the place of its count.
    bases: Vec<u64>,
    /// Where those of each access begin.
    starts: Vec<usize>,
}

/// The [`Cells`] of an access, its counts, and an address for each.
struct OwnCells<'a> {
    cells: Cells,
    words: &'a mut [u64],
    counts: &'a mut [u64],
    bases: &'a mut [u64],
}

impl Counts {
    fn new(watched: &[WatchedAccess]) -> Counts {
        let mut starts = Vec::with_capacity(watched.len());
        let mut end = 0;
        for access in watched {
            starts.push(end);
            end += access.cell_words();
        }
        let mut words = vec![Cells::UNKNOWN; end];
        for (start, _) in starts.iter().zip(watched).filter(|(_, access)| access.cells) {
            words[*start..*start + Cells::WORDS].fill(0);
        }
        Counts { words, bases: vec![0; end], starts }
    }

    /// Those of an access that has some.
    fn of(&mut self, number: usize, access: &WatchedAccess) -> Option<OwnCells<'_>> {
        let start = *self.starts.get(number)?;
        let (own, first) = (start..start + access.cell_words(), Cells::WORDS);
        let (words, counts) = self.words.get_mut(own.clone())?.split_at_mut_checked(first)?;
        let bases = self.bases.get_mut(own)?.get_mut(first..)?;
        let &mut [lo, span, u] = words else { return None };
        Some(OwnCells { cells: Cells { lo, span, u }, words, counts, bases })
    }
}

impl OwnCells<'_> {
    fn set(&mut self, cells: Cells) {
        self.cells = cells;
        self.words.copy_from_slice(&[cells.lo, cells.span, cells.u]);
    }
}

/// What a worker's compiled code counts.
pub struct Tallies {
    rows: Vec<[u64; Tally::COUNT]>,
    spans: Vec<Span>,
    /// By instruction of the kernel's own function, which is the program's first.
    block_at: Vec<u32>,
    /// By instruction: executions and lanes of the part of its block before it, where code was left there.
    heads: Vec<(i64, i64)>,
    /// By instruction.
    pub accesses: Vec<Option<AccessSite>>,
    /// Whether the watch may turn accesses away.
    pub(super) asks: bool,
    /// Accesses that code counts by itself.
    tables: Vec<Table>,
    /// The table in use, and which of its two.
    table: usize,
    follows: bool,
    /// Where compiled code keeps lanes that hold apart, when the scheduler has entered it.
    pub parted: Vec<Parted>,
    /// Room for what compiled code notes, and how far it is used.
    pub(super) noted: Vec<Noted>,
    pub(super) notes: Box<Notes>,
    /// Where it does not.
    pub(super) holes: Holes,
    /// Whether it notes anything.
    pub(super) has_notes: bool,
    /// Whether it notes whatever it does not count.
    pub(super) has_all_notes: bool,
    /// Whether it leaves out reports of local memory.
    pub(super) settles: bool,
    calls: u32,
    fuel: i64,
}

impl Tallies {
    /// Empty for launches that nobody watches, or of which only the interpreter tells.
    pub fn new(env: &Env<'_>) -> Tallies {
        let nothing = Tallies {
            rows: Vec::new(),
            spans: Vec::new(),
            block_at: Vec::new(),
            heads: Vec::new(),
            accesses: Vec::new(),
            asks: false,
            tables: Vec::new(),
            table: 0,
            follows: true,
            parted: Vec::new(),
            noted: Vec::new(),
            notes: Box::new(Notes {
                next: std::ptr::null_mut(),
                end: std::ptr::null_mut(),
                settled: 0,
                odd: std::ptr::null(),
                words: 0,
            }),
            holes: Holes::default(),
            has_notes: false,
            has_all_notes: false,
            settles: false,
            calls: 0,
            fuel: 0,
        };
        let Some(watched) = watched(env.observer).filter(|_| env.observer.is_some()) else {
            return nothing;
        };
        let program = env.program;
        let decoded = &program.functions[0];
        let function = &program.module.ir.functions[decoded.id.0 as usize];
        let end = |b: usize| match decoded.starts.get(b + 1) {
            Some(&next) => next,
            // The last block has its terminator.
            None => decoded.starts[b] + function.blocks[b].insts.len() as u32 + 1,
        };
        let span = |(b, block): (usize, &margay_ir::Block)| {
            let branches = matches!(block.term, Term::CondBr { .. });
            Span { start: decoded.starts[b], end: end(b), branch: branches.then(|| end(b) - 1) }
        };
        let spans: Vec<Span> = function.blocks.iter().enumerate().map(span).collect();
        let block = |(b, s): (usize, &Span)| vec![b as u32; (s.end - s.start) as usize];
        Tallies {
            block_at: spans.iter().enumerate().flat_map(block).collect(),
            spans,
            rows: vec![[0; Tally::COUNT]; function.blocks.len()],
            heads: vec![(0, 0); program.code.len()],
            accesses: (0..program.code.len() as u32).map(|pc| access_site(program, pc)).collect(),
            asks: watched.admissions,
            has_notes: watched.notes,
            has_all_notes: watched.notes_all,
            settles: watched.settles,
            parted: vec![Parted { mask: 0, alive: 0, pending: [0; PENDING] }; LANES],
            ..nothing
        }
    }

    #[inline]
    fn site(&self, pc: u32) -> Option<AccessSite> {
        self.accesses.get(pc as usize).copied().flatten()
    }

    /// What the instruction at `pc` accesses, if the watch is asked about it.
    #[inline]
    pub fn asked(&self, pc: u32) -> Option<AccessSite> {
        if !self.asks {
            return None;
        }
        // Nobody follows what parameters and constants hold.
        self.site(pc).filter(|s| !matches!(s.space, Space::Param | Space::Const))
    }

    /// Where compiled code counts.
    pub fn rows(&mut self) -> *mut u64 {
        self.rows.as_mut_ptr().cast()
    }

    /// Where the code of a kernel, which is entered, counts its accesses.
    pub fn cells(&mut self, kernel: &Kernel) -> *mut u64 {
        if !self.tables.get(self.table).is_some_and(|t| std::ptr::eq(t.of, kernel)) {
            let known = self.tables.iter().position(|t| std::ptr::eq(t.of, kernel));
            self.table = known.unwrap_or_else(|| {
                let counts = || Counts::new(&kernel.watched);
                self.tables.push(Table { of: kernel, counts: [counts(), counts()] });
                self.tables.len() - 1
            });
        }
        self.tables[self.table].counts[usize::from(self.follows)].words.as_mut_ptr()
    }

    /// From now on code runs blocks that the watch follows, or such that it does not.
    pub fn follow(&mut self, on: bool) {
        self.follows = on;
    }

    /// From now on accesses from bases in `range` that differ from this one by a multiple of the period are counted.
    fn arm(
        &mut self,
        watch: &mut dyn Watch,
        place: EventPlace,
        watched: &[WatchedAccess],
        (number, access): (u32, &WatchedAccess),
        (base, u): (u64, u64),
        range: Range<u64>,
    ) {
        let Some(table) = self.tables.get_mut(self.table) else { return };
        let counts = &mut table.counts[usize::from(self.follows)];
        let Some(mut own) = counts.of(number as usize, access) else { return };
        let new = Cells { lo: range.start, span: range.end.saturating_sub(range.start), u };
        if own.cells != new {
            tell_cells(watch, place, (watched, &self.accesses), access, &mut own);
            own.counts.fill(Cells::UNKNOWN);
            own.set(new);
        }
        let cell = Cells::cell(base, access.grain);
        if let (Some(count), Some(at)) = (own.counts.get_mut(cell), own.bases.get_mut(cell))
            && *count == Cells::UNKNOWN
        {
            (*count, *at) = (0, base);
        }
    }

    /// The members of an access were told, each by itself, the first of them at this address: from now on more like them are
    /// counted at once, if each might be.
    fn arm_apart(
        &mut self,
        watch: &mut dyn Watch,
        place: EventPlace,
        watched: &[WatchedAccess],
        (number, whole): (u32, &WatchedAccess),
        base: u64,
    ) {
        let mut range = Some(0..u64::MAX);
        for (access, site, more) in members(watched, &self.accesses, whole) {
            let at = EventPlace { pc: access.pc, ..place };
            let from = (base.wrapping_add_signed(more), 0);
            let own = watch.counts_more(&event(access, site, at, u32::MAX, from, None));
            range = range.zip(own).map(|(all, own)| shared_range(&all, &own, more));
        }
        match range {
            Some(range) => self.arm(watch, place, watched, (number, whole), (base, 0), range),
            None => {
                let table = self.tables.get_mut(self.table);
                let counts = table.map(|table| &mut table.counts[usize::from(self.follows)]);
                if let Some(mut own) = counts.and_then(|c| c.of(number as usize, whole)) {
                    let cells = own.cells;
                    own.set(Cells { u: 1, ..cells });
                }
            }
        }
    }

    fn block_of(&self, pc: u32) -> Option<usize> {
        self.block_at.get(pc as usize).map(|&b| b as usize)
    }

    /// Lanes went on (`sign` 1), or were stopped (-1), before the instruction at `pc` inside of its block.
    fn shift(&mut self, pc: u32, mask: u32, sign: i64) {
        let Some(b) = self.block_of(pc) else { return };
        let lanes = sign * i64::from(mask.count_ones());
        let row = &mut self.rows[b];
        let part = &mut row[Tally::Part as usize];
        *part = part.wrapping_add_signed(sign);
        let all = &mut row[Tally::Lanes as usize];
        *all = all.wrapping_add_signed(lanes);
        let head = &mut self.heads[pc as usize];
        *head = (head.0 - sign, head.1 - lanes);
    }

    /// Lanes go past the instruction at `pc`, before which the code was left.
    pub fn step(&mut self, pc: u32, mask: u32) {
        if !self.spans.is_empty() {
            let lanes = i64::from(mask.count_ones());
            let [here, next] = [pc as usize, pc as usize + 1];
            self.heads[here] = (self.heads[here].0 - 1, self.heads[here].1 - lanes);
            self.heads[next] = (self.heads[next].0 + 1, self.heads[next].1 + lanes);
        }
    }

    /// Lanes enter the code inside of a block.
    pub fn enter(&mut self, pc: u32, mask: u32) {
        if !self.spans.is_empty() {
            self.shift(pc, mask, 1);
        }
    }

    /// Lanes left the code inside of a block: the instruction at `pc` was not executed.
    pub fn leave(&mut self, pc: u32, mask: u32) {
        if !self.spans.is_empty() {
            self.shift(pc, mask, -1);
        }
    }

    /// After a call of compiled code that took so much fuel: whether it is time to tell.
    #[inline]
    pub fn is_due(&mut self, fuel: i64) -> bool {
        self.calls += 1;
        self.fuel = self.fuel.saturating_add(fuel);
        !self.spans.is_empty()
            && (self.calls >= CALLS_BETWEEN_REPORTS || self.fuel >= FUEL_BETWEEN_REPORTS)
    }

    /// Tells the sums since last time. No code runs; `kernel` is the one that ran last.
    pub fn tell(&mut self, watch: &mut dyn Watch, place: EventPlace) {
        if self.spans.is_empty() {
            return;
        }
        (self.calls, self.fuel) = (0, 0);
        for (row, span) in self.rows.iter_mut().zip(&self.spans) {
            let [full, part, lanes, divergent, taken] = std::mem::take(row);
            let executions = full.wrapping_add(part);
            let lanes = full.wrapping_mul(LANES as u64).wrapping_add(lanes);
            if (executions, lanes) != (0, 0) {
                watch.runs(span.start, span.end, executions as i64, lanes as i64);
            }
            if let Some(pc) = span.branch
                && (executions, lanes, divergent, taken) != (0, 0, 0, 0)
            {
                watch.branches(pc, &BranchSums { executions, divergent, lanes, taken });
            }
        }
        for pc in 0..self.heads.len() {
            let (executions, lanes) = std::mem::take(&mut self.heads[pc]);
            if (executions, lanes) != (0, 0)
                && let Some(b) = self.block_of(pc as u32)
            {
                watch.runs(self.spans[b].start, pc as u32, executions, lanes);
            }
        }
        for table in &mut self.tables {
            // SAFETY: a program keeps its kernels, and the launch its program.
            let of = unsafe { &*table.of };
            for (n, access) in of.watched.iter().enumerate().filter(|(_, w)| w.cells) {
                for mut own in table.counts.iter_mut().filter_map(|c| c.of(n, access)) {
                    tell_cells(watch, place, (&of.watched, &self.accesses), access, &mut own);
                }
            }
        }
        watch.sums_told();
    }
}

/// An access that is counted with others, or the only one: itself, what it accesses, and from the address of the whole to its own.
fn members<'a>(
    watched: &'a [WatchedAccess],
    sites: &'a [Option<AccessSite>],
    whole: &'a WatchedAccess,
) -> impl Iterator<Item = (&'a WatchedAccess, AccessSite, i64)> {
    let only = whole.members.is_empty().then_some((whole, 0));
    let each = whole.members.iter().filter_map(|m| Some((watched.get(m.number as usize)?, m.more)));
    only.into_iter().chain(each).filter_map(|(access, more)| {
        Some((access, sites.get(access.pc as usize).copied().flatten()?, more))
    })
}

/// Tells what the cells of an access have counted.
fn tell_cells(
    watch: &mut dyn Watch,
    place: EventPlace,
    (watched, sites): (&[WatchedAccess], &[Option<AccessSite>]),
    access: &WatchedAccess,
    own: &mut OwnCells<'_>,
) {
    let u = if access.apart { 0 } else { own.cells.u };
    let counted = own.counts.iter_mut().zip(own.bases.iter().copied());
    for (count, base) in counted.filter(|(count, _)| !matches!(**count, 0 | Cells::UNKNOWN)) {
        for (access, site, more) in members(watched, sites, access) {
            let at = EventPlace { pc: access.pc, ..place };
            let from = (base.wrapping_add_signed(more), u);
            let once = event(access, site, at, u32::MAX, from, None);
            watch.patterned(&PatternedEvent { times: *count, late: true, ..once });
        }
        *count = 0;
    }
}

/// Tells the watch what compiled code counted.
#[cold]
pub fn tell(cx: &mut Cx<'_>) {
    let place = cx.event_at(0);
    if let Some(watch) = &mut cx.watch {
        cx.tallies.tell(&mut **watch, place);
    }
}

/// Reports an access of compiled code at these addresses.
pub(super) unsafe extern "C" fn watch(
    context: *mut u8,
    pc: u32,
    mask: u32,
    addresses: *const [u64; 32],
    values: *const [u64; 32],
) -> u32 {
    // SAFETY: the context is the worker's own, which waits for the compiled code to return; addresses and values are on
    // that code's stack.
    unsafe {
        let cx = &mut *context.cast::<Cx<'_>>();
        super::run::find_running(cx);
        super::noted::tell(cx);
        let at = cx.event_at(pc);
        let admitted = tell_addresses(cx, at, mask, &*addresses, values.as_ref());
        if cx.tallies.site(pc).is_some_and(|site| site.space == Space::Local) {
            super::noted::settle(cx);
        }
        u32::from(!admitted)
    }
}

/// Asks about an access at these addresses and tells it, if it is admitted. Whether it is.
#[inline]
pub(super) fn tell_addresses(
    cx: &mut Cx<'_>,
    at: EventPlace,
    mask: u32,
    addresses: &[u64; LANES],
    values: Option<&[u64; LANES]>,
) -> bool {
    match in_row(cx, (at, mask), addresses, values) {
        Some(event) => tell_patterned(cx, &event).0,
        None => observe_compiled(cx, (at, mask), addresses, values),
    }
}

/// Steps from lane to lane that accesses have whose addresses the code does not know to follow from one.
const ROW_STEPS: [i64; 5] = [1, 2, 4, 8, 16];
static ROWS: [[i64; LANES]; ROW_STEPS.len()] = {
    let mut rows = [[0; LANES]; ROW_STEPS.len()];
    let mut n = 0;
    while n < ROW_STEPS.len() {
        let mut lane = 0;
        while lane < LANES {
            rows[n][lane] = ROW_STEPS[n] * lane as i64;
            lane += 1;
        }
        n += 1;
    }
    rows
};

/// The access of a whole warp as one of a pattern, if each lane's bytes begin where those of the lane before end.
fn in_row<'a>(
    cx: &Cx<'_>,
    (at, mask): (EventPlace, u32),
    addresses: &[u64; LANES],
    values: Option<&'a [u64; LANES]>,
) -> Option<PatternedEvent<'a>> {
    let AccessSite { space, access, bytes } = cx.tallies.site(at.pc)?;
    let (base, step) = (addresses[0], u64::from(bytes));
    if mask != u32::MAX || space == Space::Generic || addresses[1] != base.wrapping_add(step) {
        return None;
    }
    let rows = addresses.windows(2).fold(true, |all, a| all & (a[1].wrapping_sub(a[0]) == step));
    let n = ROW_STEPS.iter().position(|s| *s as u64 == step).filter(|_| rows)?;
    // No address is such a number.
    let site = 1 << 63 | u64::from(at.pc) << 4 | n as u64;
    Some(PatternedEvent {
        at,
        site,
        space,
        access,
        bytes,
        mask,
        base,
        pattern: &ROWS[n],
        second: None,
        times: 1,
        values,
        late: false,
    })
}

/// Asks about an access and tells it, if it is admitted. Whether it is, and which others may be counted in the code.
#[inline]
fn tell_patterned(cx: &mut Cx<'_>, event: &PatternedEvent<'_>) -> (bool, Option<Range<u64>>) {
    let Some(watch) = &mut cx.watch else { return (true, None) };
    if cx.interest.contains(Interest::ADMISSIONS) && !watch.admits_patterned(event) {
        return (false, None);
    }
    (true, watch.patterned(event))
}

/// Reports an access of compiled code by its number.
pub(super) unsafe extern "C" fn watch_linear(
    context: *mut u8,
    number: u32,
    mask: u32,
    base: u64,
    u: u64,
    values: *const [u64; 32],
) -> u32 {
    // SAFETY: as above; the kernel that runs is the one whose table of rooms is in use.
    unsafe {
        let cx = &mut *context.cast::<Cx<'_>>();
        super::run::find_running(cx);
        super::noted::tell(cx);
        let Some(kernel) = cx.rooms[0].kernel().as_ref() else { return 0 };
        let Some(access) = kernel.watched.get(number as usize) else { return 0 };
        let Some(site) = cx.tallies.site(access.pc) else { return 0 };
        let at = cx.event_at(access.pc);
        let told = (&kernel.watched[..], number);
        let admitted = tell_counted(cx, told, access, at, mask, (base, u), values.as_ref());
        match (site.space, site.access) {
            (Space::Shared, Access::Read) if admitted => super::noted::start(cx),
            // Nobody is asked.
            (Space::Shared | Space::Global, _) if !cx.tallies.asks => super::noted::start(cx),
            (Space::Local, _) => super::noted::settle(cx),
            _ => {}
        }
        u32::from(!admitted)
    }
}

/// What is in a range, and so far beyond it in another one.
fn shared_range(all: &Range<u64>, own: &Range<u64>, more: i64) -> Range<u64> {
    let of = |address: u64| address.saturating_add_signed(more.saturating_neg());
    all.start.max(of(own.start))..all.end.min(of(own.end))
}

/// Asks about an access and tells it, if it is admitted; more like it the code may count then. Whether it is.
///
/// Always inlined, as [`event`] is: what would be handed over in memory, in pieces, would be waited for when it is read whole.
#[inline(always)]
pub(super) fn tell_counted(
    cx: &mut Cx<'_>,
    (watched, number): (&[WatchedAccess], u32),
    access: &WatchedAccess,
    at: EventPlace,
    mask: u32,
    (base, u): (u64, u64),
    values: Option<&[u64; LANES]>,
) -> bool {
    if !access.members.is_empty() {
        tell_members(cx, (watched, number), access, at, mask, base);
        return true;
    }
    let Some(site) = cx.tallies.site(access.pc) else { return true };
    // Made where it is handed over, of what is in registers: `at` goes nowhere else.
    let event = event(access, site, at, mask, (base, u), values);
    if site.space == Space::Generic {
        return observe_compiled(cx, (event.at, mask), &event.addresses(), values);
    }
    let (admitted, range) = tell_patterned(cx, &event);
    if access.cells
        && let Some(range) = range
        && let Some(watch) = &mut cx.watch
    {
        cx.tallies.arm(&mut **watch, event.at, watched, (number, access), (base, u), range);
    }
    admitted
}

/// Tells accesses that the code counts at once; more like them it may count then.
#[cold]
fn tell_members(
    cx: &mut Cx<'_>,
    (watched, number): (&[WatchedAccess], u32),
    whole: &WatchedAccess,
    at: EventPlace,
    mask: u32,
    base: u64,
) {
    let Some(watch) = &mut cx.watch else { return };
    if whole.apart {
        return cx.tallies.arm_apart(&mut **watch, at, watched, (number, whole), base);
    }
    let mut range = Some(0..u64::MAX);
    for (access, site, more) in members(watched, &cx.tallies.accesses, whole) {
        let at = EventPlace { pc: access.pc, ..at };
        let from = (base.wrapping_add_signed(more), 0);
        let more_like = watch.patterned(&event(access, site, at, mask, from, None));
        range = range.zip(more_like).map(|(all, own)| shared_range(&all, &own, more));
    }
    if let Some(range) = range {
        cx.tallies.arm(&mut **watch, at, watched, (number, whole), (base, 0), range);
    }
}

/// [`PatternedEvent::site`] of an access: kernels keep theirs where they are.
#[inline(always)]
pub(super) fn site_of(access: &WatchedAccess) -> u64 {
    std::ptr::from_ref(access) as u64
}

/// An access of compiled code, once.
#[inline(always)]
pub(super) fn event<'a>(
    access: &'a WatchedAccess,
    site: AccessSite,
    at: EventPlace,
    mask: u32,
    (base, u): (u64, u64),
    values: Option<&'a [u64; 32]>,
) -> PatternedEvent<'a> {
    let EventPlace { ctaid: [x, y, z], warp, pc, smid } = at;
    PatternedEvent {
        at: EventPlace { ctaid: [x, y, z], warp, pc, smid },
        site: site_of(access),
        space: site.space,
        access: site.access,
        bytes: site.bytes,
        mask,
        base,
        pattern: &access.form.pat,
        second: access.form.q.as_ref().map(|q| (q, u)),
        times: 1,
        values,
        late: false,
    }
}

/// What the tallies miss where a kernel is entered.
pub(super) fn note_entry(cx: &mut Cx<'_>, kernel: &Kernel, entry: u32, mask: u32) {
    let e = &kernel.entries[entry as usize];
    if e.inside {
        cx.tallies.enter(e.pc, mask);
    }
}
