// SPDX-License-Identifier: MIT OR Apache-2.0
//! MG123: A reference parameter of a kernel must not refer to host memory.

use crate::analysis::Facts;
use crate::finding::{Finding, Severity};
use crate::rule::{Example, Group, Holds, Rule};
use crate::tree::Kind;

/// The rule.
pub static RULE: Rule = Rule {
    code: "MG123",
    name: "reference-parameter",
    group: Group::Functions,
    summary: "A reference parameter of a kernel must not refer to host memory",
    severity: Severity::Warning,
    what: "Reports launches that bind a reference parameter to a host variable.",
    why: "The reference is passed as an address. Only managed or device memory has an address \
           that is good on both sides.",
    illegal: Example::new(
        r#"__global__ void k(int &n) { n = 1; }
int main() { int n = 0; k<<<1, 1>>>(n); return cudaDeviceSynchronize(); }
"#,
    ),
    legal: Example::new(
        r#"__global__ void k(int &n) { n = 1; }
__managed__ int n;
int main() { k<<<1, 1>>>(n); return cudaDeviceSynchronize(); }
"#,
    ),
    manual: "CUDA C++ Programming Guide, \"__global__ Function Parameters\"",
    holds: Holds::ALWAYS,
    fix: "",
    clang: &[],
    check: Some(check),
};

fn check(facts: &Facts<'_>, out: &mut Vec<Finding>) {
    let tree = facts.tree;
    for launch in facts.launches.iter().filter(|l| facts.on_host(l.node)) {
        let Some(kernel) = launch.kernel else { continue };
        let ty = tree.decl_type(kernel);
        for (i, argument) in launch.arguments.iter().enumerate() {
            if !ty.parameter(i).is_reference() {
                continue;
            }
            let Some(variable) = tree.refers_to(*argument) else { continue };
            let decl = &tree[variable];
            let q = decl.qualifiers;
            let value = matches!(decl.kind, Kind::Variable | Kind::Parameter)
                && !tree.decl_type(variable).is_reference();
            if value && !q.managed && !q.device && !q.constant {
                let message = format!(
                    "kernel `{}` gets a reference to host variable `{}`",
                    tree[kernel].name, decl.name
                );
                out.push(Finding::new(RULE.code, facts.place(*argument), message).help(
                    "pass by value, or a pointer to device memory, or make it `__managed__`",
                ));
            }
        }
    }
}
