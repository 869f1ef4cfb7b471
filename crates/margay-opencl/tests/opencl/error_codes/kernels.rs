// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kernels: objects, arguments, queries, ranges.

use std::ffi::c_void;
use std::ptr::{null, null_mut};

use super::{FLOATS, ONE, World, asks, fails, makes, refuses, shape, told};
use crate::cl;
use crate::common::*;

const ARGUMENTS: &str =
    "kernel void f(global int *o, read_only image2d_t a, write_only image2d_t b,
    sampler_t s, local int *l, int n) {}";

#[test]
fn objects_and_queries() {
    let w = World::new();
    let (k, device, none) = (w.kernel, w.setup.device, null_mut::<c_void>());
    let mut number = 0;
    for junk in [none, w.setup.context] {
        refuses!(CL_INVALID_PROGRAM: clCreateKernel(junk, c"f".as_ptr()));
        refuses!(CL_INVALID_KERNEL: clCloneKernel(junk));
        fails!(CL_INVALID_PROGRAM: clCreateKernelsInProgram(junk, 0, null_mut(), &mut number));
        fails!(CL_INVALID_KERNEL:
            clRetainKernel(junk), clReleaseKernel(junk),
            clGetKernelInfo(junk, CL_KERNEL_NUM_ARGS, 0, none, null_mut()),
            clGetKernelArgInfo(junk, 0, CL_KERNEL_ARG_NAME, 0, none, null_mut()),
            clGetKernelWorkGroupInfo(junk, device, CL_KERNEL_WORK_GROUP_SIZE, 0, none, null_mut()),
            clGetKernelSubGroupInfo(junk, device, CL_KERNEL_MAX_NUM_SUB_GROUPS, 0, none, 0, none, null_mut()),
            clGetKernelSubGroupInfoKHR(junk, device, CL_KERNEL_MAX_NUM_SUB_GROUPS, 0, none, 0, none, null_mut()));
    }
    let unbuilt = w.setup.source(ONE);
    let name = c"f".as_ptr();
    refuses!(CL_INVALID_PROGRAM_EXECUTABLE: clCreateKernel(unbuilt, name));
    refuses!(CL_INVALID_KERNEL_NAME: clCreateKernel(w.program, c"g".as_ptr()));
    refuses!(CL_INVALID_VALUE: clCreateKernel(w.program, null()));
    let mut room = null_mut();
    fails!(CL_INVALID_PROGRAM_EXECUTABLE:
        clCreateKernelsInProgram(unbuilt, 1, &mut room, null_mut()));
    fails!(CL_INVALID_VALUE: clCreateKernelsInProgram(w.program, 0, &mut room, null_mut()));
    asks!(clGetKernelInfo(k), CL_KERNEL_NUM_ARGS);
    let told_of = w.setup.kernel(ONE, "-cl-kernel-arg-info", "f");
    asks!(clGetKernelArgInfo(told_of, 0), CL_KERNEL_ARG_NAME);
    let what = CL_KERNEL_ARG_NAME;
    fails!(CL_INVALID_ARG_INDEX: clGetKernelArgInfo(told_of, 1, what, 0, none, null_mut()));
    fails!(CL_KERNEL_ARG_INFO_NOT_AVAILABLE: clGetKernelArgInfo(k, 0, what, 0, none, null_mut()));
    let what = CL_KERNEL_WORK_GROUP_SIZE;
    asks!(clGetKernelWorkGroupInfo(k, device), what);
    let built_in = CL_KERNEL_GLOBAL_WORK_SIZE;
    fails!(CL_INVALID_VALUE: clGetKernelWorkGroupInfo(k, device, built_in, 0, none, null_mut()));
    let junk = w.setup.queue;
    fails!(CL_INVALID_DEVICE: clGetKernelWorkGroupInfo(k, junk, what, 0, none, null_mut()));
    sub_groups(&w);
    told("Kernels");
}

