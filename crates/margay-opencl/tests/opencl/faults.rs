// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bad kernels and bad calls: the specified error, and the process lives.

use std::ptr::{null, null_mut};

use crate::cl;
use crate::common::*;

const PLAIN: &str =
    "kernel void f(global int *o, local int *l) { o[get_global_id(0)] = 1; l[0] = 1; }";

#[test]
fn build_errors_are_in_the_log() {
    let setup = Setup::new(0);
    let (program, result, log) = setup.build("kernel void f(global int *o) {\n  *o = x;\n}", "");
    assert_eq!(result, CL_BUILD_PROGRAM_FAILURE);
    assert!(log.contains("program.cl:2:8: error: use of undeclared identifier 'x'"), "{log}");
    let mut error = 0;
    assert!(cl!(clCreateKernel(program, c"f".as_ptr(), &mut error)).is_null());
    assert_eq!(error, CL_INVALID_PROGRAM_EXECUTABLE);
    let (_, result, log) = setup.build(PLAIN, "-cl-nonsense");
    assert_eq!(result, CL_INVALID_BUILD_OPTIONS);
    assert!(log.contains("-cl-nonsense"), "{log}");
    let (_, result, log) = setup.build("void g(void); kernel void f(void) { g(); }", "");
    assert_eq!(result, CL_BUILD_PROGRAM_FAILURE);
    assert!(log.contains("unresolved extern function 'g'"), "{log}");
    let (_, result, log) = setup.build("kernel void f(void) { int unused; }", "-Werror -Wall");
    assert_eq!(result, CL_BUILD_PROGRAM_FAILURE);
    assert!(log.contains("unused variable"), "{log}");
}

/// OpenCL C has no recursion, and clang does not say so.
#[test]
fn recursion_is_an_error_that_names_the_cycle() {
    let setup = Setup::new(0);
    let own = "int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
        kernel void f(global int *o) { *o = fib(*o); }";
    let pair = "int odd(int n);
        int even(int n) { return n == 0 || odd(n - 1); }
        int odd(int n) { return n != 0 && even(n - 1); }
        kernel void f(global int *o) { *o = even(*o); }";
    let words = "error: recursion is not supported in OpenCL C: ";
    for options in ["", "-cl-std=CL3.0", "-cl-opt-disable"] {
        let (_, result, log) = setup.build(own, options);
        assert_eq!(result, CL_BUILD_PROGRAM_FAILURE, "{options}");
        assert!(log.contains(&format!("program.cl:1:37: {words}'fib' calls itself")), "{log}");
        let (_, result, log) = setup.build(pair, options);
        assert_eq!(result, CL_BUILD_PROGRAM_FAILURE, "{options}");
        assert!(log.contains(&format!("program.cl:2:44: {words}even -> odd -> even")), "{log}");
        assert!(log.contains("program.cl:3:43: note: 'odd' calls 'even' here"), "{log}");
    }
    // A cycle that linking closes.
    let (f, g) = (
        "int g(int n); int h(int n) { return g(n); }",
        "int h(int n); int g(int n) { return h(n); }",
    );
    let programs = [f, g].map(|text| setup.source(text));
    for program in programs {
        let (names, data) = (null_mut(), null_mut());
        let compiled =
            cl!(clCompileProgram(program, 0, null(), null(), 0, null(), names, None, data));
        assert_eq!(compiled, 0, "{}", setup.log(program));
    }
    let (mut error, none) = (0, null_mut());
    let linked = cl!(clLinkProgram(
        setup.context,
        0,
        null(),
        null(),
        2,
        programs.as_ptr(),
        None,
        none,
        &mut error
    ));
    assert_eq!(error, CL_LINK_PROGRAM_FAILURE);
    let log = setup.log(linked);
    assert!(log.contains("-> h") && log.contains(words), "{log}");
    // A diamond of calls is none.
    let diamond = "int a(int n) { return n; } int b(int n) { return a(n); } int c(int n) { return a(n) + b(n); }
        kernel void f(global int *o) { *o = b(*o) + c(*o); }";
    assert_eq!(setup.build(diamond, "").1, 0);
}

