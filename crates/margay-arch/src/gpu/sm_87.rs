// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compute capability 8.7 (Ampere).

use super::UNIFIED;
use crate::capability::{ComputeCapability, Limits};
use crate::figure::{manual, manual_in};

/// Limits of 8.7.
pub static LIMITS: Limits = BASE;

pub(super) const BASE: Limits = Limits {
    cc: ComputeCapability::new(8, 7),
    architecture: "Ampere",
    shared_per_sm: manual(164 << 10),
    shared_per_block_optin: manual(163 << 10),
    l1_and_shared: manual_in(192 << 10, UNIFIED),
    concurrent_managed_access: manual(false),
    ..super::sm_86::BASE
};
