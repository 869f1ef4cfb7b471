// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which variable of shared or local memory an access is to: the one that its address is computed from, where that is known for sure.
//!
//! A block's variables lie behind each other, as do a thread's, so that an index which leaves one comes to the next, as on a
//! card: nothing faults, and only the code says which of them was meant.
//!
//! Of local memory PTX has one array for a function. The compiler tells how it is divided ([`Function::locals`]), and clang's back
//! end makes the address of each variable by adding its offset to that of the array, even 0, and anything else after that.

use std::collections::{BTreeMap, HashMap};

use margay_ir::analysis::liveness::for_each_def;
use margay_ir::{AddrOf, Attr, Function, GlobalId, Inst, Module, Op, Param, Space, Value};

use crate::launch::LaunchConfig;
use crate::program::Program;

/// What an access of shared or local memory is to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Variable {
    Global(GlobalId),
    /// What a parameter of the kernel points to, by its offset in the parameter block.
    Argument(u32),
    /// In the kernel's frame in local memory, from this byte on.
    Local(u32),
}

/// An access of shared or local memory by its place in the code, and the bytes of the variable that it is to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VariableSite {
    pub pc: u32,
    pub variable: Variable,
    /// Offset in the block's shared memory, or the thread's local memory.
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
    Into(Variable),
    /// To this byte of the kernel's frame, where the array of all variables begins.
    Frame(u32),
    /// One of several variables, or what was made of an address by anything else than additions.
    Unknown,
}

use Points::{Frame, Into, Number, Unknown, Unset};

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
            (Frame(_), _) | (_, Frame(_)) => Unknown,
            (Number, own) | (own, Number) => own,
            _ => Unknown,
        }
    }

    /// Of a difference: within a variable it is a number; one between two leads from one to the other.
    fn minus(self, other: Points) -> Points {
        match (self, other) {
            (Unset, _) | (_, Unset) => Unset,
            (Into(_) | Number | Unknown, Number) => self,
            (Into(a), Into(b)) if a == b => Number,
            (Number | Into(_) | Frame(_) | Unknown, _) => Unknown,
        }
    }

    /// Of anything else.
    fn used(self) -> Points {
        match self {
            Unset | Number => self,
            Into(_) | Frame(_) | Unknown => Unknown,
        }
    }
}

/// The accesses of a program that are to a variable of shared or local memory or what an argument points to, in the order of their places in
/// the code.
pub fn sites(program: &Program) -> Vec<(u32, Variable)> {
    let module = &program.module.ir;
    let mut known: BTreeMap<u32, Vec<Points>> = BTreeMap::new();
    let mut found = Vec::new();
    for pc in 0..program.code_len() {
        let Some(view) = program.instruction(pc) else { continue };
        let Some(Value::Reg(address)) = program.inst(pc).and_then(address) else { continue };
        let points = known.entry(view.id.0).or_insert_with(|| points(module, view.function));
        // Only the kernel's own frame always lies at one place.
        match points[address.0 as usize] {
            Into(Variable::Local(_)) if !view.function.is_entry => {}
            Into(variable) => found.push((pc, variable)),
            Unset | Number | Frame(_) | Unknown => {}
        }
    }
    found
}

/// These accesses in a launch, where the bytes that each is to stay in are known.
pub fn of_launch(program: &Program, config: &LaunchConfig) -> Vec<VariableSite> {
    let module = &program.module.ir;
    let mut extents: HashMap<Variable, (u64, u64)> = HashMap::new();
    for &(id, at) in program.shared_variables() {
        let (variable, first) = (&module.globals[id.0 as usize], u64::from(at));
        let end = if variable.dynamic_shared { u64::MAX } else { first + variable.size };
        extents.insert(Variable::Global(id), (first, end));
    }
    for argument in &config.shared_arguments {
        let bytes = (argument.first, argument.first.saturating_add(argument.bytes));
        extents.insert(Variable::Argument(argument.param), bytes);
    }
    let frame = program.frame();
    for (first, size) in program.locals() {
        // What a compiler has at one place twice is the larger of the two.
        let at = Variable::Local((first - frame.start) as u32);
        let own = extents.entry(at).or_insert((first, first));
        own.1 = own.1.max(first + size);
    }
    let bounded = |&(pc, variable): &(u32, Variable)| {
        let &(first, end) = extents.get(&variable).filter(|(first, end)| end > first)?;
        Some(VariableSite { pc, variable, first, end })
    };
    program.variable_sites().iter().filter_map(bounded).collect()
}

/// The offset of a kernel's parameter that an instruction loads, if it points to shared memory.
fn argument(f: &Function, inst: &Inst) -> Option<u32> {
    let (Attr::Mem(mem), [Value::Imm(base)]) = (&inst.attr, inst.srcs.as_slice()) else {
        return None;
    };
    let at = base.wrapping_add_signed(mem.offset);
    let is_it = |p: &&Param| u64::from(p.offset) == at && p.pointee == Some(Space::Shared);
    f.params.iter().filter(|_| f.is_entry).find(is_it).map(|p| p.offset)
}

/// The address of an access that names shared or local memory, or none, as code of `-G` has it.
fn address(inst: &Inst) -> Option<Value> {
    let own = |space| matches!(space, Space::Shared | Space::Local | Space::Generic);
    let named = match (inst.op, &inst.attr) {
        (Op::Ld | Op::St, Attr::Mem(mem)) => own(mem.space),
        (Op::Atom | Op::AtomWide, Attr::Atom { mem, .. }) => own(mem.space),
        (Op::CpAsync, _) => true,
        _ => false,
    };
    inst.srcs.first().copied().filter(|_| named)
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
            let new = made(module, f, inst, &found);
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
fn made(module: &Module, f: &Function, inst: &Inst, found: &[Points]) -> Points {
    let of = |n: usize| match inst.srcs.get(n) {
        Some(Value::Reg(r)) => found[r.0 as usize],
        Some(Value::Imm(_)) | None => Number,
    };
    if inst.op == Op::Add
        && let Some(variable) = local(f, inst, found)
    {
        return variable;
    }
    match (inst.op, &inst.attr) {
        (Op::Addr, Attr::Address { of: AddrOf::Global(id), .. }) => {
            match module.globals.get(id.0 as usize).map(|variable| variable.space) {
                Some(Space::Shared) => Into(Variable::Global(*id)),
                Some(_) | None => Number,
            }
        }
        (Op::Ld, Attr::Mem(mem)) if mem.space == Space::Param => match argument(f, inst) {
            Some(offset) => Into(Variable::Argument(offset)),
            None => Number,
        },
        (Op::Addr, &Attr::Address { of: AddrOf::Local(at), addend: 0 }) => Frame(at),
        (Op::Addr, Attr::Address { of: AddrOf::Local(_), .. }) => Unknown,
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

/// A sum of where the array of local variables begins and the offset of one of them.
fn local(f: &Function, inst: &Inst, found: &[Points]) -> Option<Points> {
    let (reg, more) = match inst.srcs.as_slice() {
        [Value::Reg(reg), Value::Imm(more)] | [Value::Imm(more), Value::Reg(reg)] => (reg, more),
        _ => return None,
    };
    let Frame(depot) = found[reg.0 as usize] else { return None };
    let at = u64::from(depot).wrapping_add(*more);
    let is_it = |&&(first, _): &&(u32, u32)| u64::from(first) == at;
    let known = f.locals.iter().find(is_it);
    Some(known.map_or(Unknown, |(first, _)| Into(Variable::Local(*first))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_address_and_numbers_point_into_a_variable() {
        let [a, b] = [1, 2].map(|n| Into(Variable::Global(GlobalId(n))));
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
