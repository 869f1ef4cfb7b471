// SPDX-License-Identifier: MIT OR Apache-2.0
//! Stores of a row with a guard: one store under a mask, whether any lane stores or none, so there is no branch that data
//! decide.
//!
//! The whole row is checked, also where the lanes that store are none of those outside; who fails has the instruction's
//! handler make the store for the lanes whose guard holds.

use margay_ir::{Class, Guard, Inst, MemAttr, Op, Space};

use super::Gen;
use super::value::Val;
use crate::shape::Shape;

/// Whether a store of one element goes to a row of neighbours, as far as its address is known before code is written.
pub(crate) fn stores_row(inst: &Inst, mem: &MemAttr, address: &Shape) -> bool {
    let Shape::Lin(lin) = address else { return false };
    let known = matches!(mem.space, Space::Global | Space::Generic | Space::Shared);
    known
        && inst.op == Op::St
        && inst.srcs.len() == 2
        && Gen::is_direct(inst, mem)
        && lin.form.is_row(Gen::access(inst, mem).bytes() as i64)
}

/// Whether there are stores with a guard in code for such a processor and with such options: they may not leave, so nobody
/// waits with them and nobody follows them. Without mask registers a masked store is slower than a branch.
pub(crate) fn stores_under_masks(options: &crate::Options, vector_bits: u32) -> bool {
    vector_bits == 512 && !options.hold && !options.watched.any()
}

impl Gen<'_> {
    /// Writes a store with a guard. False if there is no code for it.
    pub(super) fn store_guarded(&mut self, n: usize, inst: &Inst, mem: &MemAttr) -> bool {
        let (Some(guard), Some(&value)) = (inst.guard, inst.srcs.get(1)) else { return false };
        let bare = Inst { guard: None, ..inst.clone() };
        let shape = self.facts.operand(inst.srcs[0]);
        if !stores_under_masks(self.options, self.vector_bits) || !stores_row(&bare, mem, &shape) {
            return false;
        }
        let access = Self::access(inst, mem);
        let address = self.bits(inst.srcs[0], Class::D);
        if !matches!(address, Val::Lin { .. }) {
            return false;
        }
        let class = match value {
            margay_ir::Value::Reg(r) => self.class(r),
            margay_ir::Value::Imm(_) => inst.ty.class(),
        };
        let value = self.bits(value, class);
        self.flush_before(n);
        let (outside, slow, join) = (self.label(), self.label(), self.label());
        let undone = self.save_for_handler(n, inst);
        let some = self.lanes_of(guard);
        let bits = self.ins(format!("bitcast <32 x i1> {some} to i32"));
        let nobody = self.ins(format!("icmp eq i32 {bits}, 0"));
        let Some(place) = self.checked_place(n, &access, &address, &outside) else { return false };
        // From here on those lanes are the ones that run.
        let all = (self.apart, std::mem::replace(&mut self.mask, bits), self.mask_vector.take());
        (self.apart, self.mask_vector) = (true, Some(some));
        self.store_lanes(&access, 0, &place, &value, class);
        self.note_change(None);
        self.line(format!("br label %{join}"));
        self.aside(|g| {
            g.begin(&outside);
            g.line(format!("br i1 {nobody}, label %{join}, label %{slow}"));
        });
        self.slow_path(n, inst, &slow, &join, undone);
        (self.apart, self.mask, self.mask_vector) = all;
        self.begin(&join);
        true
    }

    /// The lanes that run and for which a guard holds.
    pub(super) fn lanes_of(&mut self, guard: Guard) -> String {
        let pred = self.read(guard.pred);
        let mut some = self.spread(&pred, Class::P);
        if guard.negated {
            some = match self.vector_bits {
                512 => self.xor_flags(&some, "splat (i1 true)"),
                _ => self.ins(format!("xor <32 x i1> {some}, splat (i1 true)")),
            };
        }
        match self.all() {
            true => some,
            false => {
                let lanes = self.lanes();
                self.ins(format!("and <32 x i1> {some}, {lanes}"))
            }
        }
    }
}
