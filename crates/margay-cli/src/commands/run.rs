// SPDX-License-Identifier: MIT OR Apache-2.0
//! `margay run`: a CUDA or OpenCL program on the virtual GPU.
//!
//! Sources are compiled once and cached by content. The program replaces this process, so its signals,
//! terminal and exit code are its own; with `--json` it runs as a child and a summary follows.

use std::ffi::OsString;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;
use std::{env, fs};

use margay_runtime::settings::DEFAULT_GPU;
use object::{Object, ObjectSection};

use super::compiler::CompilerArgs;
use super::profile::{Profile, ProfileArgs};
use super::sanitize::{Sanitize, SanitizeArgs};
use super::{child, gpu_name};
use crate::failure::{At, Failure};
use crate::toolchain::options::{Kind, kind_of};
use crate::toolchain::{self, cache, libraries};

/// Run a CUDA or OpenCL program: .cu sources, an executable, or a command.
#[derive(clap::Args)]
#[command(
    override_usage = "margay run [OPTIONS] [COMPILER FLAGS] FILE.cu… [--] [ARGUMENTS]\n       \
                      margay run [OPTIONS] PROGRAM [ARGUMENTS]",
    after_help = "\
What comes before the first source or program is for margay and the compiler;
flags that `margay cc` knows go to the compiler. What follows the last source,
or `--`, is for the program.

--timeout: a kernel that runs longer is stopped, and a message names it. The
program goes on: it gets cudaErrorLaunchTimeout (702) from then on.

Exit code: the program's own, whatever happened to its kernels; with --json,
128 + N if signal N killed it. Where no program came to run: clang's code (1)
if it did not compile, 2 wrong command line, 125 margay could not, 126 the
program cannot be executed, 127 it is not there.

Examples:
  margay run vectorAdd.cu
  margay run --gpu v100 -Iinclude -DN=4 -std=c++20 main.cu kernels.cu -- --size 100
  margay run --cuda-version 13.0 app.cu
  margay run ./app --verbose
  margay run python3 train.py"
)]
pub struct Args {
    /// The virtual GPU (`margay gpus` lists them); several, separated by commas, make several devices.
    /// Sources are compiled for it unless -arch says otherwise.
    #[arg(long, value_name = "NAME")]
    gpu: Option<String>,
    /// So many devices of that kind. CUDA_VISIBLE_DEVICES chooses among them.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=64))]
    gpus: Option<u8>,
    /// Seconds that each kernel may run before it is stopped; 0 is no limit (the default).
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    timeout: Option<f64>,
    /// Fixes the order of blocks, warps and atomics.
    #[arg(long)]
    seed: Option<u64>,
    /// Worker threads of a launch; 0 is one for each core.
    #[arg(long)]
    threads: Option<u32>,
    /// What runs kernels: the interpreter, compiled code, or compiled code where it pays (the default).
    #[arg(long, value_parser = ["interp", "jit", "auto"])]
    engine: Option<String>,
    /// Where an access outside an allocation faults: at its exact end, or at the page's.
    #[arg(long, value_parser = ["exact", "page"])]
    bounds: Option<String>,
    /// Whether margay reports faults on standard error.
    #[arg(long, value_parser = ["off", "on"])]
    log: Option<String>,
    /// Model a constant cache of so many bytes on each multiprocessor; at the end its hits, misses and what to change
    /// are on standard error. A program's build option `-const-cache-bytes=N` does the same under --profile.
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u32).range(1..=1 << 30))]
    const_cache_bytes: Option<u32>,
    #[command(flatten)]
    profile: ProfileArgs,
    #[command(flatten)]
    check: SanitizeArgs,
    #[command(flatten)]
    compiler: CompilerArgs,
    /// Run as a child process; its end is the last line of standard error, as a JSON object: program,
    /// exit_code or signal (the other is null), and wall_s, the seconds from its start.
    #[arg(long)]
    json: bool,
    /// The program, or .cu sources (.cpp and .c beside them), and its arguments.
    #[arg(
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "PROGRAM"
    )]
    program: Vec<OsString>,
}

