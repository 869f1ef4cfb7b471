// SPDX-License-Identifier: MIT OR Apache-2.0
//! Graphs: their making, their edges, and executable graphs. What nodes do is in [`super::node`].
//!
//! Limit: edges have no data (programmatic launches), so that any gives CUDA_ERROR_NOT_SUPPORTED.

use std::ffi::{c_char, c_uint, c_ulonglong, c_void};
use std::sync::Arc;

use margay_runtime::device_runtime::Unfit;
use margay_runtime::graph::{Graph, GraphExec};
use margay_runtime::{CudaError, Handle, Result};

use super::launch::UserData;
use super::{device, give, handle, healthy, offer, opaque, required, rt, stream_of, text};
use crate::sys::*;

pub(super) fn find_graph(graph: CUgraph) -> Result<Arc<Graph>> {
    let rt = rt()?;
    rt.graphs.get(handle(graph)).ok_or(CudaError::InvalidValue)
}

pub(super) fn find_exec(exec: CUgraphExec) -> Result<Arc<GraphExec>> {
    rt()?.graph_execs.get(handle(exec)).ok_or(CudaError::InvalidValue)
}

/// The graph of a node, and the node's handle.
pub(super) fn find_node(node: CUgraphNode) -> Result<(Arc<Graph>, Handle)> {
    let node = handle(node);
    Ok((rt()?.node_graph(node)?, node))
}

/// A list of nodes.
///
/// # Safety
/// The program's array has `count` elements.
pub(super) unsafe fn handles(list: *const CUgraphNode, count: usize) -> Result<Vec<Handle>> {
    if count > 0 {
        required(list)?;
    }
    // SAFETY: as the caller says.
    Ok((0..count).map(|at| handle(unsafe { list.add(at).read() })).collect())
}

/// Only edges that are plain.
///
/// # Safety
/// Null, or an array of `count` elements.
pub(super) unsafe fn no_edge_data(edges: *const CUgraphEdgeData, count: usize) -> Result<()> {
    if edges.is_null() {
        return Ok(());
    }
    for at in 0..count {
        // SAFETY: as the caller says.
        let edge = unsafe { edges.add(at).read() };
        if (edge.from_port, edge.to_port, edge.type_) != (0, 0, 0) {
            return Err(CudaError::NotSupported);
        }
    }
    Ok(())
}

/// Answers with a list: without an array its length; else what fits, and nulls behind it.
unsafe fn list(to: *mut CUgraphNode, count: *mut usize, found: &[Handle]) -> Result<()> {
    required(count)?;
    // SAFETY: not null, and the program's; the array has as many elements as it says.
    unsafe {
        if !to.is_null() {
            let room = count.read();
            for at in 0..room {
                let node = found.get(at).map_or(std::ptr::null_mut(), |h| opaque(*h));
                to.add(at).write(node);
            }
        }
        count.write(found.len());
    }
    Ok(())
}

pub unsafe fn cuGraphCreate(to: *mut CUgraph, flags: c_uint) -> Result<()> {
    let rt = rt()?;
    required(to)?;
    if flags != 0 {
        return Err(CudaError::InvalidValue);
    }
    unsafe { give(to, opaque(rt.create_graph().handle)) }
}

/// A value for a conditional node, which kernels set by `cudaGraphSetConditional`.
pub unsafe fn cuGraphConditionalHandleCreate(
    to: *mut CUgraphConditionalHandle,
    graph: CUgraph,
    context: CUcontext,
    default: c_uint,
    flags: c_uint,
) -> Result<()> {
    let context = match context.is_null() {
        true => healthy()?,
        false => rt()?.context(handle(context))?,
    };
    required(to)?;
    if flags & !CU_GRAPH_COND_ASSIGN_DEFAULT != 0 {
        return Err(CudaError::InvalidValue);
    }
    let default = (flags & CU_GRAPH_COND_ASSIGN_DEFAULT != 0).then_some(default);
    let condition = context.create_condition(&*find_graph(graph)?, default)?;
    unsafe { give(to, condition.address) }
}

