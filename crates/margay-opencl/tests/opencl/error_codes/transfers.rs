// SPDX-License-Identifier: MIT OR Apache-2.0
//! Commands that read, write, copy, fill, map and migrate: their objects, regions and values.

use std::ffi::c_void;
use std::ptr::{null, null_mut};

use super::{FLOATS, O, R, World, fails, makes, refuses, shape, told};
use crate::cl;
use crate::common::*;

#[test]
fn buffers() {
    let mut w = World::new();
    let (q, b, b2, host) = (w.setup.queue, w.buffer, w.second, w.host());
    let (l, e, from) = (null::<cl_event>(), null_mut::<cl_event>(), host.cast_const());
    let none = null_mut::<c_void>();
    // Neither is null a buffer, nor are a queue and an image.
    let (o, r) = (O.as_ptr(), R.as_ptr());
    for junk in [null_mut(), q, w.image] {
        fails!(CL_INVALID_MEM_OBJECT:
            clEnqueueReadBuffer(q, junk, 1, 0, 4, host, 0, l, e),
            clEnqueueWriteBuffer(q, junk, 1, 0, 4, from, 0, l, e),
            clEnqueueReadBufferRect(q, junk, 1, o, o, r, 0, 0, 0, 0, host, 0, l, e),
            clEnqueueWriteBufferRect(q, junk, 1, o, o, r, 0, 0, 0, 0, from, 0, l, e),
            clEnqueueCopyBuffer(q, junk, b2, 0, 0, 4, 0, l, e),
            clEnqueueCopyBuffer(q, b, junk, 0, 0, 4, 0, l, e),
            clEnqueueCopyBufferRect(q, junk, b2, o, o, r, 0, 0, 0, 0, 0, l, e),
            clEnqueueCopyBufferRect(q, b, junk, o, o, r, 0, 0, 0, 0, 0, l, e),
            clEnqueueFillBuffer(q, junk, from, 4, 0, 4, 0, l, e));
        refuses!(CL_INVALID_MEM_OBJECT: clEnqueueMapBuffer(q, junk, 1, CL_MAP_READ, 0, 4, 0, l, e));
    }
    for (at, size) in [(253, 4), (0, 257), (usize::MAX, 2)] {
        fails!(CL_INVALID_VALUE:
            clEnqueueReadBuffer(q, b, 1, at, size, host, 0, l, e),
            clEnqueueWriteBuffer(q, b, 1, at, size, from, 0, l, e),
            clEnqueueCopyBuffer(q, b, b2, at, 0, size, 0, l, e),
            clEnqueueCopyBuffer(q, b, b2, 0, at, size, 0, l, e),
            clEnqueueFillBuffer(q, b, from, 1, at, size, 0, l, e));
        refuses!(CL_INVALID_VALUE: clEnqueueMapBuffer(q, b, 1, CL_MAP_READ, at, size, 0, l, e));
    }
    fails!(CL_INVALID_VALUE:
        clEnqueueReadBuffer(q, b, 1, 0, 4, none, 0, l, e),
        clEnqueueWriteBuffer(q, b, 1, 0, 4, null(), 0, l, e),
        clEnqueueFillBuffer(q, b, null(), 4, 0, 4, 0, l, e));
    for (pattern, at, size) in
        [(0, 0, 4), (3, 0, 3), (256, 0, 256), (usize::MAX, 0, 4), (4, 2, 4), (4, 0, 6)]
    {
        fails!(CL_INVALID_VALUE: clEnqueueFillBuffer(q, b, from, pattern, at, size, 0, l, e));
    }
    let both = CL_MAP_READ | CL_MAP_WRITE_INVALIDATE_REGION;
    refuses!(CL_INVALID_VALUE:
        clEnqueueMapBuffer(q, b, 1, CL_MAP_READ, 0, 0, 0, l, e),
        clEnqueueMapBuffer(q, b, 1, both, 0, 4, 0, l, e),
        clEnqueueMapBuffer(q, b, 1, 1 << 40, 0, 4, 0, l, e));
    fails!(CL_MEM_COPY_OVERLAP: clEnqueueCopyBuffer(q, b, b, 0, 4, 8, 0, l, e));
    overlapping_parts(&w);
    // What the host may not do.
    let (no_read, no_write) = (w.with(CL_MEM_HOST_WRITE_ONLY), w.with(CL_MEM_HOST_READ_ONLY));
    let nothing = w.with(CL_MEM_HOST_NO_ACCESS);
    for b in [no_read, nothing] {
        fails!(CL_INVALID_OPERATION:
            clEnqueueReadBuffer(q, b, 1, 0, 4, host, 0, l, e),
            clEnqueueReadBufferRect(q, b, 1, o, o, r, 0, 0, 0, 0, host, 0, l, e));
        refuses!(CL_INVALID_OPERATION: clEnqueueMapBuffer(q, b, 1, CL_MAP_READ, 0, 4, 0, l, e));
    }
    for b in [no_write, nothing] {
        fails!(CL_INVALID_OPERATION:
            clEnqueueWriteBuffer(q, b, 1, 0, 4, from, 0, l, e),
            clEnqueueWriteBufferRect(q, b, 1, o, o, r, 0, 0, 0, 0, from, 0, l, e));
        refuses!(CL_INVALID_OPERATION:
            clEnqueueMapBuffer(q, b, 1, CL_MAP_WRITE, 0, 4, 0, l, e),
            clEnqueueMapBuffer(q, b, 1, CL_MAP_WRITE_INVALIDATE_REGION, 0, 4, 0, l, e));
    }
    // What is mapped for writing is mapped for that once.
    let map = makes!(clEnqueueMapBuffer(q, b, 1, CL_MAP_WRITE, 8, 8, 0, l, e));
    refuses!(CL_INVALID_OPERATION: clEnqueueMapBuffer(q, b, 1, CL_MAP_WRITE, 12, 8, 0, l, e));
    for (flags, at) in [(CL_MAP_WRITE, 0), (CL_MAP_WRITE, 16), (CL_MAP_READ, 12)] {
        makes!(clEnqueueMapBuffer(q, b, 1, flags, at, 8, 0, l, e));
    }
    assert_eq!(cl!(clEnqueueUnmapMemObject(q, b, map, 0, l, e)), 0);
    makes!(clEnqueueMapBuffer(q, b, 1, CL_MAP_WRITE, 8, 8, 0, l, e));
    mapped_parts(&w);
    rectangles(&mut w);
    told("Transfers of buffers");
}

