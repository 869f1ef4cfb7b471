// SPDX-License-Identifier: MIT OR Apache-2.0
//! Host functions: events, queues, maps, rectangles, sub-buffers, compile and link, binaries, queries.

use std::ffi::c_void;
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicI32, Ordering};

use crate::cl;
use crate::common::*;

const ADD: &str = "kernel void add(global const float *restrict a, global float *b, const int n) {
    int i = get_global_id(0); if (i < n) b[i] += a[i]; }";

#[test]
fn vectors_add_and_profile() {
    let setup = Setup::new(CL_QUEUE_PROFILING_ENABLE);
    let kernel = setup.kernel(ADD, "", "add");
    let a = setup.buffer(&(0..1000).map(|i| i as f32).collect::<Vec<_>>());
    let b = setup.buffer(&vec![1.0f32; 1000]);
    assert_eq!((set(kernel, 0, &a), set(kernel, 1, &b), set(kernel, 2, &1000i32)), (0, 0, 0));
    let (global, local, mut event) = (1024usize, 64usize, null_mut());
    let result = cl!(clEnqueueNDRangeKernel(
        setup.queue,
        kernel,
        1,
        null(),
        &global,
        &local,
        0,
        null(),
        &mut event
    ));
    assert_eq!((result, cl!(clWaitForEvents(1, &event))), (0, 0));
    let values = setup.read::<f32>(b, 1000);
    assert!(values.iter().enumerate().all(|(i, v)| *v == i as f32 + 1.0));
    let time = |what| {
        let mut at = 0u64;
        let to = std::ptr::from_mut(&mut at).cast::<c_void>();
        assert_eq!(cl!(clGetEventProfilingInfo(event, what, 8, to, null_mut())), 0);
        at
    };
    let queued = time(CL_PROFILING_COMMAND_QUEUED);
    assert!(queued <= time(CL_PROFILING_COMMAND_START));
    assert!(time(CL_PROFILING_COMMAND_START) <= time(CL_PROFILING_COMMAND_END));
    assert_eq!(cl!(clReleaseEvent(event)), 0);
    assert_eq!(cl!(clReleaseEvent(event)), CL_INVALID_EVENT);
}

static SEEN: AtomicI32 = AtomicI32::new(1);

unsafe extern "C" fn note(event: cl_event, status: cl_int, _: *mut c_void) {
    // A callback may call back.
    cl!(clRetainEvent(event));
    cl!(clReleaseEvent(event));
    SEEN.store(status, Ordering::SeqCst);
}

