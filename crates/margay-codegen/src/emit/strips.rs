// SPDX-License-Identifier: MIT OR Apache-2.0
//! Strip mining: long runs of lane-wise ops as loops over parts of the warp.
//!
//! A value of all lanes fills several registers of the processor. Where many are live at once, as in long code, LLVM
//! spends its time on splitting them and on finding room for them, and most end on the stack anyway. There a run of ops
//! that work lane by lane is a loop, a turn for so many lanes as one register holds: a fourth of the instructions on AVX2,
//! and registers enough. What goes in and out lies in the slots.
//!
//! Invariant: the ops of a strip touch no memory of the guest, leave nothing and depend on no other lane, so that it does
//! not matter which lanes are first. What stands between them and is none of them is written before the strip, if nothing
//! of the strip comes before it; where that leaves the code, it does so at the strip's first instruction.
//!
//! All that lowerings of lane-wise ops write is of 32 lanes by its types alone. So the text of a strip is what they write,
//! with other types.

use std::collections::{BTreeSet, HashMap};
use std::fmt::Write as _;
use std::rc::Rc;

use margay_ir::analysis::liveness::{for_each_def, for_each_use, term_use};
use margay_ir::{Attr, Block, Class, Function, Inst, Op, Reg, Space, Term, Ty, Value};

use super::value::{Val, scalar, vector};
use super::{Gen, may_leave};
use crate::Options;
use crate::analysis::{Facts, is_pure};
use crate::shape::{LANES, Shape};

/// A function with fewer lane-wise ops is compiled fast enough, and may be a hot one that lives in registers.
const LEAST_OPS: usize = 120;
/// A shorter run is not worth a loop.
const LEAST: usize = 6;
/// From so many ops on a run ends where they depend on one another so much that only the next turn's have something to
/// do, which the processor does not see if this turn's are too many.
const WINDOW: usize = 40;
const PARALLEL: usize = 3;

/// A run of instructions: the loop's, and those that are written before it.
pub(super) struct Strip {
    pub end: usize,
    ops: Vec<usize>,
    before: Vec<usize>,
    /// The longest chain of ops of which each waits for the one before.
    deepest: usize,
    /// Registers that vary and are read before they are written, those that are written, and those of them that are
    /// wanted afterwards.
    read: BTreeSet<u32>,
    written: BTreeSet<u32>,
    wanted: BTreeSet<u32>,
}

/// What the strip that is being written knows.
pub(super) struct Turn {
    /// The turn's number.
    number: String,
    /// The lanes that run, of all 32.
    mask: String,
}

/// Whether a function has so much lane-wise code that it is written as strips.
pub(super) fn pays(f: &Function, facts: &Facts, options: &Options, vector_bits: u32) -> bool {
    let ops = f.blocks.iter().flat_map(|b| &b.insts);
    ops.filter(|inst| is_lane_wise(inst, facts, options, vector_bits)).count() >= LEAST_OPS
}

/// Whether an op's code neither leaves nor calls.
pub(crate) fn is_written_out(inst: &Inst) -> bool {
    !may_leave(inst) && super::int::has_lowering(inst) && !super::math::has_formula(inst)
}

/// Whether an op's lowering is of all lanes by its types alone, and its result varies.
pub(super) fn is_lane_wise(
    inst: &Inst,
    facts: &Facts,
    options: &Options,
    vector_bits: u32,
) -> bool {
    if !is_pure(inst.op)
        || inst.dsts.len() != 1
        || !is_written_out(inst)
        || !matches!(facts.shape(inst.dsts[0]), Shape::Varying)
    {
        return false;
    }
    let uniform = |v: &Value| facts.operand(*v).is_uniform();
    let linear = |v: &Value| matches!(facts.operand(*v), Shape::Lin(_));
    if let Some(Shape::Lin(lin)) = facts.results(inst, options).first()
        && !(lin.is_uniform() && inst.srcs.iter().all(uniform))
    {
        return false;
    }
    match inst.op {
        // Bytes change places by lists of all.
        Op::Prmt => !matches!(inst.srcs.get(2), Some(Value::Imm(_))),
        Op::PXor | Op::PNot => vector_bits != 512,
        // Addresses, of which more is known than their lanes (`Gen::address_form`).
        Op::Add | Op::Shl => inst.ty != Ty::I64,
        // Scalars may tell its lanes (`Gen::note_lanes`).
        Op::ICmp => !inst.srcs.iter().all(linear),
        _ => true,
    }
}

