// SPDX-License-Identifier: MIT OR Apache-2.0
//! MG217: Static shared memory fits the compute capability.

use crate::analysis::Facts;
use crate::finding::{Finding, Severity};
use crate::rule::{Example, Group, Holds, Rule};
use crate::tree::Kind;

/// The rule.
pub static RULE: Rule = Rule {
    code: "MG217",
    name: "static-shared-too-large",
    group: Group::Variables,
    summary: "Static shared memory fits the compute capability",
    severity: Severity::Error,
    what: "Adds up the `__shared__` variables of a kernel: 16 KB on 1.x, 48 KB after.",
    why: "More than 48 KB needs dynamic shared memory and `cudaFuncSetAttribute`, on the \
           capabilities that have more.",
    illegal: Example::new(
        r#"__global__ void k(float *p) {
    __shared__ float s[13000];
    s[threadIdx.x] = p[threadIdx.x];
    __syncthreads();
    p[threadIdx.x] = s[0];
}
"#,
    ),
    legal: Example::new(
        r#"__global__ void k(float *p) {
    extern __shared__ float s[];
    s[threadIdx.x] = p[threadIdx.x];
    __syncthreads();
    p[threadIdx.x] = s[0];
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
    let limit = u64::from(facts.limits.shared_per_block.value);
    for &function in &tree.functions {
        let Some(body) = tree.body(function).filter(|b| facts.on_device(*b)) else { continue };
        let mut total = 0u64;
        let mut last = None;
        for node in tree.below(body).filter(|n| tree[*n].kind == Kind::Variable) {
            let Some(variable) = tree[node].decl.filter(|v| tree[*v].qualifiers.shared) else {
                continue;
            };
            let ty = tree.decl_type(variable);
            let (Some(size), Some(align)) = (ty.size(), ty.align()) else { continue };
            total = total.next_multiple_of(align.max(1)).saturating_add(size);
            last = Some(node);
        }
        if let Some(node) = last.filter(|n| total > limit && !tree[*n].dependent) {
            let message = format!(
                "`{}` has {total} bytes of static shared memory, and {} has {limit}",
                tree[function].name,
                facts.capability()
            );
            let finding = Finding::new(RULE.code, facts.name_place(node), message);
            let most = facts.limits.shared_per_block_optin.value;
            out.push(if u64::from(most) >= total {
                finding.help(format!(
                    "dynamic shared memory goes up to {most} bytes with cudaFuncAttributeMaxDynamicSharedMemorySize"
                ))
            } else {
                finding
            });
        }
    }
}
