// SPDX-License-Identifier: MIT OR Apache-2.0
//! The device pass: CUDA C++ to PTX for one architecture.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::arch::Arch;
use super::build::{Refused, Session};
use super::device_launch::{self, Overlay};
use super::options::Options;
use super::ptx_edit::{self, Marks};
use super::{cache, device_link, headers, judge};
use crate::failure::{At, Failure};
use margay_ptx::frames::{self, Frame};

/// The oldest architecture of clang's back end. Code for those before it is compiled for it, with their
/// `__CUDA_ARCH__`, and marked as theirs: the engine runs it with their limits and their lockstep warps.
const OLDEST_OF_CLANG: u32 = 20;

/// The oldest architecture with double precision.
const FIRST_WITH_DOUBLES: u32 = 13;

/// The result of a device pass: PTX, what clang said, and the files that it read.
pub struct DeviceCode {
    pub ptx: String,
    pub diagnostics: String,
    pub dependencies: Vec<PathBuf>,
}

/// Arguments of the device pass alone. Only lane 0 has a value where the others read one by `__shfl_sync(mask, value, 0)`, as
/// programs have it: that clang's wrapper is handed nothing by the others must not make them unreachable. And clang tells where variables lie
/// in local memory, for the checks.
pub const DEVICE_ARGUMENTS: [&str; 4] =
    ["--cuda-device-only", "-Xclang", "-no-enable-noundef-analysis", frames::CLANG_FLAG];

/// The arguments that every CUDA pass has.
pub fn cuda_arguments(
    session: &Session,
    options: &Options,
    source: &Path,
    sm: Arch,
) -> Vec<String> {
    let include = session.include.display();
    let mut args: Vec<String> = [
        "-x",
        "cuda",
        "-nocudainc",
        "-nocudalib",
        "-Wno-unknown-cuda-version",
        // `while (waiting);` is how kernels spin; nvcc says nothing of it.
        "-Wno-empty-body",
        // Before C++17 it meant nothing, and nvcc warns of it at most.
        "-Wno-register",
        // Without a version of the SDK clang does not lower <<<>>>.
        "-Xclang",
        "-target-sdk-version=12.4",
    ]
    .map(String::from)
    .to_vec();
    args.push(format!("--cuda-gpu-arch={sm}"));
    args.push(format!("-I{include}"));
    args.extend(generated_headers(session, options));
    args.extend(["-include".into(), format!("{include}/cuda_runtime.h")]);
    args.push(format!("-std={}", options.standard.as_deref().unwrap_or("c++17")));
    if options.relocatable {
        args.extend(["-D__CUDACC_RDC__".into(), "-fgpu-rdc".into()]);
        // Both passes must give a `static` variable the same name, which other files do not have. The driver
        // hands its own -cuid to the device pass, and none to a host pass that runs alone.
        let cuid = format!("-cuid={}", identity(options, source));
        args.extend([cuid.clone(), "-Xclang".into(), cuid]);
    }
    if options.per_thread_stream {
        args.extend(["-Xclang".into(), "-fgpu-default-stream=per-thread".into()]);
        args.push("-DCUDA_API_PER_THREAD_DEFAULT_STREAM=1".into());
    }
    args.extend(options.common.iter().cloned());
    args
}

/// Tells a relocatable object from all others: 16 hexadecimal digits.
pub fn identity(options: &Options, source: &Path) -> String {
    let place = std::path::absolute(source).unwrap_or_else(|_| source.to_path_buf());
    let settings = format!("{:?}{:?}", options.common, options.architectures());
    let mut key = cache::key([place.as_os_str().as_encoded_bytes(), settings.as_bytes()]);
    key.truncate(16);
    key
}

/// The flags that choose the API headers of the CUDA version.
pub fn generated_headers(session: &Session, options: &Options) -> [String; 2] {
    let version = options.cuda_version.unwrap_or(headers::VERSIONS[0]);
    let directory = headers::version_directory(&session.include, version);
    [format!("-I{}", directory.display()), format!("-DMARGAY_CUDA_VERSION={version}")]
}

