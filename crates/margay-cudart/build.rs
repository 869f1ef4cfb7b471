// SPDX-License-Identifier: MIT OR Apache-2.0
//! Generates the C side of libcudart: its types and exports, and a client of libcuda, from the bindings'
//! facts and the list of implemented functions in `src/entry.rs`.
//!
//! Two packages share this file and `src`: the runtime's ABI changed between CUDA 12 and 13, so there is
//! one library for each. `cudart12` and `cudart13` are the `cfg`s that tell them apart.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use margay_abi_gen::Library;
use margay_abi_gen::rust::{self, ExportOptions};

/// The functions that `entry.rs` lists, with their Rust paths. The list there is one macro call of
/// lines `module: names;`.
fn implemented(entry: &str) -> BTreeMap<String, String> {
    let (_, body) = entry.split_once("implemented! {").expect("entry.rs has the list");
    let (body, _) = body.split_once('}').expect("the list ends");
    let mut out = BTreeMap::new();
    for group in body.split(';').map(str::trim).filter(|group| !group.is_empty()) {
        let (module, names) = group.split_once(':').expect("module: names");
        for name in names.split_whitespace() {
            let path = format!("crate::api::{}::{name}", module.trim());
            assert!(out.insert(name.to_owned(), path).is_none(), "entry.rs lists {name} twice");
        }
    }
    out
}

fn main() {
    let package = std::env::var("CARGO_PKG_NAME").expect("cargo sets it");
    let major = if package.ends_with("13") { 13 } else { 12 };
    let source_directory = Path::new("../margay-cudart/src");
    println!("cargo:rerun-if-changed={}", source_directory.join("entry.rs").display());
    println!("cargo:rerun-if-changed=../margay-cudart/build.rs");
    println!("cargo:rustc-check-cfg=cfg(cudart12, cudart13)");
    println!("cargo:rustc-cfg=cudart{major}");
    // Programs ask for this name, and for symbols with this version. GNU ld takes the version from the
    // name; rustc's own version script leaves no room for a second one.
    println!("cargo:rustc-cdylib-link-arg=-fuse-ld=bfd");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libcudart.so.{major}");
    println!("cargo:rustc-cdylib-link-arg=-Wl,--default-symver");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");

    let entry = std::fs::read_to_string(source_directory.join("entry.rs")).expect("entry.rs");
    let mut implemented = implemented(&entry);
    let source = Library::Runtime.source().expect("the bindings are readable");
    let of_major = |major: u32| {
        source.union(major * 1000..(major + 1) * 1000).expect("the bindings are understood")
    };
    let (model, other) = (of_major(major), of_major(25 - major));
    implemented.retain(|name, _| {
        let is_here = model.function(name).is_some();
        assert!(is_here || other.function(name).is_some(), "no CUDA runtime has {name}");
        is_here
    });
    let options = ExportOptions {
        implemented: &implemented,
        guard: "crate::entry::guard",
        not_supported: "crate::entry::not_supported",
        per_thread_stream: "crate::entry::per_thread_stream",
        with_per_thread_stream: "crate::entry::with_per_thread_stream",
    };
    let out = std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR");
    let write = |name: &str, text: String| {
        std::fs::write(Path::new(&out).join(name), text).expect("OUT_DIR is writable");
    };
    let mut types = rust::types(&model);
    types.push_str("pub static ERROR_NAMES: &[(u32, &::core::ffi::CStr)] = &[\n");
    let errors = model.enumerations.iter().find(|item| item.name == "cudaError");
    for (name, value) in &errors.expect("the runtime has errors").enumerators {
        let _ = writeln!(types, "    ({value}, c{name:?}),");
    }
    types.push_str("];\n");
    write("types.rs", types);
    write("exports.rs", rust::exports(&model, &options));
    let driver = Library::Driver.source().expect("the bindings are readable");
    let driver = driver.union(12000..).expect("the bindings are understood");
    write("driver_types.rs", rust::types(&driver));
    write("driver_client.rs", rust::client(&driver, "crate::driver::resolve"));
}
