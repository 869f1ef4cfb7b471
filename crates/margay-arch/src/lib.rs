// SPDX-License-Identifier: MIT OR Apache-2.0
//! NVIDIA's compute capabilities: what each allows, and the named cards that have it.
//!
//! [`MemoryModel`] says what a warp's access does on a capability: requests, wavefronts, transactions,
//! sectors, replays; [`caches`], [`registers`], [`occupancy`], [`throughput`] and [`mnemonics`] the rest;
//! [`texture`] has the model of the texture unit's traffic.
//!
//! No state and no I/O. Every figure says where it comes from ([`Source`]); [`occupancy`] and the
//! limits are what launches are checked against, so a figure here decides which launches fail.

pub mod access;
pub mod atomics;
pub mod banks;
pub mod caches;
pub mod capability;
pub mod card;
pub mod coalesce;
pub mod constant;
pub mod features;
pub mod figure;
mod firsts;
pub mod gpu;
pub mod local;
pub mod metrics;
pub mod mnemonics;
pub mod occupancy;
pub mod picture;
pub mod registers;
pub mod texture;
pub mod throughput;

pub use access::{
    AtomicOp, BankMode, CacheOperator, Counts, Generation, Kind, MemoryModel, Rule, Space,
    WarpAccess,
};
pub use capability::{ComputeCapability, Limits};
pub use card::{Card, Gpu, cards, find};
pub use figure::{Figure, Source};
pub use occupancy::{
    BlockLimits, LaunchResources, Limiter, Occupancy, Step, block_limits, occupancy,
    occupancy_with, steps,
};
