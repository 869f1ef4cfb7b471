// SPDX-License-Identifier: MIT OR Apache-2.0
//! Comparison and selection: `set`, `setp`, `selp`, `slct`, `testp`.

use margay_ptx::ast::{Instruction, ModifierCursor, ScalarType};

use super::super::{Lower, Lowered, Stop, int_ty, ir_ty};
use super::elements;
use crate::inst::*;
use crate::ops::Op;
use crate::types::{Class, Ty};

pub(super) fn lower(
    l: &mut Lower<'_, '_>,
    inst: &Instruction,
    m: &mut ModifierCursor<'_>,
) -> Lowered {
    match inst.opcode() {
        "setp" => setp(l, inst, m),
        "set" => set(l, inst, m),
        "selp" => {
            let sty = l.type_of(inst, m)?;
            let (a, b) = (l.src_at(inst, 1, sty)?, l.src_at(inst, 2, sty)?);
            let p = l.operand(inst, 3)?;
            let p = l.pred(p)?;
            l.first(inst, sty, Op::Select, ir_ty(sty), &[a, b, p], Attr::None)
        }
        "slct" => slct(l, inst, m),
        "testp" => testp(l, inst, m),
        _ => Err(Stop::unsupported("the engine has no such instruction yet")),
    }
}

/// A comparison operator on values of a type, as an op and its attribute.
fn comparison(inst: &Instruction, name: &str, ty: ScalarType, ftz: bool) -> Lowered<(Op, Attr)> {
    let wrong = || {
        Stop::error(
            inst.opcode_span,
            format!("`.{name}` does not compare values of type `.{}`", ty.name()),
        )
    };
    if ty.is_float() {
        let cmp = match name {
            "eq" => FloatCmp::Eq,
            "ne" => FloatCmp::Ne,
            "lt" => FloatCmp::Lt,
            "le" => FloatCmp::Le,
            "gt" => FloatCmp::Gt,
            "ge" => FloatCmp::Ge,
            "equ" => FloatCmp::EqU,
            "neu" => FloatCmp::NeU,
            "ltu" => FloatCmp::LtU,
            "leu" => FloatCmp::LeU,
            "gtu" => FloatCmp::GtU,
            "geu" => FloatCmp::GeU,
            "num" => FloatCmp::Num,
            "nan" => FloatCmp::Nan,
            _ => return Err(wrong()),
        };
        return Ok((Op::FCmp, Attr::FloatCmp { cmp, ftz }));
    }
    let signed = ty.is_signed();
    // Untyped bits can be equal or not; an order needs `.u` or `.s`.
    let cmp = match name {
        "eq" => IntCmp::Eq,
        "ne" => IntCmp::Ne,
        _ if ty.is_bits() => return Err(wrong()),
        "lt" if signed => IntCmp::LtS,
        "le" if signed => IntCmp::LeS,
        "gt" if signed => IntCmp::GtS,
        "ge" if signed => IntCmp::GeS,
        "lt" | "lo" => IntCmp::LtU,
        "le" | "ls" => IntCmp::LeU,
        "gt" | "hi" => IntCmp::GtU,
        "ge" | "hs" => IntCmp::GeU,
        _ => return Err(wrong()),
    };
    Ok((Op::ICmp, Attr::IntCmp(cmp)))
}

/// What `set` and `setp` share: the comparison of each element, and the combining predicate.
struct Comparison {
    op: Op,
    attr: Attr,
    ty: Ty,
    /// Elements of both operands.
    operands: Vec<[Value; 2]>,
    combine: Option<(Op, Value)>,
}

