// SPDX-License-Identifier: MIT OR Apache-2.0
//! MG218: All `extern __shared__` arrays start at the same address.

use crate::analysis::Facts;
use crate::finding::{Finding, Severity};
use crate::rule::{Example, Group, Holds, Rule};
use crate::tree::{DeclId, Kind, NodeId};

/// The rule.
pub static RULE: Rule = Rule {
    code: "MG218",
    name: "dynamic-shared-alias",
    group: Group::Variables,
    summary: "All `extern __shared__` arrays start at the same address",
    severity: Severity::Warning,
    what: "Reports a function that uses two differently named `extern __shared__` arrays.",
    why: "There is one block of dynamic shared memory, and each of the arrays is all of it: \
           they overlap.",
    illegal: Example::new(
        r#"__global__ void k(int *p) {
    extern __shared__ int a[];
    extern __shared__ float b[];
    a[0] = 1;
    b[0] = 2;
    p[0] = a[0];
}
"#,
    ),
    legal: Example::new(
        r#"__global__ void k(int *p, int n) {
    extern __shared__ int a[];
    float *b = (float *)&a[n];
    a[0] = 1;
    b[0] = 2;
    p[0] = a[0];
}
"#,
    ),
    manual: "CUDA C++ Programming Guide, \"__shared__\"",
    holds: Holds::ALWAYS,
    fix: "",
    clang: &[],
    check: Some(check),
};

fn check(facts: &Facts<'_>, out: &mut Vec<Finding>) {
    let tree = facts.tree;
    for &function in &tree.functions {
        let Some(body) = tree.body(function).filter(|b| facts.on_device(*b)) else { continue };
        let mut used: Vec<(DeclId, NodeId)> = Vec::new();
        for node in tree.below(body).filter(|n| tree[*n].kind == Kind::Reference) {
            let Some(variable) = tree[node].decl else { continue };
            let decl = &tree[variable];
            let dynamic = decl.qualifiers.shared && tree.decl_type(variable).is_unsized_array();
            if dynamic && !used.iter().any(|(v, _)| tree[*v].name == decl.name) {
                used.push((variable, node));
            }
        }
        if let [(first, first_use), (second, second_use), ..] = used.as_slice() {
            let message = format!(
                "`{}` and `{}` are the same dynamic shared memory",
                tree[*first].name, tree[*second].name
            );
            out.push(
                Finding::new(RULE.code, facts.place(*second_use), message)
                    .also(facts.place(*first_use), "used here too")
                    .help("declare one array and place the others in it with offsets"),
            );
        }
    }
}
