// SPDX-License-Identifier: MIT OR Apache-2.0
//! The largest values of varying integers, as far as one block of the function tells: what an address that is
//! computed in 64 bits needs to be a scalar and 32-bit indices.

use margay_ir::{Inst, Op, Ty, Value};

use super::Gen;
use super::value::{Addr, Val};
use crate::shape::Lin;

impl Gen<'_> {
    /// The largest value of an operand in any lane, unsigned; all ones if nothing is known.
    pub(super) fn most(&self, v: Value) -> u64 {
        match v {
            Value::Imm(bits) => bits,
            Value::Reg(r) => match &self.current[r.0 as usize] {
                Some(Val::Vec { name, .. }) => self.most_of(name),
                Some(Val::Lin { lin, .. }) => lin.most,
                None => self.slot_tops.get(&r.0).copied().unwrap_or(u64::MAX),
            },
        }
    }

    pub(super) fn most_of(&self, name: &str) -> u64 {
        self.tops.get(name).copied().unwrap_or(u64::MAX)
    }

    /// The largest value of an op's result, from what is known of its operands.
    pub fn most_of_result(&self, inst: &Inst) -> u64 {
        let top = match inst.ty {
            Ty::I8 | Ty::I16 | Ty::I32 | Ty::I64 => u64::MAX >> (64 - inst.ty.bits()),
            _ => return u64::MAX,
        };
        let arg = |n: usize| inst.srcs.get(n).map_or(u64::MAX, |&v| self.most(v));
        let constant = |n: usize| match inst.srcs.get(n) {
            Some(Value::Imm(bits)) => Some(*bits),
            Some(Value::Reg(_)) | None => None,
        };
        // Bits that may be set in either.
        let bits = |a: u64, b: u64| {
            (a | b).checked_next_power_of_two().map_or(u64::MAX, |p| (p - 1) | a | b)
        };
        let exact = |v: Option<u64>| v.filter(|&v| v <= top).unwrap_or(u64::MAX);
        let found = match inst.op {
            Op::Mov => arg(0),
            Op::And => arg(0).min(arg(1)),
            Op::Or | Op::Xor => bits(arg(0), arg(1)),
            Op::Add => exact(arg(0).checked_add(arg(1))),
            Op::Mul => exact(arg(0).checked_mul(arg(1))),
            Op::Mad => exact(arg(0).checked_mul(arg(1)).and_then(|p| p.checked_add(arg(2)))),
            Op::MulWideU => arg(0).min(top).saturating_mul(arg(1).min(top)),
            Op::Shl => match constant(1) {
                Some(n) if n < 32 => exact(arg(0).checked_mul(1 << n)),
                _ => u64::MAX,
            },
            Op::ShrU => match constant(1) {
                Some(n) if n < inst.ty.bits() as u64 => arg(0).min(top) >> n,
                _ => arg(0),
            },
            Op::MinU => arg(0).min(arg(1)),
            Op::MaxU | Op::Select => arg(0).max(arg(1)),
            Op::RemU => match constant(1) {
                Some(n) if n > 0 => arg(0).min(n - 1),
                _ => u64::MAX,
            },
            Op::DivU => match constant(1) {
                Some(n) if n > 0 => arg(0).min(top) / n,
                _ => u64::MAX,
            },
            Op::ZExt => arg(0).min(u64::MAX >> (64 - inst.from.bits().clamp(1, 64))),
            _ => u64::MAX,
        };
        if found > top { u64::MAX } else { found }
    }

    /// Keeps the largest value of what was just written.
    pub fn note_most(&mut self, name: &str, most: u64) {
        if most != u64::MAX {
            self.tops.insert(name.to_owned(), most);
        }
    }

    /// `a` with a linear value added: its steps become part of the indices.
    pub fn with_steps(&mut self, a: &Addr, base: &str, lin: &Lin) -> Option<Addr> {
        if lin.form.q.is_some() || a.scale <= 0 || lin.form.pat.iter().any(|p| p % a.scale != 0) {
            return None;
        }
        let steps = lin.form.pat.map(|p| p / a.scale);
        let most = i64::try_from(self.most_of(&a.index)).ok()?;
        let high = most.checked_add(*steps.iter().max()?)?;
        let low = *steps.iter().min()?;
        // Neither sum may wrap.
        if high > i32::MAX as i64 || low < i32::MIN as i64 {
            return None;
        }
        let more = super::vector_of("i32", steps);
        let index = self.ins(format!("add <32 x i32> {}, {more}", a.index));
        if low >= 0 {
            self.note_most(&index, high as u64);
        }
        let base = self.ins(format!("add i64 {}, {base}", a.base));
        Some(Addr { base, index, scale: a.scale, signed: true })
    }
}
