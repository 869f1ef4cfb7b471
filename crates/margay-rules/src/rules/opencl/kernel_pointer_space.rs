// SPDX-License-Identifier: MIT OR Apache-2.0
//! MG501: A kernel's pointer arguments point to global, constant or local memory.

use crate::finding::Severity;
use crate::rule::{Example, Group, Holds, Rule};

/// The rule.
pub static RULE: Rule = Rule {
    code: "MG501",
    name: "kernel-pointer-space",
    group: Group::OpenCl,
    summary: "A kernel's pointer arguments point to global, constant or local memory",
    severity: Severity::Error,
    what: "Reports kernel parameters that are pointers to private memory, by word or by default.",
    why: "The host sets the argument, and private memory belongs to one work-item. In other \
           functions such pointers are legal.",
    illegal: Example::new(
        r#"kernel void f(int *p) { p[0] = 1; }
"#,
    ),
    legal: Example::new(
        r#"void g(int *p) { *p = 1; }
kernel void f(global int *p) { int x; g(&x); p[0] = x; }
"#,
    ),
    manual: "The OpenCL C Specification, \"Restrictions\"",
    holds: Holds::ALWAYS,
    fix: "",
    clang: &["pointer arguments to kernel functions must reside in"],
    check: None,
};
