// SPDX-License-Identifier: MIT OR Apache-2.0
//! `cvt` and `cvt.pack`.
//!
//! The IR converts one value; packed forms convert each element and join. `.relu` and `.satfinite`
//! become maxima and minima that let NaN through, after the conversion, or before it where the
//! target is narrower than f16.
//!
//! Limit: the 4- and 6-bit formats, `ue8m0`, `s2f6` and stochastic rounding (sm_100) are refused.

use margay_ptx::ast::{Instruction, ModifierCursor, ScalarType};

use super::arith::{elements, rounding};
use super::operand::mask;
use super::{Lower, Lowered, Stop, int_ty, ir_ty};
use crate::inst::*;
use crate::ops::Op;
use crate::types::{Class, Round, Ty};

pub(super) fn lower(
    l: &mut Lower<'_, '_>,
    inst: &Instruction,
    m: &mut ModifierCursor<'_>,
) -> Lowered {
    if inst.opcode() == "cvt.pack" {
        return pack(l, inst, m);
    }
    if inst.opcode() != "cvt" {
        return Err(Stop::unsupported("the engine has no such instruction yet"));
    }
    let integral = match m.take_any(&["rni", "rzi", "rmi", "rpi"]) {
        Some("rni") => Some(Round::Nearest),
        Some("rzi") => Some(Round::Zero),
        Some("rmi") => Some(Round::Down),
        Some(_) => Some(Round::Up),
        None => None,
    };
    let away = m.take("rna");
    let round = if away { Some(Round::NearestAway) } else { rounding(m) };
    let mut flags = Flags {
        integral,
        round,
        ftz: m.take("ftz"),
        sat: m.take("sat"),
        relu: m.take("relu"),
        satfinite: m.take("satfinite"),
    };
    let (dty, aty) = (l.type_of(inst, m)?, l.type_of(inst, m)?);
    flags.ftz |= l.implies_ftz(dty) || l.implies_ftz(aty);
    match dty {
        ScalarType::TF32 => tf32(l, inst, &flags),
        ScalarType::E4M3x2 | ScalarType::E5M2x2 => to_bytes(l, inst, &flags, dty, aty),
        ScalarType::F16x2 | ScalarType::BF16x2 => to_halves(l, inst, &flags, dty, aty),
        _ if !scalar(dty) || !scalar(aty) => Err(Stop::unsupported(format!(
            "conversion from `.{}` to `.{}`",
            aty.name(),
            dty.name()
        ))),
        _ => one(l, inst, &flags, dty, aty),
    }
}

/// The modifiers.
struct Flags {
    integral: Option<Round>,
    round: Option<Round>,
    ftz: bool,
    sat: bool,
    relu: bool,
    satfinite: bool,
}

impl Flags {
    fn float(&self, round: Round) -> Attr {
        Attr::Float(FloatAttr { round, ftz: self.ftz, sat: self.sat, relu: false })
    }
}

/// Types that a plain `cvt` converts between.
fn scalar(ty: ScalarType) -> bool {
    use ScalarType::*;
    matches!(ty, U8 | U16 | U32 | U64 | S8 | S16 | S32 | S64 | F16 | BF16 | F32 | F64)
}

/// The positive value of a float type's largest number.
fn largest(ty: Ty) -> Option<u64> {
    match ty {
        Ty::F16 => Some(0x7bff),
        Ty::BF16 => Some(0x7f7f),
        // As tf32: what an f32 with ten fraction bits can hold.
        Ty::F32 => Some(0x7f7f_e000),
        Ty::Pred | Ty::I8 | Ty::I16 | Ty::I32 | Ty::I64 | Ty::F64 => None,
    }
}

/// `value` with `.relu` and `.satfinite` applied.
fn clamp(l: &mut Lower<'_, '_>, flags: &Flags, ty: Ty, mut value: Value) -> Value {
    if flags.relu {
        let attr = Attr::MinMax(MinMaxAttr { nan: true, ..MinMaxAttr::default() });
        value = l.value(Op::FMax, ty, &[value, Value::Imm(0)], attr);
    }
    satfinite(l, flags, ty, value)
}

