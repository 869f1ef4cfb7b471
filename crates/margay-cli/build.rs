// SPDX-License-Identifier: MIT OR Apache-2.0
//! Embeds `include/` and the generated API headers into the command, so that one file is enough to compile
//! CUDA C++. The generated headers of a CUDA version lie in `cuda-12.9` and the like.
//!
//! The SPDX line of each header becomes `#pragma GCC system_header`: a user's `-Wall -Werror` is then
//! about the user's code, and line numbers stay.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

use sha2::{Digest, Sha256};

/// The CUDA versions that `margay cc --cuda-version` offers; the first is the default.
const VERSIONS: &[u32] = &[12090, 13000, 12040, 11080];

fn main() -> io::Result<()> {
    let root = Path::new(&env::var("CARGO_MANIFEST_DIR").unwrap()).join("../../include");
    println!("cargo::rerun-if-changed={}", root.display());
    let mut headers = Vec::new();
    collect(&root, &root, &mut headers)?;
    for version in VERSIONS {
        let generated = margay_abi_gen::c_headers(*version).map_err(io::Error::other)?;
        for (name, text) in generated {
            let folder = format!("cuda-{}.{}", version / 1000, version % 1000 / 10);
            headers.push((format!("{folder}/{name}"), text));
        }
    }
    headers.sort();

    let out = PathBuf::from(env::var("OUT_DIR").unwrap());
    let mut digest = Sha256::new();
    let mut table = String::from("pub static FILES: &[(&str, &str)] = &[\n");
    for (name, text) in &headers {
        let body = match text.split_once('\n') {
            Some((first, rest)) if first.starts_with("//") => {
                format!("#pragma GCC system_header\n{rest}")
            }
            Some(_) | None => text.clone(),
        };
        digest.update(name);
        digest.update([0]);
        digest.update(&body);
        digest.update([0]);
        let _ = writeln!(table, "    ({name:?}, {body:?}),");
    }
    table.push_str("];\n");
    // What compiles them is part of what the cache's keys tell apart.
    let root = Path::new("src/toolchain");
    let mut driver = Vec::new();
    collect(root, root, &mut driver)?;
    driver.sort();
    println!("cargo::rerun-if-changed=src/toolchain");
    for (_, text) in driver {
        digest.update(text);
    }
    let hash: String = digest.finalize().iter().take(8).map(|b| format!("{b:02x}")).collect();
    let _ = writeln!(table, "pub static VERSIONS: &[u32] = &{VERSIONS:?};");
    let _ = writeln!(table, "pub static HASH: &str = {hash:?};");
    fs::write(out.join("headers.rs"), table)
}

fn collect(root: &Path, dir: &Path, into: &mut Vec<(String, String)>) -> io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(root, &path, into)?;
        } else {
            let name = path.strip_prefix(root).expect("below the root").to_string_lossy();
            into.push((name.into_owned(), fs::read_to_string(&path)?));
        }
    }
    Ok(())
}
