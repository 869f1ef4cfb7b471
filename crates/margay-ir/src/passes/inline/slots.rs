// SPDX-License-Identifier: MIT OR Apache-2.0
//! Arguments in memory as registers.
//!
//! A structure that is passed by value lies in the caller's frame and in the callee's. Once the callee's body is in the kernel, words
//! of such a slot that only loads and stores at known places touch are registers, as an assembler has them.
//!
//! Invariant: nothing else of the kernel reaches a slot. It is a variable of `.param` space, so who takes its address names it, and a
//! slot whose address goes anywhere but to a load or a store stays where it is.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::{inst, register};
use crate::analysis::liveness::{for_each_def, term_use};
use crate::inst::*;
use crate::module::Function;
use crate::ops::Op;
use crate::types::{Class, Sem, Space, Ty};

/// Bytes of a kernel's frame that one argument or result of one body has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Slot {
    /// Which function's frame, by number: bodies that never run at once share bytes.
    pub owner: u32,
    pub start: u32,
    pub end: u32,
}

impl Slot {
    /// Whether a byte of its owner's frame is in it.
    fn has(&self, at: i64) -> bool {
        (i64::from(self.start)..i64::from(self.end)).contains(&at)
    }
}

/// Who owns the frames that addresses are of.
pub(super) struct Owners<'a> {
    /// Of each block.
    pub blocks: &'a [u32],
    /// Of addresses that were made for copies between frames.
    pub addresses: &'a HashMap<Reg, u32>,
    /// Registers that only hold what such copies move.
    pub moved: &'a HashSet<Reg>,
}

/// One access: its first byte, in the frame, and the bytes of an element.
#[derive(Clone, Copy)]
struct Access {
    at: u32,
    size: u32,
    count: u32,
}

/// Makes registers of all slots that allow it.
pub(super) fn promote(f: &mut Function, slots: &[Slot], owners: &Owners<'_>) {
    let slots = &merged(slots);
    let bases = bases(f, slots, owners);
    let mut accesses: BTreeMap<Slot, Vec<Access>> =
        slots.iter().filter(|s| is_even(s)).map(|&s| (s, Vec::new())).collect();
    for (b, block) in f.blocks.iter().enumerate() {
        for i in &block.insts {
            visit(i, &bases, (owners.blocks[b], owners.moved), &mut accesses);
        }
        if let Some((slot, _)) = term_use(&block.term).and_then(|r| bases.get(&r)) {
            accesses.remove(slot);
        }
    }
    let mut words = HashMap::new();
    for (slot, list) in &accesses {
        let mut at = slot.start;
        while at < slot.end {
            let together = |a: &Access| {
                let (from, to) = (a.at, a.at + a.size * a.count);
                let apart = to <= at || from >= at + 8;
                apart || a.size == 8 && (at.wrapping_sub(from)).is_multiple_of(8)
            };
            let double = at.is_multiple_of(8) && at + 8 <= slot.end && list.iter().all(together);
            let (class, bytes) = if double { (Class::D, 8) } else { (Class::W, 4) };
            words.insert((slot.owner, at), (class, register(f, class)));
            at += bytes;
        }
    }
    let mut halves = HashMap::new();
    let (mut blocks, mut out) = (std::mem::take(&mut f.blocks), Vec::new());
    for block in &mut blocks {
        for i in std::mem::take(&mut block.insts) {
            let place = access(&i, &bases).filter(|(slot, _)| accesses.contains_key(slot));
            match place {
                Some((slot, a)) => {
                    let copy = copied(&i).filter(|r| owners.moved.contains(r));
                    let kept = Kept { words: &words, owner: slot.owner };
                    if !copy.is_some_and(|r| copy_halves(&i, r, a, &kept, &mut halves, &mut out)) {
                        rewrite(f, &i, a, &kept, &mut out);
                    }
                }
                None => out.push(i),
            }
        }
        block.insts = std::mem::take(&mut out);
    }
    f.blocks = blocks;
}

/// Slots of which none shares bytes with another of its frame.
fn merged(slots: &[Slot]) -> Vec<Slot> {
    let mut sorted = slots.to_vec();
    sorted.sort_unstable();
    let mut out: Vec<Slot> = Vec::new();
    for slot in sorted {
        match out.last_mut() {
            Some(last) if last.owner == slot.owner && slot.start < last.end => {
                last.end = last.end.max(slot.end);
            }
            _ => out.push(slot),
        }
    }
    out
}

fn is_even(slot: &Slot) -> bool {
    slot.start.is_multiple_of(4) && slot.end.is_multiple_of(4) && slot.start < slot.end
}

