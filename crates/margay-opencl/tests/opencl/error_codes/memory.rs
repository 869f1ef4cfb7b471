// SPDX-License-Identifier: MIT OR Apache-2.0
//! Buffers, memory objects of any kind, pipes and samplers.

use std::ffi::c_void;
use std::ptr::{null, null_mut};

use super::{World, asks, fails, refuses, told};
use crate::cl;
use crate::common::*;

#[test]
fn buffers() {
    let mut w = World::new();
    let (context, none, host) = (w.setup.context, null_mut::<c_void>(), w.host());
    for junk in [none, w.setup.queue] {
        refuses!(CL_INVALID_CONTEXT:
            clCreateBuffer(junk, 0, 4, none),
            clCreateBufferWithProperties(junk, null(), 0, 4, none));
        refuses!(CL_INVALID_MEM_OBJECT: clCreateSubBuffer(junk, 0, CL_BUFFER_CREATE_TYPE_REGION, none));
    }
    let property = [0x7777u64, 1, 0];
    refuses!(CL_INVALID_PROPERTY:
        clCreateBufferWithProperties(context, property.as_ptr(), 0, 4, none));
    for flags in [
        CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY,
        CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_NO_ACCESS,
        CL_MEM_USE_HOST_PTR | CL_MEM_ALLOC_HOST_PTR,
        1 << 40,
    ] {
        refuses!(CL_INVALID_VALUE:
            clCreateBuffer(context, flags, 4, none),
            clCreateBufferWithProperties(context, null(), flags, 4, none));
    }
    // No allocation of shared memory is as long as this.
    let svm = w.svm;
    refuses!(CL_INVALID_BUFFER_SIZE:
        clCreateBuffer(context, 0, 0, none), clCreateBuffer(context, 0, usize::MAX, none),
        clCreateBuffer(context, CL_MEM_USE_HOST_PTR, 257, svm),
        clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, 257, svm),
        clCreateBufferWithProperties(context, null(), 0, 0, none),
        clCreateBufferWithProperties(context, null(), CL_MEM_USE_HOST_PTR, 257, svm));
    refuses!(CL_INVALID_HOST_PTR:
        clCreateBuffer(context, 0, 4, host), clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, 4, none),
        clCreateBuffer(context, CL_MEM_USE_HOST_PTR, 4, none),
        clCreateBufferWithProperties(context, null(), 0, 4, host),
        clCreateBufferWithProperties(context, null(), CL_MEM_USE_HOST_PTR, 4, none));
    sub_buffers(&w);
    shared_memory(context);
    told("Buffers");
}

fn sub_buffers(w: &World) {
    let kind = CL_BUFFER_CREATE_TYPE_REGION;
    let whole = cl_buffer_region { origin: 0, size: 256 };
    let region = std::ptr::from_ref(&whole).cast::<c_void>();
    let mut error = 0;
    let part = cl!(clCreateSubBuffer(w.buffer, 0, kind, region, &mut error));
    assert_eq!(error, 0);
    refuses!(CL_INVALID_MEM_OBJECT:
        clCreateSubBuffer(part, 0, kind, region), clCreateSubBuffer(w.image, 0, kind, region));
    let denied = [
        (CL_MEM_WRITE_ONLY, CL_MEM_READ_WRITE),
        (CL_MEM_WRITE_ONLY, CL_MEM_READ_ONLY),
        (CL_MEM_READ_ONLY, CL_MEM_READ_WRITE),
        (CL_MEM_READ_ONLY, CL_MEM_WRITE_ONLY),
        (CL_MEM_HOST_WRITE_ONLY, CL_MEM_HOST_READ_ONLY),
        (CL_MEM_HOST_READ_ONLY, CL_MEM_HOST_WRITE_ONLY),
        (CL_MEM_HOST_NO_ACCESS, CL_MEM_HOST_READ_ONLY),
        (CL_MEM_HOST_NO_ACCESS, CL_MEM_HOST_WRITE_ONLY),
    ];
    for (parent, flags) in denied {
        let parent = w.with(parent);
        refuses!(CL_INVALID_VALUE: clCreateSubBuffer(parent, flags, kind, region));
        cl!(clReleaseMemObject(parent));
    }
    for flags in [CL_MEM_USE_HOST_PTR, CL_MEM_ALLOC_HOST_PTR, CL_MEM_COPY_HOST_PTR] {
        refuses!(CL_INVALID_VALUE: clCreateSubBuffer(w.buffer, flags, kind, region));
    }
    let long = cl_buffer_region { origin: 0, size: 257 };
    let long = std::ptr::from_ref(&long).cast();
    refuses!(CL_INVALID_VALUE:
        clCreateSubBuffer(w.buffer, 0, 0x7777, region), clCreateSubBuffer(w.buffer, 0, kind, null()),
        clCreateSubBuffer(w.buffer, 0, kind, long));
    let empty = cl_buffer_region { origin: 0, size: 0 };
    let empty = std::ptr::from_ref(&empty).cast();
    refuses!(CL_INVALID_BUFFER_SIZE: clCreateSubBuffer(w.buffer, 0, kind, empty));
    let askew = cl_buffer_region { origin: 4, size: 4 };
    let askew = std::ptr::from_ref(&askew).cast();
    refuses!(CL_MISALIGNED_SUB_BUFFER_OFFSET: clCreateSubBuffer(w.buffer, 0, kind, askew));
}