/// Two parts of one buffer that share bytes.
fn overlapping_parts(w: &World) {
    let (q, l, e) = (w.setup.queue, null(), null_mut());
    let whole = w.setup.buffer(&[0u8; 1024]);
    let part = |origin, size| {
        let region = cl_buffer_region { origin, size };
        let region = std::ptr::from_ref(&region).cast::<c_void>();
        makes!(clCreateSubBuffer(whole, 0, CL_BUFFER_CREATE_TYPE_REGION, region))
    };
    let (a, b, o, r) = (part(0, 512), part(256, 512), O.as_ptr(), R.as_ptr());
    fails!(CL_MEM_COPY_OVERLAP:
        clEnqueueCopyBuffer(q, a, b, 256, 4, 8, 0, l, e),
        clEnqueueCopyBufferRect(q, a, b, [256, 0, 0].as_ptr(), o, r, 16, 0, 16, 0, 0, l, e));
}

/// Parts of a buffer, and images over it, share what is mapped for writing.
fn mapped_parts(w: &World) {
    let (q, l, e, write) = (w.setup.queue, null(), null_mut(), CL_MAP_WRITE);
    let whole = w.setup.buffer(&[0u8; 1024]);
    let region = cl_buffer_region { origin: 256, size: 256 };
    let region = std::ptr::from_ref(&region).cast::<c_void>();
    let part = makes!(clCreateSubBuffer(whole, 0, CL_BUFFER_CREATE_TYPE_REGION, region));
    let map = makes!(clEnqueueMapBuffer(q, part, 1, write, 0, 256, 0, l, e));
    refuses!(CL_INVALID_OPERATION: clEnqueueMapBuffer(q, whole, 1, write, 500, 100, 0, l, e));
    let other = makes!(clEnqueueMapBuffer(q, whole, 1, write, 512, 100, 0, l, e));
    // Rows of the image are 128 bytes apart: the part begins with the third.
    let desc = cl_image_desc {
        buffer: whole,
        image_row_pitch: 128,
        ..shape(CL_MEM_OBJECT_IMAGE2D, [4, 4, 0, 0])
    };
    let image = makes!(clCreateImage(w.setup.context, 0, &FLOATS, &desc, null_mut()));
    let (two, three, mut pitch) = ([4, 2, 1], [4, 3, 1], 0);
    let (o, slice) = (O.as_ptr(), null_mut());
    refuses!(CL_INVALID_OPERATION:
        clEnqueueMapImage(q, image, 1, write, o, three.as_ptr(), &mut pitch, slice, 0, l, e));
    makes!(clEnqueueMapImage(q, image, 1, write, o, two.as_ptr(), &mut pitch, slice, 0, l, e));
    // Between the image's rows.
    makes!(clEnqueueMapBuffer(q, whole, 1, write, 64, 64, 0, l, e));
    refuses!(CL_INVALID_OPERATION: clEnqueueMapBuffer(q, whole, 1, write, 64, 65, 0, l, e));
    assert_eq!(cl!(clEnqueueUnmapMemObject(q, part, map, 0, l, e)), 0);
    assert_eq!(cl!(clEnqueueUnmapMemObject(q, whole, other, 0, l, e)), 0);
    makes!(clEnqueueMapBuffer(q, whole, 1, write, 256, 512, 0, l, e));
}

