// SPDX-License-Identifier: MIT OR Apache-2.0
//! What loops of single lanes ask of their addresses: once a turn whether all that is loaded through one value of a register
//! lies in the memory that its pointer leads to, and once before the loop what makes them aligned.

use margay_ir::{Attr, Class, Inst, Op, Reg, Value};

use super::Gen;
use super::memory::Access;
use super::multiples::Multiples;
use super::turns::{leaves, step};
use super::value::{Val, scalar};
use crate::shape::Shape;

/// Offsets up to which one check serves several loads.
const FAR: i64 = 1 << 16;

/// What is to be checked of a loop's loads.
pub(super) struct Checks {
    pub each: Vec<Check>,
    /// What must be a multiple of a power of two at the start, and the power.
    multiples: Vec<(Reg, u32)>,
}

/// A check of all that the loop loads through one value of a register.
pub(super) struct Check {
    /// The first of the loads.
    pub first: usize,
    low: i64,
    /// Bytes from the first one's start to the last one's end, and of the widest.
    bytes: u64,
    widest: u64,
    /// Every turn asks whether the address is aligned.
    align: bool,
    /// How the address goes on from turn to turn, if by a constant.
    pub step: Option<Step>,
}

/// An address that goes on by a constant.
#[derive(Clone, Copy)]
pub(super) struct Step {
    by: i64,
    /// It has done so when the loads come.
    before: bool,
}

