// SPDX-License-Identifier: MIT OR Apache-2.0
//! Buffers.

use std::ffi::c_void;

use margay_runtime::{Promise, Wanted};
use opencl_sys::*;

use super::device::most_allocation;
use crate::Result;
use crate::answer::Answer;
use crate::context::{Context, UserData};
use crate::device::platform;
use crate::memory::{self, ALIGNMENT, Mem, Storage, Svm};
use crate::object::{self, Object};
use crate::transfer::Copy;

pub const KERNEL_ACCESS: cl_mem_flags = CL_MEM_READ_WRITE | CL_MEM_WRITE_ONLY | CL_MEM_READ_ONLY;
pub const HOST_POINTER: cl_mem_flags =
    CL_MEM_USE_HOST_PTR | CL_MEM_ALLOC_HOST_PTR | CL_MEM_COPY_HOST_PTR;
pub const HOST_ACCESS: cl_mem_flags =
    CL_MEM_HOST_WRITE_ONLY | CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_NO_ACCESS;

/// Whether flags contradict each other.
pub fn check_flags(flags: cl_mem_flags) -> Result<()> {
    let one_of = |group: cl_mem_flags| (flags & group).count_ones() <= 1;
    let known = KERNEL_ACCESS | HOST_POINTER | HOST_ACCESS;
    let pinned = flags & CL_MEM_USE_HOST_PTR != 0
        && flags & (CL_MEM_ALLOC_HOST_PTR | CL_MEM_COPY_HOST_PTR) != 0;
    match flags & !known == 0 && one_of(KERNEL_ACCESS) && one_of(HOST_ACCESS) && !pinned {
        true => Ok(()),
        false => Err(CL_INVALID_VALUE),
    }
}

/// Whether an object over another's memory asks for what that one denies (sub-buffers, and images over memory).
pub fn check_inherited(parent: cl_mem_flags, flags: cl_mem_flags) -> Result<()> {
    let denied = match (parent & KERNEL_ACCESS, flags & KERNEL_ACCESS) {
        (CL_MEM_WRITE_ONLY, wanted) => wanted & (CL_MEM_READ_WRITE | CL_MEM_READ_ONLY) != 0,
        (CL_MEM_READ_ONLY, wanted) => wanted & (CL_MEM_READ_WRITE | CL_MEM_WRITE_ONLY) != 0,
        _ => false,
    };
    let host_denied = match (parent & HOST_ACCESS, flags & HOST_ACCESS) {
        (_, 0) | (0, _) => false,
        (CL_MEM_HOST_NO_ACCESS, wanted) => wanted != CL_MEM_HOST_NO_ACCESS,
        (CL_MEM_HOST_WRITE_ONLY, wanted) => wanted == CL_MEM_HOST_READ_ONLY,
        (_, wanted) => wanted == CL_MEM_HOST_WRITE_ONLY,
    };
    match denied || host_denied || flags & HOST_POINTER != 0 {
        true => Err(CL_INVALID_VALUE),
        false => Ok(()),
    }
}

/// Memory for an object, with the program's bytes if it gave some.
///
/// # Safety
/// `host_ptr` is null or has `size` bytes.
unsafe fn storage(
    context: &Context,
    flags: cl_mem_flags,
    size: usize,
    host_ptr: *mut c_void,
) -> Result<Storage> {
    let wants = flags & (CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR) != 0;
    if wants == host_ptr.is_null() {
        return Err(CL_INVALID_HOST_PTR);
    }
    let most = context.devices.iter().map(|d| most_allocation(d)).max().unwrap_or(0);
    if size == 0 || size as u64 > most {
        return Err(CL_INVALID_BUFFER_SIZE);
    }
    let storage = Storage::new(context, size as u64, ALIGNMENT, "clCreateBuffer")?;
    if wants {
        let copy = Copy { from: host_ptr.expose_provenance() as u64, to: storage.address };
        // SAFETY: the program promises its side; the other is new.
        unsafe { copy.bytes(size as u64) };
    }
    Ok(storage)
}

pub unsafe fn clCreateBuffer(
    context: cl_context,
    flags: cl_mem_flags,
    size: usize,
    host_ptr: *mut c_void,
) -> Result<cl_mem> {
    // SAFETY: the caller keeps the contract.
    unsafe { clCreateBufferWithProperties(context, std::ptr::null(), flags, size, host_ptr) }
}