/// The architecture that clang compiles for: what it does not know is replaced by the nearest one below,
/// whose PTX runs on the wanted GPU as well.
pub fn known_to_clang(session: &Session, arch: Arch) -> Arch {
    let newest = session.clang.newest_sm();
    if arch.number > newest {
        Arch { number: newest, suffix: None }
    } else if arch.number < OLDEST_OF_CLANG {
        Arch { number: OLDEST_OF_CLANG, suffix: None }
    } else {
        arch
    }
}

fn command(session: &Session, options: &Options, source: &Path, arch: Arch) -> Command {
    let mut command = Command::new(&session.clang.program);
    command.args(cuda_arguments(session, options, source, known_to_clang(session, arch)));
    if arch.number < OLDEST_OF_CLANG {
        command.args(["-U__CUDA_ARCH__".into(), format!("-D__CUDA_ARCH__={}", arch.number * 10)]);
    }
    command.args(DEVICE_ARGUMENTS).arg(format!("--cuda-feature={}", session.clang.ptx_feature()));
    match (options.debug_device, options.optimize_debug_device) {
        (true, false) => command.args(["-O0", "-g", "-D__CUDACC_DEBUG__"]),
        (true, true) => command.args(["-O2", "-g", "-D__CUDACC_DEBUG__"]),
        // `.loc` costs nothing at run time, and a fault's report names the source line.
        (false, _) => command.args(["-O2", "-gline-directives-only"]),
    };
    command.args(math_modes(options, arch));
    command.args(session.colour());
    command.arg("-S").arg(source);
    command
}

/// What `-use_fast_math` and the flags for its parts ask of clang (nvcc's manual, "--use_fast_math": it
/// implies -ftz=true -prec-div=false -prec-sqrt=false -fmad=true). Before 2.0 there is nothing else but flushing
/// and approximate division and roots (CUDA C Programming Guide 3.2, "Floating-Point Standard").
fn math_modes(options: &Options, arch: Arch) -> Vec<String> {
    let fast = options.fast_math;
    let old = arch.number < OLDEST_OF_CLANG;
    let mut out: Vec<String> = Vec::new();
    if fast {
        out.push("-fgpu-approx-transcendentals".into());
    }
    if old || options.flush_denormals.unwrap_or(fast) {
        out.push("-fgpu-flush-denormals-to-zero".into());
    }
    if old || !options.precise_division.unwrap_or(!fast) {
        // 0 is div.approx, which fast mode has; 1 is div.full.
        out.extend(["-mllvm".into(), format!("-nvptx-prec-divf32={}", u8::from(!fast))]);
    }
    if old || !options.precise_root.unwrap_or(!fast) {
        out.extend(["-mllvm".into(), "-nvptx-prec-sqrtf32=0".into()]);
    }
    if let Some(fuse) = options.fuse_multiply_add {
        out.push(format!("-ffp-contract={}", if fuse { "fast" } else { "off" }));
    }
    out
}

/// The program's own files that a source consists of: not those of the system and of the toolkit.
pub fn included(
    session: &Session,
    options: &Options,
    source: &Path,
) -> Result<Vec<PathBuf>, Failure> {
    let scratch = session.scratch()?;
    let list = scratch.path().join("list.d");
    let mut pass = command(session, options, source, options.architectures()[0]);
    pass.args(["-M", "-w", "-MF"]).arg(&list);
    session.run(&mut pass, source)?;
    let own = |file: &PathBuf| !file.starts_with(&session.include) && !file.starts_with("/usr");
    Ok(read_dependencies(&list)?.into_iter().filter(own).collect())
}

