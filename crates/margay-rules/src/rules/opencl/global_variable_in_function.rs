// SPDX-License-Identifier: MIT OR Apache-2.0
//! MG505: A variable in global memory is no local variable.

use crate::finding::Severity;
use crate::rule::{Example, Group, Holds, Rule};

/// The rule.
pub static RULE: Rule = Rule {
    code: "MG505",
    name: "global-variable-in-function",
    group: Group::OpenCl,
    summary: "A variable in global memory is no local variable",
    severity: Severity::Error,
    what: "Reports variables of functions that are declared in the global address space. \
           Pointers to global are legal.",
    why: "Global memory is allocated by the host, or from 2.0 on for the whole program.",
    illegal: Example::new(
        r#"kernel void f(global float *o) { global float4 a; o[0] = 1; }
"#,
    ),
    legal: Example::new(
        r#"kernel void f(global float *o) { global float *a = o; a[0] = 1; }
"#,
    ),
    manual: "The OpenCL C Specification, \"Address Space Qualifiers\"",
    holds: Holds::ALWAYS,
    fix: "",
    clang: &["function scope variable cannot be declared in global address space"],
    check: None,
};
