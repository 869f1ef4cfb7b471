// SPDX-License-Identifier: MIT OR Apache-2.0
//! MG506: Before 2.0 program-scope variables are constant.

use crate::finding::Severity;
use crate::rule::{Example, Group, Holds, Rule};

/// The rule.
pub static RULE: Rule = Rule {
    code: "MG506",
    name: "program-scope-not-constant",
    group: Group::OpenCl,
    summary: "Before 2.0 program-scope variables are constant",
    severity: Severity::Error,
    what: "Reports variables outside functions that are not in the constant address space. From \
           2.0 on they may be global; in 3.0 with `__opencl_c_program_scope_global_variables`.",
    why: "A 1.x program has no memory of its own that it could write.",
    illegal: Example::new(
        r#"global float w[] = {1.0f, 2.0f};
kernel void f(global float *o) { o[0] = w[1]; }
"#,
    ),
    legal: Example::new(
        r#"constant float w[] = {1.0f, 2.0f};
kernel void f(global float *o) { o[0] = w[1]; }
"#,
    ),
    manual: "The OpenCL C Specification, \"Address Space Qualifiers\"",
    holds: Holds::versions("OpenCL C 1.x, and 3.0 without the feature"),
    fix: "",
    clang: &["program scope variable must reside in"],
    check: None,
};
