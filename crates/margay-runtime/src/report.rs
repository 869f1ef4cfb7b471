// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the user reads on stderr. `MARGAY_LOG=off` silences all of it.

use std::fmt::Write;

use margay_exec::fault::{Access, Fault, FaultKind};
use margay_exec::launch::LaunchFailure;
use margay_exec::mem::{AllocationInfo, Bounds};
use margay_ir::Space;
use margay_observe::words::Words;

use crate::error::CudaError;
use crate::function::Function;
use crate::launch::RunFailure;
use crate::runtime;

/// One line of advice, which the log has too.
pub fn warn(text: &str) {
    crate::logs::record(crate::logs::Level::Warning, "margay", text);
    if runtime::initialized().map_or(true, |rt| rt.settings.log) {
        eprintln!("margay: {text}");
    }
}

/// One line without which the program's end cannot be understood: not to be silenced.
pub fn say(text: &str) {
    crate::logs::record(crate::logs::Level::Error, "margay", text);
    eprintln!("margay: {text}");
}

/// Reports a kernel's fault. A failed assertion has its lines on stderr already, with all there is to
/// say, and as programs compare them.
pub(crate) fn fault(fault: &Fault, words: Words) {
    let said = matches!(fault.kind, FaultKind::Assert { .. });
    let text = describe(fault, true, words);
    crate::logs::record(crate::logs::Level::Error, &fault.kernel, text.trim_end());
    if !said && runtime::get().settings.log {
        eprint!("{text}");
    }
}

/// The words about a launch that OpenCL made and that ended badly; they are also on stderr. `first_group`: of the
/// range that the launch was a part of.
pub fn opencl_failure(function: &Function, failure: &RunFailure, first_group: [u32; 3]) -> String {
    let text = match failure {
        RunFailure::Refused(error) => format!("kernel {} cannot run: {error}", function.name()),
        RunFailure::LocalMemory { needed, most } => {
            too_much_local(function.name(), u64::from(*needed), u64::from(*most))
        }
        RunFailure::Stopped(LaunchFailure::Fault(fault)) => {
            let mut fault = fault.clone();
            for (group, first) in fault.block.iter_mut().zip(first_group) {
                *group = group.saturating_add(first);
            }
            self::fault(&fault, Words::OpenCl);
            return describe(&fault, true, Words::OpenCl);
        }
        RunFailure::Stopped(stopped) => stopped.to_string(),
    };
    warn(&text);
    text
}

/// Why `clEnqueueNDRangeKernel` refuses a kernel for want of local memory.
pub fn too_much_local(kernel: &str, needed: u64, most: u64) -> String {
    format!(
        "CL_OUT_OF_RESOURCES (-5): kernel {kernel} needs {needed} bytes of local memory for its variables and \
         arguments, a work-group has {most} (CL_DEVICE_LOCAL_MEM_SIZE)"
    )
}

/// Who launched the kernel that ended badly, from device code.
pub(crate) fn child(kernel: &str, parent: &crate::launch::Parent) {
    let ([bx, by, bz], [tx, ty, tz]) = (parent.caller.block, parent.caller.thread);
    warn(&format!(
        "kernel {kernel} was launched by kernel {}, block ({bx},{by},{bz}), thread ({tx},{ty},{tz})",
        parent.kernel
    ));
}

fn space_name(space: Space) -> &'static str {
    match space {
        Space::Generic => "generic",
        Space::Global => "global",
        Space::Shared => "shared",
        Space::Local => "local",
        Space::Const => "constant",
        Space::Param => "parameter",
    }
}

fn access_name(access: Access) -> &'static str {
    match access {
        Access::Read => "read",
        Access::Write => "write",
        Access::Atomic => "atomic access",
    }
}

/// Where an address lies relative to an allocation, in words.
fn relation(address: u64, bytes: u32, near: &AllocationInfo) -> String {
    let AllocationInfo { base, size, label, id, .. } = near;
    let name = format!("`{label}` #{id} of {size} bytes at {base:#x}");
    let offset = address.wrapping_sub(*base);
    if address < *base {
        format!("{} bytes before {name}", base - address)
    } else if offset < *size && offset + u64::from(bytes) > *size {
        format!("starts {} bytes before the end of {name}", size - offset)
    } else if offset < *size {
        format!("at byte {offset} of {name}")
    } else if offset == *size {
        format!("just past the end of {name}")
    } else {
        format!("{} bytes past the end of {name}", offset - size)
    }
}

/// Whether the program asked for a card's pages already.
fn pages() -> bool {
    runtime::initialized().is_ok_and(|rt| rt.settings.bounds == Bounds::Page)
}

