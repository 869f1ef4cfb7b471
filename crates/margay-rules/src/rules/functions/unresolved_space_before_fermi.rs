// SPDX-License-Identifier: MIT OR Apache-2.0
//! MG113: Before 2.0 a pointer must be resolvable to shared or to global memory.

use crate::analysis::Facts;
use crate::finding::{Finding, Severity};
use crate::rule::{Example, Group, Holds, Rule};
use crate::tree::{DeclId, Kind, NodeId, Unary};

/// The rule.
pub static RULE: Rule = Rule {
    code: "MG113",
    name: "unresolved-space-before-2.0",
    group: Group::Functions,
    summary: "Before 2.0 a pointer must be resolvable to shared or to global memory",
    severity: Severity::Error,
    what: "Reports pointer variables of device code that are assigned both the address of shared \
           and of other memory.",
    why: "Devices of compute capability 1.x have no generic addresses: each load names its \
           space, so the compiler must know where a pointer points. Otherwise it assumes global \
           memory.",
    illegal: Example::new(
        r#"__global__ void k(float *g, int n) {
    __shared__ float s[32];
    float *p = s;
    if (n) p = g;
    p[threadIdx.x] = 1;
}
"#,
    )
    .sm(13),
    legal: Example::new(
        r#"__global__ void k(float *g, int n) {
    __shared__ float s[32];
    float *p = s;
    p[threadIdx.x] = 1;
    g[threadIdx.x] = p[threadIdx.x];
}
"#,
    )
    .sm(13),
    manual: "CUDA C Programming Guide 3.2, \"Variable Type Qualifiers\"",
    holds: Holds::before(20),
    fix: "",
    clang: &[],
    check: Some(check),
};

fn check(facts: &Facts<'_>, out: &mut Vec<Finding>) {
    let tree = facts.tree;
    for (node, decl) in facts.variables() {
        let Some(variable) = tree[node].decl.filter(|v| tree.decl_type(*v).is_pointer()) else {
            continue;
        };
        if !facts.on_device(node) {
            continue;
        }
        let values = facts.values(variable);
        let shared: Vec<NodeId> =
            values.iter().copied().filter(|v| in_shared(facts, *v) == Some(true)).collect();
        let other: Vec<NodeId> =
            values.iter().copied().filter(|v| in_shared(facts, *v) == Some(false)).collect();
        if let (Some(a), Some(b)) = (shared.first(), other.first()) {
            let message =
                format!("pointer `{}` may point to shared and to global memory", decl.name);
            out.push(
                Finding::new(RULE.code, facts.name_place(node), message)
                    .also(facts.place(*a), "shared")
                    .also(facts.place(*b), "not shared")
                    .note(format!("{} has no generic addressing", facts.capability())),
            );
        }
    }
}

/// Whether an address lies in shared memory, if its root says so.
fn in_shared(facts: &Facts<'_>, value: NodeId) -> Option<bool> {
    let tree = facts.tree;
    let value = tree.uncast(value);
    match tree[value].kind {
        Kind::Unary(Unary::AddressOf) => {
            let root = tree.root_variable(tree[value].children[0])?;
            by_root(facts, root)
        }
        Kind::Binary(_) => tree[value].children.iter().find_map(|c| in_shared(facts, *c)),
        Kind::Reference => by_root(facts, tree[value].decl?),
        _ => None,
    }
}

fn by_root(facts: &Facts<'_>, root: DeclId) -> Option<bool> {
    let decl = &facts.tree[root];
    if decl.qualifiers.shared {
        return Some(true);
    }
    let of_kernel = decl.kind == Kind::Parameter
        && facts.tree.decl_type(root).is_pointer()
        && decl.function.is_some_and(|f| facts.is_kernel(f));
    (of_kernel || decl.qualifiers.device).then_some(false)
}
