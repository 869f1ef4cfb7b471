// SPDX-License-Identifier: MIT OR Apache-2.0
//! Addresses and state spaces: `cvta`, `isspacep`, `mapa`, `getctarank`, stack instructions, and
//! the addresses of variables.
//!
//! Addresses are 64 bits wide in IR. In a 32-bit module registers hold the low half.

use margay_ptx::ast::{
    Address, Base, Instruction, ModifierCursor, Operand, OperandKind, ScalarType,
};
use margay_ptx::ast::{Span, Symbol};

use super::function::Lower;
use super::names::{Entity, Slot};
use super::{Lowered, Stop};
use crate::inst::*;
use crate::module::GlobalId;
use crate::ops::Op;
use crate::types::{Class, Space, Ty};

/// A `.shared::cta`-like modifier to its space.
pub(super) fn space_of(name: &str) -> Option<Space> {
    Some(match name {
        "const" => Space::Const,
        "global" => Space::Global,
        "local" => Space::Local,
        "param" | "param::entry" | "param::func" => Space::Param,
        "shared" | "shared::cta" | "shared::cluster" => Space::Shared,
        _ => return None,
    })
}

/// The modifiers that [`space_of`] knows.
pub(super) const SPACES: &[&str] = &[
    "const",
    "global",
    "local",
    "param",
    "param::entry",
    "param::func",
    "shared",
    "shared::cta",
    "shared::cluster",
];

/// A memory operand, resolved.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    /// What the address is relative to: a D value in the numbering of `space`.
    pub base: Value,
    pub offset: i64,
    /// The space that the base's variable fixes, if it is one.
    pub space: Option<Space>,
}

pub(super) fn lower(
    l: &mut Lower<'_, '_>,
    inst: &Instruction,
    m: &mut ModifierCursor<'_>,
) -> Lowered {
    match inst.opcode() {
        "cvta" | "cvta.to" => l.cvta(inst, m),
        "isspacep" => l.isspacep(inst, m),
        "mapa" => l.mapa(inst, m),
        "getctarank" => l.getctarank(inst, m),
        "alloca" => l.alloca(inst, m),
        "stacksave" => {
            let ty = m.next_type().unwrap_or(ScalarType::U64);
            let dst = l.dst_at(inst, 0, ty)?;
            l.address_result(Op::StackSave, ty, dst, &[], Attr::None);
            Ok(())
        }
        "stackrestore" => {
            let ty = m.next_type().unwrap_or(ScalarType::U64);
            let address = l.address_at(inst, 0, ty)?;
            l.emit(Op::StackRestore, Ty::I64, &[], &[address], Attr::None);
            Ok(())
        }
        other => Err(Stop::unsupported(format!("`{other}`"))),
    }
}

impl Lower<'_, '_> {
    /// The type of an address in this module.
    pub(super) fn address_type(&self) -> ScalarType {
        if self.cx.module.address_bits == 32 { ScalarType::U32 } else { ScalarType::U64 }
    }

    /// Widens an address of type `ty` to 64 bits.
    pub(super) fn widen_address(&mut self, value: Value, ty: ScalarType) -> Value {
        match (value, ty.bits()) {
            (Value::Imm(_), _) | (_, 64) => value,
            _ => self.value_from(Op::ZExt, Ty::I64, Ty::I32, &[value], Attr::None),
        }
    }

    /// Operand `i`, an address of type `ty`, in 64 bits.
    pub(super) fn address_at(
        &mut self,
        inst: &Instruction,
        i: usize,
        ty: ScalarType,
    ) -> Lowered<Value> {
        let value = self.src_at(inst, i, ty)?;
        Ok(self.widen_address(value, ty))
    }

    /// Emits an op that gives an address, into a destination of type `ty`.
    pub(super) fn address_result(
        &mut self,
        op: Op,
        ty: ScalarType,
        dst: Reg,
        srcs: &[Value],
        attr: Attr,
    ) {
        if ty.bits() == 64 {
            self.emit(op, Ty::I64, &[dst], srcs, attr);
        } else {
            let wide = self.value(op, Ty::I64, srcs, attr);
            self.emit_from(Op::Trunc, Ty::I32, Ty::I64, &[dst], &[wide], Attr::None);
        }
    }

