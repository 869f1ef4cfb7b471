// SPDX-License-Identifier: MIT OR Apache-2.0
//! memcheck: what the engine's own bounds stop, as findings, and what is never freed.
//!
//! Every access is held to the exact bytes of its allocation anyway; this names the allocation and
//! how far off the access was.

use margay_exec::fault::{Access, Fault, FaultKind, OTHER_SPACE};
use margay_exec::launch::LaunchFailure;
use margay_exec::mem::{AllocKind, AllocationInfo};
use margay_ir::Space;

use super::finding::{Actor, Check, Finding, Severity};
use super::view::space_name;
use crate::tool::{Refusal, Wanted};
use crate::words::Words;

/// The finding for a launch that ended in a fault of memory. `freed` tells which allocation was at an
/// address before it was freed.
pub fn failure(
    failure: &LaunchFailure,
    freed: &dyn Fn(u64) -> Option<AllocationInfo>,
    words: Words,
) -> Option<Finding> {
    let LaunchFailure::Fault(fault) = failure else { return None };
    let (code, action, space, address, bytes, cure) = match &fault.kind {
        FaultKind::IllegalAddress { space, address, bytes, access, nearest, why } => {
            let constant = *access != Access::Read
                && nearest.as_ref().is_some_and(|near| {
                    !near.kind.writable() && address.wrapping_sub(near.base) < near.size
                });
            let global = matches!(space, Space::Global | Space::Generic);
            let gone = if global { freed(*address) } else { None };
            let code = match space {
                Space::Global | Space::Generic if gone.is_some() => "memory/use-after-free",
                _ if OTHER_SPACE.contains(why) => "memory/address-space",
                Space::Const | Space::Param if *access != Access::Read => "memory/read-only",
                Space::Global | Space::Generic if constant => "memory/read-only",
                Space::Global | Space::Generic | Space::Const | Space::Param => {
                    "memory/out-of-bounds"
                }
                Space::Shared => "memory/shared-out-of-bounds",
                Space::Local => "memory/local-out-of-bounds",
            };
            let cure = match (*space, &gone, nearest) {
                _ if OTHER_SPACE.contains(why) => "access it by the instruction of its own space, or generically; \
                                                   cvta and cvta.to (__cvta_generic_to_shared) convert addresses"
                    .to_owned(),
                (Space::Shared, ..) => words
                    .say(
                        "check the index against the array's size, and against the shared memory \
                         that the launch asks for",
                        "check the index against the array's size, and against the local memory \
                         that clSetKernelArg asks for",
                    )
                    .to_owned(),
                (Space::Local, ..) => "check the index against the array's size".to_owned(),
                (Space::Param, ..) => "check the offset against the kernel's parameters".to_owned(),
                (Space::Global | Space::Generic | Space::Const, Some(gone), _) => format!(
                    "byte {} of the {} bytes of `{}` that were freed: free them after their last use",
                    address - gone.base,
                    gone.size,
                    gone.label
                ),
                (Space::Global | Space::Generic | Space::Const, None, Some(near)) => {
                    distance(near, *address, *bytes)
                }
                (Space::Global | Space::Generic | Space::Const, None, None) => {
                    let why = match *address < 4096 {
                        true => {
                            "the pointer is null: was the allocation checked, and was it passed?"
                        }
                        false => {
                            "the address is in no allocation of the device: is it a host pointer?"
                        }
                    };
                    why.to_owned()
                }
            };
            (code, verb(*access), Some(*space), Some(*address), Some(*bytes), cure)
        }
        FaultKind::InvalidFree { address, there, .. } => {
            let (code, cure) = wrong_free(*address, there.as_ref(), freed(*address).as_ref());
            (code, "free", None, Some(*address), None, cure)
        }
        FaultKind::Misaligned { space, address, bytes, access } => (
            "memory/misaligned",
            verb(*access),
            Some(*space),
            Some(*address),
            Some(*bytes),
            format!("an access of {bytes} bytes needs an address that {bytes} divides"),
        ),
        FaultKind::StackOverflow { .. } => (
            "memory/stack-overflow",
            "call",
            Some(Space::Local),
            None,
            None,
            words
                .say(
                    "raise cudaLimitStackSize, or make the recursion or the arrays smaller",
                    "make the private arrays smaller",
                )
                .to_owned(),
        ),
        FaultKind::InvalidAddressSpace { address, .. } => (
            "memory/address-space",
            "access",
            None,
            Some(*address),
            None,
            "the operation does not work on that memory space".to_owned(),
        ),
        FaultKind::InvalidPc { .. }
        | FaultKind::IllegalInstruction { .. }
        | FaultKind::Barrier(_)
        | FaultKind::Trap
        | FaultKind::Assert { .. }
        | FaultKind::Timeout { .. }
        | FaultKind::Deadlock { .. } => return None,
    };
    Some(Finding {
        check: Check::Memory,
        severity: Severity::Error,
        code: code.to_owned(),
        kernel: fault.kernel.clone(),
        message: fault.kind.to_string(),
        cure,
        space: space.map(|s| space_name(words, s).to_owned()),
        address,
        bytes,
        object: None,
        words,
        actors: vec![actor(action, fault)],
        count: 1,
    })
}

