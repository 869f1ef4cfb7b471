// SPDX-License-Identifier: MIT OR Apache-2.0
//! Stores of the lanes that run to places in a row: compaction.
//!
//! A kernel that keeps some elements gives each lane the number of those before it, by counting bits of a ballot, and stores
//! there. What the lanes store lies side by side then, which is asked when the code runs; if so their values are
//! put together in registers and stored as vectors, instead of lane by lane.

use std::fmt::Write as _;

use margay_ir::analysis::liveness::for_each_use;
use margay_ir::{Function, Op, Value};

use super::memory::{Access, GUEST, Place};
use super::{Gen, vector_of};
use crate::LANES;
use crate::analysis::Set;

/// Registers that numbers of set bits go into by arithmetic, so that lanes may have places in a row.
pub(super) fn counted(f: &Function) -> Set {
    let mut counted = Set::new(f.regs.len());
    let insts = || f.blocks.iter().flat_map(|b| &b.insts);
    for r in insts().filter(|i| i.op == Op::Popc).flat_map(|i| &i.dsts) {
        counted.insert(r.0 as usize);
    }
    // Most functions count nothing.
    let mut grew = counted.iter().next().is_some();
    while grew {
        grew = false;
        for inst in insts().filter(|i| carries(i.op)) {
            let mut from = false;
            for_each_use(inst, |r| from |= counted.has(r.0 as usize));
            if from {
                for r in &inst.dsts {
                    grew |= counted.insert(r.0 as usize);
                }
            }
        }
    }
    counted
}

/// Whether a sum that an operand holds may be in the result.
fn carries(op: Op) -> bool {
    matches!(
        op,
        Op::Mov
            | Op::Select
            | Op::Add
            | Op::Sub
            | Op::Or
            | Op::Shl
            | Op::Mul
            | Op::MulWideS
            | Op::MulWideU
            | Op::Mad
            | Op::MadWideS
            | Op::MadWideU
            | Op::SExt
            | Op::ZExt
            | Op::Trunc
            | Op::Cvta
    )
}

/// Lanes of a vector of AVX2, which are put together by a table of 256 permutations.
const EIGHT: usize = 8;
/// Lanes of a vector of AVX-512, which has instructions for it.
const SIXTEEN: usize = 16;

/// Words in a row that are written at once: how many there must be.
const WIDTHS: [usize; 4] = [8, 4, 2, 1];

/// Lanes of one vector.
struct Part {
    /// Which of them run, and how many, all as `i32`.
    bits: String,
    count: String,
    /// How many run in the parts before.
    before: String,
}

