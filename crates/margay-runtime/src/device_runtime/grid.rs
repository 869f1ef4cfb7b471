// SPDX-License-Identifier: MIT OR Apache-2.0
//! What one grid has asked of the device run time, and running it with all that follows from it.
//!
//! Invariant: whatever a grid asked for begins after the grid has ended (but for an explicit
//! synchronisation), in the order of the calls; tail launches begin after all else that the grid asked
//! for has ended, with its own descendants.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use margay_exec::fault::{Fault, FaultKind, Place};
use margay_exec::launch::{Caller, Host, LaunchFailure, LaunchStats, Others, Reply};
use margay_exec::mem::AllocKind;
use parking_lot::Mutex;

use super::Error;
use super::graph::Environment;
use crate::activity;
use crate::context::Context;
use crate::copy::{Element, Plan};
use crate::function::Function;
use crate::handle::Handle;
use crate::launch::{GRID_WORKSPACE, LaunchRequest, Ready, Services};
use crate::runtime::{self, CANCEL};
use crate::watch::{self, Launch};

/// Bytes of the first memory for parameters.
const SLAB: u64 = 4 << 10;

/// Something that a grid asked for and that has not begun.
pub(super) enum Pending {
    Grid(Box<Ready>),
    Copy(Plan),
    Fill {
        plan: Plan,
        value: Element,
    },
    /// A graph, and its end: tail launches follow.
    Graph(Arc<Environment>),
    GraphEnd(Arc<Environment>),
}

/// What is left to do of a grid's requests.
#[derive(Default)]
pub(super) struct Children {
    pub ordinary: VecDeque<Pending>,
    pub tails: VecDeque<Pending>,
}

impl Children {
    fn pop(&mut self) -> Option<Pending> {
        self.ordinary.pop_front().or_else(|| self.tails.pop_front())
    }

    fn is_empty(&self) -> bool {
        self.ordinary.is_empty() && self.tails.is_empty()
    }
}

/// A buffer that a thread fills with a child's parameters.
pub(super) struct ParameterBuffer {
    pub size: u64,
    /// What is to be launched with them, where that is known already.
    pub launch: Option<(Arc<Function>, LaunchRequest)>,
}

#[derive(Default)]
pub(super) struct State {
    pub children: Children,
    pub buffers: HashMap<u64, ParameterBuffer>,
    /// Memory that buffers are parts of: the end of what is used, and the end, of the last; and all.
    room: (u64, u64),
    slabs: Vec<u64>,
    /// The last error of each thread, by the numbers of its block and of itself.
    pub errors: HashMap<(u64, u64), u32>,
    pub streams: HashSet<u64>,
    pub events: HashSet<u64>,
    /// Launches that have not begun, by the wave of resident blocks that asked.
    pub waiting: HashMap<u64, u64>,
    pub warned: bool,
}

/// A grid that runs.
pub(crate) struct Grid<'a> {
    pub context: &'a Arc<Context>,
    /// The kernel's module, where its launches look for kernels first.
    pub module: Handle,
    pub stream: Handle,
    pub ready: &'a Ready,
    /// Launches between the host and this grid.
    pub depth: u64,
    pub(super) state: Mutex<State>,
    /// Held while what was asked for is run before the grid's end.
    draining: Mutex<()>,
}

