// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compute capability 8.6 (Ampere).

use super::{RATIO, UNIFIED};
use crate::capability::{ComputeCapability, Limits};
use crate::figure::{inferred, manual, manual_in};

/// Limits of 8.6.
pub static LIMITS: Limits = BASE;

pub(super) const BASE: Limits = Limits {
    cc: ComputeCapability::new(8, 6),
    architecture: "Ampere",
    max_blocks_per_sm: manual(16),
    max_warps_per_sm: manual(48),
    max_threads_per_sm: manual(1536),
    shared_per_sm: manual(100 << 10),
    shared_per_block_optin: manual(99 << 10),
    l1_and_shared: manual_in(128 << 10, UNIFIED),
    single_to_double_ratio: manual_in(64, RATIO),
    async_engines: inferred(2),
    ..super::sm_80::BASE
};
