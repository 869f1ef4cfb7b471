// SPDX-License-Identifier: MIT OR Apache-2.0
//! Virtual memory management: addresses, memory and access apart.

mod common;

use std::ptr::{null, null_mut};

use common::*;

const PAGE: usize = 2 << 20;

fn properties(session: &Session) -> CUmemAllocationProp {
    // SAFETY: all zeros is a value of this plain structure.
    let mut prop: CUmemAllocationProp = unsafe { std::mem::zeroed() };
    prop.type_ = CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location.type_ = CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE;
    prop.location.id = session.device;
    prop
}

fn grant(session: &Session, at: CUdeviceptr, size: usize, flags: CUmemAccess_flags) -> CUresult {
    let location = properties(session).location;
    let access = CUmemAccessDesc { location, flags };
    // SAFETY: a pointer to a local.
    unsafe { cuMemSetAccess(at, size, &access, 1) }
}

const READ_WRITE: CUmemAccess_flags = CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
const READ: CUmemAccess_flags = CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_READ;
const NONE: CUmemAccess_flags = CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_NONE;

fn reserve(size: usize) -> CUdeviceptr {
    let mut at = 0;
    // SAFETY: a pointer to a local.
    ok(unsafe { cuMemAddressReserve(&mut at, size, 0, 0, 0) });
    at
}

fn create(session: &Session, size: usize) -> CUmemGenericAllocationHandle {
    let mut handle = 0;
    // SAFETY: pointers to locals.
    ok(unsafe { cuMemCreate(&mut handle, size, &properties(session), 0) });
    handle
}

#[test]
fn two_pieces_of_memory_make_one_array() {
    let session = Session::new();
    let mut granularity = 0;
    let option = CUmemAllocationGranularity_flags::CU_MEM_ALLOC_GRANULARITY_MINIMUM;
    // SAFETY: pointers to locals throughout; addresses are the calls' own.
    unsafe {
        ok(cuMemGetAllocationGranularity(&mut granularity, &properties(&session), option));
        assert_eq!(granularity, PAGE);
        let at = reserve(2 * PAGE);
        let pieces = [create(&session, PAGE), create(&session, PAGE)];
        for (index, piece) in pieces.iter().enumerate() {
            ok(cuMemMap(at + (index * PAGE) as u64, PAGE, 0, *piece, 0));
            // The mapping keeps the memory.
            ok(cuMemRelease(*piece));
            fails(cuMemRelease(*piece), INVALID_VALUE);
        }
        // Without access a copy is refused.
        let values: Vec<u32> = (0..64).collect();
        let across = at + PAGE as u64 - 128;
        let bytes = size_of_val(&values[..]);
        fails(cuMemcpyHtoD_v2(across, values.as_ptr().cast(), bytes), INVALID_VALUE);
        ok(grant(&session, at, 2 * PAGE, READ_WRITE));
        upload(across, &values);
        assert_eq!(download::<u32>(across, 64), values);
        // A kernel on both sides of the border.
        let module = session.load(KERNELS);
        let add = session.function(module, "add");
        let out = session.alloc(1024);
        let floats: Vec<f32> = (0..64).map(|i| i as f32).collect();
        upload(across, &floats);
        let (mut a, mut b, mut c, mut n) = (across, across, out, 64u32);
        let mut arguments = [arg(&mut a), arg(&mut b), arg(&mut c), arg(&mut n)];
        ok(launch(add, [1; 3], [64, 1, 1], 0, null_mut(), &mut arguments));
        let sums = download::<f32>(out, 64);
        assert!(sums.iter().enumerate().all(|(i, s)| *s == 2.0 * i as f32));
        let mut flags = 0;
        ok(cuMemGetAccess(&mut flags, &properties(&session).location, at));
        assert_eq!(flags, READ_WRITE as u64);
        let (mut base, mut size) = (0u64, 0usize);
        ok(cuMemGetAddressRange_v2(&mut base, &mut size, across));
        assert_eq!((base, size), (at, PAGE));
        ok(cuMemUnmap(at, 2 * PAGE));
        fails(cuMemcpyHtoD_v2(across, values.as_ptr().cast(), bytes), INVALID_VALUE);
        ok(cuMemAddressFree(at, 2 * PAGE));
    }
}

