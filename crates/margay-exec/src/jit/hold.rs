// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whether a warp's first store to global memory could change what a sibling has not read yet.
//!
//! The warps of a block start together on a card, so programs exist in which one reads its input
//! before another's first store reaches it. The scheduler lets siblings go first there. Where no
//! load can see another thread's store that costs time for nothing: where what is loaded and what is
//! stored are different allocations, or each thread loads and stores one address of its own.

use margay_ir::{Attr, Function, Inst, Op, Reg, Space, Value};

use crate::interp::Env;

/// Where an address comes from.
#[derive(Clone, Copy, PartialEq)]
struct Root {
    /// Byte of the parameter that holds the pointer.
    param: u32,
    /// The address register, and the constant added.
    reg: Reg,
    offset: i64,
}

/// The only definition of each register, if it has one.
fn definitions(f: &Function) -> Vec<Option<&Inst>> {
    let mut found: Vec<(u32, Option<&Inst>)> = vec![(0, None); f.regs.len()];
    for inst in f.blocks.iter().flat_map(|b| &b.insts) {
        margay_ir::analysis::liveness::for_each_def(inst, |r| {
            let slot = &mut found[r.0 as usize];
            *slot = (slot.0 + 1, Some(inst));
        });
    }
    found.into_iter().map(|(n, i)| if n == 1 { i } else { None }).collect()
}

/// The parameter that an address is computed from.
fn param_of(defs: &[Option<&Inst>], v: Value, depth: u32) -> Option<u32> {
    let Value::Reg(r) = v else { return None };
    let inst = defs[r.0 as usize]?;
    if depth == 0 || inst.guard.is_some() {
        return None;
    }
    match inst.op {
        Op::Ld => match (inst.attr.clone(), inst.srcs.first()) {
            (Attr::Mem(m), Some(Value::Imm(base))) if m.space == Space::Param => {
                Some((*base as i64 + m.offset) as u32)
            }
            _ => None,
        },
        Op::Mov | Op::Cvta | Op::CvtaTo => param_of(defs, inst.srcs[0], depth - 1),
        Op::MadWideS | Op::MadWideU => param_of(defs, inst.srcs[2], depth - 1),
        Op::Add => {
            let a = param_of(defs, inst.srcs[0], depth - 1);
            let b = param_of(defs, inst.srcs[1], depth - 1);
            match (a, b) {
                (Some(p), None) | (None, Some(p)) => Some(p),
                _ => None,
            }
        }
        _ => None,
    }
}

/// Whether a value is different in every thread of a one-dimensional block: a multiple of `%tid.x`
/// and what all threads share.
fn own_per_thread(defs: &[Option<&Inst>], v: Value, depth: u32) -> bool {
    // Uniform over the block.
    fn shared(defs: &[Option<&Inst>], v: Value, depth: u32) -> bool {
        let Value::Reg(r) = v else { return true };
        let Some(inst) = defs[r.0 as usize] else { return false };
        if depth == 0 || inst.guard.is_some() {
            return false;
        }
        match inst.op {
            Op::Sreg => matches!(
                inst.attr,
                Attr::Sreg(
                    margay_ir::Sreg::CtaId(_)
                        | margay_ir::Sreg::NTid(_)
                        | margay_ir::Sreg::NCtaId(_)
                )
            ),
            Op::Ld => {
                matches!(inst.attr, Attr::Mem(m) if m.space == Space::Param)
                    && matches!(inst.srcs.first(), Some(Value::Imm(_)))
            }
            op if op < Op::Ld => inst.srcs.iter().all(|&s| shared(defs, s, depth - 1)),
            Op::Cvta | Op::CvtaTo => shared(defs, inst.srcs[0], depth - 1),
            _ => false,
        }
    }
    let Value::Reg(r) = v else { return false };
    let Some(inst) = defs[r.0 as usize] else { return false };
    if depth == 0 || inst.guard.is_some() {
        return false;
    }
    let own = |v: Value| own_per_thread(defs, v, depth - 1);
    let all = |v: Value| shared(defs, v, depth - 1);
    let factor = |v: Value| matches!(v, Value::Imm(n) if n != 0 && n < 1 << 16);
    match inst.op {
        Op::Sreg => matches!(inst.attr, Attr::Sreg(margay_ir::Sreg::Tid(0))),
        Op::Mov | Op::SExt | Op::ZExt | Op::Cvta | Op::CvtaTo => own(inst.srcs[0]),
        Op::Add => own(inst.srcs[0]) && all(inst.srcs[1]) || all(inst.srcs[0]) && own(inst.srcs[1]),
        Op::Mad => all(inst.srcs[0]) && all(inst.srcs[1]) && own(inst.srcs[2]),
        Op::MulWideS | Op::MulWideU => own(inst.srcs[0]) && factor(inst.srcs[1]),
        Op::MadWideS | Op::MadWideU => {
            own(inst.srcs[0]) && factor(inst.srcs[1]) && all(inst.srcs[2])
        }
        Op::Shl => own(inst.srcs[0]) && matches!(inst.srcs[1], Value::Imm(n) if n < 8),
        _ => false,
    }
}

/// Whether first stores have to wait.
pub fn needed(env: &Env<'_>) -> bool {
    let program = env.program;
    let f = &program.module.ir.functions[program.functions[0].id.0 as usize];
    if program.functions.len() > 1 {
        return true;
    }
    let defs = definitions(f);
    let mut loads: Vec<Option<Root>> = Vec::new();
    let mut stores: Vec<Option<Root>> = Vec::new();
    for inst in f.blocks.iter().flat_map(|b| &b.insts) {
        let mem = match (inst.op, &inst.attr) {
            (Op::Ld | Op::St, Attr::Mem(m)) => *m,
            // Atomics wait for nobody, and what they read is not settled anyway.
            _ => continue,
        };
        if !matches!(mem.space, Space::Global | Space::Generic) {
            continue;
        }
        let root = match inst.srcs.first() {
            Some(&v @ Value::Reg(reg)) => {
                param_of(&defs, v, 12).map(|param| Root { param, reg, offset: mem.offset })
            }
            _ => None,
        };
        if inst.op == Op::Ld { loads.push(root) } else { stores.push(root) }
    }
    if stores.is_empty() || loads.is_empty() {
        return false;
    }
    let allocation = |r: &Option<Root>| {
        let r = r.as_ref()?;
        let at = r.param as usize;
        let bytes = env.config.params.get(at..at + 8)?;
        let address = u64::from_le_bytes(bytes.try_into().ok()?);
        env.memory.find(address).map(|a| a.id)
    };
    let one_dimension = env.config.block[1] == 1 && env.config.block[2] == 1;
    for s in &stores {
        let Some(place) = allocation(s) else { return true };
        for l in &loads {
            let Some(other) = allocation(l) else { return true };
            if place != other {
                continue;
            }
            let same = s == l
                && one_dimension
                && s.is_some_and(|r| own_per_thread(&defs, Value::Reg(r.reg), 12));
            if !same {
                return true;
            }
        }
    }
    false
}
