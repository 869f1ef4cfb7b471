// SPDX-License-Identifier: MIT OR Apache-2.0
//! Graphs: work described once, checked and ordered when instantiated, launched often.
//!
//! Invariant: a graph has no cycle once instantiated, and its nodes run in an order that its edges
//! allow: one after the other in the stream that it is launched in, which is one of the schedules that
//! the manual leaves open. An executable graph is a copy: later changes of its graph do not reach it.
//! Limit: no external-semaphore nodes, as no semaphore can be imported.

use std::any::Any;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::Mutex;

use crate::conditional::{self, Conditional, ConditionalExec};
use crate::context::Context;
use crate::copy::{Element, Extent, Side};
use crate::device_runtime::graph::{DeviceSide, Environment, Step};
use crate::device_runtime::{self, Unfit};
use crate::error::{CudaError, Result};
use crate::event::Event;
use crate::function::Function;
use crate::handle::{self, Handle};
use crate::launch::LaunchRequest;
use crate::memory_op::MemoryOp;
use crate::order::{self, GraphNodes};
use crate::runtime::{self, Runtime};
use crate::stream::Stream;

/// The program's description of a node, for the getters.
pub type Description = Arc<dyn Any + Send + Sync>;

/// What a node does.
#[derive(Clone)]
pub enum NodeWork {
    Kernel {
        function: Arc<Function>,
        request: LaunchRequest,
    },
    Copy {
        context: Handle,
        to: Side,
        from: Side,
        extent: Extent,
    },
    /// `width` counts elements.
    Fill {
        context: Handle,
        address: u64,
        pitch: u64,
        value: Element,
        size: (u64, u64),
    },
    Host(Arc<dyn Fn() + Send + Sync>),
    Child(Arc<Graph>),
    Empty,
    Record(Arc<Event>),
    Wait(Arc<Event>),
    Alloc(Arc<GraphMemory>),
    Free(Arc<GraphMemory>),
    MemoryOps {
        context: Handle,
        ops: Arc<[MemoryOp]>,
    },
    Conditional(Arc<Conditional>),
}

/// The kinds of nodes, with `CUgraphNodeType`'s numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum NodeKind {
    Kernel = 0,
    Memcpy = 1,
    Memset = 2,
    Host = 3,
    Graph = 4,
    Empty = 5,
    WaitEvent = 6,
    EventRecord = 7,
    MemAlloc = 10,
    MemFree = 11,
    BatchMemOp = 12,
    Conditional = 13,
}

impl NodeWork {
    pub fn kind(&self) -> NodeKind {
        match self {
            NodeWork::Kernel { .. } => NodeKind::Kernel,
            NodeWork::Copy { .. } => NodeKind::Memcpy,
            NodeWork::Fill { .. } => NodeKind::Memset,
            NodeWork::Host(_) => NodeKind::Host,
            NodeWork::Child(_) => NodeKind::Graph,
            NodeWork::Empty => NodeKind::Empty,
            NodeWork::Record(_) => NodeKind::EventRecord,
            NodeWork::Wait(_) => NodeKind::WaitEvent,
            NodeWork::Alloc(_) => NodeKind::MemAlloc,
            NodeWork::Free(_) => NodeKind::MemFree,
            NodeWork::MemoryOps { .. } => NodeKind::BatchMemOp,
            NodeWork::Conditional(_) => NodeKind::Conditional,
        }
    }

    /// The graph of a child node.
    pub(crate) fn child(&self) -> Option<&Arc<Graph>> {
        if let NodeWork::Child(child) = self { Some(child) } else { None }
    }

    /// Whether a graph with such a node cannot be copied (`cuGraphClone`): memory is one graph's, and a
    /// conditional handle one node's.
    fn is_single(&self) -> bool {
        match self.kind() {
            NodeKind::MemAlloc | NodeKind::MemFree | NodeKind::Conditional => true,
            NodeKind::Kernel
            | NodeKind::Memcpy
            | NodeKind::Memset
            | NodeKind::Host
            | NodeKind::Graph
            | NodeKind::Empty
            | NodeKind::WaitEvent
            | NodeKind::EventRecord
            | NodeKind::BatchMemOp => false,
        }
    }
}

/// Memory of an allocation node: its address is fixed when the node is made.
pub struct GraphMemory {
    pub address: u64,
    pub size: u64,
    pub device: u32,
    /// Between its allocation and its end in the order of launches.
    live: AtomicBool,
    /// The graph frees it by a node of its own.
    freed_inside: AtomicBool,
}