pub unsafe fn cuGraphDestroy(graph: CUgraph) -> Result<()> {
    rt()?.destroy_graph(handle(graph))
}

pub unsafe fn cuGraphClone(to: *mut CUgraph, graph: CUgraph) -> Result<()> {
    required(to)?;
    let copy = find_graph(graph)?.duplicate()?;
    unsafe { give(to, opaque(copy.handle)) }
}

pub unsafe fn cuGraphNodeFindInClone(
    to: *mut CUgraphNode,
    node: CUgraphNode,
    clone: CUgraph,
) -> Result<()> {
    required(to)?;
    let clone = find_graph(clone)?;
    let found = clone.nodes().into_iter().find(|n| n.original == handle(node));
    unsafe { give(to, opaque(found.ok_or(CudaError::InvalidValue)?.handle)) }
}

pub unsafe fn cuGraphGetId(graph: CUgraph, to: *mut c_uint) -> Result<()> {
    unsafe { give(to, find_graph(graph)?.id as c_uint) }
}

pub unsafe fn cuGraphGetNodes(
    graph: CUgraph,
    to: *mut CUgraphNode,
    count: *mut usize,
) -> Result<()> {
    let nodes: Vec<Handle> = find_graph(graph)?.nodes().iter().map(|n| n.handle).collect();
    unsafe { list(to, count, &nodes) }
}

pub unsafe fn cuGraphGetRootNodes(
    graph: CUgraph,
    to: *mut CUgraphNode,
    count: *mut usize,
) -> Result<()> {
    let nodes = find_graph(graph)?.nodes();
    let roots = nodes.iter().filter(|n| n.dependencies.is_empty());
    let roots: Vec<Handle> = roots.map(|n| n.handle).collect();
    unsafe { list(to, count, &roots) }
}

unsafe fn edges(
    graph: CUgraph,
    from: *mut CUgraphNode,
    to: *mut CUgraphNode,
    count: *mut usize,
) -> Result<()> {
    required(count)?;
    if from.is_null() != to.is_null() {
        return Err(CudaError::InvalidValue);
    }
    let nodes = find_graph(graph)?.nodes();
    let pairs = nodes.iter().flat_map(|n| n.dependencies.iter().map(|d| (*d, n.handle)));
    let (sources, targets): (Vec<Handle>, Vec<Handle>) = pairs.unzip();
    // SAFETY: not null; the arrays have as many elements as the count says.
    unsafe {
        let room = count.read();
        list(from, count, &sources)?;
        count.write(room);
        list(to, count, &targets)
    }
}

pub unsafe fn cuGraphGetEdges(
    graph: CUgraph,
    from: *mut CUgraphNode,
    to: *mut CUgraphNode,
    count: *mut usize,
) -> Result<()> {
    unsafe { edges(graph, from, to, count) }
}

/// Zeros for the data of edges, which have none.
unsafe fn plain_edges(to: *mut CUgraphEdgeData, room: usize) {
    if !to.is_null() {
        // SAFETY: the program's array has `room` elements; zeros are plain edges.
        unsafe { std::ptr::write_bytes(to, 0, room) };
    }
}

pub unsafe fn cuGraphGetEdges_v2(
    graph: CUgraph,
    from: *mut CUgraphNode,
    to: *mut CUgraphNode,
    data: *mut CUgraphEdgeData,
    count: *mut usize,
) -> Result<()> {
    required(count)?;
    unsafe {
        plain_edges(data, count.read());
        edges(graph, from, to, count)
    }
}

unsafe fn dependencies(node: CUgraphNode, to: *mut CUgraphNode, count: *mut usize) -> Result<()> {
    let (graph, node) = find_node(node)?;
    unsafe { list(to, count, &graph.node(node)?.dependencies) }
}

