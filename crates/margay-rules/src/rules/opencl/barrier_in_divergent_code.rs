// SPDX-License-Identifier: MIT OR Apache-2.0
//! MG519: Every work-item of a group reaches the same barrier.

use crate::analysis::Facts;
use crate::finding::{Finding, Severity};
use crate::rule::{Example, Group, Holds, Rule};
use crate::rules::barriers::barrier_in_divergent_code::check_side;

/// The rule.
pub static RULE: Rule = Rule {
    code: "MG519",
    name: "barrier-in-divergent-code-cl",
    group: Group::OpenCl,
    summary: "Every work-item of a group reaches the same barrier",
    severity: Severity::Error,
    what: "Reports `barrier` and `work_group_barrier` under an `if`, `switch` or loop whose \
           condition is computed from the work-item's index.",
    why: "The group waits for ever, or the behaviour is undefined.",
    illegal: Example::new(
        r#"kernel void f(global int *p) {
    if (get_local_id(0) < 16) {
        p[get_local_id(0)] = 1;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}
"#,
    ),
    legal: Example::new(
        r#"kernel void f(global int *p) {
    if (get_local_id(0) < 16) p[get_local_id(0)] = 1;
    barrier(CLK_LOCAL_MEM_FENCE);
}
"#,
    ),
    manual: "The OpenCL C Specification, \"Synchronization Functions\"",
    holds: Holds::ALWAYS,
    fix: "",
    clang: &[],
    check: Some(check),
};

fn check(facts: &Facts<'_>, out: &mut Vec<Finding>) {
    if facts.is_opencl() {
        check_side(facts, RULE.code, out);
    }
}