/// The code and the cure of device `free` of what is no block of the device's heap, or not any more.
fn wrong_free(
    address: u64,
    there: Option<&AllocationInfo>,
    gone: Option<&AllocationInfo>,
) -> (&'static str, String) {
    match (there, gone) {
        (Some(n), _) if n.kind == AllocKind::Heap => (
            "memory/invalid-free",
            format!(
                "it is byte {} of the {} bytes of `{}`: pass the address that malloc() gave",
                address - n.base,
                n.size,
                n.label
            ),
        ),
        (Some(n), _) => (
            "memory/invalid-free",
            format!(
                "it is of `{}`, which has {} bytes: free it by the call that goes with that",
                n.label, n.size
            ),
        ),
        (None, Some(gone)) if gone.base == address && gone.kind == AllocKind::Heap => (
            "memory/double-free",
            format!("the {} bytes of `{}` were there: free them once", gone.size, gone.label),
        ),
        (None, _) => {
            ("memory/invalid-free", "pass the address that malloc() of a kernel gave".to_owned())
        }
    }
}

fn actor(action: &str, fault: &Fault) -> Actor {
    Actor {
        action: action.to_owned(),
        block: fault.block,
        thread: Some(fault.thread),
        host: false,
        source: fault.place.clone().into(),
    }
}

/// What an access does, as findings name it.
pub(super) fn verb(access: Access) -> &'static str {
    match access {
        Access::Read => "read",
        Access::Write => "write",
        Access::Atomic => "atomic",
    }
}

fn distance(near: &AllocationInfo, address: u64, bytes: u32) -> String {
    let end = near.base + near.size;
    let read_only = !near.kind.writable();
    let what = format!("the {} bytes of `{}`", near.size, near.label);
    if address < near.base {
        let before = near.base - address;
        format!("{before} bytes before the start of {what}: check the index, which is negative")
    } else if address >= end {
        format!("{} bytes past the end of {what}: check the index against the size", address - end)
    } else if address + u64::from(bytes) > end {
        format!("{} of the bytes lie past the end of {what}", address + u64::from(bytes) - end)
    } else if read_only {
        format!("{what} are constant for kernels: write them from the host, or from elsewhere")
    } else {
        format!("inside {what}, where it is not allowed")
    }
}

/// The finding for an API call that was refused, with the freed allocation that its address was in.
pub fn refused(refusal: &Refusal, freed: Option<&AllocationInfo>) -> Finding {
    let Refusal { wanted, address, bytes, ref nearest } = *refusal;
    let near = nearest.as_ref();
    let holds = |n: &&AllocationInfo| (n.base..n.base + n.size.max(1)).contains(&address);
    let (code, message, cure) = match (wanted, freed) {
        (Wanted::Free, Some(gone)) if gone.base == address => (
            "memory/double-free",
            format!("{address:#x} is freed a second time"),
            format!("the {} bytes of `{}` were there: free them once", gone.size, gone.label),
        ),
        (Wanted::FreeAgain, _) => (
            "memory/double-free",
            format!("{address:#x} is freed a second time"),
            match near {
                Some(n) => format!(
                    "a stream frees the {} bytes of `{}` already: free them once",
                    n.size, n.label
                ),
                None => "a stream frees it already: free it once".to_owned(),
            },
        ),
        (Wanted::Free, _) => (
            "memory/invalid-free",
            format!("{address:#x} is freed, where no allocation begins"),
            match near.filter(holds) {
                Some(n) if n.base != address => format!(
                    "it is byte {} of the {} bytes of `{}`: pass the address that was allocated",
                    address - n.base,
                    n.size,
                    n.label
                ),
                Some(n) => {
                    format!("it is of `{}`: free it by the call that goes with that", n.label)
                }
                None => "pass the address that the allocation gave".to_owned(),
            },
        ),
        (Wanted::Use, gone) => (
            "memory/use-after-free",
            format!("the object at {address:#x} is used, which was released"),
            match gone {
                Some(gone) => {
                    format!("it had the {} bytes of `{}`: release it later", gone.size, gone.label)
                }
                None => "release it after its last use".to_owned(),
            },
        ),
        (Wanted::Copy, Some(gone)) => (
            "memory/use-after-free",
            format!("a copy or fill of {bytes} bytes at {address:#x}, which was freed"),
            format!("the {} bytes of `{}` were there: free them later", gone.size, gone.label),
        ),
        (Wanted::Copy, None) => (
            "memory/invalid-copy",
            match near.filter(holds) {
                Some(n) => format!(
                    "a copy or fill of {bytes} bytes, where {} are left of the {} of `{}`",
                    n.base + n.size - address,
                    n.size,
                    n.label
                ),
                None => format!(
                    "a copy or fill of {bytes} bytes at {address:#x}, which is in no allocation"
                ),
            },
            "check the size against that of the allocation, and which side the pointer is of"
                .to_owned(),
        ),
    };
    Finding {
        check: Check::Memory,
        severity: Severity::Error,
        code: code.to_owned(),
        kernel: String::new(),
        message,
        cure,
        space: None,
        address: Some(address),
        bytes: u32::try_from(bytes).ok().filter(|b| *b > 0),
        // The message tells one site from another.
        object: None,
        words: Words::default(),
        actors: Vec::new(),
        count: 1,
    }
}

