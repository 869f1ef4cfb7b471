// SPDX-License-Identifier: MIT OR Apache-2.0
//! Finds clang and libclc, and runs clang.
//!
//! `MARGAY_CLANG` names clang (or clang++); else clang-19, then the newest that is at least 17.
//! `MARGAY_LIBCLC` names `nvptx64--nvidiacl.bc`; else it is searched where distributions put it.

use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::{env, fs};

use crate::BuildError;

const OLDEST: u32 = 17;
const PREFERRED: u32 = 19;
const INSTALL: &str =
    "on Debian and Ubuntu: `apt install clang-19 libclc-19` (libclc-19-dev on newer releases)";

/// The compiler and the library that belongs to it.
#[derive(Clone, Debug)]
pub struct Clang {
    pub program: PathBuf,
    pub major: u32,
    /// The first line of `--version`: part of the caches' keys.
    pub version: String,
    pub libclc: PathBuf,
}

/// What a run of clang said.
pub struct Output {
    pub success: bool,
    pub stdout: Vec<u8>,
    pub log: String,
}

impl Clang {
    /// Searches once a process.
    pub fn find() -> Result<&'static Clang, BuildError> {
        static FOUND: OnceLock<Result<Clang, String>> = OnceLock::new();
        FOUND.get_or_init(search).as_ref().map_err(|text| BuildError::Setup(text.clone()))
    }

    /// Runs clang with `input` on its standard input.
    pub fn run<S: AsRef<OsStr>>(&self, args: &[S], input: &[u8]) -> Result<Output, BuildError> {
        let fail = |what: &str, error: std::io::Error| {
            BuildError::Setup(format!("{}: {what}: {error}", self.program.display()))
        };
        let mut child = Command::new(&self.program)
            .args(args)
            // The program's own preloads and settings are not the compiler's.
            .env_remove("LD_PRELOAD")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|e| fail("cannot start", e))?;
        let mut stdin = child.stdin.take();
        let input = input.to_vec();
        // Written beside the reading, so that neither pipe fills up; clang may stop reading early.
        let writer = std::thread::spawn(move || {
            if let Some(stdin) = &mut stdin {
                let _ = stdin.write_all(&input);
            }
        });
        let output = child.wait_with_output().map_err(|e| fail("cannot wait", e))?;
        let _ = writer.join();
        Ok(Output {
            success: output.status.success(),
            stdout: output.stdout,
            log: String::from_utf8_lossy(&output.stderr).into_owned(),
        })
    }

    /// The PTX version to ask for.
    pub fn ptx_feature(&self) -> &'static str {
        match self.major {
            ..=17 => "+ptx81",
            18.. => "+ptx83",
        }
    }

    /// The newest architecture that this clang's back end knows and a device of `sm` runs.
    pub fn target_sm(&self, sm: u32) -> u32 {
        const KNOWN: [u32; 18] =
            [20, 21, 30, 32, 35, 37, 50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 90];
        KNOWN.into_iter().rev().find(|known| *known <= sm).unwrap_or(KNOWN[0])
    }
}

fn search() -> Result<Clang, String> {
    let named = env::var_os("MARGAY_CLANG").filter(|v| !v.is_empty()).map(PathBuf::from);
    let candidates = match named {
        Some(program) => vec![program],
        None => on_path(),
    };
    let probed = candidates.iter().find_map(|program| probe(program));
    let Some((program, major, version)) = probed else {
        let what = env::var("MARGAY_CLANG").unwrap_or_else(|_| "PATH".into());
        return Err(format!(
            "OpenCL C needs clang {OLDEST} or newer, and {what} has none; {INSTALL}"
        ));
    };
    let libclc = libclc(major).ok_or_else(|| {
        format!("libclc for clang {major} (nvptx64--nvidiacl.bc) is missing; {INSTALL}, or name the file in MARGAY_LIBCLC")
    })?;
    Ok(Clang { program, major, version, libclc })
}

fn probe(program: &Path) -> Option<(PathBuf, u32, String)> {
    let output = Command::new(program).arg("--version").output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let version = text.lines().find(|l| l.contains("clang version"))?.to_string();
    let number = version.split("clang version ").nth(1)?;
    let major: u32 = number.split('.').next()?.parse().ok()?;
    (major >= OLDEST).then(|| (program.to_path_buf(), major, version))
}

/// `clang-N` on PATH, the preferred version first, then the newest, then a bare `clang`.
fn on_path() -> Vec<PathBuf> {
    let mut found: Vec<(u32, PathBuf)> = Vec::new();
    for dir in env::split_paths(&env::var_os("PATH").unwrap_or_default()) {
        for entry in fs::read_dir(&dir).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let Some(rest) = name.to_str().and_then(|n| n.strip_prefix("clang")) else { continue };
            let order = match rest.strip_prefix('-').map(str::parse::<u32>) {
                Some(Ok(PREFERRED)) => 0,
                Some(Ok(version)) => 1000 - version.min(999),
                None if rest.is_empty() => 1000,
                Some(Err(_)) | None => continue,
            };
            found.push((order, entry.path()));
        }
    }
    found.sort();
    found.into_iter().map(|(_, path)| path).collect()
}

fn libclc(major: u32) -> Option<PathBuf> {
    if let Some(named) = env::var_os("MARGAY_LIBCLC").filter(|v| !v.is_empty()) {
        return Some(PathBuf::from(named)).filter(|p| p.is_file());
    }
    let name = "nvptx64--nvidiacl.bc";
    let places = [
        format!("/usr/lib/clc/{name}"),
        format!("/usr/lib/llvm-{major}/share/clc/{name}"),
        format!("/usr/lib/llvm-{major}/lib/clc/{name}"),
        format!("/usr/share/clc/{name}"),
        format!("/usr/local/share/clc/{name}"),
    ];
    places.into_iter().map(PathBuf::from).find(|p| p.is_file())
}
