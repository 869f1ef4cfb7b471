// SPDX-License-Identifier: MIT OR Apache-2.0
//! `mov`: registers, constants, addresses, special registers, packing and unpacking of vectors.

use margay_ptx::ast::{Instruction, ModifierCursor, Operand, OperandKind, ScalarType, Span};

use super::function::Lower;
use super::names::Entity;
use super::operand::{bits_type, int_ty, ir_ty};
use super::{Lowered, Stop};
use crate::inst::*;
use crate::ops::Op;
use crate::types::Ty;

pub(super) fn lower(
    l: &mut Lower<'_, '_>,
    inst: &Instruction,
    m: &mut ModifierCursor<'_>,
) -> Lowered {
    let elements = m.vector();
    let Some(ty) = m.next_type() else {
        return Err(Stop::error(inst.opcode_span, "`mov` needs a type"));
    };
    let (dst, src) = (l.operand(inst, 0)?, l.operand(inst, 1)?);
    if elements > 1 {
        return l.mov_vector(dst, src, ty);
    }
    if let OperandKind::Vector(parts) = &dst.kind {
        return l.unpack(parts, src, ty.bits());
    }
    if let OperandKind::Name(name) = dst.kind
        && let Some(Entity::Vector { ty: element, regs }) = l.find(name)
    {
        return l.unpack_vector(element, &regs, src, ty);
    }
    if ty.bits() == 128 {
        let value = l.src_wide(src)?;
        let to = l.dst_wide(dst)?;
        return l.mov_all(&to, &value, ScalarType::B64);
    }
    // PTX 1.x reads the 16-bit special registers of its day, and newer code 32 bits of them, in
    // either width; the register itself is 32 bits wide, and zero-extends into a wider result.
    let narrow = l.special_bits(src)?.filter(|bits| *bits < ty.bits());
    if let Some(bits) = narrow {
        let value = l.src(src, bits_type(bits / 8))?;
        let reg = l.dst(dst, ty)?;
        l.emit_from(Op::ZExt, int_ty(ty.bits()), int_ty(bits), &[reg], &[value], Attr::None);
        return Ok(());
    }
    let value = l.src(src, ty)?;
    let reg = l.dst(dst, ty)?;
    l.mov(ir_ty(ty), reg, value);
    Ok(())
}

impl Lower<'_, '_> {
    /// The width of a special register; `None` for everything else.
    fn special_bits(&mut self, src: &Operand) -> Lowered<Option<u32>> {
        let (base, member) = match &src.kind {
            OperandKind::Name(name) => (*name, None),
            OperandKind::Member { base, member } => (*base, Some(*member)),
            _ => return Ok(None),
        };
        if !self.name(base).starts_with('%') || self.find(base).is_some() {
            return Ok(None);
        }
        Ok(super::sreg::bits(self.name(base), member.map(|m| self.name(m))))
    }

    /// `mov.v4.u32 {a, b, c, d}, v` and `mov.v4.u32 v, %tid`.
    fn mov_vector(&mut self, dst: &Operand, src: &Operand, ty: ScalarType) -> Lowered {
        let special = match &src.kind {
            OperandKind::Name(name) if self.find(*name).is_none() => {
                self.special_vector(self.name(*name))
            }
            _ => None,
        };
        let values = match special {
            Some(values) if ty.bits() == 32 => values,
            Some(values) => {
                let narrow = |l: &mut Self, v| {
                    l.value_from(Op::Trunc, int_ty(ty.bits()), Ty::I32, &[v], Attr::None)
                };
                values.into_iter().map(|v| narrow(self, v)).collect()
            }
            None => self.src_elements(src, ty)?,
        };
        let regs = self.dst_elements(dst, ty)?;
        if regs.len() > values.len() {
            return Err(Stop::error(src.span, "the source has fewer elements"));
        }
        self.mov_all(&regs, &values[..regs.len()], ty)
    }

    /// Parallel moves: sources may be among the destinations.
    fn mov_all(&mut self, dsts: &[Reg], srcs: &[Value], ty: ScalarType) -> Lowered {
        let ty = ir_ty(ty);
        let clash = srcs
            .iter()
            .enumerate()
            .any(|(i, src)| dsts[..i.min(dsts.len())].iter().any(|d| *src == Value::Reg(*d)));
        let values: Vec<Value> = if clash {
            srcs.iter().map(|v| self.value(Op::Mov, ty, &[*v], Attr::None)).collect()
        } else {
            srcs.to_vec()
        };
        for (dst, value) in dsts.iter().zip(values) {
            self.mov(ty, *dst, value);
        }
        Ok(())
    }

