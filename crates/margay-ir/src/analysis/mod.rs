// SPDX-License-Identifier: MIT OR Apache-2.0
//! What can be known about a function without running it: its control flow, the order in which an
//! engine should lay out its blocks, which registers are live, what an instruction may do.
//!
//! Invariant: analyses read IR and never change it, with two exceptions that say so in their names
//! ([`layout::apply_order`], [`windows::note`]).

pub mod cfg;
pub mod effects;
pub mod layout;
pub mod liveness;
pub mod origins;
pub mod parts;
pub mod registers;
pub mod windows;
