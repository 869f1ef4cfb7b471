// SPDX-License-Identifier: MIT OR Apache-2.0
//! Running compiled code: whole blocks as long as every warp stays in it, or one warp of a block that
//! the interpreter schedules.

use std::sync::Arc;
use std::time::Duration;

use margay_codegen::{DONE, FAULT, FIRST_EXIT, Io, Options, Reason};

use super::kernel::{Kernel, Wait, expand};
use super::{Engine, engine, library};
use crate::block::{Group, local_stride};
use crate::buffer::{Buffer, Pool};
use crate::decode::LOCAL_START;
use crate::fault::Fault;
use crate::interp::{Cx, Env};
use crate::lanes::{FULL, Flow, LaneFault, WARP};
use crate::mem::Extent;
use crate::observe::Interest;
use crate::warp::{Adopted, Warp};

/// Instructions of a warp before the block is handed to the scheduler, which sees to fairness.
const FUEL: i64 = 1_000_000;
/// Rounds of barriers after which a block that polls memory is handed over.
const POLLING_ROUNDS: u32 = 32;
/// Instructions of a block after which it is handed over.
const PATIENCE: u64 = 16_000_000;
/// Time of interpreting after which the cache is looked at.
const LOOK_AFTER: Duration = Duration::from_millis(1);
/// Time that compiling takes, by instructions, about.
const COMPILE_PER_INST: Duration = Duration::from_micros(250);

const _: () = {
    use std::mem::{offset_of, size_of};
    assert!(size_of::<Extent>() == size_of::<margay_codegen::Extent>());
    assert!(offset_of!(Extent, lo) == offset_of!(margay_codegen::Extent, lo));
    assert!(offset_of!(Extent, hi) == offset_of!(margay_codegen::Extent, hi));
    assert!(offset_of!(Extent, writable) == offset_of!(margay_codegen::Extent, writable));
    assert!(offset_of!(Extent, constant) == offset_of!(margay_codegen::Extent, constant));
};

/// The code of a launch's kernel.
pub struct LaunchCode {
    pub full: Arc<Kernel>,
    /// For fragments of fewer lanes, once there is such code.
    pub part: Option<Arc<Kernel>>,
    hold: bool,
}

/// The engine that a launch asks for.
fn chosen(env: &Env<'_>) -> Engine {
    env.config.engine.unwrap_or_else(engine)
}

impl LaunchCode {
    /// Gives a launch its code before it begins, where that is asked for by name or is there already.
    pub fn at_start(env: &Env<'_>) {
        match chosen(env) {
            Engine::Interp => {}
            Engine::Jit => LaunchCode::make(env, Wait::Compile),
            Engine::Auto => LaunchCode::make(env, Wait::Made),
        }
    }

    /// Called between blocks: with `auto`, a kernel is compiled once it was interpreted for about as
    /// long as that takes, and earlier if the compiled object lies in the cache.
    pub fn consider(env: &Env<'_>) {
        if chosen(env) != Engine::Auto || env.jit.get().is_some() {
            return;
        }
        let kernels = &env.program.kernels;
        let spent = env.started.elapsed() + kernels.spent();
        if spent >= LOOK_AFTER && kernels.first_look() {
            LaunchCode::make(env, Wait::Cached);
        }
        let insts = env.program.code.len() as u32;
        if spent >= COMPILE_PER_INST * insts && kernels.first_compile() {
            LaunchCode::make(env, Wait::Compile);
        }
    }

    fn make(env: &Env<'_>, wait: Wait) {
        if env.observer.is_some() {
            return;
        }
        if wait != Wait::Made
            && let Err(why) = library::get()
        {
            static ONCE: std::sync::Once = std::sync::Once::new();
            ONCE.call_once(|| {
                if chosen(env) == Engine::Jit || super::kernel::log() {
                    eprintln!("margay: kernels are interpreted: {why}");
                }
            });
            return;
        }
        let threads: u64 = env.config.block.iter().map(|&n| n as u64).product();
        let warps = threads.div_ceil(WARP as u64);
        let program = env.program;
        let options = |full: bool| Options {
            block: env.config.block,
            full,
            loops: true,
            independent: env.machine.sm >= 70,
            hold: warps > 1 && super::hold::needed(env),
        };
        let whole = options(true);
        let Some(full) = program.kernels.get(program, 0, &whole, wait) else { return };
        let part = if threads.is_multiple_of(WARP as u64) {
            None
        } else {
            program.kernels.get(program, 0, &Options { full: false, ..whole.clone() }, wait)
        };
        let _ = env.jit.set(LaunchCode { full, part, hold: whole.hold });
    }
}