/// Compiles `source` for `arch`; `None` if it launches kernels from device code and there is no overlay for that.
pub fn compile(
    session: &Session,
    options: &Options,
    source: &Path,
    arch: Arch,
    overlay: Option<&Overlay>,
) -> Result<Option<DeviceCode>, Failure> {
    let sm = known_to_clang(session, arch);
    let scratch = session.scratch()?;
    let (out, deps) = (scratch.path().join("device.ptx"), scratch.path().join("device.d"));
    let mut pass = command(session, options, source, arch);
    pass.arg("-MD").arg("-MF").arg(&deps);
    let diagnostics = if let Some(overlay) = overlay {
        pass.args(overlay.flags());
        with_launches(session, options, source, arch, pass, &out)?
    } else {
        match session.attempt(pass.arg("-o").arg(&out))? {
            Ok(said) => said,
            Err(mut refused) if device_launch::refused(&refused.said) => {
                let Some(why) = device_launch::impossible(options, arch, &refused.said) else {
                    return Ok(None);
                };
                refused.said = why;
                return Err(refused.told(source));
            }
            Err(mut refused) => {
                refused.said = frames::taken(&refused.said).0;
                refused.said += &judge::explained(&refused.said, arch);
                return Err(refused.told(source));
            }
        }
    };
    let (diagnostics, frames) = frames::taken(&diagnostics);
    if options.dry_run {
        let (ptx, dependencies) = Default::default();
        return Ok(Some(DeviceCode { ptx, diagnostics, dependencies }));
    }
    let ptx = std::fs::read_to_string(&out).at(&out, "cannot read clang's output")?;
    let ptx = match arch.number < OLDEST_OF_CLANG {
        true => with_old_mad(&marked_as(&ptx, sm, arch)),
        false => ptx,
    };
    let ptx = with_frames(&ptx, &frames);
    let ptx = if options.relocatable { device_link::with_static_names(&ptx) } else { ptx };
    let dependencies = read_dependencies(&deps)?;

    let marked = dependencies
        .iter()
        .filter(|path| !path.starts_with(&session.include))
        .filter_map(|path| std::fs::read(path).ok())
        .any(|text| Marks::possible_in(&String::from_utf8_lossy(&text)));
    let marks = if marked {
        let ir = scratch.path().join("device.ll");
        let mut pass = command(session, options, source, arch);
        pass.args(["-emit-llvm", "-w", "-o"]).arg(&ir);
        pass.args(overlay.iter().flat_map(|overlay| overlay.flags()));
        session.run(&mut pass, source)?;
        Marks::from_ir(&std::fs::read_to_string(&ir).at(&ir, "cannot read clang's output")?)
    } else {
        Marks::default()
    };
    let ptx = ptx_edit::apply(&ptx, &marks, options.max_registers)
        .map_err(|what| Failure::Work(format!("{}: {what}", source.display())))?;
    let (load, store) = (options.load_caching.as_deref(), options.store_caching.as_deref());
    let ptx = match load.or(store) {
        Some(_) => ptx_edit::with_caching(&ptx, load, store),
        None => ptx,
    };
    Ok(Some(DeviceCode { ptx, diagnostics, dependencies }))
}

/// The pass in two steps, with launches put into the IR between them. Returns what clang said.
fn with_launches(
    session: &Session,
    options: &Options,
    source: &Path,
    arch: Arch,
    mut first: Command,
    out: &Path,
) -> Result<String, Failure> {
    let failed = |what: String| Failure::Work(format!("{}: {what}", source.display()));
    let ir = out.with_extension("ll");
    first.args(["-emit-llvm", "-Xclang", "-disable-llvm-passes", "-o"]).arg(&ir);
    let said = session.attempt(&mut first)?.map_err(|mut refused| {
        if device_launch::refused(&refused.said) {
            refused.said += device_launch::LEFT;
            refused.said.push('\n');
        }
        refused.told(source)
    })?;
    let mut second = Command::new(&session.clang.program);
    second
        .args(["-x", "ir", "--target=nvptx64-nvidia-cuda", "-nocudalib", "-w", frames::CLANG_FLAG])
        .arg(format!("-march={}", known_to_clang(session, arch)))
        .arg(format!("--cuda-feature={}", session.clang.ptx_feature()))
        .arg(if options.debug_device && !options.optimize_debug_device { "-O0" } else { "-O2" })
        // CUDA's default, which the language implies and IR does not.
        .arg("-ffp-contract=fast")
        .args(math_modes(options, arch))
        .arg("-S")
        .arg(&ir)
        .arg("-o")
        .arg(out);
    if options.dry_run {
        return session.run(&mut second, source);
    }
    let text = std::fs::read_to_string(&ir).at(&ir, "cannot read clang's output")?;
    let forbidden = device_launch::lowered::forbidden(&text);
    if !forbidden.is_empty() {
        eprint!("{said}");
        return Err(Refused { said: forbidden, code: 1 }.told(source));
    }
    let (text, launchers) = device_launch::lowered::lowered(&text).map_err(failed)?;
    std::fs::write(&ir, text).at(&ir, "cannot write")?;
    let more = session.attempt(&mut second)?.map_err(|mut refused| {
        refused.said = frames::taken(&refused.said).0;
        refused.told(source)
    })?;
    let ptx = std::fs::read_to_string(out).at(out, "cannot read clang's output")?;
    let ptx = device_launch::launchers::with_bodies(&ptx, &launchers).map_err(failed)?;
    std::fs::write(out, ptx).at(out, "cannot write")?;
    Ok(said + &more)
}