#[test]
fn user_events_hold_commands() {
    let setup = Setup::new(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    let mem = setup.buffer(&[1i32]);
    let (mut error, mut written, two) = (0, null_mut(), 2i32);
    let gate = cl!(clCreateUserEvent(setup.context, &mut error));
    let from = std::ptr::from_ref(&two).cast::<c_void>();
    let result = cl!(clEnqueueWriteBuffer(setup.queue, mem, 0, 0, 4, from, 1, &gate, &mut written));
    assert_eq!((error, result), (0, 0));
    // Out of order: this one does not wait.
    assert_eq!(setup.read::<i32>(mem, 1), [1]);
    assert_eq!(cl!(clSetUserEventStatus(gate, 1)), CL_INVALID_VALUE);
    assert_eq!(cl!(clSetUserEventStatus(gate, CL_COMPLETE)), 0);
    assert_eq!(cl!(clSetUserEventStatus(gate, CL_COMPLETE)), CL_INVALID_OPERATION);
    assert_eq!(cl!(clWaitForEvents(1, &written)), 0);
    assert_eq!(setup.read::<i32>(mem, 1), [2]);
    // A failed event ends what waits for it.
    let gate = cl!(clCreateUserEvent(setup.context, &mut error));
    let mut marker = null_mut();
    assert_eq!(cl!(clEnqueueMarkerWithWaitList(setup.queue, 1, &gate, &mut marker)), 0);
    assert_eq!(cl!(clSetEventCallback(marker, CL_COMPLETE, Some(note), null_mut())), 0);
    assert_eq!(cl!(clSetUserEventStatus(gate, -7)), 0);
    let failed = CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
    assert_eq!(cl!(clWaitForEvents(1, &marker)), failed);
    for _ in 0..1000 {
        if SEEN.load(Ordering::SeqCst) < 0 {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    assert_eq!(SEEN.load(Ordering::SeqCst), failed);
}

#[test]
fn maps_rectangles_and_parts() {
    let setup = Setup::new(0);
    let mem = setup.buffer(&(0..256).map(|i| i as u8).collect::<Vec<_>>());
    let mut error = 0;
    let map = cl!(clEnqueueMapBuffer(
        setup.queue,
        mem,
        1,
        CL_MAP_WRITE,
        16,
        4,
        0,
        null(),
        null_mut(),
        &mut error
    ));
    assert_eq!(error, 0);
    // SAFETY: four bytes are mapped.
    unsafe { map.cast::<[u8; 4]>().write([9; 4]) };
    assert_eq!(cl!(clEnqueueUnmapMemObject(setup.queue, mem, map, 0, null(), null_mut())), 0);
    let again = cl!(clEnqueueUnmapMemObject(setup.queue, mem, map, 0, null(), null_mut()));
    assert_eq!(again, CL_INVALID_VALUE);
    assert_eq!(setup.read::<u8>(mem, 21)[15..], [15, 9, 9, 9, 9, 20]);
    let (origin, host, region) = ([1usize, 2, 0], [0usize; 3], [3usize, 2, 1]);
    let mut out = [0u8; 6];
    let result = cl!(clEnqueueReadBufferRect(
        setup.queue,
        mem,
        1,
        origin.as_ptr(),
        host.as_ptr(),
        region.as_ptr(),
        32,
        0,
        0,
        0,
        out.as_mut_ptr().cast(),
        0,
        null(),
        null_mut()
    ));
    assert_eq!((result, out), (0, [65, 66, 67, 97, 98, 99]));
    let part = |origin, size| {
        let (region, mut error) = (cl_buffer_region { origin, size }, 0);
        let info = std::ptr::from_ref(&region).cast::<c_void>();
        let kind = CL_BUFFER_CREATE_TYPE_REGION;
        cl!(clCreateSubBuffer(mem, 0, kind, info, &mut error));
        error
    };
    assert_eq!((part(0, 16), part(3, 4)), (0, CL_MISALIGNED_SUB_BUFFER_OFFSET));
    assert_eq!((part(0, 0), part(0, 257)), (CL_INVALID_BUFFER_SIZE, CL_INVALID_VALUE));
    let overlap = cl!(clEnqueueCopyBuffer(setup.queue, mem, mem, 0, 4, 8, 0, null(), null_mut()));
    assert_eq!(overlap, CL_MEM_COPY_OVERLAP);
}

#[test]
fn compile_link_and_binaries() {
    let setup = Setup::new(0);
    let header = setup.source("int twice(int x);");
    let main =
        setup.source("#include \"twice.h\"\nkernel void f(global int *o) { *o = twice(*o); }");
    let body = setup.source("int twice(int x) { return 2 * x; }");
    let mut name = c"twice.h".as_ptr();
    let compile = |program, count, headers: *const cl_program, names| {
        cl!(clCompileProgram(program, 0, null(), null(), count, headers, names, None, null_mut()))
    };
    assert_eq!(compile(main, 0, null(), null_mut()), CL_COMPILE_PROGRAM_FAILURE);
    assert_eq!(compile(main, 1, &header, &mut name), 0);
    assert_eq!(compile(body, 0, null(), null_mut()), 0);
    let (inputs, mut error) = ([main, body], 0);
    let linked = cl!(clLinkProgram(
        setup.context,
        0,
        null(),
        null(),
        2,
        inputs.as_ptr(),
        None,
        null_mut(),
        &mut error
    ));
    assert_eq!(error, 0, "{}", setup.log(linked));
    let mut size = 0usize;
    let to = std::ptr::from_mut(&mut size).cast::<c_void>();
    cl!(clGetProgramInfo(linked, CL_PROGRAM_BINARY_SIZES, 8, to, null_mut()));
    let mut binary = vec![0u8; size];
    let mut pointer = binary.as_mut_ptr();
    let to = std::ptr::from_mut(&mut pointer).cast::<c_void>();
    assert_eq!(cl!(clGetProgramInfo(linked, CL_PROGRAM_BINARIES, 8, to, null_mut())), 0);
    let load = |bytes: &[u8]| {
        let (length, mut data, mut status, mut error) = (bytes.len(), bytes.as_ptr(), 0, 0);
        let program = cl!(clCreateProgramWithBinary(
            setup.context,
            1,
            &setup.device,
            &length,
            &mut data,
            &mut status,
            &mut error
        ));
        (program, error)
    };
    assert_eq!(load(b"junk").1, CL_INVALID_BINARY);
    let (program, error) = load(&binary);
    assert_eq!(error, 0);
    assert_eq!(cl!(clBuildProgram(program, 0, null(), null(), None, null_mut())), 0);
    let mut error = 0;
    let kernel = cl!(clCreateKernel(program, c"f".as_ptr(), &mut error));
    let again = cl!(clBuildProgram(program, 0, null(), null(), None, null_mut()));
    assert_eq!((error, again), (0, CL_INVALID_OPERATION));
    let mem = setup.buffer(&[21i32]);
    set(kernel, 0, &mem);
    assert_eq!(setup.run(kernel, 1, None), 0);
    assert_eq!(setup.read::<i32>(mem, 1), [42]);
}

#[test]
fn what_kernels_tell() {
    let setup = Setup::new(0);
    let source = "kernel __attribute__((reqd_work_group_size(8, 1, 1)))
        void f(global const float *restrict a, constant int *c, local short *l, uint4 v) { l[0] = c[0]; }";
    let kernel = setup.kernel(source, "-cl-kernel-arg-info", "f");
    let text = |index, what| {
        let mut text = [0u8; 64];
        let mut size = 0;
        let to = text.as_mut_ptr().cast();
        assert_eq!(cl!(clGetKernelArgInfo(kernel, index, what, 64, to, &mut size)), 0);
        String::from_utf8_lossy(&text[..size - 1]).into_owned()
    };
    assert_eq!(text(0, CL_KERNEL_ARG_TYPE_NAME), "float*");
    assert_eq!(
        (text(3, CL_KERNEL_ARG_TYPE_NAME), text(3, CL_KERNEL_ARG_NAME)),
        ("uint4".into(), "v".into())
    );
    let number = |index, what| {
        // What is not written stays, and shows.
        let bits = if what == CL_KERNEL_ARG_TYPE_QUALIFIER { u64::MAX } else { 0 };
        let mut value = bits;
        let to = std::ptr::from_mut(&mut value).cast::<c_void>();
        assert_eq!(cl!(clGetKernelArgInfo(kernel, index, what, 8, to, null_mut())), 0);
        value
    };
    let spaces: Vec<u64> = (0..4).map(|i| number(i, CL_KERNEL_ARG_ADDRESS_QUALIFIER)).collect();
    let expected = [
        CL_KERNEL_ARG_ADDRESS_GLOBAL,
        CL_KERNEL_ARG_ADDRESS_CONSTANT,
        CL_KERNEL_ARG_ADDRESS_LOCAL,
        CL_KERNEL_ARG_ADDRESS_PRIVATE,
    ];
    assert_eq!(spaces, expected.map(u64::from));
    let const_restrict = CL_KERNEL_ARG_TYPE_CONST | CL_KERNEL_ARG_TYPE_RESTRICT;
    assert_eq!(number(0, CL_KERNEL_ARG_TYPE_QUALIFIER), u64::from(const_restrict));
    let mut size = [0usize; 3];
    let what = CL_KERNEL_COMPILE_WORK_GROUP_SIZE;
    let to = size.as_mut_ptr().cast();
    assert_eq!(cl!(clGetKernelWorkGroupInfo(kernel, setup.device, what, 24, to, null_mut())), 0);
    assert_eq!(size, [8, 1, 1]);
    let plain = setup.kernel(source, "", "f");
    let name = CL_KERNEL_ARG_NAME;
    let result = cl!(clGetKernelArgInfo(plain, 0, name, 0, null_mut(), null_mut()));
    assert_eq!(result, CL_KERNEL_ARG_INFO_NOT_AVAILABLE);
}
