// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compiled functions of a program, made when they are first wanted.

use std::collections::{BTreeMap, HashMap};
use std::num::Wrapping;
use std::ops::{Add, Mul, Sub};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use margay_codegen::{
    self as codegen, Io, Options, Outline, Pattern, RoomGroup, RoomSite, Stored, WatchedAccess,
};
use margay_ir as ir;
use parking_lot::Mutex;

use super::make::{Ask, Landing, State};
use super::{background, hold, library, object};
use crate::interp::Env;
use crate::lanes::WARP;
use crate::program::Program;

/// What the compiled function looks like to the host.
pub type Function = unsafe extern "C" fn(*mut Io, u32, u32) -> u32;

/// One compiled function.
pub struct Kernel {
    _memory: object::Mapping,
    pub function: Function,
    pub exits: Vec<codegen::Exit>,
    pub entries: Vec<codegen::Entry>,
    /// Entries by address; not the one at the function's start where that zeroes registers.
    entry_at: Vec<(u32, u32)>,
    /// Local memory lies as [`Outline::private`] says.
    pub private: bool,
    pub groups: Vec<RoomGroup>,
    pub rooms: Vec<RoomSite>,
    /// Which of them are of each group.
    rooms_of: Vec<Vec<u32>>,
    /// Accesses that are reported by their number.
    pub watched: Vec<WatchedAccess>,
    /// Address, group and extent of each access, by the first.
    groups_at: Vec<(u32, (u32, u32))>,
}

impl Kernel {
    /// What an object was loaded as, and the address of its function.
    pub fn new(memory: object::Mapping, at: u64, outline: Outline, is_entry: bool) -> Kernel {
        // SAFETY: the object's function of this name has this type: the code was made so.
        let function = unsafe { std::mem::transmute::<u64, Function>(at) };
        let Outline { entries, exits, private, groups, rooms, watched } = outline;
        // Of several at one address the last is the one.
        let entry_at: BTreeMap<u32, u32> = (0..)
            .zip(&entries)
            .filter(|(n, e)| !(is_entry && *n == 0 || e.apart))
            .map(|(n, e)| (e.pc, n))
            .collect();
        let mut groups_at: Vec<_> = groups
            .iter()
            .enumerate()
            .flat_map(|(n, g)| g.accesses.iter().map(move |&(pc, slot)| (pc, (n as u32, slot))))
            .collect();
        groups_at.sort_unstable();
        let mut rooms_of = vec![Vec::new(); groups.len()];
        for (n, site) in (0..).zip(&rooms) {
            if let Some(of) = rooms_of.get_mut(site.group as usize) {
                of.push(n);
            }
        }
        Kernel {
            _memory: memory,
            function,
            exits,
            entries,
            entry_at: entry_at.into_iter().collect(),
            private,
            groups,
            rooms,
            watched,
            rooms_of,
            groups_at,
        }
    }

    /// The entry at an address, if there is one.
    pub fn entry_at(&self, pc: u32) -> Option<u32> {
        let n = self.entry_at.binary_search_by_key(&pc, |e| e.0).ok()?;
        Some(self.entry_at[n].1)
    }

    /// Numbers of the rooms of a group.
    pub fn rooms_of(&self, group: u32) -> &[u32] {
        self.rooms_of.get(group as usize).map_or(&[], Vec::as_slice)
    }

    /// Group and extent of the access at an address. Asked after each handler, most of which are of no access.
    pub fn group_at(&self, pc: u32) -> Option<(u32, u32)> {
        let n = self.groups_at.binary_search_by_key(&pc, |g| g.0).ok()?;
        Some(self.groups_at[n].1)
    }
}

