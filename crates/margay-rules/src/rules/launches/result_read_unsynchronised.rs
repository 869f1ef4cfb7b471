// SPDX-License-Identifier: MIT OR Apache-2.0
//! MG306: The host waits before it reads what a kernel writes.

use crate::analysis::Facts;
use crate::analysis::Launch;
use crate::finding::{Finding, Severity};
use crate::rule::{Example, Group, Holds, Rule};
use crate::tree::{DeclId, Kind, NodeId, Unary};

/// The rule.
pub static RULE: Rule = Rule {
    code: "MG306",
    name: "result-read-unsynchronised",
    group: Group::Launches,
    summary: "The host waits before it reads what a kernel writes",
    severity: Severity::Warning,
    what: "Reports a read of a `__managed__` variable, or of memory from `cudaMallocManaged`, in \
           the statements right after a launch that writes it, with no call between.",
    why: "A launch returns at once. Before 6.0 the read faults, after it races with the kernel.",
    illegal: Example::new(
        r#"__managed__ int m;
__global__ void k() { m = 1; }
int main() {
    k<<<1, 1>>>();
    return m;
}
"#,
    ),
    legal: Example::new(
        r#"__managed__ int m;
__global__ void k() { m = 1; }
int main() {
    k<<<1, 1>>>();
    if (cudaDeviceSynchronize()) return 1;
    return m;
}
"#,
    ),
    manual: "CUDA C++ Programming Guide, \"Coherency and Concurrency\"",
    holds: Holds::ALWAYS,
    fix: "",
    clang: &[],
    check: Some(check),
};

fn check(facts: &Facts<'_>, out: &mut Vec<Finding>) {
    let tree = facts.tree;
    for launch in facts.launches.iter().filter(|l| facts.on_host(l.node)) {
        let Some(parent) = tree[launch.node].parent.filter(|p| tree[*p].kind == Kind::Compound)
        else {
            continue;
        };
        let written = written_by(facts, launch);
        if written.is_empty() {
            continue;
        }
        let after = tree[parent].children.iter().skip_while(|c| **c != launch.node).skip(1);
        for &statement in after {
            // Only what certainly runs next: a call may wait, a branch may not be taken.
            let plain =
                matches!(tree[statement].kind, Kind::Return | Kind::Assign(_) | Kind::Declarations)
                    && !tree
                        .below(statement)
                        .any(|n| matches!(tree[n].kind, Kind::Call | Kind::Launch));
            if !plain {
                break;
            }
            let read = tree.below(statement).find(|n| {
                tree[*n].kind == Kind::Reference
                    && tree[*n].decl.is_some_and(|d| written.contains(&d))
                    && reads(facts, *n)
            });
            if let Some(read) = read {
                let message =
                    format!("`{}` is read while the kernel may still run", tree.text(read));
                out.push(
                    Finding::new(RULE.code, facts.place(read), message)
                        .also(facts.place(launch.node), "launched here")
                        .help("call cudaDeviceSynchronize() between"),
                );
                break;
            }
        }
    }
}

/// The managed variables that the kernel writes, and the managed pointers that it is given.
fn written_by(facts: &Facts<'_>, launch: &Launch) -> Vec<DeclId> {
    let tree = facts.tree;
    let Some(kernel) = launch.kernel else { return Vec::new() };
    let Some(body) = tree.body(kernel) else { return Vec::new() };
    let mut found = Vec::new();
    for node in tree.below(body).filter(|n| matches!(tree[*n].kind, Kind::Assign(_))) {
        if let Some(root) = tree.root_variable(tree[node].children[0])
            && tree[root].qualifiers.managed
        {
            found.push(root);
        }
    }
    let parameters = tree.parameters(kernel);
    for (argument, parameter) in launch.arguments.iter().zip(parameters) {
        let (Some(pointer), Some(parameter)) = (tree.refers_to(*argument), tree[parameter].decl)
        else {
            continue;
        };
        let ty = tree.decl_type(parameter);
        let writes = ty.is_pointer()
            && !ty.pointee().is_const()
            && tree.writes(parameter).iter().any(|w| matches!(tree[*w].kind, Kind::Assign(_)));
        let managed = tree.writes(pointer).iter().any(|w| {
            tree.above(*w).take(4).any(|n| tree.callee_name(n) == Some("cudaMallocManaged"))
        });
        if writes && managed {
            found.push(pointer);
        }
    }
    found
}

/// A load of the variable, or through the pointer.
fn reads(facts: &Facts<'_>, reference: NodeId) -> bool {
    let tree = facts.tree;
    let mut at = reference;
    while let Some(parent) = tree[at].parent {
        match tree[parent].kind {
            Kind::Assign(_) if tree[parent].children.first() == Some(&at) => return false,
            Kind::Unary(Unary::AddressOf) | Kind::SizeOf => return false,
            Kind::Subscript | Kind::Unary(Unary::Dereference) => {
                return facts.use_of(parent).is_some_and(|(r, _)| r);
            }
            Kind::Implicit | Kind::Parenthesis | Kind::Member => at = parent,
            _ => return !tree.type_of(reference).is_pointer(),
        }
        if !tree.type_of(reference).is_pointer()
            && !tree.type_of(reference).is_array()
            && tree[at].kind == Kind::Implicit
        {
            return true;
        }
    }
    false
}
