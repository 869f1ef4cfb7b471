// SPDX-License-Identifier: MIT OR Apache-2.0
//! nvcc's `-arch`, `-code` and `-gencode`: which architectures the device code is compiled for, and what
//! is embedded of it.
//!
//! margay's machine code is PTX, too. So `compute_80` embeds PTX, which later GPUs translate; `sm_80` embeds the
//! same text as an image for the GPUs that run `sm_80`'s machine code, those of 8.0 to 8.9, and no others.

use margay_arch::ComputeCapability;

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
    /// Reads `sm_90`, `compute_90a`, `lto_90` or `90`, if NVIDIA made it: those that have a compute capability, and
    /// two that only compilers know.
    pub fn parse(text: &str) -> Option<Arch> {
        let digits = ["sm_", "compute_", "lto_"]
            .iter()
            .find_map(|prefix| text.strip_prefix(prefix))
            .unwrap_or(text);
        let (digits, suffix) = match digits.strip_suffix(['a', 'f']) {
            Some(rest) => (rest, digits.chars().last()),
            None => (digits, None),
        };
        let number: u32 = digits.parse().ok()?;
        // 10.1 became 11.0, and 8.8 is the 8.6 of a game console.
        let made =
            ComputeCapability::from_sm(number).limits().is_some() || [88, 101].contains(&number);
        let since = match suffix {
            Some('a') => 90,
            Some(_) => 100,
            None => 10,
        };
        (made && number >= since).then_some(Arch { number, suffix })
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

/// What is embedded of a compilation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Code {
    /// `sm_80`: for GPUs that run its machine code.
    Machine(Arch),
    /// `compute_80`, `lto_80`: for it and all that come later.
    Ptx(Arch),
}

impl Code {
    fn parse(text: &str) -> Result<Code, Failure> {
        let arch = Arch::parse(text).ok_or_else(|| unknown(text))?;
        Ok(if is_virtual(text) { Code::Ptx(arch) } else { Code::Machine(arch) })
    }
}

impl std::fmt::Display for Code {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Code::Machine(arch) => write!(f, "{arch}"),
            Code::Ptx(arch) => write!(f, "{}", virtual_name(*arch)),
        }
    }
}

/// Code compiled for a virtual architecture, and one form in which it is embedded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    pub arch: Arch,
    pub code: Code,
}

fn is_virtual(name: &str) -> bool {
    name.starts_with("compute_") || name.starts_with("lto_")
}

fn virtual_name(arch: Arch) -> String {
    arch.to_string().replacen("sm_", "compute_", 1)
}

/// What `-arch` alone asks for: of `sm_80` its machine code and PTX, of `compute_80` PTX.
pub fn targets_of_arch_flag(value: &str) -> Result<Vec<Target>, Failure> {
    let archs = from_arch_flag(value)?;
    if is_virtual(value) {
        return Ok(archs.into_iter().map(|arch| Target { arch, code: Code::Ptx(arch) }).collect());
    }
    // Of several, PTX of the newest alone.
    let newest = archs.iter().max().copied();
    let machine = archs.iter().map(|&arch| Target { arch, code: Code::Machine(arch) });
    let ptx = newest.map(|arch| Target { arch, code: Code::Ptx(arch) });
    Ok(machine.chain(ptx).collect())
}

/// What `-arch` and `-code` together ask for; without `-arch` the lowest of the codes is it.
pub fn targets_of_codes(arch: Option<&str>, codes: &[String]) -> Result<Vec<Target>, Failure> {
    let codes = codes.iter().map(|c| Code::parse(c)).collect::<Result<Vec<Code>, Failure>>()?;
    let of = |code: &Code| match *code {
        Code::Machine(arch) | Code::Ptx(arch) => arch,
    };
    let arch = match arch {
        Some(name) if !is_virtual(name) && Arch::parse(name).is_some() => {
            return Err(Failure::Usage(format!(
                "-arch={name} beside -code: it must be a virtual architecture there, such as {}",
                Arch::parse(name).map(virtual_name).unwrap_or_default()
            )));
        }
        Some(name) => Arch::parse(name).ok_or_else(|| unknown(name))?,
        None => match codes.iter().map(of).min() {
            Some(lowest) => lowest,
            None => return Ok(Vec::new()),
        },
    };
    codes.into_iter().map(|code| target(arch, code)).collect()
}

