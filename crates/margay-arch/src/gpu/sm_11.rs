// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compute capability 1.1 (Tesla).

use crate::capability::{ComputeCapability, Limits};
use crate::figure::manual;

/// Limits of 1.1.
pub static LIMITS: Limits = BASE;

pub(super) const BASE: Limits = Limits {
    cc: ComputeCapability::new(1, 1),
    architecture: "Tesla",
    async_engines: manual(1),
    ..super::sm_10::BASE
};
