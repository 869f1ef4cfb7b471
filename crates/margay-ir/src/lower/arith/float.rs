// SPDX-License-Identifier: MIT OR Apache-2.0
//! Floating-point, half-precision and mixed-precision arithmetic.
//!
//! Before PTX 1.4 `div`, `rcp`, `sqrt` and the transcendental functions had no modifiers: they mean
//! `.approx.ftz` for f32 and `.rn` for f64 then.

use margay_ptx::ast::{Instruction, ModifierCursor, ScalarType};

use super::super::{Lower, Lowered, Stop, ir_ty};
use super::rounding;
use crate::inst::*;
use crate::ops::Op;
use crate::types::{Class, Round, Ty};

pub(super) fn lower(
    l: &mut Lower<'_, '_>,
    inst: &Instruction,
    m: &mut ModifierCursor<'_>,
) -> Lowered {
    match inst.opcode() {
        "add" | "sub" | "mul" | "mad" | "fma" => basic(l, inst, m),
        "div" => div(l, inst, m),
        "rcp" | "sqrt" | "rsqrt" => root(l, inst, m),
        "sin" | "cos" | "lg2" | "ex2" | "tanh" => transcendental(l, inst, m),
        "abs" | "neg" => sign(l, inst, m),
        "min" | "max" => minmax(l, inst, m),
        "copysign" => {
            let sty = l.type_of(inst, m)?;
            let srcs = l.sources(inst, 2, sty)?;
            l.first(inst, sty, Op::FCopySign, ir_ty(sty), &srcs, Attr::None)
        }
        _ => Err(Stop::unsupported("the engine has no such instruction yet")),
    }
}

fn basic(l: &mut Lower<'_, '_>, inst: &Instruction, m: &mut ModifierCursor<'_>) -> Lowered {
    let round = rounding(m);
    let ftz = m.take("ftz");
    let sat = m.take("sat");
    let relu = m.take("relu");
    let oob = m.take("oob");
    let sty = l.type_of(inst, m)?;
    let ftz = ftz || l.implies_ftz(sty);
    let (op, count) = match inst.opcode() {
        "add" => (Op::FAdd, 2),
        "sub" => (Op::FSub, 2),
        "mul" => (Op::FMul, 2),
        _ => (Op::FFma, 3),
    };
    let float = FloatAttr { round: round.unwrap_or_default(), ftz, sat, relu };
    if inst.opcode() == "mad" && sty == ScalarType::F32 && round.is_none() && l.cx.device < 20 {
        return truncating_mad(l, inst, sat);
    }
    // Mixed precision: the second type is that of the first operand, of both factors for `fma`.
    // Widening is exact, so that the f32 operation rounds once.
    if let Some(half) = m.next_type() {
        let narrow = if op == Op::FFma { 2 } else { 1 };
        let mut srcs = Vec::new();
        for i in 1..=count {
            let value = l.src_at(inst, i, if i <= narrow { half } else { sty })?;
            srcs.push(if i <= narrow {
                let attr = Attr::Float(FloatAttr::default());
                l.value_from(Op::FToF, Ty::F32, ir_ty(half), &[value], attr)
            } else {
                value
            });
        }
        return l.first(inst, sty, op, ir_ty(sty), &srcs, Attr::Float(float));
    }
    l.element_wise(inst, count, sty, |l, element, s| {
        if oob {
            let value = l.value(op, ir_ty(element), s, Attr::Float(float));
            let outside = l.outside(&s[..2]);
            return (Op::Select, vec![Value::Imm(0), value, outside], Attr::None);
        }
        (op, s.to_vec(), Attr::Float(float))
    })
}

impl Lower<'_, '_> {
    /// Whether one of the values is the NaN that a tensor's copy writes for what lies out of its bounds.
    fn outside(&mut self, values: &[Value]) -> Value {
        let mut any = None;
        for &value in values {
            let unsigned = [value, Value::Imm(0x7fff)];
            let magnitude = self.value(Op::And, Ty::I16, &unsigned, Attr::None);
            let srcs = [magnitude, Value::Imm(OOB_NAN)];
            let is = self.value_in(Class::P, Op::ICmp, Ty::I16, &srcs, Attr::IntCmp(IntCmp::Eq));
            any = Some(match any {
                Some(other) => self.value_in(Class::P, Op::POr, Ty::Pred, &[other, is], Attr::None),
                None => is,
            });
        }
        any.unwrap_or(Value::Imm(0))
    }
}

