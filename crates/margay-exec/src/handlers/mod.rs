// SPDX-License-Identifier: MIT OR Apache-2.0
//! Handlers that need more than lane values: memory, atomics, warp-wide ops, special registers,
//! control flow. What one lane computes is in [`crate::semantics`].

pub mod address;
pub mod atomic;
pub mod control;
pub mod copy;
pub mod memory;
pub mod special;
pub mod texture;
pub mod warp_ops;
