// SPDX-License-Identifier: MIT OR Apache-2.0
//! nvcc's flags: a row declares the spellings, whether there is a value, and what the flag does.
//!
//! Invariant: every flag is done, noted as having no effect here, or refused; none is silently dropped.
//! `always!` marks what asks for something that is so in any case.

use std::path::PathBuf;

use super::arch;
use super::headers;
use super::options::{Options, Phase};
use crate::failure::Failure;

const STATIC_RUNTIME: &str =
    "-cudart static has no effect: the runtime is always linked as a shared library";

/// How a flag takes its value.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Value {
    /// No value.
    None,
    /// `-o FILE`, `-o=FILE`.
    Separate,
    /// `-IDIR`, `-I DIR`, `-I=DIR`.
    Joined,
    /// `-O3`, never separate.
    Attached,
}

/// What a flag does with its value.
pub type Action = fn(&mut Options, &str) -> Result<(), Failure>;

/// A row of the table.
pub struct Flag {
    /// Without dashes; each is accepted with one or two.
    pub names: &'static [&'static str],
    pub value: Value,
    pub action: Action,
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
/// For what clang or we always do.
macro_rules! always {
    () => {
        |_, _| Ok(())
    };
}
macro_rules! refuse {
    ($text:literal) => {
        |_, _| Err(Failure::Unsupported($text.to_string()))
    };
}

mod rare;

