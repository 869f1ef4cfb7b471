// SPDX-License-Identifier: MIT OR Apache-2.0
//! `margay ptx`: the PTX of a CUDA or OpenCL C source or of a built program, or its IR.

use std::path::{Path, PathBuf};

use super::compiler::CompilerArgs;
use super::{embedded, gpu_name, opencl};
use crate::failure::{At, Failure};
use crate::toolchain::options::{Kind, kind_of};
use crate::toolchain::{self, Phase};

/// Print the PTX or the IR of a .cu, .cl or .ptx file, or of a fat binary, object or program.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  margay ptx saxpy.cu
  margay ptx --gpu v100 -Iinclude -DN=4 --ir saxpy.cu
  margay ptx --cl-options '-cl-std=CL3.0 -DN=4' saxpy.cl
  margay ptx saxpy.ptx      checks the PTX: every error in it, a line each
  margay ptx --arch sm_70 saxpy.fatbin
  margay ptx ./app          the PTX inside, of each of its sources")]
pub struct Args {
    /// A .cu, .cl or .ptx file; or a fat binary, object, library or program with PTX inside.
    file: PathBuf,
    /// The architecture, as for nvcc: sm_90, compute_75, native (the default: that of --gpu, of MARGAY_GPU,
    /// or of the H200).
    #[arg(long, value_name = "ARCH")]
    arch: Option<String>,
    /// The virtual GPU whose architecture is meant (`margay gpus` lists them).
    #[arg(long, value_name = "NAME", conflicts_with = "arch")]
    gpu: Option<String>,
    /// Print margay's intermediate representation instead.
    #[arg(long)]
    ir: bool,
    /// Print one JSON object: `file`, and the text as `ptx` or `ir`.
    #[arg(long)]
    json: bool,
    /// Build options of a .cl file, as `clBuildProgram` takes them.
    #[arg(long, value_name = "OPTIONS", allow_hyphen_values = true)]
    cl_options: Option<String>,
    #[command(flatten)]
    compiler: CompilerArgs,
}

/// Prints on standard output.
pub fn run(args: Args) -> Result<u8, Failure> {
    if let Some(gpu) = &args.gpu {
        gpu_name::find(gpu)?;
    }
    if let Some(bytes) = binary(&args.file, &args.compiler)? {
        opencl::refuse_options(&args.file, args.cl_options.as_deref())?;
        let sm = capability(args.arch.as_deref(), args.gpu.as_deref())?;
        return print(&args, &embedded::ptx(&args.file, &bytes, sm)?);
    }
    let code = if opencl::is_source(&args.file) {
        opencl::refuse_cuda_flags(&args.file, &args.compiler)?;
        let gpu = args.gpu.as_deref().or(args.arch.as_deref());
        opencl::compile(&args.file, args.cl_options.as_deref(), gpu)?.ptx.into_bytes()
    } else {
        opencl::refuse_options(&args.file, args.cl_options.as_deref())?;
        let code = ptx_of(&args.file, args.arch.as_deref(), args.gpu.as_deref(), &args.compiler)?;
        let Some(code) = code else { return Ok(0) };
        code
    };
    print(&args, &[code])
}

/// Prints texts, each checked: one after the other, and as a list in JSON if there are several.
fn print(args: &Args, codes: &[Vec<u8>]) -> Result<u8, Failure> {
    let mut texts = Vec::with_capacity(codes.len());
    for code in codes {
        let ir = ir_of(&args.file, code)?;
        texts.push(if args.ir { ir } else { String::from_utf8_lossy(code).into_owned() });
    }
    let key = if args.ir { "ir" } else { "ptx" };
    if args.json {
        let value = match &texts[..] {
            [one] => serde_json::json!(one),
            several => serde_json::json!(several),
        };
        println!("{}", serde_json::json!({ "file": args.file, key: value }));
        return Ok(0);
    }
    for (number, text) in texts.iter().enumerate() {
        if texts.len() > 1 {
            println!("// {} of {} in {}", number + 1, texts.len(), args.file.display());
        }
        print!("{text}");
        if !text.ends_with('\n') {
            println!();
        }
    }
    Ok(0)
}

/// The compute capability (times ten) that `--arch` or `--gpu` means, or the default one's.
fn capability(arch: Option<&str>, gpu: Option<&str>) -> Result<u32, Failure> {
    let named = match (arch, gpu) {
        (Some(arch), _) => toolchain::arch::from_arch_flag(arch)?.into_iter().max(),
        (None, Some(gpu)) => toolchain::arch::of_gpu(gpu),
        (None, None) => None,
    };
    Ok(named.unwrap_or_else(toolchain::arch::native).number)
}

/// The IR of a PTX text; all errors in it, a line each.
fn ir_of(file: &Path, ptx: &[u8]) -> Result<String, Failure> {
    let all =
        |lines: Vec<String>| Failure::Work(format!("{}:\n{}", file.display(), lines.join("\n")));
    let ast = margay_ptx::parse_bytes(ptx).map_err(|problems| {
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
    let lacking = margay_runtime::image::problems(ptx);
    if !lacking.is_empty() {
        let line = |p: &margay_runtime::image::Problem| {
            format!("PTX line {}, column {}: {}", p.line, p.column, p.message)
        };
        return Err(all(lacking.iter().map(line).collect()));
    }
    Ok(module.to_string())
}

/// The bytes of a file that is no source but may have PTX inside.
fn binary(file: &Path, compiler: &CompilerArgs) -> Result<Option<Vec<u8>>, Failure> {
    if kind_of(file, None) != Kind::Linked || opencl::is_source(file) {
        return Ok(None);
    }
    let bytes = embedded::read(file)?;
    if bytes.is_some() && !compiler.is_empty() {
        return Err(no_source(file));
    }
    Ok(bytes)
}

fn no_source(file: &Path) -> Failure {
    Failure::Usage(format!("{}: the compiler's flags are for .cu files", file.display()))
}

/// The PTX of a source, or the contents of a .ptx file, or the PTX in a fat binary. `None` after `--dryrun`.
pub fn ptx_of(
    file: &Path,
    arch: Option<&str>,
    gpu: Option<&str>,
    compiler: &CompilerArgs,
) -> Result<Option<Vec<u8>>, Failure> {
    if kind_of(file, None) == Kind::Ptx {
        if arch.is_some() || !compiler.is_empty() {
            return Err(no_source(file));
        }
        return std::fs::read(file).at(file, "cannot read").map(Some);
    }
    if let Some(bytes) = binary(file, compiler)? {
        let mut all = embedded::ptx(file, &bytes, capability(arch, gpu)?)?;
        return match all.len() {
            1 => Ok(all.pop()),
            several => Err(Failure::Usage(format!(
                "{}: it has {several} fat binaries; `margay ptx` prints them, save the one that you mean",
                file.display()
            ))),
        };
    }
    let mut options = compiler.options(gpu)?;
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
    if options.dry_run {
        return Ok(None);
    }
    std::fs::read(scratch.path()).at(scratch.path(), "cannot read").map(Some)
}
