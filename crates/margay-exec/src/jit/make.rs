// SPDX-License-Identifier: MIT OR Apache-2.0
//! How a function gets its code: by the hash of what it is made from out of the cache, else by its text and LLVM.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use margay_codegen::{self as codegen, Code, Layout, Options, Outline};
use margay_ir as ir;
use parking_lot::Mutex;

use super::kernel::Kernel;
use super::{background, cache, library, object};
use crate::handlers::address::SLOT_BITS;
use crate::program::{LoadedModule, Program};

/// LLVM's passes: those of `O2` that pay on code without calls or scalar loops to vectorise.
const PASSES: &str = "sroa,early-cse<memssa>,instcombine<no-verify-fixpoint>,simplifycfg,\
jump-threading,loop-simplify,lcssa,loop-mssa(licm),gvn<no-memdep>,early-cse<memssa>,dse,\
instcombine<no-verify-fixpoint>,simplifycfg,early-cse";
/// The same for code in strips.
const FEW_PASSES: &str = "sroa,early-cse<memssa>,instcombine<no-verify-fixpoint>,simplifycfg,\
loop-simplify,lcssa,loop-mssa(licm),simplifycfg,early-cse<memssa>";
/// How hard LLVM's code generator works. With 1 it does not order instructions once more behind register allocation, which of strips
/// is a tenth of its time, and they run as fast; bitonic sort, which is none, takes 1.2 times as long so.
const LEVEL: u32 = 2;
const STRIPS_LEVEL: u32 = 1;

/// What this process made so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Functions that LLVM compiled.
    pub compiled: u64,
    /// Functions whose objects came from the cache.
    pub cached: u64,
    /// Blocks of watched launches that were not watched, because another was rehearsed for them.
    pub unwatched: u64,
    /// The same of which code told what data decide.
    pub partly_watched: u64,
}

impl Counts {
    /// Functions that got code, from wherever.
    pub fn functions(&self) -> u64 {
        self.compiled + self.cached
    }
}

static COMPILED: AtomicU64 = AtomicU64::new(0);
static CACHED: AtomicU64 = AtomicU64::new(0);
static UNWATCHED: AtomicU64 = AtomicU64::new(0);
static PARTLY_WATCHED: AtomicU64 = AtomicU64::new(0);

/// Notes that so many blocks were not watched, or only partly.
pub(crate) fn were_unwatched(blocks: u64, wholly: bool) {
    let count = if wholly { &UNWATCHED } else { &PARTLY_WATCHED };
    count.fetch_add(blocks, Ordering::Relaxed);
}

/// What this process made so far.
pub fn counts() -> Counts {
    let get = |n: &AtomicU64| n.load(Ordering::Relaxed);
    Counts {
        compiled: get(&COMPILED),
        cached: get(&CACHED),
        unwatched: get(&UNWATCHED),
        partly_watched: get(&PARTLY_WATCHED),
    }
}

/// How far a function's code is.
pub enum State {
    /// Nobody has looked for it, as nobody knows yet for which processor.
    Unmade,
    /// It is not in the cache.
    Missing(Box<Wanted>),
    /// The same, and its text is there.
    Text(Box<Prepared>),
    /// A thread of its own is at it.
    Away(Landing),
    /// `None` for what cannot be made.
    Made(Option<Arc<Kernel>>),
}

/// Where a thread leaves what it has made.
pub type Landing = Arc<Mutex<Option<State>>>;

/// What code is asked for.
pub struct Ask {
    module: Arc<LoadedModule>,
    id: ir::FuncId,
    name: Arc<str>,
    options: Options,
    layout: Layout,
}

