// SPDX-License-Identifier: MIT OR Apache-2.0
//! Platforms, devices and contexts.

use std::ffi::c_void;
use std::ptr::{null, null_mut};

use super::{asks, fails, refuses, told};
use crate::cl;
use crate::common::*;

#[test]
fn platforms_and_devices() {
    let setup = Setup::new(0);
    let (junk, none) = (setup.context, null_mut::<c_void>());
    let (mut platform, mut device, mut count) = (null_mut(), null_mut(), 0);
    fails!(CL_INVALID_VALUE:
        clGetPlatformIDs(0, &mut platform, &mut count), clGetPlatformIDs(1, null_mut(), null_mut()),
        clIcdGetPlatformIDsKHR(0, &mut platform, &mut count),
        clIcdGetPlatformIDsKHR(1, null_mut(), null_mut()));
    assert_eq!(cl!(clGetPlatformIDs(1, &mut platform, null_mut())), 0);
    asks!(clGetPlatformInfo(platform), CL_PLATFORM_NAME);
    fails!(CL_INVALID_PLATFORM:
        clGetPlatformInfo(junk, CL_PLATFORM_NAME, 0, none, null_mut()),
        clGetDeviceIDs(junk, CL_DEVICE_TYPE_ALL, 1, &mut device, null_mut()),
        clUnloadPlatformCompiler(junk), clUnloadPlatformCompiler(none));
    fails!(CL_INVALID_DEVICE_TYPE:
        clGetDeviceIDs(platform, 0, 1, &mut device, null_mut()),
        clGetDeviceIDs(platform, 1 << 40, 1, &mut device, null_mut()));
    fails!(CL_INVALID_VALUE:
        clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, &mut device, &mut count),
        clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, null_mut(), null_mut()));
    fails!(CL_DEVICE_NOT_FOUND:
        clGetDeviceIDs(platform, CL_DEVICE_TYPE_CPU, 1, &mut device, null_mut()));
    let mut time = 0;
    let equally = [CL_DEVICE_PARTITION_EQUALLY, 1, 0];
    asks!(clGetDeviceInfo(setup.device), CL_DEVICE_NAME);
    fails!(CL_INVALID_DEVICE:
        clGetDeviceInfo(junk, CL_DEVICE_NAME, 0, none, null_mut()),
        clGetDeviceInfo(none, CL_DEVICE_NAME, 0, none, null_mut()),
        clGetDeviceAndHostTimer(junk, &mut time, &mut { 0 }), clGetHostTimer(junk, &mut time),
        clRetainDevice(junk), clReleaseDevice(junk),
        clCreateSubDevices(junk, equally.as_ptr(), 1, &mut device, null_mut()));
    fails!(CL_INVALID_VALUE:
        clGetDeviceAndHostTimer(setup.device, null_mut(), &mut time),
        clGetDeviceAndHostTimer(setup.device, &mut time, null_mut()),
        clGetHostTimer(setup.device, null_mut()),
        clCreateSubDevices(setup.device, null(), 1, &mut device, null_mut()),
        clCreateSubDevices(setup.device, [77, 0].as_ptr(), 1, &mut device, null_mut()),
        clCreateSubDevices(setup.device, equally.as_ptr(), 1, &mut device, null_mut()));
    told("Platforms and devices");
}

#[test]
fn contexts() {
    let setup = Setup::new(0);
    let (device, queue) = (setup.device, setup.queue);
    let none = null_mut::<c_void>();
    let named = CL_CONTEXT_PLATFORM;
    let mut platform = null_mut();
    assert_eq!(cl!(clGetPlatformIDs(1, &mut platform, null_mut())), 0);
    let lists = [
        [0x7777, 1, 0, 0, 0],
        [CL_CONTEXT_INTEROP_USER_SYNC, 5, 0, 0, 0],
        [named, platform as isize, named, platform as isize, 0],
    ];
    for list in &lists {
        refuses!(CL_INVALID_PROPERTY:
            clCreateContext(list.as_ptr(), 1, &device, None, none),
            clCreateContextFromType(list.as_ptr(), CL_DEVICE_TYPE_ALL, None, none));
    }
    for list in [[named, 0, 0], [named, queue as isize, 0]] {
        refuses!(CL_INVALID_PLATFORM:
            clCreateContext(list.as_ptr(), 1, &device, None, none),
            clCreateContextFromType(list.as_ptr(), CL_DEVICE_TYPE_ALL, None, none));
    }
    refuses!(CL_INVALID_VALUE:
        clCreateContext(null(), 1, null(), None, none), clCreateContext(null(), 0, &device, None, none),
        clCreateContext(null(), 1, &device, None, queue),
        clCreateContextFromType(null(), CL_DEVICE_TYPE_ALL, None, queue));
    refuses!(CL_INVALID_DEVICE:
        clCreateContext(null(), 1, &queue, None, none),
        clCreateContext(null(), 2, [device, none].as_ptr(), None, none));
    refuses!(CL_INVALID_DEVICE_TYPE:
        clCreateContextFromType(null(), 0, None, none),
        clCreateContextFromType(null(), 1 << 40, None, none));
    refuses!(CL_DEVICE_NOT_FOUND:
        clCreateContextFromType(null(), CL_DEVICE_TYPE_CPU, None, none));
    for junk in [none, queue] {
        fails!(CL_INVALID_CONTEXT:
            clRetainContext(junk), clReleaseContext(junk),
            clGetContextInfo(junk, CL_CONTEXT_DEVICES, 0, none, null_mut()),
            clSetContextDestructorCallback(junk, None, none));
    }
    asks!(clGetContextInfo(setup.context), CL_CONTEXT_NUM_DEVICES);
    fails!(CL_INVALID_VALUE: clSetContextDestructorCallback(setup.context, None, none));
    told("Contexts");
}