/// A node of a graph.
#[derive(Clone)]
pub struct Node {
    pub handle: Handle,
    /// The node that this one was cloned from.
    pub original: Handle,
    pub work: NodeWork,
    pub description: Option<Description>,
    pub dependencies: Vec<Handle>,
}

/// Frees a user object when the last reference goes.
pub struct UserObject {
    pub handle: Handle,
    references: Mutex<u64>,
    destroy: Mutex<Option<Box<dyn FnOnce() + Send>>>,
}

/// A graph.
pub struct Graph {
    pub handle: Handle,
    pub id: u64,
    /// The graph that this one was cloned from; 0 if none.
    pub original: Handle,
    nodes: Mutex<Vec<Node>>,
    objects: Mutex<HashMap<Handle, u64>>,
}

/// Where a node is.
pub struct NodePlace {
    pub graph: Arc<Graph>,
}

fn next_id() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

impl Graph {
    fn make(original: Handle) -> Arc<Graph> {
        let (nodes, objects) = (Mutex::default(), Mutex::default());
        Arc::new(Graph { handle: handle::fresh(), id: next_id(), original, nodes, objects })
    }

    /// All nodes, in the order in which they were added.
    pub fn nodes(&self) -> Vec<Node> {
        self.nodes.lock().clone()
    }

    /// A node of this graph.
    pub fn node(&self, handle: Handle) -> Result<Node> {
        let nodes = self.nodes.lock();
        nodes.iter().find(|n| n.handle == handle).cloned().ok_or(CudaError::InvalidValue)
    }

    /// Adds a node after others of the same graph.
    pub fn add(
        self: &Arc<Self>,
        dependencies: &[Handle],
        work: NodeWork,
        description: Option<Description>,
    ) -> Result<Handle> {
        let mut nodes = self.nodes.lock();
        let mut seen = HashSet::new();
        for dependency in dependencies {
            let known = nodes.iter().any(|n| n.handle == *dependency);
            if !known || !seen.insert(*dependency) {
                return Err(CudaError::InvalidValue);
            }
        }
        if let NodeWork::Free(memory) = &work
            && memory.freed_inside.swap(true, Ordering::AcqRel)
        {
            return Err(CudaError::InvalidValue);
        }
        let handle = handle::fresh();
        let dependencies = dependencies.to_vec();
        nodes.push(Node { handle, original: handle, work, description, dependencies });
        let place = NodePlace { graph: self.clone() };
        runtime::get().graph_nodes.insert(handle, Arc::new(place));
        Ok(handle)
    }

    /// Changes what a node does; its kind stays.
    pub fn replace(
        &self,
        handle: Handle,
        work: NodeWork,
        description: Option<Description>,
    ) -> Result<()> {
        let mut nodes = self.nodes.lock();
        let node = nodes.iter_mut().find(|n| n.handle == handle).ok_or(CudaError::InvalidValue)?;
        if node.work.kind() != work.kind() {
            return Err(CudaError::InvalidValue);
        }
        (node.work, node.description) = (work, description);
        Ok(())
    }

    /// Adds edges; each must be new.
    pub fn connect(&self, edges: &[(Handle, Handle)]) -> Result<()> {
        let mut nodes = self.nodes.lock();
        for (from, to) in edges {
            let known = nodes.iter().any(|n| n.handle == *from);
            let node = nodes.iter_mut().find(|n| n.handle == *to).filter(|_| known);
            let node = node.ok_or(CudaError::InvalidValue)?;
            if node.dependencies.contains(from) || from == to {
                return Err(CudaError::InvalidValue);
            }
            node.dependencies.push(*from);
        }
        Ok(())
    }

    /// Removes edges; each must be there.
    pub fn disconnect(&self, edges: &[(Handle, Handle)]) -> Result<()> {
        let mut nodes = self.nodes.lock();
        for (from, to) in edges {
            let node = nodes.iter_mut().find(|n| n.handle == *to).ok_or(CudaError::InvalidValue)?;
            let at = node.dependencies.iter().position(|d| d == from);
            node.dependencies.remove(at.ok_or(CudaError::InvalidValue)?);
        }
        Ok(())
    }

