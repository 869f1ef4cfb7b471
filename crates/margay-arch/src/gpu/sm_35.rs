// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compute capability 3.5 (Kepler).

use super::RATIO;
use crate::capability::{ComputeCapability, Limits};
use crate::figure::{manual, manual_in};

/// Limits of 3.5.
pub static LIMITS: Limits = BASE;

pub(super) const BASE: Limits = Limits {
    cc: ComputeCapability::new(3, 5),
    architecture: "Kepler",
    max_registers_per_thread: manual(255),
    single_to_double_ratio: manual_in(3, RATIO),
    concurrent_kernels: manual(32),
    async_engines: manual(2),
    ..super::sm_30::BASE
};
