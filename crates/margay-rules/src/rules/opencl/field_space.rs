// SPDX-License-Identifier: MIT OR Apache-2.0
//! MG513: Members have no address space.

use crate::finding::Severity;
use crate::rule::{Example, Group, Holds, Rule};

/// The rule.
pub static RULE: Rule = Rule {
    code: "MG513",
    name: "field-space",
    group: Group::OpenCl,
    summary: "Members have no address space",
    severity: Severity::Error,
    what: "Reports address-space qualifiers on members of structures and unions. What a pointer \
           member points to may have one.",
    why: "A member lies where its object lies.",
    illegal: Example::new(
        r#"struct S { local int a; };
kernel void f(global int *p) { struct S s; p[0] = s.a; }
"#,
    ),
    legal: Example::new(
        r#"struct S { local int *a; };
kernel void f(global int *p) { local int x; x = 1; struct S s; s.a = &x; p[0] = *s.a; }
"#,
    ),
    manual: "The OpenCL C Specification, \"Address Space Qualifiers\"",
    holds: Holds::ALWAYS,
    fix: "",
    clang: &["field may not be qualified with an address space"],
    check: None,
};
