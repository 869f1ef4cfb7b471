// SPDX-License-Identifier: MIT OR Apache-2.0
//! Operands to values and registers.
//!
//! An instruction's type says how wide an operand is; a register may be declared wider (PTX ISA,
//! "Operand Size Exceeding Instruction-Type Size"): sources are then truncated, results are extended
//! by the sign of the type. A register that is narrower than the type is an error.

use margay_ptx::ast::{Immediate, Instruction, Operand, OperandKind, ScalarType, Span, Symbol};

use super::function::{Lower, WriteBack};
use super::names::{Entity, RegVar, Slot};
use super::{Lowered, Stop};
use crate::inst::*;
use crate::ops::Op;
use crate::types::{Class, Ty};

/// The IR type for operations on a PTX type: floats as such, all else as integers of its width.
/// Packed and 8-bit float formats are integers here.
pub(crate) fn ir_ty(ty: ScalarType) -> Ty {
    match ty {
        ScalarType::F16 => Ty::F16,
        ScalarType::BF16 => Ty::BF16,
        ScalarType::F32 => Ty::F32,
        ScalarType::F64 => Ty::F64,
        other => int_ty(other.bits()),
    }
}

/// The integer type of a width in bits: 1 is a predicate, others round up to 8, 16, 32 or 64.
pub(crate) fn int_ty(bits: u32) -> Ty {
    match bits {
        1 => Ty::Pred,
        2..=8 => Ty::I8,
        9..=16 => Ty::I16,
        17..=32 => Ty::I32,
        _ => Ty::I64,
    }
}

/// The register class for a declared type of at most 64 bits.
pub(crate) fn class_of(ty: ScalarType) -> Class {
    int_ty(ty.bits()).class()
}

/// `bits` low bits set.
pub(crate) const fn mask(bits: u32) -> u64 {
    if bits >= 64 { u64::MAX } else { (1 << bits) - 1 }
}

