// SPDX-License-Identifier: MIT OR Apache-2.0
//! Loops of one block: what those that run lane by lane (`lane_loop.rs`) and by parts of the lanes (`part_loop.rs`) have in common.

use margay_ir::analysis::liveness::{for_each_def, for_each_use};
use margay_ir::{Reg, Term};

use super::Gen;
use crate::analysis::Set;

/// A block that goes back to itself or on, by a predicate that it sets.
pub(super) struct OneBlock {
    /// The block behind it, and whether the loop goes on where the predicate does not hold.
    pub exit: usize,
    pub again_unless: bool,
    pub pred: Reg,
    defs: Set,
    uses: Set,
}

impl OneBlock {
    /// Whether the loop sets a register.
    pub fn sets(&self, r: Reg) -> bool {
        self.defs.has(r.0 as usize)
    }
}

impl Gen<'_> {
    /// The loop that block `b` is, if it is one of which copies may be written.
    pub(super) fn one_block_loop(&self, b: usize) -> Option<OneBlock> {
        let block = &self.f.blocks[b];
        let Term::CondBr { pred, negated, then, els } = block.term else { return None };
        let (then, els) = (then.0 as usize, els.0 as usize);
        if self.in_strips || self.options.watched.any() || (then == b) == (els == b) {
            return None;
        }
        let count = self.f.regs.len();
        let (mut defs, mut uses) = (Set::new(count), Set::new(count));
        for inst in &block.insts {
            for_each_use(inst, |r| {
                uses.insert(r.0 as usize);
            });
            for_each_def(inst, |r| {
                defs.insert(r.0 as usize);
            });
        }
        let exit = if then == b { els } else { then };
        let again_unless = (then == b) == negated;
        let own = OneBlock { exit, again_unless, pred, defs, uses };
        own.sets(pred).then_some(own)
    }

    /// Registers that differ between lanes, and that the loop reads and leaves as they are.
    pub(super) fn fixed_of(&self, l: &OneBlock) -> Vec<Reg> {
        let fixed =
            |r: &Reg| l.uses.has(r.0 as usize) && !l.sets(*r) && !self.facts.shape(*r).is_uniform();
        (0..self.f.regs.len() as u32).map(Reg).filter(fixed).collect()
    }

    /// Registers that the loop sets, of those that live at a block's beginning.
    pub(super) fn set_and_live(&self, l: &OneBlock, block: usize) -> Vec<Reg> {
        let live = self.facts.live_in[block].iter().map(|r| Reg(r as u32));
        live.filter(|r| l.sets(*r)).collect()
    }
}
