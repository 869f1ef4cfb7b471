// SPDX-License-Identifier: MIT OR Apache-2.0
//! Allocation, copies, sets, and what a pointer leads to.

mod common;

use std::ffi::c_void;
use std::ptr::null_mut;

use common::*;

#[test]
fn copies_stay_inside_allocations() {
    let session = Session::new();
    let a = session.alloc(1000);
    let values: Vec<u8> = (0..=255).cycle().take(1000).collect();
    upload(a, &values);
    assert_eq!(download::<u8>(a, 1000), values);
    assert_eq!(download::<u8>(a + 10, 20), values[10..30]);
    // A card rounds allocations up, so that only what is far beyond fails on every driver.
    let large = vec![0u8; 64 << 20];
    // SAFETY: the vector's own extent; the device range is refused.
    unsafe {
        fails(cuMemcpyHtoD_v2(a, large.as_ptr().cast(), large.len()), INVALID_VALUE);
        fails(cuMemcpyHtoD_v2(0, large.as_ptr().cast(), 16), INVALID_VALUE);
        fails(cuMemcpyHtoD_v2(a, std::ptr::null(), 16), INVALID_VALUE);
        ok(cuMemcpyHtoD_v2(a, large.as_ptr().cast(), 0));
        ok(cuMemFree_v2(a));
    }
}

#[test]
fn freeing_twice_or_in_the_middle() {
    let session = Session::alone();
    let a = session.alloc(4096);
    // SAFETY: addresses that are checked.
    unsafe {
        fails(cuMemFree_v2(a + 64), INVALID_VALUE);
        ok(cuMemFree_v2(a));
        fails(cuMemFree_v2(a), INVALID_VALUE);
        let mut host = [0u8; 64];
        fails(cuMemFree_v2(host.as_mut_ptr() as u64), INVALID_VALUE);
        let mut address = 0;
        fails(cuMemAlloc_v2(&mut address, 0), INVALID_VALUE);
        fails(cuMemAlloc_v2(null_mut(), 16), INVALID_VALUE);
        fails(cuMemAlloc_v2(&mut address, 1 << 50), CUresult::CUDA_ERROR_OUT_OF_MEMORY);
    }
}

#[test]
fn memory_sets_in_every_width() {
    let session = Session::new();
    let a = session.alloc(256);
    // SAFETY: device ranges that are checked.
    unsafe {
        ok(cuMemsetD32_v2(a, 0x0102_0304, 64));
        ok(cuMemsetD16_v2(a + 4, 0xabcd, 2));
        ok(cuMemsetD8_v2(a + 8, 0xee, 3));
        assert_eq!(download::<u32>(a, 3), [0x0102_0304, 0xabcd_abcd, 0x01ee_eeee]);
        // Two rows of two words, 16 bytes apart.
        ok(cuMemsetD2D32_v2(a, 16, 9, 2, 2));
        assert_eq!(
            download::<u32>(a, 8),
            [9, 9, 0x01ee_eeee, 0x0102_0304, 9, 9, 0x0102_0304, 0x0102_0304]
        );
        fails(cuMemsetD32_v2(a + 2, 0, 1), INVALID_VALUE);
        fails(cuMemsetD8_v2(0, 0, 1), INVALID_VALUE);
    }
}

#[test]
fn pitched_and_three_dimensional_copies() {
    let _session = Session::new();
    let (mut base, mut pitch) = (0, 0);
    // SAFETY: pointers to locals.
    ok(unsafe { cuMemAllocPitch_v2(&mut base, &mut pitch, 100, 8, 4) });
    assert!(pitch >= 100 && pitch.is_multiple_of(256));
    let host: Vec<u8> = (0..100 * 8).map(|i| i as u8).collect();
    // SAFETY: all-zero is a valid descriptor except for the memory types, which are set.
    let mut copy: CUDA_MEMCPY2D = unsafe {
        let mut copy = std::mem::MaybeUninit::<CUDA_MEMCPY2D>::zeroed();
        let place = copy.as_mut_ptr();
        (&raw mut (*place).srcMemoryType).write(CUmemorytype::CU_MEMORYTYPE_HOST);
        (&raw mut (*place).dstMemoryType).write(CUmemorytype::CU_MEMORYTYPE_DEVICE);
        copy.assume_init()
    };
    copy.srcHost = host.as_ptr().cast();
    copy.srcPitch = 100;
    copy.dstDevice = base;
    copy.dstPitch = pitch;
    copy.WidthInBytes = 100;
    copy.Height = 8;
    // SAFETY: the descriptor's ranges lie in what was allocated.
    ok(unsafe { cuMemcpy2D_v2(&copy) });
    assert_eq!(download::<u8>(base + 3 * pitch as u64, 100), host[300..400]);
    // A part: rows 2 and 3, bytes 10 to 14.
    let mut back = [0u8; 10];
    copy.srcMemoryType = CUmemorytype::CU_MEMORYTYPE_DEVICE;
    copy.srcDevice = base;
    (copy.srcPitch, copy.srcXInBytes, copy.srcY) = (pitch, 10, 2);
    copy.dstMemoryType = CUmemorytype::CU_MEMORYTYPE_HOST;
    copy.dstHost = back.as_mut_ptr().cast();
    (copy.dstPitch, copy.WidthInBytes, copy.Height) = (5, 5, 2);
    // SAFETY: as above.
    ok(unsafe { cuMemcpy2D_v2(&copy) });
    assert_eq!(back[..5], host[210..215]);
    assert_eq!(back[5..], host[310..315]);
    copy.WidthInBytes = 50;
    copy.dstPitch = 20;
    // SAFETY: refused: the pitch is less than the width.
    fails(unsafe { cuMemcpy2D_v2(&copy) }, INVALID_VALUE);
}

