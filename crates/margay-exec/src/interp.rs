// SPDX-License-Identifier: MIT OR Apache-2.0
//! The dispatch loop and the state that handlers see.
//!
//! One [`Cx`] belongs to one worker thread and is pointed at a fragment of a warp before the loop
//! runs. The loop itself knows nothing of ops: it applies guards, calls handlers, follows jumps and
//! counts; everything else is a [`Flow`] that it returns to the scheduler.

use margay_ir::{Attr, Class, Op, Value};

use crate::fault::FaultKind;
use crate::handlers::warp_ops;
use crate::lanes::{Flow, LaneFault, WARP};
use crate::launch::{Host, LaunchConfig, Machine};
use crate::mem::{AddressSpace, Extent, Recent};
use crate::observe::{EventPlace, Interest, Observer, Watch};
use crate::program::{Code, Program};
use crate::stall::Reads;
use crate::variables::{self, VariableSite};

/// What is the same for a whole launch.
pub struct Env<'a> {
    pub program: &'a Program,
    pub machine: &'a Machine,
    pub config: &'a LaunchConfig,
    pub memory: &'a AddressSpace,
    pub host: &'a dyn Host,
    pub observer: Option<&'a dyn Observer>,
    /// The parameter block, at a stable address for the launch.
    pub params: *const u8,
    pub params_size: u64,
    pub shared_window: u64,
    pub local_window: u64,
    /// Bytes of shared memory of each block, and of local memory of each thread.
    pub shared_size: u32,
    pub local_size: u32,
    pub started: std::time::Instant,
    /// Blocks that need not be watched, once they were looked for beside that code.
    pub alike: crate::alike::Search,
    /// Compiled code of the kernel, once this launch has any.
    pub jit: std::sync::OnceLock<crate::jit::LaunchCode>,
    /// How far this launch has gone to get it, and the compilations that it has seen end.
    pub stage: std::sync::atomic::AtomicU32,
    pub landed: std::sync::atomic::AtomicU64,
    /// See [`Env::holds`].
    pub holds: std::sync::OnceLock<crate::jit::Holds>,
    /// See [`Env::variable_sites`].
    pub variables: std::sync::OnceLock<Vec<VariableSite>>,
}

impl<'a> Env<'a> {
    /// The same launch under the eyes of another, of which nothing has been found out.
    pub fn under<'b>(&self, observer: &'b dyn Observer) -> Env<'b>
    where
        'a: 'b,
    {
        Env {
            observer: Some(observer),
            jit: Default::default(),
            alike: Default::default(),
            stage: Default::default(),
            landed: Default::default(),
            holds: Default::default(),
            variables: Default::default(),
            ..*self
        }
    }
}

impl Env<'_> {
    /// The bytes that accesses of shared and local memory are to stay in, where that is known; asked only if somebody is told of others.
    pub fn variable_sites(&self) -> &[VariableSite] {
        self.variables.get_or_init(|| variables::of_launch(self.program, self.config))
    }

    /// The place in the grid of the block with a number: x, then y, then z.
    pub fn block_at(&self, number: u64) -> [u32; 3] {
        let [x, y] = [self.config.grid[0] as u64, self.config.grid[1] as u64];
        [(number % x) as u32, (number / x % y) as u32, (number / x / y) as u32]
    }

    /// The multiprocessor that it runs on.
    pub fn multiprocessor_of(&self, number: u64) -> u32 {
        (number % self.machine.sm_count.max(1) as u64) as u32
    }

    /// Whether a warp's first store to global memory waits for its siblings: not where no load could tell. It is so on
    /// both engines, whoever watches, so that accesses come in one order.
    pub fn holds(&self) -> bool {
        !matches!(self.who_holds(), crate::jit::Holds::Nobody)
    }

    /// The blocks in which that may be so, where it is known.
    pub fn who_holds(&self) -> &crate::jit::Holds {
        self.holds.get_or_init(|| crate::jit::who_holds(self))
    }
}

// SAFETY: the raw pointer is to the launch's own parameter block, which is read only.
unsafe impl Sync for Env<'_> {}