pub unsafe fn cuGraphNodeGetDependencies(
    node: CUgraphNode,
    to: *mut CUgraphNode,
    count: *mut usize,
) -> Result<()> {
    unsafe { dependencies(node, to, count) }
}

pub unsafe fn cuGraphNodeGetDependencies_v2(
    node: CUgraphNode,
    to: *mut CUgraphNode,
    data: *mut CUgraphEdgeData,
    count: *mut usize,
) -> Result<()> {
    required(count)?;
    unsafe {
        plain_edges(data, count.read());
        dependencies(node, to, count)
    }
}

unsafe fn dependents(node: CUgraphNode, to: *mut CUgraphNode, count: *mut usize) -> Result<()> {
    let (graph, node) = find_node(node)?;
    let nodes = graph.nodes();
    let after = nodes.iter().filter(|n| n.dependencies.contains(&node));
    let after: Vec<Handle> = after.map(|n| n.handle).collect();
    unsafe { list(to, count, &after) }
}

pub unsafe fn cuGraphNodeGetDependentNodes(
    node: CUgraphNode,
    to: *mut CUgraphNode,
    count: *mut usize,
) -> Result<()> {
    unsafe { dependents(node, to, count) }
}

pub unsafe fn cuGraphNodeGetDependentNodes_v2(
    node: CUgraphNode,
    to: *mut CUgraphNode,
    data: *mut CUgraphEdgeData,
    count: *mut usize,
) -> Result<()> {
    required(count)?;
    unsafe {
        plain_edges(data, count.read());
        dependents(node, to, count)
    }
}

unsafe fn pairs(
    from: *const CUgraphNode,
    to: *const CUgraphNode,
    count: usize,
) -> Result<Vec<(Handle, Handle)>> {
    let (from, to) = unsafe { (handles(from, count)?, handles(to, count)?) };
    Ok(from.into_iter().zip(to).collect())
}

pub unsafe fn cuGraphAddDependencies(
    graph: CUgraph,
    from: *const CUgraphNode,
    to: *const CUgraphNode,
    count: usize,
) -> Result<()> {
    find_graph(graph)?.connect(&unsafe { pairs(from, to, count)? })
}

pub unsafe fn cuGraphAddDependencies_v2(
    graph: CUgraph,
    from: *const CUgraphNode,
    to: *const CUgraphNode,
    data: *const CUgraphEdgeData,
    count: usize,
) -> Result<()> {
    unsafe { no_edge_data(data, count)? };
    find_graph(graph)?.connect(&unsafe { pairs(from, to, count)? })
}

pub unsafe fn cuGraphRemoveDependencies(
    graph: CUgraph,
    from: *const CUgraphNode,
    to: *const CUgraphNode,
    count: usize,
) -> Result<()> {
    find_graph(graph)?.disconnect(&unsafe { pairs(from, to, count)? })
}

pub unsafe fn cuGraphRemoveDependencies_v2(
    graph: CUgraph,
    from: *const CUgraphNode,
    to: *const CUgraphNode,
    data: *const CUgraphEdgeData,
    count: usize,
) -> Result<()> {
    unsafe { no_edge_data(data, count)? };
    find_graph(graph)?.disconnect(&unsafe { pairs(from, to, count)? })
}

pub unsafe fn cuGraphDestroyNode(node: CUgraphNode) -> Result<()> {
    let (graph, node) = find_node(node)?;
    graph.remove(node)
}

pub unsafe fn cuGraphNodeGetType(node: CUgraphNode, to: *mut CUgraphNodeType) -> Result<()> {
    let (graph, node) = find_node(node)?;
    unsafe { give(to, graph.node(node)?.work.kind() as u32) }
}

pub unsafe fn cuGraphNodeGetContainingGraph(node: CUgraphNode, to: *mut CUgraph) -> Result<()> {
    let (graph, _) = find_node(node)?;
    unsafe { give(to, opaque(graph.handle)) }
}

