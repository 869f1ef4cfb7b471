// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compute capability 2.1 (Fermi).

use crate::capability::{ComputeCapability, Limits};
use crate::figure::manual;

/// Limits of 2.1.
pub static LIMITS: Limits = BASE;

pub(super) const BASE: Limits = Limits {
    cc: ComputeCapability::new(2, 1),
    architecture: "Fermi",
    single_to_double_ratio: manual(12),
    async_engines: manual(1),
    ..super::sm_20::BASE
};
