// SPDX-License-Identifier: MIT OR Apache-2.0
//! nvcc's command line, read into [`Options`]; the flags themselves are in `flags.rs`.

use std::path::{Path, PathBuf};

use super::arch::{self, Arch, Code, Target};
use super::flags::{self, Value};
use super::{ptxas, response};
use crate::failure::Failure;

/// How far to compile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Phase {
    /// To an executable, or a shared library with `-shared`.
    #[default]
    Link,
    /// `-c`
    Object,
    /// `-E`
    Preprocess,
    /// `-ptx`
    Ptx,
    /// `-fatbin`
    FatBinary,
    /// `-dlink`: the object that links the device code of others.
    DeviceLink,
    /// `-lib`: an archive of objects.
    Archive,
    /// `-M`, `-MM`
    Dependencies,
}

/// What a listing is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listed {
    /// `compute_XX`
    Virtual,
    /// `sm_XX`
    Machine,
}

/// A compilation as the command line asks for it.
#[derive(Clone, Debug, Default)]
pub struct Options {
    pub phase: Phase,
    /// Sources, objects and archives, in order.
    pub inputs: Vec<PathBuf>,
    pub output: Option<PathBuf>,
    /// The virtual architectures that device code is compiled for.
    pub archs: Vec<Arch>,
    /// What is embedded; an architecture that is not named here as its machine code and as PTX.
    pub targets: Vec<Target>,
    /// `-arch`, whose meaning depends on whether there is `-code`.
    pub arch: Option<String>,
    pub codes: Vec<String>,
    /// `-I -D -U -include -isystem -std -w -Werror` and the like: for both passes and for C++ files.
    pub common: Vec<String>,
    /// For the host pass and for C++ files: `-Xcompiler`, `-fPIC`.
    pub host: Vec<String>,
    /// For the link: `-L -l -shared -Xlinker`, in order.
    pub link: Vec<String>,
    pub standard: Option<String>,
    /// `-O`, without its dash and letter.
    pub optimize: Option<String>,
    pub debug_host: bool,
    pub debug_device: bool,
    pub max_registers: Option<u32>,
    /// `-Xptxas -v`, `-res-usage`: say what each kernel uses.
    pub resource_usage: bool,
    /// `-Xptxas -dlcm` and `-dscm`: how loads and stores are cached that do not say it themselves.
    pub load_caching: Option<String>,
    pub store_caching: Option<String>,
    pub fast_math: bool,
    /// `-ftz`, `-prec-div`, `-prec-sqrt`, `-fmad`; unset, `-use_fast_math` decides.
    pub flush_denormals: Option<bool>,
    pub precise_division: Option<bool>,
    pub precise_root: Option<bool>,
    pub fuse_multiply_add: Option<bool>,
    /// `-dopt=on`: optimise device code although `-G` is given.
    pub optimize_debug_device: bool,
    pub per_thread_stream: bool,
    pub verbose: bool,
    pub dry_run: bool,
    /// `-x`: the language of all inputs.
    pub language: Option<String>,
    /// `-MD`/`-MMD`: write a dependency file; `-MF` names it, `-MT` its target, `-MP` adds phony targets.
    pub dependencies: bool,
    pub dependency_file: Option<PathBuf>,
    pub dependency_target: Option<String>,
    pub phony_targets: bool,
    pub omit_system_headers: bool,
    /// `-rdc=true`, `-dc`.
    pub relocatable: bool,
    /// The value of CUDA_VERSION, 12090 or 13000 and the like.
    pub cuda_version: Option<u32>,
    /// Flags that we do not know go to the host compiler, or to the linker.
    pub forward_to_host: bool,
    pub forward_to_linker: bool,
    /// What the user should know about flags that mean nothing here.
    pub notes: Vec<String>,
    pub show_version: bool,
    /// `--list-gpu-arch`, `--list-gpu-code`: say what there is, and do no more.
    pub listed: Option<Listed>,
    /// `-odir`: where results go that `-o` does not name.
    pub output_directory: Option<PathBuf>,
    /// `-arbin`: what makes archives, in place of `ar`.
    pub archiver: Option<PathBuf>,
    /// `-nodlink`: a link leaves relocatable device code as it is.
    pub no_device_link: bool,
    /// The words for ptxas, before they are read.
    pub ptxas: Vec<String>,
    /// The toolkit's directory, where a program takes us for nvcc (`margay toolkit`).
    pub as_nvcc: Option<PathBuf>,
}

