// SPDX-License-Identifier: MIT OR Apache-2.0
//! Calls by handles, as comparisons with the functions that they may reach and direct calls of these.
//!
//! A handle is of a function whose address is taken: a method of a table of virtual ones, or an element of a table of functions. What
//! is compared with none of them stays a call by the handle, which tells of handles that are none.

use super::*;

/// Functions with which a handle is compared, at most.
pub(super) const MOST_COMPARED: usize = 8;

impl Inliner<'_> {
    /// Puts comparisons and direct calls in place of a call by a handle. The call itself comes last, and what follows it behind all.
    pub(super) fn compare_handle(&mut self, at: usize, n: usize) -> bool {
        let block = self.order[at];
        let inst = &self.out.blocks[block].insts[n];
        let (Attr::Call(call), None) = (&inst.attr, inst.guard) else { return false };
        let Callee::Indirect(handle) = call.callee else { return false };
        if self.compared.contains(&block) {
            return false;
        }
        let (call, inst, loc) = (call.clone(), inst.clone(), inst.loc);
        let body = self.owners[block];
        let all = 0..self.module.functions.len() as u32;
        let reached: Vec<FuncId> = all
            .map(FuncId)
            .filter(|id| self.module.functions[id.0 as usize].address_taken)
            .filter(|&id| takes(&self.module.functions[id.0 as usize], &call))
            // Of one that stays a call anyway nothing is gained.
            .filter(|&id| self.may_enter(body, id))
            .take(MOST_COMPARED + 1)
            .collect();
        let more = 6 * reached.len() + 2;
        let room = self.instructions + more <= MOST_INSTRUCTIONS
            && self.out.blocks.len() + 2 * reached.len() < MOST_BLOCKS;
        if reached.is_empty() || reached.len() > MOST_COMPARED || !room {
            return false;
        }
        let head = &mut self.out.blocks[block];
        let rest = head.insts.split_off(n + 1);
        head.insts.pop();
        let first = self.out.blocks.len() as u32;
        let head = &mut self.out.blocks[block];
        let after = std::mem::replace(&mut head.term, Term::Br(BlockId(first)));
        let after_loc = std::mem::replace(&mut head.term_loc, loc);
        // A test and a call for each, the call that stays, what comes behind.
        let stays = first + 2 * reached.len() as u32;
        let behind = BlockId(stays + 1);
        for (k, &id) in reached.iter().enumerate() {
            let own = register(&mut self.out, Class::D);
            let same = register(&mut self.out, Class::P);
            let of = Attr::Address { of: AddrOf::Func(id), addend: 0 };
            let equal = Attr::IntCmp(IntCmp::Eq);
            let insts = vec![
                super::inst(Op::Addr, Ty::I64, &[own], &[], of, loc),
                super::inst(Op::ICmp, Ty::I64, &[same], &[handle, Value::Reg(own)], equal, loc),
            ];
            let (then, els) = (first + 2 * k as u32 + 1, first + 2 * k as u32 + 2);
            let (then, els) = (BlockId(then), BlockId(els));
            self.push(block, insts, Term::CondBr { pred: same, negated: false, then, els }, loc);
            let direct = CallAttr { callee: Callee::Direct(id), ..(*call).clone() };
            let direct = Inst { attr: Attr::Call(Box::new(direct)), ..inst.clone() };
            self.push(block, vec![direct], Term::Br(behind), loc);
        }
        self.push(block, vec![inst], Term::Br(behind), loc);
        self.push(block, rest, after, after_loc);
        self.order.splice(at + 1..at + 1, first as usize..=behind.0 as usize);
        self.compared.insert(stays as usize);
        self.instructions += more;
        true
    }

    /// A new block of the body that `block` is of.
    fn push(&mut self, block: usize, insts: Vec<Inst>, term: Term, term_loc: LocId) {
        self.out.blocks.push(Block { label: None, insts, term, term_loc });
        self.ends.push(self.ends[block]);
        self.owners.push(self.owners[block]);
    }
}

/// Whether a function takes what a call passes, and returns what it wants.
fn takes(f: &Function, call: &CallAttr) -> bool {
    CallArg::agree(&call.args, &f.params) && CallArg::agree(&call.rets, &f.rets)
}
