// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compute capability 5.3 (Maxwell).

use crate::capability::{ComputeCapability, Limits};
use crate::figure::manual;

/// Limits of 5.3.
pub static LIMITS: Limits = BASE;

pub(super) const BASE: Limits = Limits {
    cc: ComputeCapability::new(5, 3),
    architecture: "Maxwell",
    max_registers_per_block: manual(32 << 10),
    concurrent_kernels: manual(16),
    ..super::sm_50::BASE
};
