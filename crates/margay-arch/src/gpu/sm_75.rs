// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compute capability 7.5 (Turing).

use super::{RATIO, UNIFIED};
use crate::capability::{ComputeCapability, Limits};
use crate::figure::{inferred, manual, manual_in};

/// Limits of 7.5.
pub static LIMITS: Limits = BASE;

pub(super) const BASE: Limits = Limits {
    cc: ComputeCapability::new(7, 5),
    architecture: "Turing",
    max_blocks_per_sm: manual(16),
    max_warps_per_sm: manual(32),
    max_threads_per_sm: manual(1024),
    shared_per_sm: manual(64 << 10),
    shared_per_block_optin: manual(64 << 10),
    l1_and_shared: manual_in(96 << 10, UNIFIED),
    single_to_double_ratio: manual_in(32, RATIO),
    async_engines: inferred(3),
    ..super::sm_70::BASE
};