/// Registers that only ever hold an address in a slot, and which.
fn bases(f: &Function, slots: &[Slot], owners: &Owners<'_>) -> HashMap<Reg, (Slot, i64)> {
    let mut sets = vec![0u32; f.regs.len()];
    for i in f.blocks.iter().flat_map(|b| &b.insts) {
        for_each_def(i, |r| sets[r.0 as usize] += 1);
    }
    let mut found = HashMap::new();
    for (b, block) in f.blocks.iter().enumerate() {
        for i in &block.insts {
            let (Attr::Address { of: AddrOf::Local(at), addend }, &[r]) = (&i.attr, &i.dsts[..])
            else {
                continue;
            };
            let owner = *owners.addresses.get(&r).unwrap_or(&owners.blocks[b]);
            // The offset says of which variable the address is, wherever that leads.
            let slot = slots.iter().find(|s| s.owner == owner && s.has(i64::from(*at)));
            if let Some(&slot) = slot {
                found.insert(r, (slot, i64::from(*at) + addend));
            }
        }
    }
    found.retain(|r, _| sets[r.0 as usize] == 1);
    found
}

/// The access to a slot that an instruction is, if it is no more than that.
fn access(i: &Inst, bases: &HashMap<Reg, (Slot, i64)>) -> Option<(Slot, Access)> {
    let (Attr::Mem(mem), None) = (&i.attr, i.guard) else { return None };
    let Some(&Value::Reg(r)) = i.srcs.first() else { return None };
    let &(slot, at) = bases.get(&r)?;
    let count = match i.op {
        Op::Ld => i.dsts.len(),
        Op::St => i.srcs.len() - 1,
        _ => return None,
    } as u32;
    let size = i.ty.bits() / 8;
    let at = u32::try_from(at.checked_add(mem.offset)?).ok()?;
    let plain = mem.space == Space::Local
        && mem.sem == Sem::Weak
        && matches!(i.ty, Ty::I32 | Ty::I64)
        && at.is_multiple_of(size * count)
        && at >= slot.start
        && at.checked_add(size * count)? <= slot.end;
    plain.then_some((slot, Access { at, size, count }))
}

/// Notes what an instruction does to slots, and drops those that must stay in memory.
fn visit(
    i: &Inst,
    bases: &HashMap<Reg, (Slot, i64)>,
    (owner, moved): (u32, &HashSet<Reg>),
    accesses: &mut BTreeMap<Slot, Vec<Access>>,
) {
    let place = access(i, bases);
    // A copy of a double word goes by two single ones, too, as others have it.
    let yields = |a: &Access| a.size == 8 && copied(i).is_some_and(|r| moved.contains(&r));
    if let Some((slot, a)) = &place
        && let Some(list) = accesses.get_mut(slot)
        && !yields(a)
    {
        list.push(*a);
    }
    // What reaches over the end of a slot is in another.
    if let (None, Attr::Mem(mem), Some(Value::Reg(r))) = (&place, &i.attr, i.srcs.first())
        && let Some((_, at)) = bases.get(r)
    {
        let at = at + mem.offset;
        accesses.retain(|s, _| !s.has(at));
    }
    let goes_on = |v: &Value, skip: bool| match v {
        Value::Reg(r) if !skip => bases.get(r).map(|(slot, _)| *slot),
        _ => None,
    };
    for (n, v) in i.srcs.iter().enumerate() {
        if let Some(slot) = goes_on(v, n == 0 && place.is_some()) {
            accesses.remove(&slot);
        }
    }
    // The address may be in a register that is no base, as it is set more than once, or is another variable's.
    if let (Attr::Address { of: AddrOf::Local(at), addend }, &[r]) = (&i.attr, &i.dsts[..])
        && !bases.contains_key(&r)
    {
        let reached = [i64::from(*at), i64::from(*at) + addend];
        accesses.retain(|s, _| !reached.iter().any(|&at| s.has(at)));
    }
    if let Attr::Call(call) = &i.attr {
        for arg in call.args.iter().chain(&call.rets) {
            match arg {
                CallArg::Value(v, _) => {
                    if let Some(slot) = goes_on(v, false) {
                        accesses.remove(&slot);
                    }
                }
                CallArg::Frame { offset, size } => {
                    let apart = |s: &Slot| s.end <= *offset || s.start >= offset + size;
                    accesses.retain(|s, _| s.owner != owner || apart(s));
                }
            }
        }
    }
}

/// The only register that an instruction moves from or to memory.
fn copied(i: &Inst) -> Option<Reg> {
    match (i.op, &i.dsts[..], i.srcs.get(1..)) {
        (Op::Ld, &[r], _) => Some(r),
        (Op::St, _, Some(&[Value::Reg(r)])) => Some(r),
        _ => None,
    }
}

