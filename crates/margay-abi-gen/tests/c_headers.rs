// SPDX-License-Identifier: MIT OR Apache-2.0
//! The generated C headers compile as C and as C++, alone and together, and lay every type out as Rust does.

use margay_abi_gen::model::{Model, Record, RecordKind};
use margay_abi_gen::{Library, c_headers, rust};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Writes the headers of a version into a directory of the test's own, since tests run at once.
fn unpack(version: u32, test: &str) -> PathBuf {
    let directory =
        Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("headers-{test}-{version}"));
    std::fs::create_dir_all(&directory).unwrap();
    for (name, text) in c_headers(version).unwrap() {
        std::fs::write(directory.join(name), text).unwrap();
    }
    directory
}

fn clang(language: &str, headers: &Path, version: u32, source: &Path) -> Command {
    let mut clang = Command::new("clang-19");
    let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../include");
    clang
        .args(["-x", language, "-Wall", "-Werror", "-pedantic-errors"])
        .args(if language == "c" { ["-std=c11"] } else { ["-std=c++17"] })
        .arg(format!("-DMARGAY_CUDA_VERSION={version}"))
        .arg("-I")
        .arg(headers)
        .arg("-isystem")
        .arg(include)
        .arg(source);
    clang
}

fn output(mut command: Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}\n{complaint}");
    String::from_utf8(output.stdout).unwrap()
}

fn check_compiles(language: &str, version: u32, name: &str, text: &str) {
    let headers = unpack(version, name);
    let source = headers.join(format!("{name}.{language}.txt"));
    std::fs::write(&source, format!("{text}\n")).unwrap();
    let mut command = clang(language, &headers, version, &source);
    command.arg("-fsyntax-only");
    output(command);
}

#[test]
fn headers_stand_alone_and_together() {
    for version in [12090, 13000] {
        for language in ["c", "c++"] {
            check_compiles(language, version, "driver", "#include <cuda.h>\n");
            check_compiles(language, version, "types", "#include <margay_runtime_types.h>\n");
            check_compiles(language, version, "api", "#include <margay_runtime_api.h>\n");
            let both = "#include <cuda.h>\n#include <margay_runtime_api.h>\n";
            check_compiles(language, version, "both", both);
            let per_thread = format!("#define CUDA_API_PER_THREAD_DEFAULT_STREAM 1\n{both}");
            check_compiles(language, version, "per_thread", &per_thread);
            let complex = "#include <cuComplex.h>\nfloat f(cuComplex z) { return cuCabsf(cuCdivf(z, cuConjf(z))); }";
            check_compiles(language, version, "complex", complex);
        }
        let narrow = "#include <cuda_fp8.h>\nfloat f(float x) { return (float)__nv_fp8_e4m3(x); }";
        check_compiles("c++", version, "narrow", narrow);
    }
}

#[test]
fn programs_find_the_names_they_write() {
    let common = r#"
        #include <cuda.h>
        #include <margay_runtime_api.h>
        static void CUDART_CB done(cudaStream_t s, cudaError_t e, void *p) { (void)s, (void)e, (void)p; }
        int use(void) {
            struct cudaDeviceProp prop; void *p; CUdeviceptr d; CUcontext c; CUfunction f = 0;
            cudaStream_t s = cudaStreamPerThread; CUresult r = cuMemAlloc(&d, 16);
            void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &d, CU_LAUNCH_PARAM_END};
            cudaError_t e = cudaGetDeviceProperties(&prop, 0);
            e = cudaMalloc(&p, prop.totalGlobalMem / prop.warpSize);
            e = cudaHostAlloc(&p, 4, cudaHostAllocMapped | cudaHostAllocPortable);
            e = cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
            e = cudaStreamAddCallback(s, done, p, 0);
            r = cuMemcpyHtoD(d, p, 4); r = cuCtxDestroy(c = 0); r = cuEventDestroy(0);
            r = cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, CU_STREAM_LEGACY, 0, extra);
            return e == cudaErrorInvalidValue || r == CUDA_ERROR_INVALID_VALUE;
        }"#;
    for version in [12090, 13000] {
        check_compiles("c", version, "names", common);
        let plus = format!(
            "{common}
            static void defaults(void *p, const void *q, cudaStream_t s, cudaEvent_t e) {{
                cudaMemcpyAsync(p, q, 4, cudaMemcpyDefault); cudaMemsetAsync(p, 0, 4);
                cudaEventRecord(e); cudaStreamWaitEvent(s, e); cudaMallocManaged(&p, 4);
                cudaMemcpyToSymbol(q, q, 4); cudaMemcpyFromSymbolAsync(p, q, 4, 0, cudaMemcpyDefault);
            }}
            void (*keep)(void *, const void *, cudaStream_t, cudaEvent_t) = defaults;"
        );
        check_compiles("c++", version, "names", &plus);
    }
    check_compiles(
        "c",
        12090,
        "create12",
        "#include <cuda.h>\nCUresult f(CUcontext *c) { return cuCtxCreate(c, 0, 0); }\n",
    );
    check_compiles(
        "c",
        13000,
        "create13",
        "#include <cuda.h>\nCUresult f(CUcontext *c) { return cuCtxCreate(c, NULL, 0, 0); }\n",
    );
}

