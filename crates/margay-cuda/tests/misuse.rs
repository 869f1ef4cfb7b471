// SPDX-License-Identifier: MIT OR Apache-2.0
//! Handles used where they do not belong: modules while their kernels run, memory and events of other
//! contexts, captures that break the rules, and calls from a stream's host function.

mod common;

use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::Mutex;
use std::time::Duration;

use common::*;

const NOT_PERMITTED: CUresult = CUresult::CUDA_ERROR_NOT_PERMITTED;
const INVALID_CONTEXT: CUresult = CUresult::CUDA_ERROR_INVALID_CONTEXT;
const NOT_READY: CUresult = CUresult::CUDA_ERROR_NOT_READY;

/// Waits until the host sets a flag, then writes what its module's variable holds.
const WAITS: &str = "\
.version 7.0
.target sm_52
.address_size 64

.visible .global .align 4 .b32 answer = 42;

.visible .entry waits(.param .u64 flag, .param .u64 to)
{
    .reg .pred %p;
    .reg .b32 %r<3>;
    .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [flag];
    ld.param.u64 %rd2, [to];
again:
    ld.volatile.global.u32 %r1, [%rd1];
    setp.eq.u32 %p, %r1, 0;
    @%p bra again;
    ld.global.u32 %r2, [answer];
    st.global.u32 [%rd2], %r2;
    ret;
}
";

/// Memory of the host that a kernel polls.
struct Flag(*mut u32);

// SAFETY: written by one thread with a volatile store; kernels read it.
unsafe impl Send for Flag {}

impl Flag {
    fn new() -> Flag {
        let mut host = null_mut();
        // SAFETY: a pointer to a local; the word is ours.
        unsafe {
            ok(cuMemHostAlloc(&mut host, 4, 0));
            host.cast::<u32>().write_volatile(0);
        }
        Flag(host.cast())
    }

    fn set(&self) {
        // SAFETY: live host memory.
        unsafe { self.0.write_volatile(1) };
    }

    /// Sets it from another thread, when the calling one waits for the kernel.
    fn set_soon(&self) {
        let there = Flag(self.0);
        std::thread::spawn(move || {
            let flag = there;
            std::thread::sleep(Duration::from_millis(100));
            flag.set();
        });
    }
}

/// Another context of the device; the session's is current again.
fn second_context(session: &Session) -> CUcontext {
    let mut context = null_mut();
    // SAFETY: pointers to locals.
    unsafe {
        ok(cuCtxCreate_v2(&mut context, 0, session.device));
        let mut popped = null_mut();
        ok(cuCtxPopCurrent_v2(&mut popped));
        assert_eq!(popped, context);
    }
    context
}

/// Does something with a context current.
fn within<T>(context: CUcontext, work: impl FnOnce() -> T) -> T {
    let mut popped = null_mut();
    // SAFETY: a live context, and a pointer to a local.
    unsafe {
        ok(cuCtxPushCurrent_v2(context));
        let result = work();
        ok(cuCtxPopCurrent_v2(&mut popped));
        result
    }
}

fn new_stream() -> CUstream {
    let mut stream = null_mut();
    // SAFETY: a pointer to a local.
    ok(unsafe { cuStreamCreate(&mut stream, 1) });
    stream
}

fn new_event() -> CUevent {
    let mut event = null_mut();
    // SAFETY: a pointer to a local.
    ok(unsafe { cuEventCreate(&mut event, 0) });
    event
}

#[test]
fn a_module_is_unloaded_when_its_kernels_have_ended() {
    let session = Session::alone();
    let (mut flag, mut to) = (Flag::new(), session.alloc(4));
    upload(to, &[0u32]);
    let module = session.load(WAITS);
    let waits = session.function(module, "waits");
    let stream = new_stream();
    let arguments = &mut [arg(&mut flag.0), arg(&mut to)];
    ok(launch(waits, [1, 1, 1], [1, 1, 1], 0, stream, arguments));
    // SAFETY: live handles.
    unsafe {
        fails(cuStreamQuery(stream), NOT_READY);
        flag.set_soon();
        ok(cuModuleUnload(module));
        // It read its variable before that went.
        ok(cuStreamQuery(stream));
    }
    assert_eq!(download::<u32>(to, 1), [42]);
}

