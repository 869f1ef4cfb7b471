// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compiled functions of a program, made when they are first wanted.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use margay_codegen::{self as codegen, Code, Io, Options, Pattern, RoomGroup, RoomSite, Stored};
use margay_ir as ir;
use parking_lot::Mutex;

use super::{cache, library, object};
use crate::handlers::address::SLOT_BITS;
use crate::interp::Env;
use crate::program::{DecodedFunction, Program};

/// What the compiled function looks like to the host.
pub type Function = unsafe extern "C" fn(*mut Io, u32, u32) -> u32;

/// LLVM's passes: those of `O2` that pay on code without calls or scalar loops to vectorise.
const PASSES: &str = "sroa,early-cse<memssa>,instcombine<no-verify-fixpoint>,simplifycfg,\
jump-threading,loop-simplify,lcssa,loop-mssa(licm),gvn,dse,instcombine<no-verify-fixpoint>,\
simplifycfg,early-cse";

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
    /// Group and extent of each access, by its address.
    pub group_at: HashMap<u32, (u32, u32)>,
}

/// The compiled functions of a program, by function and options; `None` for what cannot be made.
#[derive(Default)]
pub struct Kernels {
    made: Mutex<Made>,
    /// Microseconds for which launches were interpreted.
    interpreted: AtomicU64,
    looked: AtomicBool,
    compiled: AtomicBool,
}

/// How much may be done for code that is not made yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// Nothing.
    Made,
    /// Load it from the cache.
    Cached,
    Compile,
}

type Made = HashMap<(u32, Options), Option<Arc<Kernel>>>;

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
        let mut made = self.made.lock();
        let key = (function, options.clone());
        if let Some(known) = made.get(&key) {
            return known.clone();
        }
        if wait == Wait::Made {
            return None;
        }
        let kernel = match compile(program, function, options, wait) {
            Ok(Some(kernel)) => Some(Arc::new(kernel)),
            Ok(None) => return None,
            Err(why) => {
                if log() {
                    let name = &program.functions[function as usize].name;
                    eprintln!("margay: `{name}` is interpreted: {why}");
                }
                None
            }
        };
        made.insert(key, kernel.clone());
        kernel
    }

    /// For how long earlier launches were interpreted.
    pub fn spent(&self) -> Duration {
        Duration::from_micros(self.interpreted.load(Ordering::Relaxed))
    }

    /// Whether the cache was not looked at before. Another shape of block looks no second time.
    pub fn first_look(&self) -> bool {
        !self.looked.swap(true, Ordering::Relaxed)
    }

    pub fn first_compile(&self) -> bool {
        !self.compiled.swap(true, Ordering::Relaxed)
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

fn compile(
    program: &Program,
    function: u32,
    options: &Options,
    wait: Wait,
) -> Result<Option<Kernel>, String> {
    let jit = library::get()?;
    let started = std::time::Instant::now();
    let decoded = &program.functions[function as usize];
    let ir = &program.module.ir.functions[decoded.id.0 as usize];
    let places = Places { program, function: decoded };
    let code = codegen::compile(ir, &places, options, &jit.cpu, &jit.features)
        .map_err(|codegen::Refused(why)| why.to_owned())?;
    let text_made = started.elapsed();
    let Code { text, entries, exits, private, groups, rooms } = code;
    if let Some(folder) = std::env::var_os("MARGAY_JIT_DUMP") {
        let name = format!("{}.{}.ll", decoded.name, if options.full { "full" } else { "part" });
        let _ = std::fs::write(std::path::Path::new(&folder).join(name), &text);
    }
    let key = cache::key(&[&text, &jit.cpu, &jit.features, PASSES]);
    let (found, cached) = match cache::get(&key) {
        Some(bytes) => (bytes, true),
        None if wait != Wait::Compile => return Ok(None),
        None => (jit.compile(&text, PASSES, 2)?, false),
    };
    let (memory, at) = match object::load(&found, codegen::SYMBOL) {
        Ok(loaded) => loaded,
        // What lay in the cache was not what it was called.
        Err(_) if cached => object::load(&jit.compile(&text, PASSES, 2)?, codegen::SYMBOL)?,
        Err(why) => return Err(why),
    };
    if !cached {
        cache::put(&key, &found);
    }
    if let Some(folder) = std::env::var_os("MARGAY_JIT_DUMP") {
        let name = format!("{}.{}.o", decoded.name, if options.full { "full" } else { "part" });
        let _ = std::fs::write(std::path::Path::new(&folder).join(name), &found);
    }
    if log() {
        eprintln!(
            "margay: `{}`{} compiled in {:.1} ms (text {:.1} ms, {} lines{})",
            decoded.name,
            if options.full { "" } else { " for part of a warp" },
            started.elapsed().as_secs_f64() * 1e3,
            text_made.as_secs_f64() * 1e3,
            text.lines().count(),
            if cached { ", cached" } else { "" },
        );
    }
    // SAFETY: the object's function of this name has this type: the code was made so.
    let function = unsafe { std::mem::transmute::<u64, Function>(at) };
    let fresh = ir.is_entry;
    let entry_at = entries
        .iter()
        .enumerate()
        .filter(|(n, _)| !(fresh && *n == 0))
        .map(|(n, e)| (e.pc, n as u32))
        .collect();
    let group_at = groups
        .iter()
        .enumerate()
        .flat_map(|(n, g)| g.accesses.iter().map(move |&(pc, slot)| (pc, (n as u32, slot))))
        .collect();
    Ok(Some(Kernel {
        _memory: memory,
        function,
        exits,
        entries,
        entry_at,
        private,
        groups,
        rooms,
        group_at,
    }))
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
