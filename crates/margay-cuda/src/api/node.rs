// SPDX-License-Identifier: MIT OR Apache-2.0
//! Nodes of graphs: what each kind does, as the program describes it.
//!
//! Invariant: a description is checked when it is given, and what the program pointed to then is
//! copied: arguments of kernels are those of that moment.

use std::ffi::c_void;
use std::ptr::addr_of;
use std::sync::Arc;

use margay_runtime::conditional::ConditionKind;
use margay_runtime::copy::Element;
use margay_runtime::graph::{Description, Graph, NodeWork};
use margay_runtime::launch::LaunchRequest;
use margay_runtime::{Context, CudaError, Handle, Result};

use super::graph::{find_exec, find_graph, find_node, handles, no_edge_data};
use super::launch::{UserData, parameters};
use super::{give, handle, healthy, opaque, required, rt};
use crate::sys::*;

/// A structure of the program's, kept for the getters.
struct Kept<T>(T);
// SAFETY: plain data; pointers in it are the program's and are only given back.
unsafe impl<T> Send for Kept<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for Kept<T> {}

/// A kernel's description: its pointers lead to its own copy of the arguments.
struct KernelKept {
    params: CUDA_KERNEL_NODE_PARAMS,
    _block: Vec<u8>,
    _pointers: Vec<*mut c_void>,
}
// SAFETY: as for `Kept`.
unsafe impl Send for KernelKept {}
// SAFETY: as above.
unsafe impl Sync for KernelKept {}

/// Memory operations: the pointer leads to the structure's own list.
struct OpsKept {
    params: CUDA_BATCH_MEM_OP_NODE_PARAMS,
    _list: Vec<CUstreamBatchMemOpParams>,
}
// SAFETY: as for `Kept`.
unsafe impl Send for OpsKept {}
// SAFETY: as above.
unsafe impl Sync for OpsKept {}

type Made = (NodeWork, Option<Description>);

fn context_of(context: CUcontext) -> Result<Arc<Context>> {
    match context.is_null() {
        true => healthy(),
        false => rt()?.context(handle(context)),
    }
}

/// A kernel node; the first form of the structure ends before `kern` and `ctx`.
unsafe fn kernel(params: *const CUDA_KERNEL_NODE_PARAMS, whole: bool) -> Result<Made> {
    required(params)?;
    // SAFETY: not null, and the program's; fields that the first form lacks are not read.
    unsafe {
        macro_rules! field {
            ($name:ident) => {
                addr_of!((*params).$name).read_unaligned()
            };
        }
        let (kern, ctx) = match whole {
            true => (field!(kern), field!(ctx)),
            false => (std::ptr::null_mut(), std::ptr::null_mut()),
        };
        let context = context_of(ctx)?;
        let func = field!(func);
        let named = if func.is_null() { handle(kern) } else { handle(func) };
        let function = rt()?.launchable(named, &context)?;
        let block = parameters(&function, field!(kernelParams), field!(extra))?;
        let request = LaunchRequest {
            grid: [field!(gridDimX), field!(gridDimY), field!(gridDimZ)],
            block: [field!(blockDimX), field!(blockDimY), field!(blockDimZ)],
            cluster: None,
            dynamic_shared: field!(sharedMemBytes),
            cooperative: false,
            params: block.clone(),
            shared_arguments: Vec::new(),
        };
        let mut block = block;
        let base = block.as_mut_ptr();
        let list = &function.code().params;
        let mut pointers: Vec<*mut c_void> =
            list.iter().map(|p| base.wrapping_add(p.offset as usize).cast()).collect();
        let params = CUDA_KERNEL_NODE_PARAMS {
            func: opaque(function.handle),
            gridDimX: request.grid[0],
            gridDimY: request.grid[1],
            gridDimZ: request.grid[2],
            blockDimX: request.block[0],
            blockDimY: request.block[1],
            blockDimZ: request.block[2],
            sharedMemBytes: request.dynamic_shared,
            kernelParams: pointers.as_mut_ptr(),
            extra: std::ptr::null_mut(),
            kern,
            ctx,
        };
        let kept = KernelKept { params, _block: block, _pointers: pointers };
        Ok((NodeWork::Kernel { function, request }, Some(Arc::new(kept))))
    }
}

