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

/// The error itself. Each maps to one CUDA error code (in `margay-runtime`).
#[derive(Clone, Debug, PartialEq)]
pub enum FaultKind {
    /// CUDA_ERROR_ILLEGAL_ADDRESS (700). `nearest` is the allocation that contains or most closely
    /// precedes the address, for the message.
    IllegalAddress {
        space: Space,
        address: u64,
        bytes: u32,
        access: Access,
        nearest: Option<AllocationInfo>,
        why: &'static str,
    },
    /// CUDA_ERROR_MISALIGNED_ADDRESS (716).
    Misaligned { space: Space, address: u64, bytes: u32, access: Access },
    /// CUDA_ERROR_INVALID_ADDRESS_SPACE (717): an operation on a space that it does not work on.
    InvalidAddressSpace { address: u64, why: &'static str },
    /// CUDA_ERROR_INVALID_PC (718): an indirect call or branch to nowhere.
    InvalidPc { target: u64 },
    /// CUDA_ERROR_ILLEGAL_INSTRUCTION (715).
    IllegalInstruction { why: String },
    /// CUDA_ERROR_LAUNCH_FAILED (719): `trap`.
    Trap,
    /// CUDA_ERROR_ASSERT (710).
    Assert { message: String, file: String, line: u32, function: String },
    /// CUDA_ERROR_HARDWARE_STACK_ERROR (714).
    StackOverflow { needed: u64, limit: u64 },
    /// CUDA_ERROR_LAUNCH_TIMEOUT (702): `--timeout`, or nothing can make progress any more.
    Timeout { after: std::time::Duration },
    /// Also 702: a report of who waits where.
    Deadlock { who: String },
}

/// Where in the source. `file:line:column` from `.loc`, and the PTX line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    pub file: Option<String>,
    pub line: u32,
    pub column: u32,
    pub ptx_line: u32,
    /// Name of the device function that holds the instruction.
    pub function: String,
    /// The instruction, as IR text.
    pub instruction: String,
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

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.kind)
    }
}
