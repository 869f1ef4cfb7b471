// SPDX-License-Identifier: MIT OR Apache-2.0
//! The command as a user meets it: what it prints, and its exit codes.
//!
//! Texts are compared with `expected/`; `UPDATE_EXPECT=1 cargo test -p margay-cli` rewrites them. Tests
//! that need clang, or the libraries that `cargo build --workspace` makes, say on standard error that
//! they are skipped where those are missing.

mod build_systems;
mod capability;
mod check;
mod compile;
mod device_launch;
mod embedded;
mod explain;
mod gpus;
mod help;
mod launch;
mod lsp;
mod misuse;
mod profile;
mod run;
mod samples;
mod sanitize;
mod separate;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A directory for a test, with the command that runs in it.
pub struct Place {
    dir: tempfile::TempDir,
}

/// What a run left.
pub struct Outcome {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Place {
    pub fn empty() -> Place {
        Place { dir: tempfile::tempdir().unwrap() }
    }

    /// An empty place for a test that compiles and runs programs; `None` where that is not possible, which it says.
    pub fn for_programs(test: &str) -> Option<Place> {
        (libraries(test) && clang(test)).then(Place::empty)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) -> &Place {
        std::fs::write(self.path(name), content).unwrap();
        self
    }

    /// The command, in this directory, with none of the caller's settings.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_margay"));
        command.args(arguments).current_dir(self.dir.path()).stdin(Stdio::null());
        for (name, _) in std::env::vars_os() {
            let text = name.to_string_lossy();
            if text.starts_with("MARGAY_") && text != "MARGAY_CLANG" || text == "COLUMNS" {
                command.env_remove(&name);
            }
        }
        command.env("MARGAY_CACHE_DIR", concat!(env!("CARGO_TARGET_TMPDIR"), "/cache"));
        command
    }

    pub fn margay(&self, arguments: &[&str]) -> Outcome {
        self.finish(&mut self.command(arguments))
    }

    /// Runs; paths and versions in its texts are replaced by names.
    pub fn finish(&self, command: &mut Command) -> Outcome {
        let output = command.output().expect("the command starts");
        let plain = |bytes: &[u8]| {
            String::from_utf8_lossy(bytes)
                .replace(&*self.dir.path().to_string_lossy(), "$DIR")
                .replace(env!("CARGO_PKG_VERSION"), "$VERSION")
        };
        Outcome {
            code: output.status.code().unwrap_or(-1),
            stdout: plain(&output.stdout),
            stderr: plain(&output.stderr),
        }
    }

    /// Asserts on the exit code and the whole of standard error.
    #[track_caller]
    pub fn fails(&self, arguments: &[&str], code: i32, stderr: &str) {
        let got = self.margay(arguments);
        assert_eq!((got.code, got.stderr.trim_end()), (code, stderr), "{arguments:?}");
        assert_eq!(got.stdout, "", "{arguments:?}");
    }
}

/// Whether CUDA C++ can be compiled; if not, says what is skipped.
pub fn clang(test: &str) -> bool {
    let place = Place::empty();
    place.write("x.cu", "__global__ void k() {}\n");
    let got = place.margay(&["cc", "-ptx", "x.cu"]);
    let missing = got.code == 125 && got.stderr.contains("clang");
    if missing {
        eprintln!("skipped: {test}: clang is missing");
    }
    !missing
}

/// Whether the libraries that programs are linked with are built; if not, says what is skipped.
pub fn libraries(test: &str) -> bool {
    let beside = Path::new(env!("CARGO_BIN_EXE_margay")).parent().unwrap();
    let built = ["libcuda.so", "libcudart.so", "libcudart13.so"];
    let there = built.iter().all(|name| beside.join(name).exists());
    if !there {
        eprintln!("skipped: {test}: needs `cargo build --workspace`");
    }
    there
}
