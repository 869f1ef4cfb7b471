// SPDX-License-Identifier: MIT OR Apache-2.0
//! Commands that read, write, copy, fill and map images.

use std::ffi::c_void;
use std::sync::Arc;

use opencl_sys::*;

use super::transfer::{buffer, host_may, inside, map_flags_fit};
use super::{Enqueue, triple};
use crate::Result;
use crate::answer::offer;
use crate::image::Shape;
use crate::memory::{Mapping, Mem};
use crate::object::{self, Object};
use crate::queue::Queue;
use crate::transfer::{Copy, Layout, fill_rectangle, overlap};

/// An image of the queue's context, and its shape.
fn image(queue: &Queue, handle: cl_mem) -> Result<(Arc<Mem>, Shape)> {
    let mem = object::get::<Mem>(handle)?;
    let shape = mem.image.as_ref().ok_or(CL_INVALID_MEM_OBJECT)?.shape;
    match mem.context.handle() == queue.context.handle() {
        true => Ok((mem, shape)),
        false => Err(CL_INVALID_CONTEXT),
    }
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
    if ptr.is_null() {
        return Err(CL_INVALID_VALUE);
    }
    // SAFETY: the caller keeps the contract.
    let (origin, region) = unsafe { (triple(origin)?, triple(region)?) };
    let (bytes, from) = shape.place(origin, region)?;
    let to = shape.host(region, row_pitch as u64, slice_pitch as u64)?;
    // SAFETY: the caller keeps the contract.
    let enqueue =
        unsafe { Enqueue::new(command_queue, num_events_in_wait_list, event_wait_list, event)? };
    host_may(&mem, CL_MEM_HOST_WRITE_ONLY)?;
    let copy = Copy { from: mem.address(), to: ptr.expose_provenance() as u64 };
    let work = move || {
        let _keep = mem;
        // SAFETY: inside the image, and the program promises its side.
        unsafe { copy.rectangle(bytes, from, to) };
        Ok(())
    };
    enqueue.blocking(blocking_read).push(CL_COMMAND_READ_IMAGE, Box::new(work))
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
    if ptr.is_null() {
        return Err(CL_INVALID_VALUE);
    }
    // SAFETY: the caller keeps the contract.
    let (origin, region) = unsafe { (triple(origin)?, triple(region)?) };
    let (bytes, to) = shape.place(origin, region)?;
    let from = shape.host(region, input_row_pitch as u64, input_slice_pitch as u64)?;
    // SAFETY: the caller keeps the contract.
    let enqueue =
        unsafe { Enqueue::new(command_queue, num_events_in_wait_list, event_wait_list, event)? };
    host_may(&mem, CL_MEM_HOST_READ_ONLY)?;
    let copy = Copy { from: ptr.expose_provenance() as u64, to: mem.address() };
    let work = move || {
        // SAFETY: inside the image, and the program promises its side.
        unsafe { copy.rectangle(bytes, from, to) };
        mem.written();
        Ok(())
    };
    enqueue.blocking(blocking_write).push(CL_COMMAND_WRITE_IMAGE, Box::new(work))
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
    if std::ptr::eq(source.root(), target.root()) && overlap(bytes, from, to) {
        return Err(CL_MEM_COPY_OVERLAP);
    }
    // SAFETY: the caller keeps the contract.
    let enqueue =
        unsafe { Enqueue::new(command_queue, num_events_in_wait_list, event_wait_list, event)? };
    let copy = Copy { from: source.address(), to: target.address() };
    let work = move || {
        let _keep = (source, target);
        // SAFETY: both are inside.
        unsafe { copy.rectangle(bytes, from, to) };
        Ok(())
    };
    enqueue.push(CL_COMMAND_COPY_IMAGE, Box::new(work))
}

