// SPDX-License-Identifier: MIT OR Apache-2.0
//! MG402: A barrier lies between a shared write and other threads' reads.

use crate::analysis::Facts;
use crate::finding::{Finding, Severity};
use crate::rule::{Example, Group, Holds, Rule};

/// The rule.
pub static RULE: Rule = Rule {
    code: "MG402",
    name: "shared-without-barrier",
    group: Group::Barriers,
    summary: "A barrier lies between a shared write and other threads' reads",
    severity: Severity::Warning,
    what: "Reports a read of a shared element that another thread writes a few statements \
           before, with no barrier between. Only the certain cases: straight-line code and \
           indices that are known up to the thread.",
    why: "The threads run in any order: the reader gets the old value or the new one.",
    illegal: Example::new(
        r#"__global__ void k(int *p) {
    __shared__ int s[257];
    int t = threadIdx.x;
    s[t] = p[t];
    p[t] = s[t + 1];
}
"#,
    ),
    legal: Example::new(
        r#"__global__ void k(int *p) {
    __shared__ int s[257];
    int t = threadIdx.x;
    s[t] = p[t];
    __syncthreads();
    p[t] = s[t + 1];
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
    for pair in facts.unordered_pairs().into_iter().filter(|p| !p.in_warp && !p.volatile) {
        let name = &facts.tree[pair.array].name;
        let barrier =
            if facts.is_opencl() { "barrier(CLK_LOCAL_MEM_FENCE)" } else { "__syncthreads()" };
        let message = format!("`{name}` is read here while another thread may still write it");
        out.push(
            Finding::new(RULE.code, facts.place(pair.read), message)
                .also(facts.place(pair.write), "another thread writes the element here")
                .help(format!("put {barrier} between")),
        );
    }
}
