// SPDX-License-Identifier: MIT OR Apache-2.0
//! What programs get wrong: each is an error of its call, and nothing is harmed. Several threads in
//! one context are no error.

mod common;

use std::ffi::c_void;
use std::ptr::null_mut;

use common::*;

/// `CU_LAUNCH_PARAM_*`.
const BUFFER_POINTER: usize = 1;
const BUFFER_SIZE: usize = 2;

/// Launches with a packed parameter block of which `bytes` are said to be there.
fn launch_packed(function: CUfunction, block: &mut [u64], mut bytes: usize) -> CUresult {
    let key = std::ptr::without_provenance_mut::<c_void>;
    let mut extra = [
        key(BUFFER_POINTER),
        block.as_mut_ptr().cast(),
        key(BUFFER_SIZE),
        arg(&mut bytes),
        null_mut(),
    ];
    let (none, extra) = (null_mut(), extra.as_mut_ptr());
    // SAFETY: the list ends, and the block is as long as the largest size that is said.
    unsafe { cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, null_mut(), none, extra) }
}

#[test]
fn parameter_blocks_of_a_wrong_size() {
    let session = Session::new();
    let store = session.function(session.load(KERNELS), "store");
    let to = session.alloc(4);
    upload(to, &[7u32]);
    // Eight bytes of address, four of value; then more than the kernel takes.
    let mut block = [to, 9, 0, 0];
    // A driver reads on behind a block that is too small.
    for bytes in [0, 4, 8, 11].into_iter().filter(|_| !real()) {
        fails(launch_packed(store, &mut block, bytes), INVALID_VALUE);
    }
    // SAFETY: no pointers.
    ok(unsafe { cuCtxSynchronize() });
    assert_eq!(download::<u32>(to, 1), [7]);
    ok(launch_packed(store, &mut block, 12));
    assert_eq!(download::<u32>(to, 1), [9]);
    // Neither form, though the kernel has parameters; and both forms.
    fails(launch(store, [1, 1, 1], [1, 1, 1], 0, null_mut(), &mut []), INVALID_VALUE);
    let mut ends = [null_mut::<c_void>()];
    let (mut address, mut value) = (to, 1u32);
    let mut arguments = [arg(&mut address), arg(&mut value)];
    // SAFETY: both lists are complete.
    let both = unsafe {
        let (arguments, ends) = (arguments.as_mut_ptr(), ends.as_mut_ptr());
        cuLaunchKernel(store, 1, 1, 1, 1, 1, 1, 0, null_mut(), arguments, ends)
    };
    if !real() {
        // An empty second list is none to a driver.
        fails(both, INVALID_VALUE);
    }
}

#[test]
fn handles_that_have_gone() {
    let session = Session::alone();
    let module = session.load(KERNELS);
    let nothing = session.function(module, "nothing");
    let mut stream = null_mut();
    let memory = session.alloc(16);
    // SAFETY: pointers to locals; margay looks handles up.
    unsafe {
        ok(cuStreamCreate(&mut stream, 0));
        ok(launch(nothing, [1, 1, 1], [1, 1, 1], 0, stream, &mut []));
        ok(cuStreamDestroy_v2(stream));
        if real() {
            // A real driver follows such pointers.
            return;
        }
        let late = launch(nothing, [1, 1, 1], [1, 1, 1], 0, stream, &mut []);
        fails(late, INVALID_HANDLE);
        ok(cuModuleUnload(module));
        let late = launch(nothing, [1, 1, 1], [1, 1, 1], 0, null_mut(), &mut []);
        fails(late, INVALID_HANDLE);
        fails(cuModuleUnload(module), INVALID_HANDLE);
        ok(cuMemFree_v2(memory));
        fails(cuMemFree_v2(memory), INVALID_VALUE);
        fails(cuMemsetD8_v2(memory, 1, 16), INVALID_VALUE);
    }
}

