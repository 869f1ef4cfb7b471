// SPDX-License-Identifier: MIT OR Apache-2.0
//! Graphs and stream capture: calls of libcuda with the same handles.
//!
//! The structures of memset, host and allocation nodes are laid out as the driver's; those of kernel and
//! copy nodes are in [`super::node`].

use std::ffi::{c_char, c_int, c_uint, c_ulonglong, c_void};

use crate::context::ensure;
use crate::cu;
use crate::error::{Result, check};
use crate::sys::*;

pub unsafe fn cudaGraphCreate(to: *mut cudaGraph_t, flags: c_uint) -> Result<()> {
    ensure()?;
    check(cu::cuGraphCreate(to.cast(), flags))
}

pub unsafe fn cudaGraphConditionalHandleCreate(
    to: *mut cudaGraphConditionalHandle,
    graph: cudaGraph_t,
    default: c_uint,
    flags: c_uint,
) -> Result<()> {
    let context = ensure()?;
    check(cu::cuGraphConditionalHandleCreate(to, graph.cast(), context, default, flags))
}

pub unsafe fn cudaGraphDestroy(graph: cudaGraph_t) -> Result<()> {
    ensure()?;
    check(cu::cuGraphDestroy(graph.cast()))
}

pub unsafe fn cudaGraphClone(to: *mut cudaGraph_t, original_graph: cudaGraph_t) -> Result<()> {
    ensure()?;
    check(cu::cuGraphClone(to.cast(), original_graph.cast()))
}

pub unsafe fn cudaGraphNodeFindInClone(
    to: *mut cudaGraphNode_t,
    original_node: cudaGraphNode_t,
    cloned_graph: cudaGraph_t,
) -> Result<()> {
    ensure()?;
    check(cu::cuGraphNodeFindInClone(to.cast(), original_node.cast(), cloned_graph.cast()))
}

pub unsafe fn cudaGraphGetNodes(
    graph: cudaGraph_t,
    nodes: *mut cudaGraphNode_t,
    count: *mut usize,
) -> Result<()> {
    ensure()?;
    check(cu::cuGraphGetNodes(graph.cast(), nodes.cast(), count))
}

pub unsafe fn cudaGraphGetRootNodes(
    graph: cudaGraph_t,
    nodes: *mut cudaGraphNode_t,
    count: *mut usize,
) -> Result<()> {
    ensure()?;
    check(cu::cuGraphGetRootNodes(graph.cast(), nodes.cast(), count))
}

pub unsafe fn cudaGraphDestroyNode(node: cudaGraphNode_t) -> Result<()> {
    ensure()?;
    check(cu::cuGraphDestroyNode(node.cast()))
}

pub unsafe fn cudaGraphNodeGetType(
    node: cudaGraphNode_t,
    to: *mut cudaGraphNodeType,
) -> Result<()> {
    ensure()?;
    check(cu::cuGraphNodeGetType(node.cast(), to))
}

pub unsafe fn cudaGraphInstantiateWithFlags(
    to: *mut cudaGraphExec_t,
    graph: cudaGraph_t,
    flags: c_ulonglong,
) -> Result<()> {
    ensure()?;
    check(cu::cuGraphInstantiateWithFlags(to.cast(), graph.cast(), flags))
}

pub unsafe fn cudaGraphInstantiate(
    to: *mut cudaGraphExec_t,
    graph: cudaGraph_t,
    flags: c_ulonglong,
) -> Result<()> {
    ensure()?;
    check(cu::cuGraphInstantiateWithFlags(to.cast(), graph.cast(), flags))
}

pub unsafe fn cudaGraphInstantiateWithParams(
    to: *mut cudaGraphExec_t,
    graph: cudaGraph_t,
    instantiate_params: *mut cudaGraphInstantiateParams,
) -> Result<()> {
    ensure()?;
    check(cu::cuGraphInstantiateWithParams(to.cast(), graph.cast(), instantiate_params.cast()))
}

pub unsafe fn cudaGraphExecDestroy(exec: cudaGraphExec_t) -> Result<()> {
    ensure()?;
    check(cu::cuGraphExecDestroy(exec.cast()))
}

