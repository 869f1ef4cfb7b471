// SPDX-License-Identifier: MIT OR Apache-2.0
//! A first estimate, from which the trees start: register pressure, and a weighted sum of what makes ptxas take more.
//!
//! The weights were fitted to 84 kernels; alone it is 17 % off on average.

use super::super::cfg::Cfg;
use super::super::liveness::{for_each_def, pressure};
use crate::inst::{Attr, Block, Reg, Value};
use crate::module::Function;
use crate::ops::Op;
use crate::types::{Class, Space, Ty};

/// What a function that calls another has at least: the registers that calls may change.
const WITH_CALLS: u32 = 24;
/// The most that any capability's instructions can name.
const MOST: u32 = 255;

/// Registers of a thread by a sum of few figures, 4 to 255.
pub fn estimate(function: &Function) -> u32 {
    let free = rematerialised(function);
    let live = pressure(function, |r| if free[r.0 as usize] { 0 } else { words(function, r) });
    let kept: u32 =
        (0..free.len() as u32).filter(|&r| free[r as usize]).map(|r| words(function, Reg(r))).sum();
    let of = Shape::of(function);
    let flag = |yes: bool| if yes { 1.0 } else { 0.0 };
    let estimate = 5.39 + 0.49 * f64::from(live) - 3.92 * flag(of.loading_loop.is_some())
        + of.loading_loop.map_or(0.0, |l| {
            0.95 * f64::from(l.addresses.min(4)) + 5.24 * flag(l.instructions <= 24)
        })
        + 1.54 * flag(of.atomics)
        + 0.53 * f64::from(of.memory_instructions.min(24))
        + 0.40 * f64::from(kept.min(24))
        + 0.97 * (f64::from(1 + of.instructions).log2() - 5.0).max(0.0)
        + 4.5 * flag(of.routines);
    let least = if of.calls { WITH_CALLS } else { 4 };
    // What is alive at once has to be somewhere, whatever the fit says of larger kernels.
    (estimate.round() as u32).max(least).max(live * 4 / 5).min(MOST)
}

fn words(function: &Function, r: Reg) -> u32 {
    match function.regs[r.0 as usize] {
        Class::P => 0,
        Class::W => 1,
        Class::D => 2,
    }
}

/// Registers that only ever hold constants and parameters: ptxas takes those as operands.
fn rematerialised(function: &Function) -> Vec<bool> {
    let mut free = vec![true; function.regs.len()];
    let mut written = vec![false; function.regs.len()];
    for inst in function.blocks.iter().flat_map(|b| &b.insts) {
        let constant = matches!(inst.srcs.first(), Some(Value::Imm(_)));
        let takes_none = match &inst.attr {
            Attr::Mem(mem) => inst.op == Op::Ld && mem.space == Space::Param && constant,
            _ => inst.op == Op::Mov && constant,
        };
        for_each_def(inst, |r| {
            written[r.0 as usize] = true;
            free[r.0 as usize] &= takes_none;
        });
    }
    free.iter_mut().zip(written).for_each(|(f, w)| *f &= w);
    free
}

/// A block that jumps to itself and loads from global memory.
#[derive(Clone, Copy, Debug)]
struct LoadingLoop {
    instructions: u32,
    /// 64-bit values that it computes, addresses mostly.
    addresses: u32,
    /// 32-bit words that it loads.
    loaded: u32,
}

#[derive(Debug, Default)]
struct Shape {
    instructions: u32,
    /// In the block that has the most, parameters apart.
    memory_instructions: u32,
    loading_loop: Option<LoadingLoop>,
    atomics: bool,
    /// Divisions, square roots and library functions, which are routines.
    routines: bool,
    calls: bool,
}

impl Shape {
    fn of(function: &Function) -> Shape {
        let cfg = Cfg::new(function);
        let mut shape = Shape::default();
        for (b, block) in function.blocks.iter().enumerate() {
            let mut memory = 0;
            for inst in &block.insts {
                shape.instructions += 1;
                let parameter = matches!(&inst.attr, Attr::Mem(mem) if mem.space == Space::Param);
                let atomic = matches!(inst.op, Op::Atom | Op::AtomWide);
                shape.atomics |= atomic;
                memory += u32::from(!parameter && (atomic || matches!(inst.op, Op::Ld | Op::St)));
                shape.routines |= inst.op == Op::Builtin
                    || inst.ty == Ty::F32 && matches!(inst.op, Op::FDiv | Op::FSqrt);
                shape.calls |= matches!(inst.op, Op::Call | Op::Syscall);
            }
            shape.memory_instructions = shape.memory_instructions.max(memory);
            if cfg.succs[b].iter().any(|s| s.0 as usize == b) {
                let found = loading(function, block);
                if found.loaded > shape.loading_loop.map_or(0, |l| l.loaded) {
                    shape.loading_loop = Some(found);
                }
            }
        }
        shape
    }
}

fn loading(function: &Function, block: &Block) -> LoadingLoop {
    let mut found = LoadingLoop { instructions: block.insts.len() as u32, addresses: 0, loaded: 0 };
    for inst in &block.insts {
        if inst.op != Op::Ld {
            let wide = inst.dsts.iter().any(|r| function.regs[r.0 as usize] == Class::D);
            found.addresses += u32::from(wide);
        } else if matches!(&inst.attr, Attr::Mem(m) if matches!(m.space, Space::Global | Space::Generic))
        {
            found.loaded += inst.dsts.iter().map(|&r| words(function, r)).sum::<u32>();
        }
    }
    found
}
