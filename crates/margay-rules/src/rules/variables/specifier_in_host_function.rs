// SPDX-License-Identifier: MIT OR Apache-2.0
//! MG203: Local variables of host functions have no memory space.

use crate::analysis::Facts;
use crate::analysis::Side;
use crate::finding::{Finding, Severity};
use crate::rule::{Example, Group, Holds, Rule};

/// The rule.
pub static RULE: Rule = Rule {
    code: "MG203",
    name: "specifier-in-host-function",
    group: Group::Variables,
    summary: "Local variables of host functions have no memory space",
    severity: Severity::Error,
    what: "Reports memory-space specifiers on local variables of functions that run on the host.",
    why: "The host's stack is no device memory. A static device variable of a host function is \
           an extension of clang's.",
    illegal: Example::new(
        r#"void h(int *p) { __shared__ int s[4]; s[0] = 1; p[0] = s[0]; }
"#,
    ),
    legal: Example::new(
        r#"void h(int *p) { int s[4]; s[0] = 1; p[0] = s[0]; }
"#,
    ),
    manual: "CUDA C++ Programming Guide, \"Variable Memory Space Specifiers\"",
    holds: Holds::ALWAYS,
    fix: "",
    clang: &["__shared__ local variables not allowed in __host__ functions"],
    check: Some(check),
};

fn check(facts: &Facts<'_>, out: &mut Vec<Finding>) {
    for (node, decl) in facts.variables() {
        let q = decl.qualifiers;
        let specified = q.shared || q.constant || q.device || q.managed;
        if specified && facts.is_local(node) && facts.side(node) == Some(Side::Host) {
            let message =
                format!("local variable `{}` of a host function has a memory space", decl.name);
            out.push(Finding::new(RULE.code, facts.name_place(node), message));
        }
    }
}