/// OpenCL C lets a kernel call another, of its own or another object; its local variables are then the caller's, too.
#[test]
fn a_kernel_calls_a_kernel() {
    let setup = Setup::new(0);
    let callee = "typedef struct { int a; float b[3]; } pair;
        kernel void inner(global int *o, pair p, local int *l, float3 v) {
          local int t[4]; local int u;
          t[get_local_id(0)] = p.a + get_local_id(0); if (get_local_id(0) == 0) u = 1000;
          l[get_local_id(0)] = 100;
          barrier(CLK_LOCAL_MEM_FENCE);
          o[get_global_id(0)] += t[3 - get_local_id(0)] + l[0] + u + (int)v.y;
        }\n";
    let caller = "kernel void outer(global int *o, pair p, local int *l) {
          inner(o, p, l, (float3)(1, 20, 3)); barrier(CLK_LOCAL_MEM_FENCE);
          inner(o + 4, p, l, (float3)(4, 50, 6));
        }\n";
    let declared = "typedef struct { int a; float b[3]; } pair;
        kernel void inner(global int *o, pair p, local int *l, float3 v);\n";
    let whole = |options: &str| {
        let (program, result, log) = setup.build(&(callee.to_owned() + caller), options);
        assert_eq!(result, 0, "{log}");
        program
    };
    let linked = {
        let compile = |text: &str| {
            let (program, none, data) = (setup.source(text), null_mut(), null_mut());
            let result =
                cl!(clCompileProgram(program, 0, null(), null(), 0, null(), none, None, data));
            assert_eq!(result, 0, "{}", setup.log(program));
            program
        };
        let objects = [compile(callee), compile(&(declared.to_owned() + caller))];
        let (mut error, none, no_data) = (0, null(), null_mut());
        let (context, list) = (setup.context, objects.as_ptr());
        let linked =
            cl!(clLinkProgram(context, 0, none, null(), 2, list, None, no_data, &mut error));
        assert_eq!(error, 0);
        linked
    };
    let programs = [whole(""), whole("-cl-opt-disable"), whole("-cl-std=CL3.0"), linked];
    for (n, program) in programs.into_iter().enumerate() {
        let mut error = 0;
        let mut count = 0;
        assert_eq!(cl!(clCreateKernelsInProgram(program, 0, null_mut(), &mut count)), 0);
        assert_eq!(count, 2);
        for (name, second) in [(c"inner", 0), (c"outer", 1)] {
            let kernel = cl!(clCreateKernel(program, name.as_ptr(), &mut error));
            assert_eq!(error, 0);
            let mem = setup.buffer(&[0i32; 8]);
            assert_eq!((set(kernel, 0, &mem), set(kernel, 1, &(7i32, [0f32; 3]))), (0, 0));
            assert_eq!(cl!(clSetKernelArg(kernel, 2, 16, null())), 0);
            if second == 0 {
                assert_eq!(set(kernel, 3, &[1f32, 20.0, 3.0, 0.0]), 0);
            }
            let mut local = 0u64;
            let to = (&raw mut local).cast();
            let what = CL_KERNEL_LOCAL_MEM_SIZE;
            assert_eq!(
                cl!(clGetKernelWorkGroupInfo(kernel, setup.device, what, 8, to, null_mut())),
                0
            );
            assert!(local >= 16 + 16, "{local}");
            assert_eq!(setup.run(kernel, 4, Some(4)), 0);
            let row = |v: i32| (0..4).map(move |i| 7 + 3 - i + 100 + 1000 + v);
            let empty = std::iter::repeat_n(0, 4);
            let expected: Vec<i32> = match second {
                0 => row(20).chain(empty).collect(),
                _ => row(20).chain(row(50)).collect(),
            };
            assert_eq!((n, setup.read::<i32>(mem, 8)), (n, expected));
        }
    }
}

/// Its events keep no queue alive that the program has released.
#[test]
fn a_queue_that_was_released() {
    let setup = Setup::new(0);
    let (mut error, mut event, none) = (0, null_mut(), null_mut());
    let queue = cl!(clCreateCommandQueue(setup.context, setup.device, 0, &mut error));
    assert_eq!(cl!(clEnqueueMarkerWithWaitList(queue, 0, null(), &mut event)), 0);
    assert_eq!((cl!(clFinish(queue)), cl!(clReleaseCommandQueue(queue))), (0, 0));
    let late = cl!(clEnqueueMarkerWithWaitList(queue, 0, null(), none));
    assert_eq!((late, cl!(clFinish(queue))), (CL_INVALID_COMMAND_QUEUE, CL_INVALID_COMMAND_QUEUE));
    assert_eq!(cl!(clRetainCommandQueue(queue)), CL_INVALID_COMMAND_QUEUE);
    assert_eq!((cl!(clWaitForEvents(1, &event)), cl!(clReleaseEvent(event))), (0, 0));
}