#[test]
fn copies_beyond_an_allocation() {
    let session = Session::new();
    let (small, large) = (session.alloc(64), session.alloc(4 << 20));
    upload(small, &[0x55u8; 64]);
    let mut host = vec![0u8; 8 << 20];
    let (from, to) = (host.as_ptr().cast::<c_void>(), host.as_mut_ptr().cast::<c_void>());
    let bytes = 8 << 20;
    // SAFETY: the host's side is large enough for each copy.
    unsafe {
        fails(cuMemcpyHtoD_v2(large, from, bytes), INVALID_VALUE);
        fails(cuMemcpyDtoH_v2(to, large, bytes), INVALID_VALUE);
        fails(cuMemcpyDtoD_v2(large, small, bytes), INVALID_VALUE);
        fails(cuMemsetD8_v2(large, 0, bytes), INVALID_VALUE);
        fails(cuMemcpyHtoD_v2(large, from, usize::MAX), INVALID_VALUE);
        if real() {
            // Its product with the width is small again, and taken.
            return;
        }
        fails(cuMemsetD32_v2(large, 0, usize::MAX / 2), INVALID_VALUE);
        ok(cuCtxSynchronize());
    }
    assert_eq!(download::<u8>(small, 64), [0x55; 64]);
}

/// A container with one entry, plain or LZ4.
fn container(text: &[u8], packed: bool) -> Vec<u8> {
    let payload = if packed { lz4_flex::block::compress(text) } else { text.to_vec() };
    let padded = payload.len().next_multiple_of(8);
    let mut out = 0xBA55_ED50u32.to_le_bytes().to_vec();
    out.extend([1, 0, 16, 0]);
    out.extend((64 + padded as u64).to_le_bytes());
    out.extend([1, 0, 1, 1, 64, 0, 0, 0]);
    out.extend((padded as u64).to_le_bytes());
    out.extend((payload.len() as u64).to_le_bytes());
    out.extend([0; 4]);
    out.extend(52u32.to_le_bytes());
    out.extend([0; 8]);
    out.extend(if packed { 0x2000u64 } else { 0 }.to_le_bytes());
    out.extend([0; 8]);
    out.extend((text.len() as u64).to_le_bytes());
    out.extend(&payload);
    out.resize(80 + padded, 0);
    out
}

/// A short error log, so that refusals are not written to stderr; what lies behind it must stay.
struct ShortLog {
    log: [u8; 64],
    options: [CUjit_option; 2],
    values: [*mut c_void; 2],
}

impl ShortLog {
    fn new() -> Box<ShortLog> {
        let options = [
            CUjit_option::CU_JIT_ERROR_LOG_BUFFER,
            CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
        ];
        let mut new = Box::new(ShortLog { log: [0xEE; 64], options, values: [null_mut(); 2] });
        new.values = [new.log.as_mut_ptr().cast(), std::ptr::without_provenance_mut(40)];
        new
    }
}

impl Drop for ShortLog {
    fn drop(&mut self) {
        assert_eq!(self.log[40..], [0xEE; 24]);
    }
}

/// Takes a container as a linker's input, which has its size.
fn take_in(bytes: &[u8]) -> CUresult {
    let mut state = null_mut();
    let mut log = ShortLog::new();
    // SAFETY: a live state and the slice's own extent.
    unsafe {
        let (options, values) = (log.options.as_mut_ptr(), log.values.as_mut_ptr());
        ok(cuLinkCreate_v2(2, options, values, &mut state));
        let kind = CUjitInputType::CU_JIT_INPUT_FATBINARY;
        let data = bytes.as_ptr().cast_mut().cast();
        let none = null_mut();
        let name = std::ptr::null();
        let result = cuLinkAddData_v2(state, kind, data, bytes.len(), name, 0, none, null_mut());
        ok(cuLinkDestroy(state));
        result
    }
}

