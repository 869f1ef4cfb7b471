// SPDX-License-Identifier: MIT OR Apache-2.0
//! Finds the source directories of the `cudarc` and `opencl-sys` packages that this build resolved to, by
//! asking cargo.
//!
//! Invariant: a directory belongs to the version in `Cargo.lock`; no registry layout is assumed.

use std::path::PathBuf;
use std::process::Command;

/// A package, what overrides the search for it (a directory that holds its `Cargo.toml`), the variable
/// that tells the crate where it is, and the files that are read.
struct Bindings {
    package: &'static str,
    overridden_by: &'static str,
    root: &'static str,
    files: &'static [&'static str],
}

const BINDINGS: [Bindings; 2] = [
    Bindings {
        package: "cudarc",
        overridden_by: "MARGAY_CUDARC_SOURCE",
        root: "MARGAY_CUDARC_ROOT",
        files: &["src/driver/sys/mod.rs", "src/runtime/sys/mod.rs"],
    },
    Bindings {
        package: "opencl-sys",
        overridden_by: "MARGAY_OPENCL_SYS_SOURCE",
        root: "MARGAY_OPENCL_SYS_ROOT",
        files: &["src/cl_function_types.rs", "src/cl_icd.rs", "src/cl_ext.rs"],
    },
];

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=Cargo.toml");
    for Bindings { package, overridden_by, root, files } in &BINDINGS {
        println!("cargo:rerun-if-env-changed={overridden_by}");
        let directory = match std::env::var_os(overridden_by) {
            Some(dir) => PathBuf::from(dir),
            None => ask_cargo(package, overridden_by),
        };
        for file in *files {
            let file = directory.join(file);
            assert!(file.is_file(), "{package} has no {}; set {overridden_by}", file.display());
            println!("cargo:rerun-if-changed={}", file.display());
        }
        println!("cargo:rustc-env={root}={}", directory.display());
    }
}

fn ask_cargo(package: &str, overridden_by: &str) -> PathBuf {
    // Cargo has already downloaded what this target needs, hence offline suffices; the second try
    // serves a cache that lacks the manifests of packages which only other features need.
    let mut complaints = String::new();
    for offline in [true, false] {
        match metadata(package, offline) {
            Ok(dir) => return dir,
            Err(complaint) => complaints.push_str(&complaint),
        }
    }
    panic!("cannot find {package}'s source; set {overridden_by} to its directory\n{complaints}");
}

fn metadata(name: &str, offline: bool) -> Result<PathBuf, String> {
    let mut cargo = Command::new(std::env::var_os("CARGO").expect("cargo sets CARGO"));
    cargo
        .args(["metadata", "--format-version", "1", "--filter-platform"])
        .arg(std::env::var_os("TARGET").expect("cargo sets TARGET"))
        .args(offline.then_some("--offline"))
        .current_dir(std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let output = cargo.output().map_err(|error| format!("{cargo:?}: {error}\n"))?;
    if !output.status.success() {
        return Err(format!("{cargo:?}: {}\n", String::from_utf8_lossy(&output.stderr)));
    }
    let metadata: serde_json::Value =
        serde_json::from_slice(&output.stdout).map_err(|error| format!("{cargo:?}: {error}\n"))?;
    metadata["packages"]
        .as_array()
        .into_iter()
        .flatten()
        .find(|package| package["name"] == name)
        .and_then(|package| package["manifest_path"].as_str())
        .and_then(|manifest| Some(PathBuf::from(manifest).parent()?.to_path_buf()))
        .ok_or_else(|| format!("{cargo:?} names no {name}\n"))
}
