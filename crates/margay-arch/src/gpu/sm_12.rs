// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compute capability 1.2 (Tesla).

use super::CALCULATOR;
use crate::capability::{ComputeCapability, Limits};
use crate::figure::{manual, manual_in};

/// Limits of 1.2.
pub static LIMITS: Limits = BASE;

pub(super) const BASE: Limits = Limits {
    cc: ComputeCapability::new(1, 2),
    architecture: "Tesla",
    max_warps_per_sm: manual(32),
    max_threads_per_sm: manual(1024),
    registers_per_sm: manual(16 << 10),
    max_registers_per_block: manual(16 << 10),
    register_unit: manual_in(512, CALCULATOR),
    ..super::sm_11::BASE
};