impl<'a> Grid<'a> {
    fn new(context: &'a Arc<Context>, ready: &'a Ready, stream: Handle, depth: u64) -> Grid<'a> {
        Grid {
            context,
            module: ready.module,
            stream,
            ready,
            depth,
            state: Mutex::default(),
            draining: Mutex::default(),
        }
    }

    /// Runs all that was asked for up to now, but tail launches.
    pub(super) fn drain(&self) -> Result<(), LaunchFailure> {
        let _only = self.draining.lock();
        loop {
            let pending = {
                let mut state = self.state.lock();
                state.waiting.clear();
                state.children.ordinary.pop_front()
            };
            let Some(pending) = pending else { return Ok(()) };
            let mut children = Children::default();
            children.ordinary.push_back(pending);
            // The rest of this grid runs meanwhile.
            let _parent = activity::more_work();
            run_children(self.context, children, self.stream, self.depth + 1, None)?;
        }
    }

    /// What remains to be done; the rest of what it had is freed.
    fn end(self) -> Children {
        let state = self.state.into_inner();
        let rt = runtime::get();
        for address in state.slabs {
            watch::freed(rt, address);
            // It came from `alloc` and was not freed since.
            let _ = rt.memory.free(address);
        }
        state.children
    }

    pub(super) fn fail(&self, thread: (u64, u64), error: Error) {
        self.state.lock().errors.insert(thread, error.0);
    }

    /// Memory for the parameters of a child. No part of it is used twice by one grid: the check of races would
    /// take two launches for one.
    pub(super) fn buffer(&self, size: u64, launch: Option<(Arc<Function>, LaunchRequest)>) -> u64 {
        let bytes = size.max(1).next_multiple_of(64);
        let mut state = self.state.lock();
        if state.room.1 - state.room.0 < bytes {
            let slab = (SLAB << state.slabs.len().min(6)).max(bytes);
            let (kind, device) = (AllocKind::Device, self.context.device);
            let rt = runtime::get();
            let label = "parameters of child grids";
            let Ok(address) = rt.memory.alloc(slab, 64, kind, device, label) else { return 0 };
            watch::allocated(rt, address);
            state.slabs.push(address);
            state.room = (address, address + slab);
        }
        let address = state.room.0;
        state.room.0 += bytes;
        state.buffers.insert(address, ParameterBuffer { size, launch });
        address
    }

    /// Takes a filled buffer's bytes; `None` if there is no such buffer.
    pub(super) fn take(&self, address: u64) -> Option<(ParameterBuffer, Vec<u8>)> {
        let mut state = self.state.lock();
        let buffer = state.buffers.remove(&address)?;
        let mut bytes = vec![0; buffer.size as usize];
        // SAFETY: the buffer is an allocation of at least so many bytes, which only its thread writes.
        unsafe {
            std::ptr::copy_nonoverlapping(address as *const u8, bytes.as_mut_ptr(), bytes.len());
        }
        Some((buffer, bytes))
    }
}

/// Runs a grid of the host and all that follows from it.
pub(crate) fn run(
    context: &Arc<Context>,
    ready: Ready,
    stream: Handle,
) -> Result<LaunchStats, LaunchFailure> {
    let started = Instant::now();
    let (stats, children) = run_grid(context, &ready, stream, 0)?;
    // The limit is that of the host's launch, which ends with its last descendant.
    let limit = ready.config.timeout.map(|after| (started + after, after));
    run_children(context, children, stream, 1, limit)?;
    Ok(stats)
}

/// Runs what a graph of the host left for its end.
pub(crate) fn run_tails(
    context: &Arc<Context>,
    graph: Arc<Environment>,
    stream: Handle,
) -> Result<(), LaunchFailure> {
    let mut children = Children::default();
    children.ordinary.push_back(Pending::GraphEnd(graph));
    let limit = runtime::get().settings.timeout.map(|after| (Instant::now() + after, after));
    run_children(context, children, stream, 1, limit)
}

/// Runs a grid whose blocks may wait for each other.
fn run_cooperative(
    context: &Arc<Context>,
    mut ready: Ready,
    stream: Handle,
    depth: u64,
) -> Result<(LaunchStats, Children), LaunchFailure> {
    let memory = &runtime::get().memory;
    let (kind, device) = (AllocKind::Device, context.device);
    let Ok(address) = memory.alloc(GRID_WORKSPACE, 64, kind, device, "grid workspace") else {
        return Err(LaunchFailure::Refused("no memory for a grid's barrier".to_owned()));
    };
    ready.config.grid_workspace = address;
    let outcome = run_grid(context, &ready, stream, depth);
    // It came from `alloc` just now.
    let _ = memory.free(address);
    outcome
}

