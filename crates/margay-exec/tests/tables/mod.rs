// SPDX-License-Identifier: MIT OR Apache-2.0
//! For `math_tables.rs`.

pub mod exact;
pub mod guide;
pub mod measured;
pub mod stored;
pub mod subject;