    /// `{a, b, …}` as one value of `bits` bits, or two for 128. The first element is lowest.
    pub(super) fn pack(&mut self, parts: &[Operand], bits: u32, span: Span) -> Lowered<[Value; 2]> {
        let each = self.part_bits(parts.len(), bits, span)?;
        let ty = bits_type(each / 8);
        let mut values = Vec::with_capacity(parts.len());
        for part in parts {
            // An element may be `.pred`-free, of any type of its width.
            values.push(self.src(part, ty)?);
        }
        let half = bits.min(64);
        let per_word = (half / each) as usize;
        let mut words = [Value::Imm(0); 2];
        for (word, chunk) in words.iter_mut().zip(values.chunks(per_word)) {
            *word = self.join(chunk, each, half);
        }
        Ok(words)
    }

    /// Joins values of `each` bits into one of `total` bits, lowest first.
    pub(super) fn join(&mut self, values: &[Value], each: u32, total: u32) -> Value {
        let (from, ty) = (int_ty(each), int_ty(total));
        let mut joined = None;
        for (i, value) in values.iter().enumerate() {
            let wide = match value {
                Value::Imm(_) => *value,
                Value::Reg(_) if from == ty => *value,
                Value::Reg(_) => self.value_from(Op::ZExt, ty, from, &[*value], Attr::None),
            };
            let shift = each * i as u32;
            let placed = match wide {
                Value::Imm(bits) => Value::Imm(bits << shift),
                Value::Reg(_) if shift == 0 => wide,
                Value::Reg(_) => {
                    self.value(Op::Shl, ty, &[wide, Value::Imm(shift.into())], Attr::None)
                }
            };
            joined = Some(match (joined, placed) {
                (None, placed) => placed,
                (Some(Value::Imm(a)), Value::Imm(b)) => Value::Imm(a | b),
                (Some(low), placed) => self.value(Op::Or, ty, &[low, placed], Attr::None),
            });
        }
        joined.unwrap_or(Value::Imm(0))
    }

    /// Splits a value of `total` bits: bits `each * i` on, `each` wide.
    pub(super) fn part(&mut self, value: Value, i: u32, each: u32, total: u32) -> Value {
        let (ty, from) = (int_ty(each), int_ty(total));
        if let Value::Imm(bits) = value {
            return Value::Imm(bits >> (each * i) & super::operand::mask(each));
        }
        let shifted = if i == 0 {
            value
        } else {
            self.value(Op::ShrU, from, &[value, Value::Imm((each * i).into())], Attr::None)
        };
        if ty == from {
            return shifted;
        }
        self.value_from(Op::Trunc, ty, from, &[shifted], Attr::None)
    }

    fn unpack(&mut self, parts: &[Operand], src: &Operand, bits: u32) -> Lowered {
        let each = self.part_bits(parts.len(), bits, src.span)?;
        let ty = bits_type(each / 8);
        let words = if bits == 128 {
            self.src_wide(src)?
        } else {
            [self.src(src, bits_type(bits / 8))?, Value::Imm(0)]
        };
        let half = bits.min(64);
        let per_word = half / each;
        let mut values = Vec::with_capacity(parts.len());
        for (i, part) in parts.iter().enumerate() {
            let i = i as u32;
            if part.kind == OperandKind::Sink {
                values.push(None);
                continue;
            }
            let word = words[usize::from(i >= per_word)];
            values.push(Some(self.part(word, i % per_word, each, half)));
        }
        for (part, value) in parts.iter().zip(values) {
            if let Some(value) = value {
                let reg = self.dst(part, ty)?;
                self.mov(ir_ty(ty), reg, value);
            }
        }
        Ok(())
    }

    /// `mov.b32 v, a` with a vector register `v`: as if its elements stood in braces.
    fn unpack_vector(
        &mut self,
        element: ScalarType,
        regs: &[Reg],
        src: &Operand,
        ty: ScalarType,
    ) -> Lowered {
        let (each, bits) = (element.bits(), ty.bits());
        if self.part_bits(regs.len(), bits, src.span)? != each || bits > 64 {
            return Err(Stop::error(src.span, "the vector has another size"));
        }
        let value = self.src(src, bits_type(bits / 8))?;
        let parts: Vec<Value> =
            (0..regs.len() as u32).map(|i| self.part(value, i, each, bits)).collect();
        self.mov_all(regs, &parts, element)
    }

    fn part_bits(&self, parts: usize, bits: u32, span: Span) -> Lowered<u32> {
        match (parts, bits) {
            (2, 16 | 32 | 64 | 128) | (4, 32 | 64 | 128) | (8, 64) => Ok(bits / parts as u32),
            _ => Err(Stop::error(span, format!("{parts} elements do not make {bits} bits"))),
        }
    }

