// SPDX-License-Identifier: MIT OR Apache-2.0
//! MG512: Pointers do not change their address space.

use crate::finding::Severity;
use crate::rule::{Example, Group, Holds, Rule};

/// The rule.
pub static RULE: Rule = Rule {
    code: "MG512",
    name: "space-changed",
    group: Group::OpenCl,
    summary: "Pointers do not change their address space",
    severity: Severity::Error,
    what: "Reports assignments, initialisations, arguments and casts between pointers to \
           different named spaces.",
    why: "The spaces may be different memories with addresses of their own. From 2.0 on a \
           generic pointer may hold what is global, local or private, and `to_global` and its \
           relatives go back.",
    illegal: Example::new(
        r#"kernel void f(global int *p, local int *l) { l = p; l[0] = 1; }
"#,
    ),
    legal: Example::new(
        r#"kernel void f(global int *p, local int *l) { l[0] = p[0]; }
"#,
    ),
    manual: "The OpenCL C Specification, \"Address Space Qualifiers\"",
    holds: Holds::ALWAYS,
    fix: "",
    clang: &["changes address space of"],
    check: None,
};
