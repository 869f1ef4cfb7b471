// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kernels.

use std::ffi::{c_char, c_void};
use std::sync::Arc;

use margay_opencl_c::Space;
use opencl_sys::*;

use super::text;
use crate::Result;
use crate::answer::{Answer, list, offer};
use crate::device::Device;
use crate::kernel::{Kernel, OnDevice};
use crate::memory::Svm;
use crate::ndrange;
use crate::object::{self, Object};
use crate::program::Program;
use crate::queue::Queue;

const SUB_GROUP: usize = 32;

/// Makes a kernel, whose handle is the program's.
fn make(program: &Arc<Program>, info: margay_opencl_c::Kernel) -> Result<cl_kernel> {
    object::try_publish(|id| Kernel::of(id, program, info)).map(|k| k.handle())
}

pub unsafe fn clCreateKernel(program: cl_program, kernel_name: *const c_char) -> Result<cl_kernel> {
    let program = object::get::<Program>(program)?;
    // SAFETY: the caller keeps the contract.
    let name = unsafe { text(kernel_name) }.ok_or(CL_INVALID_VALUE)?;
    make(&program, program.kernel_info(&name)?)
}

pub unsafe fn clCreateKernelsInProgram(
    program: cl_program,
    num_kernels: cl_uint,
    kernels: *mut cl_kernel,
    num_kernels_ret: *mut cl_uint,
) -> Result<()> {
    let program = object::get::<Program>(program)?;
    let mut infos = program.kernel_infos().ok_or(CL_INVALID_PROGRAM_EXECUTABLE)?;
    // Those that differ from device to device are left out.
    infos.retain(|k| program.kernel_info(&k.name).is_ok());
    if !kernels.is_null() && (num_kernels as usize) < infos.len() {
        return Err(CL_INVALID_VALUE);
    }
    // SAFETY: null or writable.
    unsafe { offer(num_kernels_ret, infos.len() as cl_uint) };
    if kernels.is_null() {
        return Ok(());
    }
    for (i, info) in infos.into_iter().enumerate() {
        let kernel = make(&program, info)?;
        // SAFETY: there is room for all.
        unsafe { kernels.add(i).write_unaligned(kernel) };
    }
    Ok(())
}

pub unsafe fn clCloneKernel(source_kernel: cl_kernel) -> Result<cl_kernel> {
    let source = object::get::<Kernel>(source_kernel)?;
    let copy = object::try_publish(|id| Kernel::of(id, &source.program, source.info.clone()))?;
    copy.values.lock().clone_from(&source.values.lock());
    copy.svm.lock().clone_from(&source.svm.lock());
    Ok(copy.handle())
}

pub unsafe fn clRetainKernel(kernel: cl_kernel) -> Result<()> {
    object::retain::<Kernel>(kernel)
}

pub unsafe fn clReleaseKernel(kernel: cl_kernel) -> Result<()> {
    object::release::<Kernel>(kernel)
}

pub unsafe fn clSetKernelArg(
    kernel: cl_kernel,
    arg_index: cl_uint,
    arg_size: usize,
    arg_value: *const c_void,
) -> Result<()> {
    let kernel = object::get::<Kernel>(kernel)?;
    // SAFETY: the caller keeps the contract.
    unsafe { kernel.set(arg_index, arg_size, arg_value.cast()) }
}

pub unsafe fn clSetKernelArgSVMPointer(
    kernel: cl_kernel,
    arg_index: cl_uint,
    arg_value: *const c_void,
) -> Result<()> {
    object::get::<Kernel>(kernel)?.set_svm(arg_index, arg_value.addr() as u64)
}

