// SPDX-License-Identifier: MIT OR Apache-2.0
//! MG118: Objects with virtual functions or bases are no kernel arguments.

use crate::analysis::Facts;
use crate::finding::{Finding, Severity};
use crate::rule::{Example, Group, Holds, Rule};

/// The rule.
pub static RULE: Rule = Rule {
    code: "MG118",
    name: "virtual-argument",
    group: Group::Functions,
    summary: "Objects with virtual functions or bases are no kernel arguments",
    severity: Severity::Error,
    what: "Reports kernel parameters, passed by value, of classes with virtual functions or \
           virtual bases.",
    why: "The object is copied with the pointer to the host's table of virtual functions; \
           calling through it on the device is undefined.",
    illegal: Example::new(
        r#"struct S { virtual __device__ int f() { return 1; } };
__global__ void k(S s, int *p) { p[0] = 1; }
"#,
    ),
    legal: Example::new(
        r#"struct S { int n; __device__ int f() { return n; } };
__global__ void k(S s, int *p) { p[0] = s.f(); }
"#,
    ),
    manual: "CUDA C++ Programming Guide, \"Virtual Functions\" and \"Virtual Base Classes\"",
    holds: Holds::ALWAYS,
    fix: "",
    clang: &[],
    check: Some(check),
};

fn check(facts: &Facts<'_>, out: &mut Vec<Finding>) {
    let tree = facts.tree;
    for function in tree.decl_ids().filter(|d| tree[*d].qualifiers.global) {
        for parameter in tree.parameters(function) {
            let ty = tree.type_of(parameter);
            if let Some(why) = ty.is_record().then(|| ty.has_virtual()).flatten() {
                let message =
                    format!("kernel `{}` takes an object with {why} by value", tree[function].name);
                out.push(
                    Finding::new(RULE.code, facts.place(parameter), message)
                        .note("its table of virtual functions is the host's"),
                );
            }
        }
    }
}
