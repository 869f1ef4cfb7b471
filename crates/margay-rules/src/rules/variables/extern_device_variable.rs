// SPDX-License-Identifier: MIT OR Apache-2.0
//! MG206: Without separate compilation only the dynamic shared array is extern.

use crate::analysis::Facts;
use crate::finding::{Finding, Severity};
use crate::rule::{Example, Group, Holds, Rule};

/// The rule.
pub static RULE: Rule = Rule {
    code: "MG206",
    name: "extern-device-variable",
    group: Group::Variables,
    summary: "Without separate compilation only the dynamic shared array is extern",
    severity: Severity::Error,
    what: "Reports `extern` on `__device__`, `__constant__` and `__managed__` variables that the \
           file does not define, unless `-rdc=true`, and on `__shared__` variables that are no \
           unsized array.",
    why: "Without relocatable device code each file is linked alone; nvcc turns the declaration \
           into a definition of its own, and the two files do not share the variable.",
    illegal: Example::new(
        r#"extern __device__ int v;
__global__ void k(int *p) { p[0] = v; }
"#,
    ),
    legal: Example::new(
        r#"__device__ int v;
__global__ void k(int *p) {
    extern __shared__ int s[];
    s[0] = v;
    p[0] = s[0];
}
"#,
    ),
    manual: "CUDA C++ Programming Guide, \"Variable Memory Space Specifiers\"",
    holds: Holds::ALWAYS,
    fix: "",
    clang: &["__shared__ variable * cannot be 'extern'"],
    check: Some(check),
};

fn check(facts: &Facts<'_>, out: &mut Vec<Finding>) {
    if facts.environment.relocatable {
        return;
    }
    let tree = facts.tree;
    for (node, decl) in facts.variables() {
        let q = decl.qualifiers;
        let spaced = (q.device || q.constant || q.managed) && !q.shared;
        if !spaced || !facts.has_word(node, "extern") || tree.initialiser(node).is_some() {
            continue;
        }
        let defined = decl.nodes.iter().any(|n| !facts.has_word(*n, "extern"));
        if !defined {
            let message = format!("`extern` device variable `{}` is not defined here", decl.name);
            out.push(
                Finding::new(RULE.code, facts.name_place(node), message)
                    .note("each file's device code is linked alone, unless -rdc=true"),
            );
        }
    }
}
