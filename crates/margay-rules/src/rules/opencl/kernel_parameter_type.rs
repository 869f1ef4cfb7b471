// SPDX-License-Identifier: MIT OR Apache-2.0
//! MG503: `bool`, `size_t` and the like are no kernel parameters.

use crate::finding::Severity;
use crate::rule::{Example, Group, Holds, Rule};

/// The rule.
pub static RULE: Rule = Rule {
    code: "MG503",
    name: "kernel-parameter-type",
    group: Group::OpenCl,
    summary: "`bool`, `size_t` and the like are no kernel parameters",
    severity: Severity::Error,
    what: "Reports kernel parameters of types whose size the host does not know: `bool`, `half`, \
           `size_t`, `ptrdiff_t`, `intptr_t`, `uintptr_t`, `event_t`.",
    why: "Host and device may disagree on the size.",
    illegal: Example::new(
        r#"kernel void f(size_t n, global int *p) { p[0] = n; }
"#,
    ),
    legal: Example::new(
        r#"kernel void f(ulong n, global int *p) { p[0] = n; }
"#,
    ),
    manual: "The OpenCL C Specification, \"Restrictions\"",
    holds: Holds::ALWAYS,
    fix: "",
    clang: &["cannot be used as the type of a kernel parameter"],
    check: None,
};
