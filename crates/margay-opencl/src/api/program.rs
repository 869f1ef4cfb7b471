// SPDX-License-Identifier: MIT OR Apache-2.0
//! Programs.

use std::ffi::{c_char, c_uchar, c_void};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use margay_opencl_c::{Object as CompiledObject, Options};
use opencl_sys::*;

use super::text;
use crate::Result;
use crate::answer::{Answer, list, offer};
use crate::context::Context;
use crate::device::Device;
use crate::object::{self, Object};
use crate::program::{Build, Code, Program, Step};

/// `pfn_notify` of the build functions.
type Notify = Option<unsafe extern "C" fn(cl_program, *mut c_void)>;

fn check_notify(notify: Notify, data: *mut c_void) -> Result<()> {
    if notify.is_none() && !data.is_null() { Err(CL_INVALID_VALUE) } else { Ok(()) }
}

/// Builds end before their functions return; the callback is called then.
fn notify(program: &Program, notify: Notify, data: *mut c_void) {
    if let Some(call) = notify {
        // SAFETY: the program's function, with its own data.
        unsafe { call(program.handle(), data) };
    }
}

/// The devices of a call; without a list, those of `all`.
///
/// # Safety
/// `devices` is null or has `count` elements.
unsafe fn devices(
    count: cl_uint,
    devices: *const cl_device_id,
    all: &[Arc<Device>],
) -> Result<Vec<Arc<Device>>> {
    if (count == 0) != devices.is_null() {
        return Err(CL_INVALID_VALUE);
    }
    // SAFETY: the caller promises it.
    let Some(handles) = (unsafe { list(devices, count as usize) }) else { return Ok(all.to_vec()) };
    let mut out: Vec<Arc<Device>> = Vec::new();
    for handle in handles {
        let device = object::get::<Device>(*handle)?;
        if !all.iter().any(|d| d.ordinal == device.ordinal) {
            return Err(CL_INVALID_DEVICE);
        }
        if !out.iter().any(|d| d.ordinal == device.ordinal) {
            out.push(device);
        }
    }
    Ok(out)
}

/// # Safety
/// Null, or NUL-terminated.
unsafe fn options(
    program: Option<(&Program, &[Arc<Device>])>,
    options: *const c_char,
    wrong: cl_int,
) -> Result<Options> {
    // SAFETY: the caller promises it.
    let text = unsafe { text(options) }.unwrap_or_default();
    Options::parse(&text).map_err(|bad| {
        margay_runtime::report::warn(&format!("build options: {bad}"));
        if let Some((program, devices)) = program {
            let mut builds = program.builds.lock();
            for index in devices.iter().filter_map(|d| program.index(d).ok()) {
                if builds[index].status == CL_BUILD_IN_PROGRESS {
                    continue;
                }
                let log = format!("error: build option {bad}\n");
                builds[index] = Build { status: CL_BUILD_ERROR, log, ..Build::default() };
            }
        }
        wrong
    })
}

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

fn without_kernels(program: &Program) -> Result<()> {
    match program.kernels.load(Ordering::Acquire) {
        0 => Ok(()),
        _ => Err(CL_INVALID_OPERATION),
    }
}

pub unsafe fn clBuildProgram(
    program: cl_program,
    num_devices: cl_uint,
    device_list: *const cl_device_id,
    options: *const c_char,
    pfn_notify: Notify,
    user_data: *mut c_void,
) -> Result<()> {
    let program = object::get::<Program>(program)?;
    check_notify(pfn_notify, user_data)?;
    // SAFETY: the caller keeps the contract.
    let devices = unsafe { devices(num_devices, device_list, &program.devices)? };
    // SAFETY: the caller keeps the contract.
    let options =
        unsafe { self::options(Some((&program, &devices)), options, CL_INVALID_BUILD_OPTIONS)? };
    if options.library {
        return Err(CL_INVALID_BUILD_OPTIONS);
    }
    without_kernels(&program)?;
    if program.linked {
        return Err(CL_INVALID_OPERATION);
    }
    let building = program.begin(&devices)?;
    let mut result = Ok(());
    for device in &devices {
        let built = match &program.source {
            Some(source) => program.build_for(device, &options, Step::Build, || {
                Program::translate(source, &[], &options, device, true)
            }),
            None => {
                let (old, code) = {
                    let builds = program.builds.lock();
                    let build = &builds[program.index(device)?];
                    (build.options.clone(), build.code.clone())
                };
                match code {
                    Code::None => Err(CL_INVALID_BINARY),
                    // The options are those it was compiled with.
                    Code::Executable(_) => {
                        program.build_for(device, &old, Step::Build, || Ok((code, String::new())))
                    }
                    Code::Object(object) | Code::Library(object) => {
                        program.build_for(device, &options, Step::Build, || {
                            let linked = margay_opencl_c::link(&[object], &old, device.sm())?;
                            Ok((Code::Executable(linked.0), linked.1))
                        })
                    }
                }
            }
        };
        if result.is_ok() {
            result = built;
        }
    }
    drop(building);
    notify(&program, pfn_notify, user_data);
    result
}

