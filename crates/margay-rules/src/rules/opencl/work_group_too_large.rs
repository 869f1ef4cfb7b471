// SPDX-License-Identifier: MIT OR Apache-2.0
//! MG520: A required work-group size fits the device.

use crate::analysis::Facts;
use crate::finding::{Finding, Severity};
use crate::rule::{Example, Group, Holds, Rule};
use crate::tree::Kind;

/// The rule.
pub static RULE: Rule = Rule {
    code: "MG520",
    name: "work-group-too-large",
    group: Group::OpenCl,
    summary: "A required work-group size fits the device",
    severity: Severity::Error,
    what: "Reports `reqd_work_group_size` over the device's limit.",
    why: "`clEnqueueNDRangeKernel` fails with `CL_INVALID_WORK_GROUP_SIZE`.",
    illegal: Example::new(
        r#"__attribute__((reqd_work_group_size(64, 32, 1)))
kernel void f(global int *p) { p[get_global_id(0)] = 1; }
"#,
    ),
    legal: Example::new(
        r#"__attribute__((reqd_work_group_size(32, 32, 1)))
kernel void f(global int *p) { p[get_global_id(0)] = 1; }
"#,
    ),
    manual: "The OpenCL C Specification, \"Optional Attribute Qualifiers\"",
    holds: Holds::ALWAYS,
    fix: "",
    clang: &[],
    check: Some(check),
};

fn check(facts: &Facts<'_>, out: &mut Vec<Finding>) {
    let tree = facts.tree;
    for node in tree.find(|k| matches!(k, Kind::Attribute(_))) {
        let text = tree.text(node);
        let Some(list) = text.strip_prefix("reqd_work_group_size") else { continue };
        let sizes: Vec<i64> = list
            .trim_matches(|c: char| !c.is_ascii_digit())
            .split(',')
            .filter_map(|n| n.trim().parse().ok())
            .collect();
        let [x, y, z] = sizes.as_slice() else { continue };
        let most = i64::from(facts.limits.max_threads_per_block.value);
        let Some(all) = x.checked_mul(*y).and_then(|p| p.checked_mul(*z)) else { continue };
        let sides = facts.limits.max_block.value;
        let side = sizes.iter().zip(sides).any(|(s, limit)| *s > i64::from(limit));
        if all > most || side {
            let message = format!("the work-group has {x} × {y} × {z} = {all} work-items");
            out.push(Finding::new(RULE.code, facts.place(node), message).note(format!(
                "the device ({}) allows {most}, and {} × {} × {} by dimension",
                facts.capability(),
                sides[0],
                sides[1],
                sides[2]
            )));
        }
    }
}
