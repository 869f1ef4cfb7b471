// SPDX-License-Identifier: MIT OR Apache-2.0
//! Streams.

use std::ffi::{c_int, c_uint, c_ulonglong, c_void};

use margay_runtime::stream::StreamKind;
use margay_runtime::{CudaError, Result};

use super::launch::UserData;
use super::{give, handle, healthy, opaque, required, rt, stream_of};
use crate::sys::*;

pub unsafe fn cuStreamCreate(to: *mut CUstream, flags: c_uint) -> Result<()> {
    unsafe { cuStreamCreateWithPriority(to, flags, 0) }
}

pub unsafe fn cuStreamCreateWithPriority(
    to: *mut CUstream,
    flags: c_uint,
    priority: c_int,
) -> Result<()> {
    let context = healthy()?;
    required(to)?;
    let non_blocking = match flags {
        CU_STREAM_DEFAULT => false,
        CU_STREAM_NON_BLOCKING => true,
        _ => return Err(CudaError::InvalidValue),
    };
    unsafe { give(to, opaque(context.create_stream(non_blocking, priority).handle)) }
}

/// Work that is under way goes on.
pub unsafe fn cuStreamDestroy_v2(stream: CUstream) -> Result<()> {
    healthy()?;
    let gone = rt()?.streams.remove(handle(stream)).ok_or(CudaError::InvalidHandle)?;
    gone.leave_capture();
    Ok(())
}

pub unsafe fn cuStreamQuery(stream: CUstream) -> Result<()> {
    let context = healthy()?;
    let stream = stream_of(&context, stream)?;
    stream.forbid_capture()?;
    match stream.is_idle() {
        true => stream.owner()?.check(),
        false => Err(CudaError::NotReady),
    }
}

pub unsafe fn cuStreamSynchronize(stream: CUstream) -> Result<()> {
    let context = healthy()?;
    let stream = stream_of(&context, stream)?;
    stream.synchronize()
}

pub unsafe fn cuStreamWaitEvent(stream: CUstream, event: CUevent, flags: c_uint) -> Result<()> {
    let context = healthy()?;
    if flags & !CU_EVENT_WAIT_EXTERNAL != 0 {
        return Err(CudaError::InvalidValue);
    }
    let stream = stream_of(&context, stream)?;
    super::event::find(event)?.hold(&stream)
}

pub unsafe fn cuStreamAddCallback(
    stream: CUstream,
    call: CUstreamCallback,
    data: *mut c_void,
    flags: c_uint,
) -> Result<()> {
    let context = healthy()?;
    let found = stream_of(&context, stream)?;
    let call = call.ok_or(CudaError::InvalidValue)?;
    if flags != 0 {
        return Err(CudaError::InvalidValue);
    }
    let (data, named) = (UserData(data), UserData(stream.cast()));
    let run = move |state: Result<()>| {
        let (data, named) = (data, named);
        let status = state.map_or_else(|error| error.code(), |()| 0);
        // SAFETY: the program's function with the program's data, as the manual says.
        unsafe { call(named.0.cast(), status, data.0) };
    };
    found.owner()?.add_callback(&found, Box::new(run))
}

pub unsafe fn cuStreamGetPriority(stream: CUstream, priority: *mut c_int) -> Result<()> {
    let context = healthy()?;
    unsafe { give(priority, stream_of(&context, stream)?.priority) }
}

pub unsafe fn cuStreamGetFlags(stream: CUstream, flags: *mut c_uint) -> Result<()> {
    let context = healthy()?;
    let answer = match stream_of(&context, stream)?.kind {
        StreamKind::NonBlocking => CU_STREAM_NON_BLOCKING,
        StreamKind::Legacy | StreamKind::PerThread | StreamKind::Blocking => CU_STREAM_DEFAULT,
    };
    unsafe { give(flags, answer) }
}

pub unsafe fn cuStreamGetId(stream: CUstream, id: *mut c_ulonglong) -> Result<()> {
    let context = healthy()?;
    unsafe { give(id, stream_of(&context, stream)?.handle) }
}

pub unsafe fn cuStreamGetCtx(stream: CUstream, to: *mut CUcontext) -> Result<()> {
    let context = healthy()?;
    unsafe { give(to, opaque(stream_of(&context, stream)?.context)) }
}

pub unsafe fn cuStreamGetDevice(stream: CUstream, to: *mut CUdevice) -> Result<()> {
    let context = healthy()?;
    unsafe { give(to, stream_of(&context, stream)?.device as c_int) }
}