/// Of f16 and of bf16 alike, with either sign (measured on an H200: every half was tried as each operand).
const OOB_NAN: u64 = 0x7ff7;

/// `mad.f32` of 1.x (PTX ISA, "mad", of the floating-point instructions): the product's mantissa is cut to 23
/// bits and its exponent kept; if `c` is a zero, it is a multiplication and an addition. Doubles hold the
/// product and the sum exactly, or with bits enough that rounding the sum twice is rounding it once.
fn truncating_mad(l: &mut Lower<'_, '_>, inst: &Instruction, sat: bool) -> Lowered {
    let srcs = l.sources(inst, 3, ScalarType::F32)?;
    let plain = Attr::Float(FloatAttr::default());
    let flushing = Attr::Float(FloatAttr { ftz: true, ..FloatAttr::default() });
    let last = Attr::Float(FloatAttr { ftz: true, sat, ..FloatAttr::default() });
    let wide: Vec<Value> = srcs
        .iter()
        .map(|s| l.value_from(Op::FToF, Ty::F64, Ty::F32, &[*s], flushing.clone()))
        .collect();
    let product = l.value(Op::FMul, Ty::F64, &wide[..2], plain.clone());
    let kept = Value::Imm(!((1 << 29) - 1));
    let cut = l.value(Op::And, Ty::I64, &[product, kept], Attr::None);
    let sum = l.value(Op::FAdd, Ty::F64, &[cut, wide[2]], plain);
    let fused = l.value_from(Op::FToF, Ty::F32, Ty::F64, &[sum], last.clone());
    let product = l.value(Op::FMul, Ty::F32, &srcs[..2], flushing);
    let apart = l.value(Op::FAdd, Ty::F32, &[product, srcs[2]], last);
    // Subnormals count as zeros.
    let exponent = Value::Imm(0x7f80_0000);
    let exponent = l.value(Op::And, Ty::I32, &[srcs[2], exponent], Attr::None);
    let zero = Attr::IntCmp(IntCmp::Eq);
    let zero = l.value_in(Class::P, Op::ICmp, Ty::I32, &[exponent, Value::Imm(0)], zero);
    l.first(inst, ScalarType::F32, Op::Select, Ty::F32, &[apart, fused, zero], Attr::None)
}

/// Whether a form without modifiers means the approximate one.
fn old_default(round: Option<Round>, sty: ScalarType) -> bool {
    round.is_none() && sty == ScalarType::F32
}

fn div(l: &mut Lower<'_, '_>, inst: &Instruction, m: &mut ModifierCursor<'_>) -> Lowered {
    let kind = m.take_any(&["approx", "full"]);
    let round = rounding(m);
    let ftz = m.take("ftz");
    let sty = l.type_of(inst, m)?;
    let old = kind.is_none() && old_default(round, sty);
    let op = match kind {
        Some("full") => Op::FDivFull,
        Some(_) => Op::FDivApprox,
        None if old => Op::FDivApprox,
        None => Op::FDiv,
    };
    let ftz = ftz || old || l.implies_ftz(sty);
    let srcs = l.sources(inst, 2, sty)?;
    let float = FloatAttr { round: round.unwrap_or_default(), ftz, ..FloatAttr::default() };
    l.first(inst, sty, op, ir_ty(sty), &srcs, Attr::Float(float))
}

fn root(l: &mut Lower<'_, '_>, inst: &Instruction, m: &mut ModifierCursor<'_>) -> Lowered {
    let approx = m.take("approx");
    let round = rounding(m);
    let ftz = m.take("ftz");
    let sty = l.type_of(inst, m)?;
    let old = !approx && old_default(round, sty);
    let op = match (inst.opcode(), approx || old) {
        ("rcp", true) => Op::FRcpApprox,
        ("rcp", false) => Op::FRcp,
        ("sqrt", true) => Op::FSqrtApprox,
        ("sqrt", false) => Op::FSqrt,
        _ => Op::FRsqrtApprox,
    };
    let ftz = ftz || old || l.implies_ftz(sty);
    let srcs = l.sources(inst, 1, sty)?;
    let float = FloatAttr { round: round.unwrap_or_default(), ftz, ..FloatAttr::default() };
    l.first(inst, sty, op, ir_ty(sty), &srcs, Attr::Float(float))
}

