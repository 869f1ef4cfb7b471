// SPDX-License-Identifier: MIT OR Apache-2.0
//! The order of blocks that reconvergence relies on.
//!
//! The scheduler runs, of a diverged warp, the lanes that wait at the lowest block. That reconverges
//! as early as possible when a block comes after everything that leads to it, loops aside: so the
//! order is topological, each loop is contiguous with its header first, and its exits follow it.
//! Loops are the strongly connected components of the graph, found again inside each one after the
//! edges back to its header are cut; this needs no reducibility (Havlak, "Nesting of Reducible and
//! Irreducible Loops", 1997): a loop with several entries takes the first of them as header.
//!
//! Limit: the cost is the number of blocks times the depth of the loop nest.

use super::cfg::Cfg;
use crate::inst::{BlockId, Term};
use crate::module::Function;

/// The reachable blocks in layout order; the entry is first.
pub fn order(function: &Function) -> Vec<BlockId> {
    let cfg = Cfg::new(function);
    let rpo = cfg.reverse_post_order();
    let mut layout = Layout::new(&cfg, &rpo);
    layout.run(rpo);
    layout.out
}

/// The blocks of each loop that is in no other one.
pub fn outermost_loops(function: &Function) -> Vec<Vec<BlockId>> {
    let cfg = Cfg::new(function);
    let rpo = cfg.reverse_post_order();
    let components = Layout::new(&cfg, &rpo).components(&rpo);
    let is_loop = |blocks: &Vec<BlockId>| {
        blocks.len() > 1 || cfg.succs[blocks[0].0 as usize].contains(&blocks[0])
    };
    components.into_iter().map(|(blocks, _)| blocks).filter(is_loop).collect()
}

/// Puts the blocks in `order` and renames targets; blocks not in it are dropped. Every target of a
/// kept block must be kept.
pub fn apply_order(function: &mut Function, order: &[BlockId]) {
    let mut renamed = vec![BlockId(0); function.blocks.len()];
    for (new, old) in order.iter().enumerate() {
        renamed[old.0 as usize] = BlockId(new as u32);
    }
    let mut old: Vec<_> = std::mem::take(&mut function.blocks).into_iter().map(Some).collect();
    function.blocks = order.iter().filter_map(|b| old[b.0 as usize].take()).collect();
    let rename = |b: &mut BlockId| *b = renamed[b.0 as usize];
    for block in &mut function.blocks {
        match &mut block.term {
            Term::Br(to) => rename(to),
            Term::CondBr { then, els, .. } => {
                rename(then);
                rename(els);
            }
            Term::BrTable { targets, .. } => targets.iter_mut().for_each(rename),
            Term::Ret | Term::Exit => {}
        }
    }
}

struct Layout<'a> {
    cfg: &'a Cfg,
    /// Position in reverse post-order: ties are broken by it, so that results are stable.
    position: Vec<u32>,
    /// Which region a block now belongs to; edges between regions do not count.
    region: Vec<u32>,
    regions: u32,
    /// Blocks whose incoming edges are cut because they head an enclosing loop.
    is_header: Vec<bool>,
    out: Vec<BlockId>,
}

