// SPDX-License-Identifier: MIT OR Apache-2.0
//! MG110: Static variables in device functions need CUDA 8.0.

use crate::analysis::Facts;
use crate::finding::{Finding, Severity};
use crate::rule::{Example, Group, Holds, Rule};

/// The rule.
pub static RULE: Rule = Rule {
    code: "MG110",
    name: "static-variable-in-device",
    group: Group::Functions,
    summary: "Static variables in device functions need CUDA 8.0",
    severity: Severity::Error,
    what: "Reports `static` local variables, other than `__shared__` ones, in device code for \
           CUDA versions before 8.0.",
    why: "Early compilers had no storage for them. Later ones put them into global memory, one \
           for all threads.",
    illegal: Example::new(
        r#"__device__ int f() { static int n = 0; return ++n; }
__global__ void k(int *p) { p[0] = f(); }
"#,
    )
    .cuda(7050),
    legal: Example::new(
        r#"__device__ int f() { static int n = 0; return ++n; }
__global__ void k(int *p) { p[0] = f(); }
"#,
    ),
    manual: "CUDA C++ Programming Guide, \"Static Variables within Function\"; the version is \
           inferred from the guides of 7.5 and 8.0",
    holds: Holds::versions("CUDA before 8.0"),
    fix: "",
    clang: &[],
    check: Some(check),
};

fn check(facts: &Facts<'_>, out: &mut Vec<Finding>) {
    if facts.environment.cuda_version >= 8000 {
        return;
    }
    for (node, decl) in facts.variables() {
        if facts.on_device(node) && facts.has_word(node, "static") && !decl.qualifiers.shared {
            let message = format!("static variable `{}` in device code", decl.name);
            out.push(
                Finding::new(RULE.code, facts.name_place(node), message)
                    .note("CUDA has static variables in device functions from 8.0 on"),
            );
        }
    }
}
