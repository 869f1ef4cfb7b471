// SPDX-License-Identifier: MIT OR Apache-2.0
//! MG307: Atomics exist for the type and the space.

use crate::analysis::Facts;
use crate::finding::{Finding, Severity};
use crate::rule::{Example, Group, Holds, Rule};
use crate::tree::{Kind, NodeId, Type, Unary};

/// The rule.
pub static RULE: Rule = Rule {
    code: "MG307",
    name: "atomic-unsupported",
    group: Group::Launches,
    summary: "Atomics exist for the type and the space",
    severity: Severity::Error,
    what: "Reports atomic functions that the compute capability lacks: none on 1.0; global \
           32-bit from 1.1; shared 32-bit and global 64-bit from 1.2; shared 64-bit and `float` \
           addition from 2.0; 64-bit minimum, maximum and logic from 3.5; `double` and `__half2` \
           addition and the functions with `_block` and `_system` from 6.0; `__half` addition and \
           16-bit `atomicCAS` from 7.0; bfloat16 addition from 8.0; addition of `float2` and \
           `float4`, and 128-bit `atomicCAS` and `atomicExch`, from 9.0. The additions of vectors \
           of `float` are for global memory alone.",
    why: "The function does not exist there, or quietly does not do what it says.",
    illegal: Example::new(
        r#"__global__ void k(double *p) { atomicAdd(p, 1.0); }
"#,
    )
    .sm(50),
    legal: Example::new(
        r#"__global__ void k(double *p) { atomicAdd(p, 1.0); }
"#,
    )
    .sm(60),
    manual: "CUDA C++ Programming Guide, \"Atomic Functions\"",
    holds: Holds::ALWAYS,
    fix: "",
    clang: &["no matching function for call to 'atomic", "use of undeclared identifier 'atomic"],
    check: Some(check),
};

fn check(facts: &Facts<'_>, out: &mut Vec<Finding>) {
    let tree = facts.tree;
    for call in facts.device(|k| k == Kind::Call) {
        let Some(name) = tree.callee_name(call).filter(|n| n.starts_with("atomic")) else {
            continue;
        };
        // A function of the program's own may be called so.
        if tree[call].decl.is_some_and(|d| tree[d].ours) {
            continue;
        }
        let Some(&address) = tree.arguments(call).first() else { continue };
        let pointer = tree.type_of(tree.plain(address));
        if !pointer.is_pointer() || tree[call].dependent {
            continue;
        }
        let ty = pointer.pointee();
        let shared = shared_root(facts, address);
        let space = if shared { "shared" } else { "global" };
        let message = format!("`{name}` on `{}` in {space} memory", ty.spelling());
        let spelling = ty.canonical_spelling();
        let plain = spelling.trim_start_matches("volatile ").trim_start_matches("struct ");
        let needed = match plain {
            "float2" | "float4" if shared => {
                out.push(
                    Finding::new(RULE.code, facts.place(call), message)
                        .note("this addition exists for global memory only"),
                );
                continue;
            }
            _ => since(name, plain, &ty, shared),
        };
        if facts.sm() < needed {
            out.push(Finding::new(RULE.code, facts.place(call), message).note(format!(
                "it needs compute capability {}.{}; this is {}",
                needed / 10,
                needed % 10,
                facts.capability()
            )));
        }
    }
}

/// The first capability, as in `sm_60`, that has an atomic function for a type and a space.
fn since(name: &str, plain: &str, ty: &Type<'_>, shared: bool) -> u32 {
    let wide = ty.size() == Some(8);
    let adds = name.starts_with("atomicAdd") || name.starts_with("atomicSub");
    let base = name.trim_end_matches("_system").trim_end_matches("_block");
    let logic = matches!(base, "atomicMin" | "atomicMax" | "atomicAnd" | "atomicOr" | "atomicXor");
    let of_type = match plain {
        "float2" | "float4" => 90,
        "__nv_bfloat16" | "__nv_bfloat162" => 80,
        "__half" => 70,
        "__half2" => 60,
        _ if ty.size() == Some(16) => 90,
        _ if ty.size() == Some(2) => 70,
        _ if ty.is_double() && adds => 60,
        _ if wide && logic => 35,
        _ if (ty.is_float() && adds) || (wide && shared) => 20,
        _ if wide || shared => 12,
        _ => 11,
    };
    let of_scope = if base == name { 11 } else { 60 };
    of_type.max(of_scope)
}

/// What capabilities after one, as in `sm_50`, brought to an atomic function, each with the first that has it.
pub fn later(name: &str, sm: u32) -> Vec<(&'static str, u32)> {
    let base = name.trim_end_matches("_system").trim_end_matches("_block");
    let scoped = base != name;
    let all: &[(&str, u32)] = match base {
        "atomicAdd" => &[
            ("64-bit integers", 12),
            ("float", 20),
            ("double", 60),
            ("__half2", 60),
            ("__half", 70),
            ("bfloat16", 80),
            ("float2 and float4", 90),
        ],
        "atomicMin" | "atomicMax" | "atomicAnd" | "atomicOr" | "atomicXor" => {
            &[("64-bit integers", 35)]
        }
        "atomicCAS" => &[("64-bit integers", 12), ("16-bit integers", 70), ("128-bit values", 90)],
        "atomicExch" => &[("64-bit integers", 12), ("128-bit values", 90)],
        _ => &[],
    };
    let scope = scoped.then_some(("functions with _block and _system", 60));
    scope.into_iter().chain(all.iter().copied()).filter(|(_, since)| *since > sm).collect()
}

fn shared_root(facts: &Facts<'_>, address: NodeId) -> bool {
    let tree = facts.tree;
    let node = tree.uncast(address);
    let root = match tree[node].kind {
        Kind::Unary(Unary::AddressOf) => tree.root_variable(tree[node].children[0]),
        Kind::Binary(_) => tree.root_variable(tree[node].children[0]),
        _ => tree.root_variable(node),
    };
    root.is_some_and(|r| tree[r].qualifiers.shared)
}