pub unsafe fn clSetKernelExecInfo(
    kernel: cl_kernel,
    param_name: cl_kernel_exec_info,
    param_value_size: usize,
    param_value: *const c_void,
) -> Result<()> {
    let kernel = object::get::<Kernel>(kernel)?;
    if param_value.is_null() && param_value_size > 0 {
        return Err(CL_INVALID_VALUE);
    }
    match param_name {
        CL_KERNEL_EXEC_INFO_SVM_PTRS => {
            let pointer = size_of::<*const c_void>();
            if !param_value_size.is_multiple_of(pointer) {
                return Err(CL_INVALID_VALUE);
            }
            let count = param_value_size / pointer;
            // SAFETY: null, or the caller keeps the contract.
            let pointers = unsafe { list(param_value.cast::<usize>(), count) }.unwrap_or_default();
            let found: Option<Vec<_>> =
                pointers.iter().map(|p| Svm::find(*p as u64).map(|s| s.storage)).collect();
            *kernel.svm.lock() = found.ok_or(CL_INVALID_VALUE)?;
            Ok(())
        }
        CL_KERNEL_EXEC_INFO_SVM_FINE_GRAIN_SYSTEM => {
            if param_value_size != size_of::<cl_bool>() {
                return Err(CL_INVALID_VALUE);
            }
            // SAFETY: as above.
            match unsafe { param_value.cast::<cl_bool>().read_unaligned() } {
                0 => Ok(()),
                // No device has it.
                _ => Err(CL_INVALID_OPERATION),
            }
        }
        _ => Err(CL_INVALID_VALUE),
    }
}

pub unsafe fn clGetKernelInfo(
    kernel: cl_kernel,
    param_name: cl_kernel_info,
    param_value_size: usize,
    param_value: *mut c_void,
    param_value_size_ret: *mut usize,
) -> Result<()> {
    let kernel = object::get::<Kernel>(kernel)?;
    let answer =
        Answer { size: param_value_size, value: param_value, size_ret: param_value_size_ret };
    match param_name {
        CL_KERNEL_FUNCTION_NAME => answer.text(&kernel.info.name),
        CL_KERNEL_NUM_ARGS => answer.value(kernel.info.arguments.len() as cl_uint),
        CL_KERNEL_REFERENCE_COUNT => answer.value(object::references(&*kernel)),
        CL_KERNEL_CONTEXT => answer.value(kernel.program.context.handle()),
        CL_KERNEL_PROGRAM => answer.value(kernel.program.handle()),
        CL_KERNEL_ATTRIBUTES => {
            // "For kernels not created from OpenCL C source … an empty string."
            answer.text(&kernel.info.attributes)
        }
        _ => Err(CL_INVALID_VALUE),
    }
}

pub unsafe fn clGetKernelArgInfo(
    kernel: cl_kernel,
    arg_index: cl_uint,
    param_name: cl_kernel_arg_info,
    param_value_size: usize,
    param_value: *mut c_void,
    param_value_size_ret: *mut usize,
) -> Result<()> {
    let kernel = object::get::<Kernel>(kernel)?;
    let argument = kernel.info.arguments.get(arg_index as usize).ok_or(CL_INVALID_ARG_INDEX)?;
    let answer =
        Answer { size: param_value_size, value: param_value, size_ret: param_value_size_ret };
    let known = [
        CL_KERNEL_ARG_ADDRESS_QUALIFIER,
        CL_KERNEL_ARG_ACCESS_QUALIFIER,
        CL_KERNEL_ARG_TYPE_NAME,
        CL_KERNEL_ARG_TYPE_QUALIFIER,
        CL_KERNEL_ARG_NAME,
    ];
    if !known.contains(&param_name) {
        return Err(CL_INVALID_VALUE);
    }
    if !kernel.argument_info {
        return Err(CL_KERNEL_ARG_INFO_NOT_AVAILABLE);
    }
    match param_name {
        CL_KERNEL_ARG_ADDRESS_QUALIFIER => answer.value(match argument.space {
            Space::Global => CL_KERNEL_ARG_ADDRESS_GLOBAL,
            Space::Constant => CL_KERNEL_ARG_ADDRESS_CONSTANT,
            Space::Local => CL_KERNEL_ARG_ADDRESS_LOCAL,
            Space::Private => CL_KERNEL_ARG_ADDRESS_PRIVATE,
        }),
        CL_KERNEL_ARG_ACCESS_QUALIFIER => answer.value(match argument.access.as_str() {
            "read_only" => CL_KERNEL_ARG_ACCESS_READ_ONLY,
            "write_only" => CL_KERNEL_ARG_ACCESS_WRITE_ONLY,
            "read_write" => CL_KERNEL_ARG_ACCESS_READ_WRITE,
            _ => CL_KERNEL_ARG_ACCESS_NONE,
        }),
        CL_KERNEL_ARG_TYPE_NAME => answer.text(&argument.type_name),
        CL_KERNEL_ARG_TYPE_QUALIFIER => {
            let bit = |q: &String| match q.as_str() {
                "const" => CL_KERNEL_ARG_TYPE_CONST,
                "restrict" => CL_KERNEL_ARG_TYPE_RESTRICT,
                "volatile" => CL_KERNEL_ARG_TYPE_VOLATILE,
                "pipe" => CL_KERNEL_ARG_TYPE_PIPE,
                _ => CL_KERNEL_ARG_TYPE_NONE,
            };
            // A bit-field, of 64 bits: opencl-sys has the type as an integer of 32.
            answer.value(argument.qualifiers.iter().map(bit).fold(0, |a, b| a | u64::from(b)))
        }
        _ => answer.text(&argument.name),
    }
}

