// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kernel, copy, fill and memory nodes of graphs, whose structures differ from the driver's.

use std::ffi::c_void;
use std::ptr::null_mut;

use super::copy::{of_3d, sides};
use super::symbol::part;
use super::{device_address, give, pointer, required};
use crate::context::ensure;
use crate::cu;
use crate::error::{Error, Result, check};
use crate::registry;
use crate::sys::*;

unsafe fn kernel_of(params: *const cudaKernelNodeParams) -> Result<cu::CUDA_KERNEL_NODE_PARAMS> {
    required(params)?;
    let p = &*params;
    // A function that the driver gave for a captured launch stands for itself.
    let func = match registry::kernel(p.func) {
        Ok(kernel) => kernel.cast(),
        Err(error) => {
            let mut name = std::ptr::null();
            match cu::cuFuncGetName(&mut name, p.func.cast()) {
                0 => p.func.cast(),
                _ => return Err(error),
            }
        }
    };
    Ok(cu::CUDA_KERNEL_NODE_PARAMS {
        func,
        gridDimX: p.gridDim.x,
        gridDimY: p.gridDim.y,
        gridDimZ: p.gridDim.z,
        blockDimX: p.blockDim.x,
        blockDimY: p.blockDim.y,
        blockDimZ: p.blockDim.z,
        sharedMemBytes: p.sharedMemBytes,
        kernelParams: p.kernelParams,
        extra: p.extra,
        kern: null_mut(),
        ctx: null_mut(),
    })
}

pub unsafe fn cudaGraphAddKernelNode(
    to: *mut cudaGraphNode_t,
    graph: cudaGraph_t,
    dependencies: *const cudaGraphNode_t,
    count: usize,
    params: *const cudaKernelNodeParams,
) -> Result<()> {
    ensure()?;
    let params = kernel_of(params)?;
    let (to, graph, dependencies) = (to.cast(), graph.cast(), dependencies.cast());
    check(cu::cuGraphAddKernelNode_v2(to, graph, dependencies, count, &params))
}

pub unsafe fn cudaGraphKernelNodeSetParams(
    node: cudaGraphNode_t,
    params: *const cudaKernelNodeParams,
) -> Result<()> {
    ensure()?;
    let params = kernel_of(params)?;
    check(cu::cuGraphKernelNodeSetParams_v2(node.cast(), &params))
}

pub unsafe fn cudaGraphExecKernelNodeSetParams(
    exec: cudaGraphExec_t,
    node: cudaGraphNode_t,
    params: *const cudaKernelNodeParams,
) -> Result<()> {
    ensure()?;
    let params = kernel_of(params)?;
    check(cu::cuGraphExecKernelNodeSetParams_v2(exec.cast(), node.cast(), &params))
}

/// The function is the program's host function if there is one of that name.
pub unsafe fn cudaGraphKernelNodeGetParams(
    node: cudaGraphNode_t,
    to: *mut cudaKernelNodeParams,
) -> Result<()> {
    required(to)?;
    ensure()?;
    // SAFETY: the structure is of integers and pointers.
    let mut p: cu::CUDA_KERNEL_NODE_PARAMS = std::mem::zeroed();
    check(cu::cuGraphKernelNodeGetParams_v2(node.cast(), &mut p))?;
    let mut name = std::ptr::null();
    check(cu::cuFuncGetName(&mut name, p.func))?;
    // SAFETY: libcuda gave a name that ends with NUL.
    let name = std::ffi::CStr::from_ptr(name);
    let host = registry::host_function(name);
    let params = cudaKernelNodeParams {
        func: host.map_or(p.func.cast(), <*const c_void>::cast_mut),
        gridDim: dim3 { x: p.gridDimX, y: p.gridDimY, z: p.gridDimZ },
        blockDim: dim3 { x: p.blockDimX, y: p.blockDimY, z: p.blockDimZ },
        sharedMemBytes: p.sharedMemBytes,
        kernelParams: p.kernelParams,
        extra: p.extra,
    };
    give(to, params)
}

