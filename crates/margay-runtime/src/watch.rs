// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where the runtime tells the tools of what happens. Without tools nothing here costs anything.

use std::hash::{DefaultHasher, Hasher};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use margay_arch::BankMode;
use margay_arch::Gpu;
use margay_arch::caches::SplitPreference;
use margay_exec::launch::{
    self as engine, Host, LaunchConfig, LaunchFailure, LaunchStats, Machine,
};
use margay_exec::mem::{AddressSpace, AllocationInfo};
use margay_exec::program::Program;
use margay_observe::constant_cache::ConstantCache;
use margay_observe::profile::Profiler;
use margay_observe::sanitize::Checks;
use margay_observe::tool::{
    self, CopyEvent, LaunchView, Promise, Refusal, StreamOrdered, Tool, Wanted,
};

use crate::error;
use crate::function::Function;
use crate::handle::Handle;
use crate::runtime::{self, Runtime};
use crate::settings::Settings;
use crate::{caller, held, order};

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
        let checks = Checks::start(directory, wanted.clone(), settings.check_filter.clone());
        if settings.faults_end_kernels {
            checks.contexts_survive();
        }
        if settings.compares_results {
            checks.compare_results();
        }
        tools.push(checks);
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
        if let Some(caller) = caller::now() {
            rt.tools.iter().for_each(|tool| tool.allocated_by(&allocation, caller.clone()));
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
        if let Some(caller) = caller::now() {
            rt.tools.iter().for_each(|tool| tool.freed_by(&allocation, caller.clone()));
        }
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
    let Some(from) = from else { return };
    let wants = |what: fn(&dyn Tool) -> bool| rt.tools.iter().any(|tool| what(&**tool));
    let [results, reads] = [wants(|tool| tool.wants_results()), wants(|tool| tool.wants_reads())];
    if !(results || reads) || !is_result(rt, to, from) {
        return;
    }
    if results {
        let hash = hash(from, bytes);
        rt.tools.iter().for_each(|tool| tool.result(hash));
    }
    if reads && let Some(allocation) = rt.memory.find(from) {
        rt.tools.iter().for_each(|tool| tool.read(from, bytes, &allocation, &caller::now));
    }
}

/// Whether a copy goes from the device to the program.
fn is_result(rt: &Runtime, to: u64, from: u64) -> bool {
    let is_hosts = |address| rt.allocation(address).is_none_or(|record| record.origin.is_host());
    is_hosts(to) && !is_hosts(from)
}

/// Of bytes that are about to be copied.
fn hash(from: u64, bytes: u64) -> u64 {
    let mut hasher = DefaultHasher::new();
    let mut piece = [0; 4096];
    let mut at = 0;
    while at < bytes {
        let count = (bytes - at).min(piece.len() as u64) as usize;
        // SAFETY: what is about to be copied may be read, which the copy is checked for; kernels may write to it
        // meanwhile, so it is copied first, as the program does.
        unsafe { std::ptr::copy((from + at) as *const u8, piece.as_mut_ptr(), count) };
        hasher.write(&piece[..count]);
        at += count as u64;
    }
    hasher.finish()
}

/// An allocation is made, or about to be freed, in the order of a stream.
pub fn stream_ordered(rt: &Runtime, base: u64, freed: bool, stream: Handle) {
    if !rt.tools.is_empty()
        && let Some(allocation) = rt.memory.find(base)
    {
        let event = StreamOrdered { allocation, freed, stream, order: order::now() };
        rt.tools.iter().for_each(|tool| tool.stream_ordered(&event));
    }
}

/// An API call is about to fail for the memory that it names. `bytes` is 0 for a free.
pub fn refused(rt: &Runtime, wanted: Wanted, address: u64, bytes: u64) {
    if rt.tools.is_empty() {
        return;
    }
    let nearest = rt.memory.find(address).or_else(|| rt.memory.nearest(address));
    tell_refused(rt, wanted, address, bytes, nearest);
}

/// Tells the tools of a refused call, about this allocation.
fn tell_refused(
    rt: &Runtime,
    wanted: Wanted,
    address: u64,
    bytes: u64,
    nearest: Option<AllocationInfo>,
) {
    let refusal = Refusal { wanted, address, bytes, nearest };
    let caller = caller::now();
    for tool in &rt.tools {
        tool.refused(&refusal, caller.as_ref());
    }
}

/// A call of another API than CUDA's is about to fail, as it goes past the end of an object, whose bytes are these of an
/// allocation's; `label` is what the program made it by. Both offsets are from the object's beginning.
pub fn refused_part(rt: &Runtime, object: Range<u64>, label: Option<&str>, wanted: Range<u64>) {
    if rt.tools.is_empty() {
        return;
    }
    let part = rt.memory.find(object.start).map(|whole| AllocationInfo {
        base: object.start,
        size: object.end - object.start,
        label: label.map_or(whole.label.clone(), Arc::from),
        ..whole
    });
    // What begins behind the object is told as from its beginning.
    let is_inside = object.start.saturating_add(wanted.start) < object.end;
    let first = if is_inside { wanted.start } else { 0 };
    let bytes = wanted.end.saturating_sub(first);
    tell_refused(rt, Wanted::Copy, object.start + first, bytes, part);
}
