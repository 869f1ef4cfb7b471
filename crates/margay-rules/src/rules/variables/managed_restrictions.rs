// SPDX-License-Identifier: MIT OR Apache-2.0
//! MG215: `__managed__` variables are neither const nor references, need 3.0, and wait for the runtime.

use crate::analysis::Facts;
use crate::finding::{Finding, Severity};
use crate::rule::{Example, Group, Holds, Rule};
use crate::tree::{DeclId, Kind, NodeId};

/// The rule.
pub static RULE: Rule = Rule {
    code: "MG215",
    name: "managed-restrictions",
    group: Group::Variables,
    summary: "`__managed__` variables are neither const nor references, need 3.0, and are not \
           used before `main` or after it",
    severity: Severity::Error,
    what: "Reports `__managed__` variables that are `const`, references, or `thread_local`, and \
           all of them before compute capability 3.0; uses of one in the initialiser of an object \
           with static or thread storage duration, or in a function that it calls; in the \
           destructor of such an object; and as the unparenthesised operand of `decltype`.",
    why: "Both sides write the same storage through the driver; there is none for a constant, a \
           reference, or a thread. Before `main` and after it the CUDA runtime may not be in a \
           state to give it an address.",
    illegal: Example::new(
        r#"__managed__ int m = 1;
int before = m + 1;
__global__ void k(int *p) { p[0] = m; }
int main() { return before; }
"#,
    ),
    legal: Example::new(
        r#"__managed__ int m = 1;
__global__ void k(int *p) { p[0] = m; }
int main() {
    int inside = m + 1;
    return inside;
}
"#,
    ),
    manual: "CUDA C++ Programming Guide, \"__managed__ Memory Space Specifier\"",
    holds: Holds::ALWAYS,
    fix: "",
    clang: &[],
    check: Some(check),
};

/// How far calls of an initialiser are followed.
const DEEP: usize = 8;

fn check(facts: &Facts<'_>, out: &mut Vec<Finding>) {
    let tree = facts.tree;
    for (node, decl) in facts.variables().filter(|(_, d)| d.qualifiers.managed) {
        let Some(variable) = tree[node].decl else { continue };
        let ty = tree.decl_type(variable);
        let why = if ty.is_reference() {
            Some("is a reference".to_string())
        } else if ty.holds_const() {
            Some("is const".to_string())
        } else if facts.has_word(node, "thread_local") {
            Some("is thread_local".to_string())
        } else if facts.sm() < 30 {
            Some(format!("needs compute capability 3.0; this is {}", facts.capability()))
        } else {
            None
        };
        if let Some(why) = why {
            let message = format!("`__managed__` variable `{}` {why}", decl.name);
            out.push(Finding::new(RULE.code, facts.name_place(node), message));
        }
    }
    outside_of_main(facts, out);
    operands_of_decltype(facts, out);
}

/// Uses of managed variables by objects that live longer than `main`.
fn outside_of_main(facts: &Facts<'_>, out: &mut Vec<Finding>) {
    let tree = facts.tree;
    let mut objects: Vec<(NodeId, String)> = Vec::new();
    for (node, decl) in facts.variables() {
        let q = decl.qualifiers;
        if facts.is_local(node) || q.device || q.constant || q.shared || q.managed {
            continue;
        }
        let used = tree[node].children.iter().find_map(|c| use_in(facts, *c, &mut Vec::new()));
        if let Some(used) = used {
            let name = name_of(facts, used);
            let message = format!("`__managed__` variable `{name}` is used before `main`");
            let finding = Finding::new(RULE.code, facts.place(used), message)
                .note("the CUDA runtime may not be ready when static objects are initialised");
            let own = tree.above(used).any(|n| n == node);
            out.push(if own {
                finding
            } else {
                finding.also(facts.name_place(node), "this is initialised before `main`")
            });
        }
        if let Some(variable) = tree[node].decl
            && let ty = tree.decl_type(variable).innermost()
            && ty.is_record()
        {
            let class = ty.canonical_spelling();
            let class = class.rsplit("::").next().unwrap_or(&class);
            objects.push((node, format!("~{}", class.trim_start_matches("const "))));
        }
    }
    for &function in &tree.functions {
        if tree[function].kind != Kind::Destructor {
            continue;
        }
        let object = objects.iter().find(|(_, destructor)| *destructor == tree[function].name);
        if let (Some((object, _)), Some(body)) = (object, tree.body(function))
            && let Some(used) = use_in(facts, body, &mut vec![function])
        {
            let name = name_of(facts, used);
            let message = format!("`__managed__` variable `{name}` is used after `main`");
            out.push(
                Finding::new(RULE.code, facts.place(used), message)
                    .also(facts.name_place(*object), "this is destroyed after `main`")
                    .note("the CUDA runtime may be gone when static objects are destroyed"),
            );
        }
    }
}

fn name_of(facts: &Facts<'_>, reference: NodeId) -> String {
    facts.tree[reference].decl.map(|d| facts.tree[d].name.clone()).unwrap_or_default()
}

/// The first use of a managed variable that certainly runs when this node does.
fn use_in(facts: &Facts<'_>, node: NodeId, visiting: &mut Vec<DeclId>) -> Option<NodeId> {
    let tree = facts.tree;
    if tree[node].dependent {
        return None;
    }
    match tree[node].kind {
        Kind::SizeOf | Kind::Lambda | Kind::Attribute(_) => return None,
        Kind::Reference => {
            return tree[node].decl.filter(|d| tree[*d].qualifiers.managed).map(|_| node);
        }
        // What may not run is not certain; a condition is.
        Kind::If | Kind::Switch | Kind::While | Kind::Conditional => {
            return use_in(facts, *tree[node].children.first()?, visiting);
        }
        Kind::For | Kind::RangeFor => return None,
        kind if kind.is_declaration() && kind != Kind::Variable => return None,
        _ => {}
    }
    let found = tree[node].children.iter().find_map(|c| use_in(facts, *c, visiting));
    if found.is_some() || tree[node].kind != Kind::Call || visiting.len() > DEEP {
        return found;
    }
    let callee = tree[node].decl?;
    let definition = tree[callee].definition?;
    if !tree[callee].kind.is_function() || visiting.contains(&callee) || !facts.on_host(definition)
    {
        return None;
    }
    visiting.push(callee);
    // A constructor's initialisers stand before its body.
    let found = tree[definition].children.iter().find_map(|c| use_in(facts, *c, visiting));
    visiting.pop();
    found
}

fn operands_of_decltype(facts: &Facts<'_>, out: &mut Vec<Finding>) {
    let tree = facts.tree;
    for node in tree.find(|k| k == Kind::Reference) {
        let managed = tree[node].decl.is_some_and(|d| tree[d].qualifiers.managed);
        if !managed {
            continue;
        }
        let place = facts.place(node);
        let text = &tree.files[tree[node].span.file.0 as usize].text;
        let before = text.get(..place.start).unwrap_or("").trim_end();
        let after = text.get(place.end..).unwrap_or("").trim_start();
        let opens = before.strip_suffix('(').map(str::trim_end);
        if opens.is_some_and(|b| b.ends_with("decltype")) && after.starts_with(')') {
            let name = name_of(facts, node);
            let inside = place.clone();
            let message = format!("`decltype` of `__managed__` variable `{name}`");
            out.push(
                Finding::new(RULE.code, place, message)
                    .note("a managed variable is no unparenthesised operand of `decltype`")
                    .suggest(
                        "write its type, or parentheses, which make it a reference",
                        vec![(inside, format!("({name})"))],
                    ),
            );
        }
    }
}
