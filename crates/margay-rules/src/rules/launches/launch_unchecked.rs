// SPDX-License-Identifier: MIT OR Apache-2.0
//! MG305: Launches are checked for errors.

use crate::analysis::Facts;
use crate::finding::{Finding, Severity};
use crate::rule::{Example, Group, Holds, Rule};
use crate::tree::{Kind, NodeId};

/// The rule.
pub static RULE: Rule = Rule {
    code: "MG305",
    name: "launch-unchecked",
    group: Group::Launches,
    summary: "Launches are checked for errors",
    severity: Severity::Hint,
    what: "Reports the first launch of a file in which no error is ever asked for: neither \
           `cudaGetLastError` nor `cudaPeekAtLastError`, and no result of a runtime call is \
           used.",
    why: "A launch returns nothing. Without a check a wrong configuration looks like a kernel \
           that did nothing.",
    illegal: Example::new(
        r#"__global__ void k(int *p) { p[0] = 1; }
int main() {
    int *p;
    cudaMalloc((void **)&p, 4);
    k<<<1, 1>>>(p);
    cudaDeviceSynchronize();
    return 0;
}
"#,
    ),
    legal: Example::new(
        r#"__global__ void k(int *p) { p[0] = 1; }
int main() {
    int *p;
    cudaMalloc((void **)&p, 4);
    k<<<1, 1>>>(p);
    return cudaDeviceSynchronize() == cudaSuccess ? 0 : 1;
}
"#,
    ),
    manual: "CUDA C++ Programming Guide, \"Error Checking\"",
    holds: Holds::ALWAYS,
    fix: "",
    clang: &[],
    check: Some(check),
};

fn check(facts: &Facts<'_>, out: &mut Vec<Finding>) {
    let tree = facts.tree;
    let Some(launch) = facts.launches.iter().find(|l| facts.on_host(l.node)) else { return };
    // A host program: in a library of launches the caller may check.
    if !tree.functions.iter().any(|f| tree[*f].name == "main") {
        return;
    }
    // `cudaDeviceProp p;` calls a constructor, which says nothing of errors.
    let mut calls = tree.find(|k| k == Kind::Call).filter(|c| !tree.is_construction(*c));
    let checked = calls.any(|call| {
        let Some(name) = tree.callee_name(call) else { return false };
        let asks = matches!(name, "cudaGetLastError" | "cudaPeekAtLastError");
        let runtime = name.starts_with("cuda") || name.starts_with("cu");
        asks || (runtime && is_used(facts, call))
    });
    if !checked {
        out.push(
            Finding::new(RULE.code, facts.place(launch.node), "no error of this file's launches is ever looked at")
                .help("look at cudaGetLastError() after a launch, and at what cudaDeviceSynchronize() returns"),
        );
    }
}

/// Whether a call's value goes anywhere.
fn is_used(facts: &Facts<'_>, call: NodeId) -> bool {
    let tree = facts.tree;
    let user =
        tree.above(call).find(|n| !matches!(tree[*n].kind, Kind::Implicit | Kind::Parenthesis));
    !user.is_some_and(|u| {
        matches!(
            tree[u].kind,
            Kind::Compound | Kind::OtherStatement | Kind::Case | Kind::Default | Kind::Label
        ) || (matches!(tree[u].kind, Kind::If | Kind::For | Kind::While | Kind::Do)
            && tree[u].children.last() == Some(&call))
    })
}
