// SPDX-License-Identifier: MIT OR Apache-2.0
//! MG112: A kernel has no ellipsis.

use crate::analysis::Facts;
use crate::finding::{Finding, Severity};
use crate::rule::{Example, Group, Holds, Rule};

/// The rule.
pub static RULE: Rule = Rule {
    code: "MG112",
    name: "variadic-kernel",
    group: Group::Functions,
    summary: "A kernel has no ellipsis",
    severity: Severity::Error,
    what: "Reports `__global__` functions with a variable number of arguments.",
    why: "The parameters of a launch are laid out when the program is compiled.",
    illegal: Example::new(
        r#"__global__ void k(int *p, ...) { p[0] = 1; }
"#,
    ),
    legal: Example::new(
        r#"__global__ void k(int *p, int a, int b) { p[0] = a + b; }
"#,
    ),
    manual: "CUDA C++ Programming Guide, \"__global__ Function Parameters\"",
    holds: Holds::ALWAYS,
    fix: "",
    clang: &[],
    check: Some(check),
};

fn check(facts: &Facts<'_>, out: &mut Vec<Finding>) {
    let tree = facts.tree;
    for function in tree.decl_ids().filter(|d| tree[*d].qualifiers.global) {
        let decl = &tree[function];
        if let Some(&node) = decl.nodes.first()
            && tree.decl_type(function).is_variadic()
        {
            let message = format!("kernel `{}` has a variable number of arguments", decl.name);
            out.push(Finding::new(RULE.code, facts.name_place(node), message));
        }
    }
}
