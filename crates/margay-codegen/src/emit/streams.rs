// SPDX-License-Identifier: MIT OR Apache-2.0
//! Stores that go past the caches.
//!
//! A store of a line that no cache has reads it first, so an array that is only written costs memory twice. Where a launch
//! writes more than the caches hold, whole lines go to memory as they are: a copy of 64 MiB takes 0.7 of the time so. Of less,
//! the next launch finds something in the caches, and stores are plain.
//!
//! Such stores are ordered with others of their thread, but for other threads only by a fence. So functions with anything by
//! which threads could tell within a launch have none (atomics, fences, strong accesses, calls), and code ends with a fence.

use std::collections::BTreeSet;

use margay_ir::analysis::liveness::for_each_def;
use margay_ir::{Attr, Class, Function, Inst, Op, Reg, Sem, Space, Value};

use super::Gen;
use super::blocks::Lines;
use super::io;
use super::memory::{Access, GUEST, Place, memory_type};
use super::value::{Val, scalar, vector};
use crate::shape::LANES;
use crate::{Options, Root};

/// Bytes that all threads of a launch write by one store, and that the allocation has, from which on it goes past the caches.
const LEAST: u64 = 32 << 20;
const LINE: u64 = 64;

/// The pointers through which a function only stores, if other threads cannot tell when.
pub(super) fn written_only(f: &Function, options: &Options) -> BTreeSet<Root> {
    let mut written = BTreeSet::new();
    let mut read = BTreeSet::new();
    if !options.blocks {
        return written;
    }
    let roots = crate::roots::roots(f);
    for inst in f.blocks.iter().flat_map(|b| &b.insts) {
        let mem = match (inst.op, &inst.attr) {
            (Op::Ld | Op::St, Attr::Mem(m)) if m.sem == Sem::Weak => *m,
            (op, _) if op.accesses_nothing() && op != Op::Fence => continue,
            _ => return BTreeSet::new(),
        };
        if !matches!(mem.space, Space::Global | Space::Generic) {
            continue;
        }
        let root = match inst.srcs.first() {
            Some(&Value::Reg(r)) => roots[r.0 as usize],
            Some(Value::Imm(_)) | None => None,
        };
        match (inst.op, root) {
            (Op::St, Some(root)) => drop(written.insert(root)),
            (Op::St, None) => {}
            (_, Some(root)) => drop(read.insert(root)),
            // It may be anything.
            (_, None) => return BTreeSet::new(),
        }
    }
    &written - &read
}

impl Gen<'_> {
    /// Begins a store: where it is to go past the caches it is made at once. What is written until [`Gen::end_stream`] is for
    /// the others.
    pub(super) fn stream(
        &mut self,
        inst: &Inst,
        a: &Access,
        (place, room): (&Place, Option<usize>),
        values: &[Val],
        class: Class,
    ) -> Option<String> {
        let (Place::Lin { at, form, .. }, [value], Some(room)) = (place, values, room) else {
            return None;
        };
        let row = LANES as u64 * a.bytes();
        let root = self.groups[self.rooms[room].group as usize].root;
        let known = root.is_some_and(|root| self.streams.contains(&root));
        let &Value::Reg(address) = inst.srcs.first()? else { return None };
        if !known
            || !self.all()
            || self.turn.is_some()
            || !form.is_row(a.bytes() as i64)
            || !row.is_multiple_of(LINE)
            || !self.moves_on(address)
        {
            return None;
        }
        let ty = memory_type(a.size);
        let mut all = self.spread(value, class);
        if ty != scalar(class) {
            all = self.ins(format!("trunc {} {all} to <32 x {ty}>", vector(class)));
        }
        let threads = self.io_load("i64", io!(threads));
        let many = self.ins(format!("icmp uge i64 {threads}, {}", LEAST / a.bytes()));
        let starts = self.room_field(room, std::mem::offset_of!(crate::Room, starts));
        let large = self.ins(format!("icmp uge i64 {starts}, {LEAST}"));
        let both = self.ins(format!("and i1 {many}, {large}"));
        let low = self.ins(format!("and i64 {at}, {}", LINE - 1));
        let lines = self.ins(format!("icmp eq i64 {low}, 0"));
        let past = self.ins(format!("and i1 {both}, {lines}"));
        let (stream, plain, join) = (self.label(), self.label(), self.label());
        self.line(format!("br i1 {past}, label %{stream}, label %{plain}"));
        self.begin(&stream);
        let p = self.ins(format!("inttoptr i64 {at} to ptr"));
        self.line(format!(
            "store <32 x {ty}> {all}, ptr {p}, align {LINE}, {GUEST}, !nontemporal !10"
        ));
        self.line(format!("br label %{join}"));
        self.begin(&plain);
        Some(join)
    }

    /// Ends what [`Gen::stream`] began.
    pub(super) fn end_stream(&mut self, join: Option<String>) {
        if let Some(join) = join {
            self.line(format!("br label %{join}"));
            self.begin(&join);
        }
    }

    /// Whether a register has another value in each turn of the loop around the block, if there is one.
    fn moves_on(&self, register: Reg) -> bool {
        let Some((first, last)) = self.loop_around(self.block) else { return true };
        let mut moves = false;
        for inst in self.f.blocks[first..=last].iter().flat_map(|b| &b.insts) {
            for_each_def(inst, |r| moves |= r == register);
        }
        moves
    }

    /// Has what went past the caches in memory before anything else is.
    pub(super) fn fence_streams(&self, t: &mut Lines) {
        if !self.streams.is_empty() {
            t.line("call void @llvm.x86.sse.sfence()");
        }
    }
}