fn load_and_unload(bytes: &[u8]) -> CUresult {
    let mut module = null_mut();
    let mut log = ShortLog::new();
    // SAFETY: containers whose stated size is that of the slice.
    unsafe {
        let (options, values) = (log.options.as_mut_ptr(), log.values.as_mut_ptr());
        let image = bytes.as_ptr().cast();
        let result = cuModuleLoadDataEx(&mut module, image, 2, options, values);
        if result == CUresult::CUDA_SUCCESS {
            ok(cuModuleUnload(module));
        }
        result
    }
}

/// An internal error, a panic too, would be CUDA_ERROR_UNKNOWN.
#[track_caller]
fn no_internal_error(result: CUresult, what: std::fmt::Arguments) {
    assert_ne!(result, CUresult::CUDA_ERROR_UNKNOWN, "{what}");
}

#[test]
fn damaged_containers() {
    if real() {
        // A driver trusts the structure.
        return;
    }
    let _session = Session::new();
    // The shorter the text, the more of what is damaged is structure.
    let end = KERNELS.find(".visible .entry store").unwrap();
    for packed in [false, true] {
        let good = container(&KERNELS.as_bytes()[..end], packed);
        ok(take_in(&good));
        ok(load_and_unload(&good));
        for cut in 1..good.len() {
            let result = take_in(&good[..cut]);
            assert_ne!(result, CUresult::CUDA_SUCCESS, "{cut} bytes");
            no_internal_error(result, format_args!("{cut} bytes"));
        }
        for cut in (16..good.len()).step_by(3) {
            // Cut, and honest about it.
            let mut bad = good[..cut].to_vec();
            bad[8..16].copy_from_slice(&(cut as u64 - 16).to_le_bytes());
            no_internal_error(load_and_unload(&bad), format_args!("{cut} honest bytes"));
        }
        for at in 0..good.len() {
            for flip in [1u8 << (at % 8), 0xff] {
                let mut bad = good.clone();
                bad[at] ^= flip;
                no_internal_error(take_in(&bad), format_args!("byte {at} ^ {flip:#x}"));
                if at >= 16 {
                    no_internal_error(load_and_unload(&bad), format_args!("byte {at} ^ {flip:#x}"));
                }
            }
        }
    }
}

#[test]
fn threads_share_a_context() {
    let session = Session::new();
    let context = session.context as usize;
    let module = session.load(KERNELS) as usize;
    let shared = session.alloc(4) as usize;
    std::thread::scope(|scope| {
        for thread in 0..6u32 {
            scope.spawn(move || {
                let mut stream = null_mut();
                // SAFETY: handles that outlive the threads; pointers to locals.
                unsafe {
                    ok(cuCtxSetCurrent(context as CUcontext));
                    ok(cuStreamCreate(&mut stream, 1));
                }
                let bump = function(module as CUmodule, "bump");
                for round in 0..20u32 {
                    let mut own = 0;
                    // SAFETY: as above.
                    unsafe {
                        ok(cuMemAlloc_v2(&mut own, 1000 + round as usize));
                        ok(cuMemsetD32Async(own, thread * 1000, 250, stream));
                    }
                    for _ in 0..=round {
                        let arguments = &mut [arg(&mut own)];
                        ok(launch(bump, [1, 1, 1], [1, 1, 1], 0, stream, arguments));
                    }
                    // SAFETY: as above.
                    unsafe {
                        ok(cuMemsetD8Async(shared as CUdeviceptr, thread as u8, 4, stream));
                        ok(cuStreamSynchronize(stream));
                    }
                    let expected = thread * 1000 + round + 1;
                    assert_eq!(download::<u32>(own, 2), [expected, thread * 1000]);
                    let other = load(KERNELS);
                    let nothing = function(other, "nothing");
                    ok(launch(nothing, [2, 1, 1], [32, 1, 1], 0, stream, &mut []));
                    // SAFETY: as above.
                    unsafe {
                        ok(cuModuleUnload(other));
                        ok(cuMemFree_v2(own));
                    }
                }
                // SAFETY: the thread's own stream.
                ok(unsafe { cuStreamDestroy_v2(stream) });
            });
        }
    });
    assert!(download::<u8>(shared as CUdeviceptr, 4)[0] < 6);
}
