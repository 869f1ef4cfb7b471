// SPDX-License-Identifier: MIT OR Apache-2.0
//! Commands that read, write, copy, fill, map and migrate buffers.

use std::ffi::c_void;
use std::sync::Arc;

use opencl_sys::*;

use super::{Enqueue, triple};
use crate::Result;
use crate::answer::list;
use crate::command;
use crate::memory::{Mapping, Mem};
use crate::object::{self, Object};
use crate::queue::Queue;
use crate::transfer::{Copy, Layout, fill, overlap};

/// A buffer of the queue's context.
pub fn buffer(queue: &Queue, handle: cl_mem) -> Result<Arc<Mem>> {
    let mem = object(queue, handle)?;
    if mem.image.is_some() { Err(CL_INVALID_MEM_OBJECT) } else { Ok(mem) }
}

/// Any memory object of the queue's context.
fn object(queue: &Queue, handle: cl_mem) -> Result<Arc<Mem>> {
    let mem = object::get::<Mem>(handle)?;
    match mem.context.handle() == queue.context.handle() {
        true => Ok(mem),
        false => Err(CL_INVALID_CONTEXT),
    }
}

/// What the host may do with a buffer.
pub fn host_may(mem: &Mem, denied: cl_mem_flags) -> Result<()> {
    match mem.flags & (denied | CL_MEM_HOST_NO_ACCESS) {
        0 => Ok(()),
        _ => Err(CL_INVALID_OPERATION),
    }
}

pub fn inside(mem: &Mem, offset: u64, size: u64) -> Result<()> {
    if mem.holds(offset, size) { Ok(()) } else { Err(CL_INVALID_VALUE) }
}

