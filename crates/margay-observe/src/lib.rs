// SPDX-License-Identifier: MIT OR Apache-2.0
//! Everything that watches: tools that see what a program's kernels and API calls do, and the
//! reports made from what they saw.
//!
//! A [`Tool`] is told of launches, allocations and copies by the runtime and gives an observer to
//! the engine for each launch that it wants to watch. The [`profile`] counts memory accesses by the
//! rules of any GPU; [`report`] says what they mean. [`sanitize`] has the checks.
//!
//! Invariant: nothing here steers. A tool that is absent costs nothing.

pub mod constant_cache;
pub mod profile;
pub mod report;
pub mod sanitize;
pub mod tool;
pub mod words;

pub use tool::Tool;
