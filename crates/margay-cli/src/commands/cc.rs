// SPDX-License-Identifier: MIT OR Apache-2.0
//! `margay cc`: a compiler driver with nvcc's flags.

use crate::failure::Failure;
use crate::toolchain::options::Listed;
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
What to make:  an executable, unless one of
               -c object   -E preprocessed   -ptx   -fatbin   -shared library   -lib archive
               -M -MM dependencies; beside an object: -MD -MMD -MF FILE -MT NAME -MP
Several files: -rdc=true (-dc: with -c) where device code of one uses another's; the
               link joins it, or -dlink makes an object for a linker of your own
Architecture:  -arch=sm_XX|compute_XX|native   -gencode arch=compute_XX,code=[sm_XX,compute_XX]
               (default: native, the GPU that MARGAY_GPU names, or the H200). code=sm_XX alone
               runs on the GPUs of that major capability only; --list-gpu-arch, --list-gpu-code
Language:      -std=c++17   -x cu|c|c++   -D -U -I -include -isystem
               --cuda-version 12.9|13.0|12.4|11.8   --default-stream legacy|per-thread
Code:          -O[0-3] -g -G -dopt=on -lineinfo -maxrregcount N -use_fast_math
               -ftz= -prec-div= -prec-sqrt= -fmad= true|false   -Xptxas -v (-res-usage): what
               kernels use, registers estimated   -Xptxas -dlcm=ca|cg|cs|cv,-dscm=wb|cg|cs|wt
Host, linker:  -Xcompiler A,B   -Xlinker A,B   -L -l   -fPIC   -fopenmp   -pthread   -pg
               --forward-unknown-to-host-compiler   --forward-unknown-to-host-linker
The driver:    -v shows the commands   --dryrun only shows them   -w -Werror -Wall
               @FILE, --options-file FILE: more flags   --json prints what was made

Other flags of nvcc that have no effect here say so in a note; those that ask for what
margay cannot do, and unknown ones, are errors.
Exit code: 0, clang's own (1) after its errors, 2 wrong command line, 125 margay could not.";

/// Compiles; clang's exit code on its errors.
pub fn run(args: Args) -> Result<u8, Failure> {
    let mut arguments = args.arguments;
    let all = arguments.len();
    arguments.retain(|a| a != "--json");
    let json = arguments.len() < all;
    if arguments.iter().any(|a| a == "--help" || a == "-h" || a == "-help") {
        println!(
            "Compile CUDA C++ with clang (nvcc's everyday flags).\n\nUsage: margay cc [--json] [FLAGS] FILE… [-o OUTPUT]\n\n{HELP}"
        );
        return Ok(0);
    }
    let options = Options::parse(&arguments)?;
    if options.show_version {
        let cuda = options.cuda_version.unwrap_or(12090);
        if options.as_nvcc.is_some() {
            // The line by which build systems know nvcc's flags.
            println!("nvcc: NVIDIA (R) Cuda compiler driver (margay in its place)");
        }
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
    if let Some(listed) = options.listed {
        for arch in toolchain::arch::all() {
            match listed {
                Listed::Virtual => println!("compute_{}", arch.number),
                Listed::Machine => println!("{arch}"),
            }
        }
        return Ok(0);
    }
    let built = toolchain::build(&options)?;
    if json {
        println!("{}", serde_json::json!({ "outputs": built.outputs, "cached": built.cached }));
    }
    Ok(0)
}
