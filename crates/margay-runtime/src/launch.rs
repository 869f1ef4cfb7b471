// SPDX-License-Identifier: MIT OR Apache-2.0
//! Launching: the checks that a card's driver makes, then the grid in stream order.
//!
//! Invariant: what passes the checks is within the device's limits, so the engine makes none. Error
//! codes are those that an H200 gave (`tests/contract/errors.h200.txt`).

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use margay_exec::fault::FaultKind;
pub use margay_exec::launch::SharedArgument;
use margay_exec::launch::{Caller, LaunchConfig, LaunchFailure, LaunchStats, Machine};
use margay_exec::mem::AllocKind;
use margay_exec::program::Program;

use crate::context::Context;
use crate::device_runtime::graph::{Environment, launches_graphs};
use crate::device_runtime::grid::{self, Grid};
use crate::error::{CudaError, Result};
use crate::function::Function;
use crate::graph::NodeWork;
use crate::handle::Handle;
use crate::held;
use crate::runtime::{self, CANCEL};
use crate::stream::Stream;
use crate::watch::{self, Launch, Occupancy, Resources};

/// Bytes of device memory that a cooperative grid synchronises through.
pub(crate) const GRID_WORKSPACE: u64 = 64;

/// A launch as the API describes it.
#[derive(Clone, Debug)]
pub struct LaunchRequest {
    pub grid: [u32; 3],
    pub block: [u32; 3],
    /// Blocks a cluster, if the launch says so.
    pub cluster: Option<[u32; 3]>,
    pub dynamic_shared: u32,
    pub cooperative: bool,
    /// Exactly the kernel's parameter block.
    pub params: Vec<u8>,
    /// See [`LaunchConfig::shared_arguments`].
    pub shared_arguments: Vec<SharedArgument>,
}

/// Device code's way to the outside.
pub(crate) struct Services<'a> {
    pub context: &'a Context,
    /// The grid, where it may launch others.
    pub grid: Option<&'a Grid<'a>>,
}

/// The product of three dimensions, which may exceed 32 bits.
fn volume(d: [u32; 3]) -> u64 {
    d.iter().fold(1u64, |p, n| p.saturating_mul(u64::from(*n)))
}

/// Checks the shape; the clusters' dimensions come out.
fn check(function: &Function, request: &LaunchRequest) -> Result<[u32; 3]> {
    let limits = function.limits();
    let LaunchRequest { grid, block, dynamic_shared, .. } = request;
    let within =
        |d: &[u32; 3], most: &[u32; 3]| d.iter().zip(most).all(|(n, most)| (1..=*most).contains(n));
    if !within(grid, &limits.max_grid.value) || !within(block, &limits.max_block.value) {
        return Err(CudaError::InvalidValue);
    }
    let threads = volume(*block);
    if threads > u64::from(limits.max_threads_per_block.value) {
        return Err(CudaError::InvalidValue);
    }
    let directives = &function.code().limits;
    if directives.reqntid.is_some_and(|required| required != *block) {
        return Err(CudaError::InvalidValue);
    }
    if directives.maxntid.is_some_and(|most| threads > volume(most.map(|n| n.max(1)))) {
        return Err(CudaError::InvalidValue);
    }
    let optin = limits.shared_per_block_optin.value.max(limits.shared_per_block.value);
    if function.fixed_shared()? > optin || *dynamic_shared > function.dynamic_shared_limit()? {
        return Err(CudaError::InvalidValue);
    }
    if request.params.len() != function.info()?.param_size as usize {
        return Err(CudaError::InvalidValue);
    }
    check_cluster(function, request)
}

impl Function {
    /// Whether the device has such dimensions.
    pub(crate) fn takes(&self, grid: [u32; 3], block: [u32; 3]) -> bool {
        let limits = self.limits();
        let within = |d: [u32; 3], most: [u32; 3]| {
            d.iter().zip(most).all(|(n, most)| (1..=most).contains(n))
        };
        within(grid, limits.max_grid.value)
            && within(block, limits.max_block.value)
            && volume(block) <= u64::from(limits.max_threads_per_block.value)
    }
}

