// SPDX-License-Identifier: MIT OR Apache-2.0
//! Registers that a loop counts up or down: what a thread has in one, in whatever turn, is what it had before the loop and a
//! multiple of what a turn adds.
//!
//! A counter has two definitions: one before the loop, and one in the block that decides whether there is another turn (the
//! latch), which adds a constant. In the latch a register is compared that is such a counter, this one or another: that says
//! how many turns there are at most.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use margay_ir::analysis::cfg::Cfg;
use margay_ir::{Attr, Function, Inst, IntCmp, Op, Reg, Term, Ty, Value};

/// Functions of more blocks, or of more ways between them, are not looked at.
const MOST_BLOCKS: usize = 1024;
const MOST_WAYS: usize = 4096;

/// Where an instruction is: its block, and its place there.
pub(crate) type At = (usize, usize);

type Defined<'f> = (At, &'f Inst);

/// A register that is counted.
pub(crate) struct Counter<'f> {
    /// What defines it before the loop.
    pub init: Defined<'f>,
    /// What a turn adds, to a number of this type.
    pub by: i64,
    pub ty: Ty,
    pub turns: Turns<'f>,
    /// Where it is added, in the latch.
    added: At,
    /// Blocks in which it may be something else: to which ways lead from the loop's end, or the function's, that do not come
    /// by its definition before the loop.
    outside: Vec<bool>,
}

/// What is asked at the end of a turn.
#[derive(Clone, Copy)]
pub(crate) struct Turns<'f> {
    /// What defines the register that is compared, before the loop,
    pub init: Defined<'f>,
    /// and what a turn adds to it: that is compared.
    pub by: i64,
    pub cmp: IntCmp,
    /// The type of what is compared.
    pub ty: Ty,
    /// There is another turn if the comparison holds, or if it does not.
    pub holds: bool,
    pub end: Value,
    /// Where it is compared.
    pub at: At,
}

impl Counter<'_> {
    /// Whether the register has a value of the loop's turns where it is read: that of the turn.
    pub fn is_one_at(&self, (block, n): At) -> bool {
        let (before, place) = self.init.0;
        let begun = block != before || n > place;
        let after = block == self.added.0 && n > self.added.1;
        begun && !after && !self.outside[block]
    }
}

