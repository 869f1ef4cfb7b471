// SPDX-License-Identifier: MIT OR Apache-2.0
//! The slots of long functions: one piece of the stack that stays there.
//!
//! LLVM makes values of slots, and of a value that lives at many exits a choice of as many at each place that exits have in
//! common, each of several registers of the processor: most of the time that compiling long functions took. Where strips
//! have the slots in memory anyway, all that vary stay there, and what enters or leaves the code copies them by a loop over a
//! table.

use std::collections::HashMap;
use std::fmt::Write as _;

use margay_ir::analysis::liveness::{for_each_def, for_each_use, term_use};
use margay_ir::{Class, Function, Reg};

use super::value::Val;
use super::{Gen, blocks};
use crate::analysis::Facts;
use crate::shape::Shape;

/// Bytes that slots may take of a thread's stack.
pub(super) const MOST_BYTES: u32 = 256 << 10;
/// So many registers are copied one by one.
const FEW: usize = 2;

/// Where registers lie.
#[derive(Default)]
pub(super) struct Pool {
    place: HashMap<u32, u32>,
    /// The block that alone knows a register, if there is one.
    home: Vec<Option<u32>>,
    /// The ends of what all blocks share, and of what each has for itself behind that.
    shared: u32,
    own: HashMap<u32, u32>,
    /// Rows of a register, bytes into its slot, and a place in the frame.
    tables: Vec<Vec<[u32; 3]>>,
}

impl Pool {
    pub fn new(f: &Function, facts: &Facts) -> Pool {
        #[derive(Clone, Copy, PartialEq)]
        enum Known {
            Nowhere,
            In(u32),
            Everywhere,
        }
        let mut known = vec![Known::Nowhere; f.regs.len()];
        for (b, block) in f.blocks.iter().enumerate() {
            let mut here = |r: Reg| {
                let k = &mut known[r.0 as usize];
                *k = match *k {
                    Known::Nowhere => Known::In(b as u32),
                    Known::In(home) if home == b as u32 => Known::In(home),
                    Known::In(_) | Known::Everywhere => Known::Everywhere,
                };
            };
            for inst in &block.insts {
                for_each_use(inst, &mut here);
                for_each_def(inst, &mut here);
            }
            term_use(&block.term).into_iter().for_each(&mut here);
            for r in facts.live_in[b].iter().chain(facts.live_out[b].iter()) {
                known[r] = Known::Everywhere;
            }
        }
        let home = known.iter().map(|k| match *k {
            Known::In(b) if f.is_entry => Some(b),
            Known::In(_) | Known::Nowhere | Known::Everywhere => None,
        });
        Pool { home: home.collect(), ..Pool::default() }
    }

    /// Gives a register a place, if it has none.
    fn give(&mut self, r: Reg, class: Class) {
        if self.place.contains_key(&r.0) {
            return;
        }
        let end = match self.home[r.0 as usize] {
            Some(b) => self.own.entry(b).or_default(),
            None => &mut self.shared,
        };
        // As vectors are aligned.
        let size = if class == Class::D { 256 } else { 128 };
        let at = end.next_multiple_of(size);
        *end = at + size;
        self.place.insert(r.0, at);
    }

    /// Where a register's slot is.
    fn at(&self, r: u32) -> u32 {
        let skip = if self.home[r as usize].is_some() { self.shared } else { 0 };
        self.place[&r] + skip.next_multiple_of(256)
    }

    /// Bytes of all.
    pub fn bytes(&self) -> u32 {
        self.shared.next_multiple_of(256) + self.own.values().max().unwrap_or(&0)
    }

    /// The text that gives each slot its name.
    pub fn opening(&self) -> String {
        let mut text = String::new();
        let _ = writeln!(text, "  %slots = alloca [{} x i8], align 256", self.bytes().max(64));
        let mut all: Vec<u32> = self.place.keys().copied().collect();
        all.sort_unstable();
        for r in all {
            let at = self.at(r);
            let _ = writeln!(text, "  %r{r} = getelementptr inbounds i8, ptr %slots, i64 {at}");
        }
        text
    }

    /// The tables by which registers are copied.
    pub fn tables(&self) -> String {
        let mut text = String::new();
        for (n, table) in self.tables.iter().enumerate() {
            let rows: Vec<String> = table
                .iter()
                .map(|[r, skip, plane]| {
                    format!("[2 x i32] [i32 {}, i32 {plane}]", self.at(*r) + skip)
                })
                .collect();
            let _ = writeln!(
                text,
                "@planes{n} = private constant [{} x [2 x i32]] [{}], align 4",
                rows.len(),
                rows.join(", ")
            );
        }
        text
    }
}

