// SPDX-License-Identifier: MIT OR Apache-2.0
//! MG401: Every thread of a block reaches the same `__syncthreads()`.

use crate::analysis::Facts;
use crate::finding::{Finding, Severity};
use crate::rule::{Example, Group, Holds, Rule};
use crate::tree::{Binary, Kind, NodeId};

/// The rule.
pub static RULE: Rule = Rule {
    code: "MG401",
    name: "barrier-in-divergent-code",
    group: Group::Barriers,
    summary: "Every thread of a block reaches the same `__syncthreads()`",
    severity: Severity::Error,
    what: "Reports `__syncthreads()` and its relatives under an `if`, `switch` or loop whose \
           condition is computed from `threadIdx`.",
    why: "Before 7.0 the barrier counts warps, and some threads run ahead; from 7.0 on the \
           block waits for ever, or the behaviour is undefined.",
    illegal: Example::new(
        r#"__global__ void k(int *p) {
    if (threadIdx.x < 16) {
        p[threadIdx.x] = 1;
        __syncthreads();
    }
}
"#,
    ),
    legal: Example::new(
        r#"__global__ void k(int *p) {
    if (threadIdx.x < 16) p[threadIdx.x] = 1;
    __syncthreads();
    if (blockIdx.x == 0) __syncthreads();
}
"#,
    ),
    manual: "CUDA C++ Programming Guide, \"Synchronization Functions\"",
    holds: Holds::ALWAYS,
    fix: "",
    clang: &[],
    check: Some(check),
};

fn check(facts: &Facts<'_>, out: &mut Vec<Finding>) {
    if !facts.is_opencl() {
        check_side(facts, RULE.code, out);
    }
}

pub(crate) fn check_side(facts: &Facts<'_>, code: &'static str, out: &mut Vec<Finding>) {
    let tree = facts.tree;
    for call in facts.device(|k| k == Kind::Call) {
        if !facts.is_block_barrier(call) {
            continue;
        }
        let Some((what, condition)) = divergent(facts, call) else { continue };
        let name = tree.callee_name(call).unwrap_or_default();
        let message = format!("`{name}` is reached under a condition that depends on the thread");
        out.push(
            Finding::new(code, facts.place(call), message)
                .also(facts.place(condition), what)
                .note("all threads of the block must reach the same barrier, or none"),
        );
    }
}

/// The nearest condition around a node that certainly differs between threads.
fn divergent(facts: &Facts<'_>, node: NodeId) -> Option<(&'static str, NodeId)> {
    let tree = facts.tree;
    let mut at = node;
    for above in tree.above(node) {
        let children = &tree[above].children;
        match tree[above].kind {
            Kind::If | Kind::Switch => {
                let condition = *children.first()?;
                if condition != at && facts.depends_on_thread(condition) {
                    return Some(("this differs between threads", condition));
                }
            }
            Kind::For => {
                if let Some(bound) =
                    divergent_bound(facts, above).filter(|_| children.last() == Some(&at))
                {
                    return Some(("so the number of rounds differs between threads", bound));
                }
            }
            kind if kind.is_function() || kind == Kind::Lambda => return None,
            _ => {}
        }
        at = above;
    }
    None
}

/// `i < f(threadIdx)` of a loop that starts alike in all threads.
fn divergent_bound(facts: &Facts<'_>, loop_node: NodeId) -> Option<NodeId> {
    let tree = facts.tree;
    let compares = |n: &NodeId| {
        matches!(
            tree[*n].kind,
            Kind::Binary(Binary::Less | Binary::LessEqual | Binary::Greater | Binary::GreaterEqual)
        )
    };
    let condition = tree[loop_node].children.iter().copied().find(compares)?;
    let (counter, bound) = (tree[condition].children[0], tree[condition].children[1]);
    let variable = tree.refers_to(counter)?;
    let start = tree.initialiser(tree[variable].definition?)?;
    (facts.integer(start).is_some() && facts.depends_on_thread(bound)).then_some(bound)
}
