// SPDX-License-Identifier: MIT OR Apache-2.0
//! PTX text to a syntax tree with spans, and back; no I/O.
//!
//! [`parse`] takes the whole of PTX ISA 1.0 to 9.x; [`ast`] is what it gives, and [`print()`] writes it out
//! again. Every instruction carries the row of the table in [`isa`] that it matched, and its
//! modifiers as written. No text makes the parser panic, recurse without limit, or take more than
//! linear time.

pub mod ast;
pub mod capability;
pub mod demote;
mod diagnostic;
mod erase;
mod expr;
pub mod frames;
pub mod instruction;
pub mod isa;
mod lex;
mod parse;
mod pointers;
mod print;
pub mod span;
pub mod symbol;
pub mod types;

pub use diagnostic::Diagnostic;
pub use parse::{parse, parse_bytes, text_of};
pub use print::print;
