// SPDX-License-Identifier: MIT OR Apache-2.0
//! MG202: Memory-space specifiers do not go on parameters.

use crate::analysis::Facts;
use crate::finding::{Finding, Severity};
use crate::rule::{Example, Group, Holds, Rule};
use crate::tree::Kind;

/// The rule.
pub static RULE: Rule = Rule {
    code: "MG202",
    name: "specifier-on-parameter",
    group: Group::Variables,
    summary: "Memory-space specifiers do not go on parameters",
    severity: Severity::Warning,
    what: "Reports `__device__`, `__constant__`, `__shared__` and `__managed__` on formal \
           parameters.",
    why: "Parameters have a place of their own. In `__shared__ int *p` the word says nothing of \
           where `p` points; nvcc ignores it with a warning.",
    illegal: Example::new(
        r#"__global__ void k(__shared__ int *p) { p[0] = 1; }
"#,
    ),
    legal: Example::new(
        r#"__global__ void k(int *p) { p[0] = 1; }
"#,
    ),
    manual: "CUDA C++ Programming Guide, \"Variable Memory Space Specifiers\"",
    holds: Holds::ALWAYS,
    fix: "`--fix` removes the specifier",
    clang: &[],
    check: Some(check),
};

const WORDS: [&str; 4] = ["__shared__", "__constant__", "__device__", "__managed__"];

fn check(facts: &Facts<'_>, out: &mut Vec<Finding>) {
    let tree = facts.tree;
    for node in tree.find(|k| k == Kind::Parameter) {
        let Some(decl) = tree[node].decl else { continue };
        let q = tree[decl].qualifiers;
        if !(q.shared || q.constant || q.device || q.managed) {
            continue;
        }
        for word in WORDS {
            let (Some(place), Some(removed)) =
                (facts.word_place(node, word), facts.word_and_blank(node, word))
            else {
                continue;
            };
            let message = format!("`{word}` on parameter `{}` has no effect", tree[decl].name);
            out.push(
                Finding::new(RULE.code, place, message)
                    .fix(format!("remove `{word}`"), vec![(removed, String::new())]),
            );
        }
    }
}
