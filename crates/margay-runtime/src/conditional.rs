// SPDX-License-Identifier: MIT OR Apache-2.0
//! Conditional nodes of graphs: bodies that run if, while or as a value says (CUDA C++ Programming
//! Guide, "Conditional Graph Nodes").
//!
//! A handle is the address of its value in device memory: `cudaGraphSetConditional` in a kernel is a
//! store. Invariant: the value is read when the node's turn comes in its stream, and a body's work has
//! ended before the value is read again or the next node begins.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use margay_exec::mem::AllocKind;

use crate::context::Context;
use crate::device_runtime::graph::Environment;
use crate::error::{CudaError, Result};
use crate::graph::{ExecNode, Graph, NodeKind, executable, submit_all};
use crate::handle::Handle;
use crate::runtime::{self, CANCEL, Runtime};
use crate::stream::Stream;

/// `CUgraphConditionalNodeType`'s numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum ConditionKind {
    /// The first body if the value is not 0, else the second, if there is one.
    If = 0,
    /// The body as long as the value is not 0.
    While = 1,
    /// The body of that number, if there is one.
    Switch = 2,
}

/// What a handle stands for.
pub struct Condition {
    /// Of the value, which is also the handle.
    pub address: u64,
    /// The graph that it was made for.
    graph: Handle,
    /// What each launch sets it to first.
    default: Option<u32>,
    /// A node has it.
    taken: AtomicBool,
}

impl Condition {
    fn value(&self) -> &AtomicU32 {
        // SAFETY: four aligned bytes of an allocation that lives as long as this does; kernels write
        // it, and device memory is the process's own.
        unsafe { AtomicU32::from_ptr(self.address as *mut u32) }
    }

    fn get(&self) -> u32 {
        self.value().load(Ordering::Acquire)
    }

    fn reset(&self) {
        if let Some(value) = self.default {
            self.value().store(value, Ordering::Release);
        }
    }
}

impl Drop for Condition {
    fn drop(&mut self) {
        // It came from `alloc`, once.
        let _ = runtime::get().memory.free(self.address);
    }
}

/// A conditional node.
pub struct Conditional {
    pub condition: Arc<Condition>,
    pub kind: ConditionKind,
    /// Graphs of the program's, which it fills after the node is made.
    pub bodies: Vec<Arc<Graph>>,
}

impl Drop for Conditional {
    /// The bodies go with their node, and a node that was refused leaves its handle free.
    fn drop(&mut self) {
        self.condition.taken.store(false, Ordering::Release);
        for body in &self.bodies {
            // The program may have destroyed it.
            let _ = runtime::get().destroy_graph(body.handle);
        }
    }
}

/// A conditional node of an executable graph.
pub(crate) struct ConditionalExec {
    pub condition: Arc<Condition>,
    pub kind: ConditionKind,
    pub bodies: Vec<Vec<ExecNode>>,
    /// What the bodies run in, made when they first do.
    side: OnceLock<Arc<Stream>>,
}

impl Context {
    /// `cuGraphConditionalHandleCreate`.
    pub fn create_condition(&self, graph: &Graph, default: Option<u32>) -> Result<Arc<Condition>> {
        self.check()?;
        let rt = runtime::get();
        let label = "value of a conditional node";
        let address = rt.memory.alloc(8, 8, AllocKind::Device, self.device, label);
        let address = address.map_err(|_| CudaError::OutOfMemory)?;
        let condition =
            Condition { address, graph: graph.handle, default, taken: AtomicBool::new(false) };
        condition.value().store(default.unwrap_or(0), Ordering::Release);
        let condition = Arc::new(condition);
        rt.conditions.lock().insert(address, condition.clone());
        Ok(condition)
    }
}

