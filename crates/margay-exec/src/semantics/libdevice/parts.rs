// SPDX-License-Identifier: MIT OR Apache-2.0
//! Constants.

use super::lane::{NAN32, NAN64, lane_functions};

lane_functions! {
    nan(_tag: u64) -> u64 { NAN64 & !(1 << 63) }
    nanf(_tag: u64) -> u32 { NAN32 }
}
