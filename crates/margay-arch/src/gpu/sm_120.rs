// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compute capability 12.0 (Blackwell).

use crate::capability::{ComputeCapability, Limits};
use crate::figure::manual;

/// Limits of 12.0.
pub static LIMITS: Limits = BASE;

pub(super) const BASE: Limits = Limits {
    cc: ComputeCapability::new(12, 0),
    architecture: "Blackwell",
    max_cluster: manual(8),
    ..super::sm_89::BASE
};
