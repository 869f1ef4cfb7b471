// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a kernel's code says of its accesses, once for all launches.

use margay_codegen::Root;
use margay_ir::analysis::cfg::Cfg;
use margay_ir::{Attr, Function, Inst, MemAttr, Op, Sem, Space, Value};

use crate::counters::Loops;
use crate::program::{Code, Program};
use crate::steps::Steps;

use super::bounds::{Bounds, Condition};
use super::pointers::pointers;
use super::rounds::rounds;

/// Where an address comes from.
#[derive(Clone, Copy, Debug)]
pub enum Base {
    /// By the number of its step.
    Step(usize),
    Constant(i64),
    Unknown,
}

/// An access of global or shared memory.
#[derive(Debug)]
pub struct Site {
    pub pc: u32,
    pub space: Space,
    pub writes: bool,
    /// A plain load or store; others are told to a check whatever they do.
    pub weak: bool,
    /// What its pointer points into.
    pub root: Option<Root>,
    pub base: Base,
    pub offset: i64,
    pub bytes: i64,
    /// What is so for all who make it.
    pub conditions: Vec<Condition>,
}

/// The accesses of a kernel.
pub struct Plan {
    pub sites: Vec<Site>,
    /// What their addresses and conditions depend on.
    pub steps: Steps,
    /// Between which barriers of the block accesses of shared memory may be together, by their place among these; `None` if that
    /// is not known.
    pub rounds: Option<Vec<Vec<usize>>>,
}

impl Plan {
    /// `None` if the program does other things to memory than loads, stores and atomics of known spaces.
    pub fn of(program: &Program) -> Option<Plan> {
        if program.insts().any(|inst| !is_known(inst)) {
            return None;
        }
        let f = &program.module.ir.functions[program.functions.first()?.id.0 as usize];
        let (cfg, roots) = (Cfg::new(f), pointers(f));
        let loops = Loops::new(f, &cfg);
        let (mut steps, bounds) = (Steps::default(), Bounds::new(f, &cfg, &loops));
        let (mut sites, mut shared) = (Vec::new(), Vec::new());
        for (pc, at, inst) in accesses(program, f)? {
            let mem = mem_of(inst)?;
            match mem.space {
                Space::Shared => shared.push(at),
                Space::Global | Space::Generic => {}
                Space::Local | Space::Param | Space::Const => return None,
            }
            let elements = match inst.op {
                Op::St => inst.srcs.len().saturating_sub(1),
                Op::Ld => inst.dsts.len(),
                _ => 1,
            };
            let (base, root) = match inst.srcs.first() {
                Some(&Value::Reg(r)) => {
                    let step = steps.add_counted(&loops, r, at);
                    (step.map_or(Base::Unknown, Base::Step), roots[r.0 as usize])
                }
                Some(&Value::Imm(base)) => {
                    (i64::try_from(base).map_or(Base::Unknown, Base::Constant), None)
                }
                None => (Base::Unknown, None),
            };
            sites.push(Site {
                pc,
                space: mem.space,
                writes: inst.op != Op::Ld,
                weak: inst.op != Op::Atom && mem.sem == Sem::Weak,
                root,
                base,
                offset: mem.offset,
                bytes: i64::from(inst.ty.bits() / 8) * elements.max(1) as i64,
                conditions: bounds.conditions(at.0, inst, &mut steps),
            });
        }
        let none = shared.is_empty();
        let rounds = if none { Some(Vec::new()) } else { rounds(f, &cfg, &shared) };
        Some(Plan { sites, steps, rounds })
    }
}

/// Whether an instruction is one of those that accesses are found of, or accesses nothing that others do.
fn is_known(inst: &Inst) -> bool {
    match (inst.op, &inst.attr) {
        (Op::Ld | Op::St, Attr::Mem(_)) | (Op::Atom, Attr::Atom { .. }) => true,
        // What is called is looked at, too.
        (op, _) => op == Op::Call || op.accesses_nothing(),
    }
}

/// An instruction: where it lies in the code, its block and its place there.
type Placed<'f> = (u32, (usize, usize), &'f Inst);

/// What a kernel accesses that others do, too; `None` if what it calls does.
fn accesses<'f>(program: &'f Program, f: &'f Function) -> Option<Vec<Placed<'f>>> {
    let mut found = Vec::new();
    let mut block = (usize::MAX, 0);
    for pc in 0..program.code_len() {
        let view = program.instruction(pc)?;
        if !std::ptr::eq(view.function, f) {
            match view.code {
                Code::Inst(inst) if !only_computes(inst) => return None,
                Code::Inst(_) | Code::Term(_) | Code::Nothing => continue,
            }
        }
        let b = view.block as usize;
        block = if block.0 == b { (b, block.1 + 1) } else { (b, 0) };
        let Code::Inst(inst) = view.code else { continue };
        if matches!(inst.op, Op::Ld | Op::St | Op::Atom) && !is_private(inst) {
            found.push((pc, block, inst));
        }
    }
    Some(found)
}

/// Whether an instruction of a function that is called accesses nothing that other threads do, and waits for nobody.
fn only_computes(inst: &Inst) -> bool {
    is_private(inst) || !matches!(inst.op, Op::Ld | Op::St | Op::Atom | Op::Bar)
}

fn mem_of(inst: &Inst) -> Option<&MemAttr> {
    match &inst.attr {
        Attr::Mem(mem) | Attr::Atom { mem, .. } => Some(mem),
        _ => None,
    }
}

/// Whether an access is of memory that no other thread writes.
fn is_private(inst: &Inst) -> bool {
    mem_of(inst).is_some_and(|m| matches!(m.space, Space::Local | Space::Param | Space::Const))
}