#[test]
fn one_piece_of_memory_at_two_addresses() {
    let session = Session::new();
    let (first, second) = (reserve(PAGE), reserve(PAGE));
    let memory = create(&session, PAGE);
    // SAFETY: as above.
    unsafe {
        for at in [first, second] {
            ok(cuMemMap(at, PAGE, 0, memory, 0));
            ok(grant(&session, at, PAGE, READ_WRITE));
        }
        upload(first + 4096, &[11u32, 12, 13]);
        assert_eq!(download::<u32>(second + 4096, 3), [11, 12, 13]);
        let mut again = 0;
        ok(cuMemRetainAllocationHandle(&mut again, second as *mut _));
        assert_eq!(again, memory);
        ok(cuMemRelease(again));
        let mut prop = properties(&session);
        ok(cuMemGetAllocationPropertiesFromHandle(&mut prop, memory));
        assert_eq!(prop.location.id, session.device);
        ok(cuMemUnmap(first, PAGE));
        // Memory outlives one mapping, and comes back where it was.
        assert_eq!(download::<u32>(second + 4096, 3), [11, 12, 13]);
        ok(cuMemMap(first, PAGE, 0, memory, 0));
        ok(grant(&session, first, PAGE, READ_WRITE));
        assert_eq!(download::<u32>(first + 4096, 3), [11, 12, 13]);
        for at in [first, second] {
            ok(cuMemUnmap(at, PAGE));
            ok(cuMemAddressFree(at, PAGE));
        }
        ok(cuMemRelease(memory));
    }
}

/// What a kernel that stores to `at` ends with, in a context of its own.
fn store_ends_with(prepare: impl FnOnce(&Session) -> CUdeviceptr) -> CUresult {
    let session = Session::alone();
    let module = session.load(KERNELS);
    let store = session.function(module, "store");
    let (mut at, mut value) = (prepare(&session), 5u32);
    ok(launch(store, [1; 3], [1; 3], 0, null_mut(), &mut [arg(&mut at), arg(&mut value)]));
    // SAFETY: no pointers.
    unsafe { cuCtxSynchronize() }
}

#[test]
fn what_is_not_mapped_or_not_granted_is_an_illegal_address() {
    let illegal = CUresult::CUDA_ERROR_ILLEGAL_ADDRESS;
    assert_eq!(store_ends_with(|_| reserve(PAGE)), illegal);
    if real() {
        // The process is lost to a driver then.
        return;
    }
    let mapped = |session: &Session| {
        let at = reserve(PAGE);
        let memory = create(session, PAGE);
        // SAFETY: addresses of the calls.
        unsafe { ok(cuMemMap(at, PAGE, 0, memory, 0)) };
        at
    };
    assert_eq!(store_ends_with(mapped), illegal);
    let read_only = |session: &Session| {
        let at = mapped(session);
        ok(grant(session, at, PAGE, READ));
        at
    };
    assert_eq!(store_ends_with(read_only), illegal);
    let revoked = |session: &Session| {
        let at = mapped(session);
        ok(grant(session, at, PAGE, READ_WRITE));
        ok(grant(session, at, PAGE, NONE));
        at
    };
    assert_eq!(store_ends_with(revoked), illegal);
    let unmapped = |session: &Session| {
        let at = mapped(session);
        ok(grant(session, at, PAGE, READ_WRITE));
        // SAFETY: addresses of the calls.
        unsafe { ok(cuMemUnmap(at, PAGE)) };
        at
    };
    assert_eq!(store_ends_with(unmapped), illegal);
    let granted = |session: &Session| {
        let at = mapped(session);
        ok(grant(session, at, PAGE, READ_WRITE));
        at
    };
    ok(store_ends_with(granted));
}

