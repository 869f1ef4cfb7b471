// SPDX-License-Identifier: MIT OR Apache-2.0
//! Logic, shifts and byte permutation.

use margay_ptx::ast::{Instruction, ModifierCursor, OperandKind, ScalarType};

use super::super::{Lower, Lowered, Stop, int_ty};
use crate::inst::*;
use crate::ops::Op;
use crate::types::{Class, Ty};

pub(super) fn lower(
    l: &mut Lower<'_, '_>,
    inst: &Instruction,
    m: &mut ModifierCursor<'_>,
) -> Lowered {
    match inst.opcode() {
        "lop3" => return lop3(l, inst, m),
        "shf" => return shf(l, inst, m),
        "prmt" => return prmt(l, inst, m),
        _ => {}
    }
    let sty = l.type_of(inst, m)?;
    let ty = int_ty(sty.bits());
    let pred = sty == ScalarType::Pred;
    let op = match inst.opcode() {
        "and" if pred => Op::PAnd,
        "or" if pred => Op::POr,
        "xor" if pred => Op::PXor,
        "not" if pred => Op::PNot,
        "and" => Op::And,
        "or" => Op::Or,
        "xor" => Op::Xor,
        "not" => Op::Not,
        "shl" => Op::Shl,
        "shr" if sty.is_signed() => Op::ShrS,
        "shr" => Op::ShrU,
        "cnot" => {
            let a = l.src_at(inst, 1, sty)?;
            let zero =
                l.value_in(Class::P, Op::ICmp, ty, &[a, Value::Imm(0)], Attr::IntCmp(IntCmp::Eq));
            let choices = [Value::Imm(1), Value::Imm(0), zero];
            return l.first(inst, sty, Op::Select, ty, &choices, Attr::None);
        }
        _ => return Err(Stop::unsupported("the engine has no such instruction yet")),
    };
    let srcs = match op {
        Op::Not | Op::PNot => l.sources(inst, 1, sty)?,
        // Amounts are 32 bits wide whatever is shifted.
        Op::Shl | Op::ShrS | Op::ShrU => {
            vec![l.src_at(inst, 1, sty)?, l.src_at(inst, 2, ScalarType::U32)?]
        }
        _ => l.sources(inst, 2, sty)?,
    };
    l.first(inst, sty, op, ty, &srcs, Attr::None)
}

fn lop3(l: &mut Lower<'_, '_>, inst: &Instruction, m: &mut ModifierCursor<'_>) -> Lowered {
    let combine = m.take_any(&["or", "and"]);
    let sty = l.type_of(inst, m)?;
    let srcs = l.sources(inst, 3, sty)?;
    let table = l.operand(inst, 4)?;
    let lut = match &table.kind {
        OperandKind::Immediate(imm) => imm.as_u64().and_then(|bits| u8::try_from(bits).ok()),
        _ => None,
    }
    .ok_or_else(|| Stop::error(table.span, "the truth table is a constant from 0 to 255"))?;
    let Some(combine) = combine else {
        return l.first(inst, sty, Op::Lop3, Ty::I32, &srcs, Attr::Lop3(lut));
    };
    let q = l.operand(inst, 5)?;
    let q = l.pred(q)?;
    let result = l.value(Op::Lop3, Ty::I32, &srcs, Attr::Lop3(lut));
    let nonzero =
        l.value_in(Class::P, Op::ICmp, Ty::I32, &[result, Value::Imm(0)], Attr::IntCmp(IntCmp::Ne));
    let (d, p) = l.dst_pair(l.operand(inst, 0)?, sty)?;
    l.mov(Ty::I32, d, result);
    if let Some(p) = p {
        let op = if combine == "or" { Op::POr } else { Op::PAnd };
        l.emit(op, Ty::Pred, &[p], &[nonzero, q], Attr::None);
    }
    Ok(())
}

fn shf(l: &mut Lower<'_, '_>, inst: &Instruction, m: &mut ModifierCursor<'_>) -> Lowered {
    let left = m.take_any(&["l", "r"]) == Some("l");
    let clamp = m.take_any(&["clamp", "wrap"]) == Some("clamp");
    let sty = l.type_of(inst, m)?;
    let srcs = l.sources(inst, 3, sty)?;
    let op = if left { Op::ShfL } else { Op::ShfR };
    l.first(inst, sty, op, Ty::I32, &srcs, Attr::Clamp(clamp))
}

/// The selectors of a special mode for `c & 3` = 0 to 3, lowest first.
fn selectors(mode: &str) -> Option<u64> {
    Some(match mode {
        // Forward, backward: four bytes from byte c on.
        "f4e" => 0x6543_5432_4321_3210,
        "b4e" => 0x0123_7012_6701_5670,
        // Replicate a byte, a half.
        "rc8" => 0x3333_2222_1111_0000,
        "rc16" => 0x3232_1010_3232_1010,
        // Clamp at an edge.
        "ecl" => 0x3333_3222_3211_3210,
        "ecr" => 0x3210_2210_1110_0000,
        _ => return None,
    })
}

fn prmt(l: &mut Lower<'_, '_>, inst: &Instruction, m: &mut ModifierCursor<'_>) -> Lowered {
    let sty = l.type_of(inst, m)?;
    let mut srcs = l.sources(inst, 3, sty)?;
    if let Some(mode) = m.slot("mode") {
        let table = selectors(mode)
            .ok_or_else(|| Stop::unsupported(format!("the permute mode `.{mode}`")))?;
        let index = l.value(Op::And, Ty::I32, &[srcs[2], Value::Imm(3)], Attr::None);
        let shift = l.value(Op::Shl, Ty::I32, &[index, Value::Imm(4)], Attr::None);
        let moved = l.value(Op::ShrU, Ty::I64, &[Value::Imm(table), shift], Attr::None);
        // Bits above the sixteenth are not read.
        srcs[2] = l.value_from(Op::Trunc, Ty::I32, Ty::I64, &[moved], Attr::None);
    }
    l.first(inst, sty, Op::Prmt, Ty::I32, &srcs, Attr::None)
}

#[cfg(test)]
mod tests {
    use super::selectors;

    #[test]
    fn modes_follow_the_manual() {
        let nibble = |mode, c: u32, i: u32| selectors(mode).unwrap() >> (16 * c + 4 * i) & 15;
        for c in 0..4 {
            for i in 0..4 {
                assert_eq!(nibble("f4e", c, i), (c + i) as u64);
                assert_eq!(nibble("b4e", c, i), ((c + 8 - i) % 8) as u64);
                assert_eq!(nibble("rc8", c, i), c as u64);
                assert_eq!(nibble("rc16", c, i), (2 * (c % 2) + i % 2) as u64);
                assert_eq!(nibble("ecl", c, i), c.max(i) as u64);
                assert_eq!(nibble("ecr", c, i), c.min(i) as u64);
            }
        }
        assert_eq!(selectors("xyz"), None);
    }
}
