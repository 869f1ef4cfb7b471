// SPDX-License-Identifier: MIT OR Apache-2.0
//! Loops of parts of the lanes, one part after the other.
//!
//! A value of all lanes fills four registers of a processor with AVX2, which has 16. Where a loop carries more than three, most of its
//! time goes to the stack. So a loop that only computes, and loads what is the same for all lanes, runs for a half of the lanes and then
//! for the other, or quarter by quarter: what it carries stays in registers, and what is the same for all is computed again.
//!
//! Such a loop leaves no trace, like those of single lanes (`lane_loop.rs`): where a check fails, or after many turns, all is dropped
//! and it runs for all lanes together from where it began, which leave for the interpreter exactly where they must. As in strips
//! (`strips.rs`), the text of a part is what is written for 32 lanes, with other types.

use margay_ir::{Attr, Class, Inst, Op, Reg, Space, Value};

use super::blocks::ENGINE;
use super::one_block::OneBlock;
use super::strips::{is_lane_wise, narrowed};
use super::value::{Val, vector};
use super::{Gen, int, io, math, vector_of};
use crate::analysis::{Set, is_pure};
use crate::shape::{LANES, Shape};

/// Turns after which all lanes run together, which take fuel.
const TURNS: u32 = 1 << 16;
/// So many turns they do at once after that, and so many more for each that was lost: turns of the loop are what comes to its head.
const SKIPS: u32 = 256;
const SKIPS_PER_TURN: u32 = 16;
/// Ops that work lane by lane below which a loop is not worth it.
const LEAST_OPS: usize = 6;
/// Registers of the processor that what a turn computes needs besides what lives around the loop.
const SPARE: usize = 4;

/// A loop that runs for parts of the lanes.
struct PartLoop {
    own: OneBlock,
    /// Lanes of a part.
    lanes: usize,
    /// Varying registers that stay as they are, and those that are written and wanted in the next turn or behind the loop.
    fixed: Vec<Reg>,
    kept: Vec<Reg>,
    /// Those of all that are written that a turn begins with.
    carried: Vec<Reg>,
    /// Registers that are the same in all lanes, and that the loop changes.
    scalars: Vec<Reg>,
}

/// What a loop begins with: varying registers as vectors of all lanes, and others.
struct Begins {
    wholes: Vec<(Reg, String)>,
    scalars: Vec<(Reg, Val)>,
}

/// What is written of a loop now.
pub(super) struct Part {
    /// Lanes of a part.
    pub lanes: usize,
    /// Where it goes on if that does not work out.
    pub failed: String,
}