unsafe fn memcpy(params: *const CUDA_MEMCPY3D, ctx: CUcontext) -> Result<Made> {
    required(params)?;
    let context = context_of(ctx)?.handle;
    let (to, from, extent) = unsafe { super::copy::sides_3d(params)? };
    // SAFETY: not null, and the program's.
    let kept = Kept(unsafe { params.read_unaligned() });
    Ok((NodeWork::Copy { context, to, from, extent }, Some(Arc::new(kept))))
}

unsafe fn memset(params: *const CUDA_MEMSET_NODE_PARAMS, ctx: CUcontext) -> Result<Made> {
    required(params)?;
    let context = context_of(ctx)?.handle;
    // SAFETY: not null, and the program's.
    let p = unsafe { params.read_unaligned() };
    let value = match p.elementSize {
        1 => Element::Byte(p.value as u8),
        2 => Element::Half(p.value as u16),
        4 => Element::Word(p.value),
        _ => return Err(CudaError::InvalidValue),
    };
    if p.width == 0 || p.height == 0 || p.dst == 0 {
        return Err(CudaError::InvalidValue);
    }
    let size = (p.width as u64, p.height as u64);
    let work = NodeWork::Fill { context, address: p.dst, pitch: p.pitch as u64, value, size };
    Ok((work, Some(Arc::new(Kept(p)))))
}

fn host(call: CUhostFn, data: *mut c_void) -> Result<Made> {
    let function = call.ok_or(CudaError::InvalidValue)?;
    let user = UserData(data);
    let run = move || {
        let user = &user;
        // SAFETY: the program's function with the program's data, as the manual says.
        unsafe { function(user.0) };
    };
    let kept = Kept(CUDA_HOST_NODE_PARAMS { fn_: call, userData: data });
    Ok((NodeWork::Host(Arc::new(run)), Some(Arc::new(kept))))
}

fn child(graph: CUgraph) -> Result<Made> {
    // The child is copied: later changes do not reach it.
    Ok((NodeWork::Child(find_graph(graph)?.duplicate()?), None))
}

fn record(event: CUevent) -> Result<Made> {
    Ok((NodeWork::Record(super::event::find(event)?), None))
}

fn wait(event: CUevent) -> Result<Made> {
    Ok((NodeWork::Wait(super::event::find(event)?), None))
}

/// An allocation: the address goes into the program's structure.
unsafe fn alloc(params: *mut CUDA_MEM_ALLOC_NODE_PARAMS) -> Result<Made> {
    required(params)?;
    // SAFETY: not null, and the program's.
    let mut p = unsafe { params.read_unaligned() };
    if p.poolProps.allocType != CU_MEM_ALLOCATION_TYPE_PINNED
        || p.poolProps.handleTypes != CU_MEM_HANDLE_TYPE_NONE
        || p.bytesize == 0
    {
        return Err(CudaError::InvalidValue);
    }
    let dev = super::memory::location_device(&p.poolProps.location)?;
    let dev = u32::try_from(dev).map_err(|_| CudaError::InvalidValue)?;
    let mut context = healthy()?;
    if context.device != dev {
        context = rt()?.device(dev)?.active_primary().ok_or(CudaError::InvalidDevice)?;
    }
    let memory = context.graph_memory(p.bytesize as u64)?;
    p.dptr = memory.address;
    // SAFETY: as above.
    unsafe { params.write_unaligned(p) };
    Ok((NodeWork::Alloc(memory), Some(Arc::new(Kept(p)))))
}

fn free(address: CUdeviceptr) -> Result<Made> {
    Ok((NodeWork::Free(rt()?.memory_of_graph(address)?), None))
}

unsafe fn add(
    to: *mut CUgraphNode,
    graph: CUgraph,
    dependencies: *const CUgraphNode,
    count: usize,
    make: impl FnOnce() -> Result<Made>,
) -> Result<()> {
    required(to)?;
    let graph = find_graph(graph)?;
    let dependencies = unsafe { handles(dependencies, count)? };
    let (work, description) = make()?;
    unsafe { give(to, opaque(graph.add(&dependencies, work, description)?)) }
}