/// The device that a query means: without one, the only one.
fn on(kernel: &Kernel, device: cl_device_id) -> Result<&OnDevice> {
    if device.is_null() {
        return match &kernel.on[..] {
            [only] => Ok(only),
            _ => Err(CL_INVALID_DEVICE),
        };
    }
    let device = object::get::<Device>(device)?;
    kernel.on(&device).map_err(|_| CL_INVALID_DEVICE)
}

pub unsafe fn clGetKernelWorkGroupInfo(
    kernel: cl_kernel,
    device: cl_device_id,
    param_name: cl_kernel_work_group_info,
    param_value_size: usize,
    param_value: *mut c_void,
    param_value_size_ret: *mut usize,
) -> Result<()> {
    let kernel = object::get::<Kernel>(kernel)?;
    let on = on(&kernel, device)?;
    let answer =
        Answer { size: param_value_size, value: param_value, size_ret: param_value_size_ret };
    match param_name {
        // Only for built-in kernels and custom devices.
        CL_KERNEL_GLOBAL_WORK_SIZE => Err(CL_INVALID_VALUE),
        CL_KERNEL_WORK_GROUP_SIZE => {
            let most = on.function.max_threads().map_err(|_| CL_INVALID_KERNEL)?;
            answer.value(most as usize)
        }
        CL_KERNEL_COMPILE_WORK_GROUP_SIZE => {
            answer.slice(&kernel.info.required_size.unwrap_or_default().map(|n| n as usize))
        }
        CL_KERNEL_LOCAL_MEM_SIZE => answer.value(kernel.local_bytes(on)?),
        CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE => answer.value(SUB_GROUP),
        CL_KERNEL_PRIVATE_MEM_SIZE => {
            let info = on.function.info().map_err(|_| CL_INVALID_KERNEL)?;
            answer.value(u64::from(info.local_bytes))
        }
        _ => Err(CL_INVALID_VALUE),
    }
}

