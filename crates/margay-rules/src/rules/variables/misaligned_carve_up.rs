// SPDX-License-Identifier: MIT OR Apache-2.0
//! MG219: Arrays carved out of dynamic shared memory are aligned.

use crate::analysis::Facts;
use crate::finding::{Finding, Severity};
use crate::rule::{Example, Group, Holds, Rule};
use crate::tree::{Binary, DeclId, Kind, NodeId, Unary};

/// The rule.
pub static RULE: Rule = Rule {
    code: "MG219",
    name: "misaligned-carve-up",
    group: Group::Variables,
    summary: "Arrays carved out of dynamic shared memory are aligned",
    severity: Severity::Error,
    what: "Reports a pointer cast into a shared array at a constant offset that is no multiple \
           of the alignment of what it points to.",
    why: "A misaligned access faults (cudaErrorMisalignedAddress), or before 2.0 reads \
           elsewhere.",
    illegal: Example::new(
        r#"__global__ void k(float *p) {
    extern __shared__ short a[];
    float *b = (float *)&a[127];
    b[threadIdx.x] = p[threadIdx.x];
    p[threadIdx.x] = b[threadIdx.x];
}
"#,
    ),
    legal: Example::new(
        r#"__global__ void k(float *p) {
    extern __shared__ short a[];
    float *b = (float *)&a[128];
    b[threadIdx.x] = p[threadIdx.x];
    p[threadIdx.x] = b[threadIdx.x];
}
"#,
    ),
    manual: "CUDA C++ Programming Guide, \"__shared__\"",
    holds: Holds::ALWAYS,
    fix: "",
    clang: &[],
    check: Some(check),
};

fn check(facts: &Facts<'_>, out: &mut Vec<Finding>) {
    let tree = facts.tree;
    for cast in facts.device(|k| k == Kind::Cast) {
        let ty = tree.type_of(cast);
        if !ty.is_pointer() || tree[cast].dependent {
            continue;
        }
        let (Some(wanted), Some(inner)) = (ty.pointee().align(), tree[cast].children.last()) else {
            continue;
        };
        let Some((array, index)) = offset(facts, *inner) else { continue };
        let Some(size) = tree.decl_type(array).innermost().size() else { continue };
        let Some(bytes) = index.checked_mul(size as i64) else { continue };
        if wanted > 1 && bytes.rem_euclid(wanted as i64) != 0 {
            let message = format!(
                "`{}` is at byte {bytes} of shared array `{}`, and needs a multiple of {wanted}",
                ty.pointee().spelling(),
                tree[array].name
            );
            out.push(Finding::new(RULE.code, facts.place(cast), message));
        }
    }
}

/// `&a[i]` and `a + i` of a one-dimensional shared array, with a constant `i`.
fn offset(facts: &Facts<'_>, node: NodeId) -> Option<(DeclId, i64)> {
    let tree = facts.tree;
    let node = tree.plain(node);
    let (base, index) = match tree[node].kind {
        Kind::Unary(Unary::AddressOf) => {
            let element = tree.plain(*tree[node].children.first()?);
            let [base, index] = tree[element].children.as_slice() else { return None };
            (tree[element].kind == Kind::Subscript).then_some((*base, *index))?
        }
        Kind::Binary(Binary::Add) => {
            let [base, index] = tree[node].children.as_slice() else { return None };
            (*base, *index)
        }
        _ => return None,
    };
    let array = tree.refers_to(base)?;
    let ty = tree.decl_type(array);
    (tree[array].qualifiers.shared && ty.is_array() && !ty.element().is_array())
        .then_some((array, facts.integer(index)?))
}