/// The registers of a frame's slots: of a word, or of two that are always accessed together.
struct Kept<'a> {
    words: &'a HashMap<(u32, u32), (Class, Reg)>,
    owner: u32,
}

impl Kept<'_> {
    /// What is kept of a byte on, if it is of this class.
    fn get(&self, at: u32, class: Class) -> Option<Reg> {
        self.words.get(&(self.owner, at)).filter(|w| w.0 == class).map(|w| w.1)
    }

    fn word(&self, at: u32) -> Option<Reg> {
        self.get(at, Class::W)
    }
}

/// A copy of two words from a slot to another: what is loaded is remembered, and both are moved where it is stored. Whether that was
/// all; a load that something else needs whole is written as well.
fn copy_halves(
    i: &Inst,
    r: Reg,
    a: Access,
    kept: &Kept<'_>,
    halves: &mut HashMap<Reg, [Reg; 2]>,
    out: &mut Vec<Inst>,
) -> bool {
    let (8, Some(low), Some(high)) = (a.size, kept.word(a.at), kept.word(a.at + 4)) else {
        return false;
    };
    if i.op == Op::Ld {
        halves.insert(r, [low, high]);
        return false;
    }
    let Some(from) = halves.get(&r) else { return false };
    for (to, &from) in [low, high].into_iter().zip(from) {
        out.push(inst(Op::Mov, Ty::I32, &[to], &[Value::Reg(from)], Attr::None, i.loc));
    }
    true
}

/// Copies from and to registers in place of an access.
fn rewrite(f: &mut Function, i: &Inst, a: Access, kept: &Kept<'_>, out: &mut Vec<Inst>) {
    let loc = i.loc;
    let signed = matches!(&i.attr, Attr::Mem(mem) if mem.signed);
    let mut op = |op: Op, ty: Ty, from: Ty, d: Reg, srcs: &[Value]| {
        out.push(Inst { from, ..inst(op, ty, &[d], srcs, Attr::None, loc) });
    };
    for e in 0..a.count {
        let at = a.at + e * a.size;
        let double = kept.get(at, Class::D);
        match (i.op, a.size, double) {
            (Op::Ld, 8, Some(r)) => {
                op(Op::Mov, Ty::I64, Ty::I64, i.dsts[e as usize], &[Value::Reg(r)]);
            }
            (Op::Ld, 8, None) => {
                let (Some(low), Some(high)) = (kept.word(at), kept.word(at + 4)) else { continue };
                let [wide, high_wide, above] = [(); 3].map(|()| register(f, Class::D));
                let d = i.dsts[e as usize];
                op(Op::ZExt, Ty::I64, Ty::I32, high_wide, &[Value::Reg(high)]);
                op(Op::Shl, Ty::I64, Ty::I64, above, &[Value::Reg(high_wide), Value::Imm(32)]);
                op(Op::ZExt, Ty::I64, Ty::I32, wide, &[Value::Reg(low)]);
                op(Op::Or, Ty::I64, Ty::I64, d, &[Value::Reg(wide), Value::Reg(above)]);
            }
            (Op::Ld, _, _) => {
                let Some(r) = kept.word(at) else { continue };
                let d = i.dsts[e as usize];
                match (f.regs[d.0 as usize], signed) {
                    (Class::D, true) => op(Op::SExt, Ty::I64, Ty::I32, d, &[Value::Reg(r)]),
                    (Class::D, false) => op(Op::ZExt, Ty::I64, Ty::I32, d, &[Value::Reg(r)]),
                    (Class::W | Class::P, _) => {
                        op(Op::Mov, Ty::I32, Ty::I32, d, &[Value::Reg(r)]);
                    }
                }
            }
            (_, 8, Some(r)) => op(Op::Mov, Ty::I64, Ty::I64, r, &[i.srcs[1 + e as usize]]),
            (_, 8, None) => {
                let (Some(low), Some(high)) = (kept.word(at), kept.word(at + 4)) else { continue };
                let v = i.srcs[1 + e as usize];
                let above = register(f, Class::D);
                op(Op::Trunc, Ty::I32, Ty::I64, low, &[v]);
                op(Op::ShrU, Ty::I64, Ty::I64, above, &[v, Value::Imm(32)]);
                op(Op::Trunc, Ty::I32, Ty::I64, high, &[Value::Reg(above)]);
            }
            (_, _, _) => {
                let Some(r) = kept.word(at) else { continue };
                let v = i.srcs[1 + e as usize];
                match v {
                    Value::Reg(from) if f.regs[from.0 as usize] == Class::D => {
                        op(Op::Trunc, Ty::I32, Ty::I64, r, &[v]);
                    }
                    Value::Reg(_) | Value::Imm(_) => op(Op::Mov, Ty::I32, Ty::I32, r, &[v]),
                }
            }
        }
    }
}
