// SPDX-License-Identifier: MIT OR Apache-2.0
//! Streams, events, host functions and stream-ordered memory.

mod common;

use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::Mutex;
use std::time::Duration;

use common::*;

fn stream(flags: u32) -> CUstream {
    let mut stream = null_mut();
    // SAFETY: a pointer to a local.
    ok(unsafe { cuStreamCreate(&mut stream, flags) });
    stream
}

fn event(flags: u32) -> CUevent {
    let mut event = null_mut();
    // SAFETY: a pointer to a local.
    ok(unsafe { cuEventCreate(&mut event, flags) });
    event
}

/// Notes a number after a while.
struct Note<'a> {
    log: &'a Mutex<Vec<u32>>,
    number: u32,
    milliseconds: u64,
}

unsafe extern "C" fn note(data: *mut c_void) {
    // SAFETY: each test passes a `Note` that lives until the stream is synchronised.
    let note = unsafe { &*data.cast::<Note>() };
    std::thread::sleep(Duration::from_millis(note.milliseconds));
    note.log.lock().unwrap().push(note.number);
}

#[test]
fn work_of_a_stream_is_in_order_and_later() {
    let _session = Session::new();
    let stream = stream(0);
    let log = Mutex::new(Vec::new());
    let notes = [(1, 60), (2, 0), (3, 0)].map(|(number, milliseconds)| Note {
        log: &log,
        number,
        milliseconds,
    });
    for n in &notes {
        // SAFETY: the notes outlive the synchronisation below.
        ok(unsafe { cuLaunchHostFunc(stream, Some(note), std::ptr::from_ref(n) as *mut c_void) });
    }
    // SAFETY: live handles.
    unsafe {
        fails(cuStreamQuery(stream), CUresult::CUDA_ERROR_NOT_READY);
        ok(cuStreamSynchronize(stream));
        ok(cuStreamQuery(stream));
        ok(cuStreamDestroy_v2(stream));
    }
    assert_eq!(*log.lock().unwrap(), [1, 2, 3]);
}

#[test]
fn the_default_stream_waits_and_is_waited_for() {
    let _session = Session::new();
    let (blocking, other) = (stream(0), stream(CUstream_flags::CU_STREAM_NON_BLOCKING as u32));
    let log = Mutex::new(Vec::new());
    let notes = [(1, 60), (2, 30), (3, 0), (4, 0)].map(|(number, milliseconds)| Note {
        log: &log,
        number,
        milliseconds,
    });
    let data = |i: usize| std::ptr::from_ref(&notes[i]) as *mut c_void;
    // SAFETY: the notes outlive the synchronisation below.
    unsafe {
        ok(cuLaunchHostFunc(blocking, Some(note), data(0)));
        ok(cuLaunchHostFunc(null_mut(), Some(note), data(1)));
        ok(cuLaunchHostFunc(blocking, Some(note), data(2)));
        ok(cuLaunchHostFunc(other, Some(note), data(3)));
        ok(cuCtxSynchronize());
    }
    // The fourth may come at any time: on a card all host functions share a thread.
    let mut order = log.lock().unwrap().clone();
    order.retain(|n| *n != 4);
    assert_eq!(order, [1, 2, 3]);
    assert_eq!(log.lock().unwrap().len(), 4);
}

#[test]
fn events_order_streams_and_tell_time() {
    let _session = Session::new();
    let non_blocking = CUstream_flags::CU_STREAM_NON_BLOCKING as u32;
    let (a, b) = (stream(non_blocking), stream(non_blocking));
    let (start, end) = (event(0), event(0));
    let log = Mutex::new(Vec::new());
    let notes =
        [(1, 60), (2, 0)].map(|(number, milliseconds)| Note { log: &log, number, milliseconds });
    let data = |i: usize| std::ptr::from_ref(&notes[i]) as *mut c_void;
    // SAFETY: the notes outlive the synchronisation below.
    unsafe {
        ok(cuEventRecord(start, a));
        ok(cuLaunchHostFunc(a, Some(note), data(0)));
        ok(cuEventRecord(end, a));
        fails(cuEventQuery(end), CUresult::CUDA_ERROR_NOT_READY);
        ok(cuStreamWaitEvent(b, end, 0));
        ok(cuLaunchHostFunc(b, Some(note), data(1)));
        ok(cuStreamSynchronize(b));
        ok(cuEventSynchronize(end));
        ok(cuEventQuery(end));
        let mut milliseconds = 0.0;
        ok(cuEventElapsedTime(&mut milliseconds, start, end));
        assert!((50.0..5000.0).contains(&milliseconds), "{milliseconds} ms");
    }
    assert_eq!(*log.lock().unwrap(), [1, 2]);
}

