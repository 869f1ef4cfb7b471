// SPDX-License-Identifier: MIT OR Apache-2.0
//! MG116: A kernel's signature does not depend on `__CUDA_ARCH__`.

use crate::analysis::Facts;
use crate::finding::Place;
use crate::finding::{Finding, Severity};
use crate::rule::{Example, Group, Holds, Rule};
use crate::tree::Kind;

/// The rule.
pub static RULE: Rule = Rule {
    code: "MG116",
    name: "arch-dependent-signature",
    group: Group::Functions,
    summary: "A kernel's signature does not depend on `__CUDA_ARCH__`",
    severity: Severity::Error,
    what: "Compares the kernels, and the `__device__` and `__constant__` variables, that the \
           host pass and the device pass see: names and types must agree.",
    why: "The host launches by the name and the parameters that it saw; if the device was \
           compiled with others, the launch fails or passes nonsense.",
    illegal: Example::new(
        r#"#ifdef __CUDA_ARCH__
typedef float real;
#else
typedef double real;
#endif
__global__ void k(real *p) { p[0] = 1; }
"#,
    ),
    legal: Example::new(
        r#"typedef float real;
__global__ void k(real *p) {
#if __CUDA_ARCH__ >= 800
    p[0] = 2;
#else
    p[0] = 1;
#endif
}
"#,
    ),
    manual: "CUDA C++ Programming Guide, \"__CUDA_ARCH__\"",
    holds: Holds::ALWAYS,
    fix: "",
    clang: &[],
    check: None,
};

/// A kernel or device variable as a pass sees it.
#[derive(Clone, Debug)]
pub struct Signature {
    name: String,
    spelling: String,
    place: Place,
    kernel: bool,
}

/// What a pass declares that the other must declare alike.
pub fn signatures(facts: &Facts<'_>) -> Vec<Signature> {
    let tree = facts.tree;
    let mut all = Vec::new();
    for id in tree.decl_ids() {
        let decl = &tree[id];
        let q = decl.qualifiers;
        let kernel = q.global && decl.kind == Kind::Function;
        let variable = decl.kind == Kind::Variable && (q.device || q.constant);
        let Some(node) = decl.definition.filter(|_| decl.ours && (kernel || variable)) else {
            continue;
        };
        if facts.is_local(node) {
            continue;
        }
        all.push(Signature {
            name: decl.name.clone(),
            spelling: tree.decl_type(id).canonical_spelling(),
            place: facts.name_place(node),
            kernel,
        });
    }
    all
}

/// Compares the two passes.
pub fn across(host: &[Signature], device: &[Signature]) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut missing = |one: &Signature, here: &str, there: &str| {
        let what = if one.kernel { "kernel" } else { "variable" };
        let message = format!("{what} `{}` exists only when compiling for the {here}", one.name);
        found.push(
            Finding::new(RULE.code, one.place.clone(), message)
                .note(format!("`__CUDA_ARCH__` hides it from the {there}")),
        );
    };
    for one in host {
        if !device.iter().any(|d| d.name == one.name) {
            missing(one, "host", "device");
        }
    }
    for one in device {
        if !host.iter().any(|h| h.name == one.name) {
            missing(one, "device", "host");
        }
    }
    for one in host {
        let same_name: Vec<&Signature> = device.iter().filter(|d| d.name == one.name).collect();
        if !same_name.is_empty() && !same_name.iter().any(|d| d.spelling == one.spelling) {
            let what = if one.kernel { "kernel" } else { "variable" };
            let message = format!("the type of {what} `{}` depends on `__CUDA_ARCH__`", one.name);
            found.push(Finding::new(RULE.code, one.place.clone(), message).note(format!(
                "the host sees `{}`, the device `{}`",
                one.spelling, same_name[0].spelling
            )));
        }
    }
    found
}
