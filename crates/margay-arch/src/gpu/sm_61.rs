// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compute capability 6.1 (Pascal).

use super::{CALCULATOR, RATIO};
use crate::capability::{ComputeCapability, Limits};
use crate::figure::{manual, manual_in};

/// Limits of 6.1.
pub static LIMITS: Limits = BASE;

pub(super) const BASE: Limits = Limits {
    cc: ComputeCapability::new(6, 1),
    architecture: "Pascal",
    shared_per_sm: manual(96 << 10),
    warp_unit: manual_in(4, CALCULATOR),
    concurrent_kernels: manual(32),
    single_to_double_ratio: manual_in(32, RATIO),
    constant_cache: manual(8 << 10),
    ..super::sm_60::BASE
};