/// A time limit. 0 is none.
pub fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(s) if (0.0..1e9).contains(&s) => Ok(s),
        Ok(_) | Err(_) => Err("expected a number of seconds, such as 2.5".into()),
    }
}

/// Runs the program.
pub fn run(args: Args) -> Result<u8, Failure> {
    if let Some(gpu) = &args.gpu {
        gpu_name::check_list(gpu)?;
    }
    let devices = devices(&args)?;
    let profile = args.profile.wanted()?;
    if profile.is_some() && args.json {
        return Err(Failure::Usage(
            "--json tells of the program's end, --profile=FILE.json of its accesses: choose one"
                .into(),
        ));
    }
    let check = args.check.wanted()?;
    if check.is_some() && args.json {
        return Err(Failure::Usage(
            "--json tells of the program's end, --check-format json of the findings: choose one"
                .into(),
        ));
    }
    let (sources, rest) = split(&args.program);
    if let Some(flag) = args.program.first().filter(|w| is_flag(w)) {
        return Err(Failure::Usage(format!(
            "neither `margay run` nor `margay cc` knows the flag `{}`",
            flag.to_string_lossy()
        )));
    }
    let (program, name, arguments) = if sources.is_empty() {
        let [name, arguments @ ..] = rest else {
            return Err(Failure::Usage("no program given".into()));
        };
        if !args.compiler.is_empty() {
            return Err(Failure::Usage(format!(
                "the compiler's flags are for sources, and `{}` is none",
                name.to_string_lossy()
            )));
        }
        if let Some(file) = on_path(Path::new(name)) {
            refuse_static_runtime(&file)?;
        }
        (PathBuf::from(name), name.clone(), arguments)
    } else {
        let Some(program) = compiled(&args, &sources)? else { return Ok(0) };
        // Programs look for their data beside themselves: they are told the place of their source.
        (program, sources[0].with_extension("").into_os_string(), rest)
    };

    let mut command = Command::new(&program);
    command.arg0(&name).args(arguments);
    let libraries = libraries::directory()?;
    let vendors = libraries::vendors(&libraries)?;
    let search = env::join_paths(
        std::iter::once(libraries)
            .chain(env::split_paths(&env::var_os("LD_LIBRARY_PATH").unwrap_or_default()))
            .filter(|p| !p.as_os_str().is_empty()),
    )
    .map_err(|e| Failure::Work(format!("LD_LIBRARY_PATH: {e}")))?;
    command.env("LD_LIBRARY_PATH", search);
    if let Some(vendors) = &vendors {
        // The loaders of Debian and of Khronos take a directory here.
        command.env("OCL_ICD_VENDORS", vendors);
    }
    let settings = [
        ("MARGAY_GPU", devices),
        ("MARGAY_TIMEOUT", args.timeout.map(|s| s.to_string())),
        ("MARGAY_SEED", args.seed.map(|s| s.to_string())),
        ("MARGAY_THREADS", args.threads.map(|s| s.to_string())),
        ("MARGAY_ENGINE", args.engine.clone()),
        ("MARGAY_BOUNDS", args.bounds.clone()),
        ("MARGAY_CONST_CACHE_BYTES", args.const_cache_bytes.map(|n| n.to_string())),
        ("MARGAY_LOG", args.log.clone()),
    ];
    for (variable, value) in settings {
        if let Some(value) = value {
            command.env(variable, value);
        }
    }
    if profile.is_some() || check.is_some() {
        // Of what is compiled here the user knows the source.
        let shown = sources.first().unwrap_or(&program);
        watched(command, (&name, shown), arguments, profile, check)
    } else if args.json {
        summarised(command, &program)
    } else {
        Err(Failure::Start { error: command.exec(), program })
    }
}

/// The list of devices, if the command line says anything of them.
fn devices(args: &Args) -> Result<Option<String>, Failure> {
    let Some(count) = args.gpus else { return Ok(args.gpu.clone()) };
    let given = args.gpu.clone().or_else(|| env::var("MARGAY_GPU").ok());
    let name = given.filter(|n| !n.trim().is_empty()).unwrap_or_else(|| DEFAULT_GPU.to_string());
    if name.contains(',') {
        return Err(Failure::Usage(format!(
            "--gpus {count} makes so many devices of one kind, and `{name}` names several: leave one out"
        )));
    }
    Ok(Some(vec![name; count.into()].join(",")))
}

