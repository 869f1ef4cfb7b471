// SPDX-License-Identifier: MIT OR Apache-2.0
//! Special registers, address conversions, the stack pointer, fences, builtins.

use std::sync::atomic::{Ordering, fence};
use std::time::{SystemTime, UNIX_EPOCH};

use margay_ir::{self as ir, Class, Op, Space, Sreg};

use crate::fault::FaultKind;
use crate::interp::Cx;
use crate::lanes::{Flow, Handler, Inst, Kernel, Lane, WARP, active, plain, wide};
use crate::mem::{LOCAL_WINDOW, SHARED_WINDOW};
use crate::observe::{Interest, MbarrierEvent};
use crate::semantics::libdevice::{self, Plane, PlaneFn};

/// A memory fence of any scope: the host's own strongest.
pub struct Fence;
impl Kernel for Fence {
    unsafe fn run(cx: &mut Cx<'_>, i: &Inst) -> Flow {
        if cx.interest.contains(Interest::FENCES) && cx.mask != 0 {
            let at = cx.event_at(cx.env.program.pc_of(i));
            let mask = cx.mask;
            if let Some(watch) = &mut cx.watch {
                watch.fence(at, mask);
            }
        }
        fence(Ordering::SeqCst);
        Flow::Next
    }
}

/// What lanes do to an mbarrier object, for who watches.
pub struct Mbarrier;
impl Kernel for Mbarrier {
    unsafe fn run(cx: &mut Cx<'_>, i: &Inst) -> Flow {
        if cx.interest.contains(Interest::WARP_SYNCS) && cx.mask != 0 {
            // SAFETY: operands were decoded for this frame.
            unsafe { tell_mbarrier(cx, i) };
        }
        Flow::Next
    }
}

/// # Safety
/// `i` is an [`Mbarrier`] of this frame.
#[cold]
unsafe fn tell_mbarrier(cx: &mut Cx<'_>, i: &Inst) {
    let (mut addresses, mut operands) = ([0; WARP], [0; WARP]);
    let window = if i.c == 0 { 0 } else { cx.env.shared_window };
    let mut mask = cx.mask;
    for l in active(cx.mask) {
        // SAFETY: by the contract.
        unsafe {
            addresses[l] = cx.double(i.a, l).wrapping_add(i.imm).wrapping_sub(window);
            operands[l] = cx.word(i.b, l);
        }
        // The access itself says that this is not shared memory.
        if addresses[l] >= SHARED_WINDOW {
            mask &= !(1 << l);
        }
    }
    let at = cx.event_at(cx.env.program.pc_of(i));
    if let Some(watch) = &mut cx.watch
        && mask != 0
    {
        watch.mbarrier(&MbarrierEvent { at, mask, addresses: &addresses, operands: &operands });
    }
}

/// `activemask`: the lanes that execute it, without those that its guard leaves out.
pub struct ActiveMask;
impl Kernel for ActiveMask {
    unsafe fn run(cx: &mut Cx<'_>, i: &Inst) -> Flow {
        let r = [cx.mask; WARP];
        // SAFETY: `d` is a W plane of this frame.
        unsafe { u32::put(cx.plane(i.d), &r, cx.mask) };
        Flow::Next
    }
}

/// Address in the function's local frame.
pub struct AddrLocal;
impl Kernel for AddrLocal {
    unsafe fn run(cx: &mut Cx<'_>, i: &Inst) -> Flow {
        let mut r = [0u64; WARP];
        // SAFETY: operands were decoded for this frame.
        unsafe {
            for (l, r) in r.iter_mut().enumerate() {
                *r = (cx.word(i.a, l) as u64).wrapping_add(i.imm);
            }
            u64::put(cx.plane(i.d), &r, cx.mask);
        }
        Flow::Next
    }
}

/// `alloca`: moves the thread's stack pointer, the W plane `aux`.
pub struct Alloca;
impl Kernel for Alloca {
    unsafe fn run(cx: &mut Cx<'_>, i: &Inst) -> Flow {
        let limit = cx.env.local_size as u64;
        for l in active(cx.mask) {
            // SAFETY: operands were decoded for this frame.
            unsafe {
                let top = (cx.plane(i.aux) as *mut u32).add(l);
                let at = (*top as u64).next_multiple_of(16);
                let needed = at.saturating_add(cx.double(i.a, l));
                if needed > limit {
                    return cx.fail(l, FaultKind::StackOverflow { needed, limit });
                }
                *top = needed as u32;
                *(cx.plane(i.d) as *mut u64).add(l) = at;
            }
        }
        Flow::Next
    }
}

