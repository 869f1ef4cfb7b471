// SPDX-License-Identifier: MIT OR Apache-2.0
//! Memory and events of one process in another: each test runs its scenario, an ignored test of this
//! file, in a child process and hands it handles as text in the environment.

mod common;

use std::process::{Child, Command, Stdio};
use std::ptr::null_mut;

use common::*;

/// A child that runs a scenario with the handle in `HANDLE` and another in `EVENT`.
fn child(scenario: &str, handle: &[i8], event: &[i8]) -> Child {
    let hex = |bytes: &[i8]| bytes.iter().map(|b| format!("{:02x}", *b as u8)).collect::<String>();
    Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "--nocapture", scenario])
        .env("HANDLE", hex(handle))
        .env("EVENT", hex(event))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

#[track_caller]
fn succeeds(child: Child) {
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

fn variable(name: &str) -> [i8; 64] {
    let text = std::env::var(name).unwrap();
    std::array::from_fn(|i| u8::from_str_radix(&text[2 * i..2 * i + 2], 16).unwrap() as i8)
}

fn open(flags: u32) -> Result<CUdeviceptr, CUresult> {
    let handle = CUipcMemHandle { reserved: variable("HANDLE") };
    let mut at = 0;
    // SAFETY: a pointer to a local.
    match unsafe { cuIpcOpenMemHandle_v2(&mut at, handle, flags) } {
        CUresult::CUDA_SUCCESS => Ok(at),
        error => Err(error),
    }
}

fn export(at: CUdeviceptr) -> CUipcMemHandle {
    let mut handle = CUipcMemHandle { reserved: [0; 64] };
    // SAFETY: a pointer to a local.
    ok(unsafe { cuIpcGetMemHandle(&mut handle, at) });
    handle
}

#[test]
#[ignore = "run by a_child_changes_the_parents_memory"]
fn scenario_memory() {
    let session = Session::new();
    let at = open(1).unwrap();
    assert_eq!(open(1), Ok(at), "one address for one handle");
    assert_eq!(download::<u32>(at, 4), [1, 2, 3, 4]);
    let module = session.load(KERNELS);
    let bump = session.function(module, "bump");
    let mut last = at + 4 * 4999;
    ok(launch(bump, [1; 3], [1; 3], 0, null_mut(), &mut [arg(&mut last)]));
    upload(at, &[7u32]);
    // SAFETY: addresses of the calls.
    unsafe {
        ok(cuCtxSynchronize());
        // Past the end, and not this process's to free.
        fails(cuMemsetD32_v2(at + 4 * 5000, 0, 1), INVALID_VALUE);
        fails(cuMemFree_v2(at), INVALID_VALUE);
        ok(cuIpcCloseMemHandle(at));
        assert_eq!(download::<u32>(at, 1), [7], "still open once");
        ok(cuIpcCloseMemHandle(at));
        fails(cuIpcCloseMemHandle(at), INVALID_VALUE);
        fails(cuMemsetD32_v2(at, 0, 1), INVALID_VALUE);
    }
}

#[test]
fn a_child_changes_the_parents_memory() {
    let session = Session::new();
    let at = session.alloc(4 * 5000);
    let before = session.alloc(16);
    upload(before, &[5u32; 4]);
    upload(at, &[1u32, 2, 3, 4]);
    upload(at + 4 * 4999, &[40u32]);
    // Any address in it names the allocation.
    let handle = export(at + 8);
    assert_eq!(handle.reserved, export(at).reserved);
    succeeds(child("scenario_memory", &handle.reserved, &[]));
    assert_eq!(download::<u32>(at, 4), [7, 2, 3, 4]);
    assert_eq!(download::<u32>(at + 4 * 4999, 1), [41]);
    assert_eq!(download::<u32>(before, 4), [5; 4]);
    // SAFETY: addresses of the calls.
    unsafe {
        // Not in the process that made it.
        let mut here = 0;
        fails(cuIpcOpenMemHandle_v2(&mut here, handle, 1), CUresult::CUDA_ERROR_INVALID_CONTEXT);
        ok(cuMemFree_v2(at));
        let mut gone = handle;
        fails(cuIpcGetMemHandle(&mut gone, at), INVALID_VALUE);
    }
}

#[test]
#[ignore = "run by nonsense_opens_nothing"]
fn scenario_nonsense() {
    let _session = Session::new();
    let open = |flags| open(flags).err().unwrap_or(CUresult::CUDA_SUCCESS);
    fails(open(1), INVALID_VALUE);
    fails(open(2), INVALID_VALUE);
    let mut event = null_mut();
    let handle = CUipcEventHandle { reserved: variable("HANDLE") };
    // SAFETY: a pointer to a local.
    fails(unsafe { cuIpcOpenEventHandle(&mut event, handle) }, CUresult::CUDA_ERROR_MAP_FAILED);
}

#[test]
fn nonsense_opens_nothing() {
    let session = Session::new();
    succeeds(child("scenario_nonsense", &[3; 64], &[]));
    // A handle of a process that never was: the number of another one, with this one's start.
    let mut handle = export(session.alloc(64));
    // Its high bits: the next number may be a child of this test, as old as it is.
    handle.reserved[10] ^= 0x40;
    if !real() {
        // A driver has other things there.
        succeeds(child("scenario_nonsense", &handle.reserved, &[]));
    }
    let (mut managed, mut host) = (0, null_mut());
    // SAFETY: pointers to locals.
    unsafe {
        ok(cuMemAllocManaged(&mut managed, 64, 1));
        fails(cuIpcGetMemHandle(&mut handle, managed), INVALID_VALUE);
        ok(cuMemHostAlloc(&mut host, 64, 0));
        fails(cuIpcGetMemHandle(&mut handle, host as u64), INVALID_VALUE);
        // An event that was not made for it.
        let (mut event, mut name) = (null_mut(), CUipcEventHandle { reserved: [0; 64] });
        ok(cuEventCreate(&mut event, 2));
        fails(cuIpcGetEventHandle(&mut name, event), INVALID_HANDLE);
        fails(cuEventCreate(&mut event, 4), INVALID_VALUE);
    }
}

#[test]
#[ignore = "run by a_child_waits_for_the_parents_event"]
fn scenario_event() {
    let _session = Session::new();
    let at = open(1).unwrap();
    let mut event = null_mut();
    // SAFETY: pointers to locals.
    unsafe {
        let handle = CUipcEventHandle { reserved: variable("EVENT") };
        ok(cuIpcOpenEventHandle(&mut event, handle));
        // The parent's stream is held until this word is written, and the event lies behind that.
        assert_eq!(cuEventQuery(event), CUresult::CUDA_ERROR_NOT_READY);
        ok(cuStreamWaitEvent(null_mut(), event, 0));
        ok(cuMemcpyDtoDAsync_v2(at + 8, at + 4, 4, null_mut()));
        upload_in(at, 1);
        ok(cuEventSynchronize(event));
        ok(cuCtxSynchronize());
        assert_eq!(download::<u32>(at, 3), [1, 6, 6]);
        ok(cuEventDestroy_v2(event));
    }
}

/// Writes a word in a stream that waits for no other.
fn upload_in(at: CUdeviceptr, value: u32) {
    let mut stream = null_mut();
    // SAFETY: pointers to locals.
    unsafe {
        ok(cuStreamCreate(&mut stream, 1));
        ok(cuStreamWriteValue32_v2(stream, at, value, 0));
        ok(cuStreamSynchronize(stream));
    }
}

#[test]
fn a_child_waits_for_the_parents_event() {
    let session = Session::new();
    let at = session.alloc(12);
    let (mut event, mut stream) = (null_mut(), null_mut());
    let mut name = CUipcEventHandle { reserved: [0; 64] };
    // SAFETY: pointers to locals.
    unsafe {
        upload(at, &[0u32; 3]);
        let handle = export(at);
        ok(cuEventCreate(&mut event, 2 | 4));
        ok(cuIpcGetEventHandle(&mut name, event));
        ok(cuEventQuery(event));
        ok(cuStreamCreate(&mut stream, 1));
        ok(cuStreamWaitValue32_v2(stream, at, 1, 1));
        ok(cuStreamWriteValue32_v2(stream, at + 4, 6, 0));
        ok(cuEventRecord(event, stream));
        succeeds(child("scenario_event", &handle.reserved, &name.reserved));
        ok(cuEventSynchronize(event));
        assert_eq!(download::<u32>(at, 3), [1, 6, 6]);
    }
}

#[test]
fn a_forked_child_is_told_that_it_must_start_anew() {
    let _session = Session::new();
    // SAFETY: the child calls what is under test and ends at once.
    unsafe {
        match libc::fork() {
            0 => {
                let mut at = 0;
                let code = cuMemAlloc_v2(&mut at, 64);
                let expected = CUresult::CUDA_ERROR_NOT_INITIALIZED;
                libc::_exit(i32::from(code != expected || cuInit(0) != expected));
            }
            pid => {
                let mut status = -1;
                assert_eq!(libc::waitpid(pid, &mut status, 0), pid);
                assert_eq!(status, 0);
            }
        }
    }
}

#[test]
fn a_pool_of_another_process() {
    let _session = Session::new();
    let kind = CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    // SAFETY: pointers to locals; all zeros is a value of the plain structures.
    unsafe {
        let mut props: CUmemPoolProps = std::mem::zeroed();
        props.allocType = CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED;
        props.handleTypes = kind;
        props.location.type_ = CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE;
        let (mut pool, mut imported) = (null_mut(), null_mut());
        ok(cuMemPoolCreate(&mut pool, &props));
        let (mut fd, mut at, mut there) = (-1i32, 0, 0);
        ok(cuMemPoolExportToShareableHandle((&raw mut fd).cast(), pool, kind, 0));
        ok(cuMemAllocFromPoolAsync(&mut at, 1000, pool, null_mut()));
        upload(at, &[3u32, 4]);
        // A pool opens in its own process as in any other.
        ok(cuMemPoolImportFromShareableHandle(&mut imported, fd as usize as *mut _, kind, 0));
        let mut data = CUmemPoolPtrExportData { reserved: [0; 64] };
        fails(cuMemPoolImportPointer(&mut there, imported, &mut data), INVALID_VALUE);
        ok(cuMemPoolExportPointer(&mut data, at));
        ok(cuMemPoolImportPointer(&mut there, imported, &mut data));
        assert_ne!(at, there);
        assert_eq!(download::<u32>(there, 2), [3, 4]);
        fails(cuMemAllocFromPoolAsync(&mut there, 64, imported, null_mut()), INVALID_VALUE);
        ok(cuMemFreeAsync(there, null_mut()));
        ok(cuMemFreeAsync(at, null_mut()));
        ok(cuCtxSynchronize());
        fails(cuMemFreeAsync(at, null_mut()), INVALID_VALUE);
        ok(cuMemAllocFromPoolAsync(&mut at, 1000, pool, null_mut()));
        assert_eq!(download::<u32>(at, 2), [0, 0], "what was freed is not handed on");
        libc::close(fd);
    }
}
