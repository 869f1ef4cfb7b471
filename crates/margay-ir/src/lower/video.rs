// SPDX-License-Identifier: MIT OR Apache-2.0
//! Video instructions: scalar ones with byte and half-word selectors here, the SIMD ones in
//! [`simd`]. Both are composed of ordinary integer ops.
//!
//! Scalar operands have 33 bits and intermediate results 34 (PTX ISA, "Scalar Video Instructions"),
//! so they are computed in 64-bit registers. Where an H200 contradicts the manual the H200 is
//! followed (tests/vectors/h200/op_vectors.txt.zst has all these forms):
//!
//! - `vadd.u32.u32.u32.sat` wraps; the other types saturate.
//! - `vshl…sat` clamps the low 34 bits of the shifted value, as a signed number.
//! - A second `.min` or `.max` sees the sum or difference of `vadd` and `vsub` as a signed word, the
//!   results of the others as they are, and `vshl`'s as the 64 bits that the shift leaves. Where
//!   the destination (`vset`: the first source) is unsigned it compares without signs, so that a
//!   negative result is the greater one.
//! - `vmad` takes whole words as signed, whatever their types; selected parts have theirs. Two
//!   unsigned types make its shift a logical one, of 64 bits, and the saturated range unsigned.

mod simd;

use margay_ptx::ast::{Instruction, ModifierCursor, Operand, OperandKind, ScalarType};

use super::operand::mask;
use super::{Lower, Lowered, Stop};
use crate::inst::*;
use crate::ops::Op;
use crate::types::{Class, Ty};

pub(super) fn lower(
    l: &mut Lower<'_, '_>,
    inst: &Instruction,
    m: &mut ModifierCursor<'_>,
) -> Lowered {
    match inst.opcode() {
        "vmad" => vmad(l, inst, m),
        "vadd" | "vsub" | "vabsdiff" | "vmin" | "vmax" | "vshl" | "vshr" | "vset" => {
            scalar(l, inst, m)
        }
        _ => simd::lower(l, inst, m),
    }
}

/// The text of a comparison as an operation on signed values.
fn comparison(name: &str) -> Option<IntCmp> {
    Some(match name {
        "eq" => IntCmp::Eq,
        "ne" => IntCmp::Ne,
        "lt" => IntCmp::LtS,
        "le" => IntCmp::LeS,
        "gt" => IntCmp::GtS,
        "ge" => IntCmp::GeS,
        _ => return None,
    })
}
const COMPARISONS: [&str; 6] = ["eq", "ne", "lt", "le", "gt", "ge"];

/// An operand without its selector, and the selector.
fn selected(l: &Lower<'_, '_>, operand: &Operand) -> (Operand, Option<String>) {
    match &operand.kind {
        OperandKind::Member { base, member } => {
            let plain = Operand { kind: OperandKind::Name(*base), span: operand.span };
            (plain, Some(l.name(*member).to_string()))
        }
        _ => (operand.clone(), None),
    }
}

/// The field of a word that `.b0` to `.b3`, `.h0` and `.h1` name: first bit and width.
fn sub_word(operand: &Operand, selector: &str) -> Lowered<(u64, u64)> {
    Ok(match selector {
        "b0" => (0, 8),
        "b1" => (8, 8),
        "b2" => (16, 8),
        "b3" => (24, 8),
        "h0" => (0, 16),
        "h1" => (16, 16),
        other => {
            return Err(Stop::error(operand.span, format!("`.{other}` is no part of a word")));
        }
    })
}

fn extract(l: &mut Lower<'_, '_>, word: Value, (at, bits): (u64, u64), signed: bool) -> Value {
    let op = if signed { Op::BfeS } else { Op::BfeU };
    l.value(op, Ty::I32, &[word, Value::Imm(at), Value::Imm(bits)], Attr::None)
}

fn widen(l: &mut Lower<'_, '_>, word: Value, signed: bool) -> Value {
    let op = if signed { Op::SExt } else { Op::ZExt };
    l.value_from(op, Ty::I64, Ty::I32, &[word], Attr::None)
}

