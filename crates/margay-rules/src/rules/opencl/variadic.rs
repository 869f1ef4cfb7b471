// SPDX-License-Identifier: MIT OR Apache-2.0
//! MG516: OpenCL C has no variadic functions.

use crate::finding::Severity;
use crate::rule::{Example, Group, Holds, Rule};

/// The rule.
pub static RULE: Rule = Rule {
    code: "MG516",
    name: "variadic",
    group: Group::OpenCl,
    summary: "OpenCL C has no variadic functions",
    severity: Severity::Error,
    what: "Reports functions with an ellipsis; `printf` is the one exception.",
    why: "There is no `stdarg.h`.",
    illegal: Example::new(
        r#"int g(int n, ...) { return n; }
kernel void f(global int *p) { p[0] = g(1); }
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
    clang: &["variadic arguments are not allowed in OpenCL"],
    check: None,
};