/// Executed loads and stores by path, a warp each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(usize)]
pub enum Counter {
    GlobalLoad,
    ReadOnlyLoad,
    SharedLoad,
    LocalLoad,
    ConstLoad,
    ParamLoad,
    GenericLoad,
    GlobalStore,
    SharedStore,
    LocalStore,
    GenericStore,
    Atomic,
}

/// Number of [`Counter`]s.
pub const COUNTERS: usize = 12;

/// Where a warp stands in its grid, for special registers and messages.
///
/// Laid out so that `warp`, which is written for each access of compiled code that is watched, is read by itself: a wider
/// read, with its neighbours, would wait for that write.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct WarpView {
    pub tid: [*const [u32; WARP]; 3],
    pub ctaid: [u32; 3],
    pub warps: u32,
    pub warp: u32,
    /// Threads of the warp that exist and have not exited.
    pub alive: u32,
    pub cluster_rank: u32,
    pub smid: u32,
}

/// State of the running fragment, and of its worker.
#[repr(C)]
pub struct Cx<'a> {
    /// The frame, and the program's constant planes: see [`crate::lanes`].
    pub bases: [*mut u8; 2],
    /// Lanes in which the current instruction has effect.
    pub mask: u32,
    /// Lanes of the fragment.
    pub exec: u32,
    /// Target of a jump, and the two sides of a split.
    pub next: u32,
    pub taken: u32,
    pub other: u32,
    /// Address from which on a jump must go through the scheduler, because a fragment waits there.
    pub switch_pc: u32,
    /// Instructions left in this slice; strong and atomic accesses take more than one.
    pub fuel: i64,
    /// Where the straight run that is being counted began.
    pub run_start: u32,
    pub shared: *mut u8,
    pub shared_size: u64,
    /// Shared buffers of the cluster's blocks, by rank; empty without clusters.
    pub peers: *const [*mut u8],
    /// Local memory of lane 0, and the distance to the next lane's.
    pub local: *mut u8,
    pub local_stride: u64,
    pub env: &'a Env<'a>,
    /// Accesses are reported to `watch`.
    pub observing: bool,
    /// Nothing is stored where others could see it: see [`crate::alike`].
    pub rehearses: bool,
    /// Lanes let others of their warp go on that had waited for them.
    pub yielded: bool,
    /// What runs is a block of which another has told some accesses: see [`crate::alike::Alike::told`].
    pub quiet: bool,
    /// Compiled code runs.
    pub in_code: bool,
    pub interest: Interest,
    pub watch: Option<Box<dyn Watch + 'a>>,
    /// The warp has not stored to global memory yet, and others of its block may not have started:
    /// its first store waits a turn. On a card the warps of a block start together, so none sees a
    /// sibling's first result where it reads its input; programs with such a race count on it.
    pub hold: bool,
    /// Last known extent of each memory instruction.
    pub extents: Vec<Extent>,
    /// What was found of memory by any of them.
    pub recent: Recent,
    pub epoch: u64,
    /// Stores and value-changing atomics that other threads could see.
    pub changes: u64,
    /// Loads and atomics that a spinning thread would make.
    pub polls: u64,
    /// Nanoseconds that the lanes which just gave way asked for.
    pub sleep: u64,
    /// Warps are kept out of compiled code, so that `reads` tells what they read.
    pub interpreting: bool,
    /// Memory that was found for accesses while `interpreting`, and whether a clock was read.
    pub reads: Reads,
    pub warp_instructions: u64,
    pub thread_instructions: u64,
    pub counters: [u64; COUNTERS],
    pub fault: Option<Box<LaneFault>>,
    /// Where a handler faulted that compiled code called.
    pub fault_pc: u32,
    /// The blocks that compiled code runs at this moment by one call.
    pub whole: Option<crate::jit::Chunk>,
    /// The tables of the code that runs, and of the one before.
    pub rooms: [crate::jit::Rooms; 6],
    /// What compiled code counts for the watch.
    pub tallies: crate::jit::Tallies,
    /// What compiled code and the engine share.
    pub io: Box<margay_codegen::Io>,
    pub view: WarpView,
}

