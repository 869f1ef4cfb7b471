// SPDX-License-Identifier: MIT OR Apache-2.0
//! The host program's own accesses to managed memory that a kernel may be using.
//!
//! Kept only where a tool asks for it. A launch whose arguments point into memory of `cudaMallocManaged`, or whose code names
//! `__managed__` variables that have pages of their own ([`own`]), is *held*: it does not begin before the host program waits for something, and until then that memory is closed to the host. What touches
//! it is noted, and the page is opened. So it does not depend on how fast the kernel is whether an access of the host comes
//! before its end.
//!
//! Invariant: while memory is closed no work of any queue runs. [`enter`] waits until it is open.
//!
//! Limits: a page is opened by the first access, so that later ones are not seen. System calls into closed memory fail with
//! `EFAULT`, as they do on cards without `concurrentManagedAccess`. A program that does not wait has its kernels begin after
//! a moment ([`PATIENCE`], which halves each time).

use std::cell::Cell;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use margay_exec::mem::{AddressSpace, AllocKind};
use margay_exec::program::Program;
use margay_ir::{AddrOf, Attr};
use margay_observe::tool::{HostAccess, HostPlace};
use parking_lot::{Condvar, Mutex, MutexGuard};

use crate::{caller, signal};

/// How long a launch waits for the host program, at first.
const PATIENCE: Duration = Duration::from_secs(1);
/// Less than this is no patience any more.
const LEAST: Duration = Duration::from_millis(4);
/// Ranges that are closed at once, at most.
const RANGES: usize = 64;
/// Accesses that are kept, at most.
const KEPT: usize = 1024;

static WANTED: AtomicBool = AtomicBool::new(false);
static GATE: Mutex<Gate> = Mutex::new(Gate::new());
static CHANGED: Condvar = Condvar::new();
/// Closed ranges, first address and end; those up to [`CLOSED`] count. The handler reads them.
static STARTS: [AtomicU64; RANGES] = [const { AtomicU64::new(0) }; RANGES];
static ENDS: [AtomicU64; RANGES] = [const { AtomicU64::new(0) }; RANGES];
static CLOSED: AtomicUsize = AtomicUsize::new(0);
/// Launches held so far.
static LAUNCHES: AtomicU64 = AtomicU64::new(0);
/// Variables of the host program that share no page with anything else.
static VARIABLES: Mutex<Vec<Range<u64>>> = Mutex::new(Vec::new());
/// What the handler noted, of which the first so many are whole.
static NOTES: [Note; KEPT] = [const { Note::new() }; KEPT];
static TAKEN: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// A queue's own thread: what it does is no access of the host program.
    static SERVES: Cell<bool> = const { Cell::new(false) };
}

struct Gate {
    /// Items of queues that run.
    running: u32,
    /// When closed memory is opened at the latest.
    deadline: Option<Instant>,
    patience: Duration,
}

impl Gate {
    const fn new() -> Gate {
        Gate { running: 0, deadline: None, patience: PATIENCE }
    }

    fn is_closed(&self) -> bool {
        self.deadline.is_some()
    }
}

/// Frames of the host program that are kept of an access.
const FRAMES: usize = 8;

/// An access, as the handler notes it.
struct Note {
    address: AtomicU64,
    writes: AtomicBool,
    /// Launches that were held by then.
    launches: AtomicU64,
    frames: [AtomicU64; FRAMES],
    whole: AtomicBool,
}

impl Note {
    const fn new() -> Note {
        Note {
            address: AtomicU64::new(0),
            writes: AtomicBool::new(false),
            launches: AtomicU64::new(0),
            frames: [const { AtomicU64::new(0) }; FRAMES],
            whole: AtomicBool::new(false),
        }
    }
}

