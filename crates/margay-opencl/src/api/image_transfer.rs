// SPDX-License-Identifier: MIT OR Apache-2.0
//! Commands that read, write, copy, fill and map images.

use std::ffi::c_void;
use std::sync::Arc;

use opencl_sys::*;

use super::transfer::{End, Place, buffer, copy, fill, inside, map, map_flags_fit, object};
use super::triple;
use crate::Result;
use crate::answer::offer;
use crate::image::Shape;
use crate::memory::Mem;
use crate::object;
use crate::queue::Queue;
use crate::transfer::Layout;

/// An image of the queue's context, and its shape.
fn image(queue: &Queue, handle: cl_mem) -> Result<(Arc<Mem>, Shape)> {
    let mem = object(queue, handle)?;
    let shape = mem.image.as_ref().ok_or(CL_INVALID_MEM_OBJECT)?.shape;
    Ok((mem, shape))
}

/// CL_INVALID_MEM_OBJECT for a copy between a 1D image and the buffer that it is made of.
fn apart(image: &Mem, buffer: &Mem) -> Result<()> {
    let over = |p: &Arc<Mem>| std::ptr::eq(&**p, buffer);
    match image.kind() == CL_MEM_OBJECT_IMAGE1D_BUFFER && image.parent.as_ref().is_some_and(over) {
        true => Err(CL_INVALID_MEM_OBJECT),
        false => Ok(()),
    }
}

/// The part of a buffer that holds a region's texels without gaps.
fn packed(mem: &Mem, offset: usize, bytes: [u64; 3]) -> Result<Layout> {
    let mut layout = Layout::new([0; 3], bytes, 0, 0)?;
    layout.origin[0] = offset as u64;
    inside(mem, layout, bytes)
}

pub unsafe fn clEnqueueReadImage(
    command_queue: cl_command_queue,
    image: cl_mem,
    blocking_read: cl_bool,
    origin: *const usize,
    region: *const usize,
    row_pitch: usize,
    slice_pitch: usize,
    ptr: *mut c_void,
    num_events_in_wait_list: cl_uint,
    event_wait_list: *const cl_event,
    event: *mut cl_event,
) -> Result<()> {
    let queue = object::get::<Queue>(command_queue)?;
    let (mem, shape) = self::image(&queue, image)?;
    // SAFETY: the caller keeps the contract.
    let (origin, region) = unsafe { (triple(origin)?, triple(region)?) };
    let (bytes, from) = shape.place(origin, region)?;
    let to = shape.host(region, row_pitch as u64, slice_pitch as u64)?;
    let (from, to) = (End::of(mem, from), End::host(ptr, to)?);
    let place = Place::new(command_queue, num_events_in_wait_list, event_wait_list, event);
    // SAFETY: the caller keeps the contract.
    unsafe { copy(place, CL_COMMAND_READ_IMAGE, blocking_read, bytes, from, to) }
}

pub unsafe fn clEnqueueWriteImage(
    command_queue: cl_command_queue,
    image: cl_mem,
    blocking_write: cl_bool,
    origin: *const usize,
    region: *const usize,
    input_row_pitch: usize,
    input_slice_pitch: usize,
    ptr: *const c_void,
    num_events_in_wait_list: cl_uint,
    event_wait_list: *const cl_event,
    event: *mut cl_event,
) -> Result<()> {
    let queue = object::get::<Queue>(command_queue)?;
    let (mem, shape) = self::image(&queue, image)?;
    // SAFETY: the caller keeps the contract.
    let (origin, region) = unsafe { (triple(origin)?, triple(region)?) };
    let (bytes, to) = shape.place(origin, region)?;
    let from = shape.host(region, input_row_pitch as u64, input_slice_pitch as u64)?;
    let (from, to) = (End::host(ptr, from)?, End::of(mem, to));
    let place = Place::new(command_queue, num_events_in_wait_list, event_wait_list, event);
    // SAFETY: the caller keeps the contract.
    unsafe { copy(place, CL_COMMAND_WRITE_IMAGE, blocking_write, bytes, from, to) }
}

pub unsafe fn clEnqueueCopyImage(
    command_queue: cl_command_queue,
    src_image: cl_mem,
    dst_image: cl_mem,
    src_origin: *const usize,
    dst_origin: *const usize,
    region: *const usize,
    num_events_in_wait_list: cl_uint,
    event_wait_list: *const cl_event,
    event: *mut cl_event,
) -> Result<()> {
    let queue = object::get::<Queue>(command_queue)?;
    let (source, source_shape) = image(&queue, src_image)?;
    let (target, target_shape) = image(&queue, dst_image)?;
    if source_shape.format != target_shape.format {
        return Err(CL_IMAGE_FORMAT_MISMATCH);
    }
    // SAFETY: the caller keeps the contract.
    let (from, to, region) = unsafe { (triple(src_origin)?, triple(dst_origin)?, triple(region)?) };
    let (bytes, from) = source_shape.place(from, region)?;
    let (_, to) = target_shape.place(to, region)?;
    let (from, to) = (End::of(source, from), End::of(target, to));
    let place = Place::new(command_queue, num_events_in_wait_list, event_wait_list, event);
    // SAFETY: the caller keeps the contract.
    unsafe { copy(place, CL_COMMAND_COPY_IMAGE, CL_FALSE, bytes, from, to) }
}

