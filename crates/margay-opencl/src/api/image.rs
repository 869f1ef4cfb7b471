// SPDX-License-Identifier: MIT OR Apache-2.0
//! Images; and pipes, which no device has (CL_DEVICE_PIPE_SUPPORT is false).

use std::ffi::c_void;
use std::sync::Arc;

use opencl_sys::*;

use super::device::most_allocation;
use super::memory::{HOST_ACCESS, HOST_POINTER, KERNEL_ACCESS, check_flags, check_inherited};
use crate::Result;
use crate::answer::{Answer, offer};
use crate::context::Context;
use crate::image::{ImageFormat, Shape, formats};
use crate::memory::{self, ALIGNMENT, Mem, Storage};
use crate::object::{self, Object};
use crate::transfer::Copy;

pub unsafe fn clCreateImage(
    context: cl_context,
    flags: cl_mem_flags,
    image_format: *const cl_image_format,
    image_desc: *const cl_image_desc,
    host_ptr: *mut c_void,
) -> Result<cl_mem> {
    let none = std::ptr::null();
    // SAFETY: the caller keeps the contract.
    unsafe { clCreateImageWithProperties(context, none, flags, image_format, image_desc, host_ptr) }
}

pub unsafe fn clCreateImageWithProperties(
    context: cl_context,
    properties: *const cl_mem_properties,
    flags: cl_mem_flags,
    image_format: *const cl_image_format,
    image_desc: *const cl_image_desc,
    host_ptr: *mut c_void,
) -> Result<cl_mem> {
    let context = object::get::<Context>(context)?;
    // There are no properties but the list's end.
    // SAFETY: null, or a list that ends with zero.
    let listed = match unsafe { properties.as_ref() } {
        None => Vec::new(),
        Some(0) => vec![0],
        Some(_) => return Err(CL_INVALID_PROPERTY),
    };
    // Like CL_MEM_READ_WRITE, for an image that one kernel reads and writes.
    let flags = match flags & CL_MEM_KERNEL_READ_AND_WRITE {
        0 => flags,
        both if flags & KERNEL_ACCESS & !CL_MEM_READ_WRITE == 0 => {
            flags & !both | CL_MEM_READ_WRITE
        }
        _ => return Err(CL_INVALID_VALUE),
    };
    check_flags(flags)?;
    // SAFETY: null, or the structures.
    let (format, desc) = unsafe { (image_format.as_ref(), image_desc.as_ref()) };
    let format = ImageFormat::of(format.ok_or(CL_INVALID_IMAGE_FORMAT_DESCRIPTOR)?)?;
    let desc = desc.ok_or(CL_INVALID_IMAGE_DESCRIPTOR)?;
    let reads_only = flags & CL_MEM_READ_ONLY != 0;
    if !format.writable() && !reads_only && flags & KERNEL_ACCESS != 0 {
        return Err(CL_IMAGE_FORMAT_NOT_SUPPORTED);
    }
    if !desc.buffer.is_null() || desc.image_type == CL_MEM_OBJECT_IMAGE1D_BUFFER {
        return over_memory(&context, flags, format, desc, host_ptr, listed);
    }
    let shape = Shape::of(desc, format, !host_ptr.is_null())?;
    // SAFETY: the caller keeps the contract.
    let mem = unsafe { with_memory(context, flags, shape, host_ptr, listed)? };
    Ok(mem.handle())
}

/// An image with its own memory.
///
/// # Safety
/// `host_ptr` is null or has the shape's bytes.
unsafe fn with_memory(
    context: Arc<Context>,
    flags: cl_mem_flags,
    shape: Shape,
    host_ptr: *mut c_void,
    listed: Vec<u64>,
) -> Result<Arc<Mem>> {
    let wants = flags & (CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR) != 0;
    if wants == host_ptr.is_null() {
        return Err(CL_INVALID_HOST_PTR);
    }
    let size = shape.bytes().ok_or(CL_INVALID_IMAGE_SIZE)?;
    if size > context.devices.iter().map(|d| most_allocation(d)).max().unwrap_or(0) {
        return Err(CL_MEM_OBJECT_ALLOCATION_FAILURE);
    }
    let storage = Storage::new(&context, size, ALIGNMENT, "clCreateImage")?;
    if wants {
        let copy = Copy { from: host_ptr.expose_provenance() as u64, to: storage.address };
        // The last row need not fill its pitch, nor the last slice its own.
        let texel = shape.format.bytes();
        let rows = [shape.width * texel, shape.height.max(1), shape.depth.max(shape.layers).max(1)];
        let (region, layout) = match shape.kind {
            CL_MEM_OBJECT_IMAGE1D_ARRAY => shape.place([0; 3], [shape.width, shape.layers, 1])?,
            _ => shape.place([0; 3], [shape.width, rows[1], rows[2]])?,
        };
        // SAFETY: the program promises its side; the other is new.
        unsafe { copy.rectangle(region, layout, layout) };
    }
    let flags = if flags & KERNEL_ACCESS == 0 { flags | CL_MEM_READ_WRITE } else { flags };
    let handle = shape.bind(storage.address)?;
    let host = host_ptr.addr();
    let build =
        |id| Mem::buffer(id, context, flags, storage, size, host, listed).with_image(shape, handle);
    Ok(object::publish(build))
}

