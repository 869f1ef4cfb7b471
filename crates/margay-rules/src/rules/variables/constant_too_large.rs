// SPDX-License-Identifier: MIT OR Apache-2.0
//! MG216: A program's constant memory is 64 KB.

use crate::analysis::Facts;
use crate::finding::{Finding, Severity};
use crate::rule::{Example, Group, Holds, Rule};

/// The rule.
pub static RULE: Rule = Rule {
    code: "MG216",
    name: "constant-too-large",
    group: Group::Variables,
    summary: "A program's constant memory is 64 KB",
    severity: Severity::Error,
    what: "Adds up the `__constant__` variables of a file.",
    why: "The bank of constant memory has 64 KB on every compute capability.",
    illegal: Example::new(
        r#"__constant__ float a[16000];
__constant__ float b[1000];
__global__ void k(float *p) { p[0] = a[1] + b[1]; }
"#,
    ),
    legal: Example::new(
        r#"__constant__ float a[16000];
__device__ float b[1000];
__global__ void k(float *p) { p[0] = a[1] + b[1]; }
"#,
    ),
    manual: "CUDA C++ Programming Guide, \"Technical Specifications per Compute Capability\"",
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
    for (node, decl) in facts.variables().filter(|(_, d)| d.qualifiers.constant) {
        let Some(variable) = tree[node].decl.filter(|_| decl.nodes.first() == Some(&node)) else {
            continue;
        };
        let ty = tree.decl_type(variable);
        let (Some(size), Some(align)) = (ty.size(), ty.align()) else { continue };
        if tree[node].dependent {
            continue;
        }
        total = total.next_multiple_of(align.max(1)).saturating_add(size);
        last = Some(node);
    }
    if let Some(node) = last.filter(|_| total > limit) {
        let message =
            format!("the file has {total} bytes of constant memory, and there are {limit}");
        out.push(
            Finding::new(RULE.code, facts.name_place(node), message).label("the last of them"),
        );
    }
}