#[test]
fn events_that_are_no_use() {
    let _session = Session::new();
    let (plain, untimed) = (event(0), event(CUevent_flags::CU_EVENT_DISABLE_TIMING as u32));
    // SAFETY: handles that are live, or checked.
    unsafe {
        ok(cuEventQuery(plain));
        ok(cuEventSynchronize(plain));
        let mut milliseconds = 0.0;
        fails(cuEventElapsedTime(&mut milliseconds, plain, plain), INVALID_HANDLE);
        ok(cuEventRecord(plain, null_mut()));
        ok(cuEventRecord(untimed, null_mut()));
        ok(cuCtxSynchronize());
        fails(cuEventElapsedTime(&mut milliseconds, plain, untimed), INVALID_HANDLE);
        ok(cuEventElapsedTime(&mut milliseconds, plain, plain));
        let mut broken = null_mut();
        fails(cuEventCreate(&mut broken, 0x80), INVALID_VALUE);
        let mut stream = null_mut();
        fails(cuStreamCreate(&mut stream, 77), INVALID_VALUE);
        ok(cuEventDestroy_v2(plain));
    }
}

#[test]
fn several_threads_share_a_context() {
    let session = Session::new();
    let shared = session.context as usize;
    std::thread::scope(|scope| {
        for thread in 0..8u32 {
            scope.spawn(move || {
                // SAFETY: the context lives until the scope's end; pointers to locals.
                unsafe {
                    ok(cuCtxSetCurrent(shared as CUcontext));
                    let own = stream(CUstream_flags::CU_STREAM_NON_BLOCKING as u32);
                    for round in 0..20 {
                        let mut address = 0;
                        ok(cuMemAlloc_v2(&mut address, 4096));
                        ok(cuMemsetD32Async(address, thread * 100 + round, 1024, own));
                        ok(cuStreamSynchronize(own));
                        assert_eq!(download::<u32>(address, 1024), [thread * 100 + round; 1024]);
                        ok(cuMemFree_v2(address));
                    }
                    ok(cuStreamDestroy_v2(own));
                }
            });
        }
    });
}

#[test]
fn pageable_sources_may_change_after_the_call() {
    let session = Session::new();
    let stream = stream(0);
    let log = Mutex::new(Vec::new());
    let slow = Note { log: &log, number: 1, milliseconds: 40 };
    let a = session.alloc(4096);
    let mut host = vec![7u32; 1024];
    // SAFETY: the note outlives the synchronisation; ranges are the vector's and the allocation's.
    unsafe {
        ok(cuLaunchHostFunc(stream, Some(note), std::ptr::from_ref(&slow) as *mut c_void));
        ok(cuMemcpyHtoDAsync_v2(a, host.as_ptr().cast(), 4096, stream));
        host.fill(9);
        ok(cuStreamSynchronize(stream));
    }
    assert_eq!(download::<u32>(a, 1024), [7; 1024]);
}

#[test]
fn stream_ordered_memory() {
    let _session = Session::alone();
    let stream = stream(0);
    // SAFETY: pointers to locals, checked addresses.
    unsafe {
        let mut address = 0;
        ok(cuMemAllocAsync(&mut address, 4096, stream));
        ok(cuMemsetD32Async(address, 3, 1024, stream));
        ok(cuStreamSynchronize(stream));
        assert_eq!(download::<u32>(address, 1024), [3; 1024]);
        ok(cuMemFreeAsync(address, stream));
        ok(cuStreamSynchronize(stream));
        fails(cuMemFreeAsync(address, stream), INVALID_VALUE);
        let mut pool = null_mut();
        ok(cuDeviceGetDefaultMemPool(&mut pool, 0));
        let mut threshold = u64::MAX;
        let attribute = CUmemPool_attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD;
        ok(cuMemPoolGetAttribute(pool, attribute, (&raw mut threshold).cast()));
        assert_eq!(threshold, 0);
    }
}

/// Only where handles are looked up rather than dereferenced.
#[test]
fn destroyed_handles_are_noticed() {
    if real() {
        return;
    }
    let _session = Session::new();
    let (stream, event) = (stream(0), event(0));
    // SAFETY: margay checks handles.
    unsafe {
        ok(cuStreamDestroy_v2(stream));
        fails(cuStreamDestroy_v2(stream), INVALID_HANDLE);
        fails(cuStreamSynchronize(stream), INVALID_HANDLE);
        fails(cuEventRecord(event, stream), INVALID_HANDLE);
        ok(cuEventDestroy_v2(event));
        fails(cuEventDestroy_v2(event), INVALID_HANDLE);
        fails(cuEventQuery(event), INVALID_HANDLE);
        fails(cuModuleUnload(stream.cast()), INVALID_HANDLE);
    }
}