impl Note {
    /// Where the program did it: of the instruction and the calls that led to it, the first that the program's own source
    /// has, and else the first that is known at all.
    fn place(&self) -> Option<HostPlace> {
        let frames = self.frames.iter().map(|f| f.load(Ordering::Relaxed)).filter(|f| *f != 0);
        caller::place(frames).map(|(place, _)| place)
    }
}

/// A tool wants to know.
pub fn want() {
    WANTED.store(true, Ordering::Relaxed);
}

fn is_wanted() -> bool {
    WANTED.load(Ordering::Relaxed)
}

/// A host variable that is a managed one, from `base` on, shares no page with anything else. Until [`disown`].
pub fn own(base: u64, size: u64) {
    if is_wanted() {
        VARIABLES.lock().push(base..base + size);
    }
}

/// Ends [`own`].
pub fn disown(base: u64) {
    VARIABLES.lock().retain(|variable| variable.start != base);
}

/// The managed variables that a kernel's code names.
fn named(program: &Program) -> Vec<u64> {
    let module = program.module();
    if !module.ir.globals.iter().any(|global| global.managed) {
        return Vec::new();
    }
    let address = |pc| {
        let Attr::Address { of: AddrOf::Global(id), .. } = program.inst(pc)?.attr else {
            return None;
        };
        let is_managed = module.ir.globals.get(id.0 as usize)?.managed;
        module.addresses.get(id.0 as usize).copied().filter(|_| is_managed)
    };
    (0..program.code_len()).filter_map(address).collect()
}

/// The managed memory that a launch's arguments point into, or that its code names, in whole pages.
fn managed(params: &[u8], program: &Program, memory: &AddressSpace) -> Vec<Range<u64>> {
    let words = params.chunks_exact(8).filter_map(|bytes| bytes.try_into().ok());
    let pointers = words.map(u64::from_le_bytes).chain(named(program));
    let found = pointers.filter_map(|at| memory.find(at));
    let page = signal::page();
    let variables = VARIABLES.lock();
    let is_managed = |base: u64, kind: AllocKind| {
        kind == AllocKind::Managed || variables.iter().any(|variable| variable.start == base)
    };
    let mut all: Vec<Range<u64>> = found
        .filter(|allocation| is_managed(allocation.base, allocation.kind) && allocation.size != 0)
        .map(|a| a.base / page * page..(a.base + a.size).next_multiple_of(page))
        .collect();
    all.sort_by_key(|range| (range.start, range.end));
    all.dedup();
    all
}

/// The host program launches a kernel with these parameters. If the launch is held, its number.
pub fn launch(params: &[u8], program: &Program, memory: &AddressSpace) -> Option<u64> {
    if !is_wanted() || SERVES.get() {
        return None;
    }
    let ranges = managed(params, program, memory);
    if ranges.is_empty() || !signal::is_supported() {
        return None;
    }
    let mut gate = GATE.lock();
    let until = Instant::now() + gate.patience;
    // Copies that were queued before are soon done; a kernel may wait for the host.
    while gate.running != 0 {
        if CHANGED.wait_until(&mut gate, until).timed_out() {
            lose_patience(&mut gate);
            break;
        }
    }
    if gate.running != 0 || gate.patience < LEAST {
        return None;
    }
    for range in ranges {
        close(range);
    }
    if CLOSED.load(Ordering::Acquire) == 0 {
        return None;
    }
    gate.deadline = Some(Instant::now() + gate.patience);
    Some(LAUNCHES.fetch_add(1, Ordering::AcqRel) + 1)
}

/// Closes a range to the host, unless there are too many.
fn close(range: Range<u64>) {
    let known = CLOSED.load(Ordering::Acquire);
    let is_there = |n: usize| {
        let start = STARTS[n].load(Ordering::Relaxed);
        (start, ENDS[n].load(Ordering::Relaxed)) == (range.start, range.end)
    };
    // Of an earlier launch: the pages that the host has touched since are closed again.
    if (0..known).any(is_there) {
        signal::protect(range, signal::Protection::None);
        return;
    }
    if known == RANGES {
        return;
    }
    STARTS[known].store(range.start, Ordering::Relaxed);
    ENDS[known].store(range.end, Ordering::Relaxed);
    // Before a page is closed, as its first access may come at once.
    CLOSED.store(known + 1, Ordering::Release);
    if !signal::install(touched) || !signal::protect(range, signal::Protection::None) {
        CLOSED.store(known, Ordering::Release);
    }
}

