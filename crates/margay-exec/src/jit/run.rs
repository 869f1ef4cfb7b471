// SPDX-License-Identifier: MIT OR Apache-2.0
//! Running compiled code: whole blocks as long as every warp stays in it, or one warp of a block that
//! the interpreter schedules.

use std::sync::{Arc, OnceLock};

use margay_codegen::{
    AGAIN, AT_BARRIER, AT_DONE, DONE, Entry, FAULT, FIRST_EXIT, Io, Options, Parted, Reason, Room,
    RoomSite, VariableBounds, Watched,
};

use margay_ir::Op;

use super::called::{Called, Lazy};
use super::choice;
use super::hold::Holds;
use super::kernel::{Kernel, Wait, expand, has_form, may_seat, seat};
use super::watching::{note_entry, tell, watched};
use super::{Engine, engine, library};
use crate::alike::Alike;
use crate::block::{Group, WARP_SLICE, local_stride, report_block};
use crate::buffer::{Buffer, Pool};
use crate::fault::{Access, Fault};
use crate::handlers::address::admitted;
use crate::interp::{Cx, Env};
use crate::lanes::{FULL, Flow, LaneFault, WARP};
use crate::launch::LaunchConfig;
use crate::mem::Extent;
use crate::observe::Interest;
use crate::program::Program;
use crate::reach::{name_meant, pointer, root_address};
use crate::variables::VariableSite;
use crate::warp::{Adopted, Warp};

/// Instructions of a warp before the block is handed to the scheduler, which sees to fairness.
const FUEL: i64 = 1_000_000;
/// The same for a warp of a block that is run whole: long, but not for ever.
const WHOLE_FUEL: i64 = 20_000_000;
/// Rounds of barriers of a block before code for whole blocks lets the engine look.
const ROUNDS: u32 = 64;
/// Rounds of barriers after which a block that polls memory is handed over.
const POLLING_ROUNDS: u32 = 32;
/// Instructions of a block after which it is handed over.
pub(super) const PATIENCE: u64 = 16_000_000;
/// The code of a launch's kernel.
pub struct LaunchCode {
    /// Runs whole blocks, one after the other, where all their warps are full.
    whole: Option<Arc<Kernel>>,
    /// The same for blocks in which no warp needs to wait with its first store, where `whole` has them wait.
    free: Option<Arc<Kernel>>,
    /// Runs a full warp from wherever it stands; made when a block is first handed over if there is
    /// code for whole ones.
    full: Lazy,
    /// The code that runs blocks of a watched launch that need not be watched.
    plain: Option<Box<LaunchCode>>,
    /// For fragments of fewer lanes, once there is such code.
    pub(super) part: Option<Arc<Kernel>>,
    /// Code of what the kernel calls.
    called: OnceLock<Called>,
    pub(super) options: Options,
}

/// The engine that a launch asks for.
pub(super) fn chosen(env: &Env<'_>) -> Engine {
    env.config.engine.unwrap_or_else(engine)
}

/// Whether a kernel may tell in which order its threads ran: by atomics or by what it prints. With a
/// seed such kernels are interpreted, so that both engines give the same.
fn order_matters(program: &Program) -> bool {
    program.insts().any(|i| matches!(i.op, Op::Atom | Op::AtomWide | Op::Syscall | Op::SurfStore))
}

/// The bytes that accesses of shared memory are to stay in, if somebody wants to know of others.
fn variables(env: &Env<'_>) -> Vec<VariableBounds> {
    if !env.observer.is_some_and(|o| o.compiled().contains(Interest::VARIABLES)) {
        return Vec::new();
    }
    let bounds =
        |site: &VariableSite| VariableBounds { pc: site.pc, first: site.first, end: site.end };
    env.variable_sites().iter().map(bounds).collect()
}

impl LaunchCode {
    /// Gives a launch its code before it begins, where that is asked for by name or is there already.
    pub fn at_start(env: &Env<'_>) {
        match chosen(env) {
            Engine::Interp => {}
            Engine::Jit => LaunchCode::make(env, Wait::Compile),
            Engine::Auto if choice::looks_at_once(env) => LaunchCode::make(env, Wait::Cached),
            Engine::Auto if env.program.kernels.begun() => LaunchCode::make(env, Wait::Made),
            Engine::Auto => {}
        }
    }

    pub(super) fn make(env: &Env<'_>, wait: Wait) {
        if env.config.seed.is_some() && order_matters(env.program) {
            return;
        }
        let Some(watched) = watched(env.observer) else { return };
        let target = match wait {
            // Whether there is one is for the thread to find out that looks.
            Wait::Made | Wait::Cached | Wait::Text | Wait::TextHere => None,
            Wait::Background | Wait::Compile => Some(library::target()),
        };
        if let Some(Err(why)) = target {
            // A kernel too short to be worth compiling is interpreted anyway, and so is every kernel
            // where no code can be made at all.
            let wanted = match chosen(env) {
                Engine::Interp => false,
                Engine::Jit => true,
                Engine::Auto => library::possible(),
            };
            if wanted || super::make::log() {
                library::tell_missing(&why);
            }
            return;
        }
        let threads: u64 = env.config.block.iter().map(|&n| n as u64).product();
        let warps = threads.div_ceil(WARP as u64);
        let program = env.program;
        let function = program.kernel();
        let accesses = program.kernels.accesses(program);
        let alone = env.config.cluster.iter().all(|&n| n <= 1);
        let options = Options {
            block: env.config.block,
            full: true,
            loops: true,
            hold: warps > 1 && env.holds(),
            blocks: false,
            plain: plain(env, accesses),
            short: short(env, accesses),
            lockstep: env.machine.sm < 70,
            environment: usual_environment(env, accesses),
            watched,
            silent: Vec::new(),
            variables: variables(env),
        };
        let mut code = LaunchCode::none(options.clone());
        let get = |wish: &Options| program.kernels.get(program, 0, wish, wait);
        let full_warps = threads.is_multiple_of(WARP as u64);
        // Others than the scheduler's turns of warps are for nobody who watches.
        let rows = !watched.any() || env.config.seed.is_none();
        if full_warps && alone && rows && margay_codegen::runs_blocks(function) {
            let wish = Options { blocks: true, loops: false, ..options };
            if watched.any() {
                code.find_alike(env, &wish, wait);
            }
            // Where nobody is watched code that tells is not needed.
            let all = env.alike.found().is_some_and(|alike| alike.whole && alike.has_all());
            code.whole = match code.plain() {
                Some((_, plain)) if all => Some(plain.clone()),
                _ => get(&wish),
            };
            if code.whole.is_none() {
                return;
            }
            if !watched.any() {
                code.find_free(env, &wish, wait);
            }
        } else {
            if !full_warps {
                code.part = get(&Options { full: false, ..options.clone() });
            }
            // Code for some lanes serves where there is no full warp.
            let full = if threads < WARP as u64 { code.part.clone() } else { get(&options) };
            let Some(full) = full.filter(|_| full_warps || code.part.is_some()) else { return };
            code.full.set(Some(full));
        }
        let _ = env.jit.set(code);
    }

