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
    /// What a stated model says of a mechanism that NVIDIA does not document.
    Modelled,
}

impl Source {
    /// The word for a table.
    pub const fn word(self) -> &'static str {
        match self {
            Source::Manual => "manual",
            Source::Measured => "measured",
            Source::Inferred => "inferred",
            Source::Modelled => "modelled",
        }
    }
}

/// A value with its source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Figure<T> {
    pub value: T,
    pub source: Source,
    /// The document and section, the card, or what it was concluded from.
    pub place: &'static str,
}

/// The tables that most limits stand in. Those of 1.x left the guide with edition 7.0, those of 2.x with
/// 9.0, those of 3.x with 12.0; each figure is in the last edition that had its capability.
pub const GUIDE: &str =
    "CUDA C++ Programming Guide, Compute Capabilities, Technical Specifications";
/// The card that figures were read off.
pub const H200: &str = "NVIDIA H200, driver 580.159.04";

/// From NVIDIA's documentation: the guide's table of technical specifications.
pub const fn manual<T>(value: T) -> Figure<T> {
    manual_in(value, GUIDE)
}

/// From another place of NVIDIA's documentation.
pub const fn manual_in<T>(value: T, place: &'static str) -> Figure<T> {
    Figure { value, source: Source::Manual, place }
}

/// Read off a card: the H200.
pub const fn measured<T>(value: T) -> Figure<T> {
    Figure { value, source: Source::Measured, place: H200 }
}

/// Concluded, not documented.
pub const fn inferred<T>(value: T) -> Figure<T> {
    inferred_from(value, "neighbouring capabilities")
}

/// Concluded from something in particular.
pub const fn inferred_from<T>(value: T, place: &'static str) -> Figure<T> {
    Figure { value, source: Source::Inferred, place }
}
