// SPDX-License-Identifier: MIT OR Apache-2.0
//! Launches: results, attributes, and everything that a launch is refused for.

mod common;

use std::ffi::c_void;
use std::ptr::null_mut;

use common::*;

#[test]
fn vectors_are_added() {
    let session = Session::new();
    let add = session.function(session.load(KERNELS), "add");
    let n = 1000u32;
    let values: Vec<f32> = (0..n).map(|i| i as f32).collect();
    let (mut a, mut b, mut c) = (session.alloc(4000), session.alloc(4000), session.alloc(4000));
    upload(a, &values);
    upload(b, &values);
    let mut count = n;
    let mut arguments = [arg(&mut a), arg(&mut b), arg(&mut c), arg(&mut count)];
    ok(launch(add, [4, 1, 1], [256, 1, 1], 0, null_mut(), &mut arguments));
    let expected: Vec<f32> = values.iter().map(|v| v * 2.0).collect();
    assert_eq!(download::<f32>(c, 1000), expected);
}

#[test]
fn launches_of_a_stream_are_in_order() {
    let session = Session::new();
    let bump = session.function(session.load(KERNELS), "bump");
    let mut a = session.alloc(4);
    upload(a, &[0u32]);
    let mut stream = null_mut();
    // SAFETY: a pointer to a local.
    ok(unsafe { cuStreamCreate(&mut stream, 0) });
    for _ in 0..200 {
        ok(launch(bump, [1, 1, 1], [1, 1, 1], 0, stream, &mut [arg(&mut a)]));
    }
    // The default stream of the copy waits for the stream.
    assert_eq!(download::<u32>(a, 1), [200]);
}

#[test]
fn parameters_in_a_buffer() {
    let session = Session::new();
    let store = session.function(session.load(KERNELS), "store");
    let a = session.alloc(4);
    let mut buffer = Vec::new();
    buffer.extend(a.to_le_bytes());
    buffer.extend(4321u32.to_le_bytes());
    let mut size = buffer.len();
    let key = |n: usize| -> *mut c_void { std::ptr::without_provenance_mut(n) };
    let mut extra = [key(1), buffer.as_mut_ptr().cast(), key(2), arg(&mut size), key(0)];
    // SAFETY: the buffer's own extent.
    unsafe {
        let (none, extra) = (null_mut(), extra.as_mut_ptr());
        ok(cuLaunchKernel(store, 1, 1, 1, 1, 1, 1, 0, null_mut(), none, extra));
        assert_eq!(download::<u32>(a, 1), [4321]);
        let mut params: [*mut c_void; 2] = [arg(&mut size), arg(&mut size)];
        let both =
            cuLaunchKernel(store, 1, 1, 1, 1, 1, 1, 0, null_mut(), params.as_mut_ptr(), extra);
        fails(both, INVALID_VALUE);
    }
}

#[test]
fn static_and_dynamic_shared_memory() {
    let session = Session::new();
    let shared = session.function(session.load(KERNELS), "static_shared");
    let mut a = session.alloc(4);
    ok(launch(shared, [1, 1, 1], [1, 1, 1], 4096, null_mut(), &mut [arg(&mut a)]));
    assert_eq!(download::<u32>(a, 1), [5]);
    let beyond = launch(shared, [1, 1, 1], [1, 1, 1], 4097, null_mut(), &mut [arg(&mut a)]);
    fails(beyond, INVALID_VALUE);
}

#[test]
fn shapes_that_no_device_takes() {
    let session = Session::new();
    let module = session.load(KERNELS);
    let nothing = session.function(module, "nothing");
    let go = |grid, block, shared| launch(nothing, grid, block, shared, null_mut(), &mut []);
    ok(go([1, 65535, 1], [1, 1, 1], 0));
    for (grid, block) in [
        ([0, 1, 1], [1, 1, 1]),
        ([1, 1, 1], [1, 0, 1]),
        ([1, 65536, 1], [1, 1, 1]),
        ([1, 1, 65536], [1, 1, 1]),
        ([1, 1, 1], [1025, 1, 1]),
        ([1, 1, 1], [32, 33, 1]),
        ([1, 1, 1], [1, 1, 65]),
    ] {
        fails(go(grid, block, 0), INVALID_VALUE);
    }
    ok(go([1, 1, 1], [1, 1, 1], 48 << 10));
    fails(go([1, 1, 1], [1, 1, 1], (48 << 10) + 1), INVALID_VALUE);
    let bounded = session.function(module, "bounded");
    ok(launch(bounded, [1, 1, 1], [128, 1, 1], 0, null_mut(), &mut []));
    fails(launch(bounded, [1, 1, 1], [129, 1, 1], 0, null_mut(), &mut []), INVALID_VALUE);
    // SAFETY: no context's work is left.
    ok(unsafe { cuCtxSynchronize() });
}

#[test]
fn opting_in_to_more_shared_memory() {
    use CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES as DYNAMIC;
    let session = Session::new();
    let nothing = session.function(session.load(KERNELS), "nothing");
    let optin = CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN;
    let most = session.attribute(optin);
    // SAFETY: pointers to locals.
    unsafe {
        ok(cuFuncSetAttribute(nothing, DYNAMIC, most));
        let mut value = 0;
        ok(cuFuncGetAttribute(&mut value, DYNAMIC, nothing));
        assert_eq!(value, most);
        fails(cuFuncSetAttribute(nothing, DYNAMIC, most + 1), INVALID_VALUE);
    }
    ok(launch(nothing, [1, 1, 1], [1, 1, 1], most as u32, null_mut(), &mut []));
    // SAFETY: no pointers.
    ok(unsafe { cuCtxSynchronize() });
}

