// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compute capability 2.0 (Fermi).

use super::{CALCULATOR, RATIO, UNIFIED};
use crate::capability::{ComputeCapability, Limits};
use crate::figure::{manual, manual_in};

/// Limits of 2.0.
pub static LIMITS: Limits = BASE;

pub(super) const BASE: Limits = Limits {
    cc: ComputeCapability::new(2, 0),
    architecture: "Fermi",
    max_grid: manual([65_535, 65_535, 65_535]),
    max_block: manual([1024, 1024, 64]),
    max_threads_per_block: manual(1024),
    max_warps_per_sm: manual(48),
    max_threads_per_sm: manual(1536),
    registers_per_sm: manual(32 << 10),
    max_registers_per_block: manual(32 << 10),
    max_registers_per_thread: manual(63),
    register_unit: manual_in(64, CALCULATOR),
    warp_unit: manual_in(2, CALCULATOR),
    shared_per_sm: manual(48 << 10),
    shared_per_block: manual(48 << 10),
    shared_per_block_optin: manual(48 << 10),
    shared_unit: manual_in(128, CALCULATOR),
    shared_launch_configuration: manual(0),
    shared_banks: manual(32),
    local_per_thread: manual(512 << 10),
    max_parameters: manual(4096),
    l1_and_shared: manual_in(64 << 10, UNIFIED),
    single_to_double_ratio: manual_in(2, RATIO),
    concurrent_kernels: manual(16),
    async_engines: manual(2),
    unified_addressing: manual(true),
    ..super::sm_13::BASE
};
