// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kernels' execution.

use std::ffi::c_void;

use opencl_sys::*;

use super::Enqueue;
use crate::Result;
use crate::answer::list;
use crate::context::UserData;
use crate::kernel::Kernel;
use crate::memory;
use crate::ndrange::{self, Launch};
use crate::object::{self, Object};
use crate::transfer::told;

pub unsafe fn clEnqueueNDRangeKernel(
    command_queue: cl_command_queue,
    kernel: cl_kernel,
    work_dim: cl_uint,
    global_work_offset: *const usize,
    global_work_size: *const usize,
    local_work_size: *const usize,
    num_events_in_wait_list: cl_uint,
    event_wait_list: *const cl_event,
    event: *mut cl_event,
) -> Result<()> {
    let queue = object::get::<crate::queue::Queue>(command_queue)?;
    let kernel = object::get::<Kernel>(kernel)?;
    if kernel.program.context.handle() != queue.context.handle() {
        return Err(CL_INVALID_CONTEXT);
    }
    let on = kernel.on(&queue.device)?.clone();
    let captured = kernel.capture(&on)?;
    let dimensions = work_dim.min(3) as usize;
    // SAFETY: the caller keeps the contract.
    let (offset, global, local) = unsafe {
        (
            list(global_work_offset, dimensions),
            list(global_work_size, dimensions),
            list(local_work_size, dimensions),
        )
    };
    let range = ndrange::check(&kernel, &on, offset, global, local, work_dim)?;
    let most = u64::from(on.device.gpu.limits.shared_per_block.value);
    let local_bytes = kernel.local_bytes(&on)?.max(captured.dynamic_local);
    if local_bytes > most {
        let why = margay_runtime::report::too_much_local(&kernel.info.name, local_bytes, most);
        queue.context.refuse(&why);
        return Err(CL_OUT_OF_RESOURCES);
    }
    // SAFETY: the caller keeps the contract.
    let enqueue =
        unsafe { Enqueue::new(command_queue, num_events_in_wait_list, event_wait_list, event)? };
    let launch = Launch { context: queue.context.clone(), on, range, captured };
    enqueue.push(CL_COMMAND_NDRANGE_KERNEL, Box::new(move || launch.run()))
}

pub unsafe fn clEnqueueTask(
    command_queue: cl_command_queue,
    kernel: cl_kernel,
    num_events_in_wait_list: cl_uint,
    event_wait_list: *const cl_event,
    event: *mut cl_event,
) -> Result<()> {
    let one = [1usize];
    // SAFETY: the caller keeps the contract.
    unsafe {
        clEnqueueNDRangeKernel(
            command_queue,
            kernel,
            1,
            std::ptr::null(),
            one.as_ptr(),
            one.as_ptr(),
            num_events_in_wait_list,
            event_wait_list,
            event,
        )
    }
}

pub unsafe fn clEnqueueNativeKernel(
    command_queue: cl_command_queue,
    user_func: Option<unsafe extern "C" fn(*mut c_void)>,
    args: *mut c_void,
    cb_args: usize,
    num_mem_objects: cl_uint,
    mem_list: *const cl_mem,
    args_mem_loc: *mut *const c_void,
    num_events_in_wait_list: cl_uint,
    event_wait_list: *const cl_event,
    event: *mut cl_event,
) -> Result<()> {
    object::get::<crate::queue::Queue>(command_queue)?;
    let call = user_func.ok_or(CL_INVALID_VALUE)?;
    let count = num_mem_objects as usize;
    if args.is_null() != (cb_args == 0) || (args.is_null() && count > 0) {
        return Err(CL_INVALID_VALUE);
    }
    if (count == 0) != mem_list.is_null() || (count == 0) != args_mem_loc.is_null() {
        return Err(CL_INVALID_VALUE);
    }
    // SAFETY: the caller keeps the contract.
    let mut block =
        unsafe { list(args.cast::<u8>().cast_const(), cb_args) }.unwrap_or_default().to_vec();
    // SAFETY: the caller keeps the contract.
    let (handles, places) =
        unsafe { (list(mem_list, count), list(args_mem_loc.cast_const(), count)) };
    let mut mems = Vec::new();
    for (handle, place) in handles.unwrap_or_default().iter().zip(places.unwrap_or_default()) {
        let at = place.addr().wrapping_sub(args.addr());
        let to = block.get_mut(at..at.wrapping_add(8)).ok_or(CL_INVALID_VALUE)?;
        if handle.is_null() {
            to.fill(0);
            continue;
        }
        let mem = memory::used(*handle)?;
        if mem.image.is_some() {
            return Err(CL_INVALID_MEM_OBJECT);
        }
        to.copy_from_slice(&mem.address().to_le_bytes());
        mems.push(mem);
    }
    // SAFETY: the caller keeps the contract.
    let enqueue =
        unsafe { Enqueue::new(command_queue, num_events_in_wait_list, event_wait_list, event)? };
    let none = UserData(std::ptr::null_mut());
    let work = move || {
        // Words, so that the block is aligned for any argument.
        let mut words = vec![0u128; block.len().div_ceil(16)];
        let data = if block.is_empty() { none.get() } else { words.as_mut_ptr().cast::<c_void>() };
        // SAFETY: the words have room for the block; the function is the program's.
        unsafe {
            std::ptr::copy_nonoverlapping(block.as_ptr(), words.as_mut_ptr().cast(), block.len());
            call(data);
        }
        // The function may have written any of its objects.
        mems.iter().for_each(|m| told(m.address(), None, m.size));
        Ok(())
    };
    enqueue.push(CL_COMMAND_NATIVE_KERNEL, Box::new(work))
}