fn sub_groups(w: &World) {
    let (k, device, none) = (w.kernel, w.setup.device, null_mut::<c_void>());
    let (most, count) = (CL_KERNEL_MAX_NUM_SUB_GROUPS, CL_KERNEL_SUB_GROUP_COUNT_FOR_NDRANGE);
    let (size, local) =
        (CL_KERNEL_MAX_SUB_GROUP_SIZE_FOR_NDRANGE, CL_KERNEL_LOCAL_SIZE_FOR_SUB_GROUP_COUNT);
    let (one, junk, end) = (1usize, w.setup.queue, null_mut());
    let input = std::ptr::from_ref(&one).cast::<c_void>();
    let mut small = 0u8;
    let to = std::ptr::from_mut(&mut small).cast::<c_void>();
    fails!(CL_INVALID_DEVICE:
        clGetKernelSubGroupInfo(k, junk, most, 0, none, 0, none, end),
        clGetKernelSubGroupInfoKHR(k, junk, most, 0, none, 0, none, end));
    fails!(CL_INVALID_VALUE:
        clGetKernelSubGroupInfo(k, device, 0xdead, 0, none, 0, none, end),
        clGetKernelSubGroupInfo(k, device, most, 0, none, 1, to, end),
        clGetKernelSubGroupInfo(k, device, count, 8, none, 0, none, end),
        clGetKernelSubGroupInfo(k, device, count, 7, input, 0, none, end),
        clGetKernelSubGroupInfo(k, device, size, 0, input, 0, none, end),
        clGetKernelSubGroupInfo(k, device, local, 4, input, 0, none, end),
        clGetKernelSubGroupInfo(k, device, local, 8, none, 0, none, end),
        clGetKernelSubGroupInfoKHR(k, device, 0xdead, 0, none, 0, none, end),
        clGetKernelSubGroupInfoKHR(k, device, count, 7, input, 0, none, end));
}

#[test]
fn arguments() {
    let w = World::new();
    let k = w.setup.kernel(ARGUMENTS, "", "f");
    let handle = size_of::<cl_mem>();
    let at = |value: &cl_mem| std::ptr::from_ref(value).cast::<c_void>();
    let (n, none, queue, seven) = (null::<c_void>(), null_mut::<c_void>(), w.setup.queue, 7i32);
    let number = std::ptr::from_ref(&seven).cast::<c_void>();
    for junk in [none, queue] {
        fails!(CL_INVALID_KERNEL:
            clSetKernelArg(junk, 0, handle, at(&w.buffer)), clSetKernelArgSVMPointer(junk, 0, w.svm),
            clSetKernelExecInfo(junk, CL_KERNEL_EXEC_INFO_SVM_PTRS, 8, at(&w.svm)));
    }
    fails!(CL_INVALID_ARG_INDEX:
        clSetKernelArg(k, 6, 4, number), clSetKernelArgSVMPointer(k, 6, w.svm));
    let far = World::new();
    fails!(CL_INVALID_CONTEXT:
        clSetKernelArg(k, 0, handle, at(&far.buffer)), clSetKernelArg(k, 1, handle, at(&far.image)),
        clSetKernelArg(k, 3, handle, at(&far.sampler)));
    fails!(CL_INVALID_MEM_OBJECT:
        clSetKernelArg(k, 0, handle, at(&queue)), clSetKernelArg(k, 0, handle, at(&w.image)),
        clSetKernelArg(k, 1, handle, n), clSetKernelArg(k, 1, handle, at(&none)),
        clSetKernelArg(k, 1, handle, at(&w.buffer)), clSetKernelArg(k, 2, handle, at(&queue)));
    let line = shape(CL_MEM_OBJECT_IMAGE1D, [4, 0, 0, 0]);
    let line = makes!(clCreateImage(w.setup.context, 0, &FLOATS, &line, none));
    fails!(CL_INVALID_MEM_OBJECT: clSetKernelArg(k, 1, handle, at(&line)));
    fails!(CL_INVALID_SAMPLER:
        clSetKernelArg(k, 3, handle, at(&w.buffer)), clSetKernelArg(k, 3, handle, n),
        clSetKernelArg(k, 3, handle, at(&none)));
    fails!(CL_INVALID_ARG_SIZE:
        clSetKernelArg(k, 0, 4, at(&w.buffer)), clSetKernelArg(k, 1, 4, at(&w.image)),
        clSetKernelArg(k, 3, 4, at(&w.sampler)), clSetKernelArg(k, 4, 0, n),
        clSetKernelArg(k, 5, 2, number), clSetKernelArg(k, 5, 8, at(&w.buffer)));
    let (reads, writes) = (w.image_with(CL_MEM_READ_ONLY), w.image_with(CL_MEM_WRITE_ONLY));
    fails!(CL_INVALID_ARG_VALUE:
        clSetKernelArg(k, 1, handle, at(&writes)), clSetKernelArg(k, 2, handle, at(&reads)),
        clSetKernelArg(k, 4, 4, number), clSetKernelArg(k, 5, 4, n),
        clSetKernelArgSVMPointer(k, 0, number), clSetKernelArgSVMPointer(k, 4, w.svm));
    let (pointers, system) =
        (CL_KERNEL_EXEC_INFO_SVM_PTRS, CL_KERNEL_EXEC_INFO_SVM_FINE_GRAIN_SYSTEM);
    let yes = std::ptr::from_ref(&CL_TRUE).cast::<c_void>();
    fails!(CL_INVALID_VALUE:
        clSetKernelExecInfo(k, 0xdead, 8, at(&w.svm)), clSetKernelExecInfo(k, pointers, 8, n),
        clSetKernelExecInfo(k, pointers, 7, at(&w.svm)), clSetKernelExecInfo(k, system, 3, yes),
        clSetKernelExecInfo(k, system, 4, n));
    fails!(CL_INVALID_OPERATION: clSetKernelExecInfo(k, system, 4, yes));
    // An empty list of pointers is one.
    assert_eq!(cl!(clSetKernelExecInfo(k, pointers, 0, n)), 0);
    told("Arguments of kernels");
}

