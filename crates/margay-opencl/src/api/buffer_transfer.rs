// SPDX-License-Identifier: MIT OR Apache-2.0
//! Commands that read, write, copy, fill and map buffers.

use std::ffi::c_void;

use opencl_sys::*;

use super::transfer::{End, Place, buffer, copy, fill, inside, map, map_flags_fit, past_the_end};
use super::triple;
use crate::Result;
use crate::answer::list;
use crate::memory::Mem;
use crate::object;
use crate::queue::Queue;
use crate::transfer::Layout;

/// A range of bytes that lies inside a buffer.
fn range(mem: &Mem, offset: usize, size: usize) -> Result<Layout> {
    match mem.holds(offset as u64, size as u64) {
        true => Ok(Layout::line(offset as u64, size as u64)),
        false => {
            let (from, size) = (offset as u64, size as u64);
            Err(past_the_end(mem, Some(from), from.checked_add(size)))
        }
    }
}

/// A rectangle that lies inside a buffer.
fn rectangle(
    mem: &Mem,
    origin: [u64; 3],
    region: [u64; 3],
    row_pitch: usize,
    slice_pitch: usize,
) -> Result<Layout> {
    let layout = Layout::new(origin, region, row_pitch as u64, slice_pitch as u64)?;
    inside(mem, layout, region)
}

pub unsafe fn clEnqueueReadBuffer(
    command_queue: cl_command_queue,
    buffer: cl_mem,
    blocking_read: cl_bool,
    offset: usize,
    cb: usize,
    ptr: *mut c_void,
    num_events_in_wait_list: cl_uint,
    event_wait_list: *const cl_event,
    event: *mut cl_event,
) -> Result<()> {
    let queue = object::get::<Queue>(command_queue)?;
    let mem = self::buffer(&queue, buffer)?;
    let from = range(&mem, offset, cb)?;
    let to = End::host(ptr, Layout::line(0, cb as u64))?;
    let place = Place::new(command_queue, num_events_in_wait_list, event_wait_list, event);
    // SAFETY: the caller keeps the contract.
    unsafe {
        copy(
            place,
            CL_COMMAND_READ_BUFFER,
            blocking_read,
            [cb as u64, 1, 1],
            End::of(mem, from),
            to,
        )
    }
}

pub unsafe fn clEnqueueWriteBuffer(
    command_queue: cl_command_queue,
    buffer: cl_mem,
    blocking_write: cl_bool,
    offset: usize,
    cb: usize,
    ptr: *const c_void,
    num_events_in_wait_list: cl_uint,
    event_wait_list: *const cl_event,
    event: *mut cl_event,
) -> Result<()> {
    let queue = object::get::<Queue>(command_queue)?;
    let mem = self::buffer(&queue, buffer)?;
    let to = range(&mem, offset, cb)?;
    let from = End::host(ptr, Layout::line(0, cb as u64))?;
    let place = Place::new(command_queue, num_events_in_wait_list, event_wait_list, event);
    // SAFETY: the caller keeps the contract.
    unsafe {
        copy(
            place,
            CL_COMMAND_WRITE_BUFFER,
            blocking_write,
            [cb as u64, 1, 1],
            from,
            End::of(mem, to),
        )
    }
}

pub unsafe fn clEnqueueCopyBuffer(
    command_queue: cl_command_queue,
    src_buffer: cl_mem,
    dst_buffer: cl_mem,
    src_offset: usize,
    dst_offset: usize,
    cb: usize,
    num_events_in_wait_list: cl_uint,
    event_wait_list: *const cl_event,
    event: *mut cl_event,
) -> Result<()> {
    let queue = object::get::<Queue>(command_queue)?;
    let (source, target) = (buffer(&queue, src_buffer)?, buffer(&queue, dst_buffer)?);
    let (from, to) = (range(&source, src_offset, cb)?, range(&target, dst_offset, cb)?);
    let (from, to) = (End::of(source, from), End::of(target, to));
    let place = Place::new(command_queue, num_events_in_wait_list, event_wait_list, event);
    // SAFETY: the caller keeps the contract.
    unsafe { copy(place, CL_COMMAND_COPY_BUFFER, CL_FALSE, [cb as u64, 1, 1], from, to) }
}

pub unsafe fn clEnqueueReadBufferRect(
    command_queue: cl_command_queue,
    buffer: cl_mem,
    blocking_read: cl_bool,
    buffer_origin: *const usize,
    host_origin: *const usize,
    region: *const usize,
    buffer_row_pitch: usize,
    buffer_slice_pitch: usize,
    host_row_pitch: usize,
    host_slice_pitch: usize,
    ptr: *mut c_void,
    num_events_in_wait_list: cl_uint,
    event_wait_list: *const cl_event,
    event: *mut cl_event,
) -> Result<()> {
    let queue = object::get::<Queue>(command_queue)?;
    let mem = self::buffer(&queue, buffer)?;
    // SAFETY: the caller keeps the contract.
    let (from, to, region) =
        unsafe { (triple(buffer_origin)?, triple(host_origin)?, triple(region)?) };
    let from = rectangle(&mem, from, region, buffer_row_pitch, buffer_slice_pitch)?;
    let to = Layout::new(to, region, host_row_pitch as u64, host_slice_pitch as u64)?;
    let (from, to) = (End::of(mem, from), End::host(ptr, to)?);
    let place = Place::new(command_queue, num_events_in_wait_list, event_wait_list, event);
    // SAFETY: the caller keeps the contract.
    unsafe { copy(place, CL_COMMAND_READ_BUFFER_RECT, blocking_read, region, from, to) }
}

