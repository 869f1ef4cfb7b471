// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which registers need not be stored where code leaves, as their planes have their values already.
//!
//! Where code is left to be entered again behind the same instruction, as at a barrier, all that lives is in planes. Until a
//! register is written next, its plane stays right: a barrier in a loop finds what the loop does not change there. And
//! what is stored nowhere after it was loaded need not be loaded, which LLVM finds by itself.
//!
//! This is a question of all ways that lead to a place, so sets only shrink, from everything.

use margay_ir::analysis::liveness::for_each_def;
use margay_ir::{Function, Inst};

use crate::analysis::{Facts, Set};
use crate::emit::must_leave;

/// One step over an instruction of code for all lanes.
pub(crate) fn step(inst: &Inst, planes: &mut Set) {
    if must_leave(inst.op) {
        planes.fill();
    }
    for_each_def(inst, |r| planes.remove(r.0 as usize));
}

/// The sets at the heads of all blocks' code for all lanes, and one for all code for some.
pub(crate) fn find(f: &Function, facts: &Facts) -> (Vec<Set>, Set) {
    let (blocks, count) = (f.blocks.len(), f.regs.len());
    let waits = |b: usize| facts.waiting[b].is_some();
    let mut heads = vec![Set::full(count); blocks];
    if let Some(first) = heads.first_mut().filter(|_| f.is_entry) {
        // Planes of a new warp hold anything.
        *first = Set::new(count);
    }
    let mut apart = Set::full(count);
    for b in (0..blocks).filter(|&b| waits(b)) {
        for inst in &f.blocks[b].insts {
            for_each_def(inst, |r| apart.remove(r.0 as usize));
        }
    }
    let mut changed = true;
    while changed {
        changed = false;
        for b in 0..blocks {
            if waits(b) {
                // Lanes that were apart may be together here.
                changed |= heads[b].keep(&apart);
            }
            let mut planes = heads[b].clone();
            f.blocks[b].insts.iter().for_each(|inst| step(inst, &mut planes));
            for &s in &facts.succs[b] {
                changed |= heads[s].keep(&planes);
            }
            if facts.parts(f, b) {
                changed |= apart.keep(&planes);
            }
        }
    }
    (heads, apart)
}
