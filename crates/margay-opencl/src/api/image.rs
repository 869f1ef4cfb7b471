// SPDX-License-Identifier: MIT OR Apache-2.0
//! Images, samplers and pipes, of which no device has any: CL_DEVICE_IMAGE_SUPPORT and
//! CL_DEVICE_PIPE_SUPPORT are false, and the functions answer as the specification says for that.

use std::ffi::c_void;

use opencl_sys::*;

use crate::Result;
use crate::answer::offer;
use crate::context::Context;
use crate::object;

/// "CL_INVALID_OPERATION if there are no devices in context that support images."
fn no_images<T>(context: cl_context) -> Result<*mut T> {
    object::get::<Context>(context)?;
    Err(CL_INVALID_OPERATION)
}

pub unsafe fn clCreateImage(
    context: cl_context,
    _flags: cl_mem_flags,
    _image_format: *const cl_image_format,
    _image_desc: *const cl_image_desc,
    _host_ptr: *mut c_void,
) -> Result<cl_mem> {
    no_images(context)
}

pub unsafe fn clCreateImageWithProperties(
    context: cl_context,
    _properties: *const cl_mem_properties,
    _flags: cl_mem_flags,
    _image_format: *const cl_image_format,
    _image_desc: *const cl_image_desc,
    _host_ptr: *mut c_void,
) -> Result<cl_mem> {
    no_images(context)
}

pub unsafe fn clCreateImage2D(
    context: cl_context,
    _flags: cl_mem_flags,
    _image_format: *const cl_image_format,
    _image_width: usize,
    _image_height: usize,
    _image_row_pitch: usize,
    _host_ptr: *mut c_void,
) -> Result<cl_mem> {
    no_images(context)
}

pub unsafe fn clCreateImage3D(
    context: cl_context,
    _flags: cl_mem_flags,
    _image_format: *const cl_image_format,
    _image_width: usize,
    _image_height: usize,
    _image_depth: usize,
    _image_row_pitch: usize,
    _image_slice_pitch: usize,
    _host_ptr: *mut c_void,
) -> Result<cl_mem> {
    no_images(context)
}

pub unsafe fn clGetSupportedImageFormats(
    context: cl_context,
    _flags: cl_mem_flags,
    _image_type: cl_mem_object_type,
    num_entries: cl_uint,
    image_formats: *mut cl_image_format,
    num_image_formats: *mut cl_uint,
) -> Result<()> {
    object::get::<Context>(context)?;
    if num_entries == 0 && !image_formats.is_null() {
        return Err(CL_INVALID_VALUE);
    }
    // SAFETY: null or writable.
    unsafe { offer(num_image_formats, 0) };
    Ok(())
}

pub unsafe fn clCreateSampler(
    context: cl_context,
    _normalized_coords: cl_bool,
    _addressing_mode: cl_addressing_mode,
    _filter_mode: cl_filter_mode,
) -> Result<cl_sampler> {
    no_images(context)
}

pub unsafe fn clCreateSamplerWithProperties(
    context: cl_context,
    _sampler_properties: *const cl_sampler_properties,
) -> Result<cl_sampler> {
    no_images(context)
}

pub unsafe fn clCreatePipe(
    context: cl_context,
    _flags: cl_mem_flags,
    _pipe_packet_size: cl_uint,
    _pipe_max_packets: cl_uint,
    _properties: *const cl_pipe_properties,
) -> Result<cl_mem> {
    no_images(context)
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
