// SPDX-License-Identifier: MIT OR Apache-2.0
//! A kernel's fault: sticky for its context, and gone with it. One test, since on a card a fault
//! reaches every context of the process.

mod common;

use std::ptr::null_mut;

use common::*;

const ILLEGAL_ADDRESS: CUresult = CUresult::CUDA_ERROR_ILLEGAL_ADDRESS;

#[test]
fn a_fault_is_sticky_until_the_reset() {
    // SAFETY: pointers to locals.
    unsafe {
        ok(cuInit(0));
        let mut context = null_mut();
        ok(cuDevicePrimaryCtxRetain(&mut context, 0));
        ok(cuCtxSetCurrent(context));
    }
    let store = function(load(KERNELS), "store");
    let (mut address, mut value) = (0u64, 1u32);
    let mut arguments = [arg(&mut address), arg(&mut value)];
    ok(launch(store, [1, 1, 1], [1, 1, 1], 0, null_mut(), &mut arguments));
    // SAFETY: pointers to locals.
    unsafe {
        fails(cuCtxSynchronize(), ILLEGAL_ADDRESS);
        fails(cuCtxSynchronize(), ILLEGAL_ADDRESS);
        let mut memory = 0;
        fails(cuMemAlloc_v2(&mut memory, 16), ILLEGAL_ADDRESS);
        let again = launch(store, [1, 1, 1], [1, 1, 1], 0, null_mut(), &mut arguments);
        fails(again, ILLEGAL_ADDRESS);
        ok(cuDevicePrimaryCtxReset_v2(0));
        if real() {
            // The newest drivers recover only in a new process.
            return;
        }
        let mut context = null_mut();
        ok(cuDevicePrimaryCtxRetain(&mut context, 0));
        ok(cuCtxSetCurrent(context));
        ok(cuMemAlloc_v2(&mut memory, 16));
        ok(cuMemsetD8_v2(memory, 1, 16));
        ok(cuCtxSynchronize());
        ok(cuDevicePrimaryCtxRelease_v2(0));
    }
}