impl<'a> Cx<'a> {
    /// Time since the launch began, which sleeping threads go by.
    pub fn nanoseconds(&self) -> u64 {
        self.env.started.elapsed().as_nanos() as u64
    }

    pub fn new(env: &'a Env<'a>) -> Cx<'a> {
        let interest = env.observer.map_or(Interest::empty(), |o| o.interest());
        Cx {
            bases: [std::ptr::null_mut(), env.program.consts.as_ptr().cast_mut().cast()],
            mask: 0,
            exec: 0,
            next: 0,
            taken: 0,
            other: 0,
            switch_pc: u32::MAX,
            fuel: 0,
            run_start: 0,
            shared: std::ptr::null_mut(),
            shared_size: 0,
            peers: &[],
            local: std::ptr::null_mut(),
            local_stride: 0,
            env,
            observing: interest.intersects(Interest::ACCESSES | Interest::VARIABLES),
            rehearses: false,
            yielded: false,
            quiet: false,
            in_code: false,
            interest,
            watch: env.observer.map(|o| o.worker()),
            hold: false,
            extents: vec![Extent::default(); env.program.slots as usize],
            recent: Recent::new(env.memory.epoch()),
            epoch: env.memory.epoch(),
            changes: 0,
            polls: 0,
            sleep: 0,
            interpreting: false,
            reads: Reads::default(),
            warp_instructions: 0,
            thread_instructions: 0,
            counters: [0; COUNTERS],
            fault: None,
            fault_pc: 0,
            whole: None,
            rooms: std::array::from_fn(|_| crate::jit::Rooms::new()),
            tallies: crate::jit::Tallies::new(env),
            io: crate::jit::new_io(env),
            view: WarpView {
                tid: [std::ptr::null(); 3],
                ctaid: [0; 3],
                warp: 0,
                warps: 0,
                alive: 0,
                cluster_rank: 0,
                smid: 0,
            },
        }
    }

    /// Address of an operand's plane.
    ///
    /// # Safety
    /// `operand` was decoded for the frame that `bases` points to.
    #[inline(always)]
    pub unsafe fn plane(&self, operand: u32) -> *mut u8 {
        // SAFETY: the index is 0 or 1, and the offset is inside the buffer by the contract.
        unsafe { self.bases.get_unchecked((operand & 1) as usize).add((operand & !1) as usize) }
    }

    /// Reads one lane of a W plane.
    ///
    /// # Safety
    /// As for [`Cx::plane`]; `lane` is below 32.
    #[inline(always)]
    pub unsafe fn word(&self, operand: u32, lane: usize) -> u32 {
        // SAFETY: by the contract.
        unsafe { *(self.plane(operand) as *const u32).add(lane) }
    }

    /// Reads one lane of a D plane.
    ///
    /// # Safety
    /// As for [`Cx::plane`]; `lane` is below 32.
    #[inline(always)]
    pub unsafe fn double(&self, operand: u32, lane: usize) -> u64 {
        // SAFETY: by the contract.
        unsafe { *(self.plane(operand) as *const u64).add(lane) }
    }

    /// Reads a P plane.
    ///
    /// # Safety
    /// As for [`Cx::plane`].
    #[inline(always)]
    pub unsafe fn pred(&self, operand: u32) -> u32 {
        // SAFETY: by the contract.
        unsafe { *(self.plane(operand) as *const u32) }
    }

    /// Records a guest fault.
    #[cold]
    #[inline(never)]
    pub fn fail(&mut self, lane: usize, kind: FaultKind) -> Flow {
        self.fault = Some(Box::new(LaneFault { lane: lane as u32, kind }));
        Flow::Fault
    }

    /// The first lane in which the current instruction has effect.
    #[inline(always)]
    pub fn leader(&self) -> usize {
        (self.mask.trailing_zeros() & 31) as usize
    }

    /// Where an event at `pc` happens.
    #[inline(always)]
    pub fn event_at(&self, pc: u32) -> EventPlace {
        let WarpView { ctaid, warp, smid, .. } = self.view;
        EventPlace { ctaid, warp, pc, smid }
    }

    /// Reports that lanes have met at a `bar.warp.sync`.
    pub fn report_warp_barrier(&mut self, at: EventPlace, mask: u32) {
        if self.interest.contains(Interest::WARP_SYNCS)
            && let Some(watch) = &mut self.watch
        {
            watch.warp_barrier(at, mask);
        }
    }

    /// Whether the access of the instruction at `pc` was told by another block.
    #[inline]
    pub fn is_told(&self, pc: u32) -> bool {
        self.quiet && self.env.alike.found().is_some_and(|alike| alike.told(pc))
    }

    /// Reports a straight run.
    fn report_run(&mut self, from: u32, end: u32) {
        let at = self.event_at(from);
        if let Some(watch) = &mut self.watch
            && from < end
        {
            watch.run(at, end, self.exec);
        }
    }

    /// Reports the instruction at `pc`, which lanes `mask` executed together with others that are elsewhere: if it is a shuffle, with
    /// all of these lanes, and the one that each reads.
    pub fn report_shared(&mut self, pc: u32, mask: u32, shuffle: Option<(u32, [u8; WARP])>) {
        if !self.interest.contains(Interest::RUNS) || self.interest.contains(Interest::OPERANDS) {
            return;
        }
        let (at, chooses) = (self.event_at(pc), self.interest.contains(Interest::CHOICES));
        if let Some(watch) = &mut self.watch {
            if let Some((all, sources)) = shuffle.filter(|_| chooses) {
                watch.shuffle(pc, all, &sources);
            }
            watch.run(at, pc + 1, mask);
        }
    }

    /// Tells of a choice that is about to be executed.
    ///
    /// # Safety
    /// `inst` was decoded for the frame that `bases` points to.
    #[cold]
    #[inline(never)]
    unsafe fn report_choice(&mut self, pc: u32, inst: &crate::lanes::Inst) {
        let program = self.env.program;
        let Some(view) = program.instruction(pc) else { return };
        let Code::Inst(chosen) = view.code else { return };
        let mask = self.mask;
        if self.interest.contains(Interest::OPERANDS) {
            // SAFETY: by the contract.
            let operands = unsafe { self.operands(view.function, chosen) };
            if let (Some(watch), Some(operands)) = (&mut self.watch, operands) {
                watch.operands(pc, mask, &operands);
            }
            return;
        }
        if let Attr::Shfl(mode) = chosen.attr {
            // SAFETY: by the contract.
            let sources = unsafe { warp_ops::sources(self, inst, mode) };
            if let Some(watch) = &mut self.watch {
                watch.shuffle(pc, mask, &sources);
            }
            return;
        }
        // SAFETY: these ops have planes of predicates there.
        let operands = unsafe {
            match chosen.op {
                Op::PAnd | Op::POr => [self.pred(inst.a), self.pred(inst.b)],
                Op::Select => [self.pred(inst.c), 0],
                _ => [0; 2],
            }
        };
        if let Some(watch) = &mut self.watch {
            watch.choice(pc, mask, operands);
        }
    }

    /// What the first operands of an instruction of the kernel's own function are in each lane.
    ///
    /// # Safety
    /// The frame is that function's.
    unsafe fn operands(
        &self,
        function: &margay_ir::Function,
        inst: &margay_ir::Inst,
    ) -> Option<[[u64; WARP]; 3]> {
        let program = self.env.program;
        let mut all = [[0; WARP]; 3];
        for (to, from) in all.iter_mut().zip(&inst.srcs) {
            *to = match *from {
                Value::Imm(bits) => [bits; WARP],
                Value::Reg(r) => {
                    let plane = *program.functions[0].planes.get(r.0 as usize)?;
                    let class = *function.regs.get(r.0 as usize)?;
                    // SAFETY: the plane is in the frame, and of this class.
                    unsafe {
                        let at = self.plane(plane);
                        match class {
                            Class::P => {
                                let all = self.pred(plane);
                                std::array::from_fn(|lane| u64::from(all >> lane & 1))
                            }
                            Class::W => (*at.cast::<[u32; WARP]>()).map(u64::from),
                            Class::D => *at.cast::<[u64; WARP]>(),
                        }
                    }
                }
            };
        }
        Some(all)
    }

    /// Ends the count of a straight run: `pc` is the first instruction not executed.
    #[inline(always)]
    pub fn count_run(&mut self, pc: u32) {
        let n = pc.wrapping_sub(self.run_start) as i32 as i64;
        self.fuel -= n;
        self.warp_instructions = self.warp_instructions.wrapping_add(n as u64);
        let threads = n * self.exec.count_ones() as i64;
        self.thread_instructions = self.thread_instructions.wrapping_add(threads as u64);
    }
}

