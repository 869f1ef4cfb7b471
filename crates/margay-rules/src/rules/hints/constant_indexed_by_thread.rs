// SPDX-License-Identifier: MIT OR Apache-2.0
//! MG601: Constant memory serves one address at a time.

use crate::analysis::Facts;
use crate::finding::{Finding, Severity};
use crate::rule::{Example, Group, Holds, Rule};

/// The rule.
pub static RULE: Rule = Rule {
    code: "MG601",
    name: "constant-indexed-by-thread",
    group: Group::Hints,
    summary: "Constant memory serves one address at a time",
    severity: Severity::Hint,
    what: "Reports constant arrays that neighbouring threads index differently.",
    why: "A warp that reads n addresses of constant memory needs n passes. An array that each \
           thread indexes by itself belongs in global memory, through the read-only cache.",
    illegal: Example::new(
        r#"__constant__ float c[256];
__global__ void k(float *p) { p[threadIdx.x] = c[threadIdx.x]; }
"#,
    ),
    legal: Example::new(
        r#"__constant__ float c[256];
__global__ void k(float *p) { p[threadIdx.x] = c[blockIdx.x]; }
"#,
    ),
    manual: "CUDA C++ Programming Guide, \"Constant Memory\"",
    holds: Holds::ALWAYS,
    fix: "",
    clang: &[],
    check: Some(check),
};

fn check(facts: &Facts<'_>, out: &mut Vec<Finding>) {
    let mut said = Vec::new();
    for access in facts.device_accesses().into_iter().filter(|a| a.reads) {
        if !facts.is_constant(access.root) || said.contains(&access.node) {
            continue;
        }
        let Some(index) = facts.element_index(&access) else { continue };
        if facts.varies_in_x(&index).is_none() {
            continue;
        }
        said.push(access.node);
        let message = format!(
            "constant array `{}` is read at another address by each thread of a warp",
            facts.tree[access.root].name
        );
        out.push(
            Finding::new(RULE.code, facts.place(access.node), message)
                .note("a warp takes a pass for each address"),
        );
    }
}
