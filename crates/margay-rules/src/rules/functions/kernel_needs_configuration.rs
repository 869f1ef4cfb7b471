// SPDX-License-Identifier: MIT OR Apache-2.0
//! MG102: A kernel is called with an execution configuration.

use crate::analysis::Facts;
use crate::finding::{Finding, Severity};
use crate::rule::{Example, Group, Holds, Rule};
use crate::tree::Kind;

/// The rule.
pub static RULE: Rule = Rule {
    code: "MG102",
    name: "kernel-needs-configuration",
    group: Group::Functions,
    summary: "A kernel is called with an execution configuration",
    severity: Severity::Error,
    what: "Reports plain calls of a `__global__` function.",
    why: "Without `<<<grid, block>>>` it is not said how many threads run the kernel.",
    illegal: Example::new(
        r#"__global__ void k(int *p) {}
int main() { k(0); }
"#,
    ),
    legal: Example::new(
        r#"__global__ void k(int *p) {}
int main() { k<<<1, 32>>>(0); return cudaDeviceSynchronize(); }
"#,
    ),
    manual: "CUDA C++ Programming Guide, \"Execution Configuration\"",
    holds: Holds::ALWAYS,
    fix: "",
    clang: &[
        "call to global function * not configured",
        "too few execution configuration arguments",
    ],
    check: Some(check),
};

fn check(facts: &Facts<'_>, out: &mut Vec<Finding>) {
    let tree = facts.tree;
    for call in tree.find(|k| k == Kind::Call) {
        let Some(callee) = tree[call].decl else { continue };
        if tree[callee].qualifiers.global {
            let message = format!("kernel `{}` is called without `<<<…>>>`", tree[callee].name);
            out.push(Finding::new(RULE.code, facts.place(call), message));
        }
    }
}
