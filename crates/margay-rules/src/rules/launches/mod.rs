// SPDX-License-Identifier: MIT OR Apache-2.0
//! The rules of this chapter, a file each.

pub mod atomic_on_mapped;
pub mod atomic_unsupported;
pub mod block_not_of_warps;
pub mod block_too_large;
pub mod double_before_1_3;
pub mod dynamic_shared_too_large;
pub mod function_needs_capability;
pub mod grid_too_large;
pub mod launch_unchecked;
pub mod result_read_unsynchronised;
pub mod warp_function_without_sync;