/// The part of a buffer that holds a region's texels without gaps.
fn packed(mem: &Mem, offset: usize, bytes: [u64; 3]) -> Result<Layout> {
    let size = bytes[0].checked_mul(bytes[1]).and_then(|n| n.checked_mul(bytes[2]));
    inside(mem, offset as u64, size.ok_or(CL_INVALID_VALUE)?)?;
    Layout::new([0; 3], bytes, 0, 0)
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
    // SAFETY: the caller keeps the contract.
    let (origin, region) = unsafe { (triple(src_origin)?, triple(region)?) };
    let (bytes, from) = shape.place(origin, region)?;
    let to = packed(&target, dst_offset, bytes)?;
    // SAFETY: the caller keeps the contract.
    let enqueue =
        unsafe { Enqueue::new(command_queue, num_events_in_wait_list, event_wait_list, event)? };
    let copy = Copy { from: source.address(), to: target.address() + dst_offset as u64 };
    let work = move || {
        let _keep = (source, target);
        // SAFETY: both are inside.
        unsafe { copy.rectangle(bytes, from, to) };
        Ok(())
    };
    enqueue.push(CL_COMMAND_COPY_IMAGE_TO_BUFFER, Box::new(work))
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
    // SAFETY: the caller keeps the contract.
    let (origin, region) = unsafe { (triple(dst_origin)?, triple(region)?) };
    let (bytes, to) = shape.place(origin, region)?;
    let from = packed(&source, src_offset, bytes)?;
    // SAFETY: the caller keeps the contract.
    let enqueue =
        unsafe { Enqueue::new(command_queue, num_events_in_wait_list, event_wait_list, event)? };
    let copy = Copy { from: source.address() + src_offset as u64, to: target.address() };
    let work = move || {
        let _keep = (source, target);
        // SAFETY: both are inside.
        unsafe { copy.rectangle(bytes, from, to) };
        Ok(())
    };
    enqueue.push(CL_COMMAND_COPY_BUFFER_TO_IMAGE, Box::new(work))
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
    let (bytes, layout) = shape.place(origin, region)?;
    // SAFETY: the caller keeps the contract.
    let enqueue =
        unsafe { Enqueue::new(command_queue, num_events_in_wait_list, event_wait_list, event)? };
    let texel = shape.format.texel(color);
    let work = move || {
        // SAFETY: inside the image.
        unsafe { fill_rectangle(mem.address(), bytes, layout, &texel) };
        Ok(())
    };
    enqueue.push(CL_COMMAND_FILL_IMAGE, Box::new(work))
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
    // SAFETY: the caller keeps the contract.
    let enqueue =
        unsafe { Enqueue::new(command_queue, num_events_in_wait_list, event_wait_list, event)? };
    let writes = map_flags & (CL_MAP_WRITE | CL_MAP_WRITE_INVALIDATE_REGION) != 0;
    if writes {
        host_may(&mem, CL_MEM_HOST_READ_ONLY)?;
    }
    if map_flags & CL_MAP_READ != 0 {
        host_may(&mem, CL_MEM_HOST_WRITE_ONLY)?;
    }
    // The program's own memory has the image's pitches.
    let (base, direct) = (mem.host_address(), mem.is_direct());
    let offset = layout.offset().ok_or(CL_INVALID_VALUE)?;
    let pointer = (base + offset) as usize;
    let size = layout.end(bytes).ok_or(CL_INVALID_VALUE)? - offset;
    let mapping = Mapping { pointer, offset, size, writes, rectangle: Some((bytes, layout)) };
    mem.maps.lock().push(mapping);
    // SAFETY: not null, or null where it may be.
    unsafe {
        offer(image_row_pitch, shape.row_pitch as usize);
        offer(image_slice_pitch, shape.slice_pitch as usize);
    }
    let work = move || {
        if !direct {
            // SAFETY: inside the image and the memory that the program gave for it.
            unsafe { mapping.copy(mem.address(), base) };
        }
        Ok(())
    };
    enqueue.blocking(blocking_map).push(CL_COMMAND_MAP_IMAGE, Box::new(work))?;
    Ok(std::ptr::with_exposed_provenance_mut(pointer))
}