/// What `clEnqueueNDRangeKernel` and `clGetKernelSuggestedLocalWorkSizeKHR` have in common.
macro_rules! both {
    ($code:ident, $w:expr, $k:expr, $d:expr, $at:expr, $global:expr) => {{
        let (q, mut out) = ($w.setup.queue, [0usize; 3]);
        let (l, e) = (null::<cl_event>(), null_mut::<cl_event>());
        fails!($code:
            clEnqueueNDRangeKernel(q, $k, $d, $at, $global, null(), 0, l, e),
            clGetKernelSuggestedLocalWorkSizeKHR(q, $k, $d, $at, $global, out.as_mut_ptr()));
    }};
}

#[test]
fn ranges() {
    let w = World::new();
    let (q, k, one) = (w.setup.queue, w.kernel, [64usize; 3]);
    let (l, e, n) = (null::<cl_event>(), null_mut::<cl_event>(), null::<usize>());
    let (global, mut out) = (one.as_ptr(), [0usize; 3]);
    for junk in [null_mut(), w.setup.context] {
        both!(CL_INVALID_KERNEL, w, junk, 1, n, global);
        fails!(CL_INVALID_KERNEL: clEnqueueTask(q, junk, 0, l, e));
        fails!(CL_INVALID_COMMAND_QUEUE:
            clGetKernelSuggestedLocalWorkSizeKHR(junk, k, 1, n, global, out.as_mut_ptr()));
    }
    let far = w.other.queue;
    fails!(CL_INVALID_CONTEXT:
        clGetKernelSuggestedLocalWorkSizeKHR(far, k, 1, n, global, out.as_mut_ptr()));
    let unset = makes!(clCreateKernel(w.program, c"f".as_ptr()));
    both!(CL_INVALID_KERNEL_ARGS, w, unset, 1, n, global);
    fails!(CL_INVALID_KERNEL_ARGS: clEnqueueTask(q, unset, 0, l, e));
    both!(CL_INVALID_WORK_DIMENSION, w, k, 0, n, global);
    both!(CL_INVALID_WORK_DIMENSION, w, k, 4, n, global);
    both!(CL_INVALID_GLOBAL_OFFSET, w, k, 1, &usize::MAX, global);
    // An empty range does nothing, and has no work-group to suggest.
    fails!(CL_INVALID_GLOBAL_WORK_SIZE:
        clGetKernelSuggestedLocalWorkSizeKHR(q, k, 1, n, n, out.as_mut_ptr()),
        clGetKernelSuggestedLocalWorkSizeKHR(q, k, 1, n, &0, out.as_mut_ptr()));
    fails!(CL_INVALID_VALUE:
        clGetKernelSuggestedLocalWorkSizeKHR(q, k, 1, n, global, null_mut()));
    assert_eq!(cl!(clEnqueueNDRangeKernel(q, k, 1, n, n, n, 0, l, e)), 0);
    // More work-groups than can be counted.
    fails!(CL_INVALID_GLOBAL_WORK_SIZE:
        clEnqueueNDRangeKernel(q, k, 1, n, &(1 << 40), &1, 0, l, e));
    let source =
        "kernel __attribute__((reqd_work_group_size(8, 1, 1))) void f(global int *o) { *o = 1; }";
    let fixed = w.setup.kernel(source, "", "f");
    assert_eq!(set(fixed, 0, &w.buffer), 0);
    fails!(CL_INVALID_WORK_GROUP_SIZE:
        clEnqueueTask(q, fixed, 0, l, e),
        clEnqueueNDRangeKernel(q, fixed, 1, n, global, &16, 0, l, e),
        clEnqueueNDRangeKernel(q, fixed, 1, n, &63, n, 0, l, e),
        clEnqueueNDRangeKernel(q, k, 1, n, global, &0, 0, l, e),
        clEnqueueNDRangeKernel(q, k, 1, n, global, &48, 0, l, e),
        clEnqueueNDRangeKernel(q, k, 1, n, &2048, &2048, 0, l, e),
        clEnqueueNDRangeKernel(q, k, 3, n, global, [64usize, 64, 1].as_ptr(), 0, l, e));
    fails!(CL_INVALID_WORK_ITEM_SIZE:
        clEnqueueNDRangeKernel(q, k, 3, n, [1usize, 1, 128].as_ptr(), [1usize, 1, 128].as_ptr(), 0, l, e));
    native_kernels(&w);
    told("Ranges, tasks and native kernels");
}