fn lose_patience(gate: &mut Gate) {
    gate.patience /= 2;
}

/// Opens what is closed.
fn open_all(gate: &mut MutexGuard<'_, Gate>) {
    if gate.deadline.take().is_none() {
        return;
    }
    let closed = CLOSED.load(Ordering::Acquire);
    for n in 0..closed {
        let range = STARTS[n].load(Ordering::Relaxed)..ENDS[n].load(Ordering::Relaxed);
        signal::protect(range, signal::Protection::All);
    }
    CLOSED.store(0, Ordering::Release);
    CHANGED.notify_all();
}

/// The host program waits for work, asks for its state, or has the runtime touch memory.
pub fn open() {
    if is_wanted() && !SERVES.get() {
        open_all(&mut GATE.lock());
    }
}

/// Counts a queue's item while it runs.
pub struct Running(());

/// A queue's thread is about to run an item.
pub fn enter() -> Option<Running> {
    if !is_wanted() {
        return None;
    }
    SERVES.set(true);
    let mut gate = GATE.lock();
    while let Some(deadline) = gate.deadline {
        if CHANGED.wait_until(&mut gate, deadline).timed_out() && gate.is_closed() {
            lose_patience(&mut gate);
            open_all(&mut gate);
        }
    }
    gate.running += 1;
    Some(Running(()))
}

impl Drop for Running {
    fn drop(&mut self) {
        GATE.lock().running -= 1;
        CHANGED.notify_all();
    }
}

/// What the host program did since a launch was held. Empty if it was not.
pub fn since(launch: Option<u64>) -> Vec<HostAccess> {
    let Some(launch) = launch else { return Vec::new() };
    let notes = &NOTES[..TAKEN.load(Ordering::Acquire).min(KEPT)];
    let ours = |note: &&Note| {
        note.whole.load(Ordering::Acquire) && note.launches.load(Ordering::Relaxed) >= launch
    };
    let access = |note: &Note| HostAccess {
        address: note.address.load(Ordering::Relaxed),
        writes: note.writes.load(Ordering::Relaxed),
        place: note.place(),
    };
    notes.iter().filter(ours).map(access).collect()
}

/// The handler of a fault at an address. Whether it is one of closed memory, which is open now.
///
/// Runs in a signal handler: atomics and system calls only.
fn touched(fault: &signal::Fault) -> bool {
    let page = signal::page();
    let at = fault.address / page * page;
    let closed = 0..CLOSED.load(Ordering::Acquire);
    let within = |n: usize| {
        (STARTS[n].load(Ordering::Relaxed)..ENDS[n].load(Ordering::Relaxed)).contains(&at)
    };
    if !closed.clone().any(within) {
        return false;
    }
    let number = TAKEN.fetch_add(1, Ordering::AcqRel);
    if let Some(note) = NOTES.get(number) {
        note.address.store(fault.address, Ordering::Relaxed);
        note.writes.store(fault.writes, Ordering::Relaxed);
        note.launches.store(LAUNCHES.load(Ordering::Acquire), Ordering::Relaxed);
        fault.frames(|n, frame| {
            if let Some(place) = note.frames.get(n) {
                place.store(frame, Ordering::Relaxed);
            }
            n + 1 < FRAMES
        });
        note.whole.store(true, Ordering::Release);
    }
    // A write after a read is seen, too.
    let allowed = match fault.writes {
        true => signal::Protection::All,
        false => signal::Protection::Read,
    };
    signal::protect(at..at + page, allowed)
}
