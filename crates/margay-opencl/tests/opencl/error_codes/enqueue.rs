// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is the same for all functions that enqueue: the queue, the wait list, and the objects' context.

use std::ffi::c_void;
use std::ptr::{null, null_mut};

use super::{O, R, World, fails, refuses, told};
use crate::cl;
use crate::common::*;

unsafe extern "C" fn nothing(_: *mut c_void) {}

/// Functions that take memory objects or kernels, with valid arguments but for the queue and the list.
macro_rules! with_objects {
    ($code:ident, $w:expr, $q:expr, $n:expr, $l:expr) => {{
        let host = $w.host();
        let (b, b2, i, i2, k) = ($w.buffer, $w.second, $w.image, $w.image2, $w.kernel);
        let (o, r, one, e) = (O.as_ptr(), R.as_ptr(), 1usize, null_mut::<cl_event>());
        let host_const = host.cast_const();
        fails!($code:
            clEnqueueReadBuffer($q, b, 0, 0, 4, host, $n, $l, e),
            clEnqueueWriteBuffer($q, b, 0, 0, 4, host_const, $n, $l, e),
            clEnqueueReadBufferRect($q, b, 0, o, o, r, 0, 0, 0, 0, host, $n, $l, e),
            clEnqueueWriteBufferRect($q, b, 0, o, o, r, 0, 0, 0, 0, host_const, $n, $l, e),
            clEnqueueCopyBuffer($q, b, b2, 0, 0, 4, $n, $l, e),
            clEnqueueCopyBufferRect($q, b, b2, o, o, r, 0, 0, 0, 0, $n, $l, e),
            clEnqueueFillBuffer($q, b, host_const, 4, 0, 4, $n, $l, e),
            clEnqueueReadImage($q, i, 0, o, r, 0, 0, host, $n, $l, e),
            clEnqueueWriteImage($q, i, 0, o, r, 0, 0, host_const, $n, $l, e),
            clEnqueueCopyImage($q, i, i2, o, o, r, $n, $l, e),
            clEnqueueCopyImageToBuffer($q, i, b, o, r, 0, $n, $l, e),
            clEnqueueCopyBufferToImage($q, b, i, 0, o, r, $n, $l, e),
            clEnqueueFillImage($q, i, host_const, o, r, $n, $l, e),
            clEnqueueMigrateMemObjects($q, 1, &b, 0, $n, $l, e),
            clEnqueueNDRangeKernel($q, k, 1, null(), &one, null(), $n, $l, e),
            clEnqueueTask($q, k, $n, $l, e));
        let mut pitch = 0;
        refuses!($code:
            clEnqueueMapBuffer($q, b, 0, CL_MAP_READ, 0, 4, $n, $l, e),
            clEnqueueMapImage($q, i, 0, CL_MAP_READ, o, r, &mut pitch, null_mut(), $n, $l, e));
    }};
}

/// Functions that need none, and those of shared memory.
macro_rules! without_objects {
    ($code:ident, $w:expr, $q:expr, $n:expr, $l:expr) => {{
        let host = $w.host().cast_const();
        let (s, s2, none, e) = ($w.svm, $w.svm2, null_mut(), null_mut::<cl_event>());
        let (mut list, mut const_list) = (s, s.cast_const());
        fails!($code:
            clEnqueueSVMFree($q, 1, &mut list, None, none, $n, $l, e),
            clEnqueueSVMMemcpy($q, 0, s, s2.cast_const(), 4, $n, $l, e),
            clEnqueueSVMMemFill($q, s, host, 4, 4, $n, $l, e),
            clEnqueueSVMMap($q, 0, CL_MAP_READ, s, 4, $n, $l, e),
            clEnqueueSVMUnmap($q, s, $n, $l, e),
            clEnqueueSVMMigrateMem($q, 1, &mut const_list, null(), 0, $n, $l, e),
            clEnqueueNativeKernel($q, Some(nothing), none, 0, 0, null(), null_mut(), $n, $l, e),
            clEnqueueMarkerWithWaitList($q, $n, $l, e),
            clEnqueueBarrierWithWaitList($q, $n, $l, e));
    }};
}

