// SPDX-License-Identifier: MIT OR Apache-2.0
//! The two steps of a build, each a run of clang.

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::clang::Clang;
use crate::metadata::{self, Kernel};
use crate::options::{Options, Standard};
use crate::{BuildError, called_kernels, library, recursion, undefined};

/// A compiled program that is not linked: LLVM IR text, a module each.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Object {
    pub modules: Vec<String>,
}

impl Object {
    /// Names the file that the source was read from, in every place that debug information gives. One that PTX cannot
    /// quote is left out.
    pub fn name_source(&mut self, path: &str) {
        if path.contains(['"', '\\', '\n']) {
            return;
        }
        let quoted = |name: &str| format!("\"{name}\"");
        for module in &mut self.modules {
            *module = module.replace(&quoted(SOURCE_NAME), &quoted(path));
        }
    }
}

/// A linked program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Executable {
    pub ptx: String,
    pub kernels: Vec<Kernel>,
}

/// Extensions that the compiler offers in every version.
const EXTENSIONS: &[&str] = &[
    "cl_khr_3d_image_writes",
    "cl_khr_fp64",
    "cl_khr_fp16",
    "cl_khr_byte_addressable_store",
    "cl_khr_global_int32_base_atomics",
    "cl_khr_global_int32_extended_atomics",
    "cl_khr_local_int32_base_atomics",
    "cl_khr_local_int32_extended_atomics",
    "cl_khr_int64_base_atomics",
    "cl_khr_int64_extended_atomics",
    "cl_khr_subgroups",
    "cl_clang_storage_class_specifiers",
];

/// Optional features of OpenCL C 3.0 that the compiler offers.
const FEATURES: &[&str] = &[
    "__opencl_c_3d_image_writes",
    "__opencl_c_atomic_order_acq_rel",
    "__opencl_c_atomic_order_seq_cst",
    "__opencl_c_atomic_scope_device",
    "__opencl_c_atomic_scope_all_devices",
    "__opencl_c_fp64",
    "__opencl_c_generic_address_space",
    "__opencl_c_images",
    "__opencl_c_program_scope_global_variables",
    "__opencl_c_read_write_images",
    "__opencl_c_subgroups",
    "__opencl_c_work_group_collective_functions",
];

/// Extensions that clang leaves to its header, which knows SPIR only.
const HEADER_EXTENSIONS: &[&str] = &[
    "cl_khr_subgroup_ballot",
    "cl_khr_subgroup_clustered_reduce",
    "cl_khr_subgroup_extended_types",
    "cl_khr_subgroup_non_uniform_arithmetic",
    "cl_khr_subgroup_non_uniform_vote",
    "cl_khr_subgroup_rotate",
    "cl_khr_subgroup_shuffle",
    "cl_khr_subgroup_shuffle_relative",
];

/// Changes when the way changes that the library or programs are compiled: the caches of both have it in their keys.
pub const LIBRARY_RECIPE: &str = "15";

/// How large the unrolled loops are. clang's O2 has 150, by which loops stay loops whose barriers, beside which is told what
/// they order, count for more than those of CUDA C++ do. With 300, O3's, long ones come out slower than they were.
const UNROLLED: &str = "-unroll-threshold=180";
/// The same where indices are checked: the loops that would be unrolled without that.
const UNROLLED_CHECKED: &str = "-unroll-threshold=300";

/// The name that clang's messages and fault reports show for a program's source.
pub const SOURCE_NAME: &str = "program.cl";

/// Options that name the device.
pub fn target(clang: &Clang, sm: u32) -> Vec<String> {
    let sm = clang.target_sm(sm);
    let mut out = vec!["-target".to_owned(), "nvptx64-nvidia-nvcl".to_owned()];
    for word in ["-target-cpu", &format!("sm_{sm}"), "-target-feature", clang.ptx_feature()] {
        out.extend(["-Xclang".to_owned(), word.to_owned()]);
    }
    out
}

/// Options that name the language and what it offers.
pub fn language(standard: Standard) -> Vec<String> {
    let mut on: Vec<&str> = EXTENSIONS.to_vec();
    if standard >= Standard::Cl30 {
        on.extend(FEATURES);
    }
    let list: String = on.iter().map(|name| format!(",+{name}")).collect();
    let mut out = [
        "-x",
        "cl",
        &format!("-cl-std={}", standard.name()),
        "-Xclang",
        &format!("-cl-ext=-all{list}"),
        // clang defines it for SPIR only.
        "-D__IMAGE_SUPPORT__=1",
        "-Wno-builtin-macro-redefined",
        "-Wno-unused-command-line-argument",
        "-Wno-pass-failed",
        "-Wno-override-module",
        // clang offers some extensions without their pragma, and remarks on it.
        "-Wno-error=ignored-pragmas",
    ]
    .map(str::to_owned)
    .to_vec();
    if standard >= Standard::Cl20 {
        out.extend(HEADER_EXTENSIONS.iter().map(|extension| format!("-D{extension}=1")));
    }
    if standard >= Standard::Cl30 {
        // clang leaves these to its header, which knows SPIR only.
        let header_only =
            FEATURES.iter().filter(|f| f.contains("scope") || f.contains("collective"));
        out.extend(header_only.map(|feature| format!("-D{feature}=1")));
    }
    out
}

