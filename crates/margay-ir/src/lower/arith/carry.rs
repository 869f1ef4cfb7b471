// SPDX-License-Identifier: MIT OR Apache-2.0
//! Extended-precision arithmetic: `add.cc`, `addc`, `sub.cc`, `subc`, `mad.cc`, `madc`.
//!
//! The condition code's carry flag is a predicate register of the function. A card subtracts by
//! adding the complement and 1, so after a subtraction the flag is set if there was *no* borrow:
//! that shows when `addc` follows `sub.cc`. Carries are those of the unsigned sum, also for signed
//! types.

use margay_ptx::ast::{Instruction, ModifierCursor};

use super::super::{Lower, Lowered, Stop, int_ty};
use crate::inst::*;
use crate::ops::Op;
use crate::types::{Class, Ty};

pub(super) fn lower(
    l: &mut Lower<'_, '_>,
    inst: &Instruction,
    m: &mut ModifierCursor<'_>,
) -> Lowered {
    let opcode = inst.opcode();
    let (carry_in, always_out) = match opcode {
        "add.cc" | "sub.cc" => (false, true),
        "addc" | "subc" | "madc" => (true, false),
        "mad" => (false, false),
        _ => return Err(Stop::unsupported("the engine has no such instruction yet")),
    };
    let high = match m.take_any(&["hi", "lo"]) {
        Some(mode) => mode == "hi",
        None => false,
    };
    let carry_out = m.take("cc") || always_out;
    let sty = l.type_of(inst, m)?;
    let ty = int_ty(sty.bits());
    let (subtract, a, b) = match opcode {
        "mad" | "madc" => {
            let srcs = l.sources(inst, 3, sty)?;
            let op = match (high, sty.is_signed()) {
                (false, _) => Op::Mul,
                (true, true) => Op::MulHiS,
                (true, false) => Op::MulHiU,
            };
            (false, l.value(op, ty, &srcs[..2], Attr::None), srcs[2])
        }
        _ => {
            let srcs = l.sources(inst, 2, sty)?;
            (matches!(opcode, "sub.cc" | "subc"), srcs[0], srcs[1])
        }
    };
    let op = if subtract { Op::Sub } else { Op::Add };
    let flag = l.carry();
    if !carry_in && !carry_out {
        return l.first(inst, sty, op, ty, &[a, b], Attr::None);
    }
    // A sum carries if it is below an addend, a difference unless the subtrahend was larger.
    let carries = |l: &mut Lower<'_, '_>, x: Value, y: Value, result: Value| {
        let (operands, cmp) =
            if subtract { ([x, y], IntCmp::GeU) } else { ([result, x], IntCmp::LtU) };
        l.value_in(Class::P, Op::ICmp, ty, &operands, Attr::IntCmp(cmp))
    };
    let first = l.value(op, ty, &[a, b], Attr::None);
    if !carry_in {
        let out = carries(l, a, b, first);
        l.first_with(inst, sty, first)?;
        l.mov(Ty::Pred, flag, out);
        return Ok(());
    }
    let choice = if subtract { [0, 1] } else { [1, 0] }.map(Value::Imm);
    let one = l.value(Op::Select, ty, &[choice[0], choice[1], Value::Reg(flag)], Attr::None);
    if !carry_out {
        return l.first(inst, sty, op, ty, &[first, one], Attr::None);
    }
    let second = l.value(op, ty, &[first, one], Attr::None);
    let out = [carries(l, a, b, first), carries(l, first, one, second)];
    l.first_with(inst, sty, second)?;
    let both = if subtract { Op::PAnd } else { Op::POr };
    l.emit(both, Ty::Pred, &[flag], &out, Attr::None);
    Ok(())
}
