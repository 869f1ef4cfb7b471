// SPDX-License-Identifier: MIT OR Apache-2.0
//! The generated Rust compiles as a shared library and exports every name of the model.

use margay_abi_gen::{Library, names, rust};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

fn compile(library: Library, versions: std::ops::Range<u32>, name: &str) {
    let source = library.source().unwrap();
    let model = source.union(versions).unwrap();
    let implemented: BTreeMap<String, String> = [
        ("cudaMemcpyAsync", Library::Runtime),
        ("cudaMemcpy", Library::Runtime),
        ("cuStreamQuery", Library::Driver),
    ]
    .into_iter()
    .filter(|(_, of)| *of == library)
    .map(|(function, _)| (function.to_owned(), format!("api::{function}")))
    .collect();
    let options = rust::ExportOptions {
        implemented: &implemented,
        guard: "guard",
        not_supported: "not_supported",
        per_thread_stream: "per_thread_stream",
        with_per_thread_stream: "with_per_thread_stream",
    };
    let api = match library {
        Library::Driver => "pub unsafe fn cuStreamQuery(_: CUstream) -> CUresult { 0 }",
        Library::Runtime => {
            "use core::ffi::c_void;
             pub unsafe fn cudaMemcpyAsync(_: *mut c_void, _: *const c_void, _: usize,
                 _: cudaMemcpyKind, _: cudaStream_t) -> cudaError_t { 0 }
             pub unsafe fn cudaMemcpy(_: *mut c_void, _: *const c_void, _: usize,
                 _: cudaMemcpyKind) -> cudaError_t { 0 }"
        }
    };
    let text = format!(
        "#![allow(warnings)]
        fn guard<T>(_: &'static str, call: impl FnOnce() -> T) -> T {{ call() }}
        fn not_supported(_: &'static str) -> u32 {{ 801 }}
        fn per_thread_stream<T>(stream: *mut T) -> *mut T {{ stream }}
        fn with_per_thread_stream<T>(call: impl FnOnce() -> T) -> T {{ call() }}
        pub struct Address(*const core::ffi::c_void);
        unsafe impl Sync for Address {{}}
        mod api {{ use super::*; {api} }}
        {}{}{}{}",
        rust::types(&model),
        rust::exports(&model, &options),
        rust::address_table(&model, "ADDRESSES", "Address"),
        rust::entry_table(&source, &model, "ENTRIES").unwrap(),
    );
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let (input, output) =
        (directory.join(format!("{name}.rs")), directory.join(format!("lib{name}.so")));
    std::fs::write(&input, text).unwrap();
    let status = Command::new(std::env::var("RUSTC").unwrap_or("rustc".into()))
        .args(["--edition", "2024", "--crate-type", "cdylib", "-o"])
        .args([&output, &input])
        .status()
        .unwrap();
    assert!(status.success(), "{name} does not compile");
    let bytes = std::fs::read(&output).unwrap();
    for symbol in rust::exported_names(&model) {
        let wanted = format!("\0{symbol}\0");
        assert!(
            bytes.windows(wanted.len()).any(|window| window == wanted.as_bytes()),
            "{name} does not export {symbol}"
        );
    }
}

#[test]
fn driver_exports_compile() {
    compile(Library::Driver, 12000..u32::MAX, "driver");
}

#[test]
fn runtime_exports_compile_for_both_majors() {
    compile(Library::Runtime, 12000..13000, "runtime12");
    compile(Library::Runtime, 13000..u32::MAX, "runtime13");
}

#[test]
fn the_union_has_the_names_of_every_version() {
    let source = Library::Driver.source().unwrap();
    let union = source.union(12000..).unwrap();
    for version in source.versions().filter(|version| *version >= 12000) {
        for function in source.model(version).unwrap().functions {
            assert!(union.function(&function.name).is_some(), "{} of {version}", function.name);
        }
    }
    assert!(union.function("cuCtxCreate_v2").is_some(), "CUDA 13 dropped it, 12 has it");
    assert_eq!(union.enumerator("CUDA_ERROR_NOT_SUPPORTED"), Some(801));
}

#[test]
fn plain_names_follow_the_headers() {
    let source = Library::Driver.source().unwrap();
    let plain = |version, name: &str| {
        let renamed = names::renamed(&source.model(version).unwrap());
        renamed.into_iter().find(|(plain, _)| plain == name).map(|(_, numbered)| numbered)
    };
    assert_eq!(plain(12090, "cuMemAlloc").as_deref(), Some("cuMemAlloc_v2"));
    assert_eq!(plain(12090, "cuCtxCreate").as_deref(), Some("cuCtxCreate_v2"));
    assert_eq!(plain(13000, "cuCtxCreate").as_deref(), Some("cuCtxCreate_v4"));
    assert_eq!(plain(12090, "cuEventElapsedTime"), None);
    assert_eq!(plain(13000, "cuEventElapsedTime").as_deref(), Some("cuEventElapsedTime_v2"));
    assert_eq!(
        plain(12090, "cuStreamGetCaptureInfo").as_deref(),
        Some("cuStreamGetCaptureInfo_v2")
    );
    assert_eq!(plain(12090, "cuGetProcAddress").as_deref(), Some("cuGetProcAddress_v2"));
}

#[test]
fn an_entry_point_follows_the_minor_version() {
    let rows = names::entries(&Library::Driver.source().unwrap()).unwrap();
    let ask = |name: &str, version| {
        rows.iter()
            .rfind(|row| row.plain == name && row.since <= version)
            .map(|row| row.symbol.as_str())
    };
    assert_eq!(ask("cuCtxCreate", 12040), Some("cuCtxCreate_v3"));
    assert_eq!(ask("cuCtxCreate", 12050), Some("cuCtxCreate_v4"));
    assert_eq!(ask("cuEventElapsedTime", 12060), Some("cuEventElapsedTime"));
    assert_eq!(ask("cuEventElapsedTime", 12080), Some("cuEventElapsedTime_v2"));
    assert_eq!(ask("cuGetErrorName", 12000), Some("cuGetErrorName"));
    // cudaTypedefs.h asks for it with 11.6, whose header has no such function.
    assert_eq!(ask("cuLaunchKernelEx", 11060), Some("cuLaunchKernelEx"));
    assert_eq!(ask("cuNothing", 13000), None);
}