/// What registers of a function are defined by.
pub(crate) struct Loops<'f> {
    f: &'f Function,
    cfg: &'f Cfg,
    /// The first two definitions of each register, and how many there are.
    defs: HashMap<u32, (u32, [Option<Defined<'f>>; 2])>,
    /// Registers that were asked for.
    known: RefCell<HashMap<u32, Option<Rc<Counter<'f>>>>>,
}

/// Blocks that are reached from some, those among them, without going on from one of `ends`.
fn reached(cfg: &Cfg, from: &[usize], ends: &[usize]) -> Vec<bool> {
    let mut seen = vec![false; cfg.succs.len()];
    let mut next = from.to_vec();
    while let Some(block) = next.pop() {
        if !std::mem::replace(&mut seen[block], true) && !ends.contains(&block) {
            next.extend(cfg.succs[block].iter().map(|to| to.0 as usize));
        }
    }
    seen
}

impl<'f> Loops<'f> {
    pub fn new(f: &'f Function, cfg: &'f Cfg) -> Loops<'f> {
        let mut defs: HashMap<u32, (u32, [Option<Defined<'f>>; 2])> = HashMap::new();
        for (b, block) in f.blocks.iter().enumerate() {
            for (n, inst) in block.insts.iter().enumerate() {
                margay_ir::analysis::liveness::for_each_def(inst, |r| {
                    let (count, first) = defs.entry(r.0).or_default();
                    if let Some(slot) = first.get_mut(*count as usize) {
                        *slot = Some(((b, n), inst));
                    }
                    *count += 1;
                });
            }
        }
        Loops { f, cfg, defs, known: RefCell::default() }
    }

    /// The only definition of a register, if it has one, and where it is.
    pub fn definition(&self, r: Reg) -> Option<Defined<'f>> {
        match self.defs.get(&r.0)? {
            (1, [first, _]) => *first,
            _ => None,
        }
    }

    /// Its definition before a loop, what each turn adds, and where.
    fn counted(&self, r: Reg) -> Option<(Defined<'f>, i64, At)> {
        let (2, [Some(a), Some(b)]) = self.defs.get(&r.0)? else { return None };
        let by = |inst: &Inst| match (inst.op, inst.srcs.as_slice()) {
            (Op::Add, &[Value::Reg(own), Value::Imm(by)] | &[Value::Imm(by), Value::Reg(own)])
                if own == r && inst.guard.is_none() =>
            {
                match inst.ty {
                    Ty::I32 => Some(i64::from(by as u32 as i32)),
                    Ty::I64 => Some(by as i64),
                    _ => None,
                }
            }
            _ => None,
        };
        let (init, (at, by)) = match (by(a.1), by(b.1)) {
            (Some(by), None) => (*b, (a.0, by)),
            (None, Some(by)) => (*a, (b.0, by)),
            _ => return None,
        };
        let plain = init.1.guard.is_none() && init.1.dsts.len() == 1;
        plain.then_some((init, by, at))
    }

    /// How a register is counted, if it is.
    pub fn counter(&self, r: Reg) -> Option<Rc<Counter<'f>>> {
        if let Some(known) = self.known.borrow().get(&r.0) {
            return known.clone();
        }
        let found = self.find(r).map(Rc::new);
        self.known.borrow_mut().insert(r.0, found.clone());
        found
    }

    fn find(&self, r: Reg) -> Option<Counter<'f>> {
        let ways = self.cfg.succs.iter().map(|to| to.len()).sum::<usize>();
        if self.f.blocks.len() > MOST_BLOCKS || ways > MOST_WAYS {
            return None;
        }
        let (init, by, added) = self.counted(r)?;
        let latch = added.0;
        let Term::CondBr { pred, negated, then, els } = self.f.blocks[latch].term else {
            return None;
        };
        let (then, els) = (then.0 as usize, els.0 as usize);
        // The next turn is on one side only. From the other one a loop around this may lead back, which begins it anew.
        let goes_on = |to: usize| reached(self.cfg, &[to], &[init.0.0])[latch];
        let (next, last, taken) = match [then, els].map(goes_on) {
            [true, false] => (then, els, true),
            [false, true] => (els, then, false),
            _ => return None,
        };
        let turns = self.turns(pred, taken != negated, latch)?;
        // Both begin when the loop does, and at no other time.
        let again = reached(self.cfg, &[next], &[latch]);
        let begins = |before: usize| {
            let others = reached(self.cfg, &[last], &[before]);
            let first = reached(self.cfg, &[0], &[before]);
            before != latch && !again[before] && !others[latch] && !first[latch]
        };
        if !begins(turns.init.0.0) || !begins(init.0.0) {
            return None;
        }
        let mut outside = reached(self.cfg, &[0, last], &[init.0.0]);
        outside[init.0.0] = false;
        let ty = self.f.blocks[latch].insts[added.1].ty;
        Some(Counter { init, by, ty, turns, added, outside })
    }

    /// What a latch compares.
    fn turns(&self, pred: Reg, holds: bool, latch: usize) -> Option<Turns<'f>> {
        let (at, inst) = self.definition(pred)?;
        let Attr::IntCmp(cmp) = inst.attr else { return None };
        let ty = inst.ty;
        let &[a, b] = inst.srcs.as_slice() else { return None };
        if at.0 != latch || inst.guard.is_some() || !matches!(ty, Ty::I32 | Ty::I64) {
            return None;
        }
        let side = |v: Value| {
            let Value::Reg(mut r) = v else { return None };
            let mut read = at;
            if let Some((place, cut)) = self.definition(r)
                && (cut.op, cut.from, cut.ty) == (Op::Trunc, Ty::I64, Ty::I32)
                && cut.guard.is_none()
                && place < at
                && let Some(&Value::Reg(whole)) = cut.srcs.first()
            {
                (r, read) = (whole, place);
            }
            let (init, by, added) = self.counted(r)?;
            // In this turn, and after it was counted.
            (added.0 == latch && read.0 == latch && read.1 > added.1).then_some((init, by))
        };
        let ((init, by), cmp, end) = match (side(a), side(b)) {
            (Some(own), None) => (own, cmp, b),
            (None, Some(own)) => (own, cmp.mirrored(), a),
            _ => return None,
        };
        Some(Turns { init, by, cmp, ty, holds, end, at })
    }
}