/// `value` with `.satfinite` applied.
fn satfinite(l: &mut Lower<'_, '_>, flags: &Flags, ty: Ty, mut value: Value) -> Value {
    if let (true, Some(largest)) = (flags.satfinite, largest(ty)) {
        let attr = Attr::MinMax(MinMaxAttr { nan: true, ..MinMaxAttr::default() });
        let sign = 1u64 << (ty.bits() - 1);
        value = l.value(Op::FMin, ty, &[value, Value::Imm(largest)], attr.clone());
        value = l.value(Op::FMax, ty, &[value, Value::Imm(largest | sign)], attr);
    }
    value
}

fn one(
    l: &mut Lower<'_, '_>,
    inst: &Instruction,
    flags: &Flags,
    dty: ScalarType,
    aty: ScalarType,
) -> Lowered {
    let a = l.src_at(inst, 1, aty)?;
    let (to, from) = (ir_ty(dty), ir_ty(aty));
    let op = match (dty.is_float(), aty.is_float()) {
        (false, false) => return integers(l, inst, flags, dty, aty, a),
        (true, false) if aty.is_signed() => Op::SToF,
        (true, false) => Op::UToF,
        (false, true) if dty.is_signed() => Op::FToS,
        (false, true) => Op::FToU,
        (true, true) if flags.integral.is_some() => {
            if to != from {
                return Err(Stop::error(
                    inst.opcode_span,
                    "rounding to an integral value needs the same type on both sides",
                ));
            }
            Op::FRound
        }
        (true, true) => Op::FToF,
    };
    // To an integer PTX wants an integer rounding, and code of before PTX 1.4 means `.rzi`.
    let round = match op {
        Op::FToS | Op::FToU => flags.integral.unwrap_or(Round::Zero),
        Op::FRound => flags.integral.unwrap_or_default(),
        _ => flags.round.unwrap_or_default(),
    };
    let d = l.dst_at(inst, 0, dty)?;
    let plain = flags.round.is_none() && !flags.ftz && !flags.sat && !flags.relu;
    let wide = matches!(to, Ty::F32 | Ty::F64);
    if op == Op::FToF && to == from && wide && plain && !flags.satfinite {
        // No more than a move: a NaN stays as it is, but not of f16 (as recorded on an H200).
        l.mov(to, d, a);
        return Ok(());
    }
    // Where it flushes, a card makes the NaN that of single precision, and then widens it.
    let a = match (op, to, from) {
        (Op::FToF, Ty::F64, Ty::F32) if flags.ftz => {
            let attr = Attr::Float(FloatAttr { ftz: true, ..FloatAttr::default() });
            l.value_from(Op::FToF, Ty::F32, Ty::F32, &[a], attr)
        }
        _ => a,
    };
    if !flags.relu && !flags.satfinite {
        l.emit_from(op, to, from, &[d], &[a], flags.float(round));
        return Ok(());
    }
    let value = l.value_from(op, to, from, &[a], flags.float(round));
    let value = clamp(l, flags, to, value);
    l.mov(to, d, value);
    Ok(())
}

/// Largest value of an integer type, and the smallest as bits of 64.
fn range(ty: ScalarType) -> (u64, u64) {
    let bits = ty.bits();
    if ty.is_signed() {
        let high = mask(bits - 1);
        (!high, high)
    } else {
        (0, mask(bits))
    }
}

/// Between integers: extension by the source's sign, or the low bits; `.sat` clamps.
fn integers(
    l: &mut Lower<'_, '_>,
    inst: &Instruction,
    flags: &Flags,
    dty: ScalarType,
    aty: ScalarType,
    a: Value,
) -> Lowered {
    let value = if flags.sat { saturate(l, dty, aty, a) } else { (a, aty.bits()) };
    let d = l.dst_at(inst, 0, dty)?;
    let (value, bits) = value;
    let (to, from) = (int_ty(dty.bits()), int_ty(bits));
    let op = match bits.cmp(&dty.bits()) {
        std::cmp::Ordering::Less if aty.is_signed() => Op::SExt,
        std::cmp::Ordering::Less => Op::ZExt,
        std::cmp::Ordering::Equal => Op::Mov,
        std::cmp::Ordering::Greater => Op::Trunc,
    };
    match op {
        Op::Mov => l.mov(to, d, value),
        _ => l.emit_from(op, to, from, &[d], &[value], Attr::None),
    }
    Ok(())
}

