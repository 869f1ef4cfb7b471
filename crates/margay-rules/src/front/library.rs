// SPDX-License-Identifier: MIT OR Apache-2.0
//! Finds and loads libclang.
//!
//! Invariant: no function of libclang is called on a thread before [`attach`] succeeded there. Limit: one
//! libclang serves the process; the first answer, good or bad, is kept.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use clang_sys as cx;

/// The oldest libclang that tells operators apart.
const OLDEST: u32 = 17;

static LIBRARY: OnceLock<Result<Arc<cx::SharedLibrary>, String>> = OnceLock::new();

/// Makes libclang's functions callable on this thread; the error names the cure.
pub fn attach() -> Result<(), String> {
    let loaded = LIBRARY.get_or_init(|| cx::load_manually().map(Arc::new).map_err(|e| missing(&e)));
    let library = loaded.clone()?;
    cx::set_library(Some(library));
    let usable = cx::clang_getCursorBinaryOperatorKind::is_loaded()
        && cx::clang_getCursorUnaryOperatorKind::is_loaded()
        && cx::clang_createTranslationUnit::is_loaded();
    if usable { Ok(()) } else { Err(missing("the one that was found is older")) }
}

fn missing(why: &str) -> String {
    let why = why.lines().next().unwrap_or_default();
    format!(
        "libclang {OLDEST} or newer is missing ({why}). It is the package libclang1-19 of Debian and Ubuntu \
         (`apt install libclang1-19`), clang-libs of Fedora, clang of Arch; LIBCLANG_PATH may name its folder"
    )
}

/// The directory of clang's own headers that belongs to the loaded library, if it lies where packages put it.
pub fn resource_directory() -> Option<PathBuf> {
    let path = cx::get_library()?.path().canonicalize().ok()?;
    let version = version();
    let major: u32 =
        version.split("version ").nth(1)?.split(['.', ' ', '-']).next()?.parse().ok()?;
    let name = path.file_name()?.to_string_lossy().into_owned();
    let mut roots = vec![PathBuf::from(format!("/usr/lib/llvm-{major}/lib/clang/{major}"))];
    for up in path.ancestors().skip(1).take(3) {
        roots.push(up.join(format!("clang/{major}")));
        roots.push(up.join(format!("lib/clang/{major}")));
    }
    debug_assert!(name.contains("clang"));
    roots.into_iter().find(|r| r.join("include/__clang_cuda_builtin_vars.h").is_file())
}

/// The version of the library, in clang's words. The thread must be attached.
pub fn version() -> String {
    // SAFETY: no arguments; without a library on this thread clang-sys panics rather than call.
    super::cx::string(unsafe { cx::clang_getClangVersion() })
}
