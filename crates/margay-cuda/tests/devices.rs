// SPDX-License-Identifier: MIT OR Apache-2.0
//! Initialisation, devices, contexts and the functions that find functions.

mod common;

use std::ffi::{CStr, c_int, c_void};
use std::ptr::null_mut;

use common::*;

#[test]
fn the_library_under_test_is_the_one_that_was_built() {
    let session = Session::new();
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let library = maps.lines().find(|l| l.contains("/libcuda.so")).expect("libcuda.so is loaded");
    println!("{library}");
    let real = real();
    assert_eq!(library.contains("/target/"), !real, "{library}");
    drop(session);
}

#[test]
fn device_queries() {
    let session = Session::new();
    // SAFETY: pointers to locals, with their sizes.
    unsafe {
        let mut count = 0;
        ok(cuDeviceGetCount(&mut count));
        assert!(count >= 1);
        let mut device = 0;
        fails(cuDeviceGet(&mut device, count), CUresult::CUDA_ERROR_INVALID_DEVICE);
        fails(cuDeviceGet(&mut device, -1), CUresult::CUDA_ERROR_INVALID_DEVICE);
        fails(cuDeviceGetCount(null_mut()), INVALID_VALUE);
        let mut name = [0; 64];
        ok(cuDeviceGetName(name.as_mut_ptr(), 64, session.device));
        let full = CStr::from_ptr(name.as_ptr()).to_str().unwrap().to_owned();
        assert!(full.len() > 4);
        ok(cuDeviceGetName(name.as_mut_ptr(), 5, session.device));
        assert_eq!(CStr::from_ptr(name.as_ptr()).to_str().unwrap(), &full[..4]);
        let mut bytes = 0;
        ok(cuDeviceTotalMem_v2(&mut bytes, session.device));
        assert!(bytes > 1 << 28);
        let mut version = 0;
        ok(cuDriverGetVersion(&mut version));
        assert!(version >= 12000);
    }
    assert_eq!(session.attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_WARP_SIZE), 32);
    assert_eq!(session.attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z), 64);
}

#[test]
fn contexts_stack() {
    let session = Session::new();
    // SAFETY: pointers to locals.
    unsafe {
        let mut current = null_mut();
        ok(cuCtxGetCurrent(&mut current));
        assert_eq!(current, session.context);
        let mut second = null_mut();
        ok(cuCtxCreate_v2(&mut second, 0, session.device));
        ok(cuCtxGetCurrent(&mut current));
        assert_eq!(current, second);
        let mut popped = null_mut();
        ok(cuCtxPopCurrent_v2(&mut popped));
        assert_eq!(popped, second);
        ok(cuCtxGetCurrent(&mut current));
        assert_eq!(current, session.context);
        ok(cuCtxDestroy_v2(second));
        ok(cuCtxSetCurrent(null_mut()));
        ok(cuCtxGetCurrent(&mut current));
        assert!(current.is_null());
        fails(cuCtxSynchronize(), CUresult::CUDA_ERROR_INVALID_CONTEXT);
        let mut address = 0;
        fails(cuMemAlloc_v2(&mut address, 16), CUresult::CUDA_ERROR_INVALID_CONTEXT);
        ok(cuCtxPushCurrent_v2(session.context));
        ok(cuCtxSynchronize());
    }
}

#[test]
fn the_primary_context_counts_its_holders() {
    // SAFETY: pointers to locals.
    unsafe {
        ok(cuInit(0));
        let (mut first, mut second) = (null_mut(), null_mut());
        ok(cuDevicePrimaryCtxRetain(&mut first, 0));
        ok(cuDevicePrimaryCtxRetain(&mut second, 0));
        assert_eq!(first, second);
        let (mut flags, mut active) = (0, 0);
        ok(cuDevicePrimaryCtxGetState(0, &mut flags, &mut active));
        assert_eq!(active, 1);
        ok(cuDevicePrimaryCtxRelease_v2(0));
        ok(cuDevicePrimaryCtxGetState(0, &mut flags, &mut active));
        assert_eq!(active, 1);
        ok(cuDevicePrimaryCtxRelease_v2(0));
        ok(cuDevicePrimaryCtxGetState(0, &mut flags, &mut active));
        assert_eq!(active, 0);
        fails(cuDevicePrimaryCtxRelease_v2(0), CUresult::CUDA_ERROR_INVALID_CONTEXT);
    }
}

