// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a program's code says, once for all its launches.

use margay_exec::program::Program;
use margay_ir::{Attr, Callee, FuncId, Inst, Op, Space};

use super::calls::Lives;
use super::taint::chooses;
use super::unset::Registers;
use super::watch::is_access;
use crate::words::Words;

/// What is known of a program.
pub struct Facts {
    /// For each address of the code, that of the next instruction that touches memory, reads other lanes' values, or calls what has
    /// registers to follow, itself or later.
    pub next_access: Vec<u32>,
    /// For each address, whether values decide there which operands count.
    pub choices: Vec<bool>,
    pub lives: Lives,
    pub registers: Registers,
    /// The kernel, if it has itself registers to follow.
    pub kernel: Option<FuncId>,
    /// Whether a value can be undefined where all of global memory is written: the program has shared or local memory, or
    /// registers or variables that begin without a value, or lanes read others' values. Functions that it calls count as having some.
    pub begins_undefined: bool,
    /// Whether lanes read others' values, which may not be there.
    pub shuffles: bool,
}

impl Facts {
    pub fn of(program: &Program) -> Facts {
        let marked = Words::of_module(&program.module().ir) == Words::OpenCl;
        let registers = Registers::new(marked);
        let begins_undefined = |inst: &Inst| match &inst.attr {
            Attr::Call(call) => match call.callee {
                Callee::Direct(id) => !registers.of(program, id).is_empty(),
                Callee::Indirect(_) => false,
            },
            _ => false,
        };
        let touches = |pc: u32| {
            program.inst(pc).is_some_and(|inst| {
                is_access(inst.op) || inst.op == Op::Shfl || begins_undefined(inst)
            })
        };
        let mut next_access: Vec<u32> = (0..program.code_len()).collect();
        let mut next = u32::MAX;
        for pc in next_access.iter_mut().rev() {
            next = if touches(*pc) { *pc } else { next };
            *pc = next;
        }
        let choices =
            (0..program.code_len()).map(|pc| program.inst(pc).is_some_and(chooses)).collect();
        // Its code comes first.
        let kernel = program.instruction(0).map(|i| i.id);
        let kernel = kernel.filter(|id| !registers.of(program, *id).is_empty());
        let shuffles = program.insts().any(|inst| inst.op == Op::Shfl);
        let own = shuffles || program.info().local_bytes > 0 || program.insts().any(brings_own);
        let begins_undefined = kernel.is_some() || own;
        let lives = Lives::default();
        Facts { next_access, choices, lives, registers, kernel, begins_undefined, shuffles }
    }
}

/// Whether an instruction has to do with memory of a thread's or of a block's own, or with another function.
fn brings_own(inst: &Inst) -> bool {
    match &inst.attr {
        Attr::Mem(mem) | Attr::Atom { mem, .. } => {
            matches!(mem.space, Space::Local | Space::Shared)
        }
        Attr::Call(_) => true,
        _ => inst.op == Op::Alloca,
    }
}
