// SPDX-License-Identifier: MIT OR Apache-2.0
//! Control flow: jumps to jumps, and blocks that follow one another and nothing else.

use crate::analysis::cfg::Cfg;
use crate::inst::{BlockId, Term};
use crate::module::Function;

/// Leads edges past empty blocks, then joins each block with the one block that it goes to when
/// nothing else does. Blocks that become unreachable stay for the layout to drop.
pub fn simplify(function: &mut Function) {
    thread(function);
    join(function);
}

fn thread(function: &mut Function) {
    let count = function.blocks.len();
    // Where each block leads if it is empty; chains are followed with a limit, for empty loops.
    let next: Vec<Option<BlockId>> = function
        .blocks
        .iter()
        .map(|b| match b.term {
            Term::Br(to) if b.insts.is_empty() => Some(to),
            _ => None,
        })
        .collect();
    let resolve = |start: BlockId| {
        let mut at = start;
        for _ in 0..count.min(64) {
            match next[at.0 as usize] {
                Some(to) if to != at => at = to,
                _ => return at,
            }
        }
        start
    };
    for block in &mut function.blocks {
        match &mut block.term {
            Term::Br(to) => *to = resolve(*to),
            Term::CondBr { then, els, .. } => {
                *then = resolve(*then);
                *els = resolve(*els);
                if then == els {
                    block.term = Term::Br(*then);
                }
            }
            Term::BrTable { targets, .. } => targets.iter_mut().for_each(|t| *t = resolve(*t)),
            Term::Ret | Term::Exit => {}
        }
    }
}

fn join(function: &mut Function) {
    let cfg = Cfg::new(function);
    let mut reachable = vec![false; function.blocks.len()];
    for b in cfg.reverse_post_order() {
        reachable[b.0 as usize] = true;
    }
    let preds: Vec<usize> =
        cfg.preds.iter().map(|p| p.iter().filter(|p| reachable[p.0 as usize]).count()).collect();
    for at in 0..function.blocks.len() {
        if !reachable[at] {
            continue;
        }
        while let Term::Br(to) = function.blocks[at].term {
            let to = to.0 as usize;
            if to == 0 || to == at || preds[to] != 1 || !reachable[to] {
                break;
            }
            let insts = std::mem::take(&mut function.blocks[to].insts);
            let (term, term_loc) = (function.blocks[to].term.clone(), function.blocks[to].term_loc);
            let block = &mut function.blocks[at];
            block.insts.extend(insts);
            block.term = term;
            block.term_loc = term_loc;
            // What is left of it is unreachable; it must not seem to lead anywhere.
            function.blocks[to].term = Term::Exit;
            reachable[to] = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::cfg::tests::graph;
    use crate::analysis::layout;

    fn blocks(edges: &[&[u32]]) -> usize {
        let mut function = graph(edges);
        simplify(&mut function);
        let order = layout::order(&function);
        layout::apply_order(&mut function, &order);
        function.blocks.len()
    }

    #[test]
    fn empty_blocks_and_rows_of_blocks_go_away() {
        assert_eq!(blocks(&[&[1], &[2], &[]]), 1);
        // Both arms are empty: no choice is left.
        assert_eq!(blocks(&[&[2, 1], &[3], &[3], &[]]), 1);
    }

    #[test]
    fn loops_stay() {
        assert_eq!(blocks(&[&[1], &[1]]), 2);
        assert_eq!(blocks(&[&[1], &[2], &[1]]), 2);
        assert_eq!(blocks(&[&[0, 1], &[]]), 2);
    }
}
