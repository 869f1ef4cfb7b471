// SPDX-License-Identifier: MIT OR Apache-2.0
//! What must be a multiple of what when a loop begins, so that an address is aligned in each of its turns.
//!
//! An address is made of pointers, of indices times the size of an element, and of the same a turn before. So the
//! question is led back from the address through sums and products by constants to what the loop begins with, where it is
//! asked once, and not once a turn.

use margay_ir::{Block, Inst, Op, Reg, Value};

/// Registers that must be multiples of a power of two when a loop begins: each with the power.
#[derive(Clone, Default)]
pub(super) struct Multiples {
    pub at_start: Vec<(Reg, u32)>,
    /// Definitions that have been looked at, for which power.
    seen: Vec<(usize, u32)>,
}

/// The operands that must be multiples so that the result is one of `1 << k`, or `None` if the op cannot tell.
fn operands(inst: &Inst, k: u32) -> Option<Vec<(Value, u32)>> {
    let factor = |v: Value| match v {
        Value::Imm(bits) if bits != 0 => Some(bits.trailing_zeros()),
        Value::Imm(_) | Value::Reg(_) => None,
    };
    let product = |x: Value, y: Value| match (factor(x), factor(y)) {
        (_, Some(by)) => Some((x, k.saturating_sub(by))),
        (Some(by), _) => Some((y, k.saturating_sub(by))),
        (None, None) => None,
    };
    let s = inst.srcs.as_slice();
    match (inst.op, s) {
        (Op::Mov | Op::SExt | Op::ZExt | Op::Trunc, &[x]) => Some(vec![(x, k)]),
        (Op::Add | Op::Sub, &[x, y]) => Some(vec![(x, k), (y, k)]),
        (Op::Mul | Op::MulWideS | Op::MulWideU, &[x, y]) => Some(vec![product(x, y)?]),
        (Op::Mad | Op::MadWideS | Op::MadWideU, &[x, y, z]) => Some(vec![product(x, y)?, (z, k)]),
        (Op::Shl, &[x, Value::Imm(by)]) => Some(vec![(x, k.saturating_sub(by.min(64) as u32))]),
        _ => None,
    }
}

impl Multiples {
    /// Asks that the value of `r` before instruction `n` of a block that is a loop be a multiple of `1 << k`. False if
    /// nothing that can be asked at the start makes sure of it.
    pub(super) fn ask(&mut self, block: &Block, n: usize, r: Reg, k: u32) -> bool {
        let defines = |inst: &&Inst| inst.dsts.contains(&r);
        let Some(def) = block.insts[..n].iter().rposition(|i| defines(&i)) else {
            if self.at_start.contains(&(r, k)) {
                return true;
            }
            self.at_start.push((r, k));
            // Who changes it in this turn gives the next one its start.
            return !block.insts[n..].iter().any(|i| defines(&i))
                || self.ask(block, block.insts.len(), r, k);
        };
        if self.seen.contains(&(def, k)) {
            return true;
        }
        self.seen.push((def, k));
        let Some(operands) = operands(&block.insts[def], k) else { return false };
        operands.into_iter().all(|(v, k)| match v {
            Value::Imm(bits) => bits.trailing_zeros() >= k,
            Value::Reg(_) if k == 0 => true,
            Value::Reg(r) => self.ask(block, def, r, k),
        })
    }
}

#[cfg(test)]
mod tests {
    use margay_ir::{BlockId, Term};

    use super::*;

    fn inst(op: Op, dst: u32, srcs: &[Value]) -> Inst {
        Inst {
            op,
            ty: margay_ir::Ty::I64,
            from: margay_ir::Ty::I32,
            dsts: [Reg(dst)].into_iter().collect(),
            srcs: srcs.iter().copied().collect(),
            guard: None,
            attr: margay_ir::Attr::None,
            loc: Default::default(),
        }
    }

    fn block(insts: Vec<Inst>) -> Block {
        Block { label: None, insts, term: Term::Br(BlockId(0)), term_loc: Default::default() }
    }

    fn asked(insts: Vec<Inst>, r: u32, k: u32) -> Option<Vec<(u32, u32)>> {
        let n = insts.len();
        let block = block(insts);
        let mut all = Multiples::default();
        let ok = all.ask(&block, n, Reg(r), k);
        ok.then(|| all.at_start.iter().map(|&(r, k)| (r.0, k)).collect())
    }

    const fn reg(r: u32) -> Value {
        Value::Reg(Reg(r))
    }

    #[test]
    fn products_are_multiples_of_their_constants() {
        let index = inst(Op::MulWideS, 1, &[reg(0), Value::Imm(4)]);
        let at = inst(Op::Add, 3, &[reg(2), reg(1)]);
        assert_eq!(asked(vec![index.clone(), at.clone()], 3, 2), Some(vec![(2, 2)]));
        // Of a half of what is asked the index must be even.
        assert_eq!(asked(vec![index, at], 3, 3), Some(vec![(2, 3), (0, 1)]));
    }

    #[test]
    fn what_goes_on_must_do_so_by_multiples() {
        let step = |by| inst(Op::Add, 1, &[reg(1), Value::Imm(by)]);
        assert_eq!(asked(vec![step(8)], 1, 3), Some(vec![(1, 3)]));
        assert_eq!(asked(vec![step(4)], 1, 3), None);
        // Before the step, too: the next turn begins with it.
        let block = block(vec![step(4)]);
        assert!(!Multiples::default().ask(&block, 0, Reg(1), 3));
        assert!(Multiples::default().ask(&block, 0, Reg(1), 2));
    }

    #[test]
    fn nothing_is_known_of_loads_and_quotients() {
        let half = inst(Op::DivU, 1, &[reg(0), Value::Imm(2)]);
        assert_eq!(asked(vec![half], 1, 2), None);
        let product = inst(Op::Mul, 1, &[reg(0), reg(2)]);
        assert_eq!(asked(vec![product], 1, 2), None);
    }
}