impl<'a> Layout<'a> {
    fn new(cfg: &'a Cfg, rpo: &[BlockId]) -> Layout<'a> {
        let count = cfg.succs.len();
        let mut position = vec![u32::MAX; count];
        for (i, b) in rpo.iter().enumerate() {
            position[b.0 as usize] = i as u32;
        }
        Layout {
            cfg,
            position,
            region: vec![0; count],
            regions: 0,
            is_header: vec![false; count],
            out: Vec::with_capacity(rpo.len()),
        }
    }

    /// A stack of regions stands for recursion. A region lists its blocks, first the one to start
    /// from; a region of one block is emitted.
    fn run(&mut self, all: Vec<BlockId>) {
        let mut work = vec![(all, false)];
        while let Some((mut blocks, is_loop)) = work.pop() {
            if is_loop {
                self.is_header[blocks[0].0 as usize] = true;
            } else if blocks.len() == 1 {
                self.out.push(blocks[0]);
                continue;
            }
            self.regions += 1;
            for b in &blocks {
                self.region[b.0 as usize] = self.regions;
            }
            blocks.sort_unstable_by_key(|b| self.position[b.0 as usize]);
            // Components come out last first, and popping the stack turns them round again.
            work.extend(self.components(&blocks));
        }
    }

    /// Strongly connected components of a region in reverse topological order (Tarjan 1972), each
    /// with whether it is a loop; a loop begins with its header.
    fn components(&self, blocks: &[BlockId]) -> Vec<(Vec<BlockId>, bool)> {
        const UNSEEN: u32 = u32::MAX;
        let Some(region) = blocks.first().map(|b| self.region[b.0 as usize]) else {
            return vec![];
        };
        let local = |b: BlockId| {
            blocks
                .binary_search_by_key(&self.position[b.0 as usize], |b| self.position[b.0 as usize])
        };
        let mut index = vec![UNSEEN; blocks.len()];
        let mut low = vec![0u32; blocks.len()];
        let mut on_stack = vec![false; blocks.len()];
        let mut stack = Vec::new();
        let mut count = 0;
        let mut out = Vec::new();
        // The first block reaches all others of a region; more roots are found only in graphs that
        // an earlier defect made, and cost nothing.
        for root in 0..blocks.len() {
            if index[root] != UNSEEN {
                continue;
            }
            let mut walk = vec![(root, 0usize)];
            while let Some(&mut (v, ref mut next)) = walk.last_mut() {
                if *next == 0 && index[v] == UNSEEN {
                    index[v] = count;
                    low[v] = count;
                    count += 1;
                    stack.push(v);
                    on_stack[v] = true;
                }
                match self.cfg.succs[blocks[v].0 as usize].get(*next) {
                    Some(&to) => {
                        *next += 1;
                        if self.region[to.0 as usize] != region || self.is_header[to.0 as usize] {
                            continue;
                        }
                        let Ok(to) = local(to) else { continue };
                        if index[to] == UNSEEN {
                            walk.push((to, 0));
                        } else if on_stack[to] {
                            low[v] = low[v].min(index[to]);
                        }
                    }
                    None => {
                        walk.pop();
                        if let Some(&(parent, _)) = walk.last() {
                            low[parent] = low[parent].min(low[v]);
                        }
                        if low[v] == index[v] {
                            let mut members = Vec::new();
                            while let Some(w) = stack.pop() {
                                on_stack[w] = false;
                                members.push(blocks[w]);
                                if w == v {
                                    break;
                                }
                            }
                            let is_loop = members.len() > 1;
                            out.push((self.header_first(members, region), is_loop));
                        }
                    }
                }
            }
        }
        out
    }

    /// Moves the loop's header to the front: the first block, in reverse post-order, that is
    /// entered from outside of the component.
    fn header_first(&self, mut members: Vec<BlockId>, region: u32) -> Vec<BlockId> {
        if members.len() < 2 {
            return members;
        }
        members.sort_unstable_by_key(|b| self.position[b.0 as usize]);
        let inside = |b: BlockId| {
            self.region[b.0 as usize] == region
                && members
                    .binary_search_by_key(&self.position[b.0 as usize], |m| {
                        self.position[m.0 as usize]
                    })
                    .is_ok()
        };
        let header = members.iter().position(|m| {
            m.0 == 0
                || self.cfg.preds[m.0 as usize]
                    .iter()
                    .any(|p| self.position[p.0 as usize] != u32::MAX && !inside(*p))
        });
        if let Some(at) = header {
            let header = members.remove(at);
            members.insert(0, header);
        }
        members
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::cfg::tests::graph;

    fn numbers(edges: &[&[u32]]) -> Vec<u32> {
        order(&graph(edges)).iter().map(|b| b.0).collect()
    }

    #[test]
    fn both_arms_come_before_the_join() {
        assert_eq!(numbers(&[&[2, 1], &[3], &[3], &[]]), [0, 1, 2, 3]);
    }

    #[test]
    fn an_exit_in_the_middle_of_a_loop_moves_behind_it() {
        // 1 heads a loop of 1, 3, 4; 2 is an exit that the text has in its middle.
        assert_eq!(numbers(&[&[1], &[2, 3], &[5], &[4], &[1, 5], &[]]), [0, 1, 3, 4, 2, 5]);
    }

    #[test]
    fn nested_loops_are_contiguous_with_their_headers_first() {
        // Outer 1..5, inner 2..3, the inner loop's exit 4 written before it.
        let got = numbers(&[&[1], &[2], &[3, 4], &[2], &[5, 1], &[]]);
        assert_eq!(got, [0, 1, 2, 3, 4, 5]);
    }

    #[test]
    fn a_loop_with_two_entries_stays_together() {
        let got = numbers(&[&[2, 1], &[2, 3], &[1, 3], &[]]);
        assert_eq!(got.len(), 4);
        assert_eq!((got[0], got[3]), (0, 3));
    }

    #[test]
    fn the_entry_may_head_a_loop_and_a_block_may_loop_on_itself() {
        assert_eq!(numbers(&[&[0, 1], &[1, 2], &[0, 3], &[]]), [0, 1, 2, 3]);
    }

    #[test]
    fn unreachable_blocks_go_away() {
        let mut function = graph(&[&[2], &[1], &[]]);
        let order = order(&function);
        apply_order(&mut function, &order);
        assert_eq!(function.blocks.len(), 2);
        assert_eq!(function.blocks[0].term, Term::Br(BlockId(1)));
    }

    /// Every property that the header promises, on many small graphs.
    #[test]
    fn random_graphs_keep_the_promises() {
        let mut state = 0x9e37_79b9_7f4a_7c15u64;
        let mut random = |n: u64| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state % n) as u32
        };
        for round in 0..2000u64 {
            let n = 2 + round % 9;
            let edges: Vec<Vec<u32>> =
                (0..n).map(|_| (0..random(4)).map(|_| random(n)).collect()).collect();
            let edges: Vec<&[u32]> = edges.iter().map(|e| &e[..]).collect();
            let function = graph(&edges);
            let cfg = Cfg::new(&function);
            let got = order(&function);
            let reachable = cfg.reverse_post_order().len();
            assert_eq!(got.len(), reachable, "{edges:?}");
            assert_eq!(got[0], BlockId(0));
            let place = |b: BlockId| got.iter().position(|x| *x == b);
            for (at, b) in got.iter().enumerate() {
                for s in &cfg.succs[b.0 as usize] {
                    let to = place(*s).expect("a successor of a reachable block is laid out");
                    // A backward edge stays inside a loop: everything between reaches the target.
                    if to <= at {
                        for between in &got[to..=at] {
                            assert!(reaches(&cfg, *between, *s), "{edges:?} {got:?}");
                        }
                    }
                }
            }
        }
    }

    fn reaches(cfg: &Cfg, from: BlockId, to: BlockId) -> bool {
        let mut seen = vec![false; cfg.succs.len()];
        let mut work = vec![from];
        while let Some(b) = work.pop() {
            if b == to {
                return true;
            }
            if !std::mem::replace(&mut seen[b.0 as usize], true) {
                work.extend(cfg.succs[b.0 as usize].iter().copied());
            }
        }
        false
    }
}