fn rectangles(w: &mut World) {
    let (q, b, b2, host) = (w.setup.queue, w.buffer, w.second, w.host());
    let (l, e, from, n) = (null::<cl_event>(), null_mut::<cl_event>(), host.cast_const(), null());
    let (o, r) = (O.as_ptr(), R.as_ptr());
    fails!(CL_INVALID_VALUE:
        clEnqueueReadBufferRect(q, b, 1, n, o, r, 0, 0, 0, 0, host, 0, l, e),
        clEnqueueReadBufferRect(q, b, 1, o, n, r, 0, 0, 0, 0, host, 0, l, e),
        clEnqueueReadBufferRect(q, b, 1, o, o, n, 0, 0, 0, 0, host, 0, l, e),
        clEnqueueReadBufferRect(q, b, 1, o, o, r, 0, 0, 0, 0, null_mut(), 0, l, e),
        clEnqueueWriteBufferRect(q, b, 1, n, o, r, 0, 0, 0, 0, from, 0, l, e),
        clEnqueueWriteBufferRect(q, b, 1, o, n, r, 0, 0, 0, 0, from, 0, l, e),
        clEnqueueWriteBufferRect(q, b, 1, o, o, n, 0, 0, 0, 0, from, 0, l, e),
        clEnqueueWriteBufferRect(q, b, 1, o, o, r, 0, 0, 0, 0, null(), 0, l, e),
        clEnqueueCopyBufferRect(q, b, b2, n, o, r, 0, 0, 0, 0, 0, l, e),
        clEnqueueCopyBufferRect(q, b, b2, o, n, r, 0, 0, 0, 0, 0, l, e),
        clEnqueueCopyBufferRect(q, b, b2, o, o, n, 0, 0, 0, 0, 0, l, e),
        // One buffer, and another pitch at its other side.
        clEnqueueCopyBufferRect(q, b, b, o, [64, 0, 0].as_ptr(), r, 8, 0, 16, 0, 0, l, e),
        clEnqueueCopyBufferRect(q, b, b, o, [64, 0, 0].as_ptr(), r, 8, 16, 8, 32, 0, l, e));
    // Regions without bytes or beyond the end; pitches too short, or that do not divide.
    let region = [4, 2, 2];
    let cases = [
        ([0, 1, 1], [0; 3], 0, 0),
        ([4, 0, 1], [0; 3], 0, 0),
        ([4, 1, 0], [0; 3], 0, 0),
        ([4, 1, 1], [253, 0, 0], 0, 0),
        ([4, 2, 1], [0; 3], 253, 0),
        (region, [0; 3], 3, 0),
        (region, [0; 3], 4, 7),
        (region, [0; 3], 4, 10),
    ];
    for (region, origin, row, slice) in &cases {
        let (r, at, row, slice) = (region.as_ptr(), origin.as_ptr(), *row, *slice);
        fails!(CL_INVALID_VALUE:
            clEnqueueReadBufferRect(q, b, 1, at, o, r, row, slice, 0, 0, host, 0, l, e),
            clEnqueueWriteBufferRect(q, b, 1, at, o, r, row, slice, 0, 0, from, 0, l, e),
            clEnqueueCopyBufferRect(q, b, b2, at, o, r, row, slice, 0, 0, 0, l, e),
            clEnqueueCopyBufferRect(q, b, b2, o, at, r, 0, 0, row, slice, 0, l, e));
    }
    for (row, slice) in [(3, 0), (4, 7), (4, 10)] {
        let r = region.as_ptr();
        fails!(CL_INVALID_VALUE:
            clEnqueueReadBufferRect(q, b, 1, o, o, r, 0, 0, row, slice, host, 0, l, e),
            clEnqueueWriteBufferRect(q, b, 1, o, o, r, 0, 0, row, slice, from, 0, l, e));
    }
    fails!(CL_MEM_COPY_OVERLAP:
        clEnqueueCopyBufferRect(q, b, b, o, [2, 0, 0].as_ptr(), r, 16, 0, 16, 0, 0, l, e));
}

