// SPDX-License-Identifier: MIT OR Apache-2.0
//! Shared virtual memory, coarse-grained.

use std::ffi::c_void;
use std::sync::Arc;

use margay_runtime::Wanted;
use opencl_sys::*;
use parking_lot::Mutex;

use super::Enqueue;
use super::device::most_allocation;
use crate::Result;
use crate::answer::list;
use crate::context::{Context, UserData};
use crate::device::platform;
use crate::memory::{Storage, Svm};
use crate::object::{self, Object};
use crate::queue::Queue;
use crate::transfer::{Copy, fill, told};

pub unsafe fn clSVMAlloc(
    context: cl_context,
    flags: cl_svm_mem_flags,
    size: usize,
    alignment: cl_uint,
) -> *mut c_void {
    let allocate = || -> Option<*mut c_void> {
        let context = object::get::<Context>(context).ok()?;
        let access = flags & (CL_MEM_READ_WRITE | CL_MEM_WRITE_ONLY | CL_MEM_READ_ONLY);
        // Fine grain is not supported, as CL_DEVICE_SVM_CAPABILITIES says.
        if flags != access || access.count_ones() > 1 {
            return None;
        }
        let most = context.devices.iter().map(|d| most_allocation(d)).min()?;
        let align = if alignment == 0 { 128 } else { alignment };
        if size == 0 || size as u64 > most || !align.is_power_of_two() || align > 128 {
            return None;
        }
        let storage = Storage::new(&context, size as u64, 128, "clSVMAlloc").ok()?;
        let address = storage.address;
        Svm { storage: Arc::new(storage) }.keep();
        Some(std::ptr::with_exposed_provenance_mut(address as usize))
    };
    allocate().unwrap_or_default()
}

pub unsafe fn clSVMFree(_context: cl_context, svm_pointer: *mut c_void) {
    free(svm_pointer.addr() as u64);
}

/// Frees what is there. Null and what is none of ours are ignored, as there is no way to say so; of the latter the tools are told.
fn free(address: u64) {
    if Svm::free(address).is_none()
        && address != 0
        && let Some(platform) = platform()
    {
        platform.runtime.observed_refusal(Wanted::Free, address, 0);
    }
}

/// What keeps a range of SVM alive; `None` for memory that is the host's own.
fn kept(address: u64, size: u64) -> Result<Option<Arc<Storage>>> {
    let Some(svm) = Svm::find(address) else { return Ok(None) };
    let offset = address - svm.storage.address;
    match offset.checked_add(size).is_some_and(|end| end <= svm.storage.size) {
        true => Ok(Some(svm.storage)),
        false => {
            if let Some(platform) = platform() {
                let whole = svm.storage.address..svm.storage.address + svm.storage.size;
                let wanted = offset..offset.saturating_add(size);
                platform.runtime.observed_overrun(whole, None, wanted);
            }
            Err(CL_INVALID_VALUE)
        }
    }
}

/// Ranges that the host may write to, until it unmaps them: where and how long.
static MAPPED: Mutex<Vec<(u64, u64)>> = Mutex::new(Vec::new());

type FreeFunction =
    Option<unsafe extern "C" fn(cl_command_queue, cl_uint, *mut *mut c_void, *mut c_void)>;