static FLAGS: &[Flag] = &[
    // phases
    flag(&["c", "compile"], Value::None, set!(phase = Phase::Object)),
    flag(&["dc", "device-c"], Value::None, |o, _| {
        o.phase = Phase::Object;
        o.relocatable = true;
        Ok(())
    }),
    flag(&["dw", "device-w"], Value::None, |o, _| {
        o.phase = Phase::Object;
        o.relocatable = false;
        Ok(())
    }),
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
    flag(&["dlink", "device-link"], Value::None, set!(phase = Phase::DeviceLink)),
    flag(&["lib"], Value::None, set!(phase = Phase::Archive)),
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
        // The runtime is always linked; the other two are nvcc's.
        match v {
            "cudart" => {}
            "cudart_static" => o.notes.push(STATIC_RUNTIME.into()),
            "cudadevrt" => {
                o.notes.push("-lcudadevrt has no effect: there is no such library".into())
            }
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
        arch::from_arch_flag(v)?;
        o.arch = Some(v.to_string());
        Ok(())
    }),
    flag(&["code", "gpu-code"], Value::Separate, |o, v| {
        o.codes.extend(v.split(',').map(|name| name.trim_matches(['[', ']']).to_string()));
        Ok(())
    }),
    flag(&["gencode", "generate-code"], Value::Separate, |o, v| {
        o.targets.extend(arch::targets_of_gencode_flag(v)?);
        Ok(())
    }),
    // language
    flag(&["std"], Value::Separate, |o, v| {
        o.standard = Some(v.to_string());
        Ok(())
    }),
    flag(&["expt-relaxed-constexpr"], Value::None, always!()), // clang always allows it
    flag(&["expt-extended-lambda", "extended-lambda"], Value::None, always!()), // likewise
    flag(&["default-stream"], Value::Separate, |o, v| match v {
        "per-thread" => {
            o.per_thread_stream = true;
            Ok(())
        }
        "legacy" | "null" => {
            o.per_thread_stream = false;
            Ok(())
        }
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
    flag(
        &["Ofast-compile", "Ofc"],
        Value::Separate,
        note!("-Ofast-compile has no effect: compile with -G for less optimisation"),
    ),
    flag(&["dopt"], Value::Separate, |o, v| match v {
        "on" => {
            o.optimize_debug_device = true;
            Ok(())
        }
        _ => Err(Failure::Usage(format!("-dopt {v}: expected on"))),
    }),
    flag(&["g", "debug"], Value::None, set!(debug_host = true)),
    flag(&["G", "device-debug"], Value::None, set!(debug_device = true)),
    flag(&["lineinfo", "generate-line-info"], Value::None, always!()), // lines are always there
    flag(&["pg", "profile"], Value::None, |o, _| {
        o.host.push("-pg".into());
        o.link.push("-pg".into());
        Ok(())
    }),
    flag(&["maxrregcount"], Value::Separate, |o, v| {
        o.max_registers = Some(register_limit("-maxrregcount", v)?);
        Ok(())
    }),
    flag(&["use_fast_math"], Value::None, set!(fast_math = true)),
    flag(&["ftz"], Value::Separate, |o, v| {
        o.flush_denormals = Some(boolean("-ftz", v)?);
        Ok(())
    }),
    flag(&["prec-div"], Value::Separate, |o, v| {
        o.precise_division = Some(boolean("-prec-div", v)?);
        Ok(())
    }),
    flag(&["prec-sqrt"], Value::Separate, |o, v| {
        o.precise_root = Some(boolean("-prec-sqrt", v)?);
        Ok(())
    }),
    flag(&["fmad"], Value::Separate, |o, v| {
        o.fuse_multiply_add = Some(boolean("-fmad", v)?);
        Ok(())
    }),
    flag(
        &["extra-device-vectorization"],
        Value::None,
        note!("-extra-device-vectorization has no effect"),
    ),
    flag(
        &["restrict"],
        Value::None,
        note!("-restrict has no effect: clang reads __restrict__ in the source only"),
    ),
    flag(&["m64"], Value::None, always!()),
    flag(&["m32"], Value::None, refuse!("-m32: CUDA has no 32-bit programs any more")),
    flag(&["m", "machine"], Value::Separate, |_, v| match v {
        "64" => Ok(()),
        "32" => Err(Failure::Unsupported("-m 32: CUDA has no 32-bit programs any more".into())),
        _ => Err(Failure::Usage(format!("-m {v}: expected 64"))),
    }),
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
        o.ptxas.extend(v.split(',').map(String::from));
        Ok(())
    }),
    flag(
        &["Xnvlink", "nvlink-options"],
        Value::Separate,
        note!("-Xnvlink has no effect: there is no nvlink"),
    ),
    flag(
        &["Xcudafe", "cudafe-options"],
        Value::Separate,
        note!("-Xcudafe has no effect: clang is the front end"),
    ),
    flag(
        &["Xfatbin", "fatbin-options"],
        Value::Separate,
        note!("-Xfatbin has no effect: fat binaries are not compressed"),
    ),
    flag(&["Xarchive", "archive-options"], Value::Separate, note!("-Xarchive has no effect")),
    flag(
        &["ccbin", "compiler-bindir"],
        Value::Separate,
        note!("-ccbin is ignored: clang compiles the host code"),
    ),
    flag(
        &["allow-unsupported-compiler"],
        Value::None,
        note!("-allow-unsupported-compiler has no effect: clang compiles the host code"),
    ),
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
            o.notes.push(STATIC_RUNTIME.into());
            Ok(())
        }
        "none" => {
            o.notes.push("-cudart none has no effect: the runtime is always linked".into());
            Ok(())
        }
        _ => Err(Failure::Usage(format!("--cudart {v}: expected shared, static or none"))),
    }),
    flag(
        &["cudadevrt"],
        Value::Separate,
        note!("-cudadevrt has no effect: there is no device runtime library"),
    ),
    flag(
        &["dlto", "dlink-time-opt"],
        Value::None,
        note!("-dlto has no effect: device code is linked as PTX"),
    ),
    // `Options::parse` looks for these before it reads the rest.
    flag(&["forward-unknown-to-host-compiler", "forward-unknown-opts"], Value::None, always!()),
    flag(&["forward-unknown-to-host-linker"], Value::None, always!()),
    // warnings
    flag(&["w", "disable-warnings"], Value::None, pass!(common, "-w")),
    flag(&["Werror"], Value::Separate, pass_werror),
    flag(&["Wno-deprecated-gpu-targets"], Value::None, always!()), // none is deprecated here
    flag(
        &[
            "Wdefault-stream-launch",
            "Wmissing-launch-bounds",
            "Wext-lambda-captures-this",
            "Wno-default-stream-launch",
            "Wno-missing-launch-bounds",
            "Wno-ext-lambda-captures-this",
        ],
        Value::None,
        note!(
            "-W… of default-stream-launch, missing-launch-bounds and ext-lambda-captures-this has no effect"
        ),
    ),
    flag(&["Wall"], Value::None, pass!(common, "-Wall")),
    flag(&["Wextra"], Value::None, pass!(common, "-Wextra")),
    flag(&["Wreorder"], Value::None, pass!(common, "-Wreorder")),
    flag(&["W"], Value::Attached, pass!(common, "-W")),
    flag(&["diag-suppress", "diag-error", "diag-warn"], Value::Separate, |o, v| {
        o.notes.push(format!(
            "-diag-… {v} has no effect: the number is EDG's; clang's warnings have names (-Wno-…)"
        ));
        Ok(())
    }),
    flag(&["res-usage", "resource-usage"], Value::None, set!(resource_usage = true)),
    flag(&["source-in-ptx", "src-in-ptx"], Value::None, note!("-source-in-ptx has no effect")),
    flag(
        &["display-error-number", "err-no", "no-display-error-number", "no-err-no"],
        Value::None,
        note!("-display-error-number has no effect: clang's diagnostics have names"),
    ),
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
    // Written into `bin/nvcc` by `margay toolkit`.
    flag(&["as-nvcc"], Value::Separate, |o, v| {
        o.as_nvcc = Some(PathBuf::from(v));
        // As its own compiler would: projects ask for it beside __CUDACC__.
        o.common.push("-D__NVCC__=1".into());
        Ok(())
    }),
    flag(&["version", "V"], Value::None, set!(show_version = true)),
    flag(&["t", "threads"], Value::Joined, always!()), // architectures always compile together
    flag(&["split-compile"], Value::Separate, note!("-split-compile has no effect")),
    flag(
        &["k", "keep", "save-temps"],
        Value::None,
        note!("-keep has no effect: `-ptx` gives the intermediate code"),
    ),
    flag(&["keep-dir"], Value::Separate, note!("-keep-dir has no effect, as -keep has none")),
    flag(&["objtemp", "objdir-as-tempdir"], Value::None, note!("-objdir-as-tempdir has no effect")),
    flag(&["clean", "clean-targets"], Value::None, refuse!("-clean: margay deletes no files")),
    flag(&["time"], Value::Separate, note!("-time has no effect")),
];

