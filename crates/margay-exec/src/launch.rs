// SPDX-License-Identifier: MIT OR Apache-2.0
//! Running a grid.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use crate::fault::Fault;
use crate::mem::AddressSpace;
use crate::program::Program;

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
    /// as `%envreg1` (low word) and `%envreg2` (high word); 0 without a cooperative launch. The
    /// headers' `grid.sync()` spins there with `nanosleep`, which makes the engine run other blocks.
    pub grid_workspace: u64,
}

/// Services of the device run time that reach out of the engine.
pub trait Host: Sync {
    /// Output of device `printf`, whole formatted text of one call of one thread.
    fn print(&self, text: &[u8]);
    /// Device `malloc`: a generic address, or 0.
    fn malloc(&self, bytes: u64) -> u64;
    /// Device `free`: false if the address is not a live device-heap block.
    fn free(&self, address: u64) -> bool;
}

/// What a finished launch did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LaunchStats {
    pub warp_instructions: u64,
    pub thread_instructions: u64,
    /// Executed load instructions, by warp: global, read-only path, shared, local, constant.
    pub blocks: u64,
}

#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum LaunchFailure {
    #[error("{0}")]
    Fault(Box<Fault>),
    #[error("cancelled")]
    Cancelled,
}

/// Runs the grid and returns when it has ended. Never panics on guest behaviour.
pub fn launch(
    _program: &Program,
    _machine: &Machine,
    _config: &LaunchConfig,
    _memory: &AddressSpace,
    _host: &dyn Host,
    _cancel: &AtomicBool,
) -> Result<LaunchStats, LaunchFailure> {
    todo!()
}