#[test]
fn images() {
    let mut w = World::new();
    let (q, b, i, i2, host) = (w.setup.queue, w.buffer, w.image, w.image2, w.host());
    let (l, e, from) = (null::<cl_event>(), null_mut::<cl_event>(), host.cast_const());
    let (o, r, read) = (O.as_ptr(), R.as_ptr(), CL_MAP_READ);
    let (mut row, slice) = (0usize, null_mut::<usize>());
    // A buffer is no image.
    for junk in [null_mut(), q, b] {
        fails!(CL_INVALID_MEM_OBJECT:
            clEnqueueReadImage(q, junk, 1, o, r, 0, 0, host, 0, l, e),
            clEnqueueWriteImage(q, junk, 1, o, r, 0, 0, from, 0, l, e),
            clEnqueueCopyImage(q, junk, i2, o, o, r, 0, l, e),
            clEnqueueCopyImage(q, i, junk, o, o, r, 0, l, e),
            clEnqueueCopyImageToBuffer(q, junk, b, o, r, 0, 0, l, e),
            clEnqueueCopyBufferToImage(q, b, junk, 0, o, r, 0, l, e),
            clEnqueueFillImage(q, junk, from, o, r, 0, l, e));
        refuses!(CL_INVALID_MEM_OBJECT:
            clEnqueueMapImage(q, junk, 1, read, o, r, &mut row, slice, 0, l, e));
    }
    for junk in [null_mut(), q, i2] {
        fails!(CL_INVALID_MEM_OBJECT:
            clEnqueueCopyImageToBuffer(q, i, junk, o, r, 0, 0, l, e),
            clEnqueueCopyBufferToImage(q, junk, i, 0, o, r, 0, l, e));
    }
    let context = w.setup.context;
    let line = cl_image_desc { buffer: b, ..shape(CL_MEM_OBJECT_IMAGE1D_BUFFER, [16, 0, 0, 0]) };
    let line = makes!(clCreateImage(context, 0, &FLOATS, &line, null_mut()));
    fails!(CL_INVALID_MEM_OBJECT:
        clEnqueueCopyImageToBuffer(q, line, b, o, r, 0, 0, l, e),
        clEnqueueCopyBufferToImage(q, b, line, 0, o, r, 0, l, e));
    let n = null();
    fails!(CL_INVALID_VALUE:
        clEnqueueReadImage(q, i, 1, o, r, 0, 0, null_mut(), 0, l, e),
        clEnqueueWriteImage(q, i, 1, o, r, 0, 0, null(), 0, l, e),
        clEnqueueReadImage(q, i, 1, o, r, 0, 64, host, 0, l, e),
        clEnqueueWriteImage(q, i, 1, o, r, 0, 64, from, 0, l, e),
        clEnqueueReadImage(q, i, 1, o, r, 60, 0, host, 0, l, e),
        clEnqueueWriteImage(q, i, 1, o, r, 60, 0, from, 0, l, e),
        clEnqueueFillImage(q, i, null(), o, r, 0, l, e),
        clEnqueueCopyImageToBuffer(q, i, b, o, r, 200, 0, l, e),
        clEnqueueCopyBufferToImage(q, b, i, 200, o, r, 0, l, e));
    // Without an origin or a region; beyond the edge; empty; with more dimensions than the image has.
    let (x, z, empty, deep) = ([1, 0, 0], [0, 0, 1], [0, 1, 1], [4, 1, 2]);
    for (at, size) in
        [(n, r), (o, n), (x.as_ptr(), r), (z.as_ptr(), r), (o, empty.as_ptr()), (o, deep.as_ptr())]
    {
        fails!(CL_INVALID_VALUE:
            clEnqueueReadImage(q, i, 1, at, size, 0, 0, host, 0, l, e),
            clEnqueueWriteImage(q, i, 1, at, size, 0, 0, from, 0, l, e),
            clEnqueueCopyImage(q, i, i2, at, o, size, 0, l, e),
            clEnqueueCopyImage(q, i, i2, o, at, size, 0, l, e),
            clEnqueueCopyImageToBuffer(q, i, b, at, size, 0, 0, l, e),
            clEnqueueCopyBufferToImage(q, b, i, 0, at, size, 0, l, e),
            clEnqueueFillImage(q, i, from, at, size, 0, l, e));
        refuses!(CL_INVALID_VALUE:
            clEnqueueMapImage(q, i, 1, read, at, size, &mut row, slice, 0, l, e));
    }
    let both = CL_MAP_READ | CL_MAP_WRITE_INVALIDATE_REGION;
    let cube = shape(CL_MEM_OBJECT_IMAGE3D, [4, 4, 4, 0]);
    let cube = makes!(clCreateImage(context, 0, &FLOATS, &cube, null_mut()));
    refuses!(CL_INVALID_VALUE:
        clEnqueueMapImage(q, i, 1, both, o, r, &mut row, slice, 0, l, e),
        clEnqueueMapImage(q, i, 1, read, o, r, null_mut(), slice, 0, l, e),
        clEnqueueMapImage(q, cube, 1, read, o, r, &mut row, slice, 0, l, e));
    let words = cl_image_format { image_channel_order: CL_R, image_channel_data_type: CL_FLOAT };
    let plane = shape(CL_MEM_OBJECT_IMAGE2D, [4, 4, 0, 0]);
    let other = makes!(clCreateImage(context, 0, &words, &plane, null_mut()));
    fails!(CL_IMAGE_FORMAT_MISMATCH: clEnqueueCopyImage(q, i, other, o, o, r, 0, l, e));
    fails!(CL_MEM_COPY_OVERLAP: clEnqueueCopyImage(q, i, i, o, o, r, 0, l, e));
    let (no_read, no_write) =
        (w.image_with(CL_MEM_HOST_WRITE_ONLY), w.image_with(CL_MEM_HOST_READ_ONLY));
    let nothing = w.image_with(CL_MEM_HOST_NO_ACCESS);
    for i in [no_read, nothing] {
        fails!(CL_INVALID_OPERATION: clEnqueueReadImage(q, i, 1, o, r, 0, 0, host, 0, l, e));
        refuses!(CL_INVALID_OPERATION:
            clEnqueueMapImage(q, i, 1, read, o, r, &mut row, slice, 0, l, e));
    }
    let write = CL_MAP_WRITE;
    for i in [no_write, nothing] {
        fails!(CL_INVALID_OPERATION: clEnqueueWriteImage(q, i, 1, o, r, 0, 0, from, 0, l, e));
        refuses!(CL_INVALID_OPERATION:
            clEnqueueMapImage(q, i, 1, write, o, r, &mut row, slice, 0, l, e));
    }
    let (second, square) = ([0, 1, 0], [2, 2, 1]);
    makes!(clEnqueueMapImage(q, i, 1, write, o, square.as_ptr(), &mut row, slice, 0, l, e));
    refuses!(CL_INVALID_OPERATION:
        clEnqueueMapImage(q, i, 1, write, second.as_ptr(), r, &mut row, slice, 0, l, e));
    // Beside it there is room.
    let beside = [2, 0, 0];
    makes!(clEnqueueMapImage(
        q,
        i,
        1,
        write,
        beside.as_ptr(),
        square.as_ptr(),
        &mut row,
        slice,
        0,
        l,
        e
    ));
    told("Transfers of images");
}

