// SPDX-License-Identifier: MIT OR Apache-2.0
//! `margay ptx`: the PTX of a CUDA source, or its IR.

use std::path::PathBuf;

use crate::failure::{At, Failure};
use crate::toolchain::options::{Kind, kind_of};
use crate::toolchain::{self, Options, Phase};

/// Print the PTX or the IR of a .cu or .ptx file.
#[derive(clap::Args)]
pub struct Args {
    /// A .cu or .ptx file.
    file: PathBuf,
    /// The architecture, as for nvcc: sm_90, compute_75, native.
    #[arg(long, value_name = "ARCH")]
    arch: Option<String>,
    /// Print margay's intermediate representation instead.
    #[arg(long)]
    ir: bool,
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
    let (key, text) = if args.ir { ("ir", ir_of(&args.file, &text)?) } else { ("ptx", text) };
    if args.json {
        println!("{}", serde_json::json!({ "file": args.file, key: text }));
    } else {
        print!("{text}");
    }
    Ok(0)
}

/// The IR of a PTX text; all errors in it, a line each.
fn ir_of(file: &std::path::Path, ptx: &str) -> Result<String, Failure> {
    let all =
        |lines: Vec<String>| Failure::Work(format!("{}:\n{}", file.display(), lines.join("\n")));
    let ast = margay_ptx::parse_bytes(ptx.as_bytes()).map_err(|problems| {
        all(problems
            .iter()
            .map(|p| {
                format!("PTX line {}, column {}: {}", p.position.line, p.position.column, p.text())
            })
            .collect())
    })?;
    let module = margay_ir::lower(&ast).map_err(|problems| {
        all(problems
            .iter()
            .map(|p| format!("PTX line {}, column {}: {}", p.line, p.column, p.message))
            .collect())
    })?;
    Ok(module.to_string())
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
