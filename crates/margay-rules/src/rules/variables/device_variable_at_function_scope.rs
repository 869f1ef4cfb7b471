// SPDX-License-Identifier: MIT OR Apache-2.0
//! MG204: At function scope `__device__` and `__constant__` need `static` or `extern`.

use crate::analysis::Facts;
use crate::analysis::Side;
use crate::finding::Place;
use crate::finding::{Finding, Severity};
use crate::rule::{Example, Group, Holds, Rule};

/// The rule.
pub static RULE: Rule = Rule {
    code: "MG204",
    name: "device-variable-at-function-scope",
    group: Group::Variables,
    summary: "At function scope `__device__` and `__constant__` need `static` or `extern`",
    severity: Severity::Error,
    what: "Reports automatic variables with `__device__`, `__constant__` or `__managed__`.",
    why: "An automatic variable lives on a thread's stack; a variable in global or constant \
           memory lives as long as the program.",
    illegal: Example::new(
        r#"__global__ void k(int *p) { __constant__ int c[2] = {1, 2}; p[0] = c[p[1]]; }
"#,
    ),
    legal: Example::new(
        r#"__global__ void k(int *p) { static __constant__ int c[2] = {1, 2}; p[0] = c[p[1]]; }
"#,
    ),
    manual: "CUDA C++ Programming Guide, \"Variable Memory Space Specifiers\"",
    holds: Holds::ALWAYS,
    fix: "`--fix` adds `static` in device functions",
    clang: &["__constant__, __device__, and __managed__ are not allowed on non-static local \
           variables"],
    check: Some(check),
};

/// The fix for what clang found: it drops the attribute, so that the tree says nothing of it. In a host function
/// there is none.
pub fn complete(facts: &Facts<'_>, finding: &mut Finding) {
    let Some(place) = finding.place.clone().filter(|_| finding.fix.is_none()) else { return };
    let tree = facts.tree;
    let on_device = tree.functions.iter().any(|f| {
        let body = tree.body(*f).map(|b| facts.place(b));
        facts.side_of(&tree[*f]) != Side::Host
            && body.is_some_and(|b| b.file == place.file && (b.start..b.end).contains(&place.start))
    });
    if on_device {
        let before = Place { end: place.start, ..place };
        let with = std::mem::replace(finding, Finding::new(RULE.code, before.clone(), ""));
        *finding = with.fix("add `static`", vec![(before, "static ".into())]);
    }
}

fn check(facts: &Facts<'_>, out: &mut Vec<Finding>) {
    for (node, decl) in facts.variables() {
        let q = decl.qualifiers;
        let specified = (q.constant || q.device || q.managed) && !q.shared;
        let lives = facts.has_word(node, "static") || facts.has_word(node, "extern");
        if !specified || lives || !facts.is_local(node) || facts.side(node) == Some(Side::Host) {
            continue;
        }
        let message = format!("automatic variable `{}` has a memory space", decl.name);
        let start = facts.place(node);
        let before = Place { end: start.start, ..start };
        out.push(
            Finding::new(RULE.code, facts.name_place(node), message)
                .fix("add `static`", vec![(before, "static ".into())]),
        );
    }
}