    /// No code yet.
    fn none(options: Options) -> LaunchCode {
        LaunchCode {
            whole: None,
            free: None,
            plain: None,
            full: Lazy::default(),
            part: None,
            called: OnceLock::new(),
            options,
        }
    }

    /// Gets the code for blocks in which no warp waits, where there are some.
    fn find_free(&mut self, env: &Env<'_>, wish: &Options, wait: Wait) {
        let frees = |env: &Env<'_>| match env.who_holds() {
            Holds::Some(conflicts) => conflicts.frees_some(),
            Holds::Nobody | Holds::Everybody => false,
        };
        // A seed gives blocks other numbers than their places.
        if wish.hold && env.config.seed.is_none() && frees(env) {
            let wish = Options { hold: false, ..wish.clone() };
            self.free = env.program.kernels.get(env.program, 0, &wish, wait);
        }
    }

    /// Finds the blocks of a watched launch that need not be watched, and gets the code for them.
    fn find_alike(&mut self, env: &Env<'_>, wish: &Options, wait: Wait) {
        let kernels = &env.program.kernels;
        let Some(plan) = env.alike.plan(env) else { return };
        let wish = match plan.whole {
            true => Options { watched: Watched::default(), ..wish.clone() },
            false => Options { silent: plan.told().collect(), ..wish.clone() },
        };
        let mut plain = LaunchCode::none(wish.clone());
        let get = |plain: &mut LaunchCode| {
            plain.whole = kernels.get(env.program, 0, &wish, wait);
            plain.whole.is_some()
        };
        // Where some is watched all the same to look for blocks may not pay, and the code would be made for nothing.
        if plan.whole && !get(&mut plain) {
            return;
        }
        let began = std::time::Instant::now();
        let found = env.alike.find(env, plan);
        let took = began.elapsed();
        if super::make::log() {
            let (name, found) =
                (env.program.name(), found.map_or_else(Default::default, Alike::size));
            eprintln!(
                "margay: {} blocks of `{name}` are like one of {} ({took:.1?})",
                found.1, found.0
            );
        }
        if found.is_none() || !plan.whole && !get(&mut plain) {
            return;
        }
        if plan.whole {
            plain.find_free(env, &wish, wait);
        }
        self.plain = Some(Box::new(plain));
    }

    /// The code for one full warp.
    fn full(&self, env: &Env<'_>) -> Option<&Kernel> {
        self.full.get(env, 0, &self.options)
    }

    /// The code of a function that the kernel calls. Whoever watches is told by the interpreter of what it does.
    fn called(&self, env: &Env<'_>, function: u32, mask: u32, others: bool) -> Option<&Kernel> {
        if self.options.watched.any() {
            return None;
        }
        let called = self.called.get_or_init(|| Called::new(env.program, &self.options));
        called.get(env, function, mask, others)
    }

    /// The code for blocks that nobody watches, where there are such.
    pub(super) fn plain(&self) -> Option<(&LaunchCode, &Arc<Kernel>)> {
        let plain = self.plain.as_deref()?;
        Some((plain, plain.whole.as_ref()?))
    }

    /// The code that runs the first blocks of a chunk, of which `whole` may run any, and how many.
    fn kernel_of<'k>(
        &'k self,
        env: &Env<'_>,
        whole: &'k Arc<Kernel>,
        chunk: Chunk,
    ) -> (&'k Arc<Kernel>, u32) {
        match (&self.free, env.who_holds()) {
            (Some(free), Holds::Some(conflicts)) => {
                match conflicts.stretch(chunk.first, chunk.count) {
                    (true, count) => (whole, count),
                    (false, count) => (free, count),
                }
            }
            _ => (whole, chunk.count),
        }
    }

    /// What runs single warps, once it is made: full ones, and those of fewer lanes.
    pub(super) fn single(&self) -> Option<(Arc<Kernel>, Arc<Kernel>)> {
        let full = self.full.made()?.clone();
        let part = self.part.clone().unwrap_or_else(|| full.clone());
        Some((full, part))
    }
}

/// Whether the launch is of the usual kind that code is better for: see [`Options::plain`].
fn plain(env: &Env<'_>, accesses: &super::hold::Accesses) -> bool {
    let small = env.config.grid.iter().zip(env.config.block).all(|(&blocks, threads)| {
        blocks as u64 * margay_codegen::widest(threads) <= margay_codegen::PLAIN_THREADS
    });
    small
        && accesses.pointers.iter().all(|&at| {
            let address = pointer(at, env.config);
            address.is_none_or(|a| a & 15 == 0 && (a == 0 || env.memory.find(a).is_some()))
        })
}

/// See [`Options::short`].
fn short(env: &Env<'_>, accesses: &super::hold::Accesses) -> bool {
    accesses
        .pointers
        .iter()
        .filter_map(|&at| pointer(at, env.config))
        .all(|address| env.memory.find(address).is_none_or(|a| a.size <= u64::from(u32::MAX)))
}

/// Which environment registers that the kernel reads have their usual value.
fn usual_environment(env: &Env<'_>, accesses: &super::hold::Accesses) -> u32 {
    let config = env.config;
    (0..32u8)
        .filter(|&n| accesses.environment >> n & 1 != 0)
        .filter(|&n| margay_codegen::usual(n, config.block) == Some(config.environment(n)))
        .fold(0, |mask, n| mask | 1 << n)
}