/// Runs the fragment that `cx` is set up for from `pc` until something needs the scheduler.
/// Returns that and the address of the instruction it happened at; for [`Flow::Jump`] and
/// [`Flow::Pause`] the address to go on at.
///
/// # Safety
/// `cx` is set up for a live frame of the function that holds `pc`.
pub unsafe fn run(cx: &mut Cx<'_>, pc: u32) -> (Flow, u32) {
    // Two loops, so that the usual one has nothing of the other.
    // SAFETY: by the contract.
    unsafe {
        match cx.interest.contains(Interest::RUNS) {
            false => run_loop::<false>(cx, pc),
            true => run_loop::<true>(cx, pc),
        }
    }
}

/// [`run`]; `REPORTS` straight runs to the watch.
unsafe fn run_loop<const REPORTS: bool>(cx: &mut Cx<'_>, pc: u32) -> (Flow, u32) {
    let code = cx.env.program.code.as_ptr();
    let choices = match cx.env.observer {
        Some(observer) if REPORTS && cx.interest.contains(Interest::CHOICES) => observer.choices(),
        _ => &[],
    };
    // SAFETY: every path of decoded code ends in a terminator, so `at` stays inside the code, and
    // jump targets were checked when it was decoded.
    unsafe {
        let mut at = code.add(pc as usize);
        cx.run_start = pc;
        let mut from = pc;
        loop {
            let inst = &*at;
            cx.mask = cx.exec & (cx.pred(inst.guard) ^ inst.guard_xor);
            if REPORTS {
                let here = at.offset_from(code) as u32;
                if choices.get(here as usize).is_some_and(|choice| *choice) {
                    cx.report_choice(here, inst);
                }
            }
            let flow = (inst.handler)(cx, inst);
            if flow == Flow::Next {
                // Nearly always: a branch is cheaper than the table of the rest.
                at = at.add(1);
                continue;
            }
            match flow {
                Flow::Next => at = at.add(1),
                Flow::Jump => {
                    let here = at.offset_from(code) as u32;
                    let next = cx.next;
                    cx.count_run(here + 1);
                    if REPORTS {
                        cx.report_run(from, here + 1);
                        from = next;
                    }
                    cx.run_start = next;
                    if next >= cx.switch_pc || cx.fuel <= 0 {
                        return (Flow::Jump, next);
                    }
                    at = code.add(next as usize);
                }
                Flow::Pause => {
                    let here = at.offset_from(code) as u32;
                    cx.count_run(here + 1);
                    if REPORTS {
                        cx.report_run(from, here + 1);
                    }
                    return (flow, here + 1);
                }
                Flow::Fault | Flow::Await | Flow::Meet | Flow::Hold => {
                    let here = at.offset_from(code) as u32;
                    cx.count_run(here);
                    if REPORTS {
                        cx.report_run(from, here);
                    }
                    return (flow, here);
                }
                Flow::Split
                | Flow::Call
                | Flow::Ret
                | Flow::Exit
                | Flow::Table
                | Flow::Barrier
                | Flow::Syscall => {
                    let here = at.offset_from(code) as u32;
                    cx.count_run(here + 1);
                    if REPORTS {
                        cx.report_run(from, here + 1);
                    }
                    return (flow, here);
                }
            }
        }
    }
}
