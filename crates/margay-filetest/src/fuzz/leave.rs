// SPDX-License-Identifier: MIT OR Apache-2.0
//! Threads that end while others go on to barriers. A barrier waits for no thread that has ended.

use super::generate::{Gen, Place, REGISTERS_AT, SLOT};
use super::kernel::Stmt;

/// A word of each thread's output that nobody writes.
const NEVER_WRITTEN: u32 = REGISTERS_AT - 4;

impl Gen<'_> {
    /// A predicate of those that go: whole warps, some lanes of each, one block's, or whatever numbers say.
    fn who_leaves(&mut self, lines: &mut Vec<String>) -> String {
        let p = self.scratch('p');
        let warps = self.kernel.threads().div_ceil(32) as usize;
        let cmp = *self.random.pick(&["eq", "ne", "lt", "gt"]);
        match self.random.below(10) {
            0..=4 => {
                let warp = self.scratch('r');
                lines.push(format!("shr.u32 {warp}, %r2, 5;"));
                lines.push(format!("setp.{cmp}.u32 {p}, {warp}, {};", self.random.below(warps)));
            }
            5 => {
                let odd = self.scratch('r');
                lines.push(format!("and.b32 {odd}, %r2, 32;"));
                lines.push(format!("setp.{cmp}.u32 {p}, {odd}, 0;"));
            }
            6 => lines.push(format!("setp.{cmp}.u32 {p}, %r1, {};", self.random.below(32))),
            7 => {
                let n = self.random.below(self.kernel.threads() as usize);
                lines.push(format!("setp.{cmp}.u32 {p}, %r2, {n};"));
            }
            8 => {
                let u = self.random.pick(&self.uniform).clone();
                lines.push(format!("setp.{cmp}.u32 {p}, {u}, {};", self.random.below(8)));
            }
            _ => {
                let r = self.register('r');
                lines.push(format!("setp.{cmp}.s32 {p}, {r}, {};", self.random.below(40)));
            }
        }
        if self.random.chance(25) {
            let block = self.random.below(self.kernel.grid.iter().product::<u32>() as usize);
            let cmp = *self.random.pick(&["eq", "ne"]);
            lines.push(format!("setp.{cmp}.and.u32 {p}, %r5, {block}, {p};"));
        }
        p
    }

    /// Reads a word of another thread's output, so that first stores have to wait for the sibling warps.
    fn look_at_others(&mut self) -> Stmt {
        let (i, at, to) = (self.scratch('r'), self.scratch('d'), self.result('r'));
        let other = match self.random.below(3) {
            0 => format!("xor.b32 {i}, %r3, 1;"),
            1 => format!("xor.b32 {i}, %r3, 32;"),
            _ => format!("add.u32 {i}, %r3, {};", self.random.below(100)),
        };
        let lines = vec![
            other,
            format!("rem.u32 {i}, {i}, {};", self.kernel.all_threads()),
            format!("mad.wide.u32 {at}, {i}, {SLOT}, %d1;"),
            format!("ld.global.b32 {to}, [{at}+{NEVER_WRITTEN}];"),
        ];
        Stmt::Lines(lines)
    }

    /// Some threads end here, perhaps after a store, and the others perhaps have a barrier before them.
    pub fn leaving(&mut self, place: &Place) -> Vec<Stmt> {
        let mut stmts = Vec::new();
        if self.random.chance(50) {
            stmts.push(self.look_at_others());
        }
        let mut lines = Vec::new();
        let p = self.who_leaves(&mut lines);
        stmts.push(Stmt::Lines(lines));
        self.gaps = true;
        let how = *self.random.pick(&["ret;", "exit;"]);
        if self.random.chance(30) {
            stmts.push(Stmt::Lines(vec![format!("@{p} {how}")]));
        } else {
            let inner = Place { block: false, mask: None, depth: place.depth + 1, ..place.clone() };
            let mut then = Vec::new();
            for _ in 0..self.random.below(3) {
                then.extend(match self.random.below(4) {
                    0 => self.memory(&inner),
                    _ => vec![self.own_output()],
                });
            }
            then.push(Stmt::Lines(vec![how.to_owned()]));
            // Those that stay, as the branch's other side or behind it.
            let els = match self.random.chance(30) {
                true => vec![self.own_output()],
                false => Vec::new(),
            };
            stmts.push(Stmt::If { pred: p, then, els });
        }
        if self.random.chance(70) {
            stmts.push(if self.random.chance(50) { self.exchange() } else { self.barrier() });
        }
        stmts
    }
}
