// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compiled objects on disk, by what they were made from.
//!
//! A file's name is the hash of everything that decides about the object; its
//! content ends in its own hash, so that a damaged or half-written file is as good as none. Files
//! are written under another name and renamed, so that processes never see one another's halves. A
//! folder that cannot be read or written is no error: it only saves nothing.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use sha2::{Digest, Sha256};

/// The folder may hold so many bytes, unless `CUDA_CACHE_MAXSIZE` says other; the files that were used longest ago
/// go first.
const LIMIT: u64 = 256 << 20;
/// A draft that is older was left by a process that ended while it wrote.
const ABANDONED: Duration = Duration::from_secs(600);

/// The key of an object.
pub fn key(parts: &[&[u8]]) -> String {
    let mut hash = Sha256::new();
    hash.update(margay_codegen::VERSION.to_le_bytes());
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hash.finalize().iter().map(|b| format!("{b:02x}")).collect()
}

fn folder() -> Option<PathBuf> {
    folder_by(|name| std::env::var_os(name).filter(|value| !value.is_empty()))
}

/// The variables that NVIDIA's driver has for its own cache of compiled code mean this one, unless margay's say more.
fn folder_by(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let is = |name: &str, value: &str| variable(name).is_some_and(|v| v == value);
    if is("MARGAY_JIT_CACHE", "0") || is("CUDA_CACHE_DISABLE", "1") {
        return None;
    }
    if let Some(folder) = variable("MARGAY_CACHE_DIR") {
        return Some(PathBuf::from(folder).join("jit"));
    }
    if let Some(folder) = variable("CUDA_CACHE_PATH") {
        return Some(PathBuf::from(folder).join("margay"));
    }
    let root = match variable("XDG_CACHE_HOME") {
        Some(cache) => PathBuf::from(cache).join("margay"),
        None => PathBuf::from(variable("HOME")?).join(".cache/margay"),
    };
    Some(root.join("jit"))
}

/// What the folder may hold. A driver takes at most 4 GiB for the limit.
fn limit_by(size: Option<&str>) -> u64 {
    const MOST: u64 = 4 << 30;
    size.and_then(|text| text.trim().parse().ok()).map_or(LIMIT, |bytes: u64| bytes.min(MOST))
}

/// The object under a key, if there is a whole one.
pub fn get(key: &str) -> Option<Vec<u8>> {
    get_in(&folder()?, key)
}

/// Keeps an object.
pub fn put(key: &str, object: &[u8]) {
    if let Some(folder) = folder() {
        let limit = limit_by(std::env::var("CUDA_CACHE_MAXSIZE").ok().as_deref());
        put_in(&folder, key, object, limit);
    }
}

fn get_in(folder: &Path, key: &str) -> Option<Vec<u8>> {
    let file = folder.join(key);
    let mut bytes = std::fs::read(&file).ok()?;
    let whole = bytes
        .len()
        .checked_sub(32)
        .filter(|&body| Sha256::digest(&bytes[..body])[..] == bytes[body..]);
    let Some(body) = whole else {
        let _ = std::fs::remove_file(&file);
        return None;
    };
    bytes.truncate(body);
    // Says that it was used. A folder that is read-only keeps its times.
    if let Ok(handle) = std::fs::File::options().append(true).open(&file) {
        let _ = handle.set_modified(SystemTime::now());
    }
    Some(bytes)
}

fn put_in(folder: &Path, key: &str, object: &[u8], limit: u64) {
    // What would not fit would only drive the others out.
    if object.len() as u64 > limit / 4 || std::fs::create_dir_all(folder).is_err() {
        return;
    }
    let mut bytes = object.to_vec();
    bytes.extend_from_slice(&Sha256::digest(object));
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let draft = folder.join(format!(".{key}.{}.{number}", std::process::id()));
    let written =
        std::fs::write(&draft, &bytes).and_then(|()| std::fs::rename(&draft, folder.join(key)));
    if written.is_err() {
        let _ = std::fs::remove_file(&draft);
        return;
    }
    shrink(folder, limit);
}

