// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs margay IR: memory spaces, warps of 32 lanes, barriers, scheduling.
//!
//! The border towards the runtime is small: an [`mem::AddressSpace`] that holds every allocation a
//! guest may touch, a [`program::Program`] linked from a loaded module for one kernel, and
//! [`launch::launch`], which runs a grid to its end or to its first fault.

mod alike;
pub mod alone;
mod barrier;
mod block;
mod buffer;
mod circle;
mod counters;
mod decode;
pub mod fault;
mod format;
mod handlers;
mod idle;
mod inlined;
mod interp;
pub mod jit;
mod lanes;
pub mod launch;
pub mod mem;
pub mod observe;
pub mod program;
pub mod reach;
pub mod rhythm;
mod sched;
pub mod semantics;
mod stall;
mod steps;
mod sums;
mod syscall;
pub mod threads;
pub mod variables;
mod waits;
mod warp;
mod workers;
