// SPDX-License-Identifier: MIT OR Apache-2.0
//! `margay run`: a CUDA program on the virtual GPU.
//!
//! Sources are compiled once and cached by content. The program replaces this process, so its signals,
//! terminal and exit code are its own; with `--json` it runs as a child and a summary follows.

use std::ffi::OsString;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;
use std::{env, fs};

use object::{Object, ObjectSection};

use crate::failure::{At, Failure};
use crate::toolchain::options::{Kind, kind_of};
use crate::toolchain::{self, Options, arch, cache, libraries};

/// Run a CUDA program: .cu sources, an executable, or a command.
#[derive(clap::Args)]
#[command(after_help = "\
Exit code: the program's own; 128 + N if signal N killed it; 124 after --timeout of the whole program with --json.
Examples:
  margay run vectorAdd.cu
  margay run --gpu v100 --cc=-Iinclude main.cu kernels.cu -- --size 100
  margay run ./app --verbose
  margay run python3 train.py")]
pub struct Args {
    /// The virtual GPU (`margay gpus` lists them); several, separated by commas, make several devices.
    #[arg(long, value_name = "NAME")]
    gpu: Option<String>,
    /// Seconds that a kernel may run before it fails with cudaErrorLaunchTimeout.
    #[arg(long, value_name = "SECONDS")]
    timeout: Option<f64>,
    /// Fixes the order of blocks, warps and atomics.
    #[arg(long)]
    seed: Option<u64>,
    /// Worker threads of a launch; 0 is one for each core.
    #[arg(long)]
    threads: Option<u32>,
    /// Where an access outside an allocation faults: at its exact end, or at the page's.
    #[arg(long, value_parser = ["exact", "page"])]
    bounds: Option<String>,
    /// What margay says on standard error.
    #[arg(long, value_parser = ["off", "on", "verbose"])]
    log: Option<String>,
    /// A flag for `margay cc`, when sources are given. May be repeated.
    #[arg(long = "cc", value_name = "FLAG", allow_hyphen_values = true)]
    compiler_flags: Vec<String>,
    /// Run as a child process and print a summary as one line of JSON on standard error.
    #[arg(long)]
    json: bool,
    /// The program, or .cu sources, and its arguments (`--` ends the list of sources).
    #[arg(
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "PROGRAM"
    )]
    program: Vec<OsString>,
}

/// Runs the program.
pub fn run(args: Args) -> Result<u8, Failure> {
    if let Some(gpu) = &args.gpu {
        for name in gpu.split(',').map(str::trim) {
            if margay_arch::find(name).is_none() {
                return Err(Failure::Usage(format!(
                    "--gpu {name}: no such GPU; `margay gpus` lists them"
                )));
            }
        }
    }
    let sources: Vec<PathBuf> = args
        .program
        .iter()
        .map(PathBuf::from)
        .take_while(|p| p.to_str() != Some("--") && kind_of(p, None) == Kind::Cuda)
        .collect();
    let mut rest = &args.program[sources.len()..];
    if rest.first().is_some_and(|a| a == "--") {
        rest = &rest[1..];
    }
    let (program, name, arguments) = if sources.is_empty() {
        let [name, arguments @ ..] = rest else {
            return Err(Failure::Usage("no program given".into()));
        };
        if let Some(file) = on_path(Path::new(name)) {
            refuse_static_runtime(&file)?;
        }
        (PathBuf::from(name), name.clone(), arguments)
    } else {
        let program = compiled(&args, &sources)?;
        // Programs look for their data beside themselves: they are told the place of their source.
        (program, sources[0].with_extension("").into_os_string(), rest)
    };

    let mut command = Command::new(&program);
    command.arg0(&name).args(arguments);
    let libraries = libraries::directory()?;
    let search = env::join_paths(
        std::iter::once(libraries)
            .chain(env::split_paths(&env::var_os("LD_LIBRARY_PATH").unwrap_or_default()))
            .filter(|p| !p.as_os_str().is_empty()),
    )
    .map_err(|e| Failure::Work(format!("LD_LIBRARY_PATH: {e}")))?;
    command.env("LD_LIBRARY_PATH", search);
    let settings = [
        ("MARGAY_GPU", args.gpu.clone()),
        ("MARGAY_TIMEOUT", args.timeout.map(|s| s.to_string())),
        ("MARGAY_SEED", args.seed.map(|s| s.to_string())),
        ("MARGAY_THREADS", args.threads.map(|s| s.to_string())),
        ("MARGAY_BOUNDS", args.bounds.clone()),
        ("MARGAY_LOG", args.log.clone()),
    ];
    for (variable, value) in settings {
        if let Some(value) = value {
            command.env(variable, value);
        }
    }
    if args.json {
        summarised(command, &program)
    } else {
        Err(Failure::Start { error: command.exec(), program })
    }
}