macro_rules! adders {
    ($( $name:ident($($p:ident: $ty:ty),*) = $make:expr; )*) => { $(
        pub unsafe fn $name(
            to: *mut CUgraphNode,
            graph: CUgraph,
            dependencies: *const CUgraphNode,
            count: usize,
            $($p: $ty),*
        ) -> Result<()> {
            // SAFETY: the module's contract.
            unsafe { add(to, graph, dependencies, count, || $make) }
        }
    )* };
}

adders! {
    cuGraphAddKernelNode(p: *const CUDA_KERNEL_NODE_PARAMS) = kernel(p, false);
    cuGraphAddKernelNode_v2(p: *const CUDA_KERNEL_NODE_PARAMS) = kernel(p, true);
    cuGraphAddMemcpyNode(p: *const CUDA_MEMCPY3D, ctx: CUcontext) = memcpy(p, ctx);
    cuGraphAddMemsetNode(p: *const CUDA_MEMSET_NODE_PARAMS, ctx: CUcontext) = memset(p, ctx);
    cuGraphAddHostNode(p: *const CUDA_HOST_NODE_PARAMS) = host_of(p);
    cuGraphAddChildGraphNode(graph_in: CUgraph) = child(graph_in);
    cuGraphAddEmptyNode() = Ok((NodeWork::Empty, None));
    cuGraphAddEventRecordNode(event: CUevent) = record(event);
    cuGraphAddEventWaitNode(event: CUevent) = wait(event);
    cuGraphAddMemAllocNode(p: *mut CUDA_MEM_ALLOC_NODE_PARAMS) = alloc(p);
    cuGraphAddMemFreeNode(address: CUdeviceptr) = free(address);
    cuGraphAddBatchMemOpNode(p: *const CUDA_BATCH_MEM_OP_NODE_PARAMS) = memory_ops(p);
    cuGraphAddNode(p: *mut CUgraphNodeParams) = any(p);
}

/// The operations are copied; the kept structure leads to that copy.
unsafe fn memory_ops(params: *const CUDA_BATCH_MEM_OP_NODE_PARAMS) -> Result<Made> {
    required(params)?;
    // SAFETY: not null, and the program's.
    let mut p = unsafe { params.read_unaligned() };
    if p.flags != 0 || p.count == 0 {
        return Err(CudaError::InvalidValue);
    }
    let context = context_of(p.ctx)?.handle;
    let ops = unsafe { super::memory_op::operations(p.paramArray, p.count)? };
    // SAFETY: the program's array, which was just read.
    let mut list = unsafe { std::slice::from_raw_parts(p.paramArray, p.count as usize).to_vec() };
    p.paramArray = list.as_mut_ptr();
    let kept = OpsKept { params: p, _list: list };
    Ok((NodeWork::MemoryOps { context, ops: ops.into() }, Some(Arc::new(kept))))
}

/// The graphs of a conditional node's bodies: the program's structure leads to this list.
struct BodiesKept(Vec<CUgraph>);
// SAFETY: as for `Kept`.
unsafe impl Send for BodiesKept {}
// SAFETY: as above.
unsafe impl Sync for BodiesKept {}

/// A conditional node: the bodies, still empty, go into the program's structure.
unsafe fn conditional(params: *mut CUDA_CONDITIONAL_NODE_PARAMS) -> Result<Made> {
    // SAFETY: of the program's structure, which is not null.
    let mut p = unsafe { params.read_unaligned() };
    context_of(p.ctx)?;
    let kind = match p.type_ {
        CU_GRAPH_COND_TYPE_IF => ConditionKind::If,
        CU_GRAPH_COND_TYPE_WHILE => ConditionKind::While,
        CU_GRAPH_COND_TYPE_SWITCH => ConditionKind::Switch,
        _ => return Err(CudaError::InvalidValue),
    };
    let node = rt()?.conditional(p.handle, kind, p.size)?;
    let mut kept = BodiesKept(node.bodies.iter().map(|body| opaque(body.handle)).collect());
    p.phGraph_out = kept.0.as_mut_ptr();
    // SAFETY: as above.
    unsafe { params.write_unaligned(p) };
    Ok((NodeWork::Conditional(Arc::new(node)), Some(Arc::new(kept))))
}

unsafe fn host_of(params: *const CUDA_HOST_NODE_PARAMS) -> Result<Made> {
    required(params)?;
    // SAFETY: not null, and the program's.
    let p = unsafe { params.read_unaligned() };
    host(p.fn_, p.userData)
}

