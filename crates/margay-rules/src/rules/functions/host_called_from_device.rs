// SPDX-License-Identifier: MIT OR Apache-2.0
//! MG105: The device cannot call a host function.

use crate::finding::Severity;
use crate::rule::{Example, Group, Holds, Rule};

/// The rule.
pub static RULE: Rule = Rule {
    code: "MG105",
    name: "host-called-from-device",
    group: Group::Functions,
    summary: "The device cannot call a host function",
    severity: Severity::Error,
    what: "Reports calls of functions without `__device__` from kernels and `__device__` \
           functions.",
    why: "No device code exists for it.",
    illegal: Example::new(
        r#"int f() { return 1; }
__global__ void k(int *p) { p[0] = f(); }
"#,
    ),
    legal: Example::new(
        r#"__device__ int f() { return 1; }
__global__ void k(int *p) { p[0] = f(); }
"#,
    ),
    manual: "CUDA C++ Programming Guide, \"__host__\"",
    holds: Holds::ALWAYS,
    fix: "",
    clang: &[
        "reference to __host__ function * in __global__ function",
        "reference to __host__ function * in __device__ function",
        "no matching *call to __host__ function from __",
    ],
    check: None,
};
