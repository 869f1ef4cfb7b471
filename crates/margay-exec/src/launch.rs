// SPDX-License-Identifier: MIT OR Apache-2.0
//! Running a grid.

use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use crate::buffer::Buffer;
use crate::decode::LOCAL_START;
use crate::fault::{Fault, FaultKind, Spot};
use crate::interp::{COUNTERS, Counter, Env};
use crate::jit::Engine;
use crate::mem::{AddressSpace, LOCAL_WINDOW, Reach};
use crate::observe::Observer;
use crate::program::Program;
use crate::sched;

/// What of the virtual GPU the engine must know.
#[derive(Clone, Debug)]
pub struct Machine {
    /// Compute capability times ten: 90 for 9.0. From 70 on lanes progress independently.
    pub sm: u32,
    pub sm_count: u32,
    /// Resident blocks a SM for this launch (occupancy), at least 1.
    pub blocks_per_sm: u32,
    /// SM clock in kHz, for `%clock64` and `%globaltimer`'s relation.
    pub clock_khz: u32,
    /// Largest `malloc` heap, and so on, are the runtime's matter (see [`Host`]).
    pub reserved_shared: u32,
    /// Which devices' memory kernels may touch.
    pub reach: Reach,
}

/// One launch, already validated by the runtime against the device's limits.
#[derive(Clone, Debug)]
pub struct LaunchConfig {
    pub grid: [u32; 3],
    pub block: [u32; 3],
    /// Blocks a cluster; `[1, 1, 1]` without clusters.
    pub cluster: [u32; 3],
    pub dynamic_shared: u32,
    /// The parameter block, exactly `param_size` bytes.
    pub params: Vec<u8>,
    /// Parameters that point to dynamic shared memory of their own: OpenCL's `local` arguments.
    pub shared_arguments: Vec<SharedArgument>,
    /// All blocks are promised to be resident (cooperative launch).
    pub cooperative: bool,
    /// Bytes of local memory a thread may use for its call stack (`cudaLimitStackSize`), beside
    /// what the kernel's own frame needs.
    pub stack_limit: u32,
    pub timeout: Option<Duration>,
    /// Worker threads; 0 is one for each core.
    pub threads: usize,
    /// Fixes the order of blocks and of atomics.
    pub seed: Option<u64>,
    pub grid_id: u64,
    /// Address of 64 zeroed bytes in device memory for grid-wide synchronisation, read by the guest
    /// as `%envreg1` (high word) and `%envreg2` (low word), where NVIDIA's headers look for it; 0
    /// without a cooperative launch. `grid.sync()` spins there.
    pub grid_workspace: u64,
    /// `%current_graph_exec`: the executable graph that the grid is a node of, or 0.
    pub graph_exec: u64,
    /// `%envreg0` … `%envreg31`, but for the two above: what OpenCL's work-item functions read.
    pub envreg: [u32; 32],
    /// The engine; `None` is what `MARGAY_ENGINE` says.
    pub engine: Option<Engine>,
}

/// A parameter that points to so many bytes of dynamic shared memory, which are its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SharedArgument {
    /// Its offset in the parameter block.
    pub param: u32,
    /// Where in a block's shared memory its bytes begin.
    pub first: u64,
    pub bytes: u64,
}

impl LaunchConfig {
    /// What an environment register holds.
    pub fn environment(&self, register: u8) -> u32 {
        match register {
            1 => (self.grid_workspace >> 32) as u32,
            2 => self.grid_workspace as u32,
            n => self.envreg.get(n as usize).copied().unwrap_or(0),
        }
    }
}