#[test]
fn a_graph_does_not_outlive_its_module() {
    let session = Session::alone();
    if real() {
        // Undefined in the manual; margay answers.
        return;
    }
    let module = session.load(KERNELS);
    let mut to = session.alloc(4);
    upload(to, &[0u32]);
    let mut arguments = [arg(&mut to)];
    let params = CUDA_KERNEL_NODE_PARAMS {
        func: session.function(module, "bump"),
        gridDimX: 1,
        gridDimY: 1,
        gridDimZ: 1,
        blockDimX: 1,
        blockDimY: 1,
        blockDimZ: 1,
        sharedMemBytes: 0,
        kernelParams: arguments.as_mut_ptr(),
        extra: null_mut(),
        kern: null_mut(),
        ctx: null_mut(),
    };
    let (mut graph, mut node, mut exec) = (null_mut(), null_mut(), null_mut());
    // SAFETY: pointers to locals.
    unsafe {
        ok(cuGraphCreate(&mut graph, 0));
        ok(cuGraphAddKernelNode_v2(&mut node, graph, std::ptr::null(), 0, &params));
        ok(cuGraphInstantiateWithFlags(&mut exec, graph, 0));
        ok(cuGraphLaunch(exec, null_mut()));
        ok(cuModuleUnload(module));
        fails(cuGraphLaunch(exec, null_mut()), INVALID_HANDLE);
        ok(cuCtxSynchronize());
        ok(cuGraphExecDestroy(exec));
        ok(cuGraphDestroy(graph));
    }
    assert_eq!(download::<u32>(to, 1), [1]);
}

#[test]
fn memory_is_freed_in_any_live_context() {
    let session = Session::alone();
    let other = second_context(&session);
    let mine = session.alloc(64);
    let theirs = within(other, || session.alloc(64));
    // Addresses are unified: the context that is current need not be the memory's.
    ok(within(other, || unsafe { cuMemFree_v2(mine) }));
    // SAFETY: addresses are looked up.
    unsafe { fails(cuMemFree_v2(mine), INVALID_VALUE) };
    // Memory goes with its context.
    let mut host = null_mut();
    // SAFETY: pointers to locals; margay looks addresses up.
    unsafe {
        ok(within(other, || cuMemHostAlloc(&mut host, 64, 0)));
        ok(cuCtxDestroy_v2(other));
        fails(cuMemFree_v2(theirs), INVALID_VALUE);
        fails(cuMemFreeHost(host), INVALID_VALUE);
        // Nor need there be one.
        let kept = session.alloc(64);
        ok(cuCtxSetCurrent(null_mut()));
        ok(cuMemFree_v2(kept));
        fails(cuMemFree_v2(kept), INVALID_VALUE);
        ok(cuCtxSetCurrent(session.context));
    }
}

#[test]
fn the_current_context_was_destroyed() {
    let session = Session::alone();
    let gone = second_context(&session);
    let context = session.context as usize;
    // In a thread of its own, whose stack of contexts ends with it.
    let doomed = gone as usize;
    std::thread::spawn(move || {
        let mut memory = 0;
        // SAFETY: pointers to locals; margay looks handles up.
        unsafe {
            ok(cuCtxSetCurrent(doomed as CUcontext));
            std::thread::scope(|scope| {
                scope.spawn(|| ok(cuCtxDestroy_v2(doomed as CUcontext)));
            });
            fails(cuMemAlloc_v2(&mut memory, 16), CUresult::CUDA_ERROR_CONTEXT_IS_DESTROYED);
            if real() {
                // A driver follows such a pointer.
                return;
            }
            fails(cuCtxSetCurrent(doomed as CUcontext), INVALID_CONTEXT);
            fails(cuCtxDestroy_v2(doomed as CUcontext), INVALID_CONTEXT);
            ok(cuCtxSetCurrent(context as CUcontext));
            ok(cuMemAlloc_v2(&mut memory, 16));
            ok(cuMemFree_v2(memory));
        }
    })
    .join()
    .unwrap();
}