/// What clang fuses, nvcc made `mad.f32` of, which cuts the product there. `fmaf()` is a call, and inline assembly
/// the program's own.
fn with_old_mad(ptx: &str) -> String {
    let mut written = false;
    let mut out = String::with_capacity(ptx.len());
    for line in ptx.split_inclusive('\n') {
        match line.trim() {
            "// begin inline asm" => written = true,
            "// end inline asm" => written = false,
            _ => {}
        }
        match line.trim_start().strip_prefix("fma.rn") {
            Some(rest) if !written => {
                let rest = rest.strip_prefix(".ftz").unwrap_or(rest);
                match rest.strip_prefix(".f32") {
                    Some(operands) => {
                        out.push_str("\tmad.f32");
                        out.push_str(operands);
                    }
                    None => out.push_str(line),
                }
            }
            Some(_) | None => out.push_str(line),
        }
    }
    out
}

/// The module with a comment for each frame.
fn with_frames(ptx: &str, frames: &[Frame]) -> String {
    let size = ".address_size 64";
    let comment = |frame: &Frame| format!("\n{}", frame.comment());
    let marked = frames.iter().map(comment).fold(size.to_owned(), |all, comment| all + &comment);
    ptx.replacen(size, &marked, 1)
}

fn marked_as(ptx: &str, compiled: Arch, wanted: Arch) -> String {
    let size = ".address_size 64";
    // What clang wrote for its own target is not held against the older one.
    let marked = format!("{size}\n.pragma \"{}\";", margay_ptx::capability::EXPANDED);
    // The option that nvcc gave: such devices have no doubles.
    let demotes = wanted.number < FIRST_WITH_DOUBLES && ptx.contains(".f64");
    let options = if demotes { ", map_f64_to_f32" } else { "" };
    ptx.replacen(&format!(".target {compiled}"), &format!(".target {wanted}{options}"), 1)
        .replacen(size, &marked, 1)
}

/// The architecture that code for `arch` says it is for.
pub fn marked(session: &Session, arch: Arch) -> Arch {
    if arch.number < OLDEST_OF_CLANG { arch } else { known_to_clang(session, arch) }
}

/// Reads the prerequisites of a dependency file that clang wrote.
pub fn read_dependencies(path: &Path) -> Result<Vec<PathBuf>, Failure> {
    let text = std::fs::read_to_string(path).at(path, "cannot read")?;
    let Some((_, list)) = text.split_once(": ") else { return Ok(Vec::new()) };
    let mut files = Vec::new();
    let mut name = String::new();
    let mut characters = list.chars().peekable();
    while let Some(c) = characters.next() {
        match c {
            '\\' if characters.peek() == Some(&'\n') => {
                characters.next();
            }
            '\\' if matches!(characters.peek(), Some(' ' | '#')) => name.extend(characters.next()),
            '$' if characters.peek() == Some(&'$') => name.extend(characters.next()),
            c if c.is_whitespace() => {
                if !name.is_empty() {
                    files.push(PathBuf::from(std::mem::take(&mut name)));
                }
            }
            c => name.push(c),
        }
    }
    if !name.is_empty() {
        files.push(PathBuf::from(name));
    }
    Ok(files)
}
