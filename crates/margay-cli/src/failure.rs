// SPDX-License-Identifier: MIT OR Apache-2.0
//! What ends a command early: each failure says what went wrong, where, and what cures it.

use std::io;
use std::path::{Path, PathBuf};

/// A failure of a command. `Display` is the one line that the user reads first.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The command line is wrong.
    #[error("{0}")]
    Usage(String),
    /// clang is not installed, or too old.
    #[error("{0}")]
    NoClang(String),
    /// clang refused the program; its own words have been printed.
    #[error("clang failed on {}", .source_file.display())]
    Compile { source_file: PathBuf, code: u8 },
    /// A file could not be read or written.
    #[error("{}: {what}: {error}", .path.display())]
    File { path: PathBuf, what: &'static str, error: io::Error },
    /// A program could not be started.
    #[error("{}: {error}{}", .program.display(), hint(.program, .error))]
    Start { program: PathBuf, error: io::Error },
    /// What is asked for is CUDA, and margay does not have it.
    #[error("unsupported: {0}")]
    Unsupported(String),
    /// A kernel was stopped: it ran into its time limit, or nothing in it could make progress.
    #[error("{0}")]
    Stopped(String),
    /// The work itself failed: a kernel, a module, an argument.
    #[error("{0}")]
    Work(String),
}

impl Failure {
    /// As documented in `main.rs`.
    pub fn exit_code(&self) -> u8 {
        match self {
            Failure::Usage(_) => 2,
            Failure::Compile { code, .. } => *code,
            Failure::Work(_) => 1,
            Failure::Stopped(_) => 124,
            Failure::NoClang(_) | Failure::File { .. } | Failure::Unsupported(_) => 125,
            Failure::Start { error, .. } if error.kind() == io::ErrorKind::NotFound => 127,
            Failure::Start { .. } => 126,
        }
    }

    /// Prints the failure on standard error. clang has already spoken about a compile error.
    pub fn report(&self) {
        match self {
            Failure::Compile { .. } => {}
            Failure::Usage(_)
            | Failure::NoClang(_)
            | Failure::File { .. }
            | Failure::Start { .. }
            | Failure::Unsupported(_)
            | Failure::Stopped(_)
            | Failure::Work(_) => eprintln!("margay: error: {self}"),
        }
    }
}

/// What to do with a file that is no program, though it is a file.
fn hint(program: &Path, error: &io::Error) -> String {
    if !program.is_file() || error.kind() == io::ErrorKind::NotFound {
        return String::new();
    }
    let file = program.display();
    match program.extension().and_then(|e| e.to_str()) {
        Some("c" | "cc" | "cpp" | "cxx" | "C") => {
            format!(
                ": a source and no program; compile it: margay cc {file} -o PROGRAM (with -x cu if it has kernels)"
            )
        }
        Some("ptx" | "cl" | "fatbin") => {
            format!(
                ": kernels and no program; launch one: margay launch {file} KERNEL, or run the program that loads it"
            )
        }
        Some("py") => format!(": a script and no program: margay run python3 {file}"),
        _ => String::new(),
    }
}

/// Gives an I/O error its place.
pub trait At<T> {
    /// `what` is a verb phrase: "cannot read".
    fn at(self, path: &Path, what: &'static str) -> Result<T, Failure>;
}

impl<T> At<T> for io::Result<T> {
    fn at(self, path: &Path, what: &'static str) -> Result<T, Failure> {
        self.map_err(|error| Failure::File { path: path.to_path_buf(), what, error })
    }
}