pub unsafe fn clGetKernelSubGroupInfo(
    kernel: cl_kernel,
    device: cl_device_id,
    param_name: cl_kernel_sub_group_info,
    input_value_size: usize,
    input_value: *const c_void,
    param_value_size: usize,
    param_value: *mut c_void,
    param_value_size_ret: *mut usize,
) -> Result<()> {
    let kernel = object::get::<Kernel>(kernel)?;
    let on = on(&kernel, device)?;
    let answer =
        Answer { size: param_value_size, value: param_value, size_ret: param_value_size_ret };
    let most = on.function.max_threads().map_err(|_| CL_INVALID_KERNEL)? as usize;
    let input = || -> Result<&[usize]> {
        let unit = size_of::<usize>();
        let dimensions = input_value_size / unit;
        if !input_value_size.is_multiple_of(unit) || !(1..=3).contains(&dimensions) {
            return Err(CL_INVALID_VALUE);
        }
        // SAFETY: the caller keeps the contract.
        unsafe { list(input_value.cast::<usize>(), dimensions) }.ok_or(CL_INVALID_VALUE)
    };
    let volume = |sizes: &[usize]| sizes.iter().fold(1usize, |p, n| p.saturating_mul(*n));
    match param_name {
        CL_KERNEL_MAX_SUB_GROUP_SIZE_FOR_NDRANGE => answer.value(volume(input()?).min(SUB_GROUP)),
        CL_KERNEL_SUB_GROUP_COUNT_FOR_NDRANGE => answer.value(volume(input()?).div_ceil(SUB_GROUP)),
        CL_KERNEL_LOCAL_SIZE_FOR_SUB_GROUP_COUNT => {
            // SAFETY: the caller keeps the contract.
            let count = unsafe { input_value.cast::<usize>().as_ref() }.ok_or(CL_INVALID_VALUE)?;
            if input_value_size != size_of::<usize>() {
                return Err(CL_INVALID_VALUE);
            }
            let dimensions = param_value_size / size_of::<usize>();
            if !param_value.is_null() && !(1..=3).contains(&dimensions) {
                return Err(CL_INVALID_VALUE);
            }
            let items = count.saturating_mul(SUB_GROUP);
            let fits = items <= most;
            let sizes = if fits { [items, 1, 1] } else { [0; 3] };
            answer.slice(&sizes[..dimensions.clamp(1, 3)])
        }
        CL_KERNEL_MAX_NUM_SUB_GROUPS => answer.value(most.div_ceil(SUB_GROUP)),
        CL_KERNEL_COMPILE_NUM_SUB_GROUPS => answer.value(0usize),
        _ => Err(CL_INVALID_VALUE),
    }
}

pub unsafe fn clGetKernelSubGroupInfoKHR(
    kernel: cl_kernel,
    device: cl_device_id,
    param_name: cl_kernel_sub_group_info,
    input_value_size: usize,
    input_value: *const c_void,
    param_value_size: usize,
    param_value: *mut c_void,
    param_value_size_ret: *mut usize,
) -> Result<()> {
    // SAFETY: the caller keeps the contract.
    unsafe {
        clGetKernelSubGroupInfo(
            kernel,
            device,
            param_name,
            input_value_size,
            input_value,
            param_value_size,
            param_value,
            param_value_size_ret,
        )
    }
}

pub unsafe fn clGetKernelSuggestedLocalWorkSizeKHR(
    command_queue: cl_command_queue,
    kernel: cl_kernel,
    work_dim: cl_uint,
    global_work_offset: *const usize,
    global_work_size: *const usize,
    suggested_local_work_size: *mut usize,
) -> Result<()> {
    let queue = object::get::<Queue>(command_queue)?;
    let kernel = object::get::<Kernel>(kernel)?;
    if kernel.program.context.handle() != queue.context.handle() {
        return Err(CL_INVALID_CONTEXT);
    }
    let on = kernel.on(&queue.device)?;
    drop(kernel.capture(on)?);
    if suggested_local_work_size.is_null() {
        return Err(CL_INVALID_VALUE);
    }
    let dimensions = work_dim.min(3) as usize;
    // SAFETY: the caller keeps the contract.
    let (offset, global) =
        unsafe { (list(global_work_offset, dimensions), list(global_work_size, dimensions)) };
    if global.is_none_or(|g| g.contains(&0)) {
        return Err(CL_INVALID_GLOBAL_WORK_SIZE);
    }
    let range = ndrange::check(&kernel, on, offset, global, None, work_dim)?;
    for (i, n) in range.local.iter().take(dimensions).enumerate() {
        // SAFETY: room for one size a dimension.
        unsafe { suggested_local_work_size.add(i).write_unaligned(*n as usize) };
    }
    Ok(())
}
