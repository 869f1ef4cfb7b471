// SPDX-License-Identifier: MIT OR Apache-2.0
//! MG522: Local variables fit the device's local memory.

use crate::analysis::Facts;
use crate::finding::{Finding, Severity};
use crate::rule::{Example, Group, Holds, Rule};
use crate::tree::Kind;

/// The rule.
pub static RULE: Rule = Rule {
    code: "MG522",
    name: "local-too-large",
    group: Group::OpenCl,
    summary: "Local variables fit the device's local memory",
    severity: Severity::Error,
    what: "Adds up the variables in local memory of a kernel.",
    why: "`clEnqueueNDRangeKernel` fails with `CL_OUT_OF_RESOURCES`.",
    illegal: Example::new(
        r#"kernel void f(global float *o) {
    local float b[20000];
    b[get_local_id(0)] = 1;
    barrier(CLK_LOCAL_MEM_FENCE);
    o[0] = b[0];
}
"#,
    ),
    legal: Example::new(
        r#"kernel void f(global float *o) {
    local float b[2000];
    b[get_local_id(0)] = 1;
    barrier(CLK_LOCAL_MEM_FENCE);
    o[0] = b[0];
}
"#,
    ),
    manual: "The OpenCL Specification, \"Querying Devices\" (CL_DEVICE_LOCAL_MEM_SIZE)",
    holds: Holds::ALWAYS,
    fix: "",
    clang: &[],
    check: Some(check),
};

fn check(facts: &Facts<'_>, out: &mut Vec<Finding>) {
    let tree = facts.tree;
    let limit = u64::from(facts.limits.shared_per_block.value);
    for &function in &tree.functions {
        let Some(body) = tree.body(function) else { continue };
        let mut total = 0u64;
        let mut last = None;
        for node in tree.below(body).filter(|n| tree[*n].kind == Kind::Variable) {
            let Some(variable) = tree[node].decl.filter(|v| facts.is_shared(*v)) else { continue };
            let ty = tree.decl_type(variable);
            if ty.is_pointer() {
                continue;
            }
            total = total.saturating_add(ty.size().unwrap_or(0));
            last = Some(node);
        }
        if let Some(node) = last.filter(|_| total > limit) {
            let message = format!(
                "`{}` has {total} bytes of local memory, and the device ({}) {limit}",
                tree[function].name,
                facts.capability()
            );
            out.push(Finding::new(RULE.code, facts.name_place(node), message));
        }
    }
}
