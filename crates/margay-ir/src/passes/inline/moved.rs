// SPDX-License-Identifier: MIT OR Apache-2.0
//! A callee's instructions as the kernel's.

use crate::inst::*;

/// Makes a callee's operands the kernel's.
pub(super) struct Moved {
    /// Where the callee's registers, frame and blocks begin in the kernel.
    pub regs: u32,
    pub frame: u32,
    pub first_block: u32,
}

impl Moved {
    pub fn reg(&self, r: Reg) -> Reg {
        Reg(r.0 + self.regs)
    }

    fn value(&self, v: Value) -> Value {
        match v {
            Value::Reg(r) => Value::Reg(self.reg(r)),
            Value::Imm(bits) => Value::Imm(bits),
        }
    }

    fn block(&self, b: BlockId) -> BlockId {
        BlockId(b.0 + self.first_block)
    }

    pub fn argument(&self, arg: CallArg) -> CallArg {
        match arg {
            CallArg::Value(v, ty) => CallArg::Value(self.value(v), ty),
            CallArg::Frame { offset, size } => CallArg::Frame { offset: offset + self.frame, size },
        }
    }

    pub fn inst(&self, inst: &Inst) -> Inst {
        let mut new = inst.clone();
        new.dsts.iter_mut().for_each(|r| *r = self.reg(*r));
        new.srcs.iter_mut().for_each(|v| *v = self.value(*v));
        if let Some(guard) = &mut new.guard {
            guard.pred = self.reg(guard.pred);
        }
        match &mut new.attr {
            Attr::Call(call) => {
                if let Callee::Indirect(v) = &mut call.callee {
                    *v = self.value(*v);
                }
                call.args.iter_mut().chain(&mut call.rets).for_each(|a| *a = self.argument(*a));
            }
            Attr::Address { of: AddrOf::Local(at), .. } => *at += self.frame,
            _ => {}
        }
        new
    }

    pub fn term(&self, term: &Term, behind: BlockId) -> Term {
        match term {
            Term::Br(to) => Term::Br(self.block(*to)),
            Term::CondBr { pred, negated, then, els } => Term::CondBr {
                pred: self.reg(*pred),
                negated: *negated,
                then: self.block(*then),
                els: self.block(*els),
            },
            Term::BrTable { index, targets } => Term::BrTable {
                index: self.value(*index),
                targets: targets.iter().map(|to| self.block(*to)).collect(),
            },
            Term::Ret => Term::Br(behind),
            Term::Exit => Term::Exit,
        }
    }
}