/// The handler of the instruction at `pc`, called from compiled code.
pub(super) unsafe extern "C" fn op(context: *mut u8, pc: u32, mask: u32) -> u32 {
    // SAFETY: the context is the worker's own, which waits for the compiled code to return; frames
    // and planes are those that it was set up for.
    unsafe {
        let cx = &mut *context.cast::<Cx<'_>>();
        find_running(cx);
        super::noted::tell(cx);
        let inst = &*cx.env.program.code.as_ptr().add(pc as usize);
        cx.exec = mask;
        cx.mask = mask & (cx.pred(inst.guard) ^ inst.guard_xor);
        cx.view.alive = cx.io.alive;
        // Compiled code asks itself before a store.
        cx.hold = false;
        let asked = cx.tallies.asked(pc).filter(|_| cx.mask != 0);
        if let Some(site) = asked
            && site.access != Access::Write
            && !admitted(cx, pc, site)
        {
            return 2;
        }
        match (inst.handler)(cx, inst) {
            Flow::Next => {
                keep_room(cx, pc);
                if let Some(site) = asked
                    && site.access == Access::Write
                {
                    // Only now it is known that it is no fault; and stores are not turned away.
                    admitted(cx, pc, site);
                }
                0
            }
            Flow::Fault => {
                cx.fault_pc = pc;
                1
            }
            Flow::Jump
            | Flow::Split
            | Flow::Call
            | Flow::Ret
            | Flow::Exit
            | Flow::Table
            | Flow::Await
            | Flow::Meet
            | Flow::Barrier
            | Flow::Syscall
            | Flow::Pause
            | Flow::Hold => 2,
        }
    }
}

/// What compiled code knows of memory: a room for each kind of access of the kernel `of`.
pub struct Rooms {
    of: *const Kernel,
    epoch: u64,
    table: Vec<Room>,
}

impl Rooms {
    pub fn new() -> Rooms {
        Rooms { of: std::ptr::null(), epoch: 0, table: Vec::new() }
    }

    /// The kernel that the table is of.
    pub(super) fn kernel(&self) -> *const Kernel {
        self.of
    }
}

/// Says why a block goes to the interpreter; the first of them do.
#[cold]
fn tell_hand_over(cx: &Cx<'_>, kernel: &Kernel, last: Option<(usize, usize)>) {
    static TOLD: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    if TOLD.fetch_add(1, std::sync::atomic::Ordering::Relaxed) >= 20 {
        return;
    }
    let name = cx.env.program.name();
    match last.map(|(_, n)| &kernel.exits[n]) {
        Some(exit) => {
            let place = cx.env.program.place(exit.pc);
            let (why, line) = (exit.reason, place.ptx_line);
            let what = place.instruction;
            eprintln!(
                "margay: a block of `{name}` leaves its code: {why:?}, PTX line {line}: {what}"
            );
        }
        None => eprintln!("margay: a block of `{name}` leaves its code: it polls, or takes long"),
    }
}

/// Fills the table for a kernel that is entered: from what its accesses touched before, else from
/// the pointers behind them.
#[cold]
fn find_rooms(cx: &mut Cx<'_>, kernel: &Kernel) {
    let env = cx.env;
    let extents: Vec<Extent> = kernel
        .groups
        .iter()
        .map(|group| {
            let known = group.accesses.iter().map(|&(_, slot)| &cx.extents[slot as usize]);
            if let Some(e) = known.into_iter().find(|e| e.lo < e.hi) {
                return *e;
            }
            let address = group.root.and_then(|root| root_address(root, env.program, env.config));
            let find = |a| env.memory.extent_for(a, env.machine.reach);
            address.map_or_else(Default::default, find)
        })
        .collect();
    let quiet = |(group, e): (&margay_codegen::RoomGroup, &Extent)| {
        // What is behind another pointer may change while the code runs.
        let known = group.root.is_some() && e.lo < e.hi;
        known && env.observer.is_some_and(|o| o.is_quiet(e.lo..e.hi))
    };
    let quiet: Vec<bool> = kernel.groups.iter().zip(&extents).map(quiet).collect();
    let room = |site: &RoomSite| {
        let group = site.group as usize;
        Room { quiet: u64::from(quiet[group]), ..site.of(&extents[group]) }
    };
    let rooms = &mut cx.rooms[0];
    rooms.table.clear();
    rooms.table.extend(kernel.rooms.iter().map(room));
    (rooms.of, rooms.epoch) = (kernel, env.memory.epoch());
}

/// After the handler of the instruction at `pc`: keeps what it found out about memory.
///
/// # Safety
/// The kernel that the table is of is the one that runs.
unsafe fn keep_room(cx: &mut Cx<'_>, pc: u32) {
    let rooms = &mut cx.rooms[0];
    // SAFETY: by the contract.
    let Some(kernel) = (unsafe { rooms.of.as_ref() }) else { return };
    let Some((group, slot)) = kernel.group_at(pc) else { return };
    if cx.epoch != rooms.epoch || kernel.groups[group as usize].root.is_some() {
        // The code has read the table: a new one is made when it is entered next.
        rooms.epoch = 0;
        return;
    }
    let e = cx.extents[slot as usize];
    if e.lo < e.hi {
        for &n in kernel.rooms_of(group) {
            rooms.table[n as usize] = kernel.rooms[n as usize].of(&e);
        }
    }
}

/// Points `cx` at the warp that runs, where its code does not say so.
#[inline]
pub(super) fn find_running(cx: &mut Cx<'_>) {
    if cx.whole.is_some() {
        find_warp(cx);
    }
}

/// Points `cx` at the warp of the block that code for whole blocks runs.
pub(super) fn find_warp(cx: &mut Cx<'_>) {
    let Some(chunk) = cx.whole else { return };
    let io = &*cx.io;
    let w = (io.warp as usize).min(WARP - 1);
    // SAFETY: the buffers hold the frames, the thread indices and the local memory of all the
    // block's warps.
    unsafe {
        cx.bases[0] = io.frame.add(w * io.frame_bytes as usize);
        let tid = io.tids.cast::<[u32; WARP]>().add(w * 3);
        cx.view.tid = [tid, tid.add(1), tid.add(2)];
        cx.local = io.local.add(w * WARP * io.local_stride as usize);
    }
    cx.view.warp = w as u32;
    // Most often it is a warp of the block that was looked at before.
    if cx.view.ctaid != io.ctaid {
        cx.view.ctaid = io.ctaid;
        let begun = chunk.count.saturating_sub(io.blocks) as u64;
        cx.view.smid = cx.env.multiprocessor_of(chunk.first + begun);
    }
}

/// Blocks with consecutive numbers that are run by one call.
#[derive(Clone, Copy, Debug)]
pub struct Chunk {
    pub first: u64,
    pub count: u32,
}

