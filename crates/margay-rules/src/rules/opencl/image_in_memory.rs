// SPDX-License-Identifier: MIT OR Apache-2.0
//! MG523: Images and samplers lie in no address space.

use crate::finding::Severity;
use crate::rule::{Example, Group, Holds, Rule};

/// The rule.
pub static RULE: Rule = Rule {
    code: "MG523",
    name: "image-in-memory",
    group: Group::OpenCl,
    summary: "Images and samplers lie in no address space",
    severity: Severity::Error,
    what: "Reports pointers to images, arrays of them, and images and samplers as members or as \
           variables in a named space.",
    why: "An image is a handle of the device; only a kernel's arguments bring it.",
    illegal: Example::new(
        r#"kernel void f(global image2d_t *i, global int *p) { p[0] = 1; }
"#,
    ),
    legal: Example::new(
        r#"kernel void f(read_only image2d_t i, global int *p) { p[0] = get_image_width(i); }
"#,
    ),
    manual: "The OpenCL C Specification, \"Restrictions\"",
    holds: Holds::ALWAYS,
    fix: "",
    clang: &[
        "pointer to type * is invalid in OpenCL",
        "image2d_t * cannot be",
        "* is not allowed as* image",
        "cannot be used to declare a structure or union field",
    ],
    check: None,
};
