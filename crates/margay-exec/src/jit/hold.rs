// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whether a warp's first store to global memory could change what a sibling has not read yet.
//!
//! The warps of a block start together on a card, so programs exist in which one reads its input
//! before another's first store reaches it. The scheduler lets siblings go first there. Where no
//! load can see another thread's store that costs time for nothing: where what is loaded and what is
//! stored are different allocations, or each thread loads and stores one address of its own.

use super::overlap::Conflicts;
use margay_codegen::Root;
use margay_ir::{Attr, Function, Inst, Op, Reg, Space, Term, Ty, Value};

use crate::interp::Env;
use crate::program::Program;
use crate::reach::root_address;
use crate::steps::Steps;
use crate::sums::Sums;

/// A load or store of global memory.
#[derive(Clone, Copy, PartialEq)]
struct Access {
    root: Option<Root>,
    /// The address register, how it is computed, the constant added, and how many bytes are touched.
    reg: Option<Reg>,
    step: Option<usize>,
    offset: i64,
    bytes: i64,
    /// In a one-dimensional block each thread has an address of its own.
    own: bool,
}

/// What of a kernel's code decides, found once.
#[derive(Default)]
pub struct Accesses {
    loads: Vec<Access>,
    stores: Vec<Access>,
    /// Parameters through which memory is reached.
    pub pointers: Vec<u32>,
    /// Environment registers that are read, a bit each.
    pub environment: u32,
    /// Instructions that a warp runs if each loop is gone through [`TURNS`] times.
    pub weight: u64,
    /// Functions that are called do more than compute.
    called: bool,
    /// What the addresses of loads and stores are computed by.
    steps: Steps,
    /// Something else than loads and stores may tell the order of warps.
    ordered: bool,
    /// The pointers behind everything that writes global memory; `None` if one is not known.
    pub stored: Option<Vec<Root>>,
}

/// A guess where nothing is known.
const TURNS: u64 = 16;

/// See [`Accesses::weight`].
fn weight(f: &Function) -> u64 {
    // Loops lie in one piece, from the block that is jumped back to.
    let mut depth = vec![0u32; f.blocks.len()];
    for (b, block) in f.blocks.iter().enumerate() {
        let back = match &block.term {
            Term::Br(to) => Some(to.0 as usize),
            Term::CondBr { then, els, .. } => Some(then.0.min(els.0) as usize),
            Term::BrTable { targets, .. } => targets.iter().map(|t| t.0 as usize).min(),
            Term::Ret | Term::Exit => None,
        };
        if let Some(header) = back.filter(|&header| header <= b) {
            depth[header..=b].iter_mut().for_each(|d| *d += 1);
        }
    }
    let insts = f.blocks.iter().map(|b| b.insts.len() as u64 + 1);
    insts
        .zip(depth)
        .fold(0, |sum: u64, (n, d)| sum.saturating_add(n.saturating_mul(TURNS.saturating_pow(d))))
}

/// The only definition of each register, if it has one.
pub(crate) fn definitions(f: &Function) -> Vec<Option<&Inst>> {
    let mut found: Vec<(u32, Option<&Inst>)> = vec![(0, None); f.regs.len()];
    for inst in f.blocks.iter().flat_map(|b| &b.insts) {
        margay_ir::analysis::liveness::for_each_def(inst, |r| {
            let slot = &mut found[r.0 as usize];
            *slot = (slot.0 + 1, Some(inst));
        });
    }
    found.into_iter().map(|(n, i)| if n == 1 { i } else { None }).collect()
}

/// Whether a value is different in every thread of a one-dimensional block: a multiple of `%tid.x`
/// and what all threads share; `once` if it must be `%tid.x` itself and what they share.
fn own_per_thread(defs: &[Option<&Inst>], v: Value, depth: u32, once: bool) -> bool {
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
                        | margay_ir::Sreg::EnvReg(_)
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
    let own = |v: Value| own_per_thread(defs, v, depth - 1, once);
    // Whose low 32 bits differ, too.
    let number = |v: Value| own_per_thread(defs, v, depth - 1, true);
    let all = |v: Value| shared(defs, v, depth - 1);
    let factor = |v: Value| matches!(v, Value::Imm(n) if n != 0 && n < 1 << 16) && !once;
    match inst.op {
        Op::Sreg => matches!(inst.attr, Attr::Sreg(margay_ir::Sreg::Tid(0))),
        Op::Mov | Op::SExt | Op::ZExt | Op::Cvta | Op::CvtaTo => own(inst.srcs[0]),
        Op::Add => own(inst.srcs[0]) && all(inst.srcs[1]) || all(inst.srcs[0]) && own(inst.srcs[1]),
        Op::Mad => all(inst.srcs[0]) && all(inst.srcs[1]) && own(inst.srcs[2]),
        Op::MulWideS | Op::MulWideU => own(inst.srcs[0]) && factor(inst.srcs[1]),
        Op::MadWideS | Op::MadWideU => {
            own(inst.srcs[0]) && factor(inst.srcs[1]) && all(inst.srcs[2])
        }
        Op::Shl => own(inst.srcs[0]) && matches!(inst.srcs[1], Value::Imm(n) if n < 8) && !once,
        // The low half of a wide number, widened.
        Op::ShrS if inst.ty == Ty::I64 => {
            let low = |r: Reg| defs[r.0 as usize].filter(|i| i.op == Op::Shl && i.guard.is_none());
            let widened = match (inst.srcs[0], inst.srcs[1]) {
                (Value::Reg(r), Value::Imm(n)) if n == 32 || !once && (24..32).contains(&n) => {
                    low(r)
                }
                _ => None,
            };
            widened.is_some_and(|shl| shl.srcs[1] == Value::Imm(32) && number(shl.srcs[0]))
        }
        Op::And => inst.srcs[1] == Value::Imm(u64::from(u32::MAX)) && number(inst.srcs[0]),
        _ => false,
    }
}