    /// Removes a node with its edges.
    pub fn remove(&self, handle: Handle) -> Result<()> {
        let mut nodes = self.nodes.lock();
        let at = nodes.iter().position(|n| n.handle == handle).ok_or(CudaError::InvalidValue)?;
        // Memory cannot be taken back from a graph.
        if matches!(nodes[at].work, NodeWork::Alloc(_) | NodeWork::Free(_)) {
            return Err(CudaError::NotSupported);
        }
        nodes.remove(at);
        for node in nodes.iter_mut() {
            node.dependencies.retain(|d| *d != handle);
        }
        drop(nodes);
        runtime::get().graph_nodes.remove(handle);
        Ok(())
    }

    /// `cuGraphClone`. Memory and conditional nodes cannot be cloned.
    pub fn duplicate(&self) -> Result<Arc<Graph>> {
        let copy = Graph::make(self.handle);
        let old = self.nodes();
        if old.iter().any(|n| n.work.is_single()) {
            return Err(CudaError::NotSupported);
        }
        let fresh: HashMap<Handle, Handle> =
            old.iter().map(|n| (n.handle, handle::fresh())).collect();
        let rt = runtime::get();
        let mut nodes = Vec::with_capacity(old.len());
        for node in old {
            let work = match node.work {
                NodeWork::Child(child) => NodeWork::Child(child.duplicate()?),
                other => other,
            };
            let handle = fresh[&node.handle];
            let dependencies = node.dependencies.iter().map(|d| fresh[d]).collect();
            let (original, description) = (node.handle, node.description);
            nodes.push(Node { handle, original, work, description, dependencies });
            rt.graph_nodes.insert(handle, Arc::new(NodePlace { graph: copy.clone() }));
        }
        *copy.nodes.lock() = nodes;
        rt.graphs.insert(copy.handle, copy.clone());
        Ok(copy)
    }

    /// Nodes so that each comes after those that it depends on; `None` if there is a cycle.
    fn ordered(&self) -> Option<Vec<Node>> {
        let mut left = self.nodes();
        let mut done: HashSet<Handle> = HashSet::new();
        let mut out = Vec::with_capacity(left.len());
        while !left.is_empty() {
            let ready = |n: &Node| n.dependencies.iter().all(|d| done.contains(d));
            let at = left.iter().position(ready)?;
            let node = left.remove(at);
            done.insert(node.handle);
            out.push(node);
        }
        Some(out)
    }

    /// `cuGraphRetainUserObject`.
    pub fn retain(&self, object: Handle, count: u64) {
        *self.objects.lock().entry(object).or_default() += count;
    }

    /// `cuGraphReleaseUserObject`.
    pub fn release(&self, object: Handle, count: u64) -> Result<()> {
        let mut objects = self.objects.lock();
        let has = objects.get_mut(&object).ok_or(CudaError::InvalidValue)?;
        *has = has.checked_sub(count).ok_or(CudaError::InvalidValue)?;
        if *has == 0 {
            objects.remove(&object);
        }
        drop(objects);
        runtime::get().release_object(object, count)
    }
}

/// A node of an executable graph.
pub(crate) struct ExecNode {
    origin: Handle,
    work: ExecWork,
    enabled: bool,
    dependencies: Vec<Handle>,
}

enum ExecWork {
    Plain(NodeWork),
    Child(Vec<ExecNode>),
    /// Shared with launches that are under way.
    Conditional(Arc<ConditionalExec>),
}

impl ExecNode {
    /// Sets the values of conditional nodes to what a launch begins with.
    pub(crate) fn reset_conditions(&self) {
        match &self.work {
            ExecWork::Plain(_) => {}
            ExecWork::Child(nodes) => conditional::reset_all(nodes),
            ExecWork::Conditional(node) => node.reset(),
        }
    }
}

/// An executable graph.
pub struct GraphExec {
    pub handle: Handle,
    pub id: u64,
    pub context: Handle,
    pub flags: u64,
    nodes: Mutex<Vec<ExecNode>>,
    memory: Vec<Arc<GraphMemory>>,
    /// What a launch into a capture adds as a child; none with memory or conditional nodes.
    source: Option<Arc<Graph>>,
    pub(crate) device: DeviceSide,
}

