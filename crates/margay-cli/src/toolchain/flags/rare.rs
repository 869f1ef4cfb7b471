// SPDX-License-Identifier: MIT OR Apache-2.0
//! The rest of nvcc's options (nvcc's manual, "NVCC Command Options"): rarely used, about parts of the toolkit
//! that margay has not, or for other systems.

use std::path::PathBuf;

use super::super::options::Listed;
use super::{Flag, Value, boolean, flag};
use crate::failure::Failure;

const TILE: &str = "tile programs: margay runs kernels of threads";

pub(super) static FLAGS: &[Flag] = &[
    // what is made
    flag(
        &["cuda"],
        Value::None,
        refuse!(
            "-cuda: clang makes no .cu.cpp.ii file on its way; -E gives the preprocessed source"
        ),
    ),
    flag(&["optix-ir"], Value::None, refuse!("-optix-ir: OptiX has an IR of its own")),
    flag(
        &["ltoir"],
        Value::None,
        refuse!("-ltoir: device code is linked as PTX; use -dc, or -ptx"),
    ),
    flag(
        &["r", "relocatable-link"],
        Value::None,
        refuse!("-r: use -lib for an archive of objects"),
    ),
    flag(
        &["ewp", "extensible-whole-program"],
        Value::None,
        refuse!(
            "-ewp: use -rdc=true, which links with what other files and the device runtime define"
        ),
    ),
    flag(&["astoolspatch", "compile-as-tools-patch"], Value::None, |_, _| {
        Err(Failure::Unsupported(
            "-astoolspatch: patches of NVIDIA's tools are machine code".into(),
        ))
    }),
    flag(
        &["enable-tile", "tile-only", "tilebc", "tilecubin", "tilefatbin"],
        Value::None,
        |_, _| Err(Failure::Unsupported(TILE.into())),
    ),
    flag(&["tile-preview", "tileiras-options", "Xtileiras"], Value::Separate, |_, _| {
        Err(Failure::Unsupported(TILE.into()))
    }),
    flag(&["simt-only"], Value::None, always!()),
    flag(
        &["fdevice-syntax-only"],
        Value::None,
        refuse!("-fdevice-syntax-only: use `margay check`, which checks without making code"),
    ),
    flag(&["run-args"], Value::Separate, |_, _| {
        Err(Failure::Unsupported("-run-args: use `margay run FILE.cu -- ARGUMENTS`".into()))
    }),
    flag(&["list-gpu-arch", "arch-ls"], Value::None, set!(listed = Some(Listed::Virtual))),
    flag(&["list-gpu-code", "code-ls"], Value::None, set!(listed = Some(Listed::Machine))),
    // where it is made
    flag(&["odir", "output-directory"], Value::Separate, |o, v| {
        o.output_directory = Some(PathBuf::from(v));
        Ok(())
    }),
    flag(&["arbin", "archiver-binary"], Value::Separate, |o, v| {
        o.archiver = Some(PathBuf::from(v));
        Ok(())
    }),
    flag(&["nodlink", "no-device-link"], Value::None, set!(no_device_link = true)),
    flag(&["noprof", "dont-use-profile"], Value::None, always!()), // there is no nvcc.profile
    flag(
        &["ldir", "libdevice-directory"],
        Value::Separate,
        note!("-ldir has no effect: the device library is margay's own"),
    ),
    flag(
        &["target-dir", "target-directory"],
        Value::Separate,
        note!("-target-dir has no effect: there is one target, this machine"),
    ),
    // the languages
    flag(&["noeh", "no-exceptions"], Value::None, pass!(host, "-fno-exceptions")),
    flag(&["stdlib"], Value::Separate, |o, v| match v {
        "libc++" | "libstdc++" => {
            o.common.push(format!("-stdlib={v}"));
            o.link.push(format!("-stdlib={v}"));
            Ok(())
        }
        _ => Err(Failure::Usage(format!("-stdlib {v}: expected libc++ or libstdc++"))),
    }),
    flag(&["ftemplate-depth"], Value::Separate, |o, v| {
        o.common.push(format!("-ftemplate-depth={}", count("-ftemplate-depth", v)?));
        Ok(())
    }),
    flag(&["ftemplate-backtrace-limit"], Value::Separate, |o, v| {
        let limit = count("-ftemplate-backtrace-limit", v)?;
        o.common.push(format!("-ftemplate-backtrace-limit={limit}"));
        Ok(())
    }),
    flag(&["fmax-errors"], Value::Separate, |o, v| match count("-fmax-errors", v)? {
        0 => Err(Failure::Usage("-fmax-errors 0: expected a number greater than 0".into())),
        limit => {
            o.common.push(format!("-ferror-limit={limit}"));
            Ok(())
        }
    }),
    flag(
        &["nohdinitlist", "no-host-device-initializer-list"],
        Value::None,
        note!("-nohdinitlist has no effect: clang takes constexpr functions for host and device"),
    ),
    flag(
        &["nohdmoveforward", "no-host-device-move-forward"],
        Value::None,
        note!(
            "-nohdmoveforward has no effect: clang takes constexpr functions for host and device"
        ),
    ),
    flag(&["opt-info", "optimization-info"], Value::Separate, |o, v| match v {
        "inline" => {
            o.common.push("-Rpass=inline".into());
            Ok(())
        }
        _ => Err(Failure::Usage(format!("-opt-info {v}: expected inline"))),
    }),
    flag(&["utf-8"], Value::None, always!()),
    flag(&["frandom-seed"], Value::Separate, always!()), // names depend on the source alone
    flag(&["no-align-double"], Value::None, always!()),  // about 32-bit programs
    flag(
        &["brief-diag", "brief-diagnostics"],
        Value::Separate,
        note!("-brief-diag has no effect: clang's diagnostics are as they are"),
    ),
    // code
    flag(&["lto"], Value::None, note!("-lto has no effect: device code is linked as PTX")),
    flag(&["gen-opt-lto"], Value::None, note!("-gen-opt-lto has no effect: there is no LTO IR")),
    flag(
        &["e", "entries"],
        Value::Separate,
        note!("-e has no effect: code is made for all kernels"),
    ),
    flag(&["keep-device-functions"], Value::None, always!()),
    flag(
        &["prune"],
        Value::None,
        note!("-prune has no effect: there are no libraries of other architectures"),
    ),
    flag(&["static-global-template-stub"], Value::Separate, |o, v| {
        boolean("-static-global-template-stub", v)?;
        o.notes.push("-static-global-template-stub has no effect: clang makes the stubs".into());
        Ok(())
    }),
    flag(&["device-entity-has-hidden-visibility"], Value::Separate, |o, v| {
        boolean("-device-entity-has-hidden-visibility", v)?;
        o.notes.push(
            "-device-entity-has-hidden-visibility has no effect: clang decides on visibility"
                .into(),
        );
        Ok(())
    }),
    flag(&["device-stack-protector"], Value::Separate, |o, v| {
        if boolean("-device-stack-protector", v)? {
            o.notes.push(
                "-device-stack-protector has no effect: `margay run --check memory` finds such writes"
                    .into(),
            );
        }
        Ok(())
    }),
    flag(
        &["fdevice-sanitize"],
        Value::Separate,
        refuse!("-fdevice-sanitize: use `margay run --check memory,race,init,sync`"),
    ),
    flag(
        &["jtd", "jump-table-density"],
        Value::Separate,
        note!("-jtd has no effect: clang decides on jump tables"),
    ),
    flag(
        &["apply-controls"],
        Value::Separate,
        refuse!("-apply-controls: the file is for NVIDIA's compilers"),
    ),
    flag(
        &["skip-ptx-semantics-check"],
        Value::None,
        note!("-skip-ptx-semantics-check has no effect: PTX is always checked"),
    ),
    flag(&["safety-compat", "safety-compatibility"], Value::None, |o, _| {
        o.notes.push("-safety-compat has no effect".into());
        Ok(())
    }),
    // the fat binary
    flag(&["no-compress"], Value::None, always!()), // never is
    flag(&["compress-mode"], Value::Separate, |o, v| match v {
        "none" => Ok(()),
        "default" | "size" | "speed" | "balance" => {
            o.notes
                .push(format!("-compress-mode {v} has no effect: fat binaries are not compressed"));
            Ok(())
        }
        _ => Err(Failure::Usage(format!(
            "-compress-mode {v}: expected default, size, speed, balance or none"
        ))),
    }),
    flag(&["concat"], Value::None, note!("-concat has no effect: fat binaries are not compressed")),
    flag(
        &["reloc-ptx", "relocatable-ptx"],
        Value::None,
        note!("-reloc-ptx has no effect: device code is linked as PTX"),
    ),
    flag(&["Xnvprune", "nvprune-options"], Value::Separate, |o, _| {
        o.notes.push("-Xnvprune has no effect: there is no nvprune".into());
        Ok(())
    }),
    // the driver
    flag(&["v2", "verbose2"], Value::None, set!(verbose = true)),
    flag(
        &["split-compile-extended"],
        Value::Separate,
        note!("-split-compile-extended has no effect"),
    ),
    flag(&["jobserver"], Value::None, note!("-jobserver has no effect: passes start at once")),
    flag(
        &["fdevice-time-trace", "fdevice-time-trace-granularity"],
        Value::Separate,
        note!(
            "-fdevice-time-trace has no effect: -v shows clang's commands, to which -ftime-trace can be added"
        ),
    ),
    // other systems
    flag(&["use-local-env", "force-cl-env-setup"], Value::None, |o, _| {
        o.notes.push(
            "-use-local-env and -force-cl-env-setup have no effect: they are for cl.exe".into(),
        );
        Ok(())
    }),
    flag(
        &["idp", "input-drive-prefix", "ddp", "dependency-drive-prefix", "dp", "drive-prefix"],
        Value::Separate,
        note!("-idp, -ddp and -dp have no effect: they are for Windows"),
    ),
    flag(&["qpp-config"], Value::Separate, refuse!("-qpp-config: QNX is no system of margay's")),
    flag(&["hls", "host-linker-script"], Value::Separate, |o, v| match v {
        "use-lcs" => {
            o.notes.push(
                "-hls use-lcs has no effect: device code is linked when the program starts".into(),
            );
            Ok(())
        }
        "gen-lcs" => {
            Err(Failure::Unsupported("-hls gen-lcs: margay needs no script of the linker".into()))
        }
        _ => Err(Failure::Usage(format!("-hls {v}: expected use-lcs or gen-lcs"))),
    }),
    flag(
        &["aug-hls", "augment-host-linker-script"],
        Value::None,
        note!("-aug-hls has no effect: margay needs no script of the linker"),
    ),
];

fn count(flag: &str, value: &str) -> Result<u32, Failure> {
    value.parse().map_err(|_| Failure::Usage(format!("{flag} {value}: expected a number")))
}
