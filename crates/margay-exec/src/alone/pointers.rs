// SPDX-License-Identifier: MIT OR Apache-2.0
//! Pointers whose allocation is known for sure: whatever is written to the register comes from one parameter or variable.
//! [`margay_codegen::roots`] guesses, as speed alone rests on it.

use margay_codegen::{Root, roots};
use margay_ir::{Attr, Function, Inst, Op, Space, Value};

/// The parameter or variable that each register points into, if all that is ever written to it does.
pub fn pointers(f: &Function) -> Vec<Option<Root>> {
    let mut found = roots(f);
    loop {
        let mut changed = false;
        for inst in f.blocks.iter().flat_map(|b| &b.insts) {
            let sure = points(inst, &found);
            margay_ir::analysis::liveness::for_each_def(inst, |r| {
                changed |= !sure && found[r.0 as usize].take().is_some();
            });
        }
        if !changed {
            return found;
        }
    }
}

/// Whether a result points where its register is said to, as its operands do.
fn points(inst: &Inst, found: &[Option<Root>]) -> bool {
    let of = |n: usize| match inst.srcs.get(n) {
        Some(&Value::Reg(r)) => found[r.0 as usize].is_some(),
        Some(Value::Imm(_)) | None => false,
    };
    match (inst.op, &inst.attr) {
        (Op::Ld, Attr::Mem(mem)) => mem.space == Space::Param,
        (Op::Addr, _) => true,
        (Op::Mov | Op::Sub, _) => of(0),
        // A pointer into another space has an address of its own.
        (Op::Cvta | Op::CvtaTo, Attr::Space(Space::Global | Space::Generic)) => of(0),
        (Op::Add, _) => of(0) || of(1),
        (Op::Select, _) => of(0) && of(1),
        (Op::MadWideS | Op::MadWideU | Op::Mad, _) => of(2),
        _ => false,
    }
}
