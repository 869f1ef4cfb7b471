// SPDX-License-Identifier: MIT OR Apache-2.0
//! MG509: Local variables stand in the outermost scope of a kernel.

use crate::finding::Severity;
use crate::rule::{Example, Group, Holds, Rule};

/// The rule.
pub static RULE: Rule = Rule {
    code: "MG509",
    name: "local-variable-scope",
    group: Group::OpenCl,
    summary: "Local variables stand in the outermost scope of a kernel",
    severity: Severity::Error,
    what: "Reports variables in local memory that are declared in an inner block, or in a \
           function that is no kernel.",
    why: "Their space is reserved when a work-group starts, for the whole kernel.",
    illegal: Example::new(
        r#"kernel void f(global float *o) { if (o[1] > 0) { local float b; b = 1; o[0] = b; } }
"#,
    ),
    legal: Example::new(
        r#"kernel void f(global float *o) { local float b; if (o[1] > 0) { b = 1; o[0] = b; } }
"#,
    ),
    manual: "The OpenCL C Specification, \"Address Space Qualifiers\"",
    holds: Holds::ALWAYS,
    fix: "",
    clang: &[
        "variables in the local address space can only be declared in the outermost scope",
        "non-kernel function variable cannot be declared in local address space",
    ],
    check: None,
};
