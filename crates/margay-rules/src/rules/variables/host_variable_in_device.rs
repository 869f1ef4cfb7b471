// SPDX-License-Identifier: MIT OR Apache-2.0
//! MG214: Device code does not use host variables.

use crate::finding::Severity;
use crate::rule::{Example, Group, Holds, Rule};

/// The rule.
pub static RULE: Rule = Rule {
    code: "MG214",
    name: "host-variable-in-device",
    group: Group::Variables,
    summary: "Device code does not use host variables",
    severity: Severity::Error,
    what: "Reports variables without a memory space, at namespace scope, in device code. \
           Constants whose value is known are fine.",
    why: "The variable is in the host's memory, and device code has no symbol for it.",
    illegal: Example::new(
        r#"int g = 3;
__global__ void k(int *p) { p[0] = g; }
"#,
    ),
    legal: Example::new(
        r#"const int g = 3;
__global__ void k(int *p) { p[0] = g; }
"#,
    ),
    manual: "CUDA C++ Programming Guide, \"Const-qualified variables\"; nvcc warns with #20094 and \
           then fails",
    holds: Holds::ALWAYS,
    fix: "",
    clang: &["reference to __host__ variable"],
    check: None,
};
