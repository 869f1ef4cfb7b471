// SPDX-License-Identifier: MIT OR Apache-2.0
//! Integer, floating-point, comparison, logic and shift instructions (PTX ISA, sections 9.7.1 to
//! 9.7.8), each group in its own file.
//!
//! Packed forms are split into their elements, computed one by one, and joined again: the IR knows
//! scalars only.

mod carry;
mod compare;
mod float;
pub(in crate::lower) mod integer;
mod logic;

use margay_ptx::ast::{Instruction, ModifierCursor, ScalarType};

use super::{Lower, Lowered, Stop, int_ty, ir_ty};
use crate::inst::*;
use crate::ops::Op;
use crate::types::{Round, Ty};

pub(super) fn lower(
    l: &mut Lower<'_, '_>,
    inst: &Instruction,
    m: &mut ModifierCursor<'_>,
) -> Lowered {
    let float = inst.types().first().is_some_and(|ty| ty.is_float());
    match inst.opcode() {
        "add.cc" | "addc" | "sub.cc" | "subc" | "madc" => carry::lower(l, inst, m),
        "mad" if inst.has("cc") => carry::lower(l, inst, m),
        "set" | "setp" | "selp" | "slct" | "testp" => compare::lower(l, inst, m),
        "and" | "or" | "xor" | "not" | "cnot" | "lop3" | "shf" | "shl" | "shr" | "prmt" => {
            logic::lower(l, inst, m)
        }
        "add" | "sub" | "mul" | "mad" | "div" | "abs" | "neg" | "min" | "max" if !float => {
            integer::lower(l, inst, m)
        }
        "mul24" | "mad24" | "sad" | "rem" | "popc" | "clz" | "bfind" | "fns" | "brev" | "bfe"
        | "bfi" | "szext" | "bmsk" | "dp4a" | "dp2a" => integer::lower(l, inst, m),
        _ => float::lower(l, inst, m),
    }
}

/// How a packed type divides: the type of an element, and how many there are; a scalar is its own
/// only element.
pub(in crate::lower) fn elements(ty: ScalarType) -> (ScalarType, u32) {
    match ty {
        ScalarType::U16x2 => (ScalarType::U16, 2),
        ScalarType::S16x2 => (ScalarType::S16, 2),
        ScalarType::F16x2 => (ScalarType::F16, 2),
        ScalarType::BF16x2 => (ScalarType::BF16, 2),
        ScalarType::U32x2 => (ScalarType::U32, 2),
        ScalarType::S32x2 => (ScalarType::S32, 2),
        ScalarType::F32x2 => (ScalarType::F32, 2),
        ScalarType::U8x4 => (ScalarType::U8, 4),
        ScalarType::S8x4 => (ScalarType::S8, 4),
        scalar => (scalar, 1),
    }
}

/// A `.rn`, `.rz`, `.rm` or `.rp` that may be left out.
pub(in crate::lower) fn rounding(m: &mut ModifierCursor<'_>) -> Option<Round> {
    Some(match m.take_any(&["rn", "rz", "rm", "rp"])? {
        "rz" => Round::Zero,
        "rm" => Round::Down,
        "rp" => Round::Up,
        _ => Round::Nearest,
    })
}

impl Lower<'_, '_> {
    /// Before sm_20 every f32 instruction flushes subnormals, without saying so (PTX ISA, the
    /// "Subnormal numbers" paragraphs).
    pub(in crate::lower) fn implies_ftz(&self, ty: ScalarType) -> bool {
        ty == ScalarType::F32 && (1..20).contains(&self.cx.module.sm)
    }

    /// The next type modifier, which every form here has.
    pub(in crate::lower) fn type_of(
        &mut self,
        inst: &Instruction,
        m: &mut ModifierCursor<'_>,
    ) -> Lowered<ScalarType> {
        m.next_type().ok_or_else(|| {
            Stop::error(inst.opcode_span, format!("`{}` needs a type", inst.opcode()))
        })
    }

    /// Emits an op straight into the instruction's first operand.
    pub(in crate::lower) fn first(
        &mut self,
        inst: &Instruction,
        dst: ScalarType,
        op: Op,
        ty: Ty,
        srcs: &[Value],
        attr: Attr,
    ) -> Lowered {
        let d = self.dst_at(inst, 0, dst)?;
        self.emit(op, ty, &[d], srcs, attr);
        Ok(())
    }

    /// Moves a value into the instruction's first operand.
    pub(in crate::lower) fn first_with(
        &mut self,
        inst: &Instruction,
        dst: ScalarType,
        value: Value,
    ) -> Lowered {
        let d = self.dst_at(inst, 0, dst)?;
        self.mov(int_ty(dst.bits()), d, value);
        Ok(())
    }

    /// Operands 1 to `count` as sources of one type.
    pub(in crate::lower) fn sources(
        &mut self,
        inst: &Instruction,
        count: usize,
        ty: ScalarType,
    ) -> Lowered<Vec<Value>> {
        (1..=count).map(|i| self.src_at(inst, i, ty)).collect()
    }

    /// Splits a packed value into its elements, lowest first.
    pub(in crate::lower) fn split(&mut self, value: Value, packed: ScalarType) -> Vec<Value> {
        let (element, count) = elements(packed);
        if count == 1 {
            return vec![value];
        }
        (0..count).map(|i| self.part(value, i, element.bits(), packed.bits())).collect()
    }

    /// Joins elements into a packed value, lowest first.
    pub(in crate::lower) fn unsplit(&mut self, values: &[Value], packed: ScalarType) -> Value {
        match values {
            [only] => *only,
            // Elements stand zero-extended in their words, so one byte permute joins two halves.
            [low, high] if packed.bits() == 32 => {
                let selector = Value::Imm(0x5410);
                self.value(Op::Prmt, Ty::I32, &[*low, *high, selector], Attr::None)
            }
            _ => self.join(values, packed.bits() / values.len() as u32, packed.bits()),
        }
    }

    /// Computes `body` for each element of a packed type, over operands 1 to `count`, and writes
    /// the result to operand 0. A scalar's result goes there directly, through `last`.
    pub(in crate::lower) fn element_wise(
        &mut self,
        inst: &Instruction,
        count: usize,
        ty: ScalarType,
        mut body: impl FnMut(&mut Self, ScalarType, &[Value]) -> (Op, Vec<Value>, Attr),
    ) -> Lowered {
        let (element, lanes) = elements(ty);
        let sources = self.sources(inst, count, ty)?;
        if lanes == 1 {
            let (op, srcs, attr) = body(self, element, &sources);
            return self.first(inst, ty, op, ir_ty(element), &srcs, attr);
        }
        let parts: Vec<Vec<Value>> = sources.iter().map(|s| self.split(*s, ty)).collect();
        let mut results = Vec::new();
        for lane in 0..lanes as usize {
            let operands: Vec<Value> = parts.iter().map(|p| p[lane]).collect();
            let (op, srcs, attr) = body(self, element, &operands);
            results.push(self.value(op, ir_ty(element), &srcs, attr));
        }
        let joined = self.unsplit(&results, ty);
        self.first_with(inst, ty, joined)
    }
}