pub unsafe fn clEnqueueSVMFree(
    command_queue: cl_command_queue,
    num_svm_pointers: cl_uint,
    svm_pointers: *mut *mut c_void,
    pfn_free_func: FreeFunction,
    user_data: *mut c_void,
    num_events_in_wait_list: cl_uint,
    event_wait_list: *const cl_event,
    event: *mut cl_event,
) -> Result<()> {
    let queue = object::get::<Queue>(command_queue)?;
    // SAFETY: the caller keeps the contract.
    let pointers = unsafe { list(svm_pointers.cast_const(), num_svm_pointers as usize) };
    // No pointers at all are nothing to free.
    if (num_svm_pointers == 0) != svm_pointers.is_null() {
        return Err(CL_INVALID_VALUE);
    }
    let pointers: Vec<UserData> =
        pointers.unwrap_or_default().iter().map(|p| UserData(*p)).collect();
    // SAFETY: the caller keeps the contract.
    let enqueue =
        unsafe { Enqueue::new(command_queue, num_events_in_wait_list, event_wait_list, event)? };
    let data = UserData(user_data);
    let work = move || {
        match pfn_free_func {
            Some(call) => {
                let mut list: Vec<*mut c_void> = pointers.iter().map(|p| p.get()).collect();
                // SAFETY: the program's function, with its own data and pointers.
                unsafe {
                    call(queue.handle(), list.len() as cl_uint, list.as_mut_ptr(), data.get())
                };
            }
            None => pointers.iter().for_each(|p| free(p.get().addr() as u64)),
        }
        Ok(())
    };
    enqueue.push(CL_COMMAND_SVM_FREE, Box::new(work))
}

pub unsafe fn clEnqueueSVMMemcpy(
    command_queue: cl_command_queue,
    blocking_copy: cl_bool,
    dst_ptr: *mut c_void,
    src_ptr: *const c_void,
    size: usize,
    num_events_in_wait_list: cl_uint,
    event_wait_list: *const cl_event,
    event: *mut cl_event,
) -> Result<()> {
    object::get::<Queue>(command_queue)?;
    // SAFETY: the caller keeps the contract.
    let enqueue =
        unsafe { Enqueue::new(command_queue, num_events_in_wait_list, event_wait_list, event)? };
    if dst_ptr.is_null() || src_ptr.is_null() {
        return Err(CL_INVALID_VALUE);
    }
    let copy =
        Copy { from: src_ptr.expose_provenance() as u64, to: dst_ptr.expose_provenance() as u64 };
    let size = size as u64;
    if copy.from.abs_diff(copy.to) < size {
        return Err(CL_MEM_COPY_OVERLAP);
    }
    let keep = (kept(copy.from, size)?, kept(copy.to, size)?);
    let work = move || {
        let _keep = keep;
        // SAFETY: inside SVM or the program's own memory, as it promises.
        unsafe { copy.bytes(size) };
        Ok(())
    };
    enqueue.blocking(blocking_copy).push(CL_COMMAND_SVM_MEMCPY, Box::new(work))
}

pub unsafe fn clEnqueueSVMMemFill(
    command_queue: cl_command_queue,
    svm_ptr: *mut c_void,
    pattern: *const c_void,
    pattern_size: usize,
    size: usize,
    num_events_in_wait_list: cl_uint,
    event_wait_list: *const cl_event,
    event: *mut cl_event,
) -> Result<()> {
    object::get::<Queue>(command_queue)?;
    // SAFETY: the caller keeps the contract.
    let enqueue =
        unsafe { Enqueue::new(command_queue, num_events_in_wait_list, event_wait_list, event)? };
    let to = svm_ptr.expose_provenance() as u64;
    let sizes = pattern_size.is_power_of_two() && pattern_size <= 128;
    if to == 0 || !sizes || !to.is_multiple_of(pattern_size as u64) {
        return Err(CL_INVALID_VALUE);
    }
    if !size.is_multiple_of(pattern_size) {
        return Err(CL_INVALID_VALUE);
    }
    // SAFETY: the caller keeps the contract.
    let pattern = unsafe { list(pattern.cast::<u8>(), pattern_size) }.ok_or(CL_INVALID_VALUE)?;
    let (keep, pattern) = (kept(to, size as u64)?, pattern.to_vec());
    let work = move || {
        let _keep = keep;
        // SAFETY: inside SVM or the program's own memory, as it promises.
        unsafe { fill(to, size as u64, &pattern) };
        Ok(())
    };
    enqueue.push(CL_COMMAND_SVM_MEMFILL, Box::new(work))
}

