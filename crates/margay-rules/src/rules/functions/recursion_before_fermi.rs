// SPDX-License-Identifier: MIT OR Apache-2.0
//! MG108: Device code before 2.0 has no recursion.

use crate::analysis::Facts;
use crate::finding::{Finding, Severity};
use crate::rule::{Example, Group, Holds, Rule};

/// The rule.
pub static RULE: Rule = Rule {
    code: "MG108",
    name: "recursion-before-2.0",
    group: Group::Functions,
    summary: "Device code before 2.0 has no recursion",
    severity: Severity::Error,
    what: "Reports device functions that call themselves, directly or through others.",
    why: "Devices of compute capability 1.x have no call stack: every function is inlined.",
    illegal: Example::new(
        r#"__device__ int f(int n) { return n < 2 ? 1 : n * f(n - 1); }
__global__ void k(int *p) { p[0] = f(p[0]); }
"#,
    )
    .sm(13),
    legal: Example::new(
        r#"__device__ int f(int n) {
    int r = 1;
    for (; n > 1; n--) r *= n;
    return r;
}
__global__ void k(int *p) { p[0] = f(p[0]); }
"#,
    )
    .sm(13),
    manual: "CUDA C Programming Guide 3.2, \"__device__\" and \"Compute Capabilities\"",
    holds: Holds::before(20),
    fix: "",
    clang: &[],
    check: Some(check),
};

fn check(facts: &Facts<'_>, out: &mut Vec<Finding>) {
    for (function, call) in facts.recursive() {
        let name = &facts.tree[function].name;
        let message = format!("`{name}` is recursive, and {} has no recursion", facts.capability());
        out.push(
            Finding::new(RULE.code, facts.place(call), message).label("the call closes the cycle"),
        );
    }
}
