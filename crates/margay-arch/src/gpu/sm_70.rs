// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compute capability 7.0 (Volta).

use super::{RATIO, UNIFIED};
use crate::capability::{ComputeCapability, Limits};
use crate::figure::{inferred, manual, manual_in};

/// Limits of 7.0.
pub static LIMITS: Limits = BASE;

pub(super) const BASE: Limits = Limits {
    cc: ComputeCapability::new(7, 0),
    architecture: "Volta",
    shared_per_sm: manual(96 << 10),
    shared_per_block_optin: manual(96 << 10),
    max_parameters: manual(32_764),
    l1_and_shared: manual_in(128 << 10, UNIFIED),
    single_to_double_ratio: manual_in(2, RATIO),
    concurrent_kernels: manual(128),
    async_engines: inferred(6),
    ..super::sm_61::BASE
};
