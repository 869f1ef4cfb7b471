// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compute capability 3.0 (Kepler).

use super::{CALCULATOR, RATIO};
use crate::capability::{ComputeCapability, Limits};
use crate::figure::{manual, manual_in};

/// Limits of 3.0.
pub static LIMITS: Limits = BASE;

pub(super) const BASE: Limits = Limits {
    cc: ComputeCapability::new(3, 0),
    architecture: "Kepler",
    max_grid: manual([2_147_483_647, 65_535, 65_535]),
    max_blocks_per_sm: manual(16),
    max_warps_per_sm: manual(64),
    max_threads_per_sm: manual(2048),
    registers_per_sm: manual(64 << 10),
    max_registers_per_block: manual(64 << 10),
    register_unit: manual_in(256, CALCULATOR),
    warp_unit: manual_in(4, CALCULATOR),
    shared_unit: manual_in(256, CALCULATOR),
    single_to_double_ratio: manual_in(24, RATIO),
    managed_memory: manual(true),
    ..super::sm_21::BASE
};
