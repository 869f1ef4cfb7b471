// SPDX-License-Identifier: MIT OR Apache-2.0
//! MG308: Atomics on mapped host memory are not atomic with the host.

use crate::analysis::Facts;
use crate::finding::{Finding, Severity};
use crate::rule::{Example, Group, Holds, Rule};
use crate::tree::Kind;

/// The rule.
pub static RULE: Rule = Rule {
    code: "MG308",
    name: "atomic-on-mapped",
    group: Group::Launches,
    summary: "Atomics on mapped host memory are not atomic with the host",
    severity: Severity::Warning,
    what: "Reports kernels that use atomics without `_system` on a parameter that a launch binds \
           to mapped host memory (`cudaHostGetDevicePointer`).",
    why: "The device's atomics are atomic among the threads of that device only. From 6.0 the \
           functions with `_system` are atomic with the host and other devices.",
    illegal: Example::new(
        r#"__global__ void k(int *p) { atomicAdd(p, 1); }
int main() {
    int *h, *d;
    if (cudaHostAlloc((void **)&h, 4, cudaHostAllocMapped)) return 1;
    cudaHostGetDevicePointer((void **)&d, h, 0);
    k<<<1, 32>>>(d);
    return cudaDeviceSynchronize();
}
"#,
    ),
    legal: Example::new(
        r#"__global__ void k(int *p) { atomicAdd_system(p, 1); }
int main() {
    int *h, *d;
    if (cudaHostAlloc((void **)&h, 4, cudaHostAllocMapped)) return 1;
    cudaHostGetDevicePointer((void **)&d, h, 0);
    k<<<1, 32>>>(d);
    return cudaDeviceSynchronize();
}
"#,
    ),
    manual: "CUDA C++ Programming Guide, \"Mapped Memory\"",
    holds: Holds::ALWAYS,
    fix: "",
    clang: &[],
    check: Some(check),
};

fn check(facts: &Facts<'_>, out: &mut Vec<Finding>) {
    let tree = facts.tree;
    for launch in facts.launches.iter().filter(|l| facts.on_host(l.node)) {
        let Some(body) = launch.kernel.and_then(|k| tree.body(k)) else { continue };
        let parameters = launch.kernel.map(|k| tree.parameters(k)).unwrap_or_default();
        for (argument, parameter) in launch.arguments.iter().zip(parameters) {
            let (Some(pointer), Some(parameter)) =
                (tree.refers_to(*argument), tree[parameter].decl)
            else {
                continue;
            };
            let mapped = tree.writes(pointer).into_iter().find(|w| {
                tree.above(*w).take(4).any(|n| {
                    tree.callee_name(n) == Some("cudaHostGetDevicePointer")
                        && tree
                            .arguments(n)
                            .first()
                            .is_some_and(|a| tree.below(*a).any(|x| x == *w))
                })
            });
            let Some(mapped) = mapped else { continue };
            let atomic = tree.below(body).find(|n| {
                let name = tree.callee_name(*n).unwrap_or("");
                name.starts_with("atomic")
                    && !name.ends_with("_system")
                    && tree.arguments(*n).first().is_some_and(|a| {
                        tree.below(*a).any(|x| {
                            tree[x].kind == Kind::Reference && tree[x].decl == Some(parameter)
                        })
                    })
            });
            if let Some(atomic) = atomic {
                let message = "an atomic on mapped host memory is not atomic with the host";
                out.push(
                    Finding::new(RULE.code, facts.place(atomic), message)
                        .also(facts.place(mapped), "the memory is the host's")
                        .also(facts.place(*argument), "passed here"),
                );
            }
        }
    }
}
