// SPDX-License-Identifier: MIT OR Apache-2.0
//! Hashes the sources that decide what code is made of a kernel, for the keys of objects that are kept: who changes
//! them and forgets the version is not served what an older build has made.

use std::path::{Path, PathBuf};
use std::{fs, io};

use sha2::{Digest, Sha256};

/// This crate, the IR and its analyses, the formulas, and what has LLVM do its work.
const FOLDERS: &[&str] = &["src", "../margay-ir/src", "../margay-math/src", "../margay-jit/src"];

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    let mut digest = Sha256::new();
    for folder in FOLDERS {
        println!("cargo::rerun-if-changed={folder}");
        let mut files = Vec::new();
        collect(Path::new(folder), &mut files)
            .map_err(|e| io::Error::other(format!("the sources in `{folder}`: {e}")))?;
        files.sort();
        for file in files {
            let bytes = fs::read(&file)?;
            digest.update(file.as_os_str().as_encoded_bytes());
            digest.update([0]);
            digest.update((bytes.len() as u64).to_le_bytes());
            digest.update(bytes);
        }
    }
    let hash: String = digest.finalize().iter().take(16).map(|b| format!("{b:02x}")).collect();
    println!("cargo::rustc-env=MARGAY_CODEGEN_FINGERPRINT={hash}");
    Ok(())
}

fn collect(folder: &Path, into: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, into)?;
        } else {
            into.push(path);
        }
    }
    Ok(())
}
