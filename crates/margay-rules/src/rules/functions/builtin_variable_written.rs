// SPDX-License-Identifier: MIT OR Apache-2.0
//! MG114: Built-in variables are read-only and have no address.

use crate::analysis::Facts;
use crate::finding::{Finding, Severity};
use crate::rule::{Example, Group, Holds, Rule};
use crate::tree::{Kind, Unary};

/// The rule.
pub static RULE: Rule = Rule {
    code: "MG114",
    name: "builtin-variable-written",
    group: Group::Functions,
    summary: "Built-in variables are read-only and have no address",
    severity: Severity::Error,
    what: "Reports assignments to `threadIdx`, `blockIdx`, `blockDim`, `gridDim` and `warpSize`, \
           and `&` on them.",
    why: "They are special registers: the hardware sets them, and they lie in no memory.",
    illegal: Example::new(
        r#"__global__ void k(int *p) { threadIdx.x = 1; }
"#,
    ),
    legal: Example::new(
        r#"__global__ void k(int *p) { int x = threadIdx.x; x = 1; p[0] = x; }
"#,
    ),
    manual: "CUDA C++ Programming Guide, \"Built-in Variables\"",
    holds: Holds::ALWAYS,
    fix: "",
    clang: &[
        "no setter defined for property 'x'",
        "no setter defined for property 'y'",
        "no setter defined for property 'z'",
    ],
    check: Some(check),
};

const NAMES: [&str; 5] = ["threadIdx", "blockIdx", "blockDim", "gridDim", "warpSize"];

fn check(facts: &Facts<'_>, out: &mut Vec<Finding>) {
    let tree = facts.tree;
    for node in tree.find(|k| {
        matches!(k, Kind::Assign(_) | Kind::Unary(Unary::AddressOf))
            || matches!(k, Kind::Unary(u) if u.writes())
    }) {
        let Some(&target) = tree[node].children.first() else { continue };
        let Some(variable) = tree.root_variable(target) else { continue };
        let decl = &tree[variable];
        if decl.ours || !NAMES.contains(&decl.name.as_str()) {
            continue;
        }
        let what = match tree[node].kind {
            Kind::Unary(Unary::AddressOf) => "has no address",
            _ => "cannot be assigned",
        };
        let message = format!("built-in variable `{}` {what}", decl.name);
        out.push(Finding::new(RULE.code, facts.place(node), message));
    }
}
