// SPDX-License-Identifier: MIT OR Apache-2.0
//! MG211: The address of a device variable comes from `cudaGetSymbolAddress`.

use crate::analysis::Facts;
use crate::finding::{Finding, Severity};
use crate::rule::{Example, Group, Holds, Rule};
use crate::tree::{Kind, NodeId, Unary};

/// The rule.
pub static RULE: Rule = Rule {
    code: "MG211",
    name: "device-address-on-host",
    group: Group::Variables,
    summary: "The address of a device variable comes from `cudaGetSymbolAddress`",
    severity: Severity::Warning,
    what: "Reports `&` on `__device__`, `__constant__` and `__shared__` variables, and their \
           arrays used as pointers, in host code, other than as an argument of the functions \
           that take symbols.",
    why: "The address is that of the host's shadow. It is good as a symbol for the API, and for \
           nothing else.",
    illegal: Example::new(
        r#"__device__ int d;
int main() {
    int *p = &d;
    return p == nullptr;
}
"#,
    ),
    legal: Example::new(
        r#"__device__ int d;
int main() {
    int *p = nullptr;
    return cudaGetSymbolAddress((void **)&p, d);
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
    for node in facts.host(|k| k == Kind::Reference) {
        let Some(variable) = tree[node].decl else { continue };
        let decl = &tree[variable];
        let q = decl.qualifiers;
        let on_device = (q.device || q.constant || q.shared) && !q.managed;
        if decl.kind != Kind::Variable || !on_device || !decl.ours || !takes_address(facts, node) {
            continue;
        }
        let message = format!("host code takes the address of device variable `{}`", decl.name);
        out.push(
            Finding::new(RULE.code, facts.place(node), message)
                .note("it is the address of the host's shadow")
                .help("cudaGetSymbolAddress gives the device's address"),
        );
    }
}

/// Whether an address of the variable is formed and kept; an argument of a call counts for the kernels
/// alone, since other functions may take a symbol.
fn takes_address(facts: &Facts<'_>, node: NodeId) -> bool {
    let tree = facts.tree;
    let mut at = node;
    let mut formed = false;
    while let Some(parent) = tree[at].parent {
        match tree[parent].kind {
            Kind::Parenthesis | Kind::Member => {}
            Kind::Unary(Unary::AddressOf) => formed = true,
            Kind::Implicit if tree.type_of(at).is_array() => formed = true,
            // The decayed array is loaded from: another rule's.
            Kind::Subscript if tree[parent].children.first() == Some(&at) => formed = false,
            Kind::Implicit | Kind::Cast => {}
            Kind::Launch => return formed,
            Kind::Call | Kind::SizeOf => return false,
            Kind::Unary(Unary::Dereference) => return false,
            _ => return formed,
        }
        at = parent;
    }
    false
}