fn run_grid(
    context: &Arc<Context>,
    ready: &Ready,
    stream: Handle,
    depth: u64,
) -> Result<(LaunchStats, Children), LaunchFailure> {
    let grid = Grid::new(context, ready, stream, depth);
    let Ready { program, machine, config, resources, .. } = ready;
    let parent = ready.parent.as_ref().map(|parent| parent.kernel.as_str());
    let held = ready.held;
    let launch = Launch { program, machine, config, resources, stream, parent, held };
    let services = Services { context, grid: Some(&grid) };
    let stats = watch::launch(&launch, &runtime::get().memory, &services, &CANCEL);
    let children = grid.end();
    let stats = stats.inspect_err(|_| {
        if let Some(parent) = &ready.parent {
            crate::report::child(ready.program.name(), parent);
        }
    })?;
    Ok((stats, children))
}

/// Runs what a grid asked for, and what follows from that. No call of a call: tail launches make chains
/// of any length.
fn run_children(
    context: &Arc<Context>,
    children: Children,
    stream: Handle,
    depth: u64,
    limit: Option<(Instant, Duration)>,
) -> Result<(), LaunchFailure> {
    let mut open = vec![(children, depth)];
    while let Some((top, depth)) = open.last_mut() {
        let depth = *depth;
        let pending = top.pop();
        // Nothing waits for this level any more.
        if top.is_empty() {
            open.pop();
        }
        match pending {
            None => {}
            Some(Pending::Grid(ready)) => {
                if let Some((_, after)) = limit.filter(|(end, _)| Instant::now() >= *end) {
                    let kernel = ready.program.name().to_owned();
                    let (kind, place) =
                        (FaultKind::Timeout { after, who: String::new() }, Place::default());
                    let fault = Fault { kind, kernel, block: [0; 3], thread: [0; 3], place };
                    return Err(LaunchFailure::Fault(Box::new(fault)));
                }
                let (_, children) = match ready.config.cooperative {
                    true => run_cooperative(context, *ready, stream, depth)?,
                    false => run_grid(context, &ready, stream, depth)?,
                };
                if !children.is_empty() {
                    open.push((children, depth + 1));
                }
            }
            Some(Pending::Copy(plan)) => {
                plan.tell(runtime::get(), stream);
                plan.run();
            }
            Some(Pending::Fill { plan, value }) => plan.fill(runtime::get(), stream, value),
            Some(Pending::Graph(graph)) => open.push((graph.begin(context)?, depth + 1)),
            Some(Pending::GraphEnd(graph)) => {
                let children = graph.end();
                if !children.is_empty() {
                    open.push((children, depth + 1));
                }
            }
        }
    }
    Ok(())
}

impl Host for Services<'_> {
    fn print(&self, text: &[u8]) {
        self.context.fifo.push(text);
    }

    fn assert_failed(&self, text: &[u8]) {
        use std::io::Write;
        // What the program's user asked for; nobody is left to tell if stderr is closed.
        let _ = std::io::stderr().lock().write_all(text);
    }

    fn malloc(&self, bytes: u64) -> u64 {
        self.context.heap.malloc(bytes)
    }

    fn free(&self, address: u64) -> bool {
        self.context.heap.free(address)
    }

    fn activity(&self) -> u64 {
        activity::count()
    }

    fn others(&self) -> Others {
        activity::others()
    }

    fn is_shared(&self, address: u64) -> bool {
        activity::is_shared(address)
    }

    fn waits(&self, waits: bool) {
        activity::launch_waits(waits);
    }

    fn device_runtime(
        &self,
        function: u32,
        arguments: &[u64],
        caller: Caller,
    ) -> Result<Reply, Box<FaultKind>> {
        match self.grid {
            Some(grid) => super::calls::answer(grid, function, arguments, caller),
            None => {
                let why = "the device runtime of CUDA, in a kernel of another API".to_owned();
                Err(Box::new(FaultKind::IllegalInstruction { why }))
            }
        }
    }
}