/// What device code launches; the first node that it cannot, and why.
fn steps(context: Handle, nodes: &[ExecNode]) -> std::result::Result<Vec<Step>, (Handle, Unfit)> {
    let mut out = Vec::new();
    for node in nodes.iter().filter(|n| n.enabled) {
        match &node.work {
            ExecWork::Plain(work) => {
                let step = device_runtime::graph::step(context, work);
                out.extend(step.map_err(|why| (node.origin, why))?);
            }
            ExecWork::Child(nodes) => out.extend(steps(context, nodes)?),
            ExecWork::Conditional(_) => return Err((node.origin, Unfit::NodeOperation)),
        }
    }
    Ok(out)
}

/// `CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH`.
const AUTO_FREE: u64 = 1;
/// `CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD`.
const UPLOAD: u64 = 2;
/// `CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH`.
const DEVICE_LAUNCH: u64 = 4;

/// What an update could not take over, with `CUgraphExecUpdateResult`'s numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UpdateRefusal {
    pub result: u32,
    pub node: Handle,
    pub from: Handle,
}

/// `CU_GRAPH_EXEC_UPDATE_ERROR_*`.
const TOPOLOGY_CHANGED: u32 = 2;
const TYPE_CHANGED: u32 = 3;
const FUNCTION_CHANGED: u32 = 4;
const PARAMETERS_CHANGED: u32 = 5;

/// The nodes in an order that the edges allow; CUDA_ERROR_INVALID_VALUE if there is a cycle.
pub(crate) fn executable(graph: &Graph) -> Result<Vec<ExecNode>> {
    let mut out = Vec::new();
    for node in graph.ordered().ok_or(CudaError::InvalidValue)? {
        let work = match &node.work {
            NodeWork::Child(child) => ExecWork::Child(executable(child)?),
            NodeWork::Conditional(node) => ExecWork::Conditional(Arc::new(node.executable()?)),
            plain => ExecWork::Plain(plain.clone()),
        };
        let dependencies = node.dependencies.clone();
        out.push(ExecNode { origin: node.handle, work, enabled: true, dependencies });
    }
    Ok(out)
}

fn memory_of(nodes: &[ExecNode], out: &mut Vec<Arc<GraphMemory>>) {
    for node in nodes {
        match &node.work {
            ExecWork::Plain(NodeWork::Alloc(memory)) => out.push(memory.clone()),
            // A body has no memory nodes.
            ExecWork::Plain(_) | ExecWork::Conditional(_) => {}
            ExecWork::Child(nodes) => memory_of(nodes, out),
        }
    }
}

impl Context {
    /// What of a graph device code could not launch: the first such node, and why.
    pub fn unfit_for_device(&self, graph: &Graph) -> Result<Option<(Handle, Unfit)>> {
        Ok(steps(self.handle, &executable(graph)?).err())
    }

    /// `cuGraphInstantiate`.
    pub fn instantiate(&self, graph: &Graph, flags: u64) -> Result<Arc<GraphExec>> {
        self.check()?;
        let nodes = executable(graph)?;
        let device = DeviceSide::default();
        if flags & DEVICE_LAUNCH != 0 {
            let steps = steps(self.handle, &nodes).map_err(|_| CudaError::InvalidValue)?;
            if nodes.is_empty() || flags & AUTO_FREE != 0 {
                return Err(CudaError::InvalidValue);
            }
            if flags & UPLOAD != 0 {
                device.upload(steps);
            }
        }
        let mut memory = Vec::new();
        memory_of(&nodes, &mut memory);
        let rt = runtime::get();
        // A graph with memory nodes has one executable at a time.
        let busy =
            |e: &GraphExec| e.memory.iter().any(|m| memory.iter().any(|mine| Arc::ptr_eq(m, mine)));
        if !memory.is_empty() && !rt.graph_execs.all_where(busy).is_empty() {
            return Err(CudaError::NotSupported);
        }
        let exec = Arc::new(GraphExec {
            handle: handle::fresh(),
            id: next_id(),
            context: self.handle,
            flags,
            nodes: Mutex::new(nodes),
            source: match graph.duplicate() {
                Err(CudaError::NotSupported) => None,
                copied => Some(copied?),
            },
            memory,
            device,
        });
        rt.graph_execs.insert(exec.handle, exec.clone());
        Ok(exec)
    }

    /// Memory for a node of a graph, on this context's device.
    pub fn graph_memory(&self, size: u64) -> Result<Arc<GraphMemory>> {
        self.check()?;
        if size == 0 {
            return Err(CudaError::InvalidValue);
        }
        let address = self.allocate_for_graph(size)?;
        let memory = Arc::new(GraphMemory {
            address,
            size,
            device: self.device,
            live: AtomicBool::new(false),
            freed_inside: AtomicBool::new(false),
        });
        runtime::get().graph_memory.lock().insert(address, memory.clone());
        Ok(memory)
    }
}

