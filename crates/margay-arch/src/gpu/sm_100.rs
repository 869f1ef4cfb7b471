// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compute capability 10.0 (Blackwell).

use crate::capability::{ComputeCapability, Limits};
use crate::figure::manual;

/// Limits of 10.0.
pub static LIMITS: Limits = BASE;

pub(super) const BASE: Limits = Limits {
    cc: ComputeCapability::new(10, 0),
    architecture: "Blackwell",
    max_warps_per_sm: manual(64),
    max_threads_per_sm: manual(2048),
    max_blocks_per_sm: manual(32),
    shared_per_sm: manual(228 << 10),
    shared_per_block_optin: manual(227 << 10),
    ..super::sm_90::BASE
};