/// Threads of the grid, or the largest number.
fn threads(env: &Env<'_>) -> u64 {
    let LaunchConfig { grid, block, .. } = env.config;
    let all = grid.iter().chain(block);
    all.fold(1, |n: u64, &of| n.saturating_mul(u64::from(of)))
}

/// The block that compiled code and the engine share, as a launch begins.
pub fn new_io(env: &Env<'_>) -> Box<Io> {
    Box::new(Io {
        frame: std::ptr::null_mut(),
        consts: env.program.consts.as_ptr().cast(),
        shared: std::ptr::null_mut(),
        shared_size: env.shared_size as u64,
        params: env.params,
        params_size: env.params_size,
        rooms: std::ptr::null(),
        recent: std::ptr::null(),
        context: std::ptr::null_mut(),
        op,
        op_keeping: super::saved::op_keeping(),
        fuel: 0,
        ctaid: [0; 3],
        nctaid: env.config.grid,
        threads: threads(env),
        envreg: std::array::from_fn(|n| env.config.environment(n as u8)),
        warp: 0,
        warps: 0,
        blocks: 0,
        rounds: 0,
        frame_bytes: 0,
        at: std::ptr::null_mut(),
        parted: std::ptr::null_mut(),
        held: 0,
        tids: std::ptr::null(),
        polls: 0,
        part_skips: 0,
        tid: [std::ptr::null(); 3],
        changed: 0,
        hold: 0,
        mask: 0,
        alive: 0,
        pending: [0; 64],
        shared_window: env.shared_window,
        local_window: env.local_window,
        local: std::ptr::null_mut(),
        local_stride: local_stride(env.local_size),
        local_size: env.local_size as u64,
        tallies: std::ptr::null_mut(),
        watch: super::watching::watch,
        watch_linear: super::watching::watch_linear,
        watch_keeping: super::saved::watch_keeping(),
        turn: super::watched_blocks::turn,
        cells: std::ptr::null_mut(),
        notes: std::ptr::null_mut(),
        marks: [0; 2],
    })
}

/// How compiled code ended.
pub enum Left {
    /// The lanes have exited.
    Done,
    /// `cx.fault` says why, `cx.fault_pc` where.
    Fault,
    /// A block has had its rounds of barriers.
    Again,
    /// At an exit.
    Exit(usize),
}

/// Runs compiled code for lanes of the warp that `cx` is set up for, and counts what it did.
///
/// # Safety
/// `cx` is set up for a frame of the kernel's function, and `entry` is one of the kernel's whose live
/// registers are in that frame, in lane 0 at least.
pub(super) unsafe fn call(
    cx: &mut Cx<'_>,
    kernel: &Kernel,
    entry: u32,
    mask: u32,
    fuel: i64,
) -> Left {
    let epoch = cx.env.memory.epoch();
    if cx.epoch != epoch {
        cx.epoch = epoch;
        cx.extents.fill(Extent::default());
    }
    cx.recent.renew(epoch);
    if !std::ptr::eq(cx.rooms[0].of, kernel) {
        // Blocks whose last warp is not full alternate between two, and so do callers and what they call.
        let last = cx.rooms.len() - 1;
        let at = cx.rooms.iter().position(|rooms| std::ptr::eq(rooms.of, kernel)).unwrap_or(last);
        cx.rooms[..=at].rotate_right(1);
    }
    if !std::ptr::eq(cx.rooms[0].of, kernel) || cx.rooms[0].epoch != epoch {
        find_rooms(cx, kernel);
    }
    cx.io.rooms = cx.rooms[0].table.as_ptr();
    cx.io.recent = cx.recent.table();
    cx.io.context = (&raw mut *cx).cast();
    cx.io.fuel = fuel;
    cx.io.alive = mask;
    cx.io.changed = 0;
    let watched = cx.watch.is_some();
    if let Some(watch) = &cx.watch {
        let smid = cx.whole.map_or(cx.view.smid, |chunk| cx.env.multiprocessor_of(chunk.first));
        cx.tallies.follow(watch.follows(smid));
        let marks = watch.marked_lines();
        cx.io.marks = [marks.factor, marks.bound];
        cx.io.tallies = cx.tallies.rows();
        cx.io.cells = cx.tallies.cells(kernel);
        cx.io.notes = &raw mut *cx.tallies.notes;
        super::noted::start_all(cx);
        note_entry(cx, kernel, entry, mask);
    }
    let io: *mut Io = &raw mut *cx.io;
    // SAFETY: by the contract.
    let code = unsafe {
        cx.in_code = true;
        let code = (kernel.function)(io, entry, mask);
        cx.in_code = false;
        code
    };
    if watched {
        cx.tallies.notes.settled = 0;
    }
    if super::noted::is_on(cx) {
        find_running(cx);
        super::noted::stop(cx);
    }
    let used = fuel - cx.io.fuel;
    cx.fuel -= used;
    cx.warp_instructions = cx.warp_instructions.wrapping_add(used as u64);
    let threads = used as u64 * mask.count_ones() as u64;
    cx.thread_instructions = cx.thread_instructions.wrapping_add(threads);
    cx.changes += cx.io.changed as u64;
    cx.polls += std::mem::take(&mut cx.io.polls);
    if watched {
        match code {
            DONE | AGAIN => {}
            FAULT => cx.tallies.leave(cx.fault_pc, cx.exec),
            n => {
                let exit = &kernel.exits[(n - FIRST_EXIT) as usize];
                // Fuel is used up between blocks.
                if exit.reason != Reason::Fuel {
                    cx.tallies.leave(exit.pc, cx.io.mask);
                }
            }
        }
        // Where warps of a block stand in their code, the counts are ahead of them.
        if cx.tallies.is_due(used) && (cx.whole.is_none() || code == DONE) {
            tell(cx);
        }
    }
    match code {
        DONE => Left::Done,
        FAULT => Left::Fault,
        AGAIN => Left::Again,
        n => {
            let n = (n - FIRST_EXIT) as usize;
            let to_interpreter =
                matches!(kernel.exits[n].reason, Reason::Interpret | Reason::Never);
            if to_interpreter && kernel.group_at(kernel.exits[n].pc).is_some() {
                // The interpreter may find that the access is good: the next table shall know.
                cx.rooms[0].epoch = 0;
            }
            Left::Exit(n)
        }
    }
}