/// Services of the device run time that reach out of the engine.
pub trait Host: Sync {
    /// Output of device `printf`, whole formatted text of one call of one thread.
    fn print(&self, text: &[u8]);
    /// The line about one thread's failed `assert`, which a card's driver writes to stderr.
    fn assert_failed(&self, text: &[u8]);
    /// Device `malloc`: a generic address, or 0.
    fn malloc(&self, bytes: u64) -> u64;
    /// Device `free`: false if the address is not a live device-heap block.
    fn free(&self, address: u64) -> bool;
    /// A number that changes whenever something begins or ends that may write memory of the device: launches, copies, waits of the
    /// host program.
    fn activity(&self) -> u64 {
        0
    }
    /// Who is there to write memory that threads of this launch wait for.
    fn others(&self) -> Others {
        Others { host: true, ..Others::NOBODY }
    }
    /// Whether other processes may have the memory of the host program at an address.
    fn is_shared(&self, _address: u64) -> bool {
        true
    }
    /// The launch does nothing any more, or does something again: all its threads wait for memory that they do not write.
    fn waits(&self, _waits: bool) {}
    /// A call of CUDA's device run time by one thread. Without one such calls are illegal instructions.
    fn device_runtime(
        &self,
        function: u32,
        _arguments: &[u64],
        _caller: Caller,
    ) -> Result<Reply, Box<FaultKind>> {
        let why = format!("function {function} of the device run time, which is not there");
        Err(Box::new(FaultKind::IllegalInstruction { why }))
    }
}

/// Who but a launch itself may write memory that it reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Others {
    /// Other work of this process runs that does not just [wait](Host::waits).
    pub busy: bool,
    /// The host program runs: it may launch and copy, and write memory that it shares with the device.
    pub host: bool,
    /// The host program handles signals, which may store to memory that it shares with the device.
    pub signals: bool,
    /// Other processes have some of the device's memory.
    pub processes: bool,
    /// Where the host program does not run: another number, if any of its threads has run meanwhile.
    pub threads: u64,
}

impl Others {
    /// Nobody is there.
    pub const NOBODY: Others =
        Others { busy: false, host: false, signals: false, processes: false, threads: 0 };
}

/// The thread that calls the device run time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caller {
    pub block: [u32; 3],
    pub thread: [u32; 3],
}

/// What a call of the device run time gives its thread.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reply {
    /// What the function returns.
    pub value: u64,
    /// Bytes to store, each with a generic address of the guest's: a bad one is the guest's fault.
    pub stores: Vec<(u64, Vec<u8>)>,
}

/// Bytes that a thread's stack has behind the limit, at most. So many more as twice the deepest path of calls needs on which no
/// function calls itself again: programs that come a little deeper than the limit says have always run here.
const MOST_SPARE: u32 = 4096;

/// What a finished launch did. Accesses are counted a warp each, whatever the width; those that compiled
/// code made are not, so only observed launches have all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LaunchStats {
    pub warp_instructions: u64,
    pub thread_instructions: u64,
    pub blocks: u64,
    /// `ld.global`, without those of the read-only path.
    pub global_loads: u64,
    /// `ld.global.nc` and `ldu`.
    pub read_only_loads: u64,
    pub shared_loads: u64,
    pub local_loads: u64,
    pub const_loads: u64,
    pub param_loads: u64,
    /// Loads that name no space.
    pub generic_loads: u64,
    pub global_stores: u64,
    pub shared_stores: u64,
    pub local_stores: u64,
    pub generic_stores: u64,
    pub atomics: u64,
}

#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum LaunchFailure {
    #[error("{0}")]
    Fault(Box<Fault>),
    /// `spot` is where some thread was, if any had begun.
    #[error("kernel {kernel} was stopped{}", at(spot))]
    Cancelled { kernel: String, spot: Option<Box<Spot>> },
    /// The configuration contradicts itself: the runtime should have refused it.
    #[error("{0}")]
    Refused(String),
}

fn at(spot: &Option<Box<Spot>>) -> String {
    spot.as_ref().map_or_else(String::new, |spot| format!(": {spot}"))
}

