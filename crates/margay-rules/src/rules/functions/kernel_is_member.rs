// SPDX-License-Identifier: MIT OR Apache-2.0
//! MG117: A kernel is no member of a class.

use crate::analysis::Facts;
use crate::finding::{Finding, Severity};
use crate::rule::{Example, Group, Holds, Rule};
use crate::tree::Kind;

/// The rule.
pub static RULE: Rule = Rule {
    code: "MG117",
    name: "kernel-is-member",
    group: Group::Functions,
    summary: "A kernel is no member of a class",
    severity: Severity::Error,
    what: "Reports `__global__` member functions, static ones too, and `__global__` operators \
           and friends defined in a class.",
    why: "A launch passes no `this`; nvcc refuses all members.",
    illegal: Example::new(
        r#"struct S { static __global__ void k(int *p) { p[0] = 1; } };
"#,
    ),
    legal: Example::new(
        r#"__global__ void k(int *p) { p[0] = 1; }
"#,
    ),
    manual: "CUDA C++ Programming Guide, \"__global__\"",
    holds: Holds::ALWAYS,
    fix: "",
    clang: &["must be a free function or static member function"],
    check: Some(check),
};

fn check(facts: &Facts<'_>, out: &mut Vec<Finding>) {
    let tree = facts.tree;
    for node in tree.find(Kind::is_function) {
        let Some(decl) = tree[node].decl else { continue };
        let inside = tree[node].parent.is_some_and(|p| {
            matches!(tree[p].kind, Kind::Record | Kind::Union | Kind::ClassTemplate)
        });
        if tree[decl].qualifiers.global && inside {
            let message = format!("kernel `{}` is a member of a class", tree[decl].name);
            out.push(Finding::new(RULE.code, facts.name_place(node), message));
        }
    }
}