fn window_of(cx: &Cx<'_>, space: u8) -> u64 {
    match space {
        SHARED => cx.env.shared_window,
        LOCAL => cx.env.local_window,
        PARAM => cx.env.params as u64,
        _ => 0,
    }
}

const SHARED: u8 = 0;
const LOCAL: u8 = 1;
const PARAM: u8 = 2;
const FLAT: u8 = 3;
const CONST: u8 = 4;

struct Cvta<const SPACE: u8, const TO: bool>;
impl<const SPACE: u8, const TO: bool> Kernel for Cvta<SPACE, TO> {
    #[inline(always)]
    unsafe fn run(cx: &mut Cx<'_>, i: &Inst) -> Flow {
        let base = window_of(cx, SPACE);
        let base = if TO { base.wrapping_neg() } else { base };
        let mut r = [0u64; WARP];
        // SAFETY: operands were decoded for this frame.
        unsafe {
            let a = cx.plane(i.a);
            for (l, r) in r.iter_mut().enumerate() {
                *r = u64::get(a, l).wrapping_add(base);
            }
            u64::put(cx.plane(i.d), &r, cx.mask);
        }
        Flow::Next
    }
}

struct IsSpace<const SPACE: u8>;
impl<const SPACE: u8> Kernel for IsSpace<SPACE> {
    unsafe fn run(cx: &mut Cx<'_>, i: &Inst) -> Flow {
        let mut r = [false; WARP];
        let (shared, local) = (cx.env.shared_window, cx.env.local_window);
        let params = cx.env.params as u64;
        for l in active(cx.mask) {
            // SAFETY: operands were decoded for this frame.
            let a = unsafe { cx.double(i.a, l) };
            let in_shared = a.wrapping_sub(shared) < SHARED_WINDOW;
            let in_local = a.wrapping_sub(local) < LOCAL_WINDOW;
            let in_params = a.wrapping_sub(params) < cx.env.params_size;
            // Buffers of OpenCL may be read as constant, and are global all the same.
            let in_const = || {
                let extent = cx.env.memory.extent(a);
                extent.constant && !extent.writable
            };
            r[l] = match SPACE {
                SHARED => in_shared,
                LOCAL => in_local,
                PARAM => in_params,
                CONST => in_const(),
                _ => !in_shared && !in_local && !in_params && !in_const(),
            };
        }
        // SAFETY: `d` is a P plane of this frame.
        unsafe { bool::put(cx.plane(i.d), &r, cx.mask) };
        Flow::Next
    }
}

/// `mapa`: shared offsets, or generic addresses of the shared window.
struct Mapa<const GENERIC: bool>;
impl<const GENERIC: bool> Kernel for Mapa<GENERIC> {
    unsafe fn run(cx: &mut Cx<'_>, i: &Inst) -> Flow {
        let base = if GENERIC { cx.env.shared_window } else { 0 };
        let mut r = [0u64; WARP];
        for l in active(cx.mask) {
            // SAFETY: operands were decoded for this frame.
            let (a, rank) = unsafe { (cx.double(i.a, l), cx.word(i.b, l)) };
            let offset = a.wrapping_sub(base) & ((1 << 24) - 1);
            r[l] = base + (((rank as u64) + 1) << 24 | offset);
        }
        // SAFETY: `d` is a D plane of this frame.
        unsafe { u64::put(cx.plane(i.d), &r, cx.mask) };
        Flow::Next
    }
}

struct GetCtaRank<const GENERIC: bool>;
impl<const GENERIC: bool> Kernel for GetCtaRank<GENERIC> {
    unsafe fn run(cx: &mut Cx<'_>, i: &Inst) -> Flow {
        let base = if GENERIC { cx.env.shared_window } else { 0 };
        let mut r = [0u32; WARP];
        for l in active(cx.mask) {
            // SAFETY: operands were decoded for this frame.
            let high = unsafe { cx.double(i.a, l) }.wrapping_sub(base) >> 24;
            r[l] = if high == 0 { cx.view.cluster_rank } else { (high - 1) as u32 };
        }
        // SAFETY: `d` is a W plane of this frame.
        unsafe { u32::put(cx.plane(i.d), &r, cx.mask) };
        Flow::Next
    }
}

