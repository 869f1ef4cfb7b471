// SPDX-License-Identifier: MIT OR Apache-2.0
//! `atom` and `red`.
//!
//! Vector and packed forms are atomic for each element only, by the manual, so they are lowered to
//! one operation an element. `red.async` is complete when it is issued, as all asynchronous operations here.

use margay_ptx::ast::{Instruction, ModifierCursor, Operand, OperandKind, ScalarType};

use super::function::Lower;
use super::mbarrier::COMPLETE_TX;
use super::memory::{take_hints, take_order, take_space};
use super::operand::{bits_type, int_ty, ir_ty};
use super::{Lowered, Stop};
use crate::inst::*;
use crate::ops::Op;
use crate::types::{Cache, Scope, Sem, Space, Ty};

pub(super) fn lower(
    l: &mut Lower<'_, '_>,
    inst: &Instruction,
    m: &mut ModifierCursor<'_>,
) -> Lowered {
    let has_result = match inst.opcode() {
        "atom" => true,
        "red" | "red.async" => false,
        other => return Err(Stop::unsupported(format!("the engine has no `{other}` yet"))),
    };
    let (sem, scope) = match take_order(m) {
        // Without `.sem` an atomic is relaxed; the scope may stand alone.
        (Sem::Weak, _) => (Sem::Relaxed, super::memory::take_scope(m).unwrap_or(Scope::Gpu)),
        order => order,
    };
    let said = take_space(inst, m);
    let completes = m.take(COMPLETE_TX);
    let words = ["and", "or", "xor", "exch", "cas", "add", "inc", "dec", "min", "max"];
    let Some(operation) = m.take_any(&words) else {
        return Err(Stop::error(inst.opcode_span, "an atomic needs an operation"));
    };
    m.take("noftz");
    take_hints(inst, m);
    let count = usize::from(m.vector());
    let Some(ty) = m.next_type() else {
        return Err(Stop::error(inst.opcode_span, "an atomic needs a type"));
    };
    let (each, halves) = match ty {
        ScalarType::F16x2 => (ScalarType::F16, 2),
        ScalarType::BF16x2 => (ScalarType::BF16, 2),
        other => (other, 1),
    };
    let Some(op) = atom_op(operation, each) else {
        let message = format!("there is no atomic `.{operation}.{}`", ty.name());
        return Err(Stop::error(inst.opcode_span, message));
    };
    let first = usize::from(has_result);
    let address = l.operand(inst, first)?;
    let place = l.place(address)?;
    let space = l.access_space(said, &place, address)?;
    match space {
        Space::Generic | Space::Global | Space::Shared => {}
        Space::Local | Space::Const | Space::Param => {
            return Err(Stop::error(address.span, "atomics work on global and shared memory"));
        }
    }
    // Additions of single precision flush subnormals in global memory and keep them in shared.
    let ftz = op == AtomOp::FAdd && each == ScalarType::F32 && space != Space::Shared;
    let mem = |offset: i64| Attr::Atom {
        op,
        mem: MemAttr {
            space,
            signed: false,
            sem,
            scope,
            cache: Cache::Default,
            offset: place.offset.wrapping_add(offset),
        },
        ftz,
    };
    let ir = if op == AtomOp::FAdd || op == AtomOp::FMin || op == AtomOp::FMax {
        ir_ty(each)
    } else {
        int_ty(each.bits())
    };
    if ty.bits() == 128 {
        let mut srcs = vec![place.base];
        srcs.extend(l.src_wide(l.operand(inst, first + 1)?)?);
        if op == AtomOp::Cas {
            srcs.extend(l.src_wide(l.operand(inst, first + 2)?)?);
        }
        let dsts = l.dst_wide(l.operand(inst, 0)?)?;
        l.emit(Op::AtomWide, Ty::I64, &dsts, &srcs, mem(0));
        return Ok(());
    }
    let values = l.src_elements(l.operand(inst, first + 1)?, ty)?;
    if completes {
        let (values, attr) = (values[0], mem(0));
        let barrier = l.completed_barrier(inst, 2, said)?;
        l.branch_if_guarded(|l| {
            l.emit(Op::Atom, ir, &[], &[place.base, values], attr);
            l.complete_bytes(&barrier, each.bits() / 8);
        });
        return Ok(());
    }
    if values.len() != count {
        return Err(Stop::error(inst.opcode_span, format!("{count} values are needed")));
    }
    if count == 1 && halves == 1 {
        let mut srcs = vec![place.base, values[0]];
        if op == AtomOp::Cas {
            srcs.push(l.src_at(inst, first + 2, ty)?);
        }
        let dst = match has_result {
            true => l.result(l.operand(inst, 0)?, ty)?,
            false => None,
        };
        l.emit(Op::Atom, ir, dst.as_slice(), &srcs, mem(0));
        return Ok(());
    }
    let wanted = has_result && l.operand(inst, 0)?.kind != OperandKind::Sink;
    let bytes = i64::from(each.bits() / 8);
    let mut old = Vec::with_capacity(count);
    for (i, value) in values.iter().enumerate() {
        let mut parts = Vec::with_capacity(halves);
        for half in 0..halves {
            let part = match halves {
                1 => *value,
                _ => l.part(*value, half as u32, each.bits(), ty.bits()),
            };
            let at = (i * halves + half) as i64 * bytes;
            let dst = wanted.then(|| l.temp(ir.class()));
            l.emit(Op::Atom, ir, dst.as_slice(), &[place.base, part], mem(at));
            parts.extend(dst.map(Value::Reg));
        }
        if wanted {
            old.push(match halves {
                1 => parts[0],
                _ => l.join(&parts, each.bits(), ty.bits()),
            });
        }
    }
    if wanted {
        let dsts = l.dst_elements(l.operand(inst, 0)?, ty)?;
        if dsts.len() != count {
            return Err(Stop::error(inst.opcode_span, format!("{count} registers are needed")));
        }
        for (dst, value) in dsts.into_iter().zip(old) {
            l.mov(ir_ty(bits_type(ty.bits() / 8)), dst, value);
        }
    }
    Ok(())
}