#[test]
fn events_of_another_context_order_but_do_not_record() {
    let session = Session::alone();
    let other = second_context(&session);
    let waits = session.function(session.load(WAITS), "waits");
    let (mut flag, mut to) = (Flag::new(), session.alloc(4));
    let (mine, event) = (new_stream(), new_event());
    let (theirs, foreign) = within(other, || (new_stream(), new_event()));
    let mut milliseconds = 0.0;
    // SAFETY: live handles and pointers to locals.
    unsafe {
        fails(cuEventRecord(foreign, mine), INVALID_HANDLE);
        fails(within(other, || cuEventRecord(event, theirs)), INVALID_HANDLE);
        let arguments = &mut [arg(&mut flag.0), arg(&mut to)];
        ok(launch(waits, [1, 1, 1], [1, 1, 1], 0, mine, arguments));
        ok(cuEventRecord(event, mine));
        // A stream may wait for it, and anybody may ask.
        ok(within(other, || cuStreamWaitEvent(theirs, event, 0)));
        fails(within(other, || cuEventQuery(event)), NOT_READY);
        fails(within(other, || cuStreamQuery(theirs)), NOT_READY);
        flag.set_soon();
        ok(within(other, || cuStreamSynchronize(theirs)));
        ok(within(other, || cuEventQuery(event)));
        ok(within(other, || cuEventRecord(foreign, theirs)));
        ok(within(other, || cuEventSynchronize(foreign)));
        // Their clocks need not be one.
        fails(cuEventElapsedTime(&mut milliseconds, event, foreign), INVALID_HANDLE);
        if !real() {
            ok(cuCtxDestroy_v2(other));
            fails(cuEventQuery(foreign), INVALID_HANDLE);
            fails(cuStreamWaitEvent(mine, foreign, 0), INVALID_HANDLE);
        }
    }
    assert_eq!(download::<u32>(to, 1), [42]);
}

#[test]
fn work_stays_in_the_context_of_its_stream() {
    let session = Session::new();
    let other = second_context(&session);
    let nothing = session.function(session.load(KERNELS), "nothing");
    let theirs = within(other, new_stream);
    fails(launch(nothing, [1, 1, 1], [1, 1, 1], 0, theirs, &mut []), INVALID_HANDLE);
    // SAFETY: a live handle.
    ok(unsafe { cuCtxDestroy_v2(other) });
}

const GLOBAL: CUstreamCaptureMode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_GLOBAL;
const THREAD_LOCAL: CUstreamCaptureMode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;

/// Ends a capture, and destroys what it made.
fn end(stream: CUstream) -> CUresult {
    let mut graph = null_mut();
    // SAFETY: a live stream and a pointer to a local.
    unsafe {
        let result = cuStreamEndCapture(stream, &mut graph);
        assert_eq!(graph.is_null(), result != CUresult::CUDA_SUCCESS);
        if !graph.is_null() {
            ok(cuGraphDestroy(graph));
        }
        result
    }
}