/// Nodes are counted from 1 in the order in which they were added.
pub unsafe fn cuGraphNodeGetLocalId(node: CUgraphNode, to: *mut c_uint) -> Result<()> {
    let (graph, node) = find_node(node)?;
    let at = graph.nodes().iter().position(|n| n.handle == node);
    unsafe { give(to, at.ok_or(CudaError::InvalidValue)? as c_uint + 1) }
}

pub unsafe fn cuGraphNodeGetToolsId(node: CUgraphNode, to: *mut c_ulonglong) -> Result<()> {
    let (_, node) = find_node(node)?;
    unsafe { give(to, node) }
}

/// Flags that an instantiation takes: freeing memory at launch, uploading, launching from the device
/// (which is not there), priorities of nodes (which change nothing).
fn instantiate(graph: CUgraph, flags: u64) -> Result<Arc<GraphExec>> {
    let context = healthy()?;
    let device_launch = u64::from(CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH);
    let known = CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH
        | CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD
        | CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY;
    if flags & !(u64::from(known) | device_launch) != 0 {
        return Err(CudaError::InvalidValue);
    }
    context.instantiate(&*find_graph(graph)?, flags)
}

pub unsafe fn cuGraphInstantiateWithFlags(
    to: *mut CUgraphExec,
    graph: CUgraph,
    flags: c_ulonglong,
) -> Result<()> {
    required(to)?;
    // An upload needs the stream that only `cuGraphInstantiateWithParams` has.
    let both = CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD | CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH;
    if flags & u64::from(both) == u64::from(both) {
        return Err(CudaError::InvalidValue);
    }
    unsafe { give(to, opaque(instantiate(graph, flags)?.handle)) }
}

pub unsafe fn cuGraphInstantiate_v2(
    to: *mut CUgraphExec,
    graph: CUgraph,
    node: *mut CUgraphNode,
    log: *mut c_char,
    room: usize,
) -> Result<()> {
    required(to)?;
    // SAFETY: the program's; the log has `room` bytes.
    unsafe {
        offer(node, std::ptr::null_mut());
        if room > 0 {
            offer(log, 0);
        }
        give(to, opaque(instantiate(graph, 0)?.handle))
    }
}

pub unsafe fn cuGraphInstantiateWithParams(
    to: *mut CUgraphExec,
    graph: CUgraph,
    params: *mut CUDA_GRAPH_INSTANTIATE_PARAMS,
) -> Result<()> {
    required(to)?;
    required(params)?;
    // SAFETY: not null, and the program's.
    unsafe {
        (*params).hErrNode_out = std::ptr::null_mut();
        let device_launch = u64::from(CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH);
        let unfit = match (*params).flags & device_launch != 0 {
            true => healthy()?.unfit_for_device(&*find_graph(graph)?).unwrap_or(None),
            false => None,
        };
        if let Some((node, why)) = unfit {
            (*params).hErrNode_out = opaque(node);
            (*params).result_out = match why {
                Unfit::NodeOperation => CUDA_GRAPH_INSTANTIATE_NODE_OPERATION_NOT_SUPPORTED,
                Unfit::SeveralContexts => CUDA_GRAPH_INSTANTIATE_MULTIPLE_CTXS_NOT_SUPPORTED,
            };
            return Err(CudaError::InvalidValue);
        }
        match instantiate(graph, (*params).flags) {
            Ok(exec) => {
                (*params).result_out = CUDA_GRAPH_INSTANTIATE_SUCCESS;
                give(to, opaque(exec.handle))
            }
            Err(error) => {
                (*params).result_out = match error {
                    // Also a graph for device launch that is empty.
                    CudaError::InvalidValue if (*params).flags & device_launch == 0 => {
                        CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE
                    }
                    _ => CUDA_GRAPH_INSTANTIATE_ERROR,
                };
                Err(error)
            }
        }
    }
}

pub unsafe fn cuGraphExecDestroy(exec: CUgraphExec) -> Result<()> {
    rt()?.destroy_exec(handle(exec))
}

