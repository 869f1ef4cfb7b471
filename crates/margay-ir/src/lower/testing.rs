// SPDX-License-Identifier: MIT OR Apache-2.0
//! PTX snippets to IR text, for the tests of this folder. What is lowered is verified too.

use crate::module::Module;

/// Header of the snippets' modules.
pub(super) const HEADER: &str = ".version 8.6\n.target sm_100a\n.address_size 64\n";

/// Lowers and verifies a whole module, given without its header.
pub(super) fn module(text: &str) -> Module {
    let text = format!("{HEADER}{text}");
    let ast = margay_ptx::parse(&text).unwrap_or_else(|e| panic!("{e:?}\n{text}"));
    let module = super::lower_only(&ast).unwrap_or_else(|e| panic!("{e:?}\n{text}"));
    crate::verify(&module).unwrap_or_else(|e| panic!("{e:?}\n{module}"));
    module
}

/// The errors of a module, given without its header; lines count from the module's first.
pub(super) fn errors(text: &str) -> String {
    let text = format!("{HEADER}{text}");
    let ast = margay_ptx::parse(&text).unwrap_or_else(|e| panic!("{e:?}\n{text}"));
    let errors = crate::lower(&ast).expect_err("the module is wrong");
    errors.iter().map(|e| format!("{e}\n")).collect()
}

/// The instructions of a module's last function, without registers' classes and locations.
pub(super) fn last_function(module: &Module) -> String {
    let text = module.to_string();
    let start = ["\nentry ", "\nfunc "].iter().filter_map(|k| text.rfind(k)).max().unwrap_or(0);
    let lines = text[start..].lines().skip(2).filter(|l| {
        let l = l.trim_start();
        !l.starts_with("regs") && !l.starts_with("param") && !l.starts_with("frame") && l != "}"
    });
    lines.map(|l| strip_loc(l).to_string() + "\n").collect()
}

fn strip_loc(line: &str) -> &str {
    match line.rsplit_once(" !") {
        Some((before, number)) if number.bytes().all(|b| b.is_ascii_digit()) => before,
        _ => line,
    }
}

/// The IR of a kernel's body; registers of the usual names are declared.
pub(super) fn kernel(body: &str) -> String {
    let module = module(&format!(
        ".global .b32 g[4];\n.const .b32 c[4];\n.shared .b32 s[4];\n\
         .visible .entry k(.param .u64 a, .param .b32 b) {{\n\
         .reg .pred %p<4>; .reg .b16 %h<8>; .reg .b32 %r<8>; .reg .b64 %d<8>; .reg .b128 %q<2>;\n\
         {body}\n}}\n"
    ));
    last_function(&module)
}

/// Checks the IR of a kernel's body.
pub(super) fn check(body: &str, expected: expect_test::Expect) {
    expected.assert_eq(&kernel(body));
}
