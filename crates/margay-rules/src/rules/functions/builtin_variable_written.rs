// SPDX-License-Identifier: MIT OR Apache-2.0
//! MG114: Built-in variables are read-only and have no address.

use crate::analysis::Facts;
use crate::finding::{Finding, Place, Severity};
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

/// Whether what clang says of an operator is about a built-in variable: it calls their assignment and their
/// address by the operators of its own header.
pub fn is_builtin(text: &str, place: &Place, message: &str) -> bool {
    let named = |word: &str| NAMES.contains(&word);
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    if message == "no viable overloaded '='" {
        let before = text.get(..place.start).unwrap_or("").trim_end();
        return named(&before[before.rfind(|c| !is_word(c)).map_or(0, |at| at + 1)..]);
    }
    if message == "overload resolution selected deleted operator '&'" {
        let after = text.get(place.start..).unwrap_or("").trim_start_matches(['&', '(', ' ']);
        return named(&after[..after.find(|c| !is_word(c)).unwrap_or(after.len())]);
    }
    false
}

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