impl Lower<'_, '_> {
    /// The instruction's operand number `i`.
    pub(crate) fn operand<'i>(&self, inst: &'i Instruction, i: usize) -> Lowered<&'i Operand> {
        inst.operands.get(i).ok_or_else(|| {
            Stop::error(inst.opcode_span, format!("`{}` needs more operands", inst.opcode()))
        })
    }

    /// Operand `i` as a source of type `ty`.
    pub(crate) fn src_at(
        &mut self,
        inst: &Instruction,
        i: usize,
        ty: ScalarType,
    ) -> Lowered<Value> {
        let operand = self.operand(inst, i)?;
        self.src(operand, ty)
    }

    /// Operand `i` as the destination of type `ty`.
    pub(crate) fn dst_at(&mut self, inst: &Instruction, i: usize, ty: ScalarType) -> Lowered<Reg> {
        let operand = self.operand(inst, i)?;
        self.dst(operand, ty)
    }

    /// A source operand as a value of type `ty` (at most 64 bits). Takes registers, immediates,
    /// negated predicates, special registers, elements of vectors, `{a, b}` to be packed, and names
    /// of variables and functions for their addresses.
    pub(crate) fn src(&mut self, operand: &Operand, ty: ScalarType) -> Lowered<Value> {
        let span = operand.span;
        match &operand.kind {
            OperandKind::Immediate(imm) => immediate(*imm, ty, span).map(Value::Imm),
            OperandKind::Name(name) => self.named_src(*name, ty, span),
            OperandKind::Member { base, member } => self.member_src(*base, *member, ty, span),
            OperandKind::Not(name) => {
                if ty != ScalarType::Pred {
                    return Err(Stop::error(span, "`!` is for predicates only"));
                }
                let value = self.named_src(*name, ty, span)?;
                Ok(self.value(Op::PNot, Ty::Pred, &[value], Attr::None))
            }
            OperandKind::Offset { base, offset } => {
                if let Some(Entity::Reg(var)) = self.find(*base) {
                    // `r + 1` where a value is wanted.
                    let value = self.read(var, ty, span)?;
                    let ty = int_ty(ty.bits());
                    let offset = Value::Imm(*offset as u64 & mask(ty.bits()));
                    return Ok(self.value(Op::Add, ty, &[value, offset], Attr::None));
                }
                let address = self.address_of(*base, *offset, span)?;
                self.narrow(address, 64, ty, span)
            }
            OperandKind::Vector(parts) => {
                let words = self.pack(parts, ty.bits(), span)?;
                Ok(words[0])
            }
            OperandKind::Sink => Err(Stop::error(span, "`_` cannot be read")),
            OperandKind::Negate(_)
            | OperandKind::Pair(_)
            | OperandKind::Address(_)
            | OperandKind::Element { .. }
            | OperandKind::Bracket(_)
            | OperandKind::List(_) => Err(Stop::error(span, "this operand has no value here")),
        }
    }

    /// A predicate source, `p` or `!p`.
    pub(crate) fn pred(&mut self, operand: &Operand) -> Lowered<Value> {
        self.src(operand, ScalarType::Pred)
    }

    fn named_src(&mut self, name: Symbol, ty: ScalarType, span: Span) -> Lowered<Value> {
        let Some(entity) = self.find(name) else {
            let text = self.name(name);
            if text == "WARP_SZ" {
                return Ok(Value::Imm(32));
            }
            return match self.special(text, None, span)? {
                Some((value, bits)) => self.narrow(value, bits, ty, span),
                None => Err(self.undeclared(name, span)),
            };
        };
        match entity {
            Entity::Reg(var) => self.read(var, ty, span),
            Entity::Slot(Slot::Reg { reg, size }) => {
                self.narrow(Value::Reg(reg), size * 8, ty, span)
            }
            Entity::Wide(_) => Err(Stop::error(span, "a 128-bit register does not fit here")),
            // A vector register stands for its elements, packed.
            Entity::Vector { ty: element, regs } => {
                let each = element.bits();
                if each * regs.len() as u32 != ty.bits() || each < 8 {
                    return Err(Stop::error(span, "the vector has another size"));
                }
                let values: Vec<Value> = regs.into_iter().map(Value::Reg).collect();
                Ok(self.join(&values, each, ty.bits()))
            }
            Entity::Local { .. }
            | Entity::KernelParam { .. }
            | Entity::Slot(Slot::Frame { .. })
            | Entity::Global(_)
            | Entity::Func(_) => {
                let address = self.address_of(name, 0, span)?;
                self.narrow(address, 64, ty, span)
            }
            Entity::Label(_) => Err(Stop::unsupported("the address of a label as a value")),
            Entity::BranchTargets(_) | Entity::CallTargets | Entity::Prototype { .. } => {
                Err(Stop::error(span, "a list of targets has no value"))
            }
            Entity::Unusable(why) => Err(Stop::unsupported(why)),
        }
    }

    fn member_src(
        &mut self,
        base: Symbol,
        member: Symbol,
        ty: ScalarType,
        span: Span,
    ) -> Lowered<Value> {
        match self.find(base) {
            Some(Entity::Vector { ty: declared, regs }) => {
                let reg = self.element(&regs, member, span)?;
                self.read(RegVar { reg, ty: declared }, ty, span)
            }
            Some(_) => Err(Stop::error(span, "only a vector has elements")),
            None => {
                let (base_text, member_text) = (self.name(base), self.name(member));
                match self.special(base_text, Some(member_text), span)? {
                    Some((value, bits)) => self.narrow(value, bits, ty, span),
                    None => Err(self.undeclared(base, span)),
                }
            }
        }
    }

    fn element(&self, regs: &[Reg], member: Symbol, span: Span) -> Lowered<Reg> {
        let index = match self.name(member) {
            "x" | "r" => 0,
            "y" | "g" => 1,
            "z" | "b" => 2,
            "w" | "a" => 3,
            other => return Err(Stop::error(span, format!("a vector has no element `{other}`"))),
        };
        regs.get(index).copied().ok_or_else(|| Stop::error(span, "the vector is shorter"))
    }

    /// The value of a declared register as type `ty`.
    pub(super) fn read(&mut self, var: RegVar, ty: ScalarType, span: Span) -> Lowered<Value> {
        if self.exact_sizes && var.ty.bits() > ty.bits() {
            return Err(too_wide(var, ty, span));
        }
        self.narrow(Value::Reg(var.reg), var.ty.bits(), ty, span)
    }

    /// Takes the low bits of a value of `bits` bits, as wide as `ty`.
    fn narrow(&mut self, value: Value, bits: u32, ty: ScalarType, span: Span) -> Lowered<Value> {
        let want = ty.bits();
        if (bits == 1) != (want == 1) {
            return Err(Stop::error(
                span,
                format!("a predicate and `.{}` do not go together", ty.name()),
            ));
        }
        if want > 64 {
            return Err(Stop::error(span, "the operand is narrower than 128 bits"));
        }
        let (from, to) = (int_ty(bits), int_ty(want));
        if from == to {
            return Ok(value);
        }
        if bits < want {
            return Err(Stop::error(
                span,
                format!("the operand has {bits} bits, `.{}` needs {want}", ty.name()),
            ));
        }
        Ok(self.value_from(Op::Trunc, to, from, &[value], Attr::None))
    }

    /// The declared register that a destination operand names; `None` for `_`.
    pub(super) fn dst_var(&mut self, operand: &Operand) -> Lowered<Option<RegVar>> {
        let span = operand.span;
        match &operand.kind {
            OperandKind::Sink => Ok(None),
            OperandKind::Name(name) => match self.find(*name) {
                Some(Entity::Reg(var)) => Ok(Some(var)),
                Some(Entity::Slot(Slot::Reg { reg, size })) => {
                    Ok(Some(RegVar { reg, ty: bits_type(size) }))
                }
                Some(Entity::Unusable(why)) => Err(Stop::unsupported(why)),
                Some(_) => Err(Stop::error(span, "the result needs a register")),
                None => Err(self.undeclared(*name, span)),
            },
            OperandKind::Member { base, member } => match self.find(*base) {
                Some(Entity::Vector { ty, regs }) => {
                    Ok(Some(RegVar { reg: self.element(&regs, *member, span)?, ty }))
                }
                Some(_) | None => Err(Stop::error(span, "the result needs a register")),
            },
            OperandKind::Immediate(_)
            | OperandKind::Not(_)
            | OperandKind::Negate(_)
            | OperandKind::Vector(_)
            | OperandKind::Pair(_)
            | OperandKind::Address(_)
            | OperandKind::Offset { .. }
            | OperandKind::Element { .. }
            | OperandKind::Bracket(_)
            | OperandKind::List(_) => Err(Stop::error(span, "the result needs a register")),
        }
    }

    /// The register for a result of type `ty`. If the operand's register is wider, a temporary,
    /// which is extended into the real one when the instruction is complete; for `_` a temporary.
    pub(crate) fn dst(&mut self, operand: &Operand, ty: ScalarType) -> Lowered<Reg> {
        match self.dst_var(operand)? {
            Some(var) => self.write(var, ty, operand.span),
            None => Ok(self.temp(class_of(ty))),
        }
    }

    /// Declared registers of `{a, b, …}`, of a vector register, or of the operand alone.
    pub(super) fn dst_vars(&mut self, operand: &Operand) -> Lowered<Vec<Option<RegVar>>> {
        if let OperandKind::Vector(parts) = &operand.kind {
            return parts.iter().map(|p| self.dst_var(p)).collect();
        }
        if let OperandKind::Name(name) = &operand.kind
            && let Some(Entity::Vector { ty, regs }) = self.find(*name)
        {
            return Ok(regs.into_iter().map(|reg| Some(RegVar { reg, ty })).collect());
        }
        Ok(vec![self.dst_var(operand)?])
    }

    /// The register to write a result of type `ty` to, for a declared register.
    pub(super) fn write(&mut self, var: RegVar, ty: ScalarType, span: Span) -> Lowered<Reg> {
        let (have, want) = (var.ty.bits(), ty.bits());
        if (have == 1) != (want == 1) {
            return Err(Stop::error(
                span,
                format!("a predicate and `.{}` do not go together", ty.name()),
            ));
        }
        if int_ty(have) == int_ty(want) && want <= 64 {
            return Ok(var.reg);
        }
        if have < want {
            return Err(Stop::error(
                span,
                format!("the register has {have} bits, `.{}` needs {want}", ty.name()),
            ));
        }
        if self.exact_sizes {
            return Err(too_wide(var, ty, span));
        }
        let temp = self.temp(class_of(ty));
        self.write_backs.push(WriteBack {
            op: if ty.is_signed() { Op::SExt } else { Op::ZExt },
            ty: int_ty(have),
            from: int_ty(want),
            dst: var.reg,
            src: temp,
        });
        Ok(temp)
    }

    /// Emits the extensions that [`Self::dst`] promised. Called once after each instruction.
    pub(super) fn write_back(&mut self) {
        for w in std::mem::take(&mut self.write_backs) {
            self.emit_from(w.op, w.ty, w.from, &[w.dst], &[Value::Reg(w.src)], Attr::None);
        }
    }

    /// A destination `d` or `d|p`, or `p|q` with `ty` a predicate: the second half is a predicate
    /// and `None` where nothing or `_` is written.
    pub(crate) fn dst_pair(
        &mut self,
        operand: &Operand,
        ty: ScalarType,
    ) -> Lowered<(Reg, Option<Reg>)> {
        let OperandKind::Pair(halves) = &operand.kind else {
            return Ok((self.dst(operand, ty)?, None));
        };
        let first = self.dst(&halves.0, ty)?;
        let second = match &halves.1.kind {
            OperandKind::Sink => None,
            _ => Some(self.dst(&halves.1, ScalarType::Pred)?),
        };
        Ok((first, second))
    }

    /// Both halves of a 128-bit source, low first: a `.b128` register, an immediate, or a vector.
    pub(crate) fn src_wide(&mut self, operand: &Operand) -> Lowered<[Value; 2]> {
        match &operand.kind {
            OperandKind::Name(name) => match self.find(*name) {
                Some(Entity::Wide([lo, hi])) => Ok([Value::Reg(lo), Value::Reg(hi)]),
                Some(_) => Err(Stop::error(operand.span, "a 128-bit register is needed here")),
                None => Err(self.undeclared(*name, operand.span)),
            },
            OperandKind::Vector(parts) => {
                let words = self.pack(parts, 128, operand.span)?;
                Ok([words[0], words[1]])
            }
            OperandKind::Immediate(Immediate::Int { bits, signed }) => {
                let high = if *signed && (*bits as i64) < 0 { u64::MAX } else { 0 };
                Ok([Value::Imm(*bits), Value::Imm(high)])
            }
            _ => Err(Stop::error(operand.span, "a 128-bit register is needed here")),
        }
    }

    /// Both halves of a 128-bit destination.
    pub(crate) fn dst_wide(&mut self, operand: &Operand) -> Lowered<[Reg; 2]> {
        match &operand.kind {
            OperandKind::Sink => Ok([self.temp(Class::D), self.temp(Class::D)]),
            OperandKind::Name(name) => match self.find(*name) {
                Some(Entity::Wide(regs)) => Ok(regs),
                Some(_) => Err(Stop::error(operand.span, "a 128-bit register is needed here")),
                None => Err(self.undeclared(*name, operand.span)),
            },
            _ => Err(Stop::error(operand.span, "a 128-bit register is needed here")),
        }
    }

    /// Elements of `{a, b, …}`, of a vector register, or the operand alone.
    pub(crate) fn src_elements(
        &mut self,
        operand: &Operand,
        ty: ScalarType,
    ) -> Lowered<Vec<Value>> {
        match &operand.kind {
            OperandKind::Vector(parts) => parts.iter().map(|p| self.src(p, ty)).collect(),
            OperandKind::Name(name) => match self.find(*name) {
                Some(Entity::Vector { ty: declared, regs }) => regs
                    .iter()
                    .map(|reg| self.read(RegVar { reg: *reg, ty: declared }, ty, operand.span))
                    .collect(),
                Some(_) | None => Ok(vec![self.src(operand, ty)?]),
            },
            _ => Ok(vec![self.src(operand, ty)?]),
        }
    }

    /// As [`Self::src_elements`], for destinations.
    pub(crate) fn dst_elements(&mut self, operand: &Operand, ty: ScalarType) -> Lowered<Vec<Reg>> {
        let span = operand.span;
        let mut regs = Vec::new();
        for var in self.dst_vars(operand)? {
            regs.push(match var {
                Some(var) => self.write(var, ty, span)?,
                None => self.temp(class_of(ty)),
            });
        }
        Ok(regs)
    }

    /// A value to be stored as type `ty`: a register that is wider stays as it is where the store
    /// takes its low bits.
    pub(super) fn stored(&mut self, operand: &Operand, ty: ScalarType) -> Lowered<Vec<Value>> {
        let mut out = Vec::new();
        let parts = match &operand.kind {
            OperandKind::Vector(parts) => &parts[..],
            _ => std::slice::from_ref(operand),
        };
        for part in parts {
            let OperandKind::Name(name) = &part.kind else {
                out.push(self.src(part, ty)?);
                continue;
            };
            let vars = match self.find(*name) {
                Some(Entity::Reg(var)) => vec![var],
                Some(Entity::Vector { ty, regs }) => {
                    regs.into_iter().map(|reg| RegVar { reg, ty }).collect()
                }
                _ => {
                    out.push(self.src(part, ty)?);
                    continue;
                }
            };
            for var in vars {
                let (have, want) = (var.ty.bits(), ty.bits());
                let same_class = class_of(var.ty) == class_of(ty);
                out.push(if same_class && have >= want && have > 1 {
                    Value::Reg(var.reg)
                } else {
                    self.read(var, ty, part.span)?
                });
            }
        }
        Ok(out)
    }
}

