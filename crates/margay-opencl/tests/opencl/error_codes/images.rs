// SPDX-License-Identifier: MIT OR Apache-2.0
//! Images' creation and queries.

use std::ffi::c_void;
use std::ptr::{null, null_mut};

use super::{FLOATS, PLANE, World, asks, fails, refuses, shape, told};
use crate::cl;
use crate::common::*;

/// The three functions that take flags, a format, sizes and the host's memory, for a plane of texels.
macro_rules! planes {
    ($code:ident, $context:expr, $flags:expr, $format:expr, $desc:expr, $host:expr) => {{
        let (format, desc): (*const cl_image_format, cl_image_desc) = ($format, $desc);
        let (w, h, d) = (desc.image_width, desc.image_height, 2);
        refuses!($code:
            clCreateImage($context, $flags, format, &desc, $host),
            clCreateImageWithProperties($context, null(), $flags, format, &desc, $host),
            clCreateImage2D($context, $flags, format, w, h, 0, $host),
            clCreateImage3D($context, $flags, format, w, h, d, 0, 0, $host));
    }};
}

fn format(order: cl_channel_order, ty: cl_channel_type) -> cl_image_format {
    cl_image_format { image_channel_order: order, image_channel_data_type: ty }
}

#[test]
fn images() {
    let mut w = World::new();
    let (context, none, host) = (w.setup.context, null_mut::<c_void>(), w.host());
    let plane = shape(PLANE, [4, 4, 0, 0]);
    for junk in [none, w.buffer] {
        planes!(CL_INVALID_CONTEXT, junk, 0, &FLOATS, plane, none);
    }
    let property = [0x7777u64, 1, 0];
    refuses!(CL_INVALID_PROPERTY:
        clCreateImageWithProperties(context, property.as_ptr(), 0, &FLOATS, &plane, none));
    for flags in [CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY, 1 << 40] {
        planes!(CL_INVALID_VALUE, context, flags, &FLOATS, plane, none);
    }
    planes!(CL_INVALID_IMAGE_FORMAT_DESCRIPTOR, context, 0, null(), plane, none);
    for format in [format(7, CL_FLOAT), format(CL_RGBA, 7), format(CL_RGB, CL_FLOAT)] {
        planes!(CL_INVALID_IMAGE_FORMAT_DESCRIPTOR, context, 0, &format, plane, none);
    }
    let other = format(CL_Rx, CL_FLOAT);
    planes!(CL_IMAGE_FORMAT_NOT_SUPPORTED, context, 0, &other, plane, none);
    for sizes in [[0, 4, 0, 0], [4, 0, 0, 0], [1 << 20, 4, 0, 0], [4, 1 << 20, 0, 0]] {
        planes!(CL_INVALID_IMAGE_SIZE, context, 0, &FLOATS, shape(PLANE, sizes), none);
    }
    planes!(CL_INVALID_HOST_PTR, context, 0, &FLOATS, plane, host);
    planes!(CL_INVALID_HOST_PTR, context, CL_MEM_COPY_HOST_PTR, &FLOATS, plane, none);
    planes!(CL_INVALID_HOST_PTR, context, CL_MEM_USE_HOST_PTR, &FLOATS, plane, none);
    // Pitches and depths, which the functions of OpenCL 1.1 name a size.
    let (copies, f) = (CL_MEM_COPY_HOST_PTR, &FLOATS);
    refuses!(CL_INVALID_IMAGE_SIZE:
        clCreateImage2D(context, 0, f, 4, 4, 64, none),
        clCreateImage2D(context, copies, f, 4, 4, 60, host),
        clCreateImage2D(context, copies, f, 4, 4, 72, host),
        clCreateImage3D(context, 0, f, 4, 4, 1, 0, 0, none),
        clCreateImage3D(context, 0, f, 4, 4, 0, 0, 0, none),
        clCreateImage3D(context, 0, f, 4, 4, 1 << 20, 0, 0, none),
        clCreateImage3D(context, 0, f, 4, 4, 2, 64, 0, none),
        clCreateImage3D(context, copies, f, 2, 2, 2, 0, 72, host));
    for (kind, sizes) in [
        (CL_MEM_OBJECT_IMAGE1D, [1 << 20, 0, 0, 0]),
        (CL_MEM_OBJECT_IMAGE1D_ARRAY, [4, 0, 0, 0]),
        (CL_MEM_OBJECT_IMAGE2D_ARRAY, [4, 4, 0, 1 << 20]),
        (CL_MEM_OBJECT_IMAGE3D, [4, 4, 0, 0]),
    ] {
        let desc = shape(kind, sizes);
        refuses!(CL_INVALID_IMAGE_SIZE: clCreateImage(context, 0, &FLOATS, &desc, none));
    }
    descriptors(context, host);
    over_memory(&w);
    queries(&w);
    told("Images");
}

