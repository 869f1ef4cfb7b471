// SPDX-License-Identifier: MIT OR Apache-2.0
//! Command queues and events.

use std::ffi::c_void;
use std::ptr::{null, null_mut};

use super::{World, asks, fails, makes, refuses, told};
use crate::cl;
use crate::common::*;

#[test]
fn queues() {
    let setup = Setup::new(0);
    let (context, device, queue) = (setup.context, setup.device, setup.queue);
    let none = null_mut::<c_void>();
    let list = |value: u64| [u64::from(CL_QUEUE_PROPERTIES), value, 0];
    for junk in [none, device] {
        refuses!(CL_INVALID_CONTEXT:
            clCreateCommandQueue(junk, device, 0),
            clCreateCommandQueueWithProperties(junk, device, null()),
            clCreateCommandQueueWithPropertiesKHR(junk, device, null()));
        fails!(CL_INVALID_CONTEXT: clSetDefaultDeviceCommandQueue(junk, device, queue));
    }
    for junk in [none, context] {
        refuses!(CL_INVALID_DEVICE:
            clCreateCommandQueue(context, junk, 0),
            clCreateCommandQueueWithProperties(context, junk, null()),
            clCreateCommandQueueWithPropertiesKHR(context, junk, null()));
        fails!(CL_INVALID_DEVICE: clSetDefaultDeviceCommandQueue(context, junk, queue));
        fails!(CL_INVALID_COMMAND_QUEUE:
            clRetainCommandQueue(junk), clReleaseCommandQueue(junk), clFlush(junk), clFinish(junk),
            clGetCommandQueueInfo(junk, CL_QUEUE_CONTEXT, 0, none, null_mut()),
            clSetCommandQueueProperty(junk, CL_QUEUE_PROFILING_ENABLE, 1, null_mut()));
    }
    refuses!(CL_INVALID_VALUE:
        clCreateCommandQueue(context, device, 1 << 20),
        clCreateCommandQueueWithProperties(context, device, list(1 << 20).as_ptr()),
        clCreateCommandQueueWithProperties(context, device, [0x7777, 0, 0].as_ptr()),
        clCreateCommandQueueWithPropertiesKHR(context, device, list(1 << 20).as_ptr()));
    let on_device = CL_QUEUE_ON_DEVICE | CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE;
    refuses!(CL_INVALID_QUEUE_PROPERTIES:
        clCreateCommandQueue(context, device, on_device),
        clCreateCommandQueueWithProperties(context, device, list(on_device).as_ptr()),
        clCreateCommandQueueWithPropertiesKHR(context, device, list(on_device).as_ptr()));
    fails!(CL_INVALID_OPERATION: clSetDefaultDeviceCommandQueue(context, device, queue));
    asks!(clGetCommandQueueInfo(queue), CL_QUEUE_CONTEXT);
    // Only a queue on the device has a size.
    fails!(CL_INVALID_COMMAND_QUEUE:
        clGetCommandQueueInfo(queue, CL_QUEUE_SIZE, 0, none, null_mut()));
    fails!(CL_INVALID_VALUE: clSetCommandQueueProperty(queue, 1 << 20, 1, null_mut()));
    fails!(CL_INVALID_QUEUE_PROPERTIES:
        clSetCommandQueueProperty(queue, CL_QUEUE_ON_DEVICE, 1, null_mut()));
    told("Command queues");
}

unsafe extern "C" fn nothing(_: cl_event, _: cl_int, _: *mut c_void) {}

#[test]
fn events() {
    let w = World::new();
    let profiling = Setup::new(CL_QUEUE_PROFILING_ENABLE);
    let (context, q, none) = (w.setup.context, w.setup.queue, null_mut::<c_void>());
    let user = makes!(clCreateUserEvent(context));
    let (mut marker, mut timed) = (null_mut(), null_mut());
    assert_eq!(cl!(clEnqueueMarkerWithWaitList(q, 0, null(), &mut marker)), 0);
    assert_eq!(cl!(clEnqueueMarkerWithWaitList(profiling.queue, 0, null(), &mut timed)), 0);
    assert_eq!((cl!(clFinish(q)), cl!(clFinish(profiling.queue))), (0, 0));
    for junk in [none, q] {
        refuses!(CL_INVALID_CONTEXT: clCreateUserEvent(junk));
        fails!(CL_INVALID_EVENT:
            clRetainEvent(junk), clReleaseEvent(junk), clSetUserEventStatus(junk, 0),
            clGetEventInfo(junk, CL_EVENT_CONTEXT, 0, none, null_mut()),
            clGetEventProfilingInfo(junk, CL_PROFILING_COMMAND_END, 0, none, null_mut()),
            clSetEventCallback(junk, CL_COMPLETE, Some(nothing), none),
            clWaitForEvents(2, [marker, junk].as_ptr()));
    }
    fails!(CL_INVALID_EVENT: clSetUserEventStatus(marker, 0));
    fails!(CL_INVALID_VALUE:
        clSetUserEventStatus(user, 1), clSetEventCallback(user, CL_COMPLETE, None, none),
        clSetEventCallback(user, CL_QUEUED, Some(nothing), none),
        clSetEventCallback(user, -1, Some(nothing), none),
        clWaitForEvents(0, &marker), clWaitForEvents(1, null()));
    asks!(clGetEventInfo(user), CL_EVENT_CONTEXT);
    asks!(clGetEventProfilingInfo(timed), CL_PROFILING_COMMAND_END);
    fails!(CL_INVALID_CONTEXT: clWaitForEvents(2, [marker, w.foreign].as_ptr()));
    let mut pending = null_mut();
    assert_eq!(cl!(clEnqueueMarkerWithWaitList(q, 1, &user, &mut pending)), 0);
    let what = CL_PROFILING_COMMAND_END;
    fails!(CL_PROFILING_INFO_NOT_AVAILABLE:
        clGetEventProfilingInfo(user, what, 0, none, null_mut()),
        clGetEventProfilingInfo(marker, what, 0, none, null_mut()),
        clGetEventProfilingInfo(pending, what, 0, none, null_mut()));
    assert_eq!(cl!(clSetUserEventStatus(user, -3)), 0);
    fails!(CL_INVALID_OPERATION: clSetUserEventStatus(user, 0));
    fails!(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST:
        clWaitForEvents(1, &user), clWaitForEvents(2, [marker, pending].as_ptr()));
    // Functions of OpenCL 1.0 and 1.1.
    for junk in [none, context] {
        fails!(CL_INVALID_COMMAND_QUEUE:
            clEnqueueMarker(junk, &mut pending), clEnqueueBarrier(junk),
            clEnqueueWaitForEvents(junk, 1, &marker));
    }
    fails!(CL_INVALID_VALUE:
        clEnqueueMarker(q, null_mut()), clEnqueueWaitForEvents(q, 0, &marker),
        clEnqueueWaitForEvents(q, 1, null()));
    fails!(CL_INVALID_CONTEXT: clEnqueueWaitForEvents(q, 1, &w.foreign));
    fails!(CL_INVALID_EVENT: clEnqueueWaitForEvents(q, 1, &context));
    told("Events");
}
