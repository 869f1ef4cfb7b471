// SPDX-License-Identifier: MIT OR Apache-2.0
//! Error codes that the specification names for a call, beyond those of the files about what the calls do.

use std::ptr::{null, null_mut};

use crate::cl;
use crate::common::*;

const ONE: &str = "kernel void f(global int *o) { o[get_global_id(0)] = 1; }";

#[test]
fn platforms_devices_and_contexts() {
    let setup = Setup::new(0);
    let (mut platform, mut error, mut count) = (null_mut(), 0, 0u32);
    assert_eq!(cl!(clGetPlatformIDs(0, &mut platform, null_mut())), CL_INVALID_VALUE);
    assert_eq!(cl!(clGetPlatformIDs(0, null_mut(), null_mut())), CL_INVALID_VALUE);
    assert_eq!(cl!(clGetPlatformIDs(1, &mut platform, &mut count)), 0);
    let devices =
        |platform, kind, entries, to| cl!(clGetDeviceIDs(platform, kind, entries, to, null_mut()));
    let mut device = null_mut();
    assert_eq!(devices(setup.device, CL_DEVICE_TYPE_ALL, 1, &mut device), CL_INVALID_PLATFORM);
    assert_eq!(devices(platform, 1 << 40, 1, &mut device), CL_INVALID_DEVICE_TYPE);
    assert_eq!(devices(platform, CL_DEVICE_TYPE_CPU, 1, &mut device), CL_DEVICE_NOT_FOUND);
    assert_eq!(devices(platform, CL_DEVICE_TYPE_GPU, 0, &mut device), CL_INVALID_VALUE);
    let mut context = |properties: &[cl_context_properties], device: &cl_device_id| {
        cl!(clCreateContext(properties.as_ptr(), 1, device, None, null_mut(), &mut error));
        std::mem::replace(&mut error, 0)
    };
    let named = CL_CONTEXT_PLATFORM as cl_context_properties;
    assert_eq!(context(&[named, 0, 0], &setup.device), CL_INVALID_PLATFORM);
    assert_eq!(context(&[0x7777, 1, 0], &setup.device), CL_INVALID_PROPERTY);
    assert_eq!(
        context(&[named, platform as _, named, platform as _, 0], &setup.device),
        CL_INVALID_PROPERTY
    );
    assert_eq!(context(&[0], &setup.queue), CL_INVALID_DEVICE);
    cl!(clCreateContext(null(), 1, &setup.device, None, platform, &mut error));
    assert_eq!(error, CL_INVALID_VALUE);
    cl!(clCreateCommandQueue(setup.context, setup.device, 1 << 20, &mut error));
    assert_eq!(error, CL_INVALID_VALUE);
    cl!(clCreateCommandQueue(setup.device, setup.device, 0, &mut error));
    assert_eq!(error, CL_INVALID_CONTEXT);
}

#[test]
fn what_belongs_to_another_context() {
    let (setup, other) = (Setup::new(0), Setup::new(0));
    let kernel = setup.kernel(ONE, "", "f");
    let (own, foreign) = (setup.buffer(&[0i32; 4]), other.buffer(&[0i32; 4]));
    assert_eq!(set(kernel, 0, &foreign), CL_INVALID_CONTEXT);
    assert_eq!((set(kernel, 0, &own), other.run(kernel, 4, None)), (0, CL_INVALID_CONTEXT));
    let q = setup.queue;
    let copy = cl!(clEnqueueCopyBuffer(q, own, foreign, 0, 0, 4, 0, null(), null_mut()));
    assert_eq!(copy, CL_INVALID_CONTEXT);
    let mut error = 0;
    let event = cl!(clCreateUserEvent(other.context, &mut error));
    assert_eq!(cl!(clEnqueueMarkerWithWaitList(q, 1, &event, null_mut())), CL_INVALID_CONTEXT);
    let own_event = cl!(clCreateUserEvent(setup.context, &mut error));
    assert_eq!(cl!(clWaitForEvents(2, [own_event, event].as_ptr())), CL_INVALID_CONTEXT);
    let handle = own;
    assert_eq!(
        cl!(clEnqueueMarkerWithWaitList(q, 1, &handle, null_mut())),
        CL_INVALID_EVENT_WAIT_LIST
    );
    assert_eq!(cl!(clSetUserEventStatus(own_event, 0)), 0);
    assert_eq!(cl!(clSetUserEventStatus(event, 0)), 0);
}