impl Ask {
    pub fn new(program: &Program, function: u32, options: &Options) -> Ask {
        let decoded = &program.functions[function as usize];
        let ir = &program.module.ir.functions[decoded.id.0 as usize];
        // Its blocks lie one after the other, each with its terminator.
        let first = decoded.starts.iter().copied().min().unwrap_or(0);
        let count: usize = ir.blocks.iter().map(|b| b.insts.len() + 1).sum();
        let code = &program.code[first as usize..][..count];
        Ask {
            module: program.module.clone(),
            id: decoded.id,
            name: decoded.name.clone(),
            options: options.clone(),
            layout: Layout {
                planes: decoded.planes.clone(),
                starts: decoded.starts.clone(),
                first,
                slots: code.iter().map(|inst| inst.slot & ((1 << SLOT_BITS) - 1)).collect(),
                constants: code
                    .iter()
                    .map(|inst| (inst.a & 1 != 0).then_some(inst.a & !1))
                    .collect(),
            },
        }
    }

    /// What the cache has for it.
    pub fn look(&self) -> State {
        let wanted = match Wanted::new(self) {
            Ok(wanted) => wanted,
            Err(why) => return refused(&self.name, &why),
        };
        match wanted.cached() {
            Some(kernel) => State::Made(Some(Arc::new(kernel))),
            None => State::Missing(Box::new(wanted)),
        }
    }
}

/// What a function's code is made from, and the key that the cache has for that.
pub struct Wanted {
    source: codegen::Source,
    key: String,
    name: Arc<str>,
    full: bool,
    is_entry: bool,
    started: Instant,
}

impl Wanted {
    fn new(ask: &Ask) -> Result<Wanted, String> {
        let started = Instant::now();
        let ir = &ask.module.ir.functions[ask.id.0 as usize];
        let target = library::target()?;
        let (cpu, features) = (&target.cpu, &target.features);
        let source = codegen::Source::new(ir, ask.layout.clone(), &ask.options, cpu, features)
            .map_err(|codegen::Refused(why)| why.to_owned())?;
        let levels = [LEVEL, STRIPS_LEVEL].map(|level| level as u8);
        let key = cache::key(&[&source.key(), PASSES.as_bytes(), FEW_PASSES.as_bytes(), &levels]);
        let (full, is_entry) = (ask.options.full, ir.is_entry);
        Ok(Wanted { source, key, name: ask.name.clone(), full, is_entry, started })
    }

    /// The function out of the cache.
    fn cached(&self) -> Option<Kernel> {
        let bytes = cache::get(&self.key)?;
        let (outline, object) = unpacked(&bytes)?;
        // What is not what it is called counts as not there.
        let kernel = self.load(object, outline).ok()?;
        CACHED.fetch_add(1, Ordering::Relaxed);
        if dumps()
            && let Ok(code) = codegen::compile(&self.source)
        {
            self.dump("ll", code.text.as_bytes());
        }
        self.tell("taken from the cache", "");
        Some(kernel)
    }

    fn load(&self, object: &[u8], outline: Outline) -> Result<Kernel, String> {
        let (memory, at) = object::load(object, codegen::SYMBOL)?;
        self.dump("o", object);
        if dumps() {
            name_for_perf(&self.name, memory.range());
        }
        Ok(Kernel::new(memory, at, outline, self.is_entry))
    }

    /// Makes its text.
    fn written(self) -> State {
        let started = Instant::now();
        let code = match codegen::compile(&self.source) {
            Ok(code) => code,
            Err(codegen::Refused(why)) => return refused(&self.name, why),
        };
        self.dump("ll", code.text.as_bytes());
        State::Text(Box::new(Prepared { code, wanted: self, text_made: started.elapsed() }))
    }

    /// Keeps a text or an object for inspection, if `MARGAY_JIT_DUMP` names a folder.
    fn dump(&self, ending: &str, bytes: &[u8]) {
        if let Some(folder) = std::env::var_os("MARGAY_JIT_DUMP") {
            let part = if self.full { "full" } else { "part" };
            let name = format!("{}.{part}.{ending}", self.name);
            let _ = std::fs::write(std::path::Path::new(&folder).join(name), bytes);
        }
    }

    fn tell(&self, what: &str, more: &str) {
        if log() {
            eprintln!(
                "margay: `{}`{} {what} in {:.1} ms{more}",
                self.name,
                if self.full { "" } else { " for part of a warp" },
                self.started.elapsed().as_secs_f64() * 1e3,
            );
        }
    }
}

