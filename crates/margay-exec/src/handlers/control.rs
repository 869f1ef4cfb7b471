// SPDX-License-Identifier: MIT OR Apache-2.0
//! Jumps, and ops that only tell the scheduler something.

use crate::fault::FaultKind;
use crate::interp::Cx;
use crate::lanes::{Flow, Inst, Kernel, active};
use crate::observe::Interest;

/// `bra`, unconditional: `imm` is the target.
pub struct Br;
impl Kernel for Br {
    unsafe fn run(cx: &mut Cx<'_>, i: &Inst) -> Flow {
        cx.next = i.imm as u32;
        Flow::Jump
    }
}

/// The end of a block that runs into a join: a place to meet other fragments, no instruction.
pub struct Fall;
impl Kernel for Fall {
    unsafe fn run(cx: &mut Cx<'_>, i: &Inst) -> Flow {
        cx.next = i.imm as u32;
        cx.run_start = cx.run_start.wrapping_add(1);
        Flow::Jump
    }
}

/// Two targets in `imm`; `a` is the predicate, `c` its negation.
pub struct CondBr;
impl Kernel for CondBr {
    unsafe fn run(cx: &mut Cx<'_>, i: &Inst) -> Flow {
        // SAFETY: `a` is a P plane of this frame.
        let taken = cx.exec & (unsafe { cx.pred(i.a) } ^ i.c);
        if cx.interest.contains(Interest::BRANCHES) {
            observe(cx, i, taken);
        }
        let (then, els) = (i.imm as u32, (i.imm >> 32) as u32);
        if taken == cx.exec {
            cx.next = then;
            Flow::Jump
        } else if taken == 0 || then == els {
            cx.next = els;
            Flow::Jump
        } else {
            cx.taken = taken;
            cx.next = then;
            cx.other = els;
            Flow::Split
        }
    }
}

#[cold]
#[inline(never)]
fn observe(cx: &mut Cx<'_>, i: &Inst, taken: u32) {
    let at = cx.event_at(cx.env.program.pc_of(i));
    let active = cx.exec;
    if let Some(watch) = &mut cx.watch {
        watch.branch(at, active, taken);
    }
}

macro_rules! tell {
    ($( $(#[$doc:meta])* $name:ident => $flow:ident, $skip:literal; )*) => { $(
        $(#[$doc])*
        pub struct $name;
        impl Kernel for $name {
            unsafe fn run(cx: &mut Cx<'_>, _: &Inst) -> Flow {
                if $skip && cx.mask == 0 { Flow::Next } else { Flow::$flow }
            }
        }
    )* };
}

tell! {
    /// `brx.idx`: `a` is the index, `aux` the table.
    Table => Table, false;
    Ret => Ret, false;
    Exit => Exit, false;
    /// `aux` is the call site.
    Call => Call, true;
    /// `aux` is the call of the run time.
    Syscall => Syscall, true;
    /// Any barrier of a block or a cluster; `imm` packs its kind (see [`crate::barrier`]).
    Barrier => Barrier, true;
}

/// `trap` and `brkpt`.
pub struct Trap;
impl Kernel for Trap {
    unsafe fn run(cx: &mut Cx<'_>, _: &Inst) -> Flow {
        if cx.mask == 0 { Flow::Next } else { cx.fail(cx.leader(), FaultKind::Trap) }
    }
}

/// The longest that `nanosleep` suspends a thread, in nanoseconds (PTX ISA, "nanosleep").
pub const LONGEST_SLEEP: u64 = 1_000_000;

/// `nanosleep`: asks the scheduler not to come back before the time has passed. Lanes that sleep
/// together wake together, after the longest of their times.
pub struct NanoSleep;
impl Kernel for NanoSleep {
    unsafe fn run(cx: &mut Cx<'_>, i: &Inst) -> Flow {
        if cx.mask == 0 {
            return Flow::Next;
        }
        // SAFETY: `a` is a W plane of this frame.
        let times = active(cx.mask).map(|lane| u64::from(unsafe { cx.word(i.a, lane) }));
        cx.sleep = times.max().unwrap_or(0).min(LONGEST_SLEEP);
        Flow::Pause
    }
}