/// A node of the kind that the structure says.
unsafe fn any(params: *mut CUgraphNodeParams) -> Result<Made> {
    required(params)?;
    // SAFETY: not null, and the program's; the type says which field is set.
    unsafe {
        let kind = (*params).type_;
        let fields = &raw mut (*params).__bindgen_anon_1;
        match kind {
            CU_GRAPH_NODE_TYPE_KERNEL => kernel((&raw const (*fields).kernel).cast(), true),
            CU_GRAPH_NODE_TYPE_MEMCPY => {
                memcpy(&raw const (*fields).memcpy.copyParams, (*fields).memcpy.copyCtx)
            }
            // The newer structure begins as the older one and ends with the context.
            CU_GRAPH_NODE_TYPE_MEMSET => {
                memset((&raw const (*fields).memset).cast(), (*fields).memset.ctx)
            }
            CU_GRAPH_NODE_TYPE_HOST => host((*fields).host.fn_, (*fields).host.userData),
            CU_GRAPH_NODE_TYPE_GRAPH => child((*fields).graph.graph),
            CU_GRAPH_NODE_TYPE_EMPTY => Ok((NodeWork::Empty, None)),
            CU_GRAPH_NODE_TYPE_WAIT_EVENT => wait((*fields).eventWait.event),
            CU_GRAPH_NODE_TYPE_EVENT_RECORD => record((*fields).eventRecord.event),
            CU_GRAPH_NODE_TYPE_MEM_ALLOC => alloc((&raw mut (*fields).alloc).cast()),
            CU_GRAPH_NODE_TYPE_MEM_FREE => free((*fields).free.dptr),
            CU_GRAPH_NODE_TYPE_BATCH_MEM_OP => memory_ops((&raw const (*fields).memOp).cast()),
            CU_GRAPH_NODE_TYPE_CONDITIONAL => conditional(&raw mut (*fields).conditional),
            CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL | CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT => {
                Err(CudaError::NotSupported)
            }
            _ => Err(CudaError::InvalidValue),
        }
    }
}

pub unsafe fn cuGraphAddNode_v2(
    to: *mut CUgraphNode,
    graph: CUgraph,
    dependencies: *const CUgraphNode,
    data: *const CUgraphEdgeData,
    count: usize,
    params: *mut CUgraphNodeParams,
) -> Result<()> {
    // SAFETY: the module's contract.
    unsafe {
        no_edge_data(data, count)?;
        add(to, graph, dependencies, count, || any(params))
    }
}

fn replace(node: CUgraphNode, made: Result<Made>) -> Result<()> {
    let (graph, node) = find_node(node)?;
    let (work, description) = made?;
    graph.replace(node, work, description)
}

fn replace_in(exec: CUgraphExec, node: CUgraphNode, made: Result<Made>) -> Result<()> {
    let exec = find_exec(exec)?;
    exec.replace(handle(node), made?.0)
}

macro_rules! setters {
    ($( $name:ident, $exec:ident($($p:ident: $ty:ty),*; $($extra:ident: $extra_ty:ty),*) = $make:expr, $make_exec:expr; )*) => { $(
        pub unsafe fn $name(node: CUgraphNode, $($p: $ty),*) -> Result<()> {
            // SAFETY: the module's contract.
            replace(node, unsafe { $make })
        }

        pub unsafe fn $exec(
            exec: CUgraphExec,
            node: CUgraphNode,
            $($p: $ty,)*
            $($extra: $extra_ty),*
        ) -> Result<()> {
            // SAFETY: the module's contract.
            replace_in(exec, node, unsafe { $make_exec })
        }
    )* };
}

