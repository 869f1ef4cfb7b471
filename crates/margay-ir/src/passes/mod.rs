// SPDX-License-Identifier: MIT OR Apache-2.0
//! Passes that make freshly lowered IR cheaper to interpret.
//!
//! Each pass keeps every result bit for bit, every fault, and the PTX line of what remains. Nothing
//! here touches floating-point arithmetic.
//!
//! Limit: registers are not in SSA form. A pass that looks beyond one block works on registers with
//! one unguarded definition only, which is what compilers emit apart from loop variables.

pub mod blocks;
pub mod copies;
pub mod dead;
pub mod facts;
pub mod fuse;
pub mod inline;

use crate::analysis::layout;
use crate::module::{Function, Module};

/// Runs all passes on every function.
pub fn run(module: &mut Module) {
    for function in &mut module.functions {
        if !function.blocks.is_empty() {
            run_on(function);
        }
    }
}

fn run_on(function: &mut Function) {
    blocks::simplify(function);
    let order = layout::order(function);
    layout::apply_order(function, &order);
    copies::propagate(function);
    fuse::fuse(function);
    dead::remove(function);
    fuse::write_directly(function);
}
