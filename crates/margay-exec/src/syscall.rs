// SPDX-License-Identifier: MIT OR Apache-2.0
//! Calls of the device run time: `vprintf`, OpenCL's `printf`, `malloc`, `free`, `__assertfail`.

use margay_ir::{Class, Space, Syscall};

use crate::fault::{Access, FaultKind};
use crate::format::{self, Arguments};
use crate::handlers::address::{read_bytes, resolve_lane};
use crate::interp::Cx;
use crate::lanes::{LaneFault, active};
use crate::launch::Caller;
use crate::mem::AllocKind;

/// Arguments of a function of the device run time, each word of a structure being one.
const MOST_ARGUMENTS: usize = 32;
/// Longest string that is read from guest memory.
const MAX_STRING: usize = 1 << 16;

/// Carries out the call `site` for the active lanes, in ascending order. Of a failed assertion every
/// one of them reports, as on a card; the fault is the first's.
pub fn run(cx: &mut Cx<'_>, site: usize) -> Result<(), Box<LaneFault>> {
    let env = cx.env;
    let site = &env.program.syscalls[site];
    let mut failed = None;
    for l in active(cx.mask) {
        let mut args = [0u64; 11];
        for (value, &(operand, class)) in args.iter_mut().zip(&site.args) {
            // SAFETY: operands were decoded for this frame with these classes.
            *value = unsafe {
                match class {
                    Class::D => cx.double(operand, l),
                    Class::W => cx.word(operand, l) as u64,
                    Class::P => (cx.pred(operand) >> l & 1) as u64,
                }
            };
        }
        let result = match site.call {
            Syscall::Vprintf => print(cx, l, args[0], args[1]),
            Syscall::Printf => print_opencl(cx, l, args[0], args[1]),
            Syscall::Malloc => {
                cx.changes += 1;
                let address = env.host.malloc(args[0]);
                if address != 0
                    && let Some(watch) = &mut cx.watch
                {
                    watch.allocated(address..address + args[0]);
                }
                Ok(address)
            }
            Syscall::Free => release(cx, args[0]),
            Syscall::Runtime => runtime(cx, l, &args),
            Syscall::AssertFail => {
                let kind = assert_fail(cx, l, &args);
                failed.get_or_insert_with(|| Box::new(LaneFault { lane: l as u32, kind }));
                continue;
            }
        };
        let value = result.map_err(|kind| Box::new(LaneFault { lane: l as u32, kind: *kind }))?;
        if let Some((operand, class)) = site.dst {
            // SAFETY: as above.
            unsafe {
                match class {
                    Class::D => *(cx.plane(operand) as *mut u64).add(l) = value,
                    Class::W => *(cx.plane(operand) as *mut u32).add(l) = value as u32,
                    Class::P => {}
                }
            }
        }
    }
    failed.map_or(Ok(()), Err)
}

/// A call of CUDA's device run time: what it means is the host's matter, guest memory is ours.
fn runtime(cx: &mut Cx<'_>, lane: usize, passed: &[u64; 11]) -> Result<u64, Box<FaultKind>> {
    let (function, words) = (passed[0] as u32 & 0xffff, (passed[0] as u32 >> 16) as usize);
    let (mut args, mut count) = ([0u64; MOST_ARGUMENTS], 0);
    if words != 0 {
        count = words.min(MOST_ARGUMENTS - 9);
        let mut at = Packed { cx, lane, at: passed[1] };
        for arg in &mut args[..count] {
            *arg = at.next(8)?;
        }
    }
    for arg in &passed[1 + usize::from(words != 0)..] {
        args[count] = *arg;
        count += 1;
    }
    // SAFETY: the running warp's planes of thread indices.
    let thread = cx.view.tid.map(|plane| unsafe { (*plane)[lane] });
    let caller = Caller { block: cx.view.ctaid, thread };
    let host = cx.env.host;
    let reply = host.device_runtime(function, &args[..count], caller)?;
    cx.changes += 1;
    for (address, bytes) in &reply.stores {
        let slot = cx.extents.len() - 1;
        let size = bytes.len() as u64;
        let to = resolve_lane(cx, slot, lane, Space::Generic, Access::Write, *address, size)?;
        // SAFETY: resolved for writing so many bytes.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to as *mut u8, bytes.len()) };
    }
    Ok(reply.value)
}

fn release(cx: &mut Cx<'_>, address: u64) -> Result<u64, Box<FaultKind>> {
    cx.changes += 1;
    if address == 0 || cx.env.host.free(address) {
        return Ok(0);
    }
    // Only what lies at the address is of interest: a neighbour would mislead.
    let there = cx.env.memory.find(address);
    let why = match there.as_ref().map(|info| info.kind) {
        Some(AllocKind::Heap) => "free() of an address inside of what malloc() gave, not its start",
        Some(
            AllocKind::Device
            | AllocKind::Managed
            | AllocKind::HostPinned
            | AllocKind::HostRegistered
            | AllocKind::Constant
            | AllocKind::Param
            | AllocKind::Buffer
            | AllocKind::Mapped
            | AllocKind::MappedReadOnly,
        ) => {
            "free() of memory that the host allocated; only what device malloc() gave can be freed here"
        }
        None => "free() of an address that malloc() did not give, or that was freed before",
    };
    Err(Box::new(FaultKind::InvalidFree { address, there, why }))
}

