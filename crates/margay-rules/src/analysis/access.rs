// SPDX-License-Identifier: MIT OR Apache-2.0
//! Accesses to arrays: what they index and where it lies.

use super::{Affine, Facts};
use crate::tree::{DeclId, Kind, NodeId, Unary};

/// A subscripted access, `a[i][j]` as one.
#[derive(Clone, Debug)]
pub struct Access {
    /// The outermost subscript.
    pub node: NodeId,
    /// The array or pointer at its root.
    pub root: DeclId,
    /// Indices, the outermost dimension first.
    pub indices: Vec<NodeId>,
    pub reads: bool,
    pub writes: bool,
}

impl Facts<'_> {
    /// The accesses below a node, in source order.
    pub fn accesses(&self, below: NodeId) -> Vec<Access> {
        let tree = self.tree;
        tree.below(below)
            .filter(|n| tree[*n].kind == Kind::Subscript && !self.is_inner_subscript(*n))
            .filter_map(|n| self.access(n))
            .collect()
    }

    /// The base of another subscript: `a[i]` in `a[i][j]`.
    fn is_inner_subscript(&self, node: NodeId) -> bool {
        let mut at = node;
        while let Some(parent) = self.tree[at].parent {
            match self.tree[parent].kind {
                Kind::Implicit | Kind::Parenthesis => at = parent,
                Kind::Subscript => return self.tree[parent].children.first() == Some(&at),
                _ => return false,
            }
        }
        false
    }

    /// Reads a subscript.
    pub fn access(&self, node: NodeId) -> Option<Access> {
        let tree = self.tree;
        let mut indices = Vec::new();
        let mut at = tree.plain(node);
        while tree[at].kind == Kind::Subscript {
            let [base, index] = tree[at].children.as_slice() else { return None };
            indices.push(*index);
            at = tree.plain(*base);
        }
        indices.reverse();
        let root = tree.refers_to(at)?;
        let (reads, writes) = self.use_of(node)?;
        Some(Access { node, root, indices, reads, writes })
    }

    /// Whether an lvalue is read and written where it stands; `None` if its address escapes.
    pub fn use_of(&self, node: NodeId) -> Option<(bool, bool)> {
        let tree = self.tree;
        let mut at = node;
        loop {
            let parent = tree[at].parent?;
            match tree[parent].kind {
                Kind::Parenthesis => at = parent,
                Kind::Member => at = parent,
                Kind::Assign(operator) if tree[parent].children.first() == Some(&at) => {
                    return Some((operator.is_some(), true));
                }
                Kind::Unary(operator) if operator.writes() => return Some((true, true)),
                Kind::Unary(Unary::AddressOf) => return None,
                Kind::SizeOf => return Some((false, false)),
                // An array that decays is an address; everything else is a load.
                Kind::Implicit if tree.type_of(at).is_array() => return None,
                Kind::Call | Kind::Launch if !tree[at].kind.eq(&Kind::Implicit) => return None,
                _ => return Some((true, false)),
            }
        }
    }

    /// The element index of an access into an array of known dimensions, counted in innermost elements.
    pub fn element_index(&self, access: &Access) -> Option<Affine> {
        let mut ty = self.tree.decl_type(access.root);
        let mut total = Affine::default();
        for (i, index) in access.indices.iter().enumerate() {
            let index = self.affine(*index)?;
            if i == 0 && ty.is_pointer() {
                ty = ty.pointee();
            } else if ty.is_array() {
                ty = ty.element();
            } else {
                return None;
            }
            let mut inner = 1i64;
            let mut element = ty;
            while element.is_array() {
                inner = inner.checked_mul(i64::try_from(element.length()?).ok()?)?;
                element = element.element();
            }
            total = total.add(&index.times(&Affine::constant(inner))?, 1)?;
        }
        (!ty.is_array()).then_some(total)
    }
}