#[test]
fn limits() {
    let _session = Session::new();
    // SAFETY: pointers to locals.
    unsafe {
        let mut value = 0;
        ok(cuCtxGetLimit(&mut value, CUlimit::CU_LIMIT_STACK_SIZE));
        assert_eq!(value, 1024);
        ok(cuCtxSetLimit(CUlimit::CU_LIMIT_STACK_SIZE, 8192));
        ok(cuCtxGetLimit(&mut value, CUlimit::CU_LIMIT_STACK_SIZE));
        assert_eq!(value, 8192);
        ok(cuCtxGetLimit(&mut value, CUlimit::CU_LIMIT_MALLOC_HEAP_SIZE));
        assert_eq!(value, 8 << 20);
        let (mut least, mut greatest) = (9, 9);
        ok(cuCtxGetStreamPriorityRange(&mut least, &mut greatest));
        assert!(least >= greatest);
    }
}

#[test]
fn functions_are_found_by_name_and_version() {
    // SAFETY: pointers to locals, NUL-terminated names.
    unsafe {
        ok(cuInit(0));
        let find = |name: &CStr, version: c_int, flags: u64| {
            let mut address: *mut c_void = null_mut();
            let mut status = CUdriverProcAddressQueryResult::CU_GET_PROC_ADDRESS_SUCCESS;
            let result =
                cuGetProcAddress_v2(name.as_ptr(), &mut address, version, flags, &mut status);
            (result, address, status)
        };
        use CUdriverProcAddressQueryResult::*;
        let (result, alloc, status) = find(c"cuMemAlloc", 12000, 0);
        ok(result);
        assert!(!alloc.is_null() && status == CU_GET_PROC_ADDRESS_SUCCESS);
        let legacy = find(c"cuLaunchKernel", 12000, 1).1;
        let per_thread = find(c"cuLaunchKernel", 12000, 2).1;
        assert!(!legacy.is_null() && !per_thread.is_null() && legacy != per_thread);
        // A plain name's meaning depends on the version that the program was built for.
        let (old, new) = (find(c"cuCtxCreate", 11000, 0).1, find(c"cuCtxCreate", 12050, 0).1);
        assert!(!new.is_null() && old != new);
        // An unknown name is no error.
        let (result, address, status) = find(c"cuNoSuchFunction", 12000, 0);
        ok(result);
        let mut none: *mut c_void = null_mut();
        let (name, status_of) = (c"cuNoSuchFunction".as_ptr(), null_mut());
        ok(cuGetProcAddress_v2(name, &mut none, 12000, 0, status_of));
        assert!(none.is_null());
        assert!(address.is_null() && status == CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
        fails(find(c"cuMemAlloc", 12000, 99).0, INVALID_VALUE);
    }
}

#[test]
fn error_names() {
    // SAFETY: pointers to locals.
    unsafe {
        let mut text = std::ptr::null();
        ok(cuGetErrorName(CUresult::CUDA_ERROR_ILLEGAL_ADDRESS, &mut text));
        assert_eq!(CStr::from_ptr(text), c"CUDA_ERROR_ILLEGAL_ADDRESS");
        ok(cuGetErrorString(CUresult::CUDA_ERROR_INVALID_VALUE, &mut text));
        assert_eq!(CStr::from_ptr(text), c"invalid argument");
        ok(cuGetErrorName(CUresult::CUDA_SUCCESS, &mut text));
        assert_eq!(CStr::from_ptr(text), c"CUDA_SUCCESS");
    }
}
