// SPDX-License-Identifier: MIT OR Apache-2.0
//! From what a pointer is computed: what some instructions say of their results goes along with additions, moves and choices.

use super::liveness::for_each_def;
use crate::inst::*;
use crate::module::Function;
use crate::ops::Op;
use crate::types::Class;

/// What is known of a register.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Origin<T> {
    /// Nothing was written to it yet, or it is no pointer.
    None,
    One(T),
    Several,
}

impl<T: Copy + PartialEq> Origin<T> {
    pub fn join(self, other: Origin<T>) -> Origin<T> {
        match (self, other) {
            (Origin::None, x) | (x, Origin::None) => x,
            (Origin::One(a), Origin::One(b)) if a == b => self,
            (Origin::One(_) | Origin::Several, Origin::One(_) | Origin::Several) => Origin::Several,
        }
    }

    pub fn one(self) -> Option<T> {
        match self {
            Origin::One(x) => Some(x),
            Origin::None | Origin::Several => None,
        }
    }
}

/// What is known of each register, where it is `found` before the first instruction. `says` tells of the instructions that decide by
/// themselves what their results are.
pub fn origins<T: Copy + PartialEq>(
    f: &Function,
    mut found: Vec<Origin<T>>,
    says: impl Fn(&Inst) -> Option<Origin<T>>,
) -> Vec<Origin<T>> {
    let mut changed = true;
    while changed {
        changed = false;
        for inst in f.blocks.iter().flat_map(|b| &b.insts) {
            let new = says(inst).unwrap_or_else(|| computed(inst, &found));
            for_each_def(inst, |r| {
                let slot = &mut found[r.0 as usize];
                if f.regs[r.0 as usize] == Class::D && slot.join(new) != *slot {
                    *slot = slot.join(new);
                    changed = true;
                }
            });
        }
    }
    found
}

fn computed<T: Copy + PartialEq>(inst: &Inst, found: &[Origin<T>]) -> Origin<T> {
    let of = |v: Value| match v {
        Value::Reg(r) => found[r.0 as usize],
        Value::Imm(_) => Origin::None,
    };
    match (inst.op, inst.srcs.as_slice()) {
        (Op::Mov | Op::Cvta | Op::CvtaTo | Op::Sub, [a, ..]) => of(*a),
        (Op::Add | Op::Select, [a, b, ..]) => of(*a).join(of(*b)),
        (Op::MadWideS | Op::MadWideU | Op::Mad, [_, _, c]) => of(*c),
        _ => Origin::None,
    }
}
