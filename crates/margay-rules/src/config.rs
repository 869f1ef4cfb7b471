// SPDX-License-Identifier: MIT OR Apache-2.0
//! `margay.toml`: what a project decides about its checks.
//!
//! ```toml
//! [check]
//! gpu = "sm_80"              # a compute capability or a card
//! std = "c++17"              # CL1.2 and the like for OpenCL C
//! cuda-version = "12.9"
//! include = ["include"]      # relative to this file
//! define = ["N=4"]
//! rdc = false
//! severity = { MG303 = "off", kernel-launch-unchecked = "warning" }
//! ```
//!
//! Unknown keys, codes and severities are errors: a setting that has no effect is worse than none.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use margay_arch::ComputeCapability;
use serde::Deserialize;

use crate::check::Settings;
use crate::finding::Severity;
use crate::front::Environment;
use crate::registry;

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    check: Check,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Check {
    gpu: Option<String>,
    std: Option<String>,
    cuda_version: Option<String>,
    #[serde(default)]
    include: Vec<PathBuf>,
    #[serde(default)]
    define: Vec<String>,
    #[serde(default)]
    rdc: bool,
    #[serde(default)]
    severity: BTreeMap<String, Severity>,
}

/// A configuration file that was read.
#[derive(Debug)]
pub struct Config {
    path: PathBuf,
    check: Check,
}

impl Config {
    /// The nearest `margay.toml` of a folder and those above it.
    pub fn nearest(folder: &Path) -> Option<PathBuf> {
        folder.ancestors().map(|f| f.join("margay.toml")).find(|f| f.is_file())
    }

    /// Reads a file.
    ///
    /// # Errors
    /// What is wrong with it, with the place.
    pub fn read(path: &Path) -> Result<Config, String> {
        let name = path.display();
        let text =
            std::fs::read_to_string(path).map_err(|e| format!("{name}: cannot read: {e}"))?;
        let file: File = toml::from_str(&text).map_err(|e| format!("{name}: {e}"))?;
        for word in file.check.severity.keys() {
            if registry::find(word).is_none() {
                return Err(format!("{name}: no rule is called `{word}`"));
            }
        }
        Ok(Config { path: path.to_path_buf(), check: file.check })
    }

    /// Fills in what the command line left open.
    ///
    /// # Errors
    /// When the file names a GPU or a version that does not exist.
    pub fn apply(
        &self,
        environment: &mut Environment,
        settings: &mut Settings,
    ) -> Result<(), String> {
        let name = self.path.display();
        if let Some(gpu) = &self.check.gpu {
            environment.capability = capability(gpu).map_err(|e| format!("{name}: {e}"))?;
        }
        if let Some(version) = &self.check.cuda_version {
            environment.cuda_version = cuda_version(version).map_err(|e| format!("{name}: {e}"))?;
        }
        if let Some(standard) = &self.check.std {
            environment.standard = Some(standard.clone());
        }
        environment.relocatable |= self.check.rdc;
        let here = self.path.parent().unwrap_or(Path::new("."));
        for folder in &self.check.include {
            environment.flags.push(format!("-I{}", here.join(folder).display()));
        }
        environment.flags.extend(self.check.define.iter().map(|d| format!("-D{d}")));
        for (word, severity) in &self.check.severity {
            if let Some(rule) = registry::find(word) {
                settings.severities.insert(rule.code, *severity);
            }
        }
        Ok(())
    }
}

/// The compute capability of `sm_13`, `1.3` or a card's name.
///
/// # Errors
/// When there is no such GPU.
pub fn capability(name: &str) -> Result<ComputeCapability, String> {
    margay_arch::find(name)
        .map(|gpu| gpu.cc())
        .ok_or_else(|| format!("no GPU is called `{name}`; `margay gpus` lists all"))
}

/// `12.9` as CUDA_VERSION has it: 12090.
///
/// # Errors
/// When the text is no version.
pub fn cuda_version(text: &str) -> Result<u32, String> {
    let wrong = || format!("`{text}` is no CUDA version; write it as 12.9");
    let (major, minor) = text.split_once('.').unwrap_or((text, "0"));
    let major: u32 = major.parse().map_err(|_| wrong())?;
    let minor: u32 = minor.parse().map_err(|_| wrong())?;
    if !(1..100).contains(&major) || minor > 9 {
        return Err(wrong());
    }
    Ok(major * 1000 + minor * 10)
}