#[test]
fn attributes_of_functions() {
    use CUfunction_attribute::*;
    let session = Session::new();
    let module = session.load(KERNELS);
    let get = |name, attribute| {
        let mut value = -1;
        // SAFETY: a pointer to a local.
        ok(unsafe { cuFuncGetAttribute(&mut value, attribute, session.function(module, name)) });
        value
    };
    assert_eq!(get("bounded", CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK), 128);
    assert_eq!(get("nothing", CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK), 1024);
    assert_eq!(get("static_shared", CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES), 45056);
    assert_eq!(get("nothing", CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES), 48 << 10);
    assert_eq!(get("static_shared", CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES), 4096);
    assert_eq!(get("nothing", CU_FUNC_ATTRIBUTE_PTX_VERSION), 52);
    assert!(get("add", CU_FUNC_ATTRIBUTE_NUM_REGS) > 0);
}

#[test]
fn occupancy_and_cooperative_launches() {
    let session = Session::new();
    let nothing = session.function(session.load(KERNELS), "nothing");
    let sms = session.attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    let mut blocks = 0;
    // SAFETY: pointers to locals.
    unsafe {
        ok(cuOccupancyMaxActiveBlocksPerMultiprocessor(&mut blocks, nothing, 256, 0));
        assert!(blocks >= 4);
        let most = (sms * blocks) as u32;
        let stream = null_mut();
        ok(cuLaunchCooperativeKernel(nothing, most, 1, 1, 256, 1, 1, 0, stream, null_mut()));
        fails(
            cuLaunchCooperativeKernel(nothing, most + 1, 1, 1, 256, 1, 1, 0, stream, null_mut()),
            CUresult::CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE,
        );
        ok(cuCtxSynchronize());
        let (mut grid, mut block) = (0, 0);
        ok(cuOccupancyMaxPotentialBlockSize(&mut grid, &mut block, nothing, None, 0, 0));
        assert_eq!(block % 32, 0);
        assert!(grid >= sms && block >= 256);
    }
}

#[test]
fn too_few_parameters() {
    let session = Session::new();
    let store = session.function(session.load(KERNELS), "store");
    fails(launch(store, [1, 1, 1], [1, 1, 1], 0, null_mut(), &mut []), INVALID_VALUE);
}

/// CUDA's first way to launch: the shape and the parameters are the function's.
#[test]
fn launches_of_the_first_versions() {
    let session = Session::new();
    let module = session.load(KERNELS);
    let add = session.function(module, "add");
    let values: Vec<f32> = (0..1000).map(|i| i as f32).collect();
    let (mut a, b, c) = (session.alloc(4000), session.alloc(4000), session.alloc(4000));
    upload(a, &values);
    upload(b, &values);
    let mut stream = null_mut();
    // SAFETY: pointers to locals of the sizes given.
    unsafe {
        ok(cuStreamCreate(&mut stream, 0));
        // Nothing is set yet: a driver lets the kernel read what happens to be there.
        if !real() {
            fails(cuLaunch(add), INVALID_VALUE);
        }
        fails(cuFuncSetBlockShape(add, 0, 1, 1), INVALID_VALUE);
        fails(cuFuncSetBlockShape(add, 32, -1, 1), INVALID_VALUE);
        fails(cuFuncSetBlockShape(add, 1024, 2, 1), INVALID_VALUE);
        fails(cuFuncSetBlockShape(null_mut(), 1, 1, 1), INVALID_HANDLE);
        ok(cuFuncSetBlockShape(add, 16, 1, 1));
        fails(cuFuncSetSharedSize(add, 1 << 20), INVALID_VALUE);
        ok(cuFuncSetSharedSize(add, 64));
        ok(cuParamSetv(add, 0, arg(&mut a), 8));
        for (at, pointer) in [(8, b), (16, c)] {
            ok(cuParamSeti(add, at, pointer as u32));
            ok(cuParamSeti(add, at + 4, (pointer >> 32) as u32));
        }
        ok(cuParamSeti(add, 24, 1000));
        if !real() {
            // A driver writes there and reads there.
            fails(cuParamSeti(add, -4, 0), INVALID_VALUE);
            fails(cuParamSeti(add, 1 << 20, 0), INVALID_VALUE);
            fails(cuParamSetv(add, 0, null_mut(), 8), INVALID_VALUE);
            fails(cuLaunch(add), INVALID_VALUE);
            ok(cuParamSetSize(add, 27));
            fails(cuLaunch(add), INVALID_VALUE);
        }
        ok(cuParamSetSize(add, 28));
        ok(cuLaunch(add));
    }
    let doubled: Vec<f32> = values.iter().map(|v| v * 2.0).collect();
    let sums = download::<f32>(c, 1000);
    assert_eq!(sums[..16], doubled[..16]);
    assert!(sums[16..].iter().all(|v| *v == 0.0));
    // SAFETY: as above.
    unsafe {
        fails(cuLaunchGrid(add, 0, 1), INVALID_VALUE);
        ok(cuLaunchGrid(add, 32, 1));
        assert_eq!(download::<f32>(c, 500)[..500], doubled[..500]);
        fails(cuParamSetTexRef(add, -1, null_mut()), INVALID_HANDLE);
        // What is set stays set.
        ok(cuParamSetf(add, 24, f32::from_bits(1000)));
        ok(cuLaunchGridAsync(add, 63, 1, stream));
        ok(cuStreamSynchronize(stream));
    }
    assert_eq!(download::<f32>(c, 1000), doubled);
}
