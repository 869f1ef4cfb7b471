// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compute capability 6.2 (Pascal).

use crate::capability::{ComputeCapability, Limits};
use crate::figure::{inferred, manual};

/// Limits of 6.2.
pub static LIMITS: Limits = BASE;

pub(super) const BASE: Limits = Limits {
    cc: ComputeCapability::new(6, 2),
    architecture: "Pascal",
    shared_per_sm: manual(64 << 10),
    max_registers_per_block: manual(32 << 10),
    concurrent_kernels: manual(16),
    concurrent_managed_access: manual(false),
    async_engines: inferred(1),
    ..super::sm_61::BASE
};