/// Runs a program that is profiled, or checked, or both.
fn watched(
    mut command: Command,
    (name, shown): (&OsString, &Path),
    arguments: &[OsString],
    profile: Option<Profile>,
    mut check: Option<Sanitize>,
) -> Result<u8, Failure> {
    if let Some(profile) = &profile {
        profile.prepare(&mut command);
    }
    if let Some(check) = &check {
        check.prepare(&mut command);
    }
    let status = match &mut check {
        Some(check) => check.run(&mut command, shown)?,
        None => child::run(&mut command)?,
    };
    let mut words = vec![name.to_string_lossy().into_owned()];
    words.extend(arguments.iter().map(|a| a.to_string_lossy().into_owned()));
    let mut code = child::code(status);
    if let Some(profile) = &profile {
        let found = check.as_ref().map(Sanitize::found).transpose()?.unwrap_or_default();
        code = profile.finish(&words, status, found)?;
    }
    match &check {
        Some(check) => check.finish(code),
        None => Ok(code),
    }
}

fn summarised(mut command: Command, program: &Path) -> Result<u8, Failure> {
    let start = Instant::now();
    let parent = std::process::id();
    // SAFETY: between fork and exec only two system calls are made, which are async-signal-safe.
    unsafe {
        command.pre_exec(move || {
            // The program ends when this process is killed, as it does without --json.
            if libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM) != 0 {
                return Err(std::io::Error::last_os_error());
            }
            // It may have been killed before the call above.
            if libc::getppid() as u32 != parent {
                return Err(std::io::ErrorKind::Interrupted.into());
            }
            Ok(())
        });
    }
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

fn is_flag(word: &OsString) -> bool {
    word.to_str().is_some_and(|w| w.len() > 1 && w.starts_with('-') && w != "--")
}

/// The sources, and the words after them. C and C++ files count if a CUDA file is among the sources.
fn split(words: &[OsString]) -> (Vec<PathBuf>, &[OsString]) {
    let is_source = |p: &PathBuf| {
        matches!(kind_of(p, None), Kind::Cuda | Kind::Cxx | Kind::C) && !is_flag(&p.into())
    };
    let mut sources: Vec<PathBuf> = words.iter().map(PathBuf::from).take_while(is_source).collect();
    if !sources.iter().any(|p| kind_of(p, None) == Kind::Cuda) {
        sources.clear();
    }
    let rest = &words[sources.len()..];
    (sources, rest.strip_prefix(&[OsString::from("--")]).unwrap_or(rest))
}

/// The executable of the sources, linked once for each set of objects. `None` after `--dryrun`.
fn compiled(args: &Args, sources: &[PathBuf]) -> Result<Option<PathBuf>, Failure> {
    let mut options = args.compiler.options(args.gpu.as_deref())?;
    if options.link.iter().any(|f| f == "-shared") {
        return Err(Failure::Usage("-shared makes a library, which cannot be run".into()));
    }
    options.inputs = sources.to_vec();
    let root = cache::Cache::open().root.join("programs");
    fs::create_dir_all(&root).at(&root, "cannot create the cache")?;
    let here = env::current_dir().unwrap_or_default();
    let mut parts = vec![here.as_os_str().as_encoded_bytes().to_vec()];
    parts.extend(sources.iter().map(|s| s.as_os_str().as_encoded_bytes().to_vec()));
    parts.push(format!("{:?}{:?}", args.compiler, options.archs).into_bytes());
    let stem = sources[0].file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let place = root.join(format!("{stem}-{}", &cache::key(parts.iter().map(Vec::as_slice))[..16]));
    // Linked beside its place and renamed: a running program keeps its file.
    let staged =
        tempfile::Builder::new().prefix(&stem).tempfile_in(&root).at(&root, "cannot write")?;
    let staged = staged.into_temp_path();
    options.output = Some(staged.to_path_buf());
    toolchain::build(&options)?;
    if options.dry_run {
        return Ok(None);
    }
    staged.persist(&place).map_err(|e| e.error).at(&place, "cannot write")?;
    Ok(Some(place))
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
