// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kernel launches: `<<<…>>>` and what is known of its configuration.

use super::Facts;
use crate::tree::{DeclId, Kind, NodeId};

/// One launch.
#[derive(Clone, Debug)]
pub struct Launch {
    pub node: NodeId,
    /// The kernel, if it is named; a template's is its template.
    pub kernel: Option<DeclId>,
    pub grid_node: NodeId,
    pub block_node: NodeId,
    pub shared_node: Option<NodeId>,
    /// Blocks, by dimension, where known.
    pub grid: [Option<i64>; 3],
    /// Threads of a block, by dimension, where known.
    pub block: [Option<i64>; 3],
    /// Dynamic shared memory in bytes, where known.
    pub shared: Option<i64>,
    /// The kernel's arguments.
    pub arguments: Vec<NodeId>,
}

impl Launch {
    /// Threads of a block, if all dimensions are known.
    pub fn threads(&self) -> Option<i64> {
        let [x, y, z] = self.block;
        x?.checked_mul(y?)?.checked_mul(z?)
    }
}

pub(super) fn all(facts: &Facts<'_>) -> Vec<Launch> {
    let tree = facts.tree;
    let mut found = Vec::new();
    for node in tree.find(|k| k == Kind::Launch) {
        let children = &tree[node].children;
        let configuration = children[1];
        let arguments = tree.arguments(configuration);
        let (Some(&grid_node), Some(&block_node)) = (arguments.first(), arguments.get(1)) else {
            continue;
        };
        let is_default =
            |n: &NodeId| tree[*n].kind == Kind::Implicit && tree[*n].children.is_empty();
        let shared_node = arguments.get(2).copied().filter(|n| !is_default(n));
        let dependent = tree[node].dependent;
        let dimensions = |n| if dependent { [None; 3] } else { facts.dimensions(n) };
        found.push(Launch {
            node,
            kernel: tree[node].decl,
            grid_node,
            block_node,
            shared_node,
            grid: dimensions(grid_node),
            block: dimensions(block_node),
            shared: match shared_node {
                Some(n) => facts.integer(n),
                None => Some(0),
            },
            arguments: tree.arguments(node).to_vec(),
        });
    }
    found
}
