// SPDX-License-Identifier: MIT OR Apache-2.0
//! The instructions behind addresses, as far as these may be [sums](crate::sums).

use std::collections::HashMap;

use margay_ir::{Inst, IntCmp, Reg, Ty, Value};

use crate::counters::{At, Counter, Loops};

/// The longest way from an address to a parameter or special register.
const DEEPEST: u32 = 64;

/// An instruction behind an address, and which of the steps before it its operands are.
pub(crate) struct Step {
    pub inst: Inst,
    pub from: [Option<usize>; 3],
    /// A loop counts from there.
    pub counts: Option<Counts>,
}

/// Something that a step is, or no step is needed for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Side {
    /// By the number of its step.
    Step(usize),
    Constant(i64),
}

/// How a loop counts: see [`Counter`].
pub(crate) struct Counts {
    /// What a turn adds, to a number of this type.
    pub by: i64,
    pub ty: Ty,
    /// What is compared is this before the loop, and by so much more after each turn.
    pub from: Side,
    pub each: i64,
    pub how: (IntCmp, Ty, bool),
    pub end: Side,
}

/// The instructions behind addresses, down to parameters and special registers, each after those that it depends on.
#[derive(Default)]
pub(crate) struct Steps {
    pub all: Vec<Step>,
    /// By register: its step, or none while that is being looked for, or if there is none.
    of: HashMap<u32, Option<usize>>,
}

impl Steps {
    /// Adds what a register depends on; the number of its step if it has one.
    pub fn add(&mut self, defs: &[Option<&Inst>], r: Reg) -> Option<usize> {
        let find = |r: Reg| Some(((0, 0), defs[r.0 as usize]?));
        self.add_up_to(&Known { find: &find, loops: None }, r, (0, 0), DEEPEST)
    }

    /// The same of what an instruction reads, if loops may have counted it: for [`crate::sums::Sums::within_bounds`].
    pub fn add_counted(&mut self, loops: &Loops<'_>, r: Reg, at: At) -> Option<usize> {
        let find = |r: Reg| loops.definition(r);
        self.add_up_to(&Known { find: &find, loops: Some(loops) }, r, at, DEEPEST)
    }

    fn add_up_to(&mut self, known: &Known<'_, '_>, r: Reg, at: At, depth: u32) -> Option<usize> {
        let only = (known.find)(r);
        let counter = match only {
            Some(_) => None,
            None => known.loops.and_then(|loops| loops.counter(r)),
        };
        // What is counted is something else at other places.
        if counter.as_ref().is_some_and(|counter| !counter.is_one_at(at)) {
            return None;
        }
        if let Some(own) = self.of.get(&r.0) {
            return *own;
        }
        let deeper = depth.checked_sub(1)?;
        // A register that depends on itself has none.
        self.of.insert(r.0, None);
        let step = match (only, counter) {
            (Some((at, inst)), _) => self.step(known, inst, at, deeper)?,
            (None, Some(counter)) => {
                let (at, init) = counter.init;
                let mut step = self.step(known, init, at, deeper)?;
                step.counts = Some(self.counts(known, &counter, deeper)?);
                step
            }
            (None, None) => return None,
        };
        self.all.push(step);
        let number = Some(self.all.len() - 1);
        self.of.insert(r.0, number);
        number
    }

    fn step(&mut self, known: &Known<'_, '_>, inst: &Inst, at: At, deeper: u32) -> Option<Step> {
        if inst.guard.is_some() || inst.dsts.len() != 1 {
            return None;
        }
        let mut from = [None; 3];
        for (from, v) in from.iter_mut().zip(&inst.srcs) {
            if let Value::Reg(r) = v {
                *from = self.add_up_to(known, *r, at, deeper);
            }
        }
        Some(Step { inst: inst.clone(), from, counts: None })
    }

    fn counts(
        &mut self,
        known: &Known<'_, '_>,
        counter: &Counter<'_>,
        deeper: u32,
    ) -> Option<Counts> {
        let turns = &counter.turns;
        let (at, init) = turns.init;
        let first = self.step(known, init, at, deeper)?;
        self.all.push(first);
        let from = Side::Step(self.all.len() - 1);
        let end = match turns.end {
            Value::Reg(r) => Side::Step(self.add_up_to(known, r, turns.at, deeper)?),
            Value::Imm(bits) => Side::Constant(signed(bits, turns.ty)),
        };
        let how = (turns.cmp, turns.ty, turns.holds);
        Some(Counts { by: counter.by, ty: counter.ty, from, each: turns.by, how, end })
    }
}

/// Where to look for what registers are.
struct Known<'d, 'f> {
    /// The only definition of one, if it has one, and where that is.
    find: &'d dyn Fn(Reg) -> Option<(At, &'f Inst)>,
    loops: Option<&'d Loops<'f>>,
}

/// An immediate operand of a type, as a signed number.
pub(crate) fn signed(bits: u64, ty: Ty) -> i64 {
    if ty == Ty::I32 { (bits as u32 as i32).into() } else { bits as i64 }
}
