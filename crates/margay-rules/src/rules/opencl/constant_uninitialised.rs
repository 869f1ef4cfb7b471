// SPDX-License-Identifier: MIT OR Apache-2.0
//! MG507: A constant variable has an initialiser.

use crate::finding::Severity;
use crate::rule::{Example, Group, Holds, Rule};

/// The rule.
pub static RULE: Rule = Rule {
    code: "MG507",
    name: "constant-uninitialised",
    group: Group::OpenCl,
    summary: "A constant variable has an initialiser",
    severity: Severity::Error,
    what: "Reports variables in the constant address space without an initialiser, at program \
           scope and in a kernel.",
    why: "Nothing can write it later.",
    illegal: Example::new(
        r#"constant float a;
kernel void f(global float *o) { o[0] = a; }
"#,
    ),
    legal: Example::new(
        r#"constant float a = 1;
kernel void f(global float *o) { constant float b = 2; o[0] = a + b; }
"#,
    ),
    manual: "The OpenCL C Specification, \"Address Space Qualifiers\"",
    holds: Holds::ALWAYS,
    fix: "",
    clang: &["variable in constant address space must be initialized"],
    check: None,
};
