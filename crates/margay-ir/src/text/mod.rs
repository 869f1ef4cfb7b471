// SPDX-License-Identifier: MIT OR Apache-2.0
//! The IR's text form: a printer and the parser that reads it back.
//!
//! Mnemonics, types and the kind of attribute come from the op table, so a new row needs nothing
//! here unless it brings a new kind of attribute. An instruction reads
//!
//! ```text
//! %3 = add.i32 %1, 0x5 @!%2 !7
//! %4, %5 = ld.i32 {global signed offset=16} %1
//! ```
//!
//! that is: results, mnemonic with type (and source type), attribute in braces, operands, guard,
//! and the index of the source location. Functions and variables are named by index (`fn0`,
//! `var2`), blocks `b0`, so one instruction prints without its module.
//!
//! Invariant: `parse_module(print) == module` for every module, verified or not.

mod lex;
mod names;
mod parse;
mod parse_inst;
mod print;
mod print_inst;

pub use parse::{TextError, parse_inst, parse_module};

#[cfg(test)]
mod tests;
