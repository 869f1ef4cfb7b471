// SPDX-License-Identifier: MIT OR Apache-2.0
//! Lowers PTX files, verifies the IR, and says what is unsupported. With `--print`, writes the IR.
//!
//! `cargo run -p margay-ir --example lower -- [--print] FILE.ptx…`

use std::collections::BTreeMap;
use std::time::Instant;

fn main() {
    let mut print = false;
    let mut failed = 0;
    let mut unsupported: BTreeMap<String, u32> = BTreeMap::new();
    for path in std::env::args().skip(1) {
        if path == "--print" {
            print = true;
            continue;
        }
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(e) => {
                eprintln!("{path}: {e}");
                failed += 1;
                continue;
            }
        };
        let ast = match margay_ptx::parse(&text) {
            Ok(ast) => ast,
            Err(e) => {
                eprintln!("{path}: {e:?}");
                failed += 1;
                continue;
            }
        };
        let start = Instant::now();
        match margay_ir::lower(&ast) {
            Ok(module) => {
                if print {
                    println!("{module}");
                }
                if let Err(errors) = margay_ir::verify(&module) {
                    failed += 1;
                    for e in errors.iter().take(10) {
                        eprintln!("{path}: verify: {e}");
                    }
                }
                for u in module.functions.iter().flat_map(|f| &f.unsupported) {
                    *unsupported.entry(format!("{}: {}", u.form, u.reason)).or_default() += 1;
                }
                if text.len() > 1 << 20 {
                    eprintln!("{path}: {} bytes lowered in {:?}", text.len(), start.elapsed());
                }
            }
            Err(errors) => {
                failed += 1;
                for e in errors.iter().take(10) {
                    eprintln!("{path}: {e}");
                }
            }
        }
    }
    for (form, count) in unsupported {
        println!("{count:6} {form}");
    }
    std::process::exit(i32::from(failed > 0));
}
