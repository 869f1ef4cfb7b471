// SPDX-License-Identifier: MIT OR Apache-2.0
//! MG502: Before 2.0 a kernel takes no pointer to a pointer.

use crate::finding::Severity;
use crate::rule::{Example, Group, Holds, Rule};

/// The rule.
pub static RULE: Rule = Rule {
    code: "MG502",
    name: "kernel-pointer-to-pointer",
    group: Group::OpenCl,
    summary: "Before 2.0 a kernel takes no pointer to a pointer",
    severity: Severity::Error,
    what: "Reports kernel parameters that are pointers to pointers, for OpenCL C 1.x.",
    why: "The host has no device addresses to put into such memory before shared virtual memory \
           came with 2.0.",
    illegal: Example::new(
        r#"kernel void f(global int * global *p) { *p[0] = 0; }
"#,
    ),
    legal: Example::new(
        r#"kernel void f(global int * global *p) { *p[0] = 0; }
"#,
    )
    .standard("CL3.0"),
    manual: "The OpenCL C Specification, \"Restrictions\"",
    holds: Holds::versions("OpenCL C 1.x"),
    fix: "",
    clang: &["kernel parameter cannot be declared as a pointer to a pointer"],
    check: None,
};