/// Where a fragment stands after [`enter`].
pub struct Arrived {
    pub reason: Reason,
    pub pc: u32,
    pub mask: u32,
    /// Lanes that have not exited.
    pub alive: u32,
    /// Addresses and masks of lanes that parted.
    pub others: Vec<(u32, u32)>,
}

/// Where a fragment stands that code may be entered for.
#[derive(Clone, Copy)]
pub struct Stand {
    pub pc: u32,
    pub mask: u32,
    /// The number of its function; 0 is the kernel.
    pub function: u32,
    /// Others of the warp stand in what has called it.
    pub others: bool,
}

/// The entry of compiled code where a fragment stands, if there is one.
pub fn entry<'a>(cx: &Cx<'a>, at: Stand) -> Option<(&'a Kernel, u32)> {
    let Stand { pc, mask, function, others } = at;
    let code = cx.env.jit.get()?;
    // That code tells all of what a block does.
    if cx.quiet {
        return None;
    }
    if function != 0 {
        let kernel = code.called(cx.env, function, mask, others)?;
        let entry = kernel.entry_at(pc)?;
        let live = &kernel.entries[entry as usize].live;
        return may_seat(live, mask).then_some((kernel, entry));
    }
    if mask & 1 == 0 {
        return None;
    }
    let kernel = if mask == FULL { code.full(cx.env)? } else { code.part.as_deref()? };
    if let Some(entry) = kernel.entry_at(pc) {
        return Some((kernel, entry));
    }
    (pc == cx.env.program.functions[0].start && kernel.entries[0].live.is_empty())
        .then_some((kernel, 0))
}

/// Runs compiled code for the only fragment of a warp that may run.
///
/// # Safety
/// `cx` is set up for the warp and its frame, and the frame's planes are whole.
pub unsafe fn enter(
    cx: &mut Cx<'_>,
    (kernel, entry): (&Kernel, u32),
    mask: u32,
    fuel: i64,
) -> Result<Option<Arrived>, u32> {
    let (warp, warps, ctaid) = (cx.view.warp, cx.view.warps, cx.view.ctaid);
    let tid = cx.view.tid;
    let hold = cx.hold;
    let io = &mut cx.io;
    (io.warp, io.warps, io.ctaid) = (warp, warps, ctaid);
    io.tid = tid.map(|t| t.cast());
    io.frame = cx.bases[0];
    io.shared = cx.shared;
    io.local = cx.local;
    io.hold = hold as u32;
    io.parted = cx.tallies.parted.as_mut_ptr();
    let frame = io.frame;
    let Entry { pc, live, .. } = &kernel.entries[entry as usize];
    if mask & 1 == 0 {
        // SAFETY: by the contract; the frame is of these lanes alone.
        unsafe { seat(frame, live, mask) };
    }
    // SAFETY: by the contract.
    if !unsafe { has_form(frame, live, mask) } {
        let (reason, others) = (Reason::Never, Vec::new());
        return Ok(Some(Arrived { reason, pc: *pc, mask, alive: mask, others }));
    }
    // SAFETY: by the contract.
    let left = unsafe { call(cx, kernel, entry, mask, fuel) };
    cx.hold = hold;
    match left {
        // Only code for whole blocks has rounds.
        Left::Done | Left::Again => Ok(None),
        Left::Fault => Err(cx.fault_pc),
        Left::Exit(n) => {
            let exit = &kernel.exits[n];
            // SAFETY: the frame is the function's.
            unsafe { expand(frame, &exit.live) };
            let waits = exit.pending.iter().zip(cx.io.pending);
            let others = waits.filter(|(_, m)| *m != 0).map(|(&pc, m)| (pc, m)).collect();
            let (mask, alive) = (cx.io.mask, cx.io.alive);
            Ok(Some(Arrived { reason: exit.reason, pc: exit.pc, mask, alive, others }))
        }
    }
}

/// How a chunk of blocks ended that was begun in compiled code.
pub enum ChunkEnd {
    Done,
    /// A warp of block `at` of the chunk left for what only the interpreter does: it goes on with
    /// the block. Those after it have not begun.
    Handed {
        group: Box<Group>,
        at: u32,
    },
}

/// Where a warp of a block stands that Rust takes from barrier to barrier.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum At {
    Start,
    /// At an exit whose entry is next.
    Exit(u32),
    /// At a barrier's exit.
    Barrier(u32),
    Done,
}

/// A worker's means to run blocks in compiled code.
pub struct Fast {
    /// Register frames of a block's warps, one after the other.
    frames: Buffer,
    frame_bytes: usize,
    tids: Vec<[[u32; WARP]; 3]>,
    pub(super) masks: Vec<u32>,
    pub(super) at: Vec<At>,
    /// Warps at the barrier that opens next, in the order in which they came.
    pub(super) arrived: Vec<u32>,
    /// The same as code for whole blocks has it.
    stands: Box<[u32; WARP]>,
    pub(super) parted: Vec<Parted>,
    shared: Buffer,
    local: Buffer,
    /// Bytes of the two.
    sizes: (usize, usize),
    /// Where the shared memory is of the block's cluster, which is the block.
    peers: Box<[*mut u8; 1]>,
}

impl Fast {
    /// Sets a worker up, if the launch has code and nothing that only the scheduler does.
    pub fn new(cx: &Cx<'_>, pool: &mut Pool) -> Option<Fast> {
        let env = cx.env;
        let code = env.jit.get()?;
        let threads: u64 = env.config.block.iter().map(|&n| n as u64).product();
        let alone = env.config.cluster.iter().all(|&n| n <= 1);
        let watched = code.options.watched;
        if !alone {
            return None;
        }
        if !threads.is_multiple_of(WARP as u64) && code.part.is_none() {
            return None;
        }
        let warps = threads.div_ceil(WARP as u64) as usize;
        let frame_bytes = env.program.functions[0].lines as usize * 64;
        let none = Parted { mask: 0, alive: 0, pending: [0; margay_codegen::PENDING] };
        let holds = (code.whole.is_some() || watched.any()) && code.options.hold;
        let sizes =
            (env.shared_size as usize, local_stride(env.local_size) as usize * WARP * warps);
        let mut fast = Fast {
            frames: pool.take(frame_bytes * warps),
            frame_bytes,
            tids: Vec::with_capacity(warps),
            masks: Vec::with_capacity(warps),
            at: vec![At::Start; warps],
            arrived: Vec::with_capacity(warps),
            stands: Box::new([0; WARP]),
            parted: if holds { vec![none; warps] } else { Vec::new() },
            shared: pool.take(sizes.0),
            local: pool.take(sizes.1),
            sizes,
            peers: Box::new([std::ptr::null_mut()]),
        };
        for w in 0..warps {
            let (tid, lanes) = Warp::threads(w as u32, env.config.block);
            fast.tids.push(*tid);
            fast.masks.push(lanes);
            set_local(env, fast.frame(w));
        }
        Some(fast)
    }