pub unsafe fn clEnqueueWriteBufferRect(
    command_queue: cl_command_queue,
    buffer: cl_mem,
    blocking_write: cl_bool,
    buffer_origin: *const usize,
    host_origin: *const usize,
    region: *const usize,
    buffer_row_pitch: usize,
    buffer_slice_pitch: usize,
    host_row_pitch: usize,
    host_slice_pitch: usize,
    ptr: *const c_void,
    num_events_in_wait_list: cl_uint,
    event_wait_list: *const cl_event,
    event: *mut cl_event,
) -> Result<()> {
    let queue = object::get::<Queue>(command_queue)?;
    let mem = self::buffer(&queue, buffer)?;
    // SAFETY: the caller keeps the contract.
    let (to, from, region) =
        unsafe { (triple(buffer_origin)?, triple(host_origin)?, triple(region)?) };
    let to = rectangle(&mem, to, region, buffer_row_pitch, buffer_slice_pitch)?;
    let from = Layout::new(from, region, host_row_pitch as u64, host_slice_pitch as u64)?;
    let (from, to) = (End::host(ptr, from)?, End::of(mem, to));
    let place = Place::new(command_queue, num_events_in_wait_list, event_wait_list, event);
    // SAFETY: the caller keeps the contract.
    unsafe { copy(place, CL_COMMAND_WRITE_BUFFER_RECT, blocking_write, region, from, to) }
}

pub unsafe fn clEnqueueCopyBufferRect(
    command_queue: cl_command_queue,
    src_buffer: cl_mem,
    dst_buffer: cl_mem,
    src_origin: *const usize,
    dst_origin: *const usize,
    region: *const usize,
    src_row_pitch: usize,
    src_slice_pitch: usize,
    dst_row_pitch: usize,
    dst_slice_pitch: usize,
    num_events_in_wait_list: cl_uint,
    event_wait_list: *const cl_event,
    event: *mut cl_event,
) -> Result<()> {
    let queue = object::get::<Queue>(command_queue)?;
    let (source, target) = (buffer(&queue, src_buffer)?, buffer(&queue, dst_buffer)?);
    // SAFETY: the caller keeps the contract.
    let (from, to, region) = unsafe { (triple(src_origin)?, triple(dst_origin)?, triple(region)?) };
    let from = rectangle(&source, from, region, src_row_pitch, src_slice_pitch)?;
    let to = rectangle(&target, to, region, dst_row_pitch, dst_slice_pitch)?;
    let pitches = from.row_pitch == to.row_pitch && from.slice_pitch == to.slice_pitch;
    if std::ptr::eq(&*source, &*target) && !pitches {
        return Err(CL_INVALID_VALUE);
    }
    let (from, to) = (End::of(source, from), End::of(target, to));
    let place = Place::new(command_queue, num_events_in_wait_list, event_wait_list, event);
    // SAFETY: the caller keeps the contract.
    unsafe { copy(place, CL_COMMAND_COPY_BUFFER_RECT, CL_FALSE, region, from, to) }
}

pub unsafe fn clEnqueueFillBuffer(
    command_queue: cl_command_queue,
    buffer: cl_mem,
    pattern: *const c_void,
    pattern_size: usize,
    offset: usize,
    cb: usize,
    num_events_in_wait_list: cl_uint,
    event_wait_list: *const cl_event,
    event: *mut cl_event,
) -> Result<()> {
    let queue = object::get::<Queue>(command_queue)?;
    let mem = self::buffer(&queue, buffer)?;
    let to = range(&mem, offset, cb)?;
    let sizes = pattern_size.is_power_of_two() && pattern_size <= 128;
    if !sizes || !offset.is_multiple_of(pattern_size) || !cb.is_multiple_of(pattern_size) {
        return Err(CL_INVALID_VALUE);
    }
    // SAFETY: the caller keeps the contract.
    let pattern = unsafe { list(pattern.cast::<u8>(), pattern_size) }.ok_or(CL_INVALID_VALUE)?;
    let (to, pattern) = (End::of(mem, to), pattern.to_vec());
    let place = Place::new(command_queue, num_events_in_wait_list, event_wait_list, event);
    // SAFETY: the caller keeps the contract.
    unsafe { fill(place, CL_COMMAND_FILL_BUFFER, [cb as u64, 1, 1], to, pattern) }
}

pub unsafe fn clEnqueueMapBuffer(
    command_queue: cl_command_queue,
    buffer: cl_mem,
    blocking_map: cl_bool,
    map_flags: cl_map_flags,
    offset: usize,
    cb: usize,
    num_events_in_wait_list: cl_uint,
    event_wait_list: *const cl_event,
    event: *mut cl_event,
) -> Result<*mut c_void> {
    let queue = object::get::<Queue>(command_queue)?;
    let mem = self::buffer(&queue, buffer)?;
    map_flags_fit(map_flags)?;
    let layout = range(&mem, offset, cb)?;
    if cb == 0 {
        return Err(CL_INVALID_VALUE);
    }
    let place = Place::new(command_queue, num_events_in_wait_list, event_wait_list, event);
    let bytes = [cb as u64, 1, 1];
    // SAFETY: the caller keeps the contract.
    unsafe { map(place, CL_COMMAND_MAP_BUFFER, blocking_map, map_flags, bytes, mem, layout) }
}
