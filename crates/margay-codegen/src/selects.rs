// SPDX-License-Identifier: MIT OR Apache-2.0
//! If-conversion: short branches that part the lanes, around nothing but cheap ops, as ops with guards.
//!
//! A branch that parts the lanes is the dearest instruction there is to compile: the blocks behind it are written for all
//! lanes and again for some of them, and whatever lives is a choice of several values wherever two ways meet. Where a side
//! does no more than a few ops without effect, all lanes do them, and a select keeps what the others had.
//!
//! So are stores to rows, for which all lanes go to one side or past it, where the processor stores under masks.
//!
//! Invariant: addresses stay those of the instructions as they were, so that code is left where the interpreter goes on. No
//! instruction that may leave has changed its place.

use margay_ir::{Attr, BlockId, Function, Guard, Inst, Op, Reg, Term, Ty, Value};

use crate::Places;
use crate::analysis::{Facts, is_pure};

/// The most that all lanes do for some of them; most ops are one.
const MOST: usize = 8;

/// A function without short branches, and the address of each of its instructions and terminators.
pub(crate) struct Converted {
    pub function: Function,
    pcs: Vec<Vec<u32>>,
}

/// Places in the function as it was.
pub(crate) struct Moved<'a> {
    pub places: &'a dyn Places,
    pub converted: &'a Converted,
}

impl Places for Moved<'_> {
    fn plane(&self, reg: Reg) -> u32 {
        self.places.plane(reg)
    }
    fn start(&self, block: usize) -> u32 {
        self.places.start(block)
    }
    fn slot(&self, pc: u32) -> u32 {
        self.places.slot(pc)
    }
    fn constant(&self, pc: u32) -> Option<u32> {
        self.places.constant(pc)
    }
    fn pc(&self, block: usize, inst: usize) -> u32 {
        self.converted.pcs[block][inst]
    }
}

/// What lanes for which it was not meant pay for an op; `None` if they must not do it.
fn cost(inst: &Inst) -> Option<usize> {
    let dear = matches!(
        inst.op,
        Op::DivS | Op::DivU | Op::RemS | Op::RemU | Op::FDiv | Op::FSqrt | Op::FRcp | Op::Prmt
    );
    let free = is_pure(inst.op) && inst.guard.is_none() && inst.dsts.len() == 1 && !dear;
    let long = matches!(inst.ty, Ty::I64 | Ty::F64) || matches!(inst.from, Ty::I64 | Ty::F64);
    (free && crate::emit::is_written_out(inst)).then_some(if long { 3 } else { 1 })
}

struct Work<'a> {
    f: &'a Function,
    facts: &'a Facts,
    /// Stores under masks are at hand.
    stores: bool,
    places: &'a dyn Places,
    out: Function,
    pcs: Vec<Vec<u32>>,
    /// Ways into each block.
    ways: Vec<usize>,
    gone: Vec<bool>,
    /// The block whose terminator each has.
    end_of: Vec<usize>,
}

/// Converts what there is to convert, if that is anything.
pub(crate) fn convert(
    f: &Function,
    facts: &Facts,
    places: &dyn Places,
    stores: bool,
) -> Option<Converted> {
    if !(0..f.blocks.len()).any(|b| facts.parts(f, b)) {
        return None;
    }
    let count = f.blocks.len();
    let mut ways = vec![0; count];
    facts.succs.iter().flatten().for_each(|&s| ways[s] += 1);
    ways[0] += 1;
    let pcs = (0..count)
        .map(|b| (0..=f.blocks[b].insts.len()).map(|n| places.pc(b, n)).collect())
        .collect();
    let mut work = Work {
        f,
        facts,
        stores,
        places,
        out: f.clone(),
        pcs,
        ways,
        gone: vec![false; count],
        end_of: (0..count).collect(),
    };
    let mut any = false;
    for b in (0..count).rev() {
        while !work.gone[b] && work.convert(b) {
            any = true;
            while work.join(b) {}
        }
    }
    any.then_some(Converted { function: work.out, pcs: work.pcs })
}