/// Runs the grid and returns when it has ended. Never panics on guest behaviour.
pub fn launch(
    program: &Program,
    machine: &Machine,
    config: &LaunchConfig,
    memory: &AddressSpace,
    host: &dyn Host,
    cancel: &AtomicBool,
) -> Result<LaunchStats, LaunchFailure> {
    launch_observed(program, machine, config, memory, host, cancel, None)
}

/// [`launch`], watched by an observer.
pub fn launch_observed(
    program: &Program,
    machine: &Machine,
    config: &LaunchConfig,
    memory: &AddressSpace,
    host: &dyn Host,
    cancel: &AtomicBool,
    observer: Option<&dyn Observer>,
) -> Result<LaunchStats, LaunchFailure> {
    let blocks = config.grid.iter().map(|&n| n as u64).product();
    if blocks == 0 || config.block.contains(&0) {
        return Ok(LaunchStats::default());
    }
    let mut clusters = config.grid.iter().zip(config.cluster);
    if clusters.any(|(&blocks, cluster)| !blocks.is_multiple_of(cluster.max(1))) {
        let (grid, cluster) = (config.grid, config.cluster);
        let why = format!("a grid of {grid:?} blocks is not made of clusters of {cluster:?}");
        return Err(LaunchFailure::Refused(why));
    }
    let program = if observer.is_none() { program.unwatched(config) } else { program };
    // Vector loads of parameters need them aligned; a short block is filled up with zeros.
    let size = (program.info.param_size as usize).max(config.params.len());
    let params = Buffer::new(size);
    // SAFETY: the buffer has at least as many bytes.
    unsafe {
        let from = config.params.as_ptr();
        std::ptr::copy_nonoverlapping(from, params.as_ptr(), config.params.len());
    }
    let own = program.info.local_bytes;
    let stack = match program.uses_stack {
        true => config.stack_limit.saturating_add(own.saturating_mul(2).min(MOST_SPARE)),
        false => 0,
    };
    let local = match own.saturating_add(stack) {
        0 => 0,
        n => n.saturating_add(LOCAL_START).min(LOCAL_WINDOW as u32 / 2),
    };
    let env = Env {
        program,
        machine,
        config,
        memory,
        host,
        observer,
        params: params.as_ptr(),
        params_size: size as u64,
        shared_window: memory.shared_window(),
        local_window: memory.local_window(),
        shared_size: program.dynamic_shared_at.max(program.info.static_shared)
            + config.dynamic_shared,
        local_size: local,
        started: Instant::now(),
        jit: std::sync::OnceLock::new(),
        alike: Default::default(),
        stage: Default::default(),
        landed: Default::default(),
        holds: Default::default(),
        variables: Default::default(),
    };
    crate::jit::may_exit_here();
    crate::jit::LaunchCode::at_start(&env);
    let totals = sched::run(&env, cancel);
    program.kernels.interpreted(&env);
    // Also after a fault: what has run is told.
    let mut unwatched = [0; COUNTERS];
    if let Some(alike) = env.alike.into_found() {
        alike.finish(observer, &mut unwatched);
    }
    let mut totals = totals?;
    for (sum, n) in totals.counters.iter_mut().zip(unwatched) {
        *sum += n;
    }
    let count = |c: Counter| totals.counters[c as usize];
    Ok(LaunchStats {
        warp_instructions: totals.warp_instructions,
        thread_instructions: totals.thread_instructions,
        blocks,
        global_loads: count(Counter::GlobalLoad),
        read_only_loads: count(Counter::ReadOnlyLoad),
        shared_loads: count(Counter::SharedLoad),
        local_loads: count(Counter::LocalLoad),
        const_loads: count(Counter::ConstLoad),
        param_loads: count(Counter::ParamLoad),
        generic_loads: count(Counter::GenericLoad),
        global_stores: count(Counter::GlobalStore),
        shared_stores: count(Counter::SharedStore),
        local_stores: count(Counter::LocalStore),
        generic_stores: count(Counter::GenericStore),
        atomics: count(Counter::Atomic),
    })
}
