// SPDX-License-Identifier: MIT OR Apache-2.0
//! MG304: Dynamic shared memory fits the compute capability.

use crate::analysis::Facts;
use crate::finding::{Finding, Severity};
use crate::rule::{Example, Group, Holds, Rule};
use crate::tree::Kind;

/// The rule.
pub static RULE: Rule = Rule {
    code: "MG304",
    name: "dynamic-shared-too-large",
    group: Group::Launches,
    summary: "Dynamic shared memory fits the compute capability",
    severity: Severity::Error,
    what: "Reports constant dynamic shared sizes over what a block can have, or over 48 KB where \
           the program never calls `cudaFuncSetAttribute`.",
    why: "The launch fails with `cudaErrorInvalidValue`, and no kernel runs.",
    illegal: Example::new(
        r#"__global__ void k(int *p) { p[0] = 1; }
int main() {
    k<<<1, 64, 64 * 1024>>>(nullptr);
    return cudaDeviceSynchronize();
}
"#,
    ),
    legal: Example::new(
        r#"__global__ void k(int *p) { p[0] = 1; }
int main() {
    k<<<1, 64, 32 * 1024>>>(nullptr);
    return cudaDeviceSynchronize();
}
"#,
    ),
    manual: "CUDA C++ Programming Guide, \"Shared Memory\"",
    holds: Holds::ALWAYS,
    fix: "",
    clang: &[],
    check: Some(check),
};

fn check(facts: &Facts<'_>, out: &mut Vec<Finding>) {
    let tree = facts.tree;
    let opts_in = tree.find(|k| k == Kind::Call).any(|c| {
        tree.callee_name(c)
            .is_some_and(|n| n.starts_with("cudaFuncSetAttribute") || n == "cuFuncSetAttribute")
    });
    let most = i64::from(facts.limits.shared_per_block_optin.value);
    let usual = i64::from(facts.limits.shared_per_block.value);
    let limit = if opts_in { most } else { usual };
    for launch in &facts.launches {
        let (Some(size), Some(node)) = (launch.shared, launch.shared_node) else { continue };
        if size > limit {
            let message = format!("the launch asks for {size} bytes of dynamic shared memory");
            let finding = Finding::new(RULE.code, facts.place(node), message);
            out.push(if size <= most {
                finding
                    .note(format!("without opting in a block has {usual}"))
                    .help("cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes)")
            } else {
                finding.note(format!("a block of {} has at most {most}", facts.capability()))
            });
        }
    }
}
