// SPDX-License-Identifier: MIT OR Apache-2.0
//! Events, markers and barriers.

use std::ffi::c_void;
use std::sync::Arc;

use opencl_sys::*;

use super::Enqueue;
use crate::Result;
use crate::answer::{Answer, list};
use crate::command::{Callback, Event};
use crate::context::{Context, UserData};
use crate::object::{self, Object};
use crate::queue::Order;

pub unsafe fn clWaitForEvents(num_events: cl_uint, event_list: *const cl_event) -> Result<()> {
    // SAFETY: the caller keeps the contract.
    let handles = unsafe { list(event_list, num_events as usize) }.unwrap_or_default();
    if handles.is_empty() {
        return Err(CL_INVALID_VALUE);
    }
    let events: Vec<Arc<Event>> =
        handles.iter().map(|h| object::get::<Event>(*h)).collect::<Result<_>>()?;
    if events.iter().any(|e| e.context.handle() != events[0].context.handle()) {
        return Err(CL_INVALID_CONTEXT);
    }
    let mut failed = false;
    for event in &events {
        if event.wait() < 0 {
            failed = true;
            // No later call of the queue repeats it.
            event.queue.iter().for_each(|queue| queue.told(event));
        }
    }
    if failed { Err(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST) } else { Ok(()) }
}

pub unsafe fn clGetEventInfo(
    event: cl_event,
    param_name: cl_event_info,
    param_value_size: usize,
    param_value: *mut c_void,
    param_value_size_ret: *mut usize,
) -> Result<()> {
    let event = object::get::<Event>(event)?;
    let answer =
        Answer { size: param_value_size, value: param_value, size_ret: param_value_size_ret };
    match param_name {
        CL_EVENT_COMMAND_QUEUE => {
            answer.value(event.queue.as_ref().map_or(std::ptr::null_mut(), |q| q.handle()))
        }
        CL_EVENT_CONTEXT => answer.value(event.context.handle()),
        CL_EVENT_COMMAND_TYPE => answer.value(event.kind),
        CL_EVENT_COMMAND_EXECUTION_STATUS => answer.value(event.shown_status()),
        CL_EVENT_REFERENCE_COUNT => answer.value(object::references(&*event)),
        _ => Err(CL_INVALID_VALUE),
    }
}

pub unsafe fn clCreateUserEvent(context: cl_context) -> Result<cl_event> {
    let context = object::get::<Context>(context)?;
    let build = |id| Event::new(id, context, None, CL_COMMAND_USER, CL_SUBMITTED);
    Ok(object::publish(build).handle())
}

pub unsafe fn clRetainEvent(event: cl_event) -> Result<()> {
    object::retain::<Event>(event)
}

pub unsafe fn clReleaseEvent(event: cl_event) -> Result<()> {
    object::release::<Event>(event)
}

pub unsafe fn clSetUserEventStatus(event: cl_event, execution_status: cl_int) -> Result<()> {
    let event = object::get::<Event>(event)?;
    if event.queue.is_some() {
        return Err(CL_INVALID_EVENT);
    }
    if execution_status > CL_COMPLETE {
        return Err(CL_INVALID_VALUE);
    }
    if event.end(execution_status) { Ok(()) } else { Err(CL_INVALID_OPERATION) }
}

pub unsafe fn clSetEventCallback(
    event: cl_event,
    command_exec_callback_type: cl_int,
    pfn_notify: Option<Callback>,
    user_data: *mut c_void,
) -> Result<()> {
    let event = object::get::<Event>(event)?;
    let call = pfn_notify.ok_or(CL_INVALID_VALUE)?;
    if !matches!(command_exec_callback_type, CL_SUBMITTED | CL_RUNNING | CL_COMPLETE) {
        return Err(CL_INVALID_VALUE);
    }
    event.watch(command_exec_callback_type, call, UserData(user_data));
    Ok(())
}

