// SPDX-License-Identifier: MIT OR Apache-2.0
//! What has to be brought into registers of the thread before an instruction can read it.
//!
//! An instruction has room for one operand that is a constant, a parameter or a register of the warp. What is
//! stored, the address of an access, and the base that a scaled index is added to are read from the thread's own
//! registers only. A block brings each value once; where it does, the scheduler decides.

use std::collections::HashMap;

use smallvec::SmallVec;

use super::machine::{Kind, Node, Words};
use crate::inst::{Attr, Inst, Value};
use crate::ops::Op;
use crate::types::{Space, Ty};

/// Where an operand lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operand {
    Constant(u64),
    /// In constant memory.
    Parameter(u32),
    /// In a register of the warp.
    Uniform(u32),
    /// A value of the thread's that the reading instruction scales or widens.
    Scaled,
    Own,
}

/// What the block has brought already.
#[derive(Debug, Default)]
pub struct Feeds {
    known: HashMap<(Operand, u8), u32>,
}

impl Feeds {
    /// A new block.
    pub fn begin(&mut self) {
        self.known.clear();
    }

    /// Adds to `nodes` what brings the operands of `inst`, and to the uses of `node` what was brought.
    pub fn of(
        &mut self,
        inst: &Inst,
        operand: impl Fn(&Value) -> Operand,
        narrow: impl Fn(&Value) -> bool,
        words: &mut Vec<Words>,
        node: &mut Node,
        nodes: &mut Vec<Node>,
    ) {
        let own = |o: Operand| matches!(o, Operand::Own | Operand::Scaled);
        let mut bring: SmallVec<[(Operand, u8); 4]> = SmallVec::new();
        let width = if inst.ty.bits() == 64 { 2 } else { 1 };
        let space = match &inst.attr {
            Attr::Mem(m) | Attr::Atom { mem: m, .. } => Some(m.space),
            _ => None,
        };
        if let Some(space) = space {
            let address = inst.srcs.first().map(&operand).filter(|&o| !own(o));
            if let Some(address) = address
                && matches!(space, Space::Global | Space::Generic)
            {
                bring.push((address, 2));
            }
            if inst.op != Op::Ld {
                let data = inst.srcs.iter().skip(1).map(&operand);
                let data = data.filter(|&o| !own(o) && o != Operand::Constant(0));
                bring.extend(data.map(|o| (o, width)));
            }
        } else if matches!(inst.op, Op::Add) && inst.ty == Ty::I64 {
            let of: SmallVec<[Operand; 2]> = inst.srcs.iter().map(&operand).collect();
            if of.contains(&Operand::Scaled) && !inst.srcs.iter().any(narrow) {
                bring.extend(of.into_iter().filter(|&o| !own(o)).map(|o| (o, 2)));
            }
        } else if !node.defs.iter().all(|&v| words[v as usize].varying == 0) {
            // One stays where it is.
            let mut of: SmallVec<[Operand; 4]> = SmallVec::new();
            for o in inst.srcs.iter().map(&operand) {
                if !own(o) && o != Operand::Constant(0) && !of.contains(&o) {
                    of.push(o);
                }
            }
            let mixed = inst.srcs.iter().any(|v| own(operand(v)));
            of.sort_by_key(|o| matches!(o, Operand::Uniform(_)));
            let stay = usize::from(mixed || of.len() > 1);
            let many = of.len().saturating_sub(stay.max(1));
            if inst.op != Op::Mov {
                bring.extend(of.into_iter().take(many).map(|o| (o, width)));
            }
        }
        for (what, width) in bring {
            let value = *self.known.entry((what, width)).or_insert_with(|| {
                let (kind, uses) = match what {
                    Operand::Parameter(_) => (Kind::Load(Space::Param), SmallVec::new()),
                    Operand::Uniform(v) => (Kind::Plain, SmallVec::from_slice(&[v])),
                    _ => (Kind::Plain, SmallVec::new()),
                };
                let pair = width / 2;
                words.push(Words { folded: width, varying: width, pair, ..Words::default() });
                let value = words.len() as u32 - 1;
                let defs = SmallVec::from_slice(&[value]);
                nodes.push(Node { defs, uses, kind, guarded: false });
                value
            });
            node.uses.retain(|v| match what {
                Operand::Uniform(from) => *v != from,
                _ => true,
            });
            if !node.uses.contains(&value) {
                node.uses.push(value);
            }
        }
    }
}