impl Work<'_> {
    /// Makes the sides of a block's branch part of the block. False if that cannot be.
    fn convert(&mut self, b: usize) -> bool {
        let Term::CondBr { pred, negated, then, els } = self.out.blocks[b].term else {
            return false;
        };
        let (then, els) = (then.0 as usize, els.0 as usize);
        if then == els || !self.facts.parts(self.f, self.end_of[b]) {
            return false;
        }
        let [first, second] = [then, els].map(|s| self.side(b, s, pred));
        let (sides, join) = match (first, second) {
            (Some((to, _)), _) if to == els => (vec![(then, negated)], els),
            (_, Some((to, _))) if to == then => (vec![(els, !negated)], then),
            // Lanes of the two sides may store to one place: they keep their order.
            (Some((to, x)), Some((other, y)))
                if to == other
                    && x + y <= MOST
                    && !self.has_stores(then)
                    && !self.has_stores(els) =>
            {
                (vec![(then, negated), (els, !negated)], to)
            }
            _ => return false,
        };
        // Who stores goes next, before who does not and before lanes that wait anywhere else.
        let is_next = |side: usize| side < join && self.follows(b, side);
        if join == b || sides.iter().any(|&(side, _)| !is_next(side) && self.has_stores(side)) {
            return false;
        }
        self.ways[join] -= 1;
        self.out.blocks[b].term = Term::Br(BlockId(join as u32));
        let end = self.pcs[b].pop();
        for (n, &(side, negated)) in sides.iter().enumerate() {
            // What is read behind the branch by those who did not go here.
            let other = sides.get(n + 1).map(|s| s.0);
            let insts = std::mem::take(&mut self.out.blocks[side].insts);
            for mut inst in insts {
                let wanted = |b: usize, r: &Reg| self.facts.live_in[b].has(r.0 as usize);
                let is_read = |r| wanted(join, r) || other.is_some_and(|b| wanted(b, r));
                if inst.op == Op::St || inst.dsts.iter().any(is_read) {
                    inst.guard = Some(Guard { pred, negated });
                }
                self.out.blocks[b].insts.push(inst);
            }
            let pcs = std::mem::replace(&mut self.pcs[side], vec![self.places.start(side)]);
            self.pcs[b].extend(&pcs[..pcs.len() - 1]);
            self.remove(side);
        }
        self.pcs[b].extend(end);
        true
    }

    /// Where a side of a block's branch goes on, and what it costs, if all lanes may go there.
    fn side(&self, from: usize, side: usize, pred: Reg) -> Option<(usize, usize)> {
        let block = &self.out.blocks[side];
        let Term::Br(to) = block.term else { return None };
        if self.ways[side] != 1 || side == from || to.0 as usize == side {
            return None;
        }
        let mut all = 0;
        for inst in &block.insts {
            all += match inst.op {
                Op::St => self.cost_of_store(inst)?,
                _ => cost(inst)?,
            };
            if inst.dsts.contains(&pred) {
                return None;
            }
        }
        (all <= MOST).then_some((to.0 as usize, all))
    }

    /// Whether a block comes next after another one: nothing is between them where lanes may wait.
    fn follows(&self, b: usize, next: usize) -> bool {
        b < next && self.gone[b + 1..next].iter().all(|gone| *gone)
    }

    fn has_stores(&self, b: usize) -> bool {
        self.out.blocks[b].insts.iter().any(|inst| inst.op == Op::St)
    }

    /// What lanes that do not store pay for a store; `None` if it is not one under a mask.
    fn cost_of_store(&self, inst: &Inst) -> Option<usize> {
        let (Attr::Mem(mem), Some(&Value::Reg(r))) = (&inst.attr, inst.srcs.first()) else {
            return None;
        };
        let row = || crate::emit::stores_row(inst, mem, self.facts.shape(r));
        (self.stores && row()).then_some(2)
    }

    /// Puts the only block that a block goes to behind it, if nothing is between them where lanes may wait.
    fn join(&mut self, b: usize) -> bool {
        let Term::Br(to) = self.out.blocks[b].term else { return false };
        let to = to.0 as usize;
        if self.ways[to] != 1 || !self.follows(b, to) {
            return false;
        }
        let insts = std::mem::take(&mut self.out.blocks[to].insts);
        self.out.blocks[b].insts.extend(insts);
        self.out.blocks[b].term = self.out.blocks[to].term.clone();
        let pcs = std::mem::replace(&mut self.pcs[to], vec![self.places.start(to)]);
        self.pcs[b].pop();
        self.pcs[b].extend(pcs);
        self.end_of[b] = self.end_of[to];
        self.remove(to);
        true
    }

    /// Nothing reaches the block any more.
    fn remove(&mut self, b: usize) {
        self.gone[b] = true;
        self.out.blocks[b].term = Term::Exit;
    }
}