/// Whether an instruction may be written before ops that stand before it and that it has nothing to do with.
fn goes_before(inst: &Inst, watched: bool) -> bool {
    if inst.guard.is_some() {
        return false;
    }
    match (inst.op, &inst.attr) {
        (Op::Sreg | Op::Addr | Op::Cvta | Op::CvtaTo, _) => true,
        // Where code leaves the interpreter would report once more what was reported before.
        (Op::Ld, _) if watched => false,
        (Op::Ld, Attr::Mem(mem)) => mem.space != Space::Local && Gen::is_direct(inst, mem),
        (op, _) => is_pure(op) && super::int::has_lowering(inst),
    }
}

/// The last instruction of a block that reads each register; the terminator's number is that of the instructions.
fn last_reads(block: &Block) -> HashMap<u32, usize> {
    let mut last = HashMap::new();
    for (n, inst) in block.insts.iter().enumerate() {
        for_each_use(inst, |r| {
            last.insert(r.0, n);
        });
    }
    if let Some(r) = term_use(&block.term) {
        last.insert(r.0, block.insts.len());
    }
    last
}

impl Gen<'_> {
    /// Lanes of the vectors that are being written.
    pub(super) fn width(&self) -> usize {
        match (&self.turn, &self.part) {
            (Some(_), _) => self.vector_bits as usize / 32,
            (None, Some(part)) => part.lanes,
            (None, None) => LANES,
        }
    }

    /// Finds the strips of a block, by their first instructions.
    pub(super) fn find_strips(&mut self, b: usize) {
        self.strips.clear();
        if !self.in_strips {
            return;
        }
        let f = self.f;
        let block = &f.blocks[b];
        let last = last_reads(block);
        let mut n = 0;
        while n < block.insts.len() {
            let strip = self.strip_from(b, n, &last);
            let (end, worth) = (strip.end, strip.is_worth_it());
            if worth {
                self.strips.insert(n, Rc::new(strip));
            }
            n = end.max(n + 1);
        }
    }

    fn strip_from(&self, b: usize, from: usize, last: &HashMap<u32, usize>) -> Strip {
        let f = self.f;
        let block = &f.blocks[b];
        let mut strip = Strip {
            end: from,
            ops: Vec::new(),
            before: Vec::new(),
            deepest: 0,
            read: BTreeSet::new(),
            written: BTreeSet::new(),
            wanted: BTreeSet::new(),
        };
        // What was read so far, and how many ops each register's value waits for.
        let mut read = BTreeSet::new();
        let mut depth = HashMap::new();
        for (n, inst) in block.insts.iter().enumerate().skip(from) {
            let mut uses = Vec::new();
            for_each_use(inst, |r| uses.push(r.0));
            let mut defs = Vec::new();
            for_each_def(inst, |r| defs.push(r.0));
            if is_lane_wise(inst, self.facts, self.options, self.vector_bits)
                && self.flags_are_known(inst, &strip)
            {
                let full = strip.ops.len() >= WINDOW && strip.ops.len() < PARALLEL * strip.deepest;
                if full {
                    break;
                }
                let keeps = self.apart && self.facts.must_keep(b, inst.dsts[0]);
                if inst.guard.is_some() || keeps {
                    uses.push(inst.dsts[0].0);
                }
                let own = 1 + uses.iter().filter_map(|r| depth.get(r)).max().unwrap_or(&0);
                strip.deepest = strip.deepest.max(own);
                for &r in &uses {
                    let varies = !matches!(self.facts.shapes[r as usize], Shape::Lin(_));
                    if varies && !strip.written.contains(&r) {
                        strip.read.insert(r);
                    }
                }
                depth.insert(inst.dsts[0].0, own);
                strip.written.insert(inst.dsts[0].0);
                read.extend(uses);
                strip.ops.push(n);
            } else {
                let free = goes_before(inst, self.options.watched.any())
                    && !uses.iter().any(|r| strip.written.contains(r))
                    && !defs
                        .iter()
                        .any(|r| strip.written.contains(r) || read.contains(r) || uses.contains(r));
                if !free {
                    break;
                }
                read.extend(uses);
                strip.before.push(n);
            }
            strip.end = n + 1;
        }
        // What comes last and is none of the strip's need not be in it.
        while strip.ops.last().is_some_and(|&n| n + 1 < strip.end) {
            strip.end -= 1;
            strip.before.retain(|&n| n < strip.end);
        }
        let kept = |r: usize| {
            self.apart && self.facts.kept[b].as_ref().is_some_and(|k| k.has(r))
                || matches!(block.term, Term::Ret)
        };
        let wanted = |r: &u32| {
            last.get(r).is_some_and(|&n| n >= strip.end)
                || self.facts.live_out[b].has(*r as usize)
                || kept(*r as usize)
        };
        strip.wanted = strip.written.iter().copied().filter(wanted).collect();
        strip
    }

    /// Whether the lanes of an op's predicates are told by nothing but vectors.
    fn flags_are_known(&self, inst: &Inst, strip: &Strip) -> bool {
        if !matches!(inst.op, Op::PAnd | Op::POr | Op::PXor | Op::PNot) {
            return true;
        }
        inst.srcs.iter().all(|v| match v {
            Value::Reg(r) => strip.written.contains(&r.0),
            Value::Imm(_) => true,
        })
    }

    /// Writes a strip.
    pub(super) fn strip(&mut self, from: usize, strip: &Strip) {
        let f = self.f;
        let insts = &f.blocks[self.block].insts;
        self.leave_at = Some(from);
        for &n in &strip.before {
            let whole = self.instruction(n, &insts[n]);
            debug_assert!(whole, "what is written before a strip leaves nothing behind");
        }
        self.leave_at = None;
        self.floats.clear();
        let mut tops = Vec::new();
        for r in strip.read.iter().map(|&r| Reg(r)) {
            tops.push((r, self.most(Value::Reg(r))));
            if self.dirty.has(r.0 as usize)
                && let Some(v) = self.current[r.0 as usize].clone()
            {
                self.write_slot(r, &v);
                self.dirty.remove(r.0 as usize);
            }
        }
        let patterned = self.write_patterned(strip);
        let mask = self.mask.clone();
        let outer = self.current.clone();
        for v in &mut self.current {
            if matches!(v, Some(Val::Vec { .. })) {
                *v = None;
            }
        }
        let canonical = std::mem::take(&mut self.canonical);
        let mask_vector = self.mask_vector.take();
        let known = std::mem::take(&mut self.slot_tops);
        self.slot_tops.extend(tops.into_iter().filter(|t| t.1 != u64::MAX).map(|(r, t)| (r.0, t)));
        let declares = std::mem::take(&mut self.declares);
        let entry = self.here();
        let (label, end) = (self.label(), self.label());
        self.line(format!("br label %{label}"));
        self.begin(&label);
        let (number, next) = (self.name(), self.name());
        self.line(format!("{number} = phi i64 [ 0, %{entry} ], [ {next}, %{label} ]"));
        let outside = std::mem::take(&mut self.out);
        self.turn = Some(Rc::new(Turn { number: number.clone(), mask }));
        for (r, slot) in &patterned {
            let ty = vector(self.class(*r));
            let at = self.ins(format!("getelementptr {ty}, ptr {slot}, i64 {number}"));
            let name = self.ins(format!("load {ty}, ptr {at}"));
            self.current[r.0 as usize] = Some(Val::Vec { name, addr: None });
        }
        for &n in &strip.ops {
            let written = self.pure(n, &insts[n]);
            debug_assert!(written, "{:?} is held to be lane-wise", insts[n].op);
        }
        let mut tops = Vec::new();
        for r in strip.wanted.iter().map(|&r| Reg(r)) {
            tops.push((r.0, self.most(Value::Reg(r))));
            if let Some(v) = self.current[r.0 as usize].clone() {
                self.write_slot(r, &v);
            }
        }
        let lanes = self.width();
        let text = std::mem::replace(&mut self.out, outside);
        self.out.push_str(&narrowed(&text, lanes));
        let own = std::mem::replace(&mut self.declares, declares);
        self.declares.extend(own.iter().map(|d| narrowed(d, lanes)));
        self.turn = None;
        self.line(format!("{next} = add nuw nsw i64 {number}, 1"));
        let more = self.ins(format!("icmp ult i64 {next}, {}", LANES / lanes));
        self.line(format!("br i1 {more}, label %{label}, label %{end}"));
        self.begin(&end);
        self.floats.clear();
        self.current = outer;
        self.canonical = canonical;
        self.mask_vector = mask_vector;
        self.slot_tops = known;
        for &r in &strip.written {
            self.current[r as usize] = None;
            self.canonical.remove(&r);
            self.checked.remove(&r);
            self.inside.remove(&(r, false));
            self.inside.remove(&(r, true));
            self.slot_tops.remove(&r);
            self.dirty.remove(r as usize);
        }
        self.slot_tops.extend(tops.into_iter().filter(|t| t.1 != u64::MAX));
    }

    /// Linear operands that are not the same in every lane, as vectors in memory.
    fn write_patterned(&mut self, strip: &Strip) -> Vec<(Reg, String)> {
        let f = self.f;
        let mut found: Vec<(Reg, String)> = Vec::new();
        for &n in &strip.ops {
            let mut uses = Vec::new();
            for_each_use(&f.blocks[self.block].insts[n], |r| uses.push(r));
            for r in uses {
                let stepped = match self.facts.shape(r) {
                    Shape::Lin(lin) => !lin.is_uniform(),
                    Shape::None | Shape::Varying => false,
                };
                if !stepped || found.iter().any(|(known, _)| *known == r) {
                    continue;
                }
                let class = self.class(r);
                let v = self.read(r);
                let name = self.spread(&v, class);
                let slot = format!("%steps{}", r.0);
                self.line(format!("store {} {name}, ptr {slot}", vector(class)));
                self.stepped.insert(r.0);
                found.push((r, slot));
            }
        }
        found
    }

    /// The value in the slot of a register that varies, for the turn's lanes.
    pub(super) fn read_part(&mut self, turn: &Turn, r: Reg) -> String {
        let class = self.class(r);
        if class != Class::P {
            let ty = vector(class);
            let at = self.ins(format!("getelementptr {ty}, ptr %r{}, i64 {}", r.0, turn.number));
            return self.ins(format!("load {ty}, ptr {at}"));
        }
        let word = format!("i{}", self.width());
        let at = self.ins(format!("getelementptr {word}, ptr %r{}, i64 {}", r.0, turn.number));
        let bits = self.ins(format!("load {word}, ptr {at}"));
        self.part_flags(&bits)
    }

    /// The opposite of [`Gen::read_part`].
    pub(super) fn write_part(&mut self, turn: &Turn, r: Reg, name: &str) {
        let class = self.class(r);
        if class != Class::P {
            let ty = vector(class);
            let at = self.ins(format!("getelementptr {ty}, ptr %r{}, i64 {}", r.0, turn.number));
            self.line(format!("store {ty} {name}, ptr {at}"));
            return;
        }
        let word = format!("i{}", self.width());
        let at = self.ins(format!("getelementptr {word}, ptr %r{}, i64 {}", r.0, turn.number));
        let bits = self.ins(format!("bitcast <32 x i1> {name} to {word}"));
        self.line(format!("store {word} {bits}, ptr {at}"));
    }

    /// Flags of the turn's lanes from as many bits.
    fn part_flags(&mut self, bits: &str) -> String {
        let width = self.width();
        if self.vector_bits == 512 {
            return self.ins(format!("bitcast i{width} {bits} to <32 x i1>"));
        }
        let word = self.ins(format!("zext i{width} {bits} to i32"));
        let all = self.splat("i32", &word);
        let own = super::vector_of("i32", (0..width).map(|l| 1i64 << l));
        let both = self.ins(format!("and <32 x i32> {all}, {own}"));
        self.ins(format!("icmp ne <32 x i32> {both}, zeroinitializer"))
    }

    /// Which of the turn's lanes run.
    pub(super) fn part_lanes(&mut self, turn: &Turn) -> String {
        let width = self.width();
        let number = self.ins(format!("trunc i64 {} to i32", turn.number));
        let skip = self.ins(format!("mul i32 {number}, {width}"));
        let own = self.ins(format!("lshr i32 {}, {skip}", turn.mask));
        let bits = self.ins(format!("trunc i32 {own} to i{width}"));
        self.part_flags(&bits)
    }

    /// The memory that strips need besides slots.
    pub(super) fn strip_buffers(&self) -> String {
        let mut text = String::new();
        for &r in &self.stepped {
            let ty = vector(self.class(Reg(r)));
            let _ = writeln!(text, "  %steps{r} = alloca {ty}");
        }
        text
    }

    /// The type of the slot of a register that varies.
    pub(super) fn slot_type(&self, class: Class) -> &'static str {
        match class {
            // Flags lie as bits where strips take them apart.
            Class::P if self.in_strips => scalar(Class::W),
            Class::P | Class::W | Class::D => vector(class),
        }
    }
}

impl Strip {
    fn is_worth_it(&self) -> bool {
        let ops = self.ops.len();
        // Of a chain of ops all lanes' registers together are what the processor has to do.
        let chained = ops > WINDOW / 2 && ops < 2 * self.deepest;
        // An op is about two lines, and a value that goes in or out one.
        ops >= LEAST && !chained && 2 * ops > self.read.len() + self.wanted.len()
    }
}

/// The text of lane-wise ops for so many lanes.
pub(super) fn narrowed(text: &str, lanes: usize) -> String {
    text.replace("<32 x ", &format!("<{lanes} x ")).replace(".v32", &format!(".v{lanes}"))
}
