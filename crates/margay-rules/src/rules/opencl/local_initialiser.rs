// SPDX-License-Identifier: MIT OR Apache-2.0
//! MG510: A variable in local memory has no initialiser.

use crate::finding::Severity;
use crate::rule::{Example, Group, Holds, Rule};

/// The rule.
pub static RULE: Rule = Rule {
    code: "MG510",
    name: "local-initialiser",
    group: Group::OpenCl,
    summary: "A variable in local memory has no initialiser",
    severity: Severity::Error,
    what: "Reports initialisers of variables in local memory.",
    why: "Each work-group has its own copy; if each work-item initialised it, they would race.",
    illegal: Example::new(
        r#"kernel void f(global float *o) { local float4 b = (float4)(0); o[0] = b.x; }
"#,
    ),
    legal: Example::new(
        r#"kernel void f(global float *o) {
    local float4 b;
    if (get_local_id(0) == 0) b = (float4)(0);
    barrier(CLK_LOCAL_MEM_FENCE);
    o[0] = b.x;
}
"#,
    ),
    manual: "The OpenCL C Specification, \"Address Space Qualifiers\"",
    holds: Holds::ALWAYS,
    fix: "",
    clang: &["'__local' variable cannot have an initializer"],
    check: None,
};