/// A function's text.
pub struct Prepared {
    wanted: Wanted,
    code: Code,
    text_made: Duration,
}

impl Prepared {
    /// Microseconds that LLVM takes for this text, about.
    pub fn compiling(&self) -> u64 {
        /// A line of code in strips, which works on a register at a time, and of other code.
        const PER_LINE: [u64; 2] = [30, 80];
        let lines = self.code.text.lines().count() as u64;
        lines * PER_LINE[usize::from(!self.code.strips)]
    }

    /// What LLVM makes of it.
    fn compiled(self) -> State {
        let Prepared { wanted, code, text_made } = self;
        let (passes, level) = match code.strips {
            true => (FEW_PASSES, STRIPS_LEVEL),
            false => (PASSES, LEVEL),
        };
        let lines = code.text.lines().count();
        let made = library::get()
            .inspect_err(|why| library::tell_missing(why))
            .and_then(|jit| jit.compile(&code.text, passes, level))
            .and_then(|object| {
                let packed = packed(&code.outline, &object);
                Ok((wanted.load(&object, code.outline)?, packed))
            });
        let (kernel, packed) = match made {
            Ok(made) => made,
            Err(why) => return refused(&wanted.name, &why),
        };
        COMPILED.fetch_add(1, Ordering::Relaxed);
        cache::put(&wanted.key, &packed);
        let text = text_made.as_secs_f64() * 1e3;
        wanted.tell("compiled", &format!(" (text {text:.1} ms, {lines} lines)"));
        State::Made(Some(Arc::new(kernel)))
    }
}

impl State {
    /// With the text, unless the code is there.
    pub fn written(self) -> State {
        match self {
            State::Missing(wanted) => wanted.written(),
            State::Unmade | State::Text(_) | State::Away(_) | State::Made(_) => self,
        }
    }

    /// With what LLVM makes of the text.
    pub fn compiled(self) -> State {
        match self.written() {
            State::Text(prepared) => prepared.compiled(),
            other => other,
        }
    }
}

/// An object as the cache has it, behind what the engine must know of it.
fn packed(outline: &Outline, object: &[u8]) -> Vec<u8> {
    let outline = outline.to_bytes();
    let length = (outline.len() as u64).to_le_bytes();
    [&length[..], &outline, object].concat()
}

fn unpacked(bytes: &[u8]) -> Option<(Outline, &[u8])> {
    let (length, rest) = bytes.split_first_chunk()?;
    let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
    let (outline, object) = rest.split_at_checked(length)?;
    Some((Outline::from_bytes(outline)?, object))
}

fn refused(name: &str, why: &str) -> State {
    if log() {
        eprintln!("margay: `{name}` is interpreted: {why}");
    }
    State::Made(None)
}

/// Whether what is compiled, and what is not, is told on stderr (`MARGAY_JIT_LOG=1`).
pub fn log() -> bool {
    static LOG: OnceLock<bool> = OnceLock::new();
    *LOG.get_or_init(|| std::env::var_os("MARGAY_JIT_LOG").is_some_and(|v| v != "0"))
}

fn dumps() -> bool {
    std::env::var_os("MARGAY_JIT_DUMP").is_some()
}

/// Tells `perf` where the code of a kernel lies.
fn name_for_perf(name: &str, (at, bytes): (u64, usize)) {
    use std::io::Write as _;
    let path = std::env::temp_dir().join(format!("perf-{}.map", std::process::id()));
    if let Ok(mut file) = std::fs::File::options().create(true).append(true).open(path) {
        let _ = writeln!(file, "{at:x} {bytes:x} {name}");
    }
}

/// Has LLVM opened, and set up what it sets up late, on a thread of its own, unless one has begun that already.
/// [`background::may_exit_here`] must have been called on threads that may end the process.
pub fn open_in_background() {
    background::open(|| {
        if library::target().is_ok()
            && let Ok(jit) = library::get()
        {
            jit.set_up(PASSES);
        }
    });
}