/// The finding for memory that is still allocated when the process ends; `None` for what the
/// program did not ask for.
pub fn leak(allocation: &AllocationInfo) -> Option<Finding> {
    let asked = match allocation.kind {
        AllocKind::Device
        | AllocKind::Managed
        | AllocKind::HostPinned
        | AllocKind::Buffer
        | AllocKind::Mapped
        | AllocKind::MappedReadOnly => {
            allocation.label.starts_with("cu") || allocation.label.starts_with("cl")
        }
        AllocKind::Heap => true,
        AllocKind::HostRegistered | AllocKind::Constant | AllocKind::Param => false,
    };
    asked.then(|| Finding {
        check: Check::Memory,
        severity: Severity::Note,
        code: "memory/leak".to_owned(),
        kernel: String::new(),
        message: format!("{} bytes of {} are never freed", allocation.size, allocation.label),
        cure: "free them before the program ends".to_owned(),
        space: None,
        address: Some(allocation.base),
        bytes: None,
        object: Some(format!("{}, {} bytes", allocation.label, allocation.size)),
        words: Words::default(),
        actors: Vec::new(),
        count: 1,
    })
}

#[cfg(test)]
mod tests {
    use margay_exec::mem::AddressSpace;

    use super::*;

    fn allocation(kind: AllocKind, label: &str) -> AllocationInfo {
        let space = AddressSpace::new().unwrap();
        let base = space.alloc(64, 16, kind, 0, label).unwrap();
        AllocationInfo { base: 0x1000, ..space.find(base).unwrap() }
    }

    fn found(kind: FaultKind, freed: Option<&AllocationInfo>) -> Finding {
        let fault = Fault {
            kind,
            kernel: "k".to_owned(),
            block: [0; 3],
            thread: [0; 3],
            place: Default::default(),
        };
        let at = |address: u64| freed.filter(|f| address - f.base < f.size).cloned();
        failure(&LaunchFailure::Fault(Box::new(fault)), &at, Words::Cuda).expect("a finding")
    }

    #[test]
    fn frees_of_what_is_no_block() {
        let heap = allocation(AllocKind::Heap, "device malloc");
        let device = allocation(AllocKind::Device, "cudaMalloc");
        let free = |address, there: Option<&AllocationInfo>, gone| {
            found(FaultKind::InvalidFree { address, there: there.cloned(), why: "" }, gone).code
        };
        assert_eq!(free(0x1000, None, Some(&heap)), "memory/double-free");
        assert_eq!(free(0x1004, None, Some(&heap)), "memory/invalid-free");
        assert_eq!(free(0x1004, Some(&heap), None), "memory/invalid-free");
        assert_eq!(free(0x1000, Some(&device), None), "memory/invalid-free");
        assert!(leak(&heap).is_some());
    }

    #[test]
    fn accesses_that_are_not_allowed_say_why() {
        let constant = allocation(AllocKind::Constant, "table");
        let device = allocation(AllocKind::Device, "cudaMalloc");
        let at = |space, address, access, near: &AllocationInfo, why| FaultKind::IllegalAddress {
            space,
            address,
            bytes: 4,
            access,
            nearest: Some(near.clone()),
            why,
        };
        let write = found(at(Space::Global, 0x1010, Access::Write, &constant, ""), None);
        assert_eq!(write.code, "memory/read-only");
        let before = found(at(Space::Global, 0xffc, Access::Write, &device, ""), None);
        assert_eq!(before.code, "memory/out-of-bounds");
        assert!(before.cure.starts_with("4 bytes before the start of the 64 bytes"), "{before:?}");
        let other = at(Space::Shared, 0x1000, Access::Read, &device, OTHER_SPACE[0]);
        assert_eq!(found(other, None).code, "memory/address-space");
    }
}
