// SPDX-License-Identifier: MIT OR Apache-2.0
//! MG403: Lanes of a warp exchange shared values with `volatile`, or from 7.0 with `__syncwarp()`.

use crate::analysis::Facts;
use crate::finding::{Finding, Severity};
use crate::rule::{Example, Group, Holds, Rule};
use crate::tree::{DeclId, Kind, NodeId};

/// The rule.
pub static RULE: Rule = Rule {
    code: "MG403",
    name: "warp-synchronous",
    group: Group::Barriers,
    summary: "Lanes of a warp exchange shared values with `volatile`, or from 7.0 with \
           `__syncwarp()`",
    severity: Severity::Warning,
    what: "Reports code for one warp (`if (tid < 32)`, or a chain of `s[t] += s[t + 32]; s[t] += \
           s[t + 16]; …`) whose lanes read each other's shared elements with nothing between: \
           before 7.0 where the array is not `volatile`, from 7.0 in any case.",
    why: "Until a barrier the compiler may keep shared values in registers; `volatile` forbids \
           that. From 7.0 on lanes do not even run in step, and only `__syncwarp()` orders them.",
    illegal: Example::new(
        r#"__global__ void k(int *p) {
    __shared__ int s[64];
    int t = threadIdx.x;
    s[t] = p[t];
    __syncthreads();
    if (t < 32) {
        s[t] += s[t + 32];
        s[t] += s[t + 16];
    }
    __syncthreads();
    p[t] = s[0];
}
"#,
    ),
    legal: Example::new(
        r#"__global__ void k(int *p) {
    __shared__ int s[64];
    int t = threadIdx.x;
    s[t] = p[t];
    __syncthreads();
    if (t < 16) {
        s[t] += s[t + 32];
        __syncwarp(0xffff);
        s[t] += s[t + 16];
    }
    __syncthreads();
    p[t] = s[0];
}
"#,
    ),
    manual: "CUDA C++ Programming Guide, \"Independent Thread Scheduling\" and \"volatile \
           Qualifier\"",
    holds: Holds::ALWAYS,
    fix: "",
    clang: &[],
    check: Some(check),
};

fn check(facts: &Facts<'_>, out: &mut Vec<Finding>) {
    let independent = facts.sm() >= 70 && !facts.is_opencl();
    let mut said: Vec<NodeId> = Vec::new();
    for pair in facts.unordered_pairs().into_iter().filter(|p| p.in_warp) {
        let list = facts.tree[pair.write].parent;
        if (pair.volatile && !independent) || list.is_some_and(|l| said.contains(&l)) {
            continue;
        }
        said.extend(list);
        out.push(finding(facts, pair.array, pair.read, pair.write, independent));
    }
    for (first, second, array) in chains(facts) {
        let volatile = is_volatile(facts, array);
        let list = facts.tree[first].parent;
        if (volatile && !independent) || list.is_some_and(|l| said.contains(&l)) {
            continue;
        }
        said.extend(list);
        out.push(finding(facts, array, second, first, independent));
    }
}

fn finding(
    facts: &Facts<'_>,
    array: DeclId,
    read: NodeId,
    write: NodeId,
    independent: bool,
) -> Finding {
    let name = &facts.tree[array].name;
    let message =
        format!("lanes of a warp read each other's `{name}` with nothing that orders them");
    let finding = Finding::new(RULE.code, facts.place(read), message)
        .also(facts.place(write), "another lane writes here");
    if independent {
        finding
            .note(format!("{} does not run lanes in step", facts.capability()))
            .help("put __syncwarp() between the statements")
    } else {
        finding
            .note("the compiler may keep the value in a register")
            .help("declare the array `volatile`")
    }
}

fn is_volatile(facts: &Facts<'_>, array: DeclId) -> bool {
    let ty = facts.tree.decl_type(array);
    if ty.is_pointer() { ty.pointee().is_volatile() } else { ty.holds_volatile() }
}

/// Three statements in a row, `s[i] += s[i + n]` with n halving from at most 32: the end of a reduction that
/// counts on lanes in step. The first two of them, and the array.
fn chains(facts: &Facts<'_>) -> Vec<(NodeId, NodeId, DeclId)> {
    let tree = facts.tree;
    let mut found = Vec::new();
    for list in facts.device(|k| k == Kind::Compound) {
        let steps: Vec<Option<(NodeId, DeclId, i64)>> =
            tree[list].children.iter().map(|s| step(facts, *s)).collect();
        for three in steps.windows(3) {
            if let [Some((a, x, n)), Some((b, y, m)), Some((_, z, l))] = three
                && x == y
                && y == z
                && *n <= 32
                && *n == 2 * m
                && *m == 2 * l
            {
                found.push((*a, *b, *x));
                break;
            }
        }
    }
    found
}

/// `s[i] op= s[i + n]`, also under an `if` of its own whose condition is the same for all.
fn step(facts: &Facts<'_>, statement: NodeId) -> Option<(NodeId, DeclId, i64)> {
    let tree = facts.tree;
    let mut at = statement;
    while matches!(tree[at].kind, Kind::If | Kind::Compound) {
        let last = *tree[at].children.last()?;
        let single = if tree[at].kind == Kind::If { 2 } else { 1 };
        if tree[at].children.len() != single {
            return None;
        }
        at = last;
    }
    let Kind::Assign(_) = tree[at].kind else { return None };
    let write = facts.access(tree[at].children[0])?;
    let base = facts.affine(*write.indices.first().filter(|_| write.indices.len() == 1)?)?;
    let value = tree[at].children.get(1)?;
    facts
        .accesses(*value)
        .into_iter()
        .filter(|r| r.root == write.root && r.indices.len() == 1)
        .find_map(|r| {
            let distance = facts.affine(r.indices[0])?.add(&base, -1)?.value()?;
            (distance > 0).then_some((at, write.root, distance))
        })
}
