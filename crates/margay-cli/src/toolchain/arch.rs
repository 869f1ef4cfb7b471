// SPDX-License-Identifier: MIT OR Apache-2.0
//! nvcc's `-arch` and `-gencode`: which architectures the device code is compiled for.
//!
//! margay's machine code is PTX, so `sm_80` and `compute_80` both mean PTX for `compute_80`.

use crate::failure::Failure;

/// A target architecture: 90 with suffix 'a' is `sm_90a`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Arch {
    pub number: u32,
    pub suffix: Option<char>,
}

impl std::fmt::Display for Arch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "sm_{}", self.number)?;
        self.suffix.map_or(Ok(()), |s| write!(f, "{s}"))
    }
}

impl Arch {
    /// Reads `sm_90`, `compute_90a`, `lto_90` or `90`.
    pub fn parse(text: &str) -> Option<Arch> {
        let digits = ["sm_", "compute_", "lto_"]
            .iter()
            .find_map(|prefix| text.strip_prefix(prefix))
            .unwrap_or(text);
        let (digits, suffix) = match digits.strip_suffix(['a', 'f']) {
            Some(rest) => (rest, digits.chars().last()),
            None => (digits, None),
        };
        let number = digits.parse().ok().filter(|n| (10..=199).contains(n))?;
        Some(Arch { number, suffix })
    }
}

/// The architectures of an `-arch=` value. `native` is the virtual GPU that programs meet by default.
pub fn from_arch_flag(value: &str) -> Result<Vec<Arch>, Failure> {
    match value {
        "native" => Ok(vec![native()]),
        "all" => Ok([50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87, 89, 90].map(plain).to_vec()),
        "all-major" => Ok([50, 60, 70, 80, 90].map(plain).to_vec()),
        other => Arch::parse(other).map(|a| vec![a]).ok_or_else(|| unknown(other)),
    }
}

/// The architectures of a `-gencode` value: `arch=compute_80,code=[sm_80,compute_80]`.
pub fn from_gencode_flag(value: &str) -> Result<Vec<Arch>, Failure> {
    let mut virtual_arch = None;
    for part in value.replace(['[', ']', '"', '\''], "").split(',') {
        match part.split_once('=') {
            Some(("arch", name)) => {
                virtual_arch = Some(Arch::parse(name).ok_or_else(|| unknown(name))?);
            }
            // What follows names real architectures; their code is the virtual one's PTX.
            Some(("code", name)) => drop(Arch::parse(name).ok_or_else(|| unknown(name))?),
            None => drop(Arch::parse(part).ok_or_else(|| unknown(part))?),
            Some((key, _)) => {
                return Err(Failure::Usage(format!(
                    "-gencode {value}: `{key}` is neither `arch` nor `code`"
                )));
            }
        }
    }
    virtual_arch.map(|a| vec![a]).ok_or_else(|| {
        Failure::Usage(format!("-gencode {value}: expected arch=compute_XX,code=sm_XX"))
    })
}

/// The architecture of the GPU that `MARGAY_GPU` names, or of the default one.
pub fn native() -> Arch {
    std::env::var("MARGAY_GPU")
        .ok()
        .and_then(|names| of_gpu(names.split(',').next()?.trim()))
        .unwrap_or(plain(90))
}

/// The architecture of a virtual GPU; below sm_20, which clang cannot compile for, sm_20's stands in.
pub fn of_gpu(name: &str) -> Option<Arch> {
    let gpu = margay_arch::find(name)?;
    let number = gpu.card.cc.major * 10 + gpu.card.cc.minor;
    Some(plain(number))
}

const fn plain(number: u32) -> Arch {
    Arch { number, suffix: None }
}

fn unknown(name: &str) -> Failure {
    Failure::Usage(format!(
        "`{name}` is no GPU architecture; write sm_XX or compute_XX, such as sm_90, or native"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        assert_eq!(Arch::parse("sm_90a").unwrap().to_string(), "sm_90a");
        assert_eq!(Arch::parse("compute_75").unwrap().to_string(), "sm_75");
        assert!(Arch::parse("sm_9000").is_none() && Arch::parse("volta").is_none());
    }

    #[test]
    fn gencode_compiles_for_its_virtual_architecture() {
        let list = from_gencode_flag("arch=compute_70,code=[sm_75,compute_70]").unwrap();
        assert_eq!(list, [plain(70)]);
        assert!(from_gencode_flag("code=sm_75").is_err());
        assert!(from_gencode_flag("arch=compute_70,mode=sm_75").is_err());
    }
}
