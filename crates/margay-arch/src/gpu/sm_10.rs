// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compute capability 1.0 (Tesla).
//!
//! Parameters and 16 bytes of launch configuration (`blockDim`, `gridDim`, `blockIdx`) lie at the
//! start of shared memory, 256 bytes of parameters at most.

use super::{CALCULATOR, RATIO, UNIFIED};
use crate::capability::{ComputeCapability, Limits};
use crate::figure::{manual, manual_in};

/// Limits of 1.0.
pub static LIMITS: Limits = BASE;

pub(super) const BASE: Limits = Limits {
    cc: ComputeCapability::new(1, 0),
    architecture: "Tesla",
    max_grid: manual([65_535, 65_535, 1]),
    max_block: manual([512, 512, 64]),
    max_threads_per_block: manual(512),
    max_blocks_per_sm: manual(8),
    max_warps_per_sm: manual(24),
    max_threads_per_sm: manual(768),
    registers_per_sm: manual(8 << 10),
    max_registers_per_block: manual(8 << 10),
    max_registers_per_thread: manual(124),
    register_unit: manual_in(256, CALCULATOR),
    warp_unit: manual_in(2, CALCULATOR),
    shared_per_sm: manual(16 << 10),
    shared_per_block: manual(16 << 10),
    shared_per_block_optin: manual(16 << 10),
    shared_unit: manual_in(512, CALCULATOR),
    shared_reserved: manual(0),
    shared_launch_configuration: manual(16),
    shared_banks: manual(16),
    constant_memory: manual(64 << 10),
    constant_cache: manual(8 << 10),
    local_per_thread: manual(16 << 10),
    max_parameters: manual(256),
    l1_and_shared: manual_in(0, UNIFIED),
    max_cluster: manual(0),
    single_to_double_ratio: manual_in(0, RATIO),
    concurrent_kernels: manual(1),
    async_engines: manual(0),
    cooperative_launch: manual(false),
    unified_addressing: manual(false),
    managed_memory: manual(false),
    concurrent_managed_access: manual(false),
    compute_preemption: manual(false),
};