impl Lower<'_, '_> {
    /// A destination, or none for `_`.
    fn result(&mut self, operand: &Operand, ty: ScalarType) -> Lowered<Option<Reg>> {
        match operand.kind {
            OperandKind::Sink => Ok(None),
            _ => self.dst(operand, ty).map(Some),
        }
    }
}

fn atom_op(word: &str, ty: ScalarType) -> Option<AtomOp> {
    let float =
        matches!(ty, ScalarType::F16 | ScalarType::BF16 | ScalarType::F32 | ScalarType::F64);
    let bits = ir_ty(ty).bits();
    let wide = matches!(bits, 32 | 64);
    if ty == ScalarType::B128 {
        return match word {
            "exch" => Some(AtomOp::Exch),
            "cas" => Some(AtomOp::Cas),
            _ => None,
        };
    }
    Some(match word {
        "and" if !float && wide => AtomOp::And,
        "or" if !float && wide => AtomOp::Or,
        "xor" if !float && wide => AtomOp::Xor,
        "exch" if wide => AtomOp::Exch,
        "cas" if wide || bits == 16 => AtomOp::Cas,
        "add" if float => AtomOp::FAdd,
        "add" if wide => AtomOp::Add,
        "inc" if bits == 32 && !float => AtomOp::Inc,
        "dec" if bits == 32 && !float => AtomOp::Dec,
        "min" if float && bits == 16 => AtomOp::FMin,
        "max" if float && bits == 16 => AtomOp::FMax,
        "min" if !float && wide && ty.is_signed() => AtomOp::MinS,
        "max" if !float && wide && ty.is_signed() => AtomOp::MaxS,
        "min" if !float && wide => AtomOp::MinU,
        "max" if !float && wide => AtomOp::MaxU,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lower::testing::check;
    use expect_test::expect;

    #[test]
    fn every_form() {
        check(
            "atom.global.add.u32 %r0, [%d0], %r1; atom.shared.cas.b32 %r0, [s], %r1, %r2; atom.cas.b16 %h0, [%d0], %h1, 3; atom.acq_rel.sys.global.exch.b64 %d1, [%d0+8], %d2; red.global.max.s64 [%d0], %d1; atom.global.add.f64 %d1, [%d0], %d2; atom.add.f32 %r0, [%d0], %r1; atom.shared.add.f32 %r0, [s], %r1; atom.global.inc.u32 _, [%d0], %r1; red.gpu.global.and.b32 [%d0], 7; @%p0 red.relaxed.cta.global.min.u32 [%d0], %r1;",
            expect![[r#"
                b0:
                  %2 = atom.i32 {add global relaxed} %0, %1
                  %3 = addr {var=2}
                  %2 = atom.i32 {cas shared relaxed} %3, %1, %4
                  %6 = atom.i16 {cas generic relaxed} %0, %5, 0x3
                  %8 = atom.i64 {exch global acq_rel sys offset=8} %0, %7
                  atom.i64 {max.s global relaxed} %0, %8
                  %8 = atom.f64 {fadd global relaxed} %0, %7
                  %2 = atom.f32 {fadd generic relaxed ftz} %0, %1
                  %9 = addr {var=2}
                  %2 = atom.f32 {fadd shared relaxed} %9, %1
                  atom.i32 {inc global relaxed} %0, %1
                  atom.i32 {and global relaxed} %0, 0x7
                  atom.i32 {min.u global relaxed cta} %0, %1 @%10
                  exit
            "#]],
        );
    }

    #[test]
    fn packed_and_vector_forms_go_element_by_element() {
        check(
            "atom.global.add.noftz.f16x2 %r0, [%d0], %r1; red.global.add.noftz.bf16 [%d0], %h0; red.global.add.v2.f32 [%d0], {%r0, %r1}; atom.global.v2.f32.add {%r0, %r1}, [%d0], {%r2, %r3};",
            expect![[r#"
                b0:
                  %2 = trunc.i16.i32 %1
                  %3 = atom.f16 {fadd global relaxed} %0, %2
                  %4 = shr.u.i32 %1, 0x10
                  %5 = trunc.i16.i32 %4
                  %6 = atom.f16 {fadd global relaxed offset=2} %0, %5
                  %7 = zext.i32.i16 %3
                  %8 = zext.i32.i16 %6
                  %9 = shl.i32 %8, 0x10
                  %10 = or.i32 %7, %9
                  %11 = mov.i32 %10
                  atom.bf16 {fadd global relaxed} %0, %12
                  atom.f32 {fadd global relaxed ftz} %0, %11
                  atom.f32 {fadd global relaxed offset=4 ftz} %0, %1
                  %15 = atom.f32 {fadd global relaxed ftz} %0, %13
                  %16 = atom.f32 {fadd global relaxed offset=4 ftz} %0, %14
                  %11 = mov.i32 %15
                  %1 = mov.i32 %16
                  exit
            "#]],
        );
    }

    #[test]
    fn operations_and_types_that_go_together() {
        assert_eq!(atom_op("add", ScalarType::F64), Some(AtomOp::FAdd));
        assert_eq!(atom_op("min", ScalarType::S64), Some(AtomOp::MinS));
        assert_eq!(atom_op("cas", ScalarType::B16), Some(AtomOp::Cas));
        assert_eq!(atom_op("inc", ScalarType::U64), None);
        assert_eq!(atom_op("and", ScalarType::F32), None);
        assert_eq!(ir_ty(ScalarType::BF16), Ty::BF16);
    }
}
