// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compute capability 1.3 (Tesla).

use crate::capability::{ComputeCapability, Limits};
use crate::figure::manual;

/// Limits of 1.3.
pub static LIMITS: Limits = BASE;

pub(super) const BASE: Limits = Limits {
    cc: ComputeCapability::new(1, 3),
    architecture: "Tesla",
    single_to_double_ratio: manual(8),
    ..super::sm_12::BASE
};