pub unsafe fn cudaGraphExecGetFlags(exec: cudaGraphExec_t, flags: *mut c_ulonglong) -> Result<()> {
    ensure()?;
    check(cu::cuGraphExecGetFlags(exec.cast(), flags))
}

pub unsafe fn cudaGraphLaunch(exec: cudaGraphExec_t, stream: cudaStream_t) -> Result<()> {
    ensure()?;
    check(cu::cuGraphLaunch(exec.cast(), stream.cast()))
}

pub unsafe fn cudaGraphUpload(exec: cudaGraphExec_t, stream: cudaStream_t) -> Result<()> {
    ensure()?;
    check(cu::cuGraphUpload(exec.cast(), stream.cast()))
}

pub unsafe fn cudaGraphExecUpdate(
    exec: cudaGraphExec_t,
    h_graph: cudaGraph_t,
    result_info: *mut cudaGraphExecUpdateResultInfo,
) -> Result<()> {
    ensure()?;
    check(cu::cuGraphExecUpdate_v2(exec.cast(), h_graph.cast(), result_info.cast()))
}

pub unsafe fn cudaGraphNodeSetEnabled(
    exec: cudaGraphExec_t,
    node: cudaGraphNode_t,
    is_enabled: c_uint,
) -> Result<()> {
    ensure()?;
    check(cu::cuGraphNodeSetEnabled(exec.cast(), node.cast(), is_enabled))
}

pub unsafe fn cudaGraphNodeGetEnabled(
    exec: cudaGraphExec_t,
    node: cudaGraphNode_t,
    is_enabled: *mut c_uint,
) -> Result<()> {
    ensure()?;
    check(cu::cuGraphNodeGetEnabled(exec.cast(), node.cast(), is_enabled))
}

pub unsafe fn cudaGraphDebugDotPrint(
    graph: cudaGraph_t,
    path: *const c_char,
    flags: c_uint,
) -> Result<()> {
    ensure()?;
    check(cu::cuGraphDebugDotPrint(graph.cast(), path, flags))
}

pub unsafe fn cudaUserObjectCreate(
    to: *mut cudaUserObject_t,
    data: *mut c_void,
    destroy: cudaHostFn_t,
    initial_refcount: c_uint,
    flags: c_uint,
) -> Result<()> {
    ensure()?;
    check(cu::cuUserObjectCreate(to.cast(), data, destroy, initial_refcount, flags))
}

pub unsafe fn cudaUserObjectRetain(object: cudaUserObject_t, count: c_uint) -> Result<()> {
    ensure()?;
    check(cu::cuUserObjectRetain(object.cast(), count))
}

pub unsafe fn cudaUserObjectRelease(object: cudaUserObject_t, count: c_uint) -> Result<()> {
    ensure()?;
    check(cu::cuUserObjectRelease(object.cast(), count))
}

pub unsafe fn cudaGraphRetainUserObject(
    graph: cudaGraph_t,
    object: cudaUserObject_t,
    count: c_uint,
    flags: c_uint,
) -> Result<()> {
    ensure()?;
    check(cu::cuGraphRetainUserObject(graph.cast(), object.cast(), count, flags))
}

pub unsafe fn cudaGraphReleaseUserObject(
    graph: cudaGraph_t,
    object: cudaUserObject_t,
    count: c_uint,
) -> Result<()> {
    ensure()?;
    check(cu::cuGraphReleaseUserObject(graph.cast(), object.cast(), count))
}

pub unsafe fn cudaDeviceGraphMemTrim(device: c_int) -> Result<()> {
    ensure()?;
    check(cu::cuDeviceGraphMemTrim(device))
}

pub unsafe fn cudaDeviceGetGraphMemAttribute(
    device: c_int,
    attr: cudaGraphMemAttributeType,
    value: *mut c_void,
) -> Result<()> {
    ensure()?;
    check(cu::cuDeviceGetGraphMemAttribute(device, attr, value))
}

pub unsafe fn cudaDeviceSetGraphMemAttribute(
    device: c_int,
    attr: cudaGraphMemAttributeType,
    value: *mut c_void,
) -> Result<()> {
    ensure()?;
    check(cu::cuDeviceSetGraphMemAttribute(device, attr, value))
}

