// SPDX-License-Identifier: MIT OR Apache-2.0
//! MG517: OpenCL C has no variable-length arrays.

use crate::finding::Severity;
use crate::rule::{Example, Group, Holds, Rule};

/// The rule.
pub static RULE: Rule = Rule {
    code: "MG517",
    name: "variable-length-array",
    group: Group::OpenCl,
    summary: "OpenCL C has no variable-length arrays",
    severity: Severity::Error,
    what: "Reports arrays whose size is not constant, and flexible array members.",
    why: "Private memory is laid out when the kernel is compiled.",
    illegal: Example::new(
        r#"kernel void f(global int *p) { int a[p[0]]; a[0] = 1; p[0] = a[0]; }
"#,
    ),
    legal: Example::new(
        r#"kernel void f(global int *p) { int a[4]; a[0] = 1; p[0] = a[0]; }
"#,
    ),
    manual: "The OpenCL C Specification, \"Restrictions\"",
    holds: Holds::ALWAYS,
    fix: "",
    clang: &["variable length arrays are not supported in OpenCL"],
    check: None,
};
