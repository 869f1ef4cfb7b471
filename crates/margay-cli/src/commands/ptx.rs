// SPDX-License-Identifier: MIT OR Apache-2.0
//! `margay ptx`: the PTX of a CUDA source.

use std::path::PathBuf;

use crate::failure::{At, Failure};
use crate::toolchain::options::{Kind, kind_of};
use crate::toolchain::{self, Options, Phase};

/// Print the PTX of a .cu file.
#[derive(clap::Args)]
pub struct Args {
    /// A .cu or .ptx file.
    file: PathBuf,
    /// The architecture, as for nvcc: sm_90, compute_75, native.
    #[arg(long, value_name = "ARCH")]
    arch: Option<String>,
    /// Print one JSON object with the text in `ptx`.
    #[arg(long)]
    json: bool,
    /// More flags for `margay cc`.
    #[arg(last = true)]
    compiler_flags: Vec<String>,
}

/// Prints on standard output.
pub fn run(args: Args) -> Result<u8, Failure> {
    let text = ptx_of(&args.file, args.arch.as_deref(), &args.compiler_flags)?;
    if args.json {
        println!("{}", serde_json::json!({ "file": args.file, "ptx": text }));
    } else {
        print!("{text}");
    }
    Ok(0)
}

/// The PTX of a source, or the text of a .ptx file.
pub fn ptx_of(
    file: &std::path::Path,
    arch: Option<&str>,
    flags: &[String],
) -> Result<String, Failure> {
    if kind_of(file, None) == Kind::Ptx {
        return std::fs::read_to_string(file).at(file, "cannot read");
    }
    let mut options = Options::parse(flags)?;
    if let Some(arch) = arch {
        options.archs = toolchain::arch::from_arch_flag(arch)?;
    }
    let scratch = tempfile::Builder::new()
        .prefix("margay-")
        .suffix(".ptx")
        .tempfile()
        .at(&std::env::temp_dir(), "cannot write")?;
    options.phase = Phase::Ptx;
    options.inputs = vec![file.to_path_buf()];
    options.language = Some("cuda".into());
    options.output = Some(scratch.path().to_path_buf());
    toolchain::build(&options)?;
    std::fs::read_to_string(scratch.path()).at(scratch.path(), "cannot read")
}