/// Looks at a kernel's accesses.
pub fn accesses(program: &Program) -> Accesses {
    let mut functions =
        program.functions.iter().map(|f| &program.module.ir.functions[f.id.0 as usize]);
    let Some(f) = functions.next() else { return Accesses::default() };
    let defs = definitions(f);
    let roots = margay_codegen::roots(f);
    let called = functions.any(|f| f.blocks.iter().flat_map(|b| &b.insts).any(|i| i.op >= Op::Ld));
    let mut found = Accesses {
        pointers: margay_codegen::pointers(f),
        environment: margay_codegen::environment(f),
        weight: weight(f),
        called,
        stored: crate::reach::stored(f, called),
        ..Accesses::default()
    };
    for inst in f.blocks.iter().flat_map(|b| &b.insts) {
        let mem = match (inst.op, &inst.attr) {
            (Op::Ld | Op::St, Attr::Mem(m)) => *m,
            // Atomics wait for nobody, and what they read is not settled anyway.
            _ => continue,
        };
        if !matches!(mem.space, Space::Global | Space::Generic) {
            continue;
        }
        let reg = match inst.srcs.first() {
            Some(&Value::Reg(reg)) => Some(reg),
            Some(Value::Imm(_)) | None => None,
        };
        let elements = match inst.op {
            Op::St => inst.srcs.len().saturating_sub(1),
            _ => inst.dsts.len(),
        };
        let access = Access {
            root: reg.and_then(|r| roots[r.0 as usize]),
            reg,
            step: reg.and_then(|r| found.steps.add(&defs, r)),
            offset: mem.offset,
            bytes: i64::from(inst.ty.bits() / 8) * elements as i64,
            own: reg.is_some_and(|r| own_per_thread(&defs, Value::Reg(r), 12, false)),
        };
        let list = if inst.op == Op::Ld { &mut found.loads } else { &mut found.stores };
        if !list.contains(&access) {
            list.push(access);
        }
    }
    found.ordered = f.blocks.iter().flat_map(|b| &b.insts).any(tells_order);
    found
}

/// Whether an instruction may tell in which order the warps of a block run other than by what it loads from global memory.
fn tells_order(inst: &Inst) -> bool {
    match (inst.op, &inst.attr) {
        (Op::Ld | Op::St, Attr::Mem(mem)) => mem.space == Space::Shared,
        (op, _) => !op.accesses_nothing(),
    }
}

/// Whose first stores to global memory have to wait.
#[derive(Debug)]
pub enum Holds {
    /// No load could tell.
    Nobody,
    /// Warps of some blocks.
    Some(Conflicts),
    Everybody,
}

/// [`needed`], for the kernel of a launch.
pub fn who_holds(env: &Env<'_>) -> Holds {
    needed(env, env.program.kernels.accesses(env.program))
}

/// Whose first stores have to wait.
fn needed(env: &Env<'_>, accesses: &Accesses) -> Holds {
    let program = env.program;
    let Accesses { loads, stores, called, .. } = accesses;
    if *called {
        return Holds::Everybody;
    }
    if stores.is_empty() || loads.is_empty() {
        return Holds::Nobody;
    }
    // A kernel has few pointers, and many accesses through each.
    let mut known: Vec<(Root, Option<u64>)> = Vec::new();
    let mut allocation = |a: &Access| {
        let root = a.root?;
        if let Some((_, id)) = known.iter().find(|(r, _)| *r == root) {
            return *id;
        }
        let address = root_address(root, program, env.config);
        let id = address.and_then(|a| env.memory.find(a)).map(|a| a.id);
        known.push((root, id));
        id
    };
    let mut meet = Vec::new();
    let one_dimension = env.config.block[1] == 1 && env.config.block[2] == 1;
    for s in stores {
        let Some(place) = allocation(s) else { return Holds::Everybody };
        for l in loads {
            let Some(other) = allocation(l) else { return Holds::Everybody };
            if place != other {
                continue;
            }
            let same =
                s.reg.is_some() && (s.reg, s.offset) == (l.reg, l.offset) && one_dimension && s.own;
            if !same {
                meet.push((s, l));
            }
        }
    }
    if meet.is_empty() {
        return Holds::Nobody;
    }
    match conflicts(env, accesses, &meet) {
        Some(found) if found.is_empty() => Holds::Nobody,
        Some(found) => Holds::Some(found),
        None => Holds::Everybody,
    }
}

/// The most pairs that are looked at.
const PAIRS: usize = 16;

/// In which blocks a store and a load of the same allocation meet; `None` if that is not known.
fn conflicts(env: &Env<'_>, accesses: &Accesses, meet: &[(&Access, &Access)]) -> Option<Conflicts> {
    if accesses.ordered || meet.len() > PAIRS {
        return None;
    }
    let mut found = Conflicts::new(env.config)?;
    let sums = Sums::new(&accesses.steps, env.config);
    for (s, l) in meet {
        let [store, load] = [s, l].map(|a| sums.address(a.step?, a.offset));
        found.add(env.config, (&store?, s.bytes), (&load?, l.bytes))?;
    }
    Some(found)
}