fn check_cluster(function: &Function, request: &LaunchRequest) -> Result<[u32; 3]> {
    let limits = function.limits();
    let directives = &function.code().limits;
    let set = function.settings.lock().required_cluster;
    let required = directives.reqnctapercluster.or((set != [0; 3]).then_some(set));
    let required = required.map(|d| d.map(|n| n.max(1)));
    let cluster = match (request.cluster, required) {
        (Some(asked), Some(required)) if asked != required => {
            return Err(CudaError::InvalidClusterSize);
        }
        (Some(asked), _) => asked,
        (None, Some(required)) => required,
        (None, None) => return Ok([1; 3]),
    };
    let size = volume(cluster);
    let portable = u64::from(limits.max_cluster.value);
    if size == 0 || (portable == 0 && size > 1) {
        return Err(CudaError::InvalidValue);
    }
    // Beyond the portable size a kernel must allow it; 16 is the most that any device has.
    let most = if function.settings.lock().non_portable_cluster { 16 } else { portable.max(1) };
    let ranked = directives.maxclusterrank.is_some_and(|most| size > u64::from(most));
    let divides = request.grid.iter().zip(cluster).all(|(g, c)| c > 0 && g.is_multiple_of(c));
    if size > most || ranked || !divides {
        return Err(CudaError::InvalidClusterSize);
    }
    Ok(cluster)
}

/// Who launched a grid from device code.
#[derive(Clone, Debug)]
pub(crate) struct Parent {
    pub kernel: String,
    pub caller: Caller,
}

/// A launch that passed all checks.
pub(crate) struct Ready {
    pub program: Arc<Program>,
    pub machine: Machine,
    pub config: LaunchConfig,
    pub resources: Resources,
    /// The kernel's module.
    pub module: Handle,
    /// `None` if the host launched it.
    pub parent: Option<Parent>,
    /// The run of a graph that it is a node of.
    pub graph: Option<Arc<Environment>>,
    /// Its number if it is [held](crate::held).
    pub held: Option<u64>,
}

impl Ready {
    /// Makes it a node of a graph's run.
    pub(crate) fn enter(&mut self, graph: Arc<Environment>) {
        // A card names those graphs only that device code may launch.
        self.config.graph_exec = if graph.exec.is_launchable() { graph.exec.handle } else { 0 };
        self.graph = Some(graph);
    }
}

/// Why a grid ended, as the fault of the thread that waited for it.
pub(crate) fn fault_of(failure: LaunchFailure) -> FaultKind {
    match failure {
        LaunchFailure::Fault(fault) => fault.kind,
        LaunchFailure::Cancelled { .. } => {
            FaultKind::Timeout { after: Duration::ZERO, who: String::new() }
        }
        LaunchFailure::Refused(why) => FaultKind::IllegalInstruction { why },
    }
}

impl Context {
    /// Checks a launch and gathers what the engine needs for it.
    pub(crate) fn prepare(
        &self,
        function: &Arc<Function>,
        request: LaunchRequest,
        envreg: [u32; 32],
    ) -> Result<Ready> {
        let rt = runtime::get();
        let gpu = rt.device(self.device)?.gpu;
        let program = function.program()?.clone();
        let cluster = check(function, &request)?;
        let threads = volume(request.block) as u32;
        let blocks_per_sm = function.most_blocks_per_sm(threads, request.dynamic_shared)?;
        if blocks_per_sm == 0 {
            return Err(CudaError::LaunchOutOfResources);
        }
        let sm_count = gpu.card.sm_count.value;
        if request.cooperative {
            if !gpu.limits.cooperative_launch.value {
                return Err(CudaError::NotSupported);
            }
            // The number that occupancy queries promise, so that a program can fill the device.
            let promised = function.blocks_per_sm(threads, request.dynamic_shared)?;
            if volume(request.grid) > u64::from(promised) * u64::from(sm_count) {
                return Err(CudaError::CooperativeLaunchTooLarge);
            }
        }
        static GRIDS: AtomicU64 = AtomicU64::new(1);
        let machine = Machine {
            sm: gpu.cc().sm(),
            sm_count,
            blocks_per_sm,
            clock_khz: gpu.card.clock_khz.value,
            reserved_shared: gpu.limits.shared_reserved.value,
            reach: self.reach(),
        };
        let config = LaunchConfig {
            grid: request.grid,
            block: request.block,
            cluster,
            dynamic_shared: request.dynamic_shared,
            params: request.params,
            shared_arguments: request.shared_arguments,
            cooperative: request.cooperative,
            stack_limit: u32::try_from(self.limits().stack).unwrap_or(u32::MAX),
            timeout: rt.settings.timeout,
            threads: rt.settings.threads,
            seed: rt.settings.seed,
            grid_id: GRIDS.fetch_add(1, Ordering::Relaxed),
            grid_workspace: 0,
            graph_exec: 0,
            envreg,
            engine: None,
        };
        let occupancy = match rt.tools.is_empty() {
            true => None,
            false => Some(Occupancy::of(function, threads, request.dynamic_shared)?),
        };
        let resources = Resources {
            device: self.device,
            occupancy,
            split: function.split(),
            bank_mode: function.bank_mode(),
        };
        let module = function.module.handle;
        Ok(Ready {
            program,
            machine,
            config,
            resources,
            module,
            parent: None,
            graph: None,
            held: None,
        })
    }

