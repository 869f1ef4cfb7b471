// SPDX-License-Identifier: MIT OR Apache-2.0
//! MG511: String literals lie in constant memory.

use crate::finding::Place;
use crate::finding::Severity;
use crate::rule::{Example, Group, Holds, Rule};

/// The rule.
pub static RULE: Rule = Rule {
    code: "MG511",
    name: "string-literal-space",
    group: Group::OpenCl,
    summary: "String literals lie in constant memory",
    severity: Severity::Error,
    what: "Reports string literals that initialise or are assigned to pointers to another space.",
    why: "An example in the specification has `char *c = \"…\"` without a word; compilers \
           refuse it, since the pointer would be private.",
    illegal: Example::new(
        r#"kernel void f(global int *p) { char *c = "string"; p[0] = c[0]; }
"#,
    ),
    legal: Example::new(
        r#"kernel void f(global int *p) { constant char *c = "string"; p[0] = c[0]; }
"#,
    ),
    manual: "The OpenCL C Specification, \"Address Space Qualifiers\"",
    holds: Holds::ALWAYS,
    fix: "",
    clang: &["with a string literal of type '__constant char *' changes address space"],
    check: None,
};

/// Whether the pointer that clang names gets a literal.
pub fn is_literal(text: &str, place: &Place) -> bool {
    let rest = text.get(place.start..).unwrap_or("");
    let statement = rest.split(';').next().unwrap_or(rest);
    statement.split_once('=').is_some_and(|(_, value)| value.trim_start().starts_with('"'))
}
