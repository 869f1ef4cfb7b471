// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compiled things on disk, by the hash of all that they depend on.
//!
//! Invariant: files are written beside their place and renamed, so any number of processes may share the
//! cache. What cannot be written is made again next time.

use std::path::PathBuf;
use std::{env, fs};

use sha2::{Digest, Sha256};

/// `MARGAY_CACHE_DIR`, `$XDG_CACHE_HOME/margay`, `~/.cache/margay`, or below the temporary directory.
pub fn directory() -> PathBuf {
    let dir = |name: &str| env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    dir("MARGAY_CACHE_DIR")
        .or_else(|| dir("XDG_CACHE_HOME").map(|d| d.join("margay")))
        .or_else(|| dir("HOME").map(|d| d.join(".cache/margay")))
        .unwrap_or_else(|| env::temp_dir().join("margay-cache"))
        .join("opencl")
}

/// A name for the result of these inputs.
pub fn key<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> String {
    let mut digest = Sha256::new();
    for part in parts {
        digest.update((part.len() as u64).to_le_bytes());
        digest.update(part);
    }
    digest.finalize().iter().take(20).map(|b| format!("{b:02x}")).collect()
}

/// Writes a file so that nobody sees half of it.
pub fn store(path: &PathBuf, bytes: &[u8]) -> std::io::Result<()> {
    let dir = path.parent().map(PathBuf::from).unwrap_or_default();
    fs::create_dir_all(&dir)?;
    let mut staged = tempfile::NamedTempFile::new_in(&dir)?;
    std::io::Write::write_all(&mut staged, bytes)?;
    staged.persist(path).map_err(|e| e.error)?;
    Ok(())
}
