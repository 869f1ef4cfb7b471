// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compute capability 10.3 (Blackwell).

use crate::capability::{ComputeCapability, Limits};
use crate::figure::inferred;

/// Limits of 10.3.
pub static LIMITS: Limits = BASE;

pub(super) const BASE: Limits = Limits {
    cc: ComputeCapability::new(10, 3),
    architecture: "Blackwell",
    single_to_double_ratio: inferred(64),
    ..super::sm_100::BASE
};