/// CL_INVALID_VALUE for flags of mapping that are none, or that contradict each other.
pub fn map_flags_fit(map_flags: cl_map_flags) -> Result<()> {
    let invalidates = map_flags & CL_MAP_WRITE_INVALIDATE_REGION != 0;
    let plain = map_flags & (CL_MAP_READ | CL_MAP_WRITE) != 0;
    let known = CL_MAP_READ | CL_MAP_WRITE | CL_MAP_WRITE_INVALIDATE_REGION;
    if map_flags & !known != 0 || (invalidates && plain) { Err(CL_INVALID_VALUE) } else { Ok(()) }
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
    if ptr.is_null() {
        return Err(CL_INVALID_VALUE);
    }
    inside(&mem, offset as u64, cb as u64)?;
    // SAFETY: the caller keeps the contract.
    let enqueue =
        unsafe { Enqueue::new(command_queue, num_events_in_wait_list, event_wait_list, event)? };
    host_may(&mem, CL_MEM_HOST_WRITE_ONLY)?;
    let copy = Copy { from: mem.address() + offset as u64, to: ptr.expose_provenance() as u64 };
    let work = move || {
        let _keep = mem;
        // SAFETY: inside the buffer, and the program promises its side.
        unsafe { copy.bytes(cb as u64) };
        Ok(())
    };
    enqueue.blocking(blocking_read).push(CL_COMMAND_READ_BUFFER, Box::new(work))
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
    if ptr.is_null() {
        return Err(CL_INVALID_VALUE);
    }
    inside(&mem, offset as u64, cb as u64)?;
    // SAFETY: the caller keeps the contract.
    let enqueue =
        unsafe { Enqueue::new(command_queue, num_events_in_wait_list, event_wait_list, event)? };
    host_may(&mem, CL_MEM_HOST_READ_ONLY)?;
    let copy = Copy { from: ptr.expose_provenance() as u64, to: mem.address() + offset as u64 };
    let work = move || {
        // SAFETY: inside the buffer, and the program promises its side.
        unsafe { copy.bytes(cb as u64) };
        mem.written();
        Ok(())
    };
    enqueue.blocking(blocking_write).push(CL_COMMAND_WRITE_BUFFER, Box::new(work))
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
    let (from, to) = (buffer(&queue, src_buffer)?, buffer(&queue, dst_buffer)?);
    let (src, dst, size) = (src_offset as u64, dst_offset as u64, cb as u64);
    inside(&from, src, size)?;
    inside(&to, dst, size)?;
    let copy = Copy { from: from.address() + src, to: to.address() + dst };
    // Also between parts of one buffer.
    if std::ptr::eq(from.root(), to.root()) && copy.from.abs_diff(copy.to) < size {
        return Err(CL_MEM_COPY_OVERLAP);
    }
    // SAFETY: the caller keeps the contract.
    let enqueue =
        unsafe { Enqueue::new(command_queue, num_events_in_wait_list, event_wait_list, event)? };
    let work = move || {
        let _keep = (from, to);
        // SAFETY: both are inside.
        unsafe { copy.bytes(size) };
        Ok(())
    };
    enqueue.push(CL_COMMAND_COPY_BUFFER, Box::new(work))
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
    match layout.end(region) {
        Some(end) if end <= mem.size => Ok(layout),
        Some(_) | None => Err(CL_INVALID_VALUE),
    }
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
    if ptr.is_null() {
        return Err(CL_INVALID_VALUE);
    }
    // SAFETY: the caller keeps the contract.
    let (from, to, region) =
        unsafe { (triple(buffer_origin)?, triple(host_origin)?, triple(region)?) };
    let from = rectangle(&mem, from, region, buffer_row_pitch, buffer_slice_pitch)?;
    let to = Layout::new(to, region, host_row_pitch as u64, host_slice_pitch as u64)?;
    // SAFETY: the caller keeps the contract.
    let enqueue =
        unsafe { Enqueue::new(command_queue, num_events_in_wait_list, event_wait_list, event)? };
    host_may(&mem, CL_MEM_HOST_WRITE_ONLY)?;
    let copy = Copy { from: mem.address(), to: ptr.expose_provenance() as u64 };
    let work = move || {
        let _keep = mem;
        // SAFETY: inside the buffer, and the program promises its side.
        unsafe { copy.rectangle(region, from, to) };
        Ok(())
    };
    enqueue.blocking(blocking_read).push(CL_COMMAND_READ_BUFFER_RECT, Box::new(work))
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
    if ptr.is_null() {
        return Err(CL_INVALID_VALUE);
    }
    // SAFETY: the caller keeps the contract.
    let (to, from, region) =
        unsafe { (triple(buffer_origin)?, triple(host_origin)?, triple(region)?) };
    let to = rectangle(&mem, to, region, buffer_row_pitch, buffer_slice_pitch)?;
    let from = Layout::new(from, region, host_row_pitch as u64, host_slice_pitch as u64)?;
    // SAFETY: the caller keeps the contract.
    let enqueue =
        unsafe { Enqueue::new(command_queue, num_events_in_wait_list, event_wait_list, event)? };
    host_may(&mem, CL_MEM_HOST_READ_ONLY)?;
    let copy = Copy { from: ptr.expose_provenance() as u64, to: mem.address() };
    let work = move || {
        // SAFETY: inside the buffer, and the program promises its side.
        unsafe { copy.rectangle(region, from, to) };
        mem.written();
        Ok(())
    };
    enqueue.blocking(blocking_write).push(CL_COMMAND_WRITE_BUFFER_RECT, Box::new(work))
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
    if std::ptr::eq(&*source, &*target) {
        if from.row_pitch != to.row_pitch || from.slice_pitch != to.slice_pitch {
            return Err(CL_INVALID_VALUE);
        }
        if overlap(region, from, to) {
            return Err(CL_MEM_COPY_OVERLAP);
        }
    }
    // SAFETY: the caller keeps the contract.
    let enqueue =
        unsafe { Enqueue::new(command_queue, num_events_in_wait_list, event_wait_list, event)? };
    let copy = Copy { from: source.address(), to: target.address() };
    let work = move || {
        let _keep = (source, target);
        // SAFETY: both are inside.
        unsafe { copy.rectangle(region, from, to) };
        Ok(())
    };
    enqueue.push(CL_COMMAND_COPY_BUFFER_RECT, Box::new(work))
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
    inside(&mem, offset as u64, cb as u64)?;
    let sizes = pattern_size.is_power_of_two() && pattern_size <= 128;
    // SAFETY: the caller keeps the contract.
    let pattern = unsafe { list(pattern.cast::<u8>(), pattern_size) }.ok_or(CL_INVALID_VALUE)?;
    if !sizes || !offset.is_multiple_of(pattern_size) || !cb.is_multiple_of(pattern_size) {
        return Err(CL_INVALID_VALUE);
    }
    // SAFETY: the caller keeps the contract.
    let enqueue =
        unsafe { Enqueue::new(command_queue, num_events_in_wait_list, event_wait_list, event)? };
    let pattern = pattern.to_vec();
    let work = move || {
        // SAFETY: inside the buffer.
        unsafe { fill(mem.address() + offset as u64, cb as u64, &pattern) };
        Ok(())
    };
    enqueue.push(CL_COMMAND_FILL_BUFFER, Box::new(work))
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
    let (offset, size) = (offset as u64, cb as u64);
    map_flags_fit(map_flags)?;
    if size == 0 {
        return Err(CL_INVALID_VALUE);
    }
    inside(&mem, offset, size)?;
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
    let base = mem.host_address();
    let pointer = (base + offset) as usize;
    let mapping = Mapping { pointer, offset, size, writes, rectangle: None };
    mem.maps.lock().push(mapping);
    let work = move || {
        if !mem.is_direct() {
            // SAFETY: inside the buffer and the memory that the program gave for it.
            unsafe { mapping.copy(mem.address(), base) };
        }
        Ok(())
    };
    enqueue.blocking(blocking_map).push(CL_COMMAND_MAP_BUFFER, Box::new(work))?;
    Ok(std::ptr::with_exposed_provenance_mut(pointer))
}

