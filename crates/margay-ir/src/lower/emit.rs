// SPDX-License-Identifier: MIT OR Apache-2.0
//! Emitting IR: registers, instructions, blocks.

use smallvec::SmallVec;

use super::function::Lower;
use crate::analysis::effects::may_be_guarded;
use crate::inst::*;
use crate::ops::Op;
use crate::types::{Class, Ty};

/// A block under construction.
#[derive(Debug, Default)]
pub(crate) struct OpenBlock {
    pub label: Option<Box<str>>,
    pub insts: Vec<Inst>,
    pub term: Option<(Term, LocId)>,
}

impl Lower<'_, '_> {
    /// A new register.
    pub(crate) fn temp(&mut self, class: Class) -> Reg {
        let reg = Reg(self.out.regs.len() as u32);
        self.out.regs.push(class);
        reg
    }

    /// Emits an instruction under the guard of the PTX instruction being lowered.
    pub(crate) fn emit(&mut self, op: Op, ty: Ty, dsts: &[Reg], srcs: &[Value], attr: Attr) {
        self.emit_from(op, ty, ty, dsts, srcs, attr);
    }

    /// As [`Self::emit`], for ops with a second type.
    pub(crate) fn emit_from(
        &mut self,
        op: Op,
        ty: Ty,
        from: Ty,
        dsts: &[Reg],
        srcs: &[Value],
        attr: Attr,
    ) {
        debug_assert!(self.guard.is_none() || may_be_guarded(op), "{op:?} under a guard");
        self.push(Inst {
            op,
            ty,
            from,
            dsts: SmallVec::from_slice(dsts),
            srcs: SmallVec::from_slice(srcs),
            guard: self.guard,
            attr,
            loc: self.loc,
        });
    }

    pub(super) fn push(&mut self, inst: Inst) {
        self.blocks[self.current.0 as usize].insts.push(inst);
    }

    /// Emits an op with one result into a new register of the type's class.
    pub(crate) fn value(&mut self, op: Op, ty: Ty, srcs: &[Value], attr: Attr) -> Value {
        let dst = self.temp(ty.class());
        self.emit(op, ty, &[dst], srcs, attr);
        Value::Reg(dst)
    }

    /// As [`Self::value`], for ops with a second type.
    pub(crate) fn value_from(
        &mut self,
        op: Op,
        ty: Ty,
        from: Ty,
        srcs: &[Value],
        attr: Attr,
    ) -> Value {
        let dst = self.temp(ty.class());
        self.emit_from(op, ty, from, &[dst], srcs, attr);
        Value::Reg(dst)
    }

    /// As [`Self::value`], with a result whose class is not that of the type (`popc`, `mulwide`,
    /// comparisons, …).
    pub(crate) fn value_in(
        &mut self,
        class: Class,
        op: Op,
        ty: Ty,
        srcs: &[Value],
        attr: Attr,
    ) -> Value {
        let dst = self.temp(class);
        self.emit(op, ty, &[dst], srcs, attr);
        Value::Reg(dst)
    }

    /// `dst = src`.
    pub(crate) fn mov(&mut self, ty: Ty, dst: Reg, src: Value) {
        self.emit(Op::Mov, ty, &[dst], &[src], Attr::None);
    }

    /// The carry flag `CC.CF` as a predicate register, one for the whole function.
    pub(crate) fn carry(&mut self) -> Reg {
        match self.carry {
            Some(reg) => reg,
            None => {
                let reg = self.temp(Class::P);
                self.carry = Some(reg);
                reg
            }
        }
    }

    /// A block that nothing leads to yet.
    pub(super) fn new_block(&mut self) -> BlockId {
        self.blocks.push(OpenBlock::default());
        BlockId(self.blocks.len() as u32 - 1)
    }

    /// Continues in `block`; a current block without terminator falls through to it.
    pub(super) fn start_block(&mut self, block: BlockId) {
        self.terminate(Term::Br(block));
        self.current = block;
    }

    /// Ends the current block unless it has ended already.
    pub(super) fn terminate(&mut self, term: Term) {
        let loc = self.loc;
        let block = &mut self.blocks[self.current.0 as usize];
        if block.term.is_none() {
            block.term = Some((term, loc));
        }
    }

    /// Ends the current block with `term`; what follows without a label is unreachable.
    pub(super) fn end_with(&mut self, term: Term) {
        self.terminate(term);
        self.current = self.new_block();
    }

    /// Takes the guard off the instruction and branches round what `body` emits instead: for ops
    /// that may not be guarded.
    pub(super) fn branch_if_guarded<T>(&mut self, body: impl FnOnce(&mut Self) -> T) -> T {
        let Some(guard) = self.guard.take() else {
            return body(self);
        };
        let then = self.new_block();
        let after = self.new_block();
        self.terminate(Term::CondBr { pred: guard.pred, negated: guard.negated, then, els: after });
        self.current = then;
        let result = body(self);
        self.write_back();
        self.start_block(after);
        result
    }
}
