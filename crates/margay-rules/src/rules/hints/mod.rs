// SPDX-License-Identifier: MIT OR Apache-2.0
//! The rules of this chapter, a file each.

pub mod array_of_structures;
pub mod constant_indexed_by_thread;
pub mod local_array_indexed;
pub mod shared_bank_conflict;
