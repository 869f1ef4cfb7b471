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
use crate::program::{DecodedFunction, Program};

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
    /// Compilations in the background that have ended.
    landed: Arc<AtomicU64>,
    /// Whether anything was asked for yet.
    begun: AtomicBool,
    accesses: OnceLock<hold::Accesses>,
}

/// How much may be done for code that is not made yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// Nothing.
    Made,
    /// Load it from the cache.
    Cached,
    /// As `Cached`, and compile it on another thread if it is not there.
    Background,
    Compile,
}

/// How far a function's code is.
enum State {
    Text(Box<Prepared>),
    Compiling(Box<Prepared>, Landing),
    /// `None` for what cannot be made.
    Made(Option<Arc<Kernel>>),
}

/// Where a background thread leaves its object.
type Landing = Arc<Mutex<Option<Result<Vec<u8>, String>>>>;

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

struct Places<'a> {
    program: &'a Program,
    function: &'a DecodedFunction,
}

impl codegen::Places for Places<'_> {
    fn plane(&self, reg: ir::Reg) -> u32 {
        self.function.planes[reg.0 as usize]
    }
    fn start(&self, block: usize) -> u32 {
        self.function.starts[block]
    }
    fn slot(&self, pc: u32) -> u32 {
        self.program.code[pc as usize].slot & ((1 << SLOT_BITS) - 1)
    }
    fn constant(&self, pc: u32) -> Option<u32> {
        let a = self.program.code[pc as usize].a;
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
            Wait::Made | Wait::Cached | Wait::Background => self.made.try_lock()?,
        };
        let key = (function, options.clone());
        let state = match made.remove(&key) {
            None if wait == Wait::Made => return None,
            None => {
                self.begun.store(true, Ordering::Relaxed);
                prepare(program, function, options)
            }
            Some(state) => state,
        };
        let state = self.go_on(state, wait);
        let kernel = match &state {
            State::Made(kernel) => kernel.clone(),
            State::Text(_) | State::Compiling(..) => None,
        };
        made.insert(key, state);
        kernel
    }

    /// Does for a function's code what may be done now.
    fn go_on(&self, state: State, wait: Wait) -> State {
        match state {
            State::Made(kernel) => State::Made(kernel),
            State::Compiling(prepared, landing) => {
                let landed = landing.lock().take();
                match (landed, wait) {
                    (Some(object), _) => finish(*prepared, object, false),
                    (None, Wait::Compile) => {
                        let object = compile(&prepared.code.text, prepared.passes());
                        finish(*prepared, object, false)
                    }
                    (None, Wait::Made | Wait::Cached | Wait::Background) => {
                        State::Compiling(prepared, landing)
                    }
                }
            }
            State::Text(prepared) => {
                if wait == Wait::Made {
                    return State::Text(prepared);
                }
                if let Some(object) = cache::get(&prepared.key) {
                    return finish(*prepared, Ok(object), true);
                }
                match wait {
                    Wait::Made | Wait::Cached => State::Text(prepared),
                    Wait::Background => self.in_background(prepared),
                    Wait::Compile => {
                        let object = compile(&prepared.code.text, prepared.passes());
                        finish(*prepared, object, false)
                    }
                }
            }
        }
    }

    fn in_background(&self, prepared: Box<Prepared>) -> State {
        // What LLVM sets up late is set up here, by who launches: a program that has waited for its
        // launch may exit at any moment.
        if let Ok(jit) = library::get() {
            jit.set_up(PASSES);
        }
        let landing = Landing::default();
        let (place, landed) = (landing.clone(), self.landed.clone());
        let (text, passes) = (prepared.code.text.clone(), prepared.passes());
        let started = background::start(move || {
            let object = compile(&text, passes);
            *place.lock() = Some(object);
            landed.fetch_add(1, Ordering::Release);
        });
        match started {
            true => State::Compiling(prepared, landing),
            false => State::Text(prepared),
        }
    }

    /// Whether there may be code.
    pub fn begun(&self) -> bool {
        self.begun.load(Ordering::Relaxed)
    }

    /// Counts compilations in the background that have ended.
    pub fn landed(&self) -> u64 {
        self.landed.load(Ordering::Acquire)
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
fn prepare(program: &Program, function: u32, options: &Options) -> State {
    let started = Instant::now();
    let decoded = &program.functions[function as usize];
    let ir = &program.module.ir.functions[decoded.id.0 as usize];
    let places = Places { program, function: decoded };
    let made = library::target().and_then(|target| {
        let code = codegen::compile(ir, &places, options, &target.cpu, &target.features)
            .map_err(|codegen::Refused(why)| why.to_owned())?;
        let key = cache::key(&[&code.text, &target.cpu, &target.features, passes(&code)]);
        Ok((code, key))
    });
    let (code, key) = match made {
        Ok(made) => made,
        Err(why) => return refused(&decoded.name, &why),
    };
    let prepared = Prepared {
        code,
        key,
        name: decoded.name.to_string(),
        full: options.full,
        is_entry: ir.is_entry,
        started,
        text_made: started.elapsed(),
    };
    dump(&prepared, "ll", prepared.code.text.as_bytes());
    State::Text(Box::new(prepared))
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

/// Loads an object, and keeps it if it is new.
fn finish(prepared: Prepared, object: Result<Vec<u8>, String>, mut cached: bool) -> State {
    let loaded = object.and_then(|object| match object::load(&object, codegen::SYMBOL) {
        Ok(loaded) => Ok((object, loaded)),
        // What lay in the cache was not what it was called.
        Err(_) if cached => {
            cached = false;
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
    if cached {
        CACHED.fetch_add(1, Ordering::Relaxed);
    } else {
        COMPILED.fetch_add(1, Ordering::Relaxed);
        cache::put(&prepared.key, &object);
    }
    dump(&prepared, "o", &object);
    if log() {
        eprintln!(
            "margay: `{}`{} {} in {:.1} ms (text {:.1} ms, {} lines)",
            prepared.name,
            if prepared.full { "" } else { " for part of a warp" },
            if cached { "taken from the cache" } else { "compiled" },
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
