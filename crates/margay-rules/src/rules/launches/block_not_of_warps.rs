// SPDX-License-Identifier: MIT OR Apache-2.0
//! MG303: A block is best a multiple of 32 threads.

use crate::analysis::Facts;
use crate::finding::{Finding, Severity};
use crate::rule::{Example, Group, Holds, Rule};
use margay_arch::Limits;

/// The rule.
pub static RULE: Rule = Rule {
    code: "MG303",
    name: "block-not-of-warps",
    group: Group::Launches,
    summary: "A block is best a multiple of 32 threads",
    severity: Severity::Hint,
    what: "Reports constant block sizes over 32 that are no multiple of the warp size.",
    why: "The last warp of each block is launched whole, and its missing threads are idle \
           lanes.",
    illegal: Example::new(
        r#"__global__ void k(int *p) { p[0] = 1; }
int main() {
    k<<<8, 100>>>(nullptr);
    return cudaDeviceSynchronize();
}
"#,
    ),
    legal: Example::new(
        r#"__global__ void k(int *p) { p[0] = 1; }
int main() {
    k<<<8, 128>>>(nullptr);
    return cudaDeviceSynchronize();
}
"#,
    ),
    manual: "CUDA C++ Best Practices Guide, \"Thread and Block Heuristics\"",
    holds: Holds::ALWAYS,
    fix: "",
    clang: &[],
    check: Some(check),
};

fn check(facts: &Facts<'_>, out: &mut Vec<Finding>) {
    let warp = i64::from(Limits::WARP_SIZE);
    for launch in &facts.launches {
        // Small blocks are chosen for other reasons than speed.
        let Some(threads) = launch.threads().filter(|t| *t > warp && t % warp != 0) else {
            continue;
        };
        let idle = warp - threads % warp;
        let message = format!("{threads} threads are no multiple of a warp's {warp}");
        out.push(
            Finding::new(RULE.code, facts.place(launch.block_node), message)
                .note(format!("{idle} lanes of each block's last warp are idle")),
        );
    }
}
