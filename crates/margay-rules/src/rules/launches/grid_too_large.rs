// SPDX-License-Identifier: MIT OR Apache-2.0
//! MG301: The grid fits the compute capability.

use crate::analysis::Facts;
use crate::finding::{Finding, Severity};
use crate::rule::{Example, Group, Holds, Rule};

/// The rule.
pub static RULE: Rule = Rule {
    code: "MG301",
    name: "grid-too-large",
    group: Group::Launches,
    summary: "The grid fits the compute capability",
    severity: Severity::Error,
    what: "Reports constant grid sizes over the limit: 65,535 in each dimension on 1.x (and z is \
           1) and 2.x, 2,147,483,647 in x from 3.0 on. A size of zero is an error too.",
    why: "The launch fails with `cudaErrorInvalidConfiguration`, and no kernel runs.",
    illegal: Example::new(
        r#"__global__ void k(int *p) { p[0] = 1; }
int main() {
    k<<<dim3(1, 70000), 64>>>(nullptr);
    return cudaDeviceSynchronize();
}
"#,
    ),
    legal: Example::new(
        r#"__global__ void k(int *p) { p[0] = 1; }
int main() {
    k<<<dim3(70000, 1), 64>>>(nullptr);
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
        let limits = facts.limits.max_grid.value;
        for (i, letter) in ["x", "y", "z"].iter().enumerate() {
            let (Some(size), limit) = (launch.grid[i], i64::from(limits[i])) else { continue };
            if size > limit || size <= 0 {
                let message = format!("the grid has {size} blocks in {letter}");
                let finding = Finding::new(RULE.code, facts.place(launch.grid_node), message);
                out.push(if size <= 0 {
                    finding.note("a grid has at least one block in each dimension")
                } else {
                    finding.note(format!("{} allows {limit}", facts.capability()))
                });
            }
        }
    }
}