/// An image over a buffer, or over another 2D image.
fn over_memory(
    context: &Arc<Context>,
    flags: cl_mem_flags,
    format: ImageFormat,
    desc: &cl_image_desc,
    host_ptr: *mut c_void,
    listed: Vec<u64>,
) -> Result<cl_mem> {
    let wrong = CL_INVALID_IMAGE_DESCRIPTOR;
    let linear = matches!(desc.image_type, CL_MEM_OBJECT_IMAGE1D_BUFFER | CL_MEM_OBJECT_IMAGE2D);
    if !linear || desc.buffer.is_null() {
        return Err(wrong);
    }
    let parent = memory::used(desc.buffer).map_err(|_| wrong)?;
    if parent.context.handle() != context.handle() {
        return Err(CL_INVALID_CONTEXT);
    }
    if !host_ptr.is_null() {
        return Err(CL_INVALID_HOST_PTR);
    }
    check_inherited(parent.flags, flags)?;
    let shape = match &parent.image {
        None => {
            let (pitch, texel) = (desc.image_row_pitch as u64, format.bytes());
            let fits = pitch.is_multiple_of(texel)
                && (pitch == 0 || pitch >= (desc.image_width as u64).saturating_mul(texel));
            // The specification names the format for a pitch that a 2D image over a buffer cannot have.
            if desc.image_type == CL_MEM_OBJECT_IMAGE2D && !fits {
                return Err(CL_INVALID_IMAGE_FORMAT_DESCRIPTOR);
            }
            Shape::of(desc, format, true)?
        }
        // The same texels in another order, at the first image's pitch.
        Some(image) => {
            let (old, two) = (image.shape, CL_MEM_OBJECT_IMAGE2D);
            if old.format.ty != format.ty || old.format.bytes() != format.bytes() {
                return Err(CL_INVALID_IMAGE_FORMAT_DESCRIPTOR);
            }
            let sizes = [desc.image_width as u64, desc.image_height as u64];
            if [old.kind, desc.image_type] != [two; 2] || [old.width, old.height] != sizes {
                return Err(wrong);
            }
            Shape { format, ..image.shape }
        }
    };
    let size = shape.bytes().ok_or(CL_INVALID_IMAGE_SIZE)?;
    if size > parent.size {
        return Err(CL_INVALID_IMAGE_SIZE);
    }
    // What is not said is the parent's.
    let mut inherited = flags | parent.flags & HOST_POINTER;
    for group in [KERNEL_ACCESS, HOST_ACCESS] {
        if flags & group == 0 {
            inherited |= parent.flags & group;
        }
    }
    let handle = shape.bind(parent.address())?;
    let build = |id| {
        let mut mem = Mem::part(id, &parent, inherited, 0, size).with_image(shape, handle);
        mem.properties = listed;
        mem
    };
    Ok(object::publish(build).handle())
}

pub unsafe fn clCreateImage2D(
    context: cl_context,
    flags: cl_mem_flags,
    image_format: *const cl_image_format,
    image_width: usize,
    image_height: usize,
    image_row_pitch: usize,
    host_ptr: *mut c_void,
) -> Result<cl_mem> {
    let sizes = [image_width, image_height, 0];
    let desc = plain(CL_MEM_OBJECT_IMAGE2D, sizes, [image_row_pitch, 0]);
    // SAFETY: the caller keeps the contract.
    unsafe { clCreateImage(context, flags, image_format, &desc, host_ptr) }.map_err(of_size)
}

pub unsafe fn clCreateImage3D(
    context: cl_context,
    flags: cl_mem_flags,
    image_format: *const cl_image_format,
    image_width: usize,
    image_height: usize,
    image_depth: usize,
    image_row_pitch: usize,
    image_slice_pitch: usize,
    host_ptr: *mut c_void,
) -> Result<cl_mem> {
    // `clCreateImage` takes one slice, this function two or more.
    let sizes = [image_width, image_height, if image_depth == 1 { 0 } else { image_depth }];
    let desc = plain(CL_MEM_OBJECT_IMAGE3D, sizes, [image_row_pitch, image_slice_pitch]);
    // SAFETY: the caller keeps the contract.
    unsafe { clCreateImage(context, flags, image_format, &desc, host_ptr) }.map_err(of_size)
}