pub unsafe fn cudaGraphAddChildGraphNode(
    to: *mut cudaGraphNode_t,
    graph: cudaGraph_t,
    dependencies: *const cudaGraphNode_t,
    count: usize,
    child_graph: cudaGraph_t,
) -> Result<()> {
    ensure()?;
    check(cu::cuGraphAddChildGraphNode(
        to.cast(),
        graph.cast(),
        dependencies.cast(),
        count,
        child_graph.cast(),
    ))
}

pub unsafe fn cudaGraphAddEmptyNode(
    to: *mut cudaGraphNode_t,
    graph: cudaGraph_t,
    dependencies: *const cudaGraphNode_t,
    count: usize,
) -> Result<()> {
    ensure()?;
    check(cu::cuGraphAddEmptyNode(to.cast(), graph.cast(), dependencies.cast(), count))
}

pub unsafe fn cudaGraphAddEventRecordNode(
    to: *mut cudaGraphNode_t,
    graph: cudaGraph_t,
    dependencies: *const cudaGraphNode_t,
    count: usize,
    event: cudaEvent_t,
) -> Result<()> {
    ensure()?;
    check(cu::cuGraphAddEventRecordNode(
        to.cast(),
        graph.cast(),
        dependencies.cast(),
        count,
        event.cast(),
    ))
}

pub unsafe fn cudaGraphAddEventWaitNode(
    to: *mut cudaGraphNode_t,
    graph: cudaGraph_t,
    dependencies: *const cudaGraphNode_t,
    count: usize,
    event: cudaEvent_t,
) -> Result<()> {
    ensure()?;
    check(cu::cuGraphAddEventWaitNode(
        to.cast(),
        graph.cast(),
        dependencies.cast(),
        count,
        event.cast(),
    ))
}

pub unsafe fn cudaGraphAddHostNode(
    to: *mut cudaGraphNode_t,
    graph: cudaGraph_t,
    dependencies: *const cudaGraphNode_t,
    count: usize,
    params: *const cudaHostNodeParams,
) -> Result<()> {
    ensure()?;
    check(cu::cuGraphAddHostNode(
        to.cast(),
        graph.cast(),
        dependencies.cast(),
        count,
        params.cast(),
    ))
}

pub unsafe fn cudaGraphHostNodeGetParams(
    node: cudaGraphNode_t,
    params: *mut cudaHostNodeParams,
) -> Result<()> {
    ensure()?;
    check(cu::cuGraphHostNodeGetParams(node.cast(), params.cast()))
}

pub unsafe fn cudaGraphHostNodeSetParams(
    node: cudaGraphNode_t,
    params: *const cudaHostNodeParams,
) -> Result<()> {
    ensure()?;
    check(cu::cuGraphHostNodeSetParams(node.cast(), params.cast()))
}

pub unsafe fn cudaGraphExecHostNodeSetParams(
    exec: cudaGraphExec_t,
    node: cudaGraphNode_t,
    params: *const cudaHostNodeParams,
) -> Result<()> {
    ensure()?;
    check(cu::cuGraphExecHostNodeSetParams(exec.cast(), node.cast(), params.cast()))
}

pub unsafe fn cudaGraphAddMemAllocNode(
    to: *mut cudaGraphNode_t,
    graph: cudaGraph_t,
    dependencies: *const cudaGraphNode_t,
    count: usize,
    params: *mut cudaMemAllocNodeParams,
) -> Result<()> {
    ensure()?;
    check(cu::cuGraphAddMemAllocNode(
        to.cast(),
        graph.cast(),
        dependencies.cast(),
        count,
        params.cast(),
    ))
}

pub unsafe fn cudaGraphMemAllocNodeGetParams(
    node: cudaGraphNode_t,
    params_out: *mut cudaMemAllocNodeParams,
) -> Result<()> {
    ensure()?;
    check(cu::cuGraphMemAllocNodeGetParams(node.cast(), params_out.cast()))
}

pub unsafe fn cudaGraphChildGraphNodeGetGraph(
    node: cudaGraphNode_t,
    to: *mut cudaGraph_t,
) -> Result<()> {
    ensure()?;
    check(cu::cuGraphChildGraphNodeGetGraph(node.cast(), to.cast()))
}

