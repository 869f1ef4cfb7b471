// SPDX-License-Identifier: MIT OR Apache-2.0
//! Development tasks. `cargo xtask bench` times the engine beside hand-written OpenMP, in one run on
//! one machine, and prints ratios. `cargo xtask ptx-coverage` says which lines of the PTX manual are
//! parsed, executed and unsupported.

mod bench;
mod ptx_coverage;

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let result = match arguments.first().map(String::as_str) {
        Some("bench") => bench::run(&arguments[1..]),
        Some("ptx-coverage") => ptx_coverage::run(&arguments[1..]),
        _ => Err(format!("{}\n{}", bench::USAGE, ptx_coverage::USAGE)),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("xtask: {message}");
            ExitCode::FAILURE
        }
    }
}