pub unsafe fn clEnqueueUnmapMemObject(
    command_queue: cl_command_queue,
    memobj: cl_mem,
    mapped_ptr: *mut c_void,
    num_events_in_wait_list: cl_uint,
    event_wait_list: *const cl_event,
    event: *mut cl_event,
) -> Result<()> {
    let queue = object::get::<Queue>(command_queue)?;
    let mem = self::object(&queue, memobj)?;
    // SAFETY: the caller keeps the contract.
    let enqueue =
        unsafe { Enqueue::new(command_queue, num_events_in_wait_list, event_wait_list, event)? };
    let mapping = {
        let mut maps = mem.maps.lock();
        let at = maps.iter().rposition(|m| m.pointer == mapped_ptr.addr());
        maps.remove(at.ok_or(CL_INVALID_VALUE)?)
    };
    let work = move || {
        if mapping.writes {
            if !mem.is_direct() {
                // SAFETY: inside the object and the memory that the program gave for it.
                unsafe { mapping.copy(mem.host_address(), mem.address()) };
            }
            mem.written();
        }
        Ok(())
    };
    enqueue.push(CL_COMMAND_UNMAP_MEM_OBJECT, Box::new(work))
}

pub unsafe fn clEnqueueMigrateMemObjects(
    command_queue: cl_command_queue,
    num_mem_objects: cl_uint,
    mem_objects: *const cl_mem,
    flags: cl_mem_migration_flags,
    num_events_in_wait_list: cl_uint,
    event_wait_list: *const cl_event,
    event: *mut cl_event,
) -> Result<()> {
    let queue = object::get::<Queue>(command_queue)?;
    let known = CL_MIGRATE_MEM_OBJECT_HOST | CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED;
    // SAFETY: the caller keeps the contract.
    let handles = unsafe { list(mem_objects, num_mem_objects as usize) }.unwrap_or_default();
    if handles.is_empty() || flags & !known != 0 {
        return Err(CL_INVALID_VALUE);
    }
    for handle in handles {
        self::object(&queue, *handle)?;
    }
    // SAFETY: the caller keeps the contract.
    let enqueue =
        unsafe { Enqueue::new(command_queue, num_events_in_wait_list, event_wait_list, event)? };
    // Memory is where it is for every device.
    let work: command::Work = Box::new(|| Ok(()));
    enqueue.push(CL_COMMAND_MIGRATE_MEM_OBJECTS, work)
}
