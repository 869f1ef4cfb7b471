// SPDX-License-Identifier: MIT OR Apache-2.0
//! What needs another machine than the tests have: no device, two devices, no compiler. Each is a process.

use std::ffi::c_void;
use std::path::PathBuf;
use std::process::Command;
use std::ptr::{null, null_mut};

use super::programs::{binary, compiled, from_binary};
use super::{ONE, asks, fails, makes, refuses, told};
use crate::cl;
use crate::common::*;

/// Runs a scenario of this file with a variable set.
fn run(scenario: &str, variable: &str, value: &str) {
    let done = Command::new(std::env::current_exe().expect("a test has a place"))
        .args(["--exact", "--ignored", &format!("error_codes::scenarios::{scenario}")])
        .env(variable, value)
        .output()
        .expect("a process");
    let said = String::from_utf8_lossy(&done.stdout);
    assert!(done.status.success() && said.contains("1 passed"), "{said}");
}

#[test]
#[ignore = "a scenario of the test below"]
fn without_a_platform() {
    let (mut platform, mut count) = (null_mut(), 0);
    fails!(CL_PLATFORM_NOT_FOUND_KHR:
        clGetPlatformIDs(1, &mut platform, &mut count),
        clIcdGetPlatformIDsKHR(1, &mut platform, &mut count));
    assert_eq!(count, 0);
    refuses!(CL_INVALID_PLATFORM:
        clCreateContextFromType(null(), CL_DEVICE_TYPE_ALL, None, null_mut()));
    told("Without a platform");
}

#[test]
fn no_platform() {
    run("without_a_platform", "MARGAY_GPU", "no_such_gpu");
}

#[test]
#[ignore = "a scenario of the test below"]
fn without_a_compiler() {
    let setup = Setup::new(0);
    let (p, none) = (setup.source(&format!("{ONE} // {}", std::process::id())), null_mut());
    fails!(CL_COMPILER_NOT_AVAILABLE:
        clBuildProgram(p, 0, null(), null(), None, none),
        clCompileProgram(p, 0, null(), null(), 0, null(), null_mut(), None, none));
    let part = std::fs::read(compiled_elsewhere(std::os::unix::process::parent_id()));
    let (part, context) = (from_binary(&setup, &part.expect("the test's file")), setup.context);
    refuses!(CL_LINKER_NOT_AVAILABLE: clLinkProgram(context, 0, null(), null(), 1, &part, None, none));
    told("Without a compiler");
}

/// Where a process leaves a compiled part for the scenario that has no compiler.
fn compiled_elsewhere(process: u32) -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("compiled-elsewhere-{process}"))
}

#[test]
fn no_compiler() {
    let (setup, place) = (Setup::new(0), compiled_elsewhere(std::process::id()));
    std::fs::write(&place, binary(compiled(&setup, ONE))).expect("a file");
    run("without_a_compiler", "MARGAY_CLANG", "/nonexistent/clang");
    std::fs::remove_file(place).expect("the file is there");
}

#[test]
#[ignore = "a scenario of the test below"]
fn with_two_devices() {
    let (mut platform, mut devices, none) = (null_mut(), [null_mut(); 2], null_mut::<c_void>());
    assert_eq!(cl!(clGetPlatformIDs(1, &mut platform, null_mut())), 0);
    let all = CL_DEVICE_TYPE_ALL;
    let to = devices.as_mut_ptr();
    assert_eq!(cl!(clGetDeviceIDs(platform, all, 2, to, null_mut())), 0);
    let [first, second] = devices;
    let both = makes!(clCreateContext(null(), 2, devices.as_ptr(), None, none));
    let one = makes!(clCreateContext(null(), 1, &first, None, none));
    let queue = makes!(clCreateCommandQueue(both, second, 0));
    // A device that the context has not.
    refuses!(CL_INVALID_DEVICE:
        clCreateCommandQueue(one, second, 0), clCreateCommandQueueWithProperties(one, second, null()),
        clCreateCommandQueueWithPropertiesKHR(one, second, null()));
    fails!(CL_INVALID_DEVICE: clSetDefaultDeviceCommandQueue(one, second, queue));
    let source = |context| {
        let mut text = c"kernel void f(global T *o) { *o = 1; } kernel void g() {}".as_ptr();
        makes!(clCreateProgramWithSource(context, 1, &mut text, null()))
    };
    let (p, bytes, length) = (source(one), b"junk", 4usize);
    let mut binary = bytes.as_ptr();
    let (options, log) = (c"-DT=int".as_ptr(), CL_PROGRAM_BUILD_LOG);
    refuses!(CL_INVALID_DEVICE:
        clCreateProgramWithBinary(one, 1, &second, &length, &mut binary, null_mut()),
        clCreateProgramWithBuiltInKernels(one, 1, &second, c"f".as_ptr()),
        clLinkProgram(one, 1, &second, null(), 1, &p, None, none));
    fails!(CL_INVALID_DEVICE:
        clBuildProgram(p, 1, &second, options, None, none),
        clCompileProgram(p, 1, &second, options, 0, null(), null_mut(), None, none),
        clGetProgramBuildInfo(p, second, log, 0, none, null_mut()));
    // Built for one of the two.
    let p = source(both);
    assert_eq!(cl!(clBuildProgram(p, 1, &first, options, None, none)), 0);
    let k = makes!(clCreateKernel(p, c"g".as_ptr()));
    let (l, e, n, size, mut out) = (null(), null_mut(), null(), 1usize, 0usize);
    fails!(CL_INVALID_PROGRAM_EXECUTABLE:
        clEnqueueNDRangeKernel(queue, k, 1, n, &size, n, 0, l, e), clEnqueueTask(queue, k, 0, l, e),
        clGetKernelSuggestedLocalWorkSizeKHR(queue, k, 1, n, &size, &mut out));
    let what = CL_KERNEL_WORK_GROUP_SIZE;
    fails!(CL_INVALID_DEVICE: clGetKernelWorkGroupInfo(k, second, what, 0, none, null_mut()));
    cl!(clReleaseKernel(k));
    // Built for both, and not the same.
    let options = c"-DT=float".as_ptr();
    assert_eq!(cl!(clBuildProgram(p, 1, &second, options, None, none)), 0);
    refuses!(CL_INVALID_KERNEL_DEFINITION: clCreateKernel(p, c"f".as_ptr()));
    let (mut kernels, mut count) = ([null_mut(); 2], 0);
    let to = kernels.as_mut_ptr();
    assert_eq!(cl!(clCreateKernelsInProgram(p, 2, to, &mut count)), 0);
    assert_eq!(count, 1, "the one that is the same");
    let (k, most) = (kernels[0], CL_KERNEL_MAX_NUM_SUB_GROUPS);
    // Which of the two is meant?
    fails!(CL_INVALID_DEVICE:
        clGetKernelWorkGroupInfo(k, none, what, 0, none, null_mut()),
        clGetKernelSubGroupInfo(k, none, most, 0, none, 0, none, null_mut()),
        clGetKernelSubGroupInfoKHR(k, none, most, 0, none, 0, none, null_mut()));
    asks!(clGetKernelWorkGroupInfo(k, second), what);
    told("With two devices");
}

#[test]
fn two_devices() {
    run("with_two_devices", "MARGAY_GPU", "h200,sm_70");
}
