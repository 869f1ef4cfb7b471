// SPDX-License-Identifier: MIT OR Apache-2.0
//! MG205: A variable is in one memory space.

use crate::analysis::Facts;
use crate::finding::{Finding, Severity};
use crate::rule::{Example, Group, Holds, Rule};

/// The rule.
pub static RULE: Rule = Rule {
    code: "MG205",
    name: "two-memory-spaces",
    group: Group::Variables,
    summary: "A variable is in one memory space",
    severity: Severity::Error,
    what: "Reports two of `__constant__`, `__shared__` and `__managed__` on one variable. \
           `__device__` may join any one of them.",
    why: "Each names another memory.",
    illegal: Example::new(
        r#"__constant__ __managed__ int v;
__global__ void k(int *p) { p[0] = v; }
"#,
    ),
    legal: Example::new(
        r#"__device__ __constant__ int v;
__global__ void k(int *p) { p[0] = v; }
"#,
    ),
    manual: "CUDA C++ Programming Guide, \"Variable Memory Space Specifiers\"",
    holds: Holds::ALWAYS,
    fix: "",
    clang: &[
        "'constant' and 'shared' attributes are not compatible",
        "'shared' and 'constant' attributes are not compatible",
    ],
    check: Some(check),
};

fn check(facts: &Facts<'_>, out: &mut Vec<Finding>) {
    for (node, decl) in facts.variables() {
        let q = decl.qualifiers;
        let words: Vec<&str> =
            [(q.constant, "__constant__"), (q.shared, "__shared__"), (q.managed, "__managed__")]
                .into_iter()
                .filter(|(has, _)| *has)
                .map(|(_, word)| word)
                .collect();
        if words.len() > 1 {
            let message =
                format!("variable `{}` is both `{}` and `{}`", decl.name, words[0], words[1]);
            out.push(Finding::new(RULE.code, facts.name_place(node), message));
        }
    }
}
