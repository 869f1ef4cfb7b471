// SPDX-License-Identifier: MIT OR Apache-2.0
//! Programs.

use std::ffi::{c_char, c_uchar, c_void};

use opencl_sys::*;

use super::build::{Notify, devices};
use crate::Result;
use crate::answer::{Answer, list, offer};
use crate::context::Context;
use crate::device::Device;
use crate::object::{self, Object};
use crate::program::{Build, Program};

pub unsafe fn clCreateProgramWithSource(
    context: cl_context,
    count: cl_uint,
    strings: *mut *const c_char,
    lengths: *const usize,
) -> Result<cl_program> {
    let context = object::get::<Context>(context)?;
    // SAFETY: the caller keeps the contract.
    let parts = unsafe { list(strings.cast_const(), count as usize) }.unwrap_or_default();
    if parts.is_empty() || parts.iter().any(|p| p.is_null()) {
        return Err(CL_INVALID_VALUE);
    }
    // SAFETY: the caller keeps the contract.
    let lengths = unsafe { list(lengths, count as usize) };
    let mut source = Vec::new();
    for (i, part) in parts.iter().enumerate() {
        // SAFETY: a string of the given length, or one that ends with NUL.
        unsafe {
            match lengths.map_or(0, |l| l[i]) {
                0 => source.extend(std::ffi::CStr::from_ptr(*part).to_bytes()),
                n => source.extend(std::slice::from_raw_parts(part.cast::<u8>(), n)),
            }
        }
    }
    let source = String::from_utf8_lossy(&source).into_owned();
    let devices = context.devices.clone();
    let builds = vec![Build::default(); devices.len()];
    let build = |id| Program::new(id, context, devices, Some(source), builds);
    Ok(object::publish(build).handle())
}

pub unsafe fn clCreateProgramWithBinary(
    context: cl_context,
    num_devices: cl_uint,
    device_list: *const cl_device_id,
    lengths: *const usize,
    binaries: *mut *const c_uchar,
    binary_status: *mut cl_int,
) -> Result<cl_program> {
    let context = object::get::<Context>(context)?;
    let count = num_devices as usize;
    // SAFETY: the caller keeps the contract.
    let (handles, lengths, binaries) = unsafe {
        (list(device_list, count), list(lengths, count), list(binaries.cast_const(), count))
    };
    let (Some(handles), Some(lengths), Some(binaries)) = (handles, lengths, binaries) else {
        return Err(CL_INVALID_VALUE);
    };
    if handles.is_empty() {
        return Err(CL_INVALID_VALUE);
    }
    let mut devices = Vec::new();
    for handle in handles {
        let device = object::get::<Device>(*handle)?;
        if !context.has(&device) {
            return Err(CL_INVALID_DEVICE);
        }
        devices.push(device);
    }
    let mut builds = Vec::new();
    let mut result = Ok(());
    for (i, device) in devices.iter().enumerate() {
        let status = if lengths[i] == 0 || binaries[i].is_null() {
            Err(CL_INVALID_VALUE)
        } else {
            // SAFETY: the caller keeps the contract.
            let bytes = unsafe { std::slice::from_raw_parts(binaries[i], lengths[i]) };
            Program::from_binary(bytes, device)
        };
        if !binary_status.is_null() {
            // SAFETY: room for one status a device.
            unsafe {
                binary_status.add(i).write_unaligned(status.as_ref().err().copied().unwrap_or(0))
            };
        }
        match status {
            Ok(build) => builds.push(build),
            Err(error) => result = Err(error),
        }
    }
    result?;
    Ok(object::publish(|id| Program::new(id, context, devices, None, builds)).handle())
}

pub unsafe fn clCreateProgramWithBuiltInKernels(
    context: cl_context,
    num_devices: cl_uint,
    device_list: *const cl_device_id,
    kernel_names: *const c_char,
) -> Result<cl_program> {
    let context = object::get::<Context>(context)?;
    if num_devices == 0 || device_list.is_null() || kernel_names.is_null() {
        return Err(CL_INVALID_VALUE);
    }
    // SAFETY: the caller keeps the contract.
    unsafe { devices(num_devices, device_list, &context.devices)? };
    // There are no built-in kernels, as CL_DEVICE_BUILT_IN_KERNELS says.
    Err(CL_INVALID_VALUE)
}

pub unsafe fn clCreateProgramWithIL(
    context: cl_context,
    _il: *const c_void,
    _length: usize,
) -> Result<cl_program> {
    object::get::<Context>(context)?;
    // No device takes an intermediate language, as CL_DEVICE_IL_VERSION says.
    Err(CL_INVALID_OPERATION)
}

pub unsafe fn clSetProgramReleaseCallback(
    program: cl_program,
    _pfn_notify: Notify,
    _user_data: *mut c_void,
) -> Result<()> {
    object::get::<Program>(program)?;
    // Only for devices with program-scope destructors (OpenCL 3.0's text for others).
    Err(CL_INVALID_OPERATION)
}

