// SPDX-License-Identifier: MIT OR Apache-2.0
//! MG215: `__managed__` variables are neither const nor references, and need 3.0.

use crate::analysis::Facts;
use crate::finding::{Finding, Severity};
use crate::rule::{Example, Group, Holds, Rule};

/// The rule.
pub static RULE: Rule = Rule {
    code: "MG215",
    name: "managed-restrictions",
    group: Group::Variables,
    summary: "`__managed__` variables are neither const nor references, and need 3.0",
    severity: Severity::Error,
    what: "Reports `__managed__` variables that are `const`, references, or `thread_local`, and \
           all of them before compute capability 3.0.",
    why: "Both sides write the same storage through the driver; there is none for a constant, a \
           reference, or a thread.",
    illegal: Example::new(
        r#"__managed__ const int m = 1;
__global__ void k(int *p) { p[0] = m; }
"#,
    ),
    legal: Example::new(
        r#"__managed__ int m = 1;
__global__ void k(int *p) { p[0] = m; }
"#,
    ),
    manual: "CUDA C++ Programming Guide, \"__managed__ Memory Space Specifier\"",
    holds: Holds::ALWAYS,
    fix: "",
    clang: &[],
    check: Some(check),
};

fn check(facts: &Facts<'_>, out: &mut Vec<Finding>) {
    let tree = facts.tree;
    for (node, decl) in facts.variables().filter(|(_, d)| d.qualifiers.managed) {
        let Some(variable) = tree[node].decl else { continue };
        let ty = tree.decl_type(variable);
        let why = if ty.is_reference() {
            Some("is a reference".to_string())
        } else if ty.innermost().is_const() {
            Some("is const".to_string())
        } else if facts.has_word(node, "thread_local") {
            Some("is thread_local".to_string())
        } else if facts.sm() < 30 {
            Some(format!("needs compute capability 3.0; this is {}", facts.capability()))
        } else {
            None
        };
        if let Some(why) = why {
            let message = format!("`__managed__` variable `{}` {why}", decl.name);
            out.push(Finding::new(RULE.code, facts.name_place(node), message));
        }
    }
}
