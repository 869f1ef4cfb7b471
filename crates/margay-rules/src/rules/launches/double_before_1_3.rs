// SPDX-License-Identifier: MIT OR Apache-2.0
//! MG309: Doubles need compute capability 1.3.

use crate::analysis::Facts;
use crate::finding::{Finding, Severity};
use crate::rule::{Example, Group, Holds, Rule};
use crate::tree::Kind;

/// The rule.
pub static RULE: Rule = Rule {
    code: "MG309",
    name: "double-before-1.3",
    group: Group::Launches,
    summary: "Doubles need compute capability 1.3",
    severity: Severity::Warning,
    what: "Reports the first `double` variable, parameter or literal in each device function for \
           compute capabilities 1.0 to 1.2.",
    why: "There the assembler turns the instructions into those on `float`, with a warning. A \
           `double` keeps its 8 bytes in memory and only half of them is used, so what the host \
           passes as `double` is not what the device reads.",
    illegal: Example::new(
        r#"__global__ void k(float *p) { double d = p[0]; p[0] = d * 2; }
"#,
    )
    .sm(12),
    legal: Example::new(
        r#"__global__ void k(float *p) { float d = p[0]; p[0] = d * 2; }
"#,
    )
    .sm(12),
    manual: "CUDA C Programming Guide 3.2, \"Compute Capabilities\"",
    holds: Holds::before(13),
    fix: "",
    clang: &[],
    check: Some(check),
};

fn check(facts: &Facts<'_>, out: &mut Vec<Finding>) {
    let tree = facts.tree;
    for &function in &tree.functions {
        let Some(definition) = tree[function].definition.filter(|d| facts.on_device(*d)) else {
            continue;
        };
        let first = tree.below(definition).find(|n| {
            let declared =
                matches!(tree[*n].kind, Kind::Variable | Kind::Parameter | Kind::Floating);
            let ty = tree.type_of(*n);
            declared
                && (ty.innermost().is_double() || (ty.is_pointer() && ty.pointee().is_double()))
        });
        if let Some(node) = first {
            let message = format!("`{}` computes with double", tree[function].name);
            out.push(Finding::new(RULE.code, facts.place(node), message).note(format!(
                "{} has no double precision: doubles are demoted to float",
                facts.capability()
            )));
        }
    }
}