impl Gen<'_> {
    /// Writes block `b` as loops of parts of the lanes, if that pays. What follows runs where it did not work out.
    pub(super) fn part_loop(&mut self, b: usize) {
        let Some(l) = self.find_part_loop(b) else { return };
        let (out, cold) = (std::mem::take(&mut self.out), std::mem::take(&mut self.cold));
        let exits = self.exits.len();
        let written = self.write_parts(b, &l);
        let text = std::mem::replace(&mut self.out, out);
        let aside = std::mem::replace(&mut self.cold, cold);
        if written && aside.is_empty() && self.exits.len() == exits {
            self.out.push_str(&text);
        }
        self.forget();
        self.mask_vector = None;
        // What follows asks for memory ahead by itself.
        self.around.swap_done(&mut Vec::new());
    }

    /// False if something cannot be written for parts.
    fn write_parts(&mut self, b: usize, l: &PartLoop) -> bool {
        let [begin, wait, done, failed, whole] = std::array::from_fn(|_| self.label());
        // Kept while the launch lasts: code is left and entered again where its fuel is used up.
        let skips = self.io(io!(part_skips));
        let left = self.ins(format!("load i32, ptr {skips}, {ENGINE}"));
        let ready = self.ins(format!("icmp eq i32 {left}, 0"));
        self.line(format!("br i1 {ready}, label %{begin}, label %{wait}"));
        self.begin(&wait);
        let less = self.ins(format!("sub i32 {left}, 1"));
        self.line(format!("store i32 {less}, ptr {skips}, {ENGINE}"));
        self.line(format!("br label %{whole}"));

        self.begin(&begin);
        self.lane_buffers.insert("part_turns".to_owned());
        let mut wholes = Vec::new();
        for &r in l.fixed.iter().chain(l.kept.iter().filter(|r| l.carried.contains(r))) {
            let class = self.class(r);
            let v = self.bits(Value::Reg(r), class);
            let name = self.spread(&v, class);
            wholes.push((r, name));
        }
        let scalars = l.scalars.iter().map(|&r| (r, self.read(r))).collect();
        let begins = Begins { wholes, scalars };
        self.forget();
        let mut parts = Vec::new();
        let mut good = true;
        for first in (0..LANES).step_by(l.lanes) {
            good &= self.write_part_of(b, l, first, &begins, &failed);
            let mut ends = Vec::new();
            for &r in &l.kept {
                let ty = narrowed(vector(self.class(r)), l.lanes);
                let from = self.part_buffer(r, l.lanes);
                ends.push(self.ins(format!("load {ty}, ptr %{from}, align 64")));
            }
            parts.push(ends);
        }
        self.line(format!("br label %{done}"));

        self.begin(&done);
        let left = self.ins("load i32, ptr %part_turns");
        let turns = self.ins(format!("sub i32 {TURNS}, {left}"));
        let turns = self.ins(format!("zext i32 {turns} to i64"));
        let cost = self.ins(format!("mul i64 {turns}, {}", self.f.blocks[b].insts.len() + 1));
        let fuel = self.ins("load i64, ptr %fuel");
        let fuel = self.ins(format!("sub i64 {fuel}, {cost}"));
        self.line(format!("store i64 {fuel}, ptr %fuel"));
        for (n, &r) in l.kept.iter().enumerate() {
            let own: Vec<String> = parts.iter().map(|p| p[n].clone()).collect();
            let name = self.joined(r, l.lanes, own);
            self.put(r, Val::Vec { name, addr: None });
        }
        self.flush();
        let mask = self.mask.clone();
        let exit = l.own.exit;
        self.go(exit, &mask);

        self.begin(&failed);
        let left = self.ins("load i32, ptr %part_turns");
        let lost = self.ins(format!("sub i32 {TURNS}, {left}"));
        let more = self.ins(format!("mul i32 {lost}, {SKIPS_PER_TURN}"));
        let more = self.ins(format!("add i32 {more}, {SKIPS}"));
        self.io_store("i32", &more, io!(part_skips));
        for (r, v) in &begins.scalars {
            self.write_slot(*r, v);
        }
        self.line(format!("br label %{whole}"));
        self.begin(&whole);
        good
    }

    /// One part's loop.
    fn write_part_of(
        &mut self,
        b: usize,
        l: &PartLoop,
        first: usize,
        begins: &Begins,
        failed: &str,
    ) -> bool {
        let (turn, next) = (self.label(), self.label());
        let pick = vector_of("i32", (first..first + l.lanes).map(|n| n as i64));
        let mut fixed = Vec::new();
        for (r, name) in &begins.wholes {
            let ty = vector(self.class(*r));
            let n = l.lanes;
            let part =
                self.ins(format!("shufflevector {ty} {name}, {ty} poison, <{n} x i32> {pick}"));
            if l.fixed.contains(r) {
                fixed.push((*r, part));
                continue;
            }
            let (ty, to) = (narrowed(ty, n), self.part_buffer(*r, n));
            self.line(format!("store {ty} {part}, ptr %{to}, align 64"));
        }
        for (r, v) in &begins.scalars {
            self.write_slot(*r, v);
        }
        self.line(format!("store i32 {TURNS}, ptr %part_turns"));
        self.line(format!("br label %{turn}"));

        self.begin(&turn);
        let outside = std::mem::take(&mut self.out);
        let declares = std::mem::take(&mut self.declares);
        self.forget();
        self.part = Some(Part { lanes: l.lanes, failed: failed.to_owned() });
        for (r, name) in fixed {
            self.current[r.0 as usize] = Some(Val::Vec { name, addr: None });
        }
        for &r in l.kept.iter().filter(|r| l.carried.contains(r)) {
            let from = self.part_buffer(r, l.lanes);
            let name = self.ins(format!("load {}, ptr %{from}, align 64", vector(self.class(r))));
            self.current[r.0 as usize] = Some(Val::Vec { name, addr: None });
        }
        let f = self.f;
        let mut good = true;
        for (n, inst) in f.blocks[b].insts.iter().enumerate() {
            good &= match inst.op {
                Op::Ld => self.load(n, inst),
                _ if math::has_formula(inst) => self.formula(n, inst),
                _ => self.pure(n, inst),
            };
        }
        for &r in &l.kept {
            let v = self.read(r);
            let (name, to) = (self.spread(&v, self.class(r)), self.part_buffer(r, l.lanes));
            self.line(format!("store {} {name}, ptr %{to}, align 64", vector(self.class(r))));
        }
        for (r, _) in &begins.scalars {
            let v = self.read(*r);
            self.write_slot(*r, &v);
        }
        let left = self.ins("load i32, ptr %part_turns");
        let left = self.ins(format!("sub i32 {left}, 1"));
        self.line(format!("store i32 {left}, ptr %part_turns"));
        let some = self.ins(format!("icmp ne i32 {left}, 0"));
        self.expect(&some, failed);
        let p = match self.read(l.own.pred) {
            Val::Lin { base, .. } => base,
            Val::Vec { name, .. } => name,
        };
        let (yes, no) = if l.own.again_unless { (&next, &turn) } else { (&turn, &next) };
        self.line(format!("br i1 {p}, label %{yes}, label %{no}"));
        self.part = None;
        self.dirty = Set::new(f.regs.len());
        let text = std::mem::replace(&mut self.out, outside);
        good &= is_by_types(&text);
        self.out.push_str(&narrowed(&text, l.lanes));
        let own = std::mem::replace(&mut self.declares, declares);
        self.declares.extend(own.iter().map(|d| narrowed(d, l.lanes)));
        self.forget();
        self.begin(&next);
        good
    }

    /// Values of parts as one of all lanes.
    fn joined(&mut self, r: Reg, lanes: usize, mut parts: Vec<String>) -> String {
        let (class, mut n) = (self.class(r), lanes);
        while parts.len() > 1 {
            let ty = narrowed(vector(class), n);
            let all = vector_of("i32", (0..2 * n).map(|l| l as i64));
            let pairs: Vec<Vec<String>> = parts.chunks(2).map(<[String]>::to_vec).collect();
            parts.clear();
            for pair in &pairs {
                let [low, high] = pair.as_slice() else { break };
                parts.push(self.ins(format!(
                    "shufflevector {ty} {low}, {ty} {high}, <{} x i32> {all}",
                    2 * n
                )));
            }
            n *= 2;
        }
        parts.remove(0)
    }

    /// The name of the memory where a register's part goes from turn to turn.
    fn part_buffer(&mut self, r: Reg, lanes: usize) -> String {
        let name = format!("part_one{}_{lanes}", r.0);
        self.lane_buffers.insert(name.clone());
        name
    }

    /// The type of that memory, by its name.
    pub(super) fn part_type(&self, name: &str) -> Option<String> {
        let (r, lanes) = name.strip_prefix("part_one")?.split_once('_')?;
        let class = self.class(Reg(r.parse().ok()?));
        Some(narrowed(vector(class), lanes.parse().ok()?))
    }

    /// The loop that block `b` is, if it may run for parts of the lanes and that pays.
    fn find_part_loop(&self, b: usize) -> Option<PartLoop> {
        let own = self.one_block_loop(b)?;
        let uniform = |r: &Reg| self.facts.shape(*r).is_uniform();
        if !self.all() || own.exit <= b || !uniform(&own.pred) {
            return None;
        }
        let (mut ops, mut same_for_all) = (0, 0);
        for inst in &self.f.blocks[b].insts {
            let shape = inst.dsts.first().map(|&r| self.facts.shape(r));
            if !matches!(shape, Some(Shape::Varying)) {
                same_for_all += 1;
            }
            let fits = match (inst.op, shape) {
                (Op::Ld, _) => self.is_shared_by_lanes(inst),
                (_, Some(Shape::Varying)) => {
                    ops += 1;
                    is_lane_wise(inst, self.facts, self.options, self.vector_bits)
                        || math::has_formula(inst) && inst.guard.is_none()
                }
                (op, Some(shape)) => {
                    let same = |v: &Value| self.facts.operand(*v).is_uniform();
                    let plain = is_pure(op) && int::has_lowering(inst) && inst.guard.is_none();
                    shape.is_uniform() && plain && inst.srcs.iter().all(same)
                }
                (_, None) => false,
            };
            if !fits {
                return None;
            }
        }
        if ops < LEAST_OPS {
            return None;
        }
        let fixed = self.fixed_of(&own);
        let carried = self.set_and_live(&own, b);
        let mut wanted = [&carried[..], &self.set_and_live(&own, own.exit)].concat();
        wanted.sort_unstable();
        wanted.dedup();
        let (scalars, kept): (Vec<Reg>, Vec<Reg>) = wanted.into_iter().partition(uniform);
        let varying = |r: &Reg| matches!(self.facts.shape(*r), Shape::Varying);
        let words = |r: &Reg| match self.class(*r) {
            Class::P => None,
            Class::W => Some(1),
            Class::D => Some(2),
        };
        if !kept.iter().all(varying) {
            return None;
        }
        let words: Option<Vec<usize>> = fixed.iter().chain(&kept).map(words).collect();
        let lanes = self.lanes_of_parts(words?.iter().sum())?;
        // Each part computes again what is the same for all.
        if same_for_all * (LANES / lanes - 1) > ops {
            return None;
        }
        Some(PartLoop { own, lanes, fixed, kept, carried, scalars })
    }

    /// How many lanes a part has where so many words of each live around a loop; `None` if the registers are enough for all.
    fn lanes_of_parts(&self, words: usize) -> Option<usize> {
        let bits = self.vector_bits as usize;
        let registers = if bits == 512 { 32 } else { 16 };
        let takes = |lanes: usize| words * lanes * 32 / bits + SPARE;
        let least = bits / 32;
        if takes(LANES) <= registers || LANES <= least {
            return None;
        }
        let halves = std::iter::successors(Some(LANES / 2), |n| (n / 2 >= least).then_some(n / 2));
        Some(halves.into_iter().find(|&n| takes(n) <= registers).unwrap_or(least))
    }

    /// Whether an instruction is a plain load of what is the same for all lanes.
    fn is_shared_by_lanes(&self, inst: &Inst) -> bool {
        let (Attr::Mem(mem), Some(at)) = (&inst.attr, inst.srcs.first()) else { return false };
        let checked = match mem.space {
            Space::Shared | Space::Param | Space::Const => true,
            Space::Global => self.options.plain,
            Space::Generic | Space::Local => false,
        };
        Self::is_direct(inst, mem)
            && checked
            && self.facts.loads_once(inst, mem)
            && !inst.dsts.is_empty()
            && self.facts.operand(*at).is_uniform()
            && inst.dsts.iter().all(|&r| self.facts.shape(r).is_uniform())
    }
}

/// Whether text of 32 lanes is of so many by its types alone.
fn is_by_types(text: &str) -> bool {
    let listed = text.contains("> <") || text.contains("[32 x");
    let by_bits = text.lines().any(|l| l.contains("bitcast <32 x i1>") && l.contains(" to i32"));
    !listed && !by_bits && !text.contains("call i32 %") && !text.contains("asm ")
}