impl Runtime {
    /// A node for the handle, with empty bodies. Each handle is for one node.
    pub fn conditional(&self, handle: u64, kind: ConditionKind, size: u32) -> Result<Conditional> {
        let fits = match kind {
            ConditionKind::If => matches!(size, 1 | 2),
            ConditionKind::While => size == 1,
            ConditionKind::Switch => size >= 1,
        };
        if !fits {
            return Err(CudaError::InvalidValue);
        }
        let condition = self.conditions.lock().get(&handle).cloned();
        let condition = condition.ok_or(CudaError::InvalidValue)?;
        if condition.taken.swap(true, Ordering::AcqRel) {
            return Err(CudaError::InvalidValue);
        }
        let bodies = (0..size).map(|_| self.create_graph()).collect();
        Ok(Conditional { condition, kind, bodies })
    }

    /// The graph is gone, and so are its handles.
    pub(crate) fn forget_conditions(&self, graph: Handle) {
        let mut conditions = self.conditions.lock();
        let gone: Vec<u64> =
            conditions.values().filter(|c| c.graph == graph).map(|c| c.address).collect();
        let gone: Vec<Option<Arc<Condition>>> =
            gone.iter().map(|address| conditions.remove(address)).collect();
        // Their memory is freed without the lock.
        drop(conditions);
        drop(gone);
    }
}

impl Conditional {
    /// Ordered for execution. A body may have kernels, copies, fills, empty nodes, child graphs and
    /// further conditional nodes (the guide's list).
    pub(crate) fn executable(&self) -> Result<ConditionalExec> {
        for body in &self.bodies {
            check_body(body)?;
        }
        let bodies = self.bodies.iter().map(|body| executable(body)).collect::<Result<_>>()?;
        let (condition, kind) = (self.condition.clone(), self.kind);
        Ok(ConditionalExec { condition, kind, bodies, side: OnceLock::new() })
    }
}

fn check_body(body: &Graph) -> Result<()> {
    for node in body.nodes() {
        let kind = node.work.kind();
        match kind {
            NodeKind::Kernel | NodeKind::Memcpy | NodeKind::Memset | NodeKind::Empty => {}
            // Its bodies are checked when it is made executable.
            NodeKind::Conditional => {}
            NodeKind::Graph => {
                if let Some(child) = node.work.child() {
                    check_body(child)?;
                }
            }
            NodeKind::Host
            | NodeKind::WaitEvent
            | NodeKind::EventRecord
            | NodeKind::MemAlloc
            | NodeKind::MemFree
            | NodeKind::BatchMemOp => {
                crate::report::warn(&format!(
                    "a body of a conditional node has a node of kind {kind:?}; it may have kernels, copies, \
                     fills, empty nodes, child graphs and conditional nodes"
                ));
                return Err(CudaError::NotSupported);
            }
        }
    }
    Ok(())
}

impl ConditionalExec {
    /// Sets the values of this node and of those in its bodies to what a launch begins with.
    pub fn reset(&self) {
        self.condition.reset();
        self.bodies.iter().for_each(|body| reset_all(body));
    }

    /// Runs the bodies that the value asks for, in a stream of its own, and waits for them.
    pub(crate) fn run(&self, context: &Arc<Context>, graph: &Arc<Environment>) {
        let side = self.side.get_or_init(|| {
            let side = context.create_stream(true, 0);
            // The program has no handle of it.
            runtime::get().streams.remove(side.handle);
            side
        });
        let once = |body: &[ExecNode]| -> Result<()> {
            submit_all(body, side, graph)?;
            side.wait();
            context.check()
        };
        let outcome = match self.kind {
            ConditionKind::If | ConditionKind::Switch => {
                let value = self.condition.get();
                let number = match self.kind {
                    ConditionKind::Switch => value,
                    ConditionKind::If | ConditionKind::While => u32::from(value == 0),
                };
                self.bodies.get(number as usize).map_or(Ok(()), |body| once(body))
            }
            ConditionKind::While => loop {
                if self.condition.get() == 0 || CANCEL.load(Ordering::Acquire) {
                    break Ok(());
                }
                if let Err(error) = once(&self.bodies[0]) {
                    break Err(error);
                }
            },
        };
        if let Err(error) = outcome {
            context.fail(error);
        }
    }
}

/// [`ConditionalExec::reset`] of all nodes.
pub(crate) fn reset_all(nodes: &[ExecNode]) {
    for node in nodes {
        node.reset_conditions();
    }
}