/// The compiled functions of a program, by function and options.
#[derive(Default)]
pub struct Kernels {
    made: Mutex<HashMap<(u32, Options), State>>,
    /// Microseconds for which launches were interpreted.
    interpreted: AtomicU64,
    progress: Arc<Progress>,
    /// Whether anything was asked for yet.
    begun: AtomicBool,
    accesses: OnceLock<hold::Accesses>,
    /// What is known of its blocks that are alike: see [`crate::alike`].
    pub alike: crate::alike::Known,
    /// Nanoseconds that a thread took for a group of blocks of the last launch in compiled code, the bits of an `f64`; 0 before.
    pace: AtomicU64,
}

/// What other threads do for a program.
#[derive(Default)]
struct Progress {
    /// Threads that are at it, and how often one has ended.
    away: AtomicU64,
    landed: AtomicU64,
    /// Microseconds that LLVM will take for the longest text, about; 0 where there is none yet.
    compiling: AtomicU64,
}

impl Progress {
    /// Notes how long LLVM will take.
    fn noted(&self, state: State) -> State {
        if let State::Text(prepared) = &state {
            self.compiling.fetch_max(prepared.compiling(), Ordering::Relaxed);
        }
        state
    }
}

/// How much may be done for code that is not made yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// Nothing.
    Made,
    /// Look for it in the cache.
    Cached,
    /// Have another thread make its text too, which tells how long LLVM will take.
    Text,
    /// The same on this thread.
    TextHere,
    /// Compile it on another thread if it is not there.
    Background,
    Compile,
}

impl Kernels {
    /// The compiled function; `None` if it cannot be made, or would take more than is allowed.
    pub fn get(
        &self,
        program: &Program,
        function: u32,
        options: &Options,
        wait: Wait,
    ) -> Option<Arc<Kernel>> {
        // Whoever compiles keeps the others waiting, unless they have something else to do.
        let mut made = match wait {
            Wait::Compile => self.made.lock(),
            Wait::Made | Wait::Cached | Wait::Text | Wait::TextHere | Wait::Background => {
                self.made.try_lock()?
            }
        };
        let key = (function, options.clone());
        let state = match made.remove(&key) {
            None if wait == Wait::Made => return None,
            None => State::Unmade,
            Some(state) => state,
        };
        let ask = || Ask::new(program, function, options);
        let state = self.go_on(state, &ask, wait);
        let kernel = match &state {
            State::Unmade => return None,
            State::Made(kernel) => kernel.clone(),
            State::Missing(_) | State::Text(_) | State::Away(_) => None,
        };
        self.begun.store(true, Ordering::Relaxed);
        made.insert(key, state);
        kernel
    }

    /// Does for a function's code what may be done now.
    fn go_on(&self, state: State, ask: &dyn Fn() -> Ask, wait: Wait) -> State {
        match (state, wait) {
            (State::Made(kernel), _) => State::Made(kernel),
            (State::Away(landing), _) => {
                let landed = landing.lock().take();
                match (landed, wait) {
                    (Some(state), _) => self.go_on(state, ask, wait),
                    // Whoever waits for nothing else does it himself.
                    (None, Wait::Compile) => ask().look().compiled(),
                    (None, _) => State::Away(landing),
                }
            }
            (State::Unmade, Wait::Made) => State::Unmade,
            (State::Unmade, Wait::Cached | Wait::Text | Wait::TextHere) => {
                match library::known_target() {
                    Some(_) => self.go_on_from(ask().look(), wait),
                    None => State::Unmade,
                }
            }
            (State::Unmade, Wait::Background) => {
                let ask = ask();
                self.send(State::Unmade, move |_| ask.look().compiled())
            }
            (State::Unmade, Wait::Compile) => ask().look().compiled(),
            (state @ (State::Missing(_) | State::Text(_)), _) => self.go_on_from(state, wait),
        }
    }

