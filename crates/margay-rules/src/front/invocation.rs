// SPDX-License-Identifier: MIT OR Apache-2.0
//! The arguments that clang gets. They are those of `margay cc`'s passes, so that both see one program.

use std::path::{Path, PathBuf};

use margay_arch::ComputeCapability;

use super::library;

/// What the file is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Language {
    Cuda,
    OpenCl,
}

impl Language {
    /// By the file's ending; headers of CUDA count as CUDA.
    pub fn of(path: &Path) -> Option<Language> {
        match path.extension()?.to_str()? {
            "cu" | "cuh" => Some(Language::Cuda),
            "cl" | "clh" | "ocl" => Some(Language::OpenCl),
            _ => None,
        }
    }
}

/// CUDA is compiled twice; OpenCL once, for the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Pass {
    Host,
    Device,
}

/// What a check is for: headers, target, language version and the user's flags.
#[derive(Clone, Debug)]
pub struct Environment {
    /// Our CUDA headers, and those generated for the CUDA version.
    pub include: Vec<PathBuf>,
    /// The capability that the program is meant for.
    pub capability: ComputeCapability,
    /// As CUDA_VERSION has it: 12090.
    pub cuda_version: u32,
    /// `-std=`: c++17 by default, CL1.2 for OpenCL.
    pub standard: Option<String>,
    /// `-I`, `-D`, `-U`, `-isystem`, `-include`.
    pub flags: Vec<String>,
    /// `-rdc=true`: device code is linked.
    pub relocatable: bool,
    /// The newest `sm_` that this clang compiles for.
    pub newest_sm: u32,
    /// Where parsed headers are kept; without it they are parsed each time.
    pub precompiled: Option<PathBuf>,
}

impl Environment {
    /// An environment for a capability, with the headers of these folders.
    pub fn new(include: Vec<PathBuf>, capability: ComputeCapability) -> Environment {
        Environment {
            include,
            capability,
            cuda_version: 12090,
            standard: None,
            flags: Vec::new(),
            relocatable: false,
            newest_sm: 90,
            precompiled: None,
        }
    }

    /// The architecture that clang is told: what it lacks is replaced by the nearest that it has, and
    /// `__CUDA_ARCH__` still says what the user asked for.
    fn clang_sm(&self) -> u32 {
        self.capability.sm().clamp(20, self.newest_sm)
    }

    /// The OpenCL C version: 120 for CL1.2.
    pub fn opencl_version(&self) -> u32 {
        let text = self.standard.as_deref().unwrap_or("CL1.2").to_ascii_lowercase();
        let digits: String = text.chars().filter(char::is_ascii_digit).collect();
        match digits.as_str() {
            "10" => 100,
            "11" => 110,
            "20" | "2021" => 200,
            "30" => 300,
            _ => 120,
        }
    }

    /// clang's arguments for a pass.
    pub fn arguments(&self, language: Language, pass: Pass) -> Vec<String> {
        let mut all: Vec<String> = vec!["-fsyntax-only".into(), "-ferror-limit=0".into()];
        if let Some(directory) = library::resource_directory() {
            all.push(format!("-resource-dir={}", directory.display()));
        }
        match language {
            Language::Cuda => self.cuda(pass, &mut all),
            Language::OpenCl => {
                all.extend(["-x", "cl", "-target", "nvptx64-nvidia-nvcl"].map(String::from));
                all.push(format!("-cl-std={}", self.standard.as_deref().unwrap_or("CL1.2")));
            }
        }
        all.extend(self.flags.iter().cloned());
        all
    }

    fn cuda(&self, pass: Pass, all: &mut Vec<String>) {
        let fixed = [
            "-x",
            "cuda",
            "-nocudainc",
            "-nocudalib",
            "-Wno-unknown-cuda-version",
            // Without a version of the SDK clang does not lower <<<>>>.
            "-Xclang",
            "-target-sdk-version=12.4",
            // nvcc has variadic device functions; the rules say where they are wrong.
            "-Xclang",
            "-fcuda-allow-variadic-functions",
            // As they say which functions a capability lacks.
            "-DMARGAY_RULES",
        ];
        all.extend(fixed.map(String::from));
        all.push(
            match pass {
                Pass::Host => "--cuda-host-only",
                Pass::Device => "--cuda-device-only",
            }
            .into(),
        );
        let (asked, known) = (self.capability.sm(), self.clang_sm());
        all.push(format!("--cuda-gpu-arch=sm_{known}"));
        if pass == Pass::Device && asked != known {
            all.push("-U__CUDA_ARCH__".into());
            all.push(format!("-D__CUDA_ARCH__={}", asked * 10));
        }
        for directory in &self.include {
            all.extend(["-isystem".into(), directory.display().to_string()]);
        }
        // clang's own headers refuse to serve versions before 9; the rules still know the version.
        all.push(format!("-DMARGAY_CUDA_VERSION={}", self.cuda_version.max(11080)));
        if self.relocatable {
            all.extend(["-fgpu-rdc".into(), "-D__CUDACC_RDC__".into()]);
        }
        all.extend(["-include".into(), "cuda_runtime.h".into()]);
        all.push(format!("-std={}", self.standard.as_deref().unwrap_or("c++17")));
    }
}