/// Puts one node's work into a stream.
fn submit(work: &NodeWork, stream: &Arc<Stream>, graph: &Arc<Environment>) -> Result<()> {
    let owner = stream.owner()?;
    match work {
        NodeWork::Kernel { function, request } => {
            // The graph keeps the code, but the module's variables are gone.
            if runtime::get().modules.get(function.module.handle).is_none() {
                return Err(CudaError::InvalidHandle);
            }
            let device = function.module.context;
            elsewhere(device, stream, |context, stream| {
                context.launch_in(function, stream, request.clone(), Some(graph))
            })
        }
        NodeWork::Copy { context, to, from, extent } => {
            elsewhere(*context, stream, |context, stream| {
                context.copy_in_order(stream, *to, *from, *extent)
            })
        }
        NodeWork::Fill { context, address, pitch, value, size } => {
            elsewhere(*context, stream, |context, stream| {
                context.fill(stream, *address, *pitch, *value, *size, false)
            })
        }
        NodeWork::MemoryOps { context, ops } => {
            elsewhere(*context, stream, |context, stream| context.memory_ops(stream, ops))
        }
        NodeWork::Host(call) => {
            let call = call.clone();
            owner.launch_host(stream, Box::new(move || call()))
        }
        // The first two are `ExecWork`s of their own.
        NodeWork::Child(_) | NodeWork::Conditional(_) | NodeWork::Empty => Ok(()),
        NodeWork::Record(event) => event.record(stream),
        NodeWork::Wait(event) => event.hold(stream),
        NodeWork::Alloc(memory) => {
            memory.live.store(true, Ordering::Release);
            Ok(())
        }
        NodeWork::Free(memory) => {
            memory.live.store(false, Ordering::Release);
            Ok(())
        }
    }
}

/// Runs `push` in a stream of the node's own context, ordered into the stream of the launch.
fn elsewhere(
    context: Handle,
    stream: &Arc<Stream>,
    push: impl FnOnce(&Arc<Context>, &Arc<Stream>) -> Result<()>,
) -> Result<()> {
    let owner = stream.owner()?;
    if context == owner.handle {
        return push(&owner, stream);
    }
    let other = runtime::get().context(context)?;
    let side = other.create_stream(true, 0);
    let before = owner.push(stream, None, Box::new(|| ()));
    other.push(&side, Some(before), Box::new(|| ()));
    let pushed = push(&other, &side);
    let after = other.push(&side, None, Box::new(|| ()));
    owner.push(stream, Some(after), Box::new(|| ()));
    runtime::get().streams.remove(side.handle);
    pushed
}

/// Puts the work of all enabled nodes into a stream.
pub(crate) fn submit_all(
    nodes: &[ExecNode],
    stream: &Arc<Stream>,
    graph: &Arc<Environment>,
) -> Result<()> {
    let places = GraphNodes::new((0..nodes.len()).map(|n| before(nodes, n)));
    for (n, node) in nodes.iter().enumerate().filter(|(_, n)| n.enabled) {
        GraphNodes::node(&places, n, || match &node.work {
            ExecWork::Plain(work) => submit(work, stream, graph),
            ExecWork::Child(nodes) => submit_all(nodes, stream, graph),
            ExecWork::Conditional(node) => {
                let owner = stream.owner()?;
                let (node, context, graph) = (node.clone(), owner.clone(), graph.clone());
                owner.push(stream, None, Box::new(move || node.run(&context, &graph)));
                Ok(())
            }
        })?;
    }
    Ok(())
}

/// Whether the edges leave no two nodes without an order, at any depth.
fn is_chain(nodes: &[ExecNode]) -> bool {
    let within = |node: &ExecNode| match &node.work {
        ExecWork::Plain(_) => true,
        ExecWork::Child(nodes) => is_chain(nodes),
        ExecWork::Conditional(node) => node.bodies.iter().all(|body| is_chain(body)),
    };
    nodes.windows(2).all(|pair| pair[1].dependencies.contains(&pair[0].origin))
        && nodes.iter().all(within)
}

