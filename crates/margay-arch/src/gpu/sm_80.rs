// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compute capability 8.0 (Ampere).

use super::{CALCULATOR, UNIFIED};
use crate::capability::{ComputeCapability, Limits};
use crate::figure::{inferred, manual, manual_in};

/// Limits of 8.0.
pub static LIMITS: Limits = BASE;

pub(super) const BASE: Limits = Limits {
    cc: ComputeCapability::new(8, 0),
    architecture: "Ampere",
    shared_per_sm: manual(164 << 10),
    shared_per_block_optin: manual(163 << 10),
    shared_unit: manual_in(128, CALCULATOR),
    shared_reserved: manual(1024),
    l1_and_shared: manual_in(192 << 10, UNIFIED),
    async_engines: inferred(3),
    ..super::sm_70::BASE
};