/// The handler of the instruction at `pc`, called from compiled code.
unsafe extern "C" fn op(context: *mut u8, pc: u32, mask: u32) -> u32 {
    // SAFETY: the context is the worker's own, which waits for the compiled code to return; frames
    // and planes are those that it was set up for.
    unsafe {
        let cx = &mut *context.cast::<Cx<'_>>();
        let inst = &*cx.env.program.code.as_ptr().add(pc as usize);
        cx.exec = mask;
        cx.mask = mask & (cx.pred(inst.guard) ^ inst.guard_xor);
        cx.view.alive = cx.io.alive;
        // Compiled code asks itself before a store.
        cx.hold = false;
        match (inst.handler)(cx, inst) {
            Flow::Next => 0,
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

/// The block that compiled code and the engine share, as a launch begins.
pub fn new_io(env: &Env<'_>) -> Box<Io> {
    Box::new(Io {
        frame: std::ptr::null_mut(),
        consts: env.program.consts.as_ptr().cast(),
        shared: std::ptr::null_mut(),
        shared_size: env.shared_size as u64,
        params: env.params,
        params_size: env.params_size,
        extents: std::ptr::null(),
        context: std::ptr::null_mut(),
        op,
        fuel: 0,
        ctaid: [0; 3],
        nctaid: env.config.grid,
        warp: 0,
        warps: 0,
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
    })
}

/// How compiled code ended.
pub enum Left {
    /// The lanes have exited.
    Done,
    /// `cx.fault` says why, `cx.fault_pc` where.
    Fault,
    /// At an exit.
    Exit(usize),
}

/// Runs compiled code for lanes of the warp that `cx` is set up for, and counts what it did.
///
/// # Safety
/// `cx` is set up for a frame of the kernel's function, and `entry` is one of the kernel's whose live
/// registers are in that frame, in lane 0 at least.
unsafe fn call(cx: &mut Cx<'_>, kernel: &Kernel, entry: u32, mask: u32, fuel: i64) -> Left {
    let epoch = cx.env.memory.epoch();
    if cx.epoch != epoch {
        cx.epoch = epoch;
        cx.extents.fill(Extent::default());
    }
    cx.io.extents = cx.extents.as_ptr().cast();
    cx.io.context = (&raw mut *cx).cast();
    cx.io.fuel = fuel;
    cx.io.alive = mask;
    cx.io.changed = 0;
    let io: *mut Io = &raw mut *cx.io;
    // SAFETY: by the contract.
    let code = unsafe { (kernel.function)(io, entry, mask) };
    let used = fuel - cx.io.fuel;
    cx.fuel -= used;
    cx.warp_instructions = cx.warp_instructions.wrapping_add(used as u64);
    let threads = used as u64 * mask.count_ones() as u64;
    cx.thread_instructions = cx.thread_instructions.wrapping_add(threads);
    cx.changes += cx.io.changed as u64;
    match code {
        DONE => Left::Done,
        FAULT => Left::Fault,
        n => Left::Exit((n - FIRST_EXIT) as usize),
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

/// The entry of compiled code at `pc` for these lanes, if there is one.
pub fn entry<'a>(cx: &Cx<'a>, pc: u32, mask: u32) -> Option<(&'a Kernel, u32)> {
    let code = cx.env.jit.get()?;
    if mask & 1 == 0 {
        return None;
    }
    let kernel = if mask == FULL { &code.full } else { code.part.as_ref()? };
    if let Some(&entry) = kernel.entry_at.get(&pc) {
        return Some((kernel, entry));
    }
    (pc == cx.env.program.functions[0].start && kernel.entries[0].live.is_empty())
        .then_some((&**kernel, 0))
}

/// Runs compiled code for the only fragment of a warp.
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
    let frame = io.frame;
    // SAFETY: by the contract.
    let left = unsafe { call(cx, kernel, entry, mask, fuel) };
    cx.hold = hold;
    match left {
        Left::Done => Ok(None),
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

/// How a block ended that was begun in compiled code.
pub enum BlockEnd {
    Done,
    /// A warp left for what only the interpreter does: it goes on with the block.
    Handed(Box<Group>),
}

#[derive(Clone, Copy, PartialEq)]
enum At {
    Start,
    /// At an exit whose entry is next.
    Exit(u32),
    /// At a barrier's exit.
    Barrier(u32),
    Done,
}

/// A worker's means to run blocks in compiled code.
pub struct Fast {
    frames: Vec<Buffer>,
    tids: Vec<[[u32; WARP]; 3]>,
    masks: Vec<u32>,
    at: Vec<At>,
    shared: Buffer,
    local: Buffer,
    /// Bytes of the two.
    sizes: (usize, usize),
}

impl Fast {
    /// Sets a worker up, if the launch has code and nothing that only the scheduler does.
    pub fn new(cx: &Cx<'_>, pool: &mut Pool) -> Option<Fast> {
        let env = cx.env;
        let code = env.jit.get()?;
        let threads: u64 = env.config.block.iter().map(|&n| n as u64).product();
        let alone = env.config.cluster.iter().all(|&n| n <= 1);
        if !alone || cx.interest != Interest::empty() {
            return None;
        }
        if !threads.is_multiple_of(WARP as u64) && code.part.is_none() {
            return None;
        }
        let warps = threads.div_ceil(WARP as u64) as usize;
        let mut fast = Fast {
            frames: Vec::new(),
            tids: Vec::new(),
            masks: Vec::new(),
            at: vec![At::Start; warps],
            shared: pool.take(env.shared_size as usize),
            local: pool.take(0),
            sizes: (env.shared_size as usize, local_stride(env.local_size) as usize * WARP * warps),
        };
        fast.local = pool.take(fast.sizes.1);
        for w in 0..warps {
            let (tid, lanes) = Warp::threads(w as u32, env.config.block);
            fast.tids.push(*tid);
            fast.masks.push(lanes);
            fast.frames.push(new_frame(cx, pool));
        }
        Some(fast)
    }

    /// Runs a block to its end, or as far as compiled code goes.
    pub fn run_block(
        &mut self,
        cx: &mut Cx<'_>,
        pool: &mut Pool,
        ctaid: [u32; 3],
        smid: u32,
        stop: &dyn Fn() -> bool,
    ) -> Result<BlockEnd, Box<Fault>> {
        let env = cx.env;
        let Some(code) = env.jit.get() else { return Ok(BlockEnd::Done) };
        let warps = self.masks.len();
        self.shared.clear(self.sizes.0);
        if self.sizes.1 != 0 {
            self.local.clear(self.sizes.1);
        }
        cx.shared = self.shared.as_ptr();
        cx.shared_size = env.shared_size as u64;
        cx.local_stride = local_stride(env.local_size);
        cx.view.ctaid = ctaid;
        cx.view.cluster_rank = 0;
        cx.view.smid = smid;
        cx.view.warps = warps as u32;
        cx.peers = &[];
        let shared = self.shared.as_ptr();
        let peers = [shared];
        cx.peers = &raw const peers[..];
        let io = &mut cx.io;
        (io.ctaid, io.warps, io.shared) = (ctaid, warps as u32, shared);
        self.at.fill(At::Start);
        let mut held = 0u32;
        let (began, polls) = (cx.warp_instructions, cx.polls);
        let mut rounds = 0u32;
        loop {
            rounds += 1;
            let spent = cx.warp_instructions.wrapping_sub(began);
            // Who polls may wait for a block that has not begun, and so may who never ends.
            let polled = cx.polls != polls && rounds > POLLING_ROUNDS;
            if polled || spent > PATIENCE || rounds.is_multiple_of(64) && stop() {
                return Ok(self.give_group(cx, pool, ctaid, smid, None, held));
            }
            let mut later = false;
            for w in 0..warps {
                let mask = self.masks[w];
                let kernel = if mask == FULL {
                    &code.full
                } else {
                    match &code.part {
                        Some(part) => part,
                        None => &code.full,
                    }
                };
                let entry = match self.at[w] {
                    At::Start => 0,
                    At::Exit(n) => kernel.exits[n as usize].resume.unwrap_or(0),
                    At::Barrier(_) | At::Done => continue,
                };
                let frame = self.frames[w].as_ptr();
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
                io.hold = (code.hold && held >> w & 1 == 0) as u32;
                // SAFETY: the frame is the function's, and what is live at the entry is in it.
                let left = unsafe { call(cx, kernel, entry, mask, FUEL) };
                self.at[w] = match left {
                    Left::Done => At::Done,
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
                                return Ok(self.hand_over(cx, pool, ctaid, smid, w, n, held));
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
                let kernel = self.kernel(code, w);
                let Reason::Barrier { id: own } = kernel.exits[n as usize].reason else { continue };
                alike &= id.is_none_or(|id| id == own);
                id = Some(own);
            }
            if id.is_none() {
                return Ok(BlockEnd::Done);
            }
            if !alike {
                return Ok(self.give_group(cx, pool, ctaid, smid, None, held));
            }
            for at in &mut self.at {
                if let At::Barrier(n) = *at {
                    *at = At::Exit(n);
                }
            }
        }
    }

    fn kernel<'a>(&self, code: &'a LaunchCode, w: usize) -> &'a Kernel {
        match &code.part {
            Some(part) if self.masks[w] != FULL => part,
            Some(_) | None => &code.full,
        }
    }

    fn fault(&self, cx: &mut Cx<'_>, w: usize, ctaid: [u32; 3]) -> Box<Fault> {
        let fault = crate::warp::take_fault(cx, cx.fault_pc);
        let LaneFault { lane, kind } = *fault.fault;
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
    fn hand_over(
        &mut self,
        cx: &mut Cx<'_>,
        pool: &mut Pool,
        ctaid: [u32; 3],
        smid: u32,
        w: usize,
        exit: usize,
        held: u32,
    ) -> BlockEnd {
        self.give_group(cx, pool, ctaid, smid, Some((w, exit)), held)
    }

    /// Makes of the block what the scheduler runs. `last` is the warp that left, and its exit, with
    /// its lanes still in `cx.io`.
    fn give_group(
        &mut self,
        cx: &mut Cx<'_>,
        pool: &mut Pool,
        ctaid: [u32; 3],
        smid: u32,
        last: Option<(usize, usize)>,
        held: u32,
    ) -> BlockEnd {
        let env = cx.env;
        let mut warps = Vec::new();
        for w in 0..self.masks.len() {
            let fresh = new_frame(cx, pool);
            let regs = std::mem::replace(&mut self.frames[w], fresh);
            let mask = self.masks[w];
            let mut adopted = Adopted {
                index: w as u32,
                block: env.config.block,
                regs,
                alive: mask,
                fragments: Vec::new(),
                held: held >> w & 1 != 0,
                orderly: true,
            };
            let exit = match (last, self.at[w]) {
                (Some((own, n)), _) if own == w => Some(n as u32),
                (_, At::Exit(n) | At::Barrier(n)) => Some(n),
                (_, At::Start | At::Done) => None,
            };
            if let (Some(n), Some(code)) = (exit, env.jit.get()) {
                let exit = &self.kernel(code, w).exits[n as usize];
                // SAFETY: the frame is the function's.
                unsafe { expand(adopted.regs.as_ptr(), &exit.live) };
                if last.is_some_and(|(own, _)| own == w) {
                    adopted.alive = cx.io.alive;
                    adopted.orderly = exit.reason != Reason::Never;
                    adopted.fragments.push((exit.pc, cx.io.mask));
                    for (&pc, m) in exit.pending.iter().zip(cx.io.pending) {
                        if m != 0 {
                            adopted.fragments.push((pc, m));
                        }
                    }
                } else {
                    // A barrier that has opened is behind it, one that has not is yet to come.
                    let kernel = self.kernel(code, w);
                    let pc = match (self.at[w], exit.resume) {
                        (At::Exit(_), Some(n)) => kernel.entries[n as usize].pc,
                        _ => exit.pc,
                    };
                    adopted.fragments.push((pc, mask));
                }
            } else if self.at[w] == At::Start {
                // Its registers are those of an earlier block.
                let lines = env.program.functions[0].lines as usize;
                adopted.regs.clear(lines * 64);
                set_local(env, &adopted.regs);
                adopted.fragments.push((env.program.functions[0].start, mask));
            } else {
                adopted.alive = 0;
            }
            warps.push(Warp::adopt(adopted, pool));
        }
        let shared = std::mem::replace(&mut self.shared, pool.take(self.sizes.0));
        let local = std::mem::replace(&mut self.local, pool.take(self.sizes.1));
        BlockEnd::Handed(Box::new(Group::adopt(ctaid, smid, warps, shared, local)))
    }
}

/// A frame of the kernel with its two planes for the local stack.
fn new_frame(cx: &Cx<'_>, pool: &mut Pool) -> Buffer {
    let regs = pool.take(cx.env.program.functions[0].lines as usize * 64);
    set_local(cx.env, &regs);
    regs
}

fn set_local(env: &Env<'_>, regs: &Buffer) {
    let entry = &env.program.functions[0];
    let base = LOCAL_START.next_multiple_of(entry.frame_align);
    // SAFETY: the two planes lie in the new frame.
    unsafe {
        let plane = |operand: u32| &mut *(regs.as_ptr().add(operand as usize) as *mut [u32; WARP]);
        plane(entry.local_base).fill(base);
        plane(entry.local_top).fill(base + entry.frame_size);
    }
}
