// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reports of what the code does, where a launch is watched.
//!
//! Invariant: a report comes after the check of an access, and before the access. So nothing is reported twice: what
//! fails its check is reported by its handler.

use margay_ir::Class;

use super::memory::Access;
use super::value::Val;
use super::{Gen, io};
use crate::shape::Pattern;
use crate::{Tally, WatchedAccess};

impl Gen<'_> {
    /// Counts an execution of a block by the lanes that run.
    pub(super) fn count_block(&mut self, b: usize) {
        if !self.options.watched.counts {
            return;
        }
        if self.all() {
            self.tally(b, Tally::Full, "1");
            return;
        }
        self.tally(b, Tally::Part, "1");
        let lanes = self.lane_count(&self.mask.clone());
        self.tally(b, Tally::Lanes, &lanes);
    }

    /// How many lanes a mask has, as an `i64`.
    pub(super) fn lane_count(&mut self, mask: &str) -> String {
        match mask {
            "-1" => return "32".to_owned(),
            "0" => return "0".to_owned(),
            _ => {}
        }
        self.declare("declare i32 @llvm.ctpop.i32(i32)");
        let n = self.ins(format!("call i32 @llvm.ctpop.i32(i32 {mask})"));
        self.ins(format!("zext i32 {n} to i64"))
    }

    /// Adds to a count of a block.
    pub(super) fn tally(&mut self, b: usize, what: Tally, more: &str) {
        let tallies = self.io_load("ptr", io!(tallies));
        let at = (b * Tally::COUNT + what as usize) * 8;
        let p = self.ins(format!("getelementptr i8, ptr {tallies}, i64 {at}"));
        let n = self.ins(format!("load i64, ptr {p}, {}", super::blocks::ENGINE));
        let n = self.ins(format!("add i64 {n}, {more}"));
        self.line(format!("store i64 {n}, ptr {p}, {}", super::blocks::ENGINE));
    }

    /// Counts the lanes of a mask that take the block's branch.
    pub(super) fn count_taken(&mut self, mask: &str) {
        if self.options.watched.counts && mask != "0" {
            let lanes = self.lane_count(mask);
            self.tally(self.block, Tally::Taken, &lanes);
        }
    }

    /// Counts a branch at which the lanes part.
    pub(super) fn count_divergent(&mut self, more: &str) {
        if self.options.watched.counts {
            self.tally(self.block, Tally::Divergent, more);
        }
    }

    /// Reports an access of instruction `n` at these addresses.
    pub(super) fn watch_access(&mut self, n: usize, a: &Access, address: &Val) {
        if !self.options.watched.accesses {
            return;
        }
        let pc = self.pc(n);
        let (context, mask) = (self.io_load("ptr", io!(context)), self.mask.clone());
        match address {
            Val::Lin { base, u, lin } => {
                let form = lin.form.clone();
                let site = self.watched_site(WatchedAccess { pc, form });
                let base = self.ins(format!("add i64 {base}, {}", a.offset));
                let u = u.clone().unwrap_or_else(|| "0".to_owned());
                let hook = self.io_load("ptr", io!(watch_linear));
                self.line(format!(
                    "call void {hook}(ptr {context}, i32 {site}, i32 {mask}, i64 {base}, i64 {u})"
                ));
            }
            v @ Val::Vec { .. } => {
                let mut all = self.spread(v, Class::D);
                if a.offset != 0 {
                    all = self.ins(format!("add <32 x i64> {all}, splat (i64 {})", a.offset));
                }
                self.line(format!("store <32 x i64> {all}, ptr %watched, align 64"));
                let hook = self.io_load("ptr", io!(watch));
                self.line(format!(
                    "call void {hook}(ptr {context}, i32 {pc}, i32 {mask}, ptr %watched)"
                ));
            }
        }
    }

    /// Reports a read of a parameter.
    pub(super) fn watch_param(&mut self, n: usize, start: u64) {
        if !self.options.watched.accesses {
            return;
        }
        let form = Pattern { pat: [0; crate::LANES], q: None };
        let site = self.watched_site(WatchedAccess { pc: self.pc(n), form });
        let (context, mask) = (self.io_load("ptr", io!(context)), self.mask.clone());
        let hook = self.io_load("ptr", io!(watch_linear));
        self.line(format!(
            "call void {hook}(ptr {context}, i32 {site}, i32 {mask}, i64 {start}, i64 0)"
        ));
    }

    /// The number of an access; a block's two copies have the same.
    fn watched_site(&mut self, access: WatchedAccess) -> usize {
        let known = self.watched.iter().position(|w| *w == access);
        known.unwrap_or_else(|| {
            self.watched.push(access);
            self.watched.len() - 1
        })
    }
}
