// SPDX-License-Identifier: MIT OR Apache-2.0
//! Generates the C side of `libcuda.so.1`: types, exports and tables, from the bindings' facts and the
//! list of implemented functions in `src/entry.rs`.

use std::collections::BTreeMap;
use std::path::Path;

use margay_abi_gen::Library;
use margay_abi_gen::rust::{self, ExportOptions};

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
    // Programs and libcudart look for this name.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libcuda.so.1");
    // Worker threads may outlive a dlclose: the code stays mapped.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");

    // Contract tests load the library that lies beside them, before any on the search path.
    println!("cargo:rustc-link-arg-tests=-Wl,--disable-new-dtags,-rpath,$ORIGIN");

    let entry = std::fs::read_to_string("src/entry.rs").expect("src/entry.rs is readable");
    let implemented = implemented(&entry);
    let source = Library::Driver.source().expect("the bindings are readable");
    let model = source.union(11040..).expect("the bindings are understood");
    for name in implemented.keys() {
        assert!(model.function(name).is_some(), "entry.rs lists {name}, which the API lacks");
    }
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
    write("types.rs", rust::types(&model));
    write("exports.rs", rust::exports(&model, &options));
    let mut tables = rust::address_table(&model, "SYMBOLS", "Address");
    tables += &rust::entry_table(&source, &model, "ENTRIES").expect("versions are understood");
    write("tables.rs", tables);
}
