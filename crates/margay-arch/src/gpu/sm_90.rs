// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compute capability 9.0 (Hopper).

use super::UNIFIED;
use crate::capability::{ComputeCapability, Limits};
use crate::figure::{manual, manual_in, measured};

/// Limits of 9.0.
pub static LIMITS: Limits = BASE;

pub(super) const BASE: Limits = Limits {
    cc: ComputeCapability::new(9, 0),
    architecture: "Hopper",
    shared_per_sm: measured(228 << 10),
    shared_per_block_optin: measured(227 << 10),
    l1_and_shared: manual_in(256 << 10, UNIFIED),
    max_cluster: manual(8),
    max_grid: measured([2_147_483_647, 65_535, 65_535]),
    max_warps_per_sm: measured(64),
    max_threads_per_sm: measured(2048),
    max_blocks_per_sm: measured(32),
    ..super::sm_80::BASE
};
