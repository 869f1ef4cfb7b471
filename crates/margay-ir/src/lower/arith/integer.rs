// SPDX-License-Identifier: MIT OR Apache-2.0
//! Integer arithmetic, bit fields and dot products.

use margay_ptx::ast::{Instruction, ModifierCursor, ScalarType};

use super::super::{Lower, Lowered, Stop, int_ty};
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
        "add" | "sub" => add(l, inst, m),
        "mul" | "mad" => mul(l, inst, m),
        "mul24" | "mad24" => mul24(l, inst, m),
        "div" | "rem" | "abs" | "neg" => plain(l, inst, m),
        "min" | "max" => minmax(l, inst, m),
        "sad" => sad(l, inst, m),
        "popc" | "clz" | "bfind" | "brev" | "fns" => count(l, inst, m),
        "bfe" | "bfi" | "szext" | "bmsk" => field(l, inst, m),
        "dp4a" | "dp2a" => dot(l, inst, m),
        _ => Err(Stop::unsupported("the engine has no such instruction yet")),
    }
}

fn add(l: &mut Lower<'_, '_>, inst: &Instruction, m: &mut ModifierCursor<'_>) -> Lowered {
    let sat = m.take("sat");
    let sty = l.type_of(inst, m)?;
    let op = match (inst.opcode() == "add", sat) {
        (true, false) => Op::Add,
        (true, true) => Op::AddSatS,
        (false, false) => Op::Sub,
        (false, true) => Op::SubSatS,
    };
    l.element_wise(inst, 2, sty, |l, element, s| {
        let wide_op = if inst.opcode() == "add" { Op::Add } else { Op::Sub };
        match (sat, element.is_signed(), element.bits()) {
            (true, false, _) | (true, true, 8) => {
                let v = clamped(l, wide_op, element, s);
                (Op::Mov, vec![v], Attr::None)
            }
            (_, _, 8) => (Op::Mov, vec![on_bytes(l, op, element, s)], Attr::None),
            _ => (op, s.to_vec(), Attr::None),
        }
    })
}

/// Sources at twice their width.
fn extended(l: &mut Lower<'_, '_>, element: ScalarType, s: &[Value]) -> Vec<Value> {
    let extend = if element.is_signed() { Op::SExt } else { Op::ZExt };
    let (wide, own) = (int_ty(element.bits() * 2), int_ty(element.bits()));
    s.iter().map(|&x| l.value_from(extend, wide, own, &[x], Attr::None)).collect()
}

/// An operation on bytes, for which the IR has none.
fn on_bytes(l: &mut Lower<'_, '_>, op: Op, element: ScalarType, s: &[Value]) -> Value {
    let s = extended(l, element, s);
    let r = l.value(op, Ty::I16, &s, Attr::None);
    l.value_from(Op::Trunc, Ty::I8, Ty::I16, &[r], Attr::None)
}

/// A sum or difference clamped to the range of its type, at twice the width.
fn clamped(l: &mut Lower<'_, '_>, op: Op, element: ScalarType, s: &[Value]) -> Value {
    let bits = element.bits();
    let (wide, own) = (int_ty(bits * 2), int_ty(bits));
    let (low, high) = match element.is_signed() {
        true => (-1i64 << (bits - 1), (1i64 << (bits - 1)) - 1),
        false => (0, (1i64 << bits) - 1),
    };
    let mask = if bits == 32 { u64::MAX } else { (1 << (bits * 2)) - 1 };
    let s = extended(l, element, s);
    let r = l.value(op, wide, &s, Attr::None);
    let r = l.value(Op::MaxS, wide, &[r, Value::Imm(low as u64 & mask)], Attr::None);
    let r = l.value(Op::MinS, wide, &[r, Value::Imm(high as u64 & mask)], Attr::None);
    l.value_from(Op::Trunc, own, wide, &[r], Attr::None)
}