pub unsafe fn clEnqueueCopyImageToBuffer(
    command_queue: cl_command_queue,
    src_image: cl_mem,
    dst_buffer: cl_mem,
    src_origin: *const usize,
    region: *const usize,
    dst_offset: usize,
    num_events_in_wait_list: cl_uint,
    event_wait_list: *const cl_event,
    event: *mut cl_event,
) -> Result<()> {
    let queue = object::get::<Queue>(command_queue)?;
    let (source, shape) = image(&queue, src_image)?;
    let target = buffer(&queue, dst_buffer)?;
    apart(&source, &target)?;
    // SAFETY: the caller keeps the contract.
    let (origin, region) = unsafe { (triple(src_origin)?, triple(region)?) };
    let (bytes, from) = shape.place(origin, region)?;
    let to = packed(&target, dst_offset, bytes)?;
    let (from, to) = (End::of(source, from), End::of(target, to));
    let place = Place::new(command_queue, num_events_in_wait_list, event_wait_list, event);
    // SAFETY: the caller keeps the contract.
    unsafe { copy(place, CL_COMMAND_COPY_IMAGE_TO_BUFFER, CL_FALSE, bytes, from, to) }
}

pub unsafe fn clEnqueueCopyBufferToImage(
    command_queue: cl_command_queue,
    src_buffer: cl_mem,
    dst_image: cl_mem,
    src_offset: usize,
    dst_origin: *const usize,
    region: *const usize,
    num_events_in_wait_list: cl_uint,
    event_wait_list: *const cl_event,
    event: *mut cl_event,
) -> Result<()> {
    let queue = object::get::<Queue>(command_queue)?;
    let source = buffer(&queue, src_buffer)?;
    let (target, shape) = image(&queue, dst_image)?;
    apart(&target, &source)?;
    // SAFETY: the caller keeps the contract.
    let (origin, region) = unsafe { (triple(dst_origin)?, triple(region)?) };
    let (bytes, to) = shape.place(origin, region)?;
    let from = packed(&source, src_offset, bytes)?;
    let (from, to) = (End::of(source, from), End::of(target, to));
    let place = Place::new(command_queue, num_events_in_wait_list, event_wait_list, event);
    // SAFETY: the caller keeps the contract.
    unsafe { copy(place, CL_COMMAND_COPY_BUFFER_TO_IMAGE, CL_FALSE, bytes, from, to) }
}

pub unsafe fn clEnqueueFillImage(
    command_queue: cl_command_queue,
    image: cl_mem,
    fill_color: *const c_void,
    origin: *const usize,
    region: *const usize,
    num_events_in_wait_list: cl_uint,
    event_wait_list: *const cl_event,
    event: *mut cl_event,
) -> Result<()> {
    let queue = object::get::<Queue>(command_queue)?;
    let (mem, shape) = self::image(&queue, image)?;
    if fill_color.is_null() {
        return Err(CL_INVALID_VALUE);
    }
    // SAFETY: the caller keeps the contract: four floats or integers.
    let color = unsafe { fill_color.cast::<[u32; 4]>().read_unaligned() };
    // SAFETY: the caller keeps the contract.
    let (origin, region) = unsafe { (triple(origin)?, triple(region)?) };
    let (bytes, to) = shape.place(origin, region)?;
    let place = Place::new(command_queue, num_events_in_wait_list, event_wait_list, event);
    let texel = shape.format.texel(color);
    // SAFETY: the caller keeps the contract.
    unsafe { fill(place, CL_COMMAND_FILL_IMAGE, bytes, End::of(mem, to), texel) }
}

pub unsafe fn clEnqueueMapImage(
    command_queue: cl_command_queue,
    image: cl_mem,
    blocking_map: cl_bool,
    map_flags: cl_map_flags,
    origin: *const usize,
    region: *const usize,
    image_row_pitch: *mut usize,
    image_slice_pitch: *mut usize,
    num_events_in_wait_list: cl_uint,
    event_wait_list: *const cl_event,
    event: *mut cl_event,
) -> Result<*mut c_void> {
    let queue = object::get::<Queue>(command_queue)?;
    let (mem, shape) = self::image(&queue, image)?;
    map_flags_fit(map_flags)?;
    // SAFETY: the caller keeps the contract.
    let (origin, region) = unsafe { (triple(origin)?, triple(region)?) };
    let (bytes, layout) = shape.place(origin, region)?;
    let slices = shape.slice_pitch != 0;
    if image_row_pitch.is_null() || (slices && image_slice_pitch.is_null()) {
        return Err(CL_INVALID_VALUE);
    }
    let place = Place::new(command_queue, num_events_in_wait_list, event_wait_list, event);
    let pitches = (shape.row_pitch as usize, shape.slice_pitch as usize);
    // SAFETY: the caller keeps the contract; pitches are not null, or null where they may be.
    unsafe {
        let pointer =
            map(place, CL_COMMAND_MAP_IMAGE, blocking_map, map_flags, bytes, mem, layout)?;
        offer(image_row_pitch, pitches.0);
        offer(image_slice_pitch, pitches.1);
        Ok(pointer)
    }
}
