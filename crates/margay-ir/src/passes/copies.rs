// SPDX-License-Identifier: MIT OR Apache-2.0
//! Copies: uses of a register that is only a copy read the original.
//!
//! `d = mov s` with one definition of `d` and one of `s` holds at a use of `d` when the definition
//! of `s` dominates that of `d`, and that of `d` the use: then no path from the copy to the use goes
//! through the definition of `s` again. A copied constant needs no more than the latter, but that it
//! needs: a use that it may not have reached reads an uninitialised register, which PTX leaves open,
//! but which is to be one value in every engine.
//!
//! An address that is taken twice is a copy of the first one by the same rule. That of a parameter is a constant.
//!
//! The same holds for a generic address made of a local, shared or parameter address: accesses through it
//! use that address in its own space.

use std::collections::HashMap;

use crate::analysis::cfg::{Cfg, Dominators};
use crate::inst::{AddrOf, Attr, BlockId, CallArg, Callee, Inst, Reg, Term, Value};
use crate::module::Function;
use crate::ops::Op;
use crate::passes::facts::{Definition, Facts, Place};
use crate::types::{Space, Ty};
use crate::verify::operand_widths;

/// What may stand for a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Original {
    Value(Value),
    /// The address in this space of which the register is the generic form.
    Address(Reg, Space),
}

/// Replaces copies by their originals, in uses only: the copies are left to be found dead.
pub fn propagate(function: &mut Function) {
    let facts = Facts::new(function);
    let dominators = Cfg::new(function).dominators();
    let originals = originals(function, &facts, &dominators);
    if originals.iter().all(Option::is_none) {
        return;
    }
    let rewriter = Rewriter { facts: &facts, dominators: &dominators, originals: &originals };
    let mut blocks = std::mem::take(&mut function.blocks);
    for (b, block) in blocks.iter_mut().enumerate() {
        for (i, inst) in block.insts.iter_mut().enumerate() {
            rewriter.inst(inst, Place { block: b as u32, index: i as u32 });
        }
        let place = Place { block: b as u32, index: block.insts.len() as u32 };
        match &mut block.term {
            Term::CondBr { pred, .. } => rewriter.reg(pred, place),
            Term::BrTable { index, .. } => rewriter.value(index, 32, place),
            Term::Br(_) | Term::Ret | Term::Exit => {}
        }
    }
    function.blocks = blocks;
}

fn dominates(facts: &Facts, dominators: &Dominators, reg: Reg, at: Place) -> bool {
    match facts.definition(reg) {
        Definition::Parameter => true,
        Definition::Once(def) if def.block == at.block => def.index < at.index,
        Definition::Once(def) => dominators.dominates(BlockId(def.block), BlockId(at.block)),
        Definition::Never | Definition::Otherwise => false,
    }
}

fn originals(function: &Function, facts: &Facts, dominators: &Dominators) -> Vec<Option<Original>> {
    let mut originals: Vec<Option<Original>> = vec![None; function.regs.len()];
    let mut addresses = HashMap::new();
    // Blocks are in an order in which definitions mostly come first, so chains resolve at once.
    for (b, block) in function.blocks.iter().enumerate() {
        for (i, inst) in block.insts.iter().enumerate() {
            let place = Place { block: b as u32, index: i as u32 };
            let Some(&dst) = inst.dsts.first() else { continue };
            if facts.definition(dst) != Definition::Once(place) {
                continue;
            }
            originals[dst.0 as usize] = match (inst.op, &inst.attr, inst.srcs.first()) {
                (Op::Mov, _, Some(Value::Imm(bits))) => Some(Original::Value(Value::Imm(*bits))),
                (Op::Mov, _, Some(Value::Reg(src)))
                    if dominates(facts, dominators, *src, place) =>
                {
                    // The original of the original also holds here, since it holds there.
                    Some(originals[src.0 as usize].unwrap_or(Original::Value(Value::Reg(*src))))
                }
                (Op::Cvta, Attr::Space(space), Some(Value::Reg(src)))
                    if matches!(space, Space::Local | Space::Shared | Space::Param)
                        && dominates(facts, dominators, *src, place) =>
                {
                    let base = match originals[src.0 as usize] {
                        Some(Original::Value(Value::Reg(base))) => base,
                        Some(Original::Value(Value::Imm(_)) | Original::Address(..)) | None => *src,
                    };
                    Some(Original::Address(base, *space))
                }
                // In the space of parameters, whose block begins at 0.
                (Op::Addr, Attr::Address { of: AddrOf::Param(offset), addend }, _) => {
                    let bits = u64::from(*offset).wrapping_add_signed(*addend);
                    Some(Original::Value(Value::Imm(bits)))
                }
                (Op::Addr, Attr::Address { of, addend }, _) => {
                    let first = *addresses.entry((*of, *addend)).or_insert(dst);
                    (first != dst && dominates(facts, dominators, first, place))
                        .then_some(Original::Value(Value::Reg(first)))
                }
                _ => None,
            };
        }
    }
    originals
}

struct Rewriter<'a> {
    facts: &'a Facts,
    dominators: &'a Dominators,
    originals: &'a [Option<Original>],
}