fn plain(l: &mut Lower<'_, '_>, inst: &Instruction, m: &mut ModifierCursor<'_>) -> Lowered {
    let sty = l.type_of(inst, m)?;
    let (op, count) = match (inst.opcode(), sty.is_signed()) {
        ("div", true) => (Op::DivS, 2),
        ("div", false) => (Op::DivU, 2),
        ("rem", true) => (Op::RemS, 2),
        ("rem", false) => (Op::RemU, 2),
        ("abs", _) => (Op::Abs, 1),
        _ => (Op::Neg, 1),
    };
    if elements(sty).1 > 1 {
        return l.element_wise(inst, count, sty, |l, element, s| {
            (Op::Mov, vec![on_bytes(l, op, element, s)], Attr::None)
        });
    }
    let srcs = l.sources(inst, count, sty)?;
    l.first(inst, sty, op, int_ty(sty.bits()), &srcs, Attr::None)
}

/// The type of twice the width.
fn doubled(sty: ScalarType) -> Option<ScalarType> {
    Some(match sty {
        ScalarType::U16 => ScalarType::U32,
        ScalarType::S16 => ScalarType::S32,
        ScalarType::U32 => ScalarType::U64,
        ScalarType::S32 => ScalarType::S64,
        _ => return None,
    })
}

fn high(signed: bool) -> Op {
    if signed { Op::MulHiS } else { Op::MulHiU }
}

fn mul(l: &mut Lower<'_, '_>, inst: &Instruction, m: &mut ModifierCursor<'_>) -> Lowered {
    let add = inst.opcode() == "mad";
    let mode = m.take_any(&["hi", "lo", "wide"]);
    let sat = m.take("sat");
    let sty = l.type_of(inst, m)?;
    let ty = int_ty(sty.bits());
    let mut srcs = l.sources(inst, 2, sty)?;
    if mode == Some("wide") {
        let wide = doubled(sty).ok_or_else(|| {
            Stop::error(inst.opcode_span, format!("no type is twice as wide as `.{}`", sty.name()))
        })?;
        if add {
            srcs.push(l.src_at(inst, 3, wide)?);
        }
        if ty == Ty::I16 {
            let extend = if sty.is_signed() { Op::SExt } else { Op::ZExt };
            for factor in &mut srcs[..2] {
                *factor = l.value_from(extend, Ty::I32, Ty::I16, &[*factor], Attr::None);
            }
            let op = if add { Op::Mad } else { Op::Mul };
            return l.first(inst, wide, op, Ty::I32, &srcs, Attr::None);
        }
        let op = match (add, sty.is_signed()) {
            (false, true) => Op::MulWideS,
            (false, false) => Op::MulWideU,
            (true, true) => Op::MadWideS,
            (true, false) => Op::MadWideU,
        };
        return l.first(inst, wide, op, Ty::I32, &srcs, Attr::None);
    }
    if add {
        srcs.push(l.src_at(inst, 3, sty)?);
    }
    match (mode, add) {
        (Some("hi"), false) => l.first(inst, sty, high(sty.is_signed()), ty, &srcs, Attr::None),
        (Some("hi"), true) => {
            let product = l.value(high(sty.is_signed()), ty, &srcs[..2], Attr::None);
            let op = if sat { Op::AddSatS } else { Op::Add };
            l.first(inst, sty, op, ty, &[product, srcs[2]], Attr::None)
        }
        (_, false) => l.first(inst, sty, Op::Mul, ty, &srcs, Attr::None),
        (_, true) => l.first(inst, sty, Op::Mad, ty, &srcs, Attr::None),
    }
}

/// The low 24 bits, extended as `extract` does.
pub(in crate::lower) fn low24(l: &mut Lower<'_, '_>, extract: Op, x: Value) -> Value {
    l.value(extract, Ty::I32, &[x, Value::Imm(0), Value::Imm(24)], Attr::None)
}