/// The earlier nodes that a node comes after: by edges, or by what it may wait for.
fn before(nodes: &[ExecNode], number: usize) -> Vec<usize> {
    // Events and values in memory order nodes, too; which, is not looked at.
    let meets = |node: &ExecNode| match &node.work {
        ExecWork::Plain(work) => match work.kind() {
            NodeKind::EventRecord | NodeKind::WaitEvent | NodeKind::BatchMemOp => true,
            NodeKind::Kernel
            | NodeKind::Memcpy
            | NodeKind::Memset
            | NodeKind::Host
            | NodeKind::Graph
            | NodeKind::Empty
            | NodeKind::MemAlloc
            | NodeKind::MemFree
            | NodeKind::Conditional => false,
        },
        ExecWork::Child(_) | ExecWork::Conditional(_) => false,
    };
    let own = &nodes[number];
    let comes_after =
        |n: &usize| own.dependencies.contains(&nodes[*n].origin) || meets(own) && meets(&nodes[*n]);
    (0..number).filter(comes_after).collect()
}

/// All conditional nodes that are in no body of another.
fn conditions(nodes: &[ExecNode]) -> Vec<Arc<ConditionalExec>> {
    let of = |node: &ExecNode| match &node.work {
        ExecWork::Plain(_) => Vec::new(),
        ExecWork::Child(nodes) => conditions(nodes),
        ExecWork::Conditional(node) => vec![node.clone()],
    };
    nodes.iter().flat_map(of).collect()
}

fn find_exec(nodes: &mut [ExecNode], origin: Handle) -> Option<&mut ExecNode> {
    nodes.iter_mut().find(|n| n.origin == origin)
}

type Update = std::result::Result<(), UpdateRefusal>;

/// Whether nothing but parameters differs, at any depth.
fn check_update(old: &[ExecNode], new: &[ExecNode]) -> Update {
    let refuse = |result, node, from| Err(UpdateRefusal { result, node, from });
    if old.len() != new.len() {
        return refuse(TOPOLOGY_CHANGED, 0, 0);
    }
    let position = |list: &[ExecNode], handle: &Handle| {
        list.iter().position(|n| n.origin == *handle).unwrap_or(usize::MAX)
    };
    for (a, b) in old.iter().zip(new) {
        let was: Vec<usize> = a.dependencies.iter().map(|d| position(old, d)).collect();
        let is: Vec<usize> = b.dependencies.iter().map(|d| position(new, d)).collect();
        if was != is {
            let from = b.dependencies.first().copied().unwrap_or(0);
            return refuse(TOPOLOGY_CHANGED, b.origin, from);
        }
        match (&a.work, &b.work) {
            (ExecWork::Plain(was), ExecWork::Plain(is)) if was.kind() != is.kind() => {
                return refuse(TYPE_CHANGED, b.origin, 0);
            }
            (
                ExecWork::Plain(NodeWork::Kernel { function: was, .. }),
                ExecWork::Plain(NodeWork::Kernel { function: is, .. }),
            ) if was.module.context != is.module.context => {
                return refuse(FUNCTION_CHANGED, b.origin, 0);
            }
            (
                ExecWork::Plain(NodeWork::Alloc(was) | NodeWork::Free(was)),
                ExecWork::Plain(NodeWork::Alloc(is) | NodeWork::Free(is)),
            ) if !Arc::ptr_eq(was, is) => return refuse(PARAMETERS_CHANGED, b.origin, 0),
            (ExecWork::Plain(_), ExecWork::Plain(_)) => {}
            (ExecWork::Child(was), ExecWork::Child(is)) => check_update(was, is)?,
            (ExecWork::Conditional(was), ExecWork::Conditional(is)) => {
                if was.kind != is.kind || was.bodies.len() != is.bodies.len() {
                    return refuse(PARAMETERS_CHANGED, b.origin, 0);
                }
                for (was, is) in was.bodies.iter().zip(&is.bodies) {
                    check_update(was, is)?;
                }
            }
            (ExecWork::Plain(_) | ExecWork::Child(_) | ExecWork::Conditional(_), _) => {
                return refuse(TYPE_CHANGED, b.origin, 0);
            }
        }
    }
    Ok(())
}

/// Takes over the work of `new`, which passed [`check_update`].
fn take_over(old: &mut [ExecNode], new: Vec<ExecNode>) {
    for (a, b) in old.iter_mut().zip(new) {
        match (&mut a.work, b.work) {
            (ExecWork::Child(was), ExecWork::Child(is)) => take_over(was, is),
            (was, is) => *was = is,
        }
    }
}