    /// The same where the cache was asked.
    fn go_on_from(&self, state: State, wait: Wait) -> State {
        match (state, wait) {
            (state @ State::Missing(_), Wait::Text) => self.send(state, State::written),
            (state @ State::Missing(_), Wait::TextHere) => self.progress.noted(state.written()),
            (state @ (State::Missing(_) | State::Text(_)), Wait::Background) => {
                self.send(state, State::compiled)
            }
            (state, Wait::Compile) => state.compiled(),
            (state, Wait::Made | Wait::Cached | Wait::Text | Wait::TextHere | Wait::Background) => {
                state
            }
        }
    }

    /// Has a thread of its own do `work` with a state, which stays what it is if no thread can be had.
    fn send(&self, state: State, work: impl FnOnce(State) -> State + Send + 'static) -> State {
        /// Lands also where the work panics.
        struct Lands(Landing, Arc<Progress>);
        impl Drop for Lands {
            fn drop(&mut self) {
                self.0.lock().get_or_insert(State::Made(None));
                self.1.away.fetch_sub(1, Ordering::Relaxed);
                self.1.landed.fetch_add(1, Ordering::Release);
            }
        }
        let given = Arc::new(Mutex::new(Some(state)));
        let taken = given.clone();
        let landing = Landing::default();
        let lands = Lands(landing.clone(), self.progress.clone());
        self.progress.away.fetch_add(1, Ordering::Relaxed);
        let progress = self.progress.clone();
        let started = background::start(move || {
            let state = taken.lock().take().unwrap_or(State::Unmade);
            *lands.0.lock() = Some(progress.noted(work(state)));
        });
        let back = if started { None } else { given.lock().take() };
        back.unwrap_or(State::Away(landing))
    }

    /// Whether there may be code.
    pub fn begun(&self) -> bool {
        self.begun.load(Ordering::Relaxed)
    }

    /// Counts threads that have ended their work for this program.
    pub fn landed(&self) -> u64 {
        self.progress.landed.load(Ordering::Acquire)
    }

    /// Whether a thread is at work for this program.
    pub fn is_away(&self) -> bool {
        self.progress.away.load(Ordering::Relaxed) != 0
    }

    /// For how long LLVM will compile the longest text that was made, about.
    pub fn compiling(&self) -> Option<Duration> {
        let micros = self.progress.compiling.load(Ordering::Relaxed);
        (micros != 0).then_some(Duration::from_micros(micros))
    }

    /// Nanoseconds that a thread took for a group of blocks of the last launch that ended in compiled code.
    pub fn pace(&self) -> Option<f64> {
        let bits = self.pace.load(Ordering::Relaxed);
        (bits != 0).then(|| f64::from_bits(bits))
    }

    /// Keeps that.
    pub fn keep_pace(&self, nanoseconds: f64) {
        self.pace.store(nanoseconds.to_bits(), Ordering::Relaxed);
    }

    /// What of the kernel's accesses decides how it is compiled.
    pub fn accesses(&self, program: &Program) -> &hold::Accesses {
        self.accesses.get_or_init(|| hold::accesses(program))
    }

    /// For how long earlier launches were interpreted.
    pub fn spent(&self) -> Duration {
        Duration::from_micros(self.interpreted.load(Ordering::Relaxed))
    }

    /// Counts a launch that has ended.
    pub fn interpreted(&self, env: &Env<'_>) {
        if env.jit.get().is_none() {
            let micros = env.started.elapsed().as_micros() as u64;
            self.interpreted.fetch_add(micros, Ordering::Relaxed);
        }
    }
}

/// The lanes of a plane as they follow from lane 0, and with a second pattern from one more.
///
/// # Safety
/// The plane has an element for each lane.
unsafe fn by_pattern<T>(
    plane: *const Wrapping<T>,
    Pattern { pat, q }: &Pattern,
    of: impl Fn(i64) -> Wrapping<T>,
) -> [Wrapping<T>; WARP]
where
    T: Copy,
    Wrapping<T>: Add<Output = Wrapping<T>> + Sub<Output = Wrapping<T>> + Mul<Output = Wrapping<T>>,
{
    let second = Pattern { pat: *pat, q: *q }.second_lane();
    // SAFETY: by the contract.
    let read = |lane: usize| unsafe { *plane.add(lane) };
    let base = read(0);
    let u = second.map_or(of(0), |(lane, sign)| (read(lane) - base - of(pat[lane])) * of(sign));
    std::array::from_fn(|l| base + of(pat[l]) + q.map_or(of(0), |q| of(q[l]) * u))
}

