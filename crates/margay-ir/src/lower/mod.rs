// SPDX-License-Identifier: MIT OR Apache-2.0
//! PTX syntax to IR.
//!
//! One file for each group of instructions mirrors `margay-ptx/src/isa/`; each exports
//! `lower(l, inst, m)`, which reads operands through [`Lower`], takes modifiers from the cursor, and
//! emits IR. What it does not handle it refuses by [`Stop`]:
//!
//! - [`Stop::Unsupported`]: correct PTX that margay does not run. The function keeps an
//!   `unsupported` op in its place, and only a launch that can reach it is refused.
//! - [`Stop::Error`]: PTX that is wrong. The module does not load.
//!
//! Invariant: no modifier is dropped. A modifier that `lower` did not take from the cursor makes
//! the instruction `Unsupported`.
//!
//! How to write an arm: read all sources first, compute into temporaries ([`Lower::value`]), and
//! write the destinations last, since a destination may also be a source. Guards are
//! applied to every emitted instruction by [`Lower::emit`] itself.

mod arith;
mod atomic;
mod call;
mod control;
mod convert;
mod debug;
mod emit;
mod function;
mod init;
mod libdevice;
mod matrix;
mod mbarrier;
mod memory;
mod module;
mod moves;
mod names;
mod operand;
mod params;
mod space;
mod sreg;
mod sync;
#[cfg(test)]
mod testing;
mod texture;
mod video;

use margay_ptx::ast;
use margay_ptx::ast::{Instruction, ModifierCursor, Span};

use crate::module::Module;

pub(crate) use function::Lower;
#[allow(unused_imports)] // The arithmetic files, which come next, use them.
pub(crate) use operand::{int_ty, ir_ty};

/// PTX that is wrong: the module cannot be loaded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("PTX {line}:{column}: {message}")]
pub struct LowerError {
    pub message: String,
    /// From 1.
    pub line: u32,
    /// From 1, in bytes.
    pub column: u32,
}

/// Why an instruction was not lowered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// The program is wrong at this place.
    Error { message: String, span: Span },
    /// margay's gap.
    Unsupported { reason: String },
}

impl Stop {
    pub(crate) fn error(span: Span, message: impl Into<String>) -> Stop {
        Stop::Error { message: message.into(), span }
    }

    pub(crate) fn unsupported(reason: impl Into<String>) -> Stop {
        Stop::Unsupported { reason: reason.into() }
    }
}

/// What lowering an instruction gives.
pub(crate) type Lowered<T = ()> = Result<T, Stop>;

/// Lowers a module and runs the passes of [`crate::passes`] on it. All errors are reported, in
/// source order.
pub fn lower(ast: &ast::Module) -> Result<Module, Vec<LowerError>> {
    lower_for(ast, ANY_DEVICE)
}

/// What means the same on all devices.
const ANY_DEVICE: u32 = u32::MAX;

/// As [`lower`], for a device of compute capability `device` (times ten): those of 1.x compute some
/// instructions as no later one does.
pub fn lower_for(ast: &ast::Module, device: u32) -> Result<Module, Vec<LowerError>> {
    let mut module = module::lower_module(ast, device)?;
    crate::passes::run(&mut module);
    Ok(module)
}

/// Lowers a module instruction by instruction, and no more.
pub fn lower_only(ast: &ast::Module) -> Result<Module, Vec<LowerError>> {
    module::lower_module(ast, ANY_DEVICE)
}

/// Finds the file that lowers an instruction. The first word of the opcode decides.
fn dispatch(l: &mut Lower<'_, '_>, inst: &Instruction, m: &mut ModifierCursor<'_>) -> Lowered {
    let name = inst.opcode();
    let first = name.split('.').next().unwrap_or(name);
    match first {
        // Integer, floating-point, half-precision, comparison, logic and shift instructions.
        "add" | "sub" | "mul" | "mad" | "mul24" | "mad24" | "sad" | "div" | "rem" | "abs"
        | "neg" | "min" | "max" | "popc" | "clz" | "bfind" | "fns" | "brev" | "bfe" | "bfi"
        | "szext" | "bmsk" | "dp4a" | "dp2a" | "addc" | "subc" | "madc" | "testp" | "copysign"
        | "fma" | "rcp" | "sqrt" | "rsqrt" | "sin" | "cos" | "lg2" | "ex2" | "tanh" | "set"
        | "setp" | "selp" | "slct" | "and" | "or" | "xor" | "not" | "cnot" | "lop3" | "shf"
        | "shl" | "shr" | "prmt" => {
            // Only loads, stores and conversions take wider registers (PTX ISA, "Operand Size
            // Exceeding Instruction-Type Size").
            l.exact_sizes = true;
            arith::lower(l, inst, m)
        }
        "cvt" => convert::lower(l, inst, m),
        "vadd" | "vsub" | "vabsdiff" | "vmin" | "vmax" | "vshl" | "vshr" | "vmad" | "vset"
        | "vadd2" | "vsub2" | "vavrg2" | "vabsdiff2" | "vmin2" | "vmax2" | "vset2" | "vadd4"
        | "vsub4" | "vavrg4" | "vabsdiff4" | "vmin4" | "vmax4" | "vset4" => {
            video::lower(l, inst, m)
        }
        "mov" => moves::lower(l, inst, m),
        "ld" | "ldu" | "st" | "prefetch" | "prefetchu" | "discard" | "applypriority"
        | "createpolicy" => memory::lower(l, inst, m),
        "atom" | "red" => atomic::lower(l, inst, m),
        "cvta" | "isspacep" | "mapa" | "getctarank" | "alloca" | "stacksave" | "stackrestore" => {
            space::lower(l, inst, m)
        }
        "cp" => memory::lower_async(l, inst, m),
        "bra" | "brx" | "ret" | "exit" | "trap" | "brkpt" => control::lower(l, inst, m),
        "call" => call::lower(l, inst, m),
        "bar" | "barrier" | "membar" | "fence" | "vote" | "match" | "activemask" | "redux"
        | "shfl" | "elect" | "griddepcontrol" | "nanosleep" | "pmevent" | "setmaxnreg" => {
            sync::lower(l, inst, m)
        }
        "mma" | "ldmatrix" => matrix::lower(l, inst, m),
        "mbarrier" => mbarrier::lower(l, inst, m),
        "tex" | "tld4" | "txq" | "suld" | "sust" | "sured" | "suq" | "istypep" => {
            texture::lower(l, inst, m)
        }
        // Other matrix and tensor instructions, and whatever comes new.
        _ => Err(Stop::unsupported("the engine has no such instruction yet")),
    }
}