/// A copy of so many bytes in one row.
fn row(
    to: *mut c_void,
    from: *const c_void,
    count: usize,
    kind: cudaMemcpyKind,
) -> Result<cu::CUDA_MEMCPY3D> {
    let (to_side, from_side) = sides(kind)?;
    required(to)?;
    required(from)?;
    // SAFETY: the structure is of integers and pointers.
    let mut copy: cu::CUDA_MEMCPY3D = unsafe { std::mem::zeroed() };
    copy.srcMemoryType = from_side.memory_type();
    (copy.srcHost, copy.srcDevice, copy.srcPitch) = (from, device_address(from), count);
    copy.dstMemoryType = to_side.memory_type();
    (copy.dstHost, copy.dstDevice, copy.dstPitch) = (to, device_address(to), count);
    (copy.WidthInBytes, copy.Height, copy.Depth) = (count, 1, 1);
    Ok(copy)
}

unsafe fn add_copy(
    to: *mut cudaGraphNode_t,
    graph: cudaGraph_t,
    dependencies: *const cudaGraphNode_t,
    count: usize,
    copy: Result<cu::CUDA_MEMCPY3D>,
) -> Result<()> {
    let context = ensure()?;
    let copy = copy?;
    let (to, graph, dependencies) = (to.cast(), graph.cast(), dependencies.cast());
    check(cu::cuGraphAddMemcpyNode(to, graph, dependencies, count, &copy, context))
}

unsafe fn set_copy(node: cudaGraphNode_t, copy: Result<cu::CUDA_MEMCPY3D>) -> Result<()> {
    ensure()?;
    check(cu::cuGraphMemcpyNodeSetParams(node.cast(), &copy?))
}

unsafe fn set_exec_copy(
    exec: cudaGraphExec_t,
    node: cudaGraphNode_t,
    copy: Result<cu::CUDA_MEMCPY3D>,
) -> Result<()> {
    let context = ensure()?;
    check(cu::cuGraphExecMemcpyNodeSetParams(exec.cast(), node.cast(), &copy?, context))
}

/// The four ways to say what a copy node copies, each for a new node, a node and an executable one.
macro_rules! copies {
    ($( $add:ident $set:ident $set_exec:ident ($($p:ident: $ty:ty),*) = $copy:expr; )*) => { $(
        #[allow(clippy::too_many_arguments, reason = "cuda_runtime_api.h")]
        pub unsafe fn $add(
            to_node: *mut cudaGraphNode_t,
            graph: cudaGraph_t,
            dependencies: *const cudaGraphNode_t,
            number: usize,
            $($p: $ty),*
        ) -> Result<()> {
            ensure()?;
            add_copy(to_node, graph, dependencies, number, $copy)
        }

        pub unsafe fn $set(node: cudaGraphNode_t, $($p: $ty),*) -> Result<()> {
            ensure()?;
            set_copy(node, $copy)
        }

        pub unsafe fn $set_exec(
            exec: cudaGraphExec_t,
            node: cudaGraphNode_t,
            $($p: $ty),*
        ) -> Result<()> {
            ensure()?;
            set_exec_copy(exec, node, $copy)
        }
    )* };
}

copies! {
    cudaGraphAddMemcpyNode cudaGraphMemcpyNodeSetParams cudaGraphExecMemcpyNodeSetParams
        (params: *const cudaMemcpy3DParms) = of_3d(params);
    cudaGraphAddMemcpyNode1D cudaGraphMemcpyNodeSetParams1D cudaGraphExecMemcpyNodeSetParams1D
        (to: *mut c_void, from: *const c_void, count: usize, kind: cudaMemcpyKind)
        = row(to, from, count, kind);
    cudaGraphAddMemcpyNodeToSymbol cudaGraphMemcpyNodeSetParamsToSymbol
        cudaGraphExecMemcpyNodeSetParamsToSymbol
        (symbol: *const c_void, from: *const c_void, count: usize, offset: usize, kind: cudaMemcpyKind)
        = part(symbol, count, offset).and_then(|to| row(to, from, count, kind));
    cudaGraphAddMemcpyNodeFromSymbol cudaGraphMemcpyNodeSetParamsFromSymbol
        cudaGraphExecMemcpyNodeSetParamsFromSymbol
        (to: *mut c_void, symbol: *const c_void, count: usize, offset: usize, kind: cudaMemcpyKind)
        = part(symbol, count, offset).and_then(|from| row(to, from, count, kind));
}