impl Gen<'_> {
    /// Whether counts of bits are in an address.
    pub(super) fn is_counted(&self, address: Value) -> bool {
        matches!(address, Value::Reg(r) if self.counted.has(r.0 as usize))
    }

    /// Whether it is asked of a store if its lanes' places are in a row.
    pub(super) fn packs(&self, a: &Access, place: &Place) -> bool {
        let words = (a.size, a.count) == (4, 1)
            && matches!(place, Place::Index { scale: 4, .. } | Place::Each { .. });
        a.ranked
            && words
            && self.turn.is_none()
            && self.part.is_none()
            && (self.vector_bits == 512 || self.has_avx2)
    }

    /// Stores words of the lanes that run, where their places are in a row, and goes on at `done` then.
    pub(super) fn store_packed(&mut self, a: &Access, place: &Place, all: &str, done: &str) {
        let mask = self.mask.clone();
        // What comes behind names this vector, too.
        self.lanes();
        let wide = self.vector_bits == 512;
        let parts = self.parts_of(&mask, if wide { SIXTEEN } else { EIGHT });
        self.declare("declare i32 @llvm.cttz.i32(i32, i1)");
        let first = self.ins(format!("call i32 @llvm.cttz.i32(i32 {mask}, i1 false)"));
        let first = self.ins(format!("and i32 {first}, 31"));
        let ranks = if wide { self.ranks_by_masks(&parts) } else { self.ranks_by_table(&parts) };
        let (row, start) = match place {
            Place::Index { base, index, .. } => self.row_of_indices(base, index, &first, &ranks),
            Place::Each { at, .. } => self.row_of_addresses(at, &first, &ranks),
            Place::Lin { .. } => return,
        };
        let (pack, apart) = (self.label(), self.label());
        self.line(format!("br i1 {row}, label %{pack}, label %{apart}, !prof !0"));
        self.begin(&pack);
        let to = self.ins(format!("inttoptr i64 {start} to ptr"));
        match wide {
            true => self.store_by_masks(a, &parts, all, &to),
            false => self.store_by_table(a, &parts, all, &to, done),
        }
        self.line(format!("br label %{done}"));
        self.begin(&apart);
    }

    /// Whether lane `first` and those that run behind it have indices in a row, and the address of the first.
    fn row_of_indices(
        &mut self,
        base: &str,
        index: &str,
        first: &str,
        ranks: &str,
    ) -> (String, String) {
        let start = self.ins(format!("extractelement <32 x i32> {index}, i32 {first}"));
        let starts = self.splat("i32", &start);
        let expected = self.ins(format!("add <32 x i32> {starts}, {ranks}"));
        let good = self.ins(format!("icmp eq <32 x i32> {index}, {expected}"));
        let row = self.every(&good);
        // An index is signed: behind the largest one none follows.
        let last = i32::MAX - LANES as i32;
        let ahead = self.ins(format!("icmp sle i32 {start}, {last}"));
        let row = self.ins(format!("and i1 {row}, {ahead}"));
        let start = self.ins(format!("sext i32 {start} to i64"));
        let skip = self.ins(format!("shl i64 {start}, 2"));
        (row, self.ins(format!("add i64 {base}, {skip}")))
    }

    /// The same of addresses.
    fn row_of_addresses(&mut self, at: &str, first: &str, ranks: &str) -> (String, String) {
        let start = self.ins(format!("extractelement <32 x i64> {at}, i32 {first}"));
        let starts = self.splat("i64", &start);
        let skips = self.ins(format!("shl <32 x i32> {ranks}, splat (i32 2)"));
        let skips = self.ins(format!("zext <32 x i32> {skips} to <32 x i64>"));
        let expected = self.ins(format!("add <32 x i64> {starts}, {skips}"));
        let good = self.ins(format!("icmp eq <32 x i64> {at}, {expected}"));
        (self.every(&good), start)
    }

    fn parts_of(&mut self, mask: &str, lanes: usize) -> Vec<Part> {
        self.declare("declare i32 @llvm.ctpop.i32(i32)");
        let mut before = "0".to_owned();
        let mut parts = Vec::new();
        for first in (0..LANES).step_by(lanes) {
            let bits = self.ins(format!("lshr i32 {mask}, {first}"));
            let bits = self.ins(format!("and i32 {bits}, {}", (1u32 << lanes) - 1));
            let count = self.ins(format!("call i32 @llvm.ctpop.i32(i32 {bits})"));
            let next = self.ins(format!("add i32 {before}, {count}"));
            parts.push(Part { bits, count, before });
            before = next;
        }
        parts
    }

    /// Eight bytes of a table that has as many for each set of eight lanes, as numbers.
    fn by_lanes(&mut self, table: &str, part: &Part) -> String {
        let row = self.ins(format!("zext i32 {} to i64", part.bits));
        let p = self.ins(format!("getelementptr [8 x i8], ptr @{table}, i64 {row}"));
        let bytes = self.ins(format!("load <8 x i8>, ptr {p}, align 8, !invariant.load !6"));
        self.ins(format!("zext <8 x i8> {bytes} to <8 x i32>"))
    }

    /// How many lanes run before each.
    fn ranks_by_table(&mut self, parts: &[Part]) -> String {
        self.declare(table("lane_ranks", rank_rows()));
        let mut ranks = Vec::new();
        for part in parts {
            let own = self.by_lanes("lane_ranks", part);
            let before = self.splat_of(EIGHT, "i32", &part.before);
            ranks.push(self.ins(format!("add <8 x i32> {own}, {before}")));
        }
        self.join(&ranks)
    }

    /// Lanes that do not run have any.
    fn ranks_by_masks(&mut self, parts: &[Part]) -> String {
        let f = "@llvm.x86.avx512.mask.expand.v16i32";
        self.declare(format!("declare <16 x i32> {f}(<16 x i32>, <16 x i32>, <16 x i1>)"));
        let numbers = vector_of("i32", 0..SIXTEEN as i64);
        let mut ranks = Vec::new();
        for part in parts {
            let lanes = self.sixteen_flags(&part.bits);
            let own = self.ins(format!(
                "call <16 x i32> {f}(<16 x i32> {numbers}, <16 x i32> zeroinitializer, <16 x i1> {lanes})"
            ));
            let before = self.splat_of(SIXTEEN, "i32", &part.before);
            ranks.push(self.ins(format!("add <16 x i32> {own}, {before}")));
        }
        let pick = vector_of("i32", 0..LANES as i64);
        self.ins(format!(
            "shufflevector <16 x i32> {}, <16 x i32> {}, <32 x i32> {pick}",
            ranks[0], ranks[1]
        ))
    }

    /// By way of the stack, for there is no quick store of some words, and nothing may be written behind the last one, not even for
    /// a moment: it may be another block's.
    fn store_by_table(&mut self, a: &Access, parts: &[Part], all: &str, to: &str, done: &str) {
        self.declare(table("lanes_first", first_rows()));
        self.declare("declare <8 x i32> @llvm.x86.avx2.permd(<8 x i32>, <8 x i32>)");
        self.lane_buffers.insert("packed".to_owned());
        let mut count = String::new();
        let values = self.parts("i32", all, EIGHT);
        for (part, own) in parts.iter().zip(values) {
            let order = self.by_lanes("lanes_first", part);
            let own = self.ins(format!(
                "call <8 x i32> @llvm.x86.avx2.permd(<8 x i32> {own}, <8 x i32> {order})"
            ));
            let at = self.ins(format!("getelementptr [4 x i8], ptr %packed, i32 {}", part.before));
            self.line(format!("store <8 x i32> {own}, ptr {at}, align 4"));
            count = self.ins(format!("add i32 {}, {}", part.before, part.count));
        }
        // The widest words of which there is one, as many as may be needed, the last of them at the end.
        for width in WIDTHS {
            let (fits, less) = (self.label(), self.label());
            let enough = self.ins(format!("icmp uge i32 {count}, {width}"));
            let likely = if width == EIGHT { ", !prof !0" } else { "" };
            self.line(format!("br i1 {enough}, label %{fits}, label %{less}{likely}"));
            self.begin(&fits);
            let end = self.ins(format!("sub i32 {count}, {width}"));
            self.declare("declare i32 @llvm.umin.i32(i32, i32)");
            let times = if width == EIGHT { LANES / EIGHT } else { 2 };
            let mut copies = Vec::new();
            for k in 0..times.min(width) {
                let at = self.ins(format!("call i32 @llvm.umin.i32(i32 {end}, i32 {})", k * width));
                let from = self.ins(format!("getelementptr [4 x i8], ptr %packed, i32 {at}"));
                copies.push((at, self.ins(format!("load <{width} x i32>, ptr {from}, align 4"))));
            }
            for (at, words) in copies {
                let p = self.ins(format!("getelementptr [4 x i8], ptr {to}, i32 {at}"));
                self.line(format!(
                    "store <{width} x i32> {words}, ptr {p}, align {}, {GUEST}",
                    a.size
                ));
            }
            self.line(format!("br label %{done}"));
            self.begin(&less);
        }
        // No lane runs.
    }

    fn store_by_masks(&mut self, a: &Access, parts: &[Part], all: &str, to: &str) {
        let compress = "@llvm.x86.avx512.mask.compress.v16i32";
        let store = "@llvm.masked.store.v16i32.p0";
        self.declare(format!("declare <16 x i32> {compress}(<16 x i32>, <16 x i32>, <16 x i1>)"));
        self.declare(format!("declare void {store}(<16 x i32>, ptr, i32, <16 x i1>)"));
        let values = self.parts("i32", all, SIXTEEN);
        for (part, own) in parts.iter().zip(values) {
            let lanes = self.sixteen_flags(&part.bits);
            let own = self.ins(format!(
                "call <16 x i32> {compress}(<16 x i32> {own}, <16 x i32> zeroinitializer, <16 x i1> {lanes})"
            ));
            let above = self.ins(format!("shl i32 -1, {}", part.count));
            let lowest = self.ins(format!("xor i32 {above}, -1"));
            let lowest = self.sixteen_flags(&lowest);
            let p = self.ins(format!("getelementptr [4 x i8], ptr {to}, i32 {}", part.before));
            self.line(format!(
                "call void {store}(<16 x i32> {own}, ptr {p}, i32 {}, <16 x i1> {lowest}), {GUEST}",
                a.size
            ));
        }
    }

    fn sixteen_flags(&mut self, bits: &str) -> String {
        let low = self.ins(format!("trunc i32 {bits} to i16"));
        self.ins(format!("bitcast i16 {low} to <16 x i1>"))
    }
}