/// Handlers of the ops that carry a space.
pub fn space_op(op: Op, space: Space) -> Handler {
    match (op, space) {
        (Op::Cvta, Space::Shared) => wide::<Cvta<SHARED, false>>(),
        (Op::Cvta, Space::Local) => wide::<Cvta<LOCAL, false>>(),
        (Op::Cvta, Space::Param) => wide::<Cvta<PARAM, false>>(),
        (Op::Cvta, Space::Generic | Space::Global | Space::Const) => wide::<Cvta<FLAT, false>>(),
        (Op::CvtaTo, Space::Shared) => wide::<Cvta<SHARED, true>>(),
        (Op::CvtaTo, Space::Local) => wide::<Cvta<LOCAL, true>>(),
        (Op::CvtaTo, Space::Param) => wide::<Cvta<PARAM, true>>(),
        (Op::IsSpace, Space::Shared) => plain::<IsSpace<SHARED>>(),
        (Op::IsSpace, Space::Local) => plain::<IsSpace<LOCAL>>(),
        (Op::IsSpace, Space::Param) => plain::<IsSpace<PARAM>>(),
        (Op::IsSpace, Space::Const) => plain::<IsSpace<CONST>>(),
        (Op::IsSpace, Space::Generic | Space::Global) => plain::<IsSpace<FLAT>>(),
        (Op::Mapa, Space::Generic) => plain::<Mapa<true>>(),
        (Op::Mapa, _) => plain::<Mapa<false>>(),
        (Op::GetCtaRank, Space::Generic) => plain::<GetCtaRank<true>>(),
        (Op::GetCtaRank, _) => plain::<GetCtaRank<false>>(),
        (_, _) => wide::<Cvta<FLAT, true>>(),
    }
}

/// Reads the special register at `aux` into a W or D plane.
struct ReadSreg<const WIDE: bool>;
impl<const WIDE: bool> Kernel for ReadSreg<WIDE> {
    unsafe fn run(cx: &mut Cx<'_>, i: &Inst) -> Flow {
        let sreg = cx.env.program.sregs[i.aux as usize];
        let mut r = [0u64; WARP];
        read(cx, sreg, &mut r);
        // SAFETY: `d` is a plane of the class that the op's type says.
        unsafe {
            if WIDE {
                u64::put(cx.plane(i.d), &r, cx.mask);
            } else {
                u32::put(cx.plane(i.d), &r.map(|v| v as u32), cx.mask);
            }
        }
        Flow::Next
    }
}

/// The handler that reads a special register.
pub fn sreg(wide_result: bool) -> Handler {
    if wide_result { plain::<ReadSreg<true>>() } else { plain::<ReadSreg<false>>() }
}

fn clock(cx: &Cx<'_>) -> u64 {
    if cx.env.config.seed.is_some() {
        // Reproducible runs have a reproducible clock: four cycles an instruction.
        return cx.warp_instructions * 4;
    }
    let ns = cx.env.started.elapsed().as_nanos();
    (ns * cx.env.machine.clock_khz as u128 / 1_000_000) as u64
}

fn global_timer(cx: &Cx<'_>) -> u64 {
    if cx.env.config.seed.is_some() {
        let khz = (cx.env.machine.clock_khz as u64).max(1);
        return (clock(cx) as u128 * 1_000_000 / khz as u128) as u64;
    }
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_nanos() as u64)
}

