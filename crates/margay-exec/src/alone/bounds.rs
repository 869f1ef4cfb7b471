// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which threads come to a block, or past a guard: where branches compare a thread's own number with what all know.

use margay_ir::analysis::cfg::{Cfg, Dominators};
use margay_ir::{Attr, BlockId, Function, Inst, IntCmp, Reg, Term, Ty, Value};

use crate::counters::Loops;
use crate::steps::{Side, Steps, signed};
use crate::sums::{Numbers, Sums};

/// Kernels of more blocks are not looked at.
const MOST_BLOCKS: usize = 1024;

/// A comparison that holds, or does not, for those who make an access.
#[derive(Clone, Copy, Debug)]
pub struct Condition {
    cmp: IntCmp,
    sides: [Side; 2],
    holds: bool,
}

/// What branches compare, for all blocks of a kernel.
pub struct Bounds<'f> {
    loops: &'f Loops<'f>,
    dominators: Dominators,
    /// The blocks to which one side of a branch is the only way: the predicate, and what it is there.
    sides: Vec<(BlockId, Reg, bool)>,
}

impl<'f> Bounds<'f> {
    pub fn new(f: &'f Function, cfg: &Cfg, loops: &'f Loops<'f>) -> Bounds<'f> {
        let mut sides = Vec::new();
        // There is another way to the first.
        for (b, ways) in cfg.preds.iter().enumerate().skip(1).take(MOST_BLOCKS) {
            if let &[from] = ways.as_slice()
                && let Term::CondBr { pred, negated, then, els } = f.blocks[from.0 as usize].term
                && then != els
            {
                let taken = then.0 as usize == b;
                sides.push((BlockId(b as u32), pred, taken != negated));
            }
        }
        Bounds { loops, dominators: cfg.dominators(), sides }
    }

    /// What is compared on every way to an instruction of a block.
    pub fn conditions(&self, block: usize, inst: &Inst, steps: &mut Steps) -> Vec<Condition> {
        let guard = inst.guard.map(|guard| (guard.pred, !guard.negated));
        let comes_to = |side| self.dominators.dominates(side, BlockId(block as u32));
        let before = self.sides.iter().filter(|(side, ..)| comes_to(*side));
        let all = guard.into_iter().chain(before.map(|(_, pred, holds)| (*pred, *holds)));
        all.filter_map(|(pred, holds)| self.condition(pred, holds, steps)).collect()
    }

    fn condition(&self, pred: Reg, holds: bool, steps: &mut Steps) -> Option<Condition> {
        let (at, inst) = self.loops.definition(pred).filter(|(_, i)| i.guard.is_none())?;
        let Attr::IntCmp(cmp) = inst.attr else { return None };
        // The type of what is compared.
        let ty = if inst.from == Ty::I64 || inst.ty == Ty::I64 { Ty::I64 } else { Ty::I32 };
        let mut side = |n: usize| match *inst.srcs.get(n)? {
            Value::Reg(r) => steps.add_counted(self.loops, r, at).map(Side::Step),
            Value::Imm(bits) => Some(Side::Constant(signed(bits, ty))),
        };
        Some(Condition { cmp, sides: [side(0)?, side(1)?], holds })
    }
}

impl Condition {
    /// Takes off numbers that threads do not have for which this is so, as far as it tells.
    pub fn narrow(&self, numbers: &mut Numbers, sums: &Sums<'_>) {
        let [Some(a), Some(b)] = self.sides.map(|side| sums.side(side)) else { return };
        let (cmp, holds) = (self.cmp, self.holds);
        let unsigned = matches!(cmp, IntCmp::LtU | IntCmp::LeU | IntCmp::GtU | IntCmp::GeU);
        if unsigned && [&a, &b].iter().any(|s| sums.limits(s).is_none_or(|l| l.0 < 0)) {
            return;
        }
        // `a - b`, of one number alone, compared with 0.
        let Some(d) = b.times(-1).and_then(|b| a.plus(&b)).filter(|d| d.is_known()) else { return };
        let mut counts = d.per.iter().enumerate().filter(|(_, per)| **per != 0);
        let (Some((n, &per)), None) = (counts.next(), counts.next()) else { return };
        let (cmp, holds) = match cmp {
            IntCmp::Ne => (IntCmp::Eq, !holds),
            IntCmp::GeS | IntCmp::GeU => (IntCmp::LtS, !holds),
            IntCmp::GtS | IntCmp::GtU => (IntCmp::LeS, !holds),
            IntCmp::LtU => (IntCmp::LtS, holds),
            IntCmp::LeU => (IntCmp::LeS, holds),
            other => (other, holds),
        };
        let is = |v: i64| {
            let Some(value) = per.checked_mul(v).and_then(|p| p.checked_add(d.constant)) else {
                return true;
            };
            let found = match cmp {
                IntCmp::Eq => value == 0,
                IntCmp::LtS => value < 0,
                _ => value <= 0,
            };
            found == holds
        };
        // Few numbers are a block's; of one comparison those that are not lie at the ends, or all but one do.
        let (first, last) = &mut numbers[n];
        if *last - *first > 1 << 12 {
            return;
        }
        while *first <= *last && !is(*first) {
            *first += 1;
        }
        while *first <= *last && !is(*last) {
            *last -= 1;
        }
    }
}
