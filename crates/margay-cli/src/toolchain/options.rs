// SPDX-License-Identifier: MIT OR Apache-2.0
//! nvcc's command line, read into [`Options`].
//!
//! One row of [`FLAGS`] declares a flag: its spellings, whether it takes a value, and what it does. Every
//! flag is either done, noted as having nothing to do here, or refused; none is silently dropped.

use std::path::{Path, PathBuf};

use super::arch::{self, Arch};
use super::headers;
use crate::failure::Failure;

/// How far to compile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Phase {
    /// To an executable, or a shared library with `-shared`.
    #[default]
    Link,
    /// `-c`
    Object,
    /// `-E`
    Preprocess,
    /// `-ptx`
    Ptx,
    /// `-fatbin`
    FatBinary,
    /// `-M`, `-MM`
    Dependencies,
}

/// A compilation as the command line asks for it.
#[derive(Clone, Debug, Default)]
pub struct Options {
    pub phase: Phase,
    /// Sources, objects and archives, in order.
    pub inputs: Vec<PathBuf>,
    pub output: Option<PathBuf>,
    pub archs: Vec<Arch>,
    /// `-I -D -U -include -isystem -std -w -Werror` and the like: for both passes and for C++ files.
    pub common: Vec<String>,
    /// For the host pass and for C++ files: `-Xcompiler`, `-fPIC`.
    pub host: Vec<String>,
    /// For the device pass only: math modes.
    pub device: Vec<String>,
    /// For the link: `-L -l -shared -Xlinker`, in order.
    pub link: Vec<String>,
    pub standard: Option<String>,
    /// `-O`, without its dash and letter.
    pub optimize: Option<String>,
    pub debug_host: bool,
    pub debug_device: bool,
    pub max_registers: Option<u32>,
    pub fast_math: bool,
    pub per_thread_stream: bool,
    pub verbose: bool,
    pub dry_run: bool,
    /// `-x`: the language of all inputs.
    pub language: Option<String>,
    /// `-MD`/`-MMD`: write a dependency file; `-MF` names it, `-MT` its target, `-MP` adds phony targets.
    pub dependencies: bool,
    pub dependency_file: Option<PathBuf>,
    pub dependency_target: Option<String>,
    pub phony_targets: bool,
    pub omit_system_headers: bool,
    /// `-rdc=true`, `-dc`.
    pub relocatable: bool,
    /// The value of CUDA_VERSION, 12090 or 13000 and the like.
    pub cuda_version: Option<u32>,
    /// What the user should know about flags that mean nothing here.
    pub notes: Vec<String>,
    pub show_version: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Value {
    /// No value.
    None,
    /// `-o FILE`, `-o=FILE`.
    Separate,
    /// `-IDIR`, `-I DIR`, `-I=DIR`.
    Joined,
    /// `-O3`, never separate.
    Attached,
}

type Action = fn(&mut Options, &str) -> Result<(), Failure>;

struct Flag {
    /// Without dashes; each is accepted with one or two.
    names: &'static [&'static str],
    value: Value,
    action: Action,
}

const fn flag(names: &'static [&'static str], value: Value, action: Action) -> Flag {
    Flag { names, value, action }
}

macro_rules! pass {
    ($field:ident, $name:literal) => {
        |o, v| {
            o.$field.push(format!(concat!($name, "{}"), v));
            Ok(())
        }
    };
    ($field:ident, $name:literal, separate) => {
        |o, v| {
            o.$field.extend([$name.to_string(), v.to_string()]);
            Ok(())
        }
    };
}
macro_rules! set {
    ($($field:ident).+ = $value:expr) => {
        |o, _| {
            o.$($field).+ = $value;
            Ok(())
        }
    };
}
macro_rules! note {
    ($text:literal) => {
        |o, _| {
            o.notes.push($text.to_string());
            Ok(())
        }
    };
}
macro_rules! nothing {
    () => {
        |_, _| Ok(())
    };
}
macro_rules! refuse {
    ($text:literal) => {
        |_, _| Err(Failure::Unsupported($text.to_string()))
    };
}

