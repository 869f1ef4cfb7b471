// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which registers hold addresses of 32 bits, and which the same in all lanes.

use smallvec::SmallVec;

use super::super::liveness::{for_each_def, for_each_use};
use crate::inst::{Attr, Sreg, Value};
use crate::module::Function;
use crate::ops::Op;
use crate::types::{Class, Space};

/// Registers that hold addresses of shared or local memory only, or parts of such.
pub fn narrow(function: &Function) -> Vec<bool> {
    let count = function.regs.len();
    let mut narrow: Vec<bool> = function.regs.iter().map(|c| *c == Class::D).collect();
    // Who computes what from which: a value is as wide as the widest result that is computed from it.
    let mut from: Vec<SmallVec<[u32; 2]>> = vec![SmallVec::new(); count];
    let mut used = vec![false; count];
    let mut work = Vec::new();
    for inst in function.blocks.iter().flat_map(|b| &b.insts) {
        let carries = matches!(
            inst.op,
            Op::Add
                | Op::Sub
                | Op::Mov
                | Op::CvtaTo
                | Op::Cvta
                | Op::Shl
                | Op::MadWideS
                | Op::MadWideU
                | Op::And
                | Op::Or
        );
        let address = match (&inst.attr, inst.srcs.first()) {
            (Attr::Mem(m) | Attr::Atom { mem: m, .. }, Some(Value::Reg(r)))
                if matches!(m.space, Space::Shared | Space::Local) =>
            {
                Some(*r)
            }
            _ => None,
        };
        for_each_use(inst, |r| {
            used[r.0 as usize] = true;
            if address == Some(r) {
                return;
            }
            match inst.dsts.first() {
                Some(d) if carries && function.regs[d.0 as usize] == Class::D => {
                    from[d.0 as usize].push(r.0);
                }
                _ => {
                    if std::mem::replace(&mut narrow[r.0 as usize], false) {
                        work.push(r.0);
                    }
                }
            }
        });
    }
    for r in 0..count {
        if !used[r] && std::mem::replace(&mut narrow[r], false) {
            work.push(r as u32);
        }
    }
    while let Some(r) = work.pop() {
        for &s in &from[r as usize] {
            if std::mem::replace(&mut narrow[s as usize], false) {
                work.push(s);
            }
        }
    }
    narrow
}

/// Registers that every lane has the same of, by operations that the uniform data path has.
pub fn uniform(function: &Function, single: &[Option<(u32, u32)>]) -> Vec<bool> {
    let mut uniform = vec![false; function.regs.len()];
    // Definitions come before uses in layout order, apart from values of loops, which have several definitions.
    for inst in function.blocks.iter().flat_map(|b| &b.insts) {
        let op = match (&inst.op, &inst.attr) {
            (Op::Sreg, Attr::Sreg(s)) => {
                matches!(s, Sreg::CtaId(_) | Sreg::NTid(_) | Sreg::NCtaId(_))
            }
            (Op::Ld, Attr::Mem(m)) => matches!(m.space, Space::Param | Space::Const),
            (Op::Addr, _) => true,
            (
                Op::Mov
                | Op::Add
                | Op::Sub
                | Op::Mul
                | Op::Mad
                | Op::MulWideS
                | Op::MulWideU
                | Op::MadWideS
                | Op::MadWideU
                | Op::And
                | Op::Or
                | Op::Xor
                | Op::Not
                | Op::Shl
                | Op::ShrU
                | Op::ShrS
                | Op::SExt
                | Op::ZExt
                | Op::Trunc
                | Op::ICmp
                | Op::Select
                | Op::Lop3
                | Op::Neg
                | Op::Cvta
                | Op::CvtaTo
                | Op::MinS
                | Op::MaxS
                | Op::MinU
                | Op::MaxU
                | Op::PAnd
                | Op::POr
                | Op::PNot,
                _,
            ) => true,
            _ => false,
        };
        if !op || inst.guard.is_some() {
            continue;
        }
        let mut all = true;
        for_each_use(inst, |r| all &= uniform[r.0 as usize]);
        if all {
            for_each_def(inst, |r| {
                uniform[r.0 as usize] = single[r.0 as usize].is_some();
            });
        }
    }
    uniform
}

/// Registers all of whose definitions are uniform, loops' counters among them.
pub fn counters(function: &Function, uniform: &[bool]) -> Vec<bool> {
    let mut all = vec![true; function.regs.len()];
    loop {
        let mut changed = false;
        for inst in function.blocks.iter().flat_map(|b| &b.insts) {
            let plain = matches!(
                inst.op,
                Op::Mov
                    | Op::Add
                    | Op::Sub
                    | Op::Shl
                    | Op::ShrU
                    | Op::ShrS
                    | Op::Mul
                    | Op::Mad
                    | Op::And
                    | Op::Or
            ) && inst.guard.is_none();
            let mut same = plain;
            for_each_use(inst, |r| same &= all[r.0 as usize] || uniform[r.0 as usize]);
            for_each_def(inst, |r| {
                if !same && !uniform[r.0 as usize] {
                    changed |= std::mem::replace(&mut all[r.0 as usize], false);
                }
            });
        }
        if !changed {
            return all;
        }
    }
}
