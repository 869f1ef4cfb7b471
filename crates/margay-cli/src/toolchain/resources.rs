// SPDX-License-Identifier: MIT OR Apache-2.0
//! `-Xptxas -v` and `-res-usage`: what each kernel uses, in the words of ptxas, for which scripts look.

use std::fmt::Write;

use margay_runtime::usage::{self, ModuleUsage};

use super::arch::Arch;

/// The report on PTX for `arch`. ptxas says the same on standard error.
pub fn report(ptx: &str, arch: Arch) -> String {
    usage::of_ptx(ptx.as_bytes()).map_or_else(String::new, |module| lines(&module, arch))
}

/// The report on the device code of several files, once it is linked.
pub fn report_linked(image: &[u8], arch: Arch) -> String {
    let module = usage::of_linked(image, arch.number);
    module.map_or_else(String::new, |module| lines(&module, arch))
}

/// Registers are estimated; the bank of constants has what the driver puts there beside the parameters,
/// which only a card's driver knows.
fn lines(module: &ModuleUsage, arch: Arch) -> String {
    let mut out = String::new();
    let constants = match module.constant {
        0 => String::new(),
        bytes => format!(", {bytes} bytes cmem[3]"),
    };
    let _ = writeln!(out, "ptxas info    : {} bytes gmem{constants}", module.global);
    for kernel in &module.kernels {
        let name = &kernel.name;
        let _ = writeln!(out, "ptxas info    : Compiling entry function '{name}' for '{arch}'");
        let of = match &kernel.resources {
            Ok(of) => of,
            Err(why) => {
                let _ = writeln!(out, "ptxas info    : Not known for {name}: {why}");
                continue;
            }
        };
        let _ = writeln!(out, "ptxas info    : Function properties for {name}");
        let open = if of.stack_is_open { " or more" } else { "" };
        let _ = writeln!(
            out,
            "    {} bytes{open} stack frame, 0 bytes spill stores, 0 bytes spill loads",
            of.stack
        );
        let mut used = format!("Used {} registers", of.registers);
        if of.static_shared > 0 {
            let _ = write!(used, ", {} bytes smem", of.static_shared);
        }
        let _ = writeln!(out, "ptxas info    : {used}, {} bytes cmem[0]{constants}", of.parameters);
    }
    out
}
