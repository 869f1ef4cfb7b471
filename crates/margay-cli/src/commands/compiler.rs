// SPDX-License-Identifier: MIT OR Apache-2.0
//! The compiler's flags on the command lines of `run`, `ptx` and `launch`.
//!
//! A user writes them as for nvcc (`margay run -arch=sm_80 -Iinc x.cu`). [`gathered`] finds them in the
//! command line, before clap reads it, and gives each the prefix `--cc=`. Invariant: a command's own
//! options go first, and what neither knows stays for clap to refuse.

use std::ffi::OsString;

use clap::Command;

use crate::failure::Failure;
use crate::toolchain::flags::takes_next_word;
use crate::toolchain::{Options, Phase, arch};

/// How `.cu` files are compiled.
#[derive(clap::Args, Debug, Default)]
pub struct CompilerArgs {
    /// The CUDA version whose API .cu files are compiled with: 12.9 (the default), 13.0, 12.4 or 11.8.
    /// Programs for 13.0 are linked with libcudart.so.13, the others with libcudart.so.12.
    #[arg(long, value_name = "VERSION")]
    cuda_version: Option<String>,
    /// A flag for the compiler; may be repeated. Flags that `margay cc` knows may also be written as they
    /// are: -arch=sm_80 -Iinclude -DN=4 -std=c++20.
    #[arg(long = "cc", value_name = "FLAG", allow_hyphen_values = true)]
    flags: Vec<String>,
}

impl CompilerArgs {
    /// Whether anything is asked of the compiler.
    pub fn is_empty(&self) -> bool {
        self.flags.is_empty() && self.cuda_version.is_none()
    }

    /// Reads the flags. Without an architecture among them it is that of `gpus`, a list of checked names.
    pub fn options(&self, gpus: Option<&str>) -> Result<Options, Failure> {
        let mut words = self.flags.clone();
        if let Some(version) = &self.cuda_version {
            words.extend(["--cuda-version".to_string(), version.clone()]);
        }
        let mut options = Options::parse(&words)?;
        let stray = if options.phase != Phase::Link {
            Some("a flag that chooses what is made (-c, -E, -M, -ptx, -fatbin)")
        } else if options.output.is_some() {
            Some("-o")
        } else if options.show_version {
            Some("--version")
        } else if options.listed.is_some() {
            Some("a flag that lists architectures")
        } else if options.dependencies {
            Some("-MD")
        } else {
            None
        };
        if let Some(what) = stray {
            return Err(Failure::Usage(format!("{what} is for `margay cc`")));
        }
        if let Some(input) = options.inputs.first() {
            return Err(Failure::Usage(format!(
                "`{}` is no flag of the compiler",
                input.display()
            )));
        }
        if options.archs.is_empty()
            && let Some(gpus) = gpus
        {
            options.archs = gpus.split(',').filter_map(|name| arch::of_gpu(name.trim())).collect();
            options.archs.sort();
            options.archs.dedup();
        }
        Ok(options)
    }
}

/// The command line with the compiler's flags behind `--cc=`. The whole line, the program's name first.
pub fn gathered(line: Vec<OsString>, command: &Command) -> Vec<OsString> {
    let Some(name) = line.get(1).and_then(|n| n.to_str()) else { return line };
    if !matches!(name, "run" | "ptx" | "launch" | "check") {
        return line;
    }
    let Some(own) = command.find_subcommand(name) else { return line };
    let first_word_ends = name == "run";
    let mut out: Vec<OsString> = line[..2].to_vec();
    let mut rest = line[2..].iter();
    while let Some(word) = rest.next() {
        let text = word.to_str().unwrap_or_default();
        let is_flag = text.len() > 1 && text.starts_with('-');
        if text == "--" || (!is_flag && first_word_ends) {
            out.push(word.clone());
            break;
        }
        if !is_flag {
            out.push(word.clone());
            continue;
        }
        if let Some(takes_value) = own_option(own, text) {
            out.push(word.clone());
            if takes_value {
                out.extend(rest.next().cloned());
            }
            continue;
        }
        let next = rest.as_slice().first().and_then(|w| w.to_str());
        match takes_next_word(text, next) {
            None => out.push(word.clone()),
            Some(takes_value) => {
                let value = if takes_value { rest.next() } else { None };
                for one in [Some(word), value].into_iter().flatten() {
                    let mut forwarded = OsString::from("--cc=");
                    forwarded.push(one);
                    out.push(forwarded);
                }
            }
        }
    }
    out.extend(rest.cloned());
    out
}

/// Whether a word is an option of the command, and whether its value is the next word.
fn own_option(command: &Command, word: &str) -> Option<bool> {
    if matches!(word, "-h" | "--help") {
        return Some(false);
    }
    let body = word.strip_prefix("--")?;
    let (name, attached) = body.split_once('=').map_or((body, false), |(name, _)| (name, true));
    let option = command.get_arguments().find(|a| a.get_long() == Some(name))?;
    // The value of `--profile[=FILE]` is never the next word.
    Some(option.get_action().takes_values() && !option.is_require_equals_set() && !attached)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gather(line: &str) -> String {
        let command = Command::new("margay").subcommand(
            Command::new("run")
                .arg(clap::Arg::new("gpu").long("gpu"))
                .arg(clap::Arg::new("profile").long("profile").num_args(0..=1).require_equals(true))
                .arg(clap::Arg::new("json").long("json").action(clap::ArgAction::SetTrue)),
        );
        let words = line.split(' ').map(OsString::from).collect();
        let out: Vec<String> =
            gathered(words, &command).iter().map(|w| w.to_string_lossy().into_owned()).collect();
        out.join(" ")
    }

    #[test]
    fn the_compiler_s_flags_get_the_prefix_up_to_the_program() {
        assert_eq!(
            gather("margay run -arch=sm_80 -I inc --json --gpu v100 -O3 x.cu -O3 --gpu k80"),
            "margay run --cc=-arch=sm_80 --cc=-I --cc=inc --json --gpu v100 --cc=-O3 x.cu -O3 --gpu k80"
        );
        assert_eq!(gather("margay run --gpu=v100 -- -O3"), "margay run --gpu=v100 -- -O3");
    }

    #[test]
    fn an_option_with_an_optional_value_leaves_the_next_word() {
        assert_eq!(gather("margay run --profile sh -c ls"), "margay run --profile sh -c ls");
        assert_eq!(
            gather("margay run --profile=a.json --profile -O3 x.cu -O3"),
            "margay run --profile=a.json --profile --cc=-O3 x.cu -O3"
        );
    }

    #[test]
    fn what_nobody_knows_stays() {
        assert_eq!(gather("margay run --frobnicate x.cu"), "margay run --frobnicate x.cu");
        assert_eq!(gather("margay cc -O3 x.cu"), "margay cc -O3 x.cu");
    }
}