/// `clSVMAlloc` has no place for a code.
fn shared_memory(context: cl_context) {
    let alloc =
        |context, flags, size, align| cl!(clSVMAlloc(context, flags, size, align)).is_null();
    let both = CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY;
    assert!(
        alloc(null_mut(), 0, 4, 0) && alloc(context, 0, 0, 0) && alloc(context, 0, usize::MAX, 0)
    );
    assert!(alloc(context, CL_MEM_SVM_ATOMICS, 4, 0) && alloc(context, 1 << 40, 4, 0));
    assert!(alloc(context, CL_MEM_SVM_FINE_GRAIN_BUFFER, 4, 0) && alloc(context, both, 4, 0));
    assert!(alloc(context, 0, 4, 3) && alloc(context, 0, 4, 1 << 20));
    let made = cl!(clSVMAlloc(context, 0, 4, 64));
    assert!(!made.is_null());
    cl!(clSVMFree(context, made));
}

#[test]
fn memory_objects_pipes_and_samplers() {
    let w = World::new();
    let (context, none) = (w.setup.context, null_mut::<c_void>());
    for junk in [none, context] {
        fails!(CL_INVALID_MEM_OBJECT:
            clRetainMemObject(junk), clReleaseMemObject(junk),
            clGetMemObjectInfo(junk, CL_MEM_SIZE, 0, none, null_mut()),
            clSetMemObjectDestructorCallback(junk, None, none),
            clGetPipeInfo(junk, CL_PIPE_PACKET_SIZE, 0, none, null_mut()));
        fails!(CL_INVALID_SAMPLER:
            clRetainSampler(junk), clReleaseSampler(junk),
            clGetSamplerInfo(junk, CL_SAMPLER_CONTEXT, 0, none, null_mut()));
    }
    // A buffer is no pipe.
    fails!(CL_INVALID_MEM_OBJECT: clGetPipeInfo(w.buffer, CL_PIPE_PACKET_SIZE, 0, none, null_mut()));
    asks!(clGetMemObjectInfo(w.buffer), CL_MEM_SIZE);
    asks!(clGetSamplerInfo(w.sampler), CL_SAMPLER_CONTEXT);
    fails!(CL_INVALID_VALUE: clSetMemObjectDestructorCallback(w.buffer, None, none));
    let (clamp, nearest) = (CL_ADDRESS_CLAMP, CL_FILTER_NEAREST);
    for junk in [none, w.buffer] {
        refuses!(CL_INVALID_CONTEXT:
            clCreatePipe(junk, 0, 4, 4, null()), clCreateSampler(junk, 0, clamp, nearest),
            clCreateSamplerWithProperties(junk, null()));
    }
    refuses!(CL_INVALID_OPERATION: clCreatePipe(context, CL_MEM_HOST_NO_ACCESS, 4, 4, null()));
    refuses!(CL_INVALID_VALUE:
        clCreateSampler(context, 2, clamp, nearest), clCreateSampler(context, 0, 0x7777, nearest),
        clCreateSampler(context, 0, clamp, 0x7777),
        clCreateSampler(context, 0, CL_ADDRESS_REPEAT, nearest));
    let mode = u64::from(CL_SAMPLER_ADDRESSING_MODE);
    for list in [
        [0x7777, 1, 0, 0, 0],
        [mode, 0x7777, 0, 0, 0],
        [mode, u64::from(clamp), mode, u64::from(clamp), 0],
        [u64::from(CL_SAMPLER_NORMALIZED_COORDS), 2, 0, 0, 0],
        [u64::from(CL_SAMPLER_FILTER_MODE), 1 << 40, 0, 0, 0],
    ] {
        refuses!(CL_INVALID_VALUE: clCreateSamplerWithProperties(context, list.as_ptr()));
    }
    told("Memory objects, pipes and samplers");
}