#[test]
fn objects_and_shared_memory() {
    let mut w = World::new();
    let (q, b, host) = (w.setup.queue, w.buffer, w.host().cast_const());
    let (l, e, none) = (null::<cl_event>(), null_mut::<cl_event>(), null_mut::<c_void>());
    let (s, s2) = (w.svm, w.svm2);
    for junk in [none, q] {
        fails!(CL_INVALID_MEM_OBJECT:
            clEnqueueUnmapMemObject(q, junk, none, 0, l, e),
            clEnqueueMigrateMemObjects(q, 2, [b, junk].as_ptr(), 0, 0, l, e));
    }
    fails!(CL_INVALID_VALUE:
        clEnqueueUnmapMemObject(q, b, host.cast_mut(), 0, l, e),
        clEnqueueMigrateMemObjects(q, 0, &b, 0, 0, l, e),
        clEnqueueMigrateMemObjects(q, 1, null(), 0, 0, l, e),
        clEnqueueMigrateMemObjects(q, 1, &b, 1 << 40, 0, l, e));
    let (mut list, mut const_list, mut outside) = (s, s.cast_const(), host);
    fails!(CL_INVALID_VALUE:
        clEnqueueSVMFree(q, 0, &mut list, None, none, 0, l, e),
        clEnqueueSVMFree(q, 1, null_mut(), None, none, 0, l, e),
        clEnqueueSVMMemcpy(q, 1, none, s.cast_const(), 4, 0, l, e),
        clEnqueueSVMMemcpy(q, 1, s, null(), 4, 0, l, e),
        clEnqueueSVMMemFill(q, none, host, 4, 4, 0, l, e),
        clEnqueueSVMMemFill(q, s, null(), 4, 4, 0, l, e),
        clEnqueueSVMMemFill(q, s.wrapping_byte_add(2), host, 4, 4, 0, l, e),
        clEnqueueSVMMap(q, 1, CL_MAP_READ, none, 4, 0, l, e),
        clEnqueueSVMMap(q, 1, CL_MAP_READ, s, 0, 0, l, e),
        clEnqueueSVMMap(q, 1, 1 << 40, s, 4, 0, l, e),
        clEnqueueSVMUnmap(q, none, 0, l, e),
        clEnqueueSVMMigrateMem(q, 0, &mut const_list, null(), 0, 0, l, e),
        clEnqueueSVMMigrateMem(q, 1, null_mut(), null(), 0, 0, l, e),
        clEnqueueSVMMigrateMem(q, 1, &mut const_list, null(), 1 << 40, 0, l, e),
        clEnqueueSVMMigrateMem(q, 1, &mut const_list, &257, 0, 0, l, e),
        clEnqueueSVMMigrateMem(q, 1, &mut outside, &4, 0, 0, l, e));
    for (pattern, size) in [(0, 4), (3, 3), (256, 256), (usize::MAX, 4), (4, 6)] {
        fails!(CL_INVALID_VALUE: clEnqueueSVMMemFill(q, s, host, pattern, size, 0, l, e));
    }
    fails!(CL_MEM_COPY_OVERLAP:
        clEnqueueSVMMemcpy(q, 1, s, s.wrapping_byte_add(4).cast_const(), 8, 0, l, e));
    // Nothing to free is no error, and neither is null among pointers.
    assert_eq!(cl!(clEnqueueSVMFree(q, 0, null_mut(), None, none, 0, l, e)), 0);
    assert_eq!(cl!(clEnqueueSVMFree(q, 1, [none].as_mut_ptr(), None, none, 0, l, e)), 0);
    assert_eq!(cl!(clEnqueueSVMMemcpy(q, 1, s, s2.cast_const(), 8, 0, l, e)), 0);
    assert_eq!(cl!(clFinish(q)), 0);
    told("Commands on objects and shared memory");
}
