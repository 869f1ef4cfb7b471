// SPDX-License-Identifier: MIT OR Apache-2.0
//! The rules of this chapter, a file each.

pub mod barrier_in_divergent_code;
pub mod shared_without_barrier;
pub mod warp_synchronous;