#[test]
fn captures_that_break_the_rules() {
    // A capture in global mode forbids things to every thread of the process.
    let session = Session::alone();
    let memory = session.alloc(64);
    let (a, b, free) = (new_stream(), new_stream(), new_stream());
    let (event, outside) = (new_event(), new_event());
    let mut address = 0;
    let invalidated = CUresult::CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    let unsupported = CUresult::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    // SAFETY: live handles and pointers to locals.
    unsafe {
        let begin = |stream| cuStreamBeginCapture_v2(stream, GLOBAL);
        fails(begin(null_mut()), unsupported);
        fails(end(a), CUresult::CUDA_ERROR_ILLEGAL_STATE);
        ok(begin(a));
        fails(begin(a), CUresult::CUDA_ERROR_ILLEGAL_STATE);
        ok(cuMemsetD8Async(memory, 1, 64, a));
        ok(end(a));

        // Allocating, and waiting for everything.
        ok(begin(a));
        fails(cuMemAlloc_v2(&mut address, 16), unsupported);
        fails(cuMemsetD8Async(memory, 1, 64, a), invalidated);
        fails(end(a), invalidated);
        ok(begin(a));
        fails(cuCtxSynchronize(), unsupported);
        fails(end(a), invalidated);
        ok(begin(a));
        fails(cuStreamQuery(a), unsupported);
        fails(end(a), invalidated);

        // An event of the capture is no event of the host's.
        ok(begin(a));
        ok(cuEventRecord(event, a));
        fails(cuEventQuery(event), CUresult::CUDA_ERROR_CAPTURED_EVENT);
        fails(end(a), invalidated);
        ok(begin(a));
        ok(cuEventRecord(event, a));
        fails(cuEventSynchronize(event), CUresult::CUDA_ERROR_CAPTURED_EVENT);
        fails(end(a), invalidated);

        // What lies outside cannot be waited for.
        ok(cuEventRecord(outside, free));
        ok(begin(a));
        fails(cuStreamWaitEvent(a, outside, 0), CUresult::CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
        fails(end(a), invalidated);

        // Two captures cannot become one.
        ok(begin(a));
        ok(begin(b));
        ok(cuEventRecord(event, a));
        fails(cuStreamWaitEvent(b, event, 0), CUresult::CUDA_ERROR_STREAM_CAPTURE_MERGE);
        fails(end(a), invalidated);
        fails(end(b), invalidated);

        // A stream that joined must be joined again, and cannot end the capture.
        ok(begin(a));
        ok(cuEventRecord(event, a));
        ok(cuStreamWaitEvent(b, event, 0));
        ok(cuMemsetD8Async(memory, 2, 64, b));
        fails(end(a), CUresult::CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
        ok(begin(a));
        ok(cuEventRecord(event, a));
        ok(cuStreamWaitEvent(b, event, 0));
        fails(end(b), CUresult::CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
        fails(end(a), invalidated);

        // The thread that began it ends it.
        ok(begin(a));
        let (context, stream) = (session.context as usize, a as usize);
        let elsewhere = std::thread::spawn(move || {
            ok(cuCtxSetCurrent(context as CUcontext));
            end(stream as CUstream)
        });
        let wrong_thread = CUresult::CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
        fails(elsewhere.join().unwrap(), wrong_thread);
        // The attempt was the end.
        fails(end(a), CUresult::CUDA_ERROR_ILLEGAL_STATE);

        // In thread-local mode other threads may allocate.
        ok(cuStreamBeginCapture_v2(a, THREAD_LOCAL));
        let relaxed = std::thread::spawn(move || {
            let mut address = 0;
            ok(cuCtxSetCurrent(context as CUcontext));
            ok(cuMemAlloc_v2(&mut address, 16));
            ok(cuMemFree_v2(address));
        });
        relaxed.join().unwrap();
        ok(end(a));

        // After all that the streams work.
        ok(cuMemsetD8Async(memory, 7, 64, a));
        ok(cuStreamSynchronize(a));
        ok(cuEventRecord(event, a));
        ok(cuEventSynchronize(event));
    }
    assert_eq!(download::<u8>(memory, 64), [7; 64]);
}

/// What the calls of a host function gave.
static ANSWERS: Mutex<Vec<(&str, CUresult)>> = Mutex::new(Vec::new());

/// Handles for the host function.
#[derive(Clone, Copy)]
struct Handles {
    context: CUcontext,
    device: CUdevice,
    stream: CUstream,
    event: CUevent,
    memory: CUdeviceptr,
    nothing: CUfunction,
}

fn call_everything(of: &Handles) {
    let mut address = 0;
    let mut primary = null_mut();
    let mut version = 0;
    // SAFETY: live handles and pointers to locals.
    let answers = unsafe {
        vec![
            ("cuMemAlloc", cuMemAlloc_v2(&mut address, 16)),
            ("cuMemFree", cuMemFree_v2(of.memory)),
            ("cuMemcpyDtoD", cuMemcpyDtoD_v2(of.memory, of.memory + 8, 8)),
            ("cuMemsetD8Async", cuMemsetD8Async(of.memory, 0, 8, of.stream)),
            ("cuLaunchKernel", launch(of.nothing, [1, 1, 1], [1, 1, 1], 0, of.stream, &mut [])),
            ("cuStreamSynchronize", cuStreamSynchronize(of.stream)),
            ("cuStreamQuery", cuStreamQuery(of.stream)),
            ("cuEventRecord", cuEventRecord(of.event, of.stream)),
            ("cuEventSynchronize", cuEventSynchronize(of.event)),
            ("cuCtxSynchronize", cuCtxSynchronize()),
            // Each of these would wait for the stream that runs this.
            ("cuCtxDestroy", cuCtxDestroy_v2(of.context)),
            ("cuDevicePrimaryCtxRetain", cuDevicePrimaryCtxRetain(&mut primary, of.device)),
            ("cuDevicePrimaryCtxRelease", cuDevicePrimaryCtxRelease_v2(of.device)),
            ("cuDevicePrimaryCtxReset", cuDevicePrimaryCtxReset_v2(of.device)),
        ]
    };
    // SAFETY: a pointer to a local. It touches no context.
    ok(unsafe { cuDriverGetVersion(&mut version) });
    ANSWERS.lock().unwrap().extend(answers);
}

unsafe extern "C" fn host_function(data: *mut c_void) {
    // SAFETY: the test's handles, which outlive the call.
    call_everything(unsafe { &*data.cast::<Handles>() });
}

unsafe extern "C" fn callback(_: CUstream, status: CUresult, data: *mut c_void) {
    ok(status);
    // SAFETY: as above.
    call_everything(unsafe { &*data.cast::<Handles>() });
}

#[test]
fn host_functions_make_no_calls() {
    if real() {
        // Undefined in the manual: a driver may wait for itself.
        return;
    }
    let session = Session::alone();
    let stream = new_stream();
    let handles = Handles {
        context: session.context,
        device: session.device,
        stream,
        event: new_event(),
        memory: session.alloc(16),
        nothing: session.function(session.load(KERNELS), "nothing"),
    };
    let data = std::ptr::from_ref(&handles).cast_mut().cast();
    // SAFETY: the handles outlive the stream's work.
    unsafe {
        ok(cuLaunchHostFunc(stream, Some(host_function), data));
        ok(cuStreamAddCallback(stream, Some(callback), data, 0));
        ok(cuStreamSynchronize(stream));
    }
    let answers = ANSWERS.lock().unwrap();
    assert_eq!(answers.len(), 28);
    for (name, result) in answers.iter() {
        assert_eq!(*result, NOT_PERMITTED, "{name}");
    }
    // And nothing happened.
    // SAFETY: live handles.
    unsafe {
        ok(cuMemFree_v2(handles.memory));
        ok(cuCtxSynchronize());
    }
}

/// A context of the old kind ends with its last use.
#[test]
fn attached_contexts() {
    let session = Session::new();
    let mut attached = null_mut();
    // SAFETY: pointers to locals.
    unsafe {
        fails(cuCtxAttach(null_mut(), 0), INVALID_VALUE);
        fails(cuCtxAttach(&mut attached, 1), INVALID_VALUE);
        let mut context = null_mut();
        ok(cuCtxCreate_v2(&mut context, 0, session.device));
        ok(cuCtxAttach(&mut attached, 0));
        assert_eq!(attached, context);
        ok(cuCtxDetach(context));
        ok(cuCtxSynchronize());
        // It is not the session's that is current.
        fails(cuCtxDetach(session.context), CUresult::CUDA_ERROR_INVALID_CONTEXT);
        ok(cuCtxDetach(context));
        let mut now = null_mut();
        ok(cuCtxGetCurrent(&mut now));
        assert_eq!(now, session.context);
        assert_ne!(cuCtxDetach(context), CUresult::CUDA_SUCCESS);
        // A primary context has counts of its own.
        let mut primary = null_mut();
        ok(cuDevicePrimaryCtxRetain(&mut primary, session.device));
        ok(cuCtxPushCurrent_v2(primary));
        ok(cuCtxAttach(&mut attached, 0));
        ok(cuCtxDetach(primary));
        ok(cuCtxPopCurrent_v2(&mut now));
        ok(cuDevicePrimaryCtxRelease_v2(session.device));
    }
}