    /// Whether several blocks can be run by one call.
    pub fn runs_whole(&self, cx: &Cx<'_>) -> bool {
        cx.env.jit.get().is_some_and(|code| code.whole.is_some())
    }

    /// The frame of a warp.
    fn frame(&self, w: usize) -> *mut u8 {
        // SAFETY: the buffer holds a frame for each warp.
        unsafe { self.frames.as_ptr().add(w * self.frame_bytes) }
    }

    /// Memory and context as the first block of a chunk finds them.
    pub(super) fn set_up(&mut self, cx: &mut Cx<'_>, ctaid: [u32; 3], smid: u32) {
        let env = cx.env;
        self.shared.clear(self.sizes.0);
        if self.sizes.1 != 0 {
            self.local.clear(self.sizes.1);
        }
        cx.shared = self.shared.as_ptr();
        self.peers[0] = cx.shared;
        cx.peers = &raw const self.peers[..];
        cx.shared_size = env.shared_size as u64;
        cx.local_stride = local_stride(env.local_size);
        cx.view.ctaid = ctaid;
        cx.view.cluster_rank = 0;
        cx.view.smid = smid;
        cx.view.warps = self.masks.len() as u32;
        let io = &mut cx.io;
        (io.ctaid, io.warps, io.shared) = (ctaid, self.masks.len() as u32, self.shared.as_ptr());
    }

    /// Runs blocks that follow one another from `ctaid` on to their ends, or as far as compiled code
    /// goes. `stop` is asked now and then.
    pub fn run_chunk(
        &mut self,
        cx: &mut Cx<'_>,
        pool: &mut Pool,
        chunk: Chunk,
        ctaid: [u32; 3],
        stop: &dyn Fn() -> bool,
    ) -> Result<ChunkEnd, Box<Fault>> {
        let env = cx.env;
        let Some(code) = env.jit.get() else { return Ok(ChunkEnd::Done) };
        let smid = env.multiprocessor_of(chunk.first);
        self.set_up(cx, ctaid, smid);
        let end = match &code.whole {
            Some(kernel) if code.options.watched.any() => {
                self.run_followed(cx, pool, (code, kernel), chunk, stop)
            }
            Some(kernel) => self.run_stretches(cx, pool, (code, kernel), chunk, stop),
            None => {
                debug_assert_eq!(chunk.count, 1);
                match code.options.watched.any() {
                    true => self.run_watched(cx, pool, code, ctaid, smid, stop),
                    false => self.run_block(cx, pool, code, ctaid, smid, stop),
                }
            }
        };
        cx.peers = &[];
        end
    }

    /// [`Fast::run_chunk`] by code for whole blocks, for each stretch of them the one that does.
    pub(super) fn run_stretches(
        &mut self,
        cx: &mut Cx<'_>,
        pool: &mut Pool,
        (code, whole): (&LaunchCode, &Arc<Kernel>),
        chunk: Chunk,
        stop: &dyn Fn() -> bool,
    ) -> Result<ChunkEnd, Box<Fault>> {
        let env = cx.env;
        let mut done = 0;
        loop {
            let rest = Chunk { first: chunk.first + u64::from(done), count: chunk.count - done };
            let (kernel, count) = code.kernel_of(env, whole, rest);
            if done > 0 {
                self.set_up(cx, env.block_at(rest.first), env.multiprocessor_of(rest.first));
            }
            match self.run_whole(cx, pool, kernel, Chunk { count, ..rest }, stop)? {
                ChunkEnd::Handed { group, at } => {
                    return Ok(ChunkEnd::Handed { group, at: done + at });
                }
                ChunkEnd::Done => done += count,
            }
            if done >= chunk.count {
                return Ok(ChunkEnd::Done);
            }
        }
    }

    /// [`Fast::run_chunk`] by code for whole blocks.
    pub(super) fn run_whole(
        &mut self,
        cx: &mut Cx<'_>,
        pool: &mut Pool,
        kernel: &Arc<Kernel>,
        chunk: Chunk,
        stop: &dyn Fn() -> bool,
    ) -> Result<ChunkEnd, Box<Fault>> {
        cx.whole = Some(chunk);
        let end = self.run_rows(cx, pool, kernel, chunk, stop);
        cx.whole = None;
        end
    }