/// `-cl-denorms-are-zero`, which clang's driver leaves to its targets, and this one does not know.
fn denormals(options: &Options) -> Vec<String> {
    match options.flush_denormals {
        true => vec!["-Xclang".to_owned(), "-fdenormal-fp-math-f32=preserve-sign".to_owned()],
        false => Vec::new(),
    }
}

/// Makes the built-in functions ready, which takes seconds the first time.
pub fn warm(sm: u32) -> Result<(), BuildError> {
    library::files(Clang::find()?, sm).map(drop)
}

/// Compiles a source; `headers` are found under their names by `#include`. The log has the warnings.
pub fn compile(
    source: &str,
    headers: &[(String, String)],
    options: &Options,
    sm: u32,
) -> Result<(Object, String), BuildError> {
    let clang = Clang::find()?;
    let setup = |error: std::io::Error| BuildError::Setup(format!("cannot write headers: {error}"));
    let scratch = match headers.is_empty() {
        true => None,
        false => Some(tempfile::Builder::new().prefix("margay-cl-").tempdir().map_err(setup)?),
    };
    let mut args = language(options.standard);
    args.extend(target(clang, sm));
    if let Some(dir) = &scratch {
        for (name, text) in headers {
            let relative = Path::new(name);
            let inside =
                relative.components().all(|c| matches!(c, std::path::Component::Normal(_)));
            if !inside {
                let why = format!("the header's name `{name}` leads out of its directory");
                return Err(BuildError::Program(why));
            }
            let path = dir.path().join(relative);
            fs::create_dir_all(path.parent().unwrap_or(dir.path())).map_err(setup)?;
            fs::write(&path, text).map_err(setup)?;
        }
        args.extend(["-I".to_owned(), dir.path().display().to_string()]);
    }
    args.extend(options.clang.iter().cloned());
    args.extend(denormals(options));
    args.extend(options.index_checks().iter().map(|word| (*word).to_owned()));
    args.extend(
        [
            "-D__FAST_RELAXED_MATH__=1",
            "-U__OPENCL_VERSION__",
            "-D__OPENCL_VERSION__=300",
            "-DFP_FAST_FMA=1",
            "-DFP_FAST_FMAF=1",
            "-gline-directives-only",
            "-cl-kernel-arg-info",
        ]
        .into_iter()
        .filter(|word| options.relaxed_math || !word.contains("RELAXED"))
        .map(str::to_owned),
    );
    // Without optimisation clang would leave the bodies of `inline` functions out; this step optimises nothing anyway.
    let level = if options.unoptimised { "-O1" } else { "-O2" };
    args.extend([level, "-Xclang", "-disable-llvm-passes"].map(str::to_owned));
    if options.marks_undefined() {
        // For the names of variables.
        args.push("-fno-discard-value-names".to_owned());
    }
    args.extend(["-S", "-emit-llvm", "-o", "-", "-"].map(str::to_owned));
    let output = clang.run(&args, source.as_bytes())?;
    let log = output.log.replace("<stdin>", SOURCE_NAME);
    if !output.success {
        return Err(BuildError::Program(log));
    }
    let ir = String::from_utf8_lossy(&output.stdout)
        .replace("\"<stdin>\"", &format!("\"{SOURCE_NAME}\""))
        // An `inline` function is defined nowhere else, and may be called all the same.
        .replace("\ndefine available_externally ", "\ndefine linkonce_odr ");
    let recursion = recursion::errors([ir.as_str()]);
    if !recursion.is_empty() {
        return Err(BuildError::Program(log + &recursion));
    }
    let ir = if options.marks_undefined() { undefined::mark(&ir) } else { ir };
    Ok((Object { modules: vec![ir] }, log))
}

/// Links objects with each other and with the built-in functions.
pub fn link(
    objects: &[Object],
    options: &Options,
    sm: u32,
) -> Result<(Executable, String), BuildError> {
    match link_once(objects, options, sm) {
        // LLVM 19's back end dies of calls with some short vectors as arguments. Without the calls it does not.
        Err(BuildError::Program(log)) if log.contains("error in backend") => {
            let inlined: Vec<Object> = objects.iter().map(inlined).collect();
            link_once(&inlined, options, sm).map_err(|_| BuildError::Program(log))
        }
        result => result,
    }
}

/// With the functions inlined that the program wants kept apart, which is a wish only.
fn inlined(object: &Object) -> Object {
    let line = |line: &str| match line.starts_with("attributes #") {
        true => line.replace(" noinline ", " alwaysinline ").replace(" optnone ", " "),
        false => line.to_owned(),
    };
    let module = |module: &String| module.lines().map(|l| line(l) + "\n").collect();
    Object { modules: object.modules.iter().map(module).collect() }
}

