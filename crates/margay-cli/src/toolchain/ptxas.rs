// SPDX-License-Identifier: MIT OR Apache-2.0
//! `-Xptxas`: the options of NVIDIA's assembler, of which margay takes what has a meaning for it.
//!
//! Invariant: an option is done, noted as having no effect, or refused; one that ptxas does not know is an
//! error, as it is there.

use super::options::Options;
use crate::failure::Failure;

/// Options with a value that change nothing here (ptxas's own list, 13).
const WITH_VALUE: [&str; 23] = [
    "O",
    "opt-level",
    "Ofc",
    "Ofast-compile",
    "allow-expensive-optimizations",
    "func-maxrregcount",
    "device-function-maxrregcount",
    "device-stack-protector",
    "enable-func-clone-sc",
    "maxntid",
    "minnctapersm",
    "pic",
    "position-independent-code",
    "regUsageLevel",
    "register-usage-level",
    "split-compile",
    "apply-controls",
    "flcm",
    "force-load-cache",
    "fscm",
    "force-store-cache",
    "opt-fp-atomics",
    "optimize-float-atomics",
];
/// Options without a value that change nothing here.
const PLAIN: [&str; 46] = [
    "annotate",
    "compiler-annotations",
    "g",
    "device-debug",
    "disable-optimizer-consts",
    "disable-optimizer-constants",
    "w",
    "disable-warnings",
    "no-bb-merge",
    "dont-merge-basicblocks",
    "lineinfo",
    "generate-line-info",
    "g-tmem-access-check",
    "g-tensor-memory-access-check",
    "gno-fabric-access-check",
    "gno-tmem-access-check",
    "gno-tensor-memory-access-check",
    "legacy-bar-warp-wide-behavior",
    "make-errors-visible-at-exit",
    "override-directive-values",
    "preserve-relocs",
    "ret-end",
    "return-at-end",
    "sp-bounds-check",
    "suppress-async-bulk-multicast-advisory-warning",
    "suppress-debug-info",
    "suppress-double-demote-warning",
    "suppress-position-independent-code-warning",
    "suppress-sparse-mma-advisory-info",
    "suppress-stack-size-warning",
    "v2",
    "verbose2",
    "warn-double-usage",
    "warn-on-double-precision-use",
    "warn-lmem-usage",
    "warn-on-local-memory-usage",
    "warn-spills",
    "warn-on-spills",
    "Werror",
    "warning-as-error",
    "abi",
    "cloning",
    "extra-warnings",
    "no-membermask-overlap",
    "no-fastreg",
    "jobserver",
];
/// What is nvcc's business, or asks for what margay does not make.
const REFUSED: [&str; 22] = [
    "astoolspatch",
    "compile-as-tools-patch",
    "c",
    "compile-only",
    "e",
    "entry",
    "ewp",
    "extensible-whole-program",
    "arch",
    "gpu-name",
    "h",
    "help",
    "ias",
    "input-as-string",
    "arch-ls",
    "list-arch",
    "version-ls",
    "list-version",
    "o",
    "output-file",
    "optf",
    "options-file",
];

/// Reads all words for ptxas, once nvcc's own are read: a value may be a word of its own.
pub fn settle(options: &mut Options) -> Result<(), Failure> {
    let words = std::mem::take(&mut options.ptxas);
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        let Some(body) = word.strip_prefix("--").or_else(|| word.strip_prefix('-')) else {
            return Err(Failure::Usage(format!("-Xptxas {word}: ptxas takes no such input here")));
        };
        let (name, attached) = match body.split_once('=') {
            Some((name, value)) => (name, Some(value.to_string())),
            None => (body, None),
        };
        let mut value = || {
            let value = attached.clone().or_else(|| rest.next().cloned());
            value.ok_or_else(|| Failure::Usage(format!("-Xptxas {word}: a value is missing")))
        };
        let level = |name: &str| {
            name.strip_prefix('O').is_some_and(|n| matches!(n, "0" | "1" | "2" | "3" | "4"))
        };
        match name {
            "v" | "verbose" if attached.is_none() => options.resource_usage = true,
            "maxrregcount" => {
                let limit = match &*value()? {
                    "archmax" => None,
                    limit => Some(super::flags::register_limit("-Xptxas -maxrregcount", limit)?),
                };
                options.max_registers = limit.or(options.max_registers);
            }
            "dlcm" | "def-load-cache" => {
                let kind = value()?;
                options.load_caching = Some(caching(name, &kind, &["ca", "cg", "cs", "cv"])?);
            }
            "dscm" | "def-store-cache" => {
                let kind = value()?;
                options.store_caching = Some(caching(name, &kind, &["wb", "cg", "cs", "wt"])?);
            }
            "fmad" => {
                // What clang fuses is fused; the assembler here never does.
                let on = super::flags::boolean("-Xptxas -fmad", &value()?)?;
                options.fuse_multiply_add.get_or_insert(on);
            }
            "m" | "machine" => match &*value()? {
                "64" => {}
                other => {
                    return Err(Failure::Unsupported(format!(
                        "-Xptxas -m {other}: CUDA has no 32-bit programs any more"
                    )));
                }
            },
            "sanitize" => {
                return Err(Failure::Unsupported(
                    "-Xptxas -sanitize: use `margay run --check memory,race,init,sync`".into(),
                ));
            }
            _ if attached.is_none() && level(name) => no_effect(options, word),
            _ if attached.is_none() && PLAIN.contains(&name) => no_effect(options, word),
            _ if WITH_VALUE.contains(&name) => {
                value()?;
                no_effect(options, word);
            }
            _ if REFUSED.contains(&name) => {
                return Err(Failure::Unsupported(format!(
                    "-Xptxas {word}: there is no ptxas; give the flags of nvcc for it"
                )));
            }
            _ => {
                return Err(Failure::Usage(format!("-Xptxas {word}: ptxas knows no such option")));
            }
        }
    }
    Ok(())
}

fn no_effect(options: &mut Options, word: &str) {
    options.notes.push(format!("-Xptxas {word} has no effect: there is no ptxas"));
}

fn caching(flag: &str, kind: &str, known: &[&str]) -> Result<String, Failure> {
    match known.contains(&kind) {
        true => Ok(kind.to_string()),
        false => {
            Err(Failure::Usage(format!("-Xptxas -{flag}={kind}: expected {}", known.join(", "))))
        }
    }
}