    fn run_rows(
        &mut self,
        cx: &mut Cx<'_>,
        pool: &mut Pool,
        kernel: &Arc<Kernel>,
        chunk: Chunk,
        stop: &dyn Fn() -> bool,
    ) -> Result<ChunkEnd, Box<Fault>> {
        // A watched warp gives way when the interpreter's does.
        let watched =
            cx.watch.is_some() && cx.env.jit.get().is_some_and(|code| code.options.watched.any());
        if watched {
            report_block(cx, cx.view.ctaid, cx.view.smid, cx.view.warps, true);
        }
        let fuel = if watched { WARP_SLICE } else { WHOLE_FUEL };
        self.stands.fill(0);
        cx.io.warp = 0;
        let io = &mut cx.io;
        io.blocks = chunk.count;
        io.rounds = ROUNDS;
        io.frame = self.frames.as_ptr();
        io.frame_bytes = self.frame_bytes as u64;
        io.at = self.stands.as_mut_ptr();
        io.parted = self.parted.as_mut_ptr();
        io.tids = self.tids.as_ptr().cast();
        io.local = self.local.as_ptr();
        io.held = 0;
        let (mut block, mut began, mut polls) = (chunk.count, cx.warp_instructions, cx.polls);
        loop {
            // SAFETY: the frames are the function's, and what is live where warps stand is in them.
            let left = unsafe { call(cx, kernel, 0, FULL, fuel) };
            let last = match left {
                Left::Done => return Ok(ChunkEnd::Done),
                Left::Fault => {
                    find_warp(cx);
                    if watched {
                        self.read_stands();
                        self.settle(cx, kernel, Some(cx.io.warp as usize));
                    }
                    return Err(self.fault(cx, cx.io.warp as usize, cx.io.ctaid));
                }
                Left::Again => {
                    if cx.io.blocks != block {
                        (block, began, polls) = (cx.io.blocks, cx.warp_instructions, cx.polls);
                    }
                    // Who polls may wait for a block that has not begun, and so may who never ends.
                    let spent = cx.warp_instructions.wrapping_sub(began);
                    if cx.polls == polls && spent <= PATIENCE && !stop() {
                        continue;
                    }
                    None
                }
                Left::Exit(n) => Some((cx.io.warp as usize, n)),
            };
            find_warp(cx);
            if super::make::log() {
                tell_hand_over(cx, kernel, last);
            }
            let held = cx.io.held;
            self.read_stands();
            if let Some((own, _)) = last
                && !kernel.exits.iter().any(|e| e.resume.is_some() && e.reason.goes_on())
            {
                // Code that never comes back to a warp does not say which have ended.
                self.at[..own].fill(At::Done);
            } else if let Some((own, _)) = last
                && !watched
            {
                // Nor does it tell a barrier that has opened from one at which the first warps have arrived.
                for at in &mut self.at[..own] {
                    if let At::Exit(n) = *at
                        && matches!(kernel.exits[n as usize].reason, Reason::Barrier { .. })
                    {
                        *at = At::Barrier(n);
                    }
                }
            }
            let at = chunk.count.saturating_sub(cx.io.blocks);
            let (ctaid, smid) = (cx.view.ctaid, cx.view.smid);
            if watched {
                self.settle(cx, kernel, last.map(|(own, _)| own));
                if cx.tallies.is_due(0) {
                    tell(cx);
                }
            }
            if !watched {
                let group = self.give_group(cx, pool, kernel, ctaid, smid, last, held);
                return Ok(ChunkEnd::Handed { group, at });
            }
            self.find_arrived(kernel, cx.io.warp, last.map(|(own, _)| own));
            let pair = (&**kernel, &**kernel);
            let mut group = self.hand_over(cx, pool, pair, ctaid, smid, last, held);
            // Who is at the end of its slice has had its turn.
            let over = last.is_some_and(|(_, n)| kernel.exits[n].reason == Reason::Fuel);
            group.skip(cx.io.warp as usize + usize::from(over));
            return Ok(ChunkEnd::Handed { group, at });
        }
    }

    /// Where the warps stand, as code for whole blocks has left them.
    fn read_stands(&mut self) {
        for (at, &stands) in self.at.iter_mut().zip(self.stands.iter()) {
            *at = match stands {
                0 => At::Start,
                AT_DONE => At::Done,
                n if n & AT_BARRIER != 0 => At::Barrier((n & !AT_BARRIER).wrapping_sub(FIRST_EXIT)),
                n => At::Exit(n - FIRST_EXIT),
            };
        }
    }

    /// [`Fast::run_chunk`] of one block, its warps from barrier to barrier.
    fn run_block(
        &mut self,
        cx: &mut Cx<'_>,
        pool: &mut Pool,
        code: &LaunchCode,
        ctaid: [u32; 3],
        smid: u32,
        stop: &dyn Fn() -> bool,
    ) -> Result<ChunkEnd, Box<Fault>> {
        let warps = self.masks.len();
        let Some((full, part)) = code.single() else { return Ok(ChunkEnd::Done) };
        self.at.fill(At::Start);
        let mut held = 0u32;
        let (began, polls) = (cx.warp_instructions, cx.polls);
        let mut rounds = 0u32;
        let handed = |group| Ok(ChunkEnd::Handed { group, at: 0 });
        loop {
            rounds += 1;
            let spent = cx.warp_instructions.wrapping_sub(began);
            // Who polls may wait for a block that has not begun, and so may who never ends.
            let polled = cx.polls != polls && rounds > POLLING_ROUNDS;
            if polled || spent > PATIENCE || rounds.is_multiple_of(64) && stop() {
                return handed(self.give_mixed(cx, pool, &full, &part, ctaid, smid, None, held));
            }
            let mut later = false;
            for w in 0..warps {
                let mask = self.masks[w];
                let kernel = if mask == FULL { &full } else { &part };
                let entry = match self.at[w] {
                    At::Start => 0,
                    At::Exit(n) => kernel.exits[n as usize].resume.unwrap_or(0),
                    At::Barrier(_) | At::Done => continue,
                };
                self.set_warp(cx, w);
                cx.io.hold = (code.options.hold && held >> w & 1 == 0) as u32;
                // SAFETY: the frame is the function's, and what is live at the entry is in it.
                let left = unsafe { call(cx, kernel, entry, mask, FUEL) };
                self.at[w] =
                    match left {
                        Left::Done | Left::Again => At::Done,
                        Left::Fault => {
                            return Err(self.fault(cx, w, ctaid));
                        }
                        Left::Exit(n) => {
                            let exit = &kernel.exits[n];
                            let together = exit.pending.is_empty() && cx.io.alive == mask;
                            match exit.reason {
                                Reason::Barrier { .. } if together => At::Barrier(n as u32),
                                Reason::Hold if together => {
                                    held |= 1 << w;
                                    later = true;
                                    At::Exit(n as u32)
                                }
                                Reason::Barrier { .. }
                                | Reason::Hold
                                | Reason::Interpret
                                | Reason::Never
                                | Reason::Fuel => {
                                    let last = Some((w, n));
                                    return handed(self.give_mixed(
                                        cx, pool, &full, &part, ctaid, smid, last, held,
                                    ));
                                }
                            }
                        }
                    };
            }
            if later {
                continue;
            }
            // Every warp has ended or is at a barrier.
            let mut id = None;
            let mut alike = true;
            for (w, at) in self.at.iter().enumerate() {
                let At::Barrier(n) = *at else { continue };
                let kernel = if self.masks[w] == FULL { &full } else { &part };
                let Reason::Barrier { id: own } = kernel.exits[n as usize].reason else { continue };
                alike &= id.is_none_or(|id| id == own);
                id = Some(own);
            }
            if id.is_none() {
                return Ok(ChunkEnd::Done);
            }
            if !alike {
                return handed(self.give_mixed(cx, pool, &full, &part, ctaid, smid, None, held));
            }
            for at in &mut self.at {
                if let At::Barrier(n) = *at {
                    *at = At::Exit(n);
                }
            }
        }
    }

