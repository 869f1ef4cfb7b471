// SPDX-License-Identifier: MIT OR Apache-2.0
//! Names for the sources of programs, so that those who watch kernels can show lines of them.
//!
//! A program comes as strings. If a file of the current folder, or of a folder in it, has the same text, that is its
//! name; otherwise sources are `program.cl`, `program-2.cl`, …, in the order of their builds.
//!
//! Limit: a program that is linked from several objects, or made from a binary, has no text.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use margay_ir::Module;
use margay_opencl_c::SOURCE_NAME;
use parking_lot::Mutex;

/// More entries of a folder than this are not looked at.
const MOST_ENTRIES: usize = 4096;

/// Names and texts so far.
static KNOWN: Mutex<Vec<(Arc<str>, Arc<str>)>> = Mutex::new(Vec::new());

/// Gives what was compiled from `source` its name and its text.
pub fn attach(module: &mut Module, source: &str) {
    let (name, text) = named(source);
    // Clang puts the folder before it that it ran in.
    let is_source = |file: &str| Path::new(file).file_name().is_some_and(|f| f == SOURCE_NAME);
    for file in module.files.iter_mut().filter(|file| is_source(file)) {
        *file = name.clone();
    }
    module.sources.insert(name, text);
}

fn named(source: &str) -> (Arc<str>, Arc<str>) {
    let mut known = KNOWN.lock();
    if let Some(found) = known.iter().find(|(_, text)| **text == *source) {
        return found.clone();
    }
    let on_disk = std::env::current_dir().ok().and_then(|at| file_with(&at, source));
    let name = match on_disk {
        Some(path) => path.to_string_lossy().into_owned(),
        None => {
            let before = known.iter().filter(|(name, _)| name.starts_with("program")).count();
            if before == 0 { SOURCE_NAME.to_owned() } else { format!("program-{}.cl", before + 1) }
        }
    };
    let entry: (Arc<str>, Arc<str>) = (name.into(), source.into());
    known.push(entry.clone());
    entry
}

/// A file of the folder, or of a folder in it, that is named like OpenCL C and has this text.
fn file_with(folder: &Path, source: &str) -> Option<PathBuf> {
    let mut folders = Vec::new();
    let mut found = file_in(folder, source, Some(&mut folders));
    folders.sort();
    for inner in folders {
        found = found.or_else(|| file_in(&inner, source, None));
    }
    found
}

fn file_in(folder: &Path, source: &str, mut folders: Option<&mut Vec<PathBuf>>) -> Option<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).ok()?.take(MOST_ENTRIES).flatten() {
        let path = entry.path();
        let kernel = path.extension().is_some_and(|e| e == "cl" || e == "ocl" || e == "clc");
        match (entry.file_type(), &mut folders) {
            (Ok(kind), Some(folders)) if kind.is_dir() => folders.push(path),
            (Ok(kind), _) if kernel && !kind.is_dir() => files.push(path),
            (_, _) => {}
        }
    }
    files.sort();
    let same = |path: &PathBuf| {
        path.metadata().is_ok_and(|m| m.is_file() && m.len() == source.len() as u64)
            && std::fs::read(path).is_ok_and(|bytes| bytes == source.as_bytes())
    };
    files.into_iter().find(same)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_with_the_text_is_its_name() {
        let folder = std::env::temp_dir().join(format!("margay-sources-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("kernels")).unwrap();
        std::fs::write(folder.join("kernels/a.cl"), "kernel void a() {}").unwrap();
        std::fs::write(folder.join("b.cl"), "kernel void b() {}").unwrap();
        assert_eq!(file_with(&folder, "kernel void b() {}"), Some(folder.join("b.cl")));
        assert_eq!(file_with(&folder, "kernel void a() {}"), Some(folder.join("kernels/a.cl")));
        assert_eq!(file_with(&folder, "kernel void c() {}"), None, "as long, and another");
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn others_are_numbered() {
        let (first, second) = (named("no file has this: 1"), named("no file has this: 2"));
        assert_eq!((&*first.0, &*second.0), ("program.cl", "program-2.cl"));
        assert_eq!(named("no file has this: 1"), first);
        let mut module =
            Module { files: vec!["/there/program.cl".into(), "x.h".into()], ..Module::default() };
        attach(&mut module, "no file has this: 2");
        assert_eq!((&*module.files[0], &*module.files[1]), ("program-2.cl", "x.h"));
        assert_eq!(module.sources.len(), 1);
    }
}