/// A value of type `aty` clamped to the range of `dty`, and the bits that it now has.
fn saturate(l: &mut Lower<'_, '_>, dty: ScalarType, aty: ScalarType, a: Value) -> (Value, u32) {
    let signed = aty.is_signed();
    // Minima and maxima exist from 16 bits on.
    let bits = aty.bits().max(32);
    let ty = int_ty(bits);
    let mut value = a;
    if aty.bits() < 32 {
        let op = if signed { Op::SExt } else { Op::ZExt };
        value = l.value_from(op, ty, int_ty(aty.bits()), &[a], Attr::None);
    }
    let ((low, high), (from_low, from_high)) = (range(dty), range(aty));
    let imm = |x: u64| Value::Imm(x & mask(bits));
    if (low as i64) > (from_low as i64) {
        value = l.value(Op::MaxS, ty, &[value, imm(low)], Attr::None);
    }
    if high < from_high {
        let op = if signed { Op::MinS } else { Op::MinU };
        value = l.value(op, ty, &[value, imm(high)], Attr::None);
    }
    (value, bits)
}

fn tf32(l: &mut Lower<'_, '_>, inst: &Instruction, flags: &Flags) -> Lowered {
    let a = l.src_at(inst, 1, ScalarType::F32)?;
    let round = flags.round.unwrap_or_default();
    // The op's own `.relu`, which keeps the NaN of tf32.
    let attr = Attr::Float(FloatAttr { round, relu: flags.relu, ..FloatAttr::default() });
    let value = l.value(Op::FToTf32, Ty::F32, &[a], attr);
    let value = match (flags.satfinite, round) {
        // As on an H200: what has the exponent of infinity, NaN included, becomes the number before it.
        (true, Round::NearestAway) => {
            let bits = [value, Value::Imm(0x7fff_ffff)];
            let magnitude = l.value(Op::And, Ty::I32, &bits, Attr::None);
            let bounds = [magnitude, Value::Imm(0x7f80_0000)];
            let less = Attr::IntCmp(IntCmp::LtU);
            let finite = l.value_in(Class::P, Op::ICmp, Ty::I32, &bounds, less);
            let before = l.value(Op::Sub, Ty::I32, &[value, Value::Imm(0x2000)], Attr::None);
            l.value(Op::Select, Ty::I32, &[value, before, finite], Attr::None)
        }
        (true, _) => satfinite(l, flags, Ty::F32, value),
        (false, _) => value,
    };
    l.first_with(inst, ScalarType::B32, value)
}

/// The two sources of a packed result, lowest element first: `a` is the upper one of `a, b`.
fn pair(
    l: &mut Lower<'_, '_>,
    inst: &Instruction,
    aty: ScalarType,
) -> Lowered<(Vec<Value>, ScalarType)> {
    if aty == ScalarType::F32 {
        let (a, b) = (l.src_at(inst, 1, aty)?, l.src_at(inst, 2, aty)?);
        return Ok((vec![b, a], aty));
    }
    let packed = l.src_at(inst, 1, aty)?;
    Ok((l.split(packed, aty), elements(aty).0))
}