pub unsafe fn cudaGraphMemcpyNodeGetParams(
    node: cudaGraphNode_t,
    to: *mut cudaMemcpy3DParms,
) -> Result<()> {
    required(to)?;
    ensure()?;
    // SAFETY: the structures are of integers and pointers.
    let (mut c, mut p): (cu::CUDA_MEMCPY3D, cudaMemcpy3DParms) =
        (std::mem::zeroed(), std::mem::zeroed());
    check(cu::cuGraphMemcpyNodeGetParams(node.cast(), &mut c))?;
    let mut bytes = 1;
    let place = |kind: cu::CUmemorytype, host: *mut c_void, device: u64, pitch, rows| {
        let ptr = if kind == cu::CU_MEMORYTYPE_HOST { host } else { pointer(device) };
        cudaPitchedPtr { ptr, pitch, xsize: c.WidthInBytes, ysize: rows }
    };
    if c.srcMemoryType == cu::CU_MEMORYTYPE_ARRAY {
        p.srcArray = c.srcArray.cast();
        bytes = super::array::texel_bytes(p.srcArray)?;
    } else {
        p.srcPtr =
            place(c.srcMemoryType, c.srcHost.cast_mut(), c.srcDevice, c.srcPitch, c.srcHeight);
    }
    if c.dstMemoryType == cu::CU_MEMORYTYPE_ARRAY {
        p.dstArray = c.dstArray.cast();
        bytes = super::array::texel_bytes(p.dstArray)?;
    } else {
        p.dstPtr = place(c.dstMemoryType, c.dstHost, c.dstDevice, c.dstPitch, c.dstHeight);
    }
    let x = |array: cudaArray_t, at: usize| if array.is_null() { at } else { at / bytes };
    p.srcPos = cudaPos { x: x(p.srcArray, c.srcXInBytes), y: c.srcY, z: c.srcZ };
    p.dstPos = cudaPos { x: x(p.dstArray, c.dstXInBytes), y: c.dstY, z: c.dstZ };
    p.extent = cudaExtent { width: c.WidthInBytes / bytes, height: c.Height, depth: c.Depth };
    let host = |kind| kind == cu::CU_MEMORYTYPE_HOST;
    p.kind = match (host(c.srcMemoryType), host(c.dstMemoryType)) {
        _ if c.srcMemoryType == cu::CU_MEMORYTYPE_UNIFIED => cudaMemcpyDefault,
        _ if c.dstMemoryType == cu::CU_MEMORYTYPE_UNIFIED => cudaMemcpyDefault,
        (true, true) => cudaMemcpyHostToHost,
        (true, false) => cudaMemcpyHostToDevice,
        (false, true) => cudaMemcpyDeviceToHost,
        (false, false) => cudaMemcpyDeviceToDevice,
    };
    give(to, p)
}

pub unsafe fn cudaGraphAddMemsetNode(
    to: *mut cudaGraphNode_t,
    graph: cudaGraph_t,
    dependencies: *const cudaGraphNode_t,
    count: usize,
    params: *const cudaMemsetParams,
) -> Result<()> {
    let context = ensure()?;
    let (to, graph, dependencies) = (to.cast(), graph.cast(), dependencies.cast());
    check(cu::cuGraphAddMemsetNode(to, graph, dependencies, count, params.cast(), context))
}

pub unsafe fn cudaGraphMemsetNodeGetParams(
    node: cudaGraphNode_t,
    to: *mut cudaMemsetParams,
) -> Result<()> {
    ensure()?;
    check(cu::cuGraphMemsetNodeGetParams(node.cast(), to.cast()))
}

pub unsafe fn cudaGraphMemsetNodeSetParams(
    node: cudaGraphNode_t,
    params: *const cudaMemsetParams,
) -> Result<()> {
    ensure()?;
    check(cu::cuGraphMemsetNodeSetParams(node.cast(), params.cast()))
}

pub unsafe fn cudaGraphExecMemsetNodeSetParams(
    exec: cudaGraphExec_t,
    node: cudaGraphNode_t,
    params: *const cudaMemsetParams,
) -> Result<()> {
    let context = ensure()?;
    check(cu::cuGraphExecMemsetNodeSetParams(exec.cast(), node.cast(), params.cast(), context))
}

pub unsafe fn cudaGraphAddMemFreeNode(
    to: *mut cudaGraphNode_t,
    graph: cudaGraph_t,
    dependencies: *const cudaGraphNode_t,
    count: usize,
    at: *mut c_void,
) -> Result<()> {
    ensure()?;
    let (to, graph, dependencies) = (to.cast(), graph.cast(), dependencies.cast());
    check(cu::cuGraphAddMemFreeNode(to, graph, dependencies, count, device_address(at)))
}

