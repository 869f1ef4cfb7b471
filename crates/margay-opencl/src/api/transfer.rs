// SPDX-License-Identifier: MIT OR Apache-2.0
//! The one road of all commands that read, write, copy, fill and map memory objects, buffers and images alike: a
//! region of bytes, rows and slices, with an end in an object or in the host's memory on either side.

use std::ffi::c_void;
use std::sync::Arc;

use opencl_sys::*;

use super::Enqueue;
use crate::Result;
use crate::answer::list;
use crate::command;
use crate::device::platform;
use crate::memory::{self, Mapping, Mem};
use crate::object::{self, Object};
use crate::queue::Queue;
use crate::transfer::{Copy, Layout, fill_rectangle, overlap};

/// A buffer of the queue's context.
pub fn buffer(queue: &Queue, handle: cl_mem) -> Result<Arc<Mem>> {
    let mem = object(queue, handle)?;
    if mem.image.is_some() { Err(CL_INVALID_MEM_OBJECT) } else { Ok(mem) }
}

/// Any memory object of the queue's context.
pub fn object(queue: &Queue, handle: cl_mem) -> Result<Arc<Mem>> {
    let mem = memory::used(handle)?;
    match mem.context.handle() == queue.context.handle() {
        true => Ok(mem),
        false => Err(CL_INVALID_CONTEXT),
    }
}

/// A rectangle of `bytes` (bytes, rows, slices), if the object holds it.
pub fn inside(mem: &Mem, layout: Layout, bytes: [u64; 3]) -> Result<Layout> {
    match layout.end(bytes) {
        Some(end) if end <= mem.size => Ok(layout),
        Some(_) | None => Err(past_the_end(mem, layout.offset(), layout.end(bytes))),
    }
}

/// CL_INVALID_VALUE for a command that leaves an object; those who watch the program are told. Offsets that do not fit
/// 64 bits are none.
pub fn past_the_end(mem: &Mem, from: Option<u64>, end: Option<u64>) -> cl_int {
    let wanted = from.unwrap_or(u64::MAX)..end.unwrap_or(u64::MAX);
    let label = mem.parent.is_some().then_some("clCreateSubBuffer");
    if let Some(platform) = platform() {
        let object = mem.address()..mem.address() + mem.size;
        platform.runtime.observed_overrun(object, label, wanted);
    }
    CL_INVALID_VALUE
}

/// What the host may do with an object.
fn host_may(mem: &Mem, denied: cl_mem_flags) -> Result<()> {
    match mem.flags & (denied | CL_MEM_HOST_NO_ACCESS) {
        0 => Ok(()),
        _ => Err(CL_INVALID_OPERATION),
    }
}

/// The queue, the wait list and the event that every enqueue function takes.
#[derive(Clone, Copy)]
pub struct Place {
    queue: cl_command_queue,
    count: cl_uint,
    wait: *const cl_event,
    event: *mut cl_event,
}

impl Place {
    /// The four in the order of every enqueue function.
    pub fn new(
        queue: cl_command_queue,
        count: cl_uint,
        wait: *const cl_event,
        event: *mut cl_event,
    ) -> Place {
        Place { queue, count, wait, event }
    }

    /// # Safety
    /// As the contract of [`crate::api`] says.
    unsafe fn enqueue(self) -> Result<Enqueue> {
        // SAFETY: the caller promises it.
        unsafe { Enqueue::new(self.queue, self.count, self.wait, self.event) }
    }
}

/// Where one side of a transfer lies.
pub struct End {
    /// `None` is the host's memory.
    mem: Option<Arc<Mem>>,
    address: u64,
    layout: Layout,
}

impl End {
    /// A rectangle that was checked against the object.
    pub fn of(mem: Arc<Mem>, layout: Layout) -> End {
        End { address: mem.address(), mem: Some(mem), layout }
    }

    /// CL_INVALID_VALUE for null.
    pub fn host(pointer: *const c_void, layout: Layout) -> Result<End> {
        match pointer.is_null() {
            true => Err(CL_INVALID_VALUE),
            false => Ok(End { mem: None, address: pointer.expose_provenance() as u64, layout }),
        }
    }

    /// As a rectangle of the memory that the object is a part of.
    fn in_root(&self) -> Option<(*const Mem, Layout)> {
        let mem = self.mem.as_ref()?;
        let mut layout = self.layout;
        layout.origin[0] += mem.offset_in_storage;
        Some((std::ptr::from_ref(mem.root()), layout))
    }
}

