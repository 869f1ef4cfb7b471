// SPDX-License-Identifier: MIT OR Apache-2.0
//! MG109: Device code before 2.0 has no function pointers.

use crate::analysis::Facts;
use crate::finding::{Finding, Severity};
use crate::rule::{Example, Group, Holds, Rule};
use crate::tree::Kind;

/// The rule.
pub static RULE: Rule = Rule {
    code: "MG109",
    name: "function-pointer-before-2.0",
    group: Group::Functions,
    summary: "Device code before 2.0 has no function pointers",
    severity: Severity::Error,
    what: "Reports the address of a `__device__` function in device code. Pointers to kernels \
           are always legal.",
    why: "Without a call stack there are no indirect calls either.",
    illegal: Example::new(
        r#"__device__ int f(int n) { return n; }
__global__ void k(int *p) { int (*g)(int) = f; p[0] = g(1); }
"#,
    )
    .sm(13),
    legal: Example::new(
        r#"__device__ int f(int n) { return n; }
__global__ void k(int *p) { p[0] = f(1); }
"#,
    )
    .sm(13),
    manual: "CUDA C Programming Guide 3.2, \"Function Pointers\"",
    holds: Holds::before(20),
    fix: "",
    clang: &[],
    check: Some(check),
};

fn check(facts: &Facts<'_>, out: &mut Vec<Finding>) {
    let tree = facts.tree;
    for node in facts.device(|k| k == Kind::Reference) {
        let Some(function) = tree[node].decl else { continue };
        let q = tree[function].qualifiers;
        if !tree[function].kind.is_function() || q.global || !tree[function].ours {
            continue;
        }
        let user = tree.above(node).find(|n| tree[*n].kind != Kind::Implicit);
        if user.is_some_and(|c| tree[c].kind == Kind::Call && tree[c].decl == Some(function)) {
            continue;
        }
        let message = format!(
            "a pointer to `{}` in device code, and {} has no function pointers",
            tree[function].name,
            facts.capability()
        );
        out.push(Finding::new(RULE.code, facts.place(node), message));
    }
}
