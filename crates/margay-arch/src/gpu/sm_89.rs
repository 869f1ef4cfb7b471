// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compute capability 8.9 (Ada Lovelace).

use crate::capability::{ComputeCapability, Limits};
use crate::figure::manual;

/// Limits of 8.9.
pub static LIMITS: Limits = BASE;

pub(super) const BASE: Limits = Limits {
    cc: ComputeCapability::new(8, 9),
    architecture: "Ada Lovelace",
    max_blocks_per_sm: manual(24),
    ..super::sm_86::BASE
};
