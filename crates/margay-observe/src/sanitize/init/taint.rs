// SPDX-License-Identifier: MIT OR Apache-2.0
//! How being undefined passes from operands to results, bit by bit where that is known.
//!
//! Where the value would be needed to know (which side a select takes, whether a guard holds), a
//! result counts as undefined only if it is so either way: this may miss, and never accuses wrongly.

use margay_ir::{Inst, Op, Ty, Value};

/// Bits of each lane that are undefined.
pub type Taint = [u64; 32];

/// Undefined bits of one operand in a lane.
#[derive(Clone, Copy)]
pub struct Operand {
    pub taint: u64,
    /// Its value, if it is a constant.
    pub value: Option<u64>,
}

impl Operand {
    pub fn of(value: &Value, taint: impl Fn(u32) -> u64) -> Operand {
        match value {
            Value::Reg(reg) => Operand { taint: taint(reg.0), value: None },
            Value::Imm(bits) => Operand { taint: 0, value: Some(*bits) },
        }
    }
}

/// A bit a byte to eight bits a byte.
pub fn spread(bytes: u8) -> u64 {
    (0..8).filter(|n| bytes >> n & 1 != 0).fold(0, |t, n| t | 0xff << (8 * n))
}

/// Bytes with any undefined bit.
pub fn gather(taint: u64) -> u8 {
    (0..8).filter(|n| taint >> (8 * n) & 0xff != 0).fold(0, |b, n| b | 1 << n)
}

fn width(ty: Ty) -> u64 {
    u64::MAX >> (64 - ty.bits())
}

/// From the lowest undefined bit up: carries go that way.
fn upwards(taint: u64) -> u64 {
    if taint == 0 { 0 } else { u64::MAX << taint.trailing_zeros() }
}

/// The undefined bits of a result, in one lane; and whether it was computed rather than moved.
pub fn result(inst: &Inst, s: &[Operand]) -> (u64, bool) {
    let any = s.iter().fold(0, |t, o| t | o.taint);
    if any == 0 {
        return (0, false);
    }
    let all = width(inst.ty);
    let at = |n: usize| s.get(n).map_or(0, |o: &Operand| o.taint);
    let constant = |n: usize| s.get(n).and_then(|o: &Operand| o.value);
    match inst.op {
        Op::Mov | Op::ZExt | Op::Trunc => (any & all, false),
        Op::SExt => {
            let from = width(inst.from);
            let sign = from & !(from >> 1);
            let upper = if any & sign != 0 { all & !from } else { 0 };
            (any & from | upper, false)
        }
        // Either way.
        Op::Select => (at(0) & at(1), false),
        Op::And => match (constant(0), constant(1)) {
            (_, Some(mask)) | (Some(mask), _) => (any & mask & all, true),
            (None, None) => (any & all, true),
        },
        Op::Or => match (constant(0), constant(1)) {
            (_, Some(mask)) | (Some(mask), _) => (any & !mask & all, true),
            (None, None) => (any & all, true),
        },
        Op::Xor if s.len() == 2 && inst.srcs[0] == inst.srcs[1] => (0, true),
        Op::Xor | Op::Not => (any & all, true),
        Op::Shl => match constant(1) {
            Some(by) if by < 64 => (at(0) << by & all, true),
            Some(_) => (0, true),
            None => (all, true),
        },
        Op::ShrU => match constant(1) {
            Some(by) if by < 64 => ((at(0) & all) >> by, true),
            Some(_) => (0, true),
            None => (all, true),
        },
        Op::Add | Op::Sub | Op::Mul => (upwards(any) & all, true),
        // Whatever else computes: any undefined bit may matter to all.
        _ => (all, true),
    }
}
