// SPDX-License-Identifier: MIT OR Apache-2.0
//! MG207: A `__shared__` variable has no initialiser.

use crate::finding::Severity;
use crate::rule::{Example, Group, Holds, Rule};

/// The rule.
pub static RULE: Rule = Rule {
    code: "MG207",
    name: "shared-initialiser",
    group: Group::Variables,
    summary: "A `__shared__` variable has no initialiser",
    severity: Severity::Error,
    what: "Reports initialisers, and constructors that do something, on `__shared__` variables.",
    why: "Each block has its own copy, made when the block starts: nothing could initialise it, \
           and if each thread did, they would race. nvcc runs a constructor in every thread, \
           with a warning.",
    illegal: Example::new(
        r#"__global__ void k(int *p) { __shared__ int s = 3; p[0] = s; }
"#,
    ),
    legal: Example::new(
        r#"__global__ void k(int *p) {
    __shared__ int s;
    if (threadIdx.x == 0) s = 3;
    __syncthreads();
    p[threadIdx.x] = s;
}
"#,
    ),
    manual: "CUDA C++ Programming Guide, \"__shared__\"",
    holds: Holds::ALWAYS,
    fix: "",
    clang: &["initialization is not supported for __shared__ variables"],
    check: None,
};
