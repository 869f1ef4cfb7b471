// SPDX-License-Identifier: MIT OR Apache-2.0
//! Parses the files named on the command line, prints what is wrong with each, and checks that each
//! survives being printed and parsed again. `--forms` lists the table's rows that occurred.

use std::collections::BTreeSet;

fn main() {
    let (mut good, mut bad) = (0, 0);
    let mut seen = BTreeSet::new();
    let forms = std::env::args().any(|a| a == "--forms");
    for path in std::env::args().skip(1).filter(|a| !a.starts_with("--")) {
        let bytes = match std::fs::read(&path) {
            Ok(bytes) => bytes,
            Err(e) => {
                eprintln!("{path}: {e}");
                bad += 1;
                continue;
            }
        };
        match check(&bytes, &mut seen) {
            Ok(()) => good += 1,
            Err(message) => {
                bad += 1;
                eprintln!("{path}\n{message}");
            }
        }
    }
    println!("{good} parsed, {bad} did not");
    if forms {
        seen.iter().for_each(|row| println!("{row}"));
    }
    std::process::exit(i32::from(bad > 0));
}

fn check(bytes: &[u8], seen: &mut BTreeSet<&'static str>) -> Result<(), String> {
    let text = margay_ptx::text_of(bytes);
    let render = |errors: Vec<margay_ptx::Diagnostic>, text: &str| {
        errors.iter().map(|d| d.render("text", text)).collect::<String>()
    };
    let mut module = margay_ptx::parse(&text).map_err(|e| render(e, &text))?;
    let printed = margay_ptx::print(&module);
    let mut again =
        margay_ptx::parse(&printed).map_err(|e| format!("printed:\n{}", render(e, &printed)))?;
    module.erase_spans();
    again.erase_spans();
    if module != again || margay_ptx::print(&again) != printed {
        return Err("the round trip changed it".into());
    }
    for function in module.functions() {
        let mut blocks: Vec<_> = function.body.iter().collect();
        while let Some(block) = blocks.pop() {
            for statement in &block.statements {
                match statement {
                    margay_ptx::ast::Statement::Instruction(i) => drop(seen.insert(i.form.text)),
                    margay_ptx::ast::Statement::Block(b) => blocks.push(b),
                    _ => {}
                }
            }
        }
    }
    Ok(())
}