pub unsafe fn clCompileProgram(
    program: cl_program,
    num_devices: cl_uint,
    device_list: *const cl_device_id,
    options: *const c_char,
    num_input_headers: cl_uint,
    input_headers: *const cl_program,
    header_include_names: *mut *const c_char,
    pfn_notify: Notify,
    user_data: *mut c_void,
) -> Result<()> {
    let program = object::get::<Program>(program)?;
    check_notify(pfn_notify, user_data)?;
    let count = num_input_headers as usize;
    if (count == 0) != header_include_names.is_null() || (count == 0) != input_headers.is_null() {
        return Err(CL_INVALID_VALUE);
    }
    // SAFETY: the caller keeps the contract.
    let (handles, names) =
        unsafe { (list(input_headers, count), list(header_include_names.cast_const(), count)) };
    let mut headers = Vec::new();
    for (handle, name) in handles.unwrap_or_default().iter().zip(names.unwrap_or_default()) {
        let header = object::get::<Program>(*handle)?;
        if header.context.handle() != program.context.handle() {
            return Err(CL_INVALID_CONTEXT);
        }
        // SAFETY: the caller keeps the contract.
        let name = unsafe { text(*name) }.ok_or(CL_INVALID_VALUE)?;
        headers.push((name, header.source.clone().ok_or(CL_INVALID_OPERATION)?));
    }
    let source = program.source.as_ref().ok_or(CL_INVALID_OPERATION)?;
    // SAFETY: the caller keeps the contract.
    let devices = unsafe { devices(num_devices, device_list, &program.devices)? };
    // SAFETY: the caller keeps the contract.
    let options =
        unsafe { self::options(Some((&program, &devices)), options, CL_INVALID_COMPILER_OPTIONS)? };
    if options.library {
        return Err(CL_INVALID_COMPILER_OPTIONS);
    }
    without_kernels(&program)?;
    let building = program.begin(&devices)?;
    let mut result = Ok(());
    for device in &devices {
        let built = program.build_for(device, &options, Step::Compile, || {
            Program::translate(source, &headers, &options, device, false)
        });
        if result.is_ok() {
            result = built;
        }
    }
    drop(building);
    notify(&program, pfn_notify, user_data);
    result
}

pub unsafe fn clLinkProgram(
    context: cl_context,
    num_devices: cl_uint,
    device_list: *const cl_device_id,
    options: *const c_char,
    num_input_programs: cl_uint,
    input_programs: *const cl_program,
    pfn_notify: Notify,
    user_data: *mut c_void,
) -> Result<(cl_program, cl_int)> {
    let context = object::get::<Context>(context)?;
    check_notify(pfn_notify, user_data)?;
    // SAFETY: the caller keeps the contract.
    let inputs = unsafe { list(input_programs, num_input_programs as usize) }.unwrap_or_default();
    if inputs.is_empty() {
        return Err(CL_INVALID_VALUE);
    }
    let inputs: Vec<Arc<Program>> =
        inputs.iter().map(|h| object::get::<Program>(*h)).collect::<Result<_>>()?;
    if inputs.iter().any(|i| i.context.handle() != context.handle()) {
        return Err(CL_INVALID_CONTEXT);
    }
    // SAFETY: the caller keeps the contract.
    let devices = unsafe { devices(num_devices, device_list, &context.devices)? };
    // SAFETY: the caller keeps the contract.
    let options = unsafe { self::options(None, options, CL_INVALID_LINKER_OPTIONS)? };
    if inputs.iter().any(|i| i.is_building(&devices)) {
        return Err(CL_INVALID_OPERATION);
    }
    let mut jobs = Vec::new();
    for device in &devices {
        let mut modules = Vec::new();
        let mut standard = None;
        let mut without = 0;
        for input in &inputs {
            let builds = input.builds.lock();
            let build = input.index(device).ok().and_then(|i| builds.get(i));
            match build.map(|b| (&b.code, &b.options)) {
                Some((Code::Object(object) | Code::Library(object), how)) => {
                    modules.extend(object.modules.iter().cloned());
                    standard = standard.max(Some(how.standard));
                }
                Some((Code::Executable(_) | Code::None, _)) | None => without += 1,
            }
        }
        // All have something to link for a device, or none has.
        match without {
            0 => {}
            all if all == inputs.len() => continue,
            _ => return Err(CL_INVALID_OPERATION),
        }
        let mut how = options.clone();
        how.standard = standard.unwrap_or(how.standard);
        how.argument_info |=
            inputs.iter().any(|i| i.builds.lock().iter().any(|b| b.options.argument_info));
        jobs.push((device.clone(), CompiledObject { modules }, how));
    }
    if jobs.is_empty() {
        return Err(CL_INVALID_OPERATION);
    }
    let builds = vec![Build::default(); devices.len()];
    let build = |id| Program::new(id, context, devices, None, builds).into_linked();
    let program = object::publish(build);
    let mut code = 0;
    for (device, object, how) in jobs {
        let built = program.build_for(&device, &how, Step::Link, || {
            if how.library {
                return Ok((Code::Library(object), String::new()));
            }
            let (executable, log) = margay_opencl_c::link(&[object], &how, device.sm())?;
            Ok((Code::Executable(executable), log))
        });
        match built {
            // The link did not begin, and so made no program.
            Err(CL_LINKER_NOT_AVAILABLE) => return Err(CL_LINKER_NOT_AVAILABLE),
            Err(error) => code = error,
            Ok(()) => {}
        }
    }
    notify(&program, pfn_notify, user_data);
    // A failed link gives the program too, for its log.
    Ok((program.handle(), code))
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