pub unsafe fn clEnqueueSVMMap(
    command_queue: cl_command_queue,
    blocking_map: cl_bool,
    flags: cl_map_flags,
    svm_ptr: *mut c_void,
    size: usize,
    num_events_in_wait_list: cl_uint,
    event_wait_list: *const cl_event,
    event: *mut cl_event,
) -> Result<()> {
    object::get::<Queue>(command_queue)?;
    let known = CL_MAP_READ | CL_MAP_WRITE | CL_MAP_WRITE_INVALIDATE_REGION;
    let invalidates = flags & CL_MAP_WRITE_INVALIDATE_REGION != 0;
    let both = invalidates && flags & (CL_MAP_READ | CL_MAP_WRITE) != 0;
    if svm_ptr.is_null() || size == 0 || flags & !known != 0 || both {
        return Err(CL_INVALID_VALUE);
    }
    // SAFETY: the caller keeps the contract.
    let enqueue =
        unsafe { Enqueue::new(command_queue, num_events_in_wait_list, event_wait_list, event)? };
    let (address, size) = (svm_ptr.addr() as u64, size as u64);
    let keep = kept(address, size)?;
    let writes = flags & (CL_MAP_WRITE | CL_MAP_WRITE_INVALIDATE_REGION) != 0;
    let work = move || {
        let _keep = keep;
        if writes {
            MAPPED.lock().push((address, size));
        }
        Ok(())
    };
    enqueue.blocking(blocking_map).push(CL_COMMAND_SVM_MAP, Box::new(work))
}

pub unsafe fn clEnqueueSVMUnmap(
    command_queue: cl_command_queue,
    svm_ptr: *mut c_void,
    num_events_in_wait_list: cl_uint,
    event_wait_list: *const cl_event,
    event: *mut cl_event,
) -> Result<()> {
    object::get::<Queue>(command_queue)?;
    if svm_ptr.is_null() {
        return Err(CL_INVALID_VALUE);
    }
    // SAFETY: the caller keeps the contract.
    let enqueue =
        unsafe { Enqueue::new(command_queue, num_events_in_wait_list, event_wait_list, event)? };
    let address = svm_ptr.addr() as u64;
    let work = move || {
        let mut mapped = MAPPED.lock();
        let at = mapped.iter().rposition(|(base, _)| *base == address);
        let range = at.map(|at| mapped.remove(at));
        drop(mapped);
        if let Some((base, size)) = range {
            told(base, None, size);
        }
        Ok(())
    };
    enqueue.push(CL_COMMAND_SVM_UNMAP, Box::new(work))
}

pub unsafe fn clEnqueueSVMMigrateMem(
    command_queue: cl_command_queue,
    num_svm_pointers: cl_uint,
    svm_pointers: *mut *const c_void,
    sizes: *const usize,
    flags: cl_mem_migration_flags,
    num_events_in_wait_list: cl_uint,
    event_wait_list: *const cl_event,
    event: *mut cl_event,
) -> Result<()> {
    object::get::<Queue>(command_queue)?;
    let count = num_svm_pointers as usize;
    // SAFETY: the caller keeps the contract.
    let (pointers, sizes) = unsafe { (list(svm_pointers.cast_const(), count), list(sizes, count)) };
    let pointers = pointers.unwrap_or_default();
    let known = CL_MIGRATE_MEM_OBJECT_HOST | CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED;
    if pointers.is_empty() || flags & !known != 0 {
        return Err(CL_INVALID_VALUE);
    }
    for (i, pointer) in pointers.iter().enumerate() {
        let address = pointer.addr() as u64;
        if kept(address, sizes.map_or(0, |s| s[i] as u64))?.is_none() {
            return Err(CL_INVALID_VALUE);
        }
    }
    // SAFETY: the caller keeps the contract.
    let enqueue =
        unsafe { Enqueue::new(command_queue, num_events_in_wait_list, event_wait_list, event)? };
    // Memory is where it is for every device.
    enqueue.push(CL_COMMAND_SVM_MIGRATE_MEM, Box::new(|| Ok(())))
}