/// For each set of eight lanes, which come first if those that run do.
fn first_rows() -> [[u8; EIGHT]; 256] {
    std::array::from_fn(|set| {
        let runs = |l: &u8| set >> l & 1 != 0;
        let lanes = 0..EIGHT as u8;
        let mut row = lanes.clone().filter(runs).chain(lanes.filter(|l| !runs(l)));
        std::array::from_fn(|_| row.next().unwrap_or(0))
    })
}

/// For each set of eight lanes, how many of it are below each.
fn rank_rows() -> [[u8; EIGHT]; 256] {
    std::array::from_fn(|set| std::array::from_fn(|l| (set & ((1 << l) - 1)).count_ones() as u8))
}

fn table(name: &str, rows: [[u8; EIGHT]; 256]) -> String {
    let mut text = format!("@{name} = private constant [2048 x i8] c\"");
    for byte in rows.as_flattened() {
        let _ = write!(text, "\\{byte:02X}");
    }
    text.push_str("\", align 64");
    text
}

#[cfg(test)]
mod tests {
    use super::{first_rows, rank_rows};

    #[test]
    fn lanes_that_run_come_first_and_in_order() {
        assert_eq!(first_rows()[0b1010_0010], [1, 5, 7, 0, 2, 3, 4, 6]);
        assert_eq!(first_rows()[0], [0, 1, 2, 3, 4, 5, 6, 7]);
    }

    #[test]
    fn a_rank_is_the_number_of_lanes_below() {
        assert_eq!(rank_rows()[0b1010_0010], [0, 0, 1, 1, 1, 1, 2, 2]);
        assert_eq!(rank_rows()[255], [0, 1, 2, 3, 4, 5, 6, 7]);
    }
}
