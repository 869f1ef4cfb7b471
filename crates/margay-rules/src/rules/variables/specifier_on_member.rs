// SPDX-License-Identifier: MIT OR Apache-2.0
//! MG201: Memory-space specifiers do not go on members.

use crate::analysis::Facts;
use crate::finding::{Finding, Severity};
use crate::rule::{Example, Group, Holds, Rule};
use crate::tree::Kind;

/// The rule.
pub static RULE: Rule = Rule {
    code: "MG201",
    name: "specifier-on-member",
    group: Group::Variables,
    summary: "Memory-space specifiers do not go on members",
    severity: Severity::Warning,
    what: "Reports `__device__`, `__constant__`, `__shared__` and `__managed__` on non-static \
           members of structs, classes and unions.",
    why: "A member lies where its object lies. Compilers ignore the word, and the author \
           believes otherwise.",
    illegal: Example::new(
        r#"struct S { __shared__ int a; };
__global__ void k(int *p) { S s; s.a = 1; p[0] = s.a; }
"#,
    ),
    legal: Example::new(
        r#"struct S { int a; };
__global__ void k(int *p) { __shared__ S s; s.a = 1; p[0] = s.a; }
"#,
    ),
    manual: "CUDA C++ Programming Guide, \"Variable Memory Space Specifiers\"",
    holds: Holds::ALWAYS,
    fix: "`--fix` removes the specifier",
    clang: &[
        "attribute only applies to variables",
        "'device' attribute only applies to functions and variables",
        "attribute only applies to non-static",
    ],
    check: Some(check),
};

const WORDS: [&str; 4] = ["__shared__", "__constant__", "__device__", "__managed__"];

fn check(facts: &Facts<'_>, out: &mut Vec<Finding>) {
    let tree = facts.tree;
    for node in tree.find(|k| k == Kind::Field) {
        let Some(decl) = tree[node].decl else { continue };
        for word in WORDS {
            // `int a, __shared__ b` would need the declarator's own words: the first one has them all.
            if !facts.has_word(node, word) {
                continue;
            }
            let (Some(place), Some(removed)) =
                (facts.word_place(node, word), facts.word_and_blank(node, word))
            else {
                continue;
            };
            let message = format!("`{word}` on member `{}` has no effect", tree[decl].name);
            out.push(
                Finding::new(RULE.code, place, message)
                    .fix(format!("remove `{word}`"), vec![(removed, String::new())]),
            );
        }
    }
}
