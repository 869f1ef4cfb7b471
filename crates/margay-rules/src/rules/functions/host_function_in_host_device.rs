// SPDX-License-Identifier: MIT OR Apache-2.0
//! MG122: A `__host__ __device__` function calls only what both sides have.

use crate::analysis::Facts;
use crate::analysis::Side;
use crate::finding::{Finding, Severity};
use crate::rule::{Example, Group, Holds, Rule};
use crate::tree::Kind;

/// The rule.
pub static RULE: Rule = Rule {
    code: "MG122",
    name: "host-function-in-host-device",
    group: Group::Functions,
    summary: "A `__host__ __device__` function calls only what both sides have",
    severity: Severity::Warning,
    what: "Reports calls of host functions in `__host__ __device__` functions outside `#ifndef \
           __CUDA_ARCH__`, where the program's own function has no `__device__`.",
    why: "As soon as device code calls it, the program does not compile, and until then nobody \
           notices.",
    illegal: Example::new(
        r#"int h() { return 1; }
__host__ __device__ int f() { return h(); }
int main() { return f() - 1; }
"#,
    ),
    legal: Example::new(
        r#"__host__ __device__ int h() { return 1; }
__host__ __device__ int f() { return h(); }
int main() { return f() - 1; }
"#,
    ),
    manual: "CUDA C++ Programming Guide, \"__host__\"; nvcc warns with #20014, clang refuses what \
           it compiles for the device",
    holds: Holds::ALWAYS,
    fix: "",
    clang: &["reference to __host__ function * in __host__ __device__ function"],
    check: Some(check),
};

fn check(facts: &Facts<'_>, out: &mut Vec<Finding>) {
    let tree = facts.tree;
    for call in facts.device(|k| k == Kind::Call) {
        if facts.side(call) != Some(Side::Both) || tree[call].dependent {
            continue;
        }
        let Some(callee) = tree[call].decl else { continue };
        let decl = &tree[callee];
        let host = decl.kind == Kind::Function && facts.side_of(decl) == Side::Host && decl.ours;
        let Some(&node) = decl.nodes.first().filter(|_| host) else { continue };
        // constexpr functions work on both sides in clang, and in nvcc with a flag.
        if facts.has_word(node, "constexpr") {
            continue;
        }
        let message =
            format!("host function `{}` is called in a `__host__ __device__` function", decl.name);
        out.push(
            Finding::new(RULE.code, facts.place(call), message)
                .also(facts.name_place(node), "it has no `__device__`"),
        );
    }
}