pub unsafe fn cudaGraphEventRecordNodeGetEvent(
    node: cudaGraphNode_t,
    event_out: *mut cudaEvent_t,
) -> Result<()> {
    ensure()?;
    check(cu::cuGraphEventRecordNodeGetEvent(node.cast(), event_out.cast()))
}

pub unsafe fn cudaGraphEventRecordNodeSetEvent(
    node: cudaGraphNode_t,
    event: cudaEvent_t,
) -> Result<()> {
    ensure()?;
    check(cu::cuGraphEventRecordNodeSetEvent(node.cast(), event.cast()))
}

pub unsafe fn cudaGraphEventWaitNodeGetEvent(
    node: cudaGraphNode_t,
    event_out: *mut cudaEvent_t,
) -> Result<()> {
    ensure()?;
    check(cu::cuGraphEventWaitNodeGetEvent(node.cast(), event_out.cast()))
}

pub unsafe fn cudaGraphEventWaitNodeSetEvent(
    node: cudaGraphNode_t,
    event: cudaEvent_t,
) -> Result<()> {
    ensure()?;
    check(cu::cuGraphEventWaitNodeSetEvent(node.cast(), event.cast()))
}

pub unsafe fn cudaGraphExecChildGraphNodeSetParams(
    exec: cudaGraphExec_t,
    node: cudaGraphNode_t,
    child_graph: cudaGraph_t,
) -> Result<()> {
    ensure()?;
    check(cu::cuGraphExecChildGraphNodeSetParams(exec.cast(), node.cast(), child_graph.cast()))
}

pub unsafe fn cudaGraphExecEventRecordNodeSetEvent(
    exec: cudaGraphExec_t,
    node: cudaGraphNode_t,
    event: cudaEvent_t,
) -> Result<()> {
    ensure()?;
    check(cu::cuGraphExecEventRecordNodeSetEvent(exec.cast(), node.cast(), event.cast()))
}

pub unsafe fn cudaGraphExecEventWaitNodeSetEvent(
    exec: cudaGraphExec_t,
    node: cudaGraphNode_t,
    event: cudaEvent_t,
) -> Result<()> {
    ensure()?;
    check(cu::cuGraphExecEventWaitNodeSetEvent(exec.cast(), node.cast(), event.cast()))
}

pub unsafe fn cudaGraphKernelNodeGetAttribute(
    node: cudaGraphNode_t,
    attr: cudaLaunchAttributeID,
    value_out: *mut cudaLaunchAttributeValue,
) -> Result<()> {
    ensure()?;
    check(cu::cuGraphKernelNodeGetAttribute(node.cast(), attr, value_out.cast()))
}

pub unsafe fn cudaGraphKernelNodeSetAttribute(
    node: cudaGraphNode_t,
    attr: cudaLaunchAttributeID,
    value: *const cudaLaunchAttributeValue,
) -> Result<()> {
    ensure()?;
    check(cu::cuGraphKernelNodeSetAttribute(node.cast(), attr, value.cast()))
}

pub unsafe fn cudaStreamBeginCapture(
    stream: cudaStream_t,
    mode: cudaStreamCaptureMode,
) -> Result<()> {
    ensure()?;
    check(cu::cuStreamBeginCapture_v2(stream.cast(), mode))
}

pub unsafe fn cudaStreamBeginCaptureToGraph(
    stream: cudaStream_t,
    graph: cudaGraph_t,
    dependencies: *const cudaGraphNode_t,
    dependency_data: *const cudaGraphEdgeData,
    count: usize,
    mode: cudaStreamCaptureMode,
) -> Result<()> {
    ensure()?;
    check(cu::cuStreamBeginCaptureToGraph(
        stream.cast(),
        graph.cast(),
        dependencies.cast(),
        dependency_data.cast(),
        count,
        mode,
    ))
}

pub unsafe fn cudaStreamEndCapture(stream: cudaStream_t, to: *mut cudaGraph_t) -> Result<()> {
    ensure()?;
    check(cu::cuStreamEndCapture(stream.cast(), to.cast()))
}

pub unsafe fn cudaThreadExchangeStreamCaptureMode(mode: *mut cudaStreamCaptureMode) -> Result<()> {
    ensure()?;
    check(cu::cuThreadExchangeStreamCaptureMode(mode))
}

