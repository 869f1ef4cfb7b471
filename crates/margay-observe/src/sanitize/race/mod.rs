// SPDX-License-Identifier: MIT OR Apache-2.0
//! racecheck: two accesses to one place, at least one of them a write, that nothing orders.
//!
//! Happens-before after FastTrack (Flanagan and Freund, PLDI 2009) with clocks made for grids
//! ([`order`]) and marks of constant size ([`shadow`]); scopes as in ScoRD and the PTX memory model.
//! The verdict does not depend on which access came first, nor on whether the two threads really
//! met: only on how barriers, fences and strong accesses ordered them.
//!
//! Limits: what runs at the same time in other streams is compared elsewhere ([`super::streams`]), and what the host
//! accesses too ([`super::host`]); a copy by `cp.async` counts as done when it is issued.

mod acts;
mod bits;
mod byte_value;
mod cluster;
mod direct;
mod facts;
mod far;
mod few;
#[cfg(target_arch = "x86_64")]
mod gathered;
mod handed;
mod knowledge;
mod layout;
mod leaf;
mod ledger;
mod lines;
mod listed;
mod lists;
mod look;
mod near;
mod noted;
pub mod order;
mod packed;
mod page;
mod paired;
mod passed;
mod places;
mod plain;
#[cfg(test)]
mod plain_model;
mod quick;
mod readers;
mod recent;
mod released;
mod releases;
mod report;
mod round;
mod row;
mod scattered;
mod section;
mod seen;
pub mod shadow;
mod short;
mod slots;
mod stamped;
mod state;
mod stores;
mod table;
mod tree;
mod unordered;
mod variable;
mod variables;
mod watch;

pub use facts::Facts;
pub use shadow::Spare;
pub use watch::RaceObserver;