pub unsafe fn cudaGraphMemFreeNodeGetParams(node: cudaGraphNode_t, to: *mut c_void) -> Result<()> {
    required(to)?;
    ensure()?;
    let mut address = 0;
    check(cu::cuGraphMemFreeNodeGetParams(node.cast(), &mut address))?;
    give(to.cast(), pointer::<c_void>(address))
}

/// A node of the kind that the structure says.
unsafe fn add_any(
    to: *mut cudaGraphNode_t,
    graph: cudaGraph_t,
    dependencies: *const cudaGraphNode_t,
    count: usize,
    params: *mut cudaGraphNodeParams,
) -> Result<()> {
    required(params)?;
    let kind = (*params).type_;
    let f = &raw mut (*params).__bindgen_anon_1;
    match kind {
        // The newer structures begin as the older ones.
        cudaGraphNodeTypeKernel => {
            let params = (&raw const (*f).kernel).cast();
            cudaGraphAddKernelNode(to, graph, dependencies, count, params)
        }
        cudaGraphNodeTypeMemcpy => {
            let params = &raw const (*f).memcpy.copyParams;
            cudaGraphAddMemcpyNode(to, graph, dependencies, count, params)
        }
        cudaGraphNodeTypeMemset => {
            let params = (&raw const (*f).memset).cast();
            cudaGraphAddMemsetNode(to, graph, dependencies, count, params)
        }
        cudaGraphNodeTypeHost => {
            let params = (&raw const (*f).host).cast();
            super::graph::cudaGraphAddHostNode(to, graph, dependencies, count, params)
        }
        cudaGraphNodeTypeGraph => {
            let child = (*f).graph.graph;
            super::graph::cudaGraphAddChildGraphNode(to, graph, dependencies, count, child)
        }
        cudaGraphNodeTypeEmpty => {
            super::graph::cudaGraphAddEmptyNode(to, graph, dependencies, count)
        }
        cudaGraphNodeTypeWaitEvent => {
            let event = (*f).eventWait.event;
            super::graph::cudaGraphAddEventWaitNode(to, graph, dependencies, count, event)
        }
        cudaGraphNodeTypeEventRecord => {
            let event = (*f).eventRecord.event;
            super::graph::cudaGraphAddEventRecordNode(to, graph, dependencies, count, event)
        }
        cudaGraphNodeTypeMemAlloc => {
            let params = (&raw mut (*f).alloc).cast();
            super::graph::cudaGraphAddMemAllocNode(to, graph, dependencies, count, params)
        }
        cudaGraphNodeTypeMemFree => {
            cudaGraphAddMemFreeNode(to, graph, dependencies, count, (*f).free.dptr)
        }
        cudaGraphNodeTypeConditional => {
            let given = &raw mut (*f).conditional;
            // SAFETY: all zeros is a value of this structure.
            let mut driver: cu::CUgraphNodeParams = std::mem::zeroed();
            driver.type_ = cu::CU_GRAPH_NODE_TYPE_CONDITIONAL;
            let node = &raw mut driver.__bindgen_anon_1.conditional;
            (*node).handle = (*given).handle;
            (*node).type_ = (*given).type_;
            (*node).size = (*given).size;
            ensure()?;
            let dependencies = dependencies.cast();
            let (to, graph) = (to.cast(), graph.cast());
            check(cu::cuGraphAddNode(to, graph, dependencies, count, &mut driver))?;
            (*given).phGraph_out = (*node).phGraph_out.cast();
            Ok(())
        }
        _ => Err(Error(cudaErrorNotSupported)),
    }
}

#[cfg(cudart12)]
pub unsafe fn cudaGraphAddNode(
    to: *mut cudaGraphNode_t,
    graph: cudaGraph_t,
    dependencies: *const cudaGraphNode_t,
    count: usize,
    params: *mut cudaGraphNodeParams,
) -> Result<()> {
    add_any(to, graph, dependencies, count, params)
}