fn link_once(
    objects: &[Object],
    options: &Options,
    sm: u32,
) -> Result<(Executable, String), BuildError> {
    let clang = Clang::find()?;
    let modules: Vec<&String> = objects.iter().flat_map(|o| &o.modules).collect();
    if modules.is_empty() {
        return Err(BuildError::Program("error: nothing to link\n".into()));
    }
    // Around which one object alone does not go.
    let recursion = recursion::errors(modules.iter().map(|m| m.as_str()));
    if !recursion.is_empty() {
        return Err(BuildError::Program(recursion));
    }
    let kernels = modules.iter().flat_map(|m| metadata::kernels(m)).collect();
    let modules = called_kernels::split(&modules);
    let (first, rest) = (&modules[0], &modules[1..]);
    let setup = |error: std::io::Error| BuildError::Setup(format!("cannot write: {error}"));
    let mut args = vec!["-x".to_owned(), "ir".to_owned()];
    args.extend(target(clang, sm));
    args.extend(denormals(options));
    args.push(if options.unoptimised { "-O0" } else { "-O2" }.to_owned());
    args.extend(["-Wno-override-module", "-Wno-linker-warnings"].map(str::to_owned));
    let checked = !options.index_checks().is_empty();
    args.extend(["-mllvm", if checked { UNROLLED_CHECKED } else { UNROLLED }].map(str::to_owned));
    let mut held = Vec::new();
    for module in rest {
        let mut convert = vec!["-x".to_owned(), "ir".to_owned()];
        convert.extend(target(clang, sm));
        let words = ["-O0", "-Xclang", "-disable-llvm-passes", "-emit-llvm", "-c", "-o", "-", "-"];
        convert.extend(words.map(str::to_owned));
        let output = clang.run(&convert, module.as_bytes())?;
        if !output.success {
            return Err(BuildError::Program(output.log));
        }
        let file = tempfile::Builder::new().suffix(".bc").tempfile().map_err(setup)?;
        fs::write(file.path(), &output.stdout).map_err(setup)?;
        for word in ["-mlink-bitcode-file".to_owned(), file.path().display().to_string()] {
            args.extend(["-Xclang".to_owned(), word]);
        }
        held.push(file);
    }
    for path in library::files(clang, sm)? {
        for word in ["-mlink-builtin-bitcode".to_owned(), path.display().to_string()] {
            args.extend(["-Xclang".to_owned(), word]);
        }
    }
    args.extend(["-S", "-o", "-", "-"].map(str::to_owned));
    let output = clang.run(&args, first.as_bytes())?;
    let log = without_triple_warnings(&output.log).replace("<stdin>", SOURCE_NAME);
    if !output.success {
        return Err(BuildError::Program(log));
    }
    let ptx = without_debug_labels(&String::from_utf8_lossy(&output.stdout));
    Ok((Executable { ptx, kernels }, log))
}

/// LLVM puts labels for debuggers even into the middle of a call, which PTX does not allow. Without sections
/// of debug information nothing refers to them.
fn without_debug_labels(ptx: &str) -> String {
    let label = |line: &&str| {
        let digits = line.strip_prefix("$L__tmp").and_then(|l| l.strip_suffix(':'));
        digits.is_some_and(|d| d.bytes().all(|b| b.is_ascii_digit()))
    };
    ptx.lines().filter(|line| !label(line)).map(|line| format!("{line}\n")).collect()
}

/// libclc's triple has another vendor's name, which clang remarks on in every build.
fn without_triple_warnings(log: &str) -> String {
    let noise = |line: &&str| {
        line.contains("Linking two modules of different target triples") || line.trim().is_empty()
    };
    log.lines().filter(|line| !noise(line)).map(|line| format!("{line}\n")).collect()
}

/// Compiles one file of the built-in library to bitcode.
pub fn library_file(
    clang: &Clang,
    sm: u32,
    name: &str,
    source: &str,
) -> Result<Vec<u8>, BuildError> {
    let mut args = match name.ends_with(".c") {
        true => vec!["-x".to_owned(), "c".to_owned()],
        false => language(Standard::Cl30),
    };
    args.extend(target(clang, sm));
    args.extend(
        ["-O2", "-ffp-contract=off", "-Wno-everything", &format!("-DMARGAY_SM={sm}")]
            .map(str::to_owned),
    );
    args.extend(["-emit-llvm", "-c", "-o", "-", "-"].map(str::to_owned));
    let output = clang.run(&args, source.as_bytes())?;
    match output.success {
        true => Ok(output.stdout),
        false => Err(BuildError::Setup(format!(
            "internal error: the built-in function library ({name}) does not compile with {}:\n{}",
            clang.version, output.log
        ))),
    }
}

/// Whether there is a compiler.
pub fn available() -> bool {
    Clang::find().is_ok()
}
