// SPDX-License-Identifier: MIT OR Apache-2.0
//! MG212: An address that device code took with `&` is not dereferenced on the host.

use crate::analysis::Facts;
use crate::analysis::Side;
use crate::finding::{Finding, Severity};
use crate::rule::{Example, Group, Holds, Rule};
use crate::tree::{Kind, NodeId, Unary};

/// The rule.
pub static RULE: Rule = Rule {
    code: "MG212",
    name: "device-address-escapes",
    group: Group::Variables,
    summary: "An address that device code took with `&` is not dereferenced on the host",
    severity: Severity::Warning,
    what: "Reports host code that dereferences a `__managed__` pointer which device code set to \
           the address of a `__device__`, `__constant__`, `__shared__` or local variable.",
    why: "The pointer itself may cross; what it points to is in device memory.",
    illegal: Example::new(
        r#"__device__ int d;
__managed__ int *p;
__global__ void k() { p = &d; }
int main() {
    k<<<1, 1>>>();
    cudaDeviceSynchronize();
    return *p;
}
"#,
    ),
    legal: Example::new(
        r#"__managed__ int d;
__managed__ int *p;
__global__ void k() { p = &d; }
int main() {
    k<<<1, 1>>>();
    if (cudaDeviceSynchronize()) return 1;
    return *p;
}
"#,
    ),
    manual: "CUDA C++ Programming Guide, \"Device memory space specifiers\"",
    holds: Holds::ALWAYS,
    fix: "",
    clang: &[],
    check: Some(check),
};

fn check(facts: &Facts<'_>, out: &mut Vec<Finding>) {
    let tree = facts.tree;
    for node in facts.host(|k| matches!(k, Kind::Unary(Unary::Dereference) | Kind::Subscript)) {
        let Some(pointer) = tree[node].children.first().and_then(|b| tree.refers_to(*b)) else {
            continue;
        };
        let decl = &tree[pointer];
        if decl.kind != Kind::Variable
            || !decl.qualifiers.managed
            || !tree.decl_type(pointer).is_pointer()
        {
            continue;
        }
        let source = tree.writes(pointer).into_iter().find(|w| {
            matches!(tree[*w].kind, Kind::Assign(None))
                && facts.side(*w) == Some(Side::Device)
                && tree[*w].children.get(1).is_some_and(|v| is_device_address(facts, *v))
        });
        if let Some(source) = source {
            let message =
                format!("host code dereferences `{}`, which points to device memory", decl.name);
            out.push(
                Finding::new(RULE.code, facts.place(node), message)
                    .also(facts.place(source), "device code takes the address here"),
            );
        }
    }
}

fn is_device_address(facts: &Facts<'_>, value: NodeId) -> bool {
    let tree = facts.tree;
    let value = tree.uncast(value);
    let root = match tree[value].kind {
        Kind::Unary(Unary::AddressOf) => tree.root_variable(tree[value].children[0]),
        Kind::Reference if tree.type_of(value).is_array() => tree[value].decl,
        _ => None,
    };
    root.is_some_and(|r| {
        let q = tree[r].qualifiers;
        (q.device || q.constant || q.shared) && !q.managed
    })
}
