// SPDX-License-Identifier: MIT OR Apache-2.0
//! Single precision.

pub mod exponential;
pub mod logarithm;
pub mod trig;
