// SPDX-License-Identifier: MIT OR Apache-2.0
//! What may happen to shared memory between two barriers of a whole block.
//!
//! Invariant: a barrier counts only if all threads of the block come to this one: no branch by which they may part has it on
//! one of its sides.

use margay_codegen::plain_barrier;
use margay_ir::analysis::cfg::Cfg;
use margay_ir::{Attr, BarOrder, Function, Inst, Op, Space, Sreg, Term, Value};

/// More blocks are not looked at.
const MOST_BLOCKS: usize = 512;

/// Whether a barrier orders all that is done to shared memory by the block.
fn counts(inst: &Inst) -> bool {
    let orders =
        matches!(inst.attr, Attr::Barrier { orders: BarOrder::All | BarOrder::Shared, .. });
    orders && inst.srcs.len() == 1 && plain_barrier(inst) == Some(0)
}

/// Sets of blocks.
type Blocks = Vec<bool>;

/// The rounds of a kernel: which of its accesses, given by their block and place in it, may be in one. `None` if threads may
/// come to different barriers, or a barrier is not one of whole blocks: with other arrivals threads pass one at other times.
pub fn rounds(f: &Function, cfg: &Cfg, sites: &[(usize, usize)]) -> Option<Vec<Vec<usize>>> {
    if f.blocks.len() > MOST_BLOCKS {
        return None;
    }
    let bars = f.blocks.iter().flat_map(|b| &b.insts).filter(|i| i.op == Op::Bar);
    if { bars }.any(|bar| plain_barrier(bar).is_none()) || !all_end(f, cfg) {
        return None;
    }
    let sides = parted(f, cfg);
    let any = |b: usize| f.blocks[b].insts.iter().any(|i| i.op == Op::Bar);
    if (0..f.blocks.len()).any(|b| sides[b] && any(b)) {
        return None;
    }
    let mut starts = vec![(0, 0)];
    for (b, block) in f.blocks.iter().enumerate() {
        let after = block.insts.iter().enumerate().filter(|(_, i)| counts(i));
        starts.extend(after.map(|(n, _)| (b, n + 1)));
    }
    Some(starts.into_iter().map(|start| round(f, cfg, start, sites)).collect())
}

/// The accesses that may come after a place without a barrier between.
fn round(
    f: &Function,
    cfg: &Cfg,
    (block, from): (usize, usize),
    sites: &[(usize, usize)],
) -> Vec<usize> {
    let mut found = Vec::new();
    let mut seen: Blocks = vec![false; f.blocks.len()];
    let mut next = vec![(block, from)];
    while let Some((b, from)) = next.pop() {
        let insts = &f.blocks[b].insts;
        let end = (from..insts.len()).find(|&n| counts(&insts[n]));
        let to = end.unwrap_or(insts.len());
        let here = |(_, (at, n)): &(usize, &(usize, usize))| *at == b && (from..to).contains(n);
        found.extend(sites.iter().enumerate().filter(here).map(|(k, _)| k));
        if end.is_some() {
            continue;
        }
        for to in &cfg.succs[b] {
            let to = to.0 as usize;
            if !std::mem::replace(&mut seen[to], true) {
                next.push((to, 0));
            }
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// Blocks on one side of a branch by which threads of a block may part.
fn parted(f: &Function, cfg: &Cfg) -> Blocks {
    let after = followers(cfg);
    let mut varies = vec![false; f.regs.len()];
    let mut sides: Blocks = vec![false; f.blocks.len()];
    let mut definitions = vec![0u32; f.regs.len()];
    for inst in f.blocks.iter().flat_map(|b| &b.insts) {
        inst.dsts.iter().for_each(|d| definitions[d.0 as usize] += 1);
    }
    loop {
        let mut changed = false;
        for (b, block) in f.blocks.iter().enumerate() {
            for inst in &block.insts {
                let other = is_own(inst, &varies);
                for d in &inst.dsts {
                    let d = d.0 as usize;
                    // Who came another way may have what was there before.
                    if !varies[d] && (other || sides[b] && definitions[d] > 1) {
                        varies[d] = true;
                        changed = true;
                    }
                }
            }
            let parts = match &block.term {
                Term::CondBr { pred, .. } => varies[pred.0 as usize],
                Term::BrTable { index, .. } => match index {
                    Value::Reg(r) => varies[r.0 as usize],
                    Value::Imm(_) => false,
                },
                Term::Br(_) | Term::Ret | Term::Exit => false,
            };
            if parts {
                changed |= mark_sides(cfg, b, &after[b], &mut sides);
            }
        }
        if !changed {
            return sides;
        }
    }
}

/// Marks the blocks from a branch on to where all come again, without that.
fn mark_sides(cfg: &Cfg, from: usize, after: &Blocks, sides: &mut Blocks) -> bool {
    let mut changed = false;
    let mut seen: Blocks = vec![false; sides.len()];
    let mut next = vec![from];
    while let Some(b) = next.pop() {
        for to in &cfg.succs[b] {
            let to = to.0 as usize;
            let joins = after[to] && to != from;
            if !joins && !std::mem::replace(&mut seen[to], true) {
                changed |= !std::mem::replace(&mut sides[to], true);
                next.push(to);
            }
        }
    }
    changed
}

/// Whether there is a way to an end from each block.
fn all_end(f: &Function, cfg: &Cfg) -> bool {
    let mut ends: Blocks = cfg.succs.iter().map(|s| s.is_empty()).collect();
    let mut next: Vec<usize> = (0..f.blocks.len()).filter(|&b| ends[b]).collect();
    while let Some(b) = next.pop() {
        for from in &cfg.preds[b] {
            let from = from.0 as usize;
            if !std::mem::replace(&mut ends[from], true) {
                next.push(from);
            }
        }
    }
    ends.iter().all(|&e| e)
}

/// For each block those that every way from it to the end goes through, itself among them.
fn followers(cfg: &Cfg) -> Vec<Blocks> {
    let count = cfg.succs.len();
    let mut after: Vec<Blocks> = vec![vec![true; count]; count];
    let mut changed = true;
    while changed {
        changed = false;
        for b in (0..count).rev() {
            let mut all = match cfg.succs[b].split_first() {
                None => vec![false; count],
                Some((first, others)) => {
                    let mut all = after[first.0 as usize].clone();
                    for other in others {
                        let more = &after[other.0 as usize];
                        all.iter_mut().zip(more).for_each(|(a, m)| *a &= m);
                    }
                    all
                }
            };
            all[b] = true;
            if all != after[b] {
                after[b] = all;
                changed = true;
            }
        }
    }
    after
}

/// Whether threads of a block may have different results of an instruction.
fn is_own(inst: &Inst, varies: &[bool]) -> bool {
    let of = |v: &Value| matches!(v, Value::Reg(r) if varies[r.0 as usize]);
    if inst.guard.is_some_and(|g| varies[g.pred.0 as usize]) || inst.srcs.iter().any(of) {
        return true;
    }
    match (inst.op, &inst.attr) {
        (Op::Sreg, Attr::Sreg(s)) => {
            !matches!(s, Sreg::CtaId(_) | Sreg::NTid(_) | Sreg::NCtaId(_) | Sreg::EnvReg(_))
        }
        (Op::Ld, Attr::Mem(mem)) => !matches!(mem.space, Space::Param | Space::Const),
        (Op::Cvta | Op::CvtaTo | Op::Addr, _) => false,
        (op, _) => op >= Op::Ld,
    }
}
