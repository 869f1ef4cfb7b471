// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which threads come to a block, or past a guard: where branches compare a thread's own number with what all know.

use margay_ir::analysis::cfg::{Cfg, Dominators};
use margay_ir::{Attr, BlockId, Function, Inst, IntCmp, Op, Reg, Term, Ty, Value};

use crate::sums::{Numbers, Steps, Sum, Sums};

/// Kernels of more blocks are not looked at.
const MOST_BLOCKS: usize = 1024;

/// What comparisons compare, for all blocks of a kernel.
pub struct Bounds<'f> {
    f: &'f Function,
    defs: &'f [Option<&'f Inst>],
    dominators: Dominators,
    /// The blocks to which one side of a branch is the only way: the predicate, and what it is there.
    sides: Vec<(BlockId, Reg, bool)>,
}

impl<'f> Bounds<'f> {
    pub fn new(f: &'f Function, cfg: &Cfg, defs: &'f [Option<&'f Inst>]) -> Bounds<'f> {
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
        Bounds { f, defs, dominators: cfg.dominators(), sides }
    }

    /// Adds what comparisons depend on to the steps.
    pub fn add_to(&self, steps: &mut Steps) {
        let compares = |inst: &&Inst| inst.op == Op::ICmp;
        for inst in self.f.blocks.iter().flat_map(|b| &b.insts).filter(compares) {
            for src in &inst.srcs {
                if let Value::Reg(r) = src {
                    steps.add(self.defs, *r);
                }
            }
        }
    }

    /// The numbers that threads have which run an instruction of a block; more than these, if all is not known.
    pub fn of(
        &self,
        block: usize,
        inst: &Inst,
        all: Numbers,
        steps: &Steps,
        sums: &Sums<'_>,
    ) -> Numbers {
        let mut numbers = all;
        if let Some(guard) = inst.guard {
            self.narrow(&mut numbers, guard.pred, !guard.negated, steps, sums);
        }
        for &(side, pred, holds) in &self.sides {
            if self.dominators.dominates(side, BlockId(block as u32)) {
                self.narrow(&mut numbers, pred, holds, steps, sums);
            }
        }
        numbers
    }

    /// Takes off numbers for which the predicate is not as said.
    fn narrow(
        &self,
        numbers: &mut Numbers,
        pred: Reg,
        holds: bool,
        steps: &Steps,
        sums: &Sums<'_>,
    ) {
        let Some(inst) = self.defs[pred.0 as usize].filter(|i| i.guard.is_none()) else { return };
        let Attr::IntCmp(cmp) = inst.attr else { return };
        // The type of what is compared.
        let ty = if inst.from == Ty::I64 || inst.ty == Ty::I64 { Ty::I64 } else { Ty::I32 };
        let side = |n: usize| match *inst.srcs.get(n)? {
            Value::Reg(r) => sums.address(steps.number(r)?, 0),
            Value::Imm(bits) if ty == Ty::I32 => Some(Sum::of(i64::from(bits as u32 as i32))),
            Value::Imm(bits) => Some(Sum::of(bits as i64)),
        };
        let (Some(a), Some(b)) = (side(0), side(1)) else { return };
        let unsigned = matches!(cmp, IntCmp::LtU | IntCmp::LeU | IntCmp::GtU | IntCmp::GeU);
        if unsigned && [&a, &b].iter().any(|s| sums.limits(s).is_none_or(|l| l.0 < 0)) {
            return;
        }
        // `a - b`, of one number alone, compared with 0.
        let Some(d) = b.times(-1).and_then(|b| a.plus(&b)) else { return };
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