    /// Runs a grid on the calling thread, in no stream's order, with `envreg` in `%envreg0` … `%envreg31`.
    /// Its fault belongs to this launch alone: the context stays usable, as OpenCL has it.
    pub fn run(
        self: &Arc<Self>,
        function: &Arc<Function>,
        request: LaunchRequest,
        envreg: [u32; 32],
    ) -> std::result::Result<LaunchStats, RunFailure> {
        self.check()?;
        let most = runtime::get().device(self.device)?.gpu.limits.shared_per_block.value;
        let needed = function.fixed_shared()?.saturating_add(request.dynamic_shared);
        if needed > most {
            return Err(RunFailure::LocalMemory { needed, most });
        }
        let ready = self.prepare(function, request, envreg)?;
        self.launches(&ready.program);
        let memory = &runtime::get().memory;
        let services = Services { context: self, grid: None };
        let Ready { program, machine, config, resources, .. } = &ready;
        let (stream, parent, held) = (0, None, None);
        let launch = Launch { program, machine, config, resources, stream, parent, held };
        let run = || watch::launch(&launch, memory, &services, &CANCEL);
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run));
        self.fifo.flush();
        match outcome {
            Ok(Ok(stats)) => Ok(stats),
            Ok(Err(failure)) => Err(RunFailure::Stopped(failure)),
            Err(_) => {
                crate::report::warn("internal error in the engine; please report it");
                Err(RunFailure::Refused(CudaError::Unknown))
            }
        }
    }
}

/// Why [`Context::run`] did not end well.
#[derive(Clone, Debug)]
pub enum RunFailure {
    /// The launch broke a rule, in the words of CUDA's launch.
    Refused(CudaError),
    /// Bytes of local memory for variables and arguments, and those that a work-group can have.
    LocalMemory { needed: u32, most: u32 },
    /// It began, and ended before its end.
    Stopped(LaunchFailure),
}

impl RunFailure {
    /// Whether the kernel ran longer than it may.
    pub fn timed_out(&self) -> bool {
        let RunFailure::Stopped(LaunchFailure::Fault(fault)) = self else { return false };
        matches!(fault.kind, FaultKind::Timeout { .. })
    }
}

impl From<CudaError> for RunFailure {
    fn from(error: CudaError) -> Self {
        RunFailure::Refused(error)
    }
}

impl Context {
    /// `cuLaunchKernel` and its relatives.
    pub fn launch(
        self: &Arc<Self>,
        function: &Arc<Function>,
        stream: &Stream,
        request: LaunchRequest,
    ) -> Result<()> {
        self.launch_in(function, stream, request, None)
    }

