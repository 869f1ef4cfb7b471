// SPDX-License-Identifier: MIT OR Apache-2.0
//! MG119: `__noinline__` and `__forceinline__` exclude each other.

use crate::analysis::Facts;
use crate::finding::{Finding, Severity};
use crate::rule::{Example, Group, Holds, Rule};

/// The rule.
pub static RULE: Rule = Rule {
    code: "MG119",
    name: "noinline-and-forceinline",
    group: Group::Functions,
    summary: "`__noinline__` and `__forceinline__` exclude each other",
    severity: Severity::Error,
    what: "Reports functions that have both.",
    why: "One asks for what the other forbids.",
    illegal: Example::new(
        r#"__device__ __noinline__ __forceinline__ int f() { return 1; }
__global__ void k(int *p) { p[0] = f(); }
"#,
    ),
    legal: Example::new(
        r#"__device__ __noinline__ int f() { return 1; }
__global__ void k(int *p) { p[0] = f(); }
"#,
    ),
    manual: "CUDA C++ Programming Guide, \"Inlining specifiers\"",
    holds: Holds::ALWAYS,
    fix: "",
    clang: &[
        "'noinline' and 'always_inline' attributes are not compatible",
        "'always_inline' and 'noinline' attributes are not compatible",
    ],
    check: Some(check),
};

fn check(facts: &Facts<'_>, out: &mut Vec<Finding>) {
    let tree = facts.tree;
    for function in tree.decl_ids() {
        let decl = &tree[function];
        if let Some(&node) = decl.nodes.first()
            && decl.qualifiers.noinline
            && decl.qualifiers.forceinline
        {
            let message = format!("`{}` is both `__noinline__` and `__forceinline__`", decl.name);
            out.push(Finding::new(RULE.code, facts.name_place(node), message));
        }
    }
}
