// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compute capability 6.0 (Pascal).

use super::{CALCULATOR, RATIO};
use crate::capability::{ComputeCapability, Limits};
use crate::figure::{manual, manual_in};

/// Limits of 6.0.
pub static LIMITS: Limits = BASE;

pub(super) const BASE: Limits = Limits {
    cc: ComputeCapability::new(6, 0),
    architecture: "Pascal",
    warp_unit: manual_in(2, CALCULATOR),
    concurrent_kernels: manual(128),
    single_to_double_ratio: manual_in(2, RATIO),
    async_engines: manual(2),
    constant_cache: manual(4 << 10),
    cooperative_launch: manual(true),
    concurrent_managed_access: manual(true),
    compute_preemption: manual(true),
    ..super::sm_50::BASE
};
