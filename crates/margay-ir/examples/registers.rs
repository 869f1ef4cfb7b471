// SPDX-License-Identifier: MIT OR Apache-2.0
//! Prints the register estimate of each kernel of PTX files, to compare with `ptxas -v`.
//!
//! `cargo run -p margay-ir --example registers -- FILE.ptx…` prints `FILE KERNEL REGISTERS`.

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut code = ExitCode::SUCCESS;
    for path in std::env::args().skip(1) {
        let module = std::fs::read_to_string(&path)
            .map_err(|e| e.to_string())
            .and_then(|text| margay_ptx::parse(&text).map_err(|e| format!("{e:?}")))
            .and_then(|ast| margay_ir::lower(&ast).map_err(|e| format!("{} errors", e.len())));
        match module {
            Ok(module) => {
                for function in module.functions.iter().filter(|f| f.is_entry) {
                    let registers = margay_ir::analysis::registers::estimate(function);
                    println!("{path} {} {registers}", function.name);
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
