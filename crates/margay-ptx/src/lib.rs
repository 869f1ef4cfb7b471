// SPDX-License-Identifier: MIT OR Apache-2.0
//! PTX text to a syntax tree with spans, and back; no I/O.
//!
//! `parse` takes the whole of PTX ISA 1.0 to 9.x; [`ast`] is what it gives. Every instruction
//! carries the row of the table in [`isa`] that it matched, and its modifiers as written.

pub mod ast;
pub mod instruction;
pub mod isa;
pub mod span;
pub mod symbol;
pub mod types;