setters! {
    cuGraphKernelNodeSetParams, cuGraphExecKernelNodeSetParams(p: *const CUDA_KERNEL_NODE_PARAMS;)
        = kernel(p, false), kernel(p, false);
    cuGraphKernelNodeSetParams_v2, cuGraphExecKernelNodeSetParams_v2(p: *const CUDA_KERNEL_NODE_PARAMS;)
        = kernel(p, true), kernel(p, true);
    cuGraphMemcpyNodeSetParams, cuGraphExecMemcpyNodeSetParams(p: *const CUDA_MEMCPY3D; ctx: CUcontext)
        = memcpy(p, std::ptr::null_mut()), memcpy(p, ctx);
    cuGraphMemsetNodeSetParams, cuGraphExecMemsetNodeSetParams(p: *const CUDA_MEMSET_NODE_PARAMS; ctx: CUcontext)
        = memset(p, std::ptr::null_mut()), memset(p, ctx);
    cuGraphBatchMemOpNodeSetParams, cuGraphExecBatchMemOpNodeSetParams(p: *const CUDA_BATCH_MEM_OP_NODE_PARAMS;)
        = memory_ops(p), memory_ops(p);
    cuGraphHostNodeSetParams, cuGraphExecHostNodeSetParams(p: *const CUDA_HOST_NODE_PARAMS;)
        = host_of(p), host_of(p);
    cuGraphNodeSetParams, cuGraphExecNodeSetParams(p: *mut CUgraphNodeParams;)
        = any(p), any(p);
}

macro_rules! event_setters {
    ($( $name:ident, $exec:ident = $make:ident; )*) => { $(
        pub unsafe fn $name(node: CUgraphNode, event: CUevent) -> Result<()> {
            replace(node, $make(event))
        }

        pub unsafe fn $exec(exec: CUgraphExec, node: CUgraphNode, event: CUevent) -> Result<()> {
            replace_in(exec, node, $make(event))
        }
    )* };
}

event_setters! {
    cuGraphEventRecordNodeSetEvent, cuGraphExecEventRecordNodeSetEvent = record;
    cuGraphEventWaitNodeSetEvent, cuGraphExecEventWaitNodeSetEvent = wait;
}

pub unsafe fn cuGraphExecChildGraphNodeSetParams(
    exec: CUgraphExec,
    node: CUgraphNode,
    graph: CUgraph,
) -> Result<()> {
    replace_in(exec, node, child(graph))
}

/// What a node of the wanted kind says of itself.
fn asked<T>(
    node: CUgraphNode,
    pick: impl FnOnce(&NodeWork, Option<&Description>) -> Option<T>,
) -> Result<T> {
    let (graph, node) = find_node(node)?;
    let node = graph.node(node)?;
    pick(&node.work, node.description.as_ref()).ok_or(CudaError::InvalidValue)
}

fn kept<T: Copy + 'static>(description: Option<&Description>) -> Option<T> {
    description?.downcast_ref::<Kept<T>>().map(|kept| kept.0)
}

unsafe fn kernel_params(node: CUgraphNode) -> Result<CUDA_KERNEL_NODE_PARAMS> {
    let (graph, at) = find_node(node)?;
    let found = graph.node(at)?;
    if let Some(known) = found.description.as_ref().and_then(|d| d.downcast_ref::<KernelKept>()) {
        return Ok(known.params);
    }
    // A captured launch: described when it is asked for the first time.
    let NodeWork::Kernel { function, request } = &found.work else {
        return Err(CudaError::InvalidValue);
    };
    let mut block = request.params.clone();
    let base = block.as_mut_ptr();
    let list = &function.code().params;
    let mut pointers: Vec<*mut c_void> =
        list.iter().map(|p| base.wrapping_add(p.offset as usize).cast()).collect();
    let params = CUDA_KERNEL_NODE_PARAMS {
        func: opaque(function.handle),
        gridDimX: request.grid[0],
        gridDimY: request.grid[1],
        gridDimZ: request.grid[2],
        blockDimX: request.block[0],
        blockDimY: request.block[1],
        blockDimZ: request.block[2],
        sharedMemBytes: request.dynamic_shared,
        kernelParams: pointers.as_mut_ptr(),
        extra: std::ptr::null_mut(),
        kern: std::ptr::null_mut(),
        ctx: std::ptr::null_mut(),
    };
    let description = KernelKept { params, _block: block, _pointers: pointers };
    graph.replace(at, found.work.clone(), Some(Arc::new(description)))?;
    Ok(params)
}

pub unsafe fn cuGraphKernelNodeGetParams(
    node: CUgraphNode,
    to: *mut CUDA_KERNEL_NODE_PARAMS,
) -> Result<()> {
    required(to)?;
    // SAFETY: the first form of the structure ends before `kern`.
    unsafe {
        let params = kernel_params(node)?;
        let bytes = std::mem::offset_of!(CUDA_KERNEL_NODE_PARAMS, kern);
        std::ptr::copy_nonoverlapping((&raw const params).cast::<u8>(), to.cast(), bytes);
    }
    Ok(())
}