/// The product of the low 24 bits of each factor has 48 bits: `.lo` is its low word, `.hi` what is
/// left above sixteen bits.
fn mul24(l: &mut Lower<'_, '_>, inst: &Instruction, m: &mut ModifierCursor<'_>) -> Lowered {
    let add = inst.opcode() == "mad24";
    let hi = m.take_any(&["hi", "lo"]) == Some("hi");
    let sat = m.take("sat");
    let sty = l.type_of(inst, m)?;
    let signed = sty.is_signed();
    let extract = if signed { Op::BfeS } else { Op::BfeU };
    let mut factors = l.sources(inst, 2, sty)?;
    for factor in &mut factors {
        *factor = low24(l, extract, *factor);
    }
    let addend = if add { Some(l.src_at(inst, 3, sty)?) } else { None };
    let product = if hi {
        let op = if signed { Op::MulWideS } else { Op::MulWideU };
        let all = l.value_in(Class::D, op, Ty::I32, &factors, Attr::None);
        let moved = l.value(Op::ShrU, Ty::I64, &[all, Value::Imm(16)], Attr::None);
        l.value_from(Op::Trunc, Ty::I32, Ty::I64, &[moved], Attr::None)
    } else {
        match addend {
            None => return l.first(inst, sty, Op::Mul, Ty::I32, &factors, Attr::None),
            Some(_) => l.value(Op::Mul, Ty::I32, &factors, Attr::None),
        }
    };
    match addend {
        None => l.first_with(inst, sty, product),
        Some(c) => {
            let op = if sat { Op::AddSatS } else { Op::Add };
            l.first(inst, sty, op, Ty::I32, &[product, c], Attr::None)
        }
    }
}

fn minmax(l: &mut Lower<'_, '_>, inst: &Instruction, m: &mut ModifierCursor<'_>) -> Lowered {
    // The manual writes `.relu` on either side of the type.
    let relu = m.take("relu");
    let sty = l.type_of(inst, m)?;
    let signed = elements(sty).0.is_signed();
    let op = match (inst.opcode() == "max", signed) {
        (true, true) => Op::MaxS,
        (true, false) => Op::MaxU,
        (false, true) => Op::MinS,
        (false, false) => Op::MinU,
    };
    l.element_wise(inst, 2, sty, |l, element, s| {
        if element.bits() == 8 {
            let s = extended(l, element, s);
            let mut r = l.value(op, Ty::I16, &s, Attr::None);
            if relu {
                r = l.value(Op::MaxS, Ty::I16, &[r, Value::Imm(0)], Attr::None);
            }
            let r = l.value_from(Op::Trunc, Ty::I8, Ty::I16, &[r], Attr::None);
            return (Op::Mov, vec![r], Attr::None);
        }
        if !relu {
            return (op, s.to_vec(), Attr::None);
        }
        let r = l.value(op, int_ty(element.bits()), s, Attr::None);
        (Op::MaxS, vec![r, Value::Imm(0)], Attr::None)
    })
}

/// `|a - b|`: the larger minus the smaller needs no wider type.
pub(in crate::lower) fn distance(
    l: &mut Lower<'_, '_>,
    ty: Ty,
    signed: bool,
    both: &[Value],
) -> Value {
    let (min, max) = if signed { (Op::MinS, Op::MaxS) } else { (Op::MinU, Op::MaxU) };
    let low = l.value(min, ty, both, Attr::None);
    let high = l.value(max, ty, both, Attr::None);
    l.value(Op::Sub, ty, &[high, low], Attr::None)
}

/// `c + |a - b|`.
fn sad(l: &mut Lower<'_, '_>, inst: &Instruction, m: &mut ModifierCursor<'_>) -> Lowered {
    let sty = l.type_of(inst, m)?;
    let ty = int_ty(sty.bits());
    let srcs = l.sources(inst, 3, sty)?;
    let distance = distance(l, ty, sty.is_signed(), &srcs[..2]);
    l.first(inst, sty, Op::Add, ty, &[distance, srcs[2]], Attr::None)
}

fn count(l: &mut Lower<'_, '_>, inst: &Instruction, m: &mut ModifierCursor<'_>) -> Lowered {
    let shift_amount = m.take("shiftamt");
    let sty = l.type_of(inst, m)?;
    let ty = int_ty(sty.bits());
    let word = ScalarType::U32;
    let (op, dst) = match inst.opcode() {
        "popc" => (Op::Popc, word),
        "clz" => (Op::Clz, word),
        "bfind" if sty.is_signed() => (Op::BFindS, word),
        "bfind" => (Op::BFindU, word),
        "fns" => (Op::Fns, word),
        _ => (Op::BRev, sty),
    };
    let srcs = l.sources(inst, if op == Op::Fns { 3 } else { 1 }, sty)?;
    if !shift_amount {
        return l.first(inst, dst, op, ty, &srcs, Attr::None);
    }
    // The shift that brings the found bit to the top; nothing found stays all ones.
    let none = Value::Imm(0xffff_ffff);
    let found = l.value_in(Class::W, op, ty, &srcs, Attr::None);
    let top = Value::Imm(u64::from(sty.bits() - 1));
    let amount = l.value(Op::Sub, Ty::I32, &[top, found], Attr::None);
    let missing = l.value_in(Class::P, Op::ICmp, Ty::I32, &[found, none], Attr::IntCmp(IntCmp::Eq));
    l.first(inst, word, Op::Select, Ty::I32, &[none, amount, missing], Attr::None)
}