unsafe fn add_after(
    to: *mut cudaGraphNode_t,
    graph: cudaGraph_t,
    dependencies: *const cudaGraphNode_t,
    edges: *const cudaGraphEdgeData,
    count: usize,
    params: *mut cudaGraphNodeParams,
) -> Result<()> {
    for at in 0..if edges.is_null() { 0 } else { count } {
        let edge = &*edges.add(at);
        if (edge.from_port, edge.to_port, edge.type_) != (0, 0, 0) {
            return Err(Error(cudaErrorNotSupported));
        }
    }
    add_any(to, graph, dependencies, count, params)
}

#[cfg(cudart12)]
pub unsafe fn cudaGraphAddNode_v2(
    to: *mut cudaGraphNode_t,
    graph: cudaGraph_t,
    dependencies: *const cudaGraphNode_t,
    edges: *const cudaGraphEdgeData,
    count: usize,
    params: *mut cudaGraphNodeParams,
) -> Result<()> {
    add_after(to, graph, dependencies, edges, count, params)
}

#[cfg(cudart13)]
pub unsafe fn cudaGraphAddNode(
    to: *mut cudaGraphNode_t,
    graph: cudaGraph_t,
    dependencies: *const cudaGraphNode_t,
    edges: *const cudaGraphEdgeData,
    count: usize,
    params: *mut cudaGraphNodeParams,
) -> Result<()> {
    add_after(to, graph, dependencies, edges, count, params)
}

/// The parameters of a node, or of one of an executable graph.
unsafe fn set_any(
    exec: Option<cudaGraphExec_t>,
    node: cudaGraphNode_t,
    params: *mut cudaGraphNodeParams,
) -> Result<()> {
    use super::graph::*;
    required(params)?;
    let kind = (*params).type_;
    let f = &raw mut (*params).__bindgen_anon_1;
    match (kind, exec) {
        (cudaGraphNodeTypeKernel, None) => {
            cudaGraphKernelNodeSetParams(node, (&raw const (*f).kernel).cast())
        }
        (cudaGraphNodeTypeKernel, Some(exec)) => {
            cudaGraphExecKernelNodeSetParams(exec, node, (&raw const (*f).kernel).cast())
        }
        (cudaGraphNodeTypeMemcpy, None) => {
            cudaGraphMemcpyNodeSetParams(node, &raw const (*f).memcpy.copyParams)
        }
        (cudaGraphNodeTypeMemcpy, Some(exec)) => {
            cudaGraphExecMemcpyNodeSetParams(exec, node, &raw const (*f).memcpy.copyParams)
        }
        (cudaGraphNodeTypeMemset, None) => {
            cudaGraphMemsetNodeSetParams(node, (&raw const (*f).memset).cast())
        }
        (cudaGraphNodeTypeMemset, Some(exec)) => {
            cudaGraphExecMemsetNodeSetParams(exec, node, (&raw const (*f).memset).cast())
        }
        (cudaGraphNodeTypeHost, None) => {
            cudaGraphHostNodeSetParams(node, (&raw const (*f).host).cast())
        }
        (cudaGraphNodeTypeHost, Some(exec)) => {
            cudaGraphExecHostNodeSetParams(exec, node, (&raw const (*f).host).cast())
        }
        (cudaGraphNodeTypeGraph, Some(exec)) => {
            cudaGraphExecChildGraphNodeSetParams(exec, node, (*f).graph.graph)
        }
        (cudaGraphNodeTypeWaitEvent, None) => {
            cudaGraphEventWaitNodeSetEvent(node, (*f).eventWait.event)
        }
        (cudaGraphNodeTypeWaitEvent, Some(exec)) => {
            cudaGraphExecEventWaitNodeSetEvent(exec, node, (*f).eventWait.event)
        }
        (cudaGraphNodeTypeEventRecord, None) => {
            cudaGraphEventRecordNodeSetEvent(node, (*f).eventRecord.event)
        }
        (cudaGraphNodeTypeEventRecord, Some(exec)) => {
            cudaGraphExecEventRecordNodeSetEvent(exec, node, (*f).eventRecord.event)
        }
        _ => Err(Error(cudaErrorNotSupported)),
    }
}

pub unsafe fn cudaGraphNodeSetParams(
    node: cudaGraphNode_t,
    params: *mut cudaGraphNodeParams,
) -> Result<()> {
    set_any(None, node, params)
}

pub unsafe fn cudaGraphExecNodeSetParams(
    exec: cudaGraphExec_t,
    node: cudaGraphNode_t,
    params: *mut cudaGraphNodeParams,
) -> Result<()> {
    set_any(Some(exec), node, params)
}
