// SPDX-License-Identifier: MIT OR Apache-2.0
//! MG101: A `__global__` function returns void.

use crate::finding::Severity;
use crate::rule::{Example, Group, Holds, Rule};

/// The rule.
pub static RULE: Rule = Rule {
    code: "MG101",
    name: "kernel-returns-void",
    group: Group::Functions,
    summary: "A `__global__` function returns void",
    severity: Severity::Error,
    what: "Reports kernels whose return type is not `void`.",
    why: "A launch is asynchronous: nobody waits for a value. Results go through memory.",
    illegal: Example::new(
        r#"__global__ int k(int *p) { return p[0]; }
"#,
    ),
    legal: Example::new(
        r#"__global__ void k(int *p) { p[1] = p[0]; }
"#,
    ),
    manual: "CUDA C++ Programming Guide, \"__global__\"",
    holds: Holds::ALWAYS,
    fix: "",
    clang: &["kernel function type * must have void return type"],
    check: None,
};
