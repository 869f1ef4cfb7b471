// SPDX-License-Identifier: MIT OR Apache-2.0
//! MG111: Variadic device functions need CUDA 9.0.

use crate::analysis::Facts;
use crate::finding::{Finding, Severity};
use crate::rule::{Example, Group, Holds, Rule};

/// The rule.
pub static RULE: Rule = Rule {
    code: "MG111",
    name: "variadic-device-function",
    group: Group::Functions,
    summary: "Variadic device functions need CUDA 9.0",
    severity: Severity::Error,
    what: "Reports `__device__` functions with an ellipsis for CUDA versions before 9.0.",
    why: "PTX has had unsized parameter arrays, which carry variable arguments, since version \
           6.0, that is CUDA 9.0.",
    illegal: Example::new(
        r#"__device__ int f(int n, ...) { return n; }
__global__ void k(int *p) { p[0] = f(1, 2); }
"#,
    )
    .cuda(8000),
    legal: Example::new(
        r#"__device__ int f(int n, ...) { return n; }
__global__ void k(int *p) { p[0] = f(1, 2); }
"#,
    ),
    manual: "PTX ISA, \"Variadic Functions\"; the version is inferred from it",
    holds: Holds::versions("CUDA before 9.0"),
    fix: "",
    clang: &[],
    check: Some(check),
};

/// The first CUDA version that has them.
pub const FROM: u32 = 9000;

fn check(facts: &Facts<'_>, out: &mut Vec<Finding>) {
    if facts.environment.cuda_version >= FROM {
        return;
    }
    for &function in &facts.tree.functions {
        let decl = &facts.tree[function];
        let Some(node) = decl.definition else { continue };
        let device = decl.qualifiers.device && !decl.qualifiers.global;
        if device && decl.ours && facts.tree.decl_type(function).is_variadic() {
            let message = format!("`__device__` function `{}` is variadic", decl.name);
            out.push(
                Finding::new(RULE.code, facts.name_place(node), message)
                    .note("CUDA has variadic device functions from 9.0 on"),
            );
        }
    }
}