/// Whether a word is what `-Werror KIND,…` takes. Without one, `-Werror` is gcc's word.
pub fn are_werror_kinds(word: &str) -> bool {
    const KINDS: [&str; 7] = [
        "all-warnings",
        "cross-execution-space-call",
        "default-stream-launch",
        "deprecated-declarations",
        "ext-lambda-captures-this",
        "missing-launch-bounds",
        "reorder",
    ];
    word.split(',').all(|kind| KINDS.contains(&kind))
}

fn pass_werror(o: &mut Options, kinds: &str) -> Result<(), Failure> {
    for kind in kinds.split(',') {
        match kind {
            "" | "all-warnings" => o.common.push("-Werror".into()),
            // clang refuses such a call in any case.
            "cross-execution-space-call" => {}
            "default-stream-launch" | "ext-lambda-captures-this" | "missing-launch-bounds" => {
                o.notes.push(format!("-Werror {kind} has no effect: clang has no such warning"));
            }
            // `reorder` and `deprecated-declarations` are clang's names as well.
            other => o.common.push(format!("-Werror={other}")),
        }
    }
    Ok(())
}

pub(super) fn register_limit(flag: &str, value: &str) -> Result<u32, Failure> {
    value.parse().ok().filter(|n| (1..=255).contains(n)).ok_or_else(|| {
        Failure::Usage(format!("{flag} {value}: expected a number of registers, 1 to 255"))
    })
}

pub(super) fn boolean(flag: &str, value: &str) -> Result<bool, Failure> {
    match value {
        "true" | "1" => Ok(true),
        "false" | "0" => Ok(false),
        _ => Err(Failure::Usage(format!("{flag}={value}: expected true or false"))),
    }
}

/// The row of a flag, and the value that is attached to it.
pub fn find(body: &str) -> Option<(&'static Flag, Option<String>)> {
    let exact = |name: &str| FLAGS.iter().chain(rare::FLAGS).find(|f| f.names.contains(&name));
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

/// Whether `margay cc` knows the flag; if so, whether its value is the next word.
/// `next` is that word.
pub fn takes_next_word(flag: &str, next: Option<&str>) -> Option<bool> {
    let body = flag.strip_prefix("--").or_else(|| flag.strip_prefix('-'))?;
    let (row, value) = find(body)?;
    let wants = match row.value {
        Value::Separate => body != "Werror" || next.is_some_and(are_werror_kinds),
        Value::Joined => true,
        Value::None | Value::Attached => false,
    };
    Some(wants && value.is_none())
}
