// SPDX-License-Identifier: MIT OR Apache-2.0
//! Every option of nvcc 13 (its manual, "NVCC Command Options", and its `--help`): each is taken, noted as
//! having no effect, or refused with the reason.

use super::Options;
use crate::failure::Failure;

/// What becomes of an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// It does what it says, or asks for what is so in any case.
    Taken,
    /// It changes nothing here, and a note says so.
    Noted,
    /// It asks for what margay cannot do.
    Refused,
}

use Fate::{Noted, Refused, Taken};

/// The long name, the short one, a value if it takes one, and what becomes of it.
const OPTIONS: &[(&str, &str, &str, Fate)] = &[
    ("cuda", "cuda", "", Refused),
    ("cubin", "cubin", "", Refused),
    ("fatbin", "fatbin", "", Taken),
    ("ptx", "ptx", "", Taken),
    ("optix-ir", "optix-ir", "", Refused),
    ("ltoir", "ltoir", "", Refused),
    ("enable-tile", "enable-tile", "", Refused),
    ("tile-preview", "tile-preview", "x", Refused),
    ("tile-only", "tile-only", "", Refused),
    ("simt-only", "simt-only", "", Taken),
    ("tilebc", "tilebc", "", Refused),
    ("tilecubin", "tilecubin", "", Refused),
    ("tilefatbin", "tilefatbin", "", Refused),
    ("tileiras-options", "Xtileiras", "x", Refused),
    ("preprocess", "E", "", Taken),
    ("generate-dependencies", "M", "", Taken),
    ("generate-nonsystem-dependencies", "MM", "", Taken),
    ("generate-dependencies-with-compile", "MD", "", Taken),
    ("generate-nonsystem-dependencies-with-compile", "MMD", "", Taken),
    ("dependency-output", "MF", "x.d", Taken),
    ("generate-dependency-targets", "MP", "", Taken),
    ("compile", "c", "", Taken),
    ("device-c", "dc", "", Taken),
    ("device-w", "dw", "", Taken),
    ("device-link", "dlink", "", Taken),
    ("link", "link", "", Taken),
    ("lib", "lib", "", Taken),
    ("run", "run", "", Refused),
    ("output-file", "o", "x", Taken),
    ("pre-include", "include", "x.h", Taken),
    ("objdir-as-tempdir", "objtemp", "", Noted),
    ("library", "l", "m", Taken),
    ("define-macro", "D", "N=1", Taken),
    ("undefine-macro", "U", "N", Taken),
    ("include-path", "I", "inc", Taken),
    ("system-include", "isystem", "inc", Taken),
    ("library-path", "L", "lib", Taken),
    ("output-directory", "odir", "out", Taken),
    ("compiler-bindir", "ccbin", "gcc", Noted),
    ("allow-unsupported-compiler", "allow-unsupported-compiler", "", Noted),
    ("archiver-binary", "arbin", "llvm-ar", Taken),
    ("cudart", "cudart", "shared", Taken),
    ("cudart", "cudart", "static", Noted),
    ("cudadevrt", "cudadevrt", "static", Noted),
    ("libdevice-directory", "ldir", "x", Noted),
    ("target-directory", "target-dir", "x", Noted),
    ("use-local-env", "use-local-env", "", Noted),
    ("force-cl-env-setup", "force-cl-env-setup", "", Noted),
    ("profile", "pg", "", Taken),
    ("debug", "g", "", Taken),
    ("device-debug", "G", "", Taken),
    ("generate-line-info", "lineinfo", "", Taken),
    ("optimization-info", "opt-info", "inline", Taken),
    ("Ofast-compile", "Ofc", "max", Noted),
    ("dopt", "dopt", "on", Taken),
    ("dlink-time-opt", "dlto", "", Noted),
    ("lto", "lto", "", Noted),
    ("gen-opt-lto", "gen-opt-lto", "", Noted),
    ("ftemplate-backtrace-limit", "ftemplate-backtrace-limit", "3", Taken),
    ("ftemplate-depth", "ftemplate-depth", "99", Taken),
    ("no-exceptions", "noeh", "", Taken),
    ("shared", "shared", "", Taken),
    ("x", "x", "cu", Taken),
    ("std", "std", "c++20", Taken),
    ("stdlib", "stdlib", "libc++", Taken),
    ("no-host-device-initializer-list", "nohdinitlist", "", Noted),
    ("no-host-device-move-forward", "nohdmoveforward", "", Noted),
    ("expt-relaxed-constexpr", "expt-relaxed-constexpr", "", Taken),
    ("extended-lambda", "extended-lambda", "", Taken),
    ("expt-extended-lambda", "expt-extended-lambda", "", Taken),
    ("machine", "m", "64", Taken),
    ("m64", "m64", "", Taken),
    ("apply-controls", "apply-controls", "x", Refused),
    ("compiler-options", "Xcompiler", "-Wall", Taken),
    ("linker-options", "Xlinker", "-z", Taken),
    ("archive-options", "Xarchive", "x", Noted),
    ("ptxas-options", "Xptxas", "-v", Taken),
    ("ptxas-options", "Xptxas", "-O3", Noted),
    ("nvlink-options", "Xnvlink", "-v", Noted),
    ("nvprune-options", "Xnvprune", "x", Noted),
    ("static-global-template-stub", "static-global-template-stub", "true", Noted),
    ("device-entity-has-hidden-visibility", "device-entity-has-hidden-visibility", "true", Noted),
    ("forward-unknown-to-host-compiler", "forward-unknown-to-host-compiler", "", Taken),
    ("forward-unknown-to-host-linker", "forward-unknown-to-host-linker", "", Taken),
    ("forward-unknown-opts", "forward-unknown-opts", "", Taken),
    ("dont-use-profile", "noprof", "", Taken),
    ("dryrun", "dryrun", "", Taken),
    ("verbose", "v", "", Taken),
    ("verbose2", "v2", "", Taken),
    ("threads", "t", "4", Taken),
    ("fmax-errors", "fmax-errors", "3", Taken),
    ("split-compile", "split-compile", "2", Noted),
    ("split-compile-extended", "split-compile-extended", "2", Noted),
    ("fdevice-syntax-only", "fdevice-syntax-only", "", Refused),
    ("fdevice-time-trace", "fdevice-time-trace", "x", Noted),
    ("fdevice-time-trace-granularity", "fdevice-time-trace-granularity", "5", Noted),
    ("keep", "keep", "", Noted),
    ("keep-dir", "keep-dir", "x", Noted),
    ("save-temps", "save-temps", "", Noted),
    ("clean-targets", "clean", "", Refused),
    ("time", "time", "x", Noted),
    ("run-args", "run-args", "x", Refused),
    ("input-drive-prefix", "idp", "x", Noted),
    ("dependency-drive-prefix", "ddp", "x", Noted),
    ("drive-prefix", "dp", "x", Noted),
    ("dependency-target-name", "MT", "x", Taken),
    ("no-align-double", "no-align-double", "", Taken),
    ("no-device-link", "nodlink", "", Taken),
    ("gpu-architecture", "arch", "sm_80", Taken),
    ("gpu-code", "code", "sm_80", Taken),
    ("generate-code", "gencode", "arch=compute_80,code=sm_80", Taken),
    ("relocatable-device-code", "rdc", "true", Taken),
    ("entries", "e", "k", Noted),
    ("maxrregcount", "maxrregcount", "32", Taken),
    ("use_fast_math", "use_fast_math", "", Taken),
    ("ftz", "ftz", "true", Taken),
    ("prec-div", "prec-div", "false", Taken),
    ("prec-sqrt", "prec-sqrt", "false", Taken),
    ("fmad", "fmad", "false", Taken),
    ("extra-device-vectorization", "extra-device-vectorization", "", Noted),
    ("prune", "prune", "", Noted),
    ("default-stream", "default-stream", "per-thread", Taken),
    ("disable-warnings", "w", "", Taken),
    ("keep-device-functions", "keep-device-functions", "", Taken),
    ("source-in-ptx", "src-in-ptx", "", Noted),
    ("restrict", "restrict", "", Noted),
    ("Wreorder", "Wreorder", "", Taken),
    ("Wdefault-stream-launch", "Wdefault-stream-launch", "", Noted),
    ("Wmissing-launch-bounds", "Wmissing-launch-bounds", "", Noted),
    ("Wext-lambda-captures-this", "Wext-lambda-captures-this", "", Noted),
    ("Wno-deprecated-declarations", "Wno-deprecated-declarations", "", Taken),
    ("Wno-deprecated-gpu-targets", "Wno-deprecated-gpu-targets", "", Taken),
    ("Wconversion", "Wconversion", "", Taken),
    ("Werror", "Werror", "all-warnings", Taken),
    ("resource-usage", "res-usage", "", Taken),
    ("extensible-whole-program", "ewp", "", Refused),
    ("no-compress", "no-compress", "", Taken),
    ("qpp-config", "qpp-config", "x", Refused),
    ("compile-as-tools-patch", "astoolspatch", "", Refused),
    ("list-gpu-code", "code-ls", "", Taken),
    ("list-gpu-arch", "arch-ls", "", Taken),
    ("display-error-number", "err-no", "", Noted),
    ("no-display-error-number", "no-err-no", "", Noted),
    ("diag-error", "diag-error", "20", Noted),
    ("diag-suppress", "diag-suppress", "20", Noted),
    ("diag-warn", "diag-warn", "20", Noted),
    ("host-linker-script", "hls", "use-lcs", Noted),
    ("augment-host-linker-script", "aug-hls", "", Noted),
    ("relocatable-link", "r", "", Refused),
    ("brief-diagnostics", "brief-diag", "true", Noted),
    ("jump-table-density", "jtd", "50", Noted),
    ("relocatable-ptx", "reloc-ptx", "", Noted),
    ("device-stack-protector", "device-stack-protector", "true", Noted),
    ("compress-mode", "compress-mode", "size", Noted),
    ("concat", "concat", "", Noted),
    ("frandom-seed", "frandom-seed", "7", Taken),
    ("fdevice-sanitize", "fdevice-sanitize", "memcheck", Refused),
    ("jobserver", "jobserver", "", Noted),
    ("skip-ptx-semantics-check", "skip-ptx-semantics-check", "", Noted),
    ("utf-8", "utf-8", "", Taken),
    ("safety-compatibility", "safety-compat", "", Noted),
    ("version", "V", "", Taken),
];