unsafe extern "C" fn nothing(_: *mut c_void) {}

fn native_kernels(w: &World) {
    let (q, none, call) =
        (w.setup.queue, null_mut::<c_void>(), Some(nothing as unsafe extern "C" fn(_)));
    let (l, e) = (null::<cl_event>(), null_mut::<cl_event>());
    let mut block = [0usize; 2];
    let args = block.as_mut_ptr().cast::<c_void>();
    let (mem, mut place) = (&raw const w.buffer, args.cast_const());
    let (no_mem, no_place) = (null(), null_mut());
    let place = &raw mut place;
    fails!(CL_INVALID_VALUE:
        clEnqueueNativeKernel(q, None, none, 0, 0, no_mem, no_place, 0, l, e),
        clEnqueueNativeKernel(q, call, none, 8, 0, no_mem, no_place, 0, l, e),
        clEnqueueNativeKernel(q, call, none, 0, 1, mem, place, 0, l, e),
        clEnqueueNativeKernel(q, call, args, 0, 0, no_mem, no_place, 0, l, e),
        clEnqueueNativeKernel(q, call, args, 16, 1, no_mem, place, 0, l, e),
        clEnqueueNativeKernel(q, call, args, 16, 1, mem, no_place, 0, l, e),
        clEnqueueNativeKernel(q, call, args, 16, 0, mem, no_place, 0, l, e),
        clEnqueueNativeKernel(q, call, args, 16, 0, no_mem, place, 0, l, e));
    for junk in [w.image, q] {
        fails!(CL_INVALID_MEM_OBJECT:
            clEnqueueNativeKernel(q, call, args, 16, 1, &junk, place, 0, l, e));
    }
}
