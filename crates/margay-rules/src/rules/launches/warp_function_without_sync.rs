// SPDX-License-Identifier: MIT OR Apache-2.0
//! MG310: From 7.0 warp functions name the lanes that take part.

use crate::analysis::Facts;
use crate::finding::Place;
use crate::finding::{Finding, Severity};
use crate::rule::{Example, Group, Holds, Rule};
use crate::tree::Kind;

/// The rule.
pub static RULE: Rule = Rule {
    code: "MG310",
    name: "warp-function-without-sync",
    group: Group::Launches,
    summary: "From 7.0 warp functions name the lanes that take part",
    severity: Severity::Error,
    what: "Reports `__shfl`, `__shfl_up`, `__shfl_down`, `__shfl_xor`, `__any`, `__all` and \
           `__ballot` from compute capability 7.0 on.",
    why: "Lanes progress independently: which of them meet at the call is not said. The forms \
           with `_sync` take a mask; the old ones are gone.",
    illegal: Example::new(
        r#"__global__ void k(int *p) { p[threadIdx.x] = __shfl(p[threadIdx.x], 0); }
"#,
    ),
    legal: Example::new(
        r#"__global__ void k(int *p) { p[threadIdx.x] = __shfl_sync(0xffffffff, p[threadIdx.x], 0); }
"#,
    ),
    manual: "CUDA C++ Programming Guide, \"Warp Shuffle Functions\"",
    holds: Holds::from(70),
    fix: "a suggestion adds `_sync` and the full mask",
    clang: &[
        "use of undeclared identifier '__shfl",
        "use of undeclared identifier '__any'",
        "use of undeclared identifier '__all'",
        "use of undeclared identifier '__ballot'",
        "is unavailable: __*() ended with compute capability 7.0",
    ],
    check: Some(check),
};

const OLD: [&str; 7] =
    ["__shfl", "__shfl_up", "__shfl_down", "__shfl_xor", "__any", "__all", "__ballot"];

fn check(facts: &Facts<'_>, out: &mut Vec<Finding>) {
    let tree = facts.tree;
    for call in tree.find(|k| k == Kind::Call) {
        let Some(name) = tree.callee_name(call).filter(|n| OLD.contains(n)) else { continue };
        if tree[call].decl.is_some_and(|d| tree[d].ours) {
            continue;
        }
        let place = facts.place(call);
        let open = tree.text(call).find('(').map_or(place.end, |at| place.start + at + 1);
        let start = Place { end: open, ..place.clone() };
        let message = format!("`{name}` does not say which lanes take part");
        out.push(
            Finding::new(RULE.code, place, message).suggest(
                "if all lanes take part",
                vec![(start, format!("{name}_sync(0xffffffff, "))],
            ),
        );
    }
}
