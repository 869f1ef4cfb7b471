// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compute capability 5.2 (Maxwell).

use crate::capability::{ComputeCapability, Limits};
use crate::figure::manual;

/// Limits of 5.2.
pub static LIMITS: Limits = BASE;

pub(super) const BASE: Limits = Limits {
    cc: ComputeCapability::new(5, 2),
    architecture: "Maxwell",
    shared_per_sm: manual(96 << 10),
    async_engines: manual(2),
    ..super::sm_50::BASE
};