impl Comparison {
    fn read(
        l: &mut Lower<'_, '_>,
        inst: &Instruction,
        operator: &str,
        combine: Option<&str>,
        sty: ScalarType,
        ftz: bool,
    ) -> Lowered<Comparison> {
        let (element, _) = elements(sty);
        let (op, attr) = comparison(inst, operator, element, ftz)?;
        let srcs = l.sources(inst, 2, sty)?;
        let (a, b) = (l.split(srcs[0], sty), l.split(srcs[1], sty));
        let operands = a.into_iter().zip(b).map(|(a, b)| [a, b]).collect();
        let combine = match combine {
            None => None,
            Some(name) => {
                let op = match name {
                    "and" => Op::PAnd,
                    "or" => Op::POr,
                    _ => Op::PXor,
                };
                let c = l.operand(inst, 3)?;
                Some((op, l.pred(c)?))
            }
        };
        Ok(Comparison { op, attr, ty: ir_ty(element), operands, combine })
    }

    /// The result for element `i`, into a given register.
    fn emit(&self, l: &mut Lower<'_, '_>, i: usize, p: Reg) {
        match self.combine {
            None => l.emit(self.op, self.ty, &[p], &self.operands[i], self.attr.clone()),
            Some((op, c)) => {
                let t =
                    l.value_in(Class::P, self.op, self.ty, &self.operands[i], self.attr.clone());
                l.emit(op, Ty::Pred, &[p], &[t, c], Attr::None);
            }
        }
    }

    fn value(&self, l: &mut Lower<'_, '_>, i: usize) -> Value {
        let p = l.temp(Class::P);
        self.emit(l, i, p);
        Value::Reg(p)
    }
}

const COMBINE: [&str; 3] = ["and", "or", "xor"];

fn setp(l: &mut Lower<'_, '_>, inst: &Instruction, m: &mut ModifierCursor<'_>) -> Lowered {
    let Some(operator) = m.slot("CmpOp") else {
        return Err(Stop::error(inst.opcode_span, "`setp` needs a comparison"));
    };
    let combine = m.take_any(&COMBINE);
    let ftz = m.take("ftz");
    let sty = l.type_of(inst, m)?;
    let ftz = ftz || l.implies_ftz(sty);
    let c = Comparison::read(l, inst, operator, combine, sty, ftz)?;
    let (p, q) = l.dst_pair(l.operand(inst, 0)?, ScalarType::Pred)?;
    let Some(q) = q else {
        c.emit(l, 0, p);
        return Ok(());
    };
    if c.operands.len() == 2 {
        // Two elements have a predicate each.
        let low = c.value(l, 0);
        c.emit(l, 1, q);
        l.mov(Ty::Pred, p, low);
        return Ok(());
    }
    // The second predicate is made of the comparison's complement.
    let t = l.value_in(Class::P, c.op, c.ty, &c.operands[0], c.attr.clone());
    let not = l.value(Op::PNot, Ty::Pred, &[t], Attr::None);
    let (first, second) = match c.combine {
        None => (t, not),
        Some((op, with)) => (
            l.value(op, Ty::Pred, &[t, with], Attr::None),
            l.value(op, Ty::Pred, &[not, with], Attr::None),
        ),
    };
    l.mov(Ty::Pred, p, first);
    l.mov(Ty::Pred, q, second);
    Ok(())
}

/// What `set` writes for true: 1.0 in a float, all ones in an integer.
fn truth(dty: ScalarType) -> u64 {
    match dty {
        ScalarType::F32 => 0x3f80_0000,
        ScalarType::F16 => 0x3c00,
        ScalarType::BF16 => 0x3f80,
        other => super::super::operand::mask(other.bits()),
    }
}

