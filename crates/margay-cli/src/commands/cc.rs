// SPDX-License-Identifier: MIT OR Apache-2.0
//! `margay cc`: a compiler driver with nvcc's flags.

use crate::failure::Failure;
use crate::toolchain::{self, Options};

/// Compile CUDA C++ (nvcc's everyday flags).
#[derive(clap::Args)]
#[command(
    disable_help_flag = true,
    override_usage = "margay cc [--json] [FLAGS] FILE… [-o OUTPUT]",
    after_help = HELP
)]
pub struct Args {
    /// nvcc's flags and the files.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGS")]
    arguments: Vec<String>,
}

const HELP: &str = "\
What to make:   (nothing) executable   -c object   -E preprocessed   -ptx   -fatbin   -shared library   -M -MD -MF -MT -MP
Architecture:   -arch=sm_XX|compute_XX|native   -gencode arch=compute_XX,code=sm_XX   (default: native, MARGAY_GPU's)
Language:       -std=c++17   -x cu|c|c++   -D -U -I -include -isystem   --default-stream legacy|per-thread   --cuda-version 12.9
Code:           -O[0-3] -g -G -lineinfo -maxrregcount N -use_fast_math -ftz= -prec-div= -prec-sqrt= -fmad=
Host, linker:   -Xcompiler A,B   -Xlinker A,B   -L -l   -fPIC   -fopenmp
The driver:     -v --dryrun -w -Werror   --json prints what was made";

/// Compiles; clang's exit code on its errors.
pub fn run(args: Args) -> Result<u8, Failure> {
    let mut arguments = args.arguments;
    let json = arguments.first().is_some_and(|a| a == "--json");
    if json {
        arguments.remove(0);
    }
    if arguments.iter().any(|a| a == "--help" || a == "-h" || a == "-help") {
        println!(
            "Compile CUDA C++ with clang.\n\nUsage: margay cc [--json] [FLAGS] FILE… [-o OUTPUT]\n\n{HELP}"
        );
        return Ok(0);
    }
    let options = Options::parse(&arguments)?;
    if options.show_version {
        let cuda = options.cuda_version.unwrap_or(12090);
        println!(
            "margay {} (clang), Cuda compilation tools, release {}.{}, V{}.{}.0",
            env!("CARGO_PKG_VERSION"),
            cuda / 1000,
            cuda % 1000 / 10,
            cuda / 1000,
            cuda % 1000 / 10
        );
        return Ok(0);
    }
    let built = toolchain::build(&options)?;
    if json {
        println!("{}", serde_json::json!({ "outputs": built.outputs, "cached": built.cached }));
    }
    Ok(0)
}
