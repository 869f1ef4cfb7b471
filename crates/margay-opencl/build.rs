// SPDX-License-Identifier: MIT OR Apache-2.0
//! Generates the C exports and the ICD's dispatch table from the bindings' facts and the list of implemented
//! functions in `src/entry.rs`.

use std::collections::BTreeMap;
use std::path::Path;

use margay_abi_gen::opencl::{self, ExportOptions};

/// Extension functions that are found by name.
const EXTENSIONS: &[&str] = &[
    "clIcdGetPlatformIDsKHR",
    "clGetKernelSuggestedLocalWorkSizeKHR",
    "clCreateCommandQueueWithPropertiesKHR",
];

/// The functions that `entry.rs` lists, with their Rust paths. The list there is one macro call of
/// lines `module: names;`.
fn implemented(entry: &str) -> BTreeMap<String, String> {
    let start = entry.find("implemented! {").expect("entry.rs has the list");
    let body = &entry[start + "implemented! {".len()..];
    let body = &body[..body.find('}').expect("the list ends")];
    let mut out = BTreeMap::new();
    for group in body.split(';').map(str::trim).filter(|g| !g.is_empty()) {
        let (module, names) = group.split_once(':').expect("module: names");
        for name in names.split_whitespace() {
            let path = format!("crate::api::{}::{name}", module.trim());
            let twice = out.insert(name.to_owned(), path);
            assert!(twice.is_none(), "entry.rs lists {name} twice");
        }
    }
    out
}

fn main() {
    println!("cargo:rerun-if-changed=src/entry.rs");
    println!("cargo:rerun-if-changed=build.rs");
    // Worker threads may outlive a dlclose: the code stays mapped.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
    // A program that is linked with the loader has functions of the same names: ours call each other.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-Bsymbolic");
    let entry = std::fs::read_to_string("src/entry.rs").expect("src/entry.rs is readable");
    let implemented = implemented(&entry);
    let api = opencl::api(EXTENSIONS).expect("the bindings are understood");
    for name in implemented.keys() {
        let known = api.dispatch.iter().chain(&api.extensions).any(|f| f.name == *name);
        assert!(known, "entry.rs lists {name}, which the API lacks");
    }
    let options = ExportOptions {
        implemented: &implemented,
        guard: "crate::entry::guard",
        creates: "crate::entry::creates",
        plain: "crate::entry::plain",
        refused: "crate::entry::refused",
    };
    let out = std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR");
    let write = |name: &str, text: String| {
        std::fs::write(Path::new(&out).join(name), text).expect("OUT_DIR is writable");
    };
    write("exports.rs", opencl::exports(&api, &options));
    write("tables.rs", opencl::tables(&api, "Address"));
}
