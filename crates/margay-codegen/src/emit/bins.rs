// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sums of a few bins in shared memory, as in the digits of a radix sort.
//!
//! Lanes that add the same to one of a few places are counted, place by place: one comparison of all lanes, a count of bits
//! and one addition for each. Lane by lane it takes as many additions as there are lanes, of which each waits for the one before if they go to
//! the same place, as many do where places are few.

use margay_ir::AtomOp;

use super::Gen;
use super::atomic::Step;
use super::memory::{Access, Place};
use super::value::Val;

/// Places for which a comparison each is faster than an addition for each lane.
const MOST: u64 = 16;

impl Gen<'_> {
    /// Adds to bins what the lanes add, if these are few and nobody asks what was there before. It goes on at `done`, or
    /// behind, where the last bin is not in the block's memory: indices say no more than which bins there may be.
    pub(super) fn by_bins(&mut self, s: &Step<'_>, a: &Access, operands: &[Val], done: &str) {
        let Place::Index { base, index, scale, .. } = s.place else { return };
        let most = self.most_of(index);
        let (AtomOp::Add, [Val::Lin { base: value, lin, .. }]) = (s.op, operands) else {
            return;
        };
        if s.keep || !s.shared || most >= MOST || !lin.is_uniform() || self.options.watched.any() {
            return;
        }
        let (bins, rest) = (self.label(), self.label());
        let host = self.io_load("i64", super::io!(shared));
        let size = self.io_load("i64", super::io!(shared_size));
        let from = self.ins(format!("sub i64 {base}, {host}"));
        let bytes = most * u64::from(*scale as u32) + a.bytes();
        self.declare("declare i64 @llvm.usub.sat.i64(i64, i64)");
        let starts =
            self.ins(format!("call i64 @llvm.usub.sat.i64(i64 {size}, i64 {})", bytes - 1));
        let inside = self.ins(format!("icmp ult i64 {from}, {starts}"));
        self.line(format!("br i1 {inside}, label %{bins}, label %{rest}, !prof !0"));
        self.begin(&bins);
        let small = self.ins(format!("trunc <32 x i32> {index} to <32 x i8>"));
        let first = self.ins(format!("inttoptr i64 {base} to ptr"));
        self.declare("declare i32 @llvm.ctpop.i32(i32)");
        let (int, mask) = (s.int, self.mask.clone());
        for bin in 0..=most {
            let own = self.ins(format!("icmp eq <32 x i8> {small}, splat (i8 {bin})"));
            let mut lanes = self.ins(format!("bitcast <32 x i1> {own} to i32"));
            if !self.all() {
                lanes = self.ins(format!("and i32 {lanes}, {mask}"));
            }
            let mut count = self.ins(format!("call i32 @llvm.ctpop.i32(i32 {lanes})"));
            if int == "i64" {
                count = self.ins(format!("zext i32 {count} to i64"));
            }
            let more = self.ins(format!("mul {int} {count}, {value}"));
            let p = self.ins(format!("getelementptr [{scale} x i8], ptr {first}, i64 {bin}"));
            self.update(s, &p, &[more]);
        }
        self.note_change(None);
        self.line(format!("br label %{done}"));
        self.begin(&rest);
    }
}
