// SPDX-License-Identifier: MIT OR Apache-2.0
//! MG302: The block fits the compute capability.

use crate::analysis::Facts;
use crate::finding::{Finding, Severity};
use crate::rule::{Example, Group, Holds, Rule};

/// The rule.
pub static RULE: Rule = Rule {
    code: "MG302",
    name: "block-too-large",
    group: Group::Launches,
    summary: "The block fits the compute capability",
    severity: Severity::Error,
    what: "Reports constant block sizes over the limit: 512 threads to 1.3, 1,024 after; 512 or \
           1,024 in x and y, 64 in z. A size of zero is an error too.",
    why: "The launch fails with `cudaErrorInvalidConfiguration`, and no kernel runs.",
    illegal: Example::new(
        r#"__global__ void k(int *p) { p[0] = 1; }
int main() {
    k<<<1, dim3(64, 32)>>>(nullptr);
    return cudaDeviceSynchronize();
}
"#,
    ),
    legal: Example::new(
        r#"__global__ void k(int *p) { p[0] = 1; }
int main() {
    k<<<1, dim3(32, 32)>>>(nullptr);
    return cudaDeviceSynchronize();
}
"#,
    ),
    manual: "CUDA C++ Programming Guide, \"Technical Specifications per Compute Capability\"",
    holds: Holds::ALWAYS,
    fix: "",
    clang: &[],
    check: Some(check),
};

fn check(facts: &Facts<'_>, out: &mut Vec<Finding>) {
    for launch in &facts.launches {
        let mut push = |message: String, note: String| {
            out.push(Finding::new(RULE.code, facts.place(launch.block_node), message).note(note));
        };
        let limits = facts.limits.max_block.value;
        let mut said = false;
        for (i, letter) in ["x", "y", "z"].iter().enumerate() {
            let (Some(size), limit) = (launch.block[i], i64::from(limits[i])) else { continue };
            if size > limit || size <= 0 {
                said = true;
                let note = if size <= 0 {
                    "a block has at least one thread in each dimension".to_string()
                } else {
                    format!("{} allows {limit}", facts.capability())
                };
                push(format!("the block has {size} threads in {letter}"), note);
            }
        }
        let limit = i64::from(facts.limits.max_threads_per_block.value);
        if let Some(threads) = launch.threads().filter(|t| *t > limit && !said) {
            let note = format!("{} allows {limit}", facts.capability());
            push(format!("the block has {threads} threads"), note);
        }
    }
}
