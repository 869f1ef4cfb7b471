// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where registers are defined and used.

use crate::analysis::liveness::{for_each_def, for_each_use, term_use};
use crate::inst::{CallArg, Reg, Value};
use crate::module::Function;

/// A place in a function: a block and an instruction in it; the terminator is one past the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    pub block: u32,
    pub index: u32,
}

/// How a register is defined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Definition {
    Never,
    /// By the call that entered the function.
    Parameter,
    /// By one instruction, without a guard.
    Once(Place),
    /// More than once, or under a guard.
    Otherwise,
}

/// Definitions and numbers of uses of all registers.
#[derive(Clone, Debug)]
pub struct Facts {
    pub definitions: Vec<Definition>,
    pub uses: Vec<u32>,
}

impl Facts {
    pub fn new(function: &Function) -> Facts {
        let count = function.regs.len();
        let mut facts = Facts { definitions: vec![Definition::Never; count], uses: vec![0; count] };
        for param in &function.params {
            if let Some(CallArg::Value(Value::Reg(r), _)) = param.place {
                facts.define(r, Definition::Parameter);
            }
        }
        for (b, block) in function.blocks.iter().enumerate() {
            for (i, inst) in block.insts.iter().enumerate() {
                let place = Place { block: b as u32, index: i as u32 };
                let definition = match inst.guard {
                    None => Definition::Once(place),
                    Some(_) => Definition::Otherwise,
                };
                for_each_def(inst, |r| facts.define(r, definition));
                for_each_use(inst, |r| facts.uses[r.0 as usize] += 1);
            }
            if let Some(r) = term_use(&block.term) {
                facts.uses[r.0 as usize] += 1;
            }
        }
        for ret in &function.rets {
            if let Some(CallArg::Value(Value::Reg(r), _)) = ret.place {
                // Read by every return; what a caller sees is never folded away.
                facts.uses[r.0 as usize] += 1;
                facts.definitions[r.0 as usize] = Definition::Otherwise;
            }
        }
        facts
    }

    fn define(&mut self, reg: Reg, definition: Definition) {
        let slot = &mut self.definitions[reg.0 as usize];
        *slot = match slot {
            Definition::Never => definition,
            Definition::Parameter | Definition::Once(_) | Definition::Otherwise => {
                Definition::Otherwise
            }
        };
    }

    pub fn definition(&self, reg: Reg) -> Definition {
        self.definitions[reg.0 as usize]
    }
}
