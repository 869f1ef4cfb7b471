// SPDX-License-Identifier: MIT OR Apache-2.0
//! Prints what the register estimate knows of each kernel of PTX files: the table that
//! `tools/register-model.py` is trained on.
//!
//! `cargo run -p margay-ir --example register_features -- FILE.ptx…` prints `FILE KERNEL FIGURE…`, names first.

use std::process::ExitCode;

use margay_ir::analysis::registers::features::Features;

fn main() -> ExitCode {
    let mut code = ExitCode::SUCCESS;
    println!("file kernel {}", Features::NAMES.join(" "));
    for path in std::env::args().skip(1) {
        let module = std::fs::read_to_string(&path)
            .map_err(|e| e.to_string())
            .and_then(|text| margay_ptx::parse(&text).map_err(|e| format!("{e:?}")))
            .and_then(|ast| margay_ir::lower(&ast).map_err(|e| format!("{} errors", e.len())));
        match module {
            Ok(module) => {
                for function in module.functions.iter().filter(|f| f.is_entry) {
                    let values = Features::of(function).values();
                    let values: Vec<String> = values.iter().map(u32::to_string).collect();
                    println!("{path} {} {}", function.name, values.join(" "));
                }
            }
            Err(error) => {
                eprintln!("{path}: {error}");
                code = ExitCode::FAILURE;
            }
        }
    }
    code
}
