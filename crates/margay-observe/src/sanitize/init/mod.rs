// SPDX-License-Identifier: MIT OR Apache-2.0
//! initcheck: values that were never written, followed to the first use that matters.
//!
//! Reading memory that nobody wrote, or a register that nobody set, is no finding yet: structures have padding, and vectors are
//! loaded whole. The undefined bits go with the value through registers, arithmetic and copies
//! until they decide a branch or an address, feed an atomic, or are stored to global memory as a
//! result. The finding names that use and where the value came from (after Memcheck: Seward and
//! Nethercote, USENIX 2005).
//!
//! Limits: arguments and results of calls count as defined in a program that has recursion, or calls by pointers; what
//! the host program writes to managed and pinned memory cannot be seen, so both count as written.

mod calls;
pub mod copied;
mod facts;
pub mod memory;
mod state;
mod taint;
mod unset;
mod watch;

pub use facts::Facts;
pub use watch::InitObserver;
