// SPDX-License-Identifier: MIT OR Apache-2.0
//! Two instructions in one: integer multiply and add, and results moved at once.
//!
//! Only integers: fusing a floating-point multiplication and addition would change results.

use crate::analysis::liveness::{for_each_def, for_each_use};
use crate::inst::{Attr, Inst, Reg, Value};
use crate::module::Function;
use crate::ops::Op;
use crate::passes::copies::is_copy;
use crate::passes::facts::{Definition, Facts, Place};
use crate::types::Ty;

/// How far apart the two may stand.
const REACH: usize = 16;

/// `t = mul a, b; d = add t, c` becomes `d = mad a, b, c` where nobody else reads `t`, and likewise
/// `mulwide`. The factors must not change in between.
pub fn fuse(function: &mut Function) {
    let facts = Facts::new(function);
    for b in 0..function.blocks.len() {
        for i in 0..function.blocks[b].insts.len() {
            let Some((from, inst)) = fused(function, &facts, b, i) else { continue };
            let insts = &mut function.blocks[b].insts;
            insts[i] = inst;
            // The product is not read any more; the removal of dead code takes it.
            debug_assert!(from < i);
        }
    }
}

fn fused(function: &Function, facts: &Facts, b: usize, i: usize) -> Option<(usize, Inst)> {
    let insts = &function.blocks[b].insts;
    let add = &insts[i];
    if add.op != Op::Add || add.guard.is_some() || !matches!(add.ty, Ty::I32 | Ty::I64) {
        return None;
    }
    for (product, addend) in [(0, 1), (1, 0)] {
        let Value::Reg(t) = add.srcs[product] else { continue };
        if facts.uses[t.0 as usize] != 1 {
            continue;
        }
        let Definition::Once(def) = facts.definition(t) else { continue };
        let at = def.index as usize;
        if def != (Place { block: b as u32, index: def.index }) || at >= i || i - at > REACH {
            continue;
        }
        let mul = &insts[at];
        let op = match (mul.op, add.ty) {
            (Op::Mul, ty) if ty == mul.ty => Op::Mad,
            (Op::MulWideS, Ty::I64) => Op::MadWideS,
            (Op::MulWideU, Ty::I64) => Op::MadWideU,
            _ => continue,
        };
        if changed_between(insts, at, i, &mul.srcs) {
            continue;
        }
        let mut inst = add.clone();
        inst.op = op;
        inst.ty = mul.ty;
        inst.from = mul.ty;
        inst.srcs = mul.srcs.clone();
        inst.srcs.push(add.srcs[addend]);
        return Some((at, inst));
    }
    None
}

/// Whether an instruction strictly between two writes one of the values.
fn changed_between(insts: &[Inst], from: usize, to: usize, values: &[Value]) -> bool {
    insts[from + 1..to].iter().any(|inst| {
        let mut hit = false;
        for_each_def(inst, |r| hit |= values.contains(&Value::Reg(r)));
        hit
    })
}

/// `t = op …; d = mov t` becomes `d = op …` where nobody else reads `t`.
pub fn write_directly(function: &mut Function) {
    let facts = Facts::new(function);
    for block in 0..function.blocks.len() {
        let mut gone = Vec::new();
        for i in 1..function.blocks[block].insts.len() {
            let insts = &function.blocks[block].insts;
            let mov = &insts[i];
            let (true, Some(Value::Reg(t)), [d]) =
                (is_copy(mov), mov.srcs.first().copied(), &mov.dsts[..])
            else {
                continue;
            };
            let d = *d;
            let Definition::Once(def) = facts.definition(t) else { continue };
            let at = def.index as usize;
            let single = facts.uses[t.0 as usize] == 1 && def.block as usize == block && at < i;
            // A move that is going already wrote `t`: its own source writes it now.
            let single = single && !gone.contains(&at);
            if !single
                || i - at > REACH
                || !can_write(&insts[at], t)
                || function.regs[t.0 as usize] != function.regs[d.0 as usize]
            {
                continue;
            }
            // In between nobody may read the old `d` or write a new one.
            let touched = insts[at + 1..i].iter().any(|inst| {
                let mut hit = false;
                for_each_def(inst, |r| hit |= r == d);
                for_each_use(inst, |r| hit |= r == d);
                hit
            });
            if touched {
                continue;
            }
            function.blocks[block].insts[at].dsts[0] = d;
            gone.push(i);
        }
        for i in gone.into_iter().rev() {
            function.blocks[block].insts.remove(i);
        }
    }
}

/// Whether the instruction's one result may go to another register.
fn can_write(inst: &Inst, result: Reg) -> bool {
    inst.dsts.len() == 1
        && inst.dsts[0] == result
        && inst.guard.is_none()
        && !matches!(inst.attr, Attr::Call(_))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::parse_module;

    fn run(body: &str) -> Vec<String> {
        let text = format!(
            "module version=8.0 sm=90 target=\"sm_90\" address_bits=64\n\
             entry \"k\" visible {{\nregs w*5 d*4\nb0:\n{body}\nexit\n}}\n"
        );
        let mut function =
            parse_module(&text).unwrap_or_else(|e| panic!("{e}\n{text}")).functions.remove(0);
        fuse(&mut function);
        crate::passes::dead::remove(&mut function);
        write_directly(&mut function);
        function.blocks[0].insts.iter().map(|i| i.to_string()).collect()
    }

    #[test]
    fn products_are_added_at_once() {
        assert_eq!(
            run("%5 = mulwide.s %0, 0x4\n%6 = add.i64 %7, %5\nst.i32 {global} %6, %1"),
            ["%6 = madwide.s %0, 0x4, %7", "st.i32 {global} %6, %1"]
        );
    }

    #[test]
    fn not_when_a_factor_changes_or_the_product_is_read_again() {
        let changed =
            "%2 = mul.i32 %0, %1\n%0 = mov.i32 0x1\n%3 = add.i32 %2, %0\nst.i32 {global} %5, %3";
        assert_eq!(run(changed).len(), 4);
        let again = "%2 = mul.i32 %0, %1\n%3 = add.i32 %2, %0\nst.i32 {global} %5, %3, %2";
        assert_eq!(run(again).len(), 3);
    }

    #[test]
    fn results_go_where_they_are_moved() {
        assert_eq!(
            run("%2 = add.i32 %0, 0x1\n%0 = mov.i32 %2\nst.i32 {global} %5, %0"),
            ["%0 = add.i32 %0, 0x1", "st.i32 {global} %5, %0"]
        );
        let read =
            "%2 = add.i32 %0, 0x1\nst.i32 {global} %5, %0\n%0 = mov.i32 %2\nst.i32 {global} %5, %0";
        assert_eq!(run(read).len(), 4);
    }
}
