// SPDX-License-Identifier: MIT OR Apache-2.0
//! Programs that were built before, on disk, by the content of all that they are made from.
//!
//! Invariant: what is found is what a build would give again. A source that includes files, or asks for the time,
//! depends on more than its text, and is built each time; so is one that did not build. A file that cannot be
//! read, or is not whole, counts as missing.
//!
//! Limit: of more than [`MOST`] programs the older half is removed.

use std::fs;
use std::path::{Path, PathBuf};

use crate::clang::Clang;
use crate::compile::{self, Executable};
use crate::options::Options;
use crate::{BuildError, cache, library};

/// Programs kept on disk.
const MOST: usize = 2000;

/// Compiles and links a source that needs no headers of the program's; from disk if it can be.
pub fn build(source: &str, options: &Options, sm: u32) -> Result<(Executable, String), BuildError> {
    let place = match self_contained(source, options) {
        true => Some(place(source, options, sm)?),
        false => None,
    };
    if let Some(found) = place.as_deref().and_then(read) {
        return Ok(found);
    }
    let (object, mut log) = compile::compile(source, &[], options, sm)?;
    let linked = compile::link(&[object], options, sm);
    let (executable, more) = linked.map_err(|failure| match failure {
        BuildError::Program(more) => BuildError::Program(format!("{log}{more}")),
        BuildError::Setup(text) => BuildError::Setup(text),
    })?;
    log += &more;
    let built = (executable, log);
    if let Some(place) = place {
        // What cannot be kept is built again next time.
        let _ = serde_json::to_vec(&built).map(|bytes| cache::store(&place, &bytes));
        prune(&place);
    }
    Ok(built)
}

/// Whether a build reads nothing but the source.
fn self_contained(source: &str, options: &Options) -> bool {
    let reads = |line: &str| {
        let line = line.trim_start();
        // `??=` and `%:` are other spellings of `#`.
        let directive = ["#", "??=", "%:"].iter().any(|start| line.starts_with(start));
        directive && (line.contains("include") || line.contains("embed"))
    };
    let includes = options.clang.iter().any(|word| word.starts_with("-I"));
    // A directive may go on behind a line's end.
    let source = source.replace("\\\r\n", "").replace("\\\n", "");
    let times = ["__DATE__", "__TIME__", "__TIMESTAMP__", "__has_include", "_Pragma"];
    !includes && !source.lines().any(reads) && !times.iter().any(|t| source.contains(t))
}

fn place(source: &str, options: &Options, sm: u32) -> Result<PathBuf, BuildError> {
    let clang = Clang::find()?;
    // The names of the library's files are hashes of their content.
    let files = library::files(clang, sm)?;
    let mut words: Vec<String> = files.iter().map(|f| f.display().to_string()).collect();
    let libclc =
        fs::metadata(&clang.libclc).map(|m| format!("{} {:?}", m.len(), m.modified().ok()));
    words.push(libclc.unwrap_or_default());
    words.push(clang.version.clone());
    words.push(compile::LIBRARY_RECIPE.to_owned());
    words.push(env!("CARGO_PKG_VERSION").to_owned());
    words.push(format!("{options:?} {sm}"));
    words.push(source.to_owned());
    let key = cache::key(words.iter().map(String::as_bytes));
    Ok(cache::directory().join("programs").join(format!("{key}.json")))
}

fn read(place: &Path) -> Option<(Executable, String)> {
    serde_json::from_slice(&fs::read(place).ok()?).ok()
}

/// Removes the older half of too many.
fn prune(place: &Path) {
    let Some(entries) = place.parent().and_then(|dir| fs::read_dir(dir).ok()) else { return };
    let age = |entry: fs::DirEntry| {
        let time = entry.metadata().and_then(|m| m.modified()).ok()?;
        Some((time, entry.path()))
    };
    let mut all: Vec<_> = entries.flatten().filter_map(age).collect();
    if all.len() > MOST {
        all.sort();
        for (_, path) in &all[..MOST / 2] {
            // Another process may have been faster.
            let _ = fs::remove_file(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_depends_on_more_than_its_text_is_built_each_time() {
        let plain = Options::default();
        assert!(self_contained("#define N 4\nkernel void f(global int *o) { *o = N; }", &plain));
        for source in [
            "#include \"a.h\"",
            "  #  include <a.h>",
            "%: include \"a.h\"",
            "#inc\\\nlude \"a.h\"",
            "constant int t = sizeof(__TIME__);",
        ] {
            assert!(!self_contained(source, &plain), "{source}");
        }
        assert!(!self_contained("", &Options::parse("-I .").unwrap()));
    }
}
