// SPDX-License-Identifier: MIT OR Apache-2.0
//! MG001: A comment allows a code that no rule has.

use crate::finding::Place;
use crate::finding::{Finding, Severity};
use crate::rule::{Example, Group, Holds, Rule};

/// The rule.
pub static RULE: Rule = Rule {
    code: "MG001",
    name: "unknown-code",
    group: Group::Meta,
    summary: "A comment allows a code that no rule has",
    severity: Severity::Warning,
    what: "Reports codes in `// margay: allow(…)` that name no rule.",
    why: "A misspelt code allows nothing, and the author believes that it does.",
    illegal: Example::new(
        r#"__global__ void k(int *p) { p[0] = 1; } // margay: allow(MG999)
"#,
    ),
    legal: Example::new(
        r#"__global__ void k(int *p) { p[0] = 1; } // margay: allow(MG101)
"#,
    ),
    manual: "margay's docs/check.md, Comments",
    holds: Holds::ALWAYS,
    fix: "",
    clang: &[],
    check: None,
};

/// The finding for a word in a comment.
pub fn finding(place: Place, word: &str) -> Finding {
    let mut finding = Finding::new(RULE.code, place, format!("no rule is called `{word}`"))
        .help("`margay check --explain all` lists the rules");
    finding.severity = RULE.severity;
    finding
}