fn to_halves(
    l: &mut Lower<'_, '_>,
    inst: &Instruction,
    flags: &Flags,
    dty: ScalarType,
    aty: ScalarType,
) -> Lowered {
    if inst.has("rs") {
        return Err(Stop::unsupported("stochastic rounding"));
    }
    let to = ir_ty(elements(dty).0);
    let plain = Attr::Float(FloatAttr::default());
    let values: Vec<Value> = match aty {
        ScalarType::F32 => {
            let (sources, _) = pair(l, inst, aty)?;
            let attr = flags.float(flags.round.unwrap_or_default());
            let convert = |s: &Value| l.value_from(Op::FToF, to, Ty::F32, &[*s], attr.clone());
            sources.iter().map(convert).collect()
        }
        ScalarType::E4M3x2 | ScalarType::E5M2x2 => {
            let op = if aty == ScalarType::E4M3x2 { Op::E4M3ToF } else { Op::E5M2ToF };
            let both = l.src_at(inst, 1, aty)?;
            let mut values = Vec::new();
            for at in [0, 8] {
                let field = [both, Value::Imm(at), Value::Imm(8)];
                let byte = l.value(Op::BfeU, Ty::I32, &field, Attr::None);
                let half = l.value(op, Ty::F16, &[byte], plain.clone());
                values.push(match to {
                    // Every value of the 8-bit formats is a bf16 too.
                    Ty::BF16 => l.value_from(Op::FToF, to, Ty::F16, &[half], plain.clone()),
                    _ => half,
                });
            }
            values
        }
        _ => {
            return Err(Stop::unsupported(format!(
                "conversion from `.{}` to `.{}`",
                aty.name(),
                dty.name()
            )));
        }
    };
    let values: Vec<Value> = values.into_iter().map(|v| clamp(l, flags, to, v)).collect();
    let joined = l.unsplit(&values, dty);
    l.first_with(inst, dty, joined)
}

fn to_bytes(
    l: &mut Lower<'_, '_>,
    inst: &Instruction,
    flags: &Flags,
    dty: ScalarType,
    aty: ScalarType,
) -> Lowered {
    if !matches!(aty, ScalarType::F32 | ScalarType::F16x2 | ScalarType::BF16x2) {
        return Err(Stop::unsupported(format!(
            "conversion from `.{}` to `.{}`",
            aty.name(),
            dty.name()
        )));
    }
    if !flags.satfinite {
        return Err(Stop::error(inst.opcode_span, "this conversion needs `.satfinite`"));
    }
    let op = if dty == ScalarType::E4M3x2 { Op::FToE4M3 } else { Op::FToE5M2 };
    let (sources, element) = pair(l, inst, aty)?;
    let from = ir_ty(element);
    let before = Flags { satfinite: false, ..*flags };
    let bytes: Vec<Value> = sources
        .into_iter()
        .map(|s| {
            let s = clamp(l, &before, from, s);
            l.value_from(op, Ty::I8, from, &[s], Attr::Float(FloatAttr::default()))
        })
        .collect();
    let joined = l.join(&bytes, 8, 16);
    l.first_with(inst, dty, joined)
}

/// `cvt.pack`: two clamped integers, `a` above `b`, and above both the low bits of `c`.
fn pack(l: &mut Lower<'_, '_>, inst: &Instruction, m: &mut ModifierCursor<'_>) -> Lowered {
    if !m.take("sat") {
        return Err(Stop::error(inst.opcode_span, "`cvt.pack` needs `.sat`"));
    }
    let (to, from) = (l.type_of(inst, m)?, l.type_of(inst, m)?);
    let rest = m.next_type();
    let bits = to.bits();
    let (low, high) = range(to);
    let mut parts = Vec::new();
    // b is the lower one.
    for i in [2, 1] {
        let value = l.src_at(inst, i, from)?;
        let low = Value::Imm(low & mask(32));
        let value = l.value(Op::MaxS, Ty::I32, &[value, low], Attr::None);
        parts.push(l.value(Op::MinS, Ty::I32, &[value, Value::Imm(high)], Attr::None));
    }
    let field = |at: u32, bits: u32| [Value::Imm(at.into()), Value::Imm(bits.into())];
    let [at, len] = field(0, bits);
    let b = l.value(Op::BfeU, Ty::I32, &[parts[0], at, len], Attr::None);
    let [at, len] = field(bits, bits);
    let both = l.value(Op::Bfi, Ty::I32, &[parts[1], b, at, len], Attr::None);
    match rest {
        None => l.first_with(inst, ScalarType::B32, both),
        Some(cty) => {
            let c = l.src_at(inst, 3, cty)?;
            let [at, len] = field(2 * bits, 32 - 2 * bits);
            l.first(inst, ScalarType::B32, Op::Bfi, Ty::I32, &[c, both, at, len], Attr::None)
        }
    }
}
