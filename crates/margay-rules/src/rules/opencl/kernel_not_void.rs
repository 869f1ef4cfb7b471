// SPDX-License-Identifier: MIT OR Apache-2.0
//! MG504: A kernel returns void.

use crate::finding::Severity;
use crate::rule::{Example, Group, Holds, Rule};

/// The rule.
pub static RULE: Rule = Rule {
    code: "MG504",
    name: "kernel-not-void",
    group: Group::OpenCl,
    summary: "A kernel returns void",
    severity: Severity::Error,
    what: "Reports kernels with a result.",
    why: "Nobody waits for it; results go through memory.",
    illegal: Example::new(
        r#"kernel int f(global int *p) { return p[0]; }
"#,
    ),
    legal: Example::new(
        r#"kernel void f(global int *p) { p[1] = p[0]; }
"#,
    ),
    manual: "The OpenCL C Specification, \"Restrictions\"",
    holds: Holds::ALWAYS,
    fix: "",
    clang: &["kernel must have void return type"],
    check: None,
};
