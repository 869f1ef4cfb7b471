// SPDX-License-Identifier: MIT OR Apache-2.0
//! OpenCL C files on the command line: `margay ptx FILE.cl` and `margay launch FILE.cl`.

use std::fs;
use std::path::Path;

use margay_opencl_c::{BuildError, Executable, Options};

use super::compiler::CompilerArgs;
use super::gpu_name;
use crate::failure::{At, Failure};
use crate::toolchain::arch;

/// Whether a file is OpenCL C.
pub fn is_source(file: &Path) -> bool {
    file.extension().is_some_and(|e| e == "cl")
}

/// Compiles a file for a GPU, with build options as `clBuildProgram` takes them. Warnings go to standard
/// error.
pub fn compile(
    file: &Path,
    options: Option<&str>,
    gpu: Option<&str>,
) -> Result<Executable, Failure> {
    let options = Options::parse(options.unwrap_or_default())
        .map_err(|bad| Failure::Usage(format!("--cl-options: {bad}")))?;
    let sm = match gpu {
        Some(name) => gpu_name::find(name)?.cc().sm(),
        None => arch::native().number,
    };
    let source = fs::read(file).at(file, "cannot read")?;
    let name = file.display().to_string();
    let said = |log: &str| eprint!("{}", log.replace("program.cl:", &format!("{name}:")));
    let failed = |error: BuildError| match error {
        BuildError::Setup(text) => Failure::NoClang(text),
        BuildError::Program(log) => {
            said(&log);
            Failure::Compile { source_file: file.to_path_buf(), code: 1 }
        }
    };
    let source = String::from_utf8_lossy(&source);
    let (mut object, log) = margay_opencl_c::compile(&source, &[], &options, sm).map_err(failed)?;
    said(&log);
    // As clang has it for a file: its path, in every place that a tool shows.
    object.name_source(&fs::canonicalize(file).at(file, "cannot read")?.to_string_lossy());
    let (executable, log) = margay_opencl_c::link(&[object], &options, sm).map_err(failed)?;
    said(&log);
    Ok(executable)
}

/// The compiler's flags are for CUDA.
pub fn refuse_cuda_flags(file: &Path, compiler: &CompilerArgs) -> Result<(), Failure> {
    if compiler.is_empty() {
        return Ok(());
    }
    let file = file.display();
    Err(Failure::Usage(format!(
        "{file}: the compiler's flags are for .cu files; write --cl-options"
    )))
}

/// `--cl-options` is for OpenCL C.
pub fn refuse_options(file: &Path, options: Option<&str>) -> Result<(), Failure> {
    match options {
        Some(_) => {
            Err(Failure::Usage(format!("{}: --cl-options is for .cl files", file.display())))
        }
        None => Ok(()),
    }
}