#[test]
fn ranges_and_kernels() {
    let setup = Setup::new(0);
    let kernel = setup.kernel(ONE, "", "f");
    let mem = setup.buffer(&[0i32; 64]);
    assert_eq!(set(kernel, 0, &mem), 0);
    let (global, offset, none) = ([4usize; 4], [usize::MAX; 3], null_mut());
    let enqueue = |dimensions, offset: *const usize, global: *const usize| {
        let q = setup.queue;
        cl!(clEnqueueNDRangeKernel(q, kernel, dimensions, offset, global, null(), 0, null(), none))
    };
    assert_eq!(enqueue(0, null(), global.as_ptr()), CL_INVALID_WORK_DIMENSION);
    assert_eq!(enqueue(4, null(), global.as_ptr()), CL_INVALID_WORK_DIMENSION);
    assert_eq!(enqueue(1, offset.as_ptr(), global.as_ptr()), CL_INVALID_GLOBAL_OFFSET);
    // An empty range, or none, is legal in 3.0, and does nothing.
    assert_eq!(enqueue(1, null(), null()), 0);
    assert_eq!(enqueue(1, null(), [0usize].as_ptr()), 0);
    let source =
        "kernel __attribute__((reqd_work_group_size(8, 1, 1))) void f(global int *o) { *o = 1; }";
    let fixed = setup.kernel(source, "", "f");
    assert_eq!(
        (set(fixed, 0, &mem), setup.run(fixed, 64, Some(16))),
        (0, CL_INVALID_WORK_GROUP_SIZE)
    );
    assert_eq!(
        (setup.run(fixed, 63, None), setup.run(fixed, 64, Some(8))),
        (CL_INVALID_WORK_GROUP_SIZE, 0)
    );
    // A program cannot be built again while it has kernels, nor make a kernel before it is built.
    let (program, mut error) = (setup.source(ONE), 0);
    cl!(clCreateKernel(program, c"f".as_ptr(), &mut error));
    assert_eq!(error, CL_INVALID_PROGRAM_EXECUTABLE);
    let build = || cl!(clBuildProgram(program, 0, null(), null(), None, null_mut()));
    assert_eq!(build(), 0);
    let held = cl!(clCreateKernel(program, c"f".as_ptr(), &mut error));
    assert_eq!(build(), CL_INVALID_OPERATION);
    cl!(clReleaseKernel(held));
    assert_eq!(build(), 0);
    let device_without_list =
        cl!(clBuildProgram(program, 0, &setup.device, null(), None, null_mut()));
    assert_eq!(device_without_list, CL_INVALID_VALUE);
    assert_eq!(
        cl!(clBuildProgram(program, 1, &setup.context, null(), None, null_mut())),
        CL_INVALID_DEVICE
    );
}

#[test]
fn transfers() {
    let setup = Setup::new(0);
    let (q, none, mut error) = (setup.queue, null_mut(), 0);
    let mem = setup.buffer(&[0u8; 64]);
    let mut host = [0u8; 64];
    let to = host.as_mut_ptr().cast();
    let read =
        |mem, at, size, to| cl!(clEnqueueReadBuffer(q, mem, 1, at, size, to, 0, null(), none));
    assert_eq!(read(mem, 60, 5, to), CL_INVALID_VALUE);
    assert_eq!(read(mem, usize::MAX, 2, to), CL_INVALID_VALUE);
    assert_eq!(read(setup.queue, 0, 4, to), CL_INVALID_MEM_OBJECT);
    let guarded = |flags| cl!(clCreateBuffer(setup.context, flags, 64, null_mut(), &mut error));
    let mut guarded = guarded;
    let (no_read, no_write, nothing) = (
        guarded(CL_MEM_HOST_WRITE_ONLY),
        guarded(CL_MEM_HOST_READ_ONLY),
        guarded(CL_MEM_HOST_NO_ACCESS),
    );
    assert_eq!(read(no_read, 0, 4, to), CL_INVALID_OPERATION);
    assert_eq!(read(nothing, 0, 4, to), CL_INVALID_OPERATION);
    let write = cl!(clEnqueueWriteBuffer(q, no_write, 1, 0, 4, to.cast_const(), 0, null(), none));
    assert_eq!(write, CL_INVALID_OPERATION);
    let mut mapped = 0;
    let mut map = |mem, flags, size| {
        cl!(clEnqueueMapBuffer(q, mem, 1, flags, 0, size, 0, null(), none, &mut mapped));
        mapped
    };
    assert_eq!(map(no_write, CL_MAP_WRITE, 4), CL_INVALID_OPERATION);
    assert_eq!(map(mem, CL_MAP_READ | CL_MAP_WRITE_INVALIDATE_REGION, 4), CL_INVALID_VALUE);
    assert_eq!(
        (map(mem, CL_MAP_READ, 0), map(mem, CL_MAP_READ, 65)),
        (CL_INVALID_VALUE, CL_INVALID_VALUE)
    );
    let fill = |size, at, count| {
        cl!(clEnqueueFillBuffer(q, mem, to.cast_const(), size, at, count, 0, null(), none))
    };
    assert_eq!(
        (fill(3, 0, 3), fill(4, 2, 4), fill(4, 0, 6)),
        (CL_INVALID_VALUE, CL_INVALID_VALUE, CL_INVALID_VALUE)
    );
    assert_eq!(
        (fill(0, 0, 4), fill(256, 0, 256), fill(4, 4, 8)),
        (CL_INVALID_VALUE, CL_INVALID_VALUE, 0)
    );
    let (o, region) = ([0usize; 3], [8usize, 2, 1]);
    let rect = |pitch| {
        cl!(clEnqueueCopyBufferRect(
            q,
            mem,
            mem,
            o.as_ptr(),
            [4usize, 0, 0].as_ptr(),
            region.as_ptr(),
            pitch,
            0,
            16,
            0,
            0,
            null(),
            none
        ))
    };
    assert_eq!(
        (rect(16), rect(4), rect(32)),
        (CL_MEM_COPY_OVERLAP, CL_INVALID_VALUE, CL_INVALID_VALUE)
    );
    // Times are there only where the queue was asked for them.
    let mut event = null_mut();
    assert_eq!(cl!(clEnqueueMarkerWithWaitList(q, 0, null(), &mut event)), 0);
    let mut time = 0u64;
    let at = std::ptr::from_mut(&mut time).cast();
    assert_eq!(cl!(clWaitForEvents(1, &event)), 0);
    let asked = cl!(clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, 8, at, null_mut()));
    assert_eq!(asked, CL_PROFILING_INFO_NOT_AVAILABLE);
}
