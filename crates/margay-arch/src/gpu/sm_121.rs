// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compute capability 12.1 (Blackwell).

use crate::capability::{ComputeCapability, Limits};
use crate::figure::inferred;

/// Limits of 12.1.
pub static LIMITS: Limits = BASE;

pub(super) const BASE: Limits = Limits {
    cc: ComputeCapability::new(12, 1),
    architecture: "Blackwell",
    concurrent_managed_access: inferred(true),
    ..super::sm_120::BASE
};