    /// The address of a variable or function, in its own space's numbering, plus `offset`.
    pub(super) fn address_of(&mut self, name: Symbol, offset: i64, span: Span) -> Lowered<Value> {
        let Some(entity) = self.find(name) else {
            return Err(self.undeclared(name, span));
        };
        let of = match entity {
            Entity::Local { offset } | Entity::Slot(Slot::Frame { offset, .. }) => {
                AddrOf::Local(offset)
            }
            Entity::KernelParam { offset } => AddrOf::Param(offset),
            Entity::Global(id) => AddrOf::Global(id),
            Entity::Func(id) => {
                self.cx.module.functions[id.0 as usize].address_taken = true;
                AddrOf::Func(id)
            }
            Entity::Slot(Slot::Reg { .. }) => {
                return Err(Stop::unsupported("the address of a parameter held in a register"));
            }
            Entity::Unusable(why) => return Err(Stop::unsupported(why)),
            Entity::Reg(_)
            | Entity::Vector { .. }
            | Entity::Wide(_)
            | Entity::Label(_)
            | Entity::BranchTargets(_)
            | Entity::CallTargets
            | Entity::Prototype { .. } => {
                return Err(Stop::error(span, "only a variable or a function has an address"));
            }
        };
        Ok(self.value(Op::Addr, Ty::I64, &[], Attr::Address { of, addend: offset }))
    }

    fn global_space(&self, id: GlobalId) -> Space {
        self.cx.module.globals[id.0 as usize].space
    }

    /// A memory operand `[a+8]`. Registers may be narrower than 64 bits.
    pub(super) fn place(&mut self, operand: &Operand) -> Lowered<Place> {
        let span = operand.span;
        let address = match &operand.kind {
            OperandKind::Address(address) => *address,
            OperandKind::Element { base, index } => return self.element_place(*base, *index, span),
            // `ld.param.u32 %r, name` without brackets occurs in PTX 1.x.
            OperandKind::Name(name) => Address { base: Base::Name(*name), offset: 0 },
            _ => return Err(Stop::error(span, "an address in brackets is needed here")),
        };
        let Address { base, offset } = address;
        let name = match base {
            Base::Absolute(bits) => {
                return Ok(Place { base: Value::Imm(bits), offset, space: None });
            }
            Base::Name(name) => name,
        };
        match self.find(name) {
            Some(Entity::Reg(var)) => {
                let base = match var.ty.bits() {
                    64 => Value::Reg(var.reg),
                    32 => self.widen_address(Value::Reg(var.reg), ScalarType::U32),
                    _ => return Err(Stop::error(span, "an address has 32 or 64 bits")),
                };
                Ok(Place { base, offset, space: None })
            }
            Some(Entity::KernelParam { offset: start }) => Ok(Place {
                base: Value::Imm(0),
                offset: offset + i64::from(start),
                space: Some(Space::Param),
            }),
            Some(Entity::Global(id)) => {
                let space = Some(self.global_space(id));
                Ok(Place { base: self.address_of(name, 0, span)?, offset, space })
            }
            Some(_) => {
                let base = self.address_of(name, 0, span)?;
                Ok(Place { base, offset, space: Some(Space::Local) })
            }
            None => Err(self.undeclared(name, span)),
        }
    }

    /// `a[8]`, `a[%r1]`: by the manual's "Arrays as Operands" the index counts bytes.
    fn element_place(&mut self, array: Symbol, index: Address, span: Span) -> Lowered<Place> {
        let start = self.address_of(array, 0, span)?;
        let space = match self.find(array) {
            Some(Entity::Global(id)) => Some(self.global_space(id)),
            Some(Entity::KernelParam { .. }) => Some(Space::Param),
            _ => Some(Space::Local),
        };
        match index.base {
            Base::Absolute(bits) => {
                let offset = index.offset.wrapping_add(bits as i64);
                Ok(Place { base: start, offset, space })
            }
            Base::Name(_) => {
                let index = self.place(&Operand { kind: OperandKind::Address(index), span })?;
                let base = self.value(Op::Add, Ty::I64, &[start, index.base], Attr::None);
                Ok(Place { base, offset: index.offset, space })
            }
        }
    }