static FLAGS: &[Flag] = &[
    // phases
    flag(&["c", "compile"], Value::None, set!(phase = Phase::Object)),
    flag(&["dc", "device-c"], Value::None, |o, _| {
        o.phase = Phase::Object;
        o.relocatable = true;
        Ok(())
    }),
    flag(&["dw", "device-w"], Value::None, set!(phase = Phase::Object)),
    flag(&["E", "preprocess"], Value::None, set!(phase = Phase::Preprocess)),
    flag(&["ptx"], Value::None, set!(phase = Phase::Ptx)),
    flag(&["fatbin"], Value::None, set!(phase = Phase::FatBinary)),
    flag(&["link"], Value::None, set!(phase = Phase::Link)),
    flag(&["M", "generate-dependencies"], Value::None, set!(phase = Phase::Dependencies)),
    flag(&["MM", "generate-nonsystem-dependencies"], Value::None, |o, _| {
        o.phase = Phase::Dependencies;
        o.omit_system_headers = true;
        Ok(())
    }),
    flag(
        &["cubin"],
        Value::None,
        refuse!(
            "-cubin: margay's machine code is PTX; use -ptx or -fatbin, which cuModuleLoad takes as well"
        ),
    ),
    flag(
        &["dlink", "device-link"],
        Value::None,
        refuse!(
            "-dlink: device code of several files is not linked yet; compile the sources together"
        ),
    ),
    flag(&["lib"], Value::None, refuse!("-lib: make objects with -c, then an archive with `ar`")),
    flag(&["run"], Value::None, refuse!("-run: use `margay run`")),
    // files
    flag(&["o", "output-file"], Value::Joined, |o, v| {
        o.output = Some(PathBuf::from(v));
        Ok(())
    }),
    flag(&["I", "include-path"], Value::Joined, pass!(common, "-I")),
    flag(&["isystem", "system-include"], Value::Separate, pass!(common, "-isystem", separate)),
    flag(&["include", "pre-include"], Value::Separate, pass!(common, "-include", separate)),
    flag(&["D", "define-macro"], Value::Joined, pass!(common, "-D")),
    flag(&["U", "undefine-macro"], Value::Joined, pass!(common, "-U")),
    flag(&["L", "library-path"], Value::Joined, pass!(link, "-L")),
    flag(&["l", "library"], Value::Joined, |o, v| {
        // The libraries that nvcc's users name and that we have or need not have.
        match v {
            "cudart" | "cudart_static" | "cudadevrt" => {}
            _ => o.link.push(format!("-l{v}")),
        }
        Ok(())
    }),
    flag(&["x", "x-language"], Value::Joined, |o, v| match v {
        "cu" | "cuda" => {
            o.language = Some("cuda".into());
            Ok(())
        }
        "c" | "c++" => {
            o.language = Some(v.into());
            Ok(())
        }
        _ => Err(Failure::Usage(format!("-x {v}: expected cu, c or c++"))),
    }),
    // architectures
    flag(&["arch", "gpu-architecture"], Value::Separate, |o, v| {
        o.archs.extend(arch::from_arch_flag(v)?);
        Ok(())
    }),
    flag(&["code", "gpu-code"], Value::Separate, nothing!()),
    flag(&["gencode", "generate-code"], Value::Separate, |o, v| {
        o.archs.extend(arch::from_gencode_flag(v)?);
        Ok(())
    }),
    // language
    flag(&["std"], Value::Separate, |o, v| {
        o.standard = Some(v.to_string());
        Ok(())
    }),
    flag(&["expt-relaxed-constexpr"], Value::None, nothing!()), // clang always allows it
    flag(&["expt-extended-lambda", "extended-lambda"], Value::None, nothing!()), // likewise
    flag(&["default-stream"], Value::Separate, |o, v| match v {
        "per-thread" => {
            o.per_thread_stream = true;
            Ok(())
        }
        "legacy" => {
            o.per_thread_stream = false;
            Ok(())
        }
        "null" => Ok(()),
        _ => Err(Failure::Usage(format!("-default-stream {v}: expected legacy or per-thread"))),
    }),
    flag(&["rdc", "relocatable-device-code"], Value::Separate, |o, v| {
        o.relocatable = boolean("-rdc", v)?;
        Ok(())
    }),
    flag(&["cuda-version"], Value::Separate, |o, v| {
        let (major, minor) = v.split_once('.').unwrap_or((v, "0"));
        let number = |text: &str| text.parse::<u32>().ok();
        let version =
            number(major).zip(number(minor)).map(|(major, minor)| major * 1000 + minor * 10);
        match version.filter(|v| headers::VERSIONS.contains(v)) {
            Some(version) => {
                o.cuda_version = Some(version);
                Ok(())
            }
            None => {
                let known: Vec<String> = headers::VERSIONS
                    .iter()
                    .map(|v| format!("{}.{}", v / 1000, v % 1000 / 10))
                    .collect();
                Err(Failure::Usage(format!(
                    "--cuda-version {v}: expected one of {}",
                    known.join(", ")
                )))
            }
        }
    }),
    // code generation
    flag(&["O", "optimize"], Value::Attached, |o, v| {
        o.optimize = Some(if v.is_empty() { "1".into() } else { v.to_string() });
        Ok(())
    }),
    flag(&["Ofast-compile", "Ofc"], Value::Separate, nothing!()),
    flag(&["dopt"], Value::Separate, nothing!()),
    flag(&["g", "debug"], Value::None, set!(debug_host = true)),
    flag(&["G", "device-debug"], Value::None, set!(debug_device = true)),
    flag(&["lineinfo", "generate-line-info"], Value::None, nothing!()), // always there
    flag(&["pg", "profile"], Value::None, pass!(host, "-pg")),
    flag(&["maxrregcount"], Value::Separate, |o, v| {
        let limit = v.parse().ok().filter(|n| (1..=255).contains(n)).ok_or_else(|| {
            Failure::Usage(format!("-maxrregcount {v}: expected a number of registers, 1 to 255"))
        })?;
        o.max_registers = Some(limit);
        Ok(())
    }),
    flag(&["use_fast_math"], Value::None, set!(fast_math = true)),
    flag(&["ftz"], Value::Separate, |o, v| {
        if boolean("-ftz", v)? {
            o.device.push("-fgpu-flush-denormals-to-zero".into());
        }
        Ok(())
    }),
    flag(&["prec-div"], Value::Separate, |o, v| {
        if !boolean("-prec-div", v)? {
            o.device.extend(["-mllvm".into(), "-nvptx-prec-divf32=1".into()]);
        }
        Ok(())
    }),
    flag(&["prec-sqrt"], Value::Separate, |o, v| {
        if !boolean("-prec-sqrt", v)? {
            o.device.extend(["-mllvm".into(), "-nvptx-prec-sqrtf32=0".into()]);
        }
        Ok(())
    }),
    flag(&["fmad"], Value::Separate, |o, v| {
        let mode = if boolean("-fmad", v)? { "fast" } else { "off" };
        o.device.push(format!("-ffp-contract={mode}"));
        Ok(())
    }),
    flag(&["extra-device-vectorization", "restrict"], Value::None, nothing!()),
    flag(&["m64"], Value::None, nothing!()),
    flag(&["m32"], Value::None, refuse!("-m32: CUDA has no 32-bit programs any more")),
    flag(&["m", "machine"], Value::Separate, nothing!()),
    // host compiler and linker
    flag(&["Xcompiler", "compiler-options"], Value::Separate, |o, v| {
        for one in v.split(',').filter(|s| !s.is_empty()) {
            o.host.push(one.into());
            // Such as -fopenmp and -pthread: the link needs them too.
            if one.starts_with("-fopenmp") || one == "-pthread" || one.starts_with("-fsanitize") {
                o.link.push(one.into());
            }
        }
        Ok(())
    }),
    flag(&["Xlinker", "linker-options"], Value::Separate, |o, v| {
        o.link.extend(v.split(',').map(|one| format!("-Wl,{one}")));
        Ok(())
    }),
    flag(&["Xptxas", "ptxas-options"], Value::Separate, |o, v| {
        for one in v.split(',') {
            if let Some(limit) = one.trim_start_matches('-').strip_prefix("maxrregcount=") {
                o.max_registers = limit.parse().ok();
            } else {
                o.notes.push(format!("-Xptxas {one} has no effect: there is no ptxas"));
            }
        }
        Ok(())
    }),
    flag(
        &["Xnvlink", "nvlink-options"],
        Value::Separate,
        note!("-Xnvlink has no effect: there is no nvlink"),
    ),
    flag(&["Xcudafe"], Value::Separate, note!("-Xcudafe has no effect: clang is the front end")),
    flag(
        &["Xfatbin"],
        Value::Separate,
        note!("-Xfatbin has no effect: fat binaries are not compressed"),
    ),
    flag(&["Xarchive"], Value::Separate, note!("-Xarchive has no effect")),
    flag(
        &["ccbin", "compiler-bindir"],
        Value::Separate,
        note!("-ccbin is ignored: clang compiles the host code"),
    ),
    flag(&["allow-unsupported-compiler"], Value::None, nothing!()),
    flag(&["shared"], Value::None, pass!(link, "-shared")),
    flag(&["fPIC"], Value::None, pass!(host, "-fPIC")),
    flag(&["pthread"], Value::None, |o, _| {
        o.host.push("-pthread".into());
        o.link.push("-pthread".into());
        Ok(())
    }),
    flag(&["fopenmp"], Value::None, |o, _| {
        o.host.push("-fopenmp".into());
        o.link.push("-fopenmp".into());
        Ok(())
    }),
    flag(&["cudart"], Value::Separate, |o, v| match v {
        "shared" => Ok(()),
        "static" => {
            o.notes
                .push("--cudart static: the runtime is always linked as a shared library".into());
            Ok(())
        }
        "none" => {
            o.notes
                .push("--cudart none has no effect: the runtime is linked when it is used".into());
            Ok(())
        }
        _ => Err(Failure::Usage(format!("--cudart {v}: expected shared, static or none"))),
    }),
    flag(&["cudadevrt"], Value::Separate, nothing!()),
    flag(&["forward-unknown-to-host-compiler", "forward-unknown-opts"], Value::None, nothing!()),
    // warnings
    flag(&["w", "disable-warnings"], Value::None, pass!(common, "-w")),
    flag(&["Werror"], Value::Separate, pass_werror),
    flag(&["Wno-deprecated-gpu-targets", "Wno-deprecated-declarations"], Value::None, nothing!()),
    flag(&["Wall"], Value::None, pass!(common, "-Wall")),
    flag(&["Wextra"], Value::None, pass!(common, "-Wextra")),
    flag(&["Wreorder"], Value::None, pass!(common, "-Wreorder")),
    flag(&["W"], Value::Attached, pass!(common, "-W")),
    flag(&["diag-suppress", "diag-error", "diag-warn"], Value::Separate, |o, v| {
        o.notes.push(format!(
            "the diagnostic number {v} is EDG's; clang's warnings have names (-Wno-…)"
        ));
        Ok(())
    }),
    flag(&["res-usage", "resource-usage", "source-in-ptx"], Value::None, nothing!()),
    flag(&["display-error-number", "err-no", "no-display-error-number"], Value::None, nothing!()),
    // dependencies
    flag(&["MD", "generate-dependencies-with-compile"], Value::None, set!(dependencies = true)),
    flag(&["MMD", "generate-nonsystem-dependencies-with-compile"], Value::None, |o, _| {
        o.dependencies = true;
        o.omit_system_headers = true;
        Ok(())
    }),
    flag(&["MF", "dependency-output"], Value::Separate, |o, v| {
        o.dependency_file = Some(PathBuf::from(v));
        Ok(())
    }),
    flag(&["MT", "MQ", "dependency-target-name"], Value::Separate, |o, v| {
        o.dependency_target = Some(v.to_string());
        Ok(())
    }),
    flag(&["MP", "generate-dependency-targets"], Value::None, set!(phony_targets = true)),
    // the driver itself
    flag(&["v", "verbose"], Value::None, set!(verbose = true)),
    flag(&["dryrun", "dry-run"], Value::None, set!(dry_run = true)),
    flag(&["version", "V"], Value::None, set!(show_version = true)),
    flag(&["t", "threads", "split-compile"], Value::Joined, nothing!()), // architectures always compile together
    flag(
        &["k", "keep", "save-temps", "clean-targets"],
        Value::None,
        note!("--keep has no effect: `-ptx` gives the intermediate code"),
    ),
    flag(&["keep-dir", "objdir-as-tempdir"], Value::Separate, nothing!()),
    flag(&["time"], Value::Separate, note!("--time has no effect")),
];

