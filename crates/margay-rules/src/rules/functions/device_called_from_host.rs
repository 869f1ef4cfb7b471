// SPDX-License-Identifier: MIT OR Apache-2.0
//! MG104: The host cannot call a `__device__` function.

use crate::finding::Severity;
use crate::rule::{Example, Group, Holds, Rule};

/// The rule.
pub static RULE: Rule = Rule {
    code: "MG104",
    name: "device-called-from-host",
    group: Group::Functions,
    summary: "The host cannot call a `__device__` function",
    severity: Severity::Error,
    what: "Reports calls of `__device__` functions from host code.",
    why: "No host code exists for it. Make it `__host__ __device__` if both sides need it.",
    illegal: Example::new(
        r#"__device__ int f() { return 1; }
int main() { return f(); }
"#,
    ),
    legal: Example::new(
        r#"__host__ __device__ int f() { return 1; }
int main() { return f() - 1; }
"#,
    ),
    manual: "CUDA C++ Programming Guide, \"__device__\"",
    holds: Holds::ALWAYS,
    fix: "",
    clang: &[
        "reference to __device__ function * in __host__ function",
        "no matching function*call to __device__ function from __host__",
        "no matching *call to __device__ function from __host__",
    ],
    check: None,
};