#[test]
fn host_memory_is_one_with_the_device_s() {
    let _session = Session::alone();
    // SAFETY: pointers to locals; the memory is used while it lives.
    unsafe {
        let mut host: *mut c_void = null_mut();
        ok(cuMemHostAlloc(&mut host, 256, CU_MEMHOSTALLOC_DEVICEMAP));
        let mut device = 0;
        ok(cuMemHostGetDevicePointer_v2(&mut device, host, 0));
        assert_eq!(device, host as u64);
        ok(cuMemsetD8_v2(device, 5, 256));
        assert_eq!(*host.cast::<u8>().add(255), 5);
        let mut kind = 0u32;
        let attribute = CUpointer_attribute::CU_POINTER_ATTRIBUTE_MEMORY_TYPE;
        ok(cuPointerGetAttribute((&raw mut kind).cast(), attribute, device));
        assert_eq!(kind, CUmemorytype::CU_MEMORYTYPE_HOST as u32);
        ok(cuMemFreeHost(host));
        fails(cuMemFreeHost(host), INVALID_VALUE);
        fails(cuMemHostAlloc(&mut host, 16, 0x100), INVALID_VALUE);
    }
}

#[test]
fn registering_host_memory() {
    let _session = Session::alone();
    let layout = std::alloc::Layout::from_size_align(8192, 4096).unwrap();
    // SAFETY: the memory outlives its registration.
    unsafe {
        let page: *mut c_void = std::alloc::alloc_zeroed(layout).cast();
        ok(cuMemHostRegister_v2(page, 8192, CU_MEMHOSTREGISTER_DEVICEMAP));
        fails(
            cuMemHostRegister_v2(page, 8192, 0),
            CUresult::CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED,
        );
        ok(cuMemHostUnregister(page));
        fails(cuMemHostUnregister(page), CUresult::CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
        fails(cuMemHostRegister_v2(null_mut(), 64, 0), INVALID_VALUE);
        std::alloc::dealloc(page.cast(), layout);
    }
}

#[test]
fn managed_memory_is_the_host_s_too() {
    let _session = Session::new();
    // SAFETY: pointers to locals; the memory is used while it lives.
    unsafe {
        let mut address = 0;
        ok(cuMemAllocManaged(&mut address, 64, CUmemAttach_flags::CU_MEM_ATTACH_GLOBAL as u32));
        ok(cuMemsetD32_v2(address, 77, 16));
        ok(cuCtxSynchronize());
        assert_eq!(*(address as *const u32).add(15), 77);
        let mut managed = 0;
        let attribute = CUpointer_attribute::CU_POINTER_ATTRIBUTE_IS_MANAGED;
        ok(cuPointerGetAttribute((&raw mut managed).cast(), attribute, address));
        assert_eq!(managed, 1);
        ok(cuMemFree_v2(address));
        fails(cuMemAllocManaged(&mut address, 64, 99), INVALID_VALUE);
        fails(cuMemAllocManaged(&mut address, 0, 1), INVALID_VALUE);
    }
}

#[test]
fn what_a_pointer_leads_to() {
    let session = Session::new();
    let a = session.alloc(1 << 20);
    let nothing = [0u8; 16];
    // SAFETY: results have the attributes' types.
    unsafe {
        let (mut base, mut size) = (0, 0);
        ok(cuMemGetAddressRange_v2(&mut base, &mut size, a + 100));
        assert_eq!((base, size), (a, 1 << 20));
        fails(cuMemGetAddressRange_v2(&mut base, &mut size, nothing.as_ptr() as u64), NOT_FOUND);
        let mut context: CUcontext = null_mut();
        let attribute = CUpointer_attribute::CU_POINTER_ATTRIBUTE_CONTEXT;
        ok(cuPointerGetAttribute((&raw mut context).cast(), attribute, a + 5));
        assert_eq!(context, session.context);
        let mut kind = 0u32;
        let attribute = CUpointer_attribute::CU_POINTER_ATTRIBUTE_MEMORY_TYPE;
        let unknown = nothing.as_ptr() as u64;
        fails(cuPointerGetAttribute((&raw mut kind).cast(), attribute, unknown), INVALID_VALUE);
        // The plural form knows no error for unknown pointers.
        let mut attributes = [attribute];
        let mut results: [*mut c_void; 1] = [(&raw mut kind).cast()];
        kind = 99;
        ok(cuPointerGetAttributes(1, attributes.as_mut_ptr(), results.as_mut_ptr(), unknown));
        assert_eq!(kind, 0);
    }
}

#[test]
fn the_card_s_memory_is_accounted() {
    let session = Session::new();
    let info = || {
        let (mut free, mut total) = (0, 0);
        // SAFETY: pointers to locals.
        ok(unsafe { cuMemGetInfo_v2(&mut free, &mut total) });
        assert!(free <= total);
        free
    };
    // Other tests of this process allocate at the same time, but far less.
    let before = info();
    let large = session.alloc(1 << 30);
    assert!(before - info() > 1 << 29);
    // SAFETY: allocated above.
    ok(unsafe { cuMemFree_v2(large) });
    assert!(info() > before - (1 << 29));
}

#[test]
fn nothing_is_allocated_and_freed() {
    let _session = Session::new();
    // SAFETY: pointers to locals, checked addresses.
    unsafe {
        ok(cuMemFree_v2(0));
        ok(cuMemFreeHost(null_mut()));
        ok(cuMemFreeAsync(0, null_mut()));
        let mut host: *mut c_void = null_mut();
        ok(cuMemHostAlloc(&mut host, 0, 0));
        let mut address = 0;
        ok(cuMemAllocAsync(&mut address, 0, null_mut()));
        let mut pitch = 0;
        fails(cuMemAllocPitch_v2(&mut address, &mut pitch, 100, 10, 3), INVALID_VALUE);
        let single = CUmemAttach_flags::CU_MEM_ATTACH_SINGLE as u32;
        fails(cuMemAllocManaged(&mut address, 16, single), INVALID_VALUE);
    }
}

/// Computes for some milliseconds, then writes to its argument.
const LATE_WRITE: &str = r"
.version 7.0
.target sm_50
.address_size 64
.visible .entry late(.param .u64 to) {
  .reg .u64 %rd<4>;
  .reg .pred %p;
  mov.u64 %rd1, %globaltimer;
Wait:
  mov.u64 %rd2, %globaltimer;
  sub.u64 %rd2, %rd2, %rd1;
  setp.lt.u64 %p, %rd2, 30000000;
  @%p bra Wait;
  ld.param.u64 %rd3, [to];
  st.global.u64 [%rd3], %rd2;
  ret;
}
";

#[test]
fn freeing_waits_for_other_contexts_of_the_device() {
    if real() {
        // A driver's kernel finds its memory gone.
        return;
    }
    let owner = Session::new();
    let mut memory = owner.alloc(8);
    let layout = std::alloc::Layout::from_size_align(4096, 4096).unwrap();
    // SAFETY: pointers to locals, live handles; the page outlives its registration.
    unsafe {
        let page: *mut c_void = std::alloc::alloc_zeroed(layout).cast();
        ok(cuMemHostRegister_v2(page, 4096, CU_MEMHOSTREGISTER_DEVICEMAP));
        let mut user = null_mut();
        ok(cuCtxCreate_v2(&mut user, 0, owner.device));
        let late = function(load(LATE_WRITE), "late");
        ok(launch(late, [1; 3], [1; 3], 0, null_mut(), &mut [arg(&mut memory)]));
        ok(cuCtxPushCurrent_v2(owner.context));
        ok(cuMemFree_v2(memory));
        ok(cuCtxPopCurrent_v2(&mut null_mut()));
        ok(cuCtxSynchronize());
        let mut page_address = page as u64;
        ok(launch(late, [1; 3], [1; 3], 0, null_mut(), &mut [arg(&mut page_address)]));
        ok(cuCtxPushCurrent_v2(owner.context));
        ok(cuMemHostUnregister(page));
        assert!(*page.cast::<u64>() >= 30_000_000);
        ok(cuCtxPopCurrent_v2(&mut null_mut()));
        // The kernel found its memory where it was.
        ok(cuCtxSynchronize());
        ok(cuCtxDestroy_v2(user));
        std::alloc::dealloc(page.cast(), layout);
    }
}
