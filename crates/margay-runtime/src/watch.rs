// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where the runtime tells the tools of what happens. Without tools nothing here costs anything.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use margay_arch::BankMode;
use margay_arch::Gpu;
use margay_arch::caches::SplitPreference;
use margay_exec::launch::{
    self as engine, Host, LaunchConfig, LaunchFailure, LaunchStats, Machine,
};
use margay_exec::mem::AddressSpace;
use margay_exec::program::Program;
use margay_observe::constant_cache::ConstantCache;
use margay_observe::profile::Profiler;
use margay_observe::sanitize::Checks;
use margay_observe::tool::{self, CopyEvent, LaunchView, Promise, Refusal, Tool, Wanted};

use crate::error;
use crate::function::Function;
use crate::handle::Handle;
use crate::runtime::{self, Runtime};
use crate::settings::Settings;
use crate::{held, order};

/// The tools that the settings ask for.
pub fn tools(settings: &Settings, constants: Option<&Arc<ConstantCache>>) -> Vec<Arc<dyn Tool>> {
    let mut tools: Vec<Arc<dyn Tool>> = Vec::new();
    if let Some(directory) = &settings.profile
        && let Some(&(_, own)) = settings.gpus.first()
        && let Some(constants) = constants
    {
        let mut gpus = vec![own];
        for gpu in &settings.models {
            if gpus.iter().all(|g| g.card.alias != gpu.card.alias) {
                gpus.push(*gpu);
            }
        }
        tools.push(Profiler::start(directory, gpus, constants.clone()));
    } else if let Some(constants) = constants {
        tools.push(constants.clone());
    }
    if let Some((wanted, directory)) = &settings.check {
        tools.push(Checks::start(directory, wanted.clone(), settings.check_filter.clone()));
    }
    tools
}

/// The constant caches, where somebody looks: a profile, the command line, or a card that has its own.
pub fn constant_cache(settings: &Settings) -> Option<Arc<ConstantCache>> {
    let gpus: Vec<Gpu> = settings.gpus.iter().map(|g| g.1).collect();
    let own = gpus.first().is_some_and(|g| g.card.constant_cache.is_some());
    let wanted = own || settings.constant_cache.is_some() || settings.profile.is_some();
    wanted.then(|| Arc::new(ConstantCache::start(&gpus, settings.constant_cache)))
}

/// What a launch takes of its device.
pub struct Resources {
    pub device: u32,
    /// Where there are tools: it rests on an estimate that nobody else asks for.
    pub occupancy: Option<Occupancy>,
    pub split: SplitPreference,
    pub bank_mode: BankMode,
}

/// How much of a multiprocessor a launch takes.
pub struct Occupancy {
    pub registers: u32,
    pub registers_decided: bool,
    /// Blocks of a multiprocessor with those registers.
    pub likely_blocks: u32,
}

impl Occupancy {
    /// Of a launch of blocks of so many threads.
    pub fn of(function: &Function, threads: u32, dynamic_shared: u32) -> error::Result<Occupancy> {
        let (registers, registers_decided) = function.registers()?;
        let likely_blocks = function.blocks_per_sm(threads, dynamic_shared)?;
        Ok(Occupancy { registers, registers_decided, likely_blocks })
    }
}

/// A launch that passed all checks.
pub struct Launch<'a> {
    pub program: &'a Arc<Program>,
    pub machine: &'a Machine,
    pub config: &'a LaunchConfig,
    pub resources: &'a Resources,
    pub stream: Handle,
    /// The kernel whose device code launched it.
    pub parent: Option<&'a str>,
    /// Its number if it was [held](crate::held).
    pub held: Option<u64>,
}

/// Runs the grid, watched by the tools that want to.
pub fn launch(
    launch: &Launch<'_>,
    memory: &AddressSpace,
    host: &dyn Host,
    cancel: &AtomicBool,
) -> Result<LaunchStats, LaunchFailure> {
    let rt = runtime::get();
    let Launch { program, machine, config, resources, stream, parent, held: number } = *launch;
    let Some(occupancy) = &resources.occupancy else {
        return engine::launch(program, machine, config, memory, host, cancel);
    };
    let view = LaunchView {
        program,
        config,
        machine,
        memory,
        gpu: rt.devices[resources.device as usize].gpu,
        device: resources.device,
        stream,
        registers: occupancy.registers,
        registers_decided: occupancy.registers_decided,
        blocks_per_sm: occupancy.likely_blocks,
        split: resources.split,
        bank_mode: resources.bank_mode,
        parent,
        order: order::now(),
        host: held::since(number),
    };
    let observers = rt.tools.iter().filter_map(|tool| tool.launch(&view)).collect();
    let observer = tool::together(observers);
    let outcome = engine::launch_observed(
        program,
        machine,
        config,
        memory,
        host,
        cancel,
        observer.as_deref(),
    );
    drop(observer);
    for tool in &rt.tools {
        tool.launched(&view, &outcome);
    }
    outcome
}

/// Memory was allocated at `base`.
pub fn allocated(rt: &Runtime, base: u64) {
    if !rt.tools.is_empty()
        && let Some(allocation) = rt.memory.find(base)
    {
        for tool in &rt.tools {
            tool.allocated(&allocation);
        }
    }
}

/// The program promised how kernels use the allocation at `base`.
pub fn promised(rt: &Runtime, base: u64, promise: Promise) {
    if !rt.tools.is_empty()
        && let Some(allocation) = rt.memory.find(base)
    {
        for tool in &rt.tools {
            tool.promised(&allocation, promise);
        }
    }
}

/// The allocation at `base` is about to be freed.
pub fn freed(rt: &Runtime, base: u64) {
    if !rt.tools.is_empty()
        && let Some(allocation) = rt.memory.find(base)
    {
        for tool in &rt.tools {
            tool.freed(&allocation);
        }
    }
}

/// A copy or a fill is about to be made.
pub fn copied(rt: &Runtime, to: u64, from: Option<u64>, bytes: u64, stream: Handle) {
    if rt.tools.is_empty() {
        return;
    }
    let copy = CopyEvent { to, from, bytes, stream, order: order::now() };
    for tool in &rt.tools {
        tool.copied(&copy);
    }
}

/// An API call is about to fail for the memory that it names. `bytes` is 0 for a free.
pub fn refused(rt: &Runtime, wanted: Wanted, address: u64, bytes: u64) {
    if rt.tools.is_empty() {
        return;
    }
    let nearest = rt.memory.find(address).or_else(|| rt.memory.nearest(address));
    for tool in &rt.tools {
        tool.refused(&Refusal { wanted, address, bytes, nearest: nearest.clone() });
    }
}