fn assert_fail(cx: &mut Cx<'_>, lane: usize, args: &[u64; 11]) -> FaultKind {
    let mut text = |address: u64| match read_bytes(cx, lane, address, MAX_STRING, |b| b == 0) {
        Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        // A bad string must not hide the assertion.
        Err(_) => format!("<unreadable string at {address:#x}>"),
    };
    let (message, file, function) = (text(args[0]), text(args[1]), text(args[3]));
    let line = args[2] as u32;
    let [bx, by, bz] = cx.view.ctaid;
    // SAFETY: the running warp's planes of thread indices.
    let [tx, ty, tz] = cx.view.tid.map(|plane| unsafe { (*plane)[lane] });
    let report = format!(
        "{file}:{line}: {function}: block: [{bx},{by},{bz}], thread: [{tx},{ty},{tz}] Assertion \
         `{message}` failed.\n"
    );
    cx.env.host.assert_failed(report.as_bytes());
    FaultKind::Assert { message, file, line, function }
}

/// The arguments of one `vprintf` call: a packed buffer in generic memory.
struct Packed<'c, 'e> {
    cx: &'c mut Cx<'e>,
    lane: usize,
    at: u64,
}

impl Packed<'_, '_> {
    fn next(&mut self, bytes: u64) -> Result<u64, Box<FaultKind>> {
        // A pointer at the very end of the address space wraps, and then fails to resolve.
        let at = self.at.checked_next_multiple_of(bytes).unwrap_or(0);
        self.at = at.wrapping_add(bytes);
        let slot = self.cx.extents.len() - 1;
        let p = resolve_lane(self.cx, slot, self.lane, Space::Generic, Access::Read, at, bytes)
            .map_err(too_few)?;
        // SAFETY: resolved and aligned for this many bytes.
        Ok(unsafe { if bytes == 8 { *(p as *const u64) } else { *(p as *const u32) as u64 } })
    }
}

/// The fault of an argument that is not there: its address is of no use to anybody.
fn too_few(mut fault: Box<FaultKind>) -> Box<FaultKind> {
    if let FaultKind::IllegalAddress { why, nearest, .. } = &mut *fault {
        *why = "printf's format takes more arguments than the call passes";
        *nearest = None;
    }
    fault
}

impl Arguments for Packed<'_, '_> {
    type Error = Box<FaultKind>;

    fn word(&mut self) -> Result<u32, Self::Error> {
        self.next(4).map(|v| v as u32)
    }

    fn double(&mut self) -> Result<u64, Self::Error> {
        self.next(8)
    }

    fn string(&mut self, limit: usize) -> Result<Vec<u8>, Self::Error> {
        let at = self.next(8)?;
        if at == 0 {
            return Ok(b"(null)"[..limit.min(6)].to_vec());
        }
        read_bytes(self.cx, self.lane, at, limit.min(MAX_STRING), |b| b == 0)
    }
}

impl format::opencl::Varargs for Packed<'_, '_> {
    fn bytes(&mut self, size: u64) -> Result<Vec<u8>, Self::Error> {
        let at = self.at.checked_next_multiple_of(size.next_power_of_two()).unwrap_or(0);
        self.at = at.wrapping_add(size.next_power_of_two());
        read_bytes(self.cx, self.lane, at, size as usize, |_| false)
    }
}

fn print_opencl(cx: &mut Cx<'_>, lane: usize, text: u64, args: u64) -> Result<u64, Box<FaultKind>> {
    let text = read_bytes(cx, lane, text, MAX_STRING, |b| b == 0)?;
    let mut out = Vec::with_capacity(text.len() + 16);
    let good = format::opencl::format(&text, &mut Packed { cx, lane, at: args }, &mut out)?;
    cx.env.host.print(&out);
    Ok(if good { 0 } else { u64::MAX })
}

fn print(cx: &mut Cx<'_>, lane: usize, text: u64, args: u64) -> Result<u64, Box<FaultKind>> {
    if text == 0 {
        // The guide, "Formatted Output": -1 for a null format.
        return Ok(u64::MAX);
    }
    let text = read_bytes(cx, lane, text, MAX_STRING, |b| b == 0)?;
    let mut out = Vec::with_capacity(text.len() + 16);
    let n = format::format(&text, &mut Packed { cx, lane, at: args }, &mut out)?;
    cx.env.host.print(&out);
    Ok(n as u64)
}