pub unsafe fn cuGraphExecGetFlags(exec: CUgraphExec, to: *mut cuuint64_t) -> Result<()> {
    unsafe { give(to, find_exec(exec)?.flags) }
}

pub unsafe fn cuGraphExecGetId(exec: CUgraphExec, to: *mut c_uint) -> Result<()> {
    unsafe { give(to, find_exec(exec)?.id as c_uint) }
}

pub unsafe fn cuGraphLaunch(exec: CUgraphExec, stream: CUstream) -> Result<()> {
    let context = healthy()?;
    find_exec(exec)?.launch(&stream_of(&context, stream)?)
}

/// What device code launches is what was uploaded last; for other graphs there is nothing to bring to the device.
pub unsafe fn cuGraphUpload(exec: CUgraphExec, stream: CUstream) -> Result<()> {
    let context = healthy()?;
    stream_of(&context, stream)?;
    find_exec(exec)?.upload()
}

pub unsafe fn cuGraphExecUpdate_v2(
    exec: CUgraphExec,
    graph: CUgraph,
    info: *mut CUgraphExecUpdateResultInfo,
) -> Result<()> {
    healthy()?;
    required(info)?;
    let outcome = find_exec(exec)?.update(&*find_graph(graph)?);
    let (result, node, from) = match &outcome {
        Ok(()) => (CU_GRAPH_EXEC_UPDATE_SUCCESS, 0, 0),
        Err(refusal) => (refusal.result, refusal.node, refusal.from),
    };
    let answer = CUgraphExecUpdateResultInfo {
        result,
        errorNode: opaque(node),
        errorFromNode: opaque(from),
    };
    unsafe { give(info, answer)? };
    outcome.map_err(|_| CudaError::GraphExecUpdateFailure)
}

pub unsafe fn cuGraphExecUpdate(
    exec: CUgraphExec,
    graph: CUgraph,
    node: *mut CUgraphNode,
    result: *mut CUgraphExecUpdateResult,
) -> Result<()> {
    let mut info = CUgraphExecUpdateResultInfo {
        result: 0,
        errorNode: std::ptr::null_mut(),
        errorFromNode: std::ptr::null_mut(),
    };
    unsafe {
        let outcome = cuGraphExecUpdate_v2(exec, graph, &mut info);
        offer(node, info.errorNode);
        offer(result, info.result);
        outcome
    }
}

pub unsafe fn cuGraphNodeSetEnabled(
    exec: CUgraphExec,
    node: CUgraphNode,
    on: c_uint,
) -> Result<()> {
    find_exec(exec)?.set_enabled(handle(node), on != 0)
}

pub unsafe fn cuGraphNodeGetEnabled(
    exec: CUgraphExec,
    node: CUgraphNode,
    to: *mut c_uint,
) -> Result<()> {
    unsafe { give(to, c_uint::from(find_exec(exec)?.is_enabled(handle(node))?)) }
}

/// A drawing for Graphviz: a box a node, an arrow an edge.
pub unsafe fn cuGraphDebugDotPrint(
    graph: CUgraph,
    path: *const c_char,
    _flags: c_uint,
) -> Result<()> {
    let graph = find_graph(graph)?;
    let path = unsafe { text(path)? };
    let nodes = graph.nodes();
    let mut out = format!("digraph graph_{} {{\n", graph.id);
    let number = |handle: &Handle| nodes.iter().position(|n| n.handle == *handle).unwrap_or(0);
    for node in &nodes {
        let name = match &node.work {
            margay_runtime::graph::NodeWork::Kernel { function, request } => {
                format!("{}\\n{:?} x {:?}", function.code().name, request.grid, request.block)
            }
            other => format!("{:?}", other.kind()),
        };
        out += &format!("  node_{} [shape=box, label=\"{name}\"];\n", number(&node.handle));
    }
    for node in &nodes {
        for from in &node.dependencies {
            out += &format!("  node_{} -> node_{};\n", number(from), number(&node.handle));
        }
    }
    out += "}\n";
    std::fs::write(path, out).map_err(|_| CudaError::OperatingSystem)
}

