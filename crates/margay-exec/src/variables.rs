// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which variable of shared memory an access is to: the one that its address is computed from, where that is known for sure.
//!
//! A block's variables lie behind each other, so that an index which leaves one comes to the next, as on a card: nothing
//! faults, and only the code says which of them was meant.

use std::collections::BTreeMap;

use margay_ir::analysis::liveness::for_each_def;
use margay_ir::{AddrOf, Attr, Function, GlobalId, Inst, Module, Op, Space, Value};

use crate::program::Program;

/// An access of shared memory by its place in the code, and the bytes of the variable that it is to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VariableSite {
    pub pc: u32,
    pub variable: GlobalId,
    /// Offset in the block's shared memory.
    pub first: u64,
    /// One past the last; `u64::MAX` for dynamic shared memory, which goes on to the end of what there is.
    pub end: u64,
}

/// What a register points into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Points {
    /// Nothing was written to it yet.
    Unset,
    /// A number, or an address from elsewhere.
    Number,
    Into(GlobalId),
    /// One of several variables, or what was made of an address by anything else than additions.
    Unknown,
}

use Points::{Into, Number, Unknown, Unset};

impl Points {
    fn or(self, other: Points) -> Points {
        match (self, other) {
            (Unset, own) | (own, Unset) => own,
            (a, b) if a == b => a,
            _ => Unknown,
        }
    }

    /// Of a sum: an address and numbers.
    fn plus(self, other: Points) -> Points {
        match (self, other) {
            (Unset, _) | (_, Unset) => Unset,
            (Number, own) | (own, Number) => own,
            _ => Unknown,
        }
    }

    /// Of a difference: within a variable it is a number; one between two leads from one to the other.
    fn minus(self, other: Points) -> Points {
        match (self, other) {
            (Unset, _) | (_, Unset) => Unset,
            (own, Number) => own,
            (Into(a), Into(b)) if a == b => Number,
            (Number | Into(_) | Unknown, _) => Unknown,
        }
    }

    /// Of anything else.
    fn used(self) -> Points {
        match self {
            Unset | Number => self,
            Into(_) | Unknown => Unknown,
        }
    }
}

/// The accesses of a program that are to a variable of shared memory, by their places in the code.
pub fn sites(program: &Program) -> Vec<VariableSite> {
    let module = &program.module.ir;
    let extents: BTreeMap<GlobalId, (u64, u64)> = program
        .shared_variables()
        .iter()
        .filter_map(|&(id, at)| {
            let variable = &module.globals[id.0 as usize];
            let first = u64::from(at);
            let end = if variable.dynamic_shared { u64::MAX } else { first + variable.size };
            (end > first).then_some((id, (first, end)))
        })
        .collect();
    if extents.is_empty() {
        return Vec::new();
    }
    let mut known: BTreeMap<u32, Vec<Points>> = BTreeMap::new();
    let mut found = Vec::new();
    for pc in 0..program.code_len() {
        let Some(view) = program.instruction(pc) else { continue };
        let Some(Value::Reg(address)) = program.inst(pc).and_then(shared_address) else { continue };
        let points = known.entry(view.id.0).or_insert_with(|| points(module, view.function));
        if let Into(variable) = points[address.0 as usize]
            && let Some(&(first, end)) = extents.get(&variable)
        {
            found.push(VariableSite { pc, variable, first, end });
        }
    }
    found
}

/// The address of an access that names shared memory.
fn shared_address(inst: &Inst) -> Option<Value> {
    let shared = match (inst.op, &inst.attr) {
        (Op::Ld | Op::St, Attr::Mem(mem)) => mem.space == Space::Shared,
        (Op::Atom | Op::AtomWide, Attr::Atom { mem, .. }) => mem.space == Space::Shared,
        (Op::CpAsync, _) => true,
        _ => false,
    };
    inst.srcs.first().copied().filter(|_| shared)
}

/// What each register of a function points into, whenever it is read.
fn points(module: &Module, f: &Function) -> Vec<Points> {
    let mut found = vec![Unset; f.regs.len()];
    // What no instruction writes is an argument, of which nothing is known.
    let mut set = vec![false; f.regs.len()];
    let insts = || f.blocks.iter().flat_map(|b| &b.insts);
    insts().for_each(|inst| for_each_def(inst, |r| set[r.0 as usize] = true));
    found.iter_mut().zip(set).filter(|(_, set)| !set).for_each(|(own, _)| *own = Number);
    let mut changed = true;
    while changed {
        changed = false;
        for inst in insts() {
            let new = made(module, inst, &found);
            for_each_def(inst, |r| {
                let own = &mut found[r.0 as usize];
                let joined = own.or(new);
                changed |= joined != *own;
                *own = joined;
            });
        }
    }
    found
}

/// What an instruction's result points into.
fn made(module: &Module, inst: &Inst, found: &[Points]) -> Points {
    let of = |n: usize| match inst.srcs.get(n) {
        Some(Value::Reg(r)) => found[r.0 as usize],
        Some(Value::Imm(_)) | None => Number,
    };
    match (inst.op, &inst.attr) {
        (Op::Addr, Attr::Address { of: AddrOf::Global(id), .. }) => {
            match module.globals.get(id.0 as usize).map(|variable| variable.space) {
                Some(Space::Shared) => Into(*id),
                Some(_) | None => Number,
            }
        }
        // What memory holds, and what a function returns.
        (Op::Ld | Op::Atom | Op::AtomWide | Op::Call, _) => Number,
        (Op::Mov | Op::ZExt | Op::SExt | Op::Trunc | Op::Cvta | Op::CvtaTo, _) => of(0),
        // Bits that an address has not are added by an "or".
        (Op::Add | Op::Or, _) => of(0).plus(of(1)),
        (Op::Sub, _) => of(0).minus(of(1)),
        (Op::Mad | Op::MadWideS | Op::MadWideU, _) => of(0).used().plus(of(1).used()).plus(of(2)),
        (Op::Select, _) => of(0).or(of(1)),
        _ => (0..inst.srcs.len()).fold(Number, |all, n| all.plus(of(n).used())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_address_and_numbers_point_into_a_variable() {
        let (a, b) = (Into(GlobalId(1)), Into(GlobalId(2)));
        assert_eq!((a.plus(Number), Number.plus(a), a.minus(Number)), (a, a, a));
        assert_eq!((a.plus(b), a.plus(a), Number.minus(a)), (Unknown, Unknown, Unknown));
        assert_eq!((b.minus(a), a.minus(a)), (Unknown, Number));
        assert_eq!(a.plus(b.minus(a)), Unknown, "which is the other one's");
        assert_eq!((a.or(b), a.or(Number), a.or(a)), (Unknown, Unknown, a));
        assert_eq!((a.used(), Number.used(), Unknown.plus(Number)), (Unknown, Number, Unknown));
        // Who is not known yet decides nothing.
        assert_eq!((Unset.plus(a), a.minus(Unset), Unset.or(a)), (Unset, Unset, a));
    }
}
