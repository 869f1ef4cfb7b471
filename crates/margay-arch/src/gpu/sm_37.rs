// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compute capability 3.7 (Kepler).

use super::UNIFIED;
use crate::capability::{ComputeCapability, Limits};
use crate::figure::{manual, manual_in};

/// Limits of 3.7.
pub static LIMITS: Limits = BASE;

pub(super) const BASE: Limits = Limits {
    cc: ComputeCapability::new(3, 7),
    architecture: "Kepler",
    registers_per_sm: manual(128 << 10),
    shared_per_sm: manual(112 << 10),
    l1_and_shared: manual_in(128 << 10, UNIFIED),
    ..super::sm_35::BASE
};