fn set(l: &mut Lower<'_, '_>, inst: &Instruction, m: &mut ModifierCursor<'_>) -> Lowered {
    let Some(operator) = m.slot("CmpOp") else {
        return Err(Stop::error(inst.opcode_span, "`set` needs a comparison"));
    };
    let combine = m.take_any(&COMBINE);
    let ftz = m.take("ftz");
    let (dty, sty) = (l.type_of(inst, m)?, l.type_of(inst, m)?);
    let ftz = ftz || l.implies_ftz(sty);
    let c = Comparison::read(l, inst, operator, combine, sty, ftz)?;
    let (element, lanes) = elements(dty);
    let result = |l: &mut Lower<'_, '_>, i: usize, bits: u32, truth: u64| {
        let p = c.value(l, i);
        let choices = [Value::Imm(truth), Value::Imm(0), p];
        (int_ty(bits), choices)
    };
    if c.operands.len() == 1 {
        let (ty, choices) = result(l, 0, dty.bits(), truth(dty));
        return l.first(inst, dty, Op::Select, ty, &choices, Attr::None);
    }
    // Two comparisons fill the halves of the result; an integer's halves are ones.
    let half = if lanes == 2 { truth(element) } else { 0xffff };
    let mut halves = Vec::new();
    for i in 0..2 {
        let (ty, choices) = result(l, i, 16, half);
        halves.push(l.value(Op::Select, ty, &choices, Attr::None));
    }
    let joined = l.unsplit(&halves, ScalarType::U16x2);
    l.first_with(inst, dty, joined)
}

/// `c >= 0 ? a : b`; a NaN takes b.
fn slct(l: &mut Lower<'_, '_>, inst: &Instruction, m: &mut ModifierCursor<'_>) -> Lowered {
    let ftz = m.take("ftz");
    let (dty, cty) = (l.type_of(inst, m)?, l.type_of(inst, m)?);
    let ftz = ftz || l.implies_ftz(cty);
    let (a, b) = (l.src_at(inst, 1, dty)?, l.src_at(inst, 2, dty)?);
    let c = l.src_at(inst, 3, cty)?;
    let (op, attr) = comparison(inst, "ge", cty, ftz)?;
    let p = l.value_in(Class::P, op, ir_ty(cty), &[c, Value::Imm(0)], attr);
    l.first(inst, dty, Op::Select, ir_ty(dty), &[a, b, p], Attr::None)
}

/// Properties of a float are ranges of its magnitude's bits. Zeros count as normal.
fn testp(l: &mut Lower<'_, '_>, inst: &Instruction, m: &mut ModifierCursor<'_>) -> Lowered {
    let Some(property) = m.slot("op") else {
        return Err(Stop::error(inst.opcode_span, "`testp` needs a property"));
    };
    let sty = l.type_of(inst, m)?;
    let ty = int_ty(sty.bits());
    let (infinity, min_normal) = match sty {
        ScalarType::F32 => (0x7f80_0000u64, 0x0080_0000u64),
        ScalarType::F64 => (0x7ff0_0000_0000_0000, 0x0010_0000_0000_0000),
        _ => return Err(Stop::unsupported("the engine has no such instruction yet")),
    };
    let a = l.src_at(inst, 1, sty)?;
    let sign = 1u64 << (sty.bits() - 1);
    let magnitude = l.value(Op::And, ty, &[a, Value::Imm(sign - 1)], Attr::None);
    let compare = |l: &mut Lower<'_, '_>, value, cmp, bound: u64| {
        l.value_in(Class::P, Op::ICmp, ty, &[value, Value::Imm(bound)], Attr::IntCmp(cmp))
    };
    let p = match property {
        "finite" => compare(l, magnitude, IntCmp::LtU, infinity),
        "infinite" => compare(l, magnitude, IntCmp::Eq, infinity),
        "number" => compare(l, magnitude, IntCmp::LeU, infinity),
        "notanumber" => compare(l, magnitude, IntCmp::GtU, infinity),
        "normal" => {
            let above = l.value(Op::Sub, ty, &[magnitude, Value::Imm(min_normal)], Attr::None);
            let normal = compare(l, above, IntCmp::LtU, infinity - min_normal);
            let zero = compare(l, magnitude, IntCmp::Eq, 0);
            l.value(Op::POr, Ty::Pred, &[normal, zero], Attr::None)
        }
        "subnormal" => {
            let above = l.value(Op::Sub, ty, &[magnitude, Value::Imm(1)], Attr::None);
            compare(l, above, IntCmp::LtU, min_normal - 1)
        }
        other => return Err(Stop::unsupported(format!("the property `.{other}`"))),
    };
    l.first_with(inst, ScalarType::Pred, p)
}
