// SPDX-License-Identifier: MIT OR Apache-2.0
//! Control flow: successors, predecessors, orders.
//!
//! Everything is iterative: a guest's PTX decides how deep a graph is, and must not decide how deep
//! the host's stack gets.

use smallvec::SmallVec;

use crate::inst::{BlockId, Term};
use crate::module::Function;

/// Where a terminator may go, each target once, in the order written.
pub fn successors(term: &Term) -> SmallVec<[BlockId; 2]> {
    let mut out: SmallVec<[BlockId; 2]> = SmallVec::new();
    match term {
        Term::Br(to) => out.push(*to),
        Term::CondBr { then, els, .. } => {
            out.push(*then);
            if els != then {
                out.push(*els);
            }
        }
        Term::BrTable { targets, .. } => {
            out.extend(targets.iter().copied());
            out.sort_unstable();
            out.dedup();
        }
        Term::Ret | Term::Exit => {}
    }
    out
}

/// The edges of a function, by block number.
#[derive(Clone, Debug)]
pub struct Cfg {
    pub succs: Vec<SmallVec<[BlockId; 2]>>,
    pub preds: Vec<SmallVec<[BlockId; 2]>>,
}

impl Cfg {
    /// Reads the terminators. Targets outside the function (unverified IR) are left out.
    pub fn new(function: &Function) -> Cfg {
        let count = function.blocks.len();
        let mut preds = vec![SmallVec::new(); count];
        let succs: Vec<_> = function
            .blocks
            .iter()
            .map(|block| {
                let mut succs = successors(&block.term);
                succs.retain(|s| (s.0 as usize) < count);
                succs
            })
            .collect();
        for (from, targets) in succs.iter().enumerate() {
            for to in targets {
                preds[to.0 as usize].push(BlockId(from as u32));
            }
        }
        Cfg { succs, preds }
    }

    /// Blocks reachable from the entry, each after the blocks that a depth-first walk leaves later:
    /// reverse post-order. Among successors the last written comes first, so that a fall-through
    /// stays next to its branch.
    pub fn reverse_post_order(&self) -> Vec<BlockId> {
        let mut order = Vec::with_capacity(self.succs.len());
        if self.succs.is_empty() {
            return order;
        }
        let mut seen = vec![false; self.succs.len()];
        seen[0] = true;
        let mut stack = vec![(0usize, 0usize)];
        while let Some((block, next)) = stack.last_mut() {
            match self.succs[*block].get(*next) {
                Some(to) => {
                    *next += 1;
                    let to = to.0 as usize;
                    if !seen[to] {
                        seen[to] = true;
                        stack.push((to, 0));
                    }
                }
                None => {
                    order.push(BlockId(*block as u32));
                    stack.pop();
                }
            }
        }
        order.reverse();
        order
    }

    /// Immediate dominator of each reachable block (the entry's is itself), by the method of
    /// Cooper, Harvey and Kennedy, "A Simple, Fast Dominance Algorithm" (2001).
    pub fn dominators(&self) -> Dominators {
        let order = self.reverse_post_order();
        let mut position = vec![usize::MAX; self.succs.len()];
        for (i, block) in order.iter().enumerate() {
            position[block.0 as usize] = i;
        }
        // Indexed by position in `order`, which makes "earlier" a comparison of numbers.
        let mut idom = vec![usize::MAX; order.len()];
        if !order.is_empty() {
            idom[0] = 0;
        }
        let mut changed = true;
        while changed {
            changed = false;
            for i in 1..order.len() {
                let mut new = usize::MAX;
                for pred in &self.preds[order[i].0 as usize] {
                    let p = position[pred.0 as usize];
                    if p == usize::MAX || idom[p] == usize::MAX {
                        continue;
                    }
                    new = if new == usize::MAX { p } else { meet(&idom, p, new) };
                }
                if idom[i] != new {
                    idom[i] = new;
                    changed = true;
                }
            }
        }
        Dominators { position, idom }
    }
}

fn meet(idom: &[usize], mut a: usize, mut b: usize) -> usize {
    while a != b {
        while a > b {
            a = idom[a];
        }
        while b > a {
            b = idom[b];
        }
    }
    a
}

/// The dominator tree.
#[derive(Clone, Debug)]
pub struct Dominators {
    /// Of each block in reverse post-order; `usize::MAX` if unreachable.
    position: Vec<usize>,
    idom: Vec<usize>,
}

impl Dominators {
    /// Whether every path from the entry to `b` goes through `a`. A block dominates itself; nothing
    /// dominates or is dominated by an unreachable block.
    pub fn dominates(&self, a: BlockId, b: BlockId) -> bool {
        let (a, mut b) = (self.position[a.0 as usize], self.position[b.0 as usize]);
        if a == usize::MAX || b == usize::MAX {
            return false;
        }
        while b > a {
            b = self.idom[b];
        }
        a == b
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::inst::{Block, LocId, Reg};
    use crate::types::Class;

    /// A function whose block `i` goes to `edges[i]`: none, one or two targets.
    pub(crate) fn graph(edges: &[&[u32]]) -> Function {
        let blocks = edges
            .iter()
            .map(|to| Block {
                label: None,
                insts: vec![],
                term: match to {
                    [] => Term::Ret,
                    [a] => Term::Br(BlockId(*a)),
                    [a, b] => Term::CondBr {
                        pred: Reg(0),
                        negated: false,
                        then: BlockId(*a),
                        els: BlockId(*b),
                    },
                    many => Term::BrTable {
                        index: crate::inst::Value::Imm(0),
                        targets: many.iter().map(|b| BlockId(*b)).collect(),
                    },
                },
                term_loc: LocId(0),
            })
            .collect();
        Function { regs: vec![Class::P], blocks, ..Function::default() }
    }

    fn numbers(blocks: &[BlockId]) -> Vec<u32> {
        blocks.iter().map(|b| b.0).collect()
    }

    #[test]
    fn a_diamond_has_its_fall_through_first_and_its_join_last() {
        let cfg = Cfg::new(&graph(&[&[2, 1], &[3], &[3], &[]]));
        assert_eq!(numbers(&cfg.reverse_post_order()), [0, 1, 2, 3]);
        let dom = cfg.dominators();
        assert!(dom.dominates(BlockId(0), BlockId(3)));
        assert!(!dom.dominates(BlockId(1), BlockId(3)));
        assert!(dom.dominates(BlockId(3), BlockId(3)));
    }

    #[test]
    fn unreachable_blocks_are_in_no_order() {
        let cfg = Cfg::new(&graph(&[&[2], &[2], &[]]));
        assert_eq!(numbers(&cfg.reverse_post_order()), [0, 2]);
        assert!(!cfg.dominators().dominates(BlockId(1), BlockId(2)));
    }

    #[test]
    fn a_hundred_thousand_blocks_in_a_row_do_not_exhaust_the_stack() {
        let edges: Vec<[u32; 1]> = (0..100_000).map(|i| [(i + 1) % 100_000]).collect();
        let edges: Vec<&[u32]> = edges.iter().map(|e| &e[..]).collect();
        let cfg = Cfg::new(&graph(&edges));
        assert_eq!(cfg.reverse_post_order().len(), 100_000);
        assert!(cfg.dominators().dominates(BlockId(0), BlockId(99_999)));
    }
}