/// What a `-gencode` value asks for: `arch=compute_80,code=[sm_80,compute_80]`.
pub fn targets_of_gencode_flag(value: &str) -> Result<Vec<Target>, Failure> {
    let wrong = |what: String| Failure::Usage(format!("-gencode {value}: {what}"));
    let (mut arch, mut codes) = (None, Vec::new());
    let mut key = "";
    for part in value.split(',').map(|p| p.trim_matches(['"', '\'', ' '])) {
        let name = match part.split_once('=') {
            Some((word, name)) => {
                key = word;
                name
            }
            None => part,
        };
        let name = name.trim_matches(['[', ']', '"', '\'', ' ']);
        match key {
            "arch" if !is_virtual(name) && Arch::parse(name).is_some() => {
                return Err(wrong(format!("arch={name} must be virtual, such as compute_80")));
            }
            "arch" => arch = Some(Arch::parse(name).ok_or_else(|| unknown(name))?),
            "code" => codes.push(Code::parse(name)?),
            _ => return Err(wrong(format!("`{part}` is neither `arch=` nor `code=`"))),
        }
    }
    let arch = arch.ok_or_else(|| wrong("it has no `arch=compute_XX`".into()))?;
    if codes.is_empty() {
        return Err(wrong("it has no `code=sm_XX`".into()));
    }
    codes.into_iter().map(|code| target(arch, code)).collect()
}

/// A pair that fits: machine code can be made for the virtual architecture and for what came later, its
/// PTX for itself.
fn target(arch: Arch, code: Code) -> Result<Target, Failure> {
    let fits = match code {
        // Of a target with a suffix there is one machine, or one family of them.
        Code::Machine(machine) if arch.suffix == Some('f') => {
            machine.number / 10 == arch.number / 10
                && machine.number >= arch.number
                && machine.suffix.is_some()
        }
        Code::Machine(machine) if arch.suffix.is_some() => machine == arch,
        Code::Machine(machine) => machine.number >= arch.number,
        Code::Ptx(ptx) => ptx == arch,
    };
    match fits {
        true => Ok(Target { arch, code }),
        false => Err(Failure::Usage(format!(
            "incompatible code generation requested: arch={}, code={code}: code for the one does not run \
             on the other",
            virtual_name(arch)
        ))),
    }
}

/// The architectures, for `--list-gpu-arch` and `--list-gpu-code`.
pub fn all() -> Vec<Arch> {
    margay_arch::gpu::ALL.iter().map(|limits| plain(limits.cc.sm())).collect()
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
        "`{name}` is no GPU architecture; there are sm_10 to sm_121, such as sm_75 or sm_90a, the same as \
         compute_XX, and native (`margay gpus` lists them)"
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
        for none in ["sm_99", "sm_22", "sm_80a", "sm_90f", "compute_131"] {
            assert!(Arch::parse(none).is_none(), "{none}");
        }
        assert!(Arch::parse("sm_100f").is_some() && Arch::parse("sm_101a").is_some());
    }

    fn shown(targets: Result<Vec<Target>, Failure>) -> Result<String, String> {
        let list = targets.map_err(|e| e.to_string())?;
        let words: Vec<String> =
            list.iter().map(|t| format!("{}>{}", t.arch.number, t.code)).collect();
        Ok(words.join(" "))
    }

    #[test]
    fn what_is_compiled_and_what_is_embedded() {
        let gencode = |text| shown(targets_of_gencode_flag(text));
        assert_eq!(
            gencode("arch=compute_70,code=[sm_75,compute_70]").unwrap(),
            "70>sm_75 70>compute_70"
        );
        assert_eq!(gencode("arch=compute_90a,code=sm_90a").unwrap(), "90>sm_90a");
        assert_eq!(gencode("arch=compute_100f,code=sm_103a").unwrap(), "100>sm_103a");
        assert_eq!(shown(targets_of_arch_flag("sm_80")).unwrap(), "80>sm_80 80>compute_80");
        assert_eq!(shown(targets_of_arch_flag("compute_80")).unwrap(), "80>compute_80");
        assert!(
            shown(targets_of_arch_flag("all-major")).unwrap().ends_with("90>sm_90 90>compute_90")
        );
        let codes = |arch, codes: &[&str]| {
            let codes: Vec<String> = codes.iter().map(|c| c.to_string()).collect();
            shown(targets_of_codes(arch, &codes))
        };
        assert_eq!(codes(Some("compute_70"), &["sm_75"]).unwrap(), "70>sm_75");
        assert_eq!(codes(None, &["sm_75", "compute_75"]).unwrap(), "75>sm_75 75>compute_75");
        assert!(codes(Some("sm_80"), &["sm_80"]).unwrap_err().contains("must be a virtual"));
    }

    /// As nvcc 13 refuses them.
    #[test]
    fn what_cannot_be() {
        for text in [
            "arch=compute_90,code=sm_70",
            "arch=compute_75,code=compute_80",
            "arch=compute_80,code=compute_75",
            "arch=compute_90a,code=sm_90",
            "arch=compute_90a,code=sm_100",
        ] {
            let why = targets_of_gencode_flag(text).unwrap_err().to_string();
            assert!(why.starts_with("incompatible code generation requested"), "{text}: {why}");
        }
        for text in
            ["code=sm_75", "arch=compute_70", "arch=compute_70,mode=sm_75", "arch=sm_80,code=sm_80"]
        {
            assert!(matches!(targets_of_gencode_flag(text), Err(Failure::Usage(_))), "{text}");
        }
    }
}