    fn cvta(&mut self, inst: &Instruction, m: &mut ModifierCursor<'_>) -> Lowered {
        let to = m.take("to") || inst.opcode() == "cvta.to";
        let space = m.take_any(SPACES).and_then(space_of);
        let Some(space) = space else {
            return Err(Stop::error(inst.opcode_span, "`cvta` needs a state space"));
        };
        let ty = m.next_type().unwrap_or(self.address_type());
        let source = self.address_at(inst, 1, ty)?;
        let dst = self.dst_at(inst, 0, ty)?;
        match space {
            // These are numbered as generic addresses are.
            Space::Global | Space::Const if ty.bits() == 64 => self.mov(Ty::I64, dst, source),
            _ => {
                let op = if to { Op::CvtaTo } else { Op::Cvta };
                self.address_result(op, ty, dst, &[source], Attr::Space(space));
            }
        }
        Ok(())
    }

    fn isspacep(&mut self, inst: &Instruction, m: &mut ModifierCursor<'_>) -> Lowered {
        let name = m.take_any(SPACES);
        let Some(space) = name.and_then(space_of) else {
            return Err(Stop::error(inst.opcode_span, "`isspacep` needs a state space"));
        };
        let ty = match &self.operand(inst, 1)?.kind {
            OperandKind::Name(name) => match self.find(*name) {
                Some(Entity::Reg(var)) => var.ty,
                _ => self.address_type(),
            },
            _ => self.address_type(),
        };
        let address = self.address_at(inst, 1, ty)?;
        let dst = self.dst_at(inst, 0, ScalarType::Pred)?;
        let clusters = self.cx.module.sm >= 90 && name != Some("shared::cluster");
        if space != Space::Shared || !clusters {
            self.emit(Op::IsSpace, Ty::I64, &[dst], &[address], Attr::Space(space));
            return Ok(());
        }
        // IR's shared space is the whole cluster's; `.shared` and `.shared::cta` mean the block's own.
        let shared = self.value_in(Class::P, Op::IsSpace, Ty::I64, &[address], Attr::Space(space));
        let rank = self.value_in(
            Class::W,
            Op::GetCtaRank,
            Ty::I64,
            &[address],
            Attr::Space(Space::Generic),
        );
        let own = self.value(Op::Sreg, Ty::I32, &[], Attr::Sreg(Sreg::ClusterCtaRank));
        let same =
            self.value_in(Class::P, Op::ICmp, Ty::I32, &[rank, own], Attr::IntCmp(IntCmp::Eq));
        self.emit(Op::PAnd, Ty::Pred, &[dst], &[shared, same], Attr::None);
        Ok(())
    }

    fn mapa(&mut self, inst: &Instruction, m: &mut ModifierCursor<'_>) -> Lowered {
        let space = m.take_any(SPACES).and_then(space_of).unwrap_or(Space::Generic);
        let ty = m.next_type().unwrap_or(self.address_type());
        let address = self.address_at(inst, 1, ty)?;
        let rank = self.src_at(inst, 2, ScalarType::U32)?;
        let dst = self.dst_at(inst, 0, ty)?;
        self.address_result(Op::Mapa, ty, dst, &[address, rank], Attr::Space(space));
        Ok(())
    }

    fn getctarank(&mut self, inst: &Instruction, m: &mut ModifierCursor<'_>) -> Lowered {
        let space = m.take_any(SPACES).and_then(space_of).unwrap_or(Space::Generic);
        let ty = m.next_type().unwrap_or(self.address_type());
        let address = self.address_at(inst, 1, ty)?;
        let dst = self.dst_at(inst, 0, ScalarType::U32)?;
        self.emit(Op::GetCtaRank, Ty::I64, &[dst], &[address], Attr::Space(space));
        Ok(())
    }