impl Rewriter<'_> {
    fn original(&self, reg: Reg, at: Place) -> Option<Original> {
        let original = self.originals[reg.0 as usize]?;
        dominates(self.facts, self.dominators, reg, at).then_some(original)
    }

    fn reg(&self, reg: &mut Reg, at: Place) {
        if let Some(Original::Value(Value::Reg(original))) = self.original(*reg, at) {
            *reg = original;
        }
    }

    fn value(&self, value: &mut Value, bits: u32, at: Place) {
        let Value::Reg(reg) = *value else { return };
        match self.original(reg, at) {
            Some(Original::Value(Value::Imm(imm))) => {
                let mask = if bits >= 64 { u64::MAX } else { (1 << bits) - 1 };
                *value = Value::Imm(imm & mask);
            }
            Some(Original::Value(original)) => *value = original,
            Some(Original::Address(..)) | None => {}
        }
    }

    fn inst(&self, inst: &mut Inst, at: Place) {
        if let Some(guard) = &mut inst.guard {
            self.reg(&mut guard.pred, at);
        }
        self.address(inst, at);
        let widths = operand_widths(inst);
        for (value, bits) in inst.srcs.iter_mut().zip(widths) {
            self.value(value, bits, at);
        }
        if let Attr::Call(call) = &mut inst.attr {
            if let Callee::Indirect(value) = &mut call.callee {
                self.value(value, 64, at);
            }
            for arg in &mut call.args {
                if let CallArg::Value(value, ty) = arg {
                    self.value(value, ty.bits(), at);
                }
            }
        }
    }

    /// A generic access to a known space.
    fn address(&self, inst: &mut Inst, at: Place) {
        let Some(Value::Reg(reg)) = inst.srcs.first().copied() else { return };
        let Some(Original::Address(base, space)) = self.original(reg, at) else { return };
        let takes = match inst.op {
            Op::Ld => true,
            Op::St => matches!(space, Space::Local | Space::Shared),
            Op::Atom | Op::AtomWide => space == Space::Shared,
            _ => false,
        };
        let mem = match &mut inst.attr {
            Attr::Mem(mem) => mem,
            // Whether additions flush subnormals depends on the space, so these stay.
            Attr::Atom { mem, ftz: false, .. } => mem,
            _ => return,
        };
        if takes && mem.space == Space::Generic {
            mem.enter(space);
            inst.srcs[0] = Value::Reg(base);
        }
    }
}

/// Whether an instruction only copies.
pub(crate) fn is_copy(inst: &Inst) -> bool {
    inst.op == Op::Mov && inst.guard.is_none() && inst.ty != Ty::Pred
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::parse_module;

    fn run(body: &str) -> Vec<String> {
        let text = format!(
            "module version=8.0 sm=90 target=\"sm_90\" address_bits=64\n\
             entry \"k\" visible {{\nparam_size 8\nframe size=16 align=16\nregs w*5 d*4 p\n{body}\n}}\n"
        );
        let mut function =
            parse_module(&text).unwrap_or_else(|e| panic!("{e}\n{text}")).functions.remove(0);
        propagate(&mut function);
        crate::passes::dead::remove(&mut function);
        function.blocks.iter().flat_map(|b| &b.insts).map(|i| i.to_string()).collect()
    }

    #[test]
    fn constants_and_copies_reach_their_uses() {
        assert_eq!(
            run(
                "b0:\n%0 = mov.i32 0x5\n%5 = ld.i64 {param} 0x0\n%6 = mov.i64 %5\n%7 = mov.i64 %6\nst.i8 {global} %7, %0\nexit"
            ),
            ["%5 = ld.i64 {param} 0x0", "st.i8 {global} %5, 0x5"]
        );
    }

    #[test]
    fn a_constant_stays_where_it_may_not_have_been_reached() {
        let body = "b0:\ncondbr %9, b1, b2\nb1:\n%0 = mov.i32 0x100\nst.i32 {global} %5, %0\nbr b2\nb2:\nst.i32 {global} %5, %0\nexit";
        assert_eq!(
            run(body),
            ["%0 = mov.i32 0x100", "st.i32 {global} %5, 0x100", "st.i32 {global} %5, %0"]
        );
    }

    #[test]
    fn a_copy_of_the_last_round_is_not_the_value_of_this_one() {
        // %1 keeps what %0 was: around the loop their values differ.
        let body = "b0:\nbr b1\nb1:\nst.i32 {global} %5, %1\n%0 = ld.i32 {global} %5\n%1 = mov.i32 %0\n%9 = icmp.i32 {eq} %0, 0x0\ncondbr %9, b2, b1\nb2:\nexit";
        assert_eq!(run(body)[0], "st.i32 {global} %5, %1");
        // Of a register that is written twice nothing is known.
        let body = "b0:\n%0 = mov.i32 0x1\n%1 = mov.i32 %0\n%0 = mov.i32 0x2\nst.i32 {global} %5, %1, %0\nexit";
        assert_eq!(run(body).len(), 4);
    }

    #[test]
    fn addresses_of_parameters_are_constants() {
        assert_eq!(
            run(
                "b0:\n%5 = addr {param=0 addend=2}\n%6 = cvta {param} %5\n%0 = ld.i32 {param offset=4} %5\n%1 = ld.i32 {generic} %6\nst.i32 {global} %7, %0, %1\nexit"
            ),
            [
                "%0 = ld.i32 {param offset=4} 0x2",
                "%1 = ld.i32 {param} 0x2",
                "st.i32 {global} %7, %0, %1"
            ]
        );
    }

    #[test]
    fn generic_addresses_of_known_spaces() {
        assert_eq!(
            run(
                "b0:\n%5 = addr {local=0}\n%6 = cvta {local} %5\nst.i32 {generic offset=4} %6, 0x1\n%0 = atom.i32 {add generic} %6, 0x1\nexit"
            ),
            [
                "%5 = addr {local=0}",
                "%6 = cvta {local} %5",
                "st.i32 {local offset=4} %5, 0x1",
                "atom.i32 {add generic} %6, 0x1"
            ]
        );
    }
}