pub unsafe fn clSetProgramSpecializationConstant(
    program: cl_program,
    _spec_id: cl_uint,
    _spec_size: usize,
    _spec_value: *const c_void,
) -> Result<()> {
    object::get::<Program>(program)?;
    Err(CL_INVALID_OPERATION)
}

pub unsafe fn clRetainProgram(program: cl_program) -> Result<()> {
    object::retain::<Program>(program)
}

pub unsafe fn clReleaseProgram(program: cl_program) -> Result<()> {
    object::release::<Program>(program)
}

pub unsafe fn clGetProgramInfo(
    program: cl_program,
    param_name: cl_program_info,
    param_value_size: usize,
    param_value: *mut c_void,
    param_value_size_ret: *mut usize,
) -> Result<()> {
    let program = object::get::<Program>(program)?;
    let answer =
        Answer { size: param_value_size, value: param_value, size_ret: param_value_size_ret };
    match param_name {
        CL_PROGRAM_REFERENCE_COUNT => answer.value(object::references(&*program)),
        CL_PROGRAM_CONTEXT => answer.value(program.context.handle()),
        CL_PROGRAM_NUM_DEVICES => answer.value(program.devices.len() as cl_uint),
        CL_PROGRAM_DEVICES => {
            let handles: Vec<_> = program.devices.iter().map(|d| d.handle()).collect();
            answer.slice(&handles)
        }
        CL_PROGRAM_SOURCE => answer.text(program.source.as_deref().unwrap_or_default()),
        CL_PROGRAM_IL => answer.bytes(&[]),
        CL_PROGRAM_BINARY_SIZES => {
            let sizes: Vec<usize> =
                (0..program.devices.len()).map(|i| program.binary(i).len()).collect();
            answer.slice(&sizes)
        }
        CL_PROGRAM_BINARIES => {
            let count = program.devices.len();
            if !param_value.is_null() {
                if param_value_size < count * size_of::<*mut u8>() {
                    return Err(CL_INVALID_VALUE);
                }
                for i in 0..count {
                    // SAFETY: the program gave an array of pointers, each null or with room for
                    // what CL_PROGRAM_BINARY_SIZES said.
                    unsafe {
                        let to = param_value.cast::<*mut u8>().add(i).read_unaligned();
                        if !to.is_null() {
                            let binary = program.binary(i);
                            std::ptr::copy_nonoverlapping(binary.as_ptr(), to, binary.len());
                        }
                    }
                }
            }
            // SAFETY: null or writable.
            unsafe { offer(param_value_size_ret, count * size_of::<*mut u8>()) };
            Ok(())
        }
        CL_PROGRAM_NUM_KERNELS => {
            answer.value(program.kernel_infos().ok_or(CL_INVALID_PROGRAM_EXECUTABLE)?.len())
        }
        CL_PROGRAM_KERNEL_NAMES => {
            let kernels = program.kernel_infos().ok_or(CL_INVALID_PROGRAM_EXECUTABLE)?;
            answer.text(&kernels.iter().map(|k| k.name.as_str()).collect::<Vec<_>>().join(";"))
        }
        CL_PROGRAM_SCOPE_GLOBAL_CTORS_PRESENT | CL_PROGRAM_SCOPE_GLOBAL_DTORS_PRESENT => {
            program.kernel_infos().ok_or(CL_INVALID_PROGRAM_EXECUTABLE)?;
            answer.flag(false)
        }
        _ => Err(CL_INVALID_VALUE),
    }
}

pub unsafe fn clGetProgramBuildInfo(
    program: cl_program,
    device: cl_device_id,
    param_name: cl_program_build_info,
    param_value_size: usize,
    param_value: *mut c_void,
    param_value_size_ret: *mut usize,
) -> Result<()> {
    let program = object::get::<Program>(program)?;
    let device = object::get::<Device>(device)?;
    let index = program.index(&device)?;
    let answer =
        Answer { size: param_value_size, value: param_value, size_ret: param_value_size_ret };
    let builds = program.builds.lock();
    let build = &builds[index];
    match param_name {
        CL_PROGRAM_BUILD_STATUS => answer.value(build.status),
        CL_PROGRAM_BUILD_OPTIONS => answer.text(&build.options.text),
        CL_PROGRAM_BUILD_LOG => answer.text(&build.log),
        CL_PROGRAM_BINARY_TYPE => answer.value(build.code.kind()),
        CL_PROGRAM_BUILD_GLOBAL_VARIABLE_TOTAL_SIZE => {
            let module = build.loaded.as_ref().map(|l| l.0.global_bytes());
            answer.value(module.unwrap_or(0) as usize)
        }
        _ => Err(CL_INVALID_VALUE),
    }
}
