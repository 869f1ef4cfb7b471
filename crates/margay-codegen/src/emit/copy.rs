// SPDX-License-Identifier: MIT OR Apache-2.0
//! `cp.async`: what it copies is there at once, as a load and a store would have it.

use margay_ir::{Attr, Class, Inst, Space, Value};

use super::Gen;
use super::memory::{Access, GUEST, Place};
use super::value::Val;
use crate::LANES;

impl Gen<'_> {
    /// Writes a copy of whole words from global to shared memory. False if it is left to its handler.
    pub(super) fn copy(&mut self, n: usize, inst: &Inst) -> bool {
        let Attr::Copy { bytes, shared_offset, global_offset, .. } = inst.attr else {
            return false;
        };
        // Less may be read, and zeros written behind it.
        let whole = match inst.srcs.get(2) {
            None => true,
            Some(&Value::Imm(taken)) => taken as u32 >= bytes,
            Some(Value::Reg(_)) => false,
        };
        if !whole || inst.guard.is_some() || self.options.watched.any() || self.team.is_some() {
            return false;
        }
        let access = |space, offset, write| {
            let count = u64::from(bytes / 4);
            Access { space, size: 4, count, offset, write, ranked: false }
        };
        let write = access(Space::Shared, shared_offset, true);
        let read = access(Space::Global, global_offset, false);
        let to = self.bits(inst.srcs[0], Class::D);
        let from = self.bits(inst.srcs[1], Class::D);
        self.flush_before(n);
        let (slow, join) = (self.label(), self.label());
        let undone = self.save_for_handler(n, inst);
        let Some(target) = self.checked_place(n, &write, &to, &slow) else { return false };
        let Some(source) = self.checked_place(n, &read, &from, &slow) else { return false };
        self.copy_lanes((&read, &source), (&write, &target));
        self.note_change(None);
        self.line(format!("br label %{join}"));
        self.slow_path(n, inst, &slow, &join, undone);
        self.begin(&join);
        true
    }

    fn copy_lanes(
        &mut self,
        (read, source): (&Access, &Place),
        (write, target): (&Access, &Place),
    ) {
        if self.all() {
            let words = |g: &mut Self, count: u64, from: &str, to: &str| {
                let all = g.ins(format!("load <{count} x i32>, ptr {from}, align 4, {GUEST}"));
                g.line(format!("store <{count} x i32> {all}, ptr {to}, align 4, {GUEST}"));
            };
            if is_row(source, read) && is_row(target, write) {
                let from = self.lane_pointer(source, 0, 0);
                let to = self.lane_pointer(target, 0, 0);
                return words(self, LANES as u64 * read.count, &from, &to);
            }
            let from = self.each_pointer(read, source);
            let to = self.each_pointer(write, target);
            for (from, to) in from.iter().zip(&to) {
                words(self, read.count, from, to);
            }
            return;
        }
        for element in 0..read.count {
            let name = self.load_lanes(read, element, source);
            let v = Val::Vec { name, addr: None };
            self.store_lanes(write, element, target, &v, Class::W);
        }
    }

    /// The pointer of each lane.
    fn each_pointer(&mut self, a: &Access, place: &Place) -> Vec<String> {
        if let Place::Lin { .. } = place {
            return (0..LANES).map(|lane| self.lane_pointer(place, lane, 0)).collect();
        }
        let all = self.pointers(a, 0, place);
        (0..LANES).map(|l| self.ins(format!("extractelement <32 x ptr> {all}, i64 {l}"))).collect()
    }
}

/// Whether each lane's bytes lie behind those of the one before.
fn is_row(place: &Place, a: &Access) -> bool {
    matches!(place, Place::Lin { form, .. } if form.is_row(a.bytes() as i64))
}
