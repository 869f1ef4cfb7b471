// SPDX-License-Identifier: MIT OR Apache-2.0
//! SIMD video instructions: two half-words or four bytes at a time (PTX ISA, "SIMD Video
//! Instructions").
//!
//! Each lane of a source is picked from the eight bytes, or four half-words, of both sources. Lane
//! results go into the lanes of `d` that the mask names, with `c`'s lanes elsewhere, or with
//! `.add` all together onto `c`.

use margay_ptx::ast::{Instruction, ModifierCursor, Operand, ScalarType};

use super::{COMPARISONS, clamp, comparison, extract, selected};
use crate::inst::*;
use crate::lower::{Lower, Lowered, Stop};
use crate::ops::Op;
use crate::types::{Class, Ty};

/// Lane numbers of a selector such as `h10` or `b7654`, lane 0 first: the last digit is its.
fn digits(
    operand: &Operand,
    selector: Option<&str>,
    default: &str,
    letter: char,
    below: u32,
) -> Lowered<Vec<u32>> {
    let text = selector.unwrap_or(default);
    let wrong = || Stop::error(operand.span, format!("`.{text}` is no selector here"));
    let numbers = text.strip_prefix(letter).ok_or_else(wrong)?;
    let lanes: Option<Vec<u32>> =
        numbers.chars().rev().map(|ch| ch.to_digit(10).filter(|digit| *digit < below)).collect();
    lanes.filter(|lanes| !lanes.is_empty()).ok_or_else(wrong)
}

pub(super) fn lower(
    l: &mut Lower<'_, '_>,
    inst: &Instruction,
    m: &mut ModifierCursor<'_>,
) -> Lowered {
    let name = inst.opcode();
    let (verb, count, bits, letter) = match (name.strip_suffix('2'), name.strip_suffix('4')) {
        (Some(verb), _) => (verb, 2u32, 16u32, 'h'),
        (_, Some(verb)) => (verb, 4, 8, 'b'),
        _ => return Err(Stop::unsupported("the engine has no such instruction yet")),
    };
    let set = verb == "vset";
    let dty = if set { ScalarType::U32 } else { l.type_of(inst, m)? };
    let (aty, bty) = (l.type_of(inst, m)?, l.type_of(inst, m)?);
    let sat = m.take("sat");
    let cmp = if set { m.take_any(&COMPARISONS).and_then(comparison) } else { None };
    let accumulate = m.take("add");

    let (target, mask) = selected(l, l.operand(inst, 0)?);
    let (a_operand, a_selector) = selected(l, l.operand(inst, 1)?);
    let (b_operand, b_selector) = selected(l, l.operand(inst, 2)?);
    let (low, high) = if count == 2 { ("h10", "h32") } else { ("b3210", "b7654") };
    let mask = digits(&target, mask.as_deref(), low, letter, count)?;
    let a_lanes = digits(&a_operand, a_selector.as_deref(), low, letter, 2 * count)?;
    let b_lanes = digits(&b_operand, b_selector.as_deref(), high, letter, 2 * count)?;
    if a_lanes.len() != count as usize || b_lanes.len() != count as usize {
        return Err(Stop::error(inst.opcode_span, format!("a selector needs {count} lanes")));
    }
    let (a, b) = (l.src(&a_operand, aty)?, l.src(&b_operand, bty)?);
    let c = l.src_at(inst, 3, dty)?;
    let pick = |l: &mut Lower<'_, '_>, lane: u32, ty: ScalarType| {
        let word = if lane < count { a } else { b };
        let at = u64::from(lane % count * bits);
        extract(l, word, (at, bits.into()), ty.is_signed())
    };
    let mut result = c;
    for lane in 0..count {
        if !mask.contains(&lane) {
            continue;
        }
        let x = pick(l, a_lanes[lane as usize], aty);
        let y = pick(l, b_lanes[lane as usize], bty);
        let mut t = one(l, inst, verb, cmp, x, y)?;
        if sat {
            t = clamp(l, Ty::I32, t, bits, dty.is_signed());
        }
        result = if accumulate {
            l.value(Op::Add, Ty::I32, &[result, t], Attr::None)
        } else {
            let place = [Value::Imm((lane * bits).into()), Value::Imm(bits.into())];
            l.value(Op::Bfi, Ty::I32, &[t, result, place[0], place[1]], Attr::None)
        };
    }
    let d = l.dst(&target, dty)?;
    l.mov(Ty::I32, d, result);
    Ok(())
}

/// The operation on one lane; its values are far from the ends of 32 bits.
fn one(
    l: &mut Lower<'_, '_>,
    inst: &Instruction,
    verb: &str,
    cmp: Option<IntCmp>,
    x: Value,
    y: Value,
) -> Lowered<Value> {
    let ty = Ty::I32;
    Ok(match verb {
        "vadd" => l.value(Op::Add, ty, &[x, y], Attr::None),
        "vsub" => l.value(Op::Sub, ty, &[x, y], Attr::None),
        "vmin" => l.value(Op::MinS, ty, &[x, y], Attr::None),
        "vmax" => l.value(Op::MaxS, ty, &[x, y], Attr::None),
        "vabsdiff" => {
            let low = l.value(Op::MinS, ty, &[x, y], Attr::None);
            let high = l.value(Op::MaxS, ty, &[x, y], Attr::None);
            l.value(Op::Sub, ty, &[high, low], Attr::None)
        }
        // Half of the sum; a sum that is not negative rounds up.
        "vavrg" => {
            let sum = l.value(Op::Add, ty, &[x, y], Attr::None);
            let negative = l.value(Op::ShrS, ty, &[sum, Value::Imm(31)], Attr::None);
            let up = l.value(Op::Add, ty, &[negative, Value::Imm(1)], Attr::None);
            let sum = l.value(Op::Add, ty, &[sum, up], Attr::None);
            l.value(Op::ShrS, ty, &[sum, Value::Imm(1)], Attr::None)
        }
        "vset" => {
            let Some(cmp) = cmp else {
                return Err(Stop::error(inst.opcode_span, "a comparison is needed"));
            };
            let p = l.value_in(Class::P, Op::ICmp, ty, &[x, y], Attr::IntCmp(cmp));
            l.value(Op::Select, ty, &[Value::Imm(1), Value::Imm(0), p], Attr::None)
        }
        _ => return Err(Stop::unsupported("the engine has no such instruction yet")),
    })
}
