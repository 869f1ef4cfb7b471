// SPDX-License-Identifier: MIT OR Apache-2.0
//! `margay lsp`: the checks as a language server on standard input and output.

use std::path::PathBuf;

use margay_rules::lsp;

use super::check;
use crate::failure::Failure;

/// Serve the checks to an editor (the language server protocol, on standard input and output).
#[derive(clap::Args)]
#[command(after_help = "\
An editor starts it for CUDA (.cu, .cuh) and OpenCL C (.cl) files. It reads margay.toml as `margay check` does.")]
pub struct Args {
    /// The GPU that programs are for, where margay.toml names none.
    #[arg(long, value_name = "NAME")]
    gpu: Option<String>,
    /// A compile_commands.json, or its folder, that has the files' flags.
    #[arg(long, value_name = "PATH")]
    compile_commands: Option<PathBuf>,
    /// Editors pass it; there is no other way.
    #[arg(long, hide = true)]
    stdio: bool,
}

/// Serves until the client says `exit`.
pub fn run(args: Args) -> Result<u8, Failure> {
    if let Some(gpu) = &args.gpu {
        super::gpu_name::find(gpu)?;
    }
    let _ = args.stdio;
    let like = check::Args::for_server(args.gpu, args.compile_commands);
    let (connection, threads) = lsp_server::Connection::stdio();
    let prepare = |file: &std::path::Path| check::prepare(&like, file).map_err(|e| e.to_string());
    let served = lsp::serve(&connection, &prepare);
    // The writer ends when its channel does.
    drop(connection);
    served.map_err(Failure::Work)?;
    threads
        .join()
        .map_err(|e| Failure::Work(format!("the connection to the editor broke: {e}")))?;
    Ok(0)
}
