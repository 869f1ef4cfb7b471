// SPDX-License-Identifier: MIT OR Apache-2.0
//! MG115: Memory-space specifiers do not go on static data members.

use crate::analysis::Facts;
use crate::finding::{Finding, Severity};
use crate::rule::{Example, Group, Holds, Rule};
use crate::tree::Kind;

/// The rule.
pub static RULE: Rule = Rule {
    code: "MG115",
    name: "static-data-member",
    group: Group::Functions,
    summary: "Memory-space specifiers do not go on static data members",
    severity: Severity::Error,
    what: "Reports `__device__`, `__constant__`, `__shared__` and `__managed__` on static data \
           members of classes.",
    why: "nvcc does not support them; a variable at namespace scope serves.",
    illegal: Example::new(
        r#"struct S { static __device__ int n; };
__device__ int S::n;
__global__ void k(int *p) { p[0] = S::n; }
"#,
    ),
    legal: Example::new(
        r#"struct S { static constexpr int n = 3; };
__global__ void k(int *p) { p[0] = S::n; }
"#,
    ),
    manual: "CUDA C++ Programming Guide, \"Static Data Members\"",
    holds: Holds::ALWAYS,
    fix: "",
    clang: &[],
    check: Some(check),
};

fn check(facts: &Facts<'_>, out: &mut Vec<Finding>) {
    let tree = facts.tree;
    for (node, decl) in facts.variables() {
        let q = decl.qualifiers;
        let specified = q.device || q.constant || q.shared || q.managed;
        let inside = tree[node].parent.is_some_and(|p| {
            matches!(tree[p].kind, Kind::Record | Kind::Union | Kind::ClassTemplate)
        });
        if specified && inside {
            let message =
                format!("static data member `{}` has a memory-space specifier", decl.name);
            out.push(Finding::new(RULE.code, facts.name_place(node), message));
        }
    }
}
