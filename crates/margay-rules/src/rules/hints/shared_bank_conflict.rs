// SPDX-License-Identifier: MIT OR Apache-2.0
//! MG603: A warp's shared accesses go to different banks.

use crate::analysis::Facts;
use crate::finding::{Finding, Severity};
use crate::rule::{Example, Group, Holds, Rule};

/// The rule.
pub static RULE: Rule = Rule {
    code: "MG603",
    name: "shared-bank-conflict",
    group: Group::Hints,
    summary: "A warp's shared accesses go to different banks",
    severity: Severity::Hint,
    what: "Reports accesses to shared arrays whose lanes meet in a bank four times or more, by \
           the model of the compute capability.",
    why: "The banks serve one word a pass: an access that meets n times in a bank takes n \
           passes. A column of a 32 × 32 tile is the usual case, and a padding of one element \
           the usual cure.",
    illegal: Example::new(
        r#"__global__ void k(float *p) {
    __shared__ float s[32][32];
    s[threadIdx.y][threadIdx.x] = p[threadIdx.x];
    __syncthreads();
    p[threadIdx.x] = s[threadIdx.x][threadIdx.y];
}
"#,
    ),
    legal: Example::new(
        r#"__global__ void k(float *p) {
    __shared__ float s[32][33];
    s[threadIdx.y][threadIdx.x] = p[threadIdx.x];
    __syncthreads();
    p[threadIdx.x] = s[threadIdx.x][threadIdx.y];
}
"#,
    ),
    manual: "CUDA C++ Programming Guide, \"Shared Memory\" of each compute capability",
    holds: Holds::ALWAYS,
    fix: "",
    clang: &[],
    check: Some(check),
};

fn check(facts: &Facts<'_>, out: &mut Vec<Finding>) {
    for access in facts.device_accesses() {
        let Some(banks) = facts.banks(&access).filter(|b| b.degree() >= 4) else { continue };
        let message = format!(
            "{}-way bank conflict on shared array `{}`",
            banks.degree(),
            facts.tree[access.root].name
        );
        let [x, y, z] = banks.block;
        let shape = if banks.assumed {
            "taking a warp to be 32 threads in x".to_string()
        } else {
            format!("for the block of {x} × {y} × {z} that it is launched with")
        };
        out.push(
            Finding::new(RULE.code, facts.place(access.node), message)
                .note(format!(
                    "{} passes instead of {}, {shape}; neighbours are {} elements of {} bytes apart",
                    banks.counts.wavefronts, banks.counts.wavefronts_ideal, banks.stride, banks.width
                ))
                .help("pad the array's rows by one element"),
        );
    }
}