/// The error of a command comes out of one call: of the wait for its event, or of the next wait for the queue.
#[test]
fn an_error_is_told_once() {
    let setup = Setup::new(0);
    let source = "kernel void f(global int *o, long at) { o[at] = 1; }";
    let kernel = setup.kernel(source, "", "f");
    let mem = setup.buffer(&[0i32; 4]);
    assert_eq!((set(kernel, 0, &mem), set(kernel, 1, &(1i64 << 43))), (0, 0));
    let fail = || {
        let (size, mut event, q) = (1usize, null_mut(), setup.queue);
        let to = &mut event;
        assert_eq!(
            cl!(clEnqueueNDRangeKernel(q, kernel, 1, null(), &size, null(), 0, null(), to)),
            0
        );
        event
    };
    let read = || {
        let (mut word, q, none) = (0i32, setup.queue, null_mut());
        cl!(clEnqueueReadBuffer(q, mem, 1, 0, 4, (&raw mut word).cast(), 0, null(), none))
    };
    let event = fail();
    assert_eq!(cl!(clWaitForEvents(1, &event)), CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
    assert_eq!((read(), cl!(clFinish(setup.queue))), (0, 0));
    fail();
    assert_eq!((read(), read(), cl!(clFinish(setup.queue))), (CL_OUT_OF_RESOURCES, 0, 0));
    // Of two, the wait for one leaves the other's.
    let (first, _) = (fail(), fail());
    assert_eq!(cl!(clWaitForEvents(1, &first)), CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
    assert_eq!((cl!(clFinish(setup.queue)), read()), (CL_OUT_OF_RESOURCES, 0));
}

#[test]
fn wrong_arguments() {
    let setup = Setup::new(0);
    let kernel = setup.kernel(PLAIN, "", "f");
    let mem = setup.buffer(&[0i32; 64]);
    assert_eq!(setup.run(kernel, 64, None), CL_INVALID_KERNEL_ARGS);
    assert_eq!(set(kernel, 2, &mem), CL_INVALID_ARG_INDEX);
    assert_eq!(set(kernel, 0, &1u32), CL_INVALID_ARG_SIZE);
    assert_eq!(set(kernel, 0, &0x1234usize), CL_INVALID_MEM_OBJECT);
    assert_eq!(set(kernel, 0, &mem), 0);
    assert_eq!(set(kernel, 1, &1u32), CL_INVALID_ARG_VALUE);
    assert_eq!(cl!(clSetKernelArg(kernel, 1, 0, null())), CL_INVALID_ARG_SIZE);
    assert_eq!(cl!(clSetKernelArg(kernel, 1, 1 << 20, null())), 0);
    assert_eq!(setup.run(kernel, 64, None), CL_OUT_OF_RESOURCES);
    assert_eq!(cl!(clSetKernelArg(kernel, 1, 64, null())), 0);
    assert_eq!(setup.run(kernel, 64, Some(2048)), CL_INVALID_WORK_GROUP_SIZE);
    assert_eq!(setup.run(kernel, 64, Some(0)), CL_INVALID_WORK_GROUP_SIZE);
    assert_eq!(setup.run(kernel, 64, Some(48)), CL_INVALID_WORK_GROUP_SIZE);
    assert_eq!(setup.run(kernel, 64, Some(32)), 0);
    assert_eq!(cl!(clFinish(setup.queue)), 0);
    cl!(clReleaseMemObject(mem));
    assert_eq!(setup.run(kernel, 64, Some(32)), CL_INVALID_KERNEL_ARGS);
    assert_eq!(cl!(clReleaseKernel(kernel)), 0);
    assert_eq!(setup.run(kernel, 64, None), CL_INVALID_KERNEL);
    assert_eq!(cl!(clFinish(null_mut())), CL_INVALID_COMMAND_QUEUE);
}

#[test]
fn a_kernel_out_of_bounds_and_one_after_it() {
    let setup = Setup::new(0);
    let source = "kernel void f(global int *o, long at) { o[at] = 1; }";
    let kernel = setup.kernel(source, "", "f");
    let mem = setup.buffer(&[0i32; 4]);
    set(kernel, 0, &mem);
    // So far that no other test's memory is there.
    set(kernel, 1, &(1i64 << 43));
    assert_eq!(setup.run(kernel, 1, None), 0);
    assert_eq!(cl!(clFinish(setup.queue)), CL_OUT_OF_RESOURCES);
    set(kernel, 1, &2i64);
    assert_eq!(setup.run(kernel, 1, None), 0);
    assert_eq!(setup.read::<i32>(mem, 4), [0, 0, 1, 0]);
}

#[test]
fn division_by_zero_never_traps() {
    let setup = Setup::new(0);
    let source = "kernel void f(global int *o, int z) { o[1] = 7 / z; o[2] = 7 % z; o[3] = 1; }";
    let kernel = setup.kernel(source, "", "f");
    let mem = setup.buffer(&[0i32; 4]);
    set(kernel, 0, &mem);
    set(kernel, 1, &0i32);
    assert_eq!(setup.run(kernel, 1, None), 0);
    assert_eq!(setup.read::<i32>(mem, 4)[3], 1);
}

#[test]
fn buffers() {
    let setup = Setup::new(0);
    let mut error = 0;
    let mut create = |flags, size, host| {
        let mem = cl!(clCreateBuffer(setup.context, flags, size, host, &mut error));
        assert_eq!(mem.is_null(), error != 0);
        error
    };
    let mut byte = 0u8;
    let host = std::ptr::from_mut(&mut byte).cast();
    assert_eq!(create(0, 0, null_mut()), CL_INVALID_BUFFER_SIZE);
    assert_eq!(create(CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY, 4, null_mut()), CL_INVALID_VALUE);
    assert_eq!(create(CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR, 1, host), CL_INVALID_VALUE);
    assert_eq!(create(CL_MEM_USE_HOST_PTR, 1, null_mut()), CL_INVALID_HOST_PTR);
    assert_eq!(create(0, 1, host), CL_INVALID_HOST_PTR);
    assert_eq!(create(0, usize::MAX, null_mut()), CL_INVALID_BUFFER_SIZE);
    assert_eq!(create(1 << 40, 4, null_mut()), CL_INVALID_VALUE);
}

#[test]
fn null_where_none_may_be() {
    let setup = Setup::new(0);
    let (none, mut error) = (null_mut(), 0);
    let code = |error: &mut i32| std::mem::replace(error, 0);
    cl!(clCreateContext(null(), 1, null(), None, none, &mut error));
    assert_eq!(code(&mut error), CL_INVALID_VALUE);
    cl!(clCreateCommandQueue(setup.context, none, 0, &mut error));
    assert_eq!(code(&mut error), CL_INVALID_DEVICE);
    cl!(clCreateBuffer(none, 0, 4, none, &mut error));
    assert_eq!(code(&mut error), CL_INVALID_CONTEXT);
    cl!(clCreateProgramWithSource(setup.context, 1, null_mut(), null(), &mut error));
    assert_eq!(code(&mut error), CL_INVALID_VALUE);
    cl!(clCreateImage(setup.context, 0, null(), null(), none, &mut error));
    assert_eq!(code(&mut error), CL_INVALID_IMAGE_FORMAT_DESCRIPTOR);
    let built = cl!(clBuildProgram(none, 0, null(), null(), None, none));
    assert_eq!(built, CL_INVALID_PROGRAM);
    let (program, _, _) = setup.build(PLAIN, "");
    cl!(clCreateKernel(program, null(), &mut error));
    assert_eq!(code(&mut error), CL_INVALID_VALUE);
    cl!(clCreateKernel(program, c"no_such".as_ptr(), &mut error));
    assert_eq!(code(&mut error), CL_INVALID_KERNEL_NAME);
    let mem = setup.buffer(&[0i32; 4]);
    let (q, list) = (setup.queue, null());
    assert_eq!(
        cl!(clEnqueueReadBuffer(q, mem, 1, 0, 4, none, 0, list, none.cast())),
        CL_INVALID_VALUE
    );
    assert_eq!(
        cl!(clEnqueueWriteBuffer(q, none, 1, 0, 4, list.cast(), 0, list, none.cast())),
        CL_INVALID_MEM_OBJECT
    );
    assert_eq!(cl!(clSetEventCallback(none, 0, None, none)), CL_INVALID_EVENT);
    assert_eq!(cl!(clWaitForEvents(0, null())), CL_INVALID_VALUE);
    // An event list that is there without a length, and the other way round.
    let wrong = cl!(clEnqueueMarkerWithWaitList(q, 1, null(), null_mut()));
    assert_eq!(wrong, CL_INVALID_EVENT_WAIT_LIST);
    let kernel = setup.kernel(PLAIN, "", "f");
    let range =
        cl!(clEnqueueNDRangeKernel(q, kernel, 1, null(), null(), null(), 0, list, none.cast()));
    // Its arguments are not set either; that is found first.
    assert!(matches!(range, CL_INVALID_GLOBAL_WORK_SIZE | CL_INVALID_KERNEL_ARGS), "{range}");
}