pub unsafe fn clGetEventProfilingInfo(
    event: cl_event,
    param_name: cl_profiling_info,
    param_value_size: usize,
    param_value: *mut c_void,
    param_value_size_ret: *mut usize,
) -> Result<()> {
    let event = object::get::<Event>(event)?;
    let answer =
        Answer { size: param_value_size, value: param_value, size_ret: param_value_size_ret };
    let profiled = event.queue.as_ref().is_some_and(|q| q.profiles());
    if !profiled || event.status() != CL_COMPLETE {
        return Err(CL_PROFILING_INFO_NOT_AVAILABLE);
    }
    let times = event.times();
    match param_name {
        CL_PROFILING_COMMAND_QUEUED => answer.value(times.queued),
        CL_PROFILING_COMMAND_SUBMIT => answer.value(times.submitted),
        CL_PROFILING_COMMAND_START => answer.value(times.started),
        // There are no child commands: the command is complete at its end.
        CL_PROFILING_COMMAND_END | CL_PROFILING_COMMAND_COMPLETE => answer.value(times.ended),
        _ => Err(CL_INVALID_VALUE),
    }
}

pub unsafe fn clEnqueueMarkerWithWaitList(
    command_queue: cl_command_queue,
    num_events_in_wait_list: cl_uint,
    event_wait_list: *const cl_event,
    event: *mut cl_event,
) -> Result<()> {
    // SAFETY: the caller keeps the contract.
    let enqueue =
        unsafe { Enqueue::new(command_queue, num_events_in_wait_list, event_wait_list, event)? };
    let order = if num_events_in_wait_list == 0 { Order::Marker } else { Order::Plain };
    enqueue.order(order).push(CL_COMMAND_MARKER, Box::new(|| Ok(())))
}

pub unsafe fn clEnqueueBarrierWithWaitList(
    command_queue: cl_command_queue,
    num_events_in_wait_list: cl_uint,
    event_wait_list: *const cl_event,
    event: *mut cl_event,
) -> Result<()> {
    // SAFETY: the caller keeps the contract.
    let enqueue =
        unsafe { Enqueue::new(command_queue, num_events_in_wait_list, event_wait_list, event)? };
    let order = Order::Barrier { all: num_events_in_wait_list == 0 };
    enqueue.order(order).push(CL_COMMAND_BARRIER, Box::new(|| Ok(())))
}

pub unsafe fn clEnqueueMarker(command_queue: cl_command_queue, event: *mut cl_event) -> Result<()> {
    object::get::<crate::queue::Queue>(command_queue)?;
    if event.is_null() {
        return Err(CL_INVALID_VALUE);
    }
    // SAFETY: the caller keeps the contract.
    unsafe { clEnqueueMarkerWithWaitList(command_queue, 0, std::ptr::null(), event) }
}

pub unsafe fn clEnqueueBarrier(command_queue: cl_command_queue) -> Result<()> {
    // SAFETY: the caller keeps the contract.
    unsafe {
        clEnqueueBarrierWithWaitList(command_queue, 0, std::ptr::null(), std::ptr::null_mut())
    }
}

pub unsafe fn clEnqueueWaitForEvents(
    command_queue: cl_command_queue,
    num_events: cl_uint,
    event_list: *const cl_event,
) -> Result<()> {
    let queue = object::get::<crate::queue::Queue>(command_queue)?;
    if num_events == 0 || event_list.is_null() {
        return Err(CL_INVALID_VALUE);
    }
    // SAFETY: the caller keeps the contract.
    for handle in unsafe { list(event_list, num_events as usize) }.unwrap_or_default() {
        let event = object::get::<Event>(*handle)?;
        if event.context.handle() != queue.context.handle() {
            return Err(CL_INVALID_CONTEXT);
        }
    }
    // SAFETY: the caller keeps the contract.
    unsafe {
        clEnqueueBarrierWithWaitList(command_queue, num_events, event_list, std::ptr::null_mut())
    }
}
