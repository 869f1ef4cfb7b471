// SPDX-License-Identifier: MIT OR Apache-2.0
//! Graphs that device code launches (CUDA C++ Programming Guide, "Device Graph Launch").
//!
//! Invariant: a graph that a kernel fires and forgets begins once that kernel has ended, as its child grids do; tail
//! launches begin once the launching graph has ended with all that it fired, in the order of the calls, and what a
//! tail launch puts at its own tail comes before the rest. Device code launches what was last uploaded, so an update
//! counts from the next upload on. Errors and limits are those that an H200 gave. Limit: a graph that waits through memory for one that it fired waits for ever.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use margay_exec::launch::LaunchFailure;
use margay_ir::{Attr, Syscall, Value};
use parking_lot::Mutex;

use super::Error;
use super::functions::Call;
use super::grid::{Children, Pending};
use crate::context::Context;
use crate::copy::{Element, Extent, Side, Where, planned};
use crate::error::{CudaError, Result};
use crate::function::Function;
use crate::graph::{GraphExec, NodeWork};
use crate::handle::Handle;
use crate::launch::{LaunchRequest, Parent};
use crate::runtime;

/// Streams that say how a graph is launched (`cuda_device_runtime_api.h`).
const GRAPH_TAIL_LAUNCH: u64 = 0x0100_0000_0000_0000;
const GRAPH_FIRE_AND_FORGET: u64 = 0x0200_0000_0000_0000;
const GRAPH_FIRE_AND_FORGET_AS_SIBLING: u64 = 0x0300_0000_0000_0000;
/// Graphs that one run of a graph may fire and forget, and that may wait for its end.
const MOST_FIRED: u32 = 120;
const MOST_TAILS: usize = 255;

/// One node's work, ready to be launched by device code.
pub(crate) enum Step {
    Kernel { function: Arc<Function>, request: LaunchRequest },
    Copy { to: Side, from: Side, extent: Extent },
    Fill { to: Side, extent: Extent, value: Element },
}

/// Why a graph cannot be launched by device code, with `CUgraphInstantiateResult`'s numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Unfit {
    NodeOperation = 3,
    SeveralContexts = 4,
}

/// What the device has of an executable graph.
#[derive(Default)]
pub(crate) struct DeviceSide {
    uploaded: Mutex<Option<Arc<Vec<Step>>>>,
    /// Launches by device code that have not ended.
    open: AtomicU32,
}

impl DeviceSide {
    pub fn upload(&self, steps: Vec<Step>) {
        *self.uploaded.lock() = Some(Arc::new(steps));
    }

    pub fn is_uploaded(&self) -> bool {
        self.uploaded.lock().is_some()
    }
}

const LAUNCHES: [Call; 2] = [Call::LaunchDevice, Call::LaunchDeviceV2];

/// Whether a kernel's code has one of these calls of the device run time.
fn asks(function: &Function, calls: &[Call]) -> bool {
    let Ok(program) = function.program() else { return false };
    program.insts().any(|inst| {
        matches!(inst.attr, Attr::Syscall(Syscall::Runtime))
            && matches!(inst.srcs.first(), Some(Value::Imm(number))
                if Call::by_number(*number as u32 & 0xffff).is_some_and(|call| calls.contains(&call)))
    })
}

/// Whether a kernel launches graphs: it must be a node of one itself.
pub(crate) fn launches_graphs(function: &Function) -> bool {
    *function.launches_graphs.get_or_init(|| asks(function, &[Call::GraphLaunch]))
}

/// A node's work as device code launches it; `None` if it does nothing.
pub(crate) fn step(context: Handle, work: &NodeWork) -> std::result::Result<Option<Step>, Unfit> {
    let on_device = |side: &Side| side.place != Where::Array;
    match work {
        NodeWork::Kernel { function, .. } if function.module.context != context => {
            Err(Unfit::SeveralContexts)
        }
        // Such kernels launch no kernels.
        NodeWork::Kernel { function, .. } if asks(function, &LAUNCHES) => Err(Unfit::NodeOperation),
        NodeWork::Kernel { function, request } => {
            Ok(Some(Step::Kernel { function: function.clone(), request: request.clone() }))
        }
        NodeWork::Copy { context: own, to, from, extent } => {
            if *own != context {
                return Err(Unfit::SeveralContexts);
            }
            // The device's memory or pinned host memory, and no arrays.
            if !on_device(to) || !on_device(from) {
                return Err(Unfit::NodeOperation);
            }
            match planned(*to, *from, *extent) {
                Ok(Some(_)) => Ok(Some(Step::Copy { to: *to, from: *from, extent: *extent })),
                Ok(None) => Ok(None),
                Err(_) => Err(Unfit::NodeOperation),
            }
        }
        NodeWork::Fill { context: own, address, pitch, value, size } => {
            if *own != context {
                return Err(Unfit::SeveralContexts);
            }
            let to = Side { address: *address, place: Where::Device, pitch: *pitch, slice: 0 };
            let extent = Extent { width: size.0 * value.size(), height: size.1, depth: 1 };
            Ok((!extent.is_empty()).then_some(Step::Fill { to, extent, value: *value }))
        }
        NodeWork::Host(_)
        | NodeWork::Child(_)
        | NodeWork::Empty
        | NodeWork::Record(_)
        | NodeWork::Wait(_)
        | NodeWork::Alloc(_)
        | NodeWork::Free(_)
        | NodeWork::MemoryOps { .. }
        | NodeWork::Conditional(_) => Err(Unfit::NodeOperation),
    }
}