/// Records that C can name, with their members that C can name.
fn measurable(model: &Model) -> impl Iterator<Item = (&Record, Vec<&str>)> {
    model
        .records
        .iter()
        .filter(|record| !record.is_opaque() && !Record::is_nameless(&record.name))
        .map(|record| {
            let members = record
                .fields
                .iter()
                .map(|field| field.name.as_str())
                .filter(|name| !name.starts_with("__bindgen") && !name.ends_with('_'))
                .collect();
            (record, members)
        })
}

fn c_layout(model: &Model, headers: &Path, version: u32, include: &str, language: &str) -> String {
    let mut text = format!("#include <stdio.h>\n#include <{include}>\nint main(void) {{\n");
    for (record, members) in measurable(model) {
        let tag = match (record.name.as_str(), record.kind) {
            ("dim3", _) => "",
            (_, RecordKind::Struct) => "struct ",
            (_, RecordKind::Union) => "union ",
        };
        let name = &record.name;
        let _ = writeln!(text, "printf(\"{name} %zu\\n\", sizeof({tag}{name}));");
        for member in members {
            let _ = writeln!(
                text,
                "printf(\"{name}.{member} %zu\\n\", offsetof({tag}{name}, {member}));"
            );
        }
    }
    text.push_str("return 0; }\n");
    let source = headers.join(format!("layout-{include}.{language}.txt"));
    std::fs::write(&source, text).unwrap();
    let program = headers.join(format!("layout-{include}-{language}"));
    let mut command = clang(language, headers, version, &source);
    command.arg("-o").arg(&program);
    output(command);
    output(Command::new(program))
}

fn rust_layout(model: &Model, headers: &Path, include: &str) -> String {
    let mut text = format!("#![allow(warnings)]\n{}fn main() {{\n", rust::types(model));
    for (record, members) in measurable(model) {
        let name = &record.name;
        let _ = writeln!(text, "println!(\"{name} {{}}\", std::mem::size_of::<{name}>());");
        for member in members {
            let _ = writeln!(
                text,
                "println!(\"{name}.{member} {{}}\", std::mem::offset_of!({name}, {member}));"
            );
        }
    }
    text.push_str("}\n");
    let source = headers.join(format!("layout-{include}.rs"));
    std::fs::write(&source, text).unwrap();
    let program = headers.join(format!("layout-{include}-rust"));
    let mut command = Command::new(std::env::var("RUSTC").unwrap_or("rustc".into()));
    command.args(["--edition", "2024", "--crate-name", "layout", "-o"]).arg(&program).arg(&source);
    output(command);
    output(Command::new(program))
}

#[test]
fn c_and_rust_agree_on_every_layout() {
    for version in [12090, 13000] {
        let headers = unpack(version, "layout");
        for (library, include) in
            [(Library::Runtime, "margay_runtime_types.h"), (Library::Driver, "cuda.h")]
        {
            let model = library.source().unwrap().model(version).unwrap();
            let rust = rust_layout(&model, &headers, include);
            assert!(rust.lines().count() > 300, "too little was measured");
            for language in ["c", "c++"] {
                let c = c_layout(&model, &headers, version, include, language);
                for (ours, theirs) in rust.lines().zip(c.lines()) {
                    assert_eq!(ours, theirs, "Rust, then {language}, {version}");
                }
                assert_eq!(rust.lines().count(), c.lines().count());
            }
        }
    }
}
