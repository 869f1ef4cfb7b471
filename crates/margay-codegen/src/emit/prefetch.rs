// SPDX-License-Identifier: MIT OR Apache-2.0
//! Prefetches in loops.
//!
//! A warp that walks memory in steps of a whole grid, or of a plane, touches a new page each time:
//! the host's own prefetchers do not follow. So an access in a loop whose address changes there asks for
//! what it will touch some iterations on, as far from here as the last step times that many. A wrong
//! guess costs a cache line and never faults.
//!
//! In blocks of one dimension the next warp's row lies behind this one's, and all of its loop comes after all of this
//! one's. So that row is asked for, too: loops of few turns would else wait for memory in most of them. The bench's reductions,
//! 64 turns a warp, take 0.6 of the time with it on a Zen 4. In blocks of two dimensions whose rows are whole warps the next
//! block's row comes next in the place of this one's: a stencil of three dimensions, a loop over planes, takes 0.75 of the time with it.
//!
//! In blocks of two dimensions that stage a tile in shared memory, the next block's tile lies beside this one's: each row asks for what
//! follows it. The host follows no more than a few rows that lie pages apart, and each is short: a transposition takes 0.7 of the
//! time on a Zen 4. Stencils, which read most of what they touch several times, take longer so, and do not ask.
//!
//! Limit: only for addresses that a pattern gives, not for gathers.

use margay_ir::analysis::liveness::for_each_def;
use margay_ir::{Attr, Inst, Op, Reg, Sem, Space, Value};

use super::Gen;
use super::memory::{Access, Place, runs};
use crate::shape::{LANES, Pattern};

const LINE: u64 = 64;
/// `llvm.prefetch`'s locality for what the next warp touches: all caches but the first.
const NEXT_WARP: u32 = 2;

/// How far a processor is to look ahead, and what it is asked with.
#[derive(Clone, Copy)]
pub(super) struct Reach {
    /// Iterations in loops of one, up to 3, 8 and 16 accesses.
    ahead: [u64; 4],
    /// `llvm.prefetch`'s: 3 for all caches, 2 for all but the first.
    locality: u32,
}

impl Reach {
    /// A Zen 4 waits for memory longer than eight short iterations take, and its first cache is not large enough for
    /// what comes so much later: with this reach the bench's reductions take 0.68 of the time there, matmul_naive 0.87.
    ///
    /// A Zen 3 has little room in its caches for rows that lie pages apart, so where there are several it does not reach far:
    /// matmul_naive takes 0.85 of the time that it takes with 8 iterations.
    pub(super) fn of(cpu: &str) -> Self {
        match cpu {
            cpu if cpu.starts_with("znver4") => Self { ahead: [32, 16, 8, 2], locality: 2 },
            "znver1" | "znver2" | "znver3" => Self { ahead: [8, 2, 2, 2], locality: 3 },
            _ => Self { ahead: [8, 8, 4, 2], locality: 3 },
        }
    }

    /// Iterations in a loop of so many accesses; 0 for none.
    fn ahead(&self, accesses: usize) -> u64 {
        let [one, few, some, many] = self.ahead;
        match accesses {
            1 => one,
            2..=3 => few,
            4..=8 => some,
            9..=16 => many,
            _ => 0,
        }
    }
}

/// What is known of the innermost loop around the block that is written.
#[derive(Default)]
pub struct Around {
    /// Registers that change in it, but for those that only go on by a constant: the host follows these.
    changes: Vec<bool>,
    /// Iterations to look ahead; 0 for none.
    ahead: u64,
    /// Registers and offsets that are taken care of in this block.
    done: Vec<(Reg, i64)>,
    /// Whether there is a loop around the block at all.
    pub(super) inside: bool,
}

impl Around {
    /// Exchanges what is taken care of, for another warp's.
    pub(super) fn swap_done(&mut self, done: &mut Vec<(Reg, i64)>) {
        std::mem::swap(&mut self.done, done);
    }
}

fn touches_global(inst: &Inst) -> bool {
    matches!(inst.op, Op::Ld | Op::St)
        && matches!(inst.attr, Attr::Mem(m) if matches!(m.space, Space::Global | Space::Generic))
}

/// Whether an instruction only moves a pointer on by less than a page.
fn is_small_step(inst: &Inst) -> bool {
    match (inst.op, inst.dsts.as_slice(), inst.srcs.as_slice()) {
        (Op::Add, [d], [Value::Reg(a), Value::Imm(n)]) => {
            d == a && (*n as i64).unsigned_abs() < 2048
        }
        _ => false,
    }
}

