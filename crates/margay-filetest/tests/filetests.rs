// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs everything under `tests/filetests`.

use std::path::PathBuf;

use margay_filetest::compile::compile;
use margay_filetest::suite::{Expect, run_directory};

fn directory(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/filetests").join(name)
}

#[test]
fn run() {
    run_directory(&directory("run"), Expect::Contents).assert_passed();
}

#[test]
fn pass() {
    run_directory(&directory("pass"), Expect::Contents).assert_passed();
}

#[test]
fn fail() {
    run_directory(&directory("fail"), Expect::Fault).assert_passed();
}

#[test]
fn parse() {
    run_directory(&directory("parse"), Expect::Diagnostics).assert_passed();
}

/// Applies a check to every file that is correct PTX.
fn each_source(check: impl Fn(&str) -> Result<(), String>) {
    let mut files = 0;
    let mut wrong = String::new();
    for name in ["run", "pass", "fail"] {
        for entry in std::fs::read_dir(directory(name)).unwrap() {
            let path = entry.unwrap().path();
            files += 1;
            if let Err(why) = check(&std::fs::read_to_string(&path).unwrap()) {
                wrong += &format!("{}: {why}\n", path.display());
            }
        }
    }
    assert!(files > 50);
    assert!(wrong.is_empty(), "{wrong}");
}

/// What the PTX printer writes is what the parser read.
#[test]
fn printed_ptx_parses_to_the_same() {
    each_source(|source| {
        let parse = |text: &str| margay_ptx::parse(text).map_err(|e| e[0].to_string());
        let printed = margay_ptx::print(&parse(source)?);
        let again = margay_ptx::print(&parse(&printed)?);
        if again == printed { Ok(()) } else { Err(format!("{printed}\nbecame\n{again}")) }
    });
}

/// What the IR's printer writes is what its parser read.
#[test]
fn printed_ir_parses_to_the_same() {
    each_source(|source| {
        let module =
            compile(source).map_err(|e| format!("line {}: {}", e[0].line, e[0].message))?;
        let printed = module.to_string();
        let again = margay_ir::text::parse_module(&printed).map_err(|e| e.to_string())?;
        let same = format!("{again:?}") == format!("{module:?}");
        if same { Ok(()) } else { Err(format!("{printed}\nbecame\n{again}")) }
    });
}
