// SPDX-License-Identifier: MIT OR Apache-2.0
//! A number and where it comes from.

use serde::Serialize;

/// Where a figure comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    /// NVIDIA's documentation: the CUDA Programming Guide's tables, a tuning guide, a data sheet.
    Manual,
    /// Read off a real card.
    Measured,
    /// Concluded from neighbours or third-party tables; may be wrong.
    Inferred,
}

/// A value with its source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Figure<T> {
    pub value: T,
    pub source: Source,
}

/// From NVIDIA's documentation.
pub const fn manual<T>(value: T) -> Figure<T> {
    Figure { value, source: Source::Manual }
}

/// Read off a card.
pub const fn measured<T>(value: T) -> Figure<T> {
    Figure { value, source: Source::Measured }
}

/// Concluded, not documented.
pub const fn inferred<T>(value: T) -> Figure<T> {
    Figure { value, source: Source::Inferred }
}