impl Gen<'_> {
    /// What is to be checked of the loads of block `b`, and once before.
    pub(super) fn lone_checks(&self, b: usize) -> Option<Checks> {
        let block = &self.f.blocks[b];
        let mut each: Vec<Check> = Vec::new();
        let mut multiples = Multiples::default();
        // The check of the value that a register has.
        let mut of: Vec<(Reg, usize)> = Vec::new();
        for (n, inst) in block.insts.iter().enumerate() {
            if let (Attr::Mem(mem), Some(&Value::Reg(r))) = (&inst.attr, inst.srcs.first()) {
                let a = Self::access(inst, mem);
                let (bytes, low) = (a.bytes(), a.offset);
                if !bytes.is_power_of_two() || low % bytes as i64 != 0 || low.abs() > FAR {
                    return None;
                }
                match of.iter().find(|(other, _)| *other == r) {
                    Some(&(_, at)) => {
                        let c = &mut each[at];
                        let end = (c.low + c.bytes as i64).max(low + bytes as i64);
                        c.low = c.low.min(low);
                        c.bytes = (end - c.low) as u64;
                        c.widest = c.widest.max(bytes);
                    }
                    None => {
                        of.push((r, each.len()));
                        each.push(Check {
                            first: n,
                            low,
                            bytes,
                            widest: bytes,
                            align: true,
                            step: None,
                        });
                    }
                }
            }
            of.retain(|(r, _)| !inst.dsts.contains(r));
        }
        for c in &mut each {
            let Some(&Value::Reg(r)) = block.insts[c.first].srcs.first() else { return None };
            let mut more = multiples.clone();
            if more.ask(block, c.first, r, c.widest.trailing_zeros()) {
                (multiples, c.align) = (more, false);
                c.step = step(block, r).map(|(at, by)| Step { by, before: at < c.first });
            }
        }
        Some(Checks { each, multiples: multiples.at_start })
    }

    /// Goes to `failed` if a register that all lanes share is no multiple that it must be.
    pub(super) fn check_uniform_multiples(&mut self, checks: &Checks, failed: &str) {
        for &(r, k) in &checks.multiples {
            if let Shape::Lin(lin) = self.facts.shape(r).clone()
                && lin.is_uniform()
                && lin.align < k
            {
                let now = self.lone(r);
                self.check_multiple(checks, r, &now, failed);
            }
        }
    }

    pub(super) fn lone_address(&mut self, inst: &Inst, offset: i64) -> String {
        match self.bits(inst.srcs[0], Class::D) {
            Val::Lin { base, .. } => self.add64(&base, offset),
            Val::Vec { name, .. } => name,
        }
    }

    /// Goes to `failed` unless what one lane loads is inside of what its pointer leads to, and aligned.
    pub(super) fn check_lone(&mut self, n: usize, inst: &Inst, c: &Check, failed: &str) {
        let Some((at, ..)) = self.check_place(n, inst, c, c.low, failed) else { return };
        if c.align {
            self.check_bits("i64", &at, c.widest - 1, failed);
        }
    }

    /// The same for the first turn, and as many more as `more` says.
    pub(super) fn check_turns(
        &mut self,
        c: &Check,
        inst: &Inst,
        step: Step,
        more: &str,
        failed: &str,
    ) {
        let first = c.low + if step.before { step.by } else { 0 };
        let Some((_, from, starts)) = self.check_place(c.first, inst, c, first, failed) else {
            return;
        };
        // At most 2^16 turns of as many bytes: what wraps around is below 0, and as a number without a sign no place.
        let on = self.ins(format!("mul i64 {more}, {}", step.by));
        let last = self.ins(format!("add i64 {from}, {on}"));
        let inside = self.ins(format!("icmp ult i64 {last}, {starts}"));
        self.expect_inside(&inside, failed);
    }

    /// Goes to `failed` unless what begins at an offset from the loads' register is inside. The address, how far inside it is, and
    /// how many places there are.
    fn check_place(
        &mut self,
        n: usize,
        inst: &Inst,
        c: &Check,
        offset: i64,
        failed: &str,
    ) -> Option<(String, String, String)> {
        let Attr::Mem(mem) = inst.attr else { return None };
        let all = Access { size: c.bytes, count: 1, offset, ..Self::access(inst, &mem) };
        let Some((lo, starts, _)) = self.bounds(n, &all, 0) else {
            self.line("; not of global memory");
            return None;
        };
        self.room = None;
        let at = self.lone_address(inst, offset);
        let from = match self.fixed_part(n, inst) {
            // What is added to a pointer that stays is compared with what is left behind it: one addition a turn.
            Some(r) => {
                let pointer = self.lone(r);
                let added = self.ins(format!("sub i64 {at}, {pointer}"));
                let skipped = self.ins(format!("sub i64 {pointer}, {lo}"));
                self.ins(format!("add i64 {added}, {skipped}"))
            }
            None => self.ins(format!("sub i64 {at}, {lo}")),
        };
        let inside = self.ins(format!("icmp ult i64 {from}, {starts}"));
        self.expect_inside(&inside, failed);
        Some((at, from, starts))
    }

    /// The register that a load's address is a sum with, if the loop leaves it as it is.
    fn fixed_part(&self, n: usize, inst: &Inst) -> Option<Reg> {
        let block = &self.f.blocks[self.block];
        let &Value::Reg(r) = inst.srcs.first()? else { return None };
        let def = block.insts[..n].iter().rfind(|i| i.dsts.contains(&r))?;
        let summands = match (def.op, def.srcs.as_slice()) {
            (Op::Add, [x, y]) => [*x, *y],
            (Op::MadWideS | Op::MadWideU, [.., z]) => [*z, *z],
            _ => return None,
        };
        summands.into_iter().find_map(|v| match v {
            Value::Reg(r) if leaves(block, r) => Some(r),
            _ => None,
        })
    }

    /// Goes to `failed` if any of some low bits is set.
    fn check_bits(&mut self, ty: &str, value: &str, bits: u64, failed: &str) {
        let odd = self.ins(format!("and {ty} {value}, {bits}"));
        let even = self.ins(format!("icmp eq {ty} {odd}, 0"));
        self.expect_inside(&even, failed);
    }

    /// The same if a register of which this is the value must be a multiple.
    pub(super) fn check_multiple(&mut self, checks: &Checks, r: Reg, value: &str, failed: &str) {
        let powers = checks.multiples.iter().filter(|(other, _)| *other == r).map(|(_, k)| *k);
        if let Some(k) = powers.max() {
            self.check_bits(scalar(self.class(r)), value, (1 << k) - 1, failed);
        }
    }
}
