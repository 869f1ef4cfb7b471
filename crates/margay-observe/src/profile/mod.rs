// SPDX-License-Identifier: MIT OR Apache-2.0
//! Counts what every memory instruction of a program does, for one GPU or several.
//!
//! A worker only recognises *patterns*: the lanes' addresses relative to an aligned base. What a
//! pattern costs depends on nothing else, so each is put to the memory model once, however often it
//! comes and however many GPUs are asked about. Kernels whose patterns never repeat are counted access by
//! access. Totals are exact either way; patterns beyond a bound are counted, not kept. Caches have a past, so
//! each access of the program's own GPU goes through their model ([`hierarchy`]).

mod again;
mod collector;
mod hashing;
pub mod hierarchy;
mod passing;
mod pattern;
mod patterns;
mod quick;
pub mod raw;
mod rehearsal;
mod room;
pub(crate) mod site;
mod spread;
mod texture;
pub(crate) mod touches;
pub mod variables;
mod watch;

pub use collector::Profiler;
