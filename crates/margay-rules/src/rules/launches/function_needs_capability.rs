// SPDX-License-Identifier: MIT OR Apache-2.0
//! MG311: Device functions exist from a compute capability on.

use margay_arch::ComputeCapability;
use margay_arch::features::Feature;

use crate::analysis::Facts;
use crate::finding::{Finding, Severity};
use crate::rule::{Example, Group, Holds, Rule};
use crate::tree::Kind;

/// The rule.
pub static RULE: Rule = Rule {
    code: "MG311",
    name: "function-needs-capability",
    group: Group::Launches,
    summary: "Device functions exist from a compute capability on",
    severity: Severity::Error,
    what: "Reports calls of device functions that the compute capability lacks: votes before 1.2; \
           `__ballot`, `__syncthreads_count` and its relatives, `__threadfence_system`, surfaces, \
           `clock64`, `printf`, `malloc` and `assert` before 2.0; shuffles before 3.0; `__ldg` and funnel \
           shifts before 3.2; `__dp4a` and `__dp2a` before 6.1; `__match_*_sync` and \
           `__nanosleep` before 7.0; `__reduce_*_sync` before 8.0.",
    why: "The instruction does not exist there: nvcc has no such function, or ptxas refuses it.",
    illegal: Example::new(
        r#"__global__ void k(int *p) { p[threadIdx.x] = __dp4a(p[0], p[1], p[2]); }
"#,
    )
    .sm(60),
    legal: Example::new(
        r#"__global__ void k(int *p) { p[threadIdx.x] = __dp4a(p[0], p[1], p[2]); }
"#,
    )
    .sm(61),
    manual: "CUDA C++ Programming Guide, \"Feature Availability\" and \"C++ Language Extensions\"",
    holds: Holds::ALWAYS,
    fix: "",
    clang: &[
        "use of undeclared identifier '__shfl",
        "use of undeclared identifier '__any'",
        "use of undeclared identifier '__all'",
        "use of undeclared identifier '__ballot'",
        "use of undeclared identifier '__match_",
        "use of undeclared identifier '__nanosleep'",
        "use of undeclared identifier '__reduce_",
        "use of undeclared identifier '__dp4a'",
        "use of undeclared identifier '__dp2a",
        "use of undeclared identifier '__ldg'",
        "use of undeclared identifier '__funnelshift_",
    ],
    check: Some(check),
};

/// The first capability with a function of the toolkit's.
pub fn since(name: &str) -> Option<ComputeCapability> {
    let of = |major, minor| Some(ComputeCapability::new(major, minor));
    let starts = |prefixes: &[&str]| prefixes.iter().any(|p| name.starts_with(p));
    if matches!(name, "__all" | "__any") {
        Some(Feature::WarpVote.since())
    } else if name == "__ballot" {
        Some(Feature::Ballot.since())
    } else if matches!(name, "__threadfence_system")
        || starts(&["__syncthreads_", "surf1D", "surf2D", "surf3D", "surfCubemap"])
    {
        Some(Feature::BlockVote.since())
    } else if matches!(
        name,
        "clock64" | "printf" | "malloc" | "free" | "__assert_fail" | "__assertfail"
    ) {
        of(2, 0)
    } else if matches!(name, "__activemask" | "__syncwarp" | "__all_sync" | "__any_sync")
        || starts(&["__shfl", "__ballot_sync"])
    {
        Some(Feature::Shuffle.since())
    } else if starts(&["__funnelshift_"]) {
        Some(Feature::FunnelShift.since())
    } else if name == "__ldg" {
        of(3, 2)
    } else if starts(&["__dp4a", "__dp2a"]) {
        of(6, 1)
    } else if starts(&["__match_"]) {
        Some(Feature::Match.since())
    } else if name == "__nanosleep" {
        of(7, 0)
    } else if starts(&["__reduce_"]) && name.ends_with("_sync") {
        Some(Feature::WarpReduce.since())
    } else {
        None
    }
}

fn check(facts: &Facts<'_>, out: &mut Vec<Finding>) {
    let tree = facts.tree;
    for call in facts.device(|k| k == Kind::Call) {
        let Some(name) = tree.callee_name(call) else { continue };
        if tree[call].decl.is_none_or(|d| tree[d].ours) {
            continue;
        }
        let Some(needed) = since(name).filter(|n| *n > facts.environment.capability) else {
            continue;
        };
        let message = format!("`{name}` does not exist on {}", facts.capability());
        out.push(
            Finding::new(RULE.code, facts.place(call), message)
                .note(format!("it needs compute capability {needed}")),
        );
    }
}
