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

/// Parses, lowers and verifies. What the verifier finds is a defect of lowering; it has no line.
pub fn compile(text: &str) -> Result<ir::Module, Vec<Diagnostic>> {
    let ast = margay_ptx::parse(text).map_err(|errors| {
        errors
            .iter()
            .map(|d| Diagnostic { line: d.position.line, message: d.text() })
            .collect::<Vec<_>>()
    })?;
    let module = ir::lower(&ast).map_err(|errors| {
        errors
            .into_iter()
            .map(|e| Diagnostic { line: e.line, message: e.message })
            .collect::<Vec<_>>()
    })?;
    match ir::verify(&module) {
        Ok(()) => Ok(module),
        Err(errors) => {
            let message = |e: &ir::VerifyError| format!("lowered to invalid IR: {e}");
            Err(errors.iter().map(|e| Diagnostic { line: 0, message: message(e) }).collect())
        }
    }
}