fn field(l: &mut Lower<'_, '_>, inst: &Instruction, m: &mut ModifierCursor<'_>) -> Lowered {
    let clamp = m.take_any(&["clamp", "wrap"]) == Some("clamp");
    let sty = l.type_of(inst, m)?;
    let ty = int_ty(sty.bits());
    let word = ScalarType::U32;
    // A 32-bit amount, clamped to 32 or taken modulo 32.
    let bounded = |l: &mut Lower<'_, '_>, amount: Value| {
        let (op, bound) = if clamp { (Op::MinU, 32) } else { (Op::And, 31) };
        l.value(op, Ty::I32, &[amount, Value::Imm(bound)], Attr::None)
    };
    let extract = if sty.is_signed() { Op::BfeS } else { Op::BfeU };
    match inst.opcode() {
        "bfe" => {
            let srcs =
                [l.src_at(inst, 1, sty)?, l.src_at(inst, 2, word)?, l.src_at(inst, 3, word)?];
            l.first(inst, sty, extract, ty, &srcs, Attr::None)
        }
        "bfi" => {
            let srcs = [
                l.src_at(inst, 1, sty)?,
                l.src_at(inst, 2, sty)?,
                l.src_at(inst, 3, word)?,
                l.src_at(inst, 4, word)?,
            ];
            l.first(inst, sty, Op::Bfi, ty, &srcs, Attr::None)
        }
        // A field of 32 bits is the whole word, and one of none is 0.
        "szext" => {
            let a = l.src_at(inst, 1, sty)?;
            let n = l.src_at(inst, 2, word)?;
            let n = bounded(l, n);
            l.first(inst, sty, extract, ty, &[a, Value::Imm(0), n], Attr::None)
        }
        // Ones inserted into zeros; what reaches beyond the word is cut.
        "bmsk" => {
            let (a, b) = (l.src_at(inst, 1, word)?, l.src_at(inst, 2, word)?);
            let (at, width) = (bounded(l, a), bounded(l, b));
            let srcs = [Value::Imm(0xffff_ffff), Value::Imm(0), at, width];
            l.first(inst, sty, Op::Bfi, Ty::I32, &srcs, Attr::None)
        }
        _ => Err(Stop::unsupported("the engine has no such instruction yet")),
    }
}

fn dot(l: &mut Lower<'_, '_>, inst: &Instruction, m: &mut ModifierCursor<'_>) -> Lowered {
    let two = inst.opcode() == "dp2a";
    let upper = two && m.take_any(&["lo", "hi"]) == Some("hi");
    let (aty, bty) = (l.type_of(inst, m)?, l.type_of(inst, m)?);
    let cty = if aty.is_signed() || bty.is_signed() { ScalarType::S32 } else { ScalarType::U32 };
    let a = l.src_at(inst, 1, aty)?;
    let b = l.src_at(inst, 2, bty)?;
    let mut sum = l.src_at(inst, 3, cty)?;
    let extract = |l: &mut Lower<'_, '_>, ty: ScalarType, word, at: u64, bits: u64| {
        let op = if ty.is_signed() { Op::BfeS } else { Op::BfeU };
        l.value(op, Ty::I32, &[word, Value::Imm(at), Value::Imm(bits)], Attr::None)
    };
    let (count, width, base) = if two { (2, 16, if upper { 16 } else { 0 }) } else { (4, 8, 0) };
    for i in 0..count {
        let x = extract(l, aty, a, i * width, width);
        let y = extract(l, bty, b, base + i * 8, 8);
        if i == count - 1 {
            return l.first(inst, cty, Op::Mad, Ty::I32, &[x, y, sum], Attr::None);
        }
        sum = l.value(Op::Mad, Ty::I32, &[x, y, sum], Attr::None);
    }
    Ok(())
}
