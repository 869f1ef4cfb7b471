// SPDX-License-Identifier: MIT OR Apache-2.0
//! Loops of lanes that lie apart, a lane at a time.
//!
//! A row of a sparse matrix is a loop of its own length over memory of its own. As vectors each of its loads takes 32
//! addresses out of a vector and puts 32 elements in, and the longest row decides how often. Where the processor has no
//! gathers worth their name, such a loop runs once for each lane instead, in scalars, from the registers of that lane to
//! those that are live behind the loop.
//!
//! Only loops that leave no trace are taken: one block that only computes and loads. So whatever a lane meets that is
//! not for this code (a place that a check refuses, more turns than are reasonable before other warps should run) all
//! that was done is dropped, and the loop runs as vectors from where it began, which leave for the interpreter exactly
//! where they must. Nobody tells the difference: the loads are weak, and no lane sees another one's registers.

use std::rc::Rc;

use margay_ir::{Attr, Class, Inst, Op, Reg, Space, Value};

use super::lane_checks::{Check, Checks};
use super::one_block::OneBlock;
use super::turns::{Counter, find_counter};
use super::value::{Val, scalar, vector};
use super::{Gen, int};
use crate::analysis::is_pure;
use crate::shape::{LANES, Lin, Shape};

/// Turns of all lanes together, after which the loop runs as vectors, which take fuel.
const TURNS: u32 = 1 << 16;
/// So many turns the loop runs as vectors at once after it could not be run so, and one more for each that was lost.
const SKIPS: u32 = 256;
/// Other instructions for each load: a loop that computes more than it loads is better off as vectors.
const OTHERS: usize = 6;

/// A loop that runs lane by lane.
struct LaneLoop {
    own: OneBlock,
    /// Varying registers that a lane begins with: those that stay, and those that the loop changes.
    fixed: Vec<Reg>,
    carried: Vec<Reg>,
    /// What is live behind the loop.
    results: Vec<Reg>,
    checks: Checks,
    /// What tells the number of turns before the first.
    counter: Option<Counter>,
}