fn pass_werror(o: &mut Options, kind: &str) -> Result<(), Failure> {
    match kind {
        "" | "all-warnings" => o.common.push("-Werror".into()),
        "cross-execution-space-call"
        | "reorder"
        | "default-stream-launch"
        | "ext-lambda-captures-this"
        | "deprecated-declarations" => {}
        other => o.common.push(format!("-Werror={other}")),
    }
    Ok(())
}

fn boolean(flag: &str, value: &str) -> Result<bool, Failure> {
    match value {
        "true" | "1" => Ok(true),
        "false" | "0" => Ok(false),
        _ => Err(Failure::Usage(format!("{flag}={value}: expected true or false"))),
    }
}

impl Options {
    /// Reads nvcc's command line.
    pub fn parse(arguments: &[String]) -> Result<Options, Failure> {
        let mut options = Options::default();
        let mut rest = arguments.iter().peekable();
        while let Some(argument) = rest.next() {
            if argument == "-" || !argument.starts_with('-') {
                if let Some(list) = argument.strip_prefix('@') {
                    return Err(Failure::Unsupported(format!("@{list}: response files")));
                }
                options.inputs.push(PathBuf::from(argument));
                // Objects and archives keep their place among the libraries.
                if kind_of(Path::new(argument), None) == Kind::Linked {
                    options.link.push(argument.clone());
                }
                continue;
            }
            let body = argument.strip_prefix("--").unwrap_or(&argument[1..]);
            let (row, value) = find(body).ok_or_else(|| {
                Failure::Usage(format!("margay cc does not know the flag `{argument}`"))
            })?;
            let value = match (row.value, value) {
                (Value::None, Some(v)) => {
                    return Err(Failure::Usage(format!(
                        "{argument}: no value expected, got `{v}`"
                    )));
                }
                (Value::None, None) => String::new(),
                (Value::Attached, v) => v.unwrap_or_default(),
                (Value::Separate | Value::Joined, Some(v)) => v,
                // -Werror alone is gcc's word.
                (Value::Separate, None) if body == "Werror" => String::new(),
                (Value::Separate | Value::Joined, None) => rest
                    .next()
                    .cloned()
                    .ok_or_else(|| Failure::Usage(format!("{argument}: a value is missing")))?,
            };
            (row.action)(&mut options, &value)?;
        }
        let mut seen = Vec::new();
        options.archs.retain(|a| {
            let new = !seen.contains(a);
            seen.push(*a);
            new
        });
        Ok(options)
    }

