// SPDX-License-Identifier: MIT OR Apache-2.0
//! MG106: The host cannot take the address of a `__device__` function.

use crate::analysis::Facts;
use crate::finding::Place;
use crate::finding::{Finding, Severity};
use crate::rule::{Example, Group, Holds, Rule};
use crate::tree::Kind;

/// The rule.
pub static RULE: Rule = Rule {
    code: "MG106",
    name: "device-function-address-on-host",
    group: Group::Functions,
    summary: "The host cannot take the address of a `__device__` function",
    severity: Severity::Error,
    what: "Reports `&f` and `f` used as a value in host code where `f` is a `__device__` \
           function.",
    why: "The address would be that of nothing: a function pointer for the device must be read \
           on the device, for instance from a `__device__` variable that holds it.",
    illegal: Example::new(
        r#"__device__ int f(int n) { return n; }
int (*pointer)(int);
int main() { pointer = f; return 0; }
"#,
    ),
    legal: Example::new(
        r#"__device__ int f(int n) { return n; }
__device__ int (*pointer)(int) = f;
__global__ void k(int *p) { p[0] = pointer(1); }
"#,
    ),
    manual: "CUDA C++ Programming Guide, \"Function Pointers\"",
    holds: Holds::ALWAYS,
    fix: "",
    clang: &[],
    check: Some(check),
};

fn check(facts: &Facts<'_>, out: &mut Vec<Finding>) {
    let tree = facts.tree;
    for node in facts.host(|k| k == Kind::Reference) {
        let Some(function) = tree[node].decl else { continue };
        let q = tree[function].qualifiers;
        if !tree[function].kind.is_function() || !q.device || q.host || !tree[function].ours {
            continue;
        }
        // A call's callee is another rule's.
        let called = tree.above(node).find(|n| tree[*n].kind != Kind::Implicit);
        if called.is_some_and(|c| tree[c].kind == Kind::Call && tree[c].decl == Some(function)) {
            continue;
        }
        let message = format!(
            "the address of `__device__` function `{}` is taken in host code",
            tree[function].name
        );
        out.push(
            Finding::new(RULE.code, facts.place(node), message)
                .note("the host has no code for it; the value is no address of device code"),
        );
    }
}

/// clang says the same of a call and of an address; what follows the name tells.
pub fn is_address(text: &str, place: &Place) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    let rest = text.get(place.start..).unwrap_or("").trim_start_matches(is_word);
    !rest.trim_start().starts_with(['(', '<'])
}