pub unsafe fn cuGraphKernelNodeGetParams_v2(
    node: CUgraphNode,
    to: *mut CUDA_KERNEL_NODE_PARAMS,
) -> Result<()> {
    required(to)?;
    unsafe { give(to, kernel_params(node)?) }
}

pub unsafe fn cuGraphMemcpyNodeGetParams(node: CUgraphNode, to: *mut CUDA_MEMCPY3D) -> Result<()> {
    required(to)?;
    let params = asked(node, |work, description| match (work, kept(description)) {
        (NodeWork::Copy { .. }, Some(params)) => Some(params),
        (NodeWork::Copy { to, from, extent, .. }, None) => {
            // SAFETY: the structure is of integers and pointers.
            let mut params: CUDA_MEMCPY3D = unsafe { std::mem::zeroed() };
            (params.srcMemoryType, params.dstMemoryType) =
                (CU_MEMORYTYPE_UNIFIED, CU_MEMORYTYPE_UNIFIED);
            (params.srcDevice, params.srcPitch) = (from.address, from.pitch as usize);
            (params.dstDevice, params.dstPitch) = (to.address, to.pitch as usize);
            params.WidthInBytes = extent.width as usize;
            (params.Height, params.Depth) = (extent.height as usize, extent.depth as usize);
            Some(params)
        }
        _ => None,
    })?;
    unsafe { give(to, params) }
}

pub unsafe fn cuGraphMemsetNodeGetParams(
    node: CUgraphNode,
    to: *mut CUDA_MEMSET_NODE_PARAMS,
) -> Result<()> {
    required(to)?;
    let params = asked(node, |work, description| match (work, kept(description)) {
        (NodeWork::Fill { .. }, Some(params)) => Some(params),
        (NodeWork::Fill { address, pitch, value, size, .. }, None) => {
            let (value, element) = match value {
                Element::Byte(v) => (u32::from(*v), 1),
                Element::Half(v) => (u32::from(*v), 2),
                Element::Word(v) => (*v, 4),
            };
            Some(CUDA_MEMSET_NODE_PARAMS {
                dst: *address,
                pitch: *pitch as usize,
                value,
                elementSize: element,
                width: size.0 as usize,
                height: size.1 as usize,
            })
        }
        _ => None,
    })?;
    unsafe { give(to, params) }
}

pub unsafe fn cuGraphBatchMemOpNodeGetParams(
    node: CUgraphNode,
    to: *mut CUDA_BATCH_MEM_OP_NODE_PARAMS,
) -> Result<()> {
    required(to)?;
    let params = asked(node, |work, description| match work {
        NodeWork::MemoryOps { .. } => Some(description?.downcast_ref::<OpsKept>()?.params),
        _ => None,
    })?;
    unsafe { give(to, params) }
}

/// Captured host functions have no description: their function is not known by itself.
pub unsafe fn cuGraphHostNodeGetParams(
    node: CUgraphNode,
    to: *mut CUDA_HOST_NODE_PARAMS,
) -> Result<()> {
    required(to)?;
    let params = asked(node, |work, description| match work {
        NodeWork::Host(_) => kept(description),
        _ => None,
    })?;
    unsafe { give(to, params) }
}

pub unsafe fn cuGraphChildGraphNodeGetGraph(node: CUgraphNode, to: *mut CUgraph) -> Result<()> {
    required(to)?;
    let graph: Arc<Graph> = asked(node, |work, _| match work {
        NodeWork::Child(graph) => Some(graph.clone()),
        _ => None,
    })?;
    unsafe { give(to, opaque(graph.handle)) }
}

fn event_of(node: CUgraphNode, recorded: bool) -> Result<Handle> {
    asked(node, |work, _| match (work, recorded) {
        (NodeWork::Record(event), true) | (NodeWork::Wait(event), false) => Some(event.handle),
        _ => None,
    })
}

pub unsafe fn cuGraphEventRecordNodeGetEvent(node: CUgraphNode, to: *mut CUevent) -> Result<()> {
    unsafe { give(to, opaque(event_of(node, true)?)) }
}

