// SPDX-License-Identifier: MIT OR Apache-2.0
//! MG508: Constant memory is read-only.

use crate::finding::Severity;
use crate::rule::{Example, Group, Holds, Rule};

/// The rule.
pub static RULE: Rule = Rule {
    code: "MG508",
    name: "constant-assigned",
    group: Group::OpenCl,
    summary: "Constant memory is read-only",
    severity: Severity::Error,
    what: "Reports writes through pointers to constant.",
    why: "The device may keep it in a cache that it never writes back.",
    illegal: Example::new(
        r#"kernel void f(constant float *c) { c[0] = 1; }
"#,
    ),
    legal: Example::new(
        r#"kernel void f(constant float *c, global float *o) { o[0] = c[0]; }
"#,
    ),
    manual: "The OpenCL C Specification, \"Address Space Qualifiers\"",
    holds: Holds::ALWAYS,
    fix: "",
    clang: &[
        "read-only variable is not assignable",
        "cannot assign to variable * with const-qualified type",
    ],
    check: None,
};