pub unsafe fn clCreateBufferWithProperties(
    context: cl_context,
    properties: *const cl_mem_properties,
    flags: cl_mem_flags,
    size: usize,
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
    check_flags(flags)?;
    let kept = if flags & KERNEL_ACCESS == 0 { flags | CL_MEM_READ_WRITE } else { flags };
    let host = host_ptr.addr();
    let from_host = flags & (CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR) != 0;
    let shared = if from_host { Svm::find(host as u64) } else { None };
    if let Some(Svm { storage }) = &shared {
        let end = (host as u64 - storage.address).saturating_add(size as u64);
        if size == 0 || end > storage.size {
            return Err(CL_INVALID_BUFFER_SIZE);
        }
    }
    // SVM memory as a buffer is the same memory.
    if let Some(Svm { storage }) = shared.filter(|_| flags & CL_MEM_USE_HOST_PTR != 0) {
        let build = |id| {
            let at = host as u64 - storage.address;
            let mut mem = Mem::buffer(id, context, kept, storage, size as u64, host, listed);
            mem.offset_in_storage = at;
            mem
        };
        return Ok(object::publish(build).handle());
    }
    // SAFETY: the caller keeps the contract.
    let storage = unsafe { storage(&context, flags, size, host_ptr)? };
    match kept & KERNEL_ACCESS {
        CL_MEM_READ_ONLY => context.memory().promise(storage.address, Promise::ReadOnly),
        CL_MEM_WRITE_ONLY => context.memory().promise(storage.address, Promise::WriteOnly),
        _ => {}
    }
    let build = |id| Mem::buffer(id, context, kept, storage, size as u64, host, listed);
    Ok(object::publish(build).handle())
}

pub unsafe fn clCreateSubBuffer(
    buffer: cl_mem,
    flags: cl_mem_flags,
    buffer_create_type: cl_buffer_create_type,
    buffer_create_info: *const c_void,
) -> Result<cl_mem> {
    let parent = memory::used(buffer)?;
    if parent.parent.is_some() || parent.image.is_some() {
        return Err(CL_INVALID_MEM_OBJECT);
    }
    check_flags(flags)?;
    check_inherited(parent.flags, flags)?;
    if buffer_create_type != CL_BUFFER_CREATE_TYPE_REGION {
        return Err(CL_INVALID_VALUE);
    }
    // SAFETY: null, or a region, which this type of creation says.
    let region = unsafe { buffer_create_info.cast::<cl_buffer_region>().as_ref() };
    let region = region.ok_or(CL_INVALID_VALUE)?;
    let (origin, size) = (region.origin as u64, region.size as u64);
    if size == 0 {
        return Err(CL_INVALID_BUFFER_SIZE);
    }
    if !parent.holds(origin, size) {
        return Err(CL_INVALID_VALUE);
    }
    if !origin.is_multiple_of(ALIGNMENT) {
        return Err(CL_MISALIGNED_SUB_BUFFER_OFFSET);
    }
    // What is not said is the parent's.
    let mut inherited = flags | parent.flags & HOST_POINTER;
    for group in [KERNEL_ACCESS, HOST_ACCESS] {
        if flags & group == 0 {
            inherited |= parent.flags & group;
        }
    }
    Ok(object::publish(|id| Mem::part(id, &parent, inherited, origin, size)).handle())
}

pub unsafe fn clRetainMemObject(memobj: cl_mem) -> Result<()> {
    object::retain::<Mem>(memobj)
}

pub unsafe fn clReleaseMemObject(memobj: cl_mem) -> Result<()> {
    let released = object::release::<Mem>(memobj);
    if released.is_err()
        && let Some(platform) = platform()
        && let Some(address) = memory::released(memobj)
    {
        platform.runtime.observed_refusal(Wanted::Free, address, 0);
    }
    released
}

pub unsafe fn clSetMemObjectDestructorCallback(
    memobj: cl_mem,
    pfn_notify: Option<unsafe extern "C" fn(cl_mem, *mut c_void)>,
    user_data: *mut c_void,
) -> Result<()> {
    let mem = memory::used(memobj)?;
    let call = pfn_notify.ok_or(CL_INVALID_VALUE)?;
    mem.destructors.lock().push((call, UserData(user_data)));
    Ok(())
}

pub unsafe fn clGetMemObjectInfo(
    memobj: cl_mem,
    param_name: cl_mem_info,
    param_value_size: usize,
    param_value: *mut c_void,
    param_value_size_ret: *mut usize,
) -> Result<()> {
    let mem = memory::used(memobj)?;
    let answer =
        Answer { size: param_value_size, value: param_value, size_ret: param_value_size_ret };
    match param_name {
        CL_MEM_TYPE => answer.value(mem.kind()),
        CL_MEM_FLAGS => answer.value(mem.flags),
        CL_MEM_SIZE => answer.value(mem.size as usize),
        CL_MEM_HOST_PTR => answer.value(mem.host_pointer),
        CL_MEM_MAP_COUNT => answer.value(mem.maps.lock().len() as cl_uint),
        CL_MEM_REFERENCE_COUNT => answer.value(object::references(&*mem)),
        CL_MEM_CONTEXT => answer.value(mem.context.handle()),
        CL_MEM_ASSOCIATED_MEMOBJECT => {
            answer.value(mem.parent.as_ref().map_or(std::ptr::null_mut(), |p| p.handle()))
        }
        CL_MEM_OFFSET => answer.value(mem.offset as usize),
        CL_MEM_USES_SVM_POINTER => {
            answer.flag(mem.host_pointer != 0 && Svm::find(mem.host_pointer as u64).is_some())
        }
        CL_MEM_PROPERTIES => answer.slice(&mem.properties),
        _ => Err(CL_INVALID_VALUE),
    }
}
