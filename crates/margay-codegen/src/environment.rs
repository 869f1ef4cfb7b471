// SPDX-License-Identifier: MIT OR Apache-2.0
//! Environment registers, by which OpenCL's work-item functions are told what holds for the whole range
//! (`margay-opencl/src/ndrange.rs` fills them). Most ranges have no offset and groups of one size, and
//! then a work-item's number is as simple as a CUDA thread's.

use margay_ir::{Attr, Function, Op, Sreg};

/// What an environment register holds in a usual range, if there is such a value: nothing in offsets (3 to
/// 8), first groups (12 to 14) and the high words of sizes (19, 21, 23), and the block's size (15 to 17).
pub fn usual(register: u8, block: [u32; 3]) -> Option<u32> {
    match register {
        3..=8 | 12..=14 | 19 | 21 | 23 => Some(0),
        15..=17 => Some(block[register as usize - 15]),
        _ => None,
    }
}

/// The environment registers that a function reads, a bit each.
pub fn environment(f: &Function) -> u32 {
    let insts = f.blocks.iter().flat_map(|b| &b.insts).filter(|i| i.op == Op::Sreg);
    let bit = |attr: &Attr| match attr {
        Attr::Sreg(Sreg::EnvReg(n)) => 1u32.checked_shl(*n as u32).unwrap_or(0),
        _ => 0,
    };
    insts.fold(0, |mask, inst| mask | bit(&inst.attr))
}
