// SPDX-License-Identifier: MIT OR Apache-2.0
//! The compile cache: results under `$XDG_CACHE_HOME/margay`, addressed by content.
//!
//! A key hashes what is known before a compile (tool, flags, source). Under it a manifest lists, for each
//! result, the files that clang read and their hashes; a result whose files are all unchanged is used.
//! Invariant: files are written beside their place and renamed, so any number of processes may share the
//! cache, and a broken entry is a miss. Limit: a header that is newly found earlier on the include path is
//! not noticed (as in ccache's direct mode).

use std::path::{Path, PathBuf};
use std::{env, fs};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::failure::{At, Failure};

/// Results that a manifest keeps for one key.
const KEPT: usize = 8;

/// The cache's directory.
#[derive(Clone, Debug)]
pub struct Cache {
    pub root: PathBuf,
}

/// A stored result.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Entry {
    /// The files that clang read, and their hashes.
    files: Vec<(PathBuf, String)>,
    /// Name of the result in the cache.
    result: String,
    diagnostics: String,
}

/// A result that was found.
pub struct Hit {
    pub result: PathBuf,
    pub diagnostics: String,
    pub dependencies: Vec<PathBuf>,
}

impl Cache {
    /// `MARGAY_CACHE_DIR`, `$XDG_CACHE_HOME/margay`, `~/.cache/margay`, or a directory below the system's
    /// temporary one.
    pub fn open() -> Cache {
        let dir = |name: &str| env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
        let root = dir("MARGAY_CACHE_DIR")
            .or_else(|| dir("XDG_CACHE_HOME").map(|d| d.join("margay")))
            .or_else(|| dir("HOME").map(|d| d.join(".cache/margay")))
            .unwrap_or_else(|| env::temp_dir().join("margay-cache"));
        Cache { root }
    }

    /// Looks a key up.
    pub fn find(&self, key: &str) -> Option<Hit> {
        let entry = self.manifest(key).into_iter().find(|entry| {
            entry.files.iter().all(|(path, hash)| hash_file(path).as_ref() == Some(hash))
        })?;
        let result = self.root.join("objects").join(&entry.result);
        result.is_file().then(|| Hit {
            result,
            diagnostics: entry.diagnostics,
            dependencies: entry.files.into_iter().map(|(path, _)| path).collect(),
        })
    }

    /// Stores a result; its place in the cache is returned. What cannot be hashed is not reused.
    pub fn store(
        &self,
        key: &str,
        result: &Path,
        diagnostics: &str,
        read: &[PathBuf],
    ) -> Result<PathBuf, Failure> {
        let objects = self.root.join("objects");
        fs::create_dir_all(&objects).at(&objects, "cannot create the cache")?;
        let bytes = fs::read(result).at(result, "cannot read")?;
        let name = hex(Sha256::digest(&bytes).as_slice());
        let place = objects.join(&name);
        if !place.is_file() {
            let staged = tempfile::NamedTempFile::new_in(&objects)
                .at(&objects, "cannot write to the cache")?;
            fs::copy(result, staged.path()).at(staged.path(), "cannot write")?;
            staged.persist(&place).map_err(|e| e.error).at(&place, "cannot write")?;
        }
        let mut files = Vec::new();
        for path in read {
            match hash_file(path) {
                Some(hash) => files.push((path.clone(), hash)),
                None => return Ok(place),
            }
        }
        let mut entries = self.manifest(key);
        entries.retain(|e| e.files != files);
        entries.insert(0, Entry { files, result: name, diagnostics: diagnostics.to_string() });
        entries.truncate(KEPT);
        let manifest = self.manifest_path(key);
        let staged = tempfile::NamedTempFile::new_in(&self.root)
            .at(&self.root, "cannot write to the cache")?;
        let text = serde_json::to_vec(&entries).expect("a manifest is plain data");
        fs::write(staged.path(), text).at(staged.path(), "cannot write")?;
        if let Some(dir) = manifest.parent() {
            fs::create_dir_all(dir).at(dir, "cannot create")?;
        }
        staged.persist(&manifest).map_err(|e| e.error).at(&manifest, "cannot write")?;
        Ok(place)
    }

    fn manifest(&self, key: &str) -> Vec<Entry> {
        fs::read(self.manifest_path(key))
            .ok()
            .and_then(|text| serde_json::from_slice(&text).ok())
            .unwrap_or_default()
    }

    fn manifest_path(&self, key: &str) -> PathBuf {
        self.root.join("manifests").join(format!("{key}.json"))
    }
}

/// A key out of its parts.
pub fn key<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> String {
    let mut digest = Sha256::new();
    for part in parts {
        digest.update((part.len() as u64).to_le_bytes());
        digest.update(part);
    }
    hex(digest.finalize().as_slice())
}

/// The hash of a file's content; `None` if it cannot be read.
pub fn hash_file(path: &Path) -> Option<String> {
    fs::read(path).ok().map(|bytes| hex(Sha256::digest(&bytes).as_slice()))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_header_is_a_miss_and_its_return_a_hit() {
        let dir = tempfile::tempdir().unwrap();
        let cache = Cache { root: dir.path().join("cache") };
        let (header, result) = (dir.path().join("a.h"), dir.path().join("a.o"));
        fs::write(&header, "1").unwrap();
        fs::write(&result, "first").unwrap();
        assert!(cache.find("k").is_none());
        cache.store("k", &result, "warning", std::slice::from_ref(&header)).unwrap();
        assert_eq!(fs::read(cache.find("k").unwrap().result).unwrap(), b"first");
        fs::write(&header, "2").unwrap();
        assert!(cache.find("k").is_none());
        fs::write(&result, "second").unwrap();
        cache.store("k", &result, "", std::slice::from_ref(&header)).unwrap();
        assert_eq!(fs::read(cache.find("k").unwrap().result).unwrap(), b"second");
        fs::write(&header, "1").unwrap();
        let hit = cache.find("k").unwrap();
        assert_eq!(
            (fs::read(hit.result).unwrap().as_slice(), hit.diagnostics.as_str()),
            (&b"first"[..], "warning")
        );
    }

    #[test]
    fn keys_separate_their_parts() {
        assert_ne!(key([&b"ab"[..], b"c"]), key([&b"a"[..], b"bc"]));
    }
}
