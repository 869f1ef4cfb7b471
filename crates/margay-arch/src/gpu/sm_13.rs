// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compute capability 1.3 (Tesla).

use super::RATIO;
use crate::capability::{ComputeCapability, Limits};
use crate::figure::manual_in;

/// Limits of 1.3.
pub static LIMITS: Limits = BASE;

pub(super) const BASE: Limits = Limits {
    cc: ComputeCapability::new(1, 3),
    architecture: "Tesla",
    single_to_double_ratio: manual_in(8, RATIO),
    ..super::sm_12::BASE
};