impl Options {
    /// Reads nvcc's command line.
    pub fn parse(arguments: &[String]) -> Result<Options, Failure> {
        let arguments = response::expanded(arguments)?;
        let has = |names: &[&str]| {
            arguments
                .iter()
                .any(|a| names.contains(&a.trim_start_matches('-')) && a.starts_with('-'))
        };
        let mut options = Options {
            forward_to_host: has(&["forward-unknown-to-host-compiler", "forward-unknown-opts"]),
            forward_to_linker: has(&["forward-unknown-to-host-linker"]),
            ..Options::default()
        };
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            if argument == "-" || !argument.starts_with('-') {
                options.inputs.push(PathBuf::from(argument));
                // Objects and archives keep their place among the libraries.
                if kind_of(Path::new(argument), None) == Kind::Linked {
                    options.link.push(argument.clone());
                }
                continue;
            }
            let body = argument.strip_prefix("--").unwrap_or(&argument[1..]);
            let Some((row, value)) = flags::find(body) else {
                if !options.forward_to_host && !options.forward_to_linker {
                    return Err(Failure::Usage(format!(
                        "margay cc does not know the flag `{argument}`"
                    )));
                }
                if options.forward_to_host {
                    options.host.push(argument.clone());
                }
                if options.forward_to_linker {
                    options.link.push(argument.clone());
                }
                continue;
            };
            let value = match (row.value, value) {
                (Value::None, Some(v)) => {
                    return Err(Failure::Usage(format!(
                        "{argument}: no value expected, got `{v}`"
                    )));
                }
                (Value::None, None) => String::new(),
                (Value::Attached, v) => v.unwrap_or_default(),
                (Value::Separate | Value::Joined, Some(v)) => v,
                (Value::Separate, None)
                    if body == "Werror"
                        && !rest.as_slice().first().is_some_and(|w| flags::are_werror_kinds(w)) =>
                {
                    String::new()
                }
                (Value::Separate | Value::Joined, None) => rest
                    .next()
                    .cloned()
                    .ok_or_else(|| Failure::Usage(format!("{argument}: a value is missing")))?,
            };
            (row.action)(&mut options, &value)?;
        }
        options.settle_targets()?;
        ptxas::settle(&mut options)?;
        if options.language.is_some() {
            // With -x every input is a source.
            let inputs = &options.inputs;
            options.link.retain(|word| !inputs.iter().any(|i| i.as_os_str() == word.as_str()));
        }
        let mut seen = Vec::new();
        options.notes.retain(|n| {
            let new = !seen.contains(n);
            seen.push(n.clone());
            new
        });
        let mut seen = Vec::new();
        options.archs.retain(|a| {
            let new = !seen.contains(a);
            seen.push(*a);
            new
        });
        Ok(options)
    }

    /// `-arch` and `-code`, once both are read.
    fn settle_targets(&mut self) -> Result<(), Failure> {
        let targets = match (&self.arch, self.codes.is_empty()) {
            (None, true) => Vec::new(),
            (Some(arch), true) => arch::targets_of_arch_flag(arch)?,
            (arch, false) => arch::targets_of_codes(arch.as_deref(), &self.codes)?,
        };
        self.targets.splice(0..0, targets);
        self.archs = self.targets.iter().map(|t| t.arch).collect();
        Ok(())
    }

    /// What is embedded of the code for an architecture, machine code first.
    pub fn codes_of(&self, arch: Arch) -> Vec<Code> {
        let named = self.targets.iter().filter(|t| t.arch == arch).map(|t| t.code);
        let mut codes: Vec<Code> = named.collect();
        codes.sort();
        codes.dedup();
        if codes.is_empty() {
            codes = vec![Code::Machine(arch), Code::Ptx(arch)];
        }
        codes
    }

    /// The architectures, or the default GPU's.
    pub fn architectures(&self) -> Vec<Arch> {
        if self.archs.is_empty() { vec![arch::native()] } else { self.archs.clone() }
    }
}

/// What an input is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Cuda,
    Cxx,
    C,
    Ptx,
    Linked,
}