fn transcendental(
    l: &mut Lower<'_, '_>,
    inst: &Instruction,
    m: &mut ModifierCursor<'_>,
) -> Lowered {
    let approx = m.take("approx");
    let ftz = m.take("ftz");
    let sty = l.type_of(inst, m)?;
    let op = match inst.opcode() {
        "sin" => Op::FSin,
        "cos" => Op::FCos,
        "lg2" => Op::FLg2,
        "ex2" => Op::FEx2,
        _ => Op::FTanh,
    };
    let ftz = ftz || !approx || l.implies_ftz(sty);
    let float = FloatAttr { ftz, ..FloatAttr::default() };
    l.element_wise(inst, 1, sty, |_, _, s| (op, s.to_vec(), Attr::Float(float)))
}

fn sign(l: &mut Lower<'_, '_>, inst: &Instruction, m: &mut ModifierCursor<'_>) -> Lowered {
    let ftz = m.take("ftz");
    let sty = l.type_of(inst, m)?;
    let ftz = ftz || l.implies_ftz(sty);
    let op = if inst.opcode() == "abs" { Op::FAbs } else { Op::FNeg };
    let float = FloatAttr { ftz, ..FloatAttr::default() };
    l.element_wise(inst, 1, sty, |_, _, s| (op, s.to_vec(), Attr::Float(float)))
}

fn minmax(l: &mut Lower<'_, '_>, inst: &Instruction, m: &mut ModifierCursor<'_>) -> Lowered {
    let ftz = m.take("ftz");
    let nan = m.take("NaN");
    let xorsign = m.take("xorsign");
    let abs = m.take("abs");
    let sty = l.type_of(inst, m)?;
    let ftz = ftz || l.implies_ftz(sty);
    let op = if inst.opcode() == "max" { Op::FMax } else { Op::FMin };
    let attr = Attr::MinMax(MinMaxAttr { ftz, nan, xorsign_abs: xorsign && abs, abs: false });
    let three = inst.operands.len() == 4;
    if abs && !xorsign && !three {
        return Err(Stop::unsupported("`.abs` without `.xorsign`"));
    }
    let magnitude = abs && !xorsign;
    l.element_wise(inst, if three { 3 } else { 2 }, sty, |l, element, s| {
        let ty = ir_ty(element);
        let mut s = s.to_vec();
        if magnitude {
            let float = Attr::Float(FloatAttr { ftz, ..FloatAttr::default() });
            for value in &mut s {
                *value = l.value(Op::FAbs, ty, &[*value], float.clone());
            }
        }
        if let [a, b, c] = s[..] {
            let first = l.value(op, ty, &[a, b], attr.clone());
            s = vec![first, c];
        }
        (op, s, attr.clone())
    })
}

#[cfg(test)]
mod tests {
    use crate::module::Module;

    fn lowered(target: &str, device: u32) -> Module {
        let text = format!(
            ".version 1.4\n.target {target}\n.entry k() {{ .reg .f32 f; .reg .u32 a;\n\
             mad.f32 f, f, f, f; st.global.f32 [a], f; exit; }}\n"
        );
        let ast = margay_ptx::parse(&text).unwrap_or_else(|e| panic!("{e:?}"));
        let module = crate::lower_for(&ast, device).unwrap_or_else(|e| panic!("{e:?}"));
        crate::verify(&module).unwrap_or_else(|e| panic!("{e:?}"));
        module
    }

    /// A device of 2.0 and later fuses the `mad.f32` of old modules.
    #[test]
    fn mad_cuts_the_product_on_1_x_alone() {
        let has = |m: &Module, op| {
            m.functions[0].blocks.iter().flat_map(|b| &b.insts).any(|i| i.op == op)
        };
        let old = lowered("sm_13", 13);
        assert!(has(&old, crate::Op::FMul) && !has(&old, crate::Op::FFma));
        let new = lowered("sm_13", 90);
        assert!(has(&new, crate::Op::FFma) && !has(&new, crate::Op::FMul));
    }
}
