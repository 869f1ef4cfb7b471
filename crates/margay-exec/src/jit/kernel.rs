// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compiled functions of a program, made when they are first wanted.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use margay_codegen::{
    self as codegen, Code, Io, Options, Pattern, RoomGroup, RoomSite, Stored, WatchedAccess,
};
use margay_ir as ir;
use parking_lot::Mutex;

use super::{background, cache, hold, library, object};
use crate::handlers::address::SLOT_BITS;
use crate::interp::Env;
use crate::program::{LoadedModule, Program};

/// What the compiled function looks like to the host.
pub type Function = unsafe extern "C" fn(*mut Io, u32, u32) -> u32;

/// LLVM's passes: those of `O2` that pay on code without calls or scalar loops to vectorise.
const PASSES: &str = "sroa,early-cse<memssa>,instcombine<no-verify-fixpoint>,simplifycfg,\
jump-threading,loop-simplify,lcssa,loop-mssa(licm),gvn,dse,instcombine<no-verify-fixpoint>,\
simplifycfg,early-cse";
/// The same for code in strips.
const FEW_PASSES: &str = "sroa,early-cse<memssa>,instcombine<no-verify-fixpoint>,simplifycfg,\
loop-simplify,lcssa,loop-mssa(licm),simplifycfg,early-cse<memssa>";

/// One compiled function.
pub struct Kernel {
    _memory: object::Mapping,
    pub function: Function,
    pub exits: Vec<codegen::Exit>,
    pub entries: Vec<codegen::Entry>,
    /// Entries by address; not the one at the function's start where that zeroes registers.
    pub entry_at: HashMap<u32, u32>,
    /// Local memory lies as [`Code::private`] says.
    pub private: bool,
    pub groups: Vec<RoomGroup>,
    pub rooms: Vec<RoomSite>,
    /// Accesses that are reported by their number.
    pub watched: Vec<WatchedAccess>,
    /// Group and extent of each access, by its address.
    pub group_at: HashMap<u32, (u32, u32)>,
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
    /// Have another thread make its text and look for it in the cache.
    Cached,
    /// The same on this thread.
    CachedHere,
    /// Compile it on another thread if it is not there.
    Background,
    Compile,
}

/// How far a function's code is.
enum State {
    /// There is no text, as nobody knows yet for which processor.
    Unmade,
    /// It is not in the cache.
    Text(Box<Prepared>),
    /// A thread of its own is at it.
    Away(Landing),
    /// `None` for what cannot be made.
    Made(Option<Arc<Kernel>>),
}

/// Where a thread leaves what it has made.
type Landing = Arc<Mutex<Option<State>>>;

/// A function's text, and what it must be called with.
struct Prepared {
    code: Code,
    key: String,
    name: String,
    full: bool,
    is_entry: bool,
    started: Instant,
    text_made: Duration,
}

impl Prepared {
    fn passes(&self) -> &'static str {
        passes(&self.code)
    }

    /// Microseconds that LLVM takes for this text, about.
    fn compiling(&self) -> u64 {
        /// A line of code in strips, which works on a register at a time, and of other code.
        const PER_LINE: [u64; 2] = [30, 80];
        let lines = self.code.text.lines().count() as u64;
        lines * PER_LINE[usize::from(!self.code.strips)]
    }
}

/// The passes for a function's code.
fn passes(code: &Code) -> &'static str {
    if code.strips { FEW_PASSES } else { PASSES }
}

/// What this process made so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Functions that LLVM compiled.
    pub compiled: u64,
    /// Functions whose objects came from the cache.
    pub cached: u64,
}

static COMPILED: AtomicU64 = AtomicU64::new(0);
static CACHED: AtomicU64 = AtomicU64::new(0);

/// What this process made so far.
pub fn counts() -> Counts {
    let get = |n: &AtomicU64| n.load(Ordering::Relaxed);
    Counts { compiled: get(&COMPILED), cached: get(&CACHED) }
}

/// What a function's text is made from.
struct Source {
    module: Arc<LoadedModule>,
    id: ir::FuncId,
    name: Arc<str>,
    options: Options,
    planes: Vec<u32>,
    starts: Vec<u32>,
    /// Of each decoded instruction the number of its slot, and its first operand.
    code: Vec<(u32, u32)>,
}

