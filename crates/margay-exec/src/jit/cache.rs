// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compiled objects on disk, by what they were made from.
//!
//! A file's name is the hash of the text and of everything else that decides about the object; its
//! content ends in its own hash, so that a damaged or half-written file is as good as none. Files
//! are written under another name and renamed. A folder that cannot be written is no error.

use std::path::PathBuf;

use sha2::{Digest, Sha256};

/// The folder may hold so many bytes; the files that were used longest ago go first.
const LIMIT: u64 = 256 << 20;

/// The key of an object.
pub fn key(parts: &[&str]) -> String {
    let mut hash = Sha256::new();
    hash.update(margay_codegen::VERSION.to_le_bytes());
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part.as_bytes());
    }
    hash.finalize().iter().map(|b| format!("{b:02x}")).collect()
}

fn folder() -> Option<PathBuf> {
    if std::env::var_os("MARGAY_JIT_CACHE").is_some_and(|v| v == "0") {
        return None;
    }
    let root = match std::env::var_os("MARGAY_CACHE_DIR") {
        Some(folder) => PathBuf::from(folder),
        None => match std::env::var_os("XDG_CACHE_HOME") {
            Some(cache) => PathBuf::from(cache).join("margay"),
            None => PathBuf::from(std::env::var_os("HOME")?).join(".cache/margay"),
        },
    };
    Some(root.join("jit"))
}

/// The object under a key, if there is a whole one.
pub fn get(key: &str) -> Option<Vec<u8>> {
    let file = folder()?.join(key);
    let mut bytes = std::fs::read(&file).ok()?;
    let body = bytes.len().checked_sub(32)?;
    if Sha256::digest(&bytes[..body])[..] != bytes[body..] {
        let _ = std::fs::remove_file(&file);
        return None;
    }
    bytes.truncate(body);
    // Says that it was used. A folder that is read-only keeps its times.
    if let Ok(handle) = std::fs::File::options().append(true).open(&file) {
        let _ = handle.set_modified(std::time::SystemTime::now());
    }
    Some(bytes)
}

/// Keeps an object.
pub fn put(key: &str, object: &[u8]) {
    let Some(folder) = folder() else { return };
    if std::fs::create_dir_all(&folder).is_err() {
        return;
    }
    let mut bytes = object.to_vec();
    bytes.extend_from_slice(&Sha256::digest(object));
    static NUMBER: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
    let number = NUMBER.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let draft = folder.join(format!(".{key}.{}.{number}", std::process::id()));
    let written =
        std::fs::write(&draft, &bytes).and_then(|()| std::fs::rename(&draft, folder.join(key)));
    if written.is_err() {
        let _ = std::fs::remove_file(&draft);
        return;
    }
    shrink(&folder);
}

/// Removes what was used longest ago while there is too much.
fn shrink(folder: &std::path::Path) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    let mut files: Vec<_> = entries
        .flatten()
        .filter_map(|e| {
            let data = e.metadata().ok()?;
            Some((data.modified().ok()?, data.len(), e.path()))
        })
        .collect();
    let mut total: u64 = files.iter().map(|f| f.1).sum();
    if total <= LIMIT {
        return;
    }
    files.sort();
    for (_, size, path) in files {
        if total <= LIMIT / 4 * 3 {
            break;
        }
        if std::fs::remove_file(path).is_ok() {
            total -= size;
        }
    }
}