/// The whole message; `hint` adds what could be done.
pub fn describe(fault: &Fault, hint: bool, words: Words) -> String {
    let error = CudaError::of_fault(&fault.kind);
    let code = match words {
        Words::Cuda => format!("{} ({})", error.name(), error.code()),
        // OpenCL has one code for whatever stops a kernel.
        Words::OpenCl => "CL_OUT_OF_RESOURCES (-5)".to_owned(),
    };
    let mut out = format!("margay: {code}: {}\n", error.text());
    let mut line = |text: String| {
        let _ = writeln!(out, "  {text}");
    };
    let mut advice: Option<&str> = None;
    match &fault.kind {
        FaultKind::IllegalAddress { space, address, bytes, access, nearest, why } => {
            let by_pages = matches!(space, Space::Global | Space::Generic) && !pages();
            let (access, space) = (access_name(*access), words.space(space_name(*space)));
            line(match bytes {
                // No access, but a call that was given the address.
                0 => format!("{why}: {address:#x}"),
                _ => format!("{access} of {bytes} bytes at {space} address {address:#x}: {why}"),
            });
            if let Some(near) = nearest {
                line(format!("which is {}", relation(*address, *bytes, near)));
                let past = address.wrapping_sub(near.base);
                let accessed = *bytes > 0;
                if accessed
                    && by_pages
                    && *address >= near.base
                    && past < near.size.next_multiple_of(2 << 20)
                {
                    advice = Some(
                        "a card notices only accesses outside its pages; MARGAY_BOUNDS=page does \
                         as it does",
                    );
                }
            }
        }
        FaultKind::InvalidFree { address, there, why } => {
            line(format!("{why}: {address:#x}"));
            if let Some(there) = there {
                line(format!("which is {}", relation(*address, 0, there)));
            }
        }
        FaultKind::Misaligned { space, address, bytes, access } => {
            let (access, space) = (access_name(*access), words.space(space_name(*space)));
            let off = address % u64::from((*bytes).max(1));
            line(format!(
                "{access} of {bytes} bytes at {space} address {address:#x}, which is {off} past \
                 a multiple of {bytes}"
            ));
        }
        FaultKind::InvalidAddressSpace { address, why } => line(format!("{address:#x}: {why}")),
        FaultKind::InvalidPc { target } => {
            line(format!("an indirect call or branch to {target:#x}, where no function is"));
        }
        FaultKind::IllegalInstruction { why } => line(why.clone()),
        FaultKind::Barrier(misuse) => line(misuse.to_string()),
        FaultKind::Trap => line("the kernel executed `trap`".to_owned()),
        FaultKind::Assert { message, file, line: number, function } => {
            line(format!("{file}:{number}: {function}: assertion `{message}` failed"));
        }
        FaultKind::StackOverflow { needed, limit } => {
            let thread = words.say("thread", "work-item");
            line(format!("a {thread}'s stack needs {needed} bytes, the limit is {limit}"));
            advice = match words {
                Words::Cuda => Some("cudaDeviceSetLimit(cudaLimitStackSize, bytes) raises it"),
                Words::OpenCl => None,
            };
        }
        FaultKind::Timeout { after, .. } => {
            line(format!("the kernel still ran after {:.1} s", after.as_secs_f64()));
            advice = Some("MARGAY_TIMEOUT (seconds; `margay run --timeout`) sets the limit");
        }
        FaultKind::Deadlock { who, .. } => {
            line(format!("no {} can make progress:", words.say("thread", "work-item")));
            who.lines().for_each(|text| line(text.to_owned()));
        }
    }
    let who = words.who(fault.block, Some(fault.thread));
    line(format!("in kernel {}, {who}", fault.kernel));
    let place = &fault.place;
    let mut at = String::new();
    if let Some(file) = &place.file {
        at = format!("{file}:{}:{}, ", place.line, place.column);
    }
    if place.ptx_line != 0 {
        at += &format!("PTX line {}", place.ptx_line);
    }
    if !at.is_empty() {
        line(format!("at {} in {}", at.trim_end_matches(", "), place.function));
    }
    if let Some(text) = &place.text {
        line(format!("  {}", text.trim()));
    }
    if !place.instruction.is_empty() {
        line(format!("instruction: {}", place.instruction));
    }
    if let Some(advice) = advice.filter(|_| hint) {
        line(format!("hint: {advice}"));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use margay_exec::fault::Place;
    use margay_exec::mem::AllocKind;

    #[test]
    fn says_who_where_and_how_far() {
        let near = AllocationInfo {
            base: 0x1000,
            size: 400,
            kind: AllocKind::Device,
            device: 0,
            access: margay_exec::mem::devices::Access::EVERYBODY,
            label: "cudaMalloc".into(),
            id: 7,
        };
        let kind = FaultKind::IllegalAddress {
            space: Space::Global,
            address: 0x1000 + 404,
            bytes: 4,
            access: Access::Write,
            nearest: Some(near),
            why: "no allocation",
        };
        let place = Place {
            file: Some("add.cu".into()),
            line: 7,
            column: 3,
            ptx_line: 41,
            function: "add".into(),
            instruction: "st.global.i32".into(),
            ..Place::default()
        };
        let fault =
            Fault { kind, kernel: "add".into(), block: [1, 0, 0], thread: [3, 0, 0], place };
        let text = describe(&fault, true, Words::Cuda);
        for part in [
            "CUDA_ERROR_ILLEGAL_ADDRESS (700)",
            "write of 4 bytes at global address 0x1194",
            "4 bytes past the end of `cudaMalloc` #7 of 400 bytes",
            "kernel add, block (1,0,0), thread (3,0,0)",
            "add.cu:7:3, PTX line 41",
            "MARGAY_BOUNDS=page",
        ] {
            assert!(text.contains(part), "{part:?} is not in:\n{text}");
        }
        let text = describe(&fault, true, Words::OpenCl);
        for part in ["CL_OUT_OF_RESOURCES (-5)", "work-group (1,0,0), work-item (3,0,0)"] {
            assert!(text.contains(part), "{part:?} is not in:\n{text}");
        }
    }
}
