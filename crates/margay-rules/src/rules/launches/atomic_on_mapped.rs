// SPDX-License-Identifier: MIT OR Apache-2.0
//! MG308: Atomics on mapped host memory or another device's are not atomic with the other side.

use crate::analysis::Facts;
use crate::finding::{Finding, Severity};
use crate::rule::{Example, Group, Holds, Rule};
use crate::tree::{DeclId, Kind, NodeId};

/// The rule.
pub static RULE: Rule = Rule {
    code: "MG308",
    name: "atomic-on-mapped",
    group: Group::Launches,
    summary: "Atomics on mapped host or peer memory are not atomic with the other side",
    severity: Severity::Warning,
    what: "Reports kernels that use atomics without `_system` on a parameter that a launch binds \
           to mapped host memory (`cudaHostGetDevicePointer`, or what `cudaHostAlloc` and \
           `cudaMallocHost` give, as unified addressing allows), or to memory that was allocated \
           on another device than the one that the launch runs on.",
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
    manual: "CUDA C++ Programming Guide, \"Mapped Memory\" and \"Atomic Functions\"",
    holds: Holds::ALWAYS,
    fix: "",
    clang: &[],
    check: Some(check),
};

/// Where the memory lies that a pointer of the host's points to.
enum Memory {
    Host,
    /// Allocated on the first device, used on the second.
    Peer(i64, i64),
}

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
            let Some((memory, source)) = memory_of(facts, launch.node, pointer) else { continue };
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
            let Some(atomic) = atomic else { continue };
            let (message, owner) = match memory {
                Memory::Host => (
                    "an atomic on mapped host memory is not atomic with the host".to_string(),
                    "the memory is the host's".to_string(),
                ),
                Memory::Peer(owner, user) => (
                    format!("an atomic of device {user} is not atomic with device {owner}"),
                    format!("the memory is device {owner}'s"),
                ),
            };
            let finding = Finding::new(RULE.code, facts.place(atomic), message)
                .also(facts.place(source), owner)
                .also(facts.place(*argument), "passed here");
            let name = tree.callee_name(atomic).unwrap_or("").trim_end_matches("_block");
            out.push(if facts.sm() >= 60 {
                finding.help(format!("`{name}_system` is atomic with the other side too"))
            } else {
                finding.note("functions with `_system` exist from compute capability 6.0 on")
            });
        }
    }
}

/// Where a pointer certainly points when a launch is given it, and the call that says so.
fn memory_of(facts: &Facts<'_>, launch: NodeId, pointer: DeclId) -> Option<(Memory, NodeId)> {
    let tree = facts.tree;
    tree.writes(pointer).into_iter().find_map(|write| {
        let call = tree.above(write).take(4).find(|n| {
            tree[*n].kind == Kind::Call
                && tree.arguments(*n).first().is_some_and(|a| tree.below(*a).any(|x| x == write))
        })?;
        match tree.callee_name(call)? {
            "cudaHostGetDevicePointer" | "cudaHostAlloc" | "cudaMallocHost" => {
                Some((Memory::Host, write))
            }
            "cudaMalloc" | "cudaMallocPitch" => {
                let (owner, user) = (device_at(facts, call)?, device_at(facts, launch)?);
                (owner != user).then_some((Memory::Peer(owner, user), write))
            }
            _ => None,
        }
    })
}

/// The device that `cudaSetDevice` certainly chose before a node: the last choice in the lists of statements
/// that the node is in, with no branch or loop between.
fn device_at(facts: &Facts<'_>, node: NodeId) -> Option<i64> {
    let tree = facts.tree;
    let mut at = node;
    loop {
        let parent = tree[at].parent?;
        match tree[parent].kind {
            Kind::Compound => {
                let before = tree[parent].children.iter().take_while(|s| **s != at);
                let choices = before.flat_map(|s| tree.below(*s));
                if let Some(last) =
                    choices.filter(|n| tree.callee_name(*n) == Some("cudaSetDevice")).last()
                {
                    let device = facts.integer(*tree.arguments(last).first()?);
                    return device.filter(|_| always_runs(facts, last, parent));
                }
            }
            // The condition of an `if` runs in any case, and so does the body of a macro's `do`.
            Kind::If if tree[parent].children.first() == Some(&at) => {}
            Kind::If | Kind::For | Kind::RangeFor | Kind::While | Kind::Switch | Kind::Lambda => {
                return None;
            }
            kind if kind.is_function() => return None,
            _ => {}
        }
        at = parent;
    }
}

/// Whether a node runs whenever the list of statements around it does.
fn always_runs(facts: &Facts<'_>, node: NodeId, list: NodeId) -> bool {
    let tree = facts.tree;
    let mut inner = node;
    tree.above(node).take_while(|n| *n != list).all(|n| {
        let runs = match tree[n].kind {
            Kind::If => tree[n].children.first() == Some(&inner),
            Kind::For | Kind::RangeFor | Kind::While | Kind::Switch | Kind::Lambda => false,
            _ => true,
        };
        inner = n;
        runs
    })
}
