// SPDX-License-Identifier: MIT OR Apache-2.0
//! MG514: OpenCL C has no function pointers.

use crate::finding::Severity;
use crate::rule::{Example, Group, Holds, Rule};

/// The rule.
pub static RULE: Rule = Rule {
    code: "MG514",
    name: "function-pointer",
    group: Group::OpenCl,
    summary: "OpenCL C has no function pointers",
    severity: Severity::Error,
    what: "Reports pointers to functions, and functions used as values.",
    why: "Devices need not have indirect calls.",
    illegal: Example::new(
        r#"int g(int n) { return n; }
kernel void f(global int *p) { int (*q)(int) = g; p[0] = q(1); }
"#,
    ),
    legal: Example::new(
        r#"int g(int n) { return n; }
kernel void f(global int *p) { p[0] = g(1); }
"#,
    ),
    manual: "The OpenCL C Specification, \"Restrictions\"",
    holds: Holds::ALWAYS,
    fix: "",
    clang: &["pointers to functions are not allowed", "taking address of function is not allowed"],
    check: None,
};
