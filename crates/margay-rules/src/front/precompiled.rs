// SPDX-License-Identifier: MIT OR Apache-2.0
//! The CUDA headers, parsed once and kept: most of a check's time is theirs otherwise.
//!
//! A file a pass and a set of arguments lies in the cache. Invariants: it is written beside its place and
//! renamed; macros of the user's are never mixed with it (they might change the headers); when clang refuses
//! it, because headers or clang changed, it is removed and the check goes on without.

use std::collections::hash_map::DefaultHasher;
use std::ffi::CString;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};

use clang_sys as cx;

use super::diagnostics::{self, Level};
use super::{Environment, Language, Pass, Unit};

/// The arguments for a pass, with precompiled headers if there are any.
pub fn arguments(
    environment: &Environment,
    language: Language,
    pass: Pass,
) -> (Vec<String>, Option<PathBuf>) {
    let plain = environment.arguments(language, pass);
    let harmless = |f: &String| f.starts_with("-I") || !f.starts_with('-');
    let Some(folder) = &environment.precompiled else { return (plain, None) };
    if language != Language::Cuda || !environment.flags.iter().all(harmless) {
        return (plain, None);
    }
    match file(folder, environment, pass) {
        Some(path) => {
            let mut all = Vec::with_capacity(plain.len());
            let mut rest = plain.into_iter().peekable();
            while let Some(word) = rest.next() {
                if word == "-include" && rest.peek().is_some_and(|n| n == "cuda_runtime.h") {
                    rest.next();
                    all.extend(["-include-pch".to_string(), path.display().to_string()]);
                } else {
                    all.push(word);
                }
            }
            (all, Some(path))
        }
        None => (plain, None),
    }
}

/// Whether a unit failed because of its precompiled headers.
pub fn refused(unit: &Unit) -> bool {
    let marks = ["precompiled header", "AST file", "PCH", "pch"];
    diagnostics::of(unit)
        .iter()
        .any(|d| d.level >= Level::Error && marks.iter().any(|m| d.message.contains(m)))
}

fn file(folder: &Path, environment: &Environment, pass: Pass) -> Option<PathBuf> {
    let bare = Environment { flags: Vec::new(), ..environment.clone() };
    let mut arguments = bare.arguments(Language::Cuda, pass);
    let mut hasher = DefaultHasher::new();
    arguments.hash(&mut hasher);
    super::library::version().hash(&mut hasher);
    let path = folder.join(format!("cuda-{:016x}.pch", hasher.finish()));
    if path.is_file() {
        return Some(path);
    }
    std::fs::create_dir_all(folder).ok()?;
    let staged =
        folder.join(format!("cuda-{:016x}-{}-{pass:?}.tmp", hasher.finish(), std::process::id()));
    let at = arguments.windows(2).position(|w| w[0] == "-include" && w[1] == "cuda_runtime.h")?;
    arguments.drain(at..at + 2);
    let text = "#include <cuda_runtime.h>\n";
    // A real file: clang looks at it again when the result is used.
    let header = folder.join("margay_precompiled.cuh");
    if std::fs::read(&header).ok().as_deref() != Some(text.as_bytes()) {
        std::fs::write(&header, text).ok()?;
    }
    let unit = Unit::parse_for_saving(&header, &arguments).ok()?;
    if diagnostics::of(&unit).iter().any(|d| d.level >= Level::Error) {
        return None;
    }
    let name = CString::new(staged.to_string_lossy().as_bytes()).ok()?;
    // SAFETY: the unit lives, and the name outlives the call.
    let code = unsafe { cx::clang_saveTranslationUnit(unit.raw(), name.as_ptr(), 0) };
    if code != cx::CXSaveError_None {
        let _ = std::fs::remove_file(&staged);
        return None;
    }
    std::fs::rename(&staged, &path).ok()?;
    Some(path)
}