#[cfg(cudart13)]
pub unsafe fn cudaGraphExecGetId(exec: cudaGraphExec_t, graph_id: *mut c_uint) -> Result<()> {
    ensure()?;
    check(cu::cuGraphExecGetId(exec.cast(), graph_id))
}

#[cfg(cudart13)]
pub unsafe fn cudaGraphGetId(h_graph: cudaGraph_t, graph_id: *mut c_uint) -> Result<()> {
    ensure()?;
    check(cu::cuGraphGetId(h_graph.cast(), graph_id))
}

#[cfg(cudart13)]
pub unsafe fn cudaGraphNodeGetContainingGraph(
    node: cudaGraphNode_t,
    ph_graph: *mut cudaGraph_t,
) -> Result<()> {
    ensure()?;
    check(cu::cuGraphNodeGetContainingGraph(node.cast(), ph_graph.cast()))
}

#[cfg(cudart13)]
pub unsafe fn cudaGraphNodeGetLocalId(node: cudaGraphNode_t, node_id: *mut c_uint) -> Result<()> {
    ensure()?;
    check(cu::cuGraphNodeGetLocalId(node.cast(), node_id))
}

#[cfg(cudart13)]
pub unsafe fn cudaGraphNodeGetToolsId(
    node: cudaGraphNode_t,
    tools_node_id: *mut c_ulonglong,
) -> Result<()> {
    ensure()?;
    check(cu::cuGraphNodeGetToolsId(node.cast(), tools_node_id))
}

#[cfg(cudart12)]
pub unsafe fn cudaGraphAddDependencies(
    graph: cudaGraph_t,
    from: *const cudaGraphNode_t,
    to: *const cudaGraphNode_t,
    count: usize,
) -> Result<()> {
    ensure()?;
    check(cu::cuGraphAddDependencies(graph.cast(), from.cast(), to.cast(), count))
}

#[cfg(cudart13)]
pub unsafe fn cudaGraphAddDependencies(
    graph: cudaGraph_t,
    from: *const cudaGraphNode_t,
    to: *const cudaGraphNode_t,
    edge_data: *const cudaGraphEdgeData,
    count: usize,
) -> Result<()> {
    ensure()?;
    check(cu::cuGraphAddDependencies_v2(
        graph.cast(),
        from.cast(),
        to.cast(),
        edge_data.cast(),
        count,
    ))
}

#[cfg(cudart12)]
pub unsafe fn cudaGraphAddDependencies_v2(
    graph: cudaGraph_t,
    from: *const cudaGraphNode_t,
    to: *const cudaGraphNode_t,
    edge_data: *const cudaGraphEdgeData,
    count: usize,
) -> Result<()> {
    ensure()?;
    check(cu::cuGraphAddDependencies_v2(
        graph.cast(),
        from.cast(),
        to.cast(),
        edge_data.cast(),
        count,
    ))
}

#[cfg(cudart12)]
pub unsafe fn cudaGraphRemoveDependencies(
    graph: cudaGraph_t,
    from: *const cudaGraphNode_t,
    to: *const cudaGraphNode_t,
    count: usize,
) -> Result<()> {
    ensure()?;
    check(cu::cuGraphRemoveDependencies(graph.cast(), from.cast(), to.cast(), count))
}

#[cfg(cudart13)]
pub unsafe fn cudaGraphRemoveDependencies(
    graph: cudaGraph_t,
    from: *const cudaGraphNode_t,
    to: *const cudaGraphNode_t,
    edge_data: *const cudaGraphEdgeData,
    count: usize,
) -> Result<()> {
    ensure()?;
    check(cu::cuGraphRemoveDependencies_v2(
        graph.cast(),
        from.cast(),
        to.cast(),
        edge_data.cast(),
        count,
    ))
}

#[cfg(cudart12)]
pub unsafe fn cudaGraphRemoveDependencies_v2(
    graph: cudaGraph_t,
    from: *const cudaGraphNode_t,
    to: *const cudaGraphNode_t,
    edge_data: *const cudaGraphEdgeData,
    count: usize,
) -> Result<()> {
    ensure()?;
    check(cu::cuGraphRemoveDependencies_v2(
        graph.cast(),
        from.cast(),
        to.cast(),
        edge_data.cast(),
        count,
    ))
}

