// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a program's code says of the order of its threads.

use std::collections::HashSet;

use margay_exec::program::{Code, Program};
use margay_ir::{AtomOp, Attr, BarOrder, FuncId, Inst, Op, Reg, Scope, Sem, Space, Value};

use super::order::releases;

/// What an instruction at an address of the code does to the order.
#[derive(Clone, Copy, Debug)]
pub struct Role {
    pub sem: Sem,
    pub scope: Scope,
    pub atomic: bool,
    /// An atomic that puts a value in a variable's place: if it is the one that is expected, or in any case. So locks are taken.
    pub compares: bool,
    pub exchanges: bool,
    /// An atomic whose thread looks at what was there before.
    pub asks: bool,
}

impl Role {
    /// `is_used`: whether any instruction reads what it puts into a register.
    fn of(inst: &Inst, is_used: impl Fn(&Reg) -> bool) -> Option<Role> {
        let (mem, op) = match &inst.attr {
            Attr::Mem(mem) => (mem, None),
            Attr::Atom { mem, op, .. } => (mem, Some(*op)),
            _ => return None,
        };
        Some(Role {
            sem: mem.sem,
            scope: mem.scope,
            atomic: op.is_some(),
            compares: op == Some(AtomOp::Cas),
            exchanges: op == Some(AtomOp::Exch),
            asks: op.is_some() && inst.dsts.iter().any(is_used),
        })
    }
}

/// What is known of a program.
pub struct Facts {
    pub roles: Vec<Option<Role>>,
    /// What barriers order, by address of the code.
    pub orders: Vec<BarOrder>,
    /// Some barrier orders one kind of memory alone, so that there is an order for each.
    pub apart: bool,
    /// Threads may release something, and others acquire it: by an access or after a fence. Atomics alone order nothing.
    pub releases: bool,
    /// What no access of shared memory is smaller than: a shift.
    pub unit: u32,
}

impl Facts {
    pub fn of(program: &Program) -> Facts {
        let insts: Vec<Option<&Inst>> =
            (0..program.code_len()).map(|pc| program.inst(pc)).collect();
        let used = used(program);
        let role = |pc: u32| {
            let function = program.instruction(pc)?.id;
            Role::of(program.inst(pc)?, |reg| used.contains(&(function, *reg)))
        };
        let roles: Vec<_> = (0..program.code_len()).map(role).collect();
        let orders: Vec<_> = insts.iter().map(|inst| barrier_order(*inst)).collect();
        let is_strong = |role: &Role| role.atomic || role.sem != Sem::Weak;
        Facts {
            apart: orders.iter().any(|o| matches!(o, BarOrder::Shared | BarOrder::Global)),
            releases: roles.iter().flatten().any(is_strong)
                && (roles.iter().flatten().any(|role| releases(role.sem))
                    || insts.iter().flatten().any(|inst| inst.op == Op::Fence)),
            unit: insts.iter().flatten().filter_map(|inst| shared_unit(inst)).min().unwrap_or(2),
            roles,
            orders,
        }
    }
}

/// Registers that some instruction reads, each with its function.
fn used(program: &Program) -> HashSet<(FuncId, Reg)> {
    let insts = (0..program.code_len()).filter_map(|pc| program.instruction(pc));
    let reads = insts.flat_map(|own| {
        let Code::Inst(inst) = own.code else { return Vec::new() };
        let sources = inst.srcs.iter().filter_map(|source| match source {
            Value::Reg(reg) => Some(*reg),
            Value::Imm(_) => None,
        });
        sources.chain(inst.guard.map(|guard| guard.pred)).map(|reg| (own.id, reg)).collect()
    });
    reads.collect()
}

/// What a barrier orders.
fn barrier_order(inst: Option<&Inst>) -> BarOrder {
    match inst {
        Some(Inst { attr: Attr::Barrier { orders, .. }, .. }) => *orders,
        _ => BarOrder::All,
    }
}

/// Bytes of an access of shared memory, as a shift, as far as that is up to 4.
fn shared_unit(inst: &Inst) -> Option<u32> {
    let (Attr::Mem(mem) | Attr::Atom { mem, .. }) = &inst.attr else { return None };
    let shared = matches!(mem.space, Space::Shared | Space::Generic);
    shared.then(|| (inst.ty.bits() / 8).clamp(1, 4).ilog2())
}