    /// Points `cx` at a warp of the block.
    pub(super) fn set_warp(&self, cx: &mut Cx<'_>, w: usize) {
        let frame = self.frame(w);
        cx.bases[0] = frame;
        cx.view.warp = w as u32;
        let tid = &self.tids[w];
        cx.view.tid = [&tid[0], &tid[1], &tid[2]];
        // SAFETY: the buffer holds the local memory of all the block's warps.
        cx.local = unsafe { self.local.as_ptr().add(w * WARP * cx.local_stride as usize) };
        let local = cx.local;
        let io = &mut cx.io;
        io.warp = w as u32;
        io.frame = frame;
        io.local = local;
        io.tid = [tid[0].as_ptr().cast(), tid[1].as_ptr().cast(), tid[2].as_ptr().cast()];
    }

    pub(super) fn fault(&self, cx: &mut Cx<'_>, w: usize, ctaid: [u32; 3]) -> Box<Fault> {
        let fault = crate::warp::take_fault(cx, cx.fault_pc);
        let LaneFault { lane, mut kind } = *fault.fault;
        name_meant(cx.env, fault.pc, &mut kind);
        let lane = (lane as usize).min(WARP - 1);
        let tid = &self.tids[w];
        Box::new(Fault {
            kind,
            kernel: cx.env.program.name().to_owned(),
            block: ctaid,
            thread: [tid[0][lane], tid[1][lane], tid[2][lane]],
            place: cx.env.program.place(fault.pc),
        })
    }

    #[allow(clippy::too_many_arguments)]
    fn give_group(
        &mut self,
        cx: &mut Cx<'_>,
        pool: &mut Pool,
        kernel: &Kernel,
        ctaid: [u32; 3],
        smid: u32,
        last: Option<(usize, usize)>,
        held: u32,
    ) -> Box<Group> {
        self.give_mixed(cx, pool, kernel, kernel, ctaid, smid, last, held)
    }

    /// Makes of the block what the scheduler runs. `last` is the warp that left, and its exit, with
    /// its lanes still in `cx.io`. Full warps run `full`, others `part`.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn give_mixed(
        &mut self,
        cx: &mut Cx<'_>,
        pool: &mut Pool,
        full: &Kernel,
        part: &Kernel,
        ctaid: [u32; 3],
        smid: u32,
        last: Option<(usize, usize)>,
        held: u32,
    ) -> Box<Group> {
        let env = cx.env;
        let mut warps = Vec::new();
        for w in 0..self.masks.len() {
            let mut regs = pool.take(self.frame_bytes);
            // SAFETY: both are frames of the kernel's function.
            unsafe { self.frame(w).copy_to_nonoverlapping(regs.as_ptr(), self.frame_bytes) };
            let mask = self.masks[w];
            let kernel = if mask == FULL { full } else { part };
            let at = match last {
                Some((own, n)) if own == w => At::Exit(n as u32),
                Some(_) | None => self.at[w],
            };
            if at == At::Start {
                // Its registers are those of an earlier block.
                regs.clear(self.frame_bytes);
                set_local(env, regs.as_ptr());
            }
            let mut adopted = Adopted {
                index: w as u32,
                block: env.config.block,
                regs,
                alive: mask,
                fragments: Vec::new(),
                held: held >> w & 1 != 0,
                orderly: true,
            };
            match at {
                At::Start => adopted.fragments.push((env.program.functions[0].start, mask)),
                At::Done => adopted.alive = 0,
                At::Exit(n) | At::Barrier(n) => {
                    let exit = &kernel.exits[n as usize];
                    // SAFETY: the frame is the function's.
                    unsafe { expand(adopted.regs.as_ptr(), &exit.live) };
                    let left_now = last.is_some_and(|(own, _)| own == w);
                    let lanes = match (left_now, self.parted.get(w)) {
                        (true, _) => Some((cx.io.mask, cx.io.alive, cx.io.pending)),
                        (false, Some(p)) if exit.apart => Some((p.mask, p.alive, p.pending)),
                        (false, _) => None,
                    };
                    // A barrier that has opened is behind it, one that has not is yet to come; a store
                    // that was held is still to be made.
                    let behind = matches!(exit.reason, Reason::Barrier { .. })
                        && matches!(at, At::Exit(_))
                        && !left_now;
                    let pc = exit.pc + behind as u32;
                    match lanes {
                        Some((mask, alive, pending)) => {
                            adopted.alive = alive;
                            adopted.orderly = exit.reason != Reason::Never;
                            adopted.fragments.push((pc, mask));
                            for (&pc, m) in exit.pending.iter().zip(pending) {
                                if m != 0 {
                                    adopted.fragments.push((pc, m));
                                }
                            }
                        }
                        None => adopted.fragments.push((pc, mask)),
                    }
                }
            }
            warps.push(Warp::adopt(adopted, pool));
        }
        let shared = std::mem::replace(&mut self.shared, pool.take(self.sizes.0));
        let mut local = std::mem::replace(&mut self.local, pool.take(self.sizes.1));
        if full.private {
            local = by_lane(env, &local, self.masks.len(), pool);
        }
        Box::new(Group::adopt(ctaid, smid, warps, shared, local))
    }
}

/// Local memory of `warps` warps in the interpreter's order, from [`margay_codegen::Outline::private`]'s.
fn by_lane(env: &Env<'_>, from: &Buffer, warps: usize, pool: &mut Pool) -> Buffer {
    let stride = local_stride(env.local_size) as usize;
    let to = pool.take(from.bytes());
    for w in 0..warps {
        for word in 0..env.local_size as usize / 4 {
            for lane in 0..WARP {
                let part = w * WARP * stride;
                // SAFETY: both lie in the warp's part, whose lanes have `stride` bytes each, at least
                // `local_size`.
                unsafe {
                    let source = from.as_ptr().add(part + word * 4 * WARP + lane * 4).cast::<u32>();
                    let target = to.as_ptr().add(part + lane * stride + word * 4).cast::<u32>();
                    *target = *source;
                }
            }
        }
    }
    to
}

fn set_local(env: &Env<'_>, regs: *mut u8) {
    let entry = &env.program.functions[0];
    let own = env.program.frame();
    // SAFETY: the two planes lie in the frame.
    unsafe {
        let plane = |operand: u32| &mut *(regs.add(operand as usize) as *mut [u32; WARP]);
        plane(entry.local_base).fill(own.start as u32);
        plane(entry.local_top).fill(own.end as u32);
    }
}