/// The functions of OpenCL 1.1 call a wrong pitch a wrong size.
fn of_size(error: cl_int) -> cl_int {
    if error == CL_INVALID_IMAGE_DESCRIPTOR { CL_INVALID_IMAGE_SIZE } else { error }
}

fn plain(kind: cl_mem_object_type, size: [usize; 3], pitch: [usize; 2]) -> cl_image_desc {
    cl_image_desc {
        image_type: kind,
        image_width: size[0],
        image_height: size[1],
        image_depth: size[2],
        image_array_size: 0,
        image_row_pitch: pitch[0],
        image_slice_pitch: pitch[1],
        num_mip_levels: 0,
        num_samples: 0,
        buffer: std::ptr::null_mut(),
    }
}

pub unsafe fn clGetSupportedImageFormats(
    context: cl_context,
    flags: cl_mem_flags,
    image_type: cl_mem_object_type,
    num_entries: cl_uint,
    image_formats: *mut cl_image_format,
    num_image_formats: *mut cl_uint,
) -> Result<()> {
    object::get::<Context>(context)?;
    check_flags(flags & !CL_MEM_KERNEL_READ_AND_WRITE)?;
    let known = matches!(
        image_type,
        CL_MEM_OBJECT_IMAGE1D
            | CL_MEM_OBJECT_IMAGE1D_BUFFER
            | CL_MEM_OBJECT_IMAGE1D_ARRAY
            | CL_MEM_OBJECT_IMAGE2D
            | CL_MEM_OBJECT_IMAGE2D_ARRAY
            | CL_MEM_OBJECT_IMAGE3D
    );
    if !known || (num_entries == 0 && !image_formats.is_null()) {
        return Err(CL_INVALID_VALUE);
    }
    let all = formats(flags & CL_MEM_READ_ONLY == 0);
    if !image_formats.is_null() {
        for (i, format) in all.iter().take(num_entries as usize).enumerate() {
            // SAFETY: the program gave room for `num_entries`.
            unsafe { image_formats.add(i).write_unaligned(*format) };
        }
    }
    // SAFETY: null or writable.
    unsafe { offer(num_image_formats, all.len() as cl_uint) };
    Ok(())
}

pub unsafe fn clGetImageInfo(
    image: cl_mem,
    param_name: cl_image_info,
    param_value_size: usize,
    param_value: *mut c_void,
    param_value_size_ret: *mut usize,
) -> Result<()> {
    let mem = memory::used(image)?;
    let shape = mem.image.as_ref().ok_or(CL_INVALID_MEM_OBJECT)?.shape;
    let answer =
        Answer { size: param_value_size, value: param_value, size_ret: param_value_size_ret };
    match param_name {
        CL_IMAGE_FORMAT => answer.value(shape.format.given()),
        CL_IMAGE_ELEMENT_SIZE => answer.value(shape.format.bytes() as usize),
        CL_IMAGE_ROW_PITCH => answer.value(shape.row_pitch as usize),
        CL_IMAGE_SLICE_PITCH => answer.value(shape.slice_pitch as usize),
        CL_IMAGE_WIDTH => answer.value(shape.width as usize),
        CL_IMAGE_HEIGHT => answer.value(shape.height as usize),
        CL_IMAGE_DEPTH => answer.value(shape.depth as usize),
        CL_IMAGE_ARRAY_SIZE => answer.value(shape.layers as usize),
        CL_IMAGE_BUFFER => {
            let buffer = mem.parent.as_ref().filter(|p| p.image.is_none());
            answer.value(buffer.map_or(std::ptr::null_mut(), |p| p.handle()))
        }
        CL_IMAGE_NUM_MIP_LEVELS | CL_IMAGE_NUM_SAMPLES => answer.value(0u32),
        _ => Err(CL_INVALID_VALUE),
    }
}

pub unsafe fn clCreatePipe(
    context: cl_context,
    _flags: cl_mem_flags,
    _pipe_packet_size: cl_uint,
    _pipe_max_packets: cl_uint,
    _properties: *const cl_pipe_properties,
) -> Result<cl_mem> {
    object::get::<Context>(context)?;
    Err(CL_INVALID_OPERATION)
}

pub unsafe fn clGetPipeInfo(
    pipe: cl_mem,
    _param_name: cl_pipe_info,
    _param_value_size: usize,
    _param_value: *mut c_void,
    _param_value_size_ret: *mut usize,
) -> Result<()> {
    // No memory object is a pipe.
    let _ = pipe;
    Err(CL_INVALID_MEM_OBJECT)
}