pub unsafe fn cuGraphEventWaitNodeGetEvent(node: CUgraphNode, to: *mut CUevent) -> Result<()> {
    unsafe { give(to, opaque(event_of(node, false)?)) }
}

pub unsafe fn cuGraphMemAllocNodeGetParams(
    node: CUgraphNode,
    to: *mut CUDA_MEM_ALLOC_NODE_PARAMS,
) -> Result<()> {
    required(to)?;
    let params = asked(node, |work, description| match (work, kept(description)) {
        (NodeWork::Alloc(_), Some(params)) => Some(params),
        (NodeWork::Alloc(memory), None) => {
            // SAFETY: the structure is of integers and pointers.
            let mut params: CUDA_MEM_ALLOC_NODE_PARAMS = unsafe { std::mem::zeroed() };
            params.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
            params.poolProps.location.type_ = CU_MEM_LOCATION_TYPE_DEVICE;
            params.bytesize = memory.size as usize;
            params.dptr = memory.address;
            Some(params)
        }
        _ => None,
    })?;
    unsafe { give(to, params) }
}

pub unsafe fn cuGraphMemFreeNodeGetParams(node: CUgraphNode, to: *mut CUdeviceptr) -> Result<()> {
    let address = asked(node, |work, _| match work {
        NodeWork::Free(memory) => Some(memory.address),
        _ => None,
    })?;
    unsafe { give(to, address) }
}

/// Of a kernel node's attributes, those that change the launch.
fn with_request(
    node: CUgraphNode,
    change: impl FnOnce(&mut LaunchRequest) -> Result<()>,
) -> Result<()> {
    let (graph, at) = find_node(node)?;
    let found = graph.node(at)?;
    let NodeWork::Kernel { function, mut request } = found.work else {
        return Err(CudaError::InvalidValue);
    };
    change(&mut request)?;
    graph.replace(at, NodeWork::Kernel { function, request }, found.description)
}

pub unsafe fn cuGraphKernelNodeSetAttribute(
    node: CUgraphNode,
    attribute: CUkernelNodeAttrID,
    value: *const CUkernelNodeAttrValue,
) -> Result<()> {
    required(value)?;
    with_request(node, |request| {
        // SAFETY: not null, and the program's; the attribute says which field is set.
        unsafe {
            match attribute {
                CU_LAUNCH_ATTRIBUTE_COOPERATIVE => {
                    request.cooperative = (*value).cooperative != 0;
                }
                CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION => {
                    let d = (*value).clusterDim;
                    request.cluster = Some([d.x, d.y, d.z]);
                }
                // Hints on caches, order and priorities, which change no result.
                CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW
                | CU_LAUNCH_ATTRIBUTE_PRIORITY
                | CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE
                | CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN
                | CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP => {}
                _ => return Err(CudaError::InvalidValue),
            }
        }
        Ok(())
    })
}

pub unsafe fn cuGraphKernelNodeGetAttribute(
    node: CUgraphNode,
    attribute: CUkernelNodeAttrID,
    to: *mut CUkernelNodeAttrValue,
) -> Result<()> {
    required(to)?;
    let request = asked(node, |work, _| match work {
        NodeWork::Kernel { request, .. } => Some(request.clone()),
        _ => None,
    })?;
    // SAFETY: the union is of integers and pointers.
    let mut value: CUkernelNodeAttrValue = unsafe { std::mem::zeroed() };
    match attribute {
        CU_LAUNCH_ATTRIBUTE_COOPERATIVE => value.cooperative = i32::from(request.cooperative),
        CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION => {
            let [x, y, z] = request.cluster.unwrap_or([0; 3]);
            value.clusterDim.x = x;
            value.clusterDim.y = y;
            value.clusterDim.z = z;
        }
        CU_LAUNCH_ATTRIBUTE_PRIORITY => value.priority = 0,
        _ => return Err(CudaError::InvalidValue),
    }
    unsafe { give(to, value) }
}

pub unsafe fn cuGraphKernelNodeCopyAttributes(to: CUgraphNode, from: CUgraphNode) -> Result<()> {
    let (cluster, cooperative) = asked(from, |work, _| match work {
        NodeWork::Kernel { request, .. } => Some((request.cluster, request.cooperative)),
        _ => None,
    })?;
    with_request(to, |request| {
        (request.cluster, request.cooperative) = (cluster, cooperative);
        Ok(())
    })
}
