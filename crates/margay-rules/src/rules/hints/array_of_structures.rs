// SPDX-License-Identifier: MIT OR Apache-2.0
//! MG604: Neighbouring threads read neighbouring words.

use crate::analysis::Facts;
use crate::finding::{Finding, Severity};
use crate::rule::{Example, Group, Holds, Rule};
use crate::tree::{DeclId, Kind};

/// The rule.
pub static RULE: Rule = Rule {
    code: "MG604",
    name: "array-of-structures",
    group: Group::Hints,
    summary: "Neighbouring threads read neighbouring words",
    severity: Severity::Hint,
    what: "Reports reads of one member of an array of large structures in global memory, one \
           structure a thread.",
    why: "The members that a warp reads are a structure apart, so each transaction brings bytes \
           that nobody asked for. A structure of arrays has them side by side.",
    illegal: Example::new(
        r#"struct P { float x, y, z, vx, vy, vz; };
__global__ void k(P *p, float *o) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    o[i] = p[i].x;
}
"#,
    ),
    legal: Example::new(
        r#"__global__ void k(float *x, float *o) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    o[i] = x[i];
}
"#,
    ),
    manual: "CUDA C++ Best Practices Guide, \"Strided Accesses\"",
    holds: Holds::ALWAYS,
    fix: "",
    clang: &[],
    check: Some(check),
};

fn check(facts: &Facts<'_>, out: &mut Vec<Finding>) {
    let tree = facts.tree;
    let mut said = Vec::new();
    for member in facts.device(|k| k == Kind::Member) {
        let Some(&base) = tree[member].children.first() else { continue };
        let element = tree.plain(base);
        if tree[element].kind != Kind::Subscript {
            continue;
        }
        let Some(access) = facts.access(element).filter(|a| a.reads && a.indices.len() == 1) else {
            continue;
        };
        let decl = &tree[access.root];
        let kernel_parameter =
            decl.kind == Kind::Parameter && decl.function.is_some_and(|f| facts.is_kernel(f));
        let global = kernel_parameter || decl.qualifiers.device;
        let ty = tree.type_of(element);
        let (Some(size), Some(part)) = (ty.size(), tree.type_of(member).size()) else { continue };
        let step = facts.affine(access.indices[0]).and_then(|i| facts.varies_in_x(&i));
        // A whole structure of up to 16 aligned bytes comes in one load.
        let large = size > 16 && size >= 4 * part;
        // Threads that read all of it use what they fetch.
        let users = fields_used(facts, access.root);
        let sparse = users as u64 * 2 * part <= size;
        if global
            && ty.is_record()
            && large
            && sparse
            && step == Some(1)
            && !said.contains(&access.root)
        {
            said.push(access.root);
            let message =
                format!("threads read {part} bytes of each structure of {size} in `{}`", decl.name);
            out.push(
                Finding::new(RULE.code, facts.place(member), message)
                    .help("a structure of arrays puts the members of neighbours side by side"),
            );
        }
    }
}

/// How many different members of the array's elements the program names.
fn fields_used(facts: &Facts<'_>, array: DeclId) -> usize {
    let tree = facts.tree;
    let mut names: Vec<&str> = tree
        .find(|k| k == Kind::Member)
        .filter(|m| tree.root_variable(*m) == Some(array))
        .filter_map(|m| Some(tree[tree[m].decl?].name.as_str()))
        .collect();
    names.sort_unstable();
    names.dedup();
    names.len()
}
