// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kernels launched from device code, which clang 19 refuses ("reference to __global__ function in __global__
//! function").
//!
//! Where a pass fails for that, the launches of the program's files are rewritten, each on its line, and clang reads
//! those files in place of the originals through an overlay of its file system ([`sites`]): a launch becomes the body
//! of a lambda for host and device, which clang checks as host code, and which the device code calls without clang's
//! semantic analysis noticing. What clang then makes of a launch in device code, a call of `__cudaPushCallConfiguration`
//! and a call of the kernel, becomes in its LLVM IR, before any optimisation, a call of a function of ours
//! ([`lowered`]); and that gets a body in PTX that launches as the CUDA C++ Programming Guide says ("Device-side Launch
//! from PTX") ([`launchers`]). So the PTX is like nvcc's: nothing in it is margay's own.
//!
//! Limit: a launch whose `<<<`, `>>>` and arguments are not all in one file, or come from several macros, stays as it is.

pub mod launchers;
pub mod lowered;
pub mod sites;

use std::fs;
use std::path::{Path, PathBuf};

use super::arch::Arch;
use super::build::Session;
use super::device;
use super::options::Options;
use crate::failure::{At, Failure};

/// What clang says of a launch from device code: a plain kernel's, and a template's.
const REFUSALS: [&str; 3] = [
    "reference to __global__ function ",
    "call to __global__ function from __device__ function",
    "call to __global__ function from __global__ function",
];

/// The first capability that launches kernels from device code.
const FIRST: u32 = 35;

/// Whether a pass failed for launches from device code.
pub fn refused(said: &str) -> bool {
    REFUSALS.iter().any(|refusal| said.contains(refusal))
}

/// What clang said, with the reason and the cure in the places of its refusals; `None` if the launches can be had.
pub fn impossible(options: &Options, arch: Arch, said: &str) -> Option<String> {
    let why = if arch.number < FIRST {
        format!(
            "kernels launched from device code need compute capability 3.5, and this is for {arch}; compile with \
             -arch=sm_35 or later, and -rdc=true"
        )
    } else if !options.relocatable {
        "kernel launch from __device__ or __global__ functions requires separate compilation mode: compile with \
         -rdc=true"
            .to_owned()
    } else {
        return None;
    };
    let mut out = String::new();
    for line in said.lines() {
        let refusal = REFUSALS.iter().find_map(|refusal| line.find(refusal));
        // A template's is the reason why a candidate was not viable.
        let (from, to) = match refusal {
            Some(at) => (line[..at].rfind("candidate").unwrap_or(at), why.as_str()),
            None => (line.len(), ""),
        };
        out.push_str(&line[..from]);
        out.push_str(to);
        out.push('\n');
    }
    Some(out)
}

/// What is added to clang's words where a launch was left as it is.
pub const LEFT: &str = "margay: note: a launch from device code is read where its kernel, `<<<`, `>>>` and the arguments stand \
                        together in one file of the program, or in one macro";

/// Files with their launches rewritten, in place of the originals.
pub struct Overlay {
    list: PathBuf,
    _scratch: tempfile::TempDir,
}

impl Overlay {
    /// Rewrites the source and what it includes.
    pub fn of(session: &Session, options: &Options, source: &Path) -> Result<Overlay, Failure> {
        let scratch = session.scratch()?;
        let mut roots = Vec::new();
        for file in device::included(session, options, source)? {
            let bytes = fs::read(&file).at(&file, "cannot read")?;
            // Each byte a character: comments may be in any encoding.
            let text: String = bytes.iter().map(|byte| char::from(*byte)).collect();
            let Some(rewritten) = sites::rewritten(&text) else { continue };
            let rewritten: Vec<u8> = rewritten.chars().map(|c| c as u8).collect();
            let copy = scratch.path().join(format!("{}.txt", roots.len()));
            fs::write(&copy, rewritten).at(&copy, "cannot write")?;
            let path = std::path::absolute(&file).at(&file, "cannot find")?;
            roots.push(serde_json::json!({
                "type": "file", "name": path, "external-contents": copy,
            }));
        }
        let list = scratch.path().join("overlay.json");
        // JSON is YAML.
        let overlay =
            serde_json::json!({ "version": 0, "use-external-names": false, "roots": roots });
        fs::write(&list, overlay.to_string()).at(&list, "cannot write")?;
        Ok(Overlay { list, _scratch: scratch })
    }

    /// The flags of a pass that reads them.
    pub fn flags(&self) -> [String; 4] {
        [
            "-ivfsoverlay".into(),
            self.list.display().to_string(),
            "-DMARGAY_DEVICE_LAUNCHES=1".into(),
            // A lambda that captures a structured binding.
            "-Wno-c++20-extensions".into(),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_come_with_cures() {
        let said = "a.cu:3:40: error: reference to __global__ function 'c' in __global__ function\n  3 | c<<<1,1>>>();\n";
        assert!(refused(said) && !refused("a.cu:3:1: error: no"));
        let arch = |number| Arch { number, suffix: None };
        let mut options = Options::default();
        let alone = impossible(&options, arch(80), said).unwrap();
        assert!(
            alone.starts_with("a.cu:3:40: error: kernel launch from")
                && alone.contains("-rdc=true"),
            "{alone}"
        );
        assert!(alone.ends_with("\n  3 | c<<<1,1>>>();\n"));
        options.relocatable = true;
        assert_eq!(impossible(&options, arch(80), said), None);
        assert!(impossible(&options, arch(30), said).unwrap().contains("3.5"));
    }
}