impl Gen<'_> {
    /// Writes block `b` as a loop of single lanes, if it is one. What follows runs where that did not work out.
    pub(super) fn lane_loop(&mut self, b: usize) {
        let Some(l) = self.find_lane_loop(b) else { return };
        let [begin, wait, lane, again, next, done, failed, vectors] =
            std::array::from_fn(|_| self.label());
        let skips = format!("lone_skips{b}");
        let turns = "lone_turns";
        let rest = "lone_lanes";
        for name in [&skips, turns, rest] {
            self.lane_buffers.insert(name.to_owned());
        }
        let left = self.ins(format!("load volatile i32, ptr %{skips}"));
        let ready = self.ins(format!("icmp eq i32 {left}, 0"));
        self.line(format!("br i1 {ready}, label %{begin}, label %{wait}"));
        self.begin(&wait);
        let less = self.ins(format!("sub i32 {left}, 1"));
        self.line(format!("store volatile i32 {less}, ptr %{skips}"));
        self.line(format!("br label %{vectors}"));

        self.begin(&begin);
        self.line(format!("store i32 {TURNS}, ptr %{turns}"));
        self.lone_operands(&l, &failed);
        let mask = self.mask.clone();
        self.line(format!("store i32 {mask}, ptr %{rest}"));
        self.line(format!("br label %{lane}"));

        self.begin(&lane);
        let lanes = self.ins(format!("load i32, ptr %{rest}"));
        self.declare("declare i32 @llvm.cttz.i32(i32, i1)");
        let number = self.ins(format!("call i32 @llvm.cttz.i32(i32 {lanes}, i1 true)"));
        let number = self.ins(format!("zext i32 {number} to i64"));
        for &r in &l.fixed {
            let own = self.lone_element(r, &number);
            self.check_multiple(&l.checks, r, &own, &failed);
            self.set_lone(r, own);
        }
        for &r in &l.carried {
            let own = self.lone_element(r, &number);
            self.check_multiple(&l.checks, r, &own, &failed);
            let ty = scalar(self.class(r));
            self.line(format!("store {ty} {own}, ptr %lone_one{}", r.0));
            self.set_lone(r, own);
        }
        if let Some(counter) = &l.counter {
            self.take_turns(b, &l, counter, &failed);
        }
        self.line(format!("br label %{again}"));

        self.begin(&again);
        for &r in &l.carried {
            let ty = scalar(self.class(r));
            let now = self.ins(format!("load {ty}, ptr %lone_one{}", r.0));
            self.set_lone(r, now);
        }
        let f = self.f;
        for (n, inst) in f.blocks[b].insts.iter().enumerate() {
            let before = |c: &Check| l.counter.is_some() && c.step.is_some();
            if let Some(check) = l.checks.each.iter().find(|c| c.first == n && !before(c)) {
                self.check_lone(n, inst, check, &failed);
            }
            self.lone_instruction(inst);
        }
        for &r in &l.carried {
            let (now, ty) = (self.lone(r), scalar(self.class(r)));
            self.line(format!("store {ty} {now}, ptr %lone_one{}", r.0));
        }
        if l.counter.is_none() {
            let turn = self.ins(format!("load i32, ptr %{turns}"));
            let turn = self.ins(format!("sub i32 {turn}, 1"));
            self.line(format!("store i32 {turn}, ptr %{turns}"));
            let some = self.ins(format!("icmp ne i32 {turn}, 0"));
            self.expect(&some, &failed);
        }
        let (p, again_unless) = match l.counter {
            None => (self.lone(l.own.pred), l.own.again_unless),
            Some(_) => (self.last_turn(), true),
        };
        let (yes, no) = if again_unless { (&next, &again) } else { (&again, &next) };
        self.line(format!("br i1 {p}, label %{yes}, label %{no}"));

        self.begin(&next);
        for &r in &l.results {
            let (now, ty) = (self.lone(r), scalar(self.class(r)));
            let to = self.ins(format!("getelementptr {ty}, ptr %lone_all{}, i64 {number}", r.0));
            self.line(format!("store {ty} {now}, ptr {to}"));
        }
        let less = self.ins(format!("sub i32 {lanes}, 1"));
        let lanes = self.ins(format!("and i32 {lanes}, {less}"));
        self.line(format!("store i32 {lanes}, ptr %{rest}"));
        let over = self.ins(format!("icmp eq i32 {lanes}, 0"));
        self.line(format!("br i1 {over}, label %{done}, label %{lane}"));

        self.begin(&done);
        self.forget();
        self.take_turns_fuel(f.blocks[b].insts.len());
        for &r in &l.results {
            let ty = vector(self.class(r));
            let name = self.ins(format!("load {ty}, ptr %lone_all{}, align 64", r.0));
            self.put(r, Val::Vec { name, addr: None });
        }
        self.flush();
        self.go(l.own.exit, &mask);

        self.begin(&failed);
        let left = self.ins(format!("load i32, ptr %{turns}"));
        let lost = self.ins(format!("sub i32 {TURNS}, {left}"));
        let more = self.ins(format!("add i32 {lost}, {SKIPS}"));
        self.line(format!("store volatile i32 {more}, ptr %{skips}"));
        self.line(format!("br label %{vectors}"));
        self.begin(&vectors);
        self.forget();
        self.mask_vector = None;
    }

    /// The loop that block `b` is, if it may run lane by lane and that pays.
    fn find_lane_loop(&self, b: usize) -> Option<LaneLoop> {
        let own = self.one_block_loop(b)?;
        if !self.facts.parts(self.f, b) {
            return None;
        }
        let block = &self.f.blocks[b];
        let (mut loads, mut others) = (0, 0);
        for inst in &block.insts {
            match self.is_apart_load(inst) {
                true => loads += 1,
                false if is_pure(inst.op) && inst.guard.is_none() && int::has_lowering(inst) => {
                    others += 1;
                }
                false => return None,
            }
        }
        if loads == 0 || others > OTHERS * loads {
            return None;
        }
        let varies = |r: &Reg| matches!(self.facts.shape(*r), Shape::Varying);
        let fixed = self.fixed_of(&own);
        let carried = self.set_and_live(&own, b);
        let results = self.set_and_live(&own, own.exit);
        let words = fixed.iter().chain(&carried).chain(&results);
        let fits = words.clone().all(|r| self.class(*r) != Class::P) && results.iter().all(varies);
        let checks = self.lone_checks(b)?;
        let counter = find_counter(block, own.pred, own.again_unless);
        // A processor with gathers is faster so only where no turn asks for much.
        let fits = fits && (self.lone_lanes || counter.is_some());
        fits.then_some(LaneLoop { own, fixed, carried, results, checks, counter })
    }

    /// Takes all turns of a lane from those that are left, and checks what goes on by a constant for all of them.
    fn take_turns(&mut self, b: usize, l: &LaneLoop, counter: &Counter, failed: &str) {
        let more = self.turns_but_one(counter, failed);
        let left = self.ins("load i32, ptr %lone_turns");
        let wide = self.ins(format!("zext i32 {left} to i64"));
        let enough = self.ins(format!("icmp ult i64 {more}, {wide}"));
        self.expect(&enough, failed);
        let more32 = self.ins(format!("trunc i64 {more} to i32"));
        let left = self.ins(format!("sub i32 {left}, {more32}"));
        let left = self.ins(format!("sub i32 {left}, 1"));
        self.line(format!("store i32 {left}, ptr %lone_turns"));
        self.lane_buffers.insert("lone_more".to_owned());
        self.line(format!("store i32 {more32}, ptr %lone_more"));
        let f = self.f;
        for check in &l.checks.each {
            if let Some(step) = check.step {
                let inst = &f.blocks[b].insts[check.first];
                self.check_turns(check, inst, step, &more, failed);
            }
        }
    }

    /// Whether this was the last of the turns that were taken. No more are run than were checked, whatever the comparison says.
    fn last_turn(&mut self) -> String {
        let more = self.ins("load i32, ptr %lone_more");
        let less = self.ins(format!("sub i32 {more}, 1"));
        self.line(format!("store i32 {less}, ptr %lone_more"));
        self.ins(format!("icmp eq i32 {more}, 0"))
    }

    /// Whether an instruction is a plain load from places that lie apart.
    fn is_apart_load(&self, inst: &Inst) -> bool {
        let (Op::Ld, Attr::Mem(mem), Some(&Value::Reg(r))) =
            (inst.op, &inst.attr, inst.srcs.first())
        else {
            return false;
        };
        Self::is_direct(inst, mem)
            && !inst.dsts.is_empty()
            && matches!(mem.space, Space::Global | Space::Generic)
            && matches!(self.facts.shape(r), Shape::Varying)
            && self.options.plain
            && self.roots[r.0 as usize].is_some()
    }

    /// Puts what the lanes begin with where each finds its own.
    fn lone_operands(&mut self, l: &LaneLoop, failed: &str) {
        self.check_uniform_multiples(&l.checks, failed);
        for &r in l.fixed.iter().chain(&l.carried) {
            let class = self.class(r);
            let v = self.read(r);
            let all = self.spread(&v, class);
            self.lane_buffers.insert(format!("lone_all{}", r.0));
            self.line(format!("store {} {all}, ptr %lone_all{}, align 64", vector(class), r.0));
        }
        for &r in &l.carried {
            self.lane_buffers.insert(format!("lone_one{}", r.0));
        }
        for &r in l.results.iter().filter(|r| !l.carried.contains(r)) {
            self.lane_buffers.insert(format!("lone_all{}", r.0));
            if !self.all() {
                let ty = vector(self.class(r));
                self.line(format!("store {ty} zeroinitializer, ptr %lone_all{}, align 64", r.0));
            }
        }
    }

    fn lone_element(&mut self, r: Reg, lane: &str) -> String {
        let ty = scalar(self.class(r));
        let p = self.ins(format!("getelementptr {ty}, ptr %lone_all{}, i64 {lane}", r.0));
        self.ins(format!("load {ty}, ptr {p}"))
    }

    /// The value of a register in the lane that runs.
    pub(super) fn lone(&mut self, r: Reg) -> String {
        match self.read(r) {
            Val::Lin { base, .. } => base,
            Val::Vec { name, .. } => name,
        }
    }

    fn set_lone(&mut self, r: Reg, base: String) {
        let v = Val::Lin { base, u: None, lin: Rc::new(Lin::uniform()) };
        self.current[r.0 as usize] = Some(v);
        self.canonical.remove(&r.0);
    }

    fn lone_instruction(&mut self, inst: &Inst) {
        let Attr::Mem(mem) = inst.attr else {
            // `find_lane_loop` has seen that there is a lowering.
            if let (Some(name), Some(&d)) = (self.lanewise(inst, false), inst.dsts.first()) {
                self.set_lone(d, name);
            }
            return;
        };
        let a = Self::access(inst, &mem);
        let at = self.lone_address(inst, a.offset);
        for (e, &d) in inst.dsts.iter().enumerate() {
            let class = self.class(d);
            let one = self.load_one(&a, e as u64, &at);
            let one = self.register_form(&one, a.size, class, mem.signed, false);
            self.set_lone(d, one);
        }
    }

    /// Takes the fuel that as many turns of the whole warp would have taken.
    fn take_turns_fuel(&mut self, insts: usize) {
        let left = self.ins("load i32, ptr %lone_turns");
        let turns = self.ins(format!("sub i32 {TURNS}, {left}"));
        let turns = self.ins(format!("zext i32 {turns} to i64"));
        let cost = self.ins(format!("mul i64 {turns}, {}", insts + 1));
        let cost = self.ins(format!("lshr i64 {cost}, {}", LANES.trailing_zeros()));
        let fuel = self.ins("load i64, ptr %fuel");
        let fuel = self.ins(format!("sub i64 {fuel}, {cost}"));
        self.line(format!("store i64 {fuel}, ptr %fuel"));
    }
}
