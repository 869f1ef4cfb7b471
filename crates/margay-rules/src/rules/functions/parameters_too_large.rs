// SPDX-License-Identifier: MIT OR Apache-2.0
//! MG120: Kernel parameters fit the parameter space.

use crate::analysis::Facts;
use crate::finding::{Finding, Severity};
use crate::rule::{Example, Group, Holds, Rule};

/// The rule.
pub static RULE: Rule = Rule {
    code: "MG120",
    name: "parameters-too-large",
    group: Group::Functions,
    summary: "Kernel parameters fit the parameter space",
    severity: Severity::Error,
    what: "Reports kernels whose parameters are larger than the compute capability allows: 256 \
           bytes on 1.x, 4,096 from 2.0, 32,764 from 7.0.",
    why: "On 1.x they lie in shared memory, later in a bank of constant memory of that size. \
           The 32,764 bytes need CUDA 12.1.",
    illegal: Example::new(
        r#"struct B { char c[5000]; };
__global__ void k(B b, int *p) { p[0] = b.c[0]; }
"#,
    )
    .sm(60),
    legal: Example::new(
        r#"struct B { char c[5000]; };
__global__ void k(B b, int *p) { p[0] = b.c[0]; }
"#,
    )
    .sm(70),
    manual: "CUDA C++ Programming Guide, \"__global__ Function Parameters\"",
    holds: Holds::ALWAYS,
    fix: "",
    clang: &[],
    check: Some(check),
};

fn check(facts: &Facts<'_>, out: &mut Vec<Finding>) {
    let tree = facts.tree;
    let hardware = u64::from(facts.limits.max_parameters.value);
    let limit = if facts.environment.cuda_version < 12010 { hardware.min(4096) } else { hardware };
    for function in tree.decl_ids().filter(|d| tree[*d].qualifiers.global) {
        let decl = &tree[function];
        let Some(&node) = decl.nodes.first() else { continue };
        let mut total = 0u64;
        for parameter in tree.parameters(function) {
            let ty = tree.type_of(parameter);
            let (Some(size), Some(align)) = (ty.size(), ty.align()) else { return };
            total = total.next_multiple_of(align.max(1)).saturating_add(size);
        }
        if total > limit {
            let message = format!("kernel `{}` has {total} bytes of parameters", decl.name);
            out.push(
                Finding::new(RULE.code, facts.name_place(node), message)
                    .note(format!(
                        "{} with CUDA {}.{} allows {limit}",
                        facts.capability(),
                        facts.environment.cuda_version / 1000,
                        facts.environment.cuda_version % 1000 / 10
                    ))
                    .help("pass a pointer to global or constant memory"),
            );
        }
    }
}
