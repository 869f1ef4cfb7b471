// SPDX-License-Identifier: MIT OR Apache-2.0
//! MG209: Device code does not write constant memory.

use crate::analysis::Facts;
use crate::finding::{Finding, Severity};
use crate::rule::{Example, Group, Holds, Rule};
use crate::tree::{Kind, NodeId, Unary};

/// The rule.
pub static RULE: Rule = Rule {
    code: "MG209",
    name: "constant-written",
    group: Group::Variables,
    summary: "Device code does not write constant memory",
    severity: Severity::Error,
    what: "Reports assignments to `__constant__` variables in device code, `++` and `--`, and \
           atomics on them.",
    why: "Constant memory is read-only for kernels. clang compiles the store, and it faults \
           when it runs, or is lost.",
    illegal: Example::new(
        r#"__constant__ int c;
__global__ void k(int *p) { c = p[0]; }
"#,
    ),
    legal: Example::new(
        r#"__constant__ int c;
__global__ void k(int *p) { p[0] = c; }
int main() {
    int n = 1;
    return cudaMemcpyToSymbol(c, &n, sizeof(n));
}
"#,
    ),
    manual: "CUDA C++ Programming Guide, \"__constant__\"",
    holds: Holds::ALWAYS,
    fix: "",
    clang: &[],
    check: Some(check),
};

fn check(facts: &Facts<'_>, out: &mut Vec<Finding>) {
    let tree = facts.tree;
    check_atomics(facts, out);
    for (node, decl) in facts.variables() {
        let Some(variable) = tree[node].decl.filter(|_| decl.qualifiers.constant) else { continue };
        if Some(&node) != decl.nodes.first() {
            continue;
        }
        for write in tree.writes(variable) {
            let assigns = match tree[write].kind {
                Kind::Assign(_) => true,
                Kind::Unary(operator) => operator.writes(),
                _ => false,
            };
            // `*c = 1` writes where a constant pointer points.
            let through_pointer =
                tree[write].children.first().is_some_and(|t| goes_through_pointer(facts, *t));
            if assigns && !through_pointer && facts.on_device(write) {
                let message =
                    format!("constant variable `{}` is written in device code", decl.name);
                out.push(
                    Finding::new(RULE.code, facts.place(write), message)
                        .help("the host writes it with cudaMemcpyToSymbol"),
                );
            }
        }
    }
}

/// `atomicAdd(&c[i], 1)` writes too.
fn check_atomics(facts: &Facts<'_>, out: &mut Vec<Finding>) {
    let tree = facts.tree;
    for call in facts.device(|k| k == Kind::Call) {
        if !tree.callee_name(call).is_some_and(|n| n.starts_with("atomic")) {
            continue;
        }
        let Some(&address) = tree.arguments(call).first() else { continue };
        let address = tree.uncast(address);
        let target = match tree[address].kind {
            Kind::Unary(Unary::AddressOf) => tree[address].children[0],
            Kind::Binary(_) => tree[address].children[0],
            _ => address,
        };
        let Some(root) = tree.root_variable(target) else { continue };
        let ty = tree.decl_type(root);
        if tree[root].qualifiers.constant
            && !ty.is_pointer()
            && !goes_through_pointer(facts, target)
        {
            let message =
                format!("constant variable `{}` is changed by an atomic", tree[root].name);
            out.push(
                Finding::new(RULE.code, facts.place(call), message)
                    .help("put it into global memory: `__device__`"),
            );
        }
    }
}

/// Whether an lvalue dereferences a pointer, not an array.
fn goes_through_pointer(facts: &Facts<'_>, node: NodeId) -> bool {
    let tree = facts.tree;
    tree.below(node).any(|n| match tree[n].kind {
        Kind::Unary(Unary::Dereference) | Kind::Subscript => tree[n]
            .children
            .first()
            .is_some_and(|base| tree.type_of(tree.plain(*base)).is_pointer()),
        _ => false,
    })
}
