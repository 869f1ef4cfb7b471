// SPDX-License-Identifier: MIT OR Apache-2.0
//! The CUDA headers: embedded in the command, unpacked once into the cache under their hash.

use std::path::{Path, PathBuf};
use std::{env, fs};

use crate::failure::{At, Failure};

include!(concat!(env!("OUT_DIR"), "/headers.rs"));

/// The directory to put on the include path. `MARGAY_INCLUDE` names another one.
pub fn directory(cache: &Path) -> Result<PathBuf, Failure> {
    if let Some(dir) = env::var_os("MARGAY_INCLUDE") {
        return Ok(PathBuf::from(dir));
    }
    let dir = cache.join(format!("include-{HASH}"));
    if dir.is_dir() {
        return Ok(dir);
    }
    // Unpack beside it and rename: another process may be doing the same.
    fs::create_dir_all(cache).at(cache, "cannot create the cache")?;
    let staging = tempfile::Builder::new()
        .prefix("include-")
        .tempdir_in(cache)
        .at(cache, "cannot write to the cache")?;
    for (name, text) in FILES {
        let path = staging.path().join(name);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).at(parent, "cannot create")?;
        }
        fs::write(&path, text).at(&path, "cannot write")?;
    }
    let staged = staging.keep();
    match fs::rename(&staged, &dir) {
        Ok(()) => Ok(dir),
        Err(_) if dir.is_dir() => {
            // Someone else was first; ours is the same.
            let _ = fs::remove_dir_all(&staged);
            Ok(dir)
        }
        Err(error) => Err(Failure::File { path: dir, what: "cannot create", error }),
    }
}

/// What the cache's keys include, so that new headers compile anew.
pub fn identity() -> String {
    match env::var("MARGAY_INCLUDE") {
        Ok(dir) => format!("dir {dir}"),
        Err(_) => HASH.to_string(),
    }
}

/// The directory of a CUDA version's generated headers, below the one that [`directory`] gives.
pub fn version_directory(include: &Path, version: u32) -> PathBuf {
    include.join(format!("cuda-{}.{}", version / 1000, version % 1000 / 10))
}