    /// The same, as a node of a graph's run.
    pub(crate) fn launch_in(
        self: &Arc<Self>,
        function: &Arc<Function>,
        stream: &Stream,
        request: LaunchRequest,
        graph: Option<&Arc<Environment>>,
    ) -> Result<()> {
        self.check()?;
        if function.module.context != self.handle || stream.context != self.handle {
            return Err(CudaError::InvalidHandle);
        }
        let captured = request.clone();
        if graph.is_none() && stream.part().is_none() && launches_graphs(function) {
            return Err(CudaError::NotSupported);
        }
        let mut ready = self.prepare(function, request, [0; 32])?;
        let node = || NodeWork::Kernel { function: function.clone(), request: captured };
        if stream.intercept(node)?.is_some() {
            return Ok(());
        }
        if let Some(graph) = graph {
            ready.enter(graph.clone());
        }
        let stream_handle = stream.shown();
        self.fifo.flush();
        self.launches(&ready.program);
        let memory = &runtime::get().memory;
        ready.held = held::launch(&ready.config.params, &ready.program, memory);
        let context = self.clone();
        let work = move || {
            if context.check().is_err() {
                return;
            }
            let memory = &runtime::get().memory;
            if ready.config.cooperative {
                let (kind, device) = (AllocKind::Device, context.device);
                match memory.alloc(GRID_WORKSPACE, 64, kind, device, "grid workspace") {
                    Ok(address) => ready.config.grid_workspace = address,
                    Err(_) => return context.fail(CudaError::OutOfMemory),
                }
            }
            let workspace = ready.config.grid_workspace;
            let run = || grid::run(&context, ready, stream_handle);
            let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run));
            if workspace != 0 {
                // It came from `alloc` just now.
                let _ = memory.free(workspace);
            }
            context.settle(outcome.map(|o| o.map(drop)));
        };
        self.push(stream, None, Box::new(work));
        self.after_enqueue(stream)
    }

    /// Runs what device code left for the end of a graph that the host launched, in stream order.
    pub(crate) fn finish_graph(self: &Arc<Self>, stream: &Stream, graph: Arc<Environment>) {
        let (context, handle) = (self.clone(), stream.shown());
        let work = move || {
            if context.check().is_ok() {
                let run = || grid::run_tails(&context, graph, handle);
                context.settle(std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)));
            }
        };
        self.push(stream, None, Box::new(work));
    }

    /// What becomes of the context when grids end.
    fn settle(&self, outcome: std::thread::Result<std::result::Result<(), LaunchFailure>>) {
        match outcome {
            Ok(Ok(())) => {}
            Ok(Err(LaunchFailure::Fault(fault))) => {
                if !runtime::get().settings.faults_end_kernels {
                    self.fail(CudaError::of_fault(&fault.kind));
                }
                let words = margay_observe::words::Words::of_place(&fault.place);
                crate::report::fault(&fault, words);
            }
            Ok(Err(stopped @ LaunchFailure::Cancelled { .. })) => {
                self.fail(CudaError::LaunchTimeout);
                crate::report::warn(&stopped.to_string());
            }
            Ok(Err(LaunchFailure::Refused(why))) => {
                // `check` lets no such launch of the host through.
                self.fail(CudaError::InvalidValue);
                crate::report::warn(&why);
            }
            Err(_) => {
                crate::report::warn("internal error in the engine; please report it");
                self.fail(CudaError::Unknown);
            }
        }
    }

    /// `cuLaunchHostFunc`: not called once the context has failed. In a capture it becomes a node, so
    /// that it may be called many times.
    pub fn launch_host(
        self: &Arc<Self>,
        stream: &Stream,
        call: Box<dyn Fn() + Send + Sync>,
    ) -> Result<()> {
        self.check()?;
        let call: Arc<dyn Fn() + Send + Sync> = call.into();
        if stream.intercept(|| NodeWork::Host(call.clone()))?.is_some() {
            return Ok(());
        }
        let context = self.clone();
        let work = move || {
            context.fifo.flush();
            if context.check().is_ok() {
                crate::thread::as_callback(|| call());
            }
        };
        self.push(stream, None, Box::new(work));
        Ok(())
    }

    /// `cuStreamAddCallback`: called in any case, with the context's state.
    pub fn add_callback(
        self: &Arc<Self>,
        stream: &Stream,
        call: Box<dyn FnOnce(Result<()>) + Send>,
    ) -> Result<()> {
        self.check()?;
        stream.forbid_capture()?;
        let context = self.clone();
        let work = move || {
            context.fifo.flush();
            let state = context.check();
            crate::thread::as_callback(|| call(state));
        };
        self.push(stream, None, Box::new(work));
        Ok(())
    }
}
