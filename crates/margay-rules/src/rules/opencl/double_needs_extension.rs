// SPDX-License-Identifier: MIT OR Apache-2.0
//! MG524: `double` needs the device's support and, before 1.2, the pragma.

use crate::finding::Severity;
use crate::rule::{Example, Group, Holds, Rule};

/// The rule.
pub static RULE: Rule = Rule {
    code: "MG524",
    name: "double-needs-extension",
    group: Group::OpenCl,
    summary: "`double` needs the device's support and, before 1.2, the pragma",
    severity: Severity::Error,
    what: "Reports `double` where the language version or the device does not have it.",
    why: "Double precision is optional: `cl_khr_fp64`.",
    illegal: Example::new(
        r#"kernel void f(global double *p) { p[0] = 1.0; }
"#,
    )
    .standard("CL1.1"),
    legal: Example::new(
        r#"#pragma OPENCL EXTENSION cl_khr_fp64 : enable
kernel void f(global double *p) { p[0] = 1.0; }
"#,
    )
    .standard("CL1.1"),
    manual: "The OpenCL C Specification, \"Double Precision Floating-Point\"",
    holds: Holds::ALWAYS,
    fix: "",
    clang: &[
        "use of type 'double' requires",
        "use of type '*double*' requires",
        "double precision constant requires",
    ],
    check: None,
};