fn read(cx: &mut Cx<'_>, sreg: Sreg, r: &mut [u64; WARP]) {
    let config = cx.env.config;
    let dim = |d: u8| (d as usize).min(2);
    let cluster = config.cluster.map(|n| n.max(1));
    let reserved = cx.env.machine.reserved_shared as u64;
    let shared = cx.env.shared_size as u64;
    cx.reads.time |= matches!(
        sreg,
        Sreg::Clock
            | Sreg::ClockHi
            | Sreg::Clock64
            | Sreg::GlobalTimer
            | Sreg::GlobalTimerLo
            | Sreg::GlobalTimerHi
    );
    let uniform: u64 = match sreg {
        Sreg::Tid(d) => {
            // SAFETY: the running warp's planes of thread indices.
            let plane = unsafe { &*cx.view.tid[dim(d)] };
            for (r, &v) in r.iter_mut().zip(plane) {
                *r = v as u64;
            }
            return;
        }
        Sreg::LaneId
        | Sreg::LaneMaskEq
        | Sreg::LaneMaskLe
        | Sreg::LaneMaskLt
        | Sreg::LaneMaskGe
        | Sreg::LaneMaskGt => {
            for (l, r) in r.iter_mut().enumerate() {
                let eq = 1u32 << l;
                *r = match sreg {
                    Sreg::LaneId => l as u32,
                    Sreg::LaneMaskEq => eq,
                    Sreg::LaneMaskLe => eq | (eq - 1),
                    Sreg::LaneMaskLt => eq - 1,
                    Sreg::LaneMaskGe => !(eq - 1),
                    _ => !(eq | (eq - 1)),
                } as u64;
            }
            return;
        }
        Sreg::NTid(d) => config.block[dim(d)] as u64,
        Sreg::CtaId(d) => cx.view.ctaid[dim(d)] as u64,
        Sreg::NCtaId(d) => config.grid[dim(d)] as u64,
        Sreg::WarpId => cx.view.warp as u64,
        Sreg::NWarpId => cx.view.warps as u64,
        Sreg::SmId => cx.view.smid as u64,
        Sreg::NSmId => cx.env.machine.sm_count as u64,
        Sreg::GridId => config.grid_id,
        Sreg::ClusterId(d) => (cx.view.ctaid[dim(d)] / cluster[dim(d)]) as u64,
        Sreg::NClusterId(d) => config.grid[dim(d)].div_ceil(cluster[dim(d)]) as u64,
        Sreg::ClusterCtaId(d) => (cx.view.ctaid[dim(d)] % cluster[dim(d)]) as u64,
        Sreg::ClusterNCtaId(d) => cluster[dim(d)] as u64,
        Sreg::ClusterCtaRank => cx.view.cluster_rank as u64,
        Sreg::ClusterNCtaRank => cluster.iter().map(|&n| n as u64).product(),
        Sreg::IsExplicitCluster => (cluster != [1, 1, 1]) as u64,
        Sreg::Clock => clock(cx) & 0xffff_ffff,
        Sreg::ClockHi => clock(cx) >> 32,
        Sreg::Clock64 => clock(cx),
        Sreg::GlobalTimer => global_timer(cx),
        Sreg::GlobalTimerLo => global_timer(cx) & 0xffff_ffff,
        Sreg::GlobalTimerHi => global_timer(cx) >> 32,
        Sreg::Pm(_) => 0,
        Sreg::EnvReg(n) => config.environment(n) as u64,
        Sreg::TotalSmemSize => shared,
        Sreg::AggrSmemSize => shared + reserved,
        Sreg::DynamicSmemSize => config.dynamic_shared as u64,
        // begin, end, cap and the numbered offsets: the reserve follows the block's own memory.
        Sreg::ReservedSmemOffset(0) => shared,
        Sreg::ReservedSmemOffset(1) => shared + reserved,
        Sreg::ReservedSmemOffset(_) => reserved,
        Sreg::CurrentGraphExec => config.graph_exec,
    };
    r.fill(uniform);
}

/// A call of the device library: its function and its operands.
pub struct BuiltinSite {
    function: PlaneFn,
    args: usize,
    /// Arguments, then results.
    operands: Vec<(u32, Class)>,
}

impl BuiltinSite {
    pub fn new(which: ir::Builtin, args: usize, operands: Vec<(u32, Class)>) -> BuiltinSite {
        BuiltinSite { function: libdevice::lookup(which), args, operands }
    }
}

/// Most operands that a builtin has on either side.
const MOST: usize = 4;

/// Calls the device library for the active lanes.
pub struct Builtin;
impl Kernel for Builtin {
    unsafe fn run(cx: &mut Cx<'_>, i: &Inst) -> Flow {
        if cx.mask == 0 {
            return Flow::Next;
        }
        let site = &cx.env.program.builtins[i.aux as usize];
        let (sources, targets) = site.operands.split_at(site.args);
        let mut args: [Plane; MOST] = [[0; WARP]; MOST];
        let mut rets: [Plane; MOST] = [[0; WARP]; MOST];
        // SAFETY: operands were decoded for this frame with these classes.
        unsafe {
            for (plane, &(operand, class)) in args.iter_mut().zip(sources) {
                for (l, v) in plane.iter_mut().enumerate() {
                    *v = match class {
                        Class::W => cx.word(operand, l) as u64,
                        Class::D => cx.double(operand, l),
                        Class::P => (cx.pred(operand) >> l & 1) as u64,
                    };
                }
            }
            (site.function)(&args[..sources.len()], cx.mask, &mut rets[..targets.len()]);
            for (plane, &(operand, class)) in rets.iter().zip(targets) {
                match class {
                    Class::W => u32::put(cx.plane(operand), &plane.map(|v| v as u32), cx.mask),
                    Class::D => u64::put(cx.plane(operand), plane, cx.mask),
                    Class::P => bool::put(cx.plane(operand), &plane.map(|v| v & 1 != 0), cx.mask),
                }
            }
        }
        Flow::Next
    }
}
