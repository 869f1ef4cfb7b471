// SPDX-License-Identifier: MIT OR Apache-2.0
//! MG124: Device code has no exceptions.

use crate::finding::Severity;
use crate::rule::{Example, Group, Holds, Rule};

/// The rule.
pub static RULE: Rule = Rule {
    code: "MG124",
    name: "exceptions-in-device",
    group: Group::Functions,
    summary: "Device code has no exceptions",
    severity: Severity::Error,
    what: "Reports `throw`, `try` and `catch` in device code.",
    why: "The device has nothing to unwind a stack with.",
    illegal: Example::new(
        r#"__global__ void k(int *p) { throw 1; }
"#,
    ),
    legal: Example::new(
        r#"__global__ void k(int *p) { if (p[0] < 0) __trap(); }
"#,
    ),
    manual: "CUDA C++ Programming Guide, \"Exception Handling\"",
    holds: Holds::ALWAYS,
    fix: "",
    clang: &["cannot use 'throw' in __", "cannot use 'try' in __"],
    check: None,
};
