// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which expressions certainly differ between the threads of a block.

use super::{Facts, Symbol};
use crate::tree::{DeclId, Kind, NodeId, Unary};

impl Facts<'_> {
    /// Whether the value is computed from the thread's index, by arithmetic alone. What is loaded from
    /// memory or comes from an unknown function counts as not.
    pub fn depends_on_thread(&self, node: NodeId) -> bool {
        self.thread_dependent(node, &mut Vec::new())
    }

    fn thread_dependent(&self, node: NodeId, visiting: &mut Vec<DeclId>) -> bool {
        let tree = self.tree;
        match self.builtin(node) {
            Some(Symbol::Thread(_) | Symbol::Global(_)) => return true,
            Some(Symbol::Block(_) | Symbol::BlockSize(_) | Symbol::GridSize(_)) => return false,
            Some(Symbol::Variable(_)) | None => {}
        }
        match tree[node].kind {
            Kind::Reference => {
                let Some(decl) = tree[node].decl else { return false };
                if tree[decl].kind != Kind::Variable || visiting.contains(&decl) {
                    return false;
                }
                // A shared or global variable is one for all.
                let q = tree[decl].qualifiers;
                if q.shared || q.constant || q.device || q.managed {
                    return false;
                }
                visiting.push(decl);
                let yes = self.values(decl).iter().any(|v| self.thread_dependent(*v, visiting));
                visiting.pop();
                yes
            }
            Kind::Subscript | Kind::Unary(Unary::Dereference | Unary::AddressOf) => false,
            Kind::Member | Kind::Lambda | Kind::SizeOf => false,
            Kind::Call => {
                let pure =
                    ["min", "max", "abs", "umin", "umax", "__mul24", "mul24", "__umul24", "mad24"];
                tree.callee_name(node).is_some_and(|n| pure.contains(&n))
                    && tree.arguments(node).iter().any(|a| self.thread_dependent(*a, visiting))
            }
            _ => tree[node].children.iter().any(|c| self.thread_dependent(*c, visiting)),
        }
    }

    /// Everything that is assigned to a local variable, its initialiser included.
    pub fn values(&self, variable: DeclId) -> Vec<NodeId> {
        let tree = self.tree;
        let mut values: Vec<NodeId> =
            tree[variable].nodes.iter().filter_map(|n| tree.initialiser(*n)).collect();
        for write in tree.writes(variable) {
            if let Kind::Assign(_) = tree[write].kind
                && tree.refers_to(tree[write].children[0]) == Some(variable)
            {
                values.extend(tree[write].children.get(1));
            }
        }
        values
    }
}
