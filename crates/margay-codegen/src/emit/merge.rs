// SPDX-License-Identifier: MIT OR Apache-2.0
//! Loads of neighbours through one varying pointer: fields of a structure, or what an unrolled loop reads of a row.
//!
//! Without hardware worth its name for gathers (AVX2), each element of each lane is an address taken out of a vector and a
//! load. Two or four elements side by side are one check, one address a lane and one load of 8 or 16 bytes; shuffles part them.
//!
//! Invariant: all that is loaded together is loaded by the program, in this block, before anything else touches memory or
//! may leave it. So where the check fails the interpreter makes the fault from the first of them on.

use std::rc::Rc;

use margay_ir::{Attr, Class, Inst, Op, Reg, Sem, Space, Ty, Value};

use super::memory::{Access, GUEST, Place};
use super::value::{Addr, Val};
use super::{Gen, vector_of};
use crate::shape::LANES;

/// Whether a processor without mask registers has gathers that are faster than loads one by one; LLVM makes them there.
pub(super) fn has_fast_gathers(cpu: &str) -> bool {
    let without = ["znver", "x86-64", "haswell", "broadwell", "bdver"];
    !without.iter().any(|name| cpu.starts_with(name))
}

/// Whether a processor with mask registers takes longer for a gather or a scatter than for its lanes one by one, as the
/// bench on a Zen 4 shows.
pub(super) fn has_slow_masked_gathers(cpu: &str) -> bool {
    cpu.starts_with("znver4")
}

/// Elements that one load a lane brings.
const MOST: usize = 4;