/// Copies a region of `bytes` (bytes, rows, slices).
///
/// # Safety
/// As the contract of [`crate::api`] says; the host's end is mapped until the command has ended.
pub unsafe fn copy(
    place: Place,
    kind: cl_command_type,
    blocking: cl_bool,
    bytes: [u64; 3],
    from: End,
    to: End,
) -> Result<()> {
    if let (Some((a, from)), Some((b, to))) = (from.in_root(), to.in_root())
        && a == b
        && !bytes.contains(&0)
        && overlap(bytes, from, to)
    {
        return Err(CL_MEM_COPY_OVERLAP);
    }
    // SAFETY: the caller promises it.
    let enqueue = unsafe { place.enqueue()? };
    match (&from.mem, &to.mem) {
        (Some(mem), None) => host_may(mem, CL_MEM_HOST_WRITE_ONLY)?,
        (None, Some(mem)) => host_may(mem, CL_MEM_HOST_READ_ONLY)?,
        (Some(_), Some(_)) | (None, None) => {}
    }
    let work = move || {
        // SAFETY: both ends were checked, and the program promises its side.
        unsafe {
            Copy { from: from.address, to: to.address }.rectangle(bytes, from.layout, to.layout);
        }
        // The objects live until here.
        drop((from.mem, to.mem));
        Ok(())
    };
    enqueue.blocking(blocking).push(kind, Box::new(work))
}

/// Fills a region of `bytes`, whose rows are a number of patterns long.
///
/// # Safety
/// As the contract of [`crate::api`] says.
pub unsafe fn fill(
    place: Place,
    kind: cl_command_type,
    bytes: [u64; 3],
    to: End,
    pattern: Vec<u8>,
) -> Result<()> {
    // SAFETY: the caller promises it.
    let enqueue = unsafe { place.enqueue()? };
    let work = move || {
        // SAFETY: inside the object.
        unsafe { fill_rectangle(to.address, bytes, to.layout, &pattern) };
        drop(to.mem);
        Ok(())
    };
    enqueue.push(kind, Box::new(work))
}

/// Maps a region of `bytes`; the pointer that the program gets.
///
/// # Safety
/// As the contract of [`crate::api`] says.
pub unsafe fn map(
    place: Place,
    kind: cl_command_type,
    blocking: cl_bool,
    flags: cl_map_flags,
    bytes: [u64; 3],
    mem: Arc<Mem>,
    layout: Layout,
) -> Result<*mut c_void> {
    // SAFETY: the caller promises it.
    let enqueue = unsafe { place.enqueue()? }.blocking(blocking);
    let writes = flags & (CL_MAP_WRITE | CL_MAP_WRITE_INVALIDATE_REGION) != 0;
    if writes {
        host_may(&mem, CL_MEM_HOST_READ_ONLY)?;
    }
    if flags & CL_MAP_READ != 0 {
        host_may(&mem, CL_MEM_HOST_WRITE_ONLY)?;
    }
    // The program's own memory has the object's pitches.
    let base = mem.host_address();
    let offset = layout.offset().ok_or(CL_INVALID_VALUE)?;
    let pointer = (base + offset) as usize;
    let mapping = Mapping { pointer, writes, bytes, layout };
    enqueue.check_blocking()?;
    mem.map(mapping)?;
    let (kept, work) = (mem.clone(), move || {
        if !mem.is_direct() {
            // SAFETY: inside the object and the memory that the program gave for it.
            unsafe { mapping.copy(mem.address(), base) };
        }
        Ok(())
    });
    if let Err(error) = enqueue.push(kind, Box::new(work)) {
        // The program has no pointer to unmap it by.
        kept.unmap(|m| *m == mapping);
        return Err(error);
    }
    Ok(std::ptr::with_exposed_provenance_mut(pointer))
}

/// CL_INVALID_VALUE for flags of mapping that are none, or that contradict each other.
pub fn map_flags_fit(map_flags: cl_map_flags) -> Result<()> {
    let invalidates = map_flags & CL_MAP_WRITE_INVALIDATE_REGION != 0;
    let plain = map_flags & (CL_MAP_READ | CL_MAP_WRITE) != 0;
    let known = CL_MAP_READ | CL_MAP_WRITE | CL_MAP_WRITE_INVALIDATE_REGION;
    if map_flags & !known != 0 || (invalidates && plain) { Err(CL_INVALID_VALUE) } else { Ok(()) }
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
    let mem = object(&queue, memobj)?;
    // SAFETY: the caller keeps the contract.
    let enqueue =
        unsafe { Enqueue::new(command_queue, num_events_in_wait_list, event_wait_list, event)? };
    let mapping = mem.unmap(|m| m.pointer == mapped_ptr.addr()).ok_or(CL_INVALID_VALUE)?;
    let work = move || {
        if mapping.writes {
            match mem.is_direct() {
                // Those who watch the program have not seen the host's stores.
                true => mapping.told(mem.address()),
                // SAFETY: inside the object and the memory that the program gave for it.
                false => unsafe { mapping.copy(mem.host_address(), mem.address()) },
            }
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
        object(&queue, *handle)?;
    }
    // SAFETY: the caller keeps the contract.
    let enqueue =
        unsafe { Enqueue::new(command_queue, num_events_in_wait_list, event_wait_list, event)? };
    // Memory is where it is for every device.
    let work: command::Work = Box::new(|| Ok(()));
    enqueue.push(CL_COMMAND_MIGRATE_MEM_OBJECTS, work)
}