    /// The architectures, or the default GPU's.
    pub fn architectures(&self) -> Vec<Arch> {
        if self.archs.is_empty() { vec![arch::native()] } else { self.archs.clone() }
    }
}

/// Whether `margay cc` knows the flag; if so, whether its value is the next word.
pub fn takes_next_word(flag: &str) -> Option<bool> {
    let body = flag.strip_prefix("--").or_else(|| flag.strip_prefix('-'))?;
    let (row, value) = find(body)?;
    let wants = match row.value {
        // -Werror alone is gcc's word.
        Value::Separate => body != "Werror",
        Value::Joined => true,
        Value::None | Value::Attached => false,
    };
    Some(wants && value.is_none())
}

/// The row of a flag, and the value that is attached to it.
fn find(body: &str) -> Option<(&'static Flag, Option<String>)> {
    let exact = |name: &str| FLAGS.iter().find(|f| f.names.contains(&name));
    if let Some(row) = exact(body) {
        return Some((row, None));
    }
    if let Some((name, value)) = body.split_once('=')
        && let Some(row) = exact(name)
        && row.value != Value::Attached
    {
        return Some((row, Some(value.to_string())));
    }
    // -Idir, -O3: the longest name that the flag starts with.
    FLAGS
        .iter()
        .filter(|f| matches!(f.value, Value::Joined | Value::Attached))
        .flat_map(|f| f.names.iter().map(move |n| (f, *n)))
        .filter(|(f, n)| n.len() == 1 && body.starts_with(n) && fits(f, &body[1..]))
        .map(|(f, n)| (f, Some(body[n.len()..].to_string())))
        .next()
}

