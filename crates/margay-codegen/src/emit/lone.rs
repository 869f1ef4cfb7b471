// SPDX-License-Identifier: MIT OR Apache-2.0
//! Lanes whose distances are constants but not those of a row, where no gather or scatter is worth its name: each has a load
//! or a store of its own.
//!
//! Of a quarter of the warp mostly all lanes run, or none, as where `lane < 16` parts them; so it is asked of each quarter
//! where not all may be read.

use super::memory::{Access, GUEST, Place, memory_type};
use super::{Gen, vector_of};
use crate::LANES;

/// Lanes of a quarter.
const QUARTER: usize = LANES / 4;

impl Gen<'_> {
    /// One element of each lane that runs. `whole`: whether all lanes may be read, where that is known when the code runs.
    pub(super) fn load_one_by_one(
        &mut self,
        a: &Access,
        element: u64,
        place: &Place,
        whole: Option<&str>,
    ) -> String {
        let ty = memory_type(a.size);
        let each = |g: &mut Self| g.load_lone(a, element, place, 0..LANES);
        if self.all() {
            return each(self);
        }
        // Later accesses of the block name this vector, too.
        self.lanes();
        let some = |g: &mut Self| match a.size >= 4 {
            true => g.load_quarters(a, element, place),
            false => g.gather(a, element, place),
        };
        match whole {
            Some(whole) => self.all_or_some(whole, ty, each, some),
            None => some(self),
        }
    }

    fn load_lone(
        &mut self,
        a: &Access,
        element: u64,
        place: &Place,
        lanes: std::ops::Range<usize>,
    ) -> String {
        let (ty, n, first) = (memory_type(a.size), lanes.len(), lanes.start);
        lanes.fold("poison".to_owned(), |x, lane| {
            let p = self.lane_pointer(place, lane, element * a.size);
            let one = self.ins(format!("load {ty}, ptr {p}, align {}, {GUEST}", a.size));
            self.ins(format!("insertelement <{n} x {ty}> {x}, {ty} {one}, i64 {}", lane - first))
        })
    }

    fn load_quarters(&mut self, a: &Access, element: u64, place: &Place) -> String {
        let ty = memory_type(a.size);
        let vector = format!("<{QUARTER} x {ty}>");
        let pointers = self.pointers(a, element, place);
        let quarters: Vec<String> = (0..LANES)
            .step_by(QUARTER)
            .map(|first| {
                let here = self.quarter(first);
                let join = self.label();
                self.line(format!("br i1 {}, label %{}, label %{}", here.every, here.whole, here.other));
                self.begin(&here.whole);
                let all = self.load_lone(a, element, place, first..first + QUARTER);
                self.line(format!("br label %{join}"));
                self.begin(&here.other);
                self.line(format!("br i1 {}, label %{join}, label %{}", here.none, here.some));
                self.begin(&here.some);
                let (p, lanes) = self.quarter_of_pointers(&pointers, first);
                let f = format!("@llvm.masked.gather.v{QUARTER}{ty}.v{QUARTER}p0");
                self.declare(format!(
                    "declare {vector} {f}(<{QUARTER} x ptr>, i32, <{QUARTER} x i1>, {vector})"
                ));
                let some = self.ins(format!(
                    "call {vector} {f}(<{QUARTER} x ptr> {p}, i32 {}, <{QUARTER} x i1> {lanes}, {vector} \
                     zeroinitializer), {GUEST}",
                    a.size
                ));
                self.line(format!("br label %{join}"));
                self.begin(&join);
                self.ins(format!(
                    "phi {vector} [ {all}, %{} ], [ zeroinitializer, %{} ], [ {some}, %{} ]",
                    here.whole, here.other, here.some
                ))
            })
            .collect();
        let double = |g: &mut Self, x: &str, y: &str, n: usize| {
            let pick = vector_of("i32", 0..2 * n as i64);
            g.ins(format!(
                "shufflevector <{n} x {ty}> {x}, <{n} x {ty}> {y}, <{} x i32> {pick}",
                2 * n
            ))
        };
        let low = double(self, &quarters[0], &quarters[1], QUARTER);
        let high = double(self, &quarters[2], &quarters[3], QUARTER);
        double(self, &low, &high, 2 * QUARTER)
    }

    /// Stores one element of each lane that runs.
    pub(super) fn store_one_by_one(&mut self, a: &Access, element: u64, place: &Place, all: &str) {
        if self.all() {
            return self.store_lone(a, element, place, all, 0..LANES);
        }
        let ty = memory_type(a.size);
        self.lanes();
        let pointers = self.pointers(a, element, place);
        let trash = self.splat("ptr", "%trash");
        let trash = self.ins(format!(
            "shufflevector <32 x ptr> {trash}, <32 x ptr> poison, <{QUARTER} x i32> {}",
            quarter_of(0)
        ));
        for first in (0..LANES).step_by(QUARTER) {
            let here = self.quarter(first);
            let join = self.label();
            self.line(format!(
                "br i1 {}, label %{}, label %{}",
                here.every, here.whole, here.other
            ));
            self.begin(&here.whole);
            self.store_lone(a, element, place, all, first..first + QUARTER);
            self.line(format!("br label %{join}"));
            self.begin(&here.other);
            self.line(format!("br i1 {}, label %{join}, label %{}", here.none, here.some));
            self.begin(&here.some);
            // A branch a lane would be guessed wrong where data decide.
            let (p, lanes) = self.quarter_of_pointers(&pointers, first);
            let p = self.ins(format!(
                "select <{QUARTER} x i1> {lanes}, <{QUARTER} x ptr> {p}, <{QUARTER} x ptr> {trash}"
            ));
            for n in 0..QUARTER {
                let to = self.ins(format!("extractelement <{QUARTER} x ptr> {p}, i64 {n}"));
                let lane = first + n;
                let one = self.ins(format!("extractelement <32 x {ty}> {all}, i64 {lane}"));
                self.line(format!("store {ty} {one}, ptr {to}, align {}, {GUEST}", a.size));
            }
            self.line(format!("br label %{join}"));
            self.begin(&join);
        }
    }

    fn store_lone(
        &mut self,
        a: &Access,
        element: u64,
        place: &Place,
        all: &str,
        lanes: std::ops::Range<usize>,
    ) {
        let first = lanes.start;
        let pointers: Vec<String> =
            lanes.map(|lane| self.lane_pointer(place, lane, element * a.size)).collect();
        self.store_each(a, all, first, &pointers);
    }

    /// A store for each lane from `first` on.
    pub(super) fn store_each(&mut self, a: &Access, all: &str, first: usize, pointers: &[String]) {
        let ty = memory_type(a.size);
        for (lane, p) in (first..).zip(pointers) {
            let one = self.ins(format!("extractelement <32 x {ty}> {all}, i64 {lane}"));
            self.line(format!("store {ty} {one}, ptr {p}, align {}, {GUEST}", a.size));
        }
    }

    /// Which lanes of the quarter from `first` on run.
    fn quarter(&mut self, first: usize) -> Quarter {
        let mask = self.mask.clone();
        let bits = self.ins(format!("lshr i32 {mask}, {first}"));
        let own = (1u32 << QUARTER) - 1;
        let bits = self.ins(format!("and i32 {bits}, {own}"));
        let every = self.ins(format!("icmp eq i32 {bits}, {own}"));
        let none = self.ins(format!("icmp eq i32 {bits}, 0"));
        let [whole, other, some] = std::array::from_fn(|_| self.label());
        Quarter { every, none, whole, other, some }
    }

    /// The pointers of a quarter, and the lanes that run there.
    fn quarter_of_pointers(&mut self, pointers: &str, first: usize) -> (String, String) {
        let lanes = self.lanes();
        let pick = quarter_of(first);
        let part = |g: &mut Self, v: &str, ty: &str| {
            g.ins(format!(
                "shufflevector <32 x {ty}> {v}, <32 x {ty}> poison, <{QUARTER} x i32> {pick}"
            ))
        };
        (part(self, pointers, "ptr"), part(self, &lanes, "i1"))
    }
}

/// What is asked of a quarter, and the labels of what follows.
struct Quarter {
    every: String,
    none: String,
    whole: String,
    other: String,
    some: String,
}

fn quarter_of(first: usize) -> String {
    vector_of("i32", (first..first + QUARTER).map(|l| l as i64))
}