#[test]
fn each_option_is_taken_noted_or_refused() {
    for &(long, short, value, fate) in OPTIONS {
        for spelling in [format!("--{long}"), format!("-{short}")] {
            let mut words = vec![spelling.clone()];
            if !value.is_empty() {
                words.push(value.into());
            }
            words.push("x.cu".into());
            let got = Options::parse(&words);
            let became = match &got {
                Ok(options) if options.notes.is_empty() => Taken,
                Ok(_) => Noted,
                Err(Failure::Unsupported(_)) => Refused,
                Err(other) => panic!("{spelling}: {other}"),
            };
            assert_eq!(became, fate, "{spelling}: {:?}", got.map(|o| o.notes));
            // A value may stand behind `=`, too.
            if !value.is_empty() && long.len() > 1 {
                let words = [format!("--{long}={value}"), "x.cu".into()];
                assert_eq!(Options::parse(&words).is_ok(), fate != Refused, "--{long}={value}");
            }
        }
    }
}

/// A taken option changes something, unless what it asks for is so in any case.
#[test]
fn a_taken_option_has_an_effect() {
    // C++ with lines in PTX, 64 bits, no profile file, constexpr for both sides, an uncompressed container …
    const SO_IN_ANY_CASE: [&str; 18] = [
        "simt-only",
        "device-w",
        "link",
        "cudart",
        "generate-line-info",
        "expt-relaxed-constexpr",
        "extended-lambda",
        "expt-extended-lambda",
        "machine",
        "m64",
        "dont-use-profile",
        "threads",
        "no-align-double",
        "keep-device-functions",
        "Wno-deprecated-gpu-targets",
        "no-compress",
        "frandom-seed",
        "utf-8",
    ];
    let plain = format!("{:?}", Options::parse(&["x.cu".to_string()]).unwrap());
    for &(long, _, value, fate) in OPTIONS {
        if fate != Taken || SO_IN_ANY_CASE.contains(&long) {
            continue;
        }
        let mut words = vec![format!("--{long}")];
        words.extend((!value.is_empty()).then(|| value.to_string()));
        words.push("x.cu".into());
        assert_ne!(format!("{:?}", Options::parse(&words).unwrap()), plain, "--{long}");
    }
}