    fn alloca(&mut self, inst: &Instruction, m: &mut ModifierCursor<'_>) -> Lowered {
        let ty = m.next_type().unwrap_or(self.address_type());
        let size = self.address_at(inst, 1, ty)?;
        let alignment = match inst.operands.get(2).map(|o| &o.kind) {
            None => Some(8),
            Some(OperandKind::Immediate(imm)) => imm.as_u64(),
            Some(_) => None,
        };
        let dst = self.dst_at(inst, 0, ty)?;
        let alignment = alignment.unwrap_or(u64::MAX);
        match alignment {
            // clang 19 writes 0 for alloca(n), where it has no alignment to ask for.
            0 | 1 | 2 | 4 | 8 | 16 => {
                self.address_result(Op::Alloca, ty, dst, &[size], Attr::None);
            }
            // More than the stack's own alignment: allocate the slack and round up.
            32 | 64 | 128 | 256 | 512 | 1024 => {
                let slack = Value::Imm(alignment - 16);
                let padded = self.value(Op::Add, Ty::I64, &[size, slack], Attr::None);
                let start = self.value(Op::Alloca, Ty::I64, &[padded], Attr::None);
                let up = Value::Imm(alignment - 1);
                let raised = self.value(Op::Add, Ty::I64, &[start, up], Attr::None);
                let down = Value::Imm(!(alignment - 1));
                let aligned = self.value(Op::And, Ty::I64, &[raised, down], Attr::None);
                if ty.bits() == 64 {
                    self.mov(Ty::I64, dst, aligned);
                } else {
                    self.emit_from(Op::Trunc, Ty::I32, Ty::I64, &[dst], &[aligned], Attr::None);
                }
            }
            _ => return Err(Stop::unsupported("an alignment that is not a small power of two")),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::lower::testing::check;

    #[test]
    fn conversions_between_spaces() {
        check(
            "cvta.global.u64 %d0, %d1; cvta.to.global.u64 %d0, %d1; cvta.shared.u64 %d0, %d1; cvta.to.local.u64 %d0, %d1; cvta.to.shared.u32 %r0, %r1; cvta.param.u64 %d0, a;",
            expect![[r#"
                b0:
                  %1 = mov.i64 %0
                  %1 = mov.i64 %0
                  %1 = cvta {shared} %0
                  %1 = cvta.to {local} %0
                  %3 = zext.i64.i32 %2
                  %5 = cvta.to {shared} %3
                  %4 = trunc.i32.i64 %5
                  %6 = addr {param=0}
                  %1 = cvta {param} %6
                  exit
            "#]],
        );
    }

    #[test]
    fn questions_about_an_address() {
        check(
            "isspacep.global %p0, %d0; isspacep.shared %p1, %d0; isspacep.shared::cluster %p1, %d0; mapa.shared::cluster.u32 %r0, %r1, 3; getctarank.u64 %r0, %d0;",
            expect![[r#"
                b0:
                  %1 = isspace {global} %0
                  %3 = isspace {shared} %0
                  %4 = getctarank {generic} %0
                  %5 = sreg.i32 {cluster_ctarank}
                  %6 = icmp.i32 {eq} %4, %5
                  %2 = pand %3, %6
                  %2 = isspace {shared} %0
                  %8 = zext.i64.i32 %7
                  %10 = mapa {shared} %8, 0x3
                  %9 = trunc.i32.i64 %10
                  %9 = getctarank {generic} %0
                  exit
            "#]],
        );
    }

    #[test]
    fn the_stack() {
        check(
            "stacksave.u64 %d0; alloca.u64 %d1, 32; alloca.u64 %d1, %d2, 64; alloca.u64 %d1, %d2, 0; stackrestore.u64 %d0;",
            expect![[r#"
                b0:
                  %0 = stacksave
                  %1 = alloca 0x20
                  %3 = add.i64 %2, 0x30
                  %4 = alloca %3
                  %5 = add.i64 %4, 0x3f
                  %6 = and.i64 %5, 0xffffffffffffffc0
                  %1 = mov.i64 %6
                  %1 = alloca %2
                  stackrestore %0
                  exit
            "#]],
        );
    }

    #[test]
    fn elements_of_arrays_count_bytes() {
        check(
            "ld.global.u32 %r0, [g+4]; ld.shared.u32 %r0, [%r1]; ld.shared.u32 %r0, [%r1+-4];",
            expect![[r#"
                b0:
                  %0 = addr {var=0}
                  %1 = ld.i32 {global offset=4} %0
                  %3 = zext.i64.i32 %2
                  %1 = ld.i32 {shared} %3
                  %4 = zext.i64.i32 %2
                  %1 = ld.i32 {shared offset=-4} %4
                  exit
            "#]],
        );
    }
}