pub unsafe fn cuUserObjectCreate(
    to: *mut CUuserObject,
    data: *mut c_void,
    destroy: CUhostFn,
    count: c_uint,
    flags: c_uint,
) -> Result<()> {
    required(to)?;
    let destroy = destroy.ok_or(CudaError::InvalidValue)?;
    // The only flag says that the destructor does not wait, which none does; it must be set.
    if count == 0 || flags != CU_USER_OBJECT_NO_DESTRUCTOR_SYNC {
        return Err(CudaError::InvalidValue);
    }
    let data = UserData(data);
    let call = move || {
        let data = data;
        // SAFETY: the program's function with the program's data, as the manual says.
        unsafe { destroy(data.0) };
    };
    unsafe { give(to, opaque(rt()?.create_object(count.into(), Box::new(call)))) }
}

pub unsafe fn cuUserObjectRetain(object: CUuserObject, count: c_uint) -> Result<()> {
    if count == 0 {
        return Err(CudaError::InvalidValue);
    }
    rt()?.retain_object(handle(object), count.into())
}

pub unsafe fn cuUserObjectRelease(object: CUuserObject, count: c_uint) -> Result<()> {
    if count == 0 {
        return Err(CudaError::InvalidValue);
    }
    rt()?.release_object(handle(object), count.into())
}

pub unsafe fn cuGraphRetainUserObject(
    graph: CUgraph,
    object: CUuserObject,
    count: c_uint,
    flags: c_uint,
) -> Result<()> {
    let graph = find_graph(graph)?;
    if count == 0 || flags & !CU_GRAPH_USER_OBJECT_MOVE != 0 {
        return Err(CudaError::InvalidValue);
    }
    // With the flag the caller's references become the graph's.
    if flags & CU_GRAPH_USER_OBJECT_MOVE == 0 {
        rt()?.retain_object(handle(object), count.into())?;
    }
    graph.retain(handle(object), count.into());
    Ok(())
}

pub unsafe fn cuGraphReleaseUserObject(
    graph: CUgraph,
    object: CUuserObject,
    count: c_uint,
) -> Result<()> {
    find_graph(graph)?.release(handle(object), count.into())
}

pub unsafe fn cuDeviceGraphMemTrim(dev: CUdevice) -> Result<()> {
    let ordinal = device(dev)?.ordinal;
    rt()?.trim_graph_memory(ordinal);
    Ok(())
}

/// Highest values are those of now: graphs set their memory aside when they are made.
pub unsafe fn cuDeviceGetGraphMemAttribute(
    dev: CUdevice,
    attribute: CUgraphMem_attribute,
    value: *mut c_void,
) -> Result<()> {
    let ordinal = device(dev)?.ordinal;
    required(value)?;
    let (used, reserved) = rt()?.graph_memory_bytes(ordinal);
    let answer = match attribute {
        CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT | CU_GRAPH_MEM_ATTR_USED_MEM_HIGH => used,
        CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT | CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH => reserved,
        _ => return Err(CudaError::InvalidValue),
    };
    unsafe { give(value.cast(), answer) }
}

/// Only the highest values can be set, and only to 0.
pub unsafe fn cuDeviceSetGraphMemAttribute(
    dev: CUdevice,
    attribute: CUgraphMem_attribute,
    value: *mut c_void,
) -> Result<()> {
    device(dev)?;
    required(value)?;
    // SAFETY: the manual has a 64-bit integer here.
    let wanted = unsafe { value.cast::<u64>().read_unaligned() };
    match attribute {
        CU_GRAPH_MEM_ATTR_USED_MEM_HIGH | CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH if wanted == 0 => {
            Ok(())
        }
        _ => Err(CudaError::InvalidValue),
    }
}
