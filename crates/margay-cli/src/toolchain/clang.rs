// SPDX-License-Identifier: MIT OR Apache-2.0
//! Finds clang: `MARGAY_CLANG`, then clang++-19, then the newest clang++ that is at least 17.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use crate::failure::Failure;

/// The oldest clang whose CUDA headers ours work with.
const OLDEST: u32 = 17;
const PREFERRED: u32 = 19;
/// What cures its absence.
const INSTALL: &str = "It is the package clang-19 of Debian and Ubuntu (`apt install clang-19`), clang of \
                       Fedora (`dnf install clang`) and Arch (`pacman -S clang`)";

/// A clang++ that can compile CUDA.
#[derive(Clone, Debug)]
pub struct Clang {
    pub program: PathBuf,
    pub major: u32,
    /// The first line of `--version`: part of the cache's keys.
    pub version: String,
}

impl Clang {
    /// Searches `MARGAY_CLANG` and `PATH`.
    pub fn find() -> Result<Clang, Failure> {
        if let Some(named) = env::var_os("MARGAY_CLANG").filter(|v| !v.is_empty()) {
            let program = PathBuf::from(named);
            return Clang::probe(&program).ok_or_else(|| {
                Failure::NoClang(format!(
                    "MARGAY_CLANG names `{}`, which is no clang++ of version {OLDEST} or newer. {INSTALL}",
                    program.display()
                ))
            });
        }
        let mut candidates = on_path();
        // 19 first, then by version, newest first; a bare `clang++` tells its version when probed.
        candidates.sort_by_key(|(version, _)| match version {
            Some(v) if *v == PREFERRED => (0, 0),
            Some(v) => (1, u32::MAX - v),
            None => (2, 0),
        });
        candidates.iter().find_map(|(_, program)| Clang::probe(program)).ok_or_else(|| {
            Failure::NoClang(format!(
                "clang is missing: no clang++ of version {OLDEST} or newer is on PATH. {INSTALL}"
            ))
        })
    }

    fn probe(program: &Path) -> Option<Clang> {
        let output = Command::new(program).arg("--version").output().ok()?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let version = text.lines().find(|l| l.contains("clang version"))?.to_string();
        let number = version.split("clang version ").nth(1)?;
        let major: u32 = number.split('.').next()?.parse().ok()?;
        (major >= OLDEST).then(|| Clang { program: program.to_path_buf(), major, version })
    }

    /// The newest PTX version that this clang's back end writes and that we ask for.
    pub fn ptx_feature(&self) -> &'static str {
        match self.major {
            ..=17 => "+ptx81",
            18.. => "+ptx83",
        }
    }

    /// The newest architecture that this clang's back end knows.
    pub fn newest_sm(&self) -> u32 {
        match self.major {
            ..=19 => 90,
            20.. => 120,
        }
    }
}

fn on_path() -> Vec<(Option<u32>, PathBuf)> {
    let mut found = Vec::new();
    for dir in env::split_paths(&env::var_os("PATH").unwrap_or_default()) {
        let Ok(entries) = fs::read_dir(&dir) else { continue };
        for entry in entries.flatten() {
            let name = entry.file_name();
            let Some(rest) = name.to_str().and_then(|n| n.strip_prefix("clang++")) else {
                continue;
            };
            if rest.is_empty() {
                found.push((None, entry.path()));
            } else if let Some(version) = rest.strip_prefix('-').and_then(|v| v.parse().ok()) {
                found.push((Some(version), entry.path()));
            }
        }
    }
    found
}
