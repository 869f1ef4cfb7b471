// SPDX-License-Identifier: MIT OR Apache-2.0
//! MG210: The host does not read or write device variables directly.

use crate::analysis::Facts;
use crate::finding::{Finding, Severity};
use crate::rule::{Example, Group, Holds, Rule};
use crate::tree::{Kind, NodeId};

/// The rule.
pub static RULE: Rule = Rule {
    code: "MG210",
    name: "device-variable-on-host",
    group: Group::Variables,
    summary: "The host does not read or write device variables directly",
    severity: Severity::Warning,
    what: "Reports `__device__`, `__constant__` and `__shared__` variables that host code reads \
           or writes, other than through `cudaMemcpyToSymbol`, `cudaMemcpyFromSymbol` and the \
           like.",
    why: "The host sees a shadow of the variable, which the device never touches: what it reads \
           there means nothing. clang and nvcc compile it.",
    illegal: Example::new(
        r#"__device__ int d;
int main() { return d; }
"#,
    ),
    legal: Example::new(
        r#"__device__ int d;
int main() {
    int n = 0;
    cudaMemcpyFromSymbol(&n, d, sizeof(n));
    return n;
}
"#,
    ),
    manual: "CUDA C++ Programming Guide, \"Device memory space specifiers\"; nvcc warns with \
           #20091",
    holds: Holds::ALWAYS,
    fix: "",
    clang: &[],
    check: Some(check),
};

fn check(facts: &Facts<'_>, out: &mut Vec<Finding>) {
    let tree = facts.tree;
    for node in facts.host(|k| k == Kind::Reference) {
        let Some(variable) = tree[node].decl else { continue };
        let decl = &tree[variable];
        let q = decl.qualifiers;
        let on_device = (q.device || q.constant || q.shared) && !q.managed;
        if decl.kind != Kind::Variable || !on_device || !decl.ours {
            continue;
        }
        // The host has the value of a constant.
        let ty = tree.decl_type(variable);
        let folded = ty.is_const()
            && decl.nodes.iter().any(|n| tree.initialiser(*n).is_some())
            && !ty.is_array();
        let Some(how) = use_in(facts, node).filter(|_| !folded) else { continue };
        let space = if q.constant {
            "constant"
        } else if q.shared {
            "shared"
        } else {
            "device"
        };
        let message = format!("host code {how} {space} variable `{}`", decl.name);
        let (to, from) = ("cudaMemcpyToSymbol", "cudaMemcpyFromSymbol");
        out.push(
            Finding::new(RULE.code, facts.place(node), message)
                .note("the host has a shadow of it, not its value")
                .help(format!("copy with {}", if how == "writes" { to } else { from })),
        );
    }
}

/// How host code uses a variable, if it reads or writes it.
fn use_in(facts: &Facts<'_>, node: NodeId) -> Option<&'static str> {
    let tree = facts.tree;
    if tree.above(node).any(|n| tree[n].kind == Kind::SizeOf) {
        return None;
    }
    // Up through subscripts and members to the whole lvalue.
    let mut at = node;
    loop {
        let parent = tree[at].parent?;
        match tree[parent].kind {
            Kind::Parenthesis | Kind::Member => at = parent,
            Kind::Subscript if tree.plain(tree[parent].children[0]) == tree.plain(at) => {
                at = parent
            }
            Kind::Implicit if tree.type_of(at).is_array() => at = parent,
            Kind::Implicit => break,
            Kind::Assign(operator) if tree[parent].children.first() == Some(&at) => {
                return Some(if operator.is_some() { "reads and writes" } else { "writes" });
            }
            Kind::Unary(operator) if operator.writes() => return Some("reads and writes"),
            _ => return None,
        }
    }
    // A load, unless it was only an array's decay to a pointer, or a reference is bound.
    let parent = tree[at].parent?;
    let user = tree.above(at).find(|n| tree[*n].kind != Kind::Implicit)?;
    if tree[user].kind == Kind::Call && tree.binds_reference(user, at) {
        return None;
    }
    (!tree.type_of(at).is_array() && tree[parent].kind == Kind::Implicit).then_some("reads")
}
