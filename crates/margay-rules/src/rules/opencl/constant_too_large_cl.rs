// SPDX-License-Identifier: MIT OR Apache-2.0
//! MG521: Program-scope constants fit the constant buffer.

use crate::analysis::Facts;
use crate::finding::{Finding, Severity};
use crate::rule::{Example, Group, Holds, Rule};

/// The rule.
pub static RULE: Rule = Rule {
    code: "MG521",
    name: "constant-too-large-cl",
    group: Group::OpenCl,
    summary: "Program-scope constants fit the constant buffer",
    severity: Severity::Error,
    what: "Adds up the constant variables of a program.",
    why: "A device has at least 64 KB (`CL_DEVICE_MAX_CONSTANT_BUFFER_SIZE`), and NVIDIA's have \
           just that.",
    illegal: Example::new(
        r#"constant float a[17000] = {1};
kernel void f(global float *o) { o[0] = a[get_global_id(1)]; }
"#,
    ),
    legal: Example::new(
        r#"constant float a[1000] = {1};
kernel void f(global float *o) { o[0] = a[get_global_id(1)]; }
"#,
    ),
    manual: "The OpenCL Specification, \"Querying Devices\"",
    holds: Holds::ALWAYS,
    fix: "",
    clang: &[],
    check: Some(check),
};

fn check(facts: &Facts<'_>, out: &mut Vec<Finding>) {
    let tree = facts.tree;
    let limit = u64::from(facts.limits.constant_memory.value);
    let mut total = 0u64;
    let mut last = None;
    for (node, _) in facts.variables().filter(|(n, _)| !facts.is_local(*n)) {
        let Some(variable) = tree[node].decl.filter(|v| facts.is_constant(*v)) else { continue };
        let ty = tree.decl_type(variable);
        // A pointer to constant is no constant.
        if ty.is_pointer() {
            continue;
        }
        total = total.saturating_add(ty.size().unwrap_or(0));
        last = Some(node);
    }
    if let Some(node) = last.filter(|_| total > limit) {
        let message = format!("the program has {total} bytes of constants, and the device {limit}");
        out.push(
            Finding::new(RULE.code, facts.name_place(node), message).label("the last of them"),
        );
    }
}
