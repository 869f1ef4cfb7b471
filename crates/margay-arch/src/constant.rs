// SPDX-License-Identifier: MIT OR Apache-2.0
//! Constant memory: one address is broadcast, each further one is a pass of its own.

use crate::access::{Counts, Generation, MemoryModel, Rule, WarpAccess, distinct, group};
use crate::figure::Source;

/// A load.
pub(crate) fn count(model: &MemoryModel, access: &WarpAccess<'_>) -> Counts {
    // A load of 16 bytes is four instructions; 1.x has 32-bit operands only.
    let instructions = match (model.generation.is_tesla(), access.width) {
        (true, width) => width.div_ceil(4),
        (false, 16..) => access.width / 4,
        (false, _) => 1,
    };
    let size = if model.generation.is_tesla() { 16 } else { 32 };
    let mut counts = Counts { instructions, ..Counts::default() };
    for index in 0..32 / size {
        let mask = access.mask & group(size, index);
        if mask == 0 {
            continue;
        }
        let places = distinct(mask, access.addresses, 0);
        counts.requests += instructions * places;
        counts.replays += instructions * (places - 1);
    }
    counts
}

/// The rule, with its source.
pub fn rule(model: &MemoryModel) -> Rule {
    if model.generation.is_tesla() {
        return Rule {
            source: Source::Manual,
            place: "CUDA C Programming Guide 4.2, 5.3.2.5 Constant Memory; F.3.1",
            text: "half-warps apart; as many requests as there are different addresses",
        };
    }
    let measured = model.generation == Generation::Volta && model.cc.sm() == 90;
    Rule {
        source: if measured { Source::Measured } else { Source::Manual },
        place: if measured {
            "NVIDIA H200, counters of Nsight Compute"
        } else {
            "CUDA C++ Programming Guide, Device Memory Accesses, Constant Memory"
        },
        text: "as many requests as there are different addresses in the warp; 16 bytes go as four loads",
    }
}
