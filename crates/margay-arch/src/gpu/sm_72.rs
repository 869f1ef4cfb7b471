// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compute capability 7.2 (Volta).

use super::RATIO;
use crate::capability::{ComputeCapability, Limits};
use crate::figure::{inferred, manual, manual_in};

/// Limits of 7.2.
pub static LIMITS: Limits = BASE;

pub(super) const BASE: Limits = Limits {
    cc: ComputeCapability::new(7, 2),
    architecture: "Volta",
    concurrent_kernels: manual(16),
    single_to_double_ratio: manual_in(32, RATIO),
    concurrent_managed_access: manual(false),
    async_engines: inferred(1),
    ..super::sm_70::BASE
};