fn descriptors(context: cl_context, host: *mut c_void) {
    let plane = shape(PLANE, [4, 4, 0, 0]);
    let levels = cl_image_desc { num_mip_levels: 2, ..plane };
    let samples = cl_image_desc { num_samples: 2, ..plane };
    let pitched = cl_image_desc { image_row_pitch: 64, ..plane };
    let none = null_mut();
    for desc in [levels, samples, pitched, shape(CL_MEM_OBJECT_BUFFER, [4; 4])] {
        refuses!(CL_INVALID_IMAGE_DESCRIPTOR:
            clCreateImage(context, 0, &FLOATS, &desc, none),
            clCreateImageWithProperties(context, null(), 0, &FLOATS, &desc, none));
    }
    let short = cl_image_desc { image_row_pitch: 48, ..plane };
    refuses!(CL_INVALID_IMAGE_DESCRIPTOR:
        clCreateImage(context, 0, &FLOATS, null(), none),
        clCreateImageWithProperties(context, null(), 0, &FLOATS, null(), none),
        clCreateImage(context, CL_MEM_COPY_HOST_PTR, &FLOATS, &short, host));
}

/// Images over a buffer or over another image.
fn over_memory(w: &World) {
    let (context, none) = (w.setup.context, null_mut());
    let line =
        |buffer| cl_image_desc { buffer, ..shape(CL_MEM_OBJECT_IMAGE1D_BUFFER, [16, 0, 0, 0]) };
    let plane = |buffer| cl_image_desc { buffer, ..shape(PLANE, [4, 4, 0, 0]) };
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
        let (buffer, image) = (w.with(parent), w.image_with(parent));
        refuses!(CL_INVALID_VALUE:
            clCreateImage(context, flags, &FLOATS, &line(buffer), none),
            clCreateImageWithProperties(context, null(), flags, &FLOATS, &plane(buffer), none),
            clCreateImage(context, flags, &FLOATS, &plane(image), none));
        cl!(clReleaseMemObject(buffer));
        cl!(clReleaseMemObject(image));
    }
    let pinned = CL_MEM_ALLOC_HOST_PTR;
    refuses!(CL_INVALID_VALUE: clCreateImage(context, pinned, &FLOATS, &line(w.buffer), none));
    // A pitch that no 2D image over a buffer has.
    for image_row_pitch in [48, 72] {
        let desc = cl_image_desc { image_row_pitch, ..plane(w.buffer) };
        refuses!(CL_INVALID_IMAGE_FORMAT_DESCRIPTOR:
            clCreateImage(context, 0, &FLOATS, &desc, none),
            clCreateImageWithProperties(context, null(), 0, &FLOATS, &desc, none));
    }
    // Other texels, and other sizes, than the image has.
    let halves = format(CL_RGBA, CL_HALF_FLOAT);
    refuses!(CL_INVALID_IMAGE_FORMAT_DESCRIPTOR:
        clCreateImage(context, 0, &halves, &plane(w.image), none));
    let smaller = cl_image_desc { image_width: 2, ..plane(w.image) };
    refuses!(CL_INVALID_IMAGE_DESCRIPTOR:
        clCreateImage(context, 0, &FLOATS, &smaller, none),
        clCreateImage(context, 0, &FLOATS, &line(null_mut()), none),
        clCreateImage(context, 0, &FLOATS, &line(w.setup.queue), none));
    let long = cl_image_desc { image_width: 17, ..line(w.buffer) };
    let high = cl_image_desc { image_height: 5, ..plane(w.buffer) };
    refuses!(CL_INVALID_IMAGE_SIZE:
        clCreateImage(context, 0, &FLOATS, &long, none),
        clCreateImage(context, 0, &FLOATS, &high, none));
    refuses!(CL_INVALID_CONTEXT:
        clCreateImage(w.other.context, 0, &FLOATS, &line(w.buffer), none));
}

fn queries(w: &World) {
    let (context, none) = (w.setup.context, null_mut::<c_void>());
    let (mut one, mut count) = (FLOATS, 0);
    for junk in [none, w.buffer] {
        fails!(CL_INVALID_CONTEXT:
            clGetSupportedImageFormats(junk, 0, PLANE, 1, &mut one, &mut count));
        fails!(CL_INVALID_MEM_OBJECT: clGetImageInfo(junk, CL_IMAGE_WIDTH, 0, none, null_mut()));
    }
    let both = CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY;
    fails!(CL_INVALID_VALUE:
        clGetSupportedImageFormats(context, both, PLANE, 1, &mut one, &mut count),
        clGetSupportedImageFormats(context, 0, CL_MEM_OBJECT_BUFFER, 1, &mut one, &mut count),
        clGetSupportedImageFormats(context, 0, PLANE, 0, &mut one, &mut count));
    asks!(clGetImageInfo(w.image), CL_IMAGE_WIDTH);
}
