// SPDX-License-Identifier: MIT OR Apache-2.0
//! Events.

use std::ffi::c_uint;
use std::sync::Arc;

use margay_runtime::event::Event;
use margay_runtime::{Context, CudaError, Result};

use super::{give, handle, healthy, opaque, required, rt, rt_outside_callback, stream_of};
use crate::sys::*;

pub fn find(event: CUevent) -> Result<Arc<Event>> {
    rt()?.events.get(handle(event)).ok_or(CudaError::InvalidHandle)
}

pub unsafe fn cuEventCreate(to: *mut CUevent, flags: c_uint) -> Result<()> {
    let context = healthy()?;
    required(to)?;
    let known = CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS;
    if flags & !known != 0 {
        return Err(CudaError::InvalidValue);
    }
    let timing = flags & CU_EVENT_DISABLE_TIMING == 0;
    if flags & CU_EVENT_INTERPROCESS != 0 && timing {
        // Such events have no timing.
        return Err(CudaError::InvalidValue);
    }
    let event = match flags & CU_EVENT_INTERPROCESS != 0 {
        true => context.create_shared_event()?,
        false => context.create_event(timing),
    };
    unsafe { give(to, opaque(event.handle)) }
}

/// The event stands for all work of the context that was asked for so far.
pub unsafe fn cuCtxRecordEvent(context: CUcontext, event: CUevent) -> Result<()> {
    let context = context_of(context)?;
    let event = find(event)?;
    if event.context != context.handle {
        return Err(CudaError::InvalidHandle);
    }
    event.record_all(&context)
}

/// All later work of the context starts after the event.
pub unsafe fn cuCtxWaitEvent(context: CUcontext, event: CUevent) -> Result<()> {
    let context = context_of(context)?;
    find(event)?.hold_all(&context)
}

fn context_of(context: CUcontext) -> Result<Arc<Context>> {
    let context = rt_outside_callback()?.context(handle(context))?;
    context.check()?;
    Ok(context)
}

pub unsafe fn cuEventRecord(event: CUevent, stream: CUstream) -> Result<()> {
    let context = healthy()?;
    let event = find(event)?;
    event.record(&*stream_of(&context, stream)?)
}

pub unsafe fn cuEventRecordWithFlags(
    event: CUevent,
    stream: CUstream,
    flags: c_uint,
) -> Result<()> {
    if flags & !CU_EVENT_RECORD_EXTERNAL != 0 {
        return Err(CudaError::InvalidValue);
    }
    unsafe { cuEventRecord(event, stream) }
}

pub unsafe fn cuEventQuery(event: CUevent) -> Result<()> {
    healthy()?;
    find(event)?.query()
}

pub unsafe fn cuEventSynchronize(event: CUevent) -> Result<()> {
    healthy()?;
    find(event)?.synchronize()
}

pub unsafe fn cuEventDestroy_v2(event: CUevent) -> Result<()> {
    healthy()?;
    rt()?.events.remove(handle(event)).map(drop).ok_or(CudaError::InvalidHandle)
}

pub unsafe fn cuEventElapsedTime(to: *mut f32, start: CUevent, end: CUevent) -> Result<()> {
    healthy()?;
    required(to)?;
    unsafe { give(to, find(start)?.elapsed_to(&*find(end)?)?) }
}

pub unsafe fn cuEventElapsedTime_v2(to: *mut f32, start: CUevent, end: CUevent) -> Result<()> {
    unsafe { cuEventElapsedTime(to, start, end) }
}
