// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a profile means: tables, causes and cures, as text, JSON and HTML.

pub mod arithmetic;
pub mod build;
pub mod causes;
pub mod cures;
pub mod diff;
pub mod html;
pub mod metrics;
pub mod pictures;
pub mod schema;
pub mod shape;
pub mod source;
pub mod text;
pub mod textures;

pub use build::build;
pub use schema::Report;
