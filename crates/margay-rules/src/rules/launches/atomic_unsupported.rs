// SPDX-License-Identifier: MIT OR Apache-2.0
//! MG307: Atomics exist for the type and the space.

use crate::analysis::Facts;
use crate::finding::{Finding, Severity};
use crate::rule::{Example, Group, Holds, Rule};
use crate::tree::{Kind, NodeId, Unary};

/// The rule.
pub static RULE: Rule = Rule {
    code: "MG307",
    name: "atomic-unsupported",
    group: Group::Launches,
    summary: "Atomics exist for the type and the space",
    severity: Severity::Error,
    what: "Reports atomic functions that the compute capability lacks: none on 1.0; global \
           32-bit from 1.1; shared 32-bit and global 64-bit from 1.2; shared 64-bit and `float` \
           addition from 2.0; `double` addition from 6.0; the functions with `_block` and \
           `_system` from 6.0.",
    why: "The function does not exist there, or quietly does not do what it says.",
    illegal: Example::new(
        r#"__global__ void k(double *p) { atomicAdd(p, 1.0); }
"#,
    )
    .sm(50),
    legal: Example::new(
        r#"__global__ void k(double *p) { atomicAdd(p, 1.0); }
"#,
    )
    .sm(60),
    manual: "CUDA C++ Programming Guide, \"Atomic Functions\"",
    holds: Holds::ALWAYS,
    fix: "",
    clang: &["no matching function for call to 'atomic", "use of undeclared identifier 'atomic"],
    check: Some(check),
};

fn check(facts: &Facts<'_>, out: &mut Vec<Finding>) {
    let tree = facts.tree;
    for call in facts.device(|k| k == Kind::Call) {
        let Some(name) = tree.callee_name(call).filter(|n| n.starts_with("atomic")) else {
            continue;
        };
        // A function of the program's own may be called so.
        if tree[call].decl.is_some_and(|d| tree[d].ours) {
            continue;
        }
        let Some(&address) = tree.arguments(call).first() else { continue };
        let pointer = tree.type_of(tree.plain(address));
        if !pointer.is_pointer() || tree[call].dependent {
            continue;
        }
        let ty = pointer.pointee();
        let shared = shared_root(facts, address);
        let wide = ty.size() == Some(8);
        let adds = name.starts_with("atomicAdd") || name.starts_with("atomicSub");
        let scoped = name.ends_with("_system") || name.ends_with("_block");
        let needed = if scoped || (ty.is_double() && adds) {
            60
        } else if (ty.is_float() && adds) || (wide && shared) {
            20
        } else if wide
            && matches!(name, "atomicMin" | "atomicMax" | "atomicAnd" | "atomicOr" | "atomicXor")
        {
            35
        } else if wide || shared {
            12
        } else {
            11
        };
        if facts.sm() < needed {
            let space = if shared { "shared" } else { "global" };
            let message = format!("`{name}` on `{}` in {space} memory", ty.spelling());
            out.push(Finding::new(RULE.code, facts.place(call), message).note(format!(
                "it needs compute capability {}.{}; this is {}",
                needed / 10,
                needed % 10,
                facts.capability()
            )));
        }
    }
}

fn shared_root(facts: &Facts<'_>, address: NodeId) -> bool {
    let tree = facts.tree;
    let node = tree.uncast(address);
    let root = match tree[node].kind {
        Kind::Unary(Unary::AddressOf) => tree.root_variable(tree[node].children[0]),
        Kind::Binary(_) => tree.root_variable(tree[node].children[0]),
        _ => tree.root_variable(node),
    };
    root.is_some_and(|r| tree[r].qualifiers.shared)
}
