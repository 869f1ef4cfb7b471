// SPDX-License-Identifier: MIT OR Apache-2.0
//! Launches that a fault ended which none of the checks that are on tells of.
//!
//! What comes behind such a fault was not checked, so the run has not shown that nothing is wrong.

use margay_exec::fault::{Fault, FaultKind};

use super::finding::{Actor, Check, Finding, Severity};
use crate::words::Words;

/// The finding for a launch that ended by a fault, in the name of one of the checks that were on.
pub fn failure(fault: &Fault, check: Check, words: Words) -> Finding {
    Finding {
        check,
        severity: Severity::Error,
        code: "launch/failed".to_owned(),
        kernel: fault.kernel.clone(),
        message: match words {
            Words::Cuda => format!("the launch ended by {}: {}", fault.kind.error(), fault.kind),
            // OpenCL has one code for whatever stops a kernel.
            Words::OpenCl => format!("the kernel ended by CL_OUT_OF_RESOURCES: {}", fault.kind),
        },
        cure: cure(&fault.kind).to_owned(),
        space: None,
        address: None,
        bytes: None,
        object: None,
        words,
        actors: vec![Actor {
            action: action(&fault.kind).to_owned(),
            block: fault.block,
            thread: Some(fault.thread),
            host: false,
            source: fault.place.clone().into(),
        }],
        count: 1,
    }
}

/// What the thread did.
fn action(kind: &FaultKind) -> &'static str {
    match kind {
        FaultKind::IllegalAddress { .. }
        | FaultKind::Misaligned { .. }
        | FaultKind::InvalidAddressSpace { .. } => "access",
        FaultKind::InvalidFree { .. }
        | FaultKind::InvalidPc { .. }
        | FaultKind::StackOverflow { .. } => "call",
        FaultKind::IllegalInstruction { .. } => "instruction",
        FaultKind::Deadlock { spins: true, .. } => "wait",
        FaultKind::Barrier(_) | FaultKind::Deadlock { spins: false, .. } => "barrier",
        FaultKind::Trap => "trap",
        FaultKind::Assert { .. } => "assert",
        FaultKind::Timeout { .. } => "still here",
    }
}

fn cure(kind: &FaultKind) -> &'static str {
    match kind {
        FaultKind::IllegalAddress { .. }
        | FaultKind::InvalidFree { .. }
        | FaultKind::Misaligned { .. }
        | FaultKind::InvalidAddressSpace { .. }
        | FaultKind::StackOverflow { .. } => "--check memory says more",
        FaultKind::Barrier(_) | FaultKind::Deadlock { .. } => "--check sync says more",
        FaultKind::Timeout { .. } => {
            "if it only needs longer, raise --timeout; --check sync says who waits where"
        }
        FaultKind::InvalidPc { .. }
        | FaultKind::IllegalInstruction { .. }
        | FaultKind::Trap
        | FaultKind::Assert { .. } => "what would have come from there on was not checked",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_and_the_place_are_told() {
        let fault = Fault {
            kind: FaultKind::Trap,
            kernel: "k".to_owned(),
            block: [1, 0, 0],
            thread: [2, 0, 0],
            place: Default::default(),
        };
        let found = failure(&fault, Check::Race, Words::Cuda);
        assert_eq!((&*found.code, found.check), ("launch/failed", Check::Race));
        assert_eq!(found.message, "the launch ended by CUDA_ERROR_LAUNCH_FAILED: trap");
        let actor = &found.actors[0];
        assert_eq!((actor.block, actor.thread), ([1, 0, 0], Some([2, 0, 0])));
    }
}