#[cfg(cudart12)]
pub unsafe fn cudaGraphGetEdges(
    graph: cudaGraph_t,
    from: *mut cudaGraphNode_t,
    to: *mut cudaGraphNode_t,
    count: *mut usize,
) -> Result<()> {
    ensure()?;
    check(cu::cuGraphGetEdges(graph.cast(), from.cast(), to.cast(), count))
}

#[cfg(cudart13)]
pub unsafe fn cudaGraphGetEdges(
    graph: cudaGraph_t,
    from: *mut cudaGraphNode_t,
    to: *mut cudaGraphNode_t,
    edge_data: *mut cudaGraphEdgeData,
    count: *mut usize,
) -> Result<()> {
    ensure()?;
    check(cu::cuGraphGetEdges_v2(graph.cast(), from.cast(), to.cast(), edge_data.cast(), count))
}

#[cfg(cudart12)]
pub unsafe fn cudaGraphGetEdges_v2(
    graph: cudaGraph_t,
    from: *mut cudaGraphNode_t,
    to: *mut cudaGraphNode_t,
    edge_data: *mut cudaGraphEdgeData,
    count: *mut usize,
) -> Result<()> {
    ensure()?;
    check(cu::cuGraphGetEdges_v2(graph.cast(), from.cast(), to.cast(), edge_data.cast(), count))
}

#[cfg(cudart12)]
pub unsafe fn cudaGraphNodeGetDependencies(
    node: cudaGraphNode_t,
    dependencies: *mut cudaGraphNode_t,
    count: *mut usize,
) -> Result<()> {
    ensure()?;
    check(cu::cuGraphNodeGetDependencies(node.cast(), dependencies.cast(), count))
}

#[cfg(cudart13)]
pub unsafe fn cudaGraphNodeGetDependencies(
    node: cudaGraphNode_t,
    dependencies: *mut cudaGraphNode_t,
    edge_data: *mut cudaGraphEdgeData,
    count: *mut usize,
) -> Result<()> {
    ensure()?;
    check(cu::cuGraphNodeGetDependencies_v2(
        node.cast(),
        dependencies.cast(),
        edge_data.cast(),
        count,
    ))
}

#[cfg(cudart12)]
pub unsafe fn cudaGraphNodeGetDependencies_v2(
    node: cudaGraphNode_t,
    dependencies: *mut cudaGraphNode_t,
    edge_data: *mut cudaGraphEdgeData,
    count: *mut usize,
) -> Result<()> {
    ensure()?;
    check(cu::cuGraphNodeGetDependencies_v2(
        node.cast(),
        dependencies.cast(),
        edge_data.cast(),
        count,
    ))
}

#[cfg(cudart12)]
pub unsafe fn cudaGraphNodeGetDependentNodes(
    node: cudaGraphNode_t,
    nodes: *mut cudaGraphNode_t,
    count: *mut usize,
) -> Result<()> {
    ensure()?;
    check(cu::cuGraphNodeGetDependentNodes(node.cast(), nodes.cast(), count))
}

#[cfg(cudart13)]
pub unsafe fn cudaGraphNodeGetDependentNodes(
    node: cudaGraphNode_t,
    nodes: *mut cudaGraphNode_t,
    edge_data: *mut cudaGraphEdgeData,
    count: *mut usize,
) -> Result<()> {
    ensure()?;
    check(cu::cuGraphNodeGetDependentNodes_v2(node.cast(), nodes.cast(), edge_data.cast(), count))
}

#[cfg(cudart12)]
pub unsafe fn cudaGraphNodeGetDependentNodes_v2(
    node: cudaGraphNode_t,
    nodes: *mut cudaGraphNode_t,
    edge_data: *mut cudaGraphEdgeData,
    count: *mut usize,
) -> Result<()> {
    ensure()?;
    check(cu::cuGraphNodeGetDependentNodes_v2(node.cast(), nodes.cast(), edge_data.cast(), count))
}

