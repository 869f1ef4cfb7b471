// SPDX-License-Identifier: MIT OR Apache-2.0
//! `cp.async`: copies made at once, lane by lane. Waiting for a group then has nothing to do.

use margay_ir::Space;

use super::address::{SLOT_BITS, observe, resolve_lane};
use crate::fault::Access;
use crate::interp::Cx;
use crate::lanes::{Flow, Inst, Kernel, WARP, active};

/// What the attribute of a copy says.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    pub bytes: u32,
    pub shared_offset: i64,
    pub global_offset: i64,
}

/// Reports the read of those lanes that read anything, and the write of all.
///
/// # Safety
/// As for the handler.
#[cold]
unsafe fn observe_copy(cx: &mut Cx<'_>, i: &Inst, shape: &Shape) {
    let (mut to, mut from) = ([0; WARP], [0; WARP]);
    let (mask, mut reads) = (cx.mask, 0);
    for l in active(mask) {
        // SAFETY: by the contract.
        unsafe {
            to[l] = cx.double(i.a, l).wrapping_add(shape.shared_offset as u64);
            from[l] = cx.double(i.b, l).wrapping_add(shape.global_offset as u64);
            reads |= u32::from(cx.word(i.c, l) != 0) << l;
        }
    }
    if reads != 0 {
        cx.mask = reads;
        observe(cx, i, Space::Global, Access::Read, shape.bytes, &from);
    }
    cx.mask = mask;
    if mask != 0 {
        observe(cx, i, Space::Shared, Access::Write, shape.bytes, &to);
    }
}

/// Copies `c` bytes a lane from global address `b` to shared address `a`, and fills up with zeros.
pub struct CpAsync;
impl Kernel for CpAsync {
    unsafe fn run(cx: &mut Cx<'_>, i: &Inst) -> Flow {
        let shape = cx.env.program.copies[i.aux as usize];
        let slot = (i.slot & ((1 << SLOT_BITS) - 1)) as usize;
        cx.counters[(i.slot >> SLOT_BITS) as usize] += 1;
        if cx.observing {
            // SAFETY: operands were decoded for this frame.
            unsafe { observe_copy(cx, i, &shape) };
        }
        for l in active(cx.mask) {
            // SAFETY: operands were decoded for this frame.
            let (to, from, take) =
                unsafe { (cx.double(i.a, l), cx.double(i.b, l), cx.word(i.c, l)) };
            let to = to.wrapping_add(shape.shared_offset as u64);
            let from = from.wrapping_add(shape.global_offset as u64);
            let bytes = shape.bytes as u64;
            let take = take.min(shape.bytes) as usize;
            let to = match resolve_lane(cx, slot, l, Space::Shared, Access::Write, to, bytes) {
                Ok(p) => p,
                Err(kind) => return cx.fail(l, *kind),
            };
            let mut data = [0u8; 16];
            if take > 0 {
                // Only what is read must be in bounds; the address is aligned to the whole copy.
                let aligned = from.is_multiple_of(bytes);
                let read = if aligned { take as u64 } else { bytes };
                match resolve_lane(cx, slot, l, Space::Global, Access::Read, from, read) {
                    // SAFETY: resolved for the bytes taken, at most 16.
                    Ok(p) => unsafe {
                        let n = take.min(16);
                        std::ptr::copy_nonoverlapping(p as *const u8, data.as_mut_ptr(), n);
                    },
                    Err(kind) => return cx.fail(l, *kind),
                }
            }
            // SAFETY: resolved for `bytes`, which is 4, 8 or 16.
            unsafe {
                let n = shape.bytes.min(16) as usize;
                std::ptr::copy_nonoverlapping(data.as_ptr(), to as *mut u8, n);
            }
        }
        cx.changes += 1;
        Flow::Next
    }
}