fn word(n: i64) -> Wrapping<u32> {
    Wrapping(n as u32)
}

fn double(n: i64) -> Wrapping<u64> {
    Wrapping(n as u64)
}

/// Completes planes that an exit left with the lanes that a pattern follows from.
///
/// # Safety
/// `frame` is a frame of the function.
pub unsafe fn expand(frame: *mut u8, live: &[Stored]) {
    for s in live {
        let Some(pattern) = s.lin.as_deref() else { continue };
        // SAFETY: planes lie in the frame.
        unsafe {
            let at = frame.add(s.plane as usize);
            match s.class {
                ir::Class::P => {}
                ir::Class::W => *at.cast() = by_pattern(at.cast(), pattern, word),
                ir::Class::D => *at.cast() = by_pattern(at.cast(), pattern, double),
            }
        }
    }
}

/// Whether the lanes that run have what code asks of lane 0, and of a second one, or [`seat`] can give it.
pub fn may_seat(live: &[Stored], mask: u32) -> bool {
    let runs = |lane: usize| mask >> lane & 1 != 0;
    live.iter().all(|s| {
        let second = s.lin.as_deref().and_then(|pattern| pattern.second_lane());
        second.is_none_or(|(lane, _)| runs(0) && runs(lane))
    })
}

/// Gives lane 0, which does not run, what the others' registers follow from.
///
/// # Safety
/// `frame` is the function's, its planes are whole, and lane 0 has nothing in them that it still needs.
pub unsafe fn seat(frame: *mut u8, live: &[Stored], mask: u32) {
    let lane = mask.trailing_zeros() as usize % WARP;
    for s in live {
        let Some(pattern) = s.lin.as_deref() else { continue };
        // SAFETY: planes lie in the frame.
        unsafe {
            let at = frame.add(s.plane as usize);
            match s.class {
                ir::Class::P => {
                    let flags = at.cast::<u32>();
                    *flags = *flags & !1 | *flags >> lane & 1;
                }
                ir::Class::W => {
                    let plane = at.cast::<Wrapping<u32>>();
                    *plane = *plane.add(lane) - word(pattern.pat[lane]);
                }
                ir::Class::D => {
                    let plane = at.cast::<Wrapping<u64>>();
                    *plane = *plane.add(lane) - double(pattern.pat[lane]);
                }
            }
        }
    }
}

/// Whether registers have the form that code expects of them, in the lanes that run: where the interpreter has made a value, nobody
/// has checked that its lanes are as far apart as in 64 bits, or in 32.
///
/// # Safety
/// `frame` is the function's, and its planes are whole.
pub unsafe fn has_form(frame: *const u8, live: &[Stored], mask: u32) -> bool {
    fn alike<T: PartialEq>(own: &[T; WARP], other: [T; WARP], mask: u32) -> bool {
        (0..WARP).all(|l| mask >> l & 1 == 0 || own[l] == other[l])
    }
    live.iter().all(|s| {
        let Some(pattern) = s.lin.as_deref() else { return true };
        // SAFETY: planes lie in the frame.
        unsafe {
            let at = frame.add(s.plane as usize);
            match s.class {
                ir::Class::P => {
                    let flags = *at.cast::<u32>() & mask;
                    flags == 0 || flags == mask
                }
                ir::Class::W => alike(&*at.cast(), by_pattern(at.cast(), pattern, word), mask),
                ir::Class::D => alike(&*at.cast(), by_pattern(at.cast(), pattern, double), mask),
            }
        }
    })
}