fn summarised(mut command: Command, program: &Path) -> Result<u8, Failure> {
    let start = Instant::now();
    let status = command
        .status()
        .map_err(|error| Failure::Start { program: program.to_path_buf(), error })?;
    let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
    let summary = serde_json::json!({
        "program": program,
        "exit_code": status.code(),
        "signal": status.signal(),
        "wall_s": start.elapsed().as_secs_f64(),
    });
    eprintln!("{summary}");
    Ok(u8::try_from(code & 0xff).unwrap_or(1))
}

/// The executable of the sources, linked once for each set of objects.
fn compiled(args: &Args, sources: &[PathBuf]) -> Result<PathBuf, Failure> {
    let mut options = Options::parse(&args.compiler_flags)?;
    options.inputs = sources.to_vec();
    if options.archs.is_empty()
        && let Some(gpu) = &args.gpu
    {
        options.archs = gpu.split(',').filter_map(|name| arch::of_gpu(name.trim())).collect();
        options.archs.sort();
        options.archs.dedup();
    }
    let root = cache::Cache::open().root.join("programs");
    fs::create_dir_all(&root).at(&root, "cannot create the cache")?;
    let here = env::current_dir().unwrap_or_default();
    let mut parts = vec![here.as_os_str().as_encoded_bytes().to_vec()];
    parts.extend(sources.iter().map(|s| s.as_os_str().as_encoded_bytes().to_vec()));
    parts.extend(args.compiler_flags.iter().map(|f| f.as_bytes().to_vec()));
    parts.push(format!("{:?}", options.archs).into_bytes());
    let stem = sources[0].file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let place = root.join(format!("{stem}-{}", &cache::key(parts.iter().map(Vec::as_slice))[..16]));
    // Linked beside its place and renamed: a running program keeps its file.
    let staged =
        tempfile::Builder::new().prefix(&stem).tempfile_in(&root).at(&root, "cannot write")?;
    let staged = staged.into_temp_path();
    options.output = Some(staged.to_path_buf());
    toolchain::build(&options)?;
    staged.persist(&place).map_err(|e| e.error).at(&place, "cannot write")?;
    Ok(place)
}

fn on_path(name: &Path) -> Option<PathBuf> {
    if name.components().count() > 1 {
        return name.is_file().then(|| name.to_path_buf());
    }
    env::split_paths(&env::var_os("PATH")?).map(|dir| dir.join(name)).find(|p| p.is_file())
}

/// NVIDIA's runtime, linked in statically, refuses any driver but NVIDIA's. Say so before it does.
fn refuse_static_runtime(file: &Path) -> Result<(), Failure> {
    let Ok(bytes) = fs::read(file) else { return Ok(()) };
    let Ok(elf) = object::File::parse(&*bytes) else { return Ok(()) };
    let device_code = elf.section_by_name(".nvFatBinSegment").is_some();
    let needs_runtime =
        elf.section_by_name(".dynstr").and_then(|s| s.data().ok()).is_some_and(|names| {
            [&b"libcudart.so"[..], b"libcuda.so"]
                .iter()
                .any(|n| names.windows(n.len()).any(|w| w == *n))
        });
    if device_code && !needs_runtime {
        return Err(Failure::Unsupported(format!(
            "{}: NVIDIA's CUDA runtime is linked in statically, and it works with NVIDIA's driver only. \
             Relink with `nvcc -cudart shared`, or compile with `margay cc`",
            file.display()
        )));
    }
    Ok(())
}
