// SPDX-License-Identifier: MIT OR Apache-2.0
//! Stores of some lanes on processors without mask registers (AVX2). LLVM makes a branch a lane of a scatter, which the
//! processor guesses wrong where data decide, and an instruction of a contiguous store that takes some of them as
//! long as a dozen others.

use super::memory::{Access, GUEST, memory_type};
use super::{Gen, vector_of};
use crate::LANES;

impl Gen<'_> {
    /// Stores to the pointers of the lanes that run; the others' go to a place of the function's own.
    pub(super) fn scatter(&mut self, a: &Access, all: &str, pointers: &str) {
        let ty = memory_type(a.size);
        let mut lanes = self.lanes();
        let mut pointers = pointers.to_owned();
        if self.lone_lanes && !self.all() {
            let trash = self.splat("ptr", "%trash");
            pointers = self.ins(format!(
                "select <32 x i1> {lanes}, <32 x ptr> {pointers}, <32 x ptr> {trash}"
            ));
            lanes = "splat (i1 true)".to_owned();
        }
        let f = format!("@llvm.masked.scatter.v32{ty}.v32p0");
        self.declare(format!("declare void {f}(<32 x {ty}>, <32 x ptr>, i32, <32 x i1>)"));
        self.line(format!(
            "call void {f}(<32 x {ty}> {all}, <32 x ptr> {pointers}, i32 {}, <32 x i1> {lanes}), {GUEST}",
            a.size
        ));
    }

    /// Stores a row of which some lanes run.
    pub(super) fn store_row(&mut self, a: &Access, all: &str, p: &str) {
        let ty = memory_type(a.size);
        if self.vector_bits == 256 && a.size < 4 {
            // There is no such instruction.
            let first = self.splat("ptr", p);
            let numbers = vector_of("i32", 0..LANES as i64);
            let each =
                self.ins(format!("getelementptr {ty}, <32 x ptr> {first}, <32 x i32> {numbers}"));
            return self.scatter(a, all, &each);
        }
        let lanes = self.lanes();
        if self.vector_bits == 256 {
            return self.store_parts(a, all, p, &lanes);
        }
        self.store_masked(a, LANES, all, p, &lanes);
    }

    fn store_masked(&mut self, a: &Access, n: usize, values: &str, p: &str, lanes: &str) {
        let ty = memory_type(a.size);
        let f = format!("@llvm.masked.store.v{n}{ty}.p0");
        self.declare(format!("declare void {f}(<{n} x {ty}>, ptr, i32, <{n} x i1>)"));
        self.line(format!(
            "call void {f}(<{n} x {ty}> {values}, ptr {p}, i32 {}, <{n} x i1> {lanes}), {GUEST}",
            a.size
        ));
    }

    /// The same, register by register: of most only all lanes run, or none.
    fn store_parts(&mut self, a: &Access, all: &str, p: &str, lanes: &str) {
        let ty = memory_type(a.size);
        let n = 32 / a.size as usize;
        let mask = self.mask.clone();
        for first in (0..LANES).step_by(n) {
            let [whole, other, some, join] = std::array::from_fn(|_| self.label());
            let pick = vector_of("i32", (first..first + n).map(|l| l as i64));
            let part = |g: &mut Self, v: &str, ty: &str| {
                g.ins(format!(
                    "shufflevector <32 x {ty}> {v}, <32 x {ty}> poison, <{n} x i32> {pick}"
                ))
            };
            let bits = self.ins(format!("lshr i32 {mask}, {first}"));
            let own = (1u64 << n) - 1;
            let bits = self.ins(format!("and i32 {bits}, {own}"));
            let every = self.ins(format!("icmp eq i32 {bits}, {own}"));
            let at = self.ins(format!("getelementptr {ty}, ptr {p}, i64 {first}"));
            let values = part(self, all, ty);
            let running = part(self, lanes, "i1");
            self.line(format!("br i1 {every}, label %{whole}, label %{other}"));
            self.begin(&whole);
            self.line(format!("store <{n} x {ty}> {values}, ptr {at}, align {}, {GUEST}", a.size));
            self.line(format!("br label %{join}"));
            self.begin(&other);
            let none = self.ins(format!("icmp eq i32 {bits}, 0"));
            self.line(format!("br i1 {none}, label %{join}, label %{some}"));
            self.begin(&some);
            self.store_masked(a, n, &values, &at, &running);
            self.line(format!("br label %{join}"));
            self.begin(&join);
        }
    }
}
