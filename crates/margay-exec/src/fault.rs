// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a guest can do wrong, with everything a message needs.

use std::fmt;

use margay_ir::Space;

use crate::mem::AllocationInfo;

/// How memory was touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    Read,
    Write,
    Atomic,
}

/// Why an address is illegal that belongs to another space than the instruction names.
pub const OTHER_SPACE: [&str; 4] =
    [SHARED_AS_GLOBAL, LOCAL_AS_GLOBAL, GLOBAL_AS_SHARED, GENERIC_AS_SHARED];
pub const SHARED_AS_GLOBAL: &str = "a generic address of shared memory, accessed as global memory";
pub const LOCAL_AS_GLOBAL: &str = "a generic address of local memory, accessed as global memory";
pub const GLOBAL_AS_SHARED: &str =
    "the low half of an address of global memory, accessed as shared memory";
pub const GENERIC_AS_SHARED: &str = "a generic address of shared memory, accessed as shared memory";

/// The error itself. Each maps to one CUDA error code (in `margay-runtime`).
#[derive(Clone, Debug, PartialEq)]
pub enum FaultKind {
    /// CUDA_ERROR_ILLEGAL_ADDRESS (700). `nearest` is the allocation that contains the address or is the
    /// closest to it, for the message.
    IllegalAddress {
        space: Space,
        address: u64,
        bytes: u32,
        access: Access,
        nearest: Option<AllocationInfo>,
        why: &'static str,
    },
    /// Also 700: device `free` of what device `malloc` did not give. `there` is the allocation that has the address.
    InvalidFree { address: u64, there: Option<AllocationInfo>, why: &'static str },
    /// CUDA_ERROR_MISALIGNED_ADDRESS (716).
    Misaligned { space: Space, address: u64, bytes: u32, access: Access },
    /// CUDA_ERROR_INVALID_ADDRESS_SPACE (717): an operation on a space that it does not work on.
    InvalidAddressSpace { address: u64, why: &'static str },
    /// CUDA_ERROR_INVALID_PC (718): an indirect call or branch to nowhere.
    InvalidPc { target: u64 },
    /// CUDA_ERROR_ILLEGAL_INSTRUCTION (715).
    IllegalInstruction { why: String },
    /// Also 715: a barrier instruction whose operands cannot be.
    Barrier(BarrierMisuse),
    /// CUDA_ERROR_LAUNCH_FAILED (719): `trap`.
    Trap,
    /// CUDA_ERROR_ASSERT (710).
    Assert { message: String, file: String, line: u32, function: String },
    /// CUDA_ERROR_HARDWARE_STACK_ERROR (714).
    StackOverflow { needed: u64, limit: u64 },
    /// CUDA_ERROR_LAUNCH_TIMEOUT (702): `--timeout`, or nothing can make progress any more.
    /// `who` waits where then, as far as that is known.
    Timeout { after: std::time::Duration, who: String },
    /// Also 702: a report of who waits where.
    Deadlock {
        who: String,
        /// Some thread of them looks at memory again and again, or just goes round.
        spins: bool,
    },
}

/// What is wrong with a barrier instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BarrierMisuse {
    /// A block has no barrier of this number.
    Number(u32),
    /// A count of threads that is not in whole warps.
    Count(u32),
    /// The count of those that have arrived, and another of one that arrives.
    Counts { open: u32, other: u32 },
}

impl fmt::Display for BarrierMisuse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BarrierMisuse::Number(id) => {
                write!(f, "barrier {id} does not exist: there are 16 a block")
            }
            BarrierMisuse::Count(n) => {
                write!(f, "a barrier's thread count is {n}, not a multiple of 32")
            }
            BarrierMisuse::Counts { open, other } => {
                write!(f, "threads disagree about a barrier's count: {open} and {other}")
            }
        }
    }
}

/// Where in the source. `file:line:column` from `.loc`, and the PTX line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    pub file: Option<String>,
    pub line: u32,
    pub column: u32,
    pub ptx_line: u32,
    /// The line, of a source that may lie on no disk.
    pub text: Option<String>,
    /// Name of the device function that holds the instruction.
    pub function: String,
    /// The instruction, as IR text.
    pub instruction: String,
}

/// A thread of a grid and where it is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Spot {
    pub block: [u32; 3],
    pub thread: [u32; 3],
    pub place: Place,
}

