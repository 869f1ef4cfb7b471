// SPDX-License-Identifier: MIT OR Apache-2.0
//! MG121: Code that also compiles for the host uses no warp or shared memory.

use crate::analysis::Facts;
use crate::analysis::Side;
use crate::finding::{Finding, Severity};
use crate::rule::{Example, Group, Holds, Rule};
use crate::tree::{Kind, NodeId};

/// The rule.
pub static RULE: Rule = Rule {
    code: "MG121",
    name: "device-only-in-host-device",
    group: Group::Functions,
    summary: "Code that also compiles for the host uses no warp or shared memory",
    severity: Severity::Error,
    what: "Reports `__shared__` variables, barriers and warp functions in a `__host__ \
           __device__` function outside `#ifdef __CUDA_ARCH__`.",
    why: "The function is compiled for the host too, where there is neither a block nor a warp.",
    illegal: Example::new(
        r#"__host__ __device__ int f(int n) { __syncthreads(); return n; }
__global__ void k(int *p) { p[0] = f(1); }
"#,
    ),
    legal: Example::new(
        r#"__host__ __device__ int f(int n) {
#ifdef __CUDA_ARCH__
    __syncthreads();
#endif
    return n;
}
__global__ void k(int *p) { p[0] = f(1); }
"#,
    ),
    manual: "CUDA C++ Programming Guide, \"__host__\"",
    holds: Holds::ALWAYS,
    fix: "",
    clang: &["reference to __device__ function '__* in __host__ __device__ function"],
    check: Some(check),
};

fn check(facts: &Facts<'_>, out: &mut Vec<Finding>) {
    let tree = facts.tree;
    let both = |n: NodeId| facts.on_host(n) && facts.side(n) == Some(Side::Both);
    for (node, decl) in facts.variables() {
        if both(node) && decl.qualifiers.shared {
            let message =
                format!("shared variable `{}` in code that also compiles for the host", decl.name);
            out.push(finding(facts, node, message));
        }
    }
    for call in tree.find(|k| k == Kind::Call).filter(|n| both(*n)) {
        let Some(callee) = tree[call].decl else { continue };
        let name = &tree[callee].name;
        let q = tree[callee].qualifiers;
        let warp = [
            "__sync",
            "__shfl",
            "__ballot",
            "__any",
            "__all",
            "__match",
            "__activemask",
            "__reduce_",
        ];
        if q.device && !q.host && !tree[callee].ours && warp.iter().any(|w| name.starts_with(w)) {
            let message = format!("`{name}` in code that also compiles for the host");
            out.push(finding(facts, call, message));
        }
    }
}

fn finding(facts: &Facts<'_>, node: NodeId, message: String) -> Finding {
    Finding::new(RULE.code, facts.place(node), message)
        .help("put it between `#ifdef __CUDA_ARCH__` and `#endif`, or drop `__host__`")
}
