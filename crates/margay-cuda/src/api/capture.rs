// SPDX-License-Identifier: MIT OR Apache-2.0
//! Stream capture.

use std::cell::RefCell;
use std::ffi::c_uint;

use margay_runtime::capture::{self, Mode};
use margay_runtime::{CudaError, Handle, Result};

use super::graph::{find_graph, handles, no_edge_data};
use super::{give, healthy, offer, opaque, required, stream_of};
use crate::sys::*;

fn mode_of(mode: CUstreamCaptureMode) -> Result<Mode> {
    match mode {
        CU_STREAM_CAPTURE_MODE_GLOBAL => Ok(Mode::Global),
        CU_STREAM_CAPTURE_MODE_THREAD_LOCAL => Ok(Mode::ThreadLocal),
        CU_STREAM_CAPTURE_MODE_RELAXED => Ok(Mode::Relaxed),
        _ => Err(CudaError::InvalidValue),
    }
}

pub unsafe fn cuStreamBeginCapture_v2(stream: CUstream, mode: CUstreamCaptureMode) -> Result<()> {
    let context = healthy()?;
    let mode = mode_of(mode)?;
    stream_of(&context, stream)?.begin_capture(mode, None)
}

pub unsafe fn cuStreamBeginCaptureToGraph(
    stream: CUstream,
    graph: CUgraph,
    dependencies: *const CUgraphNode,
    edges: *const CUgraphEdgeData,
    count: usize,
    mode: CUstreamCaptureMode,
) -> Result<()> {
    let context = healthy()?;
    let mode = mode_of(mode)?;
    let graph = find_graph(graph)?;
    let dependencies = unsafe { handles(dependencies, count)? };
    unsafe { no_edge_data(edges, count)? };
    stream_of(&context, stream)?.begin_capture(mode, Some((graph, dependencies)))
}

pub unsafe fn cuStreamEndCapture(stream: CUstream, to: *mut CUgraph) -> Result<()> {
    let context = healthy()?;
    required(to)?;
    let graph = stream_of(&context, stream)?.end_capture();
    if graph.is_err() {
        unsafe { give(to, std::ptr::null_mut())? };
    }
    unsafe { give(to, opaque(graph?.handle)) }
}

pub unsafe fn cuThreadExchangeStreamCaptureMode(mode: *mut CUstreamCaptureMode) -> Result<()> {
    required(mode)?;
    // SAFETY: not null, and the program's.
    let wanted = mode_of(unsafe { mode.read_unaligned() })?;
    let before = match capture::exchange_mode(wanted) {
        Mode::Global => CU_STREAM_CAPTURE_MODE_GLOBAL,
        Mode::ThreadLocal => CU_STREAM_CAPTURE_MODE_THREAD_LOCAL,
        Mode::Relaxed => CU_STREAM_CAPTURE_MODE_RELAXED,
    };
    unsafe { give(mode, before) }
}

thread_local! {
    /// What the last query gave a pointer to.
    static LAST: RefCell<Vec<Handle>> = const { RefCell::new(Vec::new()) };
}

unsafe fn info(
    stream: CUstream,
    status: *mut CUstreamCaptureStatus,
    id: *mut cuuint64_t,
    graph: *mut CUgraph,
    dependencies: *mut *const CUgraphNode,
    count: *mut usize,
) -> Result<()> {
    let context = healthy()?;
    required(status)?;
    let Some(part) = stream_of(&context, stream)?.part() else {
        return unsafe { give(status, CU_STREAM_CAPTURE_STATUS_NONE) };
    };
    unsafe {
        if !part.capture.is_valid() {
            return give(status, CU_STREAM_CAPTURE_STATUS_INVALIDATED);
        }
        offer(id, part.capture.id);
        offer(graph, opaque(part.capture.graph.handle));
        offer(count, part.dependencies.len());
        LAST.with(|last| {
            let mut last = last.borrow_mut();
            last.clone_from(&part.dependencies);
            // Handles are pointers to the program.
            offer(dependencies, last.as_ptr().cast());
        });
        give(status, CU_STREAM_CAPTURE_STATUS_ACTIVE)
    }
}

pub unsafe fn cuStreamIsCapturing(
    stream: CUstream,
    status: *mut CUstreamCaptureStatus,
) -> Result<()> {
    use std::ptr::null_mut;
    unsafe { info(stream, status, null_mut(), null_mut(), null_mut(), null_mut()) }
}

pub unsafe fn cuStreamGetCaptureInfo(
    stream: CUstream,
    status: *mut CUstreamCaptureStatus,
    id: *mut cuuint64_t,
) -> Result<()> {
    use std::ptr::null_mut;
    unsafe { info(stream, status, id, null_mut(), null_mut(), null_mut()) }
}

pub unsafe fn cuStreamGetCaptureInfo_v2(
    stream: CUstream,
    status: *mut CUstreamCaptureStatus,
    id: *mut cuuint64_t,
    graph: *mut CUgraph,
    dependencies: *mut *const CUgraphNode,
    count: *mut usize,
) -> Result<()> {
    unsafe { info(stream, status, id, graph, dependencies, count) }
}

/// No edge has data of its own.
pub unsafe fn cuStreamGetCaptureInfo_v3(
    stream: CUstream,
    status: *mut CUstreamCaptureStatus,
    id: *mut cuuint64_t,
    graph: *mut CUgraph,
    dependencies: *mut *const CUgraphNode,
    edges: *mut *const CUgraphEdgeData,
    count: *mut usize,
) -> Result<()> {
    unsafe {
        offer(edges, std::ptr::null());
        info(stream, status, id, graph, dependencies, count)
    }
}

unsafe fn update(
    stream: CUstream,
    dependencies: *mut CUgraphNode,
    count: usize,
    flags: c_uint,
) -> Result<()> {
    let context = healthy()?;
    let add = match flags {
        CU_STREAM_ADD_CAPTURE_DEPENDENCIES => true,
        CU_STREAM_SET_CAPTURE_DEPENDENCIES => false,
        _ => return Err(CudaError::InvalidValue),
    };
    let nodes = unsafe { handles(dependencies, count)? };
    stream_of(&context, stream)?.set_dependencies(&nodes, add)
}

pub unsafe fn cuStreamUpdateCaptureDependencies(
    stream: CUstream,
    dependencies: *mut CUgraphNode,
    count: usize,
    flags: c_uint,
) -> Result<()> {
    unsafe { update(stream, dependencies, count, flags) }
}

pub unsafe fn cuStreamUpdateCaptureDependencies_v2(
    stream: CUstream,
    dependencies: *mut CUgraphNode,
    edges: *const CUgraphEdgeData,
    count: usize,
    flags: c_uint,
) -> Result<()> {
    unsafe {
        no_edge_data(edges, count)?;
        update(stream, dependencies, count, flags)
    }
}