impl Gen<'_> {
    /// The elements of a load that an earlier one of the block, or this one, brings along with others. `None` if it is
    /// alone.
    pub(super) fn merged(
        &mut self,
        n: usize,
        inst: &Inst,
        a: &Access,
        address: &Val,
    ) -> Option<String> {
        if let Some(found) = self.merged.remove(&n) {
            return Some(found);
        }
        let (Some(&Value::Reg(r)), Val::Vec { addr, .. }) = (inst.srcs.first(), address) else {
            return None;
        };
        if !self.lone_lanes
            || self.options.watched.any()
            || !self.is_word(inst)
            || !matches!(a.space, Space::Global | Space::Generic)
            || !self.leaves_if_out_of_bounds(inst, a, address)
        {
            return None;
        }
        let neighbours = self.neighbours(n, r, a.space);
        let run = run_of(&neighbours, a.offset)?;
        let (first, count) = (run[0], run.len());
        let slow = self.exit(crate::Reason::Interpret, n, None);
        let start = Access { offset: first, ..*a };
        let bounds = self.bounds(n, &start, a.size * (count as u64 - 1))?;
        let place = match addr {
            Some(addr) if addr.checks(a.bytes() as i64) => {
                let addr: Rc<Addr> = addr.clone();
                self.indexed(&start, &addr, bounds, &slow)
            }
            _ => {
                let short = self.is_short();
                self.each(&start, address, bounds, short, &slow)
            }
        };
        let pointers = match self.indexed_pointers(&start, 0, &place) {
            Some(pointers) => pointers,
            None => {
                let all = self.gathered(&start, 0, &place).0;
                let one = |lane| self.ins(format!("extractelement <32 x ptr> {all}, i64 {lane}"));
                (0..LANES).map(one).collect()
            }
        };
        let elements = match count {
            2 => self.load_pairs(&pointers),
            _ => self.load_fours(&pointers),
        };
        let mut own = None;
        for (m, offset) in neighbours {
            let Some(k) = run.iter().position(|&o| o == offset) else { continue };
            match m == n {
                true => own = Some(elements[k].clone()),
                false => drop(self.merged.insert(m, elements[k].clone())),
            }
        }
        own
    }

    /// The loads from instruction `n` on through a register, and their offsets, up to what may part them.
    fn neighbours(&self, n: usize, r: Reg, space: Space) -> Vec<(usize, i64)> {
        let mut found = Vec::new();
        for (m, other) in self.f.blocks[self.block].insts.iter().enumerate().skip(n) {
            let quiet = other.op < Op::Ld || matches!(other.op, Op::Cvta | Op::CvtaTo | Op::Addr);
            match (other.op, &other.attr) {
                (Op::Ld, Attr::Mem(mem)) if Self::is_direct(other, mem) => {
                    let own = other.srcs.first() == Some(&Value::Reg(r)) && mem.space == space;
                    if own && !self.merged.contains_key(&m) && self.is_word(other) {
                        found.push((m, mem.offset));
                    }
                }
                _ if quiet => {}
                _ => break,
            }
            if other.dsts.contains(&r) {
                break;
            }
        }
        found
    }

    /// Whether a load is of one number of 32 bits, as it is.
    fn is_word(&self, inst: &Inst) -> bool {
        matches!(inst.attr, Attr::Mem(mem) if mem.sem == Sem::Weak)
            && inst.ty == Ty::I32
            && matches!(inst.dsts.as_slice(), [r] if self.class(*r) == Class::W)
    }

    /// Two elements a lane.
    fn load_pairs(&mut self, pointers: &[String]) -> Vec<String> {
        let both = self.load_each("i64", pointers);
        let words = self.ins(format!("bitcast <32 x i64> {both} to <64 x i32>"));
        (0..2)
            .map(|k| {
                let pick = vector_of("i32", (0..LANES as i64).map(|l| 2 * l + k));
                self.ins(format!(
                    "shufflevector <64 x i32> {words}, <64 x i32> poison, <32 x i32> {pick}"
                ))
            })
            .collect()
    }

    /// Four elements a lane: squares of four lanes, two in a register, are turned.
    fn load_fours(&mut self, pointers: &[String]) -> Vec<String> {
        let mut eights: Vec<Vec<String>> = vec![Vec::new(); MOST];
        for first in (0..LANES).step_by(8) {
            let mut rows = Vec::new();
            for lane in first..first + 4 {
                let [low, high] = [lane, lane + 4].map(|lane| {
                    let p = &pointers[lane];
                    self.ins(format!("load <4 x i32>, ptr {p}, align 4, {GUEST}"))
                });
                rows.push(self.eight(&low, &high, 4, 0..8));
            }
            let low = [0, 8, 1, 9, 4, 12, 5, 13];
            let high = [2, 10, 3, 11, 6, 14, 7, 15];
            let turned = [(0, 1, low), (2, 3, low), (0, 1, high), (2, 3, high)]
                .map(|(a, b, pick)| self.eight(&rows[a], &rows[b], 8, pick));
            for (k, part) in eights.iter_mut().enumerate() {
                let pick = match k & 1 {
                    0 => [0, 1, 8, 9, 4, 5, 12, 13],
                    _ => [2, 3, 10, 11, 6, 7, 14, 15],
                };
                part.push(self.eight(&turned[k & 2], &turned[(k & 2) + 1], 8, pick));
            }
        }
        eights.iter().map(|parts| self.join(parts)).collect()
    }

    /// A load for each lane.
    pub(super) fn load_each(&mut self, ty: &str, pointers: &[String]) -> String {
        pointers.iter().enumerate().fold("poison".to_owned(), |all, (lane, p)| {
            let one = self.ins(format!("load {ty}, ptr {p}, align 4, {GUEST}"));
            self.ins(format!("insertelement <32 x {ty}> {all}, {ty} {one}, i64 {lane}"))
        })
    }

    /// The lanes' pointers, where they are 32-bit indices and all may be read: two indices come out of a vector at a time.
    pub(super) fn indexed_pointers(
        &mut self,
        a: &Access,
        element: u64,
        place: &Place,
    ) -> Option<Vec<String>> {
        let Place::Index { base, index, scale, everywhere: true } = place else { return None };
        if self.fast_gathers {
            return None;
        }
        let base = self.ins(format!("add i64 {base}, {}", element * a.size));
        let base = self.ins(format!("inttoptr i64 {base} to ptr"));
        let pairs = self.ins(format!("bitcast <32 x i32> {index} to <16 x i64>"));
        let mut pointers = Vec::new();
        for n in 0..LANES / 2 {
            let pair = self.ins(format!("extractelement <16 x i64> {pairs}, i64 {n}"));
            // Else it takes out one index after the other.
            let pair = self.unseen("i64", &pair);
            let low = self.ins(format!("trunc i64 {pair} to i32"));
            let low = self.ins(format!("sext i32 {low} to i64"));
            let high = self.ins(format!("ashr i64 {pair}, 32"));
            for index in [low, high] {
                pointers.push(
                    self.ins(format!("getelementptr [{scale} x i8], ptr {base}, i64 {index}")),
                );
            }
        }
        Some(pointers)
    }

    /// Eight of the numbers in two vectors of `n`.
    fn eight(&mut self, a: &str, b: &str, n: usize, pick: impl IntoIterator<Item = i64>) -> String {
        let pick = vector_of("i32", pick);
        self.ins(format!("shufflevector <{n} x i32> {a}, <{n} x i32> {b}, <8 x i32> {pick}"))
    }

    /// Vectors of eight, one behind the other.
    pub(super) fn join(&mut self, parts: &[String]) -> String {
        let double = |g: &mut Self, a: &str, b: &str, n: i64| {
            let pick = vector_of("i32", 0..2 * n);
            g.ins(format!(
                "shufflevector <{n} x i32> {a}, <{n} x i32> {b}, <{} x i32> {pick}",
                2 * n
            ))
        };
        let low = double(self, &parts[0], &parts[1], 8);
        let high = double(self, &parts[2], &parts[3], 8);
        double(self, &low, &high, 16)
    }
}

/// The two or four consecutive words that are loaded together with the one at `offset`.
fn run_of(neighbours: &[(usize, i64)], offset: i64) -> Option<Vec<i64>> {
    let has = |o: i64| neighbours.iter().any(|&(_, other)| other == o);
    let mut first = offset;
    while has(first - 4) {
        first -= 4;
    }
    let mut last = offset;
    while has(last + 4) {
        last += 4;
    }
    let words = ((last - first) / 4 + 1) as usize;
    let at = ((offset - first) / 4) as usize;
    // Fours from the first on, then a pair.
    let (from, count) = match (words - at / MOST * MOST, at % MOST) {
        (MOST.., _) => (at / MOST * MOST, MOST),
        (2 | 3, 0 | 1) => (at / MOST * MOST, 2),
        _ => return None,
    };
    Some((0..count).map(|k| first + 4 * (from + k) as i64).collect())
}