fn too_wide(var: RegVar, ty: ScalarType, span: Span) -> Stop {
    let (have, want) = (var.ty.bits(), ty.bits());
    Stop::error(span, format!("the register has {have} bits, `.{}` takes {want}", ty.name()))
}

/// The untyped-bits type of so many bytes.
pub(super) fn bits_type(size: u32) -> ScalarType {
    match size {
        1 => ScalarType::B8,
        2 => ScalarType::B16,
        4 => ScalarType::B32,
        8 => ScalarType::B64,
        _ => ScalarType::B128,
    }
}

/// The bits of an immediate in an operand of type `ty` (PTX ISA, "Constants"): integers are cut to
/// the width, floating-point constants rounded to the type; in an untyped operand their
/// own bits count.
pub(crate) fn immediate(imm: Immediate, ty: ScalarType, span: Span) -> Lowered<u64> {
    let width = ty.bits();
    let wrong = || {
        Stop::error(span, format!("this constant does not fit an operand of type `.{}`", ty.name()))
    };
    Ok(match imm {
        Immediate::Int { bits, .. } => match ty {
            ScalarType::Pred => u64::from(bits != 0),
            ScalarType::F16 | ScalarType::BF16 | ScalarType::F32 | ScalarType::F64 => {
                return Err(wrong());
            }
            _ => bits & mask(width),
        },
        Immediate::F32(_) | Immediate::F64(_) => {
            let double = imm.as_f64().ok_or_else(wrong)?;
            match ty {
                ScalarType::F64 => match imm {
                    // A widened NaN keeps its payload by the bits, not by the host's arithmetic.
                    Immediate::F64(bits) => bits,
                    _ => double.to_bits(),
                },
                ScalarType::F32 | ScalarType::TF32 => match imm {
                    Immediate::F32(bits) => bits.into(),
                    _ => (double as f32).to_bits().into(),
                },
                ScalarType::F16 => half::f16::from_f64(double).to_bits().into(),
                ScalarType::BF16 => half::bf16::from_f64(double).to_bits().into(),
                _ if ty.is_integer() || !(32..=64).contains(&width) => return Err(wrong()),
                _ => match (imm, width) {
                    (Immediate::F32(bits), 32) => bits.into(),
                    (_, 32) => (double as f32).to_bits().into(),
                    (_, _) => double.to_bits(),
                },
            }
        }
    })
}
