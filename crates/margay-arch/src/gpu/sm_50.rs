// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compute capability 5.0 (Maxwell).

use super::{RATIO, UNIFIED};
use crate::capability::{ComputeCapability, Limits};
use crate::figure::{inferred, manual, manual_in};

/// Limits of 5.0.
pub static LIMITS: Limits = BASE;

pub(super) const BASE: Limits = Limits {
    cc: ComputeCapability::new(5, 0),
    architecture: "Maxwell",
    max_blocks_per_sm: manual(32),
    shared_per_sm: manual(64 << 10),
    l1_and_shared: manual_in(0, UNIFIED),
    single_to_double_ratio: manual_in(32, RATIO),
    async_engines: inferred(1),
    ..super::sm_35::BASE
};
