// SPDX-License-Identifier: MIT OR Apache-2.0
//! The `margay` command.
//!
//! Exit codes, the same for every subcommand: 0 success; 1 the work failed (a compile error has clang's
//! own code, which is 1); 2 a wrong command line; 124 `margay launch` stopped its kernel (a time limit,
//! or a deadlock); 125 margay itself could not do it; 126 and 127 a program that cannot be executed or
//! found. `margay run` becomes the program: the code, or the signal, is the program's own.

mod commands;
mod failure;
mod toolchain;

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

/// A GPU in software: compile and run CUDA C++ and PTX on this machine's CPU.
#[derive(Parser)]
#[command(
    name = "margay",
    version,
    max_term_width = 100,
    after_help = "Exit codes: 0 success, 1 failed, 2 wrong command line, 124 `launch` stopped its kernel, \
                  125 margay could not, 126/127 program not executable/not found. \
                  `margay run` gives the program's own."
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Run(commands::run::Args),
    Cc(commands::cc::Args),
    Launch(commands::launch::Args),
    Ptx(commands::ptx::Args),
    Gpus(commands::gpus::Args),
    Check(commands::check::Args),
    Lsp(commands::lsp::Args),
    Diff(commands::diff::Args),
    Explain(commands::explain::Args),
    Toolkit(commands::toolkit::Args),
}

/// A reader that has gone (`margay gpus | head -n 1`) ends the command as the signal would: at once and without a word.
fn end_with_the_reader() {
    /// 128 and the number of SIGPIPE, as a shell tells it.
    const BROKEN_PIPE: i32 = 141;
    let others = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        let text = info.payload().downcast_ref::<String>().map_or("", String::as_str);
        if text.starts_with("failed printing to std") && text.contains("Broken pipe") {
            std::process::exit(BROKEN_PIPE);
        }
        others(info);
    }));
}

fn main() -> ExitCode {
    end_with_the_reader();
    let line = commands::compiler::gathered(std::env::args_os().collect(), &Cli::command());
    let outcome = match Cli::parse_from(line).command {
        Command::Run(args) => commands::run::run(args),
        Command::Cc(args) => commands::cc::run(args),
        Command::Launch(args) => commands::launch::run(args),
        Command::Ptx(args) => commands::ptx::run(args),
        Command::Gpus(args) => commands::gpus::run(args),
        Command::Check(args) => commands::check::run(args),
        Command::Lsp(args) => commands::lsp::run(args),
        Command::Diff(args) => commands::diff::run(args),
        Command::Explain(args) => commands::explain::run(args),
        Command::Toolkit(args) => commands::toolkit::run(args),
    };
    match outcome {
        Ok(code) => ExitCode::from(code),
        Err(failure) => {
            failure.report();
            ExitCode::from(failure.exit_code())
        }
    }
}