#[cfg(cudart13)]
pub unsafe fn cudaStreamGetCaptureInfo(
    stream: cudaStream_t,
    capture_status_out: *mut cudaStreamCaptureStatus,
    id_out: *mut c_ulonglong,
    graph_out: *mut cudaGraph_t,
    dependencies_out: *mut *const cudaGraphNode_t,
    edge_data_out: *mut *const cudaGraphEdgeData,
    num_dependencies_out: *mut usize,
) -> Result<()> {
    ensure()?;
    check(cu::cuStreamGetCaptureInfo_v3(
        stream.cast(),
        capture_status_out.cast(),
        id_out,
        graph_out.cast(),
        dependencies_out.cast(),
        edge_data_out.cast(),
        num_dependencies_out,
    ))
}

#[cfg(cudart12)]
pub unsafe fn cudaStreamGetCaptureInfo_v2(
    stream: cudaStream_t,
    capture_status_out: *mut cudaStreamCaptureStatus,
    id_out: *mut c_ulonglong,
    graph_out: *mut cudaGraph_t,
    dependencies_out: *mut *const cudaGraphNode_t,
    num_dependencies_out: *mut usize,
) -> Result<()> {
    ensure()?;
    check(cu::cuStreamGetCaptureInfo_v2(
        stream.cast(),
        capture_status_out.cast(),
        id_out,
        graph_out.cast(),
        dependencies_out.cast(),
        num_dependencies_out,
    ))
}

#[cfg(cudart12)]
pub unsafe fn cudaStreamGetCaptureInfo_v3(
    stream: cudaStream_t,
    capture_status_out: *mut cudaStreamCaptureStatus,
    id_out: *mut c_ulonglong,
    graph_out: *mut cudaGraph_t,
    dependencies_out: *mut *const cudaGraphNode_t,
    edge_data_out: *mut *const cudaGraphEdgeData,
    num_dependencies_out: *mut usize,
) -> Result<()> {
    ensure()?;
    check(cu::cuStreamGetCaptureInfo_v3(
        stream.cast(),
        capture_status_out.cast(),
        id_out,
        graph_out.cast(),
        dependencies_out.cast(),
        edge_data_out.cast(),
        num_dependencies_out,
    ))
}

#[cfg(cudart12)]
pub unsafe fn cudaStreamUpdateCaptureDependencies(
    stream: cudaStream_t,
    dependencies: *mut cudaGraphNode_t,
    count: usize,
    flags: c_uint,
) -> Result<()> {
    ensure()?;
    check(cu::cuStreamUpdateCaptureDependencies(stream.cast(), dependencies.cast(), count, flags))
}

#[cfg(cudart13)]
pub unsafe fn cudaStreamUpdateCaptureDependencies(
    stream: cudaStream_t,
    dependencies: *mut cudaGraphNode_t,
    dependency_data: *const cudaGraphEdgeData,
    count: usize,
    flags: c_uint,
) -> Result<()> {
    ensure()?;
    check(cu::cuStreamUpdateCaptureDependencies_v2(
        stream.cast(),
        dependencies.cast(),
        dependency_data.cast(),
        count,
        flags,
    ))
}

#[cfg(cudart12)]
pub unsafe fn cudaStreamUpdateCaptureDependencies_v2(
    stream: cudaStream_t,
    dependencies: *mut cudaGraphNode_t,
    dependency_data: *const cudaGraphEdgeData,
    count: usize,
    flags: c_uint,
) -> Result<()> {
    ensure()?;
    check(cu::cuStreamUpdateCaptureDependencies_v2(
        stream.cast(),
        dependencies.cast(),
        dependency_data.cast(),
        count,
        flags,
    ))
}

#[cfg(cudart12)]
pub unsafe fn cudaGraphKernelNodeCopyAttributes(
    h_src: cudaGraphNode_t,
    h_dst: cudaGraphNode_t,
) -> Result<()> {
    ensure()?;
    check(cu::cuGraphKernelNodeCopyAttributes(h_dst.cast(), h_src.cast()))
}

#[cfg(cudart13)]
pub unsafe fn cudaGraphKernelNodeCopyAttributes(
    h_dst: cudaGraphNode_t,
    h_src: cudaGraphNode_t,
) -> Result<()> {
    ensure()?;
    check(cu::cuGraphKernelNodeCopyAttributes(h_dst.cast(), h_src.cast()))
}
