// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which calls synchronise threads.

use super::Facts;
use crate::tree::{DeclId, Kind, NodeId};

/// Barriers of the block that every thread must reach.
pub const BLOCK_BARRIERS: &[&str] = &[
    "__syncthreads",
    "__syncthreads_count",
    "__syncthreads_and",
    "__syncthreads_or",
    "barrier",
    "work_group_barrier",
];

impl Facts<'_> {
    /// A call of a barrier of the block.
    pub fn is_block_barrier(&self, call: NodeId) -> bool {
        self.tree.callee_name(call).is_some_and(|n| BLOCK_BARRIERS.contains(&n))
    }

    /// Whether the code below may order memory accesses of different threads: a barrier or fence of any kind,
    /// or a call of a function whose body is not known to be free of them.
    pub fn may_synchronise(&self, node: NodeId) -> bool {
        self.may_synchronise_within(node, &mut Vec::new())
    }

    fn may_synchronise_within(&self, node: NodeId, visiting: &mut Vec<DeclId>) -> bool {
        let tree = self.tree;
        tree.below(node).any(|n| match tree[n].kind {
            Kind::Asm | Kind::Lambda => true,
            Kind::Call if tree.is_construction(n) => false,
            Kind::Call => match tree[n].decl {
                None => true,
                Some(callee) if !tree[callee].kind.is_function() => true,
                Some(callee) if tree[callee].ours => {
                    if visiting.contains(&callee) {
                        return false;
                    }
                    let Some(body) = tree.body(callee) else { return true };
                    visiting.push(callee);
                    let yes = self.may_synchronise_within(body, visiting);
                    visiting.pop();
                    yes
                }
                Some(callee) => orders(&tree[callee].name),
            },
            _ => false,
        })
    }
}

/// Library functions that order memory, or hand values between threads.
fn orders(name: &str) -> bool {
    let marks =
        ["sync", "fence", "barrier", "shfl", "vote", "ballot", "wait", "arrive", "any", "all"];
    marks.iter().any(|m| name.contains(m)) || name.starts_with("__nv")
}