impl Gen<'_> {
    /// How far behind a row lies what comes next in its place, after all of the loop around: where places go by the thread's number it
    /// is the next warp's row, or, in blocks whose rows are whole warps and lie apart, the next block's.
    fn next_row(&self, form: &Pattern, a: &Access) -> Option<u64> {
        let [x, y, z] = self.options.block;
        let row = LANES as u64 * a.bytes();
        let is_row = form.is_row(a.bytes() as i64);
        if !self.options.blocks || !is_row || z != 1 {
            return None;
        }
        match y {
            // Of rows shorter than a line, those behind the next ones.
            1 => Some(row.max(2 * LINE)),
            _ => x.is_multiple_of(LANES as u32).then(|| u64::from(x) * a.bytes()),
        }
    }

    /// Asks for what comes next in a row's place, if that is known.
    fn ask_for_next_row(&mut self, at: &str, form: &Pattern, a: &Access) {
        let Some(from) = self.next_row(form, a) else { return };
        for line in (from..from + LANES as u64 * a.bytes()).step_by(LINE as usize) {
            self.ask_for(at, line as i64, a.write, NEXT_WARP);
        }
    }

    fn ask_for(&mut self, at: &str, offset: i64, write: bool, locality: u32) {
        self.declare("declare void @llvm.prefetch.p0(ptr, i32, i32, i32)");
        let p = self.ins(format!("add i64 {at}, {offset}"));
        let p = self.ins(format!("inttoptr i64 {p} to ptr"));
        let write = write as u32;
        self.line(format!(
            "call void @llvm.prefetch.p0(ptr {p}, i32 {write}, i32 {locality}, i32 1)"
        ));
    }

    /// Asks for what the warp at this place in the next block loads, for tiles that go to shared memory.
    fn prefetch_next_tile(&mut self, inst: &Inst, a: &Access, place: &Place) {
        let Place::Lin { at, form, .. } = place else { return };
        let global = matches!(a.space, Space::Global | Space::Generic);
        if a.write || !global || self.around.inside || self.options.block[1] == 1 {
            return;
        }
        if self.is_staged(inst) {
            self.ask_for_next_row(at, form, a);
        }
    }

    /// Whether the block stores what is loaded in shared memory.
    fn is_staged(&self, inst: &Inst) -> bool {
        let stores = |other: &&Inst| {
            let shared = matches!(other.attr, Attr::Mem(m) if m.space == Space::Shared);
            let value = other.srcs.get(1);
            other.op == Op::St && shared && inst.dsts.iter().any(|&d| value == Some(&Value::Reg(d)))
        };
        self.f.blocks[self.block].insts.iter().any(|i| stores(&i))
    }

    /// The first and last block of the innermost loop around a block, by the order of the blocks.
    pub(super) fn loop_around(&self, b: usize) -> Option<(usize, usize)> {
        let back = (b..self.f.blocks.len()).flat_map(|from| {
            let targets = self.facts.succs[from].iter();
            targets.filter(move |&&to| to <= b).map(move |&to| (to, from))
        });
        back.min_by_key(|&(to, from)| from - to)
    }

    /// Looks at the innermost loop around a block.
    pub fn look_around(&mut self, b: usize) {
        self.around = Around::default();
        let Some((first, last)) = self.loop_around(b) else { return };
        self.around.inside = true;
        let insts = || self.f.blocks[first..=last].iter().flat_map(|b| &b.insts);
        let accesses = insts().filter(|i| touches_global(i)).count();
        let ahead = self.reach.ahead(accesses);
        if ahead == 0 {
            return;
        }
        let mut changes = vec![false; self.f.regs.len()];
        for inst in insts().filter(|i| !is_small_step(i)) {
            for_each_def(inst, |r| changes[r.0 as usize] = true);
        }
        self.around = Around { changes, ahead, done: Vec::new(), inside: true };
    }

    /// Asks for what a checked access will touch some iterations on.
    pub(super) fn prefetch(&mut self, n: usize, inst: &Inst, a: &Access, place: &Place) {
        if !matches!(inst.attr, Attr::Mem(mem) if mem.sem == Sem::Weak) {
            return;
        }
        self.prefetch_next_tile(inst, a, place);
        let ahead = self.around.ahead;
        let (true, Some(&Value::Reg(r)), Place::Lin { at, form, .. }) =
            (ahead > 0, inst.srcs.first(), place)
        else {
            return;
        };
        let near =
            |&(other, offset): &(Reg, i64)| other == r && (offset - a.offset).unsigned_abs() < LINE;
        if !matches!(a.space, Space::Global | Space::Generic)
            || !self.around.changes[r.0 as usize]
            || self.around.done.iter().any(near)
        {
            return;
        }
        let Some(parts) = runs(form, a.bytes() as i64) else { return };
        self.around.done.push((r, a.offset));
        let at = at.clone();
        let slot = format!("p{}{}", self.pc(n), self.suffix);
        let before = self.ins(format!("load i64, ptr %{slot}"));
        self.line(format!("store i64 {at}, ptr %{slot}"));
        self.last_addresses.insert(slot);
        // A loop of few turns is over before what was asked for ahead is used; the turn of who comes next comes after it.
        self.ask_for_next_row(&at, form, a);
        let step = self.ins(format!("sub i64 {at}, {before}"));
        let far = self.ins(format!("mul i64 {step}, {ahead}"));
        let start = self.ins(format!("add i64 {at}, {far}"));
        let mut asked: Vec<i64> = Vec::new();
        for run in parts {
            // Runs that depend on a second scalar are left alone.
            if form.q.is_some_and(|q| q[run.first] != 0) {
                continue;
            }
            let bytes = if run.same { a.bytes() } else { run.lanes as u64 * a.bytes() };
            for line in (0..bytes).step_by(LINE as usize) {
                let offset = form.pat[run.first] + line as i64;
                if asked.len() >= LANES / 4 || asked.contains(&offset) {
                    continue;
                }
                asked.push(offset);
                self.ask_for(&start, offset, a.write, self.reach.locality);
            }
        }
    }
}
