// SPDX-License-Identifier: MIT OR Apache-2.0
//! MG518: Before 2.0 functions have no static variables.

use crate::finding::Severity;
use crate::rule::{Example, Group, Holds, Rule};

/// The rule.
pub static RULE: Rule = Rule {
    code: "MG518",
    name: "static-variable",
    group: Group::OpenCl,
    summary: "Before 2.0 functions have no static variables",
    severity: Severity::Error,
    what: "Reports `static` variables in functions.",
    why: "Their storage would be global memory of the program's own, which 1.x does not have.",
    illegal: Example::new(
        r#"kernel void f(global int *p) { static int n = 0; p[0] = n++; }
"#,
    ),
    legal: Example::new(
        r#"constant int n = 3;
kernel void f(global int *p) { p[0] = n; }
"#,
    ),
    manual: "The OpenCL C Specification, \"Restrictions\"",
    holds: Holds::versions("OpenCL C 1.x, and 3.0 without the feature"),
    fix: "",
    clang: &[
        "variables in function scope cannot be declared static",
        "static local variable must reside in",
    ],
    check: None,
};