/// By `-x`, else by the file's ending.
pub fn kind_of(path: &Path, language: Option<&str>) -> Kind {
    match language {
        Some("cuda") => return Kind::Cuda,
        Some("c++") => return Kind::Cxx,
        Some("c") => return Kind::C,
        Some(_) | None => {}
    }
    match path.extension().and_then(|e| e.to_str()) {
        Some("cu") => Kind::Cuda,
        Some("cpp" | "cc" | "cxx" | "c++" | "C" | "CPP") => Kind::Cxx,
        Some("c") => Kind::C,
        Some("ptx") => Kind::Ptx,
        Some(_) | None => Kind::Linked,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Options, Failure> {
        Options::parse(&line.split_whitespace().map(String::from).collect::<Vec<_>>())
    }

    #[test]
    fn everyday_flags() {
        let o = parse(
            "-arch=sm_80 -O3 -I inc -Iinc2 -DN=3 -std=c++20 a.cu b.o -lm -Xcompiler -Wall,-fopenmp -o prog",
        )
        .unwrap();
        assert_eq!(o.archs[0].number, 80);
        assert_eq!(o.optimize.as_deref(), Some("3"));
        assert_eq!(o.common, ["-Iinc", "-Iinc2", "-DN=3"]);
        assert_eq!(o.link, ["b.o", "-lm", "-fopenmp"]);
        assert_eq!(o.host, ["-Wall", "-fopenmp"]);
        assert_eq!(o.output.unwrap().to_str(), Some("prog"));
        assert_eq!(o.standard.as_deref(), Some("c++20"));
    }

    /// nvcc's -Werror takes kinds, in the next word too; gcc's takes none.
    #[test]
    fn werror_of_both_kinds() {
        for line in ["-Werror all-warnings x.cu", "-Werror=all-warnings x.cu", "-Werror x.cu"] {
            let o = parse(line).unwrap();
            assert_eq!((&*o.common[0], o.inputs.len()), ("-Werror", 1), "{line}");
        }
        let o = parse("--Werror reorder,cross-execution-space-call x.cu").unwrap();
        assert_eq!((o.common.len(), &*o.common[0], o.inputs.len()), (1, "-Werror=reorder", 1));
    }

    #[test]
    fn two_spellings() {
        for line in ["--ptx x.cu", "-ptx x.cu"] {
            assert_eq!(parse(line).unwrap().phase, Phase::Ptx);
        }
        let two =
            parse("-gencode arch=compute_60,code=sm_60 --generate-code=arch=compute_90,code=sm_90");
        assert_eq!(two.unwrap().archs.len(), 2);
    }

    #[test]
    fn refusals() {
        assert!(matches!(parse("-cubin x.cu"), Err(Failure::Unsupported(_))));
        assert!(matches!(parse("-frobnicate x.cu"), Err(Failure::Usage(_))));
        assert!(matches!(parse("-maxrregcount none x.cu"), Err(Failure::Usage(_))));
        assert!(matches!(parse("x.cu -o"), Err(Failure::Usage(_))));
        assert!(matches!(parse("-m 32 x.cu"), Err(Failure::Unsupported(_))));
        assert!(matches!(parse("-arch=compute_80 -code=sm_70 x.cu"), Err(Failure::Usage(_))));
        assert!(matches!(parse("-arch=sm_80 -code=sm_90 x.cu"), Err(Failure::Usage(_))));
        assert!(matches!(parse("-Ofoo x.cu"), Err(Failure::Usage(_))));
    }

    #[test]
    fn code_stands_for_arch_and_notes_come_once() {
        assert_eq!(parse("-code=sm_75,compute_75 x.cu").unwrap().archs.len(), 1);
        assert_eq!(parse("-arch=compute_70 -code=sm_75 x.cu").unwrap().archs[0].number, 70);
        assert_eq!(parse("-restrict -restrict x.cu").unwrap().notes.len(), 1);
    }

    #[test]
    fn what_is_for_ptxas() {
        let o = parse("-Xptxas=-v,-dlcm=cg -Xptxas -dscm=wt,-maxrregcount=40 x.cu").unwrap();
        assert!(o.resource_usage && o.notes.is_empty());
        assert_eq!(
            (o.load_caching.as_deref(), o.store_caching.as_deref()),
            (Some("cg"), Some("wt"))
        );
        assert_eq!(o.max_registers, Some(40));
        assert!(parse("-res-usage x.cu").unwrap().resource_usage);
        assert!(matches!(parse("-Xptxas -dlcm=fast x.cu"), Err(Failure::Usage(_))));
    }

    #[test]
    fn what_ptxas_does_not_know() {
        for line in
            ["-Xptxas -foo", "-Xptxas=-v,--foo=2", "-Xptxas foo", "-Xptxas -O9", "-Xptxas -dlcm"]
        {
            assert!(matches!(parse(&format!("{line} x.cu")), Err(Failure::Usage(_))), "{line}");
        }
        for line in ["-Xptxas -sanitize=memcheck", "-Xptxas -arch=sm_80", "-Xptxas -m=32"] {
            assert!(
                matches!(parse(&format!("{line} x.cu")), Err(Failure::Unsupported(_))),
                "{line}"
            );
        }
        // A value may be the next word.
        let o =
            parse("-Xptxas -maxrregcount -Xptxas 32 -Xptxas --opt-level=3,--warn-on-spills x.cu")
                .unwrap();
        assert_eq!((o.max_registers, o.notes.len()), (Some(32), 2));
    }

    #[test]
    fn unknown_flags_travel_when_asked() {
        let o = parse("x.cu -forward-unknown-to-host-compiler -funroll-loops").unwrap();
        assert_eq!(o.host, ["-funroll-loops"]);
        let o = parse("--forward-unknown-to-host-linker x.cu -rdynamic").unwrap();
        assert_eq!((o.host.len(), o.link), (0, vec!["-rdynamic".to_string()]));
    }

    #[test]
    fn every_note_says_what_has_no_effect() {
        for flag in [
            "-restrict",
            "-keep",
            "-keep-dir=x",
            "-Ofc=max",
            "-time=x",
            "-split-compile=4",
            "-Xptxas=-O3",
            "-lcudart_static",
            "-cudadevrt=static",
            "-dlto",
            "-err-no",
        ] {
            let notes = parse(&format!("{flag} x.cu")).unwrap().notes;
            assert!(notes.len() == 1 && notes[0].starts_with('-'), "{flag}: {notes:?}");
        }
    }
}