/// Removes drafts that nobody writes any more and, while there is too much, what was used longest ago.
fn shrink(folder: &Path, limit: u64) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    let mut files = Vec::new();
    for entry in entries.flatten() {
        let Ok(data) = entry.metadata() else { continue };
        let Ok(modified) = data.modified() else { continue };
        let draft = entry.file_name().as_encoded_bytes().starts_with(b".");
        if draft {
            if modified.elapsed().is_ok_and(|age| age > ABANDONED) {
                let _ = std::fs::remove_file(entry.path());
            }
            continue;
        }
        files.push((modified, data.len(), entry.path()));
    }
    let mut total: u64 = files.iter().map(|f| f.1).sum();
    if total <= limit {
        return;
    }
    files.sort();
    for (_, size, path) in files {
        if total <= limit / 4 * 3 {
            break;
        }
        if std::fs::remove_file(path).is_ok() {
            total -= size;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_drivers_variables_mean_this_cache() {
        let by = |set: &[(&str, &str)]| {
            let set: Vec<(String, OsString)> =
                set.iter().map(|(n, v)| ((*n).to_owned(), OsString::from(v))).collect();
            folder_by(|name| set.iter().find(|(n, _)| n == name).map(|(_, v)| v.clone()))
        };
        let home = ("HOME", "/home/u");
        assert_eq!(by(&[home]), Some("/home/u/.cache/margay/jit".into()));
        assert_eq!(by(&[home, ("CUDA_CACHE_DISABLE", "1")]), None);
        assert!(by(&[home, ("CUDA_CACHE_DISABLE", "0")]).is_some());
        assert_eq!(by(&[home, ("CUDA_CACHE_PATH", "/c")]), Some("/c/margay".into()));
        let both = [home, ("CUDA_CACHE_PATH", "/c"), ("MARGAY_CACHE_DIR", "/m")];
        assert_eq!(by(&both), Some("/m/jit".into()));
        assert_eq!((limit_by(None), limit_by(Some("x"))), (LIMIT, LIMIT));
        assert_eq!((limit_by(Some("1048576")), limit_by(Some("99999999999"))), (1 << 20, 4 << 30));
    }

    /// A folder that goes with the test.
    struct Place(PathBuf);

    impl Place {
        fn new(name: &str) -> Place {
            let path = std::env::temp_dir().join(format!("margay-{name}-{}", std::process::id()));
            let _ = std::fs::remove_dir_all(&path);
            Place(path)
        }

        fn names(&self) -> Vec<String> {
            let Ok(entries) = std::fs::read_dir(&self.0) else { return Vec::new() };
            let name = |e: std::fs::DirEntry| e.file_name().to_string_lossy().into_owned();
            let mut names: Vec<String> = entries.flatten().map(name).collect();
            names.sort();
            names
        }
    }

    impl Drop for Place {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    fn age(file: &Path, seconds: u64) {
        let when = SystemTime::now() - Duration::from_secs(seconds);
        std::fs::File::options().append(true).open(file).unwrap().set_modified(when).unwrap();
    }

    #[test]
    fn keys_tell_every_part_apart() {
        let keys =
            [key(&[b"ab", b"c"]), key(&[b"a", b"bc"]), key(&[b"abc"]), key(&[b"ab", b"c", b""])];
        for (n, a) in keys.iter().enumerate() {
            assert!(keys[n + 1..].iter().all(|b| a != b));
        }
    }

    #[test]
    fn what_was_put_is_found() {
        let place = Place::new("cache-found");
        assert_eq!(get_in(&place.0, "a"), None);
        put_in(&place.0, "a", b"object", 1 << 20);
        assert_eq!(get_in(&place.0, "a").as_deref(), Some(&b"object"[..]));
        assert_eq!(place.names(), ["a"]);
    }

    #[test]
    fn damaged_and_short_files_are_none_and_go() {
        let place = Place::new("cache-damaged");
        put_in(&place.0, "a", b"some object", 1 << 20);
        let whole = std::fs::read(place.0.join("a")).unwrap();
        let mut turned = whole.clone();
        turned[3] ^= 1;
        let cases: [&[u8]; 6] =
            [&turned, &whole[..whole.len() - 1], &whole[1..], &whole[..31], &[], &[0; 4096]];
        for bytes in cases {
            std::fs::write(place.0.join("a"), bytes).unwrap();
            assert_eq!(get_in(&place.0, "a"), None, "{} bytes", bytes.len());
            assert!(place.names().is_empty());
        }
        put_in(&place.0, "a", b"some object", 1 << 20);
        assert_eq!(get_in(&place.0, "a").as_deref(), Some(&b"some object"[..]));
    }

    #[test]
    fn drafts_are_never_read_and_go_when_old() {
        let place = Place::new("cache-drafts");
        std::fs::create_dir_all(&place.0).unwrap();
        // As a process leaves them that ends while it writes.
        std::fs::write(place.0.join(".a.1.0"), b"hal").unwrap();
        std::fs::write(place.0.join(".b.1.1"), b"h").unwrap();
        age(&place.0.join(".a.1.0"), 3600);
        assert_eq!(get_in(&place.0, "a"), None);
        put_in(&place.0, "c", b"object", 1 << 20);
        assert_eq!(place.names(), [".b.1.1", "c"]);
    }

    #[test]
    fn what_was_used_longest_ago_goes_first() {
        let place = Place::new("cache-limit");
        for (n, name) in ["a", "b", "c", "d"].iter().enumerate() {
            put_in(&place.0, name, &[n as u8; 1000], 10_000);
            age(&place.0.join(name), 1000 - n as u64);
        }
        // Used just now.
        assert!(get_in(&place.0, "a").is_some());
        put_in(&place.0, "e", &[9; 1000], 4500);
        assert_eq!(place.names(), ["a", "d", "e"]);
        // What is too large for the folder drives nothing out.
        put_in(&place.0, "f", &[9; 4000], 4500);
        assert_eq!(place.names(), ["a", "d", "e"]);
    }

    #[test]
    fn writers_at_once_leave_one_whole_file() {
        let place = Place::new("cache-writers");
        let object = vec![7u8; 100_000];
        std::thread::scope(|s| {
            for _ in 0..8 {
                s.spawn(|| {
                    for _ in 0..10 {
                        put_in(&place.0, "a", &object, 1 << 20);
                        let found = get_in(&place.0, "a");
                        assert!(found.is_none_or(|f| f == object));
                    }
                });
            }
        });
        assert_eq!(place.names(), ["a"]);
        assert_eq!(get_in(&place.0, "a"), Some(object));
    }

    #[test]
    fn a_folder_that_cannot_be_written_saves_nothing() {
        use std::os::unix::fs::PermissionsExt;
        let place = Place::new("cache-read-only");
        std::fs::create_dir_all(&place.0).unwrap();
        // Not even root makes files below a file.
        let file = place.0.join("file");
        std::fs::write(&file, b"").unwrap();
        put_in(&file.join("jit"), "a", b"object", 1 << 20);
        assert_eq!(get_in(&file.join("jit"), "a"), None);
        // A folder for reading still serves what is in it.
        put_in(&place.0, "a", b"object", 1 << 20);
        let mode = |m| std::fs::set_permissions(&place.0, std::fs::Permissions::from_mode(m));
        mode(0o555).unwrap();
        assert_eq!(get_in(&place.0, "a").as_deref(), Some(&b"object"[..]));
        put_in(&place.0, "b", b"object", 1 << 20);
        mode(0o755).unwrap();
    }
}
