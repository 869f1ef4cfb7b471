// SPDX-License-Identifier: MIT OR Apache-2.0
//! Programs' builds: from a source to an executable, to a part of one, and from parts to the whole.

use std::ffi::{c_char, c_void};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use margay_opencl_c::{Object as CompiledObject, Options};
use opencl_sys::*;

use super::text;
use crate::Result;
use crate::answer::list;
use crate::context::Context;
use crate::device::Device;
use crate::object::{self, Object};
use crate::program::{Build, Code, Program, Step};

/// `pfn_notify` of the build functions.
pub type Notify = Option<unsafe extern "C" fn(cl_program, *mut c_void)>;

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
pub unsafe fn devices(
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

/// OpenCL 3.0 API, "Linker Options".
const LINKER_OPTIONS: [&str; 7] = [
    "-create-library",
    "-enable-link-options",
    "-cl-denorms-are-zero",
    "-cl-no-signed-zeros",
    "-cl-unsafe-math-optimizations",
    "-cl-finite-math-only",
    "-cl-fast-relaxed-math",
];

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
    // What is for the compiler is no option of the linker.
    if !options.text.split_whitespace().all(|word| LINKER_OPTIONS.contains(&word)) {
        return Err(CL_INVALID_LINKER_OPTIONS);
    }
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
