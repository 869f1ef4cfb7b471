// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compute capability 3.2 (Kepler).

use crate::capability::{ComputeCapability, Limits};
use crate::figure::manual;

/// Limits of 3.2.
pub static LIMITS: Limits = BASE;

pub(super) const BASE: Limits = Limits {
    cc: ComputeCapability::new(3, 2),
    architecture: "Kepler",
    max_registers_per_block: manual(32 << 10),
    max_registers_per_thread: manual(255),
    concurrent_kernels: manual(4),
    ..super::sm_30::BASE
};