/// Managed memory is visible to all streams and the host at all times, whatever it is attached to.
pub unsafe fn cuStreamAttachMemAsync(
    stream: CUstream,
    address: CUdeviceptr,
    length: usize,
    flags: c_uint,
) -> Result<()> {
    let context = healthy()?;
    stream_of(&context, stream)?;
    if !matches!(flags, CU_MEM_ATTACH_GLOBAL | CU_MEM_ATTACH_HOST | CU_MEM_ATTACH_SINGLE) {
        return Err(CudaError::InvalidValue);
    }
    if flags == CU_MEM_ATTACH_SINGLE && handle(stream) == 0 {
        return Err(CudaError::InvalidValue);
    }
    let record = rt()?.managed_range(address, length.max(1) as u64)?;
    // All of an allocation, or 0 for all of it.
    match length == 0 || (record.base == address && record.size == length as u64) {
        true => Ok(()),
        false => Err(CudaError::InvalidValue),
    }
}

/// An attribute's value as bytes, so that any field can be kept.
union Value {
    whole: CUstreamAttrValue,
    bytes: [u8; 64],
}
const _: () = assert!(size_of::<CUstreamAttrValue>() == 64);

/// Hints are checked and kept; a priority is fixed when its stream is made.
pub unsafe fn cuStreamSetAttribute(
    stream: CUstream,
    attribute: CUstreamAttrID,
    value: *const CUstreamAttrValue,
) -> Result<()> {
    required(value)?;
    let context = healthy()?;
    let stream = stream_of(&context, stream)?;
    // SAFETY: not null, and the program's; the attribute says which field is set.
    unsafe {
        let whole = value.read_unaligned();
        let valid = match attribute {
            CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW => {
                let window = whole.accessPolicyWindow;
                let device = super::device(stream.device as c_int)?;
                let most = CU_DEVICE_ATTRIBUTE_MAX_ACCESS_POLICY_WINDOW_SIZE;
                let most = super::attribute::value(device, most)? as usize;
                (0.0..=1.0).contains(&window.hitRatio)
                    && window.num_bytes <= most
                    && window.hitProp <= CU_ACCESS_PROPERTY_PERSISTING
                    // Lines that miss cannot be kept.
                    && window.missProp <= CU_ACCESS_PROPERTY_STREAMING
            }
            CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY => {
                (CU_SYNC_POLICY_AUTO..=CU_SYNC_POLICY_BLOCKING_SYNC).contains(&whole.syncPolicy)
            }
            CU_LAUNCH_ATTRIBUTE_PRIORITY => whole.priority == stream.priority,
            CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN => {
                whole.memSyncDomain <= CU_LAUNCH_MEM_SYNC_DOMAIN_REMOTE
            }
            CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP => true,
            _ => false,
        };
        if !valid {
            return Err(CudaError::InvalidValue);
        }
        stream.attributes.lock().insert(attribute, Value { whole }.bytes);
    }
    Ok(())
}

pub unsafe fn cuStreamGetAttribute(
    stream: CUstream,
    attribute: CUstreamAttrID,
    to: *mut CUstreamAttrValue,
) -> Result<()> {
    required(to)?;
    let context = healthy()?;
    let stream = stream_of(&context, stream)?;
    let bytes = stream.attributes.lock().get(&attribute).copied().unwrap_or([0; 64]);
    // SAFETY: the union is of integers, floats and pointers: any bits are a value.
    let mut whole = unsafe { Value { bytes }.whole };
    match attribute {
        CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY => {
            // SAFETY: any bits are an integer.
            if unsafe { whole.syncPolicy } == 0 {
                whole.syncPolicy = CU_SYNC_POLICY_AUTO;
            }
        }
        CU_LAUNCH_ATTRIBUTE_PRIORITY => whole.priority = stream.priority,
        CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP
            if !stream.attributes.lock().contains_key(&attribute) =>
        {
            whole.memSyncDomainMap.remote = 1;
        }
        CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW
        | CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN
        | CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP => {}
        _ => return Err(CudaError::InvalidValue),
    }
    unsafe { give(to, whole) }
}

pub unsafe fn cuStreamCopyAttributes(to: CUstream, from: CUstream) -> Result<()> {
    let context = healthy()?;
    let (to, from) = (stream_of(&context, to)?, stream_of(&context, from)?);
    if to.handle != from.handle {
        let copied = from.attributes.lock().clone();
        *to.attributes.lock() = copied;
    }
    Ok(())
}