/// A source operand with its selector, as a signed 64-bit value.
fn source(l: &mut Lower<'_, '_>, operand: &Operand, ty: ScalarType) -> Lowered<Value> {
    let (plain, selector) = selected(l, operand);
    let word = l.src(&plain, ty)?;
    let word = match selector {
        None => word,
        Some(selector) => {
            let field = sub_word(operand, &selector)?;
            extract(l, word, field, ty.is_signed())
        }
    };
    Ok(widen(l, word, ty.is_signed()))
}

/// Clamps a signed value of type `ty` to an integer of so many bits.
fn clamp(l: &mut Lower<'_, '_>, ty: Ty, value: Value, bits: u32, signed: bool) -> Value {
    let (low, high) = if signed {
        let high = mask(bits - 1);
        (!high & mask(ty.bits()), high)
    } else {
        (0, mask(bits))
    };
    let value = l.value(Op::MaxS, ty, &[value, Value::Imm(low)], Attr::None);
    l.value(Op::MinS, ty, &[value, Value::Imm(high)], Attr::None)
}

fn scalar(l: &mut Lower<'_, '_>, inst: &Instruction, m: &mut ModifierCursor<'_>) -> Lowered {
    let opcode = inst.opcode();
    let set = opcode == "vset";
    // A comparison's result is unsigned.
    let dty = if set { ScalarType::U32 } else { l.type_of(inst, m)? };
    let (aty, bty) = (l.type_of(inst, m)?, l.type_of(inst, m)?);
    let sat = m.take("sat");
    let wrap = m.take_any(&["clamp", "wrap"]) == Some("wrap");
    let cmp = if set { m.take_any(&COMPARISONS).and_then(comparison) } else { None };
    let op2 = m.take_any(&["add", "min", "max"]);
    let signed = if set { aty.is_signed() } else { dty.is_signed() };
    let a = source(l, l.operand(inst, 1)?, aty)?;
    let b = source(l, l.operand(inst, 2)?, bty)?;
    let c = match inst.operands.get(3) {
        Some(c) => Some(l.src(c, dty)?),
        None => None,
    };
    let (target, selector) = selected(l, l.operand(inst, 0)?);
    let field = match &selector {
        Some(selector) => Some(sub_word(&target, selector)?),
        None => None,
    };
    let wide = Ty::I64;
    let mut t = match opcode {
        "vadd" => l.value(Op::Add, wide, &[a, b], Attr::None),
        "vsub" => l.value(Op::Sub, wide, &[a, b], Attr::None),
        "vmin" => l.value(Op::MinS, wide, &[a, b], Attr::None),
        "vmax" => l.value(Op::MaxS, wide, &[a, b], Attr::None),
        "vabsdiff" => {
            let low = l.value(Op::MinS, wide, &[a, b], Attr::None);
            let high = l.value(Op::MaxS, wide, &[a, b], Attr::None);
            l.value(Op::Sub, wide, &[high, low], Attr::None)
        }
        "vshl" | "vshr" => shift(l, a, b, opcode == "vshl", wrap),
        _ => {
            let Some(cmp) = cmp else {
                return Err(Stop::error(inst.opcode_span, "`vset` needs a comparison"));
            };
            let p = l.value_in(Class::P, Op::ICmp, wide, &[a, b], Attr::IntCmp(cmp));
            l.value(Op::Select, wide, &[Value::Imm(1), Value::Imm(0), p], Attr::None)
        }
    };
    let sum = matches!(opcode, "vadd" | "vsub");
    let wraps = opcode == "vadd" && !(signed || aty.is_signed() || bty.is_signed());
    if sat && !(wraps && field.is_none()) {
        if opcode == "vshl" {
            let low = [t, Value::Imm(0), Value::Imm(34)];
            t = l.value(Op::BfeS, wide, &low, Attr::None);
        }
        let bits = field.map_or(32, |(_, bits)| bits as u32);
        t = clamp(l, wide, t, bits, signed);
    }
    let missing = || Stop::error(inst.opcode_span, "this form needs a third source");
    if let Some(op2) = op2 {
        let c = widen(l, c.ok_or_else(missing)?, signed);
        let op = match (op2, signed) {
            ("add", _) => Op::Add,
            ("min", true) => Op::MinS,
            ("min", false) => Op::MinU,
            (_, true) => Op::MaxS,
            (_, false) => Op::MaxU,
        };
        if sum {
            let word = [t, Value::Imm(0), Value::Imm(32)];
            t = l.value(Op::BfeS, wide, &word, Attr::None);
        }
        t = l.value(op, wide, &[t, c], Attr::None);
    }
    let word = l.value_from(Op::Trunc, Ty::I32, wide, &[t], Attr::None);
    let result = match (field, op2) {
        (Some((at, bits)), None) => {
            let c = c.ok_or_else(missing)?;
            l.value(Op::Bfi, Ty::I32, &[word, c, Value::Imm(at), Value::Imm(bits)], Attr::None)
        }
        (Some(_), Some(_)) => {
            return Err(Stop::error(target.span, "a merge and a second operation exclude another"));
        }
        (None, _) => word,
    };
    let d = l.dst(&target, dty)?;
    l.mov(Ty::I32, d, result);
    Ok(())
}