    /// Whether a name is a label or function here, for messages of branches and calls.
    pub(super) fn label(&mut self, operand: &Operand) -> Lowered<BlockId> {
        match &operand.kind {
            OperandKind::Name(name) => match self.find(*name) {
                Some(Entity::Label(id)) => Ok(id),
                Some(_) => Err(Stop::error(operand.span, "a label is needed here")),
                None => Err(self.undeclared(*name, operand.span)),
            },
            _ => Err(Stop::error(operand.span, "a label is needed here")),
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::lower::testing::check;

    #[test]
    fn constants_addresses_and_special_registers() {
        check(
            "mov.u32 %r0, 5; mov.f32 %r1, 0f3F800000; mov.u64 %d0, g; mov.u64 %d1, s+8; mov.u32 %r2, %tid.x; mov.u16 %h0, %ntid.y; mov.u64 %d2, %clock64; mov.u32 %r3, WARP_SZ; mov.u64 %d3, a;",
            expect![[r#"
                b0:
                  %0 = mov.i32 0x5
                  %1 = mov.f32 0x3f800000
                  %3 = addr {var=0}
                  %2 = mov.i64 %3
                  %5 = addr {var=2 addend=8}
                  %4 = mov.i64 %5
                  %7 = sreg.i32 {tid.x}
                  %6 = mov.i32 %7
                  %9 = sreg.i32 {ntid.y}
                  %10 = trunc.i16.i32 %9
                  %8 = mov.i16 %10
                  %12 = sreg.i64 {clock64}
                  %11 = mov.i64 %12
                  %13 = mov.i32 0x20
                  %15 = addr {param=0}
                  %14 = mov.i64 %15
                  exit
            "#]],
        );
    }

    #[test]
    fn packing_and_unpacking() {
        check(
            "mov.b32 %r0, {%h0, %h1}; mov.b64 {%r1, %r2}, %d0; mov.b64 {%r1, _}, %d0; mov.b128 %q0, {%d0, %d1}; mov.b128 {%d1, %d0}, %q0;",
            expect![[r#"
                b0:
                  %3 = zext.i32.i16 %1
                  %4 = zext.i32.i16 %2
                  %5 = shl.i32 %4, 0x10
                  %6 = or.i32 %3, %5
                  %0 = mov.i32 %6
                  %8 = trunc.i32.i64 %7
                  %9 = shr.u.i64 %7, 0x20
                  %10 = trunc.i32.i64 %9
                  %11 = mov.i32 %8
                  %12 = mov.i32 %10
                  %13 = trunc.i32.i64 %7
                  %11 = mov.i32 %13
                  %14 = mov.i64 %7
                  %15 = mov.i64 %16
                  %16 = mov.i64 %14
                  %7 = mov.i64 %15
                  exit
            "#]],
        );
    }

    #[test]
    fn parts_that_are_also_the_source_are_read_first() {
        check(
            ".reg .b32 x, y; mov.b64 %d0, {x, y}; mov.b64 {y, x}, %d0;",
            expect![[r#"
            b0:
              %3 = zext.i64.i32 %0
              %4 = zext.i64.i32 %1
              %5 = shl.i64 %4, 0x20
              %6 = or.i64 %3, %5
              %2 = mov.i64 %6
              %7 = trunc.i32.i64 %2
              %8 = shr.u.i64 %2, 0x20
              %9 = trunc.i32.i64 %8
              %1 = mov.i32 %7
              %0 = mov.i32 %9
              exit
        "#]],
        );
    }

    #[test]
    fn a_wide_source_is_cut_and_a_narrow_result_extended() {
        check(
            "mov.u32 %r0, %laneid; mov.u64 %d0, %laneid; mov.b16 %h0, 0xffff;",
            expect![[r#"
                b0:
                  %1 = sreg.i32 {laneid}
                  %0 = mov.i32 %1
                  %3 = sreg.i32 {laneid}
                  %2 = zext.i64.i32 %3
                  %4 = mov.i16 0xffff
                  exit
            "#]],
        );
    }

    #[test]
    fn vectors_of_registers() {
        check(
            ".reg .v4 .u32 v; mov.v4.u32 v, %ctaid; mov.u32 %r0, v.z; mov.v4.u32 {%r0, %r1, %r2, %r3}, v;",
            expect![[r#"
                b0:
                  %4 = sreg.i32 {ctaid.x}
                  %5 = sreg.i32 {ctaid.y}
                  %6 = sreg.i32 {ctaid.z}
                  %0 = mov.i32 %4
                  %1 = mov.i32 %5
                  %2 = mov.i32 %6
                  %3 = mov.i32 0x0
                  %7 = mov.i32 %2
                  %7 = mov.i32 %0
                  %8 = mov.i32 %1
                  %9 = mov.i32 %2
                  %10 = mov.i32 %3
                  exit
            "#]],
        );
    }
}