impl Source {
    fn new(program: &Program, function: u32, options: &Options) -> Source {
        let decoded = &program.functions[function as usize];
        Source {
            module: program.module.clone(),
            id: decoded.id,
            name: decoded.name.clone(),
            options: options.clone(),
            planes: decoded.planes.clone(),
            starts: decoded.starts.clone(),
            code: program.code.iter().map(|inst| (inst.slot, inst.a)).collect(),
        }
    }
}

impl codegen::Places for Source {
    fn plane(&self, reg: ir::Reg) -> u32 {
        self.planes[reg.0 as usize]
    }
    fn start(&self, block: usize) -> u32 {
        self.starts[block]
    }
    fn slot(&self, pc: u32) -> u32 {
        self.code[pc as usize].0 & ((1 << SLOT_BITS) - 1)
    }
    fn constant(&self, pc: u32) -> Option<u32> {
        let a = self.code[pc as usize].1;
        (a & 1 != 0).then_some(a & !1)
    }
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
            Wait::Made | Wait::Cached | Wait::CachedHere | Wait::Background => {
                self.made.try_lock()?
            }
        };
        let key = (function, options.clone());
        let state = match made.remove(&key) {
            None if wait == Wait::Made => return None,
            None => State::Unmade,
            Some(state) => state,
        };
        let source = || Source::new(program, function, options);
        let state = self.go_on(state, &source, wait);
        let kernel = match &state {
            State::Unmade => return None,
            State::Made(kernel) => kernel.clone(),
            State::Text(_) | State::Away(_) => None,
        };
        self.begun.store(true, Ordering::Relaxed);
        made.insert(key, state);
        kernel
    }

    /// Does for a function's code what may be done now.
    fn go_on(&self, state: State, source: &dyn Fn() -> Source, wait: Wait) -> State {
        match (state, wait) {
            (State::Made(kernel), _) => State::Made(kernel),
            (State::Away(landing), _) => {
                let landed = landing.lock().take();
                match (landed, wait) {
                    (Some(state), _) => self.go_on(state, source, wait),
                    // Whoever waits for nothing else does it himself.
                    (None, Wait::Compile) => prepared(&source()).compiled(),
                    (None, _) => State::Away(landing),
                }
            }
            (State::Unmade, Wait::Made) => State::Unmade,
            (State::Unmade, Wait::Cached | Wait::CachedHere) if !library::may_be_known() => {
                State::Unmade
            }
            (State::Unmade, Wait::CachedHere) => match library::known_target() {
                Some(_) => self.progress.noted(prepared(&source()).found()),
                None => State::Unmade,
            },
            (State::Unmade, Wait::Cached) => {
                let source = source();
                self.send(State::Unmade, move || match library::known_target() {
                    Some(_) => prepared(&source).found(),
                    None => State::Unmade,
                })
            }
            (State::Unmade, Wait::Background) => {
                let source = source();
                self.send(State::Unmade, move || prepared(&source).found().compiled())
            }
            (State::Unmade, Wait::Compile) => prepared(&source()).found().compiled(),
            (State::Text(prepared), Wait::Made | Wait::Cached | Wait::CachedHere) => {
                State::Text(prepared)
            }
            (State::Text(prepared), Wait::Background) => {
                // It stays what it is where no thread can be had.
                let text = Arc::new(Mutex::new(Some(prepared)));
                let mine = text.clone();
                let sent = self.send(State::Unmade, move || match mine.lock().take() {
                    Some(prepared) => State::Text(prepared).compiled(),
                    None => State::Unmade,
                });
                let back = match sent {
                    State::Unmade => text.lock().take(),
                    State::Text(_) | State::Away(_) | State::Made(_) => None,
                };
                back.map_or(sent, State::Text)
            }
            (State::Text(prepared), Wait::Compile) => State::Text(prepared).found().compiled(),
        }
    }

    /// Has a thread of its own do `work`; `otherwise` if none can be had.
    fn send(&self, otherwise: State, work: impl FnOnce() -> State + Send + 'static) -> State {
        /// Lands also where the work panics.
        struct Lands(Landing, Arc<Progress>);
        impl Drop for Lands {
            fn drop(&mut self) {
                self.0.lock().get_or_insert(State::Made(None));
                self.1.away.fetch_sub(1, Ordering::Relaxed);
                self.1.landed.fetch_add(1, Ordering::Release);
            }
        }
        let landing = Landing::default();
        let lands = Lands(landing.clone(), self.progress.clone());
        self.progress.away.fetch_add(1, Ordering::Relaxed);
        let progress = self.progress.clone();
        let started = background::start(move || {
            *lands.0.lock() = Some(progress.noted(work()));
        });
        if started { State::Away(landing) } else { otherwise }
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

/// Whether what is compiled, and what is not, is told on stderr (`MARGAY_JIT_LOG=1`).
pub fn log() -> bool {
    static LOG: OnceLock<bool> = OnceLock::new();
    *LOG.get_or_init(|| std::env::var_os("MARGAY_JIT_LOG").is_some_and(|v| v != "0"))
}

/// Tells `perf` where the code of a kernel lies.
fn name_for_perf(name: &str, (at, bytes): (u64, usize)) {
    use std::io::Write as _;
    let path = std::env::temp_dir().join(format!("perf-{}.map", std::process::id()));
    if let Ok(mut file) = std::fs::File::options().create(true).append(true).open(path) {
        let _ = writeln!(file, "{at:x} {bytes:x} {name}");
    }
}

/// Makes a function's text.
fn prepared(source: &Source) -> State {
    let started = Instant::now();
    let ir = &source.module.ir.functions[source.id.0 as usize];
    let options = &source.options;
    let made = library::target().and_then(|target| {
        let code = codegen::compile(ir, source, options, &target.cpu, &target.features)
            .map_err(|codegen::Refused(why)| why.to_owned())?;
        let key = cache::key(&[&code.text, &target.cpu, &target.features, passes(&code)]);
        Ok((code, key))
    });
    let (code, key) = match made {
        Ok(made) => made,
        Err(why) => return refused(&source.name, &why),
    };
    let prepared = Prepared {
        code,
        key,
        name: source.name.to_string(),
        full: options.full,
        is_entry: ir.is_entry,
        started,
        text_made: started.elapsed(),
    };
    dump(&prepared, "ll", prepared.code.text.as_bytes());
    State::Text(Box::new(prepared))
}

impl State {
    /// With the object from the cache, if that has it.
    fn found(self) -> State {
        match self {
            State::Text(prepared) => match cache::get(&prepared.key) {
                Some(object) => finish(*prepared, Ok(object), Origin::Cache),
                None => State::Text(prepared),
            },
            State::Unmade | State::Away(_) | State::Made(_) => self,
        }
    }

    /// With what LLVM makes of the text.
    fn compiled(self) -> State {
        match self {
            State::Text(prepared) => {
                let object = compile(&prepared.code.text, prepared.passes());
                finish(*prepared, object, Origin::Llvm)
            }
            State::Unmade | State::Away(_) | State::Made(_) => self,
        }
    }
}

fn refused(name: &str, why: &str) -> State {
    if log() {
        eprintln!("margay: `{name}` is interpreted: {why}");
    }
    State::Made(None)
}

/// Keeps a text or an object for inspection, if `MARGAY_JIT_DUMP` names a folder.
fn dump(prepared: &Prepared, ending: &str, bytes: &[u8]) {
    if let Some(folder) = std::env::var_os("MARGAY_JIT_DUMP") {
        let part = if prepared.full { "full" } else { "part" };
        let name = format!("{}.{part}.{ending}", prepared.name);
        let _ = std::fs::write(std::path::Path::new(&folder).join(name), bytes);
    }
}

fn compile(text: &str, passes: &str) -> Result<Vec<u8>, String> {
    let jit = library::get().inspect_err(|why| library::tell_missing(why))?;
    jit.compile(text, passes, 2)
}

/// Has LLVM opened, and set up what it sets up late, on a thread of its own. Whether this call has begun that: then
/// [`background::wait_until_opened`] is to be called before the launch ends, as a program that has waited for its launch may
/// exit at any moment.
pub fn open_in_background() -> bool {
    background::open(|| {
        if library::target().is_ok()
            && let Ok(jit) = library::get()
        {
            jit.set_up(PASSES);
        }
    })
}

/// Where an object comes from.
#[derive(Clone, Copy, PartialEq)]
enum Origin {
    Cache,
    Llvm,
}

/// Loads an object, and keeps it if it is new.
fn finish(prepared: Prepared, object: Result<Vec<u8>, String>, mut from: Origin) -> State {
    let loaded = object.and_then(|object| match object::load(&object, codegen::SYMBOL) {
        Ok(loaded) => Ok((object, loaded)),
        // What lay in the cache was not what it was called.
        Err(_) if from == Origin::Cache => {
            from = Origin::Llvm;
            let object = compile(&prepared.code.text, prepared.passes())?;
            let loaded = object::load(&object, codegen::SYMBOL)?;
            Ok((object, loaded))
        }
        Err(why) => Err(why),
    });
    let (object, (memory, at)) = match loaded {
        Ok(found) => found,
        Err(why) => return refused(&prepared.name, &why),
    };
    match from {
        Origin::Cache => CACHED.fetch_add(1, Ordering::Relaxed),
        Origin::Llvm => COMPILED.fetch_add(1, Ordering::Relaxed),
    };
    if from == Origin::Llvm {
        cache::put(&prepared.key, &object);
    }
    dump(&prepared, "o", &object);
    if log() {
        eprintln!(
            "margay: `{}`{} {} in {:.1} ms (text {:.1} ms, {} lines)",
            prepared.name,
            if prepared.full { "" } else { " for part of a warp" },
            if from == Origin::Cache { "taken from the cache" } else { "compiled" },
            prepared.started.elapsed().as_secs_f64() * 1e3,
            prepared.text_made.as_secs_f64() * 1e3,
            prepared.code.text.lines().count(),
        );
    }
    if std::env::var_os("MARGAY_JIT_DUMP").is_some() {
        name_for_perf(&prepared.name, memory.range());
    }
    // SAFETY: the object's function of this name has this type: the code was made so.
    let function = unsafe { std::mem::transmute::<u64, Function>(at) };
    let Code { text: _, entries, exits, private, groups, rooms, watched, strips: _ } =
        prepared.code;
    let entry_at = entries
        .iter()
        .enumerate()
        .filter(|(n, e)| !(prepared.is_entry && *n == 0 || e.apart))
        .map(|(n, e)| (e.pc, n as u32))
        .collect();
    let group_at = groups
        .iter()
        .enumerate()
        .flat_map(|(n, g)| g.accesses.iter().map(move |&(pc, slot)| (pc, (n as u32, slot))))
        .collect();
    State::Made(Some(Arc::new(Kernel {
        _memory: memory,
        function,
        exits,
        entries,
        entry_at,
        private,
        groups,
        rooms,
        watched,
        group_at,
    })))
}

/// Completes planes that an exit left with the lanes that a pattern follows from.
///
/// # Safety
/// `frame` is a frame of the function.
pub unsafe fn expand(frame: *mut u8, live: &[Stored]) {
    for s in live {
        let Some(Pattern { pat, q }) = &s.lin else { continue };
        let second = Pattern { pat: *pat, q: *q }.second_lane();
        // SAFETY: planes lie in the frame.
        unsafe {
            let at = frame.add(s.plane as usize);
            match s.class {
                ir::Class::P => {}
                ir::Class::W => {
                    let p = at.cast::<u32>();
                    let base = *p;
                    let u = second.map_or(0, |(lane, sign)| {
                        let there =
                            (*p.add(lane)).wrapping_sub(base).wrapping_sub(pat[lane] as u32);
                        there.wrapping_mul(sign as u32)
                    });
                    for l in 0..32 {
                        let more = q.map_or(0, |q| (q[l] as u32).wrapping_mul(u));
                        *p.add(l) = base.wrapping_add(pat[l] as u32).wrapping_add(more);
                    }
                }
                ir::Class::D => {
                    let p = at.cast::<u64>();
                    let base = *p;
                    let u = second.map_or(0, |(lane, sign)| {
                        let there =
                            (*p.add(lane)).wrapping_sub(base).wrapping_sub(pat[lane] as u64);
                        there.wrapping_mul(sign as u64)
                    });
                    for l in 0..32 {
                        let more = q.map_or(0, |q| (q[l] as u64).wrapping_mul(u));
                        *p.add(l) = base.wrapping_add(pat[l] as u64).wrapping_add(more);
                    }
                }
            }
        }
    }
}