fn shift(l: &mut Lower<'_, '_>, a: Value, b: Value, left: bool, wrap: bool) -> Value {
    let wide = Ty::I64;
    let (op, bound) = if wrap { (Op::And, 31) } else { (Op::MinS, 32) };
    let amount = l.value(op, wide, &[b, Value::Imm(bound)], Attr::None);
    let n = l.value_from(Op::Trunc, Ty::I32, wide, &[amount], Attr::None);
    l.value(if left { Op::Shl } else { Op::ShrS }, wide, &[a, n], Attr::None)
}

/// Takes a minus sign off an operand.
fn negated(operand: &Operand) -> (&Operand, bool) {
    match &operand.kind {
        OperandKind::Negate(inner) => (inner, true),
        _ => (operand, false),
    }
}

/// A factor of `vmad`: a whole word is signed, a part of one has the type's sign.
fn factor(l: &mut Lower<'_, '_>, operand: &Operand, ty: ScalarType) -> Lowered<Value> {
    let whole = selected(l, operand).1.is_none();
    source(l, operand, if whole { ScalarType::S32 } else { ty })
}

fn vmad(l: &mut Lower<'_, '_>, inst: &Instruction, m: &mut ModifierCursor<'_>) -> Lowered {
    let (dty, aty, bty) = (l.type_of(inst, m)?, l.type_of(inst, m)?, l.type_of(inst, m)?);
    let plus_one = m.take("po");
    let sat = m.take("sat");
    let scale = match m.take_any(&["shr7", "shr15"]) {
        Some("shr7") => 7,
        Some(_) => 15,
        None => 0,
    };
    let (a, minus_a) = negated(l.operand(inst, 1)?);
    let (b, minus_b) = negated(l.operand(inst, 2)?);
    let (c, minus_c) = negated(l.operand(inst, 3)?);
    let minus = minus_a != minus_b;
    if (minus && minus_c) || (plus_one && (minus_a || minus_b || minus_c)) {
        return Err(Stop::error(inst.opcode_span, "these negations exclude one another"));
    }
    let unsigned = !aty.is_signed() && !bty.is_signed();
    let signed = !unsigned || minus || minus_c;
    let a = factor(l, a, aty)?;
    let b = factor(l, b, bty)?;
    let c = l.src(c, ScalarType::S32)?;
    let c = widen(l, c, true);
    let wide = Ty::I64;
    let mut t = l.value(Op::Mul, wide, &[a, b], Attr::None);
    t = match (minus, minus_c) {
        (true, _) => l.value(Op::Sub, wide, &[c, t], Attr::None),
        (false, true) => l.value(Op::Sub, wide, &[t, c], Attr::None),
        (false, false) => l.value(Op::Add, wide, &[t, c], Attr::None),
    };
    if plus_one {
        t = l.value(Op::Add, wide, &[t, Value::Imm(1)], Attr::None);
    }
    if scale > 0 {
        let op = if signed { Op::ShrS } else { Op::ShrU };
        t = l.value(op, wide, &[t, Value::Imm(scale)], Attr::None);
    }
    if sat {
        t = clamp(l, wide, t, 32, signed);
    }
    let word = l.value_from(Op::Trunc, Ty::I32, wide, &[t], Attr::None);
    l.first_with(inst, dty, word)
}
