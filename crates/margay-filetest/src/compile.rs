// SPDX-License-Identifier: MIT OR Apache-2.0
//! PTX text to IR, with what is wrong of it by line.

use margay_ir as ir;

/// An error in the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// From 1.
    pub line: u32,
    pub message: String,
}

/// Parses and lowers.
pub fn compile(_text: &str) -> Result<ir::Module, Vec<Diagnostic>> {
    todo!()
}
