// SPDX-License-Identifier: MIT OR Apache-2.0
//! MG103: `__global__` stands alone.

use crate::analysis::Facts;
use crate::finding::Place;
use crate::finding::{Finding, Severity};
use crate::rule::{Example, Group, Holds, Rule};
use crate::tree::NodeId;

/// The rule.
pub static RULE: Rule = Rule {
    code: "MG103",
    name: "kernel-with-host-or-device",
    group: Group::Functions,
    summary: "`__global__` stands alone",
    severity: Severity::Error,
    what: "Reports `__global__` together with `__host__` or `__device__`.",
    why: "A kernel is compiled for the device and launched from the host; the three words \
           exclude each other.",
    illegal: Example::new(
        r#"__global__ __host__ void k(int *p) { p[0] = 1; }
"#,
    ),
    legal: Example::new(
        r#"__global__ void k(int *p) { p[0] = 1; }
"#,
    ),
    manual: "CUDA C++ Programming Guide, \"Function Execution Space Specifiers\"",
    holds: Holds::ALWAYS,
    fix: "`--fix` removes the other specifier",
    clang: &[
        "'host' and 'global' attributes are not compatible",
        "'device' and 'global' attributes are not compatible",
        "'global' and 'host' attributes are not compatible",
        "'global' and 'device' attributes are not compatible",
    ],
    check: Some(check),
};

fn check(facts: &Facts<'_>, out: &mut Vec<Finding>) {
    let tree = facts.tree;
    for function in tree.decl_ids().filter(|d| tree[*d].kind.is_function()) {
        for &node in &tree[function].nodes {
            for word in ["__host__", "__device__"] {
                let (Some(_), Some(place), Some(removed)) = (
                    head_word(facts, node, "__global__"),
                    head_word(facts, node, word),
                    facts.word_and_blank(node, word),
                ) else {
                    continue;
                };
                let message = format!("`__global__` and `{word}` exclude each other");
                let fix = format!("remove `{word}`");
                let finding = Finding::new(RULE.code, place, message);
                out.push(finding.fix(fix, vec![(removed, String::new())]));
            }
        }
    }
}

/// The place of a word before the function's name.
fn head_word(facts: &Facts<'_>, node: NodeId, word: &str) -> Option<Place> {
    facts.has_word(node, word).then(|| facts.word_place(node, word)).flatten()
}