impl Gen<'_> {
    /// Whether a register's slot is in the pool.
    pub(super) fn is_pooled(&self, r: Reg) -> bool {
        self.pool.is_some()
            && self.class(r) != Class::P
            && !matches!(self.facts.shape(r), Shape::Lin(_))
    }

    /// Gives a register a slot, if it has none.
    pub(super) fn use_slot(&mut self, r: Reg) {
        if !self.suffix.is_empty() {
            let end = self.slot_end(r);
            self.member_slots.insert((r.0 as usize, end));
            return;
        }
        self.slots.insert(r.0 as usize);
        if self.is_pooled(r) {
            let class = self.class(r);
            if let Some(pool) = &mut self.pool {
                pool.give(r, class);
            }
        }
    }

    /// Takes those out of a list of registers whose slots are copied to or from their planes by a loop, and writes it.
    pub(super) fn copy_slots(&mut self, regs: &mut Vec<Reg>, to_planes: bool) {
        let settles = |g: &Self, r: Reg| to_planes && g.facts.lazy[r.0 as usize];
        for settled in [false, true] {
            let (own, rest): (Vec<Reg>, Vec<Reg>) = regs
                .iter()
                .copied()
                .partition(|&r| self.is_pooled(r) && settles(self, r) == settled);
            if own.len() > FEW {
                *regs = rest;
                self.copy_by_table(&own, to_planes, settled);
            }
        }
    }

    fn copy_by_table(&mut self, regs: &[Reg], to_planes: bool, settled: bool) {
        let mut rows = Vec::new();
        for &r in regs {
            self.use_slot(r);
            let plane = self.places.plane(r);
            rows.push([r.0, 0, plane]);
            if self.class(r) == Class::D {
                rows.push([r.0, 128, plane + 128]);
            }
        }
        let Some(pool) = &mut self.pool else { return };
        let table = pool.tables.len();
        let count = rows.len();
        pool.tables.push(rows);
        let entry = self.here();
        let (label, end) = (self.label(), self.label());
        self.line(format!("br label %{label}"));
        self.begin(&label);
        let (number, next) = (self.name(), self.name());
        self.line(format!("{number} = phi i64 [ 0, %{entry} ], [ {next}, %{label} ]"));
        let row = self.ins(format!("getelementptr [2 x i32], ptr @planes{table}, i64 {number}"));
        let slot = self.ins(format!("load i32, ptr {row}"));
        let at = self.ins(format!("getelementptr i8, ptr {row}, i64 4"));
        let plane = self.ins(format!("load i32, ptr {at}"));
        let slot = self.ins(format!("zext i32 {slot} to i64"));
        let plane = self.ins(format!("zext i32 {plane} to i64"));
        let slot = self.ins(format!("getelementptr inbounds i8, ptr %slots, i64 {slot}"));
        let frame = self.frame();
        let plane = self.ins(format!("getelementptr inbounds i8, ptr {frame}, i64 {plane}"));
        let ty = "<32 x i32>";
        if to_planes {
            let mut v = self.ins(format!("load {ty}, ptr {slot}"));
            if settled {
                v = self.canonical_bits(&v, Class::W, true);
            }
            self.line(format!("store {ty} {v}, ptr {plane}, align 64, {}", blocks::ENGINE));
        } else {
            let v = self.ins(format!("load {ty}, ptr {plane}, align 64, {}", blocks::ENGINE));
            self.line(format!("store {ty} {v}, ptr {slot}"));
        }
        self.line(format!("{next} = add nuw nsw i64 {number}, 1"));
        let more = self.ins(format!("icmp ult i64 {next}, {count}"));
        self.line(format!("br i1 {more}, label %{label}, label %{end}"));
        self.begin(&end);
    }

    /// Puts values into slots that an exit at instruction `n` would else have to, here and at each exit behind it.
    pub(super) fn flush_before(&mut self, n: usize) {
        if self.pool.is_none() {
            return;
        }
        let n = self.leave_at.unwrap_or(n);
        let Some(mut live) = self.live.get(&n).cloned() else { return };
        if self.apart
            && let Some(kept) = &self.facts.kept[self.block]
        {
            live.add(kept);
        }
        self.flush_pooled(&live);
    }

    /// Puts values that vary and that slots lack into them, where they live on.
    pub(super) fn flush_pooled(&mut self, live: &crate::analysis::Set) {
        if self.pool.is_none() {
            return;
        }
        let dirty: Vec<usize> = self.dirty.iter().filter(|&n| live.has(n)).collect();
        for n in dirty {
            let r = Reg(n as u32);
            if self.is_pooled(r)
                && let Some(v @ Val::Vec { .. }) = self.current[n].clone()
            {
                self.write_slot(r, &v);
                self.dirty.remove(n);
            }
        }
    }
}