/// A guest fault: sticky for the context, printed on stderr, never a panic.
#[derive(Clone, Debug, PartialEq)]
pub struct Fault {
    pub kind: FaultKind,
    pub kernel: String,
    pub block: [u32; 3],
    pub thread: [u32; 3],
    pub place: Place,
}

impl FaultKind {
    /// The name of the CUDA error that a kernel ends with, but for writes to constant memory.
    pub fn error(&self) -> &'static str {
        match self {
            FaultKind::IllegalAddress { .. } | FaultKind::InvalidFree { .. } => {
                "CUDA_ERROR_ILLEGAL_ADDRESS"
            }
            FaultKind::Misaligned { .. } => "CUDA_ERROR_MISALIGNED_ADDRESS",
            FaultKind::InvalidAddressSpace { .. } => "CUDA_ERROR_INVALID_ADDRESS_SPACE",
            FaultKind::InvalidPc { .. } => "CUDA_ERROR_INVALID_PC",
            FaultKind::IllegalInstruction { .. } | FaultKind::Barrier(_) => {
                "CUDA_ERROR_ILLEGAL_INSTRUCTION"
            }
            FaultKind::Trap => "CUDA_ERROR_LAUNCH_FAILED",
            FaultKind::Assert { .. } => "CUDA_ERROR_ASSERT",
            FaultKind::StackOverflow { .. } => "CUDA_ERROR_HARDWARE_STACK_ERROR",
            FaultKind::Timeout { .. } | FaultKind::Deadlock { .. } => "CUDA_ERROR_LAUNCH_TIMEOUT",
        }
    }
}

impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verb = |access: &Access| match access {
            Access::Read => "read",
            Access::Write => "write",
            Access::Atomic => "atomic",
        };
        match self {
            FaultKind::IllegalAddress { space, address, bytes, access, nearest, why } => {
                let verb = verb(access);
                match bytes {
                    // No access, but a call that was given the address.
                    0 => write!(f, "{why}: {address:#x}")?,
                    _ => write!(
                        f,
                        "illegal {verb} of {bytes} bytes at {address:#x} ({space:?}): {why}"
                    )?,
                }
                match nearest {
                    Some(near) if *address < near.base => write!(
                        f,
                        "; {} bytes before the start of `{}`, which has {}",
                        near.base - address,
                        near.label,
                        near.size
                    ),
                    Some(near) => write!(
                        f,
                        "; {} bytes past the start of `{}`, which has {}",
                        address - near.base,
                        near.label,
                        near.size
                    ),
                    None => Ok(()),
                }
            }
            FaultKind::InvalidFree { address, why, .. } => write!(f, "{why}: {address:#x}"),
            FaultKind::Misaligned { space, address, bytes, access } => {
                let verb = verb(access);
                write!(f, "misaligned {verb} of {bytes} bytes at {address:#x} ({space:?})")
            }
            FaultKind::InvalidAddressSpace { address, why } => {
                write!(f, "wrong address space at {address:#x}: {why}")
            }
            FaultKind::InvalidPc { target } => write!(f, "jump or call to {target:#x}, no code"),
            FaultKind::IllegalInstruction { why } => write!(f, "illegal instruction: {why}"),
            FaultKind::Barrier(misuse) => write!(f, "illegal instruction: {misuse}"),
            FaultKind::Trap => write!(f, "trap"),
            FaultKind::Assert { message, file, line, function } => {
                write!(f, "{file}:{line}: {function}: assertion `{message}` failed")
            }
            FaultKind::StackOverflow { needed, limit } => {
                write!(f, "stack overflow: {needed} bytes a thread needed, {limit} allowed")
            }
            FaultKind::Timeout { after, who } => {
                write!(f, "not done after {after:?}")?;
                if who.is_empty() { Ok(()) } else { write!(f, ": {who}") }
            }
            FaultKind::Deadlock { who, .. } => write!(f, "deadlock: {who}"),
        }
    }
}

impl fmt::Display for Spot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ([bx, by, bz], [tx, ty, tz]) = (self.block, self.thread);
        write!(f, "block ({bx},{by},{bz}), thread ({tx},{ty},{tz})")?;
        match &self.place.file {
            Some(file) => write!(f, ", {file}:{}:{}", self.place.line, self.place.column),
            None if self.place.ptx_line != 0 => write!(f, ", PTX line {}", self.place.ptx_line),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let spot = Spot { block: self.block, thread: self.thread, place: self.place.clone() };
        write!(f, "{}: kernel {}, {spot}", self.kind, self.kernel)
    }
}