#[derive(Default)]
struct Tally {
    fired: u32,
    tails: VecDeque<Arc<Environment>>,
}

/// One run of an executable graph.
pub(crate) struct Environment {
    pub exec: Arc<GraphExec>,
    /// What it does, and for whom; `None` if the host launched it.
    launched: Option<(Arc<Vec<Step>>, Parent)>,
    /// The run that fired it.
    outer: Option<Arc<Environment>>,
    tally: Mutex<Tally>,
}

impl Environment {
    pub fn of_host(exec: Arc<GraphExec>) -> Arc<Environment> {
        Arc::new(Environment { exec, launched: None, outer: None, tally: Mutex::default() })
    }

    /// Whether device code launched it.
    pub fn is_device_launched(&self) -> bool {
        self.launched.is_some()
    }

    /// `cudaGraphLaunch` by a kernel of this run; what is to run once the kernel has ended comes back.
    pub(super) fn launch(
        self: &Arc<Self>,
        context: &Context,
        exec: Handle,
        stream: u64,
        parent: Parent,
    ) -> std::result::Result<Option<Pending>, Error> {
        let exec = runtime::get().graph_execs.get(exec).ok_or(Error::INVALID_VALUE)?;
        if exec.context != context.handle {
            return Err(Error::INVALID_VALUE);
        }
        let steps = exec.device.uploaded.lock().clone().ok_or(Error::INVALID_VALUE)?;
        let mut tally = self.tally.lock();
        let (own, waiting) = (
            exec.handle == self.exec.handle,
            tally.tails.iter().any(|tail| tail.exec.handle == exec.handle),
        );
        let again = own && stream == GRAPH_TAIL_LAUNCH && !waiting;
        if !again && exec.device.open.load(Ordering::Acquire) > 0 {
            return Err(Error::INVALID_VALUE);
        }
        let outer = match stream {
            GRAPH_FIRE_AND_FORGET => Some(self.clone()),
            GRAPH_TAIL_LAUNCH | GRAPH_FIRE_AND_FORGET_AS_SIBLING => self.outer.clone(),
            _ => return Err(Error::INVALID_VALUE),
        };
        let tail = stream == GRAPH_TAIL_LAUNCH;
        if tail && tally.tails.len() >= MOST_TAILS {
            return Err(Error::INVALID_VALUE);
        }
        if !tail {
            // A sibling is counted by the run that this one is a part of.
            let theirs = outer.as_ref().filter(|_| stream != GRAPH_FIRE_AND_FORGET);
            let mut theirs = theirs.map(|run| run.tally.lock());
            let fired = &mut theirs.as_deref_mut().unwrap_or(&mut tally).fired;
            if *fired >= MOST_FIRED {
                return Err(Error::INVALID_VALUE);
            }
            *fired += 1;
        }
        exec.device.open.fetch_add(1, Ordering::AcqRel);
        let launched = Some((steps, parent));
        let run = Arc::new(Environment { exec, launched, outer, tally: Mutex::default() });
        if tail {
            tally.tails.push_back(run);
            return Ok(None);
        }
        Ok(Some(Pending::Graph(run)))
    }

    /// The work of the run's nodes, then its end.
    pub(super) fn begin(
        self: &Arc<Self>,
        context: &Arc<Context>,
    ) -> std::result::Result<Children, LaunchFailure> {
        let mut children = Children::default();
        for step in self.launched.iter().flat_map(|(steps, _)| steps.iter()) {
            match self.pending(context, step) {
                Ok(pending) => children.ordinary.extend(pending),
                Err(error) => {
                    let why = format!("a graph that device code launched: {error}");
                    return Err(LaunchFailure::Refused(why));
                }
            }
        }
        children.ordinary.push_back(Pending::GraphEnd(self.clone()));
        Ok(children)
    }

    fn pending(self: &Arc<Self>, context: &Arc<Context>, step: &Step) -> Result<Option<Pending>> {
        Ok(match step {
            Step::Kernel { function, request } => {
                if runtime::get().modules.get(function.module.handle).is_none() {
                    return Err(CudaError::InvalidHandle);
                }
                let mut ready = context.prepare(function, request.clone(), [0; 32])?;
                ready.parent = self.launched.as_ref().map(|(_, parent)| parent.clone());
                ready.enter(self.clone());
                Some(Pending::Grid(Box::new(ready)))
            }
            Step::Copy { to, from, extent } => planned(*to, *from, *extent)?.map(Pending::Copy),
            Step::Fill { to, extent, value } => {
                planned(*to, *to, *extent)?.map(|plan| Pending::Fill { plan, value: *value })
            }
        })
    }

    /// What comes after the nodes and all that they fired: the first of the tail launches.
    pub(super) fn end(self: &Arc<Self>) -> Children {
        let mut children = Children::default();
        let mut tally = self.tally.lock();
        if let Some(tail) = tally.tails.pop_front() {
            children.ordinary.push_back(Pending::Graph(tail));
            // Only if there are more: a graph that launches itself again and again must not pile up ends.
            if !tally.tails.is_empty() {
                children.ordinary.push_back(Pending::GraphEnd(self.clone()));
                return children;
            }
        }
        if self.is_device_launched() {
            self.exec.device.open.fetch_sub(1, Ordering::AcqRel);
        }
        children
    }
}