/// `-O` takes a level only, so that `-Other` is unknown; `-o` and `-t` take anything.
fn fits(row: &Flag, value: &str) -> bool {
    match row.names[0] {
        "O" => matches!(value, "0" | "1" | "2" | "3" | "s" | "g" | "z" | "fast"),
        "t" => value.bytes().all(|b| b.is_ascii_digit()),
        "x" => matches!(value, "cu" | "c" | "c++" | "cuda"),
        _ => true,
    }
}

/// What an input is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Cuda,
    Cxx,
    C,
    Ptx,
    Linked,
}

/// By `-x`, else by the file's ending.
pub fn kind_of(path: &Path, language: Option<&str>) -> Kind {
    match language {
        Some("cuda") => return Kind::Cuda,
        Some("c++") => return Kind::Cxx,
        Some("c") => return Kind::C,
        Some(_) | None => {}
    }
    match path.extension().and_then(|e| e.to_str()) {
        Some("cu") => Kind::Cuda,
        Some("cpp" | "cc" | "cxx" | "c++" | "C" | "CPP") => Kind::Cxx,
        Some("c") => Kind::C,
        Some("ptx") => Kind::Ptx,
        Some(_) | None => Kind::Linked,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Options, Failure> {
        Options::parse(&line.split_whitespace().map(String::from).collect::<Vec<_>>())
    }

    #[test]
    fn everyday_flags() {
        let o = parse(
            "-arch=sm_80 -O3 -I inc -Iinc2 -DN=3 -std=c++20 a.cu b.o -lm -Xcompiler -Wall,-fopenmp -o prog",
        )
        .unwrap();
        assert_eq!(o.archs[0].number, 80);
        assert_eq!(o.optimize.as_deref(), Some("3"));
        assert_eq!(o.common, ["-Iinc", "-Iinc2", "-DN=3"]);
        assert_eq!(o.link, ["b.o", "-lm", "-fopenmp"]);
        assert_eq!(o.host, ["-Wall", "-fopenmp"]);
        assert_eq!(o.output.unwrap().to_str(), Some("prog"));
        assert_eq!(o.standard.as_deref(), Some("c++20"));
    }

    #[test]
    fn two_spellings() {
        for line in ["--ptx x.cu", "-ptx x.cu"] {
            assert_eq!(parse(line).unwrap().phase, Phase::Ptx);
        }
        let two =
            parse("-gencode arch=compute_60,code=sm_60 --generate-code=arch=compute_90,code=sm_90");
        assert_eq!(two.unwrap().archs.len(), 2);
    }

    #[test]
    fn refusals() {
        assert!(matches!(parse("-cubin x.cu"), Err(Failure::Unsupported(_))));
        assert!(matches!(parse("-frobnicate x.cu"), Err(Failure::Usage(_))));
        assert!(matches!(parse("-maxrregcount none x.cu"), Err(Failure::Usage(_))));
        assert!(matches!(parse("x.cu -o"), Err(Failure::Usage(_))));
        assert!(matches!(parse("-Ofoo x.cu"), Err(Failure::Usage(_))));
    }
}