impl GraphExec {
    /// `cuGraphLaunch`.
    pub fn launch(self: &Arc<Self>, stream: &Arc<Stream>) -> Result<()> {
        let owner = stream.owner()?;
        owner.check()?;
        if stream.part().is_some() {
            let Some(source) = &self.source else { return Err(CudaError::NotSupported) };
            let child = source.duplicate()?;
            return stream.intercept(|| NodeWork::Child(child)).map(drop);
        }
        // The order of two launches of one executable is that of the calls.
        let nodes = self.nodes.lock();
        if !is_chain(&nodes) {
            order::several();
        }
        for memory in &self.memory {
            let left = memory.live.load(Ordering::Acquire);
            if left && self.flags & AUTO_FREE == 0 {
                return Err(CudaError::InvalidValue);
            }
        }
        let values = conditions(&nodes);
        if !values.is_empty() {
            let reset = move || values.iter().for_each(|node| node.reset());
            owner.push(stream, None, Box::new(reset));
        }
        let graph = Environment::of_host(self.clone());
        // A first launch by the host is an upload too, which the graph's own kernels may count on.
        if self.is_launchable()
            && !self.device.is_uploaded()
            && let Ok(steps) = steps(self.context, &nodes)
        {
            self.device.upload(steps);
        }
        submit_all(&nodes, stream, &graph)?;
        drop(nodes);
        // Tail launches can be of such graphs only.
        if !runtime::get().graph_execs.all_where(GraphExec::is_launchable).is_empty() {
            owner.finish_graph(stream, graph);
        }
        Ok(())
    }

    /// Whether device code may launch it.
    pub(crate) fn is_launchable(&self) -> bool {
        self.flags & DEVICE_LAUNCH != 0
    }

    /// `cuGraphUpload`: from now on device code launches the graph as it is.
    pub fn upload(&self) -> Result<()> {
        if self.is_launchable() {
            let nodes = self.nodes.lock();
            let steps = steps(self.context, &nodes).map_err(|_| CudaError::InvalidValue)?;
            self.device.upload(steps);
        }
        Ok(())
    }

    /// `cuGraphExec…NodeSetParams`: the node is one of the graph that this was made from.
    pub fn replace(&self, node: Handle, work: NodeWork) -> Result<()> {
        let mut nodes = self.nodes.lock();
        let found = find_exec(&mut nodes, node).ok_or(CudaError::InvalidValue)?;
        let work = match (&found.work, &work) {
            (ExecWork::Plain(was), is) if was.kind() == is.kind() => ExecWork::Plain(work),
            (ExecWork::Child(_), NodeWork::Child(child)) => {
                let new = executable(child)?;
                let ExecWork::Child(was) = &mut found.work else {
                    return Err(CudaError::InvalidValue);
                };
                check_update(was, &new).map_err(|_| CudaError::GraphExecUpdateFailure)?;
                take_over(was, new);
                return Ok(());
            }
            (ExecWork::Plain(_) | ExecWork::Child(_) | ExecWork::Conditional(_), _) => {
                return Err(CudaError::InvalidValue);
            }
        };
        found.work = work;
        Ok(())
    }

    /// `cuGraphNodeSetEnabled`: kernel, copy and fill nodes can be skipped.
    pub fn set_enabled(&self, node: Handle, on: bool) -> Result<()> {
        let mut nodes = self.nodes.lock();
        let found = find_exec(&mut nodes, node).ok_or(CudaError::InvalidValue)?;
        match &found.work {
            ExecWork::Plain(
                NodeWork::Kernel { .. } | NodeWork::Copy { .. } | NodeWork::Fill { .. },
            ) => found.enabled = on,
            ExecWork::Plain(_) | ExecWork::Child(_) | ExecWork::Conditional(_) => {
                return Err(CudaError::InvalidValue);
            }
        }
        Ok(())
    }

    /// `cuGraphNodeGetEnabled`.
    pub fn is_enabled(&self, node: Handle) -> Result<bool> {
        let mut nodes = self.nodes.lock();
        find_exec(&mut nodes, node).map(|n| n.enabled).ok_or(CudaError::InvalidValue)
    }

    /// `cuGraphExecUpdate`.
    pub fn update(&self, graph: &Graph) -> Update {
        let Ok(new) = executable(graph) else {
            return Err(UpdateRefusal { result: TOPOLOGY_CHANGED, node: 0, from: 0 });
        };
        let mut nodes = self.nodes.lock();
        check_update(&nodes, &new)?;
        take_over(&mut nodes, new);
        Ok(())
    }
}

