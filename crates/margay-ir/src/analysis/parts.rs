// SPDX-License-Identifier: MIT OR Apache-2.0
//! Parts of a kernel that data decide: blocks of its code that run, or by which lanes, as a branch on data says.
//!
//! Lanes that part go on at the lowest address first, and meet where they are at the same. So what comes behind a branch is as if
//! no lanes had parted from the block on to which all ways from it lead, if all between lies before that.

use std::collections::BTreeSet;

use super::cfg::successors;
use crate::inst::Term;
use crate::module::Function;

/// Marks the blocks of the code that depend on which way the branch at the end of `branch` goes.
pub fn mark(f: &Function, branch: usize, parts: &mut [bool]) {
    let next = |block: usize| successors(&f.blocks[block].term).into_iter().map(|b| b.0 as usize);
    let mut met = vec![false; f.blocks.len()];
    let mut waiting: BTreeSet<usize> = next(branch).collect();
    let (mut last, mut gone) = (branch, false);
    while let Some(block) = waiting.pop_first() {
        if waiting.is_empty() && block > last && !gone {
            return;
        }
        (met[block], parts[block]) = (true, true);
        last = last.max(block);
        // Lanes that have ended are missing in all that comes.
        gone |= matches!(f.blocks[block].term, Term::Ret | Term::Exit);
        waiting.extend(next(block).filter(|next| !met[*next]));
    }
}

#[cfg(test)]
mod tests {
    use super::super::cfg::tests::graph;
    use super::*;

    fn marked(edges: &[&[u32]], branch: usize) -> Vec<usize> {
        let mut parts = vec![false; edges.len()];
        mark(&graph(edges), branch, &mut parts);
        (0..edges.len()).filter(|n| parts[*n]).collect()
    }

    #[test]
    fn what_comes_after_all_ways_have_met_is_not_marked() {
        // A choice with one side, and with two.
        assert_eq!(marked(&[&[1, 2], &[2], &[]], 0), [1]);
        assert_eq!(marked(&[&[2, 1], &[3], &[3], &[]], 0), [1, 2]);
        // A loop that the branch ends: its blocks, not what comes behind.
        assert_eq!(marked(&[&[1], &[2], &[1, 3], &[]], 2), [1, 2]);
        assert_eq!(marked(&[&[1], &[1, 2], &[1, 3], &[]], 1), [1]);
        // A choice inside a loop that is left otherwise.
        assert_eq!(marked(&[&[1], &[2, 3], &[3], &[1, 4], &[]], 1), [2]);
    }

    #[test]
    fn where_lanes_do_not_meet_in_order_all_is_marked() {
        // Some lanes begin the loop anew before the others have come so far.
        assert_eq!(marked(&[&[1], &[2, 4], &[1, 3], &[1], &[]], 2), [1, 2, 3]);
        // Some end.
        assert_eq!(marked(&[&[1, 2], &[], &[3], &[]], 0), [1, 2, 3]);
        // Where they meet lies before one side.
        assert_eq!(marked(&[&[3, 2], &[], &[1], &[2]], 0), [1, 2, 3]);
    }
}
