// SPDX-License-Identifier: MIT OR Apache-2.0
//! Command queues.

use std::ffi::c_void;

use opencl_sys::*;

use crate::Result;
use crate::answer::{Answer, offer};
use crate::context::Context;
use crate::device::Device;
use crate::object::{self, Object};
use crate::queue::Queue;

const ON_HOST: cl_bitfield = CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE | CL_QUEUE_PROFILING_ENABLE;
const ON_DEVICE: cl_bitfield = CL_QUEUE_ON_DEVICE | CL_QUEUE_ON_DEVICE_DEFAULT;

fn create(
    context: cl_context,
    device: cl_device_id,
    properties: cl_bitfield,
    listed: Option<Vec<u64>>,
) -> Result<cl_command_queue> {
    let context = object::get::<Context>(context)?;
    let device = object::get::<Device>(device)?;
    if !context.has(&device) {
        return Err(CL_INVALID_DEVICE);
    }
    if properties & !(ON_HOST | ON_DEVICE) != 0 {
        return Err(CL_INVALID_VALUE);
    }
    if properties & ON_DEVICE != 0 {
        return Err(CL_INVALID_QUEUE_PROPERTIES);
    }
    Ok(object::publish(|id| Queue::new(id, context, device, properties, listed)).handle())
}

pub unsafe fn clCreateCommandQueue(
    context: cl_context,
    device: cl_device_id,
    properties: cl_command_queue_properties,
) -> Result<cl_command_queue> {
    create(context, device, properties, None)
}

pub unsafe fn clCreateCommandQueueWithProperties(
    context: cl_context,
    device: cl_device_id,
    properties: *const cl_queue_properties,
) -> Result<cl_command_queue> {
    let mut flags = 0;
    let mut listed = Vec::new();
    let mut at = properties;
    while !at.is_null() {
        // SAFETY: the list ends with zero, which has not been reached.
        let name = unsafe { at.read_unaligned() };
        listed.push(name);
        if name == 0 {
            break;
        }
        // SAFETY: a value follows every name.
        let value = unsafe { at.add(1).read_unaligned() };
        listed.push(value);
        match u32::try_from(name) {
            Ok(CL_QUEUE_PROPERTIES) => flags = value,
            Ok(CL_QUEUE_SIZE) => return Err(CL_INVALID_QUEUE_PROPERTIES),
            Ok(_) | Err(_) => return Err(CL_INVALID_VALUE),
        }
        // SAFETY: as above.
        at = unsafe { at.add(2) };
    }
    create(context, device, flags, Some(listed))
}

pub unsafe fn clCreateCommandQueueWithPropertiesKHR(
    context: cl_context,
    device: cl_device_id,
    properties: *const cl_queue_properties,
) -> Result<cl_command_queue> {
    // SAFETY: the caller keeps the contract.
    unsafe { clCreateCommandQueueWithProperties(context, device, properties) }
}

pub unsafe fn clRetainCommandQueue(command_queue: cl_command_queue) -> Result<()> {
    object::retain::<Queue>(command_queue)
}

pub unsafe fn clReleaseCommandQueue(command_queue: cl_command_queue) -> Result<()> {
    // Commands are submitted when they are made, so there is nothing to flush.
    object::release::<Queue>(command_queue)
}

pub unsafe fn clSetCommandQueueProperty(
    command_queue: cl_command_queue,
    properties: cl_command_queue_properties,
    enable: cl_bool,
    old_properties: *mut cl_command_queue_properties,
) -> Result<()> {
    let queue = object::get::<Queue>(command_queue)?;
    if properties & !(ON_HOST | ON_DEVICE) != 0 {
        return Err(CL_INVALID_VALUE);
    }
    if properties & ON_DEVICE != 0 {
        return Err(CL_INVALID_QUEUE_PROPERTIES);
    }
    // SAFETY: null or writable.
    unsafe { offer(old_properties, queue.properties()) };
    queue.finish()?;
    queue.set_property(properties, enable != 0);
    Ok(())
}

pub unsafe fn clGetCommandQueueInfo(
    command_queue: cl_command_queue,
    param_name: cl_command_queue_info,
    param_value_size: usize,
    param_value: *mut c_void,
    param_value_size_ret: *mut usize,
) -> Result<()> {
    let queue = object::get::<Queue>(command_queue)?;
    let answer =
        Answer { size: param_value_size, value: param_value, size_ret: param_value_size_ret };
    match param_name {
        CL_QUEUE_CONTEXT => answer.value(queue.context.handle()),
        CL_QUEUE_DEVICE => answer.value(queue.device.handle()),
        CL_QUEUE_REFERENCE_COUNT => answer.value(object::references(&*queue)),
        CL_QUEUE_PROPERTIES => answer.value(queue.properties()),
        CL_QUEUE_PROPERTIES_ARRAY => answer.slice(queue.listed.as_deref().unwrap_or_default()),
        // Only a queue on the device has a size.
        CL_QUEUE_SIZE => Err(CL_INVALID_COMMAND_QUEUE),
        CL_QUEUE_DEVICE_DEFAULT => answer.value(std::ptr::null_mut::<c_void>()),
        _ => Err(CL_INVALID_VALUE),
    }
}

pub unsafe fn clFlush(command_queue: cl_command_queue) -> Result<()> {
    object::get::<Queue>(command_queue).map(drop)
}

pub unsafe fn clFinish(command_queue: cl_command_queue) -> Result<()> {
    object::get::<Queue>(command_queue)?.finish()
}