impl Runtime {
    /// `cuGraphCreate`.
    pub fn create_graph(&self) -> Arc<Graph> {
        let graph = Graph::make(0);
        self.graphs.insert(graph.handle, graph.clone());
        graph
    }

    /// `cuGraphDestroy`.
    pub fn destroy_graph(&self, handle: Handle) -> Result<()> {
        let graph = self.graphs.remove(handle).ok_or(CudaError::InvalidValue)?;
        for node in graph.nodes() {
            self.graph_nodes.remove(node.handle);
        }
        self.forget_conditions(handle);
        let objects: Vec<(Handle, u64)> = graph.objects.lock().drain().collect();
        for (object, count) in objects {
            self.release_object(object, count)?;
        }
        Ok(())
    }

    /// `cuGraphExecDestroy`: launches that are under way go on.
    pub fn destroy_exec(&self, handle: Handle) -> Result<()> {
        self.graph_execs.remove(handle).map(drop).ok_or(CudaError::InvalidValue)
    }

    /// The graph that a node belongs to.
    pub fn node_graph(&self, node: Handle) -> Result<Arc<Graph>> {
        Ok(self.graph_nodes.get(node).ok_or(CudaError::InvalidValue)?.graph.clone())
    }

    /// Ends the life of a graph's memory from outside of the graph; `None` if it is no such memory.
    pub fn free_graph_memory(&self, address: u64) -> Option<Result<()>> {
        let memory = self.graph_memory.lock().get(&address)?.clone();
        Some(match memory.live.swap(false, Ordering::AcqRel) {
            true => Ok(()),
            false => Err(CudaError::InvalidValue),
        })
    }

    /// The memory that an allocation node gave this address.
    pub fn memory_of_graph(&self, address: u64) -> Result<Arc<GraphMemory>> {
        self.graph_memory.lock().get(&address).cloned().ok_or(CudaError::InvalidValue)
    }

    /// Bytes of graphs' memory on a device: in use, and set aside.
    pub fn graph_memory_bytes(&self, device: u32) -> (u64, u64) {
        let all = self.graph_memory.lock();
        let mine = all.values().filter(|m| m.device == device);
        mine.fold((0, 0), |(used, reserved), m| {
            let live = m.live.load(Ordering::Acquire);
            (used + if live { m.size } else { 0 }, reserved + m.size)
        })
    }

    /// `cuDeviceGraphMemTrim`: gives back the memory of graphs that are gone.
    pub fn trim_graph_memory(&self, device: u32) {
        let idle: Vec<u64> = {
            let all = self.graph_memory.lock();
            let gone = |m: &&Arc<GraphMemory>| {
                m.device == device && Arc::strong_count(m) == 1 && !m.live.load(Ordering::Acquire)
            };
            all.values().filter(gone).map(|m| m.address).collect()
        };
        for address in idle {
            self.graph_memory.lock().remove(&address);
            self.release_graph_memory(address);
        }
    }

    /// `cuUserObjectCreate`.
    pub fn create_object(&self, count: u64, destroy: Box<dyn FnOnce() + Send>) -> Handle {
        let handle = handle::fresh();
        let (references, destroy) = (Mutex::new(count), Mutex::new(Some(destroy)));
        self.user_objects.insert(handle, Arc::new(UserObject { handle, references, destroy }));
        handle
    }

    /// `cuUserObjectRetain`.
    pub fn retain_object(&self, handle: Handle, count: u64) -> Result<()> {
        let object = self.user_objects.get(handle).ok_or(CudaError::InvalidValue)?;
        *object.references.lock() += count;
        Ok(())
    }

    /// `cuUserObjectRelease`: the last reference calls the destructor.
    pub fn release_object(&self, handle: Handle, count: u64) -> Result<()> {
        let object = self.user_objects.get(handle).ok_or(CudaError::InvalidValue)?;
        let mut references = object.references.lock();
        *references = references.checked_sub(count).ok_or(CudaError::InvalidValue)?;
        if *references > 0 {
            return Ok(());
        }
        drop(references);
        self.user_objects.remove(handle);
        if let Some(destroy) = object.destroy.lock().take() {
            crate::thread::as_callback(destroy);
        }
        Ok(())
    }
}
