// SPDX-License-Identifier: MIT OR Apache-2.0
//! Prints the tree that the rules see: `cargo run -p margay-rules --example dump -- INCLUDE[:INCLUDE] FILE`.

use margay_rules::front::{Environment, Language, Pass, Unit};
use margay_rules::tree::{NodeId, Tree};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let include = arguments.next().expect("folders of headers");
    let file = std::path::PathBuf::from(arguments.next().expect("a file"));
    let environment = Environment::new(
        include.split(':').map(Into::into).collect(),
        margay_arch::ComputeCapability::new(9, 0),
    );
    let language = Language::of(&file).expect("a .cu or .cl file");
    margay_rules::front::library::attach().expect("libclang");
    let words = environment.arguments(language, Pass::Device);
    let unit = Unit::parse(&file, None, &words).expect("a tree");
    for d in margay_rules::front::diagnostics::of(&unit) {
        println!("{:?} {}", d.level, d.message);
    }
    let tree = Tree::build(unit, Pass::Device, language);
    show(&tree, tree.root(), 0);
}

fn show(tree: &Tree, node: NodeId, depth: usize) {
    let n = &tree[node];
    let text: String = tree.text(node).chars().take(50).collect();
    let decl = n.decl.map(|d| tree[d].name.clone()).unwrap_or_default();
    println!("{:depth$}{:?} {decl} `{}`", "", n.kind, text.replace('\n', " "), depth = depth * 2);
    n.children.iter().for_each(|c| show(tree, *c, depth + 1));
}
