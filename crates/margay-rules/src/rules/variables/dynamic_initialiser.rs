// SPDX-License-Identifier: MIT OR Apache-2.0
//! MG208: `__constant__` and `__device__` variables have constant initialisers.

use crate::analysis::Facts;
use crate::finding::{Finding, Severity};
use crate::rule::{Example, Group, Holds, Rule};
use crate::tree::Kind;

/// The rule.
pub static RULE: Rule = Rule {
    code: "MG208",
    name: "dynamic-initialiser",
    group: Group::Variables,
    summary: "`__constant__` and `__device__` variables have constant initialisers",
    severity: Severity::Error,
    what: "Reports initialisers of device variables that are not constant expressions.",
    why: "The values are in the module that is loaded; nothing runs on the device before the \
           first kernel.",
    illegal: Example::new(
        r#"int n = 3;
__constant__ int c = n;
__global__ void k(int *p) { p[0] = c; }
"#,
    ),
    legal: Example::new(
        r#"__constant__ int c = 3 * 14;
__global__ void k(int *p) { p[0] = c; }
"#,
    ),
    manual: "CUDA C++ Programming Guide, \"Initialization of device variables\"",
    holds: Holds::ALWAYS,
    fix: "",
    clang: &[
        "dynamic initialization is not supported for __device__, __constant__",
        "dynamic initialization is not supported",
    ],
    check: Some(check),
};

fn check(facts: &Facts<'_>, out: &mut Vec<Finding>) {
    let tree = facts.tree;
    for (node, decl) in facts.variables() {
        let q = decl.qualifiers;
        let spaced = (q.device || q.constant || q.managed) && !q.shared;
        let Some(value) = tree.initialiser(node).filter(|_| spaced && !tree[node].dependent) else {
            continue;
        };
        // A call of a function that is not constexpr, or a host variable's value.
        let culprit = tree.below(value).find(|n| match tree[*n].kind {
            Kind::Call => tree[*n].decl.is_some_and(|f| {
                tree[f].kind == Kind::Function
                    && tree[f].ours
                    && !tree[f].nodes.iter().any(|d| facts.has_word(*d, "constexpr"))
            }),
            _ => false,
        });
        if let Some(culprit) = culprit {
            let message = format!("the initialiser of `{}` is not constant", decl.name);
            out.push(Finding::new(RULE.code, facts.place(culprit), message));
        }
    }
}
