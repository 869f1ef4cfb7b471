// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compute capability 2.1 (Fermi).

use super::RATIO;
use crate::capability::{ComputeCapability, Limits};
use crate::figure::{manual, manual_in};

/// Limits of 2.1.
pub static LIMITS: Limits = BASE;

pub(super) const BASE: Limits = Limits {
    cc: ComputeCapability::new(2, 1),
    architecture: "Fermi",
    single_to_double_ratio: manual_in(12, RATIO),
    async_engines: manual(1),
    ..super::sm_20::BASE
};
