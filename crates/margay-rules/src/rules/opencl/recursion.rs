// SPDX-License-Identifier: MIT OR Apache-2.0
//! MG515: OpenCL C has no recursion.

use crate::analysis::Facts;
use crate::finding::{Finding, Severity};
use crate::rule::{Example, Group, Holds, Rule};

/// The rule.
pub static RULE: Rule = Rule {
    code: "MG515",
    name: "recursion",
    group: Group::OpenCl,
    summary: "OpenCL C has no recursion",
    severity: Severity::Error,
    what: "Reports functions that call themselves, directly or through others.",
    why: "Devices need not have a stack. clang compiles it.",
    illegal: Example::new(
        r#"int g(int n) { return n < 2 ? 1 : n * g(n - 1); }
kernel void f(global int *p) { p[0] = g(p[0]); }
"#,
    ),
    legal: Example::new(
        r#"int g(int n) {
    int r = 1;
    for (; n > 1; n--) r *= n;
    return r;
}
kernel void f(global int *p) { p[0] = g(p[0]); }
"#,
    ),
    manual: "The OpenCL C Specification, \"Restrictions\"",
    holds: Holds::ALWAYS,
    fix: "",
    clang: &[],
    check: Some(check),
};

fn check(facts: &Facts<'_>, out: &mut Vec<Finding>) {
    for (function, call) in facts.recursive() {
        let message = format!("`{}` is recursive", facts.tree[function].name);
        out.push(
            Finding::new(RULE.code, facts.place(call), message).label("the call closes the cycle"),
        );
    }
}