/// How many turns a loop has at most, if that can be said: what is compared is between `least` and `most` before it, and `by`
/// more after each turn; there is another turn if the comparison with the end, which is between those, holds, or does not.
pub(crate) fn most_turns(
    (least, most): (i64, i64),
    by: i64,
    (cmp, ty, holds): (IntCmp, Ty, bool),
    end: (i64, i64),
) -> Option<i64> {
    // As signed numbers nothing wraps, and none is another as an unsigned one.
    let (low, high) = match ty {
        Ty::I32 => (i64::from(i32::MIN), i64::from(i32::MAX)),
        _ => (i64::MIN, i64::MAX),
    };
    let fits = |v: i64| (low..=high).contains(&v);
    let cmp = if holds { cmp } else { cmp.opposite() };
    let unsigned = matches!(cmp, IntCmp::LtU | IntCmp::LeU | IntCmp::GtU | IntCmp::GeU);
    if by == 0
        || unsigned && (least < 0 || end.0 < 0)
        || ![least, most, end.0, end.1].into_iter().all(fits)
    {
        return None;
    }
    // Turns until it is on the other side of the end, from as far away as it may be.
    let until = |distance: i64, step: i64| {
        let steps = distance.checked_add(step - 1)?.div_euclid(step).max(1);
        Some(steps)
    };
    match (cmp, by > 0) {
        (IntCmp::Ne, _) => {
            let distance = end.0.checked_sub(least)?;
            let turns = distance.checked_div(by)?;
            let exact = least == most && end.0 == end.1 && turns * by == distance;
            (exact && turns > 0).then_some(turns)
        }
        (IntCmp::LtS | IntCmp::LtU | IntCmp::LeS | IntCmp::LeU, true) => {
            let more = i64::from(matches!(cmp, IntCmp::LeS | IntCmp::LeU));
            let first = end.1.checked_add(more)?;
            // The last that is compared.
            let last = first.checked_sub(1)?.max(most).checked_add(by)?;
            fits(last).then_some(())?;
            until(first.checked_sub(least)?, by)
        }
        (IntCmp::GtS | IntCmp::GtU | IntCmp::GeS | IntCmp::GeU, false) => {
            let more = i64::from(matches!(cmp, IntCmp::GeS | IntCmp::GeU));
            let first = end.0.checked_sub(more)?;
            let last = first.checked_add(1)?.min(least).checked_add(by)?;
            // An unsigned one is large once it is below 0.
            (fits(last) && (!unsigned || last >= 0)).then_some(())?;
            until(most.checked_sub(first)?, by.checked_neg()?)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What really happens, in 32 bits.
    fn turns(init: i32, by: i32, cmp: IntCmp, holds: bool, end: i32) -> Option<i64> {
        let (mut value, mut count) = (init, 0);
        loop {
            (value, count) = (value.wrapping_add(by), count + 1);
            let (a, b) = (value as u32, end as u32);
            let found = match cmp {
                IntCmp::Eq => value == end,
                IntCmp::Ne => value != end,
                IntCmp::LtS => value < end,
                IntCmp::LeS => value <= end,
                IntCmp::GtS => value > end,
                IntCmp::GeS => value >= end,
                IntCmp::LtU => a < b,
                IntCmp::LeU => a <= b,
                IntCmp::GtU => a > b,
                IntCmp::GeU => a >= b,
            };
            if found != holds {
                return Some(count);
            }
            if count > 10_000 {
                return None;
            }
        }
    }

    #[test]
    fn no_loop_has_more_turns_than_that() {
        let all = [
            IntCmp::Eq,
            IntCmp::Ne,
            IntCmp::LtS,
            IntCmp::LeS,
            IntCmp::GtS,
            IntCmp::GeS,
            IntCmp::LtU,
            IntCmp::LeU,
            IntCmp::GtU,
            IntCmp::GeU,
        ];
        let edges =
            [0, 1, 5, 12, 16, 17, -1, -7, -16, i32::MAX, i32::MAX - 3, i32::MIN, i32::MIN + 2];
        let (mut known, mut exact) = (0, 0);
        for (init, end) in edges.iter().flat_map(|&init| edges.map(|end| (init, end))) {
            for by in [1, 4, 5, -1, -4, 1 << 30, i32::MIN] {
                for (cmp, holds) in all.iter().flat_map(|&cmp| [(cmp, true), (cmp, false)]) {
                    let one = |v: i32| (i64::from(v), i64::from(v));
                    let asked = (cmp, Ty::I32, holds);
                    let Some(most) = most_turns(one(init), by.into(), asked, one(end)) else {
                        continue;
                    };
                    let truth = turns(init, by, cmp, holds, end);
                    let what = format!("{init} by {by} {cmp:?} {holds} {end}: {most}, {truth:?}");
                    assert!(most > 10_000 || truth.is_some_and(|truth| truth <= most), "{what}");
                    (known, exact) = (known + 1, exact + u32::from(truth == Some(most)));
                }
            }
        }
        assert!(known > 1500 && exact > known * 3 / 4, "{known} known, {exact} exact");
        // From wherever it begins, to whichever end.
        let lt = (IntCmp::LtS, Ty::I32, true);
        assert_eq!(most_turns((0, 255), 256, lt, (4096, 4096)), Some(16));
        assert_eq!(most_turns((0, 255), 256, lt, (0, 4096)), Some(16));
        assert_eq!(most_turns((0, 255), 1, (IntCmp::Ne, Ty::I32, true), (300, 300)), None);
    }
}
