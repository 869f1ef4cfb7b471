// SPDX-License-Identifier: MIT OR Apache-2.0
//! MG213: The host does not dereference device pointers.

use crate::analysis::Facts;
use crate::finding::{Finding, Severity};
use crate::rule::{Example, Group, Holds, Rule};
use crate::tree::{DeclId, Kind, NodeId, Unary};

/// The rule.
pub static RULE: Rule = Rule {
    code: "MG213",
    name: "device-pointer-on-host",
    group: Group::Variables,
    summary: "The host does not dereference device pointers",
    severity: Severity::Warning,
    what: "Reports host code that dereferences a local pointer whose only value came from \
           `cudaMalloc`, `cudaMallocPitch`, `cudaMallocAsync` or `cudaGetSymbolAddress`.",
    why: "The address is one of device memory: the host faults, or reads something else.",
    illegal: Example::new(
        r#"int main() {
    int *p;
    cudaMalloc((void **)&p, sizeof(int));
    p[0] = 1;
    return cudaFree(p);
}
"#,
    ),
    legal: Example::new(
        r#"int main() {
    int *p;
    cudaMallocManaged((void **)&p, sizeof(int));
    p[0] = 1;
    return cudaFree(p);
}
"#,
    ),
    manual: "CUDA C++ Programming Guide, \"Device Memory\"",
    holds: Holds::ALWAYS,
    fix: "",
    clang: &[],
    check: Some(check),
};

const SOURCES: [&str; 5] = [
    "cudaMalloc",
    "cudaMallocPitch",
    "cudaMallocAsync",
    "cudaGetSymbolAddress",
    "cudaMallocFromPoolAsync",
];

fn check(facts: &Facts<'_>, out: &mut Vec<Finding>) {
    let tree = facts.tree;
    for node in facts.host(|k| matches!(k, Kind::Unary(Unary::Dereference) | Kind::Subscript)) {
        let Some(pointer) = tree[node].children.first().and_then(|b| tree.refers_to(*b)) else {
            continue;
        };
        let decl = &tree[pointer];
        if decl.kind != Kind::Variable || !tree.decl_type(pointer).is_pointer() {
            continue;
        }
        // `&p[i]` computes an address, which is fine.
        let parent = tree.above(node).find(|n| tree[*n].kind != Kind::Parenthesis);
        let address = parent.is_some_and(|p| matches!(tree[p].kind, Kind::Unary(Unary::AddressOf)));
        let unevaluated = tree.above(node).any(|n| tree[n].kind == Kind::SizeOf);
        if address || unevaluated {
            continue;
        }
        if let Some(source) = only_source(facts, pointer) {
            let message = format!("host code dereferences device pointer `{}`", decl.name);
            out.push(
                Finding::new(RULE.code, facts.place(node), message)
                    .also(facts.place(source), "it points to device memory")
                    .help("copy with cudaMemcpy, or allocate with cudaMallocManaged"),
            );
        }
    }
}

/// The one call that sets the pointer, if nothing else does.
fn only_source(facts: &Facts<'_>, pointer: DeclId) -> Option<NodeId> {
    let tree = facts.tree;
    let node = tree[pointer].definition?;
    let initialised = tree.initialiser(node).is_some_and(|v| {
        let text = tree.text(v);
        !matches!(text, "NULL" | "nullptr" | "0")
    });
    if initialised || !facts.is_local(node) {
        return None;
    }
    let mut source = None;
    for write in tree.writes(pointer) {
        match tree[write].kind {
            Kind::Unary(Unary::AddressOf) => {
                let call = tree.above(write).find(|n| matches!(tree[*n].kind, Kind::Call))?;
                if !SOURCES.contains(&tree.callee_name(call)?)
                    || tree.arguments(call).first().map(|a| tree.uncast(*a)) != Some(write)
                {
                    return None;
                }
                source = Some(call);
            }
            // `p[0] = 1` writes what it points to.
            Kind::Assign(_) if tree.refers_to(tree[write].children[0]) != Some(pointer) => {}
            Kind::Unary(operator)
                if operator.writes()
                    && tree.refers_to(tree[write].children[0]) != Some(pointer) => {}
            _ => return None,
        }
    }
    source
}