#[test]
fn queues_and_wait_lists() {
    let mut w = World::new();
    let (q, context, e) = (w.setup.queue, w.setup.context, null_mut::<cl_event>());
    let (foreign, failed) = (w.foreign, w.failed());
    let mut error = 0;
    let map = cl!(clEnqueueMapBuffer(q, w.buffer, 1, CL_MAP_READ, 0, 4, 0, null(), e, &mut error));
    assert_eq!(error, 0);
    for junk in [null_mut(), context] {
        with_objects!(CL_INVALID_COMMAND_QUEUE, w, junk, 0, null());
        without_objects!(CL_INVALID_COMMAND_QUEUE, w, junk, 0, null());
        fails!(CL_INVALID_COMMAND_QUEUE: clEnqueueUnmapMemObject(junk, w.buffer, map, 0, null(), e));
    }
    let no_event = context;
    for (count, list) in [(1, null()), (0, &raw const failed), (1, &raw const no_event)] {
        with_objects!(CL_INVALID_EVENT_WAIT_LIST, w, q, count, list);
        without_objects!(CL_INVALID_EVENT_WAIT_LIST, w, q, count, list);
        fails!(CL_INVALID_EVENT_WAIT_LIST:
            clEnqueueUnmapMemObject(q, w.buffer, map, count, list, e));
    }
    with_objects!(CL_INVALID_CONTEXT, w, q, 1, &foreign);
    without_objects!(CL_INVALID_CONTEXT, w, q, 1, &foreign);
    fails!(CL_INVALID_CONTEXT: clEnqueueUnmapMemObject(q, w.buffer, map, 1, &foreign, e));
    // The queue is of another context than the objects.
    let far = w.other.queue;
    with_objects!(CL_INVALID_CONTEXT, w, far, 0, null());
    fails!(CL_INVALID_CONTEXT: clEnqueueUnmapMemObject(far, w.buffer, map, 0, null(), e));
    // The second object alone is of another context.
    let (o, r) = (O.as_ptr(), R.as_ptr());
    let foreign = World::new();
    let (b, i) = (foreign.buffer, foreign.image);
    fails!(CL_INVALID_CONTEXT:
        clEnqueueCopyBuffer(q, w.buffer, b, 0, 0, 4, 0, null(), e),
        clEnqueueCopyBufferRect(q, w.buffer, b, o, o, r, 0, 0, 0, 0, 0, null(), e),
        clEnqueueCopyImage(q, w.image, i, o, o, r, 0, null(), e),
        clEnqueueCopyImageToBuffer(q, w.image, b, o, r, 0, 0, null(), e),
        clEnqueueCopyBufferToImage(q, w.buffer, i, 0, o, r, 0, null(), e),
        clEnqueueMigrateMemObjects(q, 2, [w.buffer, b].as_ptr(), 0, 0, null(), e));
    assert_eq!(cl!(clEnqueueUnmapMemObject(q, w.buffer, map, 0, null(), e)), 0);
    told("Queues, wait lists and contexts of commands");
}

#[test]
fn blocking_commands_whose_events_failed() {
    let mut w = World::new();
    let (q, failed, host) = (w.setup.queue, w.failed(), w.host());
    let (b, i, s, e) = (w.buffer, w.image, w.svm, null_mut::<cl_event>());
    let (o, r, from, l) = (O.as_ptr(), R.as_ptr(), host.cast_const(), &raw const failed);
    let mut pitch = 0;
    fails!(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST:
        clEnqueueReadBuffer(q, b, 1, 0, 4, host, 1, l, e),
        clEnqueueWriteBuffer(q, b, 1, 0, 4, from, 1, l, e),
        clEnqueueReadBufferRect(q, b, 1, o, o, r, 0, 0, 0, 0, host, 1, l, e),
        clEnqueueWriteBufferRect(q, b, 1, o, o, r, 0, 0, 0, 0, from, 1, l, e),
        clEnqueueReadImage(q, i, 1, o, r, 0, 0, host, 1, l, e),
        clEnqueueWriteImage(q, i, 1, o, r, 0, 0, from, 1, l, e),
        clEnqueueSVMMemcpy(q, 1, s, w.svm2.cast_const(), 4, 1, l, e),
        clEnqueueSVMMap(q, 1, CL_MAP_READ, s, 4, 1, l, e));
    refuses!(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST:
        clEnqueueMapBuffer(q, b, 1, CL_MAP_WRITE, 0, 4, 1, l, e),
        clEnqueueMapImage(q, i, 1, CL_MAP_WRITE, o, r, &mut pitch, null_mut(), 1, l, e));
    // What was not mapped is not mapped.
    let (mut count, none) = (9u32, null_mut());
    let to = std::ptr::from_mut(&mut count).cast();
    assert_eq!(cl!(clGetMemObjectInfo(b, CL_MEM_MAP_COUNT, 4, to, none)), 0);
    assert_eq!(count, 0);
    told("Blocking commands after failed ones");
}
