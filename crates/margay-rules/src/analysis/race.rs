// SPDX-License-Identifier: MIT OR Apache-2.0
//! Accesses of different threads to one shared element with nothing between them that orders them.
//!
//! Only straight-line code: a write in a list of statements, and a later statement of the same list that
//! certainly reads an element which another thread wrote. Invariant: whatever might synchronise ends the
//! search.

use super::access::Access;
use super::{Affine, Facts, Symbol};
use crate::tree::{Binary, DeclId, Kind, NodeId};

/// A write and a read of another thread's element.
pub struct Pair {
    pub write: NodeId,
    pub read: NodeId,
    pub array: DeclId,
    /// The code runs under a condition that keeps it to one warp: `if (tid < 32)`.
    pub in_warp: bool,
    pub volatile: bool,
}

struct Write {
    node: NodeId,
    array: DeclId,
    index: Affine,
}

impl Facts<'_> {
    /// All certain pairs of the device code.
    pub fn unordered_pairs(&self) -> Vec<Pair> {
        let tree = self.tree;
        let mut pairs = Vec::new();
        for list in self.device(|k| k == Kind::Compound) {
            self.pairs_of(list, &mut pairs);
        }
        pairs.sort_by_key(|p| tree[p.read].span);
        pairs.dedup_by_key(|p| p.read);
        pairs
    }

    fn pairs_of(&self, list: NodeId, pairs: &mut Vec<Pair>) {
        let tree = self.tree;
        let in_warp = self.under_warp_condition(list);
        let mut writes: Vec<Write> = Vec::new();
        for &statement in &tree[list].children {
            if self.may_synchronise(statement) {
                writes.clear();
                continue;
            }
            for access in self.accesses(statement).into_iter().filter(|a| a.reads) {
                let Some(write) = writes.iter().find(|w| self.meets(w, &access, statement)) else {
                    continue;
                };
                pairs.push(Pair {
                    write: write.node,
                    read: access.node,
                    array: access.root,
                    in_warp,
                    volatile: tree.decl_type(access.root).holds_volatile(),
                });
            }
            match tree[statement].kind {
                Kind::Assign(_) => {
                    let target = tree[statement].children[0];
                    if let Some(write) = self.write_of(statement, target) {
                        writes.push(write);
                    }
                }
                Kind::Return | Kind::Break | Kind::Continue | Kind::Goto | Kind::Label => break,
                _ => {}
            }
        }
    }

    fn write_of(&self, statement: NodeId, target: NodeId) -> Option<Write> {
        let access = self.access(target)?;
        let shared = self.is_shared(access.root) && self.tree.decl_type(access.root).is_array();
        if !shared || self.tree[statement].dependent && access.indices.len() > 1 {
            return None;
        }
        let index = self.element_index(&access)?;
        // Each thread must write an element of its own, along x alone.
        let moves = index.stride(0).is_some_and(|s| s != 0);
        let flat = index.stride(1) == Some(0) && index.stride(2) == Some(0);
        let certain = index.symbols().all(|s| self.is_known_here(s));
        (moves && flat && certain).then_some(Write { node: statement, array: access.root, index })
    }

    fn is_known_here(&self, symbol: Symbol) -> bool {
        match symbol {
            Symbol::Variable(v) => self.certainly_uniform(v, 0),
            Symbol::Thread(_)
            | Symbol::Global(_)
            | Symbol::Block(_)
            | Symbol::BlockSize(_)
            | Symbol::GridSize(_) => true,
        }
    }

    /// Whether a read certainly sees an element that a thread other than the reader wrote.
    fn meets(&self, write: &Write, read: &Access, statement: NodeId) -> bool {
        if read.root != write.array {
            return false;
        }
        let Some(index) = self.element_index(read) else { return false };
        if !index.symbols().all(|s| self.is_known_here(s)) {
            return false;
        }
        let Some(stride) = write.index.stride(0).filter(|s| *s != 0) else { return false };
        let Some(distance) = index.add(&write.index, -1) else { return false };
        match (index.stride(0), distance.value()) {
            // A shifted copy of the write.
            (Some(same), Some(distance)) if same == stride => {
                distance != 0 && distance % stride == 0 && (distance / stride).abs() < 1024
            }
            // One element for all, read by more threads than the one that wrote it.
            (Some(0), _) => {
                index.value().is_some_and(|at| {
                    let offset = write.index.offset();
                    write
                        .index
                        .add(
                            &Affine::symbol(Symbol::Thread(0))
                                .times(&Affine::constant(stride))
                                .unwrap_or_default(),
                            -1,
                        )
                        .and_then(|rest| rest.value())
                        .is_some()
                        && (at - offset) % stride == 0
                        && (at - offset) / stride >= 0
                        && (at - offset) / stride < 32
                }) && !self.under_thread_condition(read.node, statement)
            }
            _ => false,
        }
    }

    /// Whether a condition between a node and the statement around it depends on the thread.
    fn under_thread_condition(&self, node: NodeId, outer: NodeId) -> bool {
        let tree = self.tree;
        let mut at = node;
        while at != outer {
            let Some(parent) = tree[at].parent else { return false };
            let condition = tree[parent].children.first().copied();
            let branches = matches!(tree[parent].kind, Kind::If | Kind::Conditional | Kind::Switch)
                || tree[parent].kind.is_loop()
                || matches!(
                    tree[parent].kind,
                    Kind::Binary(Binary::LogicalAnd | Binary::LogicalOr)
                );
            if branches
                && condition != Some(at)
                && condition.is_some_and(|c| self.depends_on_thread(c))
            {
                return true;
            }
            at = parent;
        }
        false
    }

    /// Inside `if (tid < N)` with N at most a warp.
    fn under_warp_condition(&self, node: NodeId) -> bool {
        let tree = self.tree;
        let mut at = node;
        for above in tree.above(node) {
            if tree[above].kind == Kind::If {
                let condition = tree[above].children[0];
                if condition != at && self.keeps_to_a_warp(condition) {
                    return true;
                }
            }
            at = above;
        }
        false
    }

    fn keeps_to_a_warp(&self, condition: NodeId) -> bool {
        let tree = self.tree;
        let node = tree.plain(condition);
        let Kind::Binary(operator) = tree[node].kind else { return false };
        let (left, right) = (tree[node].children[0], tree[node].children[1]);
        let limit = match operator {
            Binary::Less => self.integer(right),
            Binary::LessEqual => self.integer(right).map(|n| n + 1),
            _ => return false,
        };
        limit.is_some_and(|n| n <= 32) && self.depends_on_thread(left)
    }
}