#[test]
fn bad_sizes_places_and_handles() {
    let session = Session::new();
    let prop = properties(&session);
    let (mut handle, mut at) = (0, 0);
    // SAFETY: pointers to locals, and null where null is refused.
    unsafe {
        fails(cuMemCreate(&mut handle, PAGE + 1, &prop, 0), INVALID_VALUE);
        fails(cuMemCreate(&mut handle, 0, &prop, 0), INVALID_VALUE);
        fails(cuMemCreate(&mut handle, PAGE, null(), 0), INVALID_VALUE);
        fails(cuMemCreate(&mut handle, PAGE << 30, &prop, 0), CUresult::CUDA_ERROR_OUT_OF_MEMORY);
        fails(cuMemAddressReserve(&mut at, PAGE + 4096, 0, 0, 0), INVALID_VALUE);
        fails(cuMemAddressReserve(&mut at, PAGE, 3, 0, 0), INVALID_VALUE);
        let base = reserve(4 * PAGE);
        let memory = create(&session, 2 * PAGE);
        let unsupported = CUresult::CUDA_ERROR_NOT_SUPPORTED;
        fails(cuMemMap(base, 3 * PAGE, 0, memory, 0), unsupported);
        fails(cuMemMap(base, PAGE, 0, memory, 0), unsupported);
        fails(cuMemMap(base, 2 * PAGE, PAGE, memory, 0), unsupported);
        if !real() {
            // A driver does not look at the end of what is reserved.
            let late = base + 3 * PAGE as u64;
            fails(cuMemMap(late, 2 * PAGE, 0, memory, 0), INVALID_VALUE);
        }
        fails(cuMemMap(base, PAGE, 0, memory + 1, 0), INVALID_VALUE);
        ok(cuMemMap(base, 2 * PAGE, 0, memory, 0));
        fails(cuMemMap(base + PAGE as u64, 2 * PAGE, 0, memory, 0), INVALID_VALUE);
        fails(grant(&session, base + 2 * PAGE as u64, PAGE, READ_WRITE), INVALID_VALUE);
        fails(cuMemUnmap(base, PAGE), INVALID_VALUE);
        fails(cuMemAddressFree(base, 4 * PAGE), INVALID_VALUE);
        fails(cuMemFree_v2(base), INVALID_VALUE);
        let mut fd = -1i32;
        let kind = CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
        // It was not made to be exported.
        let to = (&raw mut fd).cast();
        fails(cuMemExportToShareableHandle(to, memory, kind, 0), INVALID_VALUE);
        ok(cuMemUnmap(base, 2 * PAGE));
        ok(cuMemRelease(memory));
        ok(cuMemAddressFree(base, 4 * PAGE));
        fails(cuMemAddressFree(base, 4 * PAGE), INVALID_VALUE);
    }
}

#[test]
fn exported_memory_is_the_same_memory() {
    let session = Session::new();
    let kind = CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    let mut prop = properties(&session);
    prop.requestedHandleTypes = kind;
    let (mut handle, mut imported, mut fd) = (0, 0, -1i32);
    let (first, second) = (reserve(PAGE), reserve(PAGE));
    // SAFETY: pointers to locals; the descriptor is this test's.
    unsafe {
        ok(cuMemCreate(&mut handle, PAGE, &prop, 0));
        ok(cuMemExportToShareableHandle((&raw mut fd).cast(), handle, kind, 0));
        ok(cuMemImportFromShareableHandle(&mut imported, fd as usize as *mut _, kind));
        if !real() {
            // CUDA_ERROR_UNKNOWN from a driver.
            let nothing = usize::MAX as *mut _;
            let import = cuMemImportFromShareableHandle(&mut imported, nothing, kind);
            fails(import, INVALID_VALUE);
        }
        for (at, memory) in [(first, handle), (second, imported)] {
            ok(cuMemMap(at, PAGE, 0, memory, 0));
            ok(grant(&session, at, PAGE, READ_WRITE));
        }
        upload(first, &[1u64, 2, 3]);
        assert_eq!(download::<u64>(second, 3), [1, 2, 3]);
        libc::close(fd);
    }
}
