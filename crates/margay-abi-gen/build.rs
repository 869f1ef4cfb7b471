// SPDX-License-Identifier: MIT OR Apache-2.0
//! Finds the source directory of the `cudarc` package that this build resolved to, by asking cargo.
//!
//! Invariant: the directory belongs to the version in `Cargo.lock`; no registry layout is assumed.

use std::path::PathBuf;
use std::process::Command;

/// Overrides the search: a directory that holds cudarc's `Cargo.toml`.
const OVERRIDE: &str = "MARGAY_CUDARC_SOURCE";

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=Cargo.toml");
    println!("cargo:rerun-if-env-changed={OVERRIDE}");
    let root = match std::env::var_os(OVERRIDE) {
        Some(dir) => PathBuf::from(dir),
        None => ask_cargo(),
    };
    for api in ["driver", "runtime"] {
        let file = root.join("src").join(api).join("sys/mod.rs");
        assert!(file.is_file(), "cudarc has no {}; set {OVERRIDE}", file.display());
        println!("cargo:rerun-if-changed={}", file.display());
    }
    println!("cargo:rustc-env=MARGAY_CUDARC_ROOT={}", root.display());
}

fn ask_cargo() -> PathBuf {
    // Cargo has already downloaded what this target needs, hence offline suffices; the second try
    // serves a cache that lacks the manifests of packages which only other features need.
    let mut complaints = String::new();
    for offline in [true, false] {
        match metadata(offline) {
            Ok(dir) => return dir,
            Err(complaint) => complaints.push_str(&complaint),
        }
    }
    panic!("cannot find cudarc's source; set {OVERRIDE} to its directory\n{complaints}");
}

fn metadata(offline: bool) -> Result<PathBuf, String> {
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
        .find(|package| package["name"] == "cudarc")
        .and_then(|package| package["manifest_path"].as_str())
        .and_then(|manifest| Some(PathBuf::from(manifest).parent()?.to_path_buf()))
        .ok_or_else(|| format!("{cargo:?} names no cudarc\n"))
}
