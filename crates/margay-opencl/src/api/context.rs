// SPDX-License-Identifier: MIT OR Apache-2.0
//! Contexts.

use std::ffi::c_void;
use std::sync::Arc;

use opencl_sys::*;

use crate::Result;
use crate::answer::{Answer, list};
use crate::context::{Context, Notify, UserData};
use crate::device::{Device, platform, platform_of};
use crate::object::{self, Object};

/// Reads and checks a property list; with its zero.
///
/// # Safety
/// Null, or ends with zero.
unsafe fn properties(list: *const cl_context_properties) -> Result<Vec<isize>> {
    let mut out = Vec::new();
    if list.is_null() {
        return Ok(out);
    }
    let mut at = list;
    loop {
        // SAFETY: the list ends with zero, which has not been reached.
        let name = unsafe { at.read_unaligned() };
        if name == 0 {
            out.push(0);
            return Ok(out);
        }
        // SAFETY: a value follows every name.
        let value = unsafe { at.add(1).read_unaligned() };
        if out.chunks(2).any(|pair| pair[0] == name) {
            return Err(CL_INVALID_PROPERTY);
        }
        match name {
            // Null stands for the only platform where one is asked for, but is none in a list.
            CL_CONTEXT_PLATFORM if value == 0 => return Err(CL_INVALID_PLATFORM),
            CL_CONTEXT_PLATFORM => {
                platform_of(std::ptr::with_exposed_provenance_mut(value as usize))?;
            }
            // Said for programs that share objects with graphics: there is nothing to share with.
            CL_CONTEXT_INTEROP_USER_SYNC if value == 0 || value == 1 => {}
            _ => return Err(CL_INVALID_PROPERTY),
        }
        out.extend([name, value]);
        // SAFETY: as above.
        at = unsafe { at.add(2) };
    }
}

fn create(
    properties: Vec<isize>,
    devices: Vec<Arc<Device>>,
    notify: Option<Notify>,
    user_data: *mut c_void,
) -> Result<cl_context> {
    let platform = platform().ok_or(CL_INVALID_PLATFORM)?;
    let mut runtime = Vec::new();
    for device in &devices {
        let made = platform.runtime.separate_context(device.ordinal);
        runtime.push(made.map_err(|_| CL_OUT_OF_HOST_MEMORY)?);
    }
    let notify = notify.map(|call| (call, UserData(user_data)));
    let build = |id| Context::new(id, devices, runtime, properties, notify);
    Ok(object::publish(build).handle())
}

pub unsafe fn clCreateContext(
    properties: *const cl_context_properties,
    num_devices: cl_uint,
    devices: *const cl_device_id,
    pfn_notify: Option<Notify>,
    user_data: *mut c_void,
) -> Result<cl_context> {
    // SAFETY: the caller keeps the contract.
    let properties = unsafe { self::properties(properties)? };
    // SAFETY: the caller keeps the contract.
    let handles = unsafe { list(devices, num_devices as usize) }.ok_or(CL_INVALID_VALUE)?;
    if handles.is_empty() || (pfn_notify.is_none() && !user_data.is_null()) {
        return Err(CL_INVALID_VALUE);
    }
    let mut all: Vec<Arc<Device>> = Vec::new();
    for handle in handles {
        let device = object::get::<Device>(*handle)?;
        // Duplicates are ignored, as the specification says.
        if !all.iter().any(|d| d.ordinal == device.ordinal) {
            all.push(device);
        }
    }
    create(properties, all, pfn_notify, user_data)
}

pub unsafe fn clCreateContextFromType(
    properties: *const cl_context_properties,
    device_type: cl_device_type,
    pfn_notify: Option<Notify>,
    user_data: *mut c_void,
) -> Result<cl_context> {
    // SAFETY: the caller keeps the contract.
    let properties = unsafe { self::properties(properties)? };
    if pfn_notify.is_none() && !user_data.is_null() {
        return Err(CL_INVALID_VALUE);
    }
    let platform = platform().ok_or(CL_INVALID_PLATFORM)?;
    let mut handles = vec![std::ptr::null_mut(); platform.devices.len()];
    let mut count = 0;
    // SAFETY: the list has room for all devices.
    unsafe {
        super::device::clGetDeviceIDs(
            platform.handle(),
            device_type,
            handles.len() as cl_uint,
            handles.as_mut_ptr(),
            &mut count,
        )?;
    }
    let chosen = handles.iter().take(count as usize).map(|h| object::get::<Device>(*h));
    create(properties, chosen.collect::<Result<_>>()?, pfn_notify, user_data)
}

pub unsafe fn clRetainContext(context: cl_context) -> Result<()> {
    object::retain::<Context>(context)
}

pub unsafe fn clReleaseContext(context: cl_context) -> Result<()> {
    object::release::<Context>(context)
}

pub unsafe fn clSetContextDestructorCallback(
    context: cl_context,
    pfn_notify: Option<unsafe extern "C" fn(cl_context, *mut c_void)>,
    user_data: *mut c_void,
) -> Result<()> {
    let context = object::get::<Context>(context)?;
    let call = pfn_notify.ok_or(CL_INVALID_VALUE)?;
    context.destructors.lock().push((call, UserData(user_data)));
    Ok(())
}

pub unsafe fn clGetContextInfo(
    context: cl_context,
    param_name: cl_context_info,
    param_value_size: usize,
    param_value: *mut c_void,
    param_value_size_ret: *mut usize,
) -> Result<()> {
    let context = object::get::<Context>(context)?;
    let answer =
        Answer { size: param_value_size, value: param_value, size_ret: param_value_size_ret };
    match param_name {
        CL_CONTEXT_REFERENCE_COUNT => answer.value(object::references(&*context)),
        CL_CONTEXT_NUM_DEVICES => answer.value(context.devices.len() as cl_uint),
        CL_CONTEXT_DEVICES => {
            let handles: Vec<_> = context.devices.iter().map(|d| d.handle()).collect();
            answer.slice(&handles)
        }
        CL_CONTEXT_PROPERTIES => answer.slice(&context.properties),
        _ => Err(CL_INVALID_VALUE),
    }
}
