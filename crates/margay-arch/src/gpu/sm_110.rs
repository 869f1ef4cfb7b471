// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compute capability 11.0 (Blackwell).

use crate::capability::{ComputeCapability, Limits};
use crate::figure::{inferred, manual};

/// Limits of 11.0.
pub static LIMITS: Limits = BASE;

pub(super) const BASE: Limits = Limits {
    cc: ComputeCapability::new(11, 0),
    architecture: "Blackwell",
    max_blocks_per_sm: manual(24),
    max_warps_per_sm: manual(48),
    max_threads_per_sm: manual(1536),
    single_to_double_ratio: inferred(64),
    concurrent_managed_access: inferred(true),
    ..super::sm_100::BASE
};
