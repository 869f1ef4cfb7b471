// SPDX-License-Identifier: MIT OR Apache-2.0
//! MG602: A local array indexed at run time lies in local memory.

use crate::analysis::Facts;
use crate::finding::{Finding, Severity};
use crate::rule::{Example, Group, Holds, Rule};
use crate::tree::{Kind, NodeId};

/// The rule.
pub static RULE: Rule = Rule {
    code: "MG602",
    name: "local-array-indexed",
    group: Group::Hints,
    summary: "A local array indexed at run time lies in local memory",
    severity: Severity::Hint,
    what: "Reports arrays of a thread that are indexed by an expression of the thread's index.",
    why: "Registers have no index. The compiler puts the array into local memory, which is off \
           the chip.",
    illegal: Example::new(
        r#"__global__ void k(int *p) {
    int a[8];
    for (int i = 0; i < 8; i++) a[i] = p[i];
    p[threadIdx.x] = a[threadIdx.x % 8];
}
"#,
    ),
    legal: Example::new(
        r#"__global__ void k(int *p) {
    int a[8];
    for (int i = 0; i < 8; i++) a[i] = p[i];
    p[threadIdx.x] = a[3];
}
"#,
    ),
    manual: "CUDA C++ Programming Guide, \"Local Memory\"",
    holds: Holds::ALWAYS,
    fix: "",
    clang: &[],
    check: Some(check),
};

fn check(facts: &Facts<'_>, out: &mut Vec<Finding>) {
    let tree = facts.tree;
    let mut said = Vec::new();
    for access in facts.device_accesses() {
        let decl = &tree[access.root];
        let q = decl.qualifiers;
        let spaced = q.shared || q.constant || q.device || q.managed;
        let Some(node) = decl.definition.filter(|_| decl.kind == Kind::Variable && !spaced) else {
            continue;
        };
        let own = facts.is_local(node)
            && !facts.has_word(node, "static")
            && tree.decl_type(access.root).is_array()
            && !facts.is_shared(access.root)
            && !facts.is_constant(access.root);
        if !own || said.contains(&access.root) {
            continue;
        }
        // The kernel's parameters are known at run time only; a counter may go when its loop is unrolled.
        let is_parameter = |n: NodeId| {
            let decl = tree[n].decl.filter(|_| tree[n].kind == Kind::Reference);
            decl.is_some_and(|d| {
                let function = tree[d].function.filter(|_| tree[d].kind == Kind::Parameter);
                tree.decl_type(d).is_integer() && function.is_some_and(|f| facts.is_kernel(f))
            })
        };
        let at_run_time = |i: NodeId| facts.depends_on_thread(i) || tree.below(i).any(is_parameter);
        if access.indices.iter().any(|i| at_run_time(*i)) {
            said.push(access.root);
            let message =
                format!("array `{}` is indexed at run time, so it lies in local memory", decl.name);
            out.push(
                Finding::new(RULE.code, facts.place(access.node), message)
                    .also(facts.name_place(node), "one for each thread"),
            );
        }
    }
}
